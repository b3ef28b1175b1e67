"""What the pages of the explorer show: the sections of `coview.describe` one by one, and objects from all views.

Everything is worked out when it is first asked for, and kept; an edit makes another explorer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.inspection import Inspection, Reading
from coview.inspection.effects import read_formula
from coview.inspection.features import feature_names, holds_vectors, is_measured
from coview.inspection.prevalence import Bins, make_bins
from coview.preprocessing.vectorizer import is_char_ngram
from coview.report.model import describe_model
from coview.report.objects import read
from coview.report.summary import STAGES, Summary
from coview.report.words import content
from coview.utils.jsonable import to_jsonable
from coview.utils.messages import did_you_mean, find_close_names, listed
from coview.utils.warn import silenced
from coview.web.labeling import Labeling
from coview.web.service import Service, known_views, largest_shares, sorts

__all__ = ["Explorer"]

PAGE = 50  # entries of one answer
FEATURES = 60  # features of an object in one view
NEAR = 6  # similar objects
SUGGESTED = 3  # objects whose identifier resembles one that does not exist
LONGEST_CELL = 6_000  # characters of a cell that are shown
SHORTEST_PREFIX = 3  # letters of a word whose end is still to be typed
BINS, MOST_VALUES = 10, 200  # values of a column in a picture, and different texts of a column that has one
SECTIONS = ("model", *(name for names in STAGES.values() for name in names))


class Explorer:
    """Pages of the explorer as plain values.

    Parameters
    ----------
    service : Service
        Models and objects.
    readings : mapping, optional
        What models say of the objects where that is known already, by position of the model.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> explorer = Explorer(Service(LinkPLSA(3, random_state=0).fit(X), X))
    >>> explorer.about()["pages"]
    ['overview', 'groups', 'objects', 'views', 'try', 'model']
    >>> sum(group["size"] for group in explorer.section(0, "groups")["items"])
    60
    """

    def __init__(self, service: Service, readings: Mapping[int, Reading] | None = None) -> None:
        self.service = service
        self._readings = dict(readings or {})
        self._summaries: dict[int, Summary] = {}
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._working = threading.RLock()  # a page asks for several sections at once, which are made of the same parts
        self.labeling = Labeling(service, self)

    # -- what there is

    def about(self) -> dict[str, Any]:
        """Return the pages that there are, and what is said on all of them."""
        service = self.service
        return {
            **service.info(),
            "pages": self.pages,
            "sorter": None if service.sorter is None else service.models.index(service.sorter),
            "shown": [{"at": at, "model": model.name, "kind": model.kind} for at, model in self._shown.items()],
            "columns": self.columns,
            "fingerprint": self._fingerprint,
        }

    @cached_property
    def _fingerprint(self) -> str:
        """What tells these objects and labels from others: the page keeps decisions on them by it."""
        known = [self.service.title, self.service.ids, self.service.model.groups, self.labeling.known()]
        return blake2b(repr(known).encode(), digest_size=8).hexdigest()

    @property
    def pages(self) -> list[str]:
        """Pages that mean something for these models and objects."""
        service, sorter = self.service, self.service.sorter
        used = (
            []
            if sorter is None
            else [view for view in sorter.preparation.inputs if view not in sorter.preparation.unused_inputs]
        )
        classes = sorter if service.data is not None and sorter is not None and sorter.kind == "class" else None
        there = {
            "overview": True,
            "groups": bool(self._shown),
            "objects": bool(service.ids),
            "views": service.data is not None and len(used) > 1,
            "label": classes is not None,
            "check": classes is not None and service.labels is not None and classes.structure.ontology is None,
            "try": bool({"predict", "transform"} & set(service.abilities)),
            "model": True,
        }
        return [name for name, means in there.items() if means]

    @cached_property
    def _shown(self) -> dict[int, Inspection]:
        """The models whose groups have a page, by their position: the first of each kind."""
        found: dict[str, int] = {}
        for at, model in enumerate(self.service.models):
            if sorts(model) or (model.kind == "component" and model.groups and model.structure.retriever is None):
                found.setdefault(model.kind, at)
        return {at: self.service.models[at] for at in found.values()}

    # -- what a model says

    def summary(self, at: int) -> Summary:
        """Return the description of a model by its position."""
        if not 0 <= at < len(self.service.models):
            raise ViewsError(f"There is no model {at}; they are numbered from 0 to {len(self.service.models) - 1}.")
        with self._working:
            if at not in self._summaries:
                self._summaries[at] = self._summarize(at)
            return self._summaries[at]

    def _summarize(self, at: int) -> Summary:
        service, model = self.service, self.service.models[at]
        data = None if service.data is None else known_views(model, service.data)
        y = None if data is None or model.kind == "value" else service.labels
        objects = read(model, data, y, len(service.ids) or None, self._readings.get(at))
        if service.table is not None:
            objects = replace(objects, texts=[service.caption(row) for row in objects.rows.tolist()])
        return Summary(model, objects)

    def section(self, at: int, name: str) -> Any:
        """Return a section of `coview.describe` for a model.

        Parameters
        ----------
        at : int
            Position of the model.
        name : str
            The section; None where it does not apply.
        """
        if name not in SECTIONS:
            raise ViewsError(f"There is no section {name!r:.60}; they are {listed(SECTIONS)}.")
        if name == "model":
            return to_jsonable(describe_model(self.summary(at).inspection))
        return self._once((at, name), lambda: self.summary(at)[name])

    def prevalence(self, at: int, by: str) -> Any:
        """Return how prevalent the groups of a model are by the values of a column.

        Parameters
        ----------
        at : int
            Position of the model.
        by : str
            A column of the table.
        """
        if by not in self.columns:
            raise ViewsError(f"Prevalence is shown by the columns {listed(tuple(self.columns))}, not by {by!r:.60}.")
        with silenced(but=DeprecationWarning):  # what is left out is told on the page
            column = self.service.column(by, self.service.lists)
            return self._once((at, "prevalence", by), lambda: self.summary(at).prevalence(by, column))

    def effects(self, at: int, formula: str, clusters: str | None = None) -> Any:
        """Return how the shares of the groups of a model depend on columns of the table.

        Parameters
        ----------
        at : int
            Position of the model.
        formula : str
            The covariates.
        clusters : str, optional
            The column that tells which objects belong together.
        """
        names, service = [name for name, _ in read_formula(formula)] + ([clusters] if clusters else []), self.service
        if service.table is None:
            raise ViewsError("A formula needs a raw table: start the explorer with one.")
        service.table.check_has(names, " for the formula")
        columns = {name: service.column(name) for name in names}
        with silenced(but=DeprecationWarning):  # what is left out is told on the page
            return to_jsonable(self.summary(at).effects(formula, columns, clusters or None))

    def _once(self, key: tuple[Any, ...], make: Any) -> Any:
        if key not in self._kept:
            with self._working:
                if key not in self._kept:
                    self._kept[key] = to_jsonable(make())
        return self._kept[key]

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the table by which prevalence is shown: those that were asked for, else all that can be."""
        service = self.service
        if service.table is None or service.sorter is None:
            return []
        return list(service.by) or [name for name in map(str, service.table.names) if self._is_shared(name)]

    def _is_shared(self, name: str) -> bool:
        """Whether objects share values of a column: dates, numbers, categories and items of lists, but not texts."""
        values = self.service.column(name)
        texts = [value for value in values if isinstance(value, str)]
        try:
            with silenced(but=DeprecationWarning):  # a column of texts is no mistake here
                bins: Bins = make_bins(values, name, BINS)
        except (ViewsError, TypeError):  # infinite numbers, nothing at all
            return name in map(str, self.service.lists)
        different = len(set(texts)) if bins.kind == "category" else 0
        many = different > MOST_VALUES or 2 * different > len(values) or len(bins.labels) < 2
        return not many or name in map(str, self.service.lists)

    def members(self, at: int, key: str, start: int, count: int) -> dict[str, Any]:
        """Return the objects of a group: typical ones first, then those with the largest share.

        Parameters
        ----------
        at : int
            Position of the model.
        key : str
            The group.
        start, count : int
            Which of them.
        """
        summary = self.summary(at)
        model, reading = summary.inspection, summary.objects.reading
        if key not in model.groups:
            raise ViewsError(f"There is no {model.kind} {key!r:.60}; there are {listed(tuple(model.groups))}.")
        if reading.codes is None:
            return {"probabilities": False, "total": 0, "members": []}
        group = model.groups.index(key)
        rows = np.flatnonzero(reading.codes == group)
        shares = np.ones(len(reading.codes)) if reading.memberships is None else reading.memberships[:, group]
        parts = (self.section(at, "examples") or {"typical": []})["typical"]
        typical = [self.row_of(one["id"]) for part in parts if part["group"] == key for one in part["objects"]]
        rest = np.setdiff1d(rows, typical)
        order = [*typical, *rest[np.argsort(-shares[rest], kind="stable")].tolist()]
        part = order[start : start + count]
        members = [{**line, "share": round(float(shares[row]), 4)} for line, row in zip(self.lines(part), part)]
        return {"probabilities": model.structure.probabilities, "total": len(order), "members": members}

    # -- objects

    def lines(self, rows: list[int]) -> list[dict[str, Any]]:
        """Return what tells objects in a list, with the group that each is sorted into.

        Where no column of a table tells them, they are told by what they have most of.
        """
        service, sorter = self.service, self.service.sorter
        lines = [{**service.line(row), "label": None} for row in rows]
        if sorter is None:
            return lines
        summary = self.summary(service.models.index(sorter))
        codes, names = summary.objects.reading.codes, summary.names
        for line, row, words in zip(lines, rows, summary.words(rows) if service.captions is None else [{}] * len(rows)):
            line["about"] = line["about"] or content(words) or None
            line["label"] = None if codes is None or codes[row] < 0 else names[codes[row]]
        return lines

    def objects(self, query: str = "", start: int = 0) -> dict[str, Any]:
        """Return the objects that a text finds: those whose name contains it, then those that have all its words.

        "unknown" are its words that no object has. An object has a word where a cell of its row in the table has it, or
        a view a feature, or a longer word that begins with it.
        """
        ids, text = self.service.ids, query.strip().lower()
        rows, unknown = list(range(len(ids))), []
        if text:
            have = {word: self._have_word(word) for word in text.split()}
            named = [row for row, key in enumerate(ids) if text in str(key).lower()]
            rows = [*named, *np.setdiff1d(np.flatnonzero(np.all(list(have.values()), axis=0)), named).tolist()]
            unknown = [word for word, rows_of in have.items() if not rows_of.any()]
        return {
            "total": len(rows),
            "start": start,
            # without a table and names of features no word is known
            "unknown": unknown if self._vocabularies or self.service.table is not None else [],
            "objects": self.lines(rows[start : start + PAGE]),
            "similar": [] if rows else find_close_names(query, ids, SUGGESTED),
        }

    @cached_property
    def _vocabularies(self) -> dict[str, list[str]]:
        """Features of the views of counts, in small letters."""
        data, model = self.service.data, self.service.model
        views = [] if data is None else [view for view in data.names if view in model.preparation.inputs]
        counted = [view for view in views if not is_measured(model, view, data)]
        return {view: [str(name).lower() for name in feature_names(model, view, data)] for view in counted}

    @cached_property
    def _text(self) -> tuple[str, np.ndarray]:
        """All rows of the table in small letters, and where each begins."""
        table, cells = self.service.table, self.service.cells
        columns = [] if table is None else [cells(name) for name in table.names]
        rows = ["\n".join(str(cell) for cell in row if cell is not None).lower() for row in zip(*columns)]
        return "\n".join(rows), np.cumsum([0, *(len(row) + 1 for row in rows)])

    def _have_word(self, word: str) -> np.ndarray:
        """Objects that have a word."""
        has, data = np.zeros(len(self.service.ids), dtype=bool), self.service.data
        text, begins_of = self._text
        found = [match.start() for match in re.finditer(re.escape(word), text)]
        starts = [at for at in found if not (at and (text[at - 1].isalnum() or text[at - 1] == "_"))]
        has[np.searchsorted(begins_of, starts, side="right") - 1] = True
        for view, names in self._vocabularies.items():
            begins = len(word) >= SHORTEST_PREFIX
            fits = [name == word or (begins and name.startswith(word)) for name in names]
            if any(fits) and data is not None:
                has |= np.asarray((data[view][:, np.flatnonzero(fits)] != 0).sum(axis=1)).reshape(-1) > 0
        return has

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.service.ids)}

    def known(self, keys: Sequence[Any]) -> list[dict[str, Any]]:
        """Return where objects are and what they are sorted into, by their identifiers."""
        rows = [self._rows.get(str(key)) for key in keys]
        lines = iter(self.lines([row for row in rows if row is not None]))
        unknown = {"about": None, "label": None}
        return [
            {**(unknown if row is None else next(lines)), "id": key, "known": row is not None}
            for key, row in zip(keys, rows)
        ]

    def row_of(self, key: Any) -> int:
        """Return the row of an identifier, or refuse it."""
        row = self._rows.get(str(key))
        if row is None:
            raise ViewsError(f"There is no object {key!r:.60}.{did_you_mean(key, self.service.ids, SUGGESTED)}")
        return row

    def object(self, key: Any) -> dict[str, Any]:
        """Return one object from all its views: what it has, what each model says of it, what is near it."""
        row, ids = self.row_of(key), self.service.ids
        return {
            "row": row,
            "id": ids[row],
            "before": ids[row - 1] if row else None,
            "after": ids[row + 1] if row + 1 < len(ids) else None,
            "columns": self._columns(row),
            "views": [] if self.service.data is None else [self._view(view, row) for view in self.service.data.names],
            "opinions": self._opinions_of(row),
            "near": self._near(row),
        }

    def _columns(self, row: int) -> list[list[Any]]:
        """All cells of an object in the table that it comes from but its name, as [column, value]."""
        cells = []
        for name in [] if self.service.table is None else self.service.table.names:
            values = self.service.cells(name)
            if all(str(value) == str(key) for value, key in zip(values, self.service.ids)):
                continue
            value = values[row]
            cells.append([str(name), value[:LONGEST_CELL] if isinstance(value, str) else value])
        return cells

    def _view(self, view: str, row: int) -> dict[str, Any]:
        """What an object has in a view: its text, and its features, the largest first; columns of vectors are none."""
        data, model = self.service.data, self.service.model
        assert data is not None
        shown = {"name": view, "present": bool(data.present[row, data.names.index(view)]), "text": None}
        if not shown["present"]:
            return {**shown, "features": [], "total": 0, "vector": False}
        texts, matrix = self.service.texts.get(view), data[view][[row]]
        values = (matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)).reshape(-1)
        vector = view in model.views and holds_vectors(model, view, data)
        names = feature_names(model, view, data) if view in model.views else [f"f{j}" for j in range(len(values))]
        # parts of words say nothing to people
        columns = np.array([j for j in np.flatnonzero(values).tolist() if not is_char_ngram(str(names[j]))], dtype=int)
        order = [] if vector else columns[np.argsort(-np.abs(values[columns]), kind="stable")][:FEATURES].tolist()
        return {
            **shown,
            "text": None if texts is None else texts[row],
            "features": [[names[j], float(values[j])] for j in order],
            "total": len(values) if vector else len(columns),
            "vector": vector,
        }

    def _near(self, row: int) -> list[dict[str, Any]]:
        """The objects that a search finds by all views of one."""
        searcher, key = self.service.searcher, self.service.ids[row]
        if searcher is None or key not in self._indexed:
            return []
        hits = searcher.structure.retriever.near(key, NEAR)[0]
        return [
            {**one, "score": round(score, 4)} for one, (_, score) in zip(self.known([key for key, _ in hits]), hits)
        ]

    @cached_property
    def _indexed(self) -> set[Any]:
        return (
            set()
            if self.service.searcher is None
            else set(self.service.searcher.structure.retriever.indexed_ids().tolist())
        )

    def _opinions_of(self, row: int) -> list[dict[str, Any]]:
        """What models say of an object: from all views, and from each alone."""
        opinions = []
        for at, model in self._shown.items():
            if model.kind == "component":
                continue
            summary, data = self.summary(at), self.service.data
            shares, here = summary.objects.reading.memberships, row
            if data is None:
                by_view = model.training.memberships_by_view
            else:
                by_view, here = model.memberships_by_view(known_views(model, data[[row]])), 0
            alone = {view: largest_shares(part[here], summary.names) for view, part in by_view.items()}
            together = None if shares is None else largest_shares(shares[row], summary.names)
            opinions.append(
                {
                    "at": at,
                    "kind": model.kind,
                    "model": model.name,
                    "groups": list(model.groups),
                    "probabilities": model.structure.probabilities,
                    "together": together,
                    "by_view": alone if len(alone) > 1 else {},
                    "unused": list(model.unused_views),
                }
            )
        return [one for one in opinions if one["together"] or one["by_view"]]
