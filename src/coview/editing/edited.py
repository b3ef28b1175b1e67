"""`EditedModel`: a fitted model of topics or clusters with a log of edits, which is an estimator like any other.

What the model inside says (`inspect`) goes through the log whenever it is asked, so that no edit changes a fitted
number, and undoing one gives back what was there to the bit. A split is a model of its own, of the same kind and
settings, of the objects of one group: the memberships of the parts are its own, times that of the group. A drop asks
the model again as if it never had the group, which takes the objects: what it says of those of the fit is kept of the
last drop.
"""

from __future__ import annotations

import copy
import inspect as signatures
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone, is_clusterer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.classification.wrapper import last_step
from coview.editing.log import LARGEST, EditedGroups, Record, check_record, describe_record
from coview.editing.moves import NO_GROUP, Moves, find_moves
from coview.engines.loop import models_inside
from coview.exceptions import ParameterError, ViewsError
from coview.inspection import NAMED_BY_FEATURES, Features, Inspection, Reading, Training, inspect, one_hot
from coview.inspection.adapters import unused_views
from coview.inspection.contract import answers
from coview.inspection.features import deviations_of
from coview.inspection.memberships import label_codes
from coview.plsa.link import LinkPLSA
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.fitting import same_work
from coview.utils.inner import fitting
from coview.utils.messages import cut, did_you_mean, listed, quantity, short
from coview.utils.parameters import ESTIMATOR, NONE
from coview.utils.warn import unwarned, warn_user
from coview.validation import check_count
from coview.views.arrays import for_sklearn, take_rows
from coview.views.lazy import LazyViews
from coview.views.views import NamedViews, Views, is_plain

__all__ = ["EditedModel", "edit"]

COUNTS = (
    "n_clusters",
    "n_components",
    "estimator__n_clusters",
    "estimator__n_components",
)  # of groups that a fit finds
OWN_SETTINGS = (  # which a split of the model does not take over: they are about all groups, or about one fit
    *("init", "seeds", "means_init", "weights_init", "precisions_init", "distance_threshold"),
)


def edit(model: Any) -> EditedModel:
    """Return a fitted model as one whose groups can be merged, split, renamed, dropped and marked as noise.

    Parameters
    ----------
    model : estimator
        A fitted topic model or clusterer, of coview or scikit-learn, or a Pipeline that ends in one. It stays as it is.
        One that is an `EditedModel` already is copied, with its log.

    Returns
    -------
    EditedModel
        With the same groups, and an empty log.

    Examples
    --------
    >>> from coview import LinkPLSA, edit
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=4, random_state=0).views
    >>> model = edit(LinkPLSA(4, random_state=0).fit(X))
    >>> model.preview("merge", groups=[1, 3])
    merge 1 and 3 into 1: 15 of 60 objects move
      before  after  n_objects
      3       1      15
    >>> model.merge([1, 3], name="animals").drop(0).numbers_
    [1, 2]
    >>> model.transform(X).shape, model.undo().numbers_
    ((60, 2), [0, 1, 2])
    """
    if isinstance(model, EditedModel):
        check_is_fitted(model)
        return copy.copy(model)
    inner = inspect(model)
    edited = EditedModel(clone(model))
    edited.estimator_ = _hold(model)
    edited._start(inner)
    return edited


def _can(*methods: str) -> Callable[[Any], bool]:
    """Tell `available_if` to show a method only where the model inside has one of these."""

    def check(self: Any) -> bool:
        model = vars(self).get("estimator_", self._inner())
        return any(rules.find_attribute(model, method) is not None for method in methods)

    return check


def _check_log(checker: rules.Checker, value: Any, where: str) -> None:
    """A log of edits that the groups of the model inside allow, with a model of the right size for each split."""

    def look() -> None:
        state = checker.state
        try:
            records = [check_record(record) for record in value]
            numbers = np.asarray(state["inner_numbers_"]).tolist()
            groups = EditedGroups(numbers, records)
            models = [inspect(model) for model in (state["estimator_"], *(each["model"] for each in state["splits_"]))]
            n = n_training(models[0])
        except Exception as error:  # whatever a model does that is not whole
            checker.refuse(where, f"has an edit that cannot be: {str(error).rstrip('.')}")
        if records != value:
            checker.refuse(where, "has an edit that is not how edits are written")
        known = [({view: each.n_features for view, each in model.views.items()}, model.kind) for model in models]
        widths = [len(model.groups) for model in models]
        if (
            widths != groups.widths
            or widths[0] != len(numbers)
            or known != known[:1] * len(known)
            or not has_groups(models[0])
        ):
            checker.refuse(where, f"does not go with the models: they have {listed(widths)} groups")
        shapes = [None if n is None else (n, width) for width in widths]
        kept, shares = state["after_drop_"] or [], [each["shares"] for each in state["splits_"]]
        given = [None if part is None else part.shape for part in (*shares, *kept)]
        if given != [*shapes[1:], *shapes[: len(kept)]]:
            checker.refuse(where, "does not go with splits_ and after_drop_: other objects or groups")

    checker.later.append(look)


def _view_rules() -> dict[str, rules.Rule]:
    """What is known of the views: all or nothing, as of a pipeline that makes them itself."""
    return {name: rules.optional(rule) for name, rule in rules.FITTED_VIEWS.items() if rule is not None}


_SHARES = rules.floats("objects", None, low=0.0, high=1.001)


@shared_parameters
class EditedModel(MultiViewEstimator):
    """A topic model or clusterer whose groups people merge, split, rename, drop or mark as noise.

    The edits are a log (`edits_`) on top of a fitted model that stays as it is. `predict`, `transform`, `inspect`,
    reports and model files go through the log, `undo` takes the last edit back, and `fit` makes all edits again: the
    groups of the new fit are matched with those of the old one by the objects that they share, and edits of groups that
    are no longer found are told of. `clone` forgets the log as it forgets the fit.

    Groups are named by their number, or by their name as `inspect(model).group_names` has it. Numbers are stable: a
    merged group has the lowest of its groups, parts of a split get new ones (the largest keeps the old one), and no
    number is given twice; `whereabouts` says what became of each. Columns of `transform` are in this order: `numbers_`.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A topic model or clusterer, or a Pipeline that ends in one; None is `LinkPLSA()`. `edit` takes one that is
        fitted.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    edits_ : list of dict
        The log: one record for each edit, as `apply` takes them and JSON holds them.
    inner_numbers_ : ndarray of int
        Numbers of the groups of the fitted model, in its order; those after the edits are `numbers_`.
    splits_ : list of dict
        For each split of the log, the "model" of the parts and their "shares" of the training objects.
    after_drop_ : list of ndarray, or None
        What the model inside and those of the splits before the last drop say of the training objects after it; None
        where these were not passed to it, and where that drop was undone.
    lost_edits_ : list of dict
        Edits that the last fit could not make again.
    numbers_ : list of int
        Numbers of the groups, in the order of the columns of `transform`; noise is none of them.
    labels_ : ndarray (n_objects,)
        Number of the group of each training object, -1 for none; not where the model inside keeps nothing of them, nor
        after a drop whose `after_drop_` is None.
    memberships_ : ndarray (n_objects, n_groups)
        Memberships of the training objects; of a clusterer that has none, 1 in the group of the object. Likewise.
    <shared: fitted views>

    See Also
    --------
    edit : Start from a fitted model.

    Examples
    --------
    >>> from coview import EditedModel, LinkPLSA, inspect
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=4, random_state=0).views
    >>> model = EditedModel(LinkPLSA(4, random_state=0)).fit(X)
    >>> model = model.merge([1, 3]).rename(1, "animals").mark_noise(0)
    >>> inspect(model).groups, inspect(model).group_names[0]
    (['1', '2'], 'animals')
    >>> print(*model.log(), sep="; ")
    merge 1 and 3 into 1; rename 1 to 'animals'; mark 0 as noise
    >>> model.whereabouts()
    {0: 'noise', 1: "a group, 'animals'", 2: 'a group', 3: 'merged into 1'}
    >>> sorted(set(model.predict(X).tolist()))
    [-1, 1, 2]
    """

    _models_counts = False  # the model inside refuses what it cannot take
    _parameters = {"estimator": ESTIMATOR | NONE}
    estimator_: Any
    edits_: list[Record]
    inner_numbers_: np.ndarray
    splits_: list[dict[str, Any]]
    after_drop_: list[np.ndarray] | None
    lost_edits_: list[Record]
    _fitted_state = {
        **_view_rules(),
        "estimator_": rules.estimator(),
        "inner_numbers_": rules.integers(None, below=LARGEST),
        "splits_": rules.sequence(rules.record(model=rules.estimator(), shares=rules.or_none(_SHARES))),
        "after_drop_": rules.or_none(rules.sequence(_SHARES)),
        "edits_": rules.custom(_check_log),
        "lost_edits_": rules.sequence(rules.anything()),
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._inner())
        tags.estimator_type = inner.estimator_type
        tags.transformer_tags = inner.transformer_tags
        tags.non_deterministic = inner.non_deterministic
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        return tags

    # -- fitting

    def fit(self, X: Any, y: Any = None) -> EditedModel:
        """Fit the model inside, and make the edits of the log again; y is ignored.

        Parameters
        ----------
        X : what the model inside takes
            Training objects.
        y : None
            Ignored.
        """
        earlier = copy.copy(self) if vars(self).get("edits_") else None
        model = clone(self._inner())
        for name in rules.FITTED_VIEWS:
            self.__dict__.pop(name, None)
        given = X if isinstance(model, Pipeline) else self._given(self._fit_views(X), X)
        with same_work(model), fitting(last_step(model), "these objects"):
            self.estimator_ = model.fit(given)
        self._start(inspect(self.estimator_))
        if earlier is not None:
            self._replay(earlier, X)
        return self

    @available_if(lambda self: is_clusterer(self))
    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the numbers of the clusters of the training objects; y is ignored."""
        return self.fit(X).labels_

    @available_if(_can("predict", "transform"))
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return memberships of the training objects as `transform` gives them; y is ignored."""
        return self.fit(X).transform(X)

    def _inner(self) -> Any:
        return LinkPLSA() if self.estimator is None else self.estimator

    def _given(self, views: Any, X: Any) -> Any:
        """What the model inside is fitted on: one matrix stays one."""
        if is_plain(X):
            return X
        matrix = not answers(last_step(self._inner())) and not isinstance(views, LazyViews) and len(views.names) == 1
        return for_sklearn(views[views.names[0]]) if matrix else views

    @property
    def _takes_lazy(self) -> bool:  # type: ignore[override]
        return bool(rules.find_attribute(last_step(self._inner()), "_takes_lazy"))

    def _start(self, inner: Inspection) -> None:
        """Begin with an empty log."""
        if not has_groups(inner):
            what = f"gives a {inner.kind} of each object" if inner.groups else "has found none"
            raise ParameterError(
                f"must have topics or clusters to edit, but {inner.name} {what}.", parameter="estimator"
            )
        self.inner_numbers_ = np.arange(len(inner.groups))
        self.edits_, self.splits_, self.lost_edits_, self.after_drop_ = [], [], [], None

    # -- making the edits again

    def _replay(self, earlier: EditedModel, X: Any) -> None:
        """Give the groups the numbers of those of an earlier fit, and make its edits again, those that can be made."""
        old, new = inspect(earlier.estimator_), inspect(self.estimator_)
        before, after = _read_anew(old, X), _read_anew(new, X)
        if after is None:
            after = training_memberships(new)
        if before is None or after is None:
            warn_user(
                "The groups of this fit cannot be matched with those of the fit before, which has other views or no "
                "predict: edits are made again by number. Look at them, or undo them.",
                UserWarning,
            )
        following = earlier._groups.next_number
        self.inner_numbers_ = _match_numbers(before, after, earlier.inner_numbers_, following, len(new.groups))
        splits = iter(earlier.splits_)
        for record in earlier.edits_:
            split = next(splits) if record["edit"] == "split" else None
            try:
                again = record, None
                if split is not None:
                    again = self._split_as_before(record, split, old, X)
                self._take(*again, X)
            except ValueError:  # also of a fit of too few objects
                self.lost_edits_.append(record)
        if self.lost_edits_:
            lost = "; ".join(describe_record(record) for record in self.lost_edits_)
            count = f"{len(self.lost_edits_)} of {quantity(len(earlier.edits_), 'edit')}"
            warn_user(
                f"{count} could not be made again, since this fit has not found their groups: {cut(lost, 200)}. They "
                "are in lost_edits_.",
                UserWarning,
            )

    def _split_as_before(self, record: Record, split: dict[str, Any], old: Inspection, X: Any) -> tuple[Record, Any]:
        """Split a group again, its parts numbered as before where they hold the same objects."""
        into = record["into"]
        again, _ = self._fit_split(record["group"], len(into), X)
        before = _read_anew(inspect(split["model"]), X, old)
        after = _shares_of(inspect(again["model"]), self._objects(X))
        order = _match_numbers(before, after, np.array(into), 0, len(into)).tolist()
        return {**record, "into": order if sorted(order) == sorted(into) else into}, again

    # -- editing

    def merge(self, groups: Sequence[Any], name: str | None = None) -> EditedModel:
        """Merge groups into one, which has the lowest of their numbers: memberships add up.

        The features of the merged group are means of theirs, weighted by the memberships of the objects; where a group
        is one distribution over the features of all views (`PLSA`, `DualPLSA`), also by p(view | group). A merge of all
        parts of a split is the group that was split.

        Parameters
        ----------
        groups : list of int or str
            Numbers or names of two or more groups.
        name : str, optional
            Name of the merged group; by default one that was given to them before, else one made of its features.
        """
        return self.apply("merge", groups=groups, name=name)

    def split(self, group: Any, X: Any = None, n: int = 2) -> EditedModel:
        """Split a group: a model of the same kind and settings is fitted to its objects alone.

        The largest part keeps the number, the others get new ones. Parts share the memberships of the group, so that an
        object that was in a topic by little may go to another one.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        X : what the model takes
            The objects of the fit, in the same order; another number of them, or other ids, are refused.
        n : int, default=2
            Number of parts.
        """
        return self.apply("split", X, group=group, n=n)

    def rename(self, group: Any, name: str) -> EditedModel:
        """Give a group a name, which comes before the one made of its features.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        name : str
            The new name; no two groups may be given the same one.
        """
        return self.apply("rename", group=group, name=name)

    def drop(self, group: Any, X: Any = None) -> EditedModel:
        """Drop a group: its objects go to their next best group.

        The model is asked as if it never had the group: mixtures are folded in with the other topics alone, and
        clusters are the nearest of the others. Objects of a dropped part of a split go to the other parts. Where a
        clusterer can say nothing of the kind, the object is in no group then (-1).

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        X : what the model takes, optional
            The objects of the fit, in the same order; another number of them, or other ids, are refused. Without them
            `labels_` and `memberships_` are not known afterwards: what the model has kept of an object does not say
            where it belongs without its group.
        """
        return self.apply("drop", X, group=group)

    def mark_noise(self, group: Any) -> EditedModel:
        """Mark a group as noise: `predict` gives -1 for its objects, and it has no column in `transform`.

        Memberships of an object then add up to one less its share of noise.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        """
        return self.apply("noise", group=group)

    def reduce(self, n: int, X: Any = None) -> EditedModel:
        """Merge the groups that are most alike, until there are n; see `Inspection.hierarchy`.

        Parameters
        ----------
        n : int
            Number of groups to keep; noise does not count.
        X : what the model takes, optional
            Objects, for models that say nothing of features.
        """
        return self.apply("reduce", X, n=n)

    def apply(self, edit: Any, X: Any = None, **options: Any) -> EditedModel:
        """Make an edit that is given by its name or as a record of a log.

        Parameters
        ----------
        edit : str or dict
            "merge", "split", "rename", "drop", "noise" or "reduce" with its options; or a record, as in `edits_`.
        X : what the model takes, optional
            The objects of the fit; a split needs them, and a drop to know `labels_` and `memberships_` afterwards.
        **options
            What the edit needs: `group` or `groups`, `name`, `n`.

        Returns
        -------
        EditedModel
            Itself.
        """
        check_is_fitted(self)
        self._take(*self._resolve(edit, X, options), X)
        return self

    def undo(self, n: int = 1) -> EditedModel:
        """Take the last edits back; everything is as it was before them, to the bit.

        Only where a drop is undone and an earlier one stays, `labels_` and `memberships_` are no longer known.

        Parameters
        ----------
        n : int, default=1
            How many edits.
        """
        check_is_fitted(self)
        check_count("n", n)
        if n > len(self.edits_):
            left = f"The log has {quantity(len(self.edits_), 'edit')} to undo, got {n}."
            raise ParameterError(left if self.edits_ else "There is nothing to undo.")
        undone = [record["edit"] for record in self.edits_[-n:]]
        self.edits_ = self.edits_[:-n]
        self.splits_ = self.splits_[: len(self.splits_) - undone.count("split")]
        if "drop" in undone:
            self.after_drop_ = None
        return self

    def preview(self, edit: Any, X: Any = None, **options: Any) -> Moves:
        """Return the objects that an edit would move, and change nothing.

        Parameters
        ----------
        edit : str or dict
            As in `apply`.
        X : what the model takes, optional
            Objects to look at; by default those of the fit, where the model knows their groups. A split needs them, and
            looks at those of the fit; a drop needs objects too.
        **options
            As in `apply`.

        Returns
        -------
        Moves
            A dict of lists, one row per object: "row", "id", "before", "after" (numbers, -1 for none). It prints how
            many go from which group to which (`counts`).
        """
        check_is_fitted(self)
        record, split = self._resolve(edit, X, options)
        changed = copy.copy(self)
        changed._take(record, split)
        return changed.moves_from(self, X)

    def moves_from(self, other: EditedModel, X: Any = None) -> Moves:
        """Return the objects that are in another group here than with the edits of another log on the same model.

        Parameters
        ----------
        other : EditedModel
            The same fitted model with other edits, such as a copy that `edit` made before some of them.
        X : what the model takes, optional
            Objects to look at; by default those of the fit, where the model knows their groups. A clusterer without
            `predict` knows those of its fit only.

        Returns
        -------
        Moves
            As of `preview`; "before" are the groups of `other`.
        """
        check_is_fitted(self)
        inner = inspect(self.estimator_)
        since = len(other.edits_)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self.edits_, other.edits_)))
        undone = "" if same == since else f"undo {quantity(since - same, 'edit')}"
        edits = undone or "; ".join(self.log()[since:])
        if X is None or (not _reads(inner) and self.was_fitted_on(X)):
            known = [one._read_training(inner) for one in (other, self)]
            labels = [each[1] for each in known if each is not None]
            if len(labels) < len(known):
                raise ParameterError(f"is needed: {_say_unknown(inner)}", parameter="X")
            return find_moves(edits, labels[0], labels[1], self._ids_of_fit(inner))
        objects = self._objects(X)
        before, after = (one.read_objects(objects)[1] for one in (other, self))
        return find_moves(edits, before, after, ids=objects.ids if isinstance(objects, Views) else None)

    def log(self) -> list[str]:
        """Return the edits in words, first to last."""
        check_is_fitted(self)
        return [describe_record(record) for record in self.edits_]

    def whereabouts(self) -> dict[int, str]:
        """Return what each number that a group ever had is now: a group with its name, noise, dropped, or merged."""
        check_is_fitted(self)
        return self._groups.whereabouts()

    def number_of(self, group: Any) -> int:
        """Return the number of a group that is given by number or name; others are refused with what is near.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        """
        check_is_fitted(self)
        groups = self._groups
        if isinstance(group, (int, np.integer)) and not isinstance(group, bool):
            return groups.check(int(group))
        if not isinstance(group, str):
            raise ParameterError(f"A group must be a number or a name, got {short(group)}.")
        shown = self._inspect()
        names = {name.casefold(): n for name, n in zip(shown.group_names, groups.shown)}
        names |= {name.casefold(): n for n, name in groups.names.items()}
        if _is_number(group) and (int(group) in groups.columns or group not in names):
            return groups.check(int(group))
        if group.casefold() in names:
            return names[group.casefold()]
        hint = did_you_mean(group, shown.group_names) or f" The groups are {listed(shown.keyed_names)}."
        raise ParameterError(f"There is no group {short(group)}.{hint}")

    def _resolve(self, edit: Any, X: Any, options: dict[str, Any]) -> tuple[Record, dict[str, Any] | None]:
        """Return the record of an edit, its groups by number, and of a split the model that makes it."""
        asked = {**({"edit": edit} if isinstance(edit, str) else edit if isinstance(edit, dict) else {}), **options}
        kind, given = asked.get("edit"), asked.get("groups")
        if kind == "merge" and isinstance(given, (list, tuple, np.ndarray)):
            asked["groups"] = [self.number_of(one) for one in given]
        if "group" in asked:
            asked["group"] = self.number_of(asked["group"])
        if kind == "reduce" and given is None:
            asked["groups"] = self._find_alike(asked.get("n"), X)
        split = None
        if kind == "split":
            split = self._resolve_split(asked, X)
        record = check_record(asked or edit)
        name, named = record.get("name"), record.get("groups", [record.get("group")])
        if name is not None:
            if _is_number(name):
                raise ParameterError(f"A name must not be a number, which groups have already, got {short(name)}.")
            called = {key: int(number) for number, key in self._inspect().given_names.items()}
            if called.get(name, named[0]) not in named:
                raise ParameterError(f"Group {called[name]} is called {short(name)} already: choose another name.")
        return record, split

    def _find_alike(self, n: Any, X: Any) -> list[list[int]]:
        """Return the groups that a reduction merges."""
        check_count("n", n)
        numbers = self._groups.shown
        if n > len(numbers):
            raise ParameterError(f"must be at most the number of groups, {len(numbers)}, got {n}.", parameter="n")
        parts = inspect(self).hierarchy(X).cut(n) if n > 1 else np.zeros(len(numbers), dtype=np.int64)
        merged = [[numbers[at] for at in np.flatnonzero(parts == part)] for part in range(n)]
        return [part for part in merged if len(part) > 1]

    def _resolve_split(self, asked: dict[str, Any], X: Any) -> dict[str, Any]:
        """Fit the model of a split; numbers of the parts may be given, as in a log."""
        group, n, into = asked.get("group", -1), asked.pop("n", 2), asked.get("into")
        n = len(into) if isinstance(into, list) else n
        check_count("n", n, 2)
        if X is None:
            raise ParameterError("is needed to split a group: pass the objects of the fit.", parameter="X")
        split, sizes = self._fit_split(group, n, X)
        if into is None:
            new = iter(range(self._groups.next_number, self._groups.next_number + n))
            asked["into"] = [group if part == int(np.argmax(sizes)) else next(new) for part in range(n)]
        return split

    def _take(self, record: Record, split: dict[str, Any] | None = None, X: Any = None) -> None:
        """Write an edit into the log, or refuse it and change nothing."""
        edits = [*self.edits_, record]
        after = copy.copy(self)
        after.edits_ = edits
        groups = after._groups
        if record["edit"] == "drop":
            inner = inspect(self.estimator_)
            objects = None if X is None else self._objects_of_fit(X, inner, "drop")
            asked = objects is not None and _reads(inner) and n_training(inner) is not None
            self.after_drop_ = after._ask(groups, objects) if asked else None
        self.edits_ = edits
        if split is not None:
            self.splits_ = [*self.splits_, split]

    def _keep_names(self, names: dict[str, str], by_hand: bool) -> None:
        """Write names of groups into the log, all that there are."""
        self.apply("names", names=names, by_hand=by_hand)

    def _names_by_hand(self) -> dict[str, str]:
        """Names that people gave: by edits, or to the model inside where its group is called so still."""
        groups, inner = self._groups, inspect(self.estimator_)
        given = rules.find_attribute(inner.estimator, "_names_by_hand")
        numbers = dict(zip(inner.groups, self.inner_numbers_.tolist()))
        before = {str(numbers[key]): name for key, name in ({} if given is None else given()).items()}
        known = self._inspect().given_names
        return {key: name for key, name in known.items() if int(key) in groups.by_hand or before.get(key) == name}

    def was_fitted_on(self, X: Any) -> bool:
        """Tell whether objects are those of the fit, as far as their number and ids tell.

        Parameters
        ----------
        X : what the model takes
            The objects.
        """
        return self._are_of_fit(self._objects(X), inspect(self.estimator_))

    def _are_of_fit(self, objects: Any, inner: Inspection) -> bool:
        ids, own = self._ids_of_fit(inner), objects.ids if isinstance(objects, NamedViews) else None
        same = ids is None or own is None or np.array_equal(ids, own)
        return same and n_training(inner) in (None, _n_rows(objects))

    def _objects_of_fit(self, X: Any, inner: Inspection, edit: str) -> Any:
        """Objects as the model inside takes them; others than those of the fit are refused."""
        objects = self._objects(X)
        if not self._are_of_fit(objects, inner):
            raise ParameterError(
                f"must hold the objects of the fit to {edit} a group, in the same order.", parameter="X"
            )
        return objects

    def _ids_of_fit(self, inner: Inspection) -> np.ndarray | None:
        ids = self._object_ids if inner.training.ids is None else inner.training.ids
        return ids if ids is not None and len(ids) == n_training(inner) else None

    def _fit_split(self, group: int, n: int, X: Any) -> tuple[dict[str, Any], np.ndarray]:
        """Fit a model of n groups to the objects of one group; return it with its shares, and the sizes of parts."""
        self._groups.check(group)
        inner = inspect(self.estimator_)
        objects = self._objects_of_fit(X, inner, "split")
        if isinstance(objects, LazyViews):
            objects = objects.collect()
        known = self._read_training(inner)
        labels = self.read_objects(objects)[1] if known is None else known[1]
        rows = np.flatnonzero(labels == group)
        if len(rows) < n:
            raise ParameterError(
                f"Group {group} has {quantity(len(rows), 'object')}: it cannot be split into {n} parts."
            )
        model = _make_smaller(inner.estimator, n)
        part = objects[rows] if isinstance(objects, Views) else take_rows(objects, rows)
        matrix = isinstance(part, Views) and inner.takes_matrix
        with unwarned(), fitting(model, f"the {quantity(len(rows), 'object')} of group {group}"):
            model.fit(for_sklearn(part[part.names[0]]) if matrix else part)
        found = inspect(model)
        if len(found.groups) != n:
            raise ParameterError(f"Group {group} cannot be split into {n} parts: its objects make {len(found.groups)}.")
        shares = _shares_of(found, objects, rows)
        sizes = np.bincount(shares[rows].argmax(axis=1), minlength=n)
        return {"model": model, "shares": None if n_training(inner) is None else shares}, sizes

    # -- what the edited model says

    @property
    def _groups(self) -> EditedGroups:
        return EditedGroups(self.inner_numbers_.tolist(), self.edits_)

    @property
    def _models(self) -> list[Inspection]:
        """The model inside, and those of the splits."""
        return [inspect(model) for model in (self.estimator_, *(split["model"] for split in self.splits_))]

    @property
    def numbers_(self) -> list[int]:
        """Numbers of the groups, in the order of the columns of `transform`; noise is none of them."""
        check_is_fitted(self)
        return self._groups.shown

    @property
    def labels_(self) -> np.ndarray:
        """Number of the group of each training object, -1 for none, where the model keeps its groups."""
        return self._of_training()[1]

    @property
    def memberships_(self) -> np.ndarray:
        """Memberships of the training objects (objects x groups), where the model keeps them."""
        return self._of_training()[0]

    def _of_training(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        inner = inspect(self.estimator_)
        known = self._read_training(inner)
        if known is None:
            raise AttributeError(
                f"Groups of training objects are not known: {_say_unknown(inner)} Pass them, as in drop(3, X), or ask "
                "predict(X)."
            )
        return known

    def _objects(self, X: Any) -> Any:
        """Objects as the model inside takes them: its last step, of a pipeline."""
        if "view_names_" in vars(self):
            return self._new_views(X)
        return inspect(self.estimator_).prepare(X, lazy=True)

    def read_objects(self, objects: Any, reading: Reading | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return memberships and numbers of the groups of objects.

        Parameters
        ----------
        objects : what the model inside takes
            The objects; its last step takes them, of a pipeline.
        reading : Reading, optional
            What the model inside says of them, where that is known already.
        """
        inner, groups = inspect(self.estimator_), self._groups
        if not _reads(inner):
            raise ViewsError(f"{inner.name} has no predict, and knows the groups of the objects of its fit only.")
        if reading is None and inner.kind == "cluster":
            reading = inner.read(objects, prepared=True)
        if reading is None:
            return self._sort(inner, groups, self._ask(groups, objects), None)
        return self._sort(inner, groups, self._ask(groups, objects, reading.memberships), reading.codes)

    def _ask(self, groups: EditedGroups, objects: Any, known: np.ndarray | None = None) -> list[Any]:
        """What the model inside (`known` without drops) and those of the splits say of objects."""
        said: list[Any] = [] if known is None or groups.dropped[0] else [known]
        for model, gone in list(zip(self._models, groups.dropped))[len(said) :]:
            said.append(model.without(gone).memberships(objects, prepared=True))
        return said

    def _answers_of_fit(self, inner: Inspection) -> list[Any] | None:
        """What the model inside and those of the splits say of the training objects; None where it is not known."""
        first, dropped = training_memberships(inner), self._groups.dropped
        said = None if first is None else [first, *(split["shares"] for split in self.splits_)]
        if said is None or not any(dropped):
            return said
        if not _reads(inner):  # what it knows of the objects of its fit is all that it knows
            return [part * ~np.isin(range(part.shape[1]), list(gone)) for part, gone in zip(said, dropped)]
        kept = self.after_drop_
        return None if kept is None else [*kept, *said[len(kept) :]]

    def _read_training(self, inner: Inspection) -> tuple[np.ndarray, np.ndarray] | None:
        said = self._answers_of_fit(inner)
        return None if said is None else self._sort(inner, self._groups, said, inner.training.codes)

    @staticmethod
    def _sort(
        inner: Inspection, groups: EditedGroups, said: Sequence[Any], codes: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Memberships and numbers of the groups of objects, by what the models say and their groups in the one inside.

        An edit of clusters moves the objects of these clusters alone. Topics are mixtures: an object belongs to the one
        that it has most of.
        """
        final = leaders = groups.memberships(said)
        if inner.kind == "cluster" and codes is not None:
            stays = (codes >= 0) & ~np.isin(codes, list(groups.dropped[0]))
            own = np.where(stays[:, None], one_hot(codes, groups.widths[0]), said[0])
            leaders = groups.memberships([np.where(codes[:, None] < 0, 0, own), *said[1:]])
        numbers = np.array([NO_GROUP if number in groups.noise else number for number in groups.columns])
        labels = np.where(leaders.max(axis=1, initial=0.0) > 0, numbers[leaders.argmax(axis=1)], NO_GROUP)
        return final[:, numbers != NO_GROUP], labels

    @available_if(_can("predict", "transform"))
    def predict(self, X: Any) -> np.ndarray:
        """Return the number of the group of each object, -1 for noise, from some or all of the fitted views."""
        check_is_fitted(self)
        return self.read_objects(self._objects(X))[1]

    @available_if(_can("predict", "transform"))
    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects in the groups (objects x groups), columns in the order of `numbers_`.

        Rows sum to one, less the share of noise, where those of the model inside do. After a merge of clusters an
        object of another one may have its largest membership in the merged one, to which memberships add up: `predict`
        leaves it where it is.
        """
        check_is_fitted(self)
        return self.read_objects(self._objects(X))[0]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names of the columns of `transform`: as of the model inside, with the numbers of the groups.

        Parameters
        ----------
        input_features : None
            Not used.
        """
        numbers = self.numbers_
        return np.array([f"{inspect(self.estimator_).name.lower()}{number}" for number in numbers], dtype=object)

    def _unused_views(self) -> list[str]:
        """Those of the model inside."""
        return list(unused_views(self.estimator_))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: what the model inside says, through the log."""
        models, groups = self._models, self._groups
        inner, numbers = models[0], self.inner_numbers_.tolist()
        said, first = self._answers_of_fit(inner), training_memberships(inner)
        kept = said or [first, *(split["shares"] for split in self.splits_)]
        sizes = groups.sizes(None if first is None else kept)
        positions = np.flatnonzero([number not in groups.noise for number in groups.columns])

        def rows(values: Sequence[Any], shares: Sequence[np.ndarray | None] = ()) -> np.ndarray:
            masses = [size if part is None else size * part for size, part in zip(sizes, shares or [None] * len(sizes))]
            return groups.rows(values, masses)[positions]

        def edited(parts: Sequence[Features], view: str) -> Features:
            own, shares = parts[0], [part.view_shares for part in parts]
            weights = rows([part.weights for part in parts], shares)
            deviations, over, counts = own.deviations, own.with_background, [part.frequencies for part in parts]
            if deviations is not None:
                deviations = deviations_of(weights, *rules.find_attribute(inner.estimator, "column_moments_")[view])
            if over is not None:
                over = edited([part.with_background or part for part in parts], view)
            share = None if own.view_shares is None else rows(shares)
            frequencies = None if any(part is None for part in counts) else rows(counts)
            return Features(weights, own.probabilities, own.origin, frequencies, deviations, over, share)

        def features(view: str) -> Features | None:
            parts = [model.described_features(view) for model in models]
            if groups.whole:
                return parts[0]
            described = [part for part in parts if part is not None]
            return edited(described, view) if len(described) == len(parts) else None

        def by_view(objects: Any) -> dict[str, np.ndarray]:
            parts = [
                model.without(gone).memberships_by_view(objects, prepared=True)
                for model, gone in zip(models, groups.dropped)
            ]
            return {view: groups.memberships([part[view] for part in parts])[:, positions] for view in parts[0]}

        training = Training(ids=inner.training.ids)
        if said is not None:
            memberships, labels = self._sort(inner, groups, said, inner.training.codes)
            by_views = inner.training.memberships_by_view if groups.whole else {}
            training = Training(memberships, by_views, label_codes(labels, groups.shown), inner.training.ids)
        # names that the model itself has, of groups that are as they were
        own = {str(n): inner.given_names.get(key) for n, key in zip(numbers, inner.groups) if n not in groups.changed}
        taken = set(groups.names.values())
        names = {} if groups.searched else {key: name for key, name in own.items() if name and name not in taken}
        names |= {str(number): name for number, name in groups.names.items()}
        sort = (lambda objects: self.read_objects(objects)[0]) if _reads(inner) else None
        return replace(
            inner,
            estimator=self,
            groups=[str(number) for number in groups.shown],
            labels=list(groups.shown),
            given_names={key: name for key, name in names.items() if int(key) in groups.shown},
            edits=list(self.edits_),
            _name_inside=inner.name,
            training=training,
            topics=inner.topics if groups.whole else None,
            variance_explained=inner.variance_explained if groups.whole else {},
            _features=features,
            _memberships=sort,
            _memberships_by_view=None if inner._memberships_by_view is None else by_view,
            _predict=(lambda objects: self.read_objects(objects)[1]) if _reads(inner) else None,
            _profiles=inner._profiles if groups.whole else None,
            _takes_matrix=inner.takes_matrix,
            _transform=sort,
        )


# -- pieces


def has_groups(inner: Inspection) -> bool:
    """Tell whether a model has topics or clusters of its own, which edits are about."""
    return inner.kind in NAMED_BY_FEATURES and bool(inner.groups) and inner.retriever is None


def n_training(inner: Inspection) -> int | None:
    """Return how many training objects the model knows the groups of; None where it keeps nothing of them."""
    known = training_memberships(inner)
    return None if known is None else len(known)


def training_memberships(inner: Inspection) -> np.ndarray | None:
    """Return memberships of the training objects, or their groups as such; None where nothing is kept."""
    if inner.training.memberships is not None:
        return inner.training.memberships
    return None if inner.training.codes is None else one_hot(inner.training.codes, len(inner.groups))


def _read_anew(inner: Inspection, X: Any, before: Inspection | None = None) -> np.ndarray | None:
    """Return what a model says of any objects, prepared by the steps of `before`; None where it cannot tell.

    The groups of its training objects are no answer: they say nothing of other objects, nor of the same in other order.
    """
    try:
        with unwarned():
            objects = X if before is None else before.prepare(X)
            return inner.memberships(objects, prepared=before is not None)
    except ValueError:  # other views
        return None


def _match_numbers(
    before: np.ndarray | None, after: np.ndarray | None, numbers: np.ndarray, following: int, n_groups: int
) -> np.ndarray:
    """Numbers of new groups: those of the old ones that share most members, one to one; new ones from `following` on.

    Examples
    --------
    >>> _match_numbers(np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[2, 2, 0, 1]], np.array([4, 5, 6]), 9, 3)
    array([5, 6, 4])
    """
    given = np.full(n_groups, -1)
    if before is not None and after is not None:
        shared = np.asarray(before, dtype=np.float64).T @ np.asarray(after, dtype=np.float64)
        for old, new in zip(*linear_sum_assignment(shared, maximize=True)):
            if shared[old, new] > 0:
                given[new] = numbers[old]
    else:
        kept = min(len(numbers), n_groups)
        given[:kept] = numbers[:kept]
    given[given < 0] = following + np.arange((given < 0).sum())
    return given


def _shares_of(found: Inspection, objects: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """Shares of the parts of a split; of a clusterer without `predict` those of its objects alone, else even."""
    shares = found.memberships(objects, prepared=True)
    if shares is not None:
        return shares
    even = np.full((_n_rows(objects), len(found.groups)), 1.0 / len(found.groups))
    if rows is not None and found.training.codes is not None:
        even[rows] = one_hot(found.training.codes, len(found.groups))
    return even


def _hold(model: Any) -> Any:
    """Return a model with the same fitted arrays, which stays when the other one is fitted again or renamed."""
    held = copy.copy(model)
    if isinstance(model, Pipeline):
        held.steps = [(name, _hold(step)) for name, step in model.steps]
    return held


def _reads(inner: Inspection) -> bool:
    """Tell whether a model knows the groups of new objects."""
    return inner._memberships is not None or inner._predict is not None


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and text.isascii() and len(text) < 20


def _n_rows(objects: Any) -> int:
    return len(objects) if isinstance(objects, NamedViews) else int(objects.shape[0])


def _say_unknown(inner: Inspection) -> str:
    """Why the groups of the training objects are not known."""
    if n_training(inner) is None:
        return "the model has kept nothing of the objects of its fit."
    return (
        "a drop moves the objects of the fit, and where to is known only of the last drop, if they were passed to it."
    )


def _make_smaller(model: Any, n: int) -> Any:
    """Return an unfitted model of the same settings with n groups."""
    settings = model.get_params()
    name = next((name for name in COUNTS if name in settings), None)
    if name is None:
        raise ParameterError(f"{type(model).__name__} has no number of groups to set, so it cannot split one.")
    known = signatures.signature(type(model)).parameters
    own = [each for each in OWN_SETTINGS if each in known and not isinstance(settings[each], str)]
    usual = {each: known[each].default for each in own}
    copy = clone(model).set_params(**{name: n}, **usual)
    for inner in models_inside(copy):  # a checkpoint or a budget is that of one fit
        inner.set_callbacks()
    return copy
