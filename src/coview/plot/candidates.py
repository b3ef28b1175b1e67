"""What a model was chosen from: the evidence for each method, and for each number of clusters that was tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.plot.style import ACCENT, bare, panels

__all__ = ["CandidatesDisplay"]

OUT = "#c3c9d1"  # of a method that was not used


class CandidatesDisplay:
    """Evidence for each method that a model was chosen from, and its weight.

    Of clusterings that is reliability and stability, of classifiers their accuracy and log loss on held-out labels.

    Parameters
    ----------
    candidates : dict of lists
        A table with "name", "weight", "reliability" and "stability", as `AutoClustering.candidates_` is, or with
        "name", "weight", "accuracy" and "log_loss", as `AutoClassifier.candidates_` is.
    numbers : dict of lists, optional
        A table with "n_clusters" and "information", as `AutoClustering.n_clusters_evidence_` is; a second panel
        shows it where it has rows.

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn; `ax_` is the panel of the methods.

    Examples
    --------
    >>> from coview import AutoClustering
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import CandidatesDisplay
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> display = CandidatesDisplay.from_estimator(AutoClustering(3, random_state=0).fit(X))
    >>> "graphs" in display.candidates["name"]
    True
    """

    def __init__(self, candidates: Mapping[str, list[Any]], numbers: Mapping[str, list[Any]] | None = None) -> None:
        self.candidates, self.numbers = dict(candidates), dict(numbers or {})

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> CandidatesDisplay:
        """Plot what a fitted model was chosen from.

        Parameters
        ----------
        model : estimator
            Fitted, and chosen from candidates, as `AutoClustering` and `AutoClassifier` are.
        ax : matplotlib Axes or array of Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        if not inspection.candidates:
            raise ValueError(f"{inspection.name} was not chosen from candidates. Pass a fitted AutoClustering.")
        return cls(inspection.candidates, inspection.numbers).plot(ax)

    def plot(self, ax: Any = None) -> CandidatesDisplay:
        """Draw a bar of reliability or accuracy for each method, and a mark of stability; those not used are gray.

        Where there is a log loss, the mark is exp(-log loss): the geometric mean of the probabilities given to the
        held-out labels. The loss itself is written beside the weight, to the right of the panel.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, optional
            Where to draw; a new figure by default.
        """
        table, shown = self.candidates, bool(self.numbers.get("n_clusters"))
        names, weights = list(map(str, table["name"])), np.asarray(table["weight"], dtype=float)
        known = "accuracy" in table and not np.isnan(np.asarray(table["accuracy"], dtype=float)).all()
        kind, mark = "accuracy" if known else "reliability", "stability" if "stability" in table else None
        evidence = np.asarray(table[kind], dtype=float)
        size = (5.4, max(1.2 + 0.38 * len(names), 2.4))
        self.figure_, self.axes_ = panels(ax, 1, 2 if shown else 1, size)
        self.ax_ = self.axes_[0, 0]
        heights = np.arange(len(names))
        hues = [ACCENT if weight > 0 else OUT for weight in weights]
        self.ax_.barh(heights, np.nan_to_num(evidence), color=hues, height=0.62, label=kind)
        losses = np.asarray(table.get("log_loss", np.full(len(names), np.nan)), dtype=float)
        if not np.isnan(losses).all():
            mark, marked = "exp(\N{MINUS SIGN}log loss)", np.exp(-losses)
        elif mark is not None:
            marked = np.asarray(table[mark], dtype=float)
        if mark is not None:
            self.ax_.plot(marked, heights, "D", ms=5, color="#16191f", label=mark)
        told = np.asarray(table.get("completion", np.full(len(names), np.nan)), dtype=float)
        circle = ""
        if np.nan_to_num(told).max(initial=0.0) > 0:
            circle = ",\ncircle: completion"
            share = told / np.nanmax(told)
            self.ax_.plot(share, heights, "o", ms=5, mfc="none", color="#16191f", label="completion")
        for height, weight, loss in zip(heights.tolist(), weights, losses):
            text = f"weight {weight:.2f}" if weight > 0 else "not used"
            text += "" if np.isnan(loss) else f", log loss {loss:.2f}"
            self._write_beside(text, height)
        self.ax_.set_yticks(heights, names)
        self.ax_.invert_yaxis()
        self.ax_.set(
            xlim=(0, 1.05), xlabel=f"bar: {kind}" + (f", diamond: {mark}" if mark else "") + circle, title="Methods"
        )
        bare(self.ax_)
        if shown:
            self._plot_numbers(self.axes_[0, 1])
        return self

    def _write_beside(self, text: str, height: float) -> None:
        """Write to the right of the panel, where no mark can be."""
        place = {"xycoords": self.ax_.get_yaxis_transform(), "xytext": (4, 0), "textcoords": "offset points"}
        self.ax_.annotate(text, (1, height), va="center", fontsize=8, color="#16191f", **place)

    def _plot_numbers(self, ax: Any) -> None:
        numbers, information = self.numbers["n_clusters"], self.numbers["information"]
        ax.plot(numbers, information, "o-", ms=4, lw=1.4, color=ACCENT)
        ax.axvline(numbers[int(np.argmax(information))], color="#d9822b", lw=1, ls="--")
        ax.set(xlabel="number of clusters", ylabel="reproduced information (nats)", title="Number of clusters")
        bare(ax)
