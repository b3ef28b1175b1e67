"""Editing the groups of a fitted model: merge, split, rename, drop, mark as noise, reduce, undo.

log         edits as plain records, and what they make of the numbers, memberships and features of the groups
moves       which objects an edit moves
update      new rows: topics kept, drifted, born, split, merged, died
edited      `EditedModel`, an estimator that holds a fitted model and its log; `edit`
"""

from __future__ import annotations

from coview.editing.edited import EditedModel, edit
from coview.editing.moves import Moves
from coview.editing.update import Update, update

__all__ = ["EditedModel", "Moves", "Update", "edit", "update"]
