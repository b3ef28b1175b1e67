"""The sections of the page in their order, those that a summary has something for."""

from __future__ import annotations

from markupsafe import Markup

from coview.report.sections.glance import render_glance
from coview.report.sections.groups import render_groups, typical_by_group
from coview.report.sections.model import render_data, render_model, render_reproduction
from coview.report.sections.objects import render_disputes, render_map, render_outliers, render_searches
from coview.report.sections.ontology import render_ontology
from coview.report.sections.parts import Summary
from coview.report.sections.scores import render_scores
from coview.report.sections.views import render_prevalence, render_variance, render_views
from coview.report.words import plural

__all__ = ["render_sections"]


def render_sections(summary: Summary) -> list[tuple[str, str, str, str, Markup]]:
    """Return the sections in their order: anchor, title, name in the contents, a line below the title, and content."""
    groups = summary.get("groups") or {}
    noun = groups.get("noun", "group")
    names = plural(noun).capitalize()
    distinctive = any(groups.get("probabilities", {}).values())
    order = f"how well they distinguish the {noun}" if distinctive else "weight"
    more = ", and typical objects" if typical_by_group(summary) else ""
    ranked = f"Click a {noun} for its features, ranked by {order}{more}."
    if groups and not any(item["features"] for item in groups["items"]):
        ranked = f"Click a {noun} for its objects." if more else ""
    deviating = any(groups.get("deviations", {}).values())
    if deviating:
        ranked += " Of measurements: standard deviations above or below the mean of all objects."
    near = "Objects that are close to each other are similar to the model; how far others are apart means little."
    sections = [
        ("glance", "At a glance", "At a glance", "", render_glance),
        ("groups", names, names, ranked, render_groups),
        ("prevalence", f"Prevalence of the {plural(noun)}", "Prevalence", "", render_prevalence),
        ("map", "Map of objects", "Map", near, render_map),
        ("scores", "How well it did", "Scores", "", render_scores),
        ("views", "What each view contributes", "Views", "", render_views),
        ("variance", "Variance explained", "Variance", "", render_variance),
        ("examples", "Disputed objects", "Disputes", "", render_disputes),
        ("outliers", "Outliers", "Outliers", "", render_outliers),
        ("search", "Search across views", "Search", "", render_searches),
        ("ontology", "Label hierarchy", "Labels", "", render_ontology),
        ("data", "The data", "Data", "", render_data),
        ("model", "The model", "Model", "", render_model),
        ("reproduce", "How to reproduce it", "Reproduce", "", render_reproduction),
    ]
    always = ("glance", "scores")  # made of other parts
    return [
        (key, title, name, about, content)
        for key, title, name, about, render in sections
        if (key in always or summary.get(key)) and (content := render(summary))
    ]
