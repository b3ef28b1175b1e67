"""Regular expressions that a file may bring: those whose time on a text is known not to explode.

A repeat without end finds its length by trying. One of them costs a text's length; two cost the square, unless what
stands between them ends the first: ``[a-z]+-[a-z]+`` is quick, ``\\w*\\w*`` and ``\\w+x\\w+`` are not. A repeat of a
repeat, ``(a+)+``, costs two to the power of the length. A few optional parts multiply by a constant.
"""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from coview.utils.fitted_state import StateMismatch
from coview.utils.messages import short

__all__ = ["check_quick"]

_SHORT = 8  # repeats of at most so many are options
_MOST_WAYS = 256  # in which optional and alternative parts are taken or not
_MOST_STEPS = 10_000  # items of a pattern, those of short repeats each time
_SPACES = [code for code in range(0x3001) if chr(code).isspace()]
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_LOOKS = (codes.ASSERT, codes.ASSERT_NOT)
_SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
_CLASSES = {
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
}


def check_quick(pattern: str, name: str) -> None:
    """Refuse a pattern that could take forever on a text.

    Raises
    ------
    StateMismatch
        One sentence without a full stop says what is wrong with the parameter of that name.

    Examples
    --------
    >>> check_quick(r"(?u)\\b\\w\\w+(?:'s)?\\b", "token_pattern")
    >>> check_quick(r"(a+)+b", "token_pattern")
    Traceback (most recent call last):
    coview.utils.fitted_state.StateMismatch: token_pattern is '(a+)+b', which repeats what itself repeats
    """
    try:
        tree = parser.parse(pattern)
        _Walk().sequence(tree, None)
    except _TooSlow as error:
        raise StateMismatch(f"{name} is {short(pattern)}, which {error}") from None
    except (re.error, OverflowError, RecursionError) as error:
        raise StateMismatch(f"{name} is {short(pattern)}, which is no regular expression: {error}") from None


class _TooSlow(Exception):
    """Why a pattern may be slow."""


class _Walk:
    """Goes over a pattern in its order; what is open is the repeat without end whose length is still being tried."""

    def __init__(self) -> None:
        self.ways, self.steps = 1, 0

    def sequence(self, items: Any, opened: Any) -> Any:
        for operation, argument in items:
            opened = self.item(operation, argument, opened)
        return opened

    def item(self, operation: Any, argument: Any, opened: Any) -> Any:
        """Return what is open after one item."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _TooSlow("is too long")
        if operation is codes.AT:
            return opened
        if operation in _SINGLE:
            ends = opened is not None and _is_outside(opened, (operation, argument))
            return None if ends else opened
        if operation is codes.SUBPATTERN:
            return self.sequence(argument[-1], opened)
        if operation is codes.ATOMIC_GROUP:
            return self.sequence(argument, opened)
        if operation is codes.BRANCH:
            self._more_ways(len(argument[1]))
            after = [self.sequence(part, opened) for part in argument[1]]
            return next((end for end in after if end is not None), None)
        if operation in _LOOKS:
            if self.sequence(argument[1], None) is not None:
                raise _TooSlow("repeats without end while it looks around")
            return opened
        if operation in _REPEATS:
            least, most, body = argument
            return self._repeat(least, most, body, opened)
        raise _TooSlow("refers to what it has found before")

    def _repeat(self, least: int, most: Any, body: Any, opened: Any) -> Any:
        items = list(body)
        if most == 0:
            return opened
        if most <= _SHORT:
            self._more_ways(int(most) - least + 1)
            for _ in range(int(most)):
                opened = self._optional(items, opened) if least == 0 else self.sequence(items, opened)
            return opened
        single = len(items) == 1 and items[0][0] in _SINGLE
        if not single and not _is_fixed(items):
            raise _TooSlow("repeats what itself repeats")
        if least == most:  # of one length
            return opened if opened is not None and not single else self.sequence(items, opened)
        if opened is not None:
            raise _TooSlow("repeats twice without end, with nothing between that ends the first")
        return items[0] if single else (codes.ANY, None)

    def _optional(self, items: list[Any], opened: Any) -> Any:
        """What is open after a part that may be absent: then nothing has ended."""
        after = self.sequence(items, opened)
        return opened if after is None else after

    def _more_ways(self, times: int) -> None:
        self.ways *= max(times, 1)
        if self.ways > _MOST_WAYS:
            raise _TooSlow("has too many parts that may be there or not")


def _is_fixed(items: Any) -> bool:
    """Tell whether a group of a pattern has one way to match: characters after each other."""
    for operation, argument in items:
        inner = argument[-1] if operation is codes.SUBPATTERN else None
        if operation not in _SINGLE and (inner is None or not _is_fixed(inner)):
            return False
    return True


def _is_outside(repeated: Any, item: Any) -> bool:
    """Tell whether no character of an item can belong to what is repeated."""
    found = _characters(item)
    if found is None:
        return False
    both = {chr(code) for code in found}
    both |= {char.swapcase() for char in both if len(char.swapcase()) == 1}  # whatever the flags say of case
    return not any(_holds(repeated, char) for char in both)


def _characters(item: Any) -> list[int] | None:
    """Codes of all characters that an item matches; None where they are too many to say."""
    operation, argument = item
    if operation is codes.LITERAL:
        return [argument]
    if operation is not codes.IN:
        return None
    found: list[int] = []
    for kind, value in argument:
        if kind is codes.LITERAL:
            found.append(value)
        elif kind is codes.RANGE and value[1] - value[0] < 512:
            found.extend(range(value[0], value[1] + 1))
        elif kind is codes.CATEGORY and value is codes.CATEGORY_SPACE:
            found.extend(_SPACES)
        else:
            return None
    return found


def _holds(item: Any, char: str) -> bool:
    """Tell whether an item matches a character."""
    operation, argument = item
    if operation is codes.LITERAL:
        return chr(argument).lower() == char.lower()
    if operation is codes.NOT_LITERAL:
        return chr(argument) != char
    if operation is codes.ANY:
        return True
    negated, held = False, False
    for kind, value in argument:
        if kind is codes.NEGATE:
            negated = True
        elif kind is codes.LITERAL:
            held = held or value == ord(char)
        elif kind is codes.RANGE:
            held = held or value[0] <= ord(char) <= value[1]
        elif value not in _CLASSES:
            return True  # of which nothing is known
        else:
            held = held or re.fullmatch(_CLASSES[value], char) is not None
    return held != negated
