"""`make_report`: a fitted model as a page that can be shown in a notebook, saved, and sent to others."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from coview.report.page import render_page
from coview.report.summary import summarize
from coview.utils.atomic import atomic_path

__all__ = ["Report", "make_report"]


class Report:
    """A report on a fitted model; `make_report` and ``model.report()`` return it.

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
    >>> report.summary["groups"]["count"]
    3
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary
        self._html: str | None = None

    @property
    def html(self) -> str:
        """The page."""
        if self._html is None:
            self._html = render_page(self.summary)
        return self._html

    def save(self, path: str | Path) -> Path:
        """Write the page to one file, which appears whole or not at all, and return its path."""
        with atomic_path(path) as beside:
            beside.write_text(self.html, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        data = self.summary["data"]
        objects = "" if data["n_objects"] is None else f"{data['n_objects']} objects, "
        views = len(data["views"])
        return f"Report of {self.summary['model']['name']}: {objects}{views} view{'' if views == 1 else 's'}"

    def _repr_html_(self) -> str:
        # in a frame of its own, so that the notebook's styles and the page's do not meet; it may run its script, but
        # has no part in the notebook's origin
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" sandbox="allow-scripts" title="coview report" '
            'style="width:100%;height:720px;border:1px solid #8884;border-radius:10px"></iframe>'
        )


def make_report(model: Any, X: Any = None, y: Any = None, **options: Any) -> Report:
    """Describe a fitted model on one page: what it is, what it saw, how well it did, what each view contributed.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview, or a scikit-learn Pipeline or search that ends in one.
    X : Views or what becomes Views, optional
        Objects to describe it with: those it was fitted on, or new ones. For a Pipeline, what it takes. Without them
        the report says what the model itself remembers.
    y : array-like, optional
        Labels of those objects; -1, None or NaN for none.
    **options
        ``title`` (str); ``y_fit`` (the labels that a classifier was fitted with, where they are fewer than `y`);
        ``held_out`` (bool or "auto": fit a copy of a classifier with a quarter of the labels hidden); ``max_objects``
        (int: most objects that are read, by default as many as take seconds); ``map_method`` ("pca", "umap" or
        "auto"); and ``model_path``, ``data``, ``labels``, ``table``: paths for the commands that repeat it.

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
    return Report(summarize(model, X, y, **options))
