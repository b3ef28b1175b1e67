"""Sections of the page on groups, views and objects: topics, contributions, map, examples, searches, ontology."""

from __future__ import annotations

from typing import Any

from coview.report.markup import EMPTY, Markup, breakable, count, fill, join, number, percent, plural, signed, table
from coview.report.svg import COLORS, dots, heat_grid, heat_strip, legend, scatter

__all__ = [
    "section_examples",
    "section_groups",
    "section_map",
    "section_ontology",
    "section_search",
    "section_views",
]


def section_groups(found: dict[str, Any]) -> Markup:
    """Return a card for each group, with its features by view, and the topics below."""
    groups = found["groups"]
    cards = join(_group(item, groups) for item in groups["items"])
    tools = fill(
        '<div class="tools"><input type="search" data-filter="group-cards" placeholder="Find a feature or a name" '
        'aria-label="Find a feature or a name"><span class="note" data-found aria-live="polite"></span></div>'
    )
    more = ""
    if groups["noun"] != "component" and len(groups["items"]) < groups["count"]:
        more = f"The {len(groups['items'])} largest of {groups['count']} are shown."
    shown = fill('<div class="groups" id="group-cards">$cards</div>', cards=cards)
    inside = [tools if len(groups["items"]) > 4 else EMPTY, shown]
    if found["data"].get("sampled") and groups["items"] and groups["items"][0].get("size") is not None:
        more = f"{more} Sizes are those in a random sample of {count(found['data']['sampled'])} objects.".strip()
    if more:
        inside.append(fill('<p class="note">$more</p>', more=more))
    if found.get("topics"):
        inside.append(_topics(found["topics"], found["noun"]))
    return join(inside)


def _group(item: dict[str, Any], groups: dict[str, Any]) -> Markup:
    color = f"var(--c{item['index'] % COLORS})"
    size, label = item.get("size"), item.get("label")
    text = " ".join(
        [item["name"], label["name"] if label else "", *(f[0] for lists in item["features"].values() for f in lists)]
    ).lower()
    several = len(item["features"]) > 1
    parts = []
    for view, features in item["features"].items():
        name = fill('<div class="viewname">$view</div>', view=view) if several else EMPTY
        parts.append(join([name, _chips(features, groups["probabilities"], groups["origin"])]))
    title = item["name"] if groups["noun"] == "class" else f"{groups['noun'].capitalize()} {item['name']}"
    share = EMPTY
    if size is not None:
        share = fill(
            '<div class="share"><b style="width:$w%;background:$c"></b></div>',
            w=f"{100 * item['share']:.1f}",
            c=color,
        )
    tag = (
        fill('<span class="pill">mostly $name, $share</span>', name=label["name"], share=percent(label["share"], 0))
        if label
        else EMPTY
    )
    return fill(
        '<article class="group" data-text="$text"><h3><i style="background:$color"></i>$title<small>$size</small></h3>'
        "$share$tag$parts</article>",
        text=text,
        color=color,
        title=title,
        size="" if size is None else f"{count(size)} · {percent(item['share'])}",
        share=share,
        tag=tag,
        parts=join(parts),
    )


def _chips(features: list[Any], probabilities: bool, origin: str | None) -> Markup:
    if not features:
        return fill('<span class="note">nothing that sets it apart</span>')
    top = max(weight for _, weight, _ in features) or 1.0
    chips = []
    for name, weight, lift in features:
        tip = f"{name}: {number(weight, 4)}"
        tip += f", {number(lift, 1)} × the mean" if probabilities else f" ({origin})"
        strength = f"{max(weight / top, 0):.2f}"
        chips.append(
            fill('<span class="chip" style="--v:$v" data-tip="$tip">$name</span>', v=strength, tip=tip, name=name)
        )
    return fill('<div class="chips">$chips</div>', chips=join(chips))


def _topics(topics: dict[str, Any], noun: str | None) -> Markup:
    """Heat maps of groups by topics, and the topics themselves, by view."""
    parts = []
    for view, items in topics["items"].items():
        mixed = topics["mixtures"][view]
        tips = [
            [
                f"{noun} {group}, topic {item['name']}: {percent(value)}\n"
                + ", ".join(feature[0] for feature in item["features"][:5])
                for item, value in zip(items, row)
            ]
            for group, row in zip(topics["groups"], mixed)
        ]
        listed = [
            (
                (int(item["name"]), item["name"]),
                (item["mass"], percent(item["mass"])),
                _chips(item["features"], True, None),
            )
            for item in items
        ]
        total = topics["count"][view]
        shown = f"{total} topics" if total == len(items) else f"the {len(items)} largest of {total} topics"
        parts.append(
            fill(
                '<div class="card"><h3>$view: how $nouns mix its topics</h3><p>A row is a $noun, a column one of'
                " $shown, most used first; the stronger the color, the larger the share.</p>$strip"
                "<details><summary>The topics of $view</summary>$listed</details></div>",
                view=view,
                nouns=plural(noun or "group"),
                noun=noun or "group",
                shown=shown,
                strip=heat_strip(topics["groups"], mixed, tips),
                listed=table([("topic", "num"), ("share", "num"), ("features", "wide")], listed, f"Topics of {view}"),
            )
        )
    return join(parts)


def section_views(found: dict[str, Any]) -> Markup:
    """Return what each view contributed: alone, left out, and how far the views agree."""
    views = found["views"]
    rows = []
    weighted, kept = (any(row[key] is not None for row in views["rows"]) for key in ("weight", "kept"))
    for row in views["rows"]:
        change = None if row["without"] is None or views["whole"] is None else row["without"] - views["whole"]
        cells: list[Any] = [row["name"], (row["alone"], number(row["alone"])), (row["without"], number(row["without"]))]
        if views["whole"] is not None:
            cells.append((change, signed(change)))
        if kept:
            cells.append((row["kept"], percent(row["kept"])))
        if weighted:
            cells.append((row["weight"], number(row["weight"])))
        rows.append(cells)
    head = [("view", "text"), ("alone", "num"), ("left out", "num")]
    if views["whole"] is not None:
        head.append(("change when left out", "num"))
    if kept:
        head.append(("same result when left out", "num"))
    if weighted:
        head.append(("weight in the model", "num"))
    chart = dots(
        [(row["name"], row["alone"], row["without"]) for row in views["rows"]], views["whole"], views["measure"]
    )
    notes = [f"{row['name']}: {row['refused']}" for row in views["rows"] if row["refused"]]
    if views["whole"] is not None:
        notes.append("Objects that the model was fitted on flatter every view; give new ones to know.")
    if views.get("sampled"):
        notes.append(f"Measured on a random sample of {count(views['sampled'])} objects.")
    marks = fill(
        '<div class="marks"><span><i class="dot alone"></i>this view alone</span>'
        '<span><i class="dot without"></i>all views but this one</span>$all</div>',
        all=fill("<span><u></u>all views</span>") if views["whole"] is not None else EMPTY,
    )
    text = f"{views['measure'][0].upper()}{views['measure'][1:]}"
    left = fill('<div class="card"><h3>$text, by view</h3>$chart$marks</div>', text=text, chart=chart, marks=marks)
    parts = [left]
    if views.get("agreement"):
        parts.append(_agreement(views["agreement"], found["noun"]))
    return join(
        [
            fill('<div class="grid">$parts</div>', parts=join(parts)),
            fill(
                '<div class="card">$t$notes</div>',
                t=table(head, rows, "Contribution of each view"),
                notes=fill('<p class="note">$n</p>', n=" ".join(notes)) if notes else EMPTY,
            ),
        ]
    )


def _agreement(found: dict[str, Any], noun: str | None) -> Markup:
    values = found["values"]
    texts = [["–" if v is None else number(v, 2) for v in row] for row in values]
    about = (
        "Mean cosine of the places that two readings give the same object."
        if found["cosine"]
        else f"Share of objects to which two readings give the same {noun}."
    )
    return fill(
        '<div class="card"><h3>How far the views agree</h3><p>$about</p>$grid</div>',
        about=about,
        grid=heat_grid(found["names"], found["names"], values, texts, "", "Agreement of views"),
    )


def section_map(found: dict[str, Any]) -> Markup:
    """Return the map of objects with its legend."""
    drawn = found["map"]
    noun, groups = drawn["noun"], drawn["group"]
    named = drawn["names"]
    by_label = drawn["label"] is not None and noun != "label"
    tips = []
    for i, key in enumerate(drawn["ids"]):
        group = named[groups[i]] if groups[i] >= 0 else "none"
        lines = [f"object {key}"]
        if named != ["objects"]:
            lines.append(f"{noun} {group}")
        if by_label:
            lines.append(f"label {drawn['labels'][drawn['label'][i]]}" if drawn["label"][i] >= 0 else "no label")
        if drawn["margin"] is not None:
            lines.append(f"ahead of the second by {drawn['margin'][i]:.2f}")
        tips.append("\n".join(lines))
    sizes = [sum(1 for g in groups if g == k) for k in range(len(named))]
    parts = []
    if by_label:
        parts.append(
            fill(
                '<div class="tools"><span class="choice" role="group" aria-label="Color by">'
                '<button type="button" data-by="g" aria-pressed="true">Color by $noun</button>'
                '<button type="button" data-by="l" aria-pressed="false">Color by label</button></span></div>',
                noun=noun,
            )
        )
    parts.append(scatter(drawn["x"], drawn["y"], groups, drawn["label"] if by_label else None, tips))
    if len(named) > 1:
        parts.append(legend(named, "g", sizes, "" if noun in ("class", "label") else noun))
    if by_label:
        counts = [sum(1 for c in drawn["label"] if c == k) for k in range(len(drawn["labels"]))]
        hidden = legend(drawn["labels"], "l", counts)
        parts.append(Markup(hidden.replace('class="legend legend-l"', 'class="legend legend-l hidden"', 1)))
    n = len(drawn["x"])
    note = f"{drawn['method']}."
    if drawn["n_objects"] is not None and n < drawn["n_objects"]:
        note += f" A random sample of {count(n)} of {count(drawn['n_objects'])} objects."
    note += " Click a name to hide it, double-click to see it alone." if len(named) > 1 else ""
    return fill('<div class="card" data-figure>$parts<p class="note">$note</p></div>', parts=join(parts), note=note)


def section_examples(found: dict[str, Any]) -> Markup:
    """Return typical objects of each group and disputed ones."""
    examples, noun = found["examples"], found["noun"] or "group"
    parts = []
    typical = examples["typical"]
    if typical:
        labeled = any(thing["label"] is not None for group in typical for thing in group["objects"])
        head = [(noun, "text"), ("object", "text"), ("share" if examples["shares"] else "score", "num")]
        head += [("label", "text")] if labeled else []
        head.append(("what is in it", "wide"))
        rows = []
        for group in typical:
            for thing in group["objects"]:
                row: list[Any] = [group["group"], thing["id"], (thing["score"], number(thing["score"]))]
                row += [thing["label"] or "–"] if labeled else []
                row.append(_words(thing["words"]))
                rows.append(row)
        parts.append(
            fill(
                '<div class="card"><h3>Most typical</h3><p>The objects that belong most to each $noun.</p>$t</div>',
                noun=noun,
                t=table(head, rows, "Typical objects"),
            )
        )
    if examples["disputed"]:
        parts.append(_disputed(examples["disputed"], noun))
    return join(parts)


def _disputed(things: list[dict[str, Any]], noun: str) -> Markup:
    views = list(dict.fromkeys(view for thing in things for view in thing["by_view"]))
    labeled = any(thing["label"] is not None for thing in things)
    head = [("object", "text"), *((f"{view} says", "text") for view in views), ("all views say", "text")]
    head += [("label", "text")] if labeled else []
    head.append(("what is in it", "wide"))
    rows = []
    for thing in things:
        row: list[Any] = [thing["id"], *(thing["by_view"].get(view, "–") for view in views), thing["all"]]
        row += [thing["label"] or "–"] if labeled else []
        row.append(_words(thing["words"]))
        rows.append(row)
    return fill(
        '<div class="card"><h3>Most disputed</h3><p>Objects to which the views, each sure of itself, give different '
        "$nouns; the surest dispute first.</p>$t</div>",
        nouns=plural(noun),
        t=table(head, rows, "Disputed objects"),
    )


def _words(words: dict[str, list[str]]) -> Markup:
    lines = []
    for view, names in words.items():
        if names:
            chips = join(fill('<span class="chip plainchip">$name</span>', name=name) for name in names)
            shown = fill('<div class="chips">$chips</div>', chips=chips)
            lines.append(fill('<div class="viewname">$v</div>$s', v=view, s=shown) if len(words) > 1 else shown)
    return fill('<div class="told">$lines</div>', lines=join(lines)) if len(words) > 1 else join(lines)


def section_search(found: dict[str, Any]) -> Markup:
    """Return how well each view finds each other one, and a few searches."""
    search = found["search"]
    parts = []
    if search["pairs"]:
        labeled = any(pair.get("same_label") is not None for pair in search["pairs"])
        head = [("asked with", "text"), ("searched in", "text"), ("queries", "num"), ("itself first", "num")]
        head.append((f"itself among {search['pairs'][0]['k']}", "num"))
        head += [("hits with the same label", "num")] if labeled else []
        rows = []
        for pair in search["pairs"]:
            row: list[Any] = [pair["source"], pair["target"], (pair["n_queries"], count(pair["n_queries"]))]
            row += [(pair["first"], percent(pair["first"])), (pair["among"], percent(pair["among"]))]
            row += [(pair.get("same_label"), percent(pair.get("same_label")))] if labeled else []
            rows.append(row)
        parts.append(
            fill(
                '<div class="card"><h3>One view asks for another</h3><p>Objects are asked for with one of their views'
                " and searched by another, among $n: how often does an object find itself?</p>$t</div>",
                n=count(search["indexed"]),
                t=table(head, rows, "Searches"),
            )
        )
    cards = []
    for example in search["examples"]:
        hits: list[Any] = []
        for i, hit in enumerate(example["hits"]):
            own = fill(' <span class="pill on">itself</span>') if hit["own"] else EMPTY
            told = _words({example["target"]: hit["words"]})
            hits.append(
                [(i, fill("$id$own", id=breakable(hit["id"]), own=own)), (hit["score"], number(hit["score"])), told]
            )
        cards.append(
            fill(
                '<div class="card"><h3>$source of object $id</h3>$words$t</div>',
                source=example["source"],
                id=example["query"],
                words=_words({example["source"]: example["words"]}),
                t=table([("hit", "text"), ("score", "num"), (example["target"], "wide")], hits, "Hits"),
            )
        )
    if cards:
        parts.append(fill('<div class="grid">$cards</div>', cards=join(cards)))
    return join(parts)


def section_ontology(found: dict[str, Any]) -> Markup:
    """Return the tree of labels with the number of objects of each."""
    tree = found["ontology"]
    top = max([line["count"] for line in tree["lines"]] + [1])
    lines = [
        fill(
            '<li><span class="label" style="padding-left:${pad}rem">$label$again</span><span class="bar">'
            '<b style="width:$w%"></b></span><span class="num">$n</span></li>',
            pad=f"{1.3 * line['level']:.1f}",
            label=line["label"],
            again=" (above)" if line["again"] else "",
            w=f"{100 * line['count'] / top:.1f}",
            n=count(line["count"]),
        )
        for line in tree["lines"]
    ]
    note = f"{count(tree['n_objects'])} objects, {count(tree['n_exclusive'])} pairs of labels that exclude each other"
    note += f"; {count(tree['n_broken'])} constraints were broken by single views when the model was fitted."
    return fill(
        '<div class="card"><ul class="tree">$lines</ul><p class="note">$note</p></div>', lines=join(lines), note=note
    )
