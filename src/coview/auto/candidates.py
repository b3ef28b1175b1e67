"""How the Auto models make views comparable, and what `AutoClassifier` does with candidates of any kind.

Counts are weighed by `weigh_counts`, columns of measurements scaled by `ScaledViews`, views smoothed over links stay as
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from coview.auto.links import with_smoothed
from coview.clustering.affinity import metric_by_default
from coview.engines.loop import TimeBudget, models_inside
from coview.exceptions import ParameterError
from coview.preprocessing.scaling import SCALINGS, ScaledViews
from coview.preprocessing.weighting import TfidfViews, weigh_counts
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean
from coview.views.arrays import looks_counted
from coview.views.views import Views, n_present

__all__ = [
    "FAILURES",
    "SCALING",
    "counted_views",
    "join_tokens",
    "named_estimators",
    "pick",
    "preparation",
    "prepared",
    "token_weights",
    "view_scalings",
    "with_seed",
    "within",
]

WIDE = 50  # columns up to which counts may well be something else, such as the pixels of a small image
# what a fit of a candidate may end in: it is dropped then, and the others go on
FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, RuntimeError)
WEIGHTED, GIVEN = "tf-idf", "unit length"  # how counts are made comparable, and those that have weights already
# what a fitted model keeps of how each view was; models of older files have nothing
SCALING = rules.optional(rules.mapping(rules.choice(WEIGHTED, GIVEN, *SCALINGS)))


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str: ...


C = TypeVar("C", bound=Named)


def with_seed(estimator: Any, seed: int, always: bool = False) -> Any:
    """Give an estimator, the steps of a pipeline and the transformers of views a seed where they have none (or always).

    Examples
    --------
    >>> from coview import SphericalKMeans
    >>> with_seed(SphericalKMeans(2), 3).random_state, with_seed(SphericalKMeans(2, random_state=1), 3).random_state
    (3, 1)
    """
    params = estimator.get_params()
    for value in params.values():
        if isinstance(value, dict):  # of transformers by view, which `get_params` does not look into
            for inner in value.values():
                if isinstance(inner, BaseEstimator):
                    with_seed(inner, seed, always)
    states = [name for name in params if name.split("__")[-1] == "random_state" and (always or params[name] is None)]
    return estimator.set_params(**dict.fromkeys(states, seed)) if states else estimator


@contextmanager
def within(estimator: Any, seconds: float | None) -> Iterator[None]:
    """Let an estimator that can have a time budget fit within so many seconds, or its own; then it is as it was."""
    own = [(model, model._callbacks) for model in models_inside(estimator)]
    if seconds is not None:
        for model, callbacks in own:
            model._callbacks = (*callbacks, TimeBudget(seconds))
    try:
        yield
    finally:
        for model, callbacks in own:
            model._callbacks = callbacks


def counted_views(views: Views) -> list[str]:
    """Names of the views that look like counts: nothing negative, at least half zeros in the rows that have the view.

    Examples
    --------
    >>> import numpy as np
    >>> counted_views(Views(words=np.eye(3), pixels=np.ones((3, 2)), waves=-np.eye(3)))
    ['words']
    """
    having = n_present(views)
    return [name for name, matrix in views.items() if looks_counted(matrix, having[name])]


def measured_views(views: Views) -> list[str]:
    """Names of the views that distances of scaled columns suit: those that cosines do not."""
    having = n_present(views)
    return [name for name, matrix in views.items() if metric_by_default(matrix, having[name]) != "cosine"]


def preparation(views: Views, names: Sequence[str] | None = None) -> list[Any]:
    """Transformers that make views comparable, learned: weights for counts, scales for measurements.

    Only views of these names are changed, None for all: those smoothed over links stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> prepared(X, preparation(X))["sizes"].ravel().round(2)
    array([-0.93, -0.46,  1.39])
    """
    given = views if names is None else views.select(*names)
    counted = counted_views(given)
    measured = measured_views(given)
    transformers: list[Any] = [step.fit(views) for step in weigh_counts(views, counted)]
    if measured:
        transformers.append(ScaledViews(views=measured).fit(_filled(views, measured)))
    return transformers


def token_weights(views: Views) -> list[Any]:
    """Transformers that weigh the tokens of views of many counts and leave rows as long as they are, learned.

    None where there is one view alone, or none of many counts.

    Examples
    --------
    >>> import numpy as np
    >>> [step.views for step in token_weights(Views(words=np.eye(60), tags=np.eye(60)))]
    [['words', 'tags']]
    """
    wide = [name for name in counted_views(views) if views[name].shape[1] > WIDE]
    if not wide or len(views.names) == 1:
        return []
    return [clone(step).set_params(norm=None).fit(views) for step in weigh_counts(views, wide)]


def join_tokens(views: Views, weights: list[Any], shares: Mapping[str, float]) -> Views:
    """Return weighed views of counts as one, "tokens": rows side by side, in which a long view counts for more.

    A view that is not given, or that an object lacks, has no tokens; those of the others count for the view's share.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(60), tags=np.eye(60))
    >>> join_tokens(X, token_weights(X), {"words": 1.0, "tags": 1.0})
    Views of 60 rows
      tokens  60 x 120  sparse float64  1.7 % non-zero
    """
    parts, there = [], np.zeros(len(views), dtype=bool)
    for step in weights:
        names = [name for name in step.views if name in views]
        weighed = step.transform(views.select(*names)) if names else None
        for name in step.views:
            if weighed is None or name not in names:
                parts.append(sparse.csr_array((len(views), len(step.idf_[name]))))
                continue
            parts.append(sparse.csr_array(weighed[name] * np.sqrt(shares.get(name, 1.0))))
            there |= views.present[:, views.names.index(name)]
    return Views({"tokens": sparse.csr_array(sparse.hstack(parts))}, present={"tokens": there})


def view_scalings(steps: Iterable[Any]) -> dict[str, str]:
    """How fitted transformers make the columns of each view comparable.

    "tf-idf", "unit length" where some step takes it to have such weights already, or a scaling of `ScaledViews`.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> view_scalings(preparation(X))
    {'words': 'tf-idf', 'sizes': 'standard'}
    """
    scalings: dict[str, str] = {}
    for step in steps:
        if isinstance(step, TfidfViews):
            for name in step.changed_views_:
                scalings[name] = scalings.get(name, WEIGHTED) if step.use_idf else GIVEN
        elif isinstance(step, ScaledViews):
            scalings.update(step.scaling_)
    return scalings


def prepared(views: Views, by: list[Any]) -> Views:
    """Views after the transformers of `preparation`."""
    for transformer in by:
        if isinstance(transformer, Pipeline):
            views = with_smoothed(transformer, views)
            continue
        if isinstance(transformer, ScaledViews):
            views = _filled(views, list(transformer.views or views.names))
        views = transformer.transform(views)
    return views


def named_estimators(given: Any, what: str, kind: str, fits: Callable[[Any], bool]) -> list[tuple[str, Any]]:
    """Check a list of names and (name, estimator) that a user gave; `what` and `kind` are the words for what `fits`.

    The estimator of a name alone, that of a default candidate, is None.
    """
    form = f"of names of default candidates and (name, {what})"
    if not isinstance(given, (list, tuple)):
        raise ParameterError(f"candidates must be None or a list {form}, got {given!r}.")
    asked: list[tuple[str, Any]] = []
    for entry in given:
        if isinstance(entry, str):
            asked.append((entry, None))
            continue
        if not isinstance(entry, (tuple, list)) or len(entry) != 2 or not isinstance(entry[0], str):
            raise ParameterError(f"candidates must be a list {form}, got {entry!r} in it.")
        name, estimator = entry
        if not fits(estimator):
            raise ParameterError(f"Candidate {name!r} must be {kind}, got {estimator!r}.")
        asked.append((name, estimator))
    names = [name for name, _ in asked]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"candidates must have at least one entry and unique names, got {names!r}.")
    return asked


def pick(
    asked: Sequence[tuple[str, Any]],
    proposed: Sequence[C],
    skipped: Mapping[str, str],
    own: Callable[[str, Any], C],
) -> tuple[list[C], dict[str, str]]:
    """Candidates that were asked for, in that order, and why others of them do not apply to the data.

    `asked` is as `named_estimators` gives it, `skipped` says which default candidates do not apply, and why; `own`
    makes a candidate of a name and an estimator.
    """
    defaults = {candidate.name: candidate for candidate in proposed}
    known = list(dict.fromkeys([*defaults, *skipped]))
    for name, estimator in asked:
        if estimator is None and name not in known:
            raise ParameterError(
                f"There is no default candidate {name!r} for these views.{did_you_mean(name, known)} Choose from: "
                f"{', '.join(known)}; or give (name, estimator)."
            )
    chosen = [
        defaults[name] if estimator is None else own(name, estimator)
        for name, estimator in asked
        if estimator is not None or name in defaults
    ]
    why = {name: skipped[name] for name, estimator in asked if estimator is None and name not in defaults}
    if not chosen:
        reasons = "; ".join(f"{name}, since {reason}" for name, reason in why.items())
        raise ParameterError(
            f"No candidate that was named suits the data: {reasons}. Choose from: {', '.join(defaults)}."
        )
    return chosen, why


def _filled(views: Views, names: list[str]) -> Views:
    """Views of measurements that are stored as sparse, made dense: they are mostly filled."""
    stored = [name for name in names if name in views and sparse.issparse(views[name])]
    return views.map(dict.fromkeys(stored, sparse.csr_array.toarray)) if stored else views
