"""The mixture step of co-regularized PLSA against vectorized NumPy and against one brentq per object.

python benchmarks/bench_simplex.py [--quick]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, write
from scipy.optimize import brentq
from scipy.special import wrightomega

REPEATS = 3
SAMPLE = 500  # objects that brentq solves; its time is scaled up
CLOSE = 1e-10


def problem(n: int, k: int, weight: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Expected counts and the other view's mixtures: few topics per object, half of them in common."""
    rng = np.random.default_rng(0)
    common, own, other = (rng.dirichlet(np.full(k, 0.1), n) for _ in range(3))
    q, g = (0.5 * (common + part).clip(1e-12) for part in (own, other))
    return q / q.sum(axis=1, keepdims=True), g / g.sum(axis=1, keepdims=True), weight


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Seconds of the processor: on one thread the same as on the clock, but for what else the machine does."""
    start = time.process_time()
    call()
    return time.process_time() - start


def compiled(agreement: str, q: np.ndarray, table: np.ndarray, weight: float) -> np.ndarray:
    """The kernel of coview, on a table of both views' mixtures as a fit holds it: it rewrites the first."""
    from coview.kernels import simplex

    have = np.ones((len(q), 2), dtype=bool)
    solver = {"skl": simplex.skl_rows, "l2": simplex.l2_rows, "l1": simplex.l1_rows}[agreement]
    solver(q, table, 0, np.array([0.0, weight]), have, False, 1e-12, 0, len(q))
    return table[:, : q.shape[1]]


def entries(agreement: str, q: Any, g: Any, weight: float, eta: Any) -> tuple[Any, Any]:
    """h(eta) and minus its derivative; the multiplier is divided by the weight, and for l1 less 1: no cancellation."""
    p = q / weight
    if agreement == "skl":
        w = wrightomega(np.log1p(p / g) + 1 + eta)
        h = (p + g) / w
        return h, h / (1 + w)
    if agreement == "l2":
        t = g - eta
        root = np.sqrt(t * t + 4 * p)
        h = np.where(t >= 0, 0.5 * (t + root), 2 * p / (root - t))
        return h, h / root
    above, below = p / (eta + 2), p / eta
    h = np.maximum(above, np.minimum(below, g))
    return h, np.where(h == g, 0.0, np.where(h == above, above / (eta + 2), below / eta))


def vectorized(agreement: str, q: np.ndarray, g: np.ndarray, weight: float, out: np.ndarray) -> np.ndarray:
    """All objects at once: safeguarded Newton in NumPy from the same start; objects leave as they converge."""
    p = q / weight
    total = p.sum(axis=1, keepdims=True)
    low, high = np.maximum(total - 1, 0.0), total + 1.0
    eta = total.copy()
    if agreement == "skl":
        u = p + g
        low, high = np.zeros_like(total), total.copy()
        eta = total + np.log1p(total) - (u * np.log1p(p / g)).sum(axis=1, keepdims=True) / (1 + total)
        eta = np.clip(eta, low, high)
    if agreement == "l1":
        low, high = np.full_like(total, 1e-15), total
    active = np.arange(len(q))
    for _ in range(100):
        h, slope = entries(agreement, q[active], g[active], weight, eta)
        sums = h.sum(axis=1, keepdims=True)
        out[active] = h / sums
        going = np.abs(sums[:, 0] - 1) > CLOSE
        if not going.any():
            break
        active, eta, sums, slope = active[going], eta[going], sums[going], slope[going].sum(axis=1, keepdims=True)
        low, high = low[going], high[going]
        low, high = np.where(sums > 1, eta, low), np.where(sums > 1, high, eta)
        with np.errstate(divide="ignore"):
            new = eta + (sums * np.log(sums) if agreement == "skl" else (sums - 1) * sums) / slope
        middle = np.sqrt(low * high) if agreement == "l1" else 0.5 * (low + high)
        eta = np.where((low < new) & (new < high), new, middle)
    return out


def one_by_one(agreement: str, q: np.ndarray, g: np.ndarray, weight: float) -> np.ndarray:
    """One brentq per object."""
    out = np.empty_like(q)
    for i in range(len(q)):
        total = q[i].sum() / weight

        def excess(eta: float, i: int = i) -> float:
            return float(entries(agreement, q[i], g[i], weight, eta)[0].sum() - 1)

        ends = {"skl": (-1e-9, total + 1e-9), "l2": (total - 1, total + 1), "l1": (1e-15, total)}[agreement]
        out[i] = entries(agreement, q[i], g[i], weight, brentq(excess, *ends, xtol=1e-15, rtol=1e-12))[0]
    return out


def measure(agreement: str, n: int, k: int, weight: float) -> dict[str, Any]:
    q, g, weight = problem(n, k, weight)
    table, out = np.hstack([g, g]), np.empty_like(q)
    compiled(agreement, q[:10], table[:10].copy(), weight)
    few = q[:SAMPLE], g[:SAMPLE], weight
    found: dict[str, Any] = {name: [] for name in ("ours", "numpy", "brentq")}
    for _ in range(REPEATS):
        found["ours"].append(cpu_seconds(lambda: compiled(agreement, q, table, weight)))
        found["numpy"].append(cpu_seconds(lambda: vectorized(agreement, q, g, weight, out)))
        found["brentq"].append(n / SAMPLE * cpu_seconds(lambda: one_by_one(agreement, *few)))
    ours = compiled(agreement, q, table, weight)
    found["numpy_apart"] = float(np.abs(ours - vectorized(agreement, q, g, weight, out)).max())
    found["brentq_apart"] = float(np.abs(ours[:SAMPLE] - one_by_one(agreement, *few)).max())
    return found


def main(quick: bool) -> None:
    n, k = (10_000, 100) if quick else (100_000, 100)
    rows: list[list[Any]] = []
    for agreement, weight in (("skl", 0.1), ("skl", 1.0), ("skl", 10.0), ("l2", 1.0), ("l1", 1.0)):
        found = in_process(str(Path(__file__)), agreement, str(n), str(k), str(weight))
        ours, numpy, root = (median(found[name]) for name in ("ours", "numpy", "brentq"))
        apart = max(found["numpy_apart"], found["brentq_apart"])
        rows.append([agreement, weight, ours, numpy, root, numpy / ours, root / ours, apart])
        print(rows[-1], flush=True)
    head = ["agreement", "weight", "coview, s", "NumPy, s", "brentq, s", "NumPy / coview", "brentq / coview", "apart"]
    write(
        "simplex_quick" if quick else "simplex",
        f"The mixture step of co-regularized PLSA: {n} objects, {k} topics, one other view",
        head,
        rows,
        [
            "Medians of three, in turn in one process, one thread, float64; seconds of the processor.",
            "NumPy: all objects at once, safeguarded Newton (from the same start for skl, from the sum of q for l2 and "
            f"l1), objects leave as they converge to {CLOSE:g}; scipy.special.wrightomega for skl.",
            f"brentq: one call of scipy.optimize.brentq per object, measured on {SAMPLE} objects and scaled up.",
            "apart: the largest difference between an entry of coview's mixtures and of either peer's.",
            "l2 has no transcendental function: NumPy's square roots and divisions run at the processor's own speed, "
            "and three Newton steps end it, so that less is left to gain than for skl and l1.",
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("skl", "l2", "l1"):
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))))
    else:
        main("--quick" in sys.argv)
