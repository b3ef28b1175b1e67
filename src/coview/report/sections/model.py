"""Sections on what was fitted: the model and what it was chosen from, the data, and how to make both again."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

from markupsafe import Markup

from coview.inspection.choice import describe_scaling
from coview.report.markup import EMPTY, TableColumn, each, notes, numbers, table, texts
from coview.report.model import LINE
from coview.report.sections.parts import Summary, card, grid, paragraph
from coview.report.words import count, number, percent, plural

__all__ = ["render_data", "render_model", "render_reproduction"]


def render_model(summary: Summary) -> Markup:
    """Return parameters, versions, seed, and what the model was chosen from."""
    model = summary["model"]
    changed = [row for row in model["parameters"] if row["changed"]]
    rest = [row for row in model["parameters"] if not row["changed"]]
    body, more = paragraph("All parameters have their default values."), EMPTY
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
    cards = grid(card("Parameters that were set", body, more), card("Origin", _facts(facts), folded))
    return EMPTY.join([cards, _edits(model["edits"]), _candidates(model["candidates"])])


def _facts(facts: list[tuple[str, Any]]) -> Markup:
    return Markup('<dl class="facts">{}</dl>').format(each("<div><dt>{}</dt><dd>{}</dd></div>", facts))


def _parameter_columns(rows: list[dict[str, Any]]) -> list[TableColumn]:
    return [texts("parameter", rows, "name"), texts("value", rows, "value")]


def _version(here: str, saved: str | None) -> str:
    return here if saved in (None, here) else f"{here} (the model was saved with {saved})"


def _edits(edits: list[str]) -> Markup:
    """What people changed after the fit, first to last."""
    if not edits:
        return EMPTY
    about = paragraph("Made by hand after the fit, in this order; numbers of groups stay what they are.")
    return card("Edits", about, Markup("<ol>{}</ol>").format(each("<li>{}</li>", [(one,) for one in edits])))


def _candidates(candidates: dict[str, list[Any]]) -> Markup:
    """The table of what a model was chosen or combined from, with the evidence."""
    if not candidates:
        return EMPTY
    columns = []
    for name, values in candidates.items():
        numeric = any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        cells = [(value, number(value)) if numeric else "–" if value is None else str(value) for value in values]
        columns.append(TableColumn(name.replace("_", " "), "num" if numeric else "text", cells))
    about = paragraph("The methods and the evidence for each. A weight of 0 means that a method was not used.")
    return card("Methods that were tried", about, table("Candidates", columns))


def render_data(summary: Summary) -> Markup:
    """Return the views: width, density, missing share."""
    data, views = summary["data"], summary["data"]["views"]
    columns = [texts("view", views, "name"), numbers("features", views, "n_features", count)]
    if any(view["likelihood"] for view in views):
        taken = {"gaussian": "Gaussian (vectors)", "multinomial": "multinomial (counts)", None: "–"}
        columns.append(
            TableColumn("likelihood", "text", [taken.get(view["likelihood"], view["likelihood"]) for view in views])
        )
    if any(view["scaling"] for view in views):
        scaled = [describe_scaling(view["scaling"]) if view["scaling"] else "–" for view in views]
        columns.append(TableColumn("treated as", "text", scaled))
    remarks = [f"Not used, and so without an opinion: {', '.join(data['unused'])}."] if data["unused"] else []
    if not data["measured"]:
        remarks.append("Pass the data to see how dense the views are and what each contributes.")
        return card("", table("Views", columns), notes(remarks))
    columns += [
        TableColumn("stored as", "text", [f"{view['kind']} {view['dtype']}" for view in views]),
        numbers("non-zero", views, "density", partial(percent, digits=2)),
        numbers("features per object (median)", views, "per_object", partial(number, digits=0)),
        numbers("objects without it", views, "missing", percent),
        numbers("empty rows", views, "empty", percent),
    ]
    if data["sampled"]:
        remarks.append(
            f"Measured on a random sample of {count(data['sampled'])} of {count(data['n_objects'])} objects."
        )
    if data["as_fitted"]:
        remarks.append("The model cannot place new objects: these are taken to be those of its fit, in their order.")
    if data["complete"] < 1:
        remarks.append(f"{percent(data['complete'])} of the objects have all views.")
    if data["absent"]:
        remarks.append(f"Used in the fit but not passed here: {', '.join(data['absent'])}.")
    return card("", table("Views", columns), notes(remarks))


def render_reproduction(summary: Summary) -> Markup:
    """Return code and commands."""
    parts = summary["reproduce"]
    commands = _code("\n".join(map(_in_lines, parts["commands"]))) if parts["commands"] else EMPTY
    return EMPTY.join(
        [
            card("In Python", _code(parts["code"])),
            card("On the command line" if commands else "Notes", commands, notes(parts["notes"])),
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
