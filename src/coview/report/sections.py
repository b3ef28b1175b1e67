"""Sections of the page, each from its part of a summary: sentences, tables and charts."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.report.charts import bar, color, curve, dots, heat_map, legend, map_chart, pairs_chart
from coview.report.markup import EMPTY, breakable, count, notes, number, percent, plural, signed, table

__all__ = [
    "glance",
    "key_figures",
    "section_data",
    "section_examples",
    "section_groups",
    "section_map",
    "section_model",
    "section_ontology",
    "section_reproduce",
    "section_scores",
    "section_search",
    "section_views",
]

Summary = dict[str, Any]


def _card(title: Any, *parts: Any) -> Markup:
    heading = Markup("<h3>{}</h3>").format(title) if title else EMPTY
    return Markup('<div class="card">{}{}</div>').format(heading, EMPTY.join(parts))


def _grid(*cards: Markup) -> Markup:
    return Markup('<div class="grid">{}</div>').format(EMPTY.join(cards)) if cards else EMPTY


def _text(sentence: str) -> Markup:
    return Markup("<p>{}</p>").format(sentence)


# -- at the top


def key_figures(summary: Summary) -> Markup:
    """Return the numbers at the top: the main measures, objects, views, groups."""
    data, groups, scores, model = summary["data"], summary.get("groups"), summary.get("scores"), summary["model"]
    boxes: list[tuple[str, str, bool]] = []
    if scores:
        held_out = (scores.get("held_out") or {}).get("measures")
        if held_out:
            boxes.append((number(held_out[0]["value"]), f"{held_out[0]['name']}, held-out {_truths(scores)}", True))
        else:
            boxes += [(number(m["value"]), m["name"], i == 0) for i, m in enumerate(scores["measures"][:2])]
    if data["n_objects"] is not None:
        boxes.append((count(data["n_objects"]), plural("object", data["n_objects"]), False))
    boxes.append((count(len(data["views"])), plural("view", len(data["views"])), False))
    boxes.append((count(sum(view["n_features"] for view in data["views"])), "features", False))
    if groups:
        boxes.append((count(groups["count"]), plural(groups["noun"], groups["count"]), False))
    if model["sweeps"] is not None:
        unit = "sweep" if model["rounds"] is None else "pass"
        boxes.append((count(model["sweeps"]), plural(unit, model["sweeps"]), False))
    box = Markup('<div class="figure{}"><b>{}</b><span>{}</span></div>')
    return Markup('<div class="figures">{}</div>').format(
        EMPTY.join(box.format(" main" if main else "", value, name) for value, name, main in boxes)
    )


def glance(summary: Summary) -> Markup:
    """Return what matters in a few sentences, made of the numbers below."""
    sentences = (_what(summary), _chosen(summary), _how_well(summary), _best_view(summary), _agreeing(summary))
    lines = EMPTY.join(Markup("<li>{}</li>").format(sentence) for sentence in sentences if sentence)
    return Markup('<div class="card short"><ul>{}</ul></div>').format(lines)


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


def section_model(summary: Summary) -> Markup:
    """Return parameters, versions, seed, and what the model was chosen from."""
    model = summary["model"]
    changed = [(row["name"], row["value"], row["default"]) for row in model["parameters"] if row["changed"]]
    rest = [(row["name"], row["value"]) for row in model["parameters"] if not row["changed"]]
    head = [("parameter", "text"), ("value", "text")]
    body = _text("All parameters have their default values.")
    if changed:
        body = table([*head, ("default", "text")], changed, "Parameters")
    more = EMPTY
    if rest:
        more = Markup("<details><summary>{} {} with default values</summary>{}</details>").format(
            len(rest), plural("parameter", len(rest)), table(head, rest, "Default values")
        )
    facts = [
        ("kind", f"{model['kind']}: {model['summary']}" if model["summary"] else model["kind"]),
        *([("seed", "not set" if model["seed"] is None else model["seed"])] if model["takes_seed"] else []),
        *([("rounds of the stream", count(model["rounds"]))] if model["rounds"] is not None else []),
        *((f"step {i}", step) for i, step in enumerate(model["steps"], 1)),
        *((name, _version(version, model["saved_with"].get(name))) for name, version in model["versions"].items()),
    ]
    fact = Markup("<div><dt>{}</dt><dd>{}</dd></div>")
    listed = Markup('<dl class="facts">{}</dl>').format(EMPTY.join(fact.format(*pair) for pair in facts))
    cards = _grid(_card("Parameters that were set", body, more), _card("Origin", listed))
    return EMPTY.join([cards, _candidates(model["candidates"])])


def _version(here: str, saved: str | None) -> str:
    return here if saved in (None, here) else f"{here} (the model was saved with {saved})"


def _candidates(candidates: dict[str, list[Any]]) -> Markup:
    """The table of what a model was chosen or combined from, with the evidence."""
    if not candidates:
        return EMPTY
    kinds = {
        name: "num"
        if any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in column)
        else "text"
        for name, column in candidates.items()
    }
    rows = [
        [
            (value, number(value)) if kinds[name] == "num" else "–" if value is None else str(value)
            for name, value in zip(candidates, line)
        ]
        for line in zip(*candidates.values())
    ]
    head = [(name.replace("_", " "), kind) for name, kind in kinds.items()]
    about = _text("What the model was chosen or combined from, with the evidence. A weight of 0 means not used.")
    return _card("Candidates", about, table(head, rows, "Candidates"))


def section_data(summary: Summary) -> Markup:
    """Return the views: width, density, missing share."""
    data = summary["data"]
    if not data["measured"]:
        widths = [(view["name"], (view["n_features"], count(view["n_features"]))) for view in data["views"]]
        inside = table([("view", "text"), ("features", "num")], widths, "Views")
        return _card("", inside, notes(["Pass the data to see how dense the views are and what each contributes."]))
    head = [
        ("view", "text"), ("features", "num"), ("stored as", "text"), ("non-zero", "num"),
        ("features per object (median)", "num"), ("objects without it", "num"), ("empty rows", "num"),
    ]  # fmt: skip
    rows = [
        (
            view["name"],
            (view["n_features"], count(view["n_features"])),
            f"{view['kind']} {view['dtype']}",
            (view["density"], percent(view["density"], 2)),
            (view["per_object"], number(view["per_object"], 0)),
            (view["missing"], percent(view["missing"])),
            (view["empty"], percent(view["empty"])),
        )
        for view in data["views"]
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
    return _card("", table(head, rows, "Views"), notes(remarks))


def section_reproduce(summary: Summary) -> Markup:
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


def section_scores(summary: Summary) -> Markup:
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
    head = [("measure", "text"), ("these objects", "num"), *([("held out", "num")] if hidden else [])]
    rows = []
    for m in scores["measures"]:
        name = Markup('{}<br><span class="note">{}</span>').format(m["name"], m["about"])
        row: list[Any] = [(m["name"], name), (m["value"], number(m["value"]))]
        rows.append([*row, (hidden.get(m["name"]), number(hidden.get(m["name"])))] if hidden else row)
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
    return _card(f"Compared with the {truths}", table(head, rows, "Measures"), notes(remarks))


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
    word, rows, columns, counts = noun or "group", matrix["rows"], matrix["columns"], matrix["counts"]
    totals = [max(sum(row), 1) for row in counts]
    shares = [[c / total for c in row] for row, total in zip(counts, totals)]
    texts = [[count(c) if c else "·" for c in row] for row in counts]
    predicted = "predicted" if noun == "class" else word
    tips = [
        [
            f"label {label}, {predicted} {name}: {count(c)} ({percent(c / total)} of the label)"
            for name, c in zip(columns, row)
        ]
        for label, row, total in zip(rows, counts, totals)
    ]
    by = "predicted class" if noun == "class" else f"{word}, in the order that matches the labels best"
    return _card(
        "Labels and predictions" if noun == "class" else f"Labels and {plural(word)}",
        _text(f"Objects by label (rows) and by {by}. The color is the share of the row."),
        heat_map(rows, columns, shares, tips, "Confusion matrix", texts, f"label \\ {predicted}"),
        notes(
            [f"{count(matrix['left_out'])} objects are in rows or columns that are not shown."]
            if matrix["left_out"]
            else []
        ),
    )


# -- groups and views


def section_groups(summary: Summary) -> Markup:
    """Return a card for each group, with its features by view, and the topics below."""
    groups, noun = summary["groups"], summary["groups"]["noun"]
    parts = [
        Markup(
            '<div class="tools"><input type="search" data-filter="group-cards" placeholder="Find a feature or a name" '
            'aria-label="Find a feature or a name"><span class="note" data-found aria-live="polite"></span></div>'
        )
        if len(groups["items"]) > 4
        else EMPTY,
        Markup('<div class="groups" id="group-cards">{}</div>').format(
            EMPTY.join(_group(item, groups) for item in groups["items"])
        ),
    ]
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
            parts.append(Markup('<div class="viewname">{}</div>').format(view))
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
        tip = f"{name}: {number(weight, 4)} ({about})"
        chip = Markup('<span class="chip" style="--v:{}" data-tip="{}">{}</span>')
        chips.append(chip.format(f"{max(weight / top, 0):.2f}", tip, name))
    return Markup('<div class="chips">{}</div>').format(EMPTY.join(chips))


def _topics(topics: dict[str, Any], noun: str) -> Markup:
    """Heat maps of groups by topics, and the topics themselves, by view."""
    cards = []
    for view, items in topics["items"].items():
        shares = topics["mixtures"][view]
        words = [", ".join(feature[0] for feature in item["features"][:5]) for item in items]
        tips = [
            [
                f"{noun} {group}, topic {item['name']}: {percent(value)}\n{text}"
                for item, value, text in zip(items, row, words)
            ]
            for group, row in zip(topics["groups"], shares)
        ]
        top = max(max(row) for row in shares) or 1.0
        strengths = [[(value / top) ** 0.7 for value in row] for row in shares]
        listed = [
            (
                (int(item["name"]), item["name"]),
                (item["mass"], percent(item["mass"])),
                _chips(item["features"], True, ""),
            )
            for item in items
        ]
        total = topics["count"][view]
        which = f"the {total} topics" if total == len(items) else f"the {len(items)} largest of {total} topics"
        cards.append(
            _card(
                f"{view}: how {plural(noun)} mix its topics",
                _text(f"Each row is a {noun}, each column one of {which}, most used first. Color shows the share."),
                heat_map(topics["groups"], [item["name"] for item in items], strengths, tips, f"Topics of {view}"),
                Markup("<details><summary>The topics of {}</summary>{}</details>").format(
                    view,
                    table([("topic", "num"), ("share", "num"), ("features", "wide")], listed, f"Topics of {view}"),
                ),
            )
        )
    return EMPTY.join(cards)


def section_views(summary: Summary) -> Markup:
    """Return what each view contributes: alone, left out, and how far the views agree."""
    views = summary["views"]
    whole, measure = views["whole"], views["measure"]
    weighted, kept = (any(row[key] is not None for row in views["rows"]) for key in ("weight", "kept"))
    head = [("view", "text"), ("alone", "num"), ("left out", "num")]
    head += [("change when left out", "num")] if whole is not None else []
    head += [("same result when left out", "num")] if kept else []
    head += [("weight in the model", "num")] if weighted else []
    rows = []
    for row in views["rows"]:
        cells: list[Any] = [row["name"], (row["alone"], number(row["alone"])), (row["without"], number(row["without"]))]
        if whole is not None:
            change = None if row["without"] is None else row["without"] - whole
            cells.append((change, signed(change)))
        cells += [(row["kept"], percent(row["kept"]))] if kept else []
        cells += [(row["weight"], number(row["weight"]))] if weighted else []
        rows.append(cells)
    remarks = [f"{row['name']}: {row['refused']}" for row in views["rows"] if row["refused"]]
    if whole is not None:
        remarks.append(
            "Objects from the fit make every view look better than it is; pass new objects to see how it generalizes."
        )
    if views.get("sampled"):
        remarks.append(f"Measured on a random sample of {count(views['sampled'])} objects.")
    chart = dots([(row["name"], row["alone"], row["without"]) for row in views["rows"]], whole, measure)
    marks = Markup(
        '<div class="marks"><span><i class="dot alone"></i>this view alone</span>'
        '<span><i class="dot without"></i>all views but this one</span>{}</div>'
    ).format(Markup("<span><u></u>all views</span>") if whole is not None else EMPTY)
    cards = [_card(f"{measure[0].upper()}{measure[1:]}, by view", chart, marks)]
    if views.get("agreement"):
        cards.append(_agreement(views["agreement"], summary["noun"]))
    return EMPTY.join([_grid(*cards), _card("", table(head, rows, "Contribution of each view"), notes(remarks))])


def _agreement(matrix: dict[str, Any], noun: str | None) -> Markup:
    names, values = matrix["names"], matrix["values"]
    texts = [["–" if v is None else number(v, 2) for v in row] for row in values]
    tips = [[f"{a} and {b}: {text}" for b, text in zip(names, row)] for a, row in zip(names, texts)]
    about = f"Share of objects that are assigned the same {noun}."
    if matrix["cosine"]:
        about = "Mean cosine between the positions of the same object."
    return _card("Agreement of the views", _text(about), heat_map(names, names, values, tips, "Agreement", texts))


# -- objects


def section_map(summary: Summary) -> Markup:
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


def section_examples(summary: Summary) -> Markup:
    """Return typical objects of each group and disputed ones."""
    examples, noun = summary["examples"], summary["noun"] or "group"
    cards = []
    if examples["typical"]:
        rows = [
            ([group["group"], thing["id"], (thing["share"], number(thing["share"]))], thing)
            for group in examples["typical"]
            for thing in group["objects"]
        ]
        shown = _object_table([(noun, "text"), ("object", "text"), ("share", "num")], rows, "Typical objects")
        cards.append(_card("Most typical", _text(f"The objects that belong most clearly to each {noun}."), shown))
    if examples["disputed"]:
        things = examples["disputed"]
        views = list(dict.fromkeys(view for thing in things for view in thing["by_view"]))
        rows = [
            ([thing["id"], *(thing["by_view"].get(view, "–") for view in views), thing["all"]], thing)
            for thing in things
        ]
        head = [("object", "text"), *((view, "text") for view in views), ("all views", "text")]
        about = (
            f"Objects that the views, each with confidence, assign to different {plural(noun)}; the clearest "
            "disagreement comes first."
        )
        cards.append(_card("Most disputed", _text(about), _object_table(head, rows, "Disputed objects")))
    return EMPTY.join(cards)


def _object_table(head: list[tuple[str, str]], rows: list[tuple[list[Any], dict[str, Any]]], label: str) -> Markup:
    """A table of objects that ends with their labels, where there are any, and what is in them."""
    labeled = any(thing["label"] is not None for _, thing in rows)
    head = [*head, *([("label", "text")] if labeled else []), ("distinctive features", "wide")]
    lines = [[*cells, *([thing["label"] or "–"] if labeled else []), _words(thing["words"])] for cells, thing in rows]
    return table(head, lines, label)


def _words(words: dict[str, list[str]]) -> Markup:
    lines = []
    for view, names in words.items():
        if names:
            chips = EMPTY.join(Markup('<span class="chip plainchip">{}</span>').format(name) for name in names)
            name = Markup('<div class="viewname">{}</div>').format(view) if len(words) > 1 else EMPTY
            lines.append(Markup('{}<div class="chips">{}</div>').format(name, chips))
    return Markup('<div class="words">{}</div>' if len(words) > 1 else "{}").format(EMPTY.join(lines))


def section_search(summary: Summary) -> Markup:
    """Return how well each view finds each other one, and a few searches."""
    search, parts = summary["search"], []
    if search["pairs"]:
        labeled = any(pair.get("same_label") is not None for pair in search["pairs"])
        head = [("query view", "text"), ("target view", "text"), ("queries", "num"), ("itself first", "num")]
        head.append((f"own object in the first {search['pairs'][0]['k']}", "num"))
        head += [("hits with the same label", "num")] if labeled else []
        rows = []
        for pair in search["pairs"]:
            row: list[Any] = [pair["source"], pair["target"], (pair["n_queries"], count(pair["n_queries"]))]
            row += [(pair[key], percent(pair[key])) for key in ("first", "among")]
            row += [(pair.get("same_label"), percent(pair.get("same_label")))] if labeled else []
            rows.append(row)
        about = (
            "One view of an object is the query, another view is searched, among "
            f"{count(search['indexed'])} objects. How often does the object find itself?"
        )
        parts.append(_card("Searching one view with another", _text(about), table(head, rows, "Searches")))
    cards = []
    for example in search["examples"]:
        hits: list[Any] = []
        for i, hit in enumerate(example["hits"]):
            own = Markup(' <span class="pill on">itself</span>') if hit["own"] else EMPTY
            name = Markup("{}{}").format(breakable(hit["id"]), own)
            hits.append([(i, name), (hit["score"], number(hit["score"])), _words({example["target"]: hit["words"]})])
        cards.append(
            _card(
                f"{example['source']} of object {example['query']}",
                _words({example["source"]: example["words"]}),
                table([("hit", "text"), ("score", "num"), (example["target"], "wide")], hits, "Hits"),
            )
        )
    return EMPTY.join([*parts, _grid(*cards)])


def section_ontology(summary: Summary) -> Markup:
    """Return the tree of labels with the number of objects of each."""
    tree = summary["ontology"]
    top = max([line["count"] for line in tree["lines"]] + [1])
    item = Markup(
        '<li><span class="label" style="padding-left:{:.1f}rem">{}{}</span>{}<span class="num">{}</span></li>'
    )
    lines = EMPTY.join(
        item.format(
            1.3 * line["level"],
            line["label"],
            " (see above)" if line["again"] else "",
            bar(line["count"] / top),
            count(line["count"]),
        )
        for line in tree["lines"]
    )
    remark = (
        f"{count(tree['n_objects'])} objects; {count(tree['n_exclusive'])} "
        f"{plural('pair', tree['n_exclusive'])} of mutually exclusive labels; single views violated "
        f"{count(tree['n_broken'])} {plural('constraint', tree['n_broken'])} during the fit."
    )
    return _card("", Markup('<ul class="tree">{}</ul>').format(lines), notes([remark]))
