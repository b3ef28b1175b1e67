"""A report as one HTML text: no file beside it, nothing from the network, readable without its script.

The page forbids itself everything but its own style and its own script (by hash), so that a name out of the data that
looks like markup could not run even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from coview.report.markup import EMPTY
from coview.report.sections.glance import key_figures
from coview.report.sections.order import render_sections

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
    for key, title, name, about, content in render_sections(summary):
        links.append(Markup('<li><a href="#{}">{}</a></li>').format(key, name))
        text = Markup("<p>{}</p>").format(about) if about else EMPTY
        parts.append(Markup('<section id="{}"><h2>{}</h2>{}{}</section>').format(key, title, text, content))
    page = _FRAME.format(
        hash=digest,
        title=summary["title"],
        lead=summary["model"]["sentence"],
        css=css,
        js=js,
        figures=key_figures(summary),
        links=EMPTY.join(links),
        sections=EMPTY.join(parts),
        created=summary["created"].replace("T", " ").replace("+00:00", " UTC"),
        version=summary["model"]["versions"]["coview"],
    )
    return str(page)


@cache
def _assets() -> tuple[Markup, Markup, Markup]:
    """Style sheet, script, and the script's hash for the page's own security policy."""
    folder = files("coview.report") / "assets"
    css = (folder / "report.css").read_text(encoding="utf-8")
    js = (folder / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    return Markup(css), Markup(js), Markup(f"'sha256-{digest}'")
