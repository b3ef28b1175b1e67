"""Sections on single objects: the map, those that the views dispute, and what searches find."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.report.charts import legend, map_chart
from coview.report.markup import EMPTY, TableColumn, breakable, div, each, notes, numbers, table, texts
from coview.report.sections.groups import object_content
from coview.report.sections.parts import Summary, called, called_short, card, grid, paragraph
from coview.report.words import count, percent, plural

__all__ = ["render_disputes", "render_map", "render_outliers", "render_searches"]


def render_map(summary: Summary) -> Markup:
    """Return the map of objects with its legend."""
    chart = summary["map"]
    noun, names, groups = chart["noun"], chart["names"], chart["group"]
    labels = chart["label"] if noun != "label" else None
    named = [called(summary, key) if noun not in ("class", "label") else key for key in names]
    tips = []
    for i, key in enumerate(chart["ids"]):
        lines = [f"object {key}"]
        if noun != "object":
            lines.append(f"{noun} {named[groups[i]] if groups[i] >= 0 else 'none'}")
        if labels is not None:
            lines.append(f"label {chart['labels'][labels[i]]}" if labels[i] >= 0 else "no label")
        if chart["margin"] is not None:
            lines.append(f"margin {chart['margin'][i]:.2f}")
        tips.append("\n".join(lines))
    known = summary["group_names"]
    tags = [(key, known[key].split(", ")[0]) if key in known else ("", key) for key in names]
    if noun in ("cluster", "topic"):
        tags = [(key or word, word if key else "") for key, word in tags]
    parts = [map_chart(chart["x"], chart["y"], groups, labels, tips, tags, chart["labels"])]
    if len(names) > 1:
        plain = noun in ("class", "label")
        short = [called_short(summary, key) if key in known or plain else f"{noun} {key}" for key in names]
        parts.append(legend(short, "g", _counts(groups, names), named))
    if labels is not None:
        choice = Markup(
            '<div class="tools"><span class="choice" role="group" aria-label="Color by">'
            '<button type="button" data-by="g" aria-pressed="true">Color by {}</button>'
            '<button type="button" data-by="l" aria-pressed="false">Color by label</button></span></div>'
        ).format(noun)
        short = [called_short({}, label) for label in chart["labels"]]
        sizes = _counts(labels, chart["labels"])
        parts = [choice, *parts, legend(short, "l", sizes, chart["labels"], hidden=True)]
    n = len(chart["x"])
    remarks = [f"{chart['method']}."]
    if chart["n_objects"] is not None and n < chart["n_objects"]:
        remarks.append(f"A random sample of {count(n)} of {count(chart['n_objects'])} objects.")
    if len(names) > 1:
        remarks.append("Point at a name to see where it is; click it to hide it; double-click to see it alone.")
    return Markup('<div class="card" data-figure>{}{}</div>').format(EMPTY.join(parts), notes(remarks))


def _counts(codes: list[int], names: list[str]) -> list[int]:
    return [codes.count(k) for k in range(len(names))]


def render_disputes(summary: Summary) -> Markup:
    """Return disputed objects; typical ones are with their groups."""
    things, noun = summary["examples"]["disputed"], summary["noun"] or "group"
    if not things:
        return EMPTY
    views = dict.fromkeys(view for thing in things for view in thing["by_view"])
    columns = [TableColumn("object", "text", [(str(thing["id"]), _object(thing)) for thing in things])]
    for view in views:
        cells = [called_short(summary, thing["by_view"].get(view, "–")) for thing in things]
        columns.append(TableColumn(f"from {view}", "text", [(cell, breakable(cell)) for cell in cells]))
    cells = [called_short(summary, thing["all"] or "–") for thing in things]
    columns.append(TableColumn("from all views", "text", [(cell, breakable(cell)) for cell in cells]))
    if any(thing["label"] is not None for thing in things):
        columns.append(TableColumn("label", "text", [thing["label"] or "–" for thing in things]))
    about = (
        f"Objects for which different {plural(noun)} are predicted from different views, each with confidence; the "
        "clearest disagreement comes first. Look here for wrong labels and corrupt data."
    )
    return card("", paragraph(about), table("Disputed objects", columns))


def render_outliers(summary: Summary) -> Markup:
    """Return the objects that no group explains."""
    found, noun = summary["outliers"], summary["noun"] or "group"
    things = found["objects"]
    about = paragraph(f"{found['about']}. An outlier is an object that no {noun} explains.")
    if not things:
        return card("", about)
    cells = [called_short(summary, thing["group"] or "–") for thing in things]
    columns = [
        TableColumn("object", "text", [(str(thing["id"]), _object(thing)) for thing in things]),
        numbers("score", things, "score"),
        TableColumn(f"nearest {noun}", "text", [(cell, breakable(cell)) for cell in cells]),
    ]
    why = (
        "One half of each says less of its other half than is usual for its length. The score is the distance from "
        "what is usual, in standard deviations; the clearest come first."
    )
    shown = f"The clearest {len(things)}" if len(things) < found["count"] else "Show them"
    folded = Markup("<details><summary>{}</summary>{}{}</details>").format(
        shown, paragraph(why), table("Outliers", columns)
    )
    return card("", about, folded)


def _object(thing: dict[str, Any]) -> Markup:
    """An object by what it is called, with its text or what is in it."""
    return Markup('<div class="object">{}<br><span class="note">{}</span></div>').format(
        breakable(thing["id"]), object_content(thing)
    )


def _words(words: dict[str, list[str]]) -> Markup:
    lines = []
    for view, names in words.items():
        if names:
            chips = each('<span class="chip plainchip">{}</span>', ((name,) for name in names))
            lines += [div("viewname", view) if len(words) > 1 else EMPTY, div("chips", chips)]
    return div("words", *lines) if len(words) > 1 else EMPTY.join(lines)


def render_searches(summary: Summary) -> Markup:
    """Return how well each view finds each other one, and a few searches."""
    search, pairs = summary["search"], summary["search"]["pairs"]
    parts, cards = [], []
    if pairs:
        columns = [
            texts("query view", pairs, "source"),
            texts("target view", pairs, "target"),
            numbers("queries", pairs, "n_queries", count),
            numbers("itself first", pairs, "first", percent),
            numbers(f"own object in the first {pairs[0]['k']}", pairs, "among", percent),
        ]
        if any(pair.get("same_label") is not None for pair in pairs):
            columns.append(numbers("hits with the same label", pairs, "same_label", percent))
        about = (
            "One view of an object is the query, another view is searched, among "
            f"{count(search['indexed'])} objects. How often does the object find itself?"
        )
        parts.append(card("Searching one view with another", paragraph(about), table("Searches", columns)))
    for example in search["examples"]:
        hits, target = example["hits"], example["target"]
        own = [Markup(' <span class="pill on">itself</span>') if hit["own"] else EMPTY for hit in hits]
        names = [(i, Markup("{}{}").format(breakable(hits[i]["id"]), mark)) for i, mark in enumerate(own)]
        columns = [
            TableColumn("hit", "text", names),
            numbers("score", hits, "score"),
            TableColumn(target, "wide", [_words({target: hit["words"]}) for hit in hits]),
        ]
        query = _words({example["source"]: example["words"]})
        cards.append(card(f"{example['source']} of object {example['query']}", query, table("Hits", columns)))
    return EMPTY.join([*parts, grid(*cards)])
