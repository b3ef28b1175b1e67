"""What a classifier was chosen from: the evidence for each method."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.plot.style import ACCENT, bare, panels

__all__ = ["CandidatesDisplay"]

OUT = "#c3c9d1"  # of a method that was not used
SIZE = 8.0  # points of the texts beside the bars, where there is room
GAP = 7.0  # points between 1, where the longest bar ends, and these texts
WIDTHS = (60, 26, 17)  # letters of a line of them
TICK, EDGE = 7.0, 4.0  # points from a name to the panel; pixels that all texts keep from what is around
MOST_TEXT = 0.62  # share of a panel's width that they may take
MOST_NAMES = 0.45  # the same of names that do not fit beside the panel


class CandidatesDisplay:
    """Evidence for each method that a classifier was chosen from, and its weight.

    That is accuracy and log loss on held-out labels, or reliability where no label could be held out.

    Parameters
    ----------
    candidates : dict of lists
        A table with "name", "weight", "accuracy", "log_loss" and "reliability", as `AutoClassifier.candidates_` is.

    Attributes
    ----------
    figure_, axes_, ax_
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
        ax : matplotlib Axes or array of Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        if not inspection.candidates:
            raise ValueError(f"{inspection.name} was not chosen from candidates. Pass a fitted AutoClassifier.")
        return cls(inspection.candidates).plot(ax)

    def plot(self, ax: Any = None) -> CandidatesDisplay:
        """Draw a bar of accuracy or reliability for each method; those not used are gray.

        Where there is a log loss, a mark shows exp(-log loss): the geometric mean of the probabilities given to the
        held-out labels. The loss itself is written beside the weight, to the right of 1, where no bar or mark can be.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, optional
            Where to draw; a new figure by default.
        """
        table = self.candidates
        names, weights = list(map(str, table["name"])), np.asarray(table["weight"], dtype=float)
        kind = "accuracy" if "accuracy" in table else "reliability"
        evidence = np.asarray(table[kind], dtype=float)
        size = (5.4 + 0.07 * max(max(map(len, names), default=0) - 12, 0), max(1.2 + 0.38 * len(names), 2.4))
        self.figure_, self.axes_ = panels(ax, 1, 1, size)
        self.ax_ = self.axes_[0, 0]
        heights = np.arange(len(names))
        hues = [ACCENT if weight > 0 else OUT for weight in weights]
        self.ax_.barh(heights, np.nan_to_num(evidence), color=hues, height=0.62, label=kind)
        losses = np.asarray(table.get("log_loss", np.full(len(names), np.nan)), dtype=float)
        legend = [f"bar: {kind}"]
        if not np.isnan(losses).all():
            mark = "exp(\N{MINUS SIGN}log loss)"
            self.ax_.plot(np.exp(-losses), heights, "D", ms=5, color="#16191f", label=mark)
            legend.append(f"diamond: {mark}")
        texts = []
        for weight, loss in zip(weights, losses):
            text = f"weight {weight:.2f}" if weight > 0 else "not used"
            texts.append(text if np.isnan(loss) else f"{text}, log loss {loss:.2f}")
        self.ax_.set_yticks(heights, names)
        self.ax_.set_xticks([0, 1], ["0", "1"])
        self.ax_.set_xticks([0.25, 0.5, 0.75], minor=True)
        self.ax_.invert_yaxis()
        self.ax_.set(xlim=(0, 2), title="Methods")
        self.ax_.spines["bottom"].set_bounds(0, 1)
        bare(self.ax_)
        self._lay_out(texts, legend, ax is None)
        return self

    def _lay_out(self, texts: list[str], legend: list[str], own: bool) -> None:
        """Write the texts and the legend, all within the panel and the room around it."""
        figure = self.ax_.figure.canvas.figure  # of a subfigure, the whole
        self.ax_.set_xlabel((", " if own else ",\n").join(legend), loc="left")
        if own:
            figure.draw_without_rendering()
        elif (spec := self.ax_.get_subplotspec()) is not None:
            place = spec.get_position(self.ax_.figure).width * self.ax_.figure.bbox.width
            if figure.get_layout_engine() is None:
                self._make_room(spec)
            else:
                self._narrow_names(MOST_NAMES * place)
                _narrow(self.ax_.xaxis.label, (1 - MOST_NAMES) * place)
                figure.draw_without_rendering()
        _narrow(self.ax_.xaxis.label, self.ax_.get_window_extent().width)
        self._write_beside(texts)

    def _narrow_names(self, most: float) -> float:
        """Make names smaller that are wider than this, in pixels; return how wide the widest then is."""
        while True:  # widths of letters do not follow their size exactly
            names = self.ax_.get_yticklabels()
            widest = 1.04 * max((name.get_window_extent().width for name in names), default=0.0)
            size = names[0].get_fontsize() if names else 0.0
            if widest <= most or size < 2:
                return min(widest, most)
            self.ax_.tick_params("y", labelsize=max(min(size * most / widest, size - 0.5), 1.0))

    def _make_room(self, spec: Any) -> None:
        """Narrow a panel that no layout cares for, where names, legend or the next panel would not fit around it."""
        box, whole = self.ax_.get_window_extent(), self.ax_.figure.bbox
        self.ax_.get_tightbbox()  # puts the legend where it will be
        others = [ax.get_window_extent() for ax in self.ax_.figure.axes if ax is not self.ax_ and ax.axison]
        beside = [other for other in others if other.y0 < box.y1 and other.y1 > box.y0]
        across = [other for other in others if other.x0 < box.x1 and other.x1 > box.x0]
        start = max([whole.x0, *(other.x1 for other in beside if other.x1 <= box.x0)])
        floor = max([whole.y0, *(other.y1 for other in across if other.y0 < box.y0)])
        end = min([box.x1, *(other.x0 - EDGE for other in beside if other.x0 > box.x0)])
        room = box.x0 - start - TICK * self.ax_.figure.dpi / 72 - EDGE
        left = max(self._narrow_names(room + MOST_NAMES * box.width) - room, 0.0)
        below = max(floor + EDGE - self.ax_.xaxis.label.get_window_extent().y0, 0.0)
        right = box.x1 - end
        if max(left, below, right) > 0:
            widths = (left, max(box.width - left - right, 0.2 * box.width), right)
            heights = (max(box.height - below, 0.2 * box.height), below)
            cut = spec.subgridspec(2, 3, width_ratios=widths, height_ratios=heights, wspace=0, hspace=0)
            self.ax_.set_subplotspec(cut[0, 1])

    def _write_beside(self, texts: list[str]) -> None:
        """Write beside the bars, to the right of 1, as large as there is room for, in as many lines as that takes."""
        place = {"xytext": (GAP, 0), "textcoords": "offset points", "va": "center", "fontsize": SIZE}
        notes = [self.ax_.annotate(text, (1, i), color="#16191f", **place) for i, text in enumerate(texts)]
        box, point = self.ax_.get_window_extent(), self.ax_.figure.dpi / 72
        high, gap = box.height / max(len(texts), 1), GAP * point
        names = self.ax_.get_yticklabels()
        if names and high < names[0].get_fontsize() * point:
            self.ax_.tick_params("y", labelsize=high / point)
        fits: list[tuple[float, int, list[str]]] = []
        for letters in WIDTHS:
            lines = [_wrapped(text, letters) for text in texts]
            for note, line in zip(notes, lines):
                note.set_text(line)
            sizes = [note.get_window_extent() for note in notes]
            wide = max((each.width for each in sizes), default=1.0)
            tall = max((each.height for each in sizes), default=1.0)
            fits.append((min(1.0, (MOST_TEXT * box.width - gap) / wide, high / tall), -len(fits), lines))
        scale, _, lines = max(fits, key=lambda each: (round(each[0], 2), each[1]))
        size = max(SIZE * scale, 1.0)
        while True:
            for note, line in zip(notes, lines):
                note.set(text=line, fontsize=size)
            wide = max((note.get_window_extent().width for note in notes), default=1.0) + gap
            if wide <= MOST_TEXT * box.width or size < 2:
                break
            size -= 0.25
        self.ax_.set_xlim(0, 1 / (1 - min(1.02 * wide / box.width, 0.9)))


def _narrow(text: Any, most: float) -> None:
    """Make a text smaller that is wider than this, in pixels."""
    width = text.get_window_extent().width
    if width > most > 0:
        text.set_fontsize(text.get_fontsize() * most / width)


def _wrapped(text: str, letters: int) -> str:
    """Break a text into lines, but not between a word and its number.

    Examples
    --------
    >>> _wrapped("weight 0.50, log loss 0.70", 17)
    'weight 0.50,\\nlog loss 0.70'
    """
    kept = text.replace("weight ", "weight\N{NO-BREAK SPACE}").replace(
        "log loss ", "log\N{NO-BREAK SPACE}loss\N{NO-BREAK SPACE}"
    )
    return textwrap.fill(kept, letters, break_on_hyphens=False).replace("\N{NO-BREAK SPACE}", " ")
