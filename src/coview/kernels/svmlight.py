"""Lines of svmlight as arrays: ``label index:value index:value ...``, one row a line.

Numbers of at most 15 digits, with a point or without, are exact: digits and power of ten are exact, and there is one
rounding. Whatever is not plain (exponents, comments, qid, indices out of order, text) is left to others: the kernel
says so, and never guesses.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["parse_svmlight"]

_SPACE, _LINE, _COLON, _PLUS, _MINUS, _POINT, _ZERO = (ord(sign) for sign in " \n:+-.0")


@njit(nogil=True, cache=True, error_model="numpy")
def parse_svmlight(text, labels, indptr, indices, values):
    """Parse all lines of `text` (bytes, each line ended); return the number of rows, or -1 where one is not plain.

    `labels` and `indptr` (one longer) need room for the rows, `indices` and `values` for the non-zeros.
    """
    rows, entries, column, before, labeled = 0, 0, np.int64(-1), np.int64(-1), False
    # the word being read; decimals are -1 before the point
    mantissa, digits, decimals, signed, negative = np.int64(0), 0, -1, False, False
    indptr[0] = 0
    for sign in text:
        if _ZERO <= sign < _ZERO + 10:
            mantissa = 10 * mantissa + np.int64(sign - _ZERO)
            digits += 1
            decimals += 1 if decimals >= 0 else 0
        elif sign == _POINT and decimals < 0:
            decimals = 0
        elif sign in (_MINUS, _PLUS) and digits == 0 and decimals < 0 and not signed:
            signed, negative = True, sign == _MINUS
        elif sign in (_SPACE, _LINE, _COLON):
            # a word ends: an index ends in a colon, a label or a value in a space or the line
            word = signed or decimals >= 0 or digits > 0
            before_index = labeled and column < 0
            if word:
                plain = before_index == (sign == _COLON)
            else:
                plain = column < 0 and sign != _COLON
            # more than 15 digits may not be exact in float64
            if not plain or digits > 15 or (word and digits == 0):
                return -1
            if sign == _COLON:
                # rising whole numbers that fit the indices of a CSR matrix
                if signed or decimals >= 0 or mantissa <= before or mantissa >= 2**31:
                    return -1
                column = before = mantissa
            elif word:
                value = mantissa / 10.0 ** max(decimals, 0)
                value = -value if negative else value
                if labeled:
                    indices[entries], values[entries] = column, value
                    entries += 1
                    column = np.int64(-1)
                else:
                    labels[rows], labeled = value, True
            mantissa, digits, decimals, signed, negative = np.int64(0), 0, -1, False, False
            if sign == _LINE and labeled:
                rows += 1
                indptr[rows] = entries
                before, labeled = np.int64(-1), False
        else:
            return -1
    return rows
