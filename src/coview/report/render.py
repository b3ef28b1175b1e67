"""A report as one HTML text: no file beside it, nothing from the network, readable without its script.

Jinja2 templates over the summary, one for each section, which escape every text. The page forbids itself everything but
its own style and its own script (by hash), so that a name out of the data that looks like markup could not run even if
it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from coview.inspection.choice import describe_accuracy, describe_scaling
from coview.inspection.effects import show_change
from coview.inspection.names import keyed_name
from coview.report.charts import color, draw_map, shape
from coview.report.words import content, count, number, percent, plural, signed

__all__ = ["list_sections", "render_page"]

Summary = dict[str, Any]
MOST_GROUPS = 60  # that are shown


def render_page(summary: Summary) -> str:
    """Return the report of a summary as one HTML text.

    It may be that of a `Report`, or the same read back from JSON.
    """
    assets = files("coview.report") / "assets"
    css, js = ((assets / f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    page = _environment().get_template("page.html")
    own = {"css": Markup(css), "js": Markup(js), "digest": Markup(f"sha256-{digest}")}
    return page.render(s=summary, sections=list_sections(summary), **own)


def list_sections(summary: Summary) -> list[tuple[str, str, str]]:
    """Return the sections of a summary in their order: anchor, title, and name in the contents.

    What is in the data comes first; how it was found comes last.
    """
    groups = summary.get("groups")
    noun = plural(groups["noun"] if groups else "group")
    there: Mapping[str, Any] = {
        **summary,
        "map": summary.get("map") and not groups,  # else beside them
        "examples": summary.get("examples") and len((summary.get("views") or {}).get("rows", ())) > 1,
        "scores": summary.get("scores") or summary.get("quality") or summary["model"]["held_out"],
    }
    sections = [
        ("groups", noun.capitalize(), noun.capitalize()),
        ("map", "Map of objects", "Map"),
        ("prevalence", f"Prevalence of the {noun}", "Prevalence"),
        ("effects", f"Effects on the {noun}", "Effects"),
        ("hierarchy", f"Tree of the {noun}", "Tree"),
        ("examples", "Disputed objects", "Disputes"),
        ("outliers", "Outliers", "Outliers"),
        ("search", "Search across views", "Search"),
        ("ontology", "Label hierarchy", "Labels"),
        ("views", "What each view contributes", "Views"),
        ("variance", "Variance explained", "Variance"),
        ("scores", "How well it did", "Scores"),
        ("data", "The data", "Data"),
        ("model", "How it was made", "Model"),
    ]
    return [section for section in sections if there.get(section[0])]


@cache
def _environment() -> Environment:
    made = Environment(loader=PackageLoader("coview.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(zip=zip, most_groups=MOST_GROUPS)
    filters = (count, number, percent, plural, show_change, signed, color, shape, draw_map)
    made.filters.update({function.__name__: function for function in (*filters, describe_accuracy, describe_scaling)})
    made.filters.update(
        breakable=_breakable,
        called=lambda key, summary: keyed_name(key, summary["group_names"]),
        short_name=_short_name,
        short_names=lambda keys, summary: [_short_name(key, summary) for key in keys],
        content=lambda thing: thing["text"] or content(thing["words"]),
        heads=lambda names, before, kind="text": [(f"{before}{name}", kind) for name in names],
        brackets=lambda pairs: [f"{value} ({count(n)})" for value, n in pairs],
        typical=lambda s: {part["group"]: part["objects"] for part in (s.get("examples") or {}).get("typical", ())},
        group_colors=lambda s: {item["name"]: item["index"] for item in (s.get("groups") or {}).get("items", ())},
        place=lambda value: round(100 * min(max(value, 0.0), 1.0), 2),
        candidate_heads=_candidate_heads,
    )
    return made


def _breakable(text: Any) -> Markup:
    """Text that may be broken after its points, slashes and underscores, where a line has no room for it."""
    return Markup(re.sub(r"([./_\\])", r"\1<wbr>", str(escape(text))))


def _short_name(key: str, summary: Summary) -> str:
    """A group by its key and the first feature of its name, where there is little room."""
    names = summary["group_names"]
    return keyed_name(key, names).split(", ")[0] if key in names else key


def _candidate_heads(candidates: Mapping[str, list[Any]]) -> list[tuple[str, str]]:
    def is_number(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    return [(k.replace("_", " "), "num" if any(map(is_number, v)) else "text") for k, v in candidates.items()]
