"""How well a model did: measures against labels, the same held out, and what each view contributes.

Views are judged by what is predicted from one of them alone, and from all but one. A model flatters itself on what it
has learned from, and flatters each view likewise. So a copy is fitted with a quarter of the labels hidden (of the
objects, where a model takes no labels) where that is quick, for at most 5 seconds where the model has a time budget,
and predicts those.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.editing import EditedModel
from coview.exceptions import CoviewError
from coview.inspection import Inspection, Reading, inspect
from coview.inspection.by_view import ViewReadings, agreement, agreement_matrix
from coview.inspection.choice import describe_accuracy
from coview.inspection.measures import confusion, label_measures, main_measure, measure
from coview.inspection.reading import read_groups
from coview.model_selection.copies import copy_to_fit
from coview.report.objects import ReadObjects
from coview.validation import LabeledScoreMixin, encode_labels, minus_one_is_unlabeled
from coview.views.arrays import for_sklearn
from coview.views.views import PLAIN, Views

__all__ = ["Holdout", "hold_out", "score_labels", "score_views"]

HIDDEN_SHARE = 0.25
QUICK_SECONDS = 10.0  # iterations that took longer are not repeated unasked
COPY_SECONDS = 5.0  # that a copy may take unasked, its start included, where the model has a time budget
QUICK_OBJECTS = 5_000  # the same for models that do not say how long their fit took

_ON_REQUEST = "not measured, since that needs another fit{}; ask for it with held_out=True (--held-out)."


# -- what a model has not learned from


@dataclass(frozen=True)
class Holdout:
    """Objects, and a model that has not learned from them (from their labels, where it takes labels)."""

    inspection: Inspection
    rows: np.ndarray
    n_shown: int  # objects, or labels, that it was fitted with
    refitted: bool  # whether it is a copy of the model
    seconds: float | None = None  # after which the fit of the copy was ended, where the model's own was not

    def describe(self) -> dict[str, Any]:
        """Return how many were hidden, how many shown, from whom, and what the copy lacks: time, or edits."""
        more: dict[str, Any] = {} if self.seconds is None else {"seconds": self.seconds}
        lost = len(vars(self.inspection.estimator).get("lost_edits_", ())) if self.refitted else 0
        if lost:
            more |= {"n_edits": lost + len(self.inspection.structure.edits), "n_lost_edits": lost}
        return {"n_hidden": len(self.rows), "n_shown": self.n_shown, "refitted": self.refitted, **more}


def hold_out(
    inspection: Inspection, objects: ReadObjects, wanted: bool | str = "auto", y_fit: Any = None
) -> Holdout | str | None:
    """Return objects that a model has not learned from, or in a sentence why there are none; None where not wanted.

    `wanted` and `y_fit` are `held_out` and `y_fit` of `coview.make_report`.
    """
    if objects.views is None or wanted is False or inspection.structure.retriever is not None:
        return None
    if inspection.kind == "class":
        return _hide_labels(inspection, objects, objects.views, wanted, y_fit) if objects.labeled else None
    if inspection.kind in ("cluster", "topic"):
        return _hide_objects(inspection, objects.views, wanted)
    return None


def _hide_labels(
    inspection: Inspection, objects: ReadObjects, views: Views, wanted: bool | str, y_fit: Any
) -> Holdout | str:
    """Labels that a classifier was not fitted with; hidden labels leave their objects in the data."""
    codes = objects.codes
    if y_fit is not None:
        semi_supervised = minus_one_is_unlabeled(inspection.estimator)
        fitted, _ = encode_labels(y_fit, len(views), objects.classes, semi_supervised=semi_supervised)
        unused = np.flatnonzero((codes >= 0) & (fitted < 0))
        if not len(unused):
            return "every label was used in the fit."
        return Holdout(inspection, unused, int((fitted >= 0).sum()), refitted=False)
    known = np.flatnonzero(codes >= 0)
    hidden = np.random.default_rng(0).permutation(known)[: max(int(HIDDEN_SHARE * len(known)), 1)]
    hidden = hidden[np.isin(codes[hidden], codes[np.setdiff1d(known, hidden)])]  # each class stays known
    shown = np.setdiff1d(known, hidden)
    if len(hidden) < 2:
        return "there are too few labels to hide some of them."
    if wanted == "auto" and (reason := _why_not_refit(inspection, codes, len(views))):
        return reason
    target = objects.labels.copy()
    target[hidden] = None
    if isinstance(inspection.estimator, LabeledScoreMixin):
        copy = _refit(inspection, views, target, wanted)
    else:  # it knows no objects without a label
        copy = _refit(inspection, views[shown], np.array(target[shown].tolist()), wanted)
    return Holdout(copy, hidden, len(shown), True, _ended_after(inspection, copy))


def _hide_objects(inspection: Inspection, views: Views, wanted: bool | str) -> Holdout | str:
    """Objects that a clusterer or a topic model was not fitted with."""
    if read_groups(inspection, views[:2], prepared=True).codes is None:
        return "the model cannot place new objects."
    hidden, shown = np.split(np.random.default_rng(0).permutation(len(views)), [int(HIDDEN_SHARE * len(views))])
    if len(hidden) < 2 or len(shown) <= len(inspection.groups):
        return "there are too few objects to hide some of them."
    if wanted == "auto" and (reason := _why_slow(inspection, len(views))):
        return reason
    shown = np.sort(shown)
    try:
        copy = _refit(inspection, views[shown], wanted=wanted)
    except (CoviewError, ValueError) as error:  # such as a group that is empty without them
        return f"a copy of the model could not be fitted with fewer objects ({error})"
    return Holdout(copy, np.sort(hidden), len(shown), True, _ended_after(inspection, copy))


def _why_not_refit(inspection: Inspection, codes: np.ndarray, n_objects: int) -> str | None:
    """Why a copy with some labels hidden would say nothing of this model, or take long; None where it is worth it."""
    training, known = inspection.training.codes, codes >= 0
    if training is not None and len(training) == len(codes):
        # models that remember their objects leave labeled ones with their labels
        fewer = bool((training[known] != codes[known]).any())
    else:
        fewer = inspection.training.n_labels is not None and inspection.training.n_labels < known.sum()
    if fewer:
        return "the model was fitted with fewer labels than these; pass those as y_fit."
    return _why_slow(inspection, n_objects)


def _why_slow(inspection: Inspection, n_objects: int) -> str | None:
    """Why another fit may take long, or None; a choice among candidates fits each of them, and some more than once."""
    seconds = inspection.training.history.get("seconds") or [None]
    if seconds[-1] is not None:
        return None if seconds[-1] < QUICK_SECONDS else _ON_REQUEST.format(f", and this one took {seconds[-1]:.0f} s")
    if inspection.selection.candidates:
        return _ON_REQUEST.format(" of every method that was tried")
    return None if n_objects <= QUICK_OBJECTS else _ON_REQUEST.format(f" of {n_objects:,} objects")


def _refit(
    inspection: Inspection, views: Views, target: np.ndarray | None = None, wanted: bool | str = True
) -> Inspection:
    """Fit a copy of the estimator on some objects, which makes the edits of an edited model again.

    Where it was not asked for (`wanted` is "auto"), it ends in time.
    """
    budget = COPY_SECONDS if wanted == "auto" else None
    copy: Any = copy_to_fit(inspection.estimator, time_budget=budget, prepared=True)
    with warnings.catch_warnings():  # the fit of the model itself has given those that matter
        warnings.simplefilter("ignore")
        return inspect(copy.fit(for_sklearn(views[PLAIN]) if inspection.preparation.takes_matrix else views, target))


def _ended_after(inspection: Inspection, copy: Inspection) -> float | None:
    """Seconds after which a copy was stopped, where it had less time than the model itself."""
    theirs, ours = (vars(_inside(each.estimator)).get("stopped_by_") for each in (inspection, copy))
    return COPY_SECONDS if ours == "time" != theirs else None


def _inside(model: Any) -> Any:
    """The model itself, or the last step of the one that an edited model is about."""
    return inspect(model.estimator_).estimator if isinstance(model, EditedModel) else model


# -- labels


def score_labels(
    inspection: Inspection, objects: ReadObjects, held: Holdout | str | None = None
) -> dict[str, Any] | None:
    """Return the section on scores against labels; None where there is nothing to compare.

    Scores held out are those of a classifier, on what `hold_out` returned.
    """
    reading, codes, classes = objects.reading, objects.codes, objects.classes
    known = codes[codes >= 0]
    measures = list(label_measures(inspection, reading, codes, classes)) if len(known) else []
    if not measures:
        return None
    scores: dict[str, Any] = {"n_labeled": len(known), "n_objects": len(codes), "measures": measures}
    if reading.codes is not None:
        scores["confusion"] = confusion(inspection, reading.codes, codes, classes)
    if inspection.kind == "class":
        return {**scores, "held_out": _score_held_out(inspection, objects, held)}
    sizes = np.sort(np.bincount(known))[::-1]
    n_groups, n_labels = len(inspection.groups), int((sizes > 0).sum())
    if reading.codes is not None and n_groups < n_labels:
        best = float(sizes[:n_groups].sum() / len(known))
        scores["ceiling"] = {"n_groups": n_groups, "n_labels": n_labels, "accuracy": best}
    return scores


def _score_held_out(inspection: Inspection, objects: ReadObjects, held: Holdout | str | None) -> dict[str, Any] | None:
    """Scores of a classifier on labels that it has not learned from: those of a copy, or what the fit itself found."""
    if isinstance(held, Holdout) and objects.views is not None:
        reading, truth = read_groups(held.inspection, objects.views[held.rows], prepared=True), objects.codes[held.rows]
        counts = np.bincount(objects.codes[objects.codes >= 0])
        return {
            **held.describe(),
            "measures": list(label_measures(held.inspection, reading, truth, objects.classes)),
            "largest_class": float(counts.max() / counts.sum()),
            "confusion": None
            if reading.codes is None
            else confusion(held.inspection, reading.codes, truth, objects.classes),
        }
    by_fit = inspection.selection.held_out
    if not isinstance(held, str) or not by_fit:
        return {"note": held} if held else None
    if np.isnan(by_fit["accuracy"]):
        return {"note": f"{describe_accuracy(by_fit)}."}
    return {
        "measures": [measure("accuracy", by_fit["accuracy"], "share of labels hidden in the fit that it found")],
        "interval": [by_fit["low"], by_fit["high"]],
        "n_hidden": int(by_fit["n_labels"]),
        "refitted": False,
        "by_fit": True,
        "largest_class": by_fit["largest_class"],
    }


# -- by view


def score_views(
    inspection: Inspection, readings: ViewReadings, y: np.ndarray | None = None, classes: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the section on views: how well each does alone and how the model does without it, and their agreement.

    Without labels (`y` as positions in `classes`, -1 for none), or groups, a view is compared with the reading from all
    views. Of a view alone, objects count that have a feature in it ("n_objects"), and "whole" of its row is the reading
    of these from all views; else those count that have a feature in any view. "best" is the view that does best for all
    these, where an object without it is in no group.
    """
    labels = y if y is not None and (y >= 0).any() and readings.whole.codes is not None else None

    def agree(reading: Reading, rows: np.ndarray) -> float | None:
        return agreement(reading.take(rows), readings.whole.take(rows))

    def score(reading: Reading, rows: np.ndarray) -> float | None:
        if labels is None or classes is None:
            return agree(reading, rows)
        return main_measure(inspection, reading.take(rows), labels[rows], classes)

    everyone = np.any(list(readings.described.values()), axis=0)
    judged = everyone if labels is None else everyone & (labels >= 0)
    rows, for_all = [], {}
    for v, name in enumerate(readings.views.names):
        have, alone, without = readings.described[name], readings.alone.get(name), readings.without.get(name)
        if alone is not None and (value := score(alone, everyone)) is not None:
            for_all[name] = value
        row = {
            "name": name,
            "present": float(readings.views.present[:, v].mean()),
            "n_objects": int((judged & have).sum()),
            "alone": None if alone is None else score(alone, have),
            "whole": None if alone is None or labels is None else score(readings.whole, have),
            "without": None if without is None else score(without, everyone),
            "kept": None if without is None else agree(without, everyone),
            "weight": inspection._view_weights.get(name),
            "refused": readings.refused.get(name),
        }
        if name not in inspection.unused_views:
            rows.append(row)
    if labels is None:
        measured = "agreement with all views"
    else:
        measured = "accuracy" if inspection.kind == "class" else "NMI"
    return {
        "measure": measured,
        "whole": None if labels is None else score(readings.whole, everyone),
        "rows": rows,
        "best": max(for_all, key=lambda name: for_all[name], default=None),
        "n_judged": int(judged.sum()),
        "agreement": agreement_matrix(readings),
    }
