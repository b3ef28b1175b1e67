"""Every drawing of the page: curves, points, heat maps, dots on a scale, bars, legends.

They are HTML and inline SVG without a drawing library, so that a page is small, needs no extra, follows light and dark
colors, and its marks can be pointed at: what a mark means stands in its ``data-tip``, which the script of the page
shows. Labels are HTML around a drawing, not text within it, so that they keep their size on a narrow screen. Colors are
those of the style sheet, the same as in `coview.plot`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from coview.plot.style import PALETTE
from coview.report.markup import EMPTY, div, each
from coview.report.words import count, number

__all__ = ["bar", "color", "curve", "dots", "heat_map", "legend", "map_chart", "marker", "pairs_chart"]

MOST_POINTS = 400  # of a curve
WIDTH, HEIGHT = 1000, 640  # of a map
MOST_TAGS, TAG_LETTERS = 24, 18  # names on a map, and how long they are at most
LETTER, LINE = 8.2, 25  # width and height of a tag's text, as parts of a map that is as wide as the page
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


def curve(values: Sequence[float | None], x_label: str, title: str, seconds: Sequence[float] | None = None) -> Markup:
    """Return a curve over iterations, with a cross-hair that shows its values.

    Examples
    --------
    >>> text = curve([1.0, 2.0, 2.5], "iteration", "Objective")
    >>> text.count("<path"), 'data-values="[1.0, 2.0, 2.5]"' in text
    (2, True)
    """
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int)).tolist()
    points = [(i, float(value)) for i in kept if (value := values[i]) is not None]
    numbers = [value for _, value in points]
    low, high = _with_margin(numbers, 0.06)
    last = max(len(values) - 1, 1)
    ends = [(1000 * i / last, 1000 * (high - value) / (high - low)) for i, value in points]
    ticks = [(t, (high - t) / (high - low)) for t in _ticks(low, high)]
    digits = _digits([t for t, _ in ticks])
    return Markup(
        '<div class="curve" role="img" aria-label="{title} from {first} to {final} over {last} {x_label} steps">'
        '<div class="ylabels">{y_labels}</div>'
        '<div class="plot" tabindex="0" data-at="{at}" data-values="{values}" data-seconds="{seconds}" '
        'data-x="{x_label}"><svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">{grid}'
        '<path class="area" d="{line}L{right},1000L0,1000Z"/><path class="line" d="{line}"/></svg></div>'
        '<div class="xlabels"><span>0</span><span>{x_label}</span><span>{last}</span></div></div>'
    ).format(
        title=title,
        first=number(numbers[0]),
        final=number(numbers[-1]),
        last=last,
        x_label=x_label,
        y_labels=each('<span style="top:{:.2f}%">{}</span>', ((100 * y, number(t, digits)) for t, y in ticks)),
        grid=each('<line class="grid" x1="0" x2="1000" y1="{0:.1f}" y2="{0:.1f}"/>', ((1000 * y,) for _, y in ticks)),
        at=json.dumps([i for i, _ in points]),
        values=json.dumps(numbers),
        seconds=json.dumps([] if seconds is None else [seconds[i] for i, _ in points]),
        line="M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in ends),
        right=f"{ends[-1][0]:.1f}",
    )


def marker(index: int, muted: bool = False) -> Markup:
    """Return the mark of a group on the map, for its name elsewhere.

    Examples
    --------
    >>> marker(0) != marker(12)
    True
    """
    fill = "var(--faint)" if muted else color(index)
    shape = _SHAPES[index // len(PALETTE) % len(_SHAPES)] if not muted else ""
    body = Markup('<path d="{}"/>').format(shape) if shape else Markup('<circle r="1"/>')
    return Markup('<svg class="mark" viewBox="-1.4 -1.4 2.8 2.8" aria-hidden="true" style="fill:{}">{}</svg>').format(
        fill, body
    )


def map_chart(
    x: Sequence[float],
    y: Sequence[float],
    groups: Sequence[int],
    labels: Sequence[int] | None,
    tips: Sequence[str],
    names: Sequence[tuple[str, str]] = (),
    label_names: Sequence[str] = (),
) -> Markup:
    """Return a map: points between 0 and 1, colored by group, and by label where there are labels.

    A group has a color, a shape where there are more groups than colors, and its name above the midst of its points: a
    pair of what stands on every screen and what is added where there is room. Labels have colors as far as these
    reach, the largest first; `labels` are positions among the largest, and beyond the colors they are gray.

    Examples
    --------
    >>> map_chart([0.5], [0.5], [1], None, ["object 0"]).count("<circle")
    1
    """
    margin, radius = 16, 5 if len(x) > 1500 else 7 if len(x) > 300 else 9
    kinds = [f"g{g}" if g >= 0 else "none" for g in groups]
    if labels is not None:
        kinds = [f"{kind} l{k}" if k >= 0 else f"{kind} none" for kind, k in zip(kinds, labels)]
    left = [margin + value * (WIDTH - 2 * margin) for value in x]
    top = [margin + (1 - value) * (HEIGHT - 2 * margin) for value in y]
    marks = _marks(left, top, radius, kinds, tips, [max(g, 0) // len(PALETTE) % len(_SHAPES) for g in groups])
    rules = "".join(f".by-g .g{k}{{fill:{color(k)}}}" for k in range(max([*groups, 0]) + 1))
    tags = _tags("g", left, top, groups, names)
    if labels is not None:
        rules += "".join(f".by-l .l{k}{{fill:{color(k)}}}" for k in range(len(PALETTE)))
        tags += _tags("l", left, top, labels, [("", name) for name in label_names[: len(PALETTE)]])
    return Markup(
        '<style>{}</style><div class="mapbox"><svg class="map by-g" viewBox="0 0 {} {}" role="img" '
        'aria-label="Map of {} objects">{}</svg>{}</div>'
    ).format(Markup(rules), WIDTH, HEIGHT, len(x), marks, tags)


def _tags(
    kind: str, x: Sequence[float], y: Sequence[float], groups: Sequence[int], names: Sequence[tuple[str, str]]
) -> Markup:
    """Names above the medians of their groups, moved apart where they would cover each other; the largest groups."""
    codes = np.asarray(groups)
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))[: len(names)]
    shown = [k for k in np.argsort(-sizes, kind="stable")[:MOST_TAGS].tolist() if sizes[k]]
    if len(names) < 2 or not shown:
        return EMPTY
    texts = [(key, word if len(word) <= TAG_LETTERS else word[: TAG_LETTERS - 1] + "…") for key, word in names]
    middles = np.array([[np.median(np.asarray(axis)[codes == k]) for axis in (x, y)] for k in shown])
    widths = np.array([LETTER * (len(" ".join(texts[k]).strip()) + 2.5) for k in shown])
    places = _moved_apart(middles - [0, LINE], widths)  # above the midst, which they would cover
    return each(
        '<span class="tag tag-{}{}" data-of="{}{}" style="--x:{:.2f};--y:{:.2f}"><b>{}</b><span>{}</span></span>',
        (
            (
                kind,
                " minor" if position >= MOST_TAGS // 3 else "",
                kind,
                k,
                100 * places[position, 0] / WIDTH,
                100 * places[position, 1] / HEIGHT,
                *texts[k],
            )
            for position, k in enumerate(shown)
        ),
    )


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
                room = np.array([(widths[i] + widths[j]) / 2, LINE])
                over = room - np.abs(apart)
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


def pairs_chart(true: Sequence[float], predicted: Sequence[float], tips: Sequence[str]) -> Markup:
    """Return predictions over true values, on one scale for both, with the line on which they are equal.

    Examples
    --------
    >>> text = pairs_chart([1.0, 2.0], [1.5, 2.0], ["a", "b"])
    >>> text.count("<circle"), text.count("<line")
    (2, 1)
    """
    low, high = _with_margin([*true, *predicted], 0.04)
    scale = HEIGHT / (high - low)
    marks = _marks(
        [scale * (value - low) for value in true],
        [HEIGHT - scale * (value - low) for value in predicted],
        7,
        ["g0"] * len(tips),
        tips,
        [0] * len(tips),
    )
    return Markup(
        '<div class="curve"><div class="ylabels"><span style="top:3%">{high}</span>'
        '<span style="top:50%">predicted</span><span style="top:97%">{low}</span></div>'
        '<svg class="map by-g" viewBox="0 0 {size} {size}" role="img" '
        'aria-label="Predicted against true values of {n} objects"><line x1="0" y1="{size}" x2="{size}" y2="0"/>'
        '{marks}</svg><div class="xlabels"><span>{low}</span><span>true</span><span>{high}</span></div></div>'
    ).format(low=number(low), high=number(high), size=HEIGHT, n=len(tips), marks=marks)


def legend(
    names: Sequence[str], kind: str, counts: Sequence[int], tips: Sequence[str], *, hidden: bool = False
) -> Markup:
    """Return buttons that hide and show the groups of a figure; kind is "g" for groups, "l" for labels.

    Examples
    --------
    >>> legend(["a<b"], "g", [3], ["a<b, c"]).count("&lt;")
    2
    """
    buttons = each(
        '<button type="button" class="key" data-toggle="{}{}" data-tip="{}" aria-pressed="true">{}<span>{} '
        "<small>{}</small></span></button>",
        (
            (kind, k, tips[k], marker(k, muted=kind == "l" and k >= len(PALETTE)), name, count(counts[k]))
            for k, name in enumerate(names)
            if counts[k]
        ),
    )
    return div(f"legend legend-{kind}{' hidden' if hidden else ''}", buttons)


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str] | None,
    cells: Sequence[Sequence[tuple[float | None, str, str]]],
    label: str,
    corner: str = "",
) -> Markup:
    """Return a matrix as a table; a cell is (share from 0 to 1, tip, text), and the share is its color.

    Without names of the columns the cells fill the width, for matrices too wide for texts.

    Examples
    --------
    >>> heat_map(["a"], ["b"], [[(0.9, "3 objects", "3")]], "Counts").count("<td style")
    1
    """
    cell = '<td style="--v:{:.3f}" data-tip="{}">{}</td>'
    lines = each(
        '<tr><th scope="row">{}</th>{}</tr>',
        ((name, each(cell, ((share or 0, tip, text) for share, tip, text in line))) for name, line in zip(rows, cells)),
    )
    head, kind = EMPTY, " bare"
    if columns is not None:
        top = each('<th scope="col"><span>{}</span></th>', ((name,) for name in columns))
        head = Markup('<thead><tr><td class="corner">{}</td>{}</tr></thead>').format(corner, top)
        kind = " upright" if len(columns) > 8 else ""
    return Markup('<div class="scroll"><table class="heat{}" aria-label="{}">{}<tbody>{}</tbody></table></div>').format(
        kind, label, head, lines
    )


def dots(rows: Sequence[Mapping[str, Any]], whole: float | None, measure: str) -> Markup:
    """Return a scale from 0 to 1 with two dots for each view: alone, and all views but this one.

    Examples
    --------
    >>> dots([{"name": "words", "alone": 0.7, "without": 0.5}], 0.8, "accuracy").count('<i class="dot')
    2
    """
    lines = []
    for row in rows:
        marks = []
        if row["alone"] is not None and row["without"] is not None:
            low, high = sorted((_on_scale(row["alone"]), _on_scale(row["without"])))
            marks.append(Markup('<b style="left:{:.2f}%;width:{:.2f}%"></b>').format(low, high - low))
        for kind, words in (("alone", "predicted from {} alone"), ("without", "predicted without {}")):
            if row[kind] is not None:
                dot = Markup('<i class="dot {}" style="left:{:.2f}%" data-tip="{}: {} {}"></i>')
                about = words.format(row["name"])
                about += f" ({count(row['n_objects'])} objects)" if kind == "alone" and "n_objects" in row else ""
                marks.append(dot.format(kind, _on_scale(row[kind]), about, measure, number(row[kind])))
        if whole is not None:
            line = Markup('<u style="left:{:.2f}%" data-tip="all views: {}"></u>')
            marks.append(line.format(_on_scale(whole), number(whole)))
        lines += [div("dotname", row["name"]), div("track", *marks)]
    scale = each("<span>{}</span>", (("0",), ("0.25",), ("0.5",), ("0.75",), ("1",)))
    return Markup('<div class="dots" role="img" aria-label="{} by view">{}<div></div>{}</div>').format(
        measure, EMPTY.join(lines), div("scale", scale)
    )


def bar(share: float, background: str = "var(--accent)") -> Markup:
    """Return a bar that fills this share (0 to 1) of its width.

    Examples
    --------
    >>> str(bar(0.5))
    '<span class="bar"><b style="width:50.0%;background:var(--accent)"></b></span>'
    """
    return Markup('<span class="bar"><b style="width:{:.1f}%;background:{}"></b></span>').format(
        100 * share, background
    )


def _marks(
    x: Sequence[float],
    y: Sequence[float],
    radius: int,
    kinds: Sequence[str],
    tips: Sequence[str],
    shapes: Sequence[int],
) -> Markup:
    circle = Markup('<circle cx="{}" cy="{}" r="{}" class="{}" data-tip="{}"/>')
    path = Markup('<path transform="translate({} {}) scale({})" class="{}" data-tip="{}" d="{}"/>')
    return EMPTY.join(
        path.format(round(a), round(b), radius, kind, tip, _SHAPES[shape])
        if shape
        else circle.format(round(a), round(b), radius, kind, tip)
        for a, b, kind, tip, shape in zip(x, y, kinds, tips, shapes)
    )


def _on_scale(value: float) -> float:
    return 100 * min(max(value, 0.0), 1.0)


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


def _digits(ticks: Sequence[float]) -> int:
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return int(max(0, -np.floor(np.log10(step) + 1e-9))) if step < 1 else 0
