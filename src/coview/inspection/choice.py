"""What a model was chosen or combined from, in a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["describe_choice"]

EVIDENCE = {
    "reliability": "how well the clusters are predicted from the views",
    "stability": "how far they come back when the method is fitted to a sample",
}


def describe_choice(candidates: Mapping[str, list[Any]]) -> str:
    """Return which method was chosen, or which were combined, and by which evidence; empty where there was no choice.

    Parameters
    ----------
    candidates : dict of lists
        The `candidates` of an inspection: a table with "name" and "weight", and with "method" and evidence where known.

    Examples
    --------
    >>> table = {"name": ["graphs", "sphere"], "weight": [1.0, 0.0], "reliability": [0.71, 0.52]}
    >>> describe_choice(table).split(" Reliability")[0]
    'Of 2 methods, graphs was chosen: it has reliability 0.71. The next, sphere, has reliability 0.52.'
    >>> table["weight"] = [1.0, 0.6]
    >>> describe_choice(table).split(":")[0]
    'Of 2 methods, those with the best evidence are combined'
    """
    names, weights = list(map(str, candidates.get("name", ()))), candidates.get("weight", [])
    used = sorted((i for i, weight in enumerate(weights) if weight), key=lambda i: -weights[i])
    if not used:
        return ""
    kinds = [kind for kind in EVIDENCE if kind in candidates and _known(candidates[kind][used[0]])]
    rest = [i for i in range(len(names)) if i not in used and all(_known(candidates[kind][i]) for kind in kinds)]
    rest.sort(key=lambda i: [-candidates[kind][i] for kind in kinds])

    def called(i: int) -> str:
        method = candidates.get("method", [None] * len(names))[i]
        return names[i] if method is None or method == names[i] else f"{names[i]} ({method})"

    def measured(i: int) -> str:
        return " and ".join(f"{kind} {candidates[kind][i]:.2f}" for kind in kinds)

    head = f"Of {len(names)} method{'' if len(names) == 1 else 's'}, "
    if len(used) == 1:
        head += f"{called(used[0])} was chosen"
        if kinds:
            head += f": it has {measured(used[0])}"
    else:
        parts = [f"{called(i)}, weight {weights[i]:.2f}" for i in used]
        head += f"those with the best evidence are combined: {'; '.join(parts)}"
    sentences = [f"{head}."]
    if rest and kinds:
        sentences.append(f"The next, {called(rest[0])}, has {measured(rest[0])}.")
    if kinds:
        sentences.append(f"{', and '.join(f'{kind} is {EVIDENCE[kind]}' for kind in kinds).capitalize()}.")
    return " ".join(sentences)


def _known(value: Any) -> bool:
    return value is not None and value == value
