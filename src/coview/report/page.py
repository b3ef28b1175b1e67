"""A report as one HTML text: no file beside it, nothing from the network, readable without its script.

The page forbids itself everything but its own style and its own script (by hash), so that a name out of the data that
looks like markup could not run even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from coview.report import sections
from coview.report.markup import EMPTY, plural

__all__ = ["render_page"]

_FRAME = Markup("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src {hash}">
<meta name="generator" content="coview {version}">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<div class="page">
<header class="top"><div><p class="eyebrow">coview report</p><h1>{title}</h1><p class="lead">{lead}</p></div>
<button type="button" class="theme" hidden aria-label="Switch between light and dark">Dark</button></header>
{figures}
<div class="body">
<nav class="contents" aria-label="Contents"><ol>{links}</ol></nav>
<main>{sections}</main>
</div>
<footer>Made with coview {version} on {created}. This file needs no network and sends no data.</footer>
</div>
<script>{js}</script>
</body>
</html>
""")


def render_page(summary: dict[str, Any]) -> str:
    """Return the report of a summary as one HTML text.

    It may be that of a `Report`, or the same read back from JSON.
    """
    css, js, digest = _assets()
    links, parts = [], []
    for key, title, name, about, render in _plan(summary):
        inside = render(summary)
        if not inside:
            continue
        links.append(Markup('<li><a href="#{}">{}</a></li>').format(key, name))
        text = Markup("<p>{}</p>").format(about) if about else EMPTY
        parts.append(Markup('<section id="{}"><h2>{}</h2>{}{}</section>').format(key, title, text, inside))
    page = _FRAME.format(
        hash=digest,
        title=summary["title"],
        lead=summary["model"]["sentence"],
        css=css,
        js=js,
        figures=sections.key_figures(summary),
        links=EMPTY.join(links),
        sections=EMPTY.join(parts),
        created=summary["created"].replace("T", " ").replace("+00:00", " UTC"),
        version=summary["model"]["versions"]["coview"],
    )
    return str(page)


def _plan(summary: dict[str, Any]) -> list[tuple[str, str, str, str, Callable[[dict[str, Any]], Markup]]]:
    """Sections in their order: anchor, title, name in the contents, a line below the title, and what renders it."""
    groups = summary.get("groups") or {}
    noun = groups.get("noun", "group")
    distinctive = any(groups.get("probabilities", {}).values())
    ranked = f"Features are ranked by {f'how well they distinguish the {noun}' if distinctive else 'weight'}."
    by_view = "The fitted model predicts the same objects from each view alone and from all views but one."
    near = "Objects that are similar to the model are close to each other."
    plan: list[tuple[str, str, str, str, Callable[[dict[str, Any]], Markup]]] = [
        ("glance", "At a glance", "At a glance", "", sections.glance),
        ("model", "The model", "Model", "", sections.section_model),
        ("data", "The data", "Data", "", sections.section_data),
        ("scores", "How well it did", "Scores", "", sections.section_scores),
        ("groups", plural(noun).capitalize(), plural(noun).capitalize(), ranked, sections.section_groups),
        ("views", "What each view contributes", "Views", by_view, sections.section_views),
        ("search", "Search across views", "Search", "", sections.section_search),
        ("ontology", "Label hierarchy", "Labels", "", sections.section_ontology),
        ("map", "Map of objects", "Map", near, sections.section_map),
        ("examples", "Examples", "Examples", "", sections.section_examples),
        ("reproduce", "How to reproduce it", "Reproduce", "", sections.section_reproduce),
    ]
    always = ("glance", "scores")  # made of other parts
    return [part for part in plan if part[0] in always or summary.get(part[0])]


@cache
def _assets() -> tuple[Markup, Markup, Markup]:
    """Style sheet, script, and the script's hash for the page's own security policy."""
    folder = files("coview.report") / "assets"
    css = (folder / "report.css").read_text(encoding="utf-8")
    js = (folder / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    return Markup(css), Markup(js), Markup(f"'sha256-{digest}'")
