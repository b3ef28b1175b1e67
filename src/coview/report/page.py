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

from coview.report.markup import EMPTY, Markup, fill, join, plural
from coview.report.sections import (
    key_figures,
    section_data,
    section_model,
    section_reproduce,
    section_scores,
    short,
)
from coview.report.sections_objects import (
    section_examples,
    section_groups,
    section_map,
    section_ontology,
    section_search,
    section_views,
)

__all__ = ["render_page"]

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src $hash">
<meta name="generator" content="coview $version">
<title>$title</title>
<style>$css</style>
</head>
<body>
<div class="page">
<header class="top"><div><p class="eyebrow">coview report</p><h1>$title</h1><p class="lead">$lead</p></div>
<button type="button" class="theme" hidden aria-label="Switch between light and dark">Dark</button></header>
$figures
<div class="body">
<nav class="contents" aria-label="Contents"><ol>$links</ol></nav>
<main>$sections</main>
</div>
<footer>Made by coview $version on $created. This file needs no network and sends nothing.</footer>
</div>
<script>$js</script>
</body>
</html>
"""


def render_page(found: dict[str, Any]) -> str:
    """Return the report of what `summarize` found as one HTML text.

    Parameters
    ----------
    found : dict
        What `coview.report.summary.summarize` returned, or the same read back from JSON.

    Returns
    -------
    str

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.report.summary import summarize
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> text = render_page(summarize(PLSA(3, random_state=0).fit(X)))
    >>> text.startswith("<!DOCTYPE html>"), "http" in text.replace("http-equiv", "")
    (True, False)
    """
    css, js, digest = _assets()
    links, sections = [], []
    for key, title, name, about, make in _plan(found):
        inside = make(found)
        if not inside:
            continue
        links.append(fill('<li><a href="#$key">$name</a></li>', key=key, name=name))
        text = fill("<p>$about</p>", about=about) if about else EMPTY
        sections.append(
            fill(
                '<section id="$key"><h2>$title</h2>$text$inside</section>',
                key=key,
                title=title,
                text=text,
                inside=inside,
            )
        )
    return fill(
        _FRAME,
        hash=digest,
        title=found["title"],
        lead=found["model"]["sentence"],
        css=css,
        js=js,
        figures=key_figures(found),
        links=join(links),
        sections=join(sections),
        created=found["created"].replace("T", " ").replace("+00:00", " UTC"),
        version=found["model"]["versions"]["coview"],
    )


def _plan(found: dict[str, Any]) -> list[tuple[str, str, str, str, Callable[[dict[str, Any]], Markup]]]:
    """Sections in their order: anchor, title, name in the contents, a line below the title, and what makes it."""
    groups = found.get("groups") or {}
    noun = groups.get("noun") or "group"
    many = plural(noun).capitalize()
    ranked = "what sets it apart from the others" if groups.get("probabilities") else "its weight"
    plan: list[tuple[str, str, str, str, Callable[[dict[str, Any]], Markup]]] = [
        ("short", "In short", "In short", "", short),
        ("model", "What the model is", "Model", "", section_model),
        ("data", "What it saw", "Data", "", section_data),
        ("scores", "How well it did", "Scores", "", section_scores),
    ]
    optional: list[tuple[str, str, str, str, Callable[[dict[str, Any]], Markup]]] = [
        ("groups", many, many, f"Each with its features, ranked by {ranked}.", section_groups),
        (
            "views",
            "What each view contributed",
            "Views",
            "The fitted model reads the same objects from one view alone, and from all views but one.",
            section_views,
        ),
        ("search", "Searching one view with another", "Search", "", section_search),
        ("ontology", "Labels and what is above them", "Ontology", "", section_ontology),
        ("map", "Map of objects", "Map", "Near each other: objects that the model sees alike.", section_map),
        ("examples", "Examples", "Examples", "", section_examples),
    ]
    plan += [part for part in optional if found.get(part[0])]
    plan.append(("reproduce", "How to reproduce it", "Reproduce", "", section_reproduce))
    return plan


@cache
def _assets() -> tuple[Markup, Markup, Markup]:
    """Style sheet, script, and the script's hash for the page's own security policy."""
    folder = files("coview.report") / "assets"
    css = (folder / "report.css").read_text(encoding="utf-8")
    js = (folder / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    return Markup(css), Markup(js), Markup(f"'sha256-{digest}'")
