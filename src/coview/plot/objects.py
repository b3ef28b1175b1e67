"""A map of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.inspection.by_view import read_by_view
from coview.inspection.features import keyed_names
from coview.inspection.objects import map_objects, place
from coview.inspection.reading import read_training
from coview.plot.style import colors, one_panel
from coview.utils.sampling import sample_positions
from coview.validation import encode_labels, minus_one_is_unlabeled

__all__ = ["ObjectMapDisplay"]

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
