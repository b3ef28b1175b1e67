"""What a search gives back, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.utils.messages import listed, printable

__all__ = ["Hits", "Match", "say_ignored"]


def say_ignored(words: Sequence[str]) -> str:
    """Return the sentence on the words of a query that nothing knows; empty where there are none.

    Examples
    --------
    >>> say_ignored(["foo", "bar"])
    "Ignored, not in the vocabulary: 'foo', 'bar'."
    """
    return f"Ignored, not in the vocabulary: {listed(words)}." if words else ""


_NOTHING = 0.0005  # a score that is shown as 0


@dataclass(frozen=True, eq=False)
class Hits:
    """The best objects of each query, best first; the list of one query, ``hits[0]``, ends where scores are 0.

    Attributes
    ----------
    ids : ndarray (n_queries, k)
        Identifiers of the objects; None for a row of a table of which nothing is known.
    scores : ndarray (n_queries, k)
        Their scores, falling; NaN for such a row.
    groups : ndarray of int (n_queries, k) or None
        Numbers of their topics, clusters or classes, -1 for none; None where the model has none.
    group_names : ndarray of object (n_queries, k) or None
        Names of these groups, as in `inspect(model).group_names`; None for none.
    ignored : list of lists of str
        For each query of text, its words that no view and no object knows.

    Examples
    --------
    >>> import numpy as np
    >>> groups = {"groups": np.array([[3, 0]]), "group_names": np.array([["photo, raw", "mail, imap"]], dtype=object)}
    >>> hits = Hits(np.array([["b", "a"]]), np.array([[0.9, 0.4]]), **groups, ignored=[["foo"]])
    >>> hits
    Hits of 1 query, 2 each
      Ignored, not in the vocabulary: 'foo'.
       0.900  b  [photo, raw]
       0.400  a  [mail, imap]
    >>> hits[0]
    [('b', 0.9), ('a', 0.4)]
    """

    ids: np.ndarray
    scores: np.ndarray
    groups: np.ndarray | None = None
    group_names: np.ndarray | None = None
    ignored: list[list[str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, query: int) -> list[tuple[Any, float]]:
        pairs = zip(self.ids[query].tolist(), self.scores[query].tolist())
        # an object with a score of 0 shares nothing with the query; NaN marks a query of which nothing is known
        return [(key, score) for key, score in pairs if score > _NOTHING]

    def __iter__(self) -> Iterator[list[tuple[Any, float]]]:
        return (self[query] for query in range(len(self)))

    def without(self, queries: np.ndarray | None) -> Hits:
        """Return the hits with none for some queries.

        Examples
        --------
        >>> import numpy as np
        >>> Hits(np.array([["b"], ["a"]]), np.array([[0.9], [0.0]])).without(np.array([1]))[1]
        []
        """
        if queries is None:
            return self
        # an array of numbers cannot hold None
        ids, scores = self.ids.astype(object), self.scores.copy()
        ids[queries], scores[queries] = None, np.nan
        groups, names = self.groups, self.group_names
        if groups is not None and names is not None:
            groups, names = groups.copy(), names.copy()
            groups[queries], names[queries] = -1, None
        return Hits(ids, scores, groups, names, self.ignored)

    def __repr__(self) -> str:
        n, k = self.ids.shape
        lines = [f"Hits of {n} {'query' if n == 1 else 'queries'}, {k} each"]
        for query in range(min(n, 3)):
            lines += [f"  query {query}"] if n > 1 else []
            lines += [f"  {say_ignored(words)}" for words in self.ignored[query : query + 1] if words]
            names = [None] * k if self.group_names is None else self.group_names[query]
            lines += [
                f"  {score:6.3f}  {printable(key)}" + (f"  [{printable(name)}]" if name is not None else "")
                for (key, score), name in zip(self[query], names)
            ] or ["  no hits"] * bool(k)
        if n > 3:
            lines.append(f"  ... and {n - 3} more queries")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Match:
    """Why an object was found: what each topic (or class, or shared word) adds to its score.

    Attributes
    ----------
    score : float
        The score of the object.
    contributions : dict
        What each part adds, by name, largest first; they sum to the score.

    Examples
    --------
    >>> Match(0.9, {"topic 3": 0.7, "topic 1": 0.3, "topic 0": -0.1})
    Match of score 0.900
      +0.700  topic 3
      +0.300  topic 1
      -0.100  topic 0
    """

    score: float
    contributions: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        ranked = sorted(self.contributions.items(), key=lambda part: -abs(part[1]))
        lines = [f"Match of score {self.score:.3f}"]
        lines += [f"  {value:+.3f}  {printable(name)}" for name, value in ranked[:5]]
        if len(ranked) > 5:
            lines.append(f"  {sum(value for _, value in ranked[5:]):+.3f}  {len(ranked) - 5} others together")
        return "\n".join(lines)
