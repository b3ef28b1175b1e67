"""What a fitted model says of objects: functions of an `Inspection` that reports, the explorer and `compare` ask.

Objects are what the model takes, or what its estimator itself takes where they are `prepared` already.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coview.inspection.memberships import dense, label_codes, shares_of
from coview.inspection.records import Reading
from coview.utils.warn import unwarned

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = [
    "can_predict",
    "can_transform",
    "embed_objects",
    "expected_features",
    "output_names",
    "predict_label_sets",
    "read_groups",
    "read_training",
    "transform_objects",
    "without_groups",
]


def can_predict(inspection: Inspection) -> bool:
    """Tell whether a model predicts a class, a cluster or a value for new objects."""
    answered = inspection._predict is not None or inspection._memberships is not None
    return answered and inspection.kind in ("class", "cluster", "value")


def can_transform(inspection: Inspection) -> bool:
    """Tell whether a model has a `transform`."""
    return inspection._transform is not None


def read_groups(inspection: Inspection, X: Any, *, prepared: bool = False) -> Reading:
    """Return memberships and groups of objects in one pass."""
    objects = inspection.preparation.as_taken(X, prepared)
    memberships = inspection.memberships(objects, prepared=True)
    if inspection.kind in ("component", "value"):
        return Reading(memberships, None)
    if inspection._memberships is not None and inspection._predict is not None:
        with unwarned():
            return Reading(memberships, label_codes(inspection._predict(objects), inspection.labels))
    return Reading(memberships, None if memberships is None else memberships.argmax(axis=1))


def read_training(inspection: Inspection) -> Reading:
    """Return the stored memberships and groups of the training objects."""
    return Reading(inspection.training.memberships, inspection.training.codes)


def embed_objects(inspection: Inspection, X: Any, *, prepared: bool = False) -> np.ndarray | None:
    """Return the positions of objects in a model's space; memberships if it has no other space."""
    objects = inspection.preparation.as_taken(X, prepared)
    if inspection._embed is None:
        return inspection.memberships(objects, prepared=True)
    return dense(inspection._embed(objects))


def transform_objects(inspection: Inspection, X: Any) -> Any:
    """Return the result of a model's own `transform`, a matrix or views; None if it has none."""
    if inspection._transform is None:
        return None
    return inspection._transform(inspection.preparation.prepare(X, lazy=True))


def output_names(inspection: Inspection, width: int) -> list[str]:
    """Return the names of the output columns of `transform`, or t0, t1, ..."""
    asked = getattr(inspection.estimator, "get_feature_names_out", None)
    names = [] if asked is None else [str(name) for name in asked()]
    return names if len(names) == width else [f"t{j}" for j in range(width)]


def predict_label_sets(inspection: Inspection, X: Any, *, prepared: bool = False) -> np.ndarray | None:
    """Return the set of labels of each object (objects x labels); None for a model without an ontology."""
    if inspection._label_sets is None:
        return None
    return inspection._label_sets(inspection.preparation.as_taken(X, prepared))


def expected_features(inspection: Inspection, X: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the expected features of each view under a mixture model; empty for other models.

    Returns
    -------
    dict of (mixture, profiles)
        Objects x groups and groups x features; their product is proportional to p(feature | object) in the view.
    """
    if inspection._profiles is None:
        return {}
    views = inspection.preparation.prepare(X)
    if inspection._memberships_by_view is None:
        mixtures: dict[str, Any] = dict.fromkeys(inspection.views, inspection.memberships(views, prepared=True))
    else:
        mixtures = {view: dense(part) for view, part in inspection._memberships_by_view(views).items()}
    return {view: (mixtures[view], part.T) for view, part in inspection._profiles().items() if view in mixtures}


def without_groups(inspection: Inspection, groups: Collection[int]) -> Inspection:
    """Return the answers of a model as if it never had some of its groups, by position: their columns are 0.

    Objects are asked about again: mixtures are folded in with the other topics alone, and a cluster is the nearest
    of the others. Of a model that cannot tell, the other memberships are brought to a sum of one.
    """
    if not groups:
        return inspection
    n_groups = len(inspection.groups)
    kept = np.setdiff1d(np.arange(n_groups), list(groups))
    smaller = None if inspection._keeping is None else inspection._keeping(kept)
    asked = inspection if smaller is None else smaller

    def wide(part: Any) -> np.ndarray:
        part = part if smaller is not None else shares_of(part[:, kept])
        whole = np.zeros((len(part), n_groups), part.dtype)
        whole[:, kept] = part
        return whole

    return replace(
        inspection,
        _memberships=lambda X: wide(asked.memberships(X, prepared=True)),
        _memberships_by_view=lambda X: {
            view: wide(part) for view, part in asked.memberships_by_view(X, prepared=True).items()
        },
        _predict=None,
    )
