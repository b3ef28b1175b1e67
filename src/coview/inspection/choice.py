"""What a model was chosen or combined from, in a sentence for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
    "describe_votes",
    "links_used",
    "of_lowest_level",
    "views_that",
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
    """Return what clusters were found by, and how sure they are.

    Parameters
    ----------
    votes : dict
        The votes of an inspection.

    Examples
    --------
    >>> votes = {"by_views": 20, "by_tokens": 20, "share": 0.93}
    >>> describe_votes(votes)
    '40 clusterings of the objects voted: on average, 93 % of them agree on the cluster of an object.'
    """
    return (
        f"{votes['by_views'] + votes['by_tokens']} clusterings of the objects voted: on average, "
        f"{_percent(votes['share'])} of them agree on the cluster of an object."
    )


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
    """Return the heaviest methods in one line, and how many have no weight.

    Examples
    --------
    >>> describe_candidates({"name": ["latent", "topics", "graph"], "weight": [0.2, 0.8, 0.0]})
    'topics 0.80, latent 0.20; 1 without weight'
    """
    ranked = sorted(zip(candidates["weight"], candidates["name"]), key=lambda each: -each[0])
    used = [f"{printable(name)} {weight:.2f}" for weight, name in ranked if weight > 0]
    line = ", ".join([*used[:MOST], *(["..."] if len(used) > MOST else [])])
    without = len(ranked) - len(used)
    return "; ".join([part for part in (line, f"{without} without weight" if without else "") if part])


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
    said = f"not known: {lone}" if _unknown(share) else f"{share:.2f}"
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
    >>> describe_choice(table)
    'Of 3 methods the answer is made by graph (weight 0.80, accuracy 71 %), centers (weight 0.20, accuracy 66 %).'
    >>> describe_choice(table, accuracy_by_view={"words": 0.9, "image": 0.31})[-64:]
    ' From one view alone the accuracy is 90 % (words), 31 % (image).'
    """
    if not candidates and not votes:
        return ""
    rows = (
        sorted(zip(*(candidates[name] for name in ("weight", "name"))), key=lambda row: -row[0]) if candidates else []
    )
    known = dict(zip(candidates.get("name", ()), candidates.get("accuracy", ())))
    used = [
        f"{name} (weight {weight:.2f}{'' if _unknown(known.get(name)) else f', accuracy {_percent(known[name])}'})"
        for weight, name in rows
        if weight >= SHOWN
    ]
    by_view = ", ".join(f"{_percent(share)} ({view})" for view, share in (accuracy_by_view or {}).items())
    sentences = [
        describe_votes(votes) if votes else "",
        f"Of {quantity(len(rows), 'method')} the answer is made by {', '.join(used)}." if used else "",
        describe_number(numbers) if numbers and numbers.get("n_clusters") else "",
        *describe_relations(relations or {}),
        f"The accuracy of the whole is {describe_accuracy(held_out)}." if held_out else "",
        f"From one view alone the accuracy is {by_view}." if by_view else "",
    ]
    return " ".join(filter(None, sentences))


def _unknown(value: float | None) -> bool:
    return value is None or value != value


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def describe_misaligned(relations: Mapping[str, list[Any]]) -> str:
    """Return a sentence about the views that share nothing with any other though they could; empty if there is none.

    Examples
    --------
    >>> describe_misaligned({"view": ["a", "b", "c"], "verdict": ["shares", "shares", "noise"]})
    ''
    >>> describe_misaligned({"view": ["a", "b", "c"], "verdict": ["shares", "shares", "alone"]}).split(".")[0]
    "View 'c' has structure, but shares nothing with the other views"
    """
    alone = views_that(relations, "alone")
    if not alone:
        return ""
    has, shares = ("has", "shares") if len(alone) == 1 else ("have", "share")
    return (
        f"View{'s' * (len(alone) > 1)} {listed(alone)} {has} structure, but {shares} nothing with the other views. "
        "Are the rows in the same order as those of the others?"
    )


def describe_relations(relations: Mapping[str, list[Any]]) -> list[str]:
    """Say which views do not belong to the others, and in which there is nothing; empty where all belong together.

    Examples
    --------
    >>> describe_relations({"view": ["a", "b", "c"], "verdict": ["shares", "shares", "noise"]})
    ["No clear structure was found in 'c', neither shared with another view nor between its columns."]
    """
    noise, sentence = views_that(relations, "noise"), describe_misaligned(relations)
    nothing = (
        f"No clear structure was found in {listed(noise)}, neither shared with another view nor between its columns."
    )
    return [*([sentence] if sentence else []), *([nothing] if noise else [])]


def views_that(relations: Mapping[str, list[Any]], verdict: str) -> list[str]:
    """Return the views of which the relations have this verdict."""
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
    span = f"from {min(tried)} to {max(tried)}"
    best = max(range(len(tried)), key=lambda i: told[i])
    if told[best] <= 0:
        return (
            f"None of {len(tried)} numbers of clusters {span} is supported by the data: "
            "other objects do not fall into the same clusters."
        )
    others = [str(number) for number in stable_numbers(numbers) if number != tried[best]]
    also = f" Also stable: {', '.join(others)}." if others else ""
    return (
        f"{tried[best]} clusters were chosen, of {len(tried)} numbers {span}: "
        f"the most informative that other objects fall into as well.{also}"
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
