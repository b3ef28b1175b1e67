"""What a model was chosen or combined from, in a sentence for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.utils.messages import listed, printable, quantity

__all__ = [
    "describe_accuracy",
    "describe_candidates",
    "describe_choice",
    "describe_links",
    "describe_misaligned",
    "describe_number",
    "describe_relations",
    "describe_scaling",
    "describe_views_alone",
    "describe_votes",
    "links_used",
    "of_lowest_level",
]

SHOWN = 0.005  # least weight of a method that is named
MOST = 10  # methods that one line names
ABOVE = re.compile(r"level \d+: ")  # before the name of a method for labels above the lowest
SCALED = {
    "tf-idf": "counts, categories or shares, weighted by tf-idf",
    "unit length": "already weighted, as by tf-idf; each row scaled to length 1",
    "standard": "numbers, each column divided by its standard deviation",
    "pareto": "amounts, each column divided by the square root of its standard deviation",
    "centered": "vectors, all columns divided by one number",
}


def describe_scaling(scaling: str) -> str:
    """Return what a view was taken for, and how its columns were made comparable, in words.

    Examples
    --------
    >>> describe_scaling("centered")
    'vectors, all columns divided by one number'
    """
    return SCALED.get(scaling, scaling)


def describe_votes(votes: Mapping[str, Any]) -> str:
    r"""Return what clusters were found by, and how sure they are.

    Parameters
    ----------
    votes : dict
        The `votes` of an inspection.

    Examples
    --------
    >>> votes = {"by_views": 20, "by_tokens": 20, "share": 0.93, "by_cluster": [0.98, 0.71]}
    >>> print(describe_votes(votes).replace(": ", ":\n").replace("; ", ";\n"))
    40 clusterings of graphs of nearest neighbors voted, half of which count every view alike and half every token:
    an object has its cluster by 93 % of the votes in the mean;
    the surest cluster is 0 (98 %), the least sure 1 (71 %).
    """
    count = votes["by_views"] + votes["by_tokens"]
    halves = ", half of which count every view alike and half every token" if votes["by_tokens"] else ""
    share = f"an object has its cluster by {100 * votes['share']:.0f} % of the votes in the mean"
    text = f"{count} clusterings of graphs of nearest neighbors voted{halves}: {share}"
    sure = votes["by_cluster"]
    if max(sure) - min(sure) < SHOWN:
        return f"{text}."
    high, low = (f"{pick(range(len(sure)), key=sure.__getitem__)} ({100 * pick(sure):.0f} %)" for pick in (max, min))
    return f"{text}; the surest cluster is {high}, the least sure {low}."


def describe_links(links: Mapping[str, Any]) -> str:
    """Return which view is links among the objects, how many there are, and why they are used or not.

    Parameters
    ----------
    links : dict
        What `links_` of `AutoClustering` and `AutoClassifier` holds.

    Examples
    --------
    >>> describe_links({"view": "cites", "n_links": 1073, "join": True, "why": "links join alike objects"})
    "view 'cites', 1,073 links, used: links join alike objects"
    """
    count = f"{links['n_links']:,} link{'' if links['n_links'] == 1 else 's'}"
    return f"view {links['view']!r}, {count}, {'used' if links_used(links) else 'not used'}: {links['why']}"


def links_used(links: Mapping[str, Any]) -> bool:
    """Tell whether links were used as a graph; of files that do not say so, whether they join alike objects.

    Examples
    --------
    >>> links_used({"used": True}), links_used({"join": False})
    (True, False)
    """
    return bool(links["used"] if "used" in links else links["join"])


def describe_candidates(candidates: Mapping[str, list[Any]]) -> str:
    """Return the methods with a weight in one line, the heaviest first, and how many have hardly any or none.

    Examples
    --------
    >>> describe_candidates({"name": ["latent", "topics", "graph"], "weight": [0.2, 0.8, 0.0]})
    'topics 0.80, latent 0.20; 1 without weight'
    >>> describe_candidates({"name": ["latent", "topics"], "weight": [1.0, 1e-6]})
    'latent 1.00; 1 below 0.005'

    Where all weights are small, the heaviest methods are named still:

    >>> describe_candidates({"name": list(map(str, range(300))), "weight": [1 / 300] * 300})[-25:]
    '9 0.0033; 290 below 0.005'
    """
    weights = list(zip(candidates["name"], candidates["weight"]))
    positive = sorted((each for each in weights if each[1] > 0), key=lambda each: -each[1])
    used = [each for each in positive if each[1] >= SHOWN]
    named = [f"{printable(name)} {weight:.2f}" for name, weight in used]
    if not used:
        used = positive[:MOST]
        named = [f"{printable(name)} {weight:.2g}" for name, weight in used]
    line = ", ".join([*named[:MOST], *(["..."] if len(named) > MOST else [])])
    small, without = len(positive) - len(used), len(weights) - len(positive)
    rest = [f"{small} below {SHOWN}"] * (small > 0) + [f"{without} without weight"] * (without > 0)
    return "; ".join([*([line] if line else []), ", ".join(rest)] if rest else [line])


def of_lowest_level(candidates: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the rows of the lowest level from a table of all levels of an ontology; weights sum to 1 within a level.

    Examples
    --------
    >>> of_lowest_level({"name": ["svm", "level 1: svm"], "weight": [1.0, 1.0]})
    {'name': ['svm'], 'weight': [1.0]}
    """
    rows = [i for i, name in enumerate(candidates["name"]) if not ABOVE.match(str(name))]
    return {column: [values[i] for i in rows] for column, values in candidates.items()}


def describe_accuracy(held_out: Mapping[str, Any]) -> str:
    """Return what held-out labels say of a classifier's accuracy, with its interval, or that it is not known.

    Parameters
    ----------
    held_out : dict
        The `held_out` of an inspection; an accuracy of None is not known, as one of NaN.

    Examples
    --------
    >>> describe_accuracy({"accuracy": 0.9, "low": 0.826, "high": 0.945, "n_labels": 100})
    '0.90 (0.83 to 0.94 at 95 %, 100 held-out labels)'
    >>> describe_accuracy({"accuracy": float("nan"), "low": 0.18, "high": 0.91, "n_labels": 48})
    'not known: too many classes have one label, which cannot be held out (0.18 to 0.91 at 95 %, 48 held-out labels)'
    >>> describe_accuracy({"accuracy": None, "low": 0.0, "high": 1.0, "n_labels": 0})
    'not known: too few labels to hold out'
    """
    share, n_labels = held_out["accuracy"], int(held_out["n_labels"])
    lone = "too many classes have one label, which cannot be held out" if n_labels else "too few labels to hold out"
    said = f"{share:.2f}" if _known(share) else f"not known: {lone}"
    interval = f"{held_out['low']:.2f} to {held_out['high']:.2f} at 95 %, {quantity(n_labels, 'held-out label')}"
    return f"{said} ({interval})" if n_labels else said


def describe_choice(
    candidates: Mapping[str, list[Any]],
    numbers: Mapping[str, list[Any]] | None = None,
    relations: Mapping[str, list[Any]] | None = None,
    accuracy_by_view: Mapping[str, float] | None = None,
    held_out: Mapping[str, Any] | None = None,
    votes: Mapping[str, Any] | None = None,
) -> str:
    """Return what was chosen or combined, and by which evidence; empty where there was no choice.

    Parameters
    ----------
    candidates : dict of lists
        The `candidates` of an inspection: a table with "name", "weight" and "accuracy".
    numbers : dict of lists, optional
        The `numbers` of an inspection: what speaks for each number of clusters, where the number was chosen too.
    relations : dict of lists, optional
        The `relations` of an inspection: a table with "view" and "verdict", whether views belong together.
    accuracy_by_view : dict of float, optional
        The same of an inspection: share of held-out labels that are found from each view alone.
    held_out : dict, optional
        The same of an inspection: what held-out labels say of the whole.
    votes : dict, optional
        The same of an inspection: which clusterings voted, and how sure they are.

    Examples
    --------
    >>> table = {"name": ["graph", "centers", "topics"], "weight": [0.8, 0.2, 0.0], "accuracy": [0.71, 0.66, 0.52]}
    >>> describe_choice(table).split("(")[0]
    'Of 3 methods the answer is made by graph '
    >>> describe_choice(table).split(". ")[1]
    'The best of the others is topics, which finds 52 % of the held-out labels.'
    """
    sentences = [*([describe_votes(votes)] if votes else []), *_describe_methods(candidates)]
    if not sentences:
        return ""
    return " ".join(
        [
            *sentences,
            *([describe_number(numbers)] if numbers and numbers.get("n_clusters") else []),
            *describe_relations(relations or {}),
            *([f"The accuracy of the whole is {describe_accuracy(held_out)}."] if held_out else []),
            *([describe_views_alone(accuracy_by_view)] if accuracy_by_view else []),
        ]
    )


def _describe_methods(candidates: Mapping[str, list[Any]]) -> list[str]:
    """Return a sentence on the methods with a weight, and one on the best of the others."""
    rows = [dict(zip(candidates, cells)) for cells in zip(*candidates.values())]
    used = sorted((row for row in rows if row["weight"] >= SHOWN), key=lambda row: -row["weight"])
    if not used:
        return []

    def found(row: Mapping[str, Any], which: str) -> str:
        share = row.get("accuracy")
        return "" if share is None or np.isnan(share) else f", {which}finds {100 * share:.0f} % of the held-out labels"

    parts = [f"{row['name']} (weight {row['weight']:.2f}{found(row, '')})" for row in used]
    sentences = [f"Of {quantity(len(rows), 'method')} the answer is made by {', '.join(parts)}."]
    rest = [row for row in rows if row not in used and found(row, "")]
    if rest:
        best = max(rest, key=lambda row: row["accuracy"])
        sentences.append(f"The best of the others is {best['name']}{found(best, 'which ')}.")
    return sentences


def describe_views_alone(accuracy_by_view: Mapping[str, float]) -> str:
    """Return how many held-out labels are found from one view alone.

    Examples
    --------
    >>> describe_views_alone({"words": 0.9, "image": 0.31})
    'From one view alone 90 % of the held-out labels are found by words, 31 % by image.'
    """
    (first, share), *others = accuracy_by_view.items()
    head = f"From one view alone {share:.0%} of the held-out labels are found by {first}".replace("%", " %")
    return ", ".join([head, *(f"{100 * share:.0f} % by {name}" for name, share in others)]) + "."


def describe_misaligned(relations: Mapping[str, list[Any]]) -> str:
    """Return a sentence about the views that share nothing with any other though they could; empty if there is none.

    Examples
    --------
    >>> describe_misaligned({"view": ["a", "b", "c"], "verdict": ["shares", "shares", "noise"]})
    ''
    >>> describe_misaligned({"view": ["a", "b", "c"], "verdict": ["shares", "shares", "alone"]}).split(":")[0]
    "View 'c' has structure of its own, but shares nothing with the other views"
    """
    alone = _views_that(relations, "alone")
    if not alone:
        return ""
    one = len(alone) == 1
    return (
        f"View{'' if one else 's'} {listed(alone)} {'has' if one else 'have'} structure of "
        f"{'its' if one else 'their'} own, but {'shares nothing with the other views' if one else 'share nothing'}: "
        f"objects that are near each other in one view are not in another, beyond chance. Are the rows of "
        f"{'this view' if one else 'these views'} in the same order as those of the others?"
    )


def describe_relations(relations: Mapping[str, list[Any]]) -> list[str]:
    """Say which views do not belong to the others, and in which there is nothing; empty where all belong together.

    Examples
    --------
    >>> describe_relations({"view": ["a", "b", "c"], "verdict": ["shares", "shares", "noise"]})
    ["In view 'c' no clear structure was found: neither shared with another view nor between its columns."]
    """
    noise, sentence = _views_that(relations, "noise"), describe_misaligned(relations)
    sentences = [sentence] if sentence else []
    if noise:
        which, its = (f"view {noise[0]!r}", "its") if len(noise) == 1 else (f"views {listed(noise)}", "their")
        sentences.append(
            f"In {which} no clear structure was found: neither shared with another view nor between {its} columns."
        )
    return sentences


def _views_that(relations: Mapping[str, list[Any]], verdict: str) -> list[str]:
    return [name for name, word in zip(relations.get("view", ()), relations.get("verdict", ())) if word == verdict]


def describe_number(numbers: Mapping[str, list[Any]]) -> str:
    """Return which number of clusters was chosen, and which others come back as well.

    Examples
    --------
    >>> table = {"n_clusters": [2, 3, 4, 5], "stability": [0.9, 0.7, 0.9, 0.8], "information": [0.5, 0.1, 0.9, 0.5]}
    >>> describe_number(table).split(". ")[1]
    'Also stable: 2.'
    """
    tried, told = numbers["n_clusters"], numbers["information"]
    best = max(range(len(tried)), key=lambda i: told[i])
    if told[best] <= 0:
        return (
            f"None of {len(tried)} numbers of clusters from {min(tried)} to {max(tried)} is supported by the data: "
            "more of the clusters is lost on other objects than found again."
        )
    others = [str(number) for number in stable_numbers(numbers) if number != tried[best]]
    also = f" Also stable: {', '.join(others)}." if others else ""
    return (
        f"Of {len(tried)} numbers of clusters from {min(tried)} to {max(tried)}, {tried[best]} was chosen: its "
        f"clusters tell most that is found again on other objects.{also}"
    )


def stable_numbers(numbers: Mapping[str, list[Any]]) -> list[int]:
    """Return the numbers that tell more than the next smaller and the next larger one, and half as much as the best.

    Examples
    --------
    >>> stable_numbers({"n_clusters": [2, 3, 4, 5, 6], "information": [0.5, 0.1, 0.9, 0.2, 0.3]})
    [2, 4]
    """
    told = numbers["information"]
    around = [min(told), *told, min(told)]
    least = max(max(told) / 2, 0.0)
    return [n for i, n in enumerate(numbers["n_clusters"]) if told[i] > least and told[i] == max(around[i : i + 3])]


def _known(value: Any) -> bool:
    return value is not None and value == value
