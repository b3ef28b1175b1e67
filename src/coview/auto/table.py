"""The table of candidates that an automatic choice was made from."""

from __future__ import annotations

from collections.abc import Iterable

from coview.utils import fitted_state as rules
from coview.utils.tables import ColumnTable

__all__ = ["CandidateTable", "candidate_table", "left_out"]


class CandidateTable(ColumnTable):
    """One list per column, all of the same length: a row for each candidate.

    Examples
    --------
    >>> CandidateTable(name=["graphs", "topics"], weight=[1.0, 0.0], without=[None] * 2, dropped=[None, "less stable"])
    2 candidates
      name    weight  dropped
      graphs  1.00
      topics  0.00    less stable
    >>> nothing = float("nan")
    >>> CandidateTable(stability=[nothing]) == CandidateTable(stability=[nothing])
    True
    """

    noun = "candidate"


def left_out(
    views: Iterable[str], seen: Iterable[str], why: str | None = None, noise: Iterable[str] = ()
) -> str | None:
    """Names of the views that a candidate does not see, and why, in one text; None where it sees all.

    Examples
    --------
    >>> left_out(["words", "image"], ["words"], "no counts"), left_out(["words"], ["words"])
    ('image (no counts)', None)
    >>> left_out(["words", "image", "size"], ["words"], "no counts", ["size"])
    'image (no counts), size (noise)'
    """
    seen, noise = set(seen), set(noise)
    missing = [name for name in views if name not in seen]
    parts = [(", ".join(name for name in missing if name not in noise), why)]
    parts.append((", ".join(name for name in missing if name in noise), "noise"))
    return ", ".join(f"{names} ({reason})" if reason else names for names, reason in parts if names) or None


def candidate_table(*figures: str) -> rules.Rule:
    """Rule for `candidates_`, a table with one row per candidate: who it is, these figures, and why it was dropped."""
    columns = {
        "name": rules.text(),
        "method": rules.or_none(rules.text()),
        "weight": rules.weight(),
        **dict.fromkeys(figures, rules.number(nan=True)),
        "without": rules.or_none(rules.text()),
        "dropped": rules.or_none(rules.text()),
    }
    return rules.record(**{name: rules.sequence(rule, "candidates") for name, rule in columns.items()})
