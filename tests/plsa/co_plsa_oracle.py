"""Random objects for CoPLSA with topics that are fixed, and the best mixtures of each by a general solver.

The problem of one object is concave. L1 becomes smooth by a bound on each difference, |h_v - h_w| <= t; SLSQP solves
that from several starts, and the best is polished: at the least it is a mixture, so that no optimum is overrated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from coview import CoPLSA, Views
from coview.plsa.divergences import DIVERGENCES

LEAST = 1e-10


@dataclass
class Case:
    """A fitted model, and new objects that lack some of its views."""

    model: CoPLSA
    views: Views

    @property
    def data(self) -> list[np.ndarray]:
        return [part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300) for part in self.views.values()]

    @property
    def topics(self) -> list[np.ndarray]:
        return [self.model.topic_feature_[name] for name in self.views.names]


def fixed_model(topics: dict[str, np.ndarray], **settings: Any) -> CoPLSA:
    """A model whose topics are given."""
    K = len(next(iter(topics.values())))
    model = CoPLSA(K, max_iter=1, random_state=0, init={"topic_feature": topics}, **settings)
    model.fit(Views({name: np.ones((2, part.shape[1])) for name, part in topics.items()}))
    model.topic_feature_ = topics
    return model


def cases(divergence: str, n: int, seed: int, objects: int = 5) -> Iterator[Case]:
    """Models of two and three views with strengths from .03 to 3, with objects that lack a quarter of the views."""
    rng = np.random.default_rng([seed, *divergence.encode()])
    for i in range(n // objects):
        V, K = 2 + i % 2, int(rng.integers(2, 7))
        widths = rng.integers(3, 15, V)
        topics = {f"view{v}": rng.dirichlet(np.full(m, rng.choice([0.1, 0.5, 2.0])), K) for v, m in enumerate(widths)}
        model = fixed_model(topics, divergence=divergence, coupling=float(np.exp(rng.uniform(np.log(0.03), np.log(3)))))
        present = rng.random((objects, V)) > 0.25
        present[~present.any(axis=1), 0] = True
        views = {}
        for v, (name, part) in enumerate(topics.items()):
            own = rng.dirichlet(np.full(K, 0.5), objects) @ part
            counts = rng.poisson(rng.choice([3, 20, 200]) * own).astype(float)
            counts[counts.sum(axis=1) == 0, 0] = 1.0
            views[name] = counts * present[:, [v]]
        yield Case(model, Views(views, present=present))


def value(case: Case, i: int, mixtures: list[np.ndarray]) -> float:
    """Objective of object i at the mixtures of all views."""
    have = case.views.present[i]
    total = 0.0
    for x, F, h, here in zip(case.data, case.topics, mixtures, have):
        if here:
            total += float(x[i][x[i] > 0] @ np.log((h @ F)[x[i] > 0]))
    for v, w in combinations(np.flatnonzero(have), 2):
        measure = DIVERGENCES[case.model.divergence].pair
        total -= case.model.coupling * float(measure(mixtures[v][None], mixtures[w][None])[0])
    return total


def best(case: Case, i: int, starts: list[list[np.ndarray]]) -> float:
    """The largest objective of object i that SLSQP finds from an even mixture and from the starts given."""
    there = np.flatnonzero(case.views.present[i])
    K, n = case.model.n_components, len(there)
    pairs = list(combinations(range(n), 2)) if case.model.divergence == "l1" else []
    X, F = [case.data[v][i] for v in there], [case.topics[v] for v in there]
    coupling = case.model.coupling

    def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
        H, slope = z[: n * K].reshape(n, K), np.zeros(len(z))
        total = 0.0
        for v in range(n):
            model = np.maximum(H[v] @ F[v], 1e-300)
            total -= X[v] @ np.log(model)
            slope[v * K : (v + 1) * K] -= F[v] @ (X[v] / model)
        for v, w in [] if pairs else combinations(range(n), 2):
            p, q = np.maximum(H[v], LEAST), np.maximum(H[w], LEAST)
            if case.model.divergence == "skl":
                total += coupling * (p - q) @ np.log(p / q)
                parts = np.log(p / q) + 1 - q / p, np.log(q / p) + 1 - p / q
            else:
                total += coupling * 0.5 * ((p - q) ** 2).sum()
                parts = p - q, q - p
            for u, part in zip((v, w), parts):
                slope[u * K : (u + 1) * K] += coupling * part
        slope[n * K :] = coupling
        return total + coupling * z[n * K :].sum(), slope

    size = n * K + len(pairs) * K
    sums = np.zeros((n, size))
    for v in range(n):
        sums[v, v * K : (v + 1) * K] = 1.0
    constraints = [{"type": "eq", "fun": lambda z: sums @ z - 1.0, "jac": lambda z: sums}]
    if pairs:
        rows = np.zeros((2 * len(pairs) * K, size))
        for j, (v, w) in enumerate(pairs):
            for k in range(K):
                for side, sign in ((0, 1.0), (1, -1.0)):
                    row = rows[2 * (j * K + k) + side]
                    row[n * K + j * K + k], row[v * K + k], row[w * K + k] = 1.0, -sign, sign
        constraints.append({"type": "ineq", "fun": lambda z: rows @ z, "jac": lambda z: rows})
    found = -np.inf
    even = [np.full(K, 1.0 / K)] * len(case.views.names)
    for start in [even, *starts]:
        H = np.maximum(np.array([start[v] for v in there]), 1e-7)
        H /= H.sum(axis=1, keepdims=True)
        gaps = [np.abs(H[v] - H[w]) for v, w in pairs]
        bounds = [(LEAST, 1.0)] * (n * K) + [(0.0, 1.0)] * (size - n * K)
        z = np.concatenate([H.ravel(), *gaps])
        z = minimize(
            loss, z, jac=True, bounds=bounds, constraints=constraints, options={"maxiter": 500, "ftol": 1e-12}
        ).x
        H = np.maximum(z[: n * K].reshape(n, K), LEAST)
        if not np.isfinite(H).all():
            continue
        H /= H.sum(axis=1, keepdims=True)
        mixtures = list(even)
        for v, h in zip(there, H):
            mixtures[v] = h
        found = max(found, value(case, i, mixtures))
    return found


def shortfalls(case: Case) -> np.ndarray:
    """By how much the folded-in mixtures of each object are below the best that the solver finds from any start."""
    table = case.model.transform_by_view(case.views)
    below = []
    for i in range(len(case.views)):
        ours = [table[name][i] for name in case.views.names]
        below.append(best(case, i, [ours]) - value(case, i, ours))
    return np.array(below)
