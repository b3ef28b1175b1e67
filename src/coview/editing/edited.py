"""`EditedModel`: a fitted model of topics or clusters with a log of edits, which is an estimator like any other.

What the model inside says (`inspect`) goes through the log (`columns`) whenever it is asked, so that no edit changes a
fitted number, and undoing one gives back what was there to the bit. A split is a model of its own, of the same kind and
settings, of the objects of one group: the memberships of the parts are its own, times that of the group. A drop asks
the model again as if it never had the group, which takes the objects: what it says of those of the fit is kept of the
last drop.
"""

from __future__ import annotations

import copy
import inspect as signatures
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_clusterer, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.classification.wrapper import last_step
from coview.editing.columns import Columns, leading_groups, merged_variance
from coview.editing.log import EDITS, Ledger, Record, checked_record, describe_record
from coview.editing.matching import left_of, matched_numbers, read_anew, training_memberships
from coview.editing.moves import NO_GROUP, Moves, find_moves
from coview.editing.state import (
    drop_rule,
    has_groups,
    inner_rule,
    log_rule,
    n_training,
    numbers_rule,
    records_rule,
    splits_rule,
    view_rules,
)
from coview.engines.callbacks import models_inside
from coview.exceptions import ParameterError, ViewsError
from coview.inspection import Features, Inspection, Reading, Training, inspect, one_hot
from coview.inspection.adapters import unused_views
from coview.inspection.contract import answers
from coview.inspection.features import deviations_of
from coview.inspection.memberships import label_codes
from coview.plsa.link import LinkPLSA
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import fitting
from coview.utils.messages import cut, did_you_mean, listed, quantity, short
from coview.utils.parameters import ESTIMATOR, NONE
from coview.utils.warn import same_work, unwarned, warn_user
from coview.validation import check_count
from coview.views.arrays import for_sklearn, take_rows
from coview.views.base import NamedViews
from coview.views.coerce import is_plain
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["EditedModel", "edit"]

COUNTS = (
    "n_clusters",
    "n_components",
    "estimator__n_clusters",
    "estimator__n_components",
)  # how many groups a fit finds
OWN_SETTINGS = (  # which a split of the model does not take over: they are about all groups, or about one fit
    *("init", "seeds", "means_init", "weights_init", "precisions_init", "distance_threshold"),
)
MOST_PARTS = 1_000
NAMES = ("group_names_", "_found_names")  # attributes that say nothing of a fit
Known = dict[Any, tuple[Any, Any]]  # by model and dropped groups: the model, which keeps its id, and its answers
LONGEST_NUMBER = 20  # digits of a number that is given as a text


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
        return model._copy()
    inner = inspect(model)
    edited = EditedModel(clone(model))
    edited.estimator_ = _held(model)
    edited._remember(inner)
    edited._start(inner)
    return edited


def _can(*methods: str) -> Callable[[Any], bool]:
    """Tell `available_if` to show a method only where the model inside has one of these."""

    def check(self: Any) -> bool:
        model = vars(self).get("estimator_", self._inner())
        return any(rules.ask(model, method) is not None for method in methods)

    return check


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
        **view_rules(),
        "estimator_": inner_rule(),
        "inner_numbers_": numbers_rule(),
        "splits_": splits_rule(),
        "after_drop_": drop_rule(),
        "edits_": log_rule(),
        "lost_edits_": records_rule(),
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = deepcopy(get_tags(self._inner()))
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
        earlier = self._copy() if vars(self).get("edits_") else None
        model = clone(self._inner())
        if is_classifier(model) or is_regressor(model):
            raise ParameterError(
                f"must find topics or clusters, but {type(last_step(model)).__name__} learns from labels. Change the "
                "labels and fit again.",
                parameter="estimator",
            )
        given = X if isinstance(model, Pipeline) else self._given(self._fit_views(X), X)
        with same_work(model), fitting(last_step(model), "these objects"):
            self.estimator_ = model.fit(given)
        inner = inspect(self.estimator_)
        if isinstance(model, Pipeline):
            self._remember(inner)
        self._start(inner)
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
        return bool(rules.ask(last_step(self._inner()), "_takes_lazy"))

    def _remember(self, inner: Inspection) -> None:
        """Keep the views that the model takes, where the model itself was fitted elsewhere."""
        views = {} if inner.front is not None or inner.steps else inner.views
        for name in rules.FITTED_VIEWS:
            self.__dict__.pop(name, None)
        if not views or not all(each.n_features for each in views.values()):
            return
        self.view_names_ = list(views)
        self.n_features_by_view_ = {view: each.n_features for view, each in views.items()}
        names = {view: each.feature_names for view, each in views.items() if each.feature_names is not None}
        self.feature_names_by_view_ = {view: np.asarray(part) for view, part in names.items()}
        self.n_features_in_ = sum(self.n_features_by_view_.values())
        if (columns := rules.ask(self.estimator_, "feature_names_in_")) is not None:
            self.feature_names_in_ = columns

    def _start(self, inner: Inspection) -> None:
        """Begin with an empty log."""
        if not has_groups(inner):
            what = f"gives a {inner.kind} of each object" if inner.groups else "has found none"
            raise ParameterError(
                f"must have topics or clusters to edit, but {inner.name} {what}.", parameter="estimator"
            )
        self.inner_numbers_ = np.arange(len(inner.groups))
        self.edits_, self.splits_, self.lost_edits_, self.after_drop_ = [], [], [], None

    def _copy(self) -> EditedModel:
        """Return a model with a log of its own, which shares what was fitted."""
        other = copy.copy(self)
        for name in ("edits_", "splits_", "lost_edits_"):
            setattr(other, name, list(vars(self)[name]))
        return other

    # -- making the edits again

    def _replay(self, earlier: EditedModel, X: Any) -> None:
        """Give the groups the numbers of those of an earlier fit, and make its edits again, those that can be made."""
        old, new = inspect(earlier.estimator_), inspect(self.estimator_)
        before, after = read_anew(old, X), read_anew(new, X)
        if after is None:
            after = training_memberships(new)
        if before is None or after is None or len(before) != len(after):
            warn_user(
                "The groups of this fit cannot be matched with those of the fit before, which has other views or no "
                "predict: edits are made again by number. Look at them, or undo them.",
                UserWarning,
            )
        self.inner_numbers_ = matched_numbers(before, after, earlier.inner_numbers_, earlier._ledger.next_number)
        splits = iter(earlier.splits_)
        for record in earlier.edits_:
            split = next(splits) if record["edit"] == "split" else None
            left = left_of(record, self._ledger)
            try:
                if left is None:
                    raise ParameterError("Its groups are not there.")
                if split is None:
                    self._take(left, X=X)
                else:
                    self._take(*self._split_as_before(left, split, old, X))
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
        again = self._fit_split(record["group"], len(into), X)
        found = inspect(again["model"])
        before = read_anew(inspect(split["model"]), X, old)
        after = self._shares_of(found, self._objects(X))
        order = matched_numbers(before, after, np.array(into), 0)
        whole = sorted(order.tolist()) == sorted(into)
        return {**record, "into": order.tolist() if whole else into}, again

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
        self._take(*self._resolved(edit, X, options), X)
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
            count = len(self.edits_)
            left = f"There {'is' if count == 1 else 'are'} {quantity(count, 'edit')} to undo, got {n}."
            raise ParameterError(left if count else "There is nothing to undo.")
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
        record, split = self._resolved(edit, X, options)
        changed = self._copy()
        changed._take(record, split)
        known = split is not None and changed._answers_of_fit(inspect(self.estimator_)) is not None
        moves = changed.moves_from(self, None if known else X)
        moves.edit = describe_record(record)
        return moves

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
        if not isinstance(other, EditedModel) or not _same_fit(other.estimator_, self.estimator_):
            raise ParameterError("must be an EditedModel of the same fitted model.", parameter="other")
        inner = inspect(self.estimator_)
        pairs = zip([*other.edits_, None], [*self.edits_, None])
        since = next((at for at, (one, another) in enumerate(pairs) if one != another), len(self.edits_))
        taken_back = len(other.edits_) - since
        edits = "; ".join([f"undo {quantity(taken_back, 'edit')}"] * bool(taken_back) + self.log()[since:]) or "no edit"
        if X is None or (not _reads(inner) and n_training(inner) == _n_rows(self._objects(X))):
            known = [one._read_training(inner) for one in (other, self)]
            labels = [each[1] for each in known if each is not None]
            if len(labels) < len(known):
                raise ParameterError(f"is needed: {_unknown(inner)}", parameter="X")
            return find_moves(edits, labels[0], labels[1], self._ids_of_fit(inner))
        objects = self._objects(X)
        before, after = (one._read_objects(objects)[1] for one in (other, self))
        return find_moves(edits, before, after, ids=objects.ids if isinstance(objects, Views) else None)

    def log(self) -> list[str]:
        """Return the edits in words, first to last."""
        check_is_fitted(self)
        return [describe_record(record) for record in self.edits_]

    def whereabouts(self) -> dict[int, str]:
        """Return what each number that a group ever had is now: a group with its name, noise, dropped, or merged."""
        check_is_fitted(self)
        return self._ledger.whereabouts()

    def number_of(self, group: Any) -> int:
        """Return the number of a group that is given by number or name; others are refused with what is near.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        """
        check_is_fitted(self)
        ledger = self._ledger
        if isinstance(group, (int, np.integer)) and not isinstance(group, bool):
            return ledger.check(int(group))
        if not isinstance(group, str):
            raise ParameterError(f"A group must be a number or a name, got {short(group)}.")
        given = {name: number for number, name in ledger.called.items()}
        shown = self._inspect()
        names = {**dict(zip(shown.group_names, ledger.shown)), **given}
        if _is_number(group):
            number = int(group.strip().lstrip("0")[:LONGEST_NUMBER] or 0)
            if number in ledger.numbers or group not in names:
                return ledger.check(number)
        if group in names:
            return names[group]
        folded = {name.casefold(): number for name, number in names.items()}
        if group.casefold() in folded:
            return folded[group.casefold()]
        hint = did_you_mean(group, names) or f" The groups are {listed(shown.keyed_names)}."
        raise ParameterError(f"There is no group {short(group)}.{hint}")

    def _resolved(self, edit: Any, X: Any, options: dict[str, Any]) -> tuple[Record, dict[str, Any] | None]:
        """The record of an edit, its groups by number, and of a split the model that makes it."""
        given = {"edit": edit} if isinstance(edit, str) else edit
        asked = {**given, **options} if isinstance(given, dict) else {}
        kind = asked.get("edit")
        if kind == "reduce" and "groups" not in asked:
            return self._reduction(asked, X), None
        if kind == "merge":
            asked["groups"] = _merged(asked.get("groups"))
        if kind in ("merge", "reduce") and isinstance(asked.get("groups"), (list, tuple)):
            nested = kind == "reduce"
            asked["groups"] = [
                [self.number_of(one) for one in part]
                if nested and isinstance(part, (list, tuple))
                else self.number_of(part)
                for part in asked["groups"]
            ]
        if "group" in asked and kind in EDITS:
            asked["group"] = self.number_of(asked["group"])
        if kind == "split":
            return self._division(asked, X)
        record = checked_record(asked if asked else edit)
        if record.get("name") is not None:
            self._check_name(record["name"], record.get("groups", [record.get("group")]))
        return record, None

    def _check_name(self, name: str, groups: Sequence[int]) -> None:
        """Refuse a name that is a number, or that another group was given or is found to have."""
        if _is_number(name):
            raise ParameterError(f"A name must not be a number, which groups have already, got {short(name)}.")
        known = self._inspect().given_names
        other = next((key for key, called in known.items() if called == name and int(key) not in groups), None)
        if other is not None:
            raise ParameterError(f"Group {other} is called {short(name)} already: choose another name.")

    def _reduction(self, asked: dict[str, Any], X: Any) -> Record:
        n: Any = asked.get("n")
        check_count("n", n)
        numbers = self._ledger.shown
        if n > len(numbers):
            raise ParameterError(f"must be at most the number of groups, {len(numbers)}, got {n}.", parameter="n")
        shown = inspect(self)
        parts = shown.hierarchy(X).cut(n) if n > 1 else np.zeros(len(numbers), dtype=np.int64)
        merged = [[numbers[at] for at in np.flatnonzero(parts == part)] for part in range(n)]
        return checked_record({**asked, "groups": [part for part in merged if len(part) > 1]})

    def _division(self, asked: dict[str, Any], X: Any) -> tuple[Record, dict[str, Any]]:
        """The record of a split and its model; numbers of the parts may be given, as in a log."""
        unknown = [key for key in asked if key not in ("edit", "group", "n", "into")]
        if unknown or "group" not in asked:
            raise ParameterError(f"The edit 'split' takes 'group' and 'n', got {listed(key for key in asked)}.")
        group, into = asked["group"], asked.get("into")
        n = asked.get("n", 2)
        if into is not None:
            n = len(checked_record({"edit": "split", "group": group, "into": into})["into"])
        check_count("n", n, 2)
        if n > MOST_PARTS:
            raise ParameterError(f"must be at most {MOST_PARTS}, got {n}.", parameter="n")
        if X is None:
            raise ParameterError("is needed to split a group: pass the objects of the fit.", parameter="X")
        split = self._fit_split(group, n, X)
        if into is None:
            first = self._ledger.next_number
            sizes = split.pop("sizes")
            others = iter(range(first, first + n - 1))
            into = [group if part == int(np.argmax(sizes)) else next(others) for part in range(n)]
        split.pop("sizes", None)
        return checked_record({"edit": "split", "group": group, "into": into}), split

    def _keep_names(self, names: dict[str, str], by_hand: bool) -> None:
        """Write names of groups into the log: a rename for each that is given by hand, or one edit for those found."""
        if not by_hand:
            replaced = {key: name for key, name in names.items() if self._ledger.names.get(int(key), name) != name}
            self.apply("names", names=names)
            for key, name in replaced.items():  # given by hand before: a later name by hand comes before all
                self._take(checked_record({"edit": "rename", "group": int(key), "name": name}))
            return
        ledger, changed = self._ledger, self._copy()
        for number in ledger.names:
            if str(number) not in names and number not in ledger.noise:
                raise ParameterError(f"Group {number} was renamed by an edit: undo that to take its name back.")
        known = self._inspect().given_names
        if any(key not in names for key in known):  # taken back: the other names that were found stay
            found = {key: name for key, name in known.items() if int(key) not in ledger.names}
            changed.apply("names", names={key: name for key, name in found.items() if names.get(key) == name})
        for key, name in names.items():
            if known.get(key) != name:
                if _is_number(name):
                    changed._check_name(name, [int(key)])
                changed._take(checked_record({"edit": "rename", "group": int(key), "name": name}))
        self.edits_ = changed.edits_

    def _names_by_hand(self) -> dict[str, str]:
        """Names that people gave: by edits, or to the model inside where its group is called so still."""
        ledger, known = self._ledger, self._inspect().given_names
        inner = inspect(self.estimator_)
        numbers = dict(zip(inner.groups, self.inner_numbers_.tolist()))
        given = rules.ask(inner.estimator, "_names_by_hand")
        before = {str(numbers[key]): name for key, name in ({} if given is None else given()).items()}
        return {k: name for k, name in known.items() if int(k) in ledger.names or before.get(k) == name}

    def _take(self, record: Record, split: dict[str, Any] | None = None, X: Any = None) -> None:
        """Write an edit into the log, or refuse it and change nothing."""
        self._ledger.apply(record)
        edits = [*self.edits_, record]
        if record["edit"] == "drop":
            self.after_drop_ = self._ask_after(edits, X)
        self.edits_ = edits
        if split is not None:
            kept = {name: split[name] for name in ("model", "shares")}
            self.splits_ = [*self.splits_, kept]

    def _ask_after(self, edits: list[Record], X: Any) -> list[Any] | None:
        """What the models say of the objects of the fit after edits; None where these are not passed or not needed."""
        models, after = self._models, self._copy()
        after.edits_ = edits
        objects = None if X is None else self._objects_of_fit(X, models[0], "drop")
        asked = objects is not None and _reads(models[0]) and n_training(models[0]) is not None
        return after._ask(models, objects, {}) if asked else None

    def was_fitted_on(self, X: Any) -> bool:
        """Tell whether objects are those of the fit, as far as their number and ids tell.

        Parameters
        ----------
        X : what the model takes
            The objects.
        """
        return not self._difference(self._objects(X), inspect(self.estimator_))

    def _objects_of_fit(self, X: Any, inner: Inspection, edit: str) -> Any:
        """Objects as the model inside takes them; others than those of the fit are refused."""
        objects = self._objects(X)
        if difference := self._difference(objects, inner):
            raise ParameterError(f"must hold the objects of the fit to {edit} a group, {difference}.", parameter="X")
        return objects

    def _difference(self, objects: Any, inner: Inspection) -> str:
        """What tells objects from those of the fit, their number or ids; empty where nothing does."""
        fitted, given = n_training(inner), _n_rows(objects)
        if fitted not in (None, given):
            return f"{fitted} of them, got {given}"
        ids, own = self._ids_of_fit(inner), objects.ids if isinstance(objects, NamedViews) else None
        same = ids is None or own is None or np.array_equal(ids, own)
        return "" if same else "in the same order, but their ids differ"

    def _ids_of_fit(self, inner: Inspection) -> np.ndarray | None:
        ids = self._object_ids if inner.training.ids is None else inner.training.ids
        return ids if ids is not None and len(ids) == n_training(inner) else None

    def _fit_split(self, group: int, n: int, X: Any) -> dict[str, Any]:
        """Fit a model of n groups to the objects of one group."""
        self._ledger.check(group)
        inner = inspect(self.estimator_)
        objects = self._objects_of_fit(X, inner, "split")
        if isinstance(objects, LazyViews):
            objects = objects.collect()
        known = self._read_training(inner)
        labels = self._read_objects(objects)[1] if known is None else known[1]
        rows = np.flatnonzero(labels == group)
        if len(rows) < n:
            raise ParameterError(
                f"Group {group} has {quantity(len(rows), 'object')}: it cannot be split into {n} parts."
            )
        model = _smaller(inner.estimator, n)
        part = objects[rows] if isinstance(objects, Views) else take_rows(objects, rows)
        matrix = isinstance(part, Views) and inner.takes_matrix
        with unwarned(), fitting(model, f"the {quantity(len(rows), 'object')} of group {group}"):
            model.fit(for_sklearn(part[part.names[0]]) if matrix else part)
        found = inspect(model)
        if len(found.groups) != n:
            raise ParameterError(f"Group {group} cannot be split into {n} parts: its objects make {len(found.groups)}.")
        shares = self._shares_of(found, objects, rows)
        sizes = np.bincount(shares[rows].argmax(axis=1), minlength=n)
        return {"model": model, "shares": None if n_training(inner) is None else shares, "sizes": sizes}

    @staticmethod
    def _shares_of(found: Inspection, objects: Any, rows: np.ndarray | None = None) -> np.ndarray:
        """Shares of the parts of a split; of a clusterer without `predict` those of its objects alone, else even."""
        shares = found.memberships(objects, prepared=True)
        if shares is not None:
            return shares
        n_objects = _n_rows(objects)
        even = np.full((n_objects, len(found.groups)), 1.0 / len(found.groups))
        if rows is not None and found.training.codes is not None:
            even[rows] = one_hot(found.training.codes, len(found.groups))
        return even

    # -- what the edited model says

    @property
    def _ledger(self) -> Ledger:
        return Ledger.of(self.inner_numbers_.tolist(), self.edits_)

    @property
    def _columns(self) -> Columns:
        return Columns.of(self.inner_numbers_.tolist(), self.edits_)

    @property
    def _models(self) -> list[Inspection]:
        """The model inside, and those of the splits."""
        return [inspect(model) for model in (self.estimator_, *(split["model"] for split in self.splits_))]

    @property
    def numbers_(self) -> list[int]:
        """Numbers of the groups, in the order of the columns of `transform`; noise is none of them."""
        check_is_fitted(self)
        return self._ledger.shown

    @property
    def labels_(self) -> np.ndarray:
        """Number of the group of each training object, -1 for none, where the model keeps its groups."""
        return self._of_training(1)

    @property
    def memberships_(self) -> np.ndarray:
        """Memberships of the training objects (objects x groups), where the model keeps them."""
        return self._of_training(0)

    def _of_training(self, part: int) -> np.ndarray:
        if "estimator_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} is not fitted: there are no training objects.")
        inner = inspect(self.estimator_)
        known = self._read_training(inner)
        if known is None:
            raise AttributeError(
                f"Groups of training objects are not known: {_unknown(inner)} Pass them, as in drop(3, X), or ask "
                "predict(X)."
            )
        return known[part]

    def _objects(self, X: Any) -> Any:
        """Objects as the model inside takes them: its last step, of a pipeline."""
        if "view_names_" in vars(self):
            return self._new_views(X)
        return inspect(self.estimator_).prepare(X, lazy=True)

    def _read_objects(self, objects: Any) -> tuple[np.ndarray, np.ndarray]:
        """Memberships and numbers of the groups of objects as the model inside takes them."""
        models, codes = self._models, None
        inner, known = models[0], Known()
        if not _reads(inner):
            raise ViewsError(f"{inner.name} has no predict, and knows the groups of the objects of its fit only.")
        if inner.kind == "cluster":
            both = inner._memberships is not None and inner._predict is not None
            if both:
                codes = inner.codes(inner.predict(objects, prepared=True))
            else:
                codes = leading_groups(_asked(inner, set(), objects, known))
        return self._sorted(inner, self._ask(models, objects, known), codes)

    def sort_objects(self, objects: Any, reading: Reading, known: Known) -> tuple[np.ndarray, np.ndarray]:
        """Apply the edits to objects that the model inside was asked about.

        Parameters
        ----------
        objects : what the model inside takes
            The objects.
        reading : Reading
            What the model inside says of them.
        known : dict
            What the models inside were asked before about the same objects, to be kept by those who ask again.

        Returns
        -------
        memberships : ndarray of shape (n_objects, n_groups)
            In the groups after the edits.
        numbers : ndarray of shape (n_objects,)
            The number of each object's group, -1 for none.
        """
        models = self._models
        first = models[0].estimator
        known[(id(first),)] = first, reading.memberships
        return self._sorted(models[0], self._ask(models, objects, known), reading.codes)

    def _ask(self, models: Sequence[Inspection], objects: Any, known: Known) -> list[Any]:
        """What the model inside and those of the splits say of objects without what is dropped."""
        return [_asked(model, gone, objects, known) for model, gone in zip(models, self._columns.dropped)]

    def _answers_of_fit(self, inner: Inspection) -> list[Any] | None:
        """What the model inside and those of the splits say of the training objects; None where it is not known."""
        first, dropped = training_memberships(inner), self._columns.dropped
        answers = None if first is None else [first, *(split["shares"] for split in self.splits_)]
        if answers is None or not any(dropped):
            return answers
        if not _reads(inner):  # what it knows of the objects of its fit is all that it knows
            return [part * ~np.isin(range(part.shape[1]), list(gone)) for part, gone in zip(answers, dropped)]
        kept = self.after_drop_
        return None if kept is None else [*kept, *answers[len(kept) :]]

    def _read_training(self, inner: Inspection) -> tuple[np.ndarray, np.ndarray] | None:
        answers = self._answers_of_fit(inner)
        return None if answers is None else self._sorted(inner, answers, inner.training.codes)

    def _sorted(
        self, inner: Inspection, answers: Sequence[Any], codes: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Memberships and numbers of the groups of objects, by what the models say and their groups in the one inside.

        An edit of clusters moves the objects of these clusters alone. Topics are mixtures: an object belongs to the one
        that it has most of.
        """
        ledger, columns = self._ledger, self._columns
        final = leaders = columns.memberships(answers)
        if inner.kind == "cluster" and codes is not None:
            stays = (codes >= 0) & ~np.isin(codes, list(columns.dropped[0]))
            own = np.where(stays[:, None], one_hot(codes, columns.widths[0]), answers[0])
            leaders = columns.memberships([np.where(codes[:, None] < 0, 0, own), *answers[1:]])
        known = np.array([number if number in ledger.shown else NO_GROUP for number in (*ledger.numbers, NO_GROUP)])
        return final[:, ledger.positions] if ledger.noise else final, known[leading_groups(leaders)]

    @available_if(_can("predict", "transform"))
    def predict(self, X: Any) -> np.ndarray:
        """Return the number of the group of each object, -1 for noise, from some or all of the fitted views."""
        check_is_fitted(self)
        return self._read_objects(self._objects(X))[1]

    @available_if(_can("predict", "transform"))
    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects in the groups (objects x groups), columns in the order of `numbers_`.

        Rows sum to one, less the share of noise, where those of the model inside do. After a merge of clusters an
        object of another one may have its largest membership in the merged one, to which memberships add up: `predict`
        leaves it where it is.
        """
        check_is_fitted(self)
        return self._read_objects(self._objects(X))[0]

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
        models, ledger, columns = self._models, self._ledger, self._columns
        inner, numbers, whole = models[0], self.inner_numbers_.tolist(), columns.whole
        trained = training_memberships(inner)
        answers = self._answers_of_fit(inner)
        kept = answers or [trained, *(split["shares"] for split in self.splits_)]
        sizes = columns.sizes(None if trained is None else kept)
        shown, order = ledger.positions, list(columns.groups.values())
        changed = ledger.noise or order != [[(0, j)] for j in range(len(numbers))]

        def rows(values: Sequence[Any], shares: Sequence[np.ndarray | None] = ()) -> np.ndarray:
            masses = [size if part is None else size * part for size, part in zip(sizes, shares or [None] * len(sizes))]
            return columns.rows(values, masses)[shown]

        def edited(parts: Sequence[Features], view: str) -> Features:
            own, shares = parts[0], [part.view_shares for part in parts]
            weights = rows([part.weights for part in parts], shares)
            deviations, frequencies, over = own.deviations, own.frequencies, own.with_background
            if deviations is not None:
                deviations = deviations_of(weights, *rules.ask(inner.estimator, "column_moments_")[view])
            if frequencies is not None:
                counted = [part.frequencies for part in parts]
                frequencies = None if any(part is None for part in counted) else rows(counted)
            if over is not None:
                over = edited([part.with_background or part for part in parts], view)
            share = None if own.view_shares is None else rows(shares)
            return Features(weights, own.probabilities, own.origin, frequencies, deviations, over, share)

        def features(view: str) -> Features | None:
            parts = [model.described_features(view) for model in models]
            described = [part for part in parts if part is not None]
            return edited(described, view) if len(described) == len(parts) else None

        def by_view(objects: Any) -> dict[str, np.ndarray]:
            parts = [
                model.without(gone).memberships_by_view(objects, prepared=True)
                for model, gone in zip(models, columns.dropped)
            ]
            return {view: columns.memberships([part[view] for part in parts])[:, shown] for view in parts[0]}

        training = Training(ids=inner.training.ids)
        if answers is not None:
            memberships, labels = self._sorted(inner, answers, inner.training.codes)
            opinions = inner.training.memberships_by_view if whole else {}
            by_views = {view: columns.memberships([part])[:, shown] for view, part in opinions.items()}
            training = Training(memberships, by_views, label_codes(labels, ledger.shown), inner.training.ids)
        topics = inner.topics if whole else None
        if topics is not None:
            below = {view: inner.described_features(view) for view in topics.shares}
            shares = {view: [None if part is None else part.view_shares] for view, part in below.items()}
            topics = replace(topics, shares={view: rows([part], shares[view]) for view, part in topics.shares.items()})
        explained = {}
        if whole and trained is not None:
            joined = columns.memberships([trained])
            for view, part in inner.variance_explained.items():
                if len(order) < len(numbers):
                    means = [np.asarray(inner.features(view))]
                    after = joined, columns.rows(means, sizes)
                    explained[view] = merged_variance(part, (trained, means[0]), after)[shown]
                else:
                    explained[view] = rows([part])
        own = {number: inner.given_names.get(key) for number, key in zip(numbers, inner.groups)}
        as_they_were = set() if ledger.searched else set(ledger.numbers) - ledger.changed
        taken = set(ledger.called.values())
        untouched = {str(n): name for n, name in own.items() if name and n in as_they_were and name not in taken}
        called = {**untouched, **{str(number): name for number, name in ledger.called.items()}}
        reads = _reads(inner)
        sort = (lambda objects: self._read_objects(objects)[0]) if reads else None
        return replace(
            inner,
            estimator=self,
            groups=[str(number) for number in ledger.shown],
            labels=list(ledger.shown),
            given_names={key: name for key, name in called.items() if int(key) in ledger.shown},
            edits=list(self.edits_),
            _name_inside=inner.name,
            training=training,
            topics=topics,
            variance_explained=explained,
            _features=features,
            _memberships=sort,
            _memberships_by_view=None if inner._memberships_by_view is None else by_view,
            _predict=(lambda objects: self._read_objects(objects)[1]) if reads else None,
            _profiles=None if changed else inner._profiles,
            _takes_matrix=inner.takes_matrix,
            _transform=sort,
        )


# -- pieces


def _held(model: Any) -> Any:
    """A model that holds the same fitted arrays, and stays as it is when the other one is fitted again or renamed."""
    held = copy.copy(model)
    if isinstance(model, Pipeline):
        held.steps = [(name, _held(step)) for name, step in model.steps]
    return held


def _same_fit(model: Any, other: Any) -> bool:
    """Tell whether two models hold the same fitted arrays."""
    if type(model) is not type(other) or not isinstance(model, BaseEstimator):
        return model is other
    if isinstance(model, Pipeline):
        steps = zip(model.steps, other.steps)
        return len(model.steps) == len(other.steps) and all(_same_fit(one, two) for (_, one), (_, two) in steps)
    fitted, others = ({k: v for k, v in vars(each).items() if k not in NAMES} for each in (model, other))
    return fitted.keys() == others.keys() and all(value is others[name] for name, value in fitted.items())


def _reads(inner: Inspection) -> bool:
    """Tell whether a model knows the groups of new objects."""
    return inner._memberships is not None or inner._predict is not None


def _asked(model: Inspection, gone: set[int], objects: Any, known: Known) -> Any:
    """What a model says of objects without some of its groups; it is asked once."""
    key = (id(model.estimator), *sorted(gone))
    if key not in known:
        known[key] = model.estimator, model.without(gone).memberships(objects, prepared=True)
    return known[key][1]


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and text.strip().isascii()


def _n_rows(objects: Any) -> int:
    return len(objects) if isinstance(objects, NamedViews) else int(objects.shape[0])


def _merged(groups: Any) -> list[Any]:
    """The groups of a merge, as they were given."""
    listed_groups = isinstance(groups, (list, tuple)) or (isinstance(groups, np.ndarray) and groups.ndim == 1)
    parts = list(groups) if listed_groups else []
    if parts and all(isinstance(part, (list, tuple)) for part in parts):
        raise ParameterError(
            f"must be one list of groups, such as {short(parts[0])}: call merge once for each.", parameter="groups"
        )
    if len(parts) < 2:
        raise ParameterError(f"must be a list of two or more, such as [3, 4], got {short(groups)}.", parameter="groups")
    return parts


def _unknown(inner: Inspection) -> str:
    """Why the groups of the training objects are not known."""
    if n_training(inner) is None:
        return "the model has kept nothing of the objects of its fit."
    return (
        "a drop moves the objects of the fit, and where to is known only of the last drop, if they were passed to it."
    )


def _smaller(model: Any, n: int) -> Any:
    """An unfitted model of the same settings with n groups."""
    settings = model.get_params()
    name = next((name for name in COUNTS if name in settings), None)
    if name is None:
        raise ParameterError(f"{type(model).__name__} has no number of groups to set, so it cannot split one.")
    usual = {}
    for path in settings:
        *nested, last = path.rsplit("__", 1)
        known = signatures.signature(type(settings.get(nested[0]) if nested else model)).parameters
        if last in OWN_SETTINGS and last in known and not isinstance(settings[path], str):
            usual[path] = known[last].default
    copy = clone(model).set_params(**{name: n}, **usual)
    for inner in models_inside(copy):
        inner.set_callbacks()
    return copy
