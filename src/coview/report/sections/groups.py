"""The section on groups: a line for each, which unfolds to features and typical objects; the topics below them."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.report.charts import bar, color, heat_map, marker
from coview.report.markup import EMPTY, TableColumn, breakable, div, each, notes, numbers, table, texts
from coview.report.sections.hierarchy import render_hierarchy
from coview.report.sections.parts import Summary, called, paragraph
from coview.report.words import count, number, percent, plural, signed

__all__ = ["object_content", "render_groups", "typical_by_group"]

MOST_LINES = 24  # groups that are listed; the rest is folded
_FILTER = Markup(
    '<div class="tools"><input type="search" data-filter="group-cards" placeholder="Find a feature or a name" '
    'aria-label="Find a feature or a name"><span class="note" data-count aria-live="polite"></span></div>'
)


def render_groups(summary: Summary) -> Markup:
    """Return a line for each group, which unfolds to its features and typical objects; the topics below."""
    groups, noun = summary["groups"], summary["groups"]["noun"]
    parts = []
    if len(groups["items"]) > 4:
        parts.append(_FILTER)
    lines = [_group(item, summary) for item in groups["items"]]
    cards = EMPTY.join(lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        smaller = "more" if noun == "component" else f"smaller {plural(noun, len(lines) - MOST_LINES)}"
        cards += Markup('<details class="rest"><summary>{} {}</summary>{}</details>').format(
            len(lines) - MOST_LINES, smaller, EMPTY.join(lines[MOST_LINES:])
        )
    parts.append(Markup('<div class="card groups" id="group-cards">{}</div>').format(cards))
    remarks, shown = [], len({item["index"] for item in groups["items"]})
    if shown < groups["count"]:
        which = "first" if noun == "component" else "largest"
        remarks.append(f"The {shown} {which} of {groups['count']} {plural(noun)} are shown.")
    if summary["data"]["sampled"] and groups["items"][0].get("size") is not None:
        remarks.append(f"Sizes are those in a random sample of {count(summary['data']['sampled'])} objects.")
    if moved := groups.get("moved"):
        remarks.append(
            f"Objects are sorted anew, as predict does: {count(moved)} {'is' if moved == 1 else 'are'} in another "
            f"{noun} than at the end of the fit."
        )
    parts.append(notes(remarks))
    if summary.get("quality"):
        parts.append(_quality(summary))
    if summary.get("hierarchy"):
        parts.append(render_hierarchy(summary))
    if summary.get("topics"):
        parts.append(_topics(summary))
    return EMPTY.join(parts)


def _group(item: dict[str, Any], summary: Summary) -> Markup:
    groups, size, label, features = summary["groups"], item.get("size"), item.get("label"), item["features"]
    noun, key, name = groups["noun"], item["name"], summary["group_names"].get(item["name"])
    objects = typical_by_group(summary).get(key, [])
    nearest = {view: groups[key] for view, groups in _nearest(summary).items() if key in groups}
    measured = groups["deviations"]
    words = [
        *(key, name or "", label["name"] if label else ""),
        *(feature[0] for lists in features.values() for feature in lists),
        *(str(thing["id"]) for things in (objects, *nearest.values()) for thing in things),
    ]
    parts = []
    for view, lines in features.items():
        chips = _chips(lines, groups["probabilities"][view], groups["origin"][view], measured[view])
        parts += [div("viewname", view if len(features) + len(nearest) > 1 else "features"), chips]
    for view, things in nearest.items():
        parts += [
            div("viewname", f"{view}, nearest objects"),
            Markup('<ul class="objects">{}</ul>').format(_objects(things)),
        ]
    if objects:
        parts += [div("viewname", "typical objects"), Markup('<ul class="objects">{}</ul>').format(_objects(objects))]
    title: Any = key if noun == "class" else f"{noun.capitalize()} {key}"
    if name:
        title = Markup('<span class="number">{}</span> {}').format(key, breakable(name))
    elif noun != "component":
        shown = dict.fromkeys(
            _deviation(feature) if measured[view] else feature[0]
            for view, lists in features.items()
            for feature in lists[:2]
        )
        title = Markup('{} <span class="about">{}</span>').format(title, ", ".join(list(shown)[:4]))
    tag = Markup("<span></span>")
    if label:
        tag = Markup('<span class="pill">mostly {}, {}</span>').format(label["name"], percent(label["share"], 0))
    return Markup(
        '<details class="group" data-text="{text}"><summary>{mark}<span class="title">{title}</span>{tag}{share}'
        '<span class="size">{size}</span></summary><div class="words">{parts}</div></details>'
    ).format(
        text=" ".join(words).lower(),
        mark=marker(item["index"]),
        title=title,
        size="" if size is None else f"{count(size)} · {percent(item['share'])}",
        share=EMPTY if size is None else bar(item["share"] / (_largest_share(groups) or 1.0), color(item["index"])),
        tag=tag,
        parts=EMPTY.join(parts),
    )


def _quality(summary: Summary) -> Markup:
    """How well the groups can be read, folded: coherence and exclusivity of their first features."""
    quality = summary["quality"]
    views, rows, noun = quality["views"], quality["groups"], quality["noun"]
    means = [texts("view", views, "name")] + [
        numbers(name, views, key)
        for name, key in (
            ("NPMI", "npmi"),
            ("c_v", "c_v"),
            ("exclusivity", "exclusivity"),
            ("diversity", "diversity"),
            ("stability", "stability"),
        )
        if any(row.get(key) is not None for row in views)
    ]
    by_group = [TableColumn(noun, "text", [called(summary, row["key"]) for row in rows])] + [
        numbers(view["name"], [row["npmi"] for row in rows], view["name"]) for view in views
    ]
    about = (
        f"Do the {quality['n_features']} features of the largest weight of a {noun} occur in the same objects (NPMI, "
        "where 0 is chance and 1 is always; c_v, from 0 to 1)? Are they its own (exclusivity), and do the "
        f"{plural(noun)} differ (diversity)?"
    )
    listed = f"NPMI by {noun}, the most coherent first"
    if fits := quality.get("n_fits"):
        about += (
            f" Stability: what share of these features do {fits} fits with other seeds find again in one {noun} "
            f"(from 0 to 1)? A {noun} that they do not find is one of several ways to divide the objects."
        )
        by_group += [
            numbers(f"stability: {view['name']}", [row["stability"] for row in rows], view["name"]) for view in views
        ]
        listed = f"NPMI and stability by {noun}, the most coherent first"
    if len(rows) < quality["count"]:
        listed += f": the first and the last, {len(rows)} of {quality['count']}"
    coherence = ", ".join(f"{view['name']} {number(view['npmi'])}" for view in views if view["npmi"] is not None)
    return Markup('<details class="quality"><summary>{}</summary>{}{}</details>').format(
        f"Quality of the {plural(noun)}: coherence (NPMI) of {coherence}" if coherence else "Quality",
        paragraph(about) + table(f"Mean over the {plural(noun)}", means),
        paragraph(f"{listed}.") + table("NPMI", by_group),
    )


def _largest_share(groups: dict[str, Any]) -> float:
    return max(item.get("share", 0.0) for item in groups["items"])


def typical_by_group(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Typical objects by the key of their group."""
    return {group["group"]: group["objects"] for group in (summary.get("examples") or {}).get("typical", ())}


def _nearest(summary: Summary) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Objects nearest to the mean vectors of the groups, by view of vectors and key of the group."""
    return (summary.get("examples") or {}).get("nearest", {})


def _objects(objects: list[dict[str, Any]]) -> Markup:
    """Objects as items of a list: what they are called, and their texts or what is in them."""
    lines = []
    for thing in objects:
        tag = Markup(' <span class="pill">{}</span>').format(thing["label"]) if thing["label"] else EMPTY
        lines.append((breakable(thing["id"]), tag, object_content(thing)))
    return each('<li><b>{}</b>{} <span class="note">{}</span></li>', lines)


def object_content(thing: dict[str, Any]) -> str:
    """An object's text, or else its distinctive features, a few of each view."""
    return thing["text"] or ", ".join(name for names in thing["words"].values() for name in names[:2])


def _chips(features: list[Any], probabilities: bool, origin: str | None, measured: bool = False) -> Markup:
    """Features of a group; the stronger the color, the larger the weight, or the distance of measurements."""
    if not features:
        return Markup('<span class="note">No distinctive feature.</span>')
    top = max(abs(weight) if measured else weight for _, weight, _ in features) or 1.0
    chips = []
    for name, weight, lift in features:
        if measured:
            far = f"{number(abs(weight), 2)} standard deviations {'above' if weight > 0 else 'below'} that of all"
            chips.append((abs(weight) / top, f"{name}: {number(lift)} on average, {far}", _deviation((name, weight))))
            continue
        about = f"{number(lift, 1)} × the mean" if probabilities else origin
        chips.append((max(weight / top, 0), f"{name}: {number(weight, 4)} ({about})", name))
    return div("chips", each('<span class="chip" style="--v:{:.2f}" data-tip="{}">{}</span>', chips))


def _deviation(feature: Any) -> str:
    """A measurement with how far its mean in the group lies from that of all objects."""
    return f"{feature[0]} {signed(feature[1], 1)}"


def _topics(summary: Summary) -> Markup:
    """Heat maps of groups by topics, and the topics themselves, by view; folded."""
    topics, noun = summary["topics"], summary["groups"]["noun"]
    cards = []
    for view, items in topics["items"].items():
        shares, groups = topics["mixtures"][view], [called(summary, key) for key in topics["groups"]]
        words = [", ".join(feature[0] for feature in item["features"][:5]) for item in items]
        top = max(max(row) for row in shares) or 1.0
        cells = [
            [
                ((value / top) ** 0.7, f"{noun} {group}, topic {item['name']}: {percent(value)}\n{text}", "")
                for item, value, text in zip(items, row, words)
            ]
            for group, row in zip(groups, shares)
        ]
        columns = [
            TableColumn("topic", "num", [(int(item["name"]), item["name"]) for item in items]),
            numbers("share", items, "mass", percent),
            TableColumn("features", "wide", [_chips(item["features"], True, "") for item in items]),
        ]
        total = topics["count"][view]
        which = f"the {total} topics" if total == len(items) else f"the {len(items)} largest of {total} topics"
        content = EMPTY.join(
            [
                paragraph(f"Each row is a {noun}, each column one of {which}, most used first. Color shows the share."),
                heat_map(groups, None, cells, f"Topics of {view}"),
                table(f"Topics of {view}", columns),
            ]
        )
        cards.append((f"How {plural(noun)} mix the topics of {view}", content))
    folded = each('<details class="fold"><summary>{}</summary>{}</details>', cards)
    return div("card", folded)
