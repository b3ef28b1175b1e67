"""Quality of a model's groups, view by view: do their first features occur together, and are they their own?

Topics, clusters and classes are read through the features of the largest weights. Those of a good group occur together
in the objects (coherence), and stand in no other group's list (exclusivity, diversity); see `coview.metrics`. A view of
vectors has no features to read, a view of measurements none that occur, and texts of two words or a category have no
ten features that could occur together: such views are left out, and views with fewer features than count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coview.inspection.features import readable_features
from coview.metrics.topics import topic_coherence, topic_diversity, topic_exclusivity
from coview.utils.messages import quantity
from coview.utils.sampling import sample_positions
from coview.utils.tables import ResultTable
from coview.views.arrays import take_rows
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["NUMBERS", "group_quality"]

NUMBERS = ("npmi", "c_v", "exclusivity")

MOST_OBJECTS = 100_000  # that coherence is counted in
FEWEST_TOGETHER = 3  # features of an object, of fewer it is no news which occur together


def group_quality(inspection: Inspection, views: Views, codes: np.ndarray | None, n_features: int) -> ResultTable:
    """Return the quality of a model's groups in objects, as the estimator sees them."""
    rows: list[tuple[Any, ...]] = []
    means: dict[str, dict[str, float]] = {}
    for view, features in readable_features(inspection, views, codes).items():
        if view not in views or views.n_features[view] < n_features:
            continue
        weights, occurs = np.maximum(features.weights, 0.0), _occurrences(views, view)
        if _count_features(occurs) < FEWEST_TOGETHER or not len(weights):
            continue
        npmi, c_v = (topic_coherence(weights, occurs, measure=name, n_features=n_features) for name in NUMBERS[:2])
        found = (npmi, c_v, topic_exclusivity(weights, n_features=n_features))
        of_view = [view] * len(weights)
        rows += zip(inspection.groups, inspection.group_names, of_view, *(part.tolist() for part in found))
        known = {name: part[np.isfinite(part)] for name, part in zip(NUMBERS, found)}
        means[view] = {name: float(part.mean()) for name, part in known.items() if len(part)}
        means[view]["diversity"] = topic_diversity(weights, n_features=n_features)
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("group", "name", "view", *NUMBERS))}
    coherence = ", ".join(f"{view} {mean['npmi']:.2f}" for view, mean in means.items() if "npmi" in mean)
    title = f"Quality of {quantity(len(inspection.groups), 'group')}" + (
        f": mean NPMI {coherence}" if coherence else ""
    )
    return ResultTable(columns, title, means=means)


def _occurrences(views: Views, view: str) -> Any:
    """Objects that have a view, or a sample of them."""
    rows = np.flatnonzero(views.present[:, views.names.index(view)])
    rows = rows[sample_positions(len(rows), MOST_OBJECTS)]
    return views[view] if len(rows) == len(views) else take_rows(views[view], rows)


def _count_features(matrix: Any) -> float:
    """Median number of features of the objects that have any."""
    counts = np.asarray((matrix > 0).sum(axis=1)).reshape(-1)
    return float(np.median(counts[counts > 0])) if counts.any() else 0.0
