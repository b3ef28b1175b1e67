"""The section on how well a model did: measures, held out where they could be, curves of the fit, confusion matrix."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.inspection.choice import describe_accuracy
from coview.report.charts import curve, heat_map, pairs_chart
from coview.report.markup import EMPTY, TableColumn, notes, numbers, table
from coview.report.sections.parts import Summary, called, called_short, card, grid, paragraph
from coview.report.words import count, number, percent, plural

__all__ = ["ceiling_sentence", "copy_sentences", "render_scores", "truths_noun"]


def render_scores(summary: Summary) -> Markup:
    """Return measures against labels or true values, the curves of the fit, and the confusion matrix."""
    scores, noun, cards = summary.get("scores"), summary["noun"], []
    if scores:
        cards.append(_measures(scores, noun, ceiling_sentence(summary).strip()))
    if scores and scores.get("pairs"):
        cards.append(_pairs(scores["pairs"]))
    if summary["model"].get("held_out"):
        cards.append(_measured_in_fit(summary["model"]["held_out"]))
    cards += [_curve(line) for line in summary["curves"]]
    return EMPTY.join([grid(*cards), _confusion(summary) if scores and scores.get("confusion") else EMPTY])


def _measures(scores: dict[str, Any], noun: str | None, ceiling: str) -> Markup:
    held_out = scores.get("held_out") or {}
    hidden = {m["name"]: m["value"] for m in held_out.get("measures", ())}
    described = '{}<br><span class="note">{}</span>'
    names = [(m["name"], Markup(described).format(m["name"], m["about"])) for m in scores["measures"]]
    columns = [TableColumn("measure", "text", names), numbers("these objects", scores["measures"], "value")]
    if hidden:
        values = [hidden.get(m["name"]) for m in scores["measures"]]
        columns[1] = numbers("with those of the fit", scores["measures"], "value")
        title = f"{count(held_out['n_hidden'])} held out"
        columns.insert(1, TableColumn(title, "num", [(value, number(value)) for value in values]))
    truths = truths_noun(scores)
    remarks = [f"{count(scores['n_labeled'])} of {count(scores['n_objects'])} objects have a {truths[:-1]}."]
    if hidden and held_out["refitted"]:
        remarks.append(
            f"Held out: a copy of the model, fitted with {count(held_out['n_shown'])} {truths}, predicts the other "
            f"{count(held_out['n_hidden'])}.{copy_sentences(held_out)}"
        )
    elif hidden and held_out.get("by_fit"):
        remarks.append(
            f"Held out: {count(held_out['n_hidden'])} labels, each hidden once during the fit and then predicted."
        )
    elif hidden:
        remarks.append(f"Held out: the {count(held_out['n_hidden'])} objects whose label was not used in the fit.")
    elif held_out.get("note"):
        remarks.append(f"Held out: {held_out['note']}")
    if noun not in ("class", "value"):
        remarks += ["The model was not fitted with these labels.", ceiling]
    elif not hidden:
        remarks.append(f"The model may have learned from some of these {truths}, which makes it look better.")
    return card(f"Compared with the {truths}", table("Measures", columns), notes(remarks))


def _measured_in_fit(held_out: dict[str, Any]) -> Markup:
    """What the fit measured on labels that it hid from the methods it weighed."""
    if held_out["accuracy"] is None:
        return card("Labels hidden in the fit", notes([f"The accuracy is {describe_accuracy(held_out)}."]))
    n_labels = count(held_out["n_labels"])
    lines = [
        (f"accuracy, {n_labels} {plural('label', held_out['n_labels'])}", number(held_out["accuracy"])),
        ("its interval at 95 %", f"{number(held_out['low'])} to {number(held_out['high'])}"),
        ("share of the largest class", number(held_out["largest_class"])),
        ("calibration error", number(held_out["calibration_error"])),
    ]
    about = [
        f"Measured on {n_labels} labels, each hidden once during the fit and then predicted.",
        "They are too few to tell whether probabilities are right."
        if held_out["calibration_error"] is None
        else "The calibration error is how far probabilities lie from how often they are right, 0 at best.",
    ]
    columns = [TableColumn("measure", "text", [name for name, _ in lines])]
    columns.append(TableColumn("value", "num", [(place, text) for place, (_, text) in enumerate(lines)]))
    return card("Labels hidden in the fit", table("Labels hidden in the fit", columns), notes(about))


def _pairs(pairs: dict[str, Any]) -> Markup:
    tips = [
        f"object {key}\ntrue {number(true)}\npredicted {number(predicted)}"
        for key, true, predicted in zip(pairs["ids"], pairs["true"], pairs["predicted"])
    ]
    about = "On the line, prediction and true value are equal; above it, the prediction is too high."
    return card("Predicted against true", pairs_chart(pairs["true"], pairs["predicted"], tips), notes([about]))


def _curve(line: dict[str, Any]) -> Markup:
    values = line["values"]
    if line["key"] == "correlations":
        text = f"From {number(values[0])} for the first component to {number(values[-1])} for the last."
    else:
        text = f"{number(values[0])} at the start, {number(values[-1])} at the end"
        text += f", after {number(line['seconds'][-1], 2)} s." if line.get("seconds") else "."
    return card(line["title"], paragraph(text), curve(values, line["x"], line["title"], line.get("seconds")))


def _confusion(summary: Summary) -> Markup:
    """Labels against groups: of a classifier on held-out labels, where there are any."""
    scores, noun = summary["scores"], summary["noun"]
    held_out = scores.get("held_out") or {}
    matrix = held_out.get("confusion") or scores["confusion"]
    word = noun or "group"
    predicted = "predicted" if noun == "class" else word
    columns = [called(summary, key) for key in matrix["columns"]]
    heads = [called_short(summary, key) for key in matrix["columns"]]

    def cell(label: str, name: str, n: int, total: int) -> tuple[float, str, str]:
        tip = f"label {label}, {predicted} {name}: {count(n)} ({percent(n / total)} of the label)"
        return n / total, tip, count(n) if n else "·"

    labels = [called_short({}, label) for label in matrix["rows"]]
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
    return card(
        "Labels and predictions" if noun == "class" else f"Labels and {plural(word)}",
        paragraph(about),
        heat_map(labels, heads, cells, "Confusion matrix", f"label \\ {predicted}"),
    )


def ceiling_sentence(summary: Summary) -> str:
    """What accuracy can be at most, where there are fewer groups than labels."""
    ceiling = summary["scores"].get("ceiling")
    if not ceiling:
        return ""
    noun, n = summary["noun"], ceiling["n_groups"]
    return (
        f" With {n} {plural(noun, n)} for {ceiling['n_labels']} labels, accuracy cannot exceed "
        f"{number(ceiling['accuracy'])}."
    )


def truths_noun(scores: dict[str, Any], n: int | None = None) -> str:
    return plural("true value" if scores.get("of") == "values" else "label", n)


def copy_sentences(held_out: dict[str, Any]) -> str:
    """What makes a copy look worse than the model: that it was not fitted to the end, or lacks edits."""
    seconds, lost = held_out.get("seconds"), held_out.get("n_lost_edits")
    said = f" Its fit was ended after {number(seconds, 0)} s, so it may do worse than the model." if seconds else ""
    if lost:
        edits = f"{count(lost)} of the {count(held_out['n_edits'])} {plural('edit', held_out['n_edits'])}"
        said += f" {edits} could not be made again in it, since it has not found the {plural('group', lost)}."
    return said
