"""Every drawing of the page: curves, points, heat maps, dots on a scale, bars, legends.

They are HTML and inline SVG without a drawing library, so that a page is small, needs no extra, follows light and dark
colors, and its marks can be pointed at: what a mark means stands in its ``data-tip``, which the script of the page
shows. Labels are HTML around a drawing, not text within it, so that they keep their size on a narrow screen. Colors are
those of the style sheet, the same as in `coview.plot`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from coview.plot.style import PALETTE
from coview.report.markup import EMPTY, count, number

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
        y_labels=EMPTY.join(
            Markup('<span style="top:{}%">{}</span>').format(f"{100 * y:.2f}", number(t, digits)) for t, y in ticks
        ),
        grid=EMPTY.join(
            Markup('<line class="grid" x1="0" x2="1000" y1="{y}" y2="{y}"/>').format(y=f"{1000 * y:.1f}")
            for _, y in ticks
        ),
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
    button = Markup(
        '<button type="button" class="key" data-toggle="{}{}" aria-pressed="true"><i style="background:{}"></i>'
        "{}{} <small>{}</small></button>"
    )
    buttons = EMPTY.join(
        button.format(kind, k, color(k), f"{noun} " if noun else "", name, count(counts[k]))
        for k, name in enumerate(names)
        if counts[k]
    )
    return Markup('<div class="legend legend-{}{}">{}</div>').format(kind, " hidden" if hidden else "", buttons)


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Sequence[Sequence[float | None]],
    tips: Sequence[Sequence[str]],
    label: str,
    texts: Sequence[Sequence[str]] | None = None,
    corner: str = "",
) -> Markup:
    """Return a matrix as a table: the share (0 to 1) is the color of a cell.

    Without texts the columns have no names and the cells fill the width, for matrices too wide for numbers.

    Examples
    --------
    >>> heat_map(["a"], ["b"], [[0.9]], [["3 objects"]], "Counts", [["3"]]).count("<td style")
    1
    """
    cell = Markup('<td style="--v:{}" data-tip="{}">{}</td>')
    lines = EMPTY.join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            name,
            EMPTY.join(
                cell.format(f"{shares[i][j] or 0:.3f}", tips[i][j], "" if texts is None else texts[i][j])
                for j in range(len(columns))
            ),
        )
        for i, name in enumerate(rows)
    )
    head, kind = EMPTY, " bare"
    if texts is not None:
        top = EMPTY.join(Markup('<th scope="col"><span>{}</span></th>').format(name) for name in columns)
        head = Markup('<thead><tr><td class="corner">{}</td>{}</tr></thead>').format(corner, top)
        kind = " many" if len(columns) > 12 else ""
    return Markup('<div class="scroll"><table class="heat{}" aria-label="{}">{}<tbody>{}</tbody></table></div>').format(
        kind, label, head, lines
    )


def dots(rows: Sequence[tuple[str, float | None, float | None]], whole: float | None, measure: str) -> Markup:
    """Return a scale from 0 to 1 with two dots for each view: alone, and all views but this one.

    Examples
    --------
    >>> dots([("words", 0.7, 0.5)], 0.8, "accuracy").count('<i class="dot')
    2
    """
    dot = Markup('<i class="dot {}" style="left:{}%" data-tip="{} {}: {} {}"></i>')
    lines = []
    for name, alone, without in rows:
        marks = []
        if alone is not None and without is not None:
            low, high = sorted((_on_scale(alone), _on_scale(without)))
            marks.append(Markup('<b style="left:{:.2f}%;width:{:.2f}%"></b>').format(low, high - low))
        for value, kind, words in ((alone, "alone", "alone"), (without, "without", "left out")):
            if value is not None:
                marks.append(dot.format(kind, f"{_on_scale(value):.2f}", name, words, measure, number(value)))
        if whole is not None:
            line = Markup('<u style="left:{:.2f}%" data-tip="all views: {}"></u>')
            marks.append(line.format(_on_scale(whole), number(whole)))
        line = Markup('<div class="dotname">{}</div><div class="track">{}</div>')
        lines.append(line.format(name, EMPTY.join(marks)))
    scale = EMPTY.join(Markup("<span>{}</span>").format(t) for t in ("0", "0.25", "0.5", "0.75", "1"))
    return Markup(
        '<div class="dots" role="img" aria-label="{} by view">{}<div></div><div class="scale">{}</div></div>'
    ).format(measure, EMPTY.join(lines), scale)


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
    mark = Markup('<circle cx="{}" cy="{}" r="{}" class="{}" data-tip="{}"/>')
    return EMPTY.join(mark.format(round(a), round(b), radius, kind, tip) for a, b, kind, tip in zip(x, y, kinds, tips))


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
