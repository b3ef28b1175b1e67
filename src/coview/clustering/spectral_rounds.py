"""The rounds of co-regularized spectral clustering: eigenvectors of each view's graph, drawn to each other in turn.

Each U_v is the leading eigenvectors of S_v plus the pulls of the others, a sparse matrix and a low rank; the formulas
are in `coreg_spectral.py`.
"""

from __future__ import annotations

import numpy as np

from coview.clustering.affinity import Graph, drawn_vectors, leading_vectors, unit_length

__all__ = ["Rounds"]


class Rounds:
    """The rounds of the pairwise and of the centroid form."""

    def __init__(self, graphs: list[Graph], weights: np.ndarray, count: int, seed: int) -> None:
        self.graphs, self.weights, self.count = graphs, weights, count
        found = [leading_vectors(graph, count, seed) for graph in graphs]
        self.values = [values for values, _ in found]
        self.vectors = [vectors for _, vectors in found]

    def run(self, form: str, weight: float, max_iter: int, tol: float) -> tuple[np.ndarray, list[float]]:
        """Rounds until the objective rests; returns what k-means takes, and the objective by round."""
        if form == "centroid":
            self.common = self._common()
        objective = [self._objective(form, weight)]
        several = len(self.graphs) > 1 and weight > 0
        for _ in range(max_iter):
            if several:
                self._round(form, weight)
            objective.append(self._objective(form, weight))
            if tol > 0 and objective[-1] - objective[-2] <= tol * abs(objective[-1]):
                break
        if form == "centroid":
            return self.common, objective
        shares = np.sqrt(self.weights)
        return np.hstack([share * unit_length(part) for share, part in zip(shares, self.vectors)]), objective

    def _round(self, form: str, weight: float) -> None:
        for v, graph in enumerate(self.graphs):
            if form == "pairwise":
                pulls = [(weight * self.weights[w], self.vectors[w]) for w in range(len(self.graphs)) if w != v]
            else:
                pulls = [(weight, self.common)]
            self.values[v], self.vectors[v] = drawn_vectors(graph, self.vectors[v], pulls)
        if form == "centroid":
            self.common = self._common()

    def _common(self) -> np.ndarray:
        """Leading eigenvectors of sum_v a_v U_v U_v': left singular vectors of the U_v side by side."""
        beside = np.hstack([np.sqrt(share) * part for share, part in zip(self.weights, self.vectors)])
        values, turn = np.linalg.eigh(beside.T @ beside)
        kept = np.argsort(-values)[: self.count]
        return beside @ (turn[:, kept] / np.sqrt(np.maximum(values[kept], 1e-12)))

    def _objective(self, form: str, weight: float) -> float:
        total = sum(
            share * float(np.vdot(part, graph @ part))
            for share, graph, part in zip(self.weights, self.graphs, self.vectors)
        )
        if form == "centroid":
            pull = sum(
                share * float(((part.T @ self.common) ** 2).sum()) for share, part in zip(self.weights, self.vectors)
            )
        else:
            pull = sum(
                self.weights[v] * self.weights[w] * float(((self.vectors[v].T @ self.vectors[w]) ** 2).sum())
                for v in range(len(self.vectors))
                for w in range(v)
            )
        return total + weight * pull
