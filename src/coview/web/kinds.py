"""What a service asks of an inspection: which kinds of groups a model has, and the views that it knows."""

from __future__ import annotations

from coview.inspection import Inspection
from coview.views.views import Views

__all__ = ["kinds_of", "known_views", "sorts"]


def kinds_of(model: Inspection) -> list[str]:
    """Return the kinds of groups that a model has, the one that objects are sorted into first; a retriever has none.

    Examples
    --------
    >>> from coview import MultiViewPLSA, inspect
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> kinds_of(inspect(MultiViewPLSA(3, 5, random_state=0).fit(X)))
    ['cluster', 'topic']
    """
    if model.retriever is not None:
        return []
    below = {"topic": model.topics is not None, "component": bool(model.projections)}
    own = [model.kind] if model.groups and model.kind != "value" else []
    return list(dict.fromkeys([*own, *(kind for kind, there in below.items() if there)]))


def known_views(model: Inspection, data: Views) -> Views:
    """Return the views of the data that a model knows."""
    return data.select(*(view for view in data.names if view in model.inputs))


def sorts(model: Inspection) -> bool:
    """Tell whether a model sorts objects into classes, clusters or topics."""
    return model.kind != "component" and model.kind in kinds_of(model)
