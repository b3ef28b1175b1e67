"""What a model was chosen or combined from, in a sentence for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from coview.inspection.records import Selection
from coview.utils.messages import listed, printable, quantity

__all__ = [
    "describe_accuracy",
    "describe_doubt",
    "describe_links",
    "describe_misaligned",
    "describe_number",
    "describe_scaling",
    "describe_selection",
    "describe_votes",
    "views_that",
]

MOST = 10  # methods that one line names
ABOVE = re.compile(r"level \d+: ")  # before the name of a method for labels above the lowest
SCALED = {
    "tf-idf": "counts, categories or shares, weighted by how much each feature tells",
    "unit length": "already weighted; each row scaled to length 1",
    "standard": "numbers, each column divided by its standard deviation",
    "pareto": "amounts, each column divided by the square root of its standard deviation",
    "centered": "vectors, all columns divided by one number",
}


def describe_scaling(scaling: str) -> str:
    """Return what a view was taken for, and how its columns were made comparable, in words."""
    return SCALED.get(scaling, scaling)


def describe_votes(votes: Mapping[str, Any]) -> str:
    """Return what clusters were found by, and how sure they are.

    Parameters
    ----------
    votes : dict
        The votes of an inspection.

    Examples
    --------
    >>> votes = {"clusterings": 40, "share": 0.93}
    >>> describe_votes(votes)
    '40 clusterings of the objects voted: on average, 93 % of them agree on the cluster of an object.'
    """
    return (
        f"{votes['clusterings']} clusterings of the objects voted: on average, "
        f"{100 * votes['share']:.0f} % of them agree on the cluster of an object."
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
    used = "used" if links.get("used", links["join"]) else "not used"
    return f"view {links['view']!r}, {quantity(links['n_links'], 'link')}, {used}: {links['why']}"


def describe_doubt(selection: Selection, n_features: int) -> str:
    """Return why chosen clusters may be none, or nothing; the features are those of all views together.

    Examples
    --------
    >>> describe_doubt(Selection(relations={"view": ["a", "b"], "verdict": ["noise", "noise"]}), 20)
    'The clusters may be chance: no clear structure was found in any view.'
    """
    verdicts = selection.relations.get("verdict", ())
    if max(selection.numbers.get("information", ()), default=1.0) <= 0:
        return describe_number(selection.numbers)
    if verdicts and set(verdicts) == {"noise"}:
        return "The clusters may be chance: no clear structure was found in any view."
    alone = bool(selection.votes) and n_features == 1
    return "There is one column only: the clusters are ranges of its values." if alone else ""


def describe_selection(selection: Selection, n_features: int = 0) -> list[str]:
    """Return lines on what was chosen or combined, and by which evidence; none where there was no choice.

    Of an ontology they name the methods for the labels of the lowest level. `n_features` are those of all views.

    Examples
    --------
    >>> table = {"name": ["graph", "topics", "level 1: svm", "svm"], "weight": [0.2, 0.8, 1.0, 0.0]}
    >>> describe_selection(Selection(candidates=table))
    ['candidates by weight: topics 0.80, graph 0.20; 1 without weight']
    """
    lines = [describe_votes(selection.votes)] if selection.votes else []
    if selection.numbers.get("n_clusters"):
        lines.append(describe_number(selection.numbers))
    lines += filter(None, [describe_misaligned(selection.relations), describe_doubt(selection, n_features)])
    noise = views_that(selection.relations, "noise")
    if 0 < len(noise) < len(selection.relations["view"]):
        what = "neither shared with another view nor between its columns"
        lines.append(f"No clear structure was found in {listed(noise)}, {what}.")
    if selection.accuracy_by_view:
        shares = ", ".join(f"{100 * share:.0f} % ({view})" for view, share in selection.accuracy_by_view.items())
        largest = selection.held_out.get("largest_class", 0.0)
        weak = [view for view, share in selection.accuracy_by_view.items() if share <= largest]
        guess = f"; always naming the largest class is right as often as {listed(weak)}, or more often" if weak else ""
        lines.append(f"accuracy from one view alone: {shares}{guess}")
    table = zip(selection.candidates.get("name", ()), selection.candidates.get("weight", ()))
    rows = sorted((row for row in table if not ABOVE.match(str(row[0]))), key=lambda row: -row[1])
    if rows:
        used = [f"{printable(name)} {weight:.2f}" for name, weight in rows if weight > 0]
        line = ", ".join([*used[:MOST], *(["..."] if len(used) > MOST else [])])
        without = len(rows) - len(used)
        lines.append(f"candidates by weight: {line}" + (f"; {without} without weight" if without else ""))
    if selection.held_out:
        lines.append(f"accuracy: {describe_accuracy(selection.held_out)}")
    return list(dict.fromkeys(lines))  # a number that nothing supports is a doubt, too


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
    said = f"not known: {lone}" if share is None or share != share else f"{share:.2f}"
    interval = f"{held_out['low']:.2f} to {held_out['high']:.2f} at 95 %, {quantity(n_labels, 'held-out label')}"
    return f"{said} ({interval})" if n_labels else said


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
        "If they are from several files, check that their rows are in the same order."
    )


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
