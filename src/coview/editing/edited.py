"""`EditedModel`: a fitted model of topics or clusters with a log of edits, which is an estimator like any other.

What the model inside says (`inspect`) goes through the log whenever it is asked, so that no edit changes a fitted
number, and undoing one gives back what was there to the bit. A split is a model of its own, of the same kind and
settings, of the objects of one group: the memberships of the parts are its own, times that of the group. A drop asks
the model again as if it never had the group, which takes the objects: those of the fit, of which only the memberships
are kept, are not known to belong anywhere after it.
"""

from __future__ import annotations

import copy
import inspect as signatures
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
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
from coview.editing.pairs import place_objects
from coview.engines.loop import models_inside
from coview.exceptions import ParameterError
from coview.inspection import NAMED_BY_FEATURES, Features, Inspection, Reading, inspect, one_hot
from coview.inspection.adapters import unused_views
from coview.inspection.features import described_features, deviations_of, keyed_names
from coview.inspection.memberships import label_codes
from coview.inspection.names import WORDS
from coview.inspection.reading import read_groups, without_groups
from coview.plsa.link import LinkPLSA
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.fitting import same_work
from coview.utils.inner import fitting
from coview.utils.messages import cut, did_you_mean, listed, quantity, short
from coview.utils.parameters import ESTIMATOR, NONE
from coview.utils.warn import unwarned, warn_user
from coview.validation import check_count
from coview.views.arrays import take_rows
from coview.views.lazy import LazyViews
from coview.views.views import NamedViews, Views

__all__ = ["EditedModel", "edit", "hold"]

# parameters that set how many groups a fit finds
COUNTS = ("n_clusters", "n_components", "estimator__n_clusters", "estimator__n_components")
# settings that the model of a split does not take over: values for each of the groups, whose number is another there
OWN_SETTINGS = ("init", "seeds", "means_init", "weights_init", "precisions_init")


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
    edited = EditedModel(clone(model))
    edited.estimator_ = hold(model)
    edited._start(inspect(model))
    return edited


def _check_log(checker: rules.Checker, value: Any, where: str) -> None:
    """A log of edits that the groups of the model inside allow, with a model of the right size for each split."""

    def check() -> None:
        splits, numbers = checker.state["splits_"], np.asarray(checker.state["inner_numbers_"]).tolist()
        try:
            records = [check_record(record) for record in value]
            groups = EditedGroups(numbers, records)
            models = [inspect(model) for model in (checker.state["estimator_"], *(each["model"] for each in splits))]
            n = n_training(models[0])
        except Exception as error:  # whatever a model does that is not whole
            checker.refuse(where, f"has an edit that cannot be: {str(error).rstrip('.')}")
        views = [({view: each.n_features for view, each in model.views.items()}, model.kind) for model in models]
        shapes = [None if part is None else part.shape for part in (each["shares"] for each in splits)]
        if not (
            records == value
            and [len(model.groups) for model in models] == groups.widths == [len(numbers), *groups.widths[1:]]
            and shapes == [None if n is None else (n, width) for width in groups.widths[1:]]
            and views == views[:1] * len(views)
            and has_groups(models[0])
        ):
            checker.refuse(where, "does not go with the models: other groups, views or objects")

    checker.later.append(check)  # when the models, which may stand behind the log in a file, are read


@shared_parameters
class EditedModel(MultiViewEstimator):
    """A topic model or clusterer whose groups people merge, split, rename, drop or mark as noise.

    The edits are a log (`edits_`) on top of a fitted model that stays as it is. `predict`, `transform`, `inspect`,
    reports and model files go through the log, `undo` takes the last edit back, and `fit` makes all edits again: the
    groups of the new fit are matched with those of the old one by the objects that they share, and edits of groups that
    are no longer found are told of. `clone` forgets the log as it forgets the fit.

    Groups are named by their number, or by their name as `inspect(model).group_names` has it. Numbers are stable: a
    merged group has the lowest of its groups, parts of a split get new ones (the largest keeps the old one), and no
    number is given twice. Columns of `transform` are in this order: `numbers_`.

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
    lost_edits_ : list of dict
        Edits that the last fit could not make again.
    numbers_ : list of int
        Numbers of the groups, in the order of the columns of `transform`; noise is none of them.
    labels_ : ndarray (n_objects,)
        Number of the group of each training object, -1 for none. Not where the model inside keeps nothing of them, nor
        after a drop, which takes the objects themselves: ask `predict`.
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
    >>> sorted(set(model.predict(X).tolist()))
    [-1, 1, 2]
    """

    _models_counts = False  # the model inside refuses what it cannot take
    _parameters = {"estimator": ESTIMATOR | NONE}
    estimator_: Any
    edits_: list[Record]
    inner_numbers_: np.ndarray
    splits_: list[dict[str, Any]]
    lost_edits_: list[Record]
    _fitted_state = {
        # a pipeline that makes its views itself has none of these
        **{name: rules.optional(rule) for name, rule in rules.FITTED_VIEWS.items() if rule is not None},
        "estimator_": rules.estimator(),
        "inner_numbers_": rules.integers(None, below=LARGEST),
        "splits_": rules.sequence(
            rules.record(
                model=rules.estimator(), shares=rules.or_none(rules.floats("objects", None, low=0.0, high=1.001))
            )
        ),
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
        earlier = copy.copy(self) if vars(self).get("edits_") else None  # before its attributes are replaced
        model = clone(self._inner())
        inner, said = last_step(model), [] if earlier is None else [each for each in self.edits_ if "objects" in each]
        lost = said if earlier is not None and said and not earlier._can_speak_of(X) else []
        inner._pairs = [] if lost else said  # `AutoClustering` learns from what is said of objects
        try:
            with same_work(model), fitting(inner, "these objects"):
                self.estimator_ = model.fit(X)
        finally:
            vars(inner).pop("_pairs", None)  # they were said of this fit
        self._start(inspect(self.estimator_))
        if earlier is not None:
            self._replay(earlier, X, lost)
        return self

    @available_if(lambda self: is_clusterer(self))
    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the numbers of the clusters of the training objects; y is ignored."""
        return self.fit(X).predict(X)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return memberships of the training objects as `transform` gives them; y is ignored."""
        return self.fit(X).transform(X)

    def _inner(self) -> Any:
        return LinkPLSA() if self.estimator is None else self.estimator

    @property
    def _takes_lazy(self) -> bool:  # type: ignore[override]
        return bool(rules.find_attribute(last_step(self._inner()), "_takes_lazy"))

    def _start(self, inner: Inspection) -> None:
        """Begin with an empty log."""
        if not has_groups(inner):
            raise ParameterError(
                f"must have topics or clusters to edit, and predict or transform for other objects: {inner.name} "
                f"(of kind {inner.kind!r}, {quantity(len(inner.groups), 'group')}) does not.",
                parameter="estimator",
            )
        for name in rules.FITTED_VIEWS:  # of what this model takes, which is what the one inside does
            self.__dict__.pop(name, None)
            if name in vars(self.estimator_):
                setattr(self, name, vars(self.estimator_)[name])
        self.inner_numbers_ = np.arange(len(inner.groups))
        self.edits_, self.splits_, self.lost_edits_ = [], [], []

    # -- making the edits again

    def _can_speak_of(self, X: Any) -> bool:
        """Tell whether pairs can be about these objects: both have ids, or they are those of the fit, row by row."""
        inner, ids = inspect(self.estimator_), X.ids if isinstance(X, Views) else None
        if inner.training.ids is not None:
            return ids is not None or not isinstance(X, NamedViews)  # the ids of a table are read by the new fit
        own, found = training_memberships(inner), _read_anew(inner, X)
        return ids is None and found is not None and own is not None and are_read_as_fitted(found, own)

    def _replay(self, earlier: EditedModel, X: Any, lost: Sequence[Record]) -> None:
        """Give the groups the numbers of those of an earlier fit, and make its edits again, those that can be made."""
        old, new = inspect(earlier.estimator_), inspect(self.estimator_)
        before, after = _read_anew(old, X), new.memberships(X)
        if before is None:
            warn_user(
                "The groups of this fit cannot be matched with those of the fit before, which has other views: edits "
                "are made again by number. Look at them, or undo them.",
                UserWarning,
            )
        # a new group must not get the number of one that was merged or dropped: the log speaks of that one
        following = earlier._groups.next_number
        self.inner_numbers_ = _match_numbers(before, after, earlier.inner_numbers_, following, len(new.groups))
        splits = iter(earlier.splits_)
        for record in earlier.edits_:
            split = next(splits) if record["edit"] == "split" else None
            # an edit that is lost must not stop those after it, which may be about other groups
            try:
                if record in lost or ("objects" in record and (old.training.ids is None) != (new.training.ids is None)):
                    raise ValueError  # rows are those of one fit
                self._take(*((record,) if split is None else self._split_as_before(record, split, old, X)))
            except ValueError:  # also of a fit of too few objects
                self.lost_edits_.append(record)
        if self.lost_edits_:
            names = "; ".join(describe_record(record) for record in self.lost_edits_)
            count = f"{len(self.lost_edits_)} of {quantity(len(earlier.edits_), 'edit')}"
            warn_user(
                f"{count} could not be made again, since their groups or objects are not in this fit: "
                f"{cut(names, 200)}. They are in lost_edits_.",
                UserWarning,
            )

    def _split_as_before(self, record: Record, split: dict[str, Any], old: Inspection, X: Any) -> tuple[Record, Any]:
        """Split a group again, its parts numbered as before where they hold the same objects."""
        into = record["into"]
        again, _ = self._fit_split(record["group"], len(into), X)
        before = _read_anew(inspect(split["model"]), X, old)
        after = inspect(again["model"]).memberships(self._objects(X), prepared=True)
        order = _match_numbers(before, after, np.array(into), 0, len(into)).tolist()
        return {**record, "into": order if sorted(order) == sorted(into) else into}, again

    # -- editing

    def merge(self, groups: Sequence[Any], name: str | None = None) -> EditedModel:
        """Merge groups into one, which has the lowest of their numbers: memberships add up.

        The features of the merged group are means of theirs, weighted by the memberships of the objects; where a group
        is one distribution over the features of all views (`PLSA`, `DualPLSA`), also by p(view | group).

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

    def rename(self, group: Any, name: str | None) -> EditedModel:
        """Give a group a name, which comes before the one made of its features; `name_groups` keeps it.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        name : str or None
            The new name; no two groups may be given the same one. None takes a name back.
        """
        return self.apply("rename", group=group, name=name)

    def drop(self, group: Any) -> EditedModel:
        """Drop a group: its objects go to their next best group.

        The model is asked as if it never had the group: mixtures are folded in with the other topics alone, and
        clusters are the nearest of the others. Objects of a dropped part of a split go to the other parts. `labels_`
        and `memberships_` are not known afterwards: what a model has kept of an object does not say where it belongs
        without its group. `predict` and `transform` tell it.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        """
        return self.apply("drop", group=group)

    def mark_noise(self, group: Any) -> EditedModel:
        """Mark a group as noise: `predict` gives -1 for its objects, and it has no column in `transform`.

        Memberships of an object then add up to one less its share of noise.

        Parameters
        ----------
        group : int or str
            Number or name of the group.
        """
        return self.apply("noise", group=group)

    def together(self, objects: Sequence[Any]) -> EditedModel:
        """Keep objects in one group: the one of most of them, by their memberships, whatever else is edited.

        Parameters
        ----------
        objects : list of str or int
            Ids of two or more objects of the fit; rows where objects have no ids, which hold for these objects alone:
            in `labels_`, not in `predict`. What is together with the same object is together.
        """
        return self.apply("together", objects=objects)

    def apart(self, objects: Sequence[Any]) -> EditedModel:
        """Keep objects in different groups: of two in one, the one goes to another that has more in common with it.

        Parameters
        ----------
        objects : list of str or int
            As in `together`. Each is apart from each other one; what cannot hold with other edits is refused.
        """
        return self.apply("apart", objects=objects)

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
            "merge", "split", "rename", "drop", "noise", "reduce", "together" or "apart" with its options; or a record,
            as in `edits_`.
        X : what the model takes, optional
            The objects of the fit, which a split needs.
        **options
            What the edit needs: `group` or `groups`, `name`, `n`, `objects`.

        Returns
        -------
        EditedModel
            Itself.
        """
        check_is_fitted(self)
        self._take(*self._resolve(edit, X, options))
        return self

    def undo(self, n: int = 1) -> EditedModel:
        """Take the last edits back; everything is as it was before them, to the bit.

        Parameters
        ----------
        n : int, default=1
            How many edits.
        """
        check_is_fitted(self)
        check_count("n", n)
        if n > len(self.edits_):
            raise ParameterError(f"The log holds {quantity(len(self.edits_), 'edit')}: {n} cannot be taken back.")
        self.edits_ = self.edits_[:-n]
        self.splits_ = self.splits_[: sum(record["edit"] == "split" for record in self.edits_)]
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
        changed = copy.copy(self)  # shares what is fitted: an edit replaces lists, and writes into none
        changed._take(record, split)
        return changed.moves_from(self, X)

    def moves_from(self, other: EditedModel, X: Any = None) -> Moves:
        """Return the objects that are in another group here than with the edits of another log on the same model.

        Parameters
        ----------
        other : EditedModel
            The same fitted model with other edits, such as a copy that `edit` made before some of them.
        X : what the model takes, optional
            Objects to look at; by default those of the fit, where the model knows their groups.

        Returns
        -------
        Moves
            As of `preview`; "before" are the groups of `other`.
        """
        check_is_fitted(self)
        undone = quantity(len(other.edits_) - len(self.edits_), "edit")
        edits = "; ".join(self.log()[len(other.edits_) :]) or f"undo {undone}"
        if X is None:
            try:
                before, after = other.labels_, self.labels_
            except AttributeError as error:
                raise ParameterError(
                    "is needed: where the objects of the fit are is not known after a drop.", parameter="X"
                ) from error
            return find_moves(edits, before, after, inspect(self.estimator_).training.ids)
        objects = self._objects(X)
        before, after = (one.read_objects(objects)[1] for one in (other, self))
        return find_moves(edits, before, after, ids=objects.ids if isinstance(objects, Views) else None)

    def log(self) -> list[str]:
        """Return the edits in words, first to last."""
        check_is_fitted(self)
        return [describe_record(record) for record in self.edits_]

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
        # from the command line everything is a text: a number is one before it is a name, such as the year 1999
        if _is_number(group) and (int(group) in groups.columns or group not in names):
            return groups.check(int(group))
        if group.casefold() in names:
            return names[group.casefold()]
        hint = did_you_mean(group, shown.group_names) or f" The groups are {listed(keyed_names(shown))}."
        raise ParameterError(f"There is no group {short(group)}.{hint}")

    def _resolve(self, edit: Any, X: Any, options: dict[str, Any]) -> tuple[Record, dict[str, Any] | None]:
        """Return the record of an edit, its groups by number, and of a split the model that makes it."""
        asked = {**(edit if isinstance(edit, dict) else {"edit": edit}), **options}
        given = asked.get("groups")
        if asked["edit"] == "merge" and isinstance(given, (list, tuple, np.ndarray)):
            asked["groups"] = [self.number_of(one) for one in given]
        if "group" in asked:
            asked["group"] = self.number_of(asked["group"])
        if asked["edit"] == "reduce" and given is None:
            asked["groups"] = self._find_alike(asked.get("n"), X)
        split = self._resolve_split(asked, X) if asked["edit"] == "split" else None
        record = check_record(asked)
        if "objects" in record:
            rows = self._rows(inspect(self.estimator_))  # texts of the command line may be numbers
            asked["objects"] = [int(o) if o not in rows and _is_number(str(o)) else o for o in record["objects"]]
            record = check_record(asked)
        if record.get("name") is not None:
            called = {name: int(number) for number, name in self._inspect().structure.given_names.items()}
            own = record.get("groups", [record.get("group")])
            if called.get(record["name"], own[0]) not in own:  # a name must tell groups apart, here and in reports
                raise ParameterError(
                    f"Group {called[record['name']]} is called {short(record['name'])} already: choose another name."
                )
        return record, split

    def _find_alike(self, n: Any, X: Any) -> list[list[int]]:
        """Return the groups that a reduction merges."""
        check_count("n", n)
        numbers = self._groups.shown
        if n > len(numbers):
            raise ParameterError(f"must be at most the number of groups, {len(numbers)}, got {n}.", parameter="n")
        parts = inspect(self).hierarchy(X).cut(n)
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

    def _take(self, record: Record, split: dict[str, Any] | None = None) -> None:
        """Write an edit into the log, or refuse it and change nothing."""
        edits = [*self.edits_, record]
        changed = copy.copy(self)
        changed.edits_, changed.splits_ = edits, self.splits_ if split is None else [*self.splits_, split]
        changed._place(inspect(self.estimator_))  # raises where the edit cannot be
        self.edits_, self.splits_ = changed.edits_, changed.splits_

    def _keep_names(self, names: dict[str, str], by_hand: bool) -> None:
        """Write names of groups into the log: of all that there are, those that are new, and those taken back."""
        known = self._inspect().structure.given_names
        for number in self.numbers_:
            name = names.get(str(number))
            if name != known.get(str(number)):
                self._take({"edit": "rename", "group": number, "name": name, "found": not by_hand})

    def _names_by_hand(self) -> dict[str, str]:
        inner = inspect(self.estimator_)
        given = rules.find_attribute(inner.estimator, "_names_by_hand")
        return self._names(inner, {} if given is None else given(), self._groups.by_hand)

    def _names(self, inner: Inspection, own: Mapping[str, str], numbers: Iterable[int]) -> dict[str, str]:
        """Names by key: of unchanged groups those of the model inside, and of `numbers` those of the log."""
        groups = self._groups
        names = {number: own.get(key) for number, key in zip(self.inner_numbers_.tolist(), inner.groups)}
        for number in {*groups.changed, *groups.names}:
            names.pop(number, None)
        names |= {number: groups.names[number] for number in numbers}
        return {str(number): name for number, name in names.items() if name and number in groups.shown}

    def _are_of_fit(self, objects: Any, inner: Inspection) -> bool:
        """Tell whether objects are those of the fit, as far as their number and ids tell."""
        ids, own = inner.training.ids, objects.ids if isinstance(objects, NamedViews) else None
        same = ids is None or own is None or np.array_equal(ids, own)
        return same and n_training(inner) in (None, _n_rows(objects))

    def _fit_split(self, group: int, n: int, X: Any) -> tuple[dict[str, Any], np.ndarray]:
        """Fit a model of n groups to the objects of one group; return it with its shares, and the sizes of parts."""
        self._groups.check(group)
        inner = inspect(self.estimator_)
        objects = self._objects(X)
        if not self._are_of_fit(objects, inner):
            raise ParameterError("must hold the objects of the fit to split a group, in the same order.", parameter="X")
        if isinstance(objects, LazyViews):
            objects = objects.collect()  # rows of one group may lie in all shards
        known = self._read_training(inner)
        labels = self.read_objects(objects)[1] if known is None else known[1]
        rows = np.flatnonzero(labels == group)
        if len(rows) < n:
            raise ParameterError(
                f"Group {group} has {quantity(len(rows), 'object')}: it cannot be split into {n} parts."
            )
        model = _make_smaller(inner.estimator, n)
        part = objects[rows] if isinstance(objects, Views) else take_rows(objects, rows)
        with unwarned(), fitting(model, f"the {quantity(len(rows), 'object')} of group {group}"):
            model.fit(part)
        found = inspect(model)
        if len(found.groups) != n:
            raise ParameterError(f"Group {group} cannot be split into {n} parts: its objects make {len(found.groups)}.")
        # all objects, not those of the group alone: one of another topic has a share of this one, too
        shares: Any = found.memberships(objects, prepared=True)
        sizes = np.bincount(shares[rows].argmax(axis=1), minlength=n)
        return {"model": model, "shares": None if n_training(inner) is None else shares}, sizes

    # -- what the edited model says

    @property
    def _groups(self) -> EditedGroups:
        return EditedGroups(self.inner_numbers_.tolist(), self.edits_)

    @property
    def ever_groups(self) -> EditedGroups:
        """The groups with those that were dropped or marked as noise, whose objects the model knows nevertheless."""
        edits = [record for record in self.edits_ if record["edit"] not in ("drop", "noise")]
        return EditedGroups(self.inner_numbers_.tolist(), edits)

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

    def take_update(self, rows: Any, n_new: int) -> None:
        """Number the groups that the model inside has been given, and let those of the splits read its new objects.

        Parameters
        ----------
        rows : Views
            The new objects, as the model inside takes them.
        n_new : int
            Number of new groups, which come last.
        """
        following = self._groups.next_number
        self.inner_numbers_ = np.append(self.inner_numbers_, following + np.arange(n_new))
        read: Any = [inspect(split["model"]).memberships(rows, prepared=True) for split in self.splits_]
        self.splits_ = [{**s, "shares": np.vstack([s["shares"], more])} for s, more in zip(self.splits_, read)]

    def _of_training(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        inner = inspect(self.estimator_)
        known = self._read_training(inner)
        if known is None:
            nothing = n_training(inner) is None
            why = "the model has kept nothing of them" if nothing else "a drop has moved them"
            raise AttributeError(f"Groups of training objects are not known: {why}. Ask predict(X).")
        return known

    def _objects(self, X: Any) -> Any:
        """Objects as the model inside takes them: its last step, of a pipeline."""
        if "view_names_" in vars(self):
            return self._new_views(X)
        return inspect(self.estimator_).preparation.prepare(X, lazy=True)

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
        if reading is None and inner.kind == "cluster":  # where the object's own cluster counts, see `_sort`
            reading = read_groups(inner, objects, prepared=True)
        known, codes = (None, None) if reading is None else (reading.memberships, reading.codes)
        return self._sort(inner, groups, self._ask(groups, objects, known), codes, objects)

    def _ask(self, groups: EditedGroups, objects: Any, known: np.ndarray | None = None) -> list[Any]:
        """What the model inside (`known` without drops) and those of the splits say of objects."""
        said: list[Any] = [] if known is None or groups.dropped[0] else [known]
        for model, gone in list(zip(self._models, groups.dropped))[len(said) :]:
            said.append(without_groups(model, gone).memberships(objects, prepared=True))
        return said

    def _answers_of_fit(self, inner: Inspection) -> list[Any] | None:
        """What the model inside and those of the splits say of the training objects; None where it is not known."""
        first = training_memberships(inner)
        # what is kept of an object of a dropped group does not tell which one comes next
        if first is None or any(self._groups.dropped):
            return None
        return [first, *(split["shares"] for split in self.splits_)]

    def _read_training(self, inner: Inspection) -> tuple[np.ndarray, np.ndarray] | None:
        said = self._answers_of_fit(inner)
        return None if said is None else self._sort(inner, self._groups, said, inner.training.codes)

    def _rows(self, inner: Inspection, objects: Any = None) -> dict[Any, int]:
        """Rows of objects of the fit by their ids, or by their rows in the fit; none of others without ids."""
        ids = inner.training.ids
        if objects is not None:
            own = objects.ids if isinstance(objects, NamedViews) else None
            # as many objects without ids may be others, and numbers may be those of other rows
            if ids is None or own is None or (own.dtype.kind in "iu" and not np.array_equal(ids, own)):
                return {}
            ids = own
        return {key: row for row, key in enumerate(range(n_training(inner) or 0) if ids is None else ids.tolist())}

    def _place(self, inner: Inspection) -> dict[Any, int]:
        """Number of the group of each object that is to be together with others or apart from them."""
        groups, wanted = self._groups, [record for record in self.edits_ if "objects" in record]
        if not wanted:
            return {}
        first = training_memberships(inner)
        if first is None:
            raise ParameterError("Pairs need a model that keeps where the objects of its fit are; this one does not.")
        said = [first, *(split["shares"] for split in self.splits_)]
        final, leaders = self._weigh(inner, groups, said, inner.training.codes)
        rows, best = self._rows(inner), np.where(leaders.any(axis=1), leaders.argmax(axis=1), -1)
        nowhere = {name for name, row in rows.items() if not final[row].any()}  # a drop has taken all that they had
        named = {name for each in wanted for name in each["objects"]}
        led = [{*each["objects"]} for each in wanted if each["edit"] == "together"]
        led = [objects for objects in led if not objects <= nowhere]
        if left := (nowhere & named).difference(*led):
            raise ParameterError(
                f"Where {short(min(left, key=str))} is without the groups that were dropped is not known: keep it "
                "together with an object that is in another group, or undo that."
            )
        numbers, of = np.unique(groups.sorted_numbers, return_inverse=True)  # all noise is one group
        values = (final + one_hot(best, final.shape[1])) @ one_hot(of, len(numbers))  # where an object is counts most
        return {name: int(numbers[at]) for name, at in place_objects(wanted, rows, values).items()}

    def _sort(
        self,
        inner: Inspection,
        groups: EditedGroups,
        said: Sequence[Any],
        codes: np.ndarray | None,
        objects: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Memberships and numbers of the groups of objects, by default those of the fit."""
        final, leaders = self._weigh(inner, groups, said, codes)
        numbers = groups.sorted_numbers
        best = leaders.argmax(axis=1)
        labels = np.where(leaders.max(axis=1, initial=0.0) > 0, numbers[best], NO_GROUP)
        if placed := self._place(inner):
            rows = self._rows(inner, objects)
            for row, number in ((rows[name], number) for name, number in placed.items() if name in rows):
                at = best[row] if numbers[best[row]] == number else int(np.flatnonzero(numbers == number)[0])
                pair, labels[row] = [at, best[row]], number
                final[row, pair] = final[row, pair[::-1]]
        return final[:, numbers != NO_GROUP], labels

    @staticmethod
    def _weigh(
        inner: Inspection, groups: EditedGroups, said: Sequence[Any], codes: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Memberships of objects in all groups, and the weights of which the largest is that of their group.

        An edit of clusters moves the objects of these clusters alone. Topics are mixtures: an object belongs to the one
        that it has most of.
        """
        final = leaders = groups.memberships(said)
        if inner.kind == "cluster" and codes is not None:
            # a merge adds memberships up, so that the sum of two clusters may outweigh that of an object's own: its
            # cluster decides where it is still there, and memberships where it was dropped
            stays = (codes >= 0) & ~np.isin(codes, list(groups.dropped[0]))
            own = np.where(stays[:, None], one_hot(codes, groups.widths[0]), said[0])
            leaders = groups.memberships([np.where(codes[:, None] < 0, 0, own), *said[1:]])
        return final, leaders

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of the group of each object, -1 for noise, from some or all of the fitted views."""
        check_is_fitted(self)
        return self.read_objects(self._objects(X))[1]

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
        name = inspect(self.estimator_).name.lower()
        return np.array([f"{name}{number}" for number in self.numbers_], dtype=object)

    def _unused_views(self) -> list[str]:
        """Those of the model inside."""
        return list(unused_views(self.estimator_))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: what the model inside says, through the log."""
        models, groups = self._models, self._groups
        inner, first = models[0], training_memberships(models[0])
        sizes = groups.sizes(None if first is None else [first, *(split["shares"] for split in self.splits_)])
        positions = np.flatnonzero([number not in groups.noise for number in groups.columns])

        def average(values: Sequence[Any], masses: Sequence[np.ndarray] = sizes) -> Any:
            """Rows of the groups that are shown; None where a model has none."""
            return None if any(part is None for part in values) else groups.rows(values, masses)[positions]

        def combine(parts: Sequence[Features], view: str) -> Features:
            own, shares = parts[0], [part.view_shares for part in parts]
            # p(feature | view, group) of a merged group: each group counts by what it has in this view
            masses = [size if share is None else size * share for size, share in zip(sizes, shares)]
            weights = average([part.weights for part in parts], masses)
            deviations, background = own.deviations, own.with_background
            if deviations is not None:  # from all objects, also for parts of a split, whose model knows fewer
                deviations = deviations_of(weights, *rules.find_attribute(inner.estimator, "column_moments_")[view])
            if background is not None:
                background = combine([part.with_background or part for part in parts], view)
            frequencies = average([part.frequencies for part in parts], masses)
            return replace(
                own,
                weights=weights,
                frequencies=frequencies,
                deviations=deviations,
                with_background=background,
                view_shares=average(shares),
            )

        def features(view: str) -> Features | None:
            parts = [described_features(model, view) for model in models]
            described = [part for part in parts if part is not None]
            return combine(described, view) if len(described) == len(parts) else None

        def by_view(objects: Any) -> dict[str, np.ndarray]:
            asked = [without_groups(model, gone) for model, gone in zip(models, groups.dropped)]
            parts = [model.memberships_by_view(objects, prepared=True) for model in asked]
            return {view: groups.memberships([part[view] for part in parts])[:, positions] for view in parts[0]}

        def kept_names() -> dict[str, str]:
            """Names of the groups that no edit has changed, and words of each part in turn for merged ones.

            By features, the former would have other names, and the latter those of their largest part.
            """
            named = dict(zip(self.inner_numbers_.tolist(), inner.group_names))
            kept = {str(number): name for number, name in named.items() if number not in groups.changed}
            for number, columns in groups.columns.items():
                if len(columns) > 1 and not any(model for model, _ in columns):
                    largest = sorted((j for _, j in columns), key=lambda j: -sizes[0][j])
                    rounds = zip_longest(*(inner.group_names[j].split(", ") for j in largest))
                    words = dict.fromkeys(word for part in rounds for word in part if word)
                    kept[str(number)] = ", ".join(list(words)[:WORDS])
            return kept

        training = replace(inner.training, memberships=None, memberships_by_view={}, codes=None, label_sets=None)
        if (known := self._read_training(inner)) is not None:
            memberships, labels = known
            training = replace(inner.training, memberships=memberships, codes=label_codes(labels, groups.shown))
        names = self._names(inner, inner.structure.given_names, groups.names)
        structure = replace(inner.structure, given_names=names, edits=list(self.edits_))
        answer = replace(
            inner,
            estimator=self,
            groups=[str(number) for number in groups.shown],
            labels=list(groups.shown),
            structure=structure,
            preparation=replace(inner.preparation, estimator=self),
            _name=f"Edited {inner.name}" if self.edits_ else inner.name,
            training=training,
            _memberships=lambda objects: self.read_objects(objects)[0],
            _predict=lambda objects: self.read_objects(objects)[1],
            _transform=lambda objects: self.read_objects(objects)[0],
            _memberships_by_view=None if inner._memberships_by_view is None else by_view,
            # a drop and a split ask models again, which no sum of shares tells
            _edits=None
            if self.splits_ or any(groups.dropped)
            else (inner, lambda shares: groups.memberships([shares])[:, positions]),
        )
        if groups.whole:  # renamed at most: all that the model says of its groups holds
            return answer
        # of groups that were edited: of other things than features and memberships nothing is known
        training = replace(training, memberships_by_view={})
        structure = replace(structure, topics=None, variance_explained={})
        return replace(
            answer, training=training, structure=structure, _features=features, _profiles=None, _kept_names=kept_names
        )


# -- pieces


def has_groups(inner: Inspection) -> bool:
    """Tell whether a model has topics or clusters of its own, which edits are about, and sorts new objects."""
    sorts = inner._memberships is not None or inner._predict is not None
    return inner.kind in NAMED_BY_FEATURES and bool(inner.groups) and inner.structure.retriever is None and sorts


def n_training(inner: Inspection) -> int | None:
    """Return how many training objects the model knows the groups of; None where it keeps nothing of them."""
    known = training_memberships(inner)
    return None if known is None else len(known)


def training_memberships(inner: Inspection) -> np.ndarray | None:
    """Return memberships of the training objects, or their groups as such; None where nothing is kept."""
    if inner.training.memberships is not None:
        return inner.training.memberships
    return None if inner.training.codes is None else one_hot(inner.training.codes, len(inner.groups))


def are_read_as_fitted(found: np.ndarray, own: np.ndarray) -> bool:
    """Tell whether rows are those of a fit, in order: memberships are as in the fit, far from those of the next row."""
    if len(found) != len(own) or not len(own):
        return False
    here, next_to = (np.abs(found - np.roll(own, shift, axis=0)).mean() for shift in (0, 1))
    return bool(4 * here < next_to)  # of other objects the two are about alike


def _read_anew(inner: Inspection, X: Any, before: Inspection | None = None) -> np.ndarray | None:
    """Return what a model says of any objects, prepared by the steps of `before`; None where it cannot tell.

    The groups of its training objects are no answer: they say nothing of other objects, nor of the same in other order.
    """
    try:
        with unwarned():
            return inner.memberships((before or inner).preparation.prepare(X), prepared=True)
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
        # one to one, or two new groups could get the number of one old one
        for old, new in zip(*linear_sum_assignment(shared, maximize=True)):
            if shared[old, new] > 0:
                given[new] = numbers[old]
    else:
        kept = min(len(numbers), n_groups)
        given[:kept] = numbers[:kept]
    given[given < 0] = following + np.arange((given < 0).sum())
    return given


def hold(model: Any) -> Any:
    """Return a model with the same fitted arrays, which stays when the other one is fitted again or renamed."""
    held = copy.copy(model)
    if isinstance(model, Pipeline):
        held.steps = [(name, hold(step)) for name, step in model.steps]
    return held


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and text.isascii() and len(text) < 20


def _n_rows(objects: Any) -> int:
    return len(objects) if isinstance(objects, NamedViews) else int(objects.shape[0])


def _make_smaller(model: Any, n: int) -> Any:
    """Return an unfitted model of the same settings with n groups."""
    settings = model.get_params()
    name = next((name for name in COUNTS if name in settings), None)
    if name is None:
        raise ParameterError(f"{type(model).__name__} has no number of groups to set, so it cannot split one.")
    known = signatures.signature(type(model)).parameters
    usual = {each: known[each].default for each in OWN_SETTINGS if not isinstance(settings.get(each, ""), str)}
    smaller = clone(model).set_params(**{name: n}, **usual)
    for inner in models_inside(smaller):  # a checkpoint or a budget is that of one fit
        inner.set_callbacks()
    return smaller
