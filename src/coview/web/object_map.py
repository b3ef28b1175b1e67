"""Objects in the plane: where they stand, what they are colored by, which of them a text finds.

Places, groups and colors are sent as arrays in base64, which a browser hands to its graphics card as they are. An
object on the map is called by its position among those that are shown: all of them, or a sample.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.inspection import Reading
from coview.inspection.features import feature_names, is_measured
from coview.inspection.objects import place
from coview.inspection.prevalence import Bins, make_bins
from coview.utils.messages import listed
from coview.utils.sampling import sample_positions
from coview.utils.warn import unwarned
from coview.web.groups import Groups
from coview.web.service import Service, known_views

__all__ = ["MOST_SHOWN", "ObjectMap"]

MOST_SHOWN = 100_000  # objects
MOST_BY_VIEW = 20_000  # objects that are also placed by what each view says of them
COLORS = 10  # values of a column that have a color of their own
MOST_VALUES = 200  # different texts of a column by which objects can be colored
FOUND = 6  # objects of a search that are named
SHORTEST_PREFIX = 3  # letters of a word whose end is still to be typed


class ObjectMap:
    """A map of the objects of a service.

    Parameters
    ----------
    service : Service
        Models and objects.
    groups : Groups
        What the models say of the objects.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> service = Service(LinkPLSA(3, random_state=0).fit(X), X)
    >>> answer = ObjectMap(service, Groups(service)).answer
    >>> answer["shown"], answer["how"].split()[0], unpacked(answer["places"], "<f4").shape
    (60, 't-SNE', (120,))
    """

    def __init__(self, service: Service, groups: Groups) -> None:
        self._service, self._groups = service, groups
        self._bins: dict[str, Bins | None] = {}

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows of the objects on the map."""
        return sample_positions(len(self._service.ids), MOST_SHOWN)

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The places of the objects, their groups with a name and a middle each, and what colors there are."""
        model, n = self._service.sorter, len(self._service.ids)
        reading = Reading(None, None) if model is None else self._groups.reading(model.kind)
        placed = self._place(reading)
        if placed is None:
            return {"shown": 0, "total": n, "groups": [], "columns": []}
        low, high = placed[0].min(axis=0), placed[0].max(axis=0)
        places = (placed[0] - low) / np.where(high > low, high - low, 1)
        codes = np.full(n, -1) if reading.codes is None else np.asarray(reading.codes)
        names = [] if model is None or reading.codes is None else self._groups.names(model.kind)
        sizes = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        codes = codes[self.rows]
        members = [places[codes == k] for k in range(len(names))]
        return {
            "shown": len(self.rows),
            "total": n,
            "how": placed[1],
            "kind": None if model is None else model.kind,
            "groups": [
                {
                    "name": name,
                    "index": k,
                    "size": sizes[k],
                    "middle": np.median(members[k], axis=0).tolist() if len(members[k]) else None,
                }
                for k, name in enumerate(names)
            ],
            "columns": self.columns,
            "places": packed(places, "<f4"),
            "codes": packed(codes, "<i2"),
        }

    def _place(self, reading: Reading) -> tuple[np.ndarray, str] | None:
        """Positions of the objects on the map, and how they were found."""
        model, data = self._service.sorter, self._service.data
        positions = reading.memberships
        if positions is None and data is not None:
            placing = next((each for each in self._service.models if each.kind != "value"), None)
            positions = None if placing is None else placing.embed(known_views(placing, data))
        if positions is None or len(positions) != len(self._service.ids):
            return None
        parts, shown = [positions[self.rows]], None if data is None else data[self.rows]
        if model is not None and shown is not None and len(self.rows) <= MOST_BY_VIEW:
            parts += model.memberships_by_view(known_views(model, shown)).values()
        return place(parts, shown, "tsne")

    # -- colors

    @property
    def _column_names(self) -> list[str]:
        return [] if self._service.table is None else [str(name) for name in self._service.table.names]

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the table by which objects can be colored: dates, numbers and categories."""
        return [name for name in self._column_names if self._column_bins(name) is not None]

    @property
    def categories(self) -> list[str]:
        """Those of these columns that hold categories."""
        kinds = {name: self._column_bins(name) for name in self.columns}
        return [name for name, bins in kinds.items() if bins is not None and bins.kind == "category"]

    def column(self, name: str) -> dict[str, Any]:
        """Return what the objects have in a column of the table, in few values: categories, or numbers in order.

        Parameters
        ----------
        name : str
            A column.
        """
        bins = self._column_bins(name) if name in self._column_names else None
        if bins is None:
            known = listed(tuple(self.columns))
            raise ViewsError(f"Objects cannot be colored by {name!r:.60}; the columns are {known}.")
        codes = bins.codes[self.rows]
        rest = bins.kind == "category" and len(bins.labels) == COLORS and bins.labels[-1].endswith(" others")
        return {
            "name": name,
            "ordered": bins.kind != "category",
            "values": [
                {"name": label, "index": k, "size": int((codes == k).sum())} for k, label in enumerate(bins.labels)
            ],
            "rest": len(bins.labels) - 1 if rest else None,
            "without": int((codes < 0).sum()),
            "codes": packed(codes, "<i2"),
        }

    def _column_bins(self, name: str) -> Bins | None:
        """Values of a column as colors; None where nearly all differ, as texts do, and where there are none."""
        if name not in self._bins:
            self._bins[name] = self._read_bins(name)
        return self._bins[name]

    def _read_bins(self, name: str) -> Bins | None:
        values = self._service.column(name)
        texts = [value for value in values if isinstance(value, str)]
        try:
            with unwarned():  # a column of texts is no mistake here
                bins = make_bins(values, len(values), name, COLORS)
        except (ViewsError, TypeError):  # lists, infinite numbers, nothing at all
            return None
        different = len(set(texts)) if bins.kind == "category" else 0
        if different > MOST_VALUES or 2 * different > len(values) or len(bins.labels) < 2:
            return None
        return bins

    # -- objects

    def objects(self, at: Sequence[int]) -> list[dict[str, Any]]:
        """Return identifiers, captions and groups of objects on the map.

        Parameters
        ----------
        at : sequence of int
            Which of them.
        """
        wrong = [position for position in at if not 0 <= position < len(self.rows)]
        if wrong:
            raise ViewsError(f"There are {len(self.rows):,} objects on the map, numbered from 0; got {wrong[0]}.")
        return self._groups.lines(self.rows[list(at)].tolist())

    def search(self, query: str) -> dict[str, Any]:
        """Return the objects on the map that a text finds.

        Those whose name or caption contains it, and those that have all its words in their views: features that are
        the word, or that begin with it.

        Parameters
        ----------
        query : str
            The text, capitals or not.
        """
        text = query.strip().lower()
        found = np.zeros(len(self._service.ids), dtype=bool)
        if text:
            found |= np.array([text in line for line in self._lines], dtype=bool)
            found |= self._have_words(text.split())
        at = np.flatnonzero(found[self.rows])
        return {"query": query, "total": len(at), "at": packed(at, "<i4"), "first": self.objects(at[:FOUND].tolist())}

    @cached_property
    def _lines(self) -> list[str]:
        """What an object is called, in small letters."""
        return [f"{key}\n{self._service.caption(row) or ''}".lower() for row, key in enumerate(self._service.ids)]

    @cached_property
    def _vocabularies(self) -> dict[str, list[str]]:
        """Features of the views of counts, in small letters."""
        data, model = self._service.data, self._service.model
        views = [] if data is None else [view for view in data.names if view in model.inputs]
        counted = [view for view in views if not is_measured(model, view, data)]
        return {view: [str(name).lower() for name in feature_names(model, view, data)] for view in counted}

    def _have_words(self, words: Sequence[str]) -> np.ndarray:
        """Objects that have every one of some words in a view."""
        n, data = len(self._service.ids), self._service.data
        found = np.ones(n, dtype=bool)
        for word in words:
            has = np.zeros(n, dtype=bool)
            for view, names in self._vocabularies.items():
                begins = len(word) >= SHORTEST_PREFIX
                fits = np.array([name == word or (begins and name.startswith(word)) for name in names], dtype=bool)
                if fits.any() and data is not None:
                    has |= _has_any(data[view], fits)
            found &= has
        return found


def packed(values: np.ndarray, kind: str) -> str:
    """Return an array in base64, as numbers of a kind in NumPy's words ("<f4").

    Examples
    --------
    >>> packed(np.array([1, 2]), "<i2"), unpacked(packed(np.array([1, 2]), "<i2"), "<i2").tolist()
    ('AQACAA==', [1, 2])
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def unpacked(text: str, kind: str) -> np.ndarray:
    """Return the array that was packed, flat."""
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def _has_any(matrix: Any, columns: np.ndarray) -> np.ndarray:
    """Rows with something in one of some columns, which are marked."""
    if not sparse.issparse(matrix):
        return np.asarray((np.asarray(matrix)[:, columns] != 0).any(axis=1))
    matrix = matrix if matrix.format == "csr" else matrix.tocsr()
    so_far = np.concatenate([[0], np.cumsum(columns[matrix.indices] & (matrix.data != 0))])
    return so_far[matrix.indptr[1:]] > so_far[matrix.indptr[:-1]]
