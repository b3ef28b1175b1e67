"""A fitted model as one to fit anew, on other objects: the same settings, and the same edits."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from coview.classification.wrapper import last_step
from coview.editing.edited import EditedModel, edit
from coview.engines.loop import TimeBudget, models_inside
from coview.inspection.contract import answers

__all__ = ["copy_to_fit"]


def copy_to_fit(model: Any, *, time_budget: float | None = None, prepared: bool = False) -> Any:
    """Return a copy of a fitted model that is ready to be fitted: nobody watches it, and it resumes no other fit.

    `clone` forgets the edits of an edited model. This copy has its log, and makes the edits again when it is fitted:
    the groups that it finds are matched with those of the model by the objects that they share.

    Parameters
    ----------
    model : estimator
        Fitted.
    time_budget : float, optional
        Most seconds of its fit, where the model can be given a time budget.
    prepared : bool, default=False
        Whether the copy takes objects as the last step of the model's pipeline does.

    Examples
    --------
    >>> from coview import LinkPLSA, edit
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> model = edit(LinkPLSA(4, random_state=0).fit(X)).merge([1, 3])
    >>> copy_to_fit(model).fit(X[:40]).log()
    ['merge 1 and 3 into 1']
    """
    copy = _copy(model, prepared)
    parameters = copy.get_params()
    settings: dict[str, Any] = {}
    for name, value in parameters.items():
        owner, _, last = name.rpartition("__")
        # models of coview say nothing at None while another one shows progress; others have a 0 or False of their own
        if last == "verbose":
            settings[name] = None if answers(parameters.get(owner, copy)) else type(value)()
        elif last == "time_budget" and time_budget is not None:
            settings[name] = min(value or time_budget, time_budget)
    copy.set_params(**settings)
    # the model's own checkpoint and budget are those of its fit: two fits must not write one file
    for inner in models_inside(copy):
        inner.set_callbacks(*([] if time_budget is None else [TimeBudget(time_budget)]))
    return copy


def _copy(model: Any, prepared: bool) -> Any:
    """The same settings, in estimators of its own, and the log of an edited model."""
    if isinstance(model, EditedModel):
        copy = edit(model)
        if prepared:
            copy.estimator_ = last_step(model.estimator_)  # what the edits are made again by
        return copy.set_params(estimator=_copy(copy.estimator_, False))
    if isinstance(model, Pipeline) and prepared:
        return _copy(last_step(model), False)
    copy = clone(model)
    if isinstance(model, Pipeline):
        copy.steps[-1] = (model.steps[-1][0], _copy(model.steps[-1][1], False))
    return copy
