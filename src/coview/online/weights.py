"""What an online linear classifier remembers, as plain arrays: weights by view, their averages, shares of the views.

Two classes have one weight per feature; more have one per feature and class, features first, so that a row reads
runs of memory. The average of the weights over all rounds is w - lag / rounds, where lag adds up (round - 1) x change:
a round then touches the row's features only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coview.kernels import announce, rounds
from coview.kernels import passive_aggressive as kernels
from coview.kernels.memory import addresses
from coview.kernels.mixing import mix_rows
from coview.utils import fitted_state as rules
from coview.views.arrays import LARGEST, SMALLEST, check_magnitude
from coview.views.views import Views

__all__ = [
    "CompressedRows",
    "Memory",
    "Outcome",
    "averaged_memory",
    "check_memory",
    "check_range",
    "dense_memory",
    "grow_classes",
    "joined",
    "learn_rows",
    "matrices_of",
    "new_weights",
    "rows_of",
    "score_views",
    "shuffled_rows",
    "sparse_memory",
    "tables",
]

_NARROW, _WIDE = np.dtype(np.int32), np.dtype(np.int64)
_RUN, _WINDOW = 16, 512  # rows that stay near each other, and rows that are mixed, where there are very many

Memory = dict[str, Any]  # weights, lags, bias, shares, n_rounds, classes: what a model file holds


class CompressedRows(NamedTuple):
    """CSR parts of all fitted views, in their order, of the same types; the kernels only read them."""

    indptrs: tuple[np.ndarray, ...]
    indices: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]


class Outcome(NamedTuple):
    """What was known of rows before they were learned: scores, hinge losses (NaN without label), differences of views
    (NaN where an object has no two views); how many of them moved the weights; the largest |row|^2 by view."""

    scores: np.ndarray
    losses: np.ndarray
    gaps: np.ndarray
    moved: int
    largest: np.ndarray


def check_memory(checker: rules.Checker, value: Any, where: str) -> None:
    """Say what a memory from a file must look like; kernels know its arrays by their addresses only."""
    n_classes = value.get("classes") if isinstance(value, dict) else None
    dtype = value.get("dtype") if isinstance(value, dict) else None
    if dtype not in (np.float32, np.float64):
        checker.refuse(where, f"has weights of dtype {dtype}, but must have float32 or float64")
    few = isinstance(n_classes, int) and n_classes <= 2
    shape = ("features of {view}",) if few else ("features of {view}", "classes")
    dense = rules.floats(*shape, dtype=dtype)
    # as `sparse_memory` makes them
    short = rules.floats("features of {view}", 1 if few else "classes", sparse=True, dtype=dtype)

    def weights(inner: rules.Checker, array: Any, there: str) -> None:
        inner.check(short if sparse.issparse(array) else dense, array, there)

    fields = {
        "weights": rules.by_view(rules.custom(weights), ordered=True),
        "lags": rules.or_none(rules.by_view(rules.custom(weights), ordered=True)),
        "bias": rules.floats(*((2,) if few else (2, "classes")), dtype=np.float64),
        "shares": rules.floats("views", low=0, high=1.001, dtype=np.float64),
        "n_rounds": rules.count(),
        "classes": rules.count(1, size="classes"),
        "dtype": rules.plain(),
        "fixed": rules.flag(),
        "calibration": rules.record(slope=rules.number(0.0), precision=rules.number(0.0)),
    }
    checker.check(rules.record(**fields), value, where)


def new_weights(n_features: Mapping[str, int], n_classes: int, dtype: Any, *, averages: bool) -> Memory:
    """Return zero weights for so many classes, and equal shares of the views."""
    shapes = {name: (n,) if n_classes <= 2 else (n, n_classes) for name, n in n_features.items()}
    return {
        "weights": {name: np.zeros(shape, dtype=dtype) for name, shape in shapes.items()},
        "lags": {name: np.zeros(shape, dtype=dtype) for name, shape in shapes.items()} if averages else None,
        "bias": np.zeros(2 if n_classes <= 2 else (2, n_classes)),
        "shares": np.full(len(shapes), 1.0 / len(shapes)),
        "n_rounds": 0,
        "classes": n_classes,
    }


def averaged_memory(memory: Memory, averages: bool) -> Memory:
    """Return the memory with lags or without; the weights before the first lag count as those of all rounds so far."""
    if averages == (memory["lags"] is not None):
        return memory
    lags = {name: np.zeros_like(array) for name, array in memory["weights"].items()} if averages else None
    bias = memory["bias"].copy()
    bias[1] = 0.0
    return {**memory, "lags": lags, "bias": bias}


def grow_classes(memory: Memory, positions: Sequence[int], n_classes: int) -> Memory:
    """Return the memory with room for more classes; `positions` says where the old classes are among the new ones.

    Two classes become weights of +w/2 and -w/2, so that every margin stays what it is.
    """

    def spread(array: np.ndarray) -> np.ndarray:
        if n_classes <= 2:
            return array  # one class: nothing has been learned yet
        wide = np.zeros((len(array), n_classes), dtype=array.dtype)
        if array.ndim == 2:
            wide[:, list(positions)] = array
        elif len(positions) == 2:
            wide[:, positions[0]], wide[:, positions[1]] = -0.5 * array, 0.5 * array
        return wide

    grown = {**memory, "classes": n_classes, "bias": spread(memory["bias"])}
    for part in ("weights", "lags"):
        if memory[part] is not None:
            grown[part] = {name: spread(array) for name, array in memory[part].items()}
    return grown


def rows_of(views: Views, names: Sequence[str], dtype: Any) -> CompressedRows:
    """Return the rows of the named views; a view that is not there is empty in every row."""
    parts = [_csr(views[name]) if name in views else _blank(len(views), dtype) for name in names]
    wide = any(part.indices.dtype == _WIDE or part.indptr.dtype == _WIDE for part in parts)
    index = _WIDE if wide else _NARROW
    return CompressedRows(
        tuple([_fixed(part.indptr, index) for part in parts]),
        tuple([_fixed(part.indices, index) for part in parts]),
        tuple([_fixed(part.data, dtype) for part in parts]),
    )


def learn_rows(
    memory: Memory, rows: CompressedRows, codes: np.ndarray, order: np.ndarray, costs: np.ndarray, options: np.ndarray
) -> Outcome:
    """Learn from rows in the given order, changing the arrays of the memory; see the kernels for what they take."""
    n, n_classes = len(order), memory["classes"]
    n_rounds = memory["n_rounds"]
    memory["n_rounds"] += n
    if n_classes < 2:  # no rival yet
        return Outcome(np.zeros(n), np.full(n, np.nan), np.full(n, np.nan), 0, np.zeros(len(rows.values)))
    scores, losses, gaps = np.empty(n if n_classes == 2 else (n, n_classes)), np.empty(n), np.empty(n)
    weights = tuple(memory["weights"].values())
    lags = () if memory["lags"] is None else tuple(memory["lags"].values())
    # without averages there are no lags to find: the weights stand in for them, unread
    pointers = addresses((*rows.indptrs, *rows.indices, *rows.values, *weights, *(lags or weights))).reshape(5, -1)
    like = np.empty(0, dtype=rows.indices[0].dtype), np.empty(0, dtype=rows.values[0].dtype)
    learn = _kernel(n_classes, len(weights))
    announce(learn)
    state = (memory["bias"], codes, order, costs, memory["shares"], options, n_rounds)
    scratch = np.empty((rounds.ROWS, len(weights))), np.empty((3, len(weights)), dtype=np.int64)
    moved = learn(pointers, *like, *scratch, *state, scores, losses, gaps)
    return Outcome(scores, losses, gaps, moved, scratch[0][rounds.LARGEST_NORM])


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what was known of rows that were learned part after part."""
    scores, losses, gaps, moved, largest = zip(*outcomes)
    scores, losses, gaps = (np.concatenate(parts) for parts in (scores, losses, gaps))
    return Outcome(scores, losses, gaps, sum(moved), np.max(largest, axis=0))


def matrices_of(memory: Memory, rows: CompressedRows) -> dict[str, Any]:
    """Return rows as one matrix per view, as `score_views` takes them."""
    parts = zip(memory["weights"].items(), rows.values, rows.indices, rows.indptrs)
    return {
        name: sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, len(weights)))
        for (name, weights), values, indices, indptr in parts
    }


def check_range(names: Sequence[str], rows: CompressedRows, outcome: Outcome) -> None:
    """Refuse views whose values are too large or too small, where the rows that were learned do not clear them."""
    for name, values, most in zip(names, rows.values, outcome.largest.tolist()):
        if not len(values) * SMALLEST**2 <= most <= LARGEST**2:
            check_magnitude(name, values)


def shuffled_rows(rows: np.ndarray, before: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows, which ascend, in random order: a permutation of the order `before`, or one that memory can follow.

    The latter where there are very many.
    """
    if len(rows) < 32 * _WINDOW:
        return rng.permutation(before)
    return mix_rows(rows, _RUN, _WINDOW, rng.integers(2**63, dtype=np.uint64))


def score_views(memory: Memory, views: Any) -> dict[str, np.ndarray]:
    """Return each view's own scores, without intercept, by the averaged weights where there are any."""
    n_rounds = max(memory["n_rounds"], 1)
    scores = {}
    for name, matrix in views.items():
        scores[name] = _product(matrix, memory["weights"][name])
        if memory["lags"] is not None:
            scores[name] = scores[name] - _product(matrix, memory["lags"][name]) / n_rounds
    return scores


def tables(memory: Memory) -> tuple[dict[str, Any], np.ndarray]:
    """Return copies of the weights (rows are classes, one row for two classes) and of the intercepts."""
    bias, weights, lags = memory["bias"][0], memory["weights"], memory["lags"]
    if lags is None:
        averaged = {name: array.copy() for name, array in weights.items()}
    else:
        n_rounds = max(memory["n_rounds"], 1)
        averaged = {name: array - lags[name] / n_rounds for name, array in weights.items()}
        bias = bias - memory["bias"][1] / n_rounds
    rows = {name: array.T if array.ndim == 2 else array.reshape(1, -1) for name, array in averaged.items()}
    return rows, np.atleast_1d(np.array(bias, dtype=np.float64))


def sparse_memory(memory: Memory) -> Memory:
    """Return the memory with sparse weights, (features, classes) or (features, 1): for models that only predict."""
    return _converted(memory, lambda a: a if sparse.issparse(a) else sparse.csr_array(a.reshape(len(a), -1)))


def dense_memory(memory: Memory) -> Memory:
    """Return the memory with dense weights, as learning needs them; the same one where they are."""
    if all(map(_can_learn, (*memory["weights"].values(), *(memory["lags"] or {}).values()))):
        return memory
    return _converted(
        memory,
        lambda array: (
            _as_weights(array.toarray()) if sparse.issparse(array) else np.require(array, requirements=("C", "W"))
        ),
    )


def _kernel(n_classes: int, n_views: int) -> Any:
    if n_classes > 2:
        return kernels.learn_classes
    return kernels.learn_pair if n_views == 2 else kernels.learn_binary


def _can_learn(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.writeable


def _converted(memory: Memory, convert: Callable[[Any], Any]) -> Memory:
    parts = {key: memory[key] for key in ("weights", "lags") if memory[key] is not None}
    return {**memory, **{key: {name: convert(a) for name, a in part.items()} for key, part in parts.items()}}


def _as_weights(array: np.ndarray) -> np.ndarray:
    return array[:, 0].copy() if array.shape[1] == 1 else array


def _product(matrix: Any, weights: Any) -> np.ndarray:
    product = matrix @ weights
    if sparse.issparse(weights):
        product = _as_weights(product.toarray() if sparse.issparse(product) else np.asarray(product))
    return product


def _csr(matrix: Any) -> Any:
    return matrix if sparse.issparse(matrix) else sparse.csr_array(matrix)


def _blank(n: int, dtype: Any) -> Any:
    return sparse.csr_array((n, 0), dtype=dtype)


def _fixed(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Of one type and without holes: the kernels know an array by its address only."""
    return array if array.dtype == dtype and array.flags.c_contiguous else np.ascontiguousarray(array, dtype=dtype)
