"""What a classifier was chosen from: the evidence for each method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.plot.style import ACCENT, bare, one_panel

__all__ = ["CandidatesDisplay"]

OUT = "#c3c9d1"  # of a method that was not used
BESIDE = 1.9  # where the axis ends: bars end at 1, and what is written beside them needs room


class CandidatesDisplay:
    """Accuracy of each method that a classifier was chosen from on held-out labels, its weight and its log loss.

    Parameters
    ----------
    candidates : dict of lists
        A table with "name", "weight", "accuracy" and "log_loss", as `AutoClassifier.candidates_` is.

    Attributes
    ----------
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview.plot import CandidatesDisplay
    >>> table = {"name": ["svm", "graph"], "weight": [1.0, 0.0], "accuracy": [0.9, 0.7], "log_loss": [0.3, 0.8]}
    >>> [text.get_text() for text in CandidatesDisplay(table).plot().ax_.texts]
    ['weight 1.00, log loss 0.30', 'not used, log loss 0.80']
    """

    def __init__(self, candidates: Mapping[str, list[Any]]) -> None:
        self.candidates = dict(candidates)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> CandidatesDisplay:
        """Plot what a fitted model was chosen from.

        Parameters
        ----------
        model : estimator
            Fitted, and chosen from candidates, as `AutoClassifier` is.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        if not inspection.selection.candidates:
            raise ValueError(f"{inspection.name} was not chosen from candidates. Pass a fitted AutoClassifier.")
        return cls(inspection.selection.candidates).plot(ax)

    def plot(self, ax: Any = None) -> CandidatesDisplay:
        """Draw a bar of the accuracy of each method; those not used are gray.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        names = [str(name) for name in self.candidates["name"]]
        weights, accuracy, losses = (
            np.asarray(self.candidates[key], dtype=float) for key in ("weight", "accuracy", "log_loss")
        )
        self.figure_, self.ax_ = one_panel(ax, (6.4, 1.2 + 0.3 * len(names)))
        hues = [ACCENT if weight > 0 else OUT for weight in weights]
        bars = self.ax_.barh(np.arange(len(names)), np.nan_to_num(accuracy), color=hues, height=0.62)
        used = [f"weight {weight:.2f}" if weight > 0 else "not used" for weight in weights]
        texts = [text if np.isnan(loss) else f"{text}, log loss {loss:.2f}" for text, loss in zip(used, losses)]
        self.ax_.bar_label(bars, texts, padding=4, fontsize=8)
        self.ax_.set_yticks(np.arange(len(names)), names)
        self.ax_.set_xticks([0, 0.5, 1])
        self.ax_.invert_yaxis()
        self.ax_.set(xlim=(0, BESIDE), title="Methods", xlabel="accuracy on held-out labels")
        self.ax_.spines["bottom"].set_bounds(0, 1)
        bare(self.ax_)
        return self
