"""The table of candidates that an automatic choice was made from."""

from __future__ import annotations

from coview.utils import fitted_state as rules
from coview.utils.tables import ColumnTable

__all__ = ["CandidateTable", "candidate_table"]


class CandidateTable(ColumnTable):
    """One list per column, all of the same length: a row for each candidate.

    Examples
    --------
    >>> CandidateTable(name=["graphs", "topics"], weight=[1.0, 0.0], dropped=[None, "less stable"])
    2 candidates
      name    weight  dropped
      graphs  1.00
      topics  0.00    less stable
    >>> nothing = float("nan")
    >>> CandidateTable(stability=[nothing]) == CandidateTable(stability=[nothing])
    True
    """

    noun = "candidate"


def candidate_table(*figures: str) -> rules.Rule:
    """Rule for `candidates_`, a table with one row per candidate: who it is, these figures, and why it was dropped."""
    columns = {
        "name": rules.text(),
        "method": rules.or_none(rules.text()),
        "weight": rules.weight(),
        **dict.fromkeys(figures, rules.real(nan=True)),
        "dropped": rules.or_none(rules.text()),
    }
    return rules.record(**{name: rules.sequence(rule, "candidates") for name, rule in columns.items()})
