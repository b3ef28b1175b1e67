"""Names of clusters and topics: the few features, of all views, that tell a group from the whole corpus.

Where it is known which share of a group's objects have a feature, that is p(feature | group), and only features count
that a tenth of them have: a view that few objects have names a group no more than it describes it. Else, where weights
are not negative, a group's row in a view is brought to sum one. Over the corpus, p(feature) is the mean of these by the
sizes of the groups. A feature is worth its relevance (Sievert and Shirley 2014),

    p(feature | group) ** 0.4  *  lift ** 0.6,    lift = p(feature | group) / p(feature)

so that neither the words that are everywhere nor those that are hardly anywhere name a group. Features count whose lift
is at least the fourth root of the largest that there can be, 1 / share of the group. A feature that more than three
tenths of the groups have, with at least half of its rate in the corpus, such as libc6 among the dependencies of
packages, comes after all others. Where weights have signs, a feature is worth the part by which it is above the mean
of all groups. A group without any such feature is named by the weights alone, however rare the features are. A word of
several views counts once, with the sum of its worth; a form of a word that is in the name already does not count again.

The exponent was chosen on 3,000 Debian packages (three models): with the objects that have one, or two, of a name's
words taken for the group, the mean F1 is 0.545, beside 0.527 for p log lift, 0.537 for an exponent of 0.6, 0.524 for
0.2 and 0.445 for p alone. On the Python packages (two models), confirmed once: 0.495, 0.436, 0.450, 0.503 and 0.335.
Shares of objects were chosen for p on 3,050 manual pages, most without options, and confirmed once on 2,000 Debian
packages (one model each): the mean F1 of both ways to take the group goes from 0.445 to 0.563, and from 0.584 to 0.616.
With the weights for p, but only for features that a tenth have, it is 0.482 and 0.624.

Where the objects are known, a feature is worth its weighted log-odds: what objects of a group contain more often than
the others. With n objects in a group, y of which contain a feature, and a dash for all other objects, these are (after
Monroe, Colaresi and Quinn 2008, "Fightin' Words", who count words in place of objects)

    z = (log (y + a) / (n + A - y - a)  -  log (y' + a) / (n' + A - y' - a))  /  sqrt(1 / (y + a) + 1 / (y' + a))

where a of all A objects contain the feature: the corpus itself is the informative Dirichlet prior, which draws rare
features to what they are everywhere. On the functions of the Python packages (three models, 22 groups) the mean F1 of
names is 0.51, 0.42 and 0.45 by log-odds, and 0.48, 0.38 and 0.41 by the weights of the models alone; confirmed once, on
3,000 posts of 20 newsgroups: 0.35, 0.24 and 0.43 against 0.34, 0.22 and 0.41.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from coview.preprocessing.vectorizer import is_char_ngram

__all__ = [
    "LEAST_DEVIATION",
    "NAMED_BY_FEATURES",
    "WORDS",
    "characteristic_names",
    "choose_words",
    "distinct_names",
    "keyed_name",
    "log_odds",
    "measured_names",
    "measured_word",
    "own_names",
    "same_word",
    "sum_worth",
]

NAMED_BY_FEATURES = ("topic", "cluster")  # kinds of groups
WORDS = 3  # of a name
LEAST_DEVIATION = 0.5  # standard deviations, below which a group is about average in a measurement
_CANDIDATES = 60  # features of a group and view that are looked at
_FREQUENCY = 0.4  # how much the frequency counts beside the lift
_LEAST_LIFT = 0.25  # as a power of the largest lift that there can be
_AT_HOME = 0.5  # lift from which on a group has a feature
_MOST_HOMES, _FEWEST_HOMES = 0.3, 2  # share of the groups, and how many at least, that may have a feature of a name
_SHARED = 1e-6  # of the worth of others that a feature of more groups has
_LEAST_SHARE = 0.1  # of a group's objects that have a feature of its name
_PHRASE_WORTH = 0.5  # of a phrase, of that of its strongest word, from which on the phrase takes its place
_LONGEST_ENDING = 3  # letters by which two forms of a word may differ
_SHORTEST_STEM = 3


def characteristic_names(
    weights: Mapping[str, np.ndarray],
    names: Mapping[str, Sequence[str]],
    fallback: Sequence[str],
    sizes: np.ndarray | None = None,
    frequencies: Mapping[str, np.ndarray] | None = None,
) -> list[str]:
    """Return a name of a few words for each group; no two are the same.

    Parameters
    ----------
    weights : dict of ndarray (n_groups, n_features)
        Weights of the features in each group, by view.
    names : dict of sequences of str
        Names of the features.
    fallback : sequence of str
        Names for groups that no feature tells from the others.
    sizes : ndarray (n_groups,), optional
        Sizes of the groups; by default they count alike.
    frequencies : dict of ndarray (n_groups, n_features), optional
        Share of a group's objects that have each feature, by view, where it is known.

    Examples
    --------
    >>> words = np.array([[5.0, 4.0, 0.0, 0.0], [5.0, 0.0, 3.0, 1.0]])
    >>> characteristic_names({"words": words}, {"words": ["the", "photo", "mail", "mails"]}, ["0", "1"])
    ['photo', 'mail']
    """

    def ranked(shares: Mapping[str, np.ndarray]) -> list[dict[str, float]]:
        parts = [
            (_relevance(shares.get(view, part), sizes, view in shares), names[view]) for view, part in weights.items()
        ]
        return sum_worth(parts, len(fallback))

    worth = ranked(frequencies or {})
    if frequencies and not all(worth):  # of a group whose features are all rare
        worth = [first or second for first, second in zip(worth, ranked({}))]
    chosen = [", ".join(choose_words(each, WORDS)) or other for each, other in zip(worth, fallback)]
    return distinct_names(chosen, [other.split()[-1] for other in fallback])


def log_odds(counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the weighted log-odds of features in each group, from how many of its objects have them.

    Parameters
    ----------
    counts : ndarray (n_groups, n_features)
        Number of the group's objects that have the feature.
    sizes : ndarray (n_groups,)
        Number of objects of each group.

    Examples
    --------
    >>> log_odds(np.array([[9, 5, 1], [0, 10, 18]]), np.array([10, 20])).round(1)
    array([[ 3.2,  0. , -3.8],
           [-3.2,  0. ,  3.8]])
    """
    counts, sizes = np.asarray(counts, dtype=np.float64), np.asarray(sizes, dtype=np.float64)[:, None]
    everywhere, total = counts.sum(axis=0), sizes.sum()
    here, there = counts + everywhere, 2 * everywhere - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(here / (sizes + total - here)) - np.log(there / (2 * total - sizes - there))
        return np.nan_to_num(odds / np.sqrt(1 / here + 1 / there), posinf=0.0, neginf=0.0)


def sum_worth(parts: Iterable[tuple[np.ndarray, Sequence[str]]], n_groups: int) -> list[dict[str, float]]:
    """Return for each group what its first features are worth, summed over views of (groups x features, names).

    Character n-grams are left out.

    Examples
    --------
    >>> sum_worth([(np.array([[2.0, 0.0]]), ["fox", "sea"]), (np.array([[1.0]]), ["fox"])], 1)
    [{'fox': 3.0}]
    """
    worth: list[dict[str, float]] = [{} for _ in range(n_groups)]
    for values, names in parts:
        words = np.flatnonzero([not is_char_ngram(str(name)) for name in names])
        for group, row in zip(worth, np.asarray(values, dtype=np.float64)):
            for j in words[np.argsort(-row[words], kind="stable")[:_CANDIDATES]].tolist():
                if row[j] > 0:
                    group[str(names[j])] = group.get(str(names[j]), 0.0) + float(row[j])
    return worth


def choose_words(
    worth: Mapping[str, float], n: int, phrases: Mapping[str, float] | None = None, least: float = 0.0
) -> list[str]:
    """Return the n features that are worth most, of which none is a form of another, each by its best phrase.

    Parameters
    ----------
    worth : dict of float
        What each feature is worth.
    n : int
        Most words.
    phrases : dict of float, optional
        The same of phrases: one takes the place of its strongest word where it is worth at least half as much.
    least : float, default=0.0
        Share of the worth of the first feature that others need.

    Examples
    --------
    >>> choose_words({"fox": 3.0, "foxes": 2.0, "red": 1.5, "sea": 0.1}, 3, {"red fox": 2.0}, least=0.4)
    ['red fox']
    """
    ranked = sorted(worth, key=lambda name: (-worth[name], name))
    chosen: list[str] = []
    for word in ranked:
        if len(chosen) == n or worth[word] <= least * worth[ranked[0]]:
            break
        taken = [part for name in chosen for part in (name, *name.split())]
        if any(same_word(word, part) for part in taken):
            continue
        around = [
            (-z, phrase)
            for phrase, z in (phrases or {}).items()
            if z >= _PHRASE_WORTH * worth[word]
            and any(same_word(word, part) for part in phrase.split())
            and not any(same_word(part, other) for part in phrase.split() for other in taken)
        ]
        chosen.append(min(around)[1] if around else word)
    return chosen


def measured_names(
    deviations: Mapping[str, np.ndarray],
    means: Mapping[str, np.ndarray],
    names: Mapping[str, Sequence[str]],
    fallback: Sequence[str],
) -> list[str]:
    """Return names of groups by the measurements in which they are far from the mean of all objects, above or below.

    Groups that are alike in this, or about average in all, are named by their mean in the measurement that tells them
    apart best.

    Parameters
    ----------
    deviations : dict of ndarray (n_groups, n_features)
        How far the mean of each group lies from that of all, in standard deviations, by view.
    means : dict of ndarray (n_groups, n_features)
        The means themselves.
    names : dict of sequences of str
        Names of the measurements.
    fallback : sequence of str
        Names for groups that are exactly average in all of them, as those without objects are.

    Examples
    --------
    >>> far, age = np.array([[1.5, 0.1], [0.8, 0.0], [-0.9, 0.2]]), np.array([[70.2, 5.0], [55.0, 5.0], [20.0, 5.0]])
    >>> measured_names({"person": far}, {"person": age}, {"person": ["age", "size"]}, ["0", "1", "2"])
    ['age 70.2', 'age 55', 'low age']
    """
    columns = [str(name) for view in deviations for name in names[view]]
    rows, values = (np.hstack(list(part.values())) for part in (deviations, means))
    far = [
        {j: measured_word(columns[j], row[j]) for j in order if abs(row[j]) >= LEAST_DEVIATION}
        for row, order in zip(rows, np.argsort(-np.abs(rows), kind="stable")[:, :WORDS].tolist())
    ]
    alike: dict[str, list[int]] = {}
    for k, words in enumerate(far):
        alike.setdefault(", ".join(words.values()), []).append(k)
    for name, same in alike.items():
        if len(same) > 1 or not name:
            j = int((np.ptp(rows[same], axis=0) if len(same) > 1 else np.abs(rows[same[0]])).argmax())
            for k in same:
                mean = values[k, j]
                far[k][j] = f"{columns[j]} {mean:{'.0f' if abs(mean) >= 100 else '.3g'}}"
    found = [", ".join(words.values()) if row.any() else "" for words, row in zip(far, rows)]
    keys = [other.split()[-1] for other in fallback]
    return distinct_names([name or other for name, other in zip(found, fallback)], keys)


def measured_word(name: str, deviation: float) -> str:
    """Return how a measurement far above or below the mean is called.

    Examples
    --------
    >>> measured_word("age", -1.2)
    'low age'
    """
    return f"{'high' if deviation > 0 else 'low'} {name}"


def own_names(keys: Sequence[str], names: Sequence[str], kind: str) -> dict[str, str]:
    """Return the names of groups by key, without those that say the key only.

    Examples
    --------
    >>> own_names(["0", "1"], ["photo, image, raw", "cluster 1"], "cluster")
    {'0': 'photo, image, raw'}
    """
    return {key: name for key, name in zip(keys, names) if name not in (key, f"{kind} {key}")}


def keyed_name(key: str, names: Mapping[str, str]) -> str:
    """Return a group as tables and figures call it: by the key and, where it has one, its name.

    Examples
    --------
    >>> [keyed_name(key, {"0": "photo, image, raw"}) for key in ("0", "1")]
    ['0: photo, image, raw', '1']
    """
    return f"{key}: {names[key]}" if key in names else key


def _relevance(weights: np.ndarray, sizes: np.ndarray | None, frequencies: bool) -> np.ndarray:
    """What each feature says of each group (groups x features), by weights or by frequencies."""
    weights = np.asarray(weights, dtype=np.float64)
    if len(weights) == 1:
        return np.maximum(weights, 0)
    shares = np.ones(len(weights)) if sizes is None or not np.any(sizes) else np.asarray(sizes, dtype=np.float64)
    shares = shares / shares.sum()
    if weights.min(initial=0) < -1e-9 * weights.max(initial=0):  # more than rounding
        above = np.maximum(weights - shares @ weights, 0)
        return above / np.maximum(above.sum(axis=1, keepdims=True), 1e-300)
    weights = np.maximum(weights, 0)
    rates = weights if frequencies else weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    lift = rates / np.maximum(shares @ rates, 1e-300)
    least = np.maximum(shares, 1e-6) ** -_LEAST_LIFT
    worth = np.where(lift > least[:, None], rates**_FREQUENCY * lift ** (1 - _FREQUENCY), 0.0)
    if frequencies:
        worth = np.where(weights >= _LEAST_SHARE, worth, 0.0)
    at_home = (lift >= _AT_HOME).sum(axis=0)  # groups that have a feature
    return np.where(at_home > max(_MOST_HOMES * len(weights), _FEWEST_HOMES), _SHARED * worth, worth)


def same_word(a: str, b: str) -> bool:
    """Tell whether two words are forms of one: image and images, library and libraries; or capitals alone differ."""
    a, b = sorted((a.casefold(), b.casefold()), key=len)
    stem = a[:-1] if a.endswith("y") else a
    if not b.startswith(stem):
        return False
    return a == b or (
        len(stem) >= _SHORTEST_STEM and b[len(stem) :].isalpha() and len(b) - len(stem) <= _LONGEST_ENDING
    )


def distinct_names(names: Sequence[str], keys: Sequence[str], kept: Container[str] = ()) -> list[str]:
    """Return names that differ: of equal ones each says its key too, as often as it takes; those of `kept` keys stay.

    Examples
    --------
    >>> distinct_names(["a", "a", "a (0)"], ["0", "1", "2"])
    ['a (0) (0)', 'a (1)', 'a (0) (2)']
    """
    found, counts = list(names), Counter(names)
    while any(counts[name] > 1 and key not in kept for name, key in zip(found, keys)):
        found = [name if counts[name] == 1 or key in kept else f"{name} ({key})" for name, key in zip(found, keys)]
        counts = Counter(found)
    return found
