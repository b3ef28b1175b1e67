"""Where the marks of the page's drawings stand: points and names on a map, curves.

The templates draw them as HTML and inline SVG without a drawing library, so that a page is small, needs no extra,
follows light and dark colors, and its marks can be pointed at: what a mark means stands in its ``data-tip``. Labels are
HTML around a drawing, not text within it, so that they keep their size on a narrow screen. Colors are those of the
style sheet, the same as in `coview.plot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coview.inspection.names import keyed_name
from coview.plot.style import PALETTE
from coview.report.words import number

__all__ = ["color", "draw_curve", "draw_map", "shape"]

MOST_POINTS = 400  # of a curve
WIDTH, HEIGHT, MARGIN = 1000, 720, 16  # of a map
MOST_TAGS, TAG_WORDS = 24, 12  # names on a map, and how many of them say more than the key
LONGEST_WORD = 18  # letters: a longer one stands beside the map alone, where it is whole
LETTER, LINE = 11.5, 36  # width and height of a tag's text, as parts of a map that is as wide as half of the page
# drawn about (0, 0), with about the area of a circle of radius 1; the shape changes where the colors come again
_SHAPES = ("", "M-.9,-.9h1.8v1.8h-1.8z", "M0,-1.25L1.2,.85H-1.2z", "M0,-1.25L1.25,0L0,1.25L-1.25,0z")


def color(index: int) -> str:
    """Return the color of a group; beyond the palette they come again.

    Examples
    --------
    >>> color(0), color(12)
    ('var(--c0)', 'var(--c0)')
    """
    return f"var(--c{index % len(PALETTE)})"


def shape(index: int) -> str:
    """Return the path of a group's mark on the map; empty for a circle.

    Examples
    --------
    >>> shape(0) != shape(12)
    True
    """
    return _SHAPES[max(index, 0) // len(PALETTE) % len(_SHAPES)]


def draw_curve(values: Sequence[float | None], seconds: Sequence[float] | None = None) -> dict[str, Any]:
    """Return the line of a curve over iterations in a square of 1000 by 1000, and ticks between 0 and 1.

    Examples
    --------
    >>> draw_curve([1.0, 2.0, 2.5])["at"]
    [0, 1, 2]
    """
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int)).tolist()
    points = [(i, float(value)) for i in kept if (value := values[i]) is not None]
    low, high = _with_margin([value for _, value in points], 0.06)
    last = max(len(values) - 1, 1)
    ends = [f"{1000 * i / last:.1f},{1000 * (high - value) / (high - low):.1f}" for i, value in points]
    ticks = _ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    digits = int(max(0, -np.floor(np.log10(step) + 1e-9))) if step < 1 else 0
    return {
        "at": [i for i, _ in points],
        "values": [value for _, value in points],
        "seconds": [] if seconds is None else [seconds[i] for i, _ in points],
        "last": last,
        "line": "M" + "L".join(ends),
        "right": ends[-1].split(",")[0],
        "ticks": [((high - tick) / (high - low), number(tick, digits)) for tick in ticks],
    }


def draw_map(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the points of the map of a summary, and the names that stand above the midst of groups and of labels.

    A group has a color, and a shape where there are more groups than colors. Labels have colors as far as these reach,
    the largest first; beyond the colors they are gray.
    """
    chart, known = summary["map"], summary["group_names"]
    noun, names, groups = chart["noun"], chart["names"], chart["group"]
    labels = chart["label"] if noun != "label" else None
    called = [keyed_name(key, known) for key in names]
    x = [round(MARGIN + value * (WIDTH - 2 * MARGIN)) for value in chart["x"]]
    y = [round(MARGIN + (1 - value) * (HEIGHT - 2 * MARGIN)) for value in chart["y"]]
    points = []
    for i, key in enumerate(chart["ids"]):
        kind = f"g{groups[i]}" if groups[i] >= 0 else "none"
        tip = [f"object {key}"]
        if noun != "object":
            tip.append(f"{noun} {called[groups[i]] if groups[i] >= 0 else 'none'}")
        if labels is not None:
            kind += f" l{labels[i]}" if labels[i] >= 0 else " none"
            tip.append(f"label {chart['labels'][labels[i]]}" if labels[i] >= 0 else "no label")
        if chart["margin"] is not None:
            tip.append(f"margin {chart['margin'][i]:.2f}")
        points.append((x[i], y[i], kind, shape(groups[i]), "\n".join(tip)))
    keyed = noun in ("cluster", "topic")
    tags = [(key, known[key].split(", ")[0] if key in known else "") if keyed else ("", key) for key in names]
    legends = [] if summary.get("groups") or len(names) < 2 else [("g", _counted(names, groups))]
    if labels is not None:
        legends.append(("l", _counted(chart["labels"], labels)))
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "radius": 6 if len(x) > 1500 else 8 if len(x) > 300 else 10,
        "points": points,
        "n_groups": max([*groups, 0]) + 1,
        "n_colors": len(PALETTE),
        "tags": _tags(x, y, groups, tags),
        "label_tags": None
        if labels is None
        else _tags(x, y, labels, [("", name) for name in chart["labels"][: len(PALETTE)]]),
        "legends": legends,
    }


def _counted(names: Sequence[str], codes: Sequence[int]) -> list[tuple[int, str, int]]:
    """Groups that have objects, with their numbers."""
    return [(k, name, n) for k, name in enumerate(names) if (n := codes.count(k))]


def _tags(
    x: Sequence[float], y: Sequence[float], groups: Sequence[int], names: Sequence[tuple[str, str]]
) -> list[tuple[Any, ...]]:
    """Names above the medians of their groups, moved apart where they would cover each other; the largest groups."""
    codes = np.asarray(groups)
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))[: len(names)]
    shown = [k for k in np.argsort(-sizes, kind="stable")[:MOST_TAGS].tolist() if sizes[k]]
    if len(names) < 2 or not shown:
        return []
    texts = []
    for position, k in enumerate(shown):
        key, word = names[k]
        texts.append((key, "" if key and (position >= TAG_WORDS or len(word) > LONGEST_WORD) else word))
    middles = np.array([[np.median(np.asarray(axis)[codes == k]) for axis in (x, y)] for k in shown])
    widths = np.array([LETTER * (len(" ".join(text).strip()) + 2.5) for text in texts])
    places = _moved_apart(middles - [0, LINE], widths) / [WIDTH / 100, HEIGHT / 100]  # above what they would cover
    return [
        (k, f"{left:.2f}", f"{top:.2f}", position >= MOST_TAGS // 3, *text)
        for position, (k, (left, top), text) in enumerate(zip(shown, places.tolist(), texts))
    ]


def _moved_apart(middles: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Middles of boxes of these widths and of one height, moved as little as clears what overlaps; kept on the map."""
    places = middles.astype(np.float64)
    low = np.column_stack([widths / 2 + 4, np.full(len(widths), LINE / 2 + 4)])
    high = np.array([WIDTH, HEIGHT]) - low
    for _ in range(200):
        moved = False
        for i in range(len(places)):
            for j in range(i):
                apart = places[i] - places[j]
                over = np.array([(widths[i] + widths[j]) / 2, LINE]) - np.abs(apart)
                if (over <= 0).any():
                    continue
                moved = True
                axis = int(np.argmin(over))
                step = (over[axis] + 1) / 2 * (1.0 if apart[axis] >= 0 else -1.0)
                places[i, axis] += step
                places[j, axis] -= step
        places = np.clip(places, low, np.maximum(high, low))
        if not moved:
            break
    return places


def _with_margin(values: Sequence[float], share: float) -> tuple[float, float]:
    low, high = float(min(values)), float(max(values))
    room = (high - low) * share or 1.0
    return low - room, high + room


def _ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two others."""
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= raw)
    first = np.ceil(low / step) * step
    return [float(t) for t in np.arange(first, high + step * 1e-9, step)]
