"""Where the marks of the page's drawings stand: points and names on a map.

The templates draw them as HTML and inline SVG without a drawing library, so that a page is small, needs no extra,
follows light and dark colors, and its marks can be pointed at: what a mark means stands in its ``data-tip``. Labels are
HTML around a drawing, not text within it, so that they keep their size on a narrow screen. Colors are those of the
style sheet, the same as in `coview.plot`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coview.inspection.names import NAMED_BY_FEATURES, keyed_name
from coview.plot.style import PALETTE

__all__ = ["color", "draw_map", "shape"]

WIDTH, HEIGHT, MARGIN = 1000, 720, 16  # of a map
MOST_TAGS = 24  # names on a map
LONGEST_WORD = 18  # letters: a longer one stands beside the map alone, where it is whole
STEPS = 500  # of moving names apart
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


def draw_map(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the points of the map of a summary, and the names that stand above the midst of groups and of labels.

    A layer, "g" of groups and "l" of labels, has its names on the map and a legend.
    """
    chart, known = summary["map"], summary["group_names"]
    x = [round(MARGIN + value * (WIDTH - 2 * MARGIN)) for value in chart["x"]]
    y = [round(MARGIN + (1 - value) * (HEIGHT - 2 * MARGIN)) for value in chart["y"]]
    layers = [("g", chart["noun"], chart["names"], chart["group"])]
    if chart["label"] is not None and chart["noun"] != "label":
        layers.append(("l", "label", chart["labels"], chart["label"]))
    points = []
    for i, key in enumerate(chart["ids"]):
        kinds, tip = [], [f"object {key}"]
        for kind, noun, names, codes in layers:
            kinds.append("none" if codes[i] < 0 else f"{kind}{codes[i]}")
            if noun != "object":
                tip.append(f"no {noun}" if codes[i] < 0 else f"{noun} {keyed_name(names[codes[i]], known)}")
        points.append((x[i], y[i], " ".join(kinds), shape(chart["group"][i]), "\n".join(tip)))
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "radius": 6 if len(x) > 1500 else 8 if len(x) > 300 else 10,
        "points": points,
        "layers": [
            {
                "kind": kind,
                "count": len(names),
                "tags": _tags(x, y, codes, [_tag(name, known, noun in NAMED_BY_FEATURES) for name in names]),
                "legend": [(k, names[k], n) for k, n in Counter(codes).most_common() if k >= 0 and len(names) > 1],
            }
            for kind, noun, names, codes in layers
        ],
    }


def _tag(name: str, known: Mapping[str, str], numbered: bool) -> tuple[str, str]:
    """Number of a group and, where there is room for it, the first word of its name; or the name alone."""
    word = known.get(name, "").split(", ")[0]
    return (name, word if len(word) <= LONGEST_WORD else "") if numbered else ("", name)


def _tags(
    x: Sequence[float], y: Sequence[float], groups: Sequence[int], names: Sequence[tuple[str, str]]
) -> list[tuple[Any, ...]]:
    """Names above the medians of their groups, moved apart where they would cover each other; the largest groups."""
    shown = [k for k, _ in Counter(groups).most_common() if k >= 0][:MOST_TAGS]
    if len(names) < 2 or not shown:
        return []
    positions, codes = np.column_stack([x, y]), np.asarray(groups)
    middles = np.array([np.median(positions[codes == k], axis=0) for k in shown])
    widths = np.array([LETTER * (len(" ".join(names[k]).strip()) + 2.5) for k in shown])
    places = _moved_apart(middles - [0, LINE], widths) / [WIDTH / 100, HEIGHT / 100]  # above what they would cover
    return [
        (k, f"{left:.2f}", f"{top:.2f}", rank >= MOST_TAGS // 3, *names[k])
        for rank, (k, (left, top)) in enumerate(zip(shown, places.tolist()))
    ]


def _moved_apart(middles: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Middles of boxes of these widths and of one height, moved as little as clears what overlaps; kept on the map."""
    n = len(widths)
    sizes = np.column_stack([widths, np.full(n, LINE)])
    low = sizes / 2 + 4
    high = np.maximum([WIDTH, HEIGHT] - low, low)
    places = middles + 1e-6 * np.arange(n)[:, None]  # no two at one place
    for _ in range(STEPS):
        apart = places[:, None] - places
        over = (sizes[:, None] + sizes) / 2 - np.abs(apart)
        covered = (over > 0).all(axis=2) & ~np.eye(n, dtype=bool)
        if not covered.any():
            break
        least = covered[..., None] & (over.argmin(axis=2)[..., None] == [0, 1])
        places = np.clip(places + np.where(least, np.sign(apart) * (over + 1) / 2, 0).sum(axis=1), low, high)
    return places
