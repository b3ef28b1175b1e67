"""What an online linear classifier remembers, as plain arrays: weights by view, and their averages.

Weights are (features, outputs), so that a row reads runs of memory: two classes have one output, the score of the
second; more have one each. The average of the weights over all rounds is w - lag / rounds, where lag adds up
(round - 1) x change: a round then touches the row's features only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coview.kernels import passive_aggressive as kernels
from coview.kernels import rounds
from coview.kernels.memory import addresses
from coview.utils import fitted_state as rules
from coview.views.views import Views

__all__ = [
    "CompressedRows",
    "Memory",
    "Outcome",
    "average_memory",
    "check_memory",
    "compress_rows",
    "compute_averages",
    "grow_classes",
    "make_weights",
    "score_rows",
    "update_weights",
]

Memory = dict[str, Any]  # weights, lags, bias, n_rounds, classes: what a model file holds


class CompressedRows(NamedTuple):
    """CSR parts of all fitted views, in their order, of the same types; the kernels only read them."""

    indptrs: tuple[np.ndarray, ...]
    indices: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]


class Outcome(NamedTuple):
    """What was known of rows before they were learned: scores (rows, outputs), hinge losses (NaN without label),
    differences of views (NaN where an object has no two views); how many of them moved the weights; the largest
    |row|^2 by view."""

    scores: np.ndarray
    losses: np.ndarray
    gaps: np.ndarray
    moved: int
    largest: np.ndarray


def check_memory(checker: rules.Checker, value: Any, where: str) -> None:
    """Say what a memory from a file must look like; kernels know its arrays by their addresses only."""
    n_classes, dtype = (value.get("classes"), value.get("dtype")) if isinstance(value, dict) else (None, None)
    if dtype not in (np.float32, np.float64):
        checker.refuse(where, f"has weights of dtype {dtype}, but must have float32 or float64")
    n_outputs: Any = 1 if n_classes in (1, 2) else "classes"
    weights = rules.by_view(rules.floats("features of {view}", n_outputs, dtype=dtype), ordered=True)
    fields = {
        "weights": weights,
        "lags": rules.or_none(weights),
        "bias": rules.floats(2, n_outputs, dtype=np.float64),
        "n_rounds": rules.count(),
        "classes": rules.count(1, size="classes"),
        "dtype": rules.anything(),
        "fixed": rules.flag(),
    }
    checker.check(rules.record(**fields), value, where)


def make_weights(n_features: Mapping[str, int], n_classes: int, dtype: Any, *, averages: bool) -> Memory:
    """Return zero weights for so many classes."""
    n_outputs = 1 if n_classes <= 2 else n_classes
    memory = {
        "weights": {name: np.zeros((n, n_outputs), dtype=dtype) for name, n in n_features.items()},
        "lags": None,
        "bias": np.zeros((2, n_outputs)),
        "n_rounds": 0,
        "classes": n_classes,
    }
    return average_memory(memory, averages)


def average_memory(memory: Memory, averages: bool) -> Memory:
    """Return the memory with lags or without; the weights before the first lag count as those of all rounds so far.

    Its arrays can be written, which those of a file that is mapped into memory cannot.
    """
    for part in (memory["weights"], memory["lags"] or {}):
        part.update({name: np.require(array, requirements=("C", "W")) for name, array in part.items()})
    if averages == (memory["lags"] is not None):
        return {**memory, "bias": memory["bias"].copy()}
    # the mean over all rounds is w - lag / rounds: a lag of 0 says that w has been so from the start
    lags = {name: np.zeros_like(array) for name, array in memory["weights"].items()} if averages else None
    return {**memory, "lags": lags, "bias": memory["bias"] * [[1.0], [0.0]]}


def grow_classes(memory: Memory, positions: Sequence[int], n_classes: int) -> Memory:
    """Return the memory with room for more classes; `positions` says where the old classes are among the new ones.

    Two classes become weights of +w/2 and -w/2, so that every margin stays what it is.
    """

    def spread(array: np.ndarray) -> np.ndarray:
        if n_classes <= 2:
            return array  # one class: nothing has been learned yet
        wide = np.zeros((len(array), n_classes), dtype=array.dtype)
        if len(positions) > 1:
            wide[:, list(positions)] = array if len(positions) > 2 else array * np.array([-0.5, 0.5], array.dtype)
        return wide

    grown = {**memory, "classes": n_classes, "bias": spread(memory["bias"])}
    for part in ("weights", "lags"):
        if memory[part] is not None:
            grown[part] = {name: spread(array) for name, array in memory[part].items()}
    return grown


def compress_rows(views: Views, names: Sequence[str], dtype: Any) -> CompressedRows:
    """Return the rows of the named views, of one type; a view that is not there is empty in every row."""
    blank = sparse.csr_array((len(views), 0), dtype=dtype)
    parts = [_as_csr(views[name]) if name in views else blank for name in names]
    # one compiled kernel takes all views: their index types must be the same
    index = np.result_type(*(array.dtype for part in parts for array in (part.indptr, part.indices)))
    return CompressedRows(
        tuple(np.ascontiguousarray(part.indptr, dtype=index) for part in parts),
        tuple(np.ascontiguousarray(part.indices, dtype=index) for part in parts),
        tuple(np.ascontiguousarray(part.data, dtype=dtype) for part in parts),
    )


def _as_csr(matrix: Any) -> Any:
    return matrix if sparse.issparse(matrix) else sparse.csr_array(matrix)


def update_weights(
    memory: Memory, rows: CompressedRows, codes: np.ndarray, order: np.ndarray, costs: np.ndarray, options: np.ndarray
) -> Outcome:
    """Learn from rows in the given order, changing the arrays of the memory; see the kernel for what it takes."""
    n, n_views, n_outputs = len(order), len(rows.values), memory["bias"].shape[1]
    n_rounds = memory["n_rounds"]
    memory["n_rounds"] += n
    scores, losses, gaps = np.zeros((n, n_outputs)), np.full(n, np.nan), np.full(n, np.nan)
    if memory["classes"] < 2:  # no rival yet
        return Outcome(scores, losses, gaps, 0, np.zeros(n_views))
    weights = tuple(memory["weights"].values())
    # without averages there are no lags to find: the weights stand in for them, unread
    lags = weights if memory["lags"] is None else tuple(memory["lags"].values())
    pointers = addresses((*rows.indptrs, *rows.indices, *rows.values, *weights, *lags)).reshape(5, -1)
    like = np.empty(0, dtype=rows.indices[0].dtype), np.empty(0, dtype=rows.values[0].dtype)
    scratch = np.empty((rounds.ROWS, n_views)), np.empty((2, n_views), dtype=np.int64)
    state = (memory["bias"], codes, order, costs, options, n_rounds)
    moved = kernels.learn_rows(pointers, *like, *scratch, *state, scores, losses, gaps)
    return Outcome(scores, losses, gaps, moved, scratch[0][rounds.LARGEST_NORM])


def compute_averages(memory: Memory) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the weights and the intercepts to predict with: the averages where there are any."""
    if memory["lags"] is None:
        return memory["weights"], memory["bias"][0]
    n_rounds = max(memory["n_rounds"], 1)
    weights = {name: array - memory["lags"][name] / n_rounds for name, array in memory["weights"].items()}
    return weights, memory["bias"][0] - memory["bias"][1] / n_rounds


def score_rows(memory: Memory, views: Any) -> dict[str, np.ndarray]:
    """Return each view's own scores (rows, outputs), intercept included."""
    weights, bias = compute_averages(memory)
    scores = {name: matrix @ weights[name] for name, matrix in views.items()}
    return {name: part + bias.astype(part.dtype) for name, part in scores.items()}
