"""Metadata, such as sample weights, on its way to the estimators inside others: scikit-learn's metadata routing.

Without routing enabled `sample_weight` goes to every estimator inside, as in scikit-learn's own wrappers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from coview.exceptions import ParameterError

__all__ = ["make_metadata_router", "route_metadata", "take_metadata"]


def make_metadata_router(owner: Any, estimators: Mapping[str, Any], *methods: str, **others: str) -> MetadataRouter:
    """Return the answer of `get_metadata_routing`: methods hand on to those of the same name, `others` to these."""
    mapping = MethodMapping()
    for caller, callee in {**dict.fromkeys(methods), **others}.items():
        mapping.add(caller=caller, callee=callee or caller)
    return MetadataRouter(owner=type(owner).__name__).add(method_mapping=mapping, **estimators)


def route_metadata(owner: Any, method: str, metadata: Mapping[str, Any], names: Any) -> dict[str, dict[str, Any]]:
    """Return what each of the estimators inside, by name, gets of the metadata that a method was called with."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, method, **metadata)
        return {name: dict(routed[name][method]) for name in names}
    unknown = [name for name in metadata if name != "sample_weight"]
    if unknown:
        raise ParameterError(
            f"{type(owner).__name__}.{method} takes sample_weight, got {unknown[0]}. Other metadata needs "
            "scikit-learn's routing: sklearn.set_config(enable_metadata_routing=True)."
        )
    weights = metadata.get("sample_weight")
    return {name: {} if weights is None else {"sample_weight": weights} for name in names}


def take_metadata(metadata: Mapping[str, Any], rows: np.ndarray | None, n_rows: int) -> dict[str, Any]:
    """Return metadata of some rows: of what has one value per object, the values of these; None for all rows.

    Examples
    --------
    >>> take_metadata({"sample_weight": [1, 2, 3], "tag": "a"}, np.array([0, 2]), 3)
    {'sample_weight': array([1, 3]), 'tag': 'a'}
    """
    chosen = dict(metadata)
    for name, value in metadata.items():
        if isinstance(value, str) or np.ndim(value) == 0:
            continue
        values = np.asarray(value)
        if len(values) != n_rows:
            raise ParameterError(f"must hold one value per object: {len(values)} for {n_rows} objects.", parameter=name)
        chosen[name] = values if rows is None else values[rows]
    return chosen
