"""Numbers and nouns as people read them: with commas, signs and units, and a dash for what is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["content", "count", "number", "percent", "plural", "signed"]

MOST_WORDS = 6  # of an object, so that those of many views stay a line


def content(words: Mapping[str, Sequence[str]]) -> str:
    """Return what an object has most of as a line: the first features of each view.

    Examples
    --------
    >>> content({"words": ["fox", "sea", "den"], "links": ["a"]})
    'fox, sea, a'
    """
    first = dict.fromkeys(word for own in words.values() for word in own[:2])
    return ", ".join(list(first)[:MOST_WORDS])


def count(value: Any) -> str:
    """Return a whole number with commas.

    Examples
    --------
    >>> count(20000), count(None)
    ('20,000', '–')
    """
    return "–" if value is None else f"{int(value):,}"


def number(value: Any, digits: int = 3) -> str:
    """Return a number with so many digits behind the point, or in all where it is large or tiny.

    Examples
    --------
    >>> number(0.5), number(-1234567.8), number(0.00001234), number(None)
    ('0.500', '−1,234,568', '1.23e−05', '–')
    """
    if value is None or value != value:
        return "–"
    size = abs(value)
    if size >= 10_000:
        text = f"{value:,.0f}"
    elif 0 < size < 10**-digits:
        text = f"{value:.2e}"
    else:
        text = f"{value:,.{digits}f}"
    return text.replace("-", "−")


def percent(value: Any, digits: int = 1) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> percent(0.1234), percent(None), percent(0.0004)
    ('12.3 %', '–', '<0.1 %')
    """
    if value is None:
        return "–"
    if 0 < value < 10**-digits / 100:
        return f"<{10**-digits:.{digits}f} %"
    return f"{100 * value:.{digits}f} %"


def plural(noun: str, n: int | None = None) -> str:
    """Return the noun for so many things.

    Examples
    --------
    >>> plural("class"), plural("cluster", 1), plural("topic", 2)
    ('classes', 'cluster', 'topics')
    """
    if n == 1:
        return noun
    return noun + ("es" if noun.endswith("s") else "s")


def signed(value: Any, digits: int = 3) -> str:
    """Return a difference with its sign, or zero without one.

    Examples
    --------
    >>> signed(0.0371), signed(-0.5), signed(None)
    ('+0.037', '−0.500', '–')
    >>> signed(-0.00001)
    '0.000'
    """
    if value is None:
        return "–"
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", "−")
