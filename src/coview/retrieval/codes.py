"""Items as 8-bit codes, by which an exact search leaves out nearly all of them before it computes a score.

What is left is scored from the vectors themselves, so that the k best are those of a search through all items: the
codes bound every score (`kernels.codes`), and an item is left out only where k others are better for certain.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Codes"]

_LANES = 16  # widths are filled up to a multiple of it
_TILE = 4  # and items and queries to one of this
_ROUNDING = 4e-6  # of |q| |x|: what float32 adds to a bound, many times over
_ROOM, _ROOM_FOR_EACH = 2048, 8  # candidates of a query, at least and for each hit; with more, codes tell too little
_BLOCK_ROWS = 16_384  # rows that are rounded at a time: bounds what is held beside the codes
_LEAST = 10_000  # items; of fewer, all scores are quickly computed
_MOST_WIDTH = 100_000  # beyond it, sums of products would leave 32 bits


class Codes:
    """Rows rounded to whole numbers from -127 to 127, with a step for each row, and how far off they are.

    Codes never change, so that threads may search them together: other rows are other codes (`extended`, `kept`).

    Parameters
    ----------
    vectors : ndarray of float32 (n_items, width)
        The items, of finite numbers: nothing bounds the scores of others.

    Examples
    --------
    >>> vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], dtype=np.float32)
    >>> rows, scores, told = Codes(vectors).search(vectors[:1], vectors, 2)
    >>> rows.tolist(), scores.round(3).tolist(), told.tolist()
    ([[0, 1]], [[1.0, 0.6000000238418579]], [True])
    """

    def __init__(self, vectors: np.ndarray, *, known: Codes | None = None, kept: np.ndarray | None = None) -> None:
        n, first, width = len(vectors), 0, -(-vectors.shape[1] // _LANES) * _LANES
        self._n = n
        self._codes = np.zeros((-(-n // _TILE) * _TILE, width), dtype=np.int8)
        self._steps = np.empty(n, dtype=np.float32)
        self._errors = np.empty(n, dtype=np.float32)
        self._longest = 0.0  # of all rows
        if known is not None:  # the codes of the first rows, or of those of them that are kept
            rows = slice(None) if kept is None else np.flatnonzero(kept)
            steps, self._longest = known._steps[rows], known._longest
            first = len(steps)
            self._codes[:first] = known._codes[: known._n][rows]
            self._steps[:first], self._errors[:first] = steps, known._errors[rows]
        for start in range(first, n, _BLOCK_ROWS):
            part = slice(start, min(start + _BLOCK_ROWS, n))
            self._codes[part], self._steps[part], self._errors[part], lengths = _rounded(vectors[part], width)
            self._longest = max(self._longest, float((lengths + self._errors[part]).max()))

    @staticmethod
    def suit(vectors: np.ndarray) -> bool:
        """Tell whether vectors can have codes, and are so many that these save time."""
        return len(vectors) >= _LEAST and 0 < vectors.shape[1] <= _MOST_WIDTH

    def __len__(self) -> int:
        return self._n

    def extended(self, vectors: np.ndarray) -> Codes:
        """Return codes of vectors that start with those of these codes."""
        return Codes(vectors, known=self)

    def kept(self, kept: np.ndarray, vectors: np.ndarray) -> Codes:
        """Return codes of some of the rows (a mask), whose vectors these are."""
        return Codes(vectors, known=self, kept=kept)

    def search(self, queries: np.ndarray, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and scores (queries x k) of the best items, best first, and for which queries they are told.

        Parameters
        ----------
        queries : ndarray of float32 (n_queries, width)
            The queries.
        vectors : ndarray of float32 (n_items, width)
            The items that these are the codes of.
        k : int
            How many, at most as many as there are items.

        Returns
        -------
        rows, scores : ndarray (n_queries, k)
            The k best; of equal scores, the first items.
        told : ndarray of bool (n_queries,)
            False where so many items resemble each other that codes do not tell them apart.
        """
        from coview.kernels import announce  # numba, only when it is needed
        from coview.kernels.codes import candidates, score_pairs

        announce(candidates)
        codes, steps, errors, lengths = _rounded(queries, self._codes.shape[1])
        codes = _filled(codes)
        slacks = (errors * self._longest + _ROUNDING * lengths * self._longest) / steps
        room = max(_ROOM, _ROOM_FOR_EACH * k)
        bounds = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.empty((len(queries), room), dtype=np.int32)
        uppers = np.empty(rows.shape, dtype=np.float32)
        counts = np.zeros(len(queries), dtype=np.int64)
        candidates(
            self._codes,
            self._steps,
            self._errors,
            codes,
            (lengths / steps).astype(np.float32),
            slacks.astype(np.float32),
            min(self._n, len(vectors)),  # compiled code does not look where an array ends
            k,
            bounds,
            rows,
            uppers,
            counts,
        )
        told = counts >= 0
        width = int(max(counts.max(initial=0), k))
        scores = np.empty((len(queries), width), dtype=np.float32)
        score_pairs(queries, vectors, rows, counts, scores)
        # candidates are in the order of the items, so that a stable sort leaves the first of equals first
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return (
            np.take_along_axis(rows[:, :width], best, axis=1).astype(np.int64),
            np.take_along_axis(scores, best, axis=1),
            told,
        )


def _filled(codes: np.ndarray) -> np.ndarray:
    """Codes with rows of zeros up to a whole number of tiles."""
    return np.concatenate([codes, np.zeros((-len(codes) % _TILE, codes.shape[1]), dtype=np.int8)])


def _rounded(vectors: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes, steps, errors (rounded up) and lengths of rows."""
    codes = np.zeros((len(vectors), width), dtype=np.int8)
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    steps = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    apart = vectors / steps[:, None]  # in one array: whole numbers, what they stand for, how far off that is
    np.rint(apart, out=apart)
    codes[:, : vectors.shape[1]] = apart
    apart *= steps[:, None]
    np.subtract(vectors, apart, out=apart)
    errors = np.sqrt(np.einsum("ij,ij->i", apart, apart, dtype=np.float64)) * (1 + 1e-5)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return codes, steps, errors.astype(np.float32), lengths.astype(np.float32)
