"""What the figures share: colors, one panel or a grid of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.utils.loading import load_matplotlib

__all__ = ["ACCENT", "PALETTE", "bare", "colors", "one_panel", "panels"]

ACCENT = "#3b5bdb"
PALETTE = (
    *("#3b5bdb", "#e8590c", "#2b8a3e", "#c2255c", "#0b8fa3", "#7048e8"),
    *("#a9730a", "#5c677d", "#5c940d", "#9c36b5", "#c92a2a", "#1971c2"),
)  # the colors of the report's page, in its order


def colors(codes: Any) -> list[str]:
    """Return a color for each code; gray for -1.

    Examples
    --------
    >>> colors([0, 12, -1])
    ['#3b5bdb', '#3b5bdb', '#adb5bd']
    """
    return ["#adb5bd" if code < 0 else PALETTE[code % len(PALETTE)] for code in np.asarray(codes).tolist()]


def one_panel(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return the figure and axes to draw in: those given, or new ones."""
    if ax is None:
        return load_matplotlib("pyplot").subplots(figsize=size, layout="constrained")
    return ax.figure, ax


def panels(ax: Any, rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, np.ndarray]:
    """Return a figure and a grid of panels: new ones of this size each, or the axes given, as many as are drawn."""
    if ax is None:
        whole = (max(size[0] * columns, 2.5), max(size[1] * rows, 2.0))
        return load_matplotlib("pyplot").subplots(rows, columns, figsize=whole, squeeze=False, layout="constrained")
    given = np.asarray(ax, dtype=object)
    if given.size != rows * columns:
        raise ValueError(
            f"{rows} x {columns} panels are drawn, but ax has {given.size}. Pass an array of axes, or none."
        )
    return given.flat[0].figure, given.reshape(rows, columns)


def bare(ax: Any) -> None:
    """Take away the frame above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)
