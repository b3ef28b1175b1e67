"""Charts as hand-written SVG and HTML: curves, maps, heat maps, dots on a scale.

Labels are HTML around the drawing, not text within it, so that they keep their size on a narrow screen. What a mark
means stands in its ``data-tip``; the script of the page shows it. Colors are classes: the style sheet knows them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from coview.report.markup import Markup, fill, join, number

__all__ = ["COLORS", "against", "curve", "dots", "heat_grid", "heat_strip", "legend", "scatter"]

COLORS = 12  # of the style sheet, --c0 ... --c11; beyond that they come again
MOST_POINTS = 400  # of a curve
WIDTH, HEIGHT = 1000, 640  # of a map


def curve(values: Sequence[float | None], x_label: str, title: str, seconds: Sequence[float] | None = None) -> Markup:
    """Return a curve over sweeps, with a cross-hair that tells its values.

    Examples
    --------
    >>> text = curve([1.0, 2.0, 2.5], "sweep", "Objective")
    >>> text.count("<path"), 'data-values="[1.0, 2.0, 2.5]"' in text
    (2, True)
    """
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int)).tolist()
    points = [(i, values[i]) for i in kept if values[i] is not None]
    numbers = np.array([value for _, value in points], dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    room = (high - low) * 0.06 or 1.0
    low, high = low - room, high + room
    last = max(len(values) - 1, 1)
    places = [(1000 * i / last, 1000 * (high - float(v or 0)) / (high - low)) for i, v in points]
    line = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in places)
    ticks = _ticks(low, high)
    digits = _digits(ticks)
    told = {"x": [i for i, _ in points], "v": [v for _, v in points]}
    if seconds is not None:
        told["s"] = [seconds[i] for i in told["x"]]
    return fill(
        '<div class="curve" role="img" aria-label="$title from $first to $final in $n $x_label steps">'
        '<div class="ylabels">$ylabels</div>'
        '<div class="plot" tabindex="0" data-at="$at" data-values="$v" data-seconds="$s" data-x="$x_label">'
        '<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">$grid'
        '<path class="area" d="${line}L${right},1000L0,1000Z"/><path class="line" d="$line"/></svg></div>'
        '<div class="xlabels"><span>0</span><span>$x_label</span><span>$last</span></div></div>',
        title=title,
        first=number(float(numbers[0])),
        final=number(float(numbers[-1])),
        n=len(values) - 1,
        x_label=x_label,
        ylabels=join(
            fill('<span style="top:$y%">$t</span>', y=f"{100 * (high - t) / (high - low):.2f}", t=number(t, digits))
            for t in ticks
        ),
        at=json.dumps(told["x"]),
        v=json.dumps(told["v"]),
        s=json.dumps(told.get("s", [])),
        grid=join(
            fill('<line class="grid" x1="0" x2="1000" y1="$y" y2="$y"/>', y=f"{1000 * (high - t) / (high - low):.1f}")
            for t in ticks
        ),
        line=line,
        right=f"{places[-1][0]:.1f}",
        last=last,
    )


def scatter(
    x: Sequence[float], y: Sequence[float], groups: Sequence[int], labels: Sequence[int] | None, tips: Sequence[str]
) -> Markup:
    """Return a map: points between 0 and 1, colored by group, and by label where there are labels.

    Examples
    --------
    >>> scatter([0.5], [0.5], [1], None, ["object 0"]).count("<circle")
    1
    """
    margin = 16
    marks = []
    radius = 6 if len(x) > 1500 else 7 if len(x) > 300 else 9
    for i in range(len(x)):
        kinds = f"g{groups[i]}" if groups[i] >= 0 else "none"
        if labels is not None:
            kinds += f" l{labels[i]}" if labels[i] >= 0 else " none"
        marks.append(
            fill(
                '<circle cx="$x" cy="$y" r="$r" class="$kinds" data-tip="$tip"/>',
                x=round(margin + x[i] * (WIDTH - 2 * margin)),
                y=round(margin + (1 - y[i]) * (HEIGHT - 2 * margin)),
                r=radius,
                kinds=kinds,
                tip=tips[i],
            )
        )
    used = range(max([*groups, *(labels or [0]), 0]) + 1)
    rules = "".join(f".by-g .g{k}{{fill:var(--c{k % COLORS})}}.by-l .l{k}{{fill:var(--c{k % COLORS})}}" for k in used)
    return fill(
        '<style>$rules</style><svg class="map by-g" viewBox="0 0 $w $h" role="img" aria-label="Map of $n objects">'
        "$marks</svg>",
        rules=Markup(rules),
        w=WIDTH,
        h=HEIGHT,
        n=len(x),
        marks=join(marks),
    )


def against(true: Sequence[float], predicted: Sequence[float], tips: Sequence[str]) -> Markup:
    """Return predictions over true numbers, on one scale for both, with the line on which they are equal.

    Examples
    --------
    >>> text = against([1.0, 2.0], [1.5, 2.0], ["a", "b"])
    >>> text.count("<circle"), text.count("<line")
    (2, 1)
    """
    low, high = min(*true, *predicted), max(*true, *predicted)
    room = (high - low) * 0.04 or 1.0
    low, high = low - room, high + room

    def at(value: float) -> int:
        return round(HEIGHT * (value - low) / (high - low))

    marks = [
        fill('<circle cx="$x" cy="$y" r="7" class="g0" data-tip="$tip"/>', x=at(x), y=HEIGHT - at(y), tip=tip)
        for x, y, tip in zip(true, predicted, tips)
    ]
    return fill(
        '<div class="curve"><div class="ylabels"><span style="top:3%">$high</span>'
        '<span style="top:50%">predicted</span><span style="top:97%">$low</span></div>'
        '<svg class="map by-g" viewBox="0 0 $h $h" role="img" '
        'aria-label="Predicted against true numbers of $n objects"><line x1="0" y1="$h" x2="$h" y2="0"/>$marks</svg>'
        '<div class="xlabels"><span>$low</span><span>true</span><span>$high</span></div></div>',
        low=number(low),
        high=number(high),
        h=HEIGHT,
        n=len(true),
        marks=join(marks),
    )


def legend(names: Sequence[str], kind: str, counts: Sequence[int] | None = None, noun: str = "") -> Markup:
    """Return buttons that hide and show the groups of a figure; kind is "g" for groups, "l" for labels.

    Examples
    --------
    >>> legend(["a<b"], "g", [3]).count("&lt;")
    1
    """
    buttons = []
    for k, name in enumerate(names):
        if counts is not None and not counts[k]:
            continue
        size = fill(" <small>$n</small>", n=f"{counts[k]:,}") if counts is not None else Markup("")
        buttons.append(
            fill(
                '<button type="button" class="key" data-toggle="$kind$k" aria-pressed="true">'
                '<i style="background:var(--c$c)"></i>$noun$name$size</button>',
                kind=kind,
                k=k,
                c=k % COLORS,
                noun=f"{noun} " if noun else "",
                name=name,
                size=size,
            )
        )
    return fill('<div class="legend legend-$kind">$buttons</div>', kind=kind, buttons=join(buttons))


def heat_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    corner: str,
    label: str,
    tips: Sequence[Sequence[str]] | None = None,
) -> Markup:
    """Return a matrix as a table: the share (0 to 1) is the color of a cell, the text stands in it.

    Examples
    --------
    >>> heat_grid(["a"], ["b"], [[0.9]], [["3"]], "label", "Counts").count("<td style")
    1
    """
    top = join(fill('<th scope="col"><span>$name</span></th>', name=name) for name in columns)
    lines = []
    for i, name in enumerate(rows):
        cells = []
        for j, column in enumerate(columns):
            share = shares[i][j]
            tip = tips[i][j] if tips is not None else f"{name} × {column}: {texts[i][j]}"
            cells.append(
                fill(
                    '<td style="--v:$v" data-tip="$tip">$text</td>',
                    v=f"{share or 0:.3f}",
                    tip=tip,
                    text=texts[i][j],
                )
            )
        lines.append(fill('<tr><th scope="row">$name</th>$cells</tr>', name=name, cells=join(cells)))
    return fill(
        '<div class="scroll"><table class="heat$many" aria-label="$label"><thead><tr><td class="corner">$corner</td>'
        "$top</tr></thead><tbody>$lines</tbody></table></div>",
        many=" many" if len(columns) > 12 else "",
        label=label,
        corner=corner,
        top=top,
        lines=join(lines),
    )


def heat_strip(rows: Sequence[str], values: Sequence[Sequence[float]], tips: Sequence[Sequence[str]]) -> Markup:
    """Return a wide heat map of bare cells, for groups by topics: too many for numbers.

    Examples
    --------
    >>> heat_strip(["0"], [[0.2, 0.8]], [["a", "b"]]).count("<rect")
    2
    """
    n, m = len(values), len(values[0])
    high = max(max(row) for row in values) or 1.0
    marks = join(
        fill(
            '<rect x="$x" y="$y" width="0.94" height="0.9" rx="0.12" fill-opacity="$o" data-tip="$tip"/>',
            x=j,
            y=i,
            o=f"{0.05 + 0.95 * (values[i][j] / high) ** 0.7:.3f}",
            tip=tips[i][j],
        )
        for i in range(n)
        for j in range(m)
    )
    return fill(
        '<div class="strip"><div class="striplabels">$labels</div><svg viewBox="0 0 $m $n" preserveAspectRatio="none" '
        'style="height:$h" role="img" aria-label="Heat map of $n groups by $m topics">$marks</svg></div>',
        labels=join(fill("<span>$name</span>", name=name) for name in rows),
        m=m,
        n=n,
        h=f"{1.7 * n:.1f}rem",
        marks=marks,
    )


def dots(rows: Sequence[tuple[str, float | None, float | None]], whole: float | None, measure: str) -> Markup:
    """Return a scale from 0 to 1 with two dots for each view: alone, and all views but this one.

    Examples
    --------
    >>> dots([("words", 0.7, 0.5)], 0.8, "accuracy").count('<i class="dot')
    2
    """
    lines = []
    for name, alone, without in rows:
        marks = []
        if alone is not None and without is not None:
            low, high = sorted((alone, without))
            marks.append(fill('<b style="left:$x%;width:$w%"></b>', x=_at(low), w=f"{100 * (high - low):.2f}"))
        for value, kind, words in ((alone, "alone", "alone"), (without, "without", "left out")):
            if value is not None:
                tip = f"{name} {words}: {measure} {number(value)}"
                marks.append(
                    fill('<i class="dot $kind" style="left:$x%" data-tip="$tip"></i>', kind=kind, x=_at(value), tip=tip)
                )
        if whole is not None:
            marks.append(fill('<u style="left:$x%" data-tip="all views: $v"></u>', x=_at(whole), v=number(whole)))
        lines.append(
            fill('<div class="dotname">$name</div><div class="track">$marks</div>', name=name, marks=join(marks))
        )
    scale = join(fill("<span>$t</span>", t=t) for t in ("0", "0.25", "0.5", "0.75", "1"))
    return fill(
        '<div class="dots" role="img" aria-label="$measure by view">$lines<div></div>'
        '<div class="scale">$scale</div></div>',
        measure=measure,
        lines=join(lines),
        scale=scale,
    )


def _at(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.2f}"


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
