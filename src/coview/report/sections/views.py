"""The section on views: what is predicted from each alone and without it, and how far the predictions agree."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.report.charts import bar, dots, heat_map
from coview.report.markup import EMPTY, TableColumn, notes, numbers, table, texts
from coview.report.sections.parts import Summary, called, called_short, card, grid, paragraph
from coview.report.sections.scores import copy_sentences
from coview.report.words import count, number, percent, plural, signed

__all__ = ["render_prevalence", "render_variance", "render_views"]

MOST_NAMED = 24  # columns of a heat map that have names


def render_views(summary: Summary) -> Markup:
    """Return what each view contributes: predicted from it alone, without it, and how far the predictions agree."""
    views, rows = summary["views"], summary["views"]["rows"]
    whole, measure = views["whole"], views["measure"]
    columns = [
        texts("view", rows, "name"),
        numbers("objects", rows, "n_objects", count),
        numbers("predicted from it alone", rows, "alone"),
    ]
    if whole is not None:
        columns.append(numbers("these from all views", rows, "whole"))
    columns.append(numbers("predicted without it", rows, "without"))
    if whole is not None:
        changes = [None if row["without"] is None else row["without"] - whole for row in rows]
        columns.append(TableColumn("change", "num", [(change, signed(change)) for change in changes]))
    if any(row["kept"] is not None for row in rows):
        columns.append(numbers("same result", rows, "kept", percent))
    if any(row["weight"] is not None for row in rows):
        columns.append(numbers("weight", rows, "weight"))
    remarks = [f"{row['name']}: {row['refused']}" for row in rows if row["refused"]]
    marks = Markup(
        '<div class="marks"><span><i class="dot alone"></i>predicted from this view alone</span>'
        '<span><i class="dot without"></i>predicted without this view</span>{}</div>'
    ).format(Markup("<span><u></u>predicted from all views</span>") if whole is not None else EMPTY)
    title = f"{measure[0].upper()}{measure[1:]}, by view"
    cards = [card(title, paragraph(_judged(summary)), dots(rows, whole, measure), marks)]
    if views.get("agreement"):
        cards.append(_agreement(views["agreement"], summary["noun"]))
    return EMPTY.join(
        [grid(*cards), card(_caption(summary), table("Contribution of each view", columns), notes(remarks))]
    )


def _caption(summary: Summary) -> str:
    """What the table of the views is, and on which objects: those that a classifier learned from are no test of it."""
    held_out = summary["views"].get("held_out") or {}
    if "n_hidden" in held_out:
        what = "held-out objects" if held_out["refitted"] else "objects whose label was not used in the fit"
        return f"Contribution of each view, on {count(held_out['n_hidden'])} {what}"
    if summary["noun"] not in ("class", "value"):
        return "Contribution of each view"
    return "Contribution of each view, on objects that the model may have learned from: no test of a view"


def render_prevalence(summary: Summary) -> Markup:
    """Return how prevalent the groups are over time, by numbers and by categories, a heat map for each."""
    noun = summary["prevalence"][0]["noun"]
    about = (
        "Mean membership in percent of the objects of each value, and how many these are. Colors are relative to the "
        f"largest share of the {noun}. Point at a cell for its interval (bootstrap over the objects)."
    )
    return EMPTY.join([paragraph(about), *(_prevalence(summary, part) for part in summary["prevalence"])])


def _prevalence(summary: Summary, part: dict[str, Any]) -> Markup:
    noun, keys, values = part["noun"], part["groups"], part["values"]
    cells, heads = [], [f"{value} ({count(n)})" for value, n in zip(values, part["n_objects"])]
    for key, shares, low, high in zip(keys, part["share"], part["low"], part["high"]):
        top = max((share for share in shares if share is not None), default=0.0) or 1.0
        line = []
        for value, share, lowest, highest in zip(values, shares, low, high):
            between = "" if lowest is None else f", 95 % interval {percent(lowest)} to {percent(highest)}"
            tip = f"{called(summary, key)}, {part['by']} {value}: {percent(share)}{between}"
            line.append((share / top, tip, f"{100 * share:.0f}"))
        cells.append(line)
    some = []
    if len(keys) < part["count"]:
        some.append(f"The {len(keys)} largest of {part['count']} {plural(noun)} are shown.")
    if part["without"]:
        left = f"{count(part['without'])} {plural('object', part['without'])} without a value of {part['by']}"
        some.append(f"{left} {'is' if part['without'] == 1 else 'are'} left out.")
    chart = heat_map([called_short(summary, key) for key in keys], heads, cells, f"Prevalence by {part['by']}")
    return card(f"By {part['by']}", chart, notes(some))


def render_variance(summary: Summary) -> Markup:
    """Return what the groups explain of the variance of each view of vectors, together and one by one."""
    variance = summary["variance"]
    views, noun, keys = variance["views"], variance["noun"], variance["groups"]
    top = max((value for view in views for value in view["shares"]), default=0.0) or 1.0
    cells = [
        [
            (max(value, 0) / top, f"{view['name']}, {noun} {called(summary, key)}: {percent(value)}", percent(value, 0))
            for key, value in zip(keys, view["shares"])
        ]
        for view in views
    ]
    about = (
        f"Share of the variance of each view of vectors that the {plural(noun)} explain: how much nearer vectors lie "
        f"to the mixture of the mean vectors than to the mean of all. The shares of single {plural(noun)} add up to "
        "it: one is the larger, the farther the mean of its own objects lies from that of all."
    )
    totals = [(view["total"], Markup("{} {}").format(bar(view["total"]), percent(view["total"]))) for view in views]
    columns = [texts("view", views, "name"), TableColumn("explained", "num", totals)]
    heads = [called_short(summary, key) for key in keys] if len(keys) <= MOST_NAMED else None
    some = []
    if len(keys) < variance["count"]:
        some.append(f"The {len(keys)} {plural(noun)} that explain most are shown, of {variance['count']}.")
    chart = heat_map([view["name"] for view in views], heads, cells, "Variance explained")
    return EMPTY.join([card("", paragraph(about), table("Variance explained", columns), chart, notes(some))])


def _judged(summary: Summary) -> str:
    """A sentence on the objects that the views are judged by, and what the result is worth."""
    views = summary["views"]
    held_out = views.get("held_out") or {}
    cut = copy_sentences(held_out)
    what = "labels" if summary["noun"] == "class" else "true values" if summary["noun"] == "value" else "objects"
    sampled = f" A random sample of {count(views['sampled'])} of them." if views.get("sampled") else ""
    if held_out.get("refitted"):
        return (
            f"Predicted for {count(held_out['n_hidden'])} held-out objects by a copy of the model that was fitted with "
            f"the other {count(held_out['n_shown'])} {what}.{cut}{sampled}"
        )
    if held_out:
        reason = held_out.get("note")
        if reason is None:
            return (
                f"Predicted for the {count(held_out['n_hidden'])} objects whose label was not used in the fit. Those "
                "that were in it without their label find themselves by any view: then no figure of a view alone is a "
                f"test of it.{sampled}"
            )
        return (
            "Predicted for these objects. If the model was fitted with them, every view looks better than it is. "
            f"Held-out objects: {reason}{sampled}"
        )
    return (
        f"Predicted for these objects. If the model was fitted with them, every view looks better than it is.{sampled}"
    )


def _agreement(matrix: dict[str, Any], noun: str | None) -> Markup:
    names = matrix["names"]
    cells = [
        [
            (value, f"{a} and {b}: {number(value, 2)} of {count(n)} objects", number(value, 2))
            for b, value, n in zip(names, row, counts)
        ]
        for a, row, counts in zip(names, matrix["values"], matrix["counts"])
    ]
    about = (
        f"Share of the same objects for which the same {noun} is predicted from one view as from another, of those "
        "that have both."
    )
    if matrix["cosine"]:
        about = "Mean cosine between the positions of the same object."
    return card(
        "Agreement of predictions from single views", paragraph(about), heat_map(names, names, cells, "Agreement")
    )
