"""Sections of the page on the model itself: in short, what it is, what it saw, how well it did, how to repeat it."""

from __future__ import annotations

from typing import Any

from coview.report.markup import EMPTY, Markup, count, fill, join, number, percent, plural, signed, table
from coview.report.svg import against, curve, heat_grid

__all__ = ["code_block", "key_figures", "section_data", "section_model", "section_reproduce", "section_scores", "short"]


def key_figures(found: dict[str, Any]) -> Markup:
    """Return the numbers at the top: objects, views, groups, the main measures."""
    data, groups, scores = found["data"], found.get("groups"), found.get("scores")
    boxes: list[tuple[str, str, bool]] = []
    if scores:
        held = (scores.get("held_out") or {}).get("measures")
        if held:
            boxes.append((number(held[0]["value"]), f"{held[0]['name']}, {_truths(scores)} held out", True))
        else:
            boxes += [(number(m["value"]), m["name"], i == 0) for i, m in enumerate(scores["measures"][:2])]
    if data["n_objects"] is not None:
        boxes.append((count(data["n_objects"]), "objects", False))
    names = [view["name"] for view in data["views"]]
    boxes.append((count(len(names)), plural("view", len(names)), False))
    boxes.append((count(sum(view["n_features"] for view in data["views"])), "features", False))
    if groups and groups["noun"] != "component":
        boxes.append((count(groups["count"]), plural(groups["noun"], groups["count"]), False))
    if found["model"]["sweeps"] is not None:
        what = "pass" if found["model"]["rounds"] is not None else "sweep"
        boxes.append((count(found["model"]["sweeps"]), plural(what, found["model"]["sweeps"]), False))
    parts = [
        fill(
            '<div class="figure$main"><b>$value</b><span>$name</span></div>',
            main=" main" if main else "",
            value=v,
            name=n,
        )
        for v, n, main in boxes
    ]
    return fill('<div class="figures">$parts</div>', parts=join(parts))


def short(found: dict[str, Any]) -> Markup:
    """Return what matters in a few sentences, made of the numbers below."""
    lines = [
        line
        for line in (_what(found), _candidates(found), _how_well(found), _which_view(found), _disputes(found))
        if line
    ]
    if not lines:
        return EMPTY
    return fill('<div class="card short"><ul>$lines</ul></div>', lines=join(fill("<li>$x</li>", x=x) for x in lines))


def _what(found: dict[str, Any]) -> str:
    data, groups = found["data"], found.get("groups")
    objects = "the objects" if data["n_objects"] is None else f"{count(data['n_objects'])} objects"
    views = ", ".join(view["name"] for view in data["views"])
    several = f"{len(data['views'])} {plural('view', len(data['views']))} ({views})"
    if found["noun"] == "number":
        return f"{found['model']['name']} predicts a number for {objects}, from {several}."
    if groups is None or groups["noun"] == "component":
        return f"{found['model']['name']} places {objects} in one space, from {several}."
    sorted_into = f"{groups['count']} {plural(groups['noun'], groups['count'])}"
    return f"{found['model']['name']} sorts {objects} into {sorted_into}, from {several}."


def _candidates(found: dict[str, Any]) -> str:
    """Which candidates were kept, where the model was chosen from several."""
    candidates = found["model"]["candidates"]
    if not candidates:
        return ""
    kept = [f"{name} (weight {number(weight)})" for name, weight in candidates.items() if weight > 0]
    dropped = [name for name, weight in candidates.items() if not weight > 0]
    without = f" Not kept: {', '.join(dropped)}." if dropped else ""
    return f"It is the consensus of these candidates: {', '.join(kept)}.{without}"


def _how_well(found: dict[str, Any]) -> str:
    scores = found.get("scores")
    if not scores:
        return ""
    first = scores["measures"][0]
    text = f"Against {count(scores['n_labeled'])} {_truths(scores)}: {first['name']} {number(first['value'])}"
    if len(scores["measures"]) > 1:
        text += f", {scores['measures'][1]['name']} {number(scores['measures'][1]['value'])}"
    held = (scores.get("held_out") or {}).get("measures")
    if held:
        text += f"; on {_truths(scores)} that were held out, {held[0]['name']} {number(held[0]['value'])}"
    return text + "."


def _truths(scores: dict[str, Any]) -> str:
    return "true values" if scores.get("of") == "numbers" else "labels"


def _which_view(found: dict[str, Any]) -> str:
    views = found.get("views")
    rows = [row for row in views["rows"] if row["alone"] is not None] if views else []
    if not views or not rows:
        return ""
    best = max(rows, key=lambda row: row["alone"])
    if views["whole"] is None:
        return (
            f"The view closest to the common result is {best['name']}: alone it gives {percent(best['alone'])} of it."
        )
    best_alone = f"{best['name']} ({views['measure']} {number(best['alone'])})"
    gain = signed(views["whole"] - best["alone"])
    return (
        f"Given one view alone, this model does best with {best_alone}; given all, {number(views['whole'])} ({gain})."
    )


def _disputes(found: dict[str, Any]) -> str:
    agreement = (found.get("views") or {}).get("agreement")
    if not agreement or agreement["cosine"] or len(agreement["names"]) < 3:
        return ""
    pairs = [
        agreement["values"][i][j]
        for i in range(len(agreement["names"]) - 1)
        for j in range(i)
        if agreement["values"][i][j] is not None
    ]
    return (
        f"Two views alone give an object the same {found['noun']} in {percent(sum(pairs) / len(pairs))} of cases."
        if pairs
        else ""
    )


def section_model(found: dict[str, Any]) -> Markup:
    """Return parameters, versions and seed."""
    model = found["model"]
    changed = [row for row in model["parameters"] if row["changed"]]
    rows = [(row["name"], row["value"], row["default"]) for row in changed]
    rest = [(row["name"], row["value"]) for row in model["parameters"] if not row["changed"]]
    seed = "not set" if model["seed"] is None else str(model["seed"])
    facts = [
        ("kind", f"{model['kind']}: {model['summary']}" if model["summary"] else model["kind"]),
        *([("seed", seed)] if model["takes_seed"] else []),
        *([("rounds of the stream", count(model["rounds"]))] if model["rounds"] is not None else []),
        *((f"step {step['name']}", step["value"]) for step in model["steps"]),
        *((name, _version(name, version, model["saved_with"])) for name, version in model["versions"].items()),
    ]
    head = [("parameter", "text"), ("value", "text")]
    body = (
        table([*head, ("default", "text")], rows, "Parameters")
        if rows
        else fill("<p>All parameters have their defaults.</p>")
    )
    more = (
        fill(
            "<details><summary>$n parameters with their defaults</summary>$rest</details>",
            n=len(rest),
            rest=table(head, rest, "Parameters with their defaults"),
        )
        if rest
        else EMPTY
    )
    return fill(
        '<div class="grid"><div class="card"><h3>Parameters that were set</h3>$body$more</div>'
        '<div class="card"><h3>Where it comes from</h3>$facts</div></div>',
        body=body,
        more=more,
        facts=fill(
            '<dl class="facts">$lines</dl>',
            lines=join(
                fill("<div><dt>$name</dt><dd>$value</dd></div>", name=name, value=value) for name, value in facts
            ),
        ),
    )


def _version(name: str, here: str, saved_with: dict[str, str]) -> str:
    then = saved_with.get(name)
    return here if then in (None, here) else f"{here}; the model was saved with {then}"


def section_data(found: dict[str, Any]) -> Markup:
    """Return the views: width, density, missing share."""
    data = found["data"]
    if not data["given"]:
        widths = [(view["name"], (view["n_features"], count(view["n_features"]))) for view in data["views"]]
        inside = table([("view", "text"), ("features", "num")], widths, "Views")
        note = fill('<p class="note">Give the data to see how full the views are and what each contributes.</p>')
        return fill('<div class="card">$inside$note</div>', inside=inside, note=note)
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
    head = [
        ("view", "text"), ("features", "num"), ("stored as", "text"), ("non-zero", "num"),
        ("features of an object (median)", "num"), ("objects without it", "num"), ("with it, but empty", "num"),
    ]  # fmt: skip
    notes = []
    if data["sampled"]:
        notes.append(f"Read on a random sample of {count(data['sampled'])} of {count(data['n_objects'])} objects.")
    if data["complete"] < 1:
        notes.append(f"{percent(data['complete'])} of the objects have all views.")
    if data["absent"]:
        notes.append(f"Fitted on, but not given here: {', '.join(data['absent'])}.")
    return fill('<div class="card">$t$notes</div>', t=table(head, rows, "Views"), notes=_notes(notes))


def section_scores(found: dict[str, Any]) -> Markup:
    """Return the curves of the fit, and measures against labels."""
    parts = []
    scores = found.get("scores")
    if scores:
        parts.append(_measures(scores, found["noun"]))
    if scores and scores.get("pairs"):
        parts.append(_pairs(scores["pairs"]))
    parts += [_curve(line) for line in found["curves"]]
    grid = fill('<div class="grid">$parts</div>', parts=join(parts)) if parts else EMPTY
    if scores and scores.get("confusion"):
        grid = join([grid, _confusion(scores["confusion"], found["noun"])])
    return grid


def section_reproduce(found: dict[str, Any]) -> Markup:
    """Return code and commands."""
    made = found["reproduce"]
    commands = code_block("\n".join(made["commands"]))
    return fill(
        '<div class="grid"><div class="card"><h3>In Python</h3>$code</div>'
        '<div class="card"><h3>On the command line</h3>$commands$notes</div></div>',
        code=code_block(made["code"]),
        commands=commands,
        notes=_notes(made["notes"]),
    )


def code_block(text: str) -> Markup:
    """Return code with a button that copies it.

    Examples
    --------
    >>> "&lt;b&gt;" in code_block("<b>")
    True
    """
    return fill(
        '<div class="code"><pre>$text</pre><button type="button" class="copy" hidden>Copy</button></div>', text=text
    )


def _measures(scores: dict[str, Any], noun: str | None) -> Markup:
    held = scores.get("held_out") or {}
    hidden = {m["name"]: m["value"] for m in held.get("measures", ())}
    head = [("measure", "text"), ("these objects", "num")]
    if hidden:
        head.append(("held out", "num"))
    rows = []
    for m in scores["measures"]:
        what = fill('$name<br><span class="note">$about</span>', name=m["name"], about=m["about"])
        row: list[Any] = [(m["name"], what), (m["value"], number(m["value"]))]
        if hidden:
            row.append((hidden.get(m["name"]), number(hidden.get(m["name"]))))
        rows.append(row)
    numbers = scores.get("of") == "numbers"
    truths, one = ("true values", "a true value") if numbers else ("labels", "a label")
    notes = [f"{count(scores['n_labeled'])} of {count(scores['n_objects'])} objects have {one}."]
    if hidden and held["refitted"]:
        notes.append(
            f"Held out: a copy of the model, fitted with {count(held['n_shown'])} {truths}, predicts the "
            f"{count(held['n_hidden'])} that it did not see."
        )
    elif hidden:
        notes.append(f"Held out: the {count(held['n_hidden'])} objects whose label was not used in the fit.")
    elif held.get("note"):
        notes.append(f"Held out: {held['note']}")
    if (noun == "class" or numbers) and not hidden:
        notes.append(f"The model may have learned from some of these {truths}, which flatters it.")
    elif noun != "class" and not numbers:
        notes.append("The model did not see the labels.")
    return fill(
        '<div class="card"><h3>Against the $what</h3>$t$notes</div>',
        what=truths,
        t=table(head, rows, "Measures"),
        notes=_notes(notes),
    )


def _pairs(pairs: dict[str, Any]) -> Markup:
    tips = [
        f"object {key}\ntrue {number(true)}\npredicted {number(said)}"
        for key, true, said in zip(pairs["ids"], pairs["true"], pairs["predicted"])
    ]
    return fill(
        '<div class="card"><h3>Predicted against true</h3>$chart<p class="note">A dot on the line is predicted as it '
        "is; above it the prediction is too high.</p></div>",
        chart=against(pairs["true"], pairs["predicted"], tips),
    )


def _curve(line: dict[str, Any]) -> Markup:
    values = line["values"]
    ends = f"{number(values[0])} at the start, {number(values[-1])} at the end"
    if line.get("seconds"):
        ends += f", after {number(line['seconds'][-1], 2)} s"
    if line["key"] == "correlations":
        ends = f"From {number(values[0])} for the first component to {number(values[-1])} for the last"
    return fill(
        '<div class="card"><h3>$title</h3><p>$ends.</p>$drawn</div>',
        title=line["title"],
        ends=ends,
        drawn=curve(values, line["x"], line["title"], line.get("seconds")),
    )


def _confusion(found: dict[str, Any], noun: str | None) -> Markup:
    sums = [max(sum(row), 1) for row in found["counts"]]
    shares = [[c / total for c in row] for row, total in zip(found["counts"], sums)]
    texts = [[count(c) if c else "·" for c in row] for row in found["counts"]]
    word = "predicted" if noun == "class" else noun or "group"
    tips = [
        [
            f"label {label}, {word} {name}: {count(c)} ({percent(c / total)} of the label)"
            for name, c in zip(found["columns"], row)
        ]
        for label, row, total in zip(found["rows"], found["counts"], sums)
    ]
    note = f"{count(found['left_out'])} objects are in rows or columns that are not shown." if found["left_out"] else ""
    return fill(
        '<div class="card"><h3>$title</h3><p>$about</p>$grid$note</div>',
        title="Labels and predictions" if noun == "class" else f"Labels and {plural(noun or 'group')}",
        about="Objects by label (rows) and by "
        + ("predicted class" if noun == "class" else f"{noun}, in the order that fits the labels best")
        + "; the color is the share of the row.",
        grid=heat_grid(found["rows"], found["columns"], shares, texts, f"label \\ {word}", "Confusion", tips),
        note=_notes([note] if note else []),
    )


def _notes(lines: list[str]) -> Markup:
    return fill('<p class="note">$text</p>', text=" ".join(lines)) if lines else EMPTY
