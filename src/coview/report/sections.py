"""Sections of the page, in their order, each from its part of a summary: sentences, tables and charts."""

from __future__ import annotations

from functools import partial
from typing import Any

from markupsafe import Markup

from coview.report.charts import bar, color, curve, dots, heat_map, legend, map_chart, pairs_chart
from coview.report.markup import EMPTY, TableColumn, breakable, div, each, notes, numbers, table, texts
from coview.report.words import count, number, percent, plural, signed

__all__ = ["key_figures", "render_sections"]

Summary = dict[str, Any]

_FILTER = Markup(
    '<div class="tools"><input type="search" data-filter="group-cards" placeholder="Find a feature or a name" '
    'aria-label="Find a feature or a name"><span class="note" data-count aria-live="polite"></span></div>'
)


def render_sections(summary: Summary) -> list[tuple[str, str, str, str, Markup]]:
    """Return the sections in their order: anchor, title, name in the contents, a line below the title, and content."""
    groups = summary.get("groups") or {}
    noun = groups.get("noun", "group")
    names = plural(noun).capitalize()
    distinctive = any(groups.get("probabilities", {}).values())
    ranked = f"Features are ranked by {f'how well they distinguish the {noun}' if distinctive else 'weight'}."
    by_view = "The fitted model predicts the same objects from each view alone and from all views but one."
    near = "Objects that are similar to the model are close to each other."
    sections = [
        ("glance", "At a glance", "At a glance", "", _glance),
        ("model", "The model", "Model", "", _model),
        ("data", "The data", "Data", "", _data),
        ("scores", "How well it did", "Scores", "", _scores),
        ("groups", names, names, ranked, _groups),
        ("views", "What each view contributes", "Views", by_view, _views),
        ("search", "Search across views", "Search", "", _search),
        ("ontology", "Label hierarchy", "Labels", "", _ontology),
        ("map", "Map of objects", "Map", near, _map),
        ("examples", "Examples", "Examples", "", _examples),
        ("reproduce", "How to reproduce it", "Reproduce", "", _reproduce),
    ]
    always = ("glance", "scores")  # made of other parts
    return [
        (key, title, name, about, content)
        for key, title, name, about, render in sections
        if (key in always or summary.get(key)) and (content := render(summary))
    ]


def _card(title: Any, *parts: Any) -> Markup:
    return div("card", Markup("<h3>{}</h3>").format(title) if title else EMPTY, *parts)


def _grid(*cards: Markup) -> Markup:
    return div("grid", *cards) if cards else EMPTY


def _text(sentence: str) -> Markup:
    return Markup("<p>{}</p>").format(sentence)


# -- at the top


def key_figures(summary: Summary) -> Markup:
    """Return the numbers at the top: the main measures, objects, views, groups."""
    data, groups, scores, model = summary["data"], summary.get("groups"), summary.get("scores"), summary["model"]
    boxes: list[tuple[str, str, str]] = []  # class, figure, name
    if scores:
        held_out = (scores.get("held_out") or {}).get("measures")
        if held_out:
            boxes.append((" main", number(held_out[0]["value"]), f"{held_out[0]['name']}, held-out {_truths(scores)}"))
        else:
            measures = zip((" main", ""), scores["measures"])
            boxes += [(kind, number(m["value"]), m["name"]) for kind, m in measures]
    counts = [
        ("object", data["n_objects"]),
        ("view", len(data["views"])),
        ("feature", sum(view["n_features"] for view in data["views"])),
        (groups["noun"], groups["count"]) if groups else ("group", None),
        ("sweep" if model["rounds"] is None else "pass", model["sweeps"]),
    ]
    boxes += [("", count(n), plural(noun, n)) for noun, n in counts if n is not None]
    return div("figures", each('<div class="figure{}"><b>{}</b><span>{}</span></div>', boxes))


def _glance(summary: Summary) -> Markup:
    """Return what matters in a few sentences, made of the numbers below."""
    sentences = (_what(summary), _chosen(summary), _how_well(summary), _best_view(summary), _agreeing(summary))
    lines = each("<li>{}</li>", ((sentence,) for sentence in sentences if sentence))
    return div("card short", Markup("<ul>{}</ul>").format(lines))


def _what(summary: Summary) -> str:
    data, groups, name = summary["data"], summary.get("groups"), summary["model"]["name"]
    objects = "objects" if data["n_objects"] is None else f"{count(data['n_objects'])} objects"
    views = ", ".join(view["name"] for view in data["views"])
    origin = f"from {len(data['views'])} {plural('view', len(data['views']))} ({views})"
    if summary["noun"] == "value":
        return f"{name} predicts a number for {objects}, {origin}."
    if summary["noun"] is None or groups is None:
        return f"{name} places {objects} in one common space, {origin}."
    return f"{name} sorts {objects} into {groups['count']} {plural(groups['noun'], groups['count'])}, {origin}."


def _chosen(summary: Summary) -> str:
    """What a model was chosen or combined from."""
    candidates = summary["model"]["candidates"]
    weights = dict(zip(candidates.get("name", ()), candidates.get("weight", ())))
    used = [f"{name} (weight {number(weight)})" for name, weight in weights.items() if weight]
    unused = [name for name, weight in weights.items() if not weight]
    if not used:
        return ""
    rest = f" Considered but not used: {', '.join(unused)}." if unused else ""
    return f"It combines {', '.join(used)}.{rest}"


def _how_well(summary: Summary) -> str:
    scores = summary.get("scores")
    if not scores:
        return ""
    measured = ", ".join(f"{m['name']} {number(m['value'])}" for m in scores["measures"][:2])
    text = f"Against {count(scores['n_labeled'])} {_truths(scores)}: {measured}"
    held_out = (scores.get("held_out") or {}).get("measures")
    if held_out:
        text += f"; on held-out {_truths(scores)}: {held_out[0]['name']} {number(held_out[0]['value'])}"
    return text + "."


def _truths(scores: dict[str, Any]) -> str:
    return "true values" if scores.get("of") == "values" else "labels"


def _best_view(summary: Summary) -> str:
    views = summary.get("views")
    rows = [row for row in views["rows"] if row["alone"] is not None] if views else []
    if not views or not rows:
        return ""
    best = max(rows, key=lambda row: row["alone"])
    if views["whole"] is None:
        return (
            f"The view that comes closest to the result of all views is {best['name']}: on its own it gives "
            f"{percent(best['alone'])} of the same answers."
        )
    gain = views["whole"] - best["alone"]
    beside = f"the same as {best['name']} alone"
    if round(gain, 3):
        beside = f"{signed(gain)} compared with {best['name']} alone"
    return (
        f"The best single view is {best['name']} ({views['measure']} {number(best['alone'])}); "
        f"all views together reach {number(views['whole'])}, {beside}."
    )


def _agreeing(summary: Summary) -> str:
    agreement = (summary.get("views") or {}).get("agreement")
    if not agreement or agreement["cosine"]:
        return ""
    values, n = agreement["values"], len(agreement["names"]) - 1
    pairs = [values[i][j] for i in range(n) for j in range(i) if values[i][j] is not None]
    if not pairs:
        return ""
    return f"On average, two views assign the same {summary['noun']} to {percent(sum(pairs) / len(pairs))} of objects."


# -- the model and the data


def _model(summary: Summary) -> Markup:
    """Return parameters, versions, seed, and what the model was chosen from."""
    model = summary["model"]
    changed = [row for row in model["parameters"] if row["changed"]]
    rest = [row for row in model["parameters"] if not row["changed"]]
    body, more = _text("All parameters have their default values."), EMPTY
    if changed:
        body = table("Parameters", [*_parameter_columns(changed), texts("default", changed, "default")])
    if rest:
        more = Markup("<details><summary>{} {} with default values</summary>{}</details>").format(
            len(rest), plural("parameter", len(rest)), table("Default values", _parameter_columns(rest))
        )
    facts = [
        ("kind", f"{model['kind']}: {model['summary']}" if model["summary"] else model["kind"]),
        *([("seed", "not set" if model["seed"] is None else model["seed"])] if model["takes_seed"] else []),
        *([("rounds of the stream", count(model["rounds"]))] if model["rounds"] is not None else []),
        *((f"step {i}", step) for i, step in enumerate(model["steps"], 1)),
        *((name, _version(version, model["saved_with"].get(name))) for name, version in model["versions"].items()),
    ]
    listed = Markup('<dl class="facts">{}</dl>').format(each("<div><dt>{}</dt><dd>{}</dd></div>", facts))
    cards = _grid(_card("Parameters that were set", body, more), _card("Origin", listed))
    return EMPTY.join([cards, _candidates(model["candidates"])])


def _parameter_columns(rows: list[dict[str, Any]]) -> list[TableColumn]:
    return [texts("parameter", rows, "name"), texts("value", rows, "value")]


def _version(here: str, saved: str | None) -> str:
    return here if saved in (None, here) else f"{here} (the model was saved with {saved})"


def _candidates(candidates: dict[str, list[Any]]) -> Markup:
    """The table of what a model was chosen or combined from, with the evidence."""
    if not candidates:
        return EMPTY
    columns = []
    for name, values in candidates.items():
        numeric = any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        cells = [(value, number(value)) if numeric else "–" if value is None else str(value) for value in values]
        columns.append(TableColumn(name.replace("_", " "), "num" if numeric else "text", cells))
    about = _text("What the model was chosen or combined from, with the evidence. A weight of 0 means not used.")
    return _card("Candidates", about, table("Candidates", columns))


def _data(summary: Summary) -> Markup:
    """Return the views: width, density, missing share."""
    data, views = summary["data"], summary["data"]["views"]
    columns = [texts("view", views, "name"), numbers("features", views, "n_features", count)]
    if not data["measured"]:
        remark = "Pass the data to see how dense the views are and what each contributes."
        return _card("", table("Views", columns), notes([remark]))
    columns += [
        TableColumn("stored as", "text", [f"{view['kind']} {view['dtype']}" for view in views]),
        numbers("non-zero", views, "density", partial(percent, digits=2)),
        numbers("features per object (median)", views, "per_object", partial(number, digits=0)),
        numbers("objects without it", views, "missing", percent),
        numbers("empty rows", views, "empty", percent),
    ]
    remarks = []
    if data["sampled"]:
        remarks.append(
            f"Measured on a random sample of {count(data['sampled'])} of {count(data['n_objects'])} objects."
        )
    if data["complete"] < 1:
        remarks.append(f"{percent(data['complete'])} of the objects have all views.")
    if data["absent"]:
        remarks.append(f"Used in the fit but not passed here: {', '.join(data['absent'])}.")
    return _card("", table("Views", columns), notes(remarks))


def _reproduce(summary: Summary) -> Markup:
    """Return code and commands."""
    parts = summary["reproduce"]
    return _grid(
        _card("In Python", _code(parts["code"])),
        _card("On the command line", _code("\n".join(parts["commands"])), notes(parts["notes"])),
    )


def _code(text: str) -> Markup:
    return Markup(
        '<div class="code"><pre>{}</pre><button type="button" class="copy" hidden>Copy</button></div>'
    ).format(text)


# -- scores


def _scores(summary: Summary) -> Markup:
    """Return measures against labels or true values, the curves of the fit, and the confusion matrix."""
    scores, noun, cards = summary.get("scores"), summary["noun"], []
    if scores:
        cards.append(_measures(scores, noun))
    if scores and scores.get("pairs"):
        cards.append(_pairs(scores["pairs"]))
    cards += [_curve(line) for line in summary["curves"]]
    matrix = _confusion(scores["confusion"], noun) if scores and scores.get("confusion") else EMPTY
    return EMPTY.join([_grid(*cards), matrix])


def _measures(scores: dict[str, Any], noun: str | None) -> Markup:
    held_out = scores.get("held_out") or {}
    hidden = {m["name"]: m["value"] for m in held_out.get("measures", ())}
    described = '{}<br><span class="note">{}</span>'
    names = [(m["name"], Markup(described).format(m["name"], m["about"])) for m in scores["measures"]]
    columns = [TableColumn("measure", "text", names), numbers("these objects", scores["measures"], "value")]
    if hidden:
        values = [hidden.get(m["name"]) for m in scores["measures"]]
        columns.append(TableColumn("held out", "num", [(value, number(value)) for value in values]))
    truths = _truths(scores)
    remarks = [f"{count(scores['n_labeled'])} of {count(scores['n_objects'])} objects have a {truths[:-1]}."]
    if hidden and held_out["refitted"]:
        remarks.append(
            f"Held out: a copy of the model, fitted with {count(held_out['n_shown'])} {truths}, predicts the other "
            f"{count(held_out['n_hidden'])}."
        )
    elif hidden:
        remarks.append(f"Held out: the {count(held_out['n_hidden'])} objects whose label was not used in the fit.")
    elif held_out.get("note"):
        remarks.append(f"Held out: {held_out['note']}")
    if noun not in ("class", "value"):
        remarks.append("The model was not fitted with these labels.")
    elif not hidden:
        remarks.append(f"The model may have learned from some of these {truths}, which makes it look better.")
    return _card(f"Compared with the {truths}", table("Measures", columns), notes(remarks))


def _pairs(pairs: dict[str, Any]) -> Markup:
    tips = [
        f"object {key}\ntrue {number(true)}\npredicted {number(predicted)}"
        for key, true, predicted in zip(pairs["ids"], pairs["true"], pairs["predicted"])
    ]
    about = "On the line, prediction and true value are equal; above it, the prediction is too high."
    return _card("Predicted against true", pairs_chart(pairs["true"], pairs["predicted"], tips), notes([about]))


def _curve(line: dict[str, Any]) -> Markup:
    values = line["values"]
    if line["key"] == "correlations":
        text = f"From {number(values[0])} for the first component to {number(values[-1])} for the last."
    else:
        text = f"{number(values[0])} at the start, {number(values[-1])} at the end"
        text += f", after {number(line['seconds'][-1], 2)} s." if line.get("seconds") else "."
    return _card(line["title"], _text(text), curve(values, line["x"], line["title"], line.get("seconds")))


def _confusion(matrix: dict[str, Any], noun: str | None) -> Markup:
    word = noun or "group"
    predicted = "predicted" if noun == "class" else word

    def cell(label: str, name: str, n: int, total: int) -> tuple[float, str, str]:
        tip = f"label {label}, {predicted} {name}: {count(n)} ({percent(n / total)} of the label)"
        return n / total, tip, count(n) if n else "·"

    cells = [
        [cell(label, name, n, max(sum(row), 1)) for name, n in zip(matrix["columns"], row)]
        for label, row in zip(matrix["rows"], matrix["counts"])
    ]
    by = "predicted class" if noun == "class" else f"{word}, in the order that matches the labels best"
    left_out = f"{count(matrix['left_out'])} objects are in rows or columns that are not shown."
    return _card(
        "Labels and predictions" if noun == "class" else f"Labels and {plural(word)}",
        _text(f"Objects by label (rows) and by {by}. The color is the share of the row."),
        heat_map(matrix["rows"], matrix["columns"], cells, "Confusion matrix", f"label \\ {predicted}"),
        notes([left_out] if matrix["left_out"] else []),
    )


# -- groups and views


def _groups(summary: Summary) -> Markup:
    """Return a card for each group, with its features by view, and the topics below."""
    groups, noun = summary["groups"], summary["groups"]["noun"]
    parts = []
    if len(groups["items"]) > 4:
        parts.append(_FILTER)
    cards = EMPTY.join(_group(item, groups) for item in groups["items"])
    parts.append(Markup('<div class="groups" id="group-cards">{}</div>').format(cards))
    remarks, shown = [], len({item["index"] for item in groups["items"]})
    if shown < groups["count"]:
        which = "first" if noun == "component" else "largest"
        remarks.append(f"The {shown} {which} of {groups['count']} {plural(noun)} are shown.")
    if summary["data"]["sampled"] and groups["items"][0].get("size") is not None:
        remarks.append(f"Sizes are those in a random sample of {count(summary['data']['sampled'])} objects.")
    parts.append(notes(remarks))
    if summary.get("topics"):
        parts.append(_topics(summary["topics"], noun))
    return EMPTY.join(parts)


def _group(item: dict[str, Any], groups: dict[str, Any]) -> Markup:
    size, label, features = item.get("size"), item.get("label"), item["features"]
    words = [item["name"], label["name"] if label else "", *(f[0] for lists in features.values() for f in lists)]
    parts = []
    for view, lines in features.items():
        if len(features) > 1:
            parts.append(div("viewname", view))
        parts.append(_chips(lines, groups["probabilities"][view], groups["origin"][view]))
    share = EMPTY if size is None else bar(item["share"], color(item["index"]))
    tag = EMPTY
    if label:
        tag = Markup('<span class="pill">mostly {}, {}</span>').format(label["name"], percent(label["share"], 0))
    return Markup(
        '<article class="group" data-text="{text}"><h3><i style="background:{color}"></i>{title}<small>{size}</small>'
        "</h3>{share}{tag}{parts}</article>"
    ).format(
        text=" ".join(words).lower(),
        color=color(item["index"]),
        title=item["name"] if groups["noun"] == "class" else f"{groups['noun'].capitalize()} {item['name']}",
        size="" if size is None else f"{count(size)} · {percent(item['share'])}",
        share=share,
        tag=tag,
        parts=EMPTY.join(parts),
    )


def _chips(features: list[Any], probabilities: bool, origin: str | None) -> Markup:
    """Features of a group; the stronger the color, the larger the weight."""
    if not features:
        return Markup('<span class="note">No distinctive feature.</span>')
    top = max(weight for _, weight, _ in features) or 1.0
    chips = []
    for name, weight, lift in features:
        about = f"{number(lift, 1)} × the mean" if probabilities else origin
        chips.append((max(weight / top, 0), f"{name}: {number(weight, 4)} ({about})", name))
    return div("chips", each('<span class="chip" style="--v:{:.2f}" data-tip="{}">{}</span>', chips))


def _topics(topics: dict[str, Any], noun: str) -> Markup:
    """Heat maps of groups by topics, and the topics themselves, by view."""
    cards = []
    for view, items in topics["items"].items():
        shares = topics["mixtures"][view]
        words = [", ".join(feature[0] for feature in item["features"][:5]) for item in items]
        top = max(max(row) for row in shares) or 1.0
        cells = [
            [
                ((value / top) ** 0.7, f"{noun} {group}, topic {item['name']}: {percent(value)}\n{text}", "")
                for item, value, text in zip(items, row, words)
            ]
            for group, row in zip(topics["groups"], shares)
        ]
        columns = [
            TableColumn("topic", "num", [(int(item["name"]), item["name"]) for item in items]),
            numbers("share", items, "mass", percent),
            TableColumn("features", "wide", [_chips(item["features"], True, "") for item in items]),
        ]
        total = topics["count"][view]
        which = f"the {total} topics" if total == len(items) else f"the {len(items)} largest of {total} topics"
        cards.append(
            _card(
                f"{view}: how {plural(noun)} mix its topics",
                _text(f"Each row is a {noun}, each column one of {which}, most used first. Color shows the share."),
                heat_map(topics["groups"], None, cells, f"Topics of {view}"),
                Markup("<details><summary>The topics of {}</summary>{}</details>").format(
                    view, table(f"Topics of {view}", columns)
                ),
            )
        )
    return EMPTY.join(cards)


def _views(summary: Summary) -> Markup:
    """Return what each view contributes: alone, left out, and how far the views agree."""
    views, rows = summary["views"], summary["views"]["rows"]
    whole, measure = views["whole"], views["measure"]
    columns = [texts("view", rows, "name"), numbers("alone", rows, "alone"), numbers("left out", rows, "without")]
    if whole is not None:
        changes = [None if row["without"] is None else row["without"] - whole for row in rows]
        columns.append(TableColumn("change when left out", "num", [(change, signed(change)) for change in changes]))
    if any(row["kept"] is not None for row in rows):
        columns.append(numbers("same result when left out", rows, "kept", percent))
    if any(row["weight"] is not None for row in rows):
        columns.append(numbers("weight in the model", rows, "weight"))
    remarks = [f"{row['name']}: {row['refused']}" for row in rows if row["refused"]]
    if whole is not None:
        remarks.append(
            "Objects from the fit make every view look better than it is; pass new objects to see how it generalizes."
        )
    if views.get("sampled"):
        remarks.append(f"Measured on a random sample of {count(views['sampled'])} objects.")
    marks = Markup(
        '<div class="marks"><span><i class="dot alone"></i>this view alone</span>'
        '<span><i class="dot without"></i>all views but this one</span>{}</div>'
    ).format(Markup("<span><u></u>all views</span>") if whole is not None else EMPTY)
    cards = [_card(f"{measure[0].upper()}{measure[1:]}, by view", dots(rows, whole, measure), marks)]
    if views.get("agreement"):
        cards.append(_agreement(views["agreement"], summary["noun"]))
    return EMPTY.join([_grid(*cards), _card("", table("Contribution of each view", columns), notes(remarks))])


def _agreement(matrix: dict[str, Any], noun: str | None) -> Markup:
    names = matrix["names"]
    cells = [
        [(value, f"{a} and {b}: {number(value, 2)}", number(value, 2)) for b, value in zip(names, row)]
        for a, row in zip(names, matrix["values"])
    ]
    about = f"Share of objects that are assigned the same {noun}."
    if matrix["cosine"]:
        about = "Mean cosine between the positions of the same object."
    return _card("Agreement of the views", _text(about), heat_map(names, names, cells, "Agreement"))


# -- objects


def _map(summary: Summary) -> Markup:
    """Return the map of objects with its legend."""
    chart = summary["map"]
    noun, names, groups = chart["noun"], chart["names"], chart["group"]
    labels = chart["label"] if noun != "label" else None
    tips = []
    for i, key in enumerate(chart["ids"]):
        lines = [f"object {key}"]
        if noun != "object":
            lines.append(f"{noun} {names[groups[i]] if groups[i] >= 0 else 'none'}")
        if labels is not None:
            lines.append(f"label {chart['labels'][labels[i]]}" if labels[i] >= 0 else "no label")
        if chart["margin"] is not None:
            lines.append(f"margin {chart['margin'][i]:.2f}")
        tips.append("\n".join(lines))
    parts = [map_chart(chart["x"], chart["y"], groups, labels, tips)]
    if len(names) > 1:
        parts.append(legend(names, "g", _counts(groups, names), "" if noun in ("class", "label") else noun))
    if labels is not None:
        choice = Markup(
            '<div class="tools"><span class="choice" role="group" aria-label="Color by">'
            '<button type="button" data-by="g" aria-pressed="true">Color by {}</button>'
            '<button type="button" data-by="l" aria-pressed="false">Color by label</button></span></div>'
        ).format(noun)
        parts = [choice, *parts, legend(chart["labels"], "l", _counts(labels, chart["labels"]), hidden=True)]
    n = len(chart["x"])
    remarks = [f"{chart['method']}."]
    if chart["n_objects"] is not None and n < chart["n_objects"]:
        remarks.append(f"A random sample of {count(n)} of {count(chart['n_objects'])} objects.")
    if len(names) > 1:
        remarks.append("Click a name to hide it; double-click to see it alone.")
    return Markup('<div class="card" data-figure>{}{}</div>').format(EMPTY.join(parts), notes(remarks))


def _counts(codes: list[int], names: list[str]) -> list[int]:
    return [codes.count(k) for k in range(len(names))]


def _examples(summary: Summary) -> Markup:
    """Return typical objects of each group and disputed ones."""
    examples, noun = summary["examples"], summary["noun"] or "group"
    cards = []
    if examples["typical"]:
        things = [{"group": group["group"], **thing} for group in examples["typical"] for thing in group["objects"]]
        columns = [texts(noun, things, "group"), texts("object", things, "id"), numbers("share", things, "share")]
        shown = table("Typical objects", [*columns, *_described(things)])
        cards.append(_card("Most typical", _text(f"The objects that belong most clearly to each {noun}."), shown))
    if examples["disputed"]:
        things = examples["disputed"]
        views = dict.fromkeys(view for thing in things for view in thing["by_view"])
        columns = [
            texts("object", things, "id"),
            *(TableColumn(view, "text", [thing["by_view"].get(view, "–") for thing in things]) for view in views),
            texts("all views", things, "all"),
        ]
        about = (
            f"Objects that the views, each with confidence, assign to different {plural(noun)}; the clearest "
            "disagreement comes first."
        )
        shown = table("Disputed objects", [*columns, *_described(things)])
        cards.append(_card("Most disputed", _text(about), shown))
    return EMPTY.join(cards)


def _described(things: list[dict[str, Any]]) -> list[TableColumn]:
    """The last columns of a table of objects: their labels, where there are any, and what is in them."""
    words = TableColumn("distinctive features", "wide", [_words(thing["words"]) for thing in things])
    if all(thing["label"] is None for thing in things):
        return [words]
    return [TableColumn("label", "text", [thing["label"] or "–" for thing in things]), words]


def _words(words: dict[str, list[str]]) -> Markup:
    lines = []
    for view, names in words.items():
        if names:
            chips = each('<span class="chip plainchip">{}</span>', ((name,) for name in names))
            lines += [div("viewname", view) if len(words) > 1 else EMPTY, div("chips", chips)]
    return div("words", *lines) if len(words) > 1 else EMPTY.join(lines)


def _search(summary: Summary) -> Markup:
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
        parts.append(_card("Searching one view with another", _text(about), table("Searches", columns)))
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
        cards.append(_card(f"{example['source']} of object {example['query']}", query, table("Hits", columns)))
    return EMPTY.join([*parts, _grid(*cards)])


def _ontology(summary: Summary) -> Markup:
    """Return the tree of labels with the number of objects of each."""
    tree = summary["ontology"]
    top = max([line["count"] for line in tree["lines"]] + [1])
    lines = each(
        '<li><span class="label" style="padding-left:{:.1f}rem">{}{}</span>{}<span class="num">{}</span></li>',
        (
            (
                1.3 * line["level"],
                line["label"],
                " (see above)" if line["again"] else "",
                bar(line["count"] / top),
                count(line["count"]),
            )
            for line in tree["lines"]
        ),
    )
    remark = (
        f"{count(tree['n_objects'])} objects; {count(tree['n_exclusive'])} "
        f"{plural('pair', tree['n_exclusive'])} of mutually exclusive labels; single views violated "
        f"{count(tree['n_broken'])} {plural('constraint', tree['n_broken'])} during the fit."
    )
    return _card("", Markup('<ul class="tree">{}</ul>').format(lines), notes([remark]))
