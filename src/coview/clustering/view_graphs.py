"""Graphs of nearest neighbors of several views: what spectral clustering and label spreading stand on.

Each view has a graph of its own (`affinity.py`). Two graphs are made of all views: the sum of theirs, each of the same
mean degree, and one of neighbors by all views side by side, each of the same mean length. An object that lacks a view
has no edges in its graph. New objects lean on fitted ones that are near in the views that they have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coview.base import MultiViewEstimator
from coview.clustering.affinity import (
    METRICS,
    Scaling,
    edges_to,
    neighbor_graphs,
    neighbors_by_default,
    row_squares,
)
from coview.engines.loop import local_engine, select_engine
from coview.utils import fitted_state as rules
from coview.utils.parameters import NONE, integer, one_of, one_or_by_view
from coview.utils.remembered import remembered
from coview.views.arrays import for_sklearn, side_by_side, take_rows, unit_rows
from coview.views.views import Views, presence_patterns

__all__ = ["NeighborGraphEstimator", "added_up"]


def graphs_of(rows: Any, known: np.ndarray, **settings: Any) -> list[Any]:
    """Return `neighbor_graphs` of these rows, those that are remembered where there are any."""
    ops = settings.get("ops")
    made_of = ("graphs", rows, known, settings["counts"], settings["cosine"], None if ops is None else ops.name)
    return remembered(made_of, lambda: neighbor_graphs(rows, known, **settings))


def _check_scaling(checker: rules.Checker, value: Any, where: str) -> None:
    """Means and deviations are there where columns are scaled, else nothing is."""
    size = 0 if isinstance(value, dict) and value.get("metric") == "cosine" else "features of {view}"
    parts = {"mean": rules.floats(size), "deviation": rules.floats(size, low=1e-300)}
    checker.check(rules.record(metric=rules.choice(*METRICS[1:]), **parts), value, where)


class NeighborGraphEstimator(MultiViewEstimator):
    """An estimator on graphs of neighbors; a subclass has the parameters `n_neighbors`, `metric` and `engine`.

    Each graph is made once for each of the `_scales`, factors of the number of neighbors.
    """

    _scales: tuple[float, ...] = (1.0,)
    n_neighbors: int | None
    metric: Any
    engine: Any
    view_weights_: dict[str, float]
    _models_counts = False
    _fitted_state = {
        "neighbors_": rules.by_view(rules.floats("objects", "features of {view}", sparse=True)),
        "neighbor_rows_": rules.by_view(rules.integers(None, below="objects", rising=True)),
        "n_neighbors_": rules.by_view(rules.count(1)),
        "joint_neighbors_": rules.count(1),
        "joint_scales_": rules.by_view(rules.real(0.0)),
        "scalings_": rules.by_view(rules.custom(_check_scaling)),
    }
    _parameters = {"n_neighbors": integer() | NONE, "metric": one_or_by_view(one_of(*METRICS))}

    def _n_groups(self) -> int:
        """Return the number of clusters or classes, by which the number of neighbors is chosen."""
        raise NotImplementedError

    def _scale(self, views: Views, weights: np.ndarray) -> None:
        """Rows of each view made comparable; remembers how, and what new objects are compared with."""
        self.scalings_: dict[str, dict[str, Any]] = {}
        self.neighbors_: dict[str, Any] = {}
        self.neighbor_rows_: dict[str, np.ndarray] = {}
        self.joint_scales_: dict[str, float] = {}
        for v, (name, matrix) in enumerate(views.items()):
            have = np.flatnonzero(views.present[:, v])
            some = matrix if len(have) == len(views) else take_rows(matrix, have)
            metric = self.metric.get(name, "auto") if isinstance(self.metric, Mapping) else self.metric
            scaling = Scaling.learned(some, metric)
            self.scalings_[name] = vars(scaling)
            self.neighbors_[name] = scaling.rows(matrix, views.present[:, v])
            self.neighbor_rows_[name] = have
            squares = float(row_squares(self.neighbors_[name]).sum())  # the factor makes the mean square the weight
            self.joint_scales_[name] = float(np.sqrt(weights[v] * len(views) / max(squares, 1e-12)))
        self.n_neighbors_ = {name: self._count([name], len(views)) for name in views.names}
        self.joint_neighbors_ = self._count(views.names, len(views))

    def _scaled(self, views: Views) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Rows of new objects by view, scaled as those of the fit, and which of them say anything."""
        rows, known = {}, {}
        for v, (name, matrix) in enumerate(views.items()):
            scaling = Scaling(**self.scalings_[name])
            rows[name] = scaling.rows(matrix, views.present[:, v])
            known[name] = scaling.known(rows[name], views.present[:, v])
        return rows, known

    def _cosine(self, names: Iterable[str]) -> bool:
        """Whether near means a large cosine in all of these views."""
        return all(self.scalings_[name]["metric"] == "cosine" for name in names)

    def _count(self, names: Iterable[str], n_objects: int) -> int:
        return self.n_neighbors or neighbors_by_default(self._cosine(names), n_objects, self._n_groups())

    def _near(self, name: str | None = None) -> dict[str, Any]:
        """What `neighbor_graphs` and `edges_to` have to know of a view, or of all side by side."""
        count = self.joint_neighbors_ if name is None else self.n_neighbors_[name]
        counts = [max(round(scale * count), 1) for scale in self._scales]
        return {
            "counts": counts,
            "cosine": self._cosine(self.scalings_ if name is None else [name]),
            "ops": self._ops(),
        }

    def _ops(self) -> Any:
        """Return the engine that looks for neighbors and eigenvectors; None is the processor."""
        default = isinstance(self.engine, str) and self.engine == "auto"
        return None if default else local_engine(select_engine(self.engine))

    def _known(self, name: str, views: Views) -> np.ndarray:
        present = views.present[:, views.names.index(name)]
        return Scaling(**self.scalings_[name]).known(self.neighbors_[name], present)

    def _graphs(self, views: Views) -> list[list[Any]]:
        """Affinity by each view, for each scale."""
        graphs = [
            graphs_of(self.neighbors_[name], self._known(name, views), **self._near(name)) for name in views.names
        ]
        return [list(of_scale) for of_scale in zip(*graphs)]

    def _concatenated(self, views: Views) -> list[Any]:
        """Affinity of the rows side by side, for each scale."""
        known = np.any([self._known(name, views) for name in views.names], axis=0)
        rows = self._side_by_side(self._weighted(self.neighbors_))
        return graphs_of(rows, known & self._says(rows), **self._near())

    def _sum(self, graphs: list[Any], weights: np.ndarray) -> Any:
        """Sum of the views' affinities, each of the same mean degree."""
        masses = [max(float(part.sum()), 1e-12) for part in graphs]
        return sum(part * (weight * part.shape[0] / mass) for part, weight, mass in zip(graphs, weights, masses))

    def _all_graphs(self, views: Views, weights: np.ndarray) -> tuple[list[list[Any]], np.ndarray]:
        """Return the views' graphs, the concatenated one and their sum, for each scale, and how much each counts.

        The last two count half as much as all views together, and less where objects lack views: those that have
        nothing in common fall apart there.
        """
        graphs, heft = self._graphs(views), weights
        if len(views.names) > 1:
            whole = np.mean(np.all([np.diff(part.indptr) > 0 for part in graphs[0]], axis=0))
            graphs = [
                [*of_scale, beside, self._sum(of_scale, weights)]
                for of_scale, beside in zip(graphs, self._concatenated(views))
            ]
            heft = np.append(weights, [whole * weights.sum() / 2] * 2)
        return graphs, heft / heft.sum()

    def _among_all(self, views: Views, vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Where new objects stand among the vectors of fitted ones, by each of `_all_graphs`.

        They stand nowhere, at zero, in the graphs of views that are not given.
        """
        near = self._edges(*self._scaled(views))
        placed = [np.zeros((len(views), part.shape[1])) for part in vectors]
        for v, name in enumerate(self.view_names_):
            if name in near:
                placed[v] = added_up({name: near[name]}, {name: 1.0}, vectors[v])
        if len(vectors) > len(self.view_names_):
            placed[-1] = added_up(near, self.view_weights_, vectors[-1])
            placed[-2] = self._by_all(views, vectors[-2])
        return placed

    def _by_all(self, views: Views, vectors: np.ndarray) -> np.ndarray:
        """Where new objects stand among `vectors` of the fitted ones, each by all views that it has side by side."""
        placed = np.zeros((len(views), vectors.shape[1]))
        rows, known = self._scaled(views)
        rows, fitted = self._weighted(rows), self._weighted({name: self.neighbors_[name] for name in rows})
        have = np.zeros((len(vectors), len(rows)), dtype=bool)  # objects without any of these views have no neighbors
        for v, name in enumerate(rows):
            have[self.neighbor_rows_[name], v] = True
        present = views.present & np.any(list(known.values()), axis=0)[:, None]
        for some, had in presence_patterns(present):
            names = [views.names[v] for v in had]
            new = self._side_by_side({name: take_rows(rows[name], some) for name in names})
            among = self._side_by_side({name: fitted[name] for name in names})
            near = np.flatnonzero(have[:, had].any(axis=1) & self._says(among))
            among = for_sklearn(take_rows(among, near))
            placed[some] = edges_to(new, self._says(new), among, **self._near()) @ vectors[near]
        return placed

    def _weighted(self, rows: dict[str, Any]) -> dict[str, Any]:
        return {name: part * part.dtype.type(self.joint_scales_[name]) for name, part in rows.items()}

    def _side_by_side(self, rows: dict[str, Any]) -> Any:
        """Weighted rows of views side by side, of length 1 by cosines: who lacks a view is not near to all short."""
        beside = for_sklearn(side_by_side(list(rows.values())))
        return unit_rows(beside) if self._cosine(self.scalings_) else beside

    def _says(self, rows: Any) -> np.ndarray:
        """Which rows say anything: by cosines those that are not empty."""
        if not self._cosine(self.scalings_):
            return np.ones(rows.shape[0], dtype=bool)
        return row_squares(rows) > 0  # a view of weight 0 leaves zeros

    def _edges(self, rows: dict[str, Any], known: dict[str, np.ndarray]) -> dict[str, tuple[Any, np.ndarray]]:
        """Edges of new objects to fitted ones by each given view, and which fitted ones these are."""
        edges: dict[str, tuple[Any, np.ndarray]] = {}
        for name, part in rows.items():
            near = self.neighbor_rows_[name]
            among = for_sklearn(take_rows(self.neighbors_[name], near))
            edges[name] = edges_to(part, known[name], among, **self._near(name)), near
        return edges


def added_up(edges: dict[str, tuple[Any, np.ndarray]], weights: dict[str, float], vectors: np.ndarray) -> np.ndarray:
    """Where new objects stand among `vectors` of the fitted ones, by the edges of each view and added up."""
    placed: Any = 0.0
    for name, (part, near) in edges.items():
        placed = placed + weights[name] * (part @ vectors[near])
    return placed
