"""A fitted model, with or without objects and labels, as one plain dict: what a report says, before it has a form.

The dict holds numbers, texts, lists and dicts only, so that `json.dumps` takes it. Sections that do not apply to a
model, or that need data which is not given, are absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from coview.exceptions import ParameterError, ViewsError
from coview.inspection import Features, Inspection
from coview.inspection.by_view import ViewReadings, read_by_view
from coview.inspection.choice import views_that
from coview.inspection.effects import estimate_effects, measure_shares
from coview.inspection.features import (
    feature_names,
    features_by_view,
    group_names,
    holds_categories,
    holds_vectors,
    top_features,
)
from coview.inspection.hierarchy import group_hierarchy
from coview.inspection.known import count_equal
from coview.inspection.labels import label_tree
from coview.inspection.names import LEAST_DEVIATION, measured_word, own_names
from coview.inspection.objects import (
    disputed_objects,
    distinctive_features,
    map_objects,
    measured_deviations,
    place,
    typical_objects,
)
from coview.inspection.prevalence import group_prevalence
from coview.inspection.quality import group_quality
from coview.inspection.vectors import nearest_in_groups
from coview.report.objects import ReadObjects, affordable, as_objects, read
from coview.report.scores import Holdout, hold_out, score_labels, score_views
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.utils.warn import unwarned
from coview.views.views import Views

__all__ = ["STAGES", "Summary", "summarize"]

VIEW_OBJECTS, VIEW_NONZEROS = 3_000, 300_000  # of these, on the map, and read from each view alone and without each
FEATURES = 10  # of a group in one view
MOST_GROUPS = 60  # of a tree, and of those that vectors are explained by
MOST_COMPARISONS = 1_000_000_000  # of features of two groups each, for a tree that nobody asked for
QUALITY_FEATURES = 10  # of each group, as in other libraries
MOST_TOPICS = 12  # of a view, the largest
MOST_COMPONENTS = 12
BRIEF, MOST_BRIEF = 3, 8  # features of a view that stand beside a group's name, and of all views
TYPICAL, TYPICAL_WORDS = 3, 4  # objects of a group, and features of each in a view
DISPUTED = 30  # objects
SHOWN_OUTLIERS = 8
FEWEST_JUDGED = 50  # objects, of fewer it is not known what is usual
QUERIES, HITS = 200, 10  # of searches


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
        self.inspection, self.objects, self.map_method = inspection, objects, map_method
        self._y_fit, self._held_out = y_fit, held_out
        self.sorts = inspection.kind in ("class", "cluster", "topic") and inspection.structure.retriever is None
        self.noun = inspection.kind if self.sorts or inspection.kind == "value" else None
        self._kept: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            with unwarned():  # of views asked alone, of copies and of samples nobody asked
                self._kept[name] = next(part[name] for part in STAGES.values() if name in part)(self)
        return self._kept[name]

    @cached_property
    def names(self) -> list[str]:
        """Names of the groups: of clusters and topics their most characteristic features."""
        return group_names(self.inspection, self.objects.views, self.objects.reading.codes)

    @cached_property
    def sizes(self) -> np.ndarray | None:
        """Number of objects in each group."""
        codes = self.objects.reading.codes
        return None if codes is None else np.bincount(codes[codes >= 0], minlength=len(self.inspection.groups))

    @cached_property
    def held(self) -> Holdout | str | None:
        """Objects that a copy of the model has not learned from, or why there are none."""
        used = None if self._y_fit is None else as_objects(self._y_fit)[self.objects.rows]
        return hold_out(self.inspection, self.objects, self._held_out, used)

    # -- objects read from each view, no more of them than takes seconds

    @cached_property
    def most(self) -> int:
        """Most objects that are read from each view."""
        views = self.objects.views
        return VIEW_OBJECTS if views is None else min(VIEW_OBJECTS, affordable(views, VIEW_NONZEROS))

    @cached_property
    def rows(self) -> np.ndarray:
        """The objects that are read from each view, and shown on the map."""
        return sample_positions(len(self.objects.rows), self.most)

    @cached_property
    def readings(self) -> ViewReadings | None:
        """What the model says of these objects from all views and from each; None without views."""
        views = self.objects.views
        if views is None:
            return None
        return read_by_view(self.inspection, views[self.rows], self.objects.reading.take(self.rows))

    # -- what is said of objects and of columns

    def words(self, rows: list[int]) -> list[dict[str, list[str]]]:
        """Return what some objects have most of, by view."""
        views = self.objects.views
        return (
            [{} for _ in rows] if views is None else distinctive_features(self.inspection, views, rows, TYPICAL_WORDS)
        )

    def things(self, rows: list[int]) -> list[dict[str, Any]]:
        """Return what tells some objects: id, text, label, and what they have most of."""
        ids, texts = self.objects.ids, self.objects.texts
        return [
            {
                "id": row if ids is None else ids[row],
                "text": None if texts is None else texts[row],
                "label": self.objects.label(row),
                "words": words,
            }
            for row, words in zip(rows, self.words(rows))
        ]

    def prevalence(self, name: str, values: Any) -> dict[str, Any] | None:
        """Return how prevalent the groups are by the values of a column; None where objects are in none.

        Parameters
        ----------
        name : str
            The column.
        values : sequence
            Its value for each of all objects.
        """
        inspection, memberships = self.inspection, self.objects.reading.memberships
        if memberships is None:
            return None
        values = as_objects(values)[self.objects.rows]
        table = group_prevalence(inspection.groups, inspection.group_names, memberships, values, by=name)
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

    def effects(self, formula: str, columns: Mapping[str, Any], clusters: str | None = None) -> dict[str, Any]:
        """Return how the shares of the groups depend on columns of the table.

        Parameters
        ----------
        formula : str
            The covariates.
        columns : dict of sequences
            Their values for each of all objects, and those of the clusters.
        clusters : str, optional
            The column that tells which objects belong together.
        """
        inspection, objects = self.inspection, self.objects
        shares = objects.reading.memberships
        if objects.views is not None:
            shares = measure_shares(inspection, objects.views)
        if shares is None or not inspection.groups:
            raise ViewsError(f"{inspection.name} puts no objects into groups whose shares could be explained.")
        known = {name: as_objects(values)[objects.rows] for name, values in columns.items()}
        own = None if clusters is None else known[clusters]
        table = estimate_effects(inspection.groups, inspection.group_names, shares, formula, known, own)
        width = len(inspection.groups)
        parts: list[dict[str, Any]] = []
        for term in table.terms:
            ends, line = term.places[[0, -1]], term.kind == "number" and term.labels == [term.name]
            for label in term.labels:
                at = len(parts) * width
                # per unit of a small number shares would change by more than there is
                rows = {key: np.array(table[key][at : at + width]) for key in ("effect", "low", "high")}
                rows = {key: np.clip(values * (np.ptp(ends) if line else 1), -1, 1) for key, values in rows.items()}
                label = "{}, {:.4g} to {:.4g}".format(label, *ends) if line else label
                base = f", not {term.values[0]}" if term.values else ""
                parts.append({**rows, "p_value": table["p_value"][at : at + width], "label": label + base})
        facts = {key: getattr(table, key) for key in ("n_objects", "n_missing", "n_clusters")}
        return {"formula": formula, "noun": inspection.kind, "groups": inspection.groups, "terms": parts, **facts}


def summarize(
    inspection: Inspection,
    X: Any,
    y: Any,
    y_fit: Any,
    held_out: bool | str,
    max_objects: int | None,
    map_method: str,
    by: Mapping[str, Any] | None = None,
    effects: Mapping[str, Any] | None = None,
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
    described = Summary(inspection, objects, y_fit, held_out, map_method)
    summary: dict[str, Any] = {"noun": described.noun}
    for done, (stage, sections) in enumerate(STAGES.items()):
        tell(stage, done, len(STAGES))
        summary |= {name: described[name] for name in sections}
    with unwarned():
        summary["prevalence"] = [described.prevalence(name, values) for name, values in (by or {}).items()] or None
        summary["effects"] = None if effects is None else described.effects(**effects)
    return summary


# -- sections on data and groups


def _describe_data(s: Summary) -> dict[str, Any]:
    """One row for each view, from the data given or from what the model remembers."""
    inspection, objects, views = s.inspection, s.objects, s.objects.views
    if views is None:
        rows: list[dict[str, Any]] = [
            {"name": name, "n_features": view.n_features} for name, view in inspection.views.items()
        ]
    else:
        rows = [_describe_view(name, part, views.present[:, v]) for v, (name, part) in enumerate(views.items())]
    for row in rows:
        row["likelihood"] = inspection.structure.likelihoods.get(row["name"])
        row["scaling"] = inspection.structure.scalings.get(row["name"])
    section = {
        "measured": views is not None,
        "n_objects": objects.n_objects,
        "sampled": None,
        "views": rows,
        "unused": list(inspection.unused_views),
    }
    if views is None:
        return section
    return {
        **section,
        "as_fitted": objects.as_fitted,
        "sampled": len(views) if len(views) < (objects.n_objects or 0) else None,
        "equal": count_equal(views),
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


def _describe_groups(s: Summary) -> dict[str, Any] | None:
    """Size, most common label and features of each group, the largest first; of components the features at each end."""
    inspection, objects, sizes = s.inspection, s.objects, s.sizes
    if inspection.kind == "value" or not inspection.groups:
        return None
    features = features_by_view(inspection, objects.views, objects.reading.codes)
    names = {view: feature_names(inspection, view, objects.views) for view in features}
    section: dict[str, Any] = {
        "noun": inspection.kind,
        "count": len(inspection.groups),
        "origin": {view: part.origin for view, part in features.items()},
        "probabilities": {view: part.probabilities for view, part in features.items()},
        "deviations": {view: part.deviations is not None for view, part in features.items()},
    }
    if inspection.kind == "component":
        return {**section, "items": _component_ends(inspection, features, names)} if features else None
    top = {view: top_features(part, names[view], FEATURES) for view, part in features.items()}
    for view in (view for view, measured in section["deviations"].items() if measured):
        # in the others a group is about average, which says nothing
        top[view] = [[one for one in lists if abs(one[1]) >= LEAST_DEVIATION] for lists in top[view]]
    categories = [
        view
        for view, part in features.items()
        if holds_categories(part, objects.views[view] if objects.views is not None and view in objects.views else None)
    ]
    items = []
    for g in range(len(inspection.groups)) if sizes is None else np.argsort(-sizes, kind="stable").tolist():
        item: dict[str, Any] = {"name": inspection.groups[g], "index": g}
        if sizes is not None:
            item["size"], item["share"] = int(sizes[g]), float(sizes[g] / max(sizes.sum(), 1))
            item["label"] = _most_common_label(objects, g) if inspection.kind != "class" else None
        item["features"] = {view: lists[g] for view, lists in top.items()}
        known = s["group_names"].get(item["name"], "").split(", ")
        items.append({**item, "about": _describe_briefly(item["features"], section["deviations"], categories, known)})
    return {**section, "items": items}


def _describe_briefly(
    features: Mapping[str, list[tuple[str, float, float]]],
    deviations: Mapping[str, bool],
    categories: Sequence[str],
    known: Sequence[str],
) -> list[str]:
    """What tells a group from the others, beside what its name says already: a few features of each view."""
    said: list[str] = []
    for view, lists in features.items():
        if deviations[view]:
            texts = [measured_word(name, value) for name, value, _ in lists]
        else:
            texts = [f"{view}: {name.removeprefix(f'{view}_')}" if view in categories else name for name, *_ in lists]
        said += [text for text in texts if text not in known][: BRIEF if len(features) < 4 else 1]
    return list(dict.fromkeys(said))[:MOST_BRIEF]


def _component_ends(
    inspection: Inspection, features: Mapping[str, Features], names: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    top = {view: top_features(part, names[view], 2 * FEATURES, by="signed") for view, part in features.items()}
    items = []
    for c, name in enumerate(inspection.groups[:MOST_COMPONENTS]):
        ends: dict[str, dict[str, Any]] = {"+": {}, "−": {}}
        for view, lists in top.items():
            ends["+"][view] = [feature for feature in lists[c] if feature[1] > 0]
            ends["−"][view] = [(key, -weight, lift) for key, weight, lift in lists[c][::-1] if weight < 0]
        items += [{"name": f"{name} {end}", "index": c, "features": part} for end, part in ends.items()]
    return items


def _most_common_label(objects: ReadObjects, group: int) -> dict[str, Any] | None:
    rows = np.flatnonzero(objects.reading.codes == group).tolist()
    counts = Counter(label for row in rows if (label := objects.label(row)) is not None)
    return next(({"name": name, "share": n / counts.total()} for name, n in counts.most_common(1)), None)


def _describe_topics(s: Summary) -> dict[str, Any] | None:
    """Topics below clusters or classes, and how the groups mix them, by view."""
    topics = s.inspection.structure.topics
    if topics is None:
        return None
    section: dict[str, Any] = {"items": {}, "mixtures": {}, "count": {}, "groups": s.inspection.groups}
    for view, weights in topics.features.items():
        shares = np.asarray(topics.shares[view])
        order = np.argsort(-shares.sum(axis=0), kind="stable")[:MOST_TOPICS]
        top = top_features(Features(np.asarray(weights), True), s.inspection.feature_names(view), FEATURES)
        section["items"][view] = [
            {"name": str(t), "mass": float(shares[:, t].mean()), "features": top[t]} for t in order.tolist()
        ]
        section["mixtures"][view] = np.round(shares[:, order], 4)
        section["count"][view] = int(shares.shape[1])
    return section


def _describe_outliers(s: Summary) -> dict[str, Any] | None:
    """Objects that no group explains, of a model that has a likelihood; none where chance alone gives as many."""
    views = s.objects.views
    if not s.sorts or views is None or not s.inspection.structure.likelihoods or len(views) < FEWEST_JUDGED:
        return None
    try:
        found = s.inspection.outliers(views)
    except ViewsError:  # too short to tell
        return None
    things = s.things(found["row"][:SHOWN_OUTLIERS] if found.exceeds_chance else [])
    return {
        "objects": [
            {**thing, "score": score, "group": group}
            for thing, score, group in zip(things, found["score"], found["group"])
        ],
        "count": len(found["row"]),
        "judged": int(np.isfinite(found.scores).sum()),
        "about": found.about,
    }


def _describe_quality(s: Summary) -> dict[str, Any] | None:
    """Coherence and diversity of the groups by view, the most coherent group first."""
    inspection, objects = s.inspection, s.objects
    if s.noun not in ("cluster", "topic") or objects.views is None:
        return None
    found = group_quality(inspection, objects.views, objects.reading.codes, QUALITY_FEATURES)
    if not found.means:
        return None
    npmi = np.array(found["npmi"], dtype=np.float64).reshape(len(found.means), -1)
    mean = np.ma.masked_invalid(npmi).mean(axis=0).filled(-2.0)  # what is not known comes last
    return {
        "noun": inspection.kind,
        "n_features": QUALITY_FEATURES,
        "views": [
            {"name": view, "npmi": means.get("npmi"), "diversity": means["diversity"]}
            for view, means in found.means.items()
        ],
        "groups": [
            {"key": inspection.groups[g], "npmi": dict(zip(found.means, npmi[:, g]))}
            for g in np.argsort(-mean, kind="stable").tolist()
        ],
    }


def _describe_hierarchy(s: Summary) -> dict[str, Any] | None:
    """The groups as a tree from the root down; of many groups, parts of the tree.

    None where there are too few groups, or no features to compare them by.
    """
    inspection, sizes, n = s.inspection, s.sizes, len(s.inspection.groups)
    width = sum(view.n_features for view in inspection.views.values())
    if s.noun not in ("cluster", "topic") or n < 3 or n * (n - 1) / 2 * width > MOST_COMPARISONS:
        return None
    try:
        tree = group_hierarchy(inspection, s.objects.views, s.objects.reading.codes)
    except ViewsError:
        return None  # nothing is known of the features
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


def _describe_variance(s: Summary) -> dict[str, Any] | None:
    """Share of the variance of views of vectors that groups explain."""
    explained = s.inspection.structure.variance_explained
    views = [{"name": view, "total": float(shares.sum()), "shares": shares} for view, shares in explained.items()]
    return {"noun": s.inspection.kind, "groups": s.inspection.groups, "views": views} if views else None


# -- sections on objects


def _describe_views(s: Summary) -> dict[str, Any] | None:
    """What is predicted from each view alone and without it: of objects that the model has not learned from, or all."""
    inspection, objects, readings, rows, held = s.inspection, s.objects, s.readings, s.rows, s.held
    if readings is None or all(one.codes is None and one.memberships is None for one in readings.alone.values()):
        return None
    available, unused = len(objects.rows), inspection.unused_views
    if isinstance(held, Holdout) and objects.views is not None:
        rows = held.rows[sample_positions(len(held.rows), s.most)]
        inspection, available = held.inspection, len(held.rows)
        readings = read_by_view(inspection, objects.views[rows])
        # the copy may use views that the model does not
        readings = replace(readings, alone={name: one for name, one in readings.alone.items() if name not in unused})
    found = score_views(inspection, readings, objects.codes[rows], objects.classes)
    section = {
        **found,
        "rows": [row for row in found["rows"] if row["name"] not in unused],
        "n_objects": len(rows),
        "sampled": len(rows) if len(rows) < available else None,
        "held_out": held.describe() if isinstance(held, Holdout) else held and {"note": held},
    }
    by_fit, hidden = inspection.selection.accuracy_by_view, inspection.selection.held_out
    if isinstance(held, Holdout) or not objects.labeled or not by_fit or np.isnan(hidden["accuracy"]):
        return section
    # what the fit found of labels that it hid says more than objects that the model knows with their labels
    n, whole = int(hidden["n_labels"]), hidden["accuracy"]
    said = {"n_objects": n, "whole": whole, "without": None}
    return {
        **section,
        "rows": [{**row, **said, "alone": by_fit.get(row["name"])} for row in section["rows"]],
        "whole": whole,
        "best": max(by_fit, key=lambda name: by_fit[name]),
        "n_judged": n,
        "held_out": {"n_hidden": n, "by_fit": True},
    }


def _describe_map(s: Summary) -> dict[str, Any] | None:
    """A position in the plane for each object, with its group and its label as numbers."""
    inspection, objects, rows = s.inspection, s.objects, s.rows
    reading = objects.reading.take(rows)
    if s.readings is not None:
        placed = map_objects(inspection, s.readings, s.map_method)
    else:
        placed = place([reading.memberships], None, s.map_method) if reading.graded else None
    if placed is None:
        return None
    positions, method = placed
    low, high = positions.min(axis=0), positions.max(axis=0)
    scaled = np.round((positions - low) / np.where(high > low, high - low, 1), 4)
    labels, codes = [str(label) for label in objects.classes.tolist()], objects.codes[rows]
    if reading.codes is not None:
        noun, names, groups = inspection.kind, inspection.groups, reading.codes
    elif objects.labeled:
        noun, names, groups = "label", labels, codes
    else:
        noun, names, groups = "object", ["objects"], np.zeros(len(rows), dtype=int)
    return {
        "method": method,
        "x": scaled[:, 0],
        "y": scaled[:, 1],
        "group": groups,
        "names": names,
        "noun": noun,
        "ids": rows if objects.ids is None else objects.ids[rows],
        "label": codes if objects.labeled else None,
        "labels": labels,
        "n_objects": objects.n_objects,
    }


def _describe_examples(s: Summary) -> dict[str, Any] | None:
    """Most typical objects of each group, of all; most disputed ones, of those that were read by view."""
    inspection, views, reading, readings = s.inspection, s.objects.views, s.objects.reading, s.readings
    if views is None or readings is None or reading.codes is None:
        return None
    groups = inspection.groups
    scaled = Views({**dict(views.items()), **measured_deviations(inspection, views)})
    typical = typical_objects(reading, len(groups), scaled, TYPICAL)
    vectors = [view for view in views.names if holds_vectors(inspection, view, views)]
    nearest = {view: nearest_in_groups(inspection, views, reading.codes, view, TYPICAL) for view in vectors}
    disputed = disputed_objects(readings, DISPUTED, views_that(inspection.selection.relations, "noise"))
    places = [int(s.rows[item["row"]]) for item in disputed]
    chosen = [*places, *(row for lists in (typical, *nearest.values()) for rows in lists for row in rows)]
    if not chosen:
        return None
    about = dict(zip(chosen, s.things(chosen)))
    share = np.zeros((len(views), len(groups))) if reading.memberships is None else reading.memberships
    called = dict(enumerate(groups))
    return {
        "typical": [
            {"group": groups[g], "objects": [{**about[row], "share": share[row, g]} for row in members]}
            for g, members in enumerate(typical)
            if members
        ],
        "nearest": {
            view: {groups[g]: [about[row] for row in members] for g, members in enumerate(lists) if members}
            for view, lists in nearest.items()
        },
        "disputed": [
            {
                **about[row],
                "strength": item["strength"],
                "by_view": {view: called.get(code, "none") for view, code in item["codes"].items()},
                "all": called.get(int(reading.codes[row]), "none"),
            }
            for row, item in zip(places, disputed)
        ],
    }


def _describe_search(s: Summary) -> dict[str, Any] | None:
    """How often one view of an object finds another of its views."""
    retriever, views = s.inspection.structure.retriever, s.objects.views
    if retriever is None:
        return None
    section: dict[str, Any] = {"indexed": len(retriever.indexed_ids()), "pairs": []}
    names = [] if views is None else [name for name in views.names if name in s.inspection.views]
    for source, target in permutations(names, 2):
        assert views is not None and s.objects.ids is not None
        indexed = retriever.indexed_ids(target)
        there = np.isin(s.objects.ids, indexed) & views.present[:, views.names.index(source)]
        queries = np.flatnonzero(there)[sample_positions(int(there.sum()), QUERIES)]
        if len(queries):
            k = min(HITS, len(indexed))
            hits = retriever.search(views[queries].select(source), source, target, k)
            own = hits.ids == s.objects.ids[queries][:, None]
            found = {"first": float(own[:, 0].mean()), "among": float(own.any(axis=1).mean())}
            section["pairs"].append({"source": source, "target": target, "n_queries": len(queries), "k": k, **found})
    return section


# what is worked out, in the order in which it is, by what is said of it meanwhile
STAGES: dict[str, dict[str, Callable[[Summary], Any]]] = {
    "reading the objects": {
        # of clusters and topics, by their keys; none of groups that have a name or number of their own
        "group_names": lambda s: own_names(s.inspection.groups, s.names, s.inspection.kind),
        "data": _describe_data,
    },
    "describing the groups": {
        "groups": _describe_groups,
        "topics": _describe_topics,
        "quality": _describe_quality,
        "hierarchy": _describe_hierarchy,
        "variance": _describe_variance,
        "outliers": _describe_outliers,
        "ontology": lambda s: label_tree(s.inspection, s.objects.views),
        "search": _describe_search,
    },
    "choosing typical and disputed objects": {"examples": _describe_examples},
    "comparing the views": {"views": _describe_views},
    "placing the objects on the map": {"map": _describe_map},
    "scoring": {"scores": lambda s: score_labels(s.inspection, s.objects, s.held)},
}
