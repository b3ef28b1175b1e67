"""What stands at the top: the main figures, and what matters in a few sentences made of the sections below."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.report.markup import div, each
from coview.report.sections.parts import Summary
from coview.report.sections.scores import ceiling_sentence, truths_noun
from coview.report.words import count, number, percent, plural, signed

__all__ = ["key_figures", "render_glance"]


def key_figures(summary: Summary) -> Markup:
    """Return the numbers at the top: the main measures, objects, views, groups."""
    data, groups, scores, model = summary["data"], summary.get("groups"), summary.get("scores"), summary["model"]
    boxes: list[tuple[str, str, str]] = []  # class, figure, name
    if scores:
        held_out = scores.get("held_out") or {}
        if held_out.get("measures"):
            first, n_hidden = held_out["measures"][0], held_out["n_hidden"]
            hidden = f"{count(n_hidden)} held-out {truths_noun(scores, n_hidden)}"
            base = [f"largest class {percent(held_out['largest_class'])}"] if "largest_class" in held_out else []
            about = "; ".join([*_interval(held_out), *base])
            boxes.append((" main", number(first["value"]), f"{first['name']}, {hidden}{about and f' ({about})'}"))
        else:
            caveat = ", labels may be of the fit" if summary["noun"] == "class" else ""
            measures = zip((" main", ""), scores["measures"])
            boxes += [(kind, number(m["value"]), f"{m['name']}{caveat}") for kind, m in measures]
            if held_out.get("note"):
                boxes.append(("", "–", f"held-out {scores['measures'][0]['name']}, not measured"))
    counts = [
        ("object", data["n_objects"]),
        ("view", len(data["views"])),
        ("feature", sum(view["n_features"] for view in data["views"])),
        (groups["noun"], groups["count"]) if groups else ("group", None),
        ("iteration" if model["rounds"] is None else "pass", model["iterations"]),
    ]
    boxes += [("", count(n), plural(noun, n)) for noun, n in counts if n is not None]
    return div("figures", each('<div class="figure{}"><b>{}</b><span>{}</span></div>', boxes))


def render_glance(summary: Summary) -> Markup:
    """Return what matters in a few sentences, made of the numbers below."""
    sentences = (
        _what(summary),
        _how_well(summary),
        _best_view(summary),
        _agreeing(summary),
        _explained(summary),
        _not_held_out(summary),
    )
    lines = each("<li>{}</li>", ((sentence,) for sentence in sentences if sentence))
    return div("card short", Markup("<ul>{}</ul>").format(lines))


def _what(summary: Summary) -> str:
    data, groups, name = summary["data"], summary.get("groups"), summary["model"]["title"]
    objects = (
        "objects" if data["n_objects"] is None else f"{count(data['n_objects'])} {plural('object', data['n_objects'])}"
    )
    used = [view["name"] for view in data["views"] if view["name"] not in data["unused"]]
    origin = f"from {len(used)} {plural('view', len(used))} ({', '.join(used)})"
    if data["unused"]:
        origin += f"; not used: {', '.join(data['unused'])}"
    if summary["noun"] == "value":
        return f"{name} predicts a number for {objects}, {origin}."
    if summary["noun"] is None or groups is None:
        return f"{name} places {objects} in one common space, {origin}."
    return f"{name} sorts {objects} into {groups['count']} {plural(groups['noun'], groups['count'])}, {origin}."


def _how_well(summary: Summary) -> str:
    """Scores, each with what it is worth: held out, or on objects that the model may have learned from."""
    scores = summary.get("scores")
    if not scores:
        return ""
    truths, held_out = truths_noun(scores), scores.get("held_out") or {}
    measured = ", ".join(f"{m['name']} {number(m['value'])}" for m in scores["measures"][:2])
    if held_out.get("measures"):
        hidden = ", ".join(
            [f"{m['name']} {number(m['value'])}" for m in held_out["measures"][:2]] + _interval(held_out)
        )
        if "largest_class" in held_out:
            hidden += f"; the largest class has {percent(held_out['largest_class'])} of the {truths}"
        return (
            f"On {count(held_out['n_hidden'])} held-out {truths}: {hidden}. On all {count(scores['n_labeled'])}, which "
            f"include those that it learned from and so look better: {measured}."
        )
    text = f"Against {count(scores['n_labeled'])} {truths}: {measured}"
    if summary["noun"] in ("class", "value"):
        note = f" Held-out {truths}: {held_out['note']}" if held_out.get("note") else ""
        return f"{text}. It may have learned from some of them, which makes it look better than it is.{note}"
    return f"{text}, without having seen them.{ceiling_sentence(summary)}"


def _interval(held_out: dict[str, Any]) -> list[str]:
    """Where the accuracy is that the fit measured; nothing of a copy's."""
    return ["{} to {} at 95 %".format(*map(number, held_out["interval"]))] if "interval" in held_out else []


def _best_view(summary: Summary) -> str:
    views = summary.get("views")
    rows = [row for row in views["rows"] if row["alone"] is not None] if views else []
    if not views or not rows:
        return ""
    best = next((row for row in rows if row["name"] == views["best"]), rows[0])
    where, some = _judged_on(summary), ""
    if best["n_objects"] < views["n_judged"]:
        some = f" the {count(best['n_objects'])} of {count(views['n_judged'])} that have {best['name']}"
    if views["whole"] is None:
        return (
            f"{where}, predicting from {best['name']} alone comes closest to predicting from all views: "
            f"{percent(best['alone'])} of the answers are the same{', for' + some if some else ''}."
        )
    gain = best["whole"] - best["alone"]
    beside = f" ({signed(gain)})" if round(gain, 3) else ""
    return (
        f"{where}, {views['measure']} is {number(best['alone'])} predicted from {best['name']} alone, the best single "
        f"view, and {number(best['whole'])} predicted from all views{beside}{', both for' + some if some else ''}."
    )


def _judged_on(summary: Summary) -> str:
    """The objects that the views were judged by."""
    held_out = summary["views"].get("held_out") or {}
    if "n_hidden" in held_out:
        n = count(held_out["n_hidden"])
        seen = "objects whose label was not used, though the fit may have seen them without it"
        return f"On {n} held-out objects" if held_out["refitted"] else f"On {n} {seen}"
    return "On these objects, which the model may have learned from"


def _not_held_out(summary: Summary) -> str:
    """Why the views were not judged on held-out objects, where a classifier's own scores do not say so already."""
    note = ((summary.get("views") or {}).get("held_out") or {}).get("note")
    if not note or ((summary.get("scores") or {}).get("held_out") or {}).get("note"):
        return ""
    return f"What each view predicts on held-out objects is {note}" if note.startswith("not ") else ""


def _explained(summary: Summary) -> str:
    """How much of the views of vectors the groups explain."""
    variance = summary.get("variance")
    if not variance:
        return ""
    shares = ", ".join(f"{percent(view['total'])} of that of {view['name']}" for view in variance["views"])
    return f"Of the variance of vectors, the {plural(variance['noun'])} explain {shares}."


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
