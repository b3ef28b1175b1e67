"""Guided topics: seed features give topics their subject, their number and their name.

Each seeded topic k has one pseudo-object, which is in topic k alone and contains the seeds. It adds to the objective

    sum over its features of  c log p(feature | topic k)

the logarithm of a Dirichlet prior with c pseudo-counts on the profile of the topic, so that the fit is EM for the
maximum a posteriori, and its objective never falls. Pseudo-objects are rows like others: all engines, schedules,
checkpoints and minibatches work with them as they are. In a view the pseudo-counts of a topic sum to

    seed_strength * counts of the view / number of topics

a share of what a topic has on average: of a minibatch in the same proportion as of all objects. The objects start in
the topics whose seeds they contain, each seed by its inverse document frequency; those without any start at random.

Names alone make seeds as well: the words of a name, and their other forms, that are features of a view. A word of
several names counts for each of them by its share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ParameterError
from coview.inspection.names import same_word
from coview.plsa.factors import random_matrix
from coview.utils.messages import did_you_mean, listed, short
from coview.utils.parameters import MAPPING, NONE, TEXTS, number
from coview.utils.warn import warn_user
from coview.validation import check_count
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["SEED_PARAMETERS", "Seeds", "read_seeds", "seeds_from_objects"]

SEED_PARAMETERS = {"seeds": MAPPING | TEXTS | NONE, "seed_strength": number()}
RANDOM_SHARE = 0.1  # of the start of an object that contains seeds
_WORD = re.compile(r"\w+")
_STEM = 3  # letters that forms of a word share


@dataclass(frozen=True)
class Seeds:
    """Seeds of some topics: their numbers, their names (None where only a number was given), and by view the weights.

    Weights (seeded topics x features) sum to one in each row, or to zero where a topic has no seeds in the view.
    """

    numbers: list[int]
    names: list[str | None]
    weights: dict[str, sparse.csr_array]

    def group_names(self) -> dict[str, str]:
        """Return the names by the key of the group."""
        return {str(number): name for number, name in zip(self.numbers, self.names) if name is not None}

    def with_pseudo_objects(self, views: Views, strength: float, n_groups: int) -> Views:
        """Return views with one more row for each seeded topic, at the end."""
        arrays: dict[str, Any] = {}
        present = np.zeros((len(views) + len(self.numbers), len(views.names)), dtype=bool)
        present[: len(views)] = views.present
        for v, (name, matrix) in enumerate(views.items()):
            rows = self.weights.get(name, sparse.csr_array((len(self.numbers), matrix.shape[1])))
            counts = (
                rows * (strength * float(matrix.sum(dtype=np.float64)) / n_groups) if name in self.weights else rows
            )
            counts = counts.astype(matrix.dtype)
            present[len(views) :, v] = np.diff(rows.indptr) > 0
            if sparse.issparse(matrix):
                arrays[name] = sparse.vstack([matrix, counts], format="csr")
            else:
                arrays[name] = np.vstack([matrix, counts.toarray()])
        shown = {name: present[:, v] for v, name in enumerate(views.names)}
        return Views(arrays, present=shown, feature_names=views.feature_names)

    def labels(self, n_objects: int) -> np.ndarray:
        """Return the topics of objects and pseudo-objects; -1 for those that are free."""
        return np.concatenate([np.full(n_objects, -1), self.numbers]).astype(np.int64)

    def start(self, views: Views, n_groups: int, seed: int) -> np.ndarray:
        """Return where objects and pseudo-objects start (rows x topics)."""
        found = np.zeros((len(views), len(self.numbers)))
        for name, weights in self.weights.items():
            counts = sparse.csr_array(views[name])
            df = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
            rarity = np.log1p(len(views) / np.maximum(df, 1))
            found += (counts @ (weights * rarity).T).toarray()
        rows = random_matrix(seed, 0, len(views) + len(self.numbers), n_groups, np.float64)
        total = found.sum(axis=1)
        some = np.flatnonzero(total > 0)
        rows[some] *= RANDOM_SHARE
        rows[some[:, None], self.numbers] += (1 - RANDOM_SHARE) * found[some] / total[some, None]
        rows[len(views) :] = np.eye(n_groups)[self.numbers]
        return rows


def read_seeds(
    seeds: Mapping[Any, Any] | Sequence[str],
    n_groups: int,
    widths: Mapping[str, int],
    names: Mapping[str, Sequence[Any]],
) -> Seeds:
    """Look seeds up among the features of the views of counts.

    Parameters
    ----------
    seeds : mapping or list of names
        As the parameter `seeds` of an estimator.
    n_groups : int
        Number of topics or clusters.
    widths : dict of int
        Number of features of each view of counts.
    names : dict of sequences
        Names of the features, of the views that have them.

    Examples
    --------
    >>> words = {"words": ["fox", "salt", "wave"]}
    >>> seeds = read_seeds({"sea": ["salt", "wave"], "land": ["fox"]}, 3, {"words": 3}, words)
    >>> seeds.numbers, seeds.weights["words"].toarray().tolist()
    ([0, 1], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    """
    columns = {view: {str(name): j for j, name in enumerate(names[view])} for view in widths if view in names}
    if not isinstance(seeds, Mapping):
        seeds = _words_of_names(seeds, columns)
    if not seeds:
        raise ParameterError("must seed at least one topic, got none.", parameter="seeds")
    numbers, called = _numbers(list(seeds), n_groups)
    weights = {view: sparse.lil_array((len(numbers), width)) for view, width in widths.items()}
    absent: list[str] = []
    for row, (topic, given) in enumerate(seeds.items()):
        found = _lookup(topic, given, columns, widths, absent)
        if not found:
            known = (name for view in columns.values() for name in view)
            asked = given if not isinstance(given, Mapping) else [part for each in given.values() for part in each]
            hint = did_you_mean(next(iter(asked), ""), known)
            raise ParameterError(
                f"has nothing for topic {short(topic)} that is a feature of the views {listed(widths)}, got "
                f"{short(asked)}.{hint}",
                parameter="seeds",
            )
        for view, column, weight in found:
            weights[view][row, column] += weight
    if absent:
        warn_user(f"Some seeds are no features of the views, and are left out: {listed(absent)}.", UserWarning)
    return Seeds(numbers, called, {view: _shares(part) for view, part in weights.items() if part.nnz})


def seeds_from_objects(X: Any, objects: Mapping[Any, Sequence[Any]], views: Sequence[str] | None = None) -> Any:
    """Make seeds of objects that are typical of a topic: their features, by their share in each view.

    Parameters
    ----------
    X : Views or what becomes Views
        The objects.
    objects : mapping from topic to a list of objects
        By topic, a name or a number: ids of objects, or rows where X has no ids.
    views : list of str, optional
        Views that count; by default all that hold no negative number.

    Returns
    -------
    dict
        For the parameter `seeds` of `PLSA`, `LinkPLSA` and `MultiViewPLSA`.

    Examples
    --------
    >>> words = np.array([[1, 0, 1], [0, 2, 0]])
    >>> X = Views(words=words, ids=["a", "b"], feature_names={"words": ["fox", "sea", "den"]})
    >>> seeds_from_objects(X, {"land": ["a"], "water": ["b"]})
    {'land': {'words': {'fox': 0.5, 'den': 0.5}}, 'water': {'words': {'sea': 1.0}}}
    """
    X = as_views(X)
    X = X.collect() if isinstance(X, LazyViews) else X
    if views is not None and not (isinstance(views, (list, tuple)) and all(isinstance(view, str) for view in views)):
        raise ParameterError(f"must be a list of names of views, got {short(views)}.", parameter="views")
    if not isinstance(objects, Mapping) or not all(
        isinstance(part, (list, tuple, np.ndarray)) for part in objects.values()
    ):
        raise ParameterError(f"must be {{topic: list of objects}}, got {short(objects)}.", parameter="objects")
    for view in views or ():
        if view not in X:
            raise ParameterError(f"names {view!r}, but the views are {listed(X.names)}.", parameter="views")
    used = [view for view in X.names if (X[view].min() >= 0 if views is None else view in views)]
    ids = None if X.ids is None else {each: row for row, each in enumerate(X.ids.tolist())}
    seeds: dict[Any, dict[str, dict[Any, float]]] = {}
    for topic, chosen in objects.items():
        rows = [_row(each, ids, len(X)) for each in chosen]
        if not rows:
            raise ParameterError(f"has no object for topic {short(topic)}.", parameter="objects")
        seeds[topic] = {}
        for view in used:
            part = sparse.csr_array(X[view][rows]).astype(np.float64)
            mass = np.asarray(part.sum(axis=1)).reshape(-1)
            weights = np.divide(1.0, mass, out=np.zeros(len(mass)), where=mass > 0) @ part
            names = X.feature_names.get(view)
            own = {j if names is None else str(names[j]): float(weights[j]) for j in np.flatnonzero(weights).tolist()}
            if own:
                seeds[topic][view] = own
    return seeds


# -- pieces


def _row(given: Any, ids: Mapping[Any, int] | None, n_rows: int) -> int:
    if ids is not None:
        if given not in ids:
            raise ParameterError(
                f"names the object {short(given)}, which X does not have.{did_you_mean(given, ids)}",
                parameter="objects",
            )
        return ids[given]
    check_count("a row of objects", given, 0)
    if given >= n_rows:
        raise ParameterError(f"names row {given}, but X has {n_rows} rows.", parameter="objects")
    return int(given)


def _numbers(topics: Sequence[Any], n_groups: int) -> tuple[list[int], list[str | None]]:
    """Numbers and names of seeded topics: whole numbers are numbers, names get those that are left, in order."""
    taken = [topic for topic in topics if isinstance(topic, (int, np.integer)) and not isinstance(topic, bool)]
    for given in taken:
        if not 0 <= given < n_groups:
            raise ParameterError(
                f"names topic {given}, but there are {n_groups}: 0 to {n_groups - 1}.", parameter="seeds"
            )
    if len(topics) > n_groups:
        raise ParameterError(f"must be for at most {n_groups} topics, got {len(topics)}.", parameter="seeds")
    free = iter(k for k in range(n_groups) if k not in taken)
    numbers, names = [], []
    for topic in topics:
        named = topic not in taken
        if named and not (isinstance(topic, str) and topic.strip()):
            raise ParameterError(
                f"must have numbers or names of topics as keys, got {short(topic)}.", parameter="seeds"
            )
        numbers.append(next(free) if named else int(topic))
        names.append(" ".join(topic.split()) if named else None)
    known = [name for name in names if name is not None]
    if len(set(known)) < len(known):
        raise ParameterError(f"must have different names, got {listed(known)}.", parameter="seeds")
    return numbers, names


def _lookup(
    topic: Any, given: Any, columns: Mapping[str, Mapping[str, int]], widths: Mapping[str, int], absent: list[str]
) -> list[tuple[str, int, float]]:
    """View, column and weight of each seed of a topic; notes those that are nowhere."""
    found: list[tuple[str, int, float]] = []
    by_view = given if isinstance(given, Mapping) else dict.fromkeys(widths, given)
    if not _are_features(given):
        raise ParameterError(
            f"must have a list of features, or {{view: features}}, for topic {short(topic)}, got {short(given)}.",
            parameter="seeds",
        )
    seen: dict[str, bool] = {}
    for view, features in by_view.items():
        if view not in widths:
            raise ParameterError(
                f"names view {view!r} for topic {short(topic)}, but the views of counts are {listed(widths)}."
                f"{did_you_mean(view, widths)}",
                parameter="seeds",
            )
        if not _are_features(features):
            raise ParameterError(
                f"must have a list of features for topic {short(topic)} in view {view!r}, got {short(features)}.",
                parameter="seeds",
            )
        pairs = features.items() if isinstance(features, Mapping) else ((each, 1.0) for each in features)
        for feature, weight in pairs:
            if not isinstance(weight, (int, float, np.integer, np.floating)) or not 0 < weight < np.inf:
                raise ParameterError(
                    f"must have positive weights, got {short(weight)} for {short(feature)}.", parameter="seeds"
                )
            column = _column(feature, columns.get(view), widths[view])
            seen[str(feature)] = seen.get(str(feature), False) or column is not None
            if column is not None:
                found.append((view, column, float(weight)))
    absent += [feature for feature, there in seen.items() if not there]
    return found


def _are_features(value: Any) -> bool:
    """Tell whether a value is a list of features, or a dict."""
    return isinstance(value, (list, tuple, set, frozenset, Mapping)) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )


def _column(feature: Any, columns: Mapping[str, int] | None, width: int) -> int | None:
    if columns is not None:
        return columns.get(str(feature), columns.get(str(feature).lower()))
    whole = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
    return int(feature) if whole and 0 <= feature < width else None


def _shares(rows: sparse.lil_array) -> sparse.csr_array:
    rows = sparse.csr_array(rows)
    sums = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
    return sparse.csr_array(rows.multiply(1 / np.where(sums > 0, sums, 1.0)))


def _words_of_names(
    names: Sequence[str], columns: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Seeds of topics by the words of their names, and the forms of these, that are features."""
    if isinstance(names, str) or not all(isinstance(name, str) and name.strip() for name in names):
        raise ParameterError(f"must be a dict, or a list of names of topics, got {short(names)}.", parameter="seeds")
    if len(set(names)) < len(names):
        raise ParameterError(f"must have different names, got {listed(names)}.", parameter="seeds")
    words = {name: list(dict.fromkeys(_WORD.findall(name.lower()))) for name in names}
    used = [word for part in words.values() for word in part]
    stems: dict[str, dict[str, list[str]]] = {}
    for view, places in columns.items():
        stems[view] = {}
        for feature in places:
            stems[view].setdefault(feature[:_STEM].lower(), []).append(feature)
    seeds: dict[str, dict[str, dict[str, float]]] = {}
    for name, parts in words.items():
        seeds[name] = {}
        for view, known in stems.items():
            own = {
                feature: 1.0 / used.count(word)
                for word in parts
                for feature in known.get(word[:_STEM], ())
                if same_word(word, feature)
            }
            if own:
                seeds[name][view] = own
        if not seeds[name]:
            features = [feature for part in columns.values() for feature in part]
            near = did_you_mean(parts[0] if parts else name, features)
            raise ParameterError(
                f"has the name {short(name)}, none of whose words is a feature of the views. Give its features: "
                f"{{{name!r:.40}: [...]}}.{near}",
                parameter="seeds",
            )
    return seeds
