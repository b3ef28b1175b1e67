"""What the explorer asks for beyond the service: objects from all their views, where views disagree, label sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.inspection import Inspection, Reading, one_hot
from coview.inspection.features import holds_vectors
from coview.utils.messages import did_you_mean, find_close_names, listed
from coview.web.groups import Groups
from coview.web.insights import Insights
from coview.web.labeling import Labeling
from coview.web.object_map import ObjectMap
from coview.web.service import Service, known_views, largest_shares, sorts

__all__ = ["Explorer"]

PAGE = 50  # entries of one answer
FEATURES = 60  # features of an object in one view
MOST_COMPARED = 50_000  # objects whose views are compared
MOST_PAIRS = 60  # of groups that views mix up
NEAR = 6  # similar objects by each view
SUGGESTED = 3  # objects whose identifier resembles one that does not exist
LONGEST_CELL = 6_000  # characters of a cell that are shown


class Explorer:
    """Pages of the explorer as plain values.

    Parameters
    ----------
    service : Service
        Models and objects.
    readings : mapping, optional
        Memberships of the objects that are known already, by kind of the groups.
    """

    def __init__(self, service: Service, readings: Mapping[str, Reading] | None = None) -> None:
        self.service = service
        self.groups = Groups(service, readings)
        self.map = ObjectMap(service, self.groups)
        self.insights = Insights(service, self.groups, self.map)
        self.labeling = Labeling(service, self.groups, self._known_row)

    # -- objects

    def objects(self, query: str = "", start: int = 0) -> dict[str, Any]:
        """Objects whose identifier contains a text, capitals or not."""
        ids = self.service.ids
        rows = [row for row, key in enumerate(self._lowered) if query.lower() in key] if query else range(len(ids))
        shown = list(rows[start : start + PAGE])
        return {
            "total": len(rows),
            "start": start,
            "objects": self.groups.lines(shown),
            "similar": [] if rows else find_close_names(query, ids, SUGGESTED),
        }

    @cached_property
    def _lowered(self) -> list[str]:
        return [str(key).lower() for key in self.service.ids]

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.service.ids)}

    def _row(self, key: Any) -> int | None:
        """Row of an identifier, or None."""
        return self._row_of.get(str(key))

    def known(self, keys: list[Any]) -> list[dict[str, Any]]:
        """Where objects are and what they are sorted into, by their identifiers."""
        rows = [self._row(key) for key in keys]
        lines = iter(self.groups.lines([row for row in rows if row is not None]))
        unknown = {"about": None, "label": None}
        return [
            {**(unknown if row is None else next(lines)), "id": key, "known": row is not None}
            for key, row in zip(keys, rows)
        ]

    def object(self, key: Any) -> dict[str, Any]:
        """Return one object from all its views: what it has, what each model says of it, what is near it."""
        row = self._known_row(key)
        data, ids = self.service.data, self.service.ids
        views = []
        for v, view in enumerate(data.names if data is not None else ()):
            have = data is not None and bool(data.present[row, v])
            texts = self.service.texts.get(view)
            vector = view in self._vector_views
            features, n_features = self._features(view, row) if have and not vector else ([], 0)
            if have and vector and data is not None:
                n_features = int(data[view].shape[1])
            text = texts[row] if have and texts is not None else None
            shown = {"name": view, "present": have, "text": text, "features": features, "total": n_features}
            views.append({**shown, "vector": vector})
        return {
            "row": row,
            "id": ids[row],
            "before": ids[row - 1] if row else None,
            "after": ids[row + 1] if row + 1 < len(ids) else None,
            "columns": self._columns(row),
            "views": views,
            "opinions": self._opinions_of(row),
            "near": self._near(row),
        }

    def _known_row(self, key: Any) -> int:
        """Row of an identifier."""
        row = self._row(key)
        if row is None:
            raise ViewsError(f"There is no object {key!r:.60}.{did_you_mean(key, self.service.ids, SUGGESTED)}")
        return row

    def _columns(self, row: int) -> list[list[Any]]:
        """All cells of an object in the table that it comes from, as [column, value]."""
        cells = []
        for name in [] if self.service.table is None else self.service.table.names:
            value = self.service.cells(name)[row]
            cells.append([str(name), value[:LONGEST_CELL] if isinstance(value, str) else value])
        return cells

    @cached_property
    def _vector_views(self) -> set[str]:
        """Views of vectors, whose columns have no names to show."""
        data, model = self.service.data, self.service.model
        names = () if data is None else data.names
        return {view for view in names if view in model.views and holds_vectors(model, view, data)}

    def _features(self, view: str, row: int) -> tuple[list[list[Any]], int]:
        """The features of an object in a view, the largest first; names where they are known."""
        assert self.service.data is not None
        matrix: Any = self.service.data[view]
        if sparse.issparse(matrix):
            here = slice(matrix.indptr[row], matrix.indptr[row + 1])
            columns, values = matrix.indices[here], matrix.data[here]
        else:
            columns = np.flatnonzero(matrix[row])
            values = matrix[row][columns]
        order = np.argsort(-np.abs(values), kind="stable")[:FEATURES]
        names = self.service.data.feature_names.get(view)
        if names is None and view in self.service.model.inputs:
            names = self.service.model.inputs[view].feature_names
        features = [[f"f{columns[j]}" if names is None else str(names[columns[j]]), float(values[j])] for j in order]
        return features, len(columns)

    def _near(self, row: int) -> list[dict[str, Any]]:
        """What search finds with each view of an object in each view of the others."""
        searcher, data = self.service.searcher, self.service.data
        if searcher is None or data is None:
            return []
        searches: list[dict[str, Any]] = []
        if self.service.ids[row] in self._indexed:
            best = searcher.retriever.near(self.service.ids[row], NEAR)[0]
            searches.append({"source": None, "target": None, "hits": self._shown(best)})
        for v, source in enumerate(data.names):
            if source not in searcher.inputs or not data.present[row, v]:
                continue
            query = data[[row]].select(source)
            if not np.asarray(query[source].sum()):
                continue
            for target in searcher.inputs:
                hits = searcher.retriever.search(query, target=target, k=NEAR + 1)[0]
                mine = self.service.ids[row]
                others = self._shown([(key, score) for key, score in hits if key != mine][:NEAR])
                searches.append({"source": source, "target": target, "hits": others})
        return searches

    @cached_property
    def _indexed(self) -> set[Any]:
        return set() if self.service.searcher is None else set(self.service.searcher.retriever.indexed_ids().tolist())

    def _shown(self, hits: Any) -> list[dict[str, Any]]:
        known = self.known([key for key, _ in hits])
        return [{**one, "score": round(score, 4)} for one, (_, score) in zip(known, hits)]

    def why(self, query: str, source: str | None, target: str | None, key: str) -> dict[str, Any]:
        """What made an object match a query."""
        row = self._row(key)
        if source is not None or target is not None:
            source, target = self.service.query_views(source, target)
        return self.service.why(query, source, target, [key if row is None else self.service.ids[row]])[0]

    # -- what each view says

    @cached_property
    def by_view(self) -> tuple[Inspection, dict[str, np.ndarray]]:
        """The model that sorts objects, and the memberships of its groups by each view alone."""
        model, data = self.service.sorter, self.service.data
        if model is None:
            raise ViewsError("No model assigns objects to groups.")
        if data is None:
            return model, model.training.memberships_by_view
        return model, model.memberships_by_view(known_views(model, data[:MOST_COMPARED]))

    def _opinions_of(self, row: int) -> list[dict[str, Any]]:
        """What every model that sorts objects says of one: from all views, and from each alone."""
        opinions = []
        for model in filter(sorts, self.service.models):
            own = self.groups.by_kind.get(model.kind) is model  # those that have pages
            names = self.groups.names(model.kind) if own else model.group_names
            together, alone = self._memberships_of(model, row)
            opinions.append(
                {
                    "kind": model.kind,
                    "model": model.name,
                    "pages": own,
                    "probabilities": model.probabilities,
                    "together": None if together is None else largest_shares(together, names),
                    "by_view": {} if len(alone) < 2 else {v: largest_shares(part, names) for v, part in alone.items()},
                    "unused": list(model.unused_views),
                }
            )
        return [one for one in opinions if one["together"] or one["by_view"]]

    def _memberships_of(self, model: Inspection, row: int) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
        """Memberships of one object in a model's groups, from all views and from each alone."""
        data = self.service.data
        if self.groups.by_kind.get(model.kind) is model:
            shares, at = self.groups.reading(model.kind).memberships, row
        else:
            reading = model.training_reading() if data is None else model.read(known_views(model, data[[row]]))
            shares, at = reading.memberships, row if data is None else 0
            if shares is None and reading.codes is not None:
                shares = one_hot(reading.codes, len(model.groups))
        by_view, here = model.training.memberships_by_view, row
        if data is not None:
            by_view, here = model.memberships_by_view(known_views(model, data[[row]])), 0
        together = None if shares is None or at >= len(shares) else shares[at]
        return together, {view: part[here] for view, part in by_view.items() if here < len(part)}

    def disagreement(self, start: int = 0, pair: tuple[str, str, int, int] | None = None) -> dict[str, Any]:
        """Objects whose views say different things, the most different first, and which things they mix up.

        The difference of two views is half the sum of the differences of their shares: 0 is the same, 1 apart. With a
        pair (view, other view, group, other group) only the objects of which the two views say these.
        """
        model, by_view = self.by_view
        names = self.groups.names(model.kind)
        views, unused = list(by_view), list(model.unused_views)
        if len(views) < 2:
            return {"total": 0, "objects": [], "pairs": [], "views": views, "unused": unused, "agreement": []}
        tables = np.stack([part[:, : len(names)] for part in by_view.values()])  # views x objects x groups
        have, tops = np.array([part.any(axis=1) for part in tables]), tables.argmax(axis=2)
        worst = np.zeros(have.shape[1])
        differ = np.zeros(have.shape[1], dtype=bool)
        agreement = []
        mixed: list[dict[str, Any]] = []
        for a, b in combinations(range(len(views)), 2):
            both = have[a] & have[b]
            worst = np.maximum(worst, 0.5 * np.abs(tables[a] - tables[b]).sum(axis=1) * both)
            other = (tops[a] != tops[b]) & both
            differ |= other
            n_both = int(both.sum())
            if n_both:
                agreement.append([views[a], views[b], round(1 - float(other.sum() / n_both), 4), n_both])
            mixed += [
                {"views": [views[a], views[b]], "groups": [names[j], names[k]], "keys": [j, k], "objects": n}
                for j, k, n in _mixed_up(tops[a, other], tops[b, other], len(names))
            ]
        chosen = differ
        if pair is not None:
            a, b = (views.index(view) if view in views else -1 for view in pair[:2])
            if min(a, b) < 0:
                raise ViewsError(f"The views that are compared are {listed(tuple(views))}, got {pair[0]!r:.60}.")
            chosen = have[a] & have[b] & (tops[a] == pair[2]) & (tops[b] == pair[3]) & differ
        order = np.flatnonzero(chosen)
        order = order[np.argsort(-worst[order], kind="stable")]
        objects = [
            {
                **line,
                "difference": round(float(worst[row]), 4),
                "by_view": {view: largest_shares(tables[v, row], names, 2) for v, view in enumerate(views)},
            }
            for row, line in zip(order[start:], self.groups.lines(order[start : start + PAGE].tolist()))
        ]
        return {
            "kind": model.kind,
            "probabilities": model.probabilities,
            "total": len(order),
            "compared": int((have.sum(axis=0) > 1).sum()),
            "start": start,
            "objects": objects,
            "pairs": sorted(mixed, key=lambda one: -one["objects"])[:MOST_PAIRS],
            "views": views,
            "unused": unused,
            "agreement": agreement,
        }


def _mixed_up(first: np.ndarray, second: np.ndarray, n_groups: int) -> list[tuple[int, int, int]]:
    """What two views say of the same objects, and of how many, the most frequent first."""
    codes, counts = np.unique(first * n_groups + second, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
    return [(int(codes[j] // n_groups), int(codes[j] % n_groups), int(counts[j])) for j in order]
