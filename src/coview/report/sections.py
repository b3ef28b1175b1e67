"""Sections of the page, in their order, each from its part of a summary: sentences, tables and charts."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

from markupsafe import Markup

from coview.report.charts import bar, color, curve, dots, heat_map, legend, map_chart, marker, pairs_chart
from coview.report.markup import EMPTY, TableColumn, breakable, div, each, notes, numbers, table, texts
from coview.report.model import LINE
from coview.report.words import count, number, percent, plural, signed

__all__ = ["key_figures", "render_sections"]

Summary = dict[str, Any]

SHORT_NAME = 22  # letters
MOST_LINES = 24  # groups that are listed; the rest is folded

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
    order = f"how well they distinguish the {noun}" if distinctive else "weight"
    ranked = (
        f"Click a {noun} for its features, ranked by {order}{', and typical objects' if _typical(summary) else ''}."
    )
    near = "Objects that are close to each other are similar to the model; how far others are apart means little."
    sections = [
        ("glance", "At a glance", "At a glance", "", _glance),
        ("groups", names, names, ranked, _groups),
        ("map", "Map of objects", "Map", near, _map),
        ("scores", "How well it did", "Scores", "", _scores),
        ("views", "What each view contributes", "Views", "", _views),
        ("examples", "Disputed objects", "Disputes", "", _examples),
        ("search", "Search across views", "Search", "", _search),
        ("ontology", "Label hierarchy", "Labels", "", _ontology),
        ("data", "The data", "Data", "", _data),
        ("model", "The model", "Model", "", _model),
        ("reproduce", "How to reproduce it", "Reproduce", "", _reproduce),
    ]
    always = ("glance", "scores")  # made of other parts
    return [
        (key, title, name, about, content)
        for key, title, name, about, render in sections
        if (key in always or summary.get(key)) and (content := render(summary))
    ]


def _called(summary: Summary, key: str) -> str:
    """A group by its key and, where it has one, its name."""
    name = summary.get("group_names", {}).get(key)
    return key if name is None else f"{key} {name}"


def _called_short(summary: Summary, key: str) -> str:
    """A group by its key and the first word of its name, cut where it is long, where there is little room."""
    text = _called(summary, key).split(", ")[0] if key in summary.get("group_names", {}) else key
    return text if len(text) <= SHORT_NAME else f"{text[: SHORT_NAME - 1]}…"


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
            caveat = ", labels may be of the fit" if summary["noun"] == "class" else ""
            measures = zip((" main", ""), scores["measures"])
            boxes += [(kind, number(m["value"]), f"{m['name']}{caveat}") for kind, m in measures]
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
    """Scores, each with what it is worth: held out, or on objects that the model may have learned from."""
    scores = summary.get("scores")
    if not scores:
        return ""
    truths, held_out = _truths(scores), scores.get("held_out") or {}
    measured = ", ".join(f"{m['name']} {number(m['value'])}" for m in scores["measures"][:2])
    if held_out.get("measures"):
        hidden = ", ".join(f"{m['name']} {number(m['value'])}" for m in held_out["measures"][:2])
        return (
            f"On {count(held_out['n_hidden'])} held-out {truths}: {hidden}. On all {count(scores['n_labeled'])}, which "
            f"include those that it learned from and so look better: {measured}."
        )
    text = f"Against {count(scores['n_labeled'])} {truths}: {measured}"
    if summary["noun"] in ("class", "value"):
        return f"{text}. It may have learned from some of them, which makes it look better than it is."
    return f"{text}, without having seen them.{_ceiling(summary)}"


def _ceiling(summary: Summary) -> str:
    """What accuracy can be at most, where there are fewer groups than labels."""
    ceiling = summary["scores"].get("ceiling")
    if not ceiling:
        return ""
    noun, n = summary["noun"], ceiling["n_groups"]
    return (
        f" With {n} {plural(noun, n)} for {ceiling['n_labels']} labels, accuracy cannot exceed "
        f"{number(ceiling['accuracy'])}."
    )


def _truths(scores: dict[str, Any]) -> str:
    return "true values" if scores.get("of") == "values" else "labels"


def _best_view(summary: Summary) -> str:
    views = summary.get("views")
    rows = [row for row in views["rows"] if row["alone"] is not None] if views else []
    if not views or not rows:
        return ""
    best = max(rows, key=lambda row: row["alone"])
    where = _judged_on(summary)
    if views["whole"] is None:
        return (
            f"{where}, predicting from {best['name']} alone comes closest to predicting from all views: "
            f"{percent(best['alone'])} of the answers are the same."
        )
    gain = views["whole"] - best["alone"]
    beside = f" ({signed(gain)})" if round(gain, 3) else ""
    return (
        f"{where}, {views['measure']} is {number(best['alone'])} predicted from {best['name']} alone, the best single "
        f"view, and {number(views['whole'])} predicted from all views{beside}."
    )


def _judged_on(summary: Summary) -> str:
    """The objects that the views were judged by."""
    held_out = summary["views"].get("held_out") or {}
    if "n_hidden" in held_out:
        return f"On {count(held_out['n_hidden'])} held-out objects"
    return "On these objects, which the model may have learned from"


def _agreeing(summary: Summary) -> str:
    agreement = (summary.get("views") or {}).get("agreement")
    if not agreement or agreement["cosine"]:
        return ""
    values, n = agreement["values"], len(agreement["names"]) - 1
    pairs = [values[i][j] for i in range(n) for j in range(i) if values[i][j] is not None]
    if not pairs:
        return ""
    share = percent(sum(pairs) / len(pairs))
    return (
        f"{_judged_on(summary)}, predictions from two single views are the same {summary['noun']} in {share} of cases."
    )


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
    ]
    versions = [(name, _version(here, model["saved_with"].get(name))) for name, here in model["versions"].items()]
    folded = Markup("<details><summary>Versions of {} packages</summary>{}</details>").format(
        len(versions), _facts(versions)
    )
    cards = _grid(_card("Parameters that were set", body, more), _card("Origin", _facts(facts), folded))
    return EMPTY.join([cards, _candidates(model["candidates"])])


def _facts(facts: list[tuple[str, Any]]) -> Markup:
    return Markup('<dl class="facts">{}</dl>').format(each("<div><dt>{}</dt><dd>{}</dd></div>", facts))


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
    return EMPTY.join(
        [
            _card("In Python", _code(parts["code"])),
            _card("On the command line", _code("\n".join(map(_in_lines, parts["commands"]))), notes(parts["notes"])),
        ]
    )


def _in_lines(command: str) -> str:
    """A command in lines that are not too long, broken between its options."""
    options: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        if options and not word.startswith("--"):
            options[-1] += f" {word}"
        else:
            options.append(word)
    lines = [options[0]]
    for option in options[1:]:
        if len(lines[-1]) + len(option) < LINE:
            lines[-1] += f" {option}"
        else:
            lines.append(f"  {option}")
    return " \\\n".join(lines)


def _code(text: str) -> Markup:
    return Markup(
        '<div class="code"><pre>{}</pre><button type="button" class="copy" hidden>Copy</button></div>'
    ).format(text)


# -- scores


def _scores(summary: Summary) -> Markup:
    """Return measures against labels or true values, the curves of the fit, and the confusion matrix."""
    scores, noun, cards = summary.get("scores"), summary["noun"], []
    if scores:
        cards.append(_measures(scores, noun, _ceiling(summary).strip()))
    if scores and scores.get("pairs"):
        cards.append(_pairs(scores["pairs"]))
    cards += [_curve(line) for line in summary["curves"]]
    return EMPTY.join([_grid(*cards), _confusion(summary) if scores and scores.get("confusion") else EMPTY])


def _measures(scores: dict[str, Any], noun: str | None, ceiling: str) -> Markup:
    held_out = scores.get("held_out") or {}
    hidden = {m["name"]: m["value"] for m in held_out.get("measures", ())}
    described = '{}<br><span class="note">{}</span>'
    names = [(m["name"], Markup(described).format(m["name"], m["about"])) for m in scores["measures"]]
    columns = [TableColumn("measure", "text", names), numbers("these objects", scores["measures"], "value")]
    if hidden:
        values = [hidden.get(m["name"]) for m in scores["measures"]]
        columns[1] = numbers("with those of the fit", scores["measures"], "value")
        columns.insert(1, TableColumn("held out", "num", [(value, number(value)) for value in values]))
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
        remarks += ["The model was not fitted with these labels.", ceiling]
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


def _confusion(summary: Summary) -> Markup:
    """Labels against groups: of a classifier on held-out labels, where there are any."""
    scores, noun = summary["scores"], summary["noun"]
    held_out = scores.get("held_out") or {}
    matrix = held_out.get("confusion") or scores["confusion"]
    word = noun or "group"
    predicted = "predicted" if noun == "class" else word
    columns = [_called(summary, key) for key in matrix["columns"]]
    heads = [_called_short(summary, key) for key in matrix["columns"]]

    def cell(label: str, name: str, n: int, total: int) -> tuple[float, str, str]:
        tip = f"label {label}, {predicted} {name}: {count(n)} ({percent(n / total)} of the label)"
        return n / total, tip, count(n) if n else "·"

    labels = [_called_short({}, label) for label in matrix["rows"]]
    cells = [
        [cell(label, name, n, max(sum(row), 1)) for name, n in zip(columns, row)]
        for label, row in zip(matrix["rows"], matrix["counts"])
    ]
    by = "predicted class" if noun == "class" else f"{word}, in the order that matches the labels best"
    about = f"Objects by label (rows, the largest first) and by {by}. The color is the share of the row."
    if held_out.get("confusion"):
        about += f" Only the {count(held_out['n_hidden'])} held-out objects count."
    elif noun == "class":
        about += " The model may have learned from some of these labels, which makes it look better."
    return _card(
        "Labels and predictions" if noun == "class" else f"Labels and {plural(word)}",
        _text(about),
        heat_map(labels, heads, cells, "Confusion matrix", f"label \\ {predicted}"),
    )


# -- groups and views


def _groups(summary: Summary) -> Markup:
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
    parts.append(notes(remarks))
    if summary.get("topics"):
        parts.append(_topics(summary))
    return EMPTY.join(parts)


def _group(item: dict[str, Any], summary: Summary) -> Markup:
    groups, size, label, features = summary["groups"], item.get("size"), item.get("label"), item["features"]
    noun, key, name = groups["noun"], item["name"], summary["group_names"].get(item["name"])
    objects = _typical(summary).get(key, [])
    words = [
        *(key, name or "", label["name"] if label else ""),
        *(feature[0] for lists in features.values() for feature in lists),
        *(str(thing["id"]) for thing in objects),
    ]
    parts = []
    for view, lines in features.items():
        chips = _chips(lines, groups["probabilities"][view], groups["origin"][view])
        parts += [div("viewname", view if len(features) > 1 else "features"), chips]
    if objects:
        parts += [div("viewname", "typical objects"), Markup('<ul class="objects">{}</ul>').format(_objects(objects))]
    title: Any = key if noun == "class" else f"{noun.capitalize()} {key}"
    if name:
        title = Markup('<span class="number">{}</span> {}').format(key, breakable(name))
    elif noun != "component":
        shown = dict.fromkeys(feature[0] for lists in features.values() for feature in lists[:2])
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


def _largest_share(groups: dict[str, Any]) -> float:
    return max(item.get("share", 0.0) for item in groups["items"])


def _typical(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Typical objects by the key of their group."""
    return {group["group"]: group["objects"] for group in (summary.get("examples") or {}).get("typical", ())}


def _objects(objects: list[dict[str, Any]]) -> Markup:
    """Objects as items of a list: what they are called, and their texts or what is in them."""
    lines = []
    for thing in objects:
        tag = Markup(' <span class="pill">{}</span>').format(thing["label"]) if thing["label"] else EMPTY
        lines.append((breakable(thing["id"]), tag, _content(thing)))
    return each('<li><b>{}</b>{} <span class="note">{}</span></li>', lines)


def _content(thing: dict[str, Any]) -> str:
    """An object's text, or else its distinctive features, a few of each view."""
    return thing["text"] or ", ".join(name for names in thing["words"].values() for name in names[:2])


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


def _topics(summary: Summary) -> Markup:
    """Heat maps of groups by topics, and the topics themselves, by view; folded."""
    topics, noun = summary["topics"], summary["groups"]["noun"]
    cards = []
    for view, items in topics["items"].items():
        shares, groups = topics["mixtures"][view], [_called(summary, key) for key in topics["groups"]]
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
                _text(f"Each row is a {noun}, each column one of {which}, most used first. Color shows the share."),
                heat_map(groups, None, cells, f"Topics of {view}"),
                table(f"Topics of {view}", columns),
            ]
        )
        cards.append((f"How {plural(noun)} mix the topics of {view}", content))
    folded = each('<details class="fold"><summary>{}</summary>{}</details>', cards)
    return div("card", folded)


def _views(summary: Summary) -> Markup:
    """Return what each view contributes: predicted from it alone, without it, and how far the predictions agree."""
    views, rows = summary["views"], summary["views"]["rows"]
    whole, measure = views["whole"], views["measure"]
    columns = [
        texts("view", rows, "name"),
        numbers("predicted from it alone", rows, "alone"),
        numbers("predicted without it", rows, "without"),
    ]
    if whole is not None:
        changes = [None if row["without"] is None else row["without"] - whole for row in rows]
        columns.append(TableColumn("change without it", "num", [(change, signed(change)) for change in changes]))
    if any(row["kept"] is not None for row in rows):
        columns.append(numbers("same result without it", rows, "kept", percent))
    if any(row["weight"] is not None for row in rows):
        columns.append(numbers("weight in the model", rows, "weight"))
    remarks = [f"{row['name']}: {row['refused']}" for row in rows if row["refused"]]
    marks = Markup(
        '<div class="marks"><span><i class="dot alone"></i>predicted from this view alone</span>'
        '<span><i class="dot without"></i>predicted without this view</span>{}</div>'
    ).format(Markup("<span><u></u>predicted from all views</span>") if whole is not None else EMPTY)
    title = f"{measure[0].upper()}{measure[1:]}, by view"
    cards = [_card(title, _text(_judged(summary)), dots(rows, whole, measure), marks)]
    if views.get("agreement"):
        cards.append(_agreement(views["agreement"], summary["noun"]))
    return EMPTY.join([_grid(*cards), _card("", table("Contribution of each view", columns), notes(remarks))])


def _judged(summary: Summary) -> str:
    """A sentence on the objects that the views are judged by, and what the result is worth."""
    views = summary["views"]
    held_out = views.get("held_out") or {}
    what = "labels" if summary["noun"] == "class" else "true values" if summary["noun"] == "value" else "objects"
    sampled = f" A random sample of {count(views['sampled'])} of them." if views.get("sampled") else ""
    if held_out.get("refitted"):
        return (
            f"Predicted for {count(held_out['n_hidden'])} held-out objects by a copy of the model that was fitted with "
            f"the other {count(held_out['n_shown'])} {what}.{sampled}"
        )
    if held_out:
        reason = held_out.get("note")
        if reason is None:
            return (
                f"Predicted for the {count(held_out['n_hidden'])} objects whose label was not used in the fit.{sampled}"
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
        [(value, f"{a} and {b}: {number(value, 2)}", number(value, 2)) for b, value in zip(names, row)]
        for a, row in zip(names, matrix["values"])
    ]
    about = f"Share of the same objects for which the same {noun} is predicted from one view as from another."
    if matrix["cosine"]:
        about = "Mean cosine between the positions of the same object."
    return _card("Agreement of predictions from single views", _text(about), heat_map(names, names, cells, "Agreement"))


# -- objects


def _map(summary: Summary) -> Markup:
    """Return the map of objects with its legend."""
    chart = summary["map"]
    noun, names, groups = chart["noun"], chart["names"], chart["group"]
    labels = chart["label"] if noun != "label" else None
    named = [_called(summary, key) if noun not in ("class", "label") else key for key in names]
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
    called = summary["group_names"]
    tags = [(key, called[key].split(", ")[0]) if key in called else ("", key) for key in names]
    if noun in ("cluster", "topic"):
        tags = [(key or word, word if key else "") for key, word in tags]
    parts = [map_chart(chart["x"], chart["y"], groups, labels, tips, tags, chart["labels"])]
    if len(names) > 1:
        plain = noun in ("class", "label")
        short = [_called_short(summary, key) if key in called or plain else f"{noun} {key}" for key in names]
        parts.append(legend(short, "g", _counts(groups, names), named))
    if labels is not None:
        choice = Markup(
            '<div class="tools"><span class="choice" role="group" aria-label="Color by">'
            '<button type="button" data-by="g" aria-pressed="true">Color by {}</button>'
            '<button type="button" data-by="l" aria-pressed="false">Color by label</button></span></div>'
        ).format(noun)
        short = [_called_short({}, label) for label in chart["labels"]]
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


def _examples(summary: Summary) -> Markup:
    """Return disputed objects; typical ones are with their groups."""
    things, noun = summary["examples"]["disputed"], summary["noun"] or "group"
    if not things:
        return EMPTY
    views = dict.fromkeys(view for thing in things for view in thing["by_view"])
    columns = [TableColumn("object", "text", [(str(thing["id"]), _object(thing)) for thing in things])]
    for view in views:
        cells = [_called_short(summary, thing["by_view"].get(view, "–")) for thing in things]
        columns.append(TableColumn(f"from {view}", "text", [(cell, breakable(cell)) for cell in cells]))
    cells = [_called_short(summary, thing["all"] or "–") for thing in things]
    columns.append(TableColumn("from all views", "text", [(cell, breakable(cell)) for cell in cells]))
    if any(thing["label"] is not None for thing in things):
        columns.append(TableColumn("label", "text", [thing["label"] or "–" for thing in things]))
    about = (
        f"Objects for which different {plural(noun)} are predicted from different views, each with confidence; the "
        "clearest disagreement comes first. Look here for wrong labels and corrupt data."
    )
    return _card("", _text(about), table("Disputed objects", columns))


def _object(thing: dict[str, Any]) -> Markup:
    """An object by what it is called, with its text or what is in it."""
    return Markup('<div class="object">{}<br><span class="note">{}</span></div>').format(
        breakable(thing["id"]), _content(thing)
    )


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
