"""The tree of the groups, below them: a line for each node, with the class that its objects match best."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from coview.report.charts import bar, marker
from coview.report.markup import EMPTY, breakable, each, notes
from coview.report.sections.parts import Summary, called, card, paragraph
from coview.report.words import count, number, plural

__all__ = ["render_hierarchy"]

DEEPEST = 16  # steps to the right
OPEN = 12  # groups, of more the tree is folded
BEST = 3  # classes in the title


def render_hierarchy(summary: Summary) -> Markup:
    """Return the tree from the root down, each node a step to the right of the one that it is part of."""
    tree, noun = summary["hierarchy"], summary["hierarchy"]["noun"]
    about = f"The {plural(noun)} are joined where their features are alike, in all views."
    if tree["matched"]:
        higher = ", and all classes above it in the ontology" if tree["ontology"] else ""
        about += (
            " Beside each node is the class that its objects match best: F1 is 1 where they are exactly those of the "
            f"class. An object has the class of its label{higher}."
        )
    colors = {item["name"]: item["index"] for item in (summary.get("groups") or {}).get("items", ())}
    lines = each("<li>{}{}{}</li>", (_line(line, summary, colors) for line in tree["lines"]))
    listed = Markup('<ul class="tree joins{}">{}</ul>').format(" matched" if tree["matched"] else "", lines)
    remarks = []
    if tree["shown"] < tree["count"]:
        remarks.append(f"The {count(tree['count'])} {plural(noun)} are shown in {tree['shown']} parts.")
    title = f"Tree of the {plural(noun)}{_best_classes(tree['lines']) if tree['matched'] else ''}"
    opened = Markup(" open") if tree["shown"] <= OPEN else EMPTY
    content = card("", paragraph(about), listed, notes(remarks))
    return Markup('<details class="quality"{}><summary>{}</summary>{}</details>').format(opened, title, content)


def _best_classes(lines: list[dict[str, Any]]) -> str:
    """The classes that nodes match best, to stand in the title."""
    best: dict[str, float] = {}
    for line in lines:
        if line["class"] is not None:
            best[line["class"]] = max(best.get(line["class"], 0.0), line["f1"])
    first = sorted(best, key=lambda name: -best[name])[:BEST]
    return "".join(f"{': best matched are ' if k == 0 else ', '}{n} (F1 {best[n]:.2f})" for k, n in enumerate(first))


def _line(line: dict[str, Any], summary: Summary, colors: dict[str, int]) -> tuple[Markup, Markup, Markup]:
    """A node, how well its class fits as a bar, and the class."""
    keys, noun, size = line["groups"], summary["hierarchy"]["noun"], line["size"]
    pad = 1.3 * min(line["level"], DEEPEST)
    if len(keys) == 1:
        mark = marker(colors[keys[0]]) if keys[0] in colors else EMPTY
        name = Markup("{}{}").format(mark, breakable(called(summary, keys[0])))
    else:
        names = ", ".join(called(summary, key) for key in keys)
        name = Markup('<span class="note" data-tip="{}">{} {}, joined at {}</span>').format(
            names, count(len(keys)), plural(noun, len(keys)), number(line["distance"], 2)
        )
    objects = "" if size is None else f"{count(size)} {plural('object', size)}"
    label = Markup('<span class="label" style="padding-left:{:.1f}rem">{}</span>').format(pad, name)
    if not summary["hierarchy"]["matched"]:
        return label, EMPTY, Markup('<span class="num">{}</span>').format(objects)
    if line["class"] is None:
        return label, bar(0.0), Markup('<span class="num">no class · {}</span>').format(objects)
    tip = (
        f"{number(line['precision'], 2)} of its objects that have a class are {line['class']}; it has "
        f"{number(line['recall'], 2)} of these"
    )
    says = Markup('<span class="num" data-tip="{}"><b>{}</b> · F1 {} · {}</span>').format(
        tip, breakable(line["class"]), number(line["f1"], 2), objects
    )
    return label, bar(line["f1"]), says
