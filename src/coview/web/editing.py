"""What is served now, and edits of its groups: merge, split, rename, drop, noise, reduce, undo, save and download.

An edit never changes what is served: it makes another model, service and explorer, which take the place of the old ones
at once, so that a request sees one or the other. A preview makes them too and keeps them, and the edit itself is then
quick. The one file that is ever kept is named when the explorer is started; no request can name another. The browser
can have the edited model as a file of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coview.editing.edited import EditedModel, edit
from coview.editing.moves import NO_GROUP, find_moves
from coview.exceptions import ViewsError
from coview.inspection import Inspection, Reading, inspect
from coview.inspection.memberships import label_codes
from coview.inspection.reading import can_predict, read_groups
from coview.io.models import save
from coview.report.summary import Summary
from coview.utils.warn import unwarned
from coview.web.explorer import Explorer
from coview.web.service import Service, known_views, sorts

__all__ = ["Editing"]

EDITED = ("topic", "cluster")  # kinds of groups
MOST_FLOWS = 100  # pairs of groups between which objects move


@dataclass(frozen=True)
class _Shown:
    """A model with its edits, and what is served of it; no model before the first edit."""

    model: EditedModel | None
    service: Service
    explorer: Explorer

    @property
    def log(self) -> list[Any]:
        return [] if self.model is None else self.model.edits_


class Editing:
    """A service and its explorer, whose groups can be edited where they are topics or clusters.

    Parameters
    ----------
    service : Service
        What is served at first.
    save_to : Path, optional
        Model file that edits are saved in; without one they end with the process.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=4, random_state=0).views
    >>> editing = Editing(Service(LinkPLSA(4, random_state=0).fit(X), X))
    >>> editing.preview({"edit": "merge", "groups": [1, 3]})["moved"]
    15
    >>> editing.apply({"edit": "merge", "groups": [1, 3]})["log"], editing.undo()["log"]
    (['merge 1 and 3 into 1'], [])
    """

    def __init__(self, service: Service, save_to: Path | None = None) -> None:
        at: Any = next((i for i, model in enumerate(service.models[: len(service.given)]) if _is_editable(model)), None)
        given = None if at is None else service.given[at]
        self._at, self._base = at, given
        self._shown = _Shown(given if isinstance(given, EditedModel) else None, service, Explorer(service))
        self._first = self._shown
        self._candidate: tuple[Any, _Shown, str] | None = None
        self._save_to, self._written = None if save_to is None else Path(save_to), False  # since the start
        self._saved = self._shown.log  # before anything is written, that of the loaded model
        self._inside: tuple[Any, Reading] | None = None  # the objects as the model takes them, and what it says of them
        self._busy = threading.Lock()
        if self._save_to is not None and (at is None or self._save_to.is_dir() or not self._save_to.parent.is_dir()):
            what = "no model here has topics or clusters to edit" if at is None else "that is no place for a file"
            raise ValueError(f"Edits cannot be saved in {self._save_to}: {what}.")

    @property
    def service(self) -> Service:
        """What is served now."""
        return self._shown.service

    @property
    def explorer(self) -> Explorer:
        """The explorer of what is served now."""
        return self._shown.explorer

    def state(self) -> dict[str, Any]:
        """Return whether groups can be edited, their numbers, the edits so far, and what the file holds."""
        if self._at is None:
            return {"editable": False}
        shown = self._shown
        return {
            "editable": True,
            "at": self._at,
            "numbers": dict(zip(self._inspection(shown).groups, self._numbers(shown))),
            "log": [] if shown.model is None else shown.model.log(),
            "saves_to": None if self._save_to is None else self._save_to.name,
            "unsaved": shown.log != self._saved,
            "file": self._describe_file(),
        }

    def _describe_file(self) -> str:
        """Say what becomes of the edits, and whether the file that they are saved in holds the model as it is here."""
        if self._save_to is None:
            lost = "Edits end with the explorer: download the edited model to keep them" if self._shown.log else ""
            return f"{lost or 'Nothing is edited'}. The model file stays as it is."
        name = self._save_to.name
        if not self._written:
            return f"Nothing is saved in {name} yet."
        if self._shown.log == self._saved:
            return f"{name} holds the model as it is here."
        return f"{name} does not hold the edits as they are here: save again."

    def preview(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the objects that an edit would move; nothing is changed.

        Parameters
        ----------
        record : dict
            The edit, as `EditedModel.apply` takes it, its groups by number or name.
        """
        with self._alone():
            shown, (changed, sentence) = self._shown, self._changed(record)
            before, after = (self._numbers_of_objects(each) for each in (shown, changed))
            moves = find_moves(sentence, before, after)
            names = {NO_GROUP: "no group", **self._names(shown)}
            new_names = {NO_GROUP: "no group", **self._names(changed)}
            counts = moves.counts
            flows = list(zip(counts["before"], counts["after"], counts["n_objects"]))
            return {
                "edit": sentence,
                "objects": len(before),
                "moved": len(moves["row"]),
                "flows": [
                    {"before": names[one], "after": new_names[other], "objects": n}
                    for one, other, n in flows[:MOST_FLOWS]
                ],
                "groups": list(new_names.values())[1:],
            }

    def apply(self, record: dict[str, Any]) -> dict[str, Any]:
        """Make an edit; return the state after it.

        Parameters
        ----------
        record : dict
            As in `preview`.
        """
        with self._alone():
            changed, _ = self._changed(record)
            self._shown, self._candidate = changed, None
        return self.state()

    def undo(self) -> dict[str, Any]:
        """Take the last edit back; return the state after it."""
        with self._alone():
            shown = self._shown
            if not shown.log or shown.model is None:
                raise ViewsError("There is nothing to undo.")
            first = self._first.log == shown.log[:-1]
            self._shown, self._candidate = self._first if first else self._with(edit(shown.model).undo()), None
        return self.state()

    def save(self) -> dict[str, Any]:
        """Write the model with its edits to the file that was named at the start; return the state."""
        with self._alone():
            if self._save_to is None:
                raise ViewsError("Edits are saved in a file that is named at the start: coview explore --save-edits.")
            if not self._shown.log and not self._saved:
                raise ViewsError("There are no edits to save.")
            with unwarned():  # after an undo of the only edit, the model as it was loaded
                save(self._base if self._shown.model is None else self._shown.model, self._save_to)
            self._saved, self._written = self._shown.log, True
        return self.state()

    def write(self, path: Path) -> str:
        """Write the model with its edits to a file that is sent to the browser; return a name for it there."""
        with self._alone():
            model = self._shown.model
            if model is None or not model.edits_:
                raise ViewsError("There are no edits to download.")
            with unwarned():
                save(model, path)
            return f"{Path(self.service.title).stem}-edited.coview" if self._save_to is None else self._save_to.name

    # -- pieces

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One edit at a time, and only where there are groups to edit."""
        if self._at is None:
            raise ViewsError("Only topics and clusters can be edited, and there are none here.")
        if not self._busy.acquire(blocking=False):
            raise ViewsError("Another edit is being made. Try again when it is done.")
        try:
            yield
        finally:
            self._busy.release()

    def _changed(self, record: dict[str, Any]) -> tuple[_Shown, str]:
        """What would be served after an edit, and the edit in words; kept from a preview of the same."""
        shown = self._shown
        if self._candidate is not None and self._candidate[0] == (record, shown.log):
            return self._candidate[1], self._candidate[2]
        model = edit(self._base if shown.model is None else shown.model)
        data = shown.service.data
        objects = None if data is None else known_views(self._inspection(shown), data)
        model.apply(dict(record), objects)
        changed, sentence = self._with(model), model.log()[-1]
        self._candidate = ((dict(record), list(shown.log)), changed, sentence)
        return changed, sentence

    def _with(self, model: EditedModel) -> _Shown:
        service = self._shown.service.with_model(self._at, model)
        reading = self._read(model, service)
        known = {} if reading is None else {self._at: reading}
        return _Shown(model, service, Explorer(service, known))

    def _read(self, model: EditedModel, service: Service) -> Reading | None:
        """Memberships of the objects after the edits; the model inside is asked once, and again after a drop alone."""
        data = service.data
        if data is None or service.sorter is None:
            return None
        inner = inspect(model.estimator_)
        if self._inside is None:
            views = known_views(inner, data)
            known = self._summary(self._shown).objects.reading if self._shown.model is None else None
            self._inside = inner.preparation.prepare(views), read_groups(inner, views) if known is None else known
        objects, reading = self._inside
        if reading.memberships is None or reading.codes is None or (not can_predict(inner) and inner.kind != "topic"):
            return None
        memberships, numbers = model.read_objects(objects, reading)
        return Reading(memberships, label_codes(numbers, model.numbers_))

    def _inspection(self, shown: _Shown) -> Inspection:
        return shown.service.models[self._at]

    def _summary(self, shown: _Shown) -> Summary:
        return shown.explorer.summary(self._at)

    def _numbers(self, shown: _Shown) -> list[int]:
        """Numbers of the groups, in their order."""
        return list(range(len(self._inspection(shown).groups))) if shown.model is None else list(shown.model.numbers_)

    def _names(self, shown: _Shown) -> dict[int, str]:
        return dict(zip(self._numbers(shown), self._summary(shown).names))

    def _numbers_of_objects(self, shown: _Shown) -> np.ndarray:
        """Number of the group of each object, -1 for none."""
        codes = self._summary(shown).objects.reading.codes
        if codes is None:
            raise ViewsError("The model file holds no objects. Start the explorer with data to see what moves.")
        return np.array([*self._numbers(shown), NO_GROUP])[codes]


def _is_editable(model: Inspection) -> bool:
    return model.kind in EDITED and sorts(model)
