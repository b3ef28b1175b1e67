"""The table of candidates that an automatic choice was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    views: Iterable[str], seen: Iterable[str], why: str | None = None, others: Mapping[str, str] | None = None
) -> str | None:
    """Names of the views that a candidate does not see, and why, in one text; None where it sees all.

    Views in `others` have their own reasons.

    Examples
    --------
    >>> left_out(["words", "image"], ["words"], "no counts"), left_out(["words"], ["words"])
    ('image (no counts)', None)
    >>> left_out(["words", "image", "size"], ["words"], "no counts", {"size": "noise"})
    'image (no counts), size (noise)'
    """
    seen = set(seen)
    by_reason: dict[str | None, list[str]] = {why: []}
    for name in views:
        if name not in seen:
            by_reason.setdefault((others or {}).get(name, why), []).append(name)
    parts = ((", ".join(names), reason) for reason, names in by_reason.items() if names)
    return ", ".join(f"{names} ({reason})" if reason else names for names, reason in parts) or None


def candidate_table(*figures: str) -> rules.Rule:
    """Rule for `candidates_`, a table with one row per candidate: who it is, these figures, and why it was dropped."""
    columns = {
        "name": rules.text(),
        "method": rules.or_none(rules.text()),
        "weight": rules.weight(),
        **dict.fromkeys(figures, rules.real(nan=True)),
        "without": rules.or_none(rules.text()),
        "dropped": rules.or_none(rules.text()),
    }
    return rules.record(**{name: rules.sequence(rule, "candidates") for name, rule in columns.items()})
