"""Figures of a reproduction: ours as solid lines or bars, published figures dashed where there are any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.paper import Paper, Table
from harness.summary import Numbers

__all__ = ["draw_figures"]


def draw_figures(paper: Paper, numbers: Numbers, folder: str | Path) -> list[Path]:
    """Draw every table that asks for a figure and has runs; return the files."""
    import matplotlib

    matplotlib.use("Agg")
    drawn = []
    for table in paper.tables:
        if table.figure is None:
            continue
        figure = {"lines": _lines, "bars": _bars}[table.figure](paper, table, numbers)
        path = Path(folder) / f"{table.name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        # no date or version inside: the same runs give the same file
        figure.savefig(path, dpi=110, metadata={"Software": None})
        drawn.append(path)
    return drawn


def _lines(paper: Paper, table: Table, numbers: Numbers) -> Any:
    """One panel per data set: mean ± standard deviation over the columns."""
    from matplotlib.figure import Figure

    names, metric = list(table.rows), table.metrics[0]
    each = max(3.3, 0.45 * max(len(columns) for columns in table.columns.values()))  # names of columns must not touch
    figure = Figure(figsize=(each * len(names) + 0.4, 3.4), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, data in zip(panels, names):
        columns = table.columns[data]
        places = list(range(len(columns)))
        for i, row in enumerate(table.figure_rows or table.rows[data]):
            if row not in table.rows[data]:
                continue
            found = numbers.of_row(table, data, row, metric)
            have = [(x, ours) for x, ours in zip(places, found) if ours is not None]
            if have:
                means, stds = [ours.mean for _, ours in have], [ours.std for _, ours in have]
                panel.errorbar([x for x, _ in have], means, stds, color=f"C{i}", marker="o", ms=4, capsize=2, label=row)
            figures = table.published[data].get(row)
            if figures:
                theirs = [published.mean for published in figures]
                panel.plot(places, theirs, color=f"C{i}", ls="--", marker="x", ms=4, alpha=0.7, label=f"{row}, paper")
        panel.set_title(paper.title_of(data))
        panel.set_xticks(places, [str(column) for column in columns])
        panel.set_xlabel(str(table.across))
        panel.grid(alpha=0.25)
    panels[0].set_ylabel(f"{metric} (%)")
    handles = {text: h for panel in panels for h, text in zip(*panel.get_legend_handles_labels())}
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    return figure


def _bars(paper: Paper, table: Table, numbers: Numbers) -> Any:
    """One panel per metric, one group of bars per data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(table.metrics), 3.4), layout="constrained")
    panels = figure.subplots(1, len(table.metrics), squeeze=False)[0]
    rows = list(dict.fromkeys(row for data in table.rows for row in table.rows[data]))
    width = 0.8 / len(rows)
    for panel, metric in zip(panels, table.metrics):
        for i, row in enumerate(rows):
            found = [numbers.ours(table, data, row, None, metric) for data in table.rows]
            have = [(g + (i - (len(rows) - 1) / 2) * width, ours) for g, ours in enumerate(found) if ours is not None]
            if have:
                means, stds = [ours.mean for _, ours in have], [ours.std for _, ours in have]
                panel.bar([x for x, _ in have], means, width, yerr=stds, color=f"C{i}", label=row, error_kw={"lw": 0.8})
        panel.set_xticks(range(len(table.rows)), [paper.title_of(data) for data in table.rows])
        panel.set_ylabel(f"{metric} (%)")
        panel.grid(axis="y", alpha=0.25)
    handles, texts = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, texts, loc="outside lower center", ncols=len(rows), fontsize=8, frameon=False)
    return figure
