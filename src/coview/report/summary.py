"""A fitted model, with or without objects and labels, as one plain dict: what a report says, before it has a form.

The dict holds numbers, texts, lists and dicts only, so that `json.dumps` takes it. Sections that do not apply to a
model, or that need data which is not given, are absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ParameterError, ViewsError
from coview.inspection import Features, Inspection, Reading
from coview.inspection.by_view import ViewReadings, read_as_fitted, read_by_view, read_objects
from coview.inspection.captions import LOOKED_AT, caption_column
from coview.inspection.features import (
    deviations_of,
    feature_names,
    features_by_view,
    group_names,
    holds_categories,
    holds_vectors,
    is_measured,
    top_features,
)
from coview.inspection.hierarchy import group_hierarchy
from coview.inspection.labels import label_tree
from coview.inspection.measures import fit_curves
from coview.inspection.names import LEAST_DEVIATION, own_names
from coview.inspection.objects import disputed_objects, distinctive_features, map_objects, place, typical_objects
from coview.inspection.prevalence import group_prevalence
from coview.inspection.quality import group_quality
from coview.inspection.reading import read_training
from coview.inspection.vectors import nearest_in_groups
from coview.model_selection.stability import refit_stability
from coview.preprocessing.columns import RawTransformer, Table, as_table
from coview.report.scores import (
    Holdout,
    describe_holdout,
    hold_out,
    score_labels,
    score_views,
)
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.utils.warn import unwarned
from coview.validation import check_count, encode_labels, is_gap, minus_one_is_unlabeled
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["STAGES", "ReadObjects", "Summary", "read", "summarize"]

MOST_OBJECTS, MOST_NONZEROS = 5_000, 500_000  # read for the measures; of more a sample
VIEW_OBJECTS, VIEW_NONZEROS = 3_000, 300_000  # of these, on the map, and read from each view alone and without each
MOST_TEXTS = 3_000  # objects of a raw table, whose texts take longer to read than all else
LEAST_OBJECTS = 1_000  # however full they are
FEATURES = 10  # of a group in one view
MOST_GROUPS = 60  # of a tree, and of those that vectors are explained by
MOST_COMPARISONS = 1_000_000_000  # of features of two groups each, for a tree that nobody asked for
QUALITY_FEATURES = 10  # of each group, as in other libraries
STABILITY_FITS = 5
MOST_TOPICS = 12  # of a view, the largest
MOST_COMPONENTS = 12
BRIEF, MOST_BRIEF = 3, 8  # features of a view that stand beside a group's name, and of all views
TYPICAL, TYPICAL_WORDS = 3, 4  # objects of a group, and features of each in a view
DISPUTED = 30  # objects
SHOWN_OUTLIERS = 8
FEWEST_JUDGED = 50  # objects, of fewer it is not known what is usual
TEXT_LETTERS = 110  # of an object's text
FAR = 1.0  # standard deviations, from which on a measurement of one object is high or low
QUERIES, HITS = 200, 10  # of searches
# what is worked out, in the order in which it is, by what is said of it meanwhile
STAGES: dict[str, tuple[str, ...]] = {
    "reading the objects": ("group_names", "data", "curves"),
    "describing the groups": ("groups", "topics", "quality", "hierarchy", "variance", "outliers", "ontology", "search"),
    "choosing typical and disputed objects": ("examples",),
    "comparing the views": ("views",),
    "placing the objects on the map": ("map",),
    "scoring": ("scores",),
}


@dataclass(frozen=True)
class ReadObjects:
    """Objects, their labels as codes, and what a model says of them.

    Attributes
    ----------
    reading : Reading
        What the model says of them.
    rows : ndarray
        Where they stand among all objects.
    n_objects : int or None
        How many objects there are, before sampling.
    views : Views or None
        The objects as the model takes them.
    ids : ndarray or None
        Their identifiers.
    texts : list of str or None
        What a person would call them by, of raw tables.
    labels, codes, classes : ndarray or None
        Their labels, the same as positions among the classes (-1 for none), and the classes.
    as_fitted : bool
        Whether they are taken for the objects of the fit: there are as many, and the model places no others.
    """

    reading: Reading
    rows: np.ndarray
    n_objects: int | None
    views: Views | None = None
    ids: np.ndarray | None = None
    texts: list[Any] | None = None
    labels: Any = None
    codes: np.ndarray | None = None
    classes: np.ndarray | None = None
    as_fitted: bool = False

    def label(self, row: int) -> str | None:
        """Label of an object as text."""
        if self.codes is None or self.classes is None or self.codes[row] < 0:
            return None
        return str(self.classes[self.codes[row]])


class Summary:
    """A fitted model and objects, section by section; each is worked out when it is first asked for, and kept.

    Parameters
    ----------
    inspection : Inspection
        The model.
    objects : ReadObjects
        The objects.
    y_fit, held_out, map_method
        As in `coview.make_report`.
    """

    def __init__(
        self,
        inspection: Inspection,
        objects: ReadObjects,
        y_fit: Any = None,
        held_out: bool | str = "auto",
        map_method: str = "tsne",
    ) -> None:
        self.inspection, self.objects, self._y_fit = inspection, objects, y_fit
        self._held_out, self._map_method = held_out, map_method
        self.sorts = inspection.kind in ("class", "cluster", "topic") and inspection.structure.retriever is None
        self.noun = inspection.kind if self.sorts or inspection.kind == "value" else None
        self._kept: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            with unwarned():  # of views asked alone, of copies and of samples nobody asked
                describe = _SIMPLE.get(name)
                self._kept[name] = getattr(self, f"_{name}")() if describe is None else describe(self)
        return self._kept[name]

    @cached_property
    def names(self) -> list[str]:
        """Names of the groups: of clusters and topics their most characteristic features."""
        return group_names(self.inspection, self.objects.views, self.objects.reading.codes)

    @cached_property
    def held(self) -> Holdout | str | None:
        """Objects that a copy of the model has not learned from, or why there are none."""
        objects = self.objects
        used = None if self._y_fit is None or objects.codes is None else _as_objects(self._y_fit)[objects.rows]
        return hold_out(
            self.inspection,
            objects.views,
            objects.labels,
            objects.codes,
            objects.classes,
            wanted=self._held_out,
            y_fit=used,
        )

    def _group_names(self) -> dict[str, str]:
        """Names of clusters and topics by their keys; none of groups that have a name or number of their own."""
        return own_names(self.inspection.groups, self.names, self.inspection.kind)

    # -- objects read from each view, no more of them than takes seconds

    @cached_property
    def _most(self) -> int:
        views = self.objects.views
        return 0 if views is None else min(VIEW_OBJECTS, _affordable(views, VIEW_NONZEROS))

    @cached_property
    def _rows(self) -> np.ndarray:
        objects = self.objects
        n, most = (objects.n_objects or 0, VIEW_OBJECTS) if objects.views is None else (len(objects.views), self._most)
        return sample_positions(n, most)

    @cached_property
    def _readings(self) -> ViewReadings | None:
        objects = self.objects
        if objects.views is None:
            return None
        return read_by_view(self.inspection, objects.views[self._rows], objects.reading.take(self._rows))

    def _examples(self) -> dict[str, Any] | None:
        readings = self._readings
        return None if readings is None else _describe_examples(self.inspection, self.objects, readings, self._rows)

    def _views(self) -> dict[str, Any] | None:
        readings = self._readings
        told = [] if readings is None else readings.alone.values()
        if readings is None or all(reading.codes is None and reading.memberships is None for reading in told):
            return None
        return _describe_contributions(self.inspection, self.objects, readings, self._rows, self.held, self._most)

    def _map(self) -> dict[str, Any] | None:
        readings = self._readings
        if readings is not None:
            placed = map_objects(self.inspection, readings, self._map_method)
            whole = readings.whole
        else:
            whole = self.objects.reading.take(self._rows)
            placed = place([whole.memberships], None, self._map_method) if whole.graded else None
        return None if placed is None else _describe_map(self.inspection, self.objects, self._rows, whole, *placed)

    # -- measures

    def _scores(self) -> dict[str, Any] | None:
        objects = self.objects
        if objects.codes is None or objects.classes is None:
            return None
        return score_labels(self.inspection, objects.reading, objects.codes, objects.classes, objects.views, self.held)

    def words(self, rows: list[int]) -> list[dict[str, list[str]]]:
        """Return what some objects have most of, by view."""
        views = self.objects.views
        return [{} for _ in rows] if views is None else _words_of(self.inspection, views, rows, TYPICAL_WORDS)

    def prevalence(self, name: str, values: Any) -> dict[str, Any] | None:
        """Return how prevalent the groups are by the values of a column; None where objects are in none.

        Parameters
        ----------
        name : str
            The column.
        values : sequence
            Its value for each of all objects.
        """
        memberships = self.objects.reading.memberships
        return None if memberships is None else _describe_prevalence(self.inspection, self.objects, name, values)


# sections that take the model and the objects alone
_SIMPLE: dict[str, Callable[[Summary], Any]] = {
    "data": lambda s: _describe_data(s.inspection, s.objects),
    "curves": lambda s: fit_curves(s.inspection),
    "groups": lambda s: _describe_groups(s.inspection, s.objects, s["group_names"]),
    "topics": lambda s: _describe_topics(s.inspection),
    "quality": lambda s: _describe_quality(s.inspection, s.objects) if s.sorts and s.noun != "class" else None,
    "hierarchy": lambda s: _describe_hierarchy(s.inspection, s.objects) if s.sorts else None,
    "variance": lambda s: _describe_variance(s.inspection),
    "outliers": lambda s: _describe_outliers(s.inspection, s.objects) if s.sorts else None,
    "ontology": lambda s: (
        None if s.inspection.structure.ontology is None else label_tree(s.inspection, s.objects.views)
    ),
    "search": lambda s: _describe_search(s.inspection, s.objects),
}


def summarize(
    inspection: Inspection,
    X: Any,
    y: Any,
    y_fit: Any,
    held_out: bool | str,
    max_objects: int | None,
    map_method: str,
    by: Mapping[str, Any] | None = None,
    stability: bool = False,
) -> dict[str, Any]:
    """Return what a report says of a model and of objects; see `coview.make_report`."""
    kept = inspection.training.codes
    if X is None and y is not None and (kept is None or len(kept) != len(y)):
        raise ValueError("y needs the objects that the labels belong to: pass X too.")
    if y is not None and inspection.kind == "value":
        problem = f"are labels, but {inspection.name} predicts numbers: sklearn.metrics.r2_score compares those."
        raise ParameterError(problem, parameter="y")
    objects = read(inspection, X, y, max_objects)
    for name, values in (by or {}).items():
        if objects.reading.memberships is None or inspection.kind in ("component", "value"):
            raise ViewsError(f"by asks how prevalent groups are, but {inspection.name} puts no objects into groups.")
        if len(values) != objects.n_objects:
            raise ViewsError(
                f"by must have a value of {name!r} for each of the {objects.n_objects:,} objects, got {len(values):,}."
            )
    if stability:
        _check_stability(inspection, objects)
    described = Summary(inspection, objects, y_fit, held_out, map_method)
    summary: dict[str, Any] = {"noun": described.noun}
    for done, (stage, sections) in enumerate(STAGES.items()):
        tell(stage, done, len(STAGES))
        summary |= {name: described[name] for name in sections}
    with unwarned():
        summary["prevalence"] = [described.prevalence(name, values) for name, values in (by or {}).items()] or None
        if stability:
            summary["quality"] = _with_stability(inspection, X, summary["quality"])
    return summary


# -- objects


def read(
    inspection: Inspection, X: Any, y: Any, max_objects: int | None, reading: Reading | None = None
) -> ReadObjects:
    """Return the objects that a report is on, at most so many of them, and what the model says of them."""
    if X is None:
        reading = read_training(inspection)
        n = next(
            (len(part) for part in (reading.codes, reading.memberships) if part is not None),
            inspection.training.n_objects,
        )
        rows = np.arange(n or 0)
        return ReadObjects(reading, rows, n, None, inspection.training.ids, None, *_labels(inspection, y, n, rows))
    most = MOST_OBJECTS if max_objects is None else check_count("max_objects", max_objects)
    raw = None if isinstance(X, (Views, LazyViews)) else _as_raw_table(inspection, X)
    if isinstance(X, LazyViews):  # no more is read from disk than is needed
        n, rows = len(X), sample_positions(len(X), most)
        views = inspection.preparation.prepare_views(X[rows])
    elif raw is not None and raw.n_rows > (few := most if max_objects else MOST_TEXTS):
        n, rows = raw.n_rows, sample_positions(raw.n_rows, few)
        views = inspection.preparation.prepare_views(raw.take(rows))
    else:
        views = inspection.preparation.prepare_views(X)
        n, rows = len(views), np.arange(len(views))
    chosen = sample_positions(len(views), most if max_objects else min(most, _affordable(views, MOST_NONZEROS)))
    if len(chosen) < len(views):
        views, rows = views[chosen], rows[chosen]
    labels, codes, classes = _labels(inspection, y, n, rows)
    reading = read_objects(inspection, views) if reading is None else reading
    kept = read_as_fitted(inspection, n) if reading.codes is None else None
    if kept is not None:
        reading = kept.take(rows)
    ids = rows if views.ids is None else np.asarray(views.ids)
    texts = _texts(inspection, X, rows)
    return ReadObjects(reading, rows, n, views, ids, texts, labels, codes, classes, kept is not None)


def _as_raw_table(inspection: Inspection, X: Any) -> Table | None:
    """What a model makes views of; None where it takes views."""
    if not isinstance(inspection.preparation.front, RawTransformer):
        return None
    read = inspection.preparation.text_columns
    return as_table(X, bare=read[0] if read else None)


def _texts(inspection: Inspection, X: Any, rows: np.ndarray) -> list[str] | None:
    """The texts of some rows of a raw table in the column that tells them best, such as titles; None without texts."""
    table = None if isinstance(X, (Views, LazyViews)) else _as_raw_table(inspection, X)
    if table is None:
        return None
    read = inspection.preparation.text_columns
    first = table.head(LOOKED_AT)
    names = [name for name in first.names if name != inspection.preparation.id_column]
    columns: dict[Any, Sequence[Any]] = {name: first.cells(name) for name in names}
    named = inspection.preparation.id_column in table.names
    ids = table.cells(inspection.preparation.id_column) if named else range(table.n_rows)
    chosen = caption_column(columns, ids, read, inspection.preparation.list_columns)
    if chosen is not None:
        columns = {chosen: table.cells(chosen)}
    else:  # texts that are much alike are better than none
        columns = dict(inspection.preparation.raw_texts(X))
        chosen = min(columns, key=lambda view: sum(map(len, columns[view])), default=None)
    if chosen is None:
        return None
    texts = [" ".join(str(columns[chosen][row] or "").split()) for row in rows.tolist()]
    return [text if len(text) <= TEXT_LETTERS else f"{text[:TEXT_LETTERS].rsplit(' ', 1)[0]} …" for text in texts]


def _labels(inspection: Inspection, y: Any, n: int | None, rows: np.ndarray) -> tuple[Any, ...]:
    """Labels of some rows, the same as codes, and the classes; None for each where there is no label."""
    if y is None or all(is_gap(label) or (not isinstance(label, str) and label == -1) for label in _as_objects(y)):
        return None, None, None
    codes, classes = encode_labels(y, n, semi_supervised=minus_one_is_unlabeled(inspection.estimator))
    return _as_objects(y)[rows], codes[rows], classes


def _affordable(views: Views, nonzeros: int) -> int:
    """How many of these objects have so many values that are not zero, together and in all views."""
    matrices: list[Any] = list(views.values())
    stored = sum(int(matrix.nnz if sparse.issparse(matrix) else matrix.size) for matrix in matrices)
    return max(int(nonzeros * len(views) / max(stored, 1)), LEAST_OBJECTS)


def _as_objects(y: Any) -> np.ndarray:
    return np.fromiter(np.asarray(y, dtype=object).tolist(), dtype=object, count=len(y))


def _names(inspection: Inspection, views: Views | None) -> dict[str, list[str]]:
    """Names of features, by view."""
    known = {*inspection.views, *(() if views is None else views.names)}
    return {view: feature_names(inspection, view, views) for view in known if view in inspection.views}


# -- sections on data and groups


def _describe_data(inspection: Inspection, objects: ReadObjects) -> dict[str, Any]:
    """One row for each view, from the data given or from what the model remembers."""
    views, unused = objects.views, list(inspection.unused_views)
    taken: dict[str, dict[str, Any]] = {
        name: {
            "likelihood": inspection.structure.likelihoods.get(name),
            "scaling": inspection.structure.scalings.get(name),
        }
        for name in [*inspection.views, *([] if views is None else views.names)]
    }
    if views is None:
        rows = [{"name": name, "n_features": view.n_features, **taken[name]} for name, view in inspection.views.items()]
        return {"measured": False, "n_objects": objects.n_objects, "sampled": None, "views": rows, "unused": unused}
    rows = [
        {**_describe_view(name, part, views.present[:, v]), **taken[name]}
        for v, (name, part) in enumerate(views.items())
    ]
    return {
        "measured": True,
        "as_fitted": objects.as_fitted,
        "n_objects": objects.n_objects,
        "sampled": len(views) if len(views) < (objects.n_objects or 0) else None,
        "views": rows,
        "unused": unused,
        "complete": float(views.present.all(axis=1).mean()) if len(views) else 1.0,
        "absent": [name for name in inspection.views if name not in views],
    }


def _describe_view(name: str, matrix: Any, present: np.ndarray) -> dict[str, Any]:
    n, width = matrix.shape
    counts = np.asarray((matrix != 0).sum(axis=1)).reshape(-1)
    return {
        "name": name,
        "n_features": int(width),
        "density": int(counts.sum()) / max(n * width, 1),
        "per_object": float(np.median(counts[present])) if present.any() else 0.0,
        "missing": float(1 - present.mean()) if n else 0.0,
    }


def _describe_groups(inspection: Inspection, objects: ReadObjects, called: Mapping[str, str]) -> dict[str, Any] | None:
    """Size, most common label and features of each group; of components the features at either end."""
    if inspection.kind == "value" or not inspection.groups:
        return None
    reading, names = objects.reading, _names(inspection, objects.views)
    features = features_by_view(inspection, objects.views, reading.codes)
    deviations = {view: part.deviations is not None for view, part in features.items()}
    section = {
        "noun": inspection.kind,
        "count": len(inspection.groups),
        "origin": {view: part.origin for view, part in features.items()},
        "probabilities": {view: part.probabilities for view, part in features.items()},
        "deviations": deviations,
    }
    if inspection.kind == "component":
        return {**section, "items": _component_ends(inspection, features, names)} if features else None
    top = {view: top_features(part, names[view], FEATURES) for view, part in features.items()}
    sizes = (
        None
        if reading.codes is None
        else np.bincount(reading.codes[reading.codes >= 0], minlength=len(inspection.groups))
    )
    categories = [
        view
        for view, part in features.items()
        if holds_categories(part, objects.views[view] if objects.views is not None and view in objects.views else None)
    ]
    items = []
    for g in _largest_first(objects.reading.codes, len(inspection.groups)).tolist():
        item: dict[str, Any] = {"name": inspection.groups[g], "index": g}
        if sizes is not None:
            item["size"], item["share"] = int(sizes[g]), float(sizes[g] / max(sizes.sum(), 1))
            item["label"] = _most_common_label(objects, g) if inspection.kind != "class" else None
        item["features"] = {view: lists[g] for view, lists in top.items()}
        known = called.get(item["name"], "").split(", ")
        items.append({**item, "about": _describe_briefly(item["features"], deviations, categories, known)})
    return {**section, "items": items, "moved": _moved_since_the_fit(inspection, objects)}


def _describe_briefly(
    features: Mapping[str, list[tuple[str, float, float]]],
    deviations: Mapping[str, bool],
    categories: Sequence[str],
    known: Sequence[str],
) -> list[str]:
    """What tells a group from the others, beside what its name says already: a few features of each view.

    Of measurements, those in which the group is about average say nothing.
    """
    said: list[str] = []
    for view, lists in features.items():
        if deviations[view]:
            lists = [feature for feature in lists if abs(feature[1]) >= LEAST_DEVIATION]
            texts = [f"{'high' if value > 0 else 'low'} {name}" for name, value, _ in lists]
        else:
            texts = [f"{view}: {name.removeprefix(f'{view}_')}" if view in categories else name for name, *_ in lists]
        said += [text for text in texts if text not in known][: BRIEF if len(features) < 4 else 1]
    return list(dict.fromkeys(said))[:MOST_BRIEF]


def _moved_since_the_fit(inspection: Inspection, objects: ReadObjects) -> int | None:
    """How many objects of the fit are in another group here than at its end; None unless ids say they are the same.

    A fit ends with memberships that moved along with the topics; `predict` finds them anew from the final ones.
    """
    kept, read = inspection.training, objects.reading.codes
    if kept.codes is None or read is None or objects.views is None or objects.n_objects != len(kept.codes):
        return None
    if kept.ids is None or objects.views.ids is None or (kept.ids[objects.rows] != objects.views.ids).any():
        return None
    return int((kept.codes[objects.rows] != read).sum())


def _largest_first(codes: np.ndarray | None, n: int) -> np.ndarray:
    """Positions of groups or labels, the largest first; as they are where no object has one."""
    if codes is None:
        return np.arange(n)
    return np.argsort(-np.bincount(codes[codes >= 0], minlength=n), kind="stable")


def _component_ends(
    inspection: Inspection, features: dict[str, Features], names: dict[str, list[str]]
) -> list[dict[str, Any]]:
    items = []
    for c in range(min(MOST_COMPONENTS, len(inspection.groups))):
        for end, sign in (("+", 1.0), ("−", -1.0)):
            parts = {view: Features(sign * part.weights[[c]]) for view, part in features.items()}
            top = {view: top_features(part, names[view], FEATURES, by="weight")[0] for view, part in parts.items()}
            items.append({"name": f"{inspection.groups[c]} {end}", "index": c, "features": top})
    return items


def _most_common_label(objects: ReadObjects, group: int) -> dict[str, Any] | None:
    if objects.codes is None or objects.classes is None:
        return None
    members = objects.codes[(objects.reading.codes == group) & (objects.codes >= 0)]
    if not len(members):
        return None
    counts = np.bincount(members, minlength=len(objects.classes))
    return {"name": str(objects.classes[counts.argmax()]), "share": float(counts.max() / counts.sum())}


def _describe_topics(inspection: Inspection) -> dict[str, Any] | None:
    """Topics below clusters or classes, and how the groups mix them, by view."""
    if inspection.structure.topics is None:
        return None
    section: dict[str, Any] = {"items": {}, "mixtures": {}, "count": {}, "groups": inspection.groups}
    for view, weights in inspection.structure.topics.features.items():
        shares = np.asarray(inspection.structure.topics.shares[view])
        order = np.argsort(-shares.sum(axis=0), kind="stable")[:MOST_TOPICS]
        top = top_features(Features(np.asarray(weights), True), inspection.feature_names(view), FEATURES)
        section["items"][view] = [
            {"name": str(t), "mass": float(shares[:, t].mean()), "features": top[t]} for t in order.tolist()
        ]
        section["mixtures"][view] = np.round(shares[:, order], 4)
        section["count"][view] = int(shares.shape[1])
    return section


def _describe_outliers(inspection: Inspection, objects: ReadObjects) -> dict[str, Any] | None:
    """Objects that no group explains, of a model that has a likelihood; none where chance alone gives as many."""
    views = objects.views
    if views is None or not inspection.structure.likelihoods or len(views) < FEWEST_JUDGED:
        return None
    try:
        found = inspection.outliers(views)
    except ViewsError:  # too short to tell
        return None
    rows = found["row"][:SHOWN_OUTLIERS] if found.exceeds_chance else []
    things = [
        {
            "id": row if objects.ids is None else objects.ids[row],
            "text": None if objects.texts is None else objects.texts[row],
            "words": words,
            "score": score,
            "group": group,
        }
        for row, score, group, words in zip(
            rows, found["score"], found["group"], _words_of(inspection, views, rows, TYPICAL_WORDS)
        )
    ]
    judged = int(np.isfinite(found.scores).sum())
    return {"objects": things, "count": len(found["row"]), "judged": judged, "about": found.about}


def _describe_quality(inspection: Inspection, objects: ReadObjects) -> dict[str, Any] | None:
    """Coherence and diversity of the groups by view; of many groups the most and the least coherent ones."""
    if objects.views is None:
        return None
    found = group_quality(inspection, objects.views, objects.reading.codes, QUALITY_FEATURES)
    if not found.means:
        return None
    npmi = np.array(found["npmi"], dtype=np.float64).reshape(len(found.means), -1)
    known = np.isfinite(npmi)
    mean = np.where(known.any(axis=0), np.where(known, npmi, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), -2.0)
    order = np.argsort(-mean, kind="stable")
    return {
        "noun": inspection.kind,
        "n_features": QUALITY_FEATURES,
        "views": [
            {"name": view, "npmi": means.get("npmi"), "diversity": means["diversity"]}
            for view, means in found.means.items()
        ],
        "groups": [
            {
                "key": inspection.groups[g],
                "npmi": {view: float(row[g]) if np.isfinite(row[g]) else None for view, row in zip(found.means, npmi)},
            }
            for g in order.tolist()
        ],
    }


def _describe_hierarchy(inspection: Inspection, objects: ReadObjects) -> dict[str, Any] | None:
    """The groups as a tree from the root down; of many groups, parts of the tree.

    None where there are too few groups, or no features to compare them by.
    """
    n, codes = len(inspection.groups), objects.reading.codes
    width = sum(view.n_features for view in inspection.views.values())
    if inspection.kind not in ("cluster", "topic") or n < 3 or n * (n - 1) / 2 * width > MOST_COMPARISONS:
        return None
    try:
        tree = group_hierarchy(inspection, objects.views, codes)
    except ViewsError:
        return None  # nothing is known of the features
    sizes = None if codes is None else np.bincount(codes[codes >= 0], minlength=n)
    lines = [
        {
            "level": level,
            "groups": [inspection.groups[g] for g in sorted(node.pre_order())],
            "distance": None if node.is_leaf() else float(node.dist),
            "size": None if sizes is None else int(sizes[node.pre_order()].sum()),
        }
        for node, level in tree.walk(MOST_GROUPS)
    ]
    return {"noun": inspection.kind, "count": n, "shown": min(n, MOST_GROUPS), "lines": lines}


def _check_stability(inspection: Inspection, objects: ReadObjects) -> None:
    """Refuse to measure stability where there is nothing to fit again, or nothing to find again."""
    if inspection.kind not in ("cluster", "topic") or inspection.structure.retriever is not None:
        raise ViewsError(
            f"stability asks which topics or clusters other seeds find again, but {inspection.name} finds neither."
        )
    if objects.views is None:
        raise ViewsError("stability fits copies of the model: pass X, the objects of the fit.")
    if inspection.training.n_objects not in (None, objects.n_objects):
        raise ViewsError(
            f"stability fits copies of the model on the {inspection.training.n_objects:,} objects of its fit, got "
            f"{objects.n_objects:,} objects."
        )


def _with_stability(inspection: Inspection, X: Any, quality: dict[str, Any] | None) -> dict[str, Any]:
    """The section on quality, with how much of each group fits with other seeds find again."""
    if quality is None:
        raise ViewsError(
            f"stability compares the first {QUALITY_FEATURES} features of the groups of {inspection.name}, but its "
            "views have fewer features, or vectors or measurements."
        )
    table = refit_stability(inspection.preparation.model, X, n_fits=STABILITY_FITS, n_features=QUALITY_FEATURES)
    found: dict[str, dict[str, float]] = {}
    for group, view, share in zip(table["group"], table["view"], table["stability"]):
        found.setdefault(view, {})[group] = share
    views = [row["name"] for row in quality["views"]]
    return {
        **quality,
        "n_fits": STABILITY_FITS,
        "views": [{**row, "stability": float(np.mean(list(found[row["name"]].values())))} for row in quality["views"]],
        "groups": [
            {**row, "stability": {view: found[view][str(row["key"])] for view in views}} for row in quality["groups"]
        ],
    }


def _describe_prevalence(inspection: Inspection, objects: ReadObjects, name: str, values: Any) -> dict[str, Any]:
    """How prevalent each group is by the values of a column."""
    memberships = objects.reading.memberships
    assert memberships is not None
    table = group_prevalence(
        inspection.groups, inspection.group_names, memberships, _as_objects(values)[objects.rows], by=name
    )
    return {
        "by": name,
        "kind": table.bins.kind,
        "noun": inspection.kind,
        "values": table.bins.labels,
        "without": table.n_missing,
        "n_objects": table.counts,
        "groups": inspection.groups,
        "share": table.shares.T,
        "low": table.low.T,
        "high": table.high.T,
    }


def _describe_variance(inspection: Inspection) -> dict[str, Any] | None:
    """Share of the variance of views of vectors that groups explain; of many groups those that explain most."""
    if not inspection.structure.variance_explained:
        return None
    shares = np.array([np.asarray(part, dtype=np.float64) for part in inspection.structure.variance_explained.values()])
    order = np.sort(np.argsort(-shares.max(axis=0), kind="stable")[:MOST_GROUPS])
    return {
        "noun": inspection.kind,
        "groups": [inspection.groups[g] for g in order.tolist()],
        "count": len(inspection.groups),
        "views": [
            {"name": view, "total": float(row.sum()), "shares": row[order]}
            for view, row in zip(inspection.structure.variance_explained, shares)
        ],
    }


# -- sections on objects


def _describe_contributions(
    inspection: Inspection,
    objects: ReadObjects,
    readings: ViewReadings,
    rows: np.ndarray,
    held: Holdout | str | None,
    most: int,
) -> dict[str, Any]:
    """What is predicted from each view alone and without it: of objects that the model has not learned from, or all."""
    views, available = objects.views, len(objects.rows)
    unused = inspection.unused_views
    if isinstance(held, Holdout) and views is not None:
        rows = held.rows[sample_positions(len(held.rows), most)]
        inspection, available = held.inspection, len(held.rows)
        readings = read_by_view(inspection, views[rows])
        # the copy may use views that the model does not
        readings = replace(readings, alone={name: one for name, one in readings.alone.items() if name not in unused})
    codes = None if objects.codes is None else objects.codes[rows]
    found = score_views(inspection, readings, codes, objects.classes)
    return {
        **found,
        "rows": [row for row in found["rows"] if row["name"] not in unused],
        "n_objects": len(rows),
        "sampled": len(rows) if len(rows) < available else None,
        "held_out": describe_holdout(held),
    }


def _describe_map(
    inspection: Inspection, objects: ReadObjects, rows: np.ndarray, reading: Reading, positions: np.ndarray, method: str
) -> dict[str, Any]:
    low, high = positions.min(axis=0), positions.max(axis=0)
    scaled = np.round((positions - low) / np.where(high > low, high - low, 1), 4)
    labels = [] if objects.classes is None else [str(label) for label in objects.classes.tolist()]
    codes = None if objects.codes is None else objects.codes[rows]
    if reading.codes is not None:
        noun, names, groups = inspection.kind, inspection.groups, reading.codes
    elif codes is not None:
        noun, names, groups = "label", labels, codes
    else:
        noun, names, groups = "object", ["objects"], np.zeros(len(rows), dtype=int)
    margins = reading.margins() if inspection.structure.probabilities else None
    return {
        "method": method,
        "x": scaled[:, 0],
        "y": scaled[:, 1],
        "group": groups,
        "names": names,
        "noun": noun,
        "ids": rows if objects.ids is None else objects.ids[rows],
        "label": codes,
        "labels": labels,
        "margin": None if margins is None else np.round(margins, 3),
        "n_objects": objects.n_objects,
    }


def _describe_examples(
    inspection: Inspection, objects: ReadObjects, readings: ViewReadings, rows: np.ndarray
) -> dict[str, Any] | None:
    """Most typical objects of each group, of all; most disputed ones, of those that were read by view."""
    views, reading, n_groups = objects.views, objects.reading, len(inspection.groups)
    if views is None or reading.codes is None:
        return None
    scaled = {view: deviations_of(matrix, *moments) for view, matrix, moments in _measurements(inspection, views)}
    typical = typical_objects(reading, n_groups, TYPICAL, Views({**dict(views.items()), **scaled}))
    vectors = [view for view in views.names if holds_vectors(inspection, view, views)]
    nearest = {view: nearest_in_groups(inspection, views, reading.codes, view, TYPICAL) for view in vectors}
    disputed = disputed_objects(readings, DISPUTED)
    chosen = [row for groups in (typical, *nearest.values()) for group in groups for row in group]
    chosen += [int(rows[item["row"]]) for item in disputed]
    if not chosen:
        return None
    words = dict(zip(chosen, _words_of(inspection, views, chosen, TYPICAL_WORDS)))
    ids, texts, whole = objects.ids, objects.texts, readings.whole.codes

    def about(row: int) -> dict[str, Any]:
        return {
            "id": row if ids is None else ids[row],
            "text": None if texts is None else texts[row],
            "label": objects.label(row),
            "words": words[row],
        }

    def name(code: int) -> str:
        return inspection.groups[code] if 0 <= code < n_groups else "none"

    share = np.zeros((len(views), n_groups)) if reading.memberships is None else reading.memberships
    return {
        "typical": [
            {"group": inspection.groups[g], "objects": [{**about(row), "share": share[row, g]} for row in members]}
            for g, members in enumerate(typical)
            if members
        ],
        "nearest": {
            view: {inspection.groups[g]: [about(row) for row in members] for g, members in enumerate(groups) if members}
            for view, groups in nearest.items()
        },
        "disputed": [
            {
                **about(int(rows[item["row"]])),
                "strength": item["strength"],
                "by_view": {view: name(code) for view, code in item["codes"].items()},
                "all": None if whole is None else name(int(whole[item["row"]])),
            }
            for item in disputed
        ],
    }


def _words_of(inspection: Inspection, views: Views, rows: list[int], n: int) -> list[dict[str, list[str]]]:
    """Distinctive features of some objects by view; of measurements those that are high or low, of vectors none."""
    names = _names(inspection, views)
    shown = [view for view in views.names if view in inspection.views and not holds_vectors(inspection, view, views)]
    measured = [part for part in _measurements(inspection, views) if part[0] in shown]
    counted = [view for view in shown if view not in [view for view, *_ in measured]]
    words = distinctive_features(views.select(*counted), rows, names, n) if counted else [{} for _ in rows]
    for view, matrix, moments in measured:
        for said, row, far in zip(words, rows, deviations_of(matrix[rows], *moments)):
            if views.present[row, views.names.index(view)]:
                order = np.argsort(-np.abs(far), kind="stable")[:n]
                said[view] = [
                    f"{'high' if far[j] > 0 else 'low'} {names[view][j]}" for j in order if abs(far[j]) >= FAR
                ]
    return words


def _measurements(inspection: Inspection, views: Views) -> list[tuple[str, np.ndarray, tuple[np.ndarray, np.ndarray]]]:
    """Views of measurements, each with the mean and the spread of its columns over the objects that have it."""
    found = []
    for v, (view, matrix) in enumerate(views.items()):
        have = views.present[:, v]
        told = view in inspection.views and have.any() and not sparse.issparse(matrix)
        if told and is_measured(inspection, view, views):
            values = np.asarray(matrix, dtype=np.float64)
            here = values[have]
            found.append((view, values, (here.mean(axis=0), here.std(axis=0))))
    return found


# -- searches


def _describe_search(inspection: Inspection, objects: ReadObjects) -> dict[str, Any] | None:
    """How often one view of an object finds another of its views."""
    retriever, views = inspection.structure.retriever, objects.views
    if retriever is None:
        return None
    section: dict[str, Any] = {"indexed": len(retriever.indexed_ids()), "pairs": []}
    if views is None:
        return section
    ids = np.arange(len(views)) if views.ids is None else np.asarray(views.ids)
    rows_of = {key: row for row, key in enumerate(ids.tolist())}
    names = [name for name in views.names if name in inspection.views]
    for source, target in permutations(names, 2):
        indexed = set(np.asarray(retriever.indexed_ids(target)).tolist())
        have = np.flatnonzero(views.present[:, views.names.index(source)])
        queries = np.array([row for row in have.tolist() if ids[row] in indexed], dtype=np.int64)
        if not len(queries):
            continue
        queries = queries[sample_positions(len(queries), QUERIES)]
        hits = retriever.search(views[queries].select(source), source, target, min(HITS, len(indexed)))
        own = hits.ids == ids[queries][:, None]
        pair: dict[str, Any] = {
            "source": source,
            "target": target,
            "n_queries": len(queries),
            "first": float(own[:, 0].mean()),
            "among": float(own.any(axis=1).mean()),
            "k": int(hits.ids.shape[1]),
        }
        if objects.codes is not None:
            y = objects.codes
            labels = np.array([[y[rows_of[key]] if key in rows_of else -1 for key in row] for row in hits.ids.tolist()])
            same = (labels == y[queries][:, None])[y[queries] >= 0]
            pair["same_label"] = float(same.mean()) if same.size else None
        section["pairs"].append(pair)
    return section
