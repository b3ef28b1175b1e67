"""The section on the labels of an ontology: a tree with the number of objects of each."""

from __future__ import annotations

from markupsafe import Markup

from coview.report.charts import bar
from coview.report.markup import each, notes
from coview.report.sections.parts import Summary, card
from coview.report.words import count, plural

__all__ = ["render_ontology"]


def render_ontology(summary: Summary) -> Markup:
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
        f"{count(tree['n_objects'])} {plural('object', tree['n_objects'])}; {count(tree['n_exclusive'])} "
        f"{plural('pair', tree['n_exclusive'])} of mutually exclusive labels; single views violated "
        f"{count(tree['n_broken'])} {plural('constraint', tree['n_broken'])} during the fit."
    )
    return card("", Markup('<ul class="tree">{}</ul>').format(lines), notes([remark]))
