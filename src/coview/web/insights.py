"""What groups are worth, where they are prevalent, and how they belong together, for the pages of the explorer.

Everything is computed when it is first asked for, from memberships that are there already, and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.inspection import Inspection
from coview.inspection.hierarchy import group_hierarchy
from coview.inspection.prevalence import group_prevalence
from coview.inspection.quality import NUMBERS, group_quality
from coview.utils.messages import listed
from coview.utils.warn import unwarned
from coview.views.views import Views
from coview.web.groups import Groups
from coview.web.object_map import ObjectMap
from coview.web.service import Service, known_views, sorts

__all__ = ["Insights"]

N_FEATURES = 10  # of each group, that its quality is judged by


class Insights:
    """Quality, prevalence and tree of the groups of a service.

    Parameters
    ----------
    service : Service
        Models, objects and their table.
    groups : Groups
        What the models say of the objects.
    colors : ObjectMap
        Knows which columns of the table hold values that objects share.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> service = Service(LinkPLSA(3, random_state=0).fit(X), X)
    >>> groups = Groups(service)
    >>> quality = Insights(service, groups, ObjectMap(service, groups)).quality("topic")
    >>> [view["name"] for view in quality["views"]], len(quality["groups"])
    (['view0', 'view1'], 3)
    """

    def __init__(self, service: Service, groups: Groups, colors: ObjectMap) -> None:
        self._service, self._groups, self._colors = service, groups, colors
        self._kept: dict[tuple[str, ...], dict[str, Any]] = {}

    def kinds(self) -> list[str]:
        """Kinds of groups that objects are sorted into."""
        return [kind for kind, model in self._groups.by_kind.items() if kind == model.kind and sorts(model)]

    def quality(self, kind: str) -> dict[str, Any]:
        """Return coherence, exclusivity and diversity of the first features of the groups, by view.

        Parameters
        ----------
        kind : str
            Kind of the groups.
        """
        model = self._model(kind)
        return self._once(("quality", kind), lambda: self._quality(model, kind))

    def _quality(self, model: Inspection, kind: str) -> dict[str, Any]:
        objects = self._objects(model)
        if objects is None:
            raise ViewsError("The quality of groups is judged by objects. Start the explorer with data.")
        table = group_quality(model, objects, self._groups.reading(kind).codes, N_FEATURES)
        names = self._groups.names(kind)
        by_group: list[dict[str, Any]] = [{} for _ in names]
        for i, view in enumerate(table["view"]):
            by_group[i % len(names)][view] = {name: _number(table[name][i]) for name in NUMBERS}
        return {
            "kind": kind,
            "n_features": N_FEATURES,
            "views": [
                {"name": view, **{name: _number(means.get(name)) for name in (*NUMBERS, "diversity")}}
                for view, means in table.means.items()
            ],
            "groups": [{"index": k, "name": name, "views": by_group[k]} for k, name in enumerate(names)],
        }

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the table by which prevalence is shown: those that were asked for, else all that can be."""
        lists = [name for name in map(str, self._service.lists) if name not in self._colors.columns]
        return list(self._service.by) or [*self._colors.columns, *lists]

    def prevalence(self, kind: str, by: str | None = None) -> dict[str, Any]:
        """Return how prevalent each group is by the values of a column, with intervals.

        Parameters
        ----------
        kind : str
            Kind of the groups.
        by : str, optional
            A column of the table, by default the first one.
        """
        model = self._model(kind, classes=True)
        if not self.columns:
            raise ViewsError("No column of the table holds dates, numbers or categories, or there is no table.")
        name = self.columns[0] if by is None else by
        if name not in self.columns:
            raise ViewsError(f"Prevalence is shown by the columns {listed(tuple(self.columns))}, not by {name!r:.60}.")
        return self._once(("prevalence", kind, name), lambda: self._prevalence(model, kind, name))

    def _prevalence(self, model: Inspection, kind: str, by: str) -> dict[str, Any]:
        memberships = self._groups.reading(kind).memberships
        if memberships is None:
            raise ViewsError(f"{model.name} does not say which groups the objects belong to. Start with data.")
        values = self._service.column(by, self._service.lists)
        names = self._groups.names(kind)
        with unwarned():  # what is left out is told on the page
            found = group_prevalence(model.groups, names, memberships, values, by=by)
        return {
            "kind": kind,
            "columns": self.columns,
            "by": by,
            "ordered": found.bins.kind != "category",
            "values": found.bins.labels,
            "objects": found.counts.tolist(),
            "without": found.n_missing,
            "groups": [
                {
                    "index": k,
                    "name": name,
                    "mean": _number(memberships[:, k].mean()),
                    "share": list(map(_number, found.shares[:, k])),
                    "low": list(map(_number, found.low[:, k])),
                    "high": list(map(_number, found.high[:, k])),
                }
                for k, name in enumerate(names)
            ],
        }

    def tree(self, kind: str) -> dict[str, Any]:
        """Return the groups as a tree: which two are joined at which distance, and in which order they stand.

        Parameters
        ----------
        kind : str
            Kind of the groups.
        """
        model = self._model(kind)
        return self._once(("tree", kind), lambda: self._tree(model, kind))

    def _tree(self, model: Inspection, kind: str) -> dict[str, Any]:
        codes, objects = self._groups.reading(kind).codes, self._objects(model)
        found = group_hierarchy(model, objects, None if objects is None else codes)
        names = self._groups.names(kind)
        sizes = None if codes is None else np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        return {
            "kind": kind,
            "order": found.order,
            "joins": [[int(a), int(b), round(float(at), 4)] for a, b, at, _ in found.linkage],
            "groups": [
                {"index": k, "name": name, "size": None if sizes is None else sizes[k]} for k, name in enumerate(names)
            ],
        }

    # -- pieces

    def _model(self, kind: str, classes: bool = False) -> Inspection:
        """The model of groups that objects are sorted into; of classes, where these have the page too."""
        if kind not in self.kinds() or (kind == "class" and not classes):
            raise ViewsError(f"Objects are not sorted into groups of kind {kind!r:.60} here, or it has no such page.")
        return self._groups.model(kind)

    def _objects(self, model: Inspection) -> Views | None:
        data = self._service.data
        return None if data is None else model.prepare_views(known_views(model, data))

    def _once(self, key: tuple[str, ...], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def _number(value: Any) -> float | None:
    """A number of few digits as it is sent; None for what is not known."""
    return None if value is None or not np.isfinite(value) else float(f"{float(value):.4g}")
