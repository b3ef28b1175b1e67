"""`make_report`: a fitted model as a page that can be shown in a notebook, saved, and sent to others."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import escape

from coview.exceptions import ParameterError
from coview.inspection import Inspection, inspect
from coview.inspection.effects import read_formula
from coview.inspection.prevalence import named_columns
from coview.report.model import describe_model
from coview.report.render import list_sections, render_page
from coview.report.summary import summarize
from coview.utils.atomic import atomic_path
from coview.utils.jsonable import to_jsonable
from coview.utils.messages import printable, quantity
from coview.utils.progress import progress
from coview.views.views import check_same_order

__all__ = ["Report", "describe", "make_report", "table_columns"]

FORMAT = 1  # of the summary


class Report:
    """A report on a fitted model; `make_report` returns it.

    Parameters
    ----------
    summary : dict
        What the report says, as plain values that `json.dumps` takes.

    Attributes
    ----------
    summary : dict
        The same.
    html : str
        The page: one HTML text that needs nothing else.

    Examples
    --------
    >>> from coview import PLSA, make_report
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> report = make_report(PLSA(3, random_state=0).fit(X), X)
    >>> report
    Report of PLSA: 50 objects, 2 views
      title: PLSA report
      sections: Topics, Tree, Disputes, Outliers, Views, Scores, Data, Model
      .save("report.html") writes the page, notebooks show it, .summary holds its figures as a dict
    >>> report.summary["groups"]["count"]
    3
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    @cached_property
    def html(self) -> str:
        """HTML source of the page."""
        return render_page(self.summary)

    def save(self, path: str | Path) -> Path:
        """Write the page to one file atomically and return its path.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        with atomic_path(path) as beside:
            beside.write_text(self.html, encoding="utf-8")
        return Path(path)

    def _headline(self) -> str:
        """Model, objects and views in one line."""
        data = self.summary["data"]
        objects = "" if data["n_objects"] is None else f"{quantity(data['n_objects'], 'object')}, "
        return f"Report of {self.summary['model']['name']}: {objects}{quantity(len(data['views']), 'view')}"

    def __repr__(self) -> str:
        lines = [
            self._headline(),
            f"title: {printable(self.summary['title'])}",
            f"sections: {', '.join(name for _, _, name in list_sections(self.summary))}",
            '.save("report.html") writes the page, notebooks show it, .summary holds its figures as a dict',
        ]
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        # in a frame of its own, so that the notebook's styles and the page's do not meet; it may run its script, but
        # has no part in the notebook's origin
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="coview report" '
            'style="width:100%;height:720px;border:1px solid #8884;border-radius:10px"></iframe>'
        )


def make_report(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    y_fit: Any = None,
    by: Any = None,
    effects: str | None = None,
    clusters: str | None = None,
    held_out: bool | str = "auto",
    max_objects: int | None = None,
    map_method: str = "tsne",
    title: str | None = None,
    made_from: Mapping[str, Any] | None = None,
    saved_with: dict[str, str] | None = None,
) -> Report:
    """Create a one-page report on a fitted model: what is in the data, how well it did, what each view contributes.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview or scikit-learn, or a Pipeline or search that ends in one.
    X : Views or what becomes Views, optional
        Objects to describe it with: those it was fitted on, or new ones. For a Pipeline, what it takes. Without them
        the report says what the model itself remembers.
    y : array-like, optional
        Labels of those objects, -1, None or NaN for none.
    y_fit : array-like, optional
        Labels that a classifier was fitted with, where they are fewer than `y`: it is then scored on the others.
    by : {name: array-like}, or list of str, optional
        What is known of each object beside the views: dates, numbers or categories, or the columns of a raw table. The
        report shows how prevalent the topics, clusters or classes are by each of them.
    effects : str, optional
        A formula of columns of the raw table X, such as "~ party + spline(date)": the report shows how the share of
        each group depends on them; see `Inspection.effects`.
    clusters : str, optional
        With `effects`, the column that tells which objects belong together.
    held_out : bool or "auto", default="auto"
        Without `y_fit`: fit a copy of the model with a quarter of the labels hidden (of the objects, where it takes no
        labels), and judge its views, and a classifier itself, on those. "auto" does so where iterations of the fit took
        less than 10 seconds, and gives the copy of the model 5 seconds.
    max_objects : int, optional
        Most objects that are read; of more a random sample. By default 5,000 (3,000 of a raw table), or as many as
        have half a million values that are not zero, so that a report takes seconds.
    map_method : {"tsne", "pca"}, default="tsne"
        How objects are placed in the plane.
    title : str, optional
        Heading of the report.
    made_from : {name: path}, optional
        Files of the model and of the objects, which the report names.
    saved_with : dict, optional
        Versions that the model was saved with.

    Returns
    -------
    Report
        With ``save(path)``; a notebook shows it.

    Examples
    --------
    >>> import tempfile
    >>> from coview import MultiViewPLSA, make_report
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
    >>> model = MultiViewPLSA(3, 4, random_state=0).fit(data.views)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = make_report(model, data.views, data.target).save(f"{folder}/report.html")
    ...     path.stat().st_size > 20_000
    True
    """
    inspection = inspect(model)
    columns = table_columns(by, X, inspection)
    given = {"y": y, "y_fit": y_fit, **{f"by[{name!r}]": values for name, values in columns.items()}}
    for name, values in given.items():
        check_same_order(X, values, name)
    asked: dict[str, Any] | None = None
    if clusters is not None and effects is None:
        raise ParameterError("is only for effects, which were not asked for.", parameter="clusters")
    if effects is not None:
        known = named_columns(X, [name for name, _ in read_formula(effects)], parameter="formula")
        if clusters is not None:
            known |= named_columns(X, [clusters], parameter="clusters")
        asked = {"formula": effects, "columns": known, "clusters": clusters}
    with progress("report"):
        summary = {
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "title": title or f"{inspection.name} report",
            "model": describe_model(inspection, saved_with),
            "files": {name: str(path) for name, path in (made_from or {}).items() if path is not None} or None,
            **summarize(inspection, X, y, y_fit, held_out, max_objects, map_method, columns, asked),
        }
    return Report(
        to_jsonable({key: section for key, section in summary.items() if section is not None or key == "noun"})
    )


def describe(model: Any, X: Any = None, y: Any = None, **settings: Any) -> dict[str, Any]:
    """Describe a fitted model, and objects, as one dict of numbers, texts, lists and dicts.

    It is what a report says, what ``coview report --json`` prints, and what `json.dumps` takes. Parts that do not apply
    to the model, or that need data which is not given, are absent:

    ================  ==================================================================================================
    ``model``         class, parameters, steps, how it was made in a sentence, candidates, edits, versions
    ``data``          number of objects, and of each view its features, how full it is and how many objects lack it
    ``groups``        topics, clusters or classes: name, size, share, features by view
    ``examples``      typical objects of each group, and objects on which the views disagree
    ``quality``       coherence of each group, and how different the groups are
    ``views``         how good each view is alone, and all without it
    ``prevalence``    share of each group by date, number or category (with `by`)
    ``effects``       how shares depend on covariates (with `effects`)
    ``hierarchy``     the tree of the groups
    ``map``           a position in the plane for each object
    ``scores``        agreement with the labels (with `y`)
    ================  ==================================================================================================

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview or scikit-learn, or a Pipeline or search that ends in one.
    X : Views or what becomes Views, optional
        Objects to describe it with.
    y : array-like, optional
        Labels of those objects.
    **settings
        Further parameters of `make_report`.

    Returns
    -------
    dict

    Examples
    --------
    >>> from coview import AutoClustering, describe
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
    >>> said = describe(AutoClustering(3, random_state=0).fit(data.views), data.views)
    >>> said["data"]["n_objects"], sum(group["size"] for group in said["groups"]["items"])
    (90, 90)
    """
    return make_report(model, X, y, **settings).summary


def table_columns(by: Any, X: Any, inspection: Inspection) -> dict[str, Any]:
    """Return what objects are ordered by, from a mapping or from the names of columns of a raw table.

    Columns that the model reads as lists are split into their items.
    """
    if by is None or isinstance(by, Mapping):
        return dict(by or {})
    return named_columns(X, [by] if isinstance(by, str) else list(by), lists=inspection.preparation.list_columns)
