"""What each view contributed: the model asked with one view alone, and with one view left out.

Nothing is fitted again: the fitted model reads the same objects from fewer views. With labels the main measure of each
reading is compared with that of all views; in any case the share of objects that keep their group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from coview.exceptions import CoviewError
from coview.report.measures import main_measure
from coview.report.reader import Reader, Reading
from coview.utils.jsonable import plain
from coview.views.views import Views

__all__ = ["ViewReadings", "agreement_matrix", "contributions", "own_weight", "read_by_view"]


@dataclass(frozen=True)
class ViewReadings:
    """Readings of the same objects: from all views, from each alone, and from all but each."""

    views: Views
    whole: Reading
    alone: dict[str, Reading]
    without: dict[str, Reading]
    refused: dict[str, str] = field(default_factory=dict)  # view -> the model's own sentence

    @property
    def present(self) -> dict[str, np.ndarray]:
        """Which objects have each view, and something in it."""
        return {name: self.views.present[:, v] for v, name in enumerate(self.views.names)}


def read_by_view(reader: Reader, views: Views, whole: Reading | None = None) -> ViewReadings:
    """Read objects from all views, from each view alone, and from all but each.

    `whole` is the reading from all views, where it is there already. A model may refuse to read from some views, such
    as one that clusters by its best view only; what it says is kept.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> found = read_by_view(Reader(LinkPLSA(3, random_state=0).fit(X)), X)
    >>> sorted(found.alone), found.alone["view0"].codes.shape
    (['view0', 'view1'], (50,))
    """
    alone, without, refused = {}, {}, {}
    names = views.names
    for name in names if len(names) > 1 else ():
        try:
            alone[name] = reader.read(views.select(name))
        except (CoviewError, ValueError) as error:
            refused[name] = str(error)
    for name in names if len(names) > 1 else ():
        others = [other for other in names if other != name]
        if len(others) == 1:
            if others[0] in alone:
                without[name] = alone[others[0]]
            continue
        try:
            without[name] = reader.read(views.select(*others))
        except (CoviewError, ValueError) as error:
            refused.setdefault(name, str(error))
    return ViewReadings(views, reader.read(views) if whole is None else whole, alone, without, refused)


def contributions(
    reader: Reader, readings: ViewReadings, y: np.ndarray | None = None, classes: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the section on views: a row for each, and how far they agree with each other.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> reader = Reader(LinkPLSA(3, random_state=0).fit(X))
    >>> found = contributions(reader, read_by_view(reader, X))
    >>> [row["name"] for row in found["rows"]], found["measure"]
    (['view0', 'view1'], 'agreement with all views')
    """
    labeled = y is not None and classes is not None and bool((y >= 0).any())

    def score(reading: Reading | None, rows: np.ndarray) -> float | None:
        if reading is None:
            return None
        if labeled and y is not None and classes is not None:
            return main_measure(reader, reading.take(rows), y[rows], classes)
        return _agreement(reading.take(rows), readings.whole.take(rows))

    everything = np.ones(len(readings.views), dtype=bool)
    rows = []
    for name in readings.views.names:
        have = readings.present[name]
        rows.append(
            {
                "name": name,
                "present": float(have.mean()),
                "alone": score(readings.alone.get(name), have),
                "without": score(readings.without.get(name), everything),
                "kept": _agreement_or_none(readings.without.get(name), readings.whole),
                "weight": own_weight(reader.core, name),
                "refused": readings.refused.get(name),
            }
        )
    return plain(
        {
            "measure": _name_of_measure(reader, labeled),
            "whole": score(readings.whole, everything) if labeled else None,
            "rows": rows,
            "agreement": agreement_matrix(readings),
            "n_objects": len(readings.views),
        }
    )


def agreement_matrix(readings: ViewReadings) -> dict[str, Any] | None:
    """Return the share of objects that two readings put into the same group, for each pair of views and for all views.

    Objects count where they have both views. Where a model has no groups: the mean cosine of the two places.
    """
    parts = {**readings.alone, "all views": readings.whole}
    if len(parts) < 3:
        return None
    names = list(parts)
    have = {**readings.present, "all views": np.ones(len(readings.views), dtype=bool)}
    matrix: list[list[float | None]] = [[1.0 if a == b else None for b in names] for a in names]
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        both = have[a] & have[b]
        if both.any():
            matrix[i][j] = matrix[j][i] = _agreement(parts[a].take(both), parts[b].take(both))
    return {"names": names, "values": matrix, "cosine": readings.whole.codes is None}


def _agreement(a: Reading, b: Reading) -> float | None:
    if a.codes is not None and b.codes is not None:
        return float(np.mean(a.codes == b.codes)) if len(a.codes) else None
    if a.scores is None or b.scores is None or not len(a.scores) or a.scores.shape != b.scores.shape:
        return None
    lengths = np.linalg.norm(a.scores, axis=1) * np.linalg.norm(b.scores, axis=1)
    products = np.einsum("ij,ij->i", a.scores, b.scores)
    return float(np.mean(np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)))


def _agreement_or_none(a: Reading | None, b: Reading) -> float | None:
    return None if a is None else _agreement(a, b)


def own_weight(core: Any, name: str) -> float | None:
    """What the model itself says that a view is worth: its share of the vote, or its score when it was chosen."""
    for attribute in ("view_weights_", "view_scores_"):
        found = getattr(core, attribute, None)
        if isinstance(found, dict) and name in found:
            return float(found[name])
    return None


def _name_of_measure(reader: Reader, labeled: bool) -> str:
    if not labeled:
        return "agreement with all views"
    if reader.noun is None:
        return "same label among neighbors"
    return "accuracy" if reader.noun == "class" else "NMI"
