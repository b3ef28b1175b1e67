"""Cells of .csv and .tsv files: the sign between them, and texts that no spreadsheet runs as a formula.

A text that a spreadsheet would run gets a ' in front when it is written, and loses it when coview reads it. What is a
sign alone, such as the classes + and -, and every number stay as they are.
"""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["escape_cell", "find_delimiter", "unescape_cell"]

_FORMULA = "=+-@＝＋－＠"  # how formulas begin, also as East Asian keyboards type them


def find_delimiter(header: str) -> str:
    """Return the sign that separates the names in the first line of a table: the most frequent outside quotes.

    Examples
    --------
    >>> find_delimiter('key;"title, short";year')
    ';'
    """
    return max((",", ";", "\t", "|"), key=re.sub(r'"[^"]*"?', "", header).count)


def escape_cell(value: Any) -> Any:
    """Return a cell of a .csv or .tsv table that no spreadsheet takes for a formula; numbers stay numbers.

    Examples
    --------
    >>> [escape_cell(value) for value in ("=1+2", "@sum", "-3.5", -3.5, "fox", "+", "- a fox")]
    ["'=1+2", "'@sum", '-3.5', -3.5, 'fox', '+', "'- a fox"]
    """
    # one that reads as escaped gets another ', so that reading takes away what writing added
    return f"'{value}" if isinstance(value, str) and _runs(value.lstrip("'")) else value


def unescape_cell(cell: str) -> str:
    """Return the text that `escape_cell` made a cell of.

    Examples
    --------
    >>> [unescape_cell(cell) for cell in ("'=1+2", "'tis", "+", "''@sum")]
    ['=1+2', "'tis", '+', "'@sum"]
    """
    return cell[1:] if cell.startswith("'") and _runs(cell.lstrip("'")) else cell


def _runs(text: str) -> bool:
    """Tell whether a text begins as a formula does and goes on, and is no number."""
    bare = text.strip()
    begins = text.startswith(("\t", "\r", "\n")) or bare.startswith(tuple(_FORMULA))
    return begins and not _is_number(bare) and bool(bare.strip(_FORMULA))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
