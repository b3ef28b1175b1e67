"""Lines of svmlight as arrays: ``label index:value index:value ... # comment``, one row a line.

A number is m x 10^e with at most 18 digits. It is exact where m < 2^53 and |e| <= 22, since both factors then are exact
and there is one rounding. Whatever is not plain (longer numbers, qid, indices out of order, text) is left to others:
the kernel says so, and never guesses.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["parse_svmlight"]

_TENS = 10.0 ** np.arange(23)
_SPACE, _TAB, _RETURN, _LINE, _HASH, _COLON = (ord(sign) for sign in " \t\r\n#:")
_PLUS, _MINUS, _POINT, _ZERO, _NINE, _E, _e = (ord(sign) for sign in "+-.09Ee")
_MOST = 2**31 - 1  # the last column that fits


@njit(nogil=True, cache=True, error_model="numpy")
def parse_svmlight(text, labels, indptr, indices, values):
    """Parse all lines of `text` (bytes); return the number of rows, or -1 where something is not plain.

    `labels` and `indptr` (one longer) need room for the rows, `indices` and `values` for the non-zeros.
    """
    rows, entries, at, end = 0, 0, 0, len(text)
    indptr[0] = 0
    while at < end:
        at = _skip(text, at)
        if at == end:
            break
        if text[at] == _LINE:
            at += 1
            continue
        if text[at] != _HASH:
            labels[rows], at, plain = _number(text, at)
            if not plain:
                return -1
            before = -1
            at = _skip(text, at)
            while at < end and text[at] != _LINE and text[at] != _HASH:
                column, at, plain = _whole(text, at)
                if not plain or column <= before or at == end or text[at] != _COLON:
                    return -1
                value, at, plain = _number(text, at + 1)
                if not plain:
                    return -1
                indices[entries], values[entries] = column, value
                before = column
                entries += 1
                at = _skip(text, at)
            rows += 1
            indptr[rows] = entries
        while at < end and text[at] != _LINE:  # a comment
            at += 1
    return rows


@njit(nogil=True, cache=True, error_model="numpy")
def _skip(text, at):
    while at < len(text) and (text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN):
        at += 1
    return at


@njit(nogil=True, cache=True, error_model="numpy")
def _whole(text, at):
    """A whole number, where it ends, and whether there is one that fits."""
    start, value = at, 0
    while at < len(text) and _ZERO <= text[at] <= _NINE and value <= _MOST:
        value = 10 * value + (text[at] - _ZERO)
        at += 1
    return value, at, at > start and value <= _MOST


@njit(nogil=True, cache=True, error_model="numpy")
def _number(text, at):
    """A number, where it ends, and whether it is exact; it must end where a word does."""
    negative = at < len(text) and text[at] == _MINUS
    if at < len(text) and (text[at] == _MINUS or text[at] == _PLUS):
        at += 1
    mantissa, digits, power, point = np.int64(0), 0, 0, False
    while at < len(text):
        sign = text[at]
        if _ZERO <= sign <= _NINE:
            mantissa = 10 * mantissa + np.int64(sign - _ZERO)
            digits += 1
            power -= 1 if point else 0
            if digits > 18:
                return 0.0, at, False
        elif sign == _POINT and not point:
            point = True
        else:
            break
        at += 1
    if at < len(text) and (text[at] == _E or text[at] == _e):
        at += 1
        down = at < len(text) and text[at] == _MINUS
        if at < len(text) and (text[at] == _MINUS or text[at] == _PLUS):
            at += 1
        extra, at, plain = _whole(text, at)
        if not plain:
            return 0.0, at, False
        power += -extra if down else extra
    ends = at == len(text) or text[at] <= _SPACE or text[at] == _HASH
    if digits == 0 or not ends or mantissa >= 1 << 53 or abs(power) > 22:
        return 0.0, at, False
    value = np.float64(mantissa)
    value = value * _TENS[power] if power >= 0 else value / _TENS[-power]
    return -value if negative else value, at, True
