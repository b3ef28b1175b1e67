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

__all__ = ["bar", "color", "curve", "dots", "heat_map", "legend", "map_chart", "pairs_chart"]

MOST_POINTS = 400  # of a curve
WIDTH, HEIGHT = 1000, 640  # of a map


def color(index: int) -> str:
    """Return the color of a group; beyond the palette they come again.

    Examples
    --------
    >>> color(0), color(12)
    ('var(--c0)', 'var(--c0)')
    """
    return f"var(--c{index % len(PALETTE)})"


def curve(values: Sequence[float | None], x_label: str, title: str, seconds: Sequence[float] | None = None) -> Markup:
    """Return a curve over sweeps, with a cross-hair that shows its values.

    Examples
    --------
    >>> text = curve([1.0, 2.0, 2.5], "sweep", "Objective")
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


def map_chart(
    x: Sequence[float], y: Sequence[float], groups: Sequence[int], labels: Sequence[int] | None, tips: Sequence[str]
) -> Markup:
    """Return a map: points between 0 and 1, colored by group, and by label where there are labels.

    Examples
    --------
    >>> map_chart([0.5], [0.5], [1], None, ["object 0"]).count("<circle")
    1
    """
    margin, radius = 16, 6 if len(x) > 1500 else 7 if len(x) > 300 else 9
    kinds = [f"g{g}" if g >= 0 else "none" for g in groups]
    if labels is not None:
        kinds = [f"{kind} l{k}" if k >= 0 else f"{kind} none" for kind, k in zip(kinds, labels)]
    marks = _circles(
        [margin + value * (WIDTH - 2 * margin) for value in x],
        [margin + (1 - value) * (HEIGHT - 2 * margin) for value in y],
        radius,
        kinds,
        tips,
    )
    used = range(max([*groups, *(labels or [0]), 0]) + 1)
    rules = "".join(f".by-g .g{k}{{fill:{color(k)}}}.by-l .l{k}{{fill:{color(k)}}}" for k in used)
    return Markup(
        '<style>{}</style><svg class="map by-g" viewBox="0 0 {} {}" role="img" aria-label="Map of {} objects">{}</svg>'
    ).format(Markup(rules), WIDTH, HEIGHT, len(x), marks)


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
    marks = _circles(
        [scale * (value - low) for value in true],
        [HEIGHT - scale * (value - low) for value in predicted],
        7,
        ["g0"] * len(tips),
        tips,
    )
    return Markup(
        '<div class="curve"><div class="ylabels"><span style="top:3%">{high}</span>'
        '<span style="top:50%">predicted</span><span style="top:97%">{low}</span></div>'
        '<svg class="map by-g" viewBox="0 0 {size} {size}" role="img" '
        'aria-label="Predicted against true values of {n} objects"><line x1="0" y1="{size}" x2="{size}" y2="0"/>'
        '{marks}</svg><div class="xlabels"><span>{low}</span><span>true</span><span>{high}</span></div></div>'
    ).format(low=number(low), high=number(high), size=HEIGHT, n=len(tips), marks=marks)


def legend(names: Sequence[str], kind: str, counts: Sequence[int], noun: str = "", *, hidden: bool = False) -> Markup:
    """Return buttons that hide and show the groups of a figure; kind is "g" for groups, "l" for labels.

    Examples
    --------
    >>> legend(["a<b"], "g", [3]).count("&lt;")
    1
    """
    buttons = each(
        '<button type="button" class="key" data-toggle="{}{}" aria-pressed="true"><i style="background:{}"></i>'
        "{}{} <small>{}</small></button>",
        (
            (kind, k, color(k), f"{noun} " if noun else "", name, count(counts[k]))
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
        kind = " many" if len(columns) > 12 else ""
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
        for kind, words in (("alone", "alone"), ("without", "left out")):
            if row[kind] is not None:
                dot = Markup('<i class="dot {}" style="left:{:.2f}%" data-tip="{} {}: {} {}"></i>')
                marks.append(dot.format(kind, _on_scale(row[kind]), row["name"], words, measure, number(row[kind])))
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


def _circles(x: Sequence[float], y: Sequence[float], radius: int, kinds: Sequence[str], tips: Sequence[str]) -> Markup:
    marks = ((round(a), round(b), radius, kind, tip) for a, b, kind, tip in zip(x, y, kinds, tips))
    return each('<circle cx="{}" cy="{}" r="{}" class="{}" data-tip="{}"/>', marks)


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
