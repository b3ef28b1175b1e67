"""What the sections share: boxes, and groups by their names."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.inspection.names import keyed_name
from coview.report.markup import EMPTY, div

__all__ = ["Summary", "called", "called_short", "card", "grid", "paragraph"]

Summary = dict[str, Any]
SHORT_NAME = 22  # letters


def called(summary: Summary, key: str) -> str:
    """A group by its key and, where it has one, its name."""
    return keyed_name(key, summary.get("group_names", {}))


def called_short(summary: Summary, key: str) -> str:
    """A group by its key and the first word of its name, cut where it is long, where there is little room."""
    text = called(summary, key).split(", ")[0] if key in summary.get("group_names", {}) else key
    return text if len(text) <= SHORT_NAME else f"{text[: SHORT_NAME - 1]}…"


def card(title: Any, *parts: Any) -> Markup:
    """A box with a title, where it has one."""
    return div("card", Markup("<h3>{}</h3>").format(title) if title else EMPTY, *parts)


def grid(*cards: Markup) -> Markup:
    """Boxes side by side, where there is room."""
    return div("grid", *cards) if cards else EMPTY


def paragraph(sentence: str) -> Markup:
    """Sentences of their own."""
    return Markup("<p>{}</p>").format(sentence)
