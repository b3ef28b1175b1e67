"""Objects: a map of them, and what a search finds."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.inspection.by_view import read_by_view
from coview.inspection.features import keyed_names
from coview.inspection.objects import map_objects, place
from coview.inspection.reading import read_training
from coview.plot.style import colors, one_panel, panels
from coview.utils.sampling import sample_positions
from coview.validation import encode_labels, minus_one_is_unlabeled
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["ObjectMapDisplay", "RetrievalDisplay"]

MOST_KEYS = 20


class ObjectMapDisplay:
    """Map of objects, in which objects similar to the model are close to each other.

    Parameters
    ----------
    positions : ndarray (n_objects, 2)
        Where they are.
    codes : ndarray of int (n_objects,)
        Their groups, as positions in `names`; -1 for none.
    names : list of str
        Names of the groups.
    method : str, default=""
        How the positions were found.

    Attributes
    ----------
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import ObjectMapDisplay
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> display = ObjectMapDisplay.from_estimator(MultiViewPLSA(3, 5, random_state=0).fit(X), X)
    >>> display.positions.shape, display.method
    ((60, 2), 'PCA of memberships')
    """

    def __init__(self, positions: np.ndarray, codes: np.ndarray, names: Sequence[str], *, method: str = "") -> None:
        self.positions, self.codes, self.names, self.method = positions, np.asarray(codes), list(names), method

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        method: str = "pca",
        n_objects: int = 5000,
        random_state: int = 0,
        ax: Any = None,
    ) -> ObjectMapDisplay:
        """Map objects by the predictions of a fitted model from all views and from each view alone.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : Views or what becomes Views, optional
            The objects; by default those that the model remembers of its fit.
        y : array-like, optional
            Labels to color by; by default the model's own groups.
        method : {"pca", "tsne"}, default="pca"
            Principal components or t-SNE.
        n_objects : int, default=5000
            Most objects drawn; of more a random sample.
        random_state : int, default=0
            Seed of the sample and of t-SNE.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        if X is None:
            whole = read_training(inspection)
            n = len(whole.memberships) if whole.graded and whole.memberships is not None else 0
            rows = sample_positions(n, n_objects, random_state)
            whole = whole.take(rows)
            placed = place([whole.memberships], None, method, random_state)
        else:
            views = inspection.preparation.prepare_views(X)
            n = len(views)
            rows = sample_positions(n, n_objects, random_state)
            readings = read_by_view(inspection, views[rows])
            whole = readings.whole
            placed = map_objects(inspection, readings, method, random_state)
        if placed is None:
            raise ValueError(
                f"{inspection.name} does not store coordinates of its objects. Pass X, the objects to draw."
            )
        if y is not None:
            codes, classes = encode_labels(y, n, semi_supervised=minus_one_is_unlabeled(inspection.estimator))
            return cls(placed[0], codes[rows], [str(c) for c in classes.tolist()], method=placed[1]).plot(ax)
        codes = np.zeros(len(rows), dtype=int) if whole.codes is None else whole.codes
        names = ["objects"] if whole.codes is None else keyed_names(inspection)
        return cls(placed[0], codes, names, method=placed[1]).plot(ax)

    def plot(self, ax: Any = None) -> ObjectMapDisplay:
        """Draw the points and a legend.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        self.figure_, self.ax_ = one_panel(ax, (7.0, 4.8))
        size = 8 if len(self.positions) > 1500 else 18
        for code in np.unique(self.codes):
            some = self.codes == code
            name = self.names[code] if code >= 0 else "no label"
            self.ax_.scatter(*self.positions[some].T, s=size, alpha=0.75, lw=0, color=colors([code])[0], label=name)
        if 1 < len(np.unique(self.codes)) <= MOST_KEYS:
            self.ax_.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=1.8)
        self.ax_.set(xticks=[], yticks=[], title="Map of objects", xlabel=self.method)
        self.ax_.spines[:].set_color("#dde2e8")
        return self


class RetrievalDisplay:
    """Search results: one row per query, hits from left to right, best first.

    Parameters
    ----------
    queries : list of str
        What was searched with.
    hits : list of lists of (id, score)
        What was found.
    right : list of lists of bool, optional
        Which hits are right; drawn green and red.
    images : {id: array}, optional
        Pictures of objects, drawn in place of their ids.

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn; `ax_` is the first of the panels.

    Examples
    --------
    >>> from coview import CrossModalRetriever, LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import RetrievalDisplay
    >>> data = make_topic_views(60, {"words": 30, "image": 20}, n_clusters=3, random_state=0)
    >>> model = CrossModalRetriever(LinkPLSA(3, random_state=0)).fit(data.views)
    >>> display = RetrievalDisplay.from_estimator(
    ...     model, data.views[:3], data.target[:3], source="words", target="image", k=4, item_labels=data.target)
    >>> display.axes_.shape
    (3, 5)
    """

    def __init__(
        self,
        queries: Sequence[str],
        hits: Sequence[Sequence[tuple[Any, float]]],
        *,
        right: Sequence[Sequence[bool]] | None = None,
        images: dict[Any, Any] | None = None,
    ) -> None:
        self.queries, self.hits, self.right, self.images = list(queries), list(hits), right, images or {}

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        source: str | None = None,
        target: str | None = None,
        k: int = 5,
        item_labels: Any = None,
        images: dict[Any, Any] | None = None,
        ax: Any = None,
    ) -> RetrievalDisplay:
        """Search with each object of X, or each text of a list, and draw what is found.

        Parameters
        ----------
        model : CrossModalRetriever
            Fitted.
        X : Views, text or list of texts
            The queries.
        y : array-like, optional
            Labels of the queries; with `item_labels` hits are drawn right or wrong.
        source : str, optional
            View of the queries.
        target : str, optional
            View to search in.
        k : int, default=5
            Hits of each query.
        item_labels : {id: label} or array-like, optional
            Labels of the indexed objects, by id.
        images : {id: array}, optional
            Pictures of indexed objects.
        ax : matplotlib Axes or array of them, optional
            Where to draw.
        """
        inspection = inspect(model)
        if inspection.structure.retriever is None:
            raise ValueError(f"{inspection.name} cannot search. Use a fitted CrossModalRetriever.")
        search = inspection.structure.retriever.search
        texts = [X] if isinstance(X, str) else X if isinstance(X, list) else None
        if texts is not None:
            hits = [search(text, source, target, k)[0] for text in texts]
            names = [str(text) for text in texts]
        else:
            views = isinstance(X, (Views, LazyViews))
            hits = list(search(X.select(source) if views and source is not None else X, source, target, k))
            ids = X.ids if views else None
            names = [f"query {i}" for i in range(len(hits))] if ids is None else [str(key) for key in ids]
        right = None
        if y is not None and item_labels is not None:
            right = [
                [item_labels[key] == label for key, _ in line] for line, label in zip(hits, np.asarray(y).tolist())
            ]
        return cls(names, hits, right=right, images=images).plot(ax)

    def plot(self, ax: Any = None) -> RetrievalDisplay:
        """Draw the grid.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            Where to draw; a new figure by default.
        """
        k = max(len(line) for line in self.hits)
        self.figure_, self.axes_ = panels(ax, len(self.hits), k + 1, (1.7, 1.35 if self.images else 0.85))
        self.ax_ = self.axes_[0, 0]
        for row, line in enumerate(self.hits):
            head = self.axes_[row, 0]
            head.set_axis_off()
            head.text(1.0, 0.5, _broken(self.queries[row]), ha="right", va="center", fontsize=9, weight="bold")
            for column, panel in enumerate(self.axes_[row, 1:]):
                panel.set(xticks=[], yticks=[])
                if column >= len(line):
                    panel.set_axis_off()
                    continue
                key, score = line[column]
                edge = "#ced4da" if self.right is None else "#2b8a3e" if self.right[row][column] else "#c92a2a"
                panel.spines[:].set(color=edge, linewidth=2.0)
                if key in self.images:
                    panel.imshow(self.images[key])
                else:
                    panel.text(
                        0.5, 0.5, _broken(str(key)), ha="center", va="center", fontsize=8, transform=panel.transAxes
                    )
                panel.set_xlabel(f"{score:.3f}", fontsize=7, labelpad=1)
        return self


def _broken(text: str, width: int = 18, most: int = 4) -> str:
    lines = textwrap.wrap(text, width, break_long_words=True) or [""]
    return "\n".join(lines[:most])
