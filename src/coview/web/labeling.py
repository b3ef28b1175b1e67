"""Labels that a person gives in the explorer: what to label next, and what a fit with the new labels changes.

Nothing is kept: every question brings all labels that were given, and the models that were loaded stay as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from coview.exceptions import ViewsError
from coview.inspection import Inspection, inspect
from coview.inspection.choice import describe_accuracy
from coview.inspection.reading import read_groups
from coview.model_selection.audit import LabelAudit, audit_labels
from coview.model_selection.suggest import suggest_labels
from coview.utils.jsonable import to_jsonable
from coview.utils.messages import listed
from coview.utils.warn import unwarned
from coview.validation import minus_one_is_unlabeled, unlabeled_rows
from coview.web.service import Service, known_views

if TYPE_CHECKING:
    from coview.web.explorer import Explorer

__all__ = ["Labeling"]

MOST_REFITTED = 20_000  # objects that a model is fitted to while a person waits
FEWEST_CHECKED, MOST_CHECKED = 5, 500  # labels that are sent to be checked: those more likely wrong than right
MOST_CHANGED = 30  # objects with another prediction that are listed


class Labeling:
    """What to label next by the classifier of a service, and what new labels change.

    Parameters
    ----------
    service : Service
        Models, objects, and labels of the fit where they are known.
    explorer : Explorer
        What the models say of the objects, and which row an identifier has.
    """

    def __init__(self, service: Service, explorer: Explorer) -> None:
        self._service, self._explorer = service, explorer
        self._fitting, self._auditing = threading.Lock(), threading.Lock()
        self._audit: LabelAudit | None = None

    def known(self) -> list[list[Any]]:
        """Return the labels of the fit as [id, label]; empty where they are not known."""
        y = self._known_labels()
        rows = [] if y is None else self._labeled_rows(y)
        return [] if y is None else [[self._service.ids[row], str(y[row])] for row in rows]

    def suggestions(
        self, given: Mapping[str, str], n: int = 10, new_classes: Sequence[str] = (), skipped: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return the objects to label next by the loaded model.

        Parameters
        ----------
        given : mapping
            Labels that were given, by identifier.
        n : int, default=10
            Number of objects.
        new_classes : sequence of str, optional
            Classes that were given beside those of the model.
        skipped : sequence of str, optional
            Identifiers of objects that are not to be named: nobody knows their labels.
        """
        model = self._model()
        assert self._service.data is not None
        rows, y = self._given_rows(given, new_classes), self._known_labels()
        if y is None and rows:
            y = np.full(len(self._service.ids), None, dtype=object)
        return self._named(model.preparation.model, known_views(model, self._service.data), _with(y, rows), n, skipped)

    def refit(
        self, given: Mapping[str, str], n: int = 10, new_classes: Sequence[str] = (), skipped: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Fit the model once more, with the labels that were given too; return what changes, and what to label next.

        Parameters
        ----------
        given : mapping
            Labels that were given, by identifier.
        n : int, default=10
            Number of objects to label next.
        new_classes, skipped : sequence of str, optional
            As in `suggestions`.
        """
        model, data, known = self._model(), self._service.data, self._known_labels()
        assert data is not None
        if known is None:
            raise ViewsError("The labels of the fit are not known. Start the explorer with --labels.")
        if len(data) > MOST_REFITTED:
            raise ViewsError(
                f"There are {len(data):,} objects, and at most {MOST_REFITTED:,} are fitted here. Save the labels, and "
                "run coview fit with them."
            )
        rows = self._given_rows(given, new_classes)
        y: Any = _with(known, rows)
        if not self._fitting.acquire(blocking=False):
            raise ViewsError("A fit is running. Try again when it is done.")
        try:
            objects = model.preparation.prepare(known_views(model, data))
            estimator = clone(model.estimator)
            labeled = self._labeled_rows(y)
            if model.preparation.takes_matrix:
                estimator.fit(objects[labeled], [y[row] for row in labeled])
            else:
                estimator.fit(objects, y)
            after = inspect(estimator)
            codes = read_groups(after, objects, prepared=True).codes
            named = self._named(estimator, objects, y, n, skipped)
        finally:
            self._fitting.release()
        before = self._explorer.summary(self._service.models.index(model)).objects.reading.codes
        assert before is not None and codes is not None
        old, new = np.array([*model.groups, ""])[before], np.array([*after.groups, ""])[codes]
        changed = np.flatnonzero(old != new)
        right = sum(str(old[row]) == str(label) for row, label in rows.items())
        return {
            "objects": len(old),
            "changed": len(changed),
            "changes": [
                {**self._service.line(row), "before": old[row], "after": new[row]}
                for row in changed[:MOST_CHANGED].tolist()
            ],
            "given": len(rows),
            "right": int(right),
            "accuracy": [
                describe_accuracy(each.selection.held_out) if each.selection.held_out else None
                for each in (model, after)
            ],
            "largest_class": after.selection.held_out.get("largest_class"),
            "next": named,
        }

    def audit(self) -> dict[str, Any]:
        """Return the labels of the fit that are most likely wrong, with what each view says; computed once."""
        model, data, y = self._model(), self._service.data, self._known_labels()
        if y is None or data is None or len(data) > MOST_REFITTED:
            raise ViewsError(f"Labels are checked where they are known, of at most {MOST_REFITTED:,} objects.")
        with self._auditing:
            if self._audit is None:
                self._audit = audit_labels(model.preparation.model, known_views(model, data), y, random_state=0)
        rows = self._audit.rows[: min(max(self._audit.n_doubted, FEWEST_CHECKED), MOST_CHECKED)]
        return {
            "labels": len(self._audit),
            "doubted": self._audit.n_doubted,
            "objects": [
                {**self._service.line(row["row"]), "doubt": row["doubt"], "reason": row["reason"]}
                | {"label": str(row["label"]), "suggested": str(row["suggested"])}
                for row in rows
            ],
        }

    # -- pieces

    def _model(self) -> Inspection:
        model = self._service.sorter
        if model is None or model.kind != "class" or self._service.data is None:
            raise ViewsError("Labels are suggested by a classifier, with its objects. Start the explorer with both.")
        return model

    def _known_labels(self) -> np.ndarray | None:
        y = self._service.labels
        return None if y is None else np.asarray(y, dtype=object)

    def _labeled_rows(self, y: np.ndarray) -> list[int]:
        semi_supervised = minus_one_is_unlabeled(self._model().estimator)
        return np.flatnonzero(~unlabeled_rows(y, semi_supervised=semi_supervised)).tolist()

    def _given_rows(self, given: Mapping[str, str], new_classes: Sequence[str]) -> dict[int, Any]:
        """Labels by row, in the type that the model has them."""
        model = self._model()
        by_name = dict(zip(model.groups, model.labels))
        by_name.update({name: self._new_label(name) for name in new_classes if name not in by_name})
        for name in given.values():
            if name not in by_name:
                raise ViewsError(f"There is no class {name!r:.60}; the classes are {listed(model.groups)}.")
        return {self._explorer.row_of(key): by_name[name] for key, name in given.items()}

    def _new_label(self, name: str) -> Any:
        """A class that the model does not have, in the type of those that it has; or a refusal."""
        model = self._model()
        if model.structure.ontology is not None:
            raise ViewsError(f"The classes are those of the ontology; add {name!r:.60} there, and fit the model again.")
        label: Any = name.strip()
        if all(isinstance(one, (int, np.integer)) for one in model.labels):
            try:
                label = int(label)
            except ValueError:
                raise ViewsError(f"The classes are whole numbers, and {name!r:.60} is none.") from None
        if label == "" or unlabeled_rows([label], semi_supervised=minus_one_is_unlabeled(model.estimator)).any():
            raise ViewsError(f"{name!r:.60} marks an object without a label; give the new class another name.")
        return label

    def _named(self, model: Any, objects: Any, y: np.ndarray | None, n: int, skipped: Sequence[str]) -> dict[str, Any]:
        passed = {self._explorer.row_of(key) for key in skipped}
        with unwarned():  # without labels, "refits" tells; of new classes the person knows
            found = suggest_labels(model, objects, n + len(passed), y=y)
        service = self._service
        return {
            "classes": self._model().groups,
            "takes_new_classes": self._model().structure.ontology is None,
            "n_labeled": found.n_labeled,
            "n_unlabeled": found.n_unlabeled,
            "refits": service.labels is not None and len(service.ids) <= MOST_REFITTED,
            "probabilities": self._model().structure.probabilities,
            "objects": [
                {**to_jsonable(row), **service.line(row["row"]), "predicted": str(row["predicted"])}
                for row in [row for row in found.rows if row["row"] not in passed][:n]
            ],
        }


def _with(y: np.ndarray | None, rows: Mapping[int, Any]) -> np.ndarray | None:
    """Labels with some more."""
    if y is None:
        return None
    joined = y.copy()
    for row, label in rows.items():
        joined[row] = label
    return joined
