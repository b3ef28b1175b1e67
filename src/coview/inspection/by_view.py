"""The same objects read from all views, from each view alone, and from all views but one; how far the readings agree.

Nothing is fitted again: the fitted model reads the objects from fewer views. A model gives every object a group, also
one without any feature in these views; that is no opinion of the views, and such an object has no group here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from coview.exceptions import CoviewError
from coview.inspection.contract import Inspection
from coview.inspection.reading import embed_objects, read_groups, read_training
from coview.inspection.records import Reading
from coview.utils.warn import warn_user
from coview.views.views import Views

__all__ = [
    "ViewReadings",
    "agreement",
    "agreement_matrix",
    "read_as_fitted",
    "read_by_view",
    "read_objects",
    "try_views",
]


@dataclass(frozen=True, eq=False)
class ViewReadings:
    """Readings of the same objects: from all views, from each alone, and from all but each."""

    views: Views
    whole: Reading
    alone: dict[str, Reading]
    without: dict[str, Reading]
    described: dict[str, np.ndarray]  # which objects have a feature in each view: of the others the view says nothing
    refused: dict[str, str] = field(default_factory=dict)  # view -> the model's own sentence


def read_objects(inspection: Inspection, views: Views) -> Reading:
    """Read objects; a model without groups of its own gives their positions in its space as memberships."""
    reading = read_groups(inspection, views, prepared=True)
    if reading.memberships is not None:
        return reading
    return Reading(embed_objects(inspection, views, prepared=True), None)


def read_as_fitted(inspection: Inspection, n_objects: int) -> Reading | None:
    """Return what a clusterer without `predict` knows of the objects of its fit, and warn; None of another number.

    It keeps their clusters in their order and nothing to tell them by: that they are the same is taken for granted.
    """
    kept = read_training(inspection)
    if kept.codes is None or len(kept.codes) != n_objects:
        return None
    warn_user(
        f"{inspection.name} has no predict, and X has as many objects as its fit: they are taken to be the same "
        f"{n_objects:,} objects in the same order. If they are others, their clusters are wrong.",
        UserWarning,
    )
    return kept


def try_views(names: tuple[str, ...], ask: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Ask for each view alone, and for all views but each; keep what is refused.

    `ask` is a function of a tuple of views. A model may refuse some, such as one that clusters by its best view only.

    Returns
    -------
    alone, without, refused : dicts by view
        Answers with the view alone, answers without it, and sentences of errors.

    Examples
    --------
    >>> try_views(("a", "b"), "+".join)
    ({'a': 'a', 'b': 'b'}, {'a': 'b', 'b': 'a'}, {})
    """
    answers: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    refused: dict[str, str] = {}
    asked = cache(ask)  # of two views, each is all but the other
    for name in names if len(names) > 1 else ():
        others = tuple(other for other in names if other != name)
        for found, some in zip(answers, ((name,), others)):
            try:
                found[name] = asked(some)
            except (CoviewError, ValueError) as error:
                if name in some or len(some) > 1:  # otherwise it is the sentence of the other view
                    refused.setdefault(name, str(error))
    return *answers, refused


def read_by_view(inspection: Inspection, views: Views, whole: Reading | None = None) -> ViewReadings:
    """Read objects from all views, from each view alone, and from all but each.

    `whole` is the reading from all views, where it is there already. An object without any feature in the views that
    are read has no group: its code is -1, and its memberships are 0. Unused views have no readings.
    """
    described = inspection.preparation.described_objects(views)

    def read(names: tuple[str, ...]) -> Reading:
        reading = read_objects(inspection, views.select(*names))
        return reading.only(np.any([described[name] for name in names], axis=0))

    used = tuple(view for view in views.names if view not in inspection.unused_views)
    alone, without, refused = try_views(used, read)
    whole = read_objects(inspection, views) if whole is None else whole
    return ViewReadings(views, whole, alone, without, described, refused)


def agreement_matrix(readings: ViewReadings) -> dict[str, Any] | None:
    """Return how far two readings agree, for each pair of views and for all views; None for a single view.

    Objects count where they have a feature in both views; "counts" has how many do.
    """
    parts = {**readings.alone, "all views": readings.whole}
    if len(parts) < 3:
        return None
    have = {**readings.described, "all views": np.ones(len(readings.views), dtype=bool)}

    def agree(a: str, b: str) -> float | None:
        both = have[a] & have[b]
        return agreement(parts[a].take(both), parts[b].take(both))

    return {
        "names": list(parts),
        "values": [[1.0 if a == b else agree(a, b) for b in parts] for a in parts],
        "counts": [[int((have[a] & have[b]).sum()) for b in parts] for a in parts],
        "cosine": readings.whole.codes is None,
    }


def agreement(a: Reading, b: Reading) -> float | None:
    """Return the share of objects that two readings put into the same group; without groups, the mean cosine.

    Examples
    --------
    >>> agreement(Reading(None, np.array([0, 1])), Reading(None, np.array([0, 2])))
    0.5
    """
    if a.codes is not None and b.codes is not None:
        return float(np.mean(a.codes == b.codes)) if len(a.codes) else None
    x, y = a.memberships, b.memberships
    if x is None or y is None or not len(x) or x.shape != y.shape:
        return None
    return float((normalize(x) * normalize(y)).sum(axis=1).mean())
