"""`Comparison`, the table of `compare`, and what it shares with that of `select_clusters`: print, plot, write down."""

from __future__ import annotations

import html
import io
import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from coview.utils.atomic import atomic_path
from coview.utils.jsonable import plain
from coview.utils.messages import printable

__all__ = ["Comparison", "ResultTable"]

NOTES = {
    "classification": "Means over the same folds for all methods, ± standard deviation.",
    "few_labels": "Few labels: all objects take part in the fit, and some known labels are hidden and predicted; "
    "means ± standard "
    "deviation over the same splits for all methods.",
    "clustering": "Clusters compared with the known classes, which were hidden from all methods; means ± "
    "standard deviation over seeds.",
    "internal": "No labels: these are internal indices. They measure how compact and reproducible clusters are and how "
    "far the views agree on them, not whether they are the clusters you are looking for.",
}
COLORS = {"method": "#3b6fb6", "baseline": "#9aa0a6", "links": "#3a8f5c", "given": "#d9822b"}


class ResultTable:
    """Rows of figures that can be printed, written down, and read as a frame."""

    rows: list[dict[str, Any]]
    _print_width = 200

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, less those that hold lists."""
        names = dict.fromkeys(name for row in self.rows for name, value in row.items() if not isinstance(value, list))
        return {name: [row.get(name) for row in self.rows] for name in names}

    @property
    def frame(self) -> Any:
        """The rows as a pandas frame, or a polars one where only polars is installed."""
        if find_spec("pandas"):
            import pandas

            return pandas.DataFrame(self.columns)
        if not find_spec("polars"):
            raise ImportError("A frame needs pandas or polars. Install one of them, or use .rows.")
        import polars

        return polars.DataFrame(self.columns, strict=False)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON, and write it to `path` if there is one: whole or not at all."""
        text = json.dumps(plain(self._content()), indent=1)
        if path is not None:
            with atomic_path(path) as beside:
                beside.write_text(text + "\n", encoding="utf-8")
        return text

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        from rich.console import Console

        stream = io.StringIO()
        width = self._print_width
        Console(file=stream, width=width, color_system=None, force_terminal=False).print(self._table(whole_names=True))
        return "\n".join(line.rstrip() for line in stream.getvalue().rstrip().splitlines())

    def __rich__(self) -> Any:
        return self._table()

    def _content(self) -> dict[str, Any]:
        """Everything in plain values."""
        raise NotImplementedError

    def _table(self, whole_names: bool = False) -> Any:
        """The table that rich draws."""
        raise NotImplementedError


class Comparison(ResultTable):
    """Result of `compare`: one row per method, best first.

    Attributes
    ----------
    rows : list of dict
        By row: "method", "group" (method, baseline, links, given), "status" (done, failed, over budget, stopped), the
        mean of each score and its standard deviation (``accuracy``, ``accuracy_std``), scores by view alone
        (``accuracy[words]``), "fit_seconds" (median), "splits" (how many were done) and "note".
    scores : dict of lists
        By method, the figures of every split.
    metrics : list of str
        The scores; the first one ranks.
    task : str
        "classification", "few_labels", "clustering" or "internal".
    best_ : str
        Name of the best method that was done.
    near_best_ : list of str
        Methods that are not clearly worse than the best one, which comes first.
    about : dict
        Objects, views and settings of the comparison.

    Examples
    --------
    >>> rows = [{"method": "a", "group": "method", "status": "done", "accuracy": 0.9, "accuracy_std": 0.01,
    ...          "fit_seconds": 0.2, "splits": 5, "note": ""}]
    >>> Comparison(rows, ["accuracy"], "classification").best_
    'a'
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        metrics: Sequence[str],
        task: str,
        *,
        scores: Mapping[str, list[dict[str, Any]]] | None = None,
        estimators: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.metrics = list(metrics)
        self.task = task
        self.rows = sorted((dict(row) for row in rows), key=self._place)
        self.scores = dict(scores or {})
        self.about = dict(about or {})
        self._estimators = dict(estimators or {})

    @property
    def best_(self) -> str:
        """Name of the best method that finished."""
        done = [row for row in self.rows if row["status"] == "done"]
        if not done:
            first = next((f" {row['method']}: {row['note']}" for row in self.rows if row["note"]), "")
            raise ValueError(f"No method finished.{first}")
        return done[0]["method"]

    def best_estimator(self) -> Any:
        """Return the unfitted estimator of the best method."""
        return self.estimator(self.best_)

    def estimator(self, name: str) -> Any:
        """Return the unfitted estimator of a row."""
        if name not in self._estimators:
            raise KeyError(f"There is no method {name!r} in this comparison.")
        return clone(self._estimators[name])

    @property
    def near_best_(self) -> list[str]:
        """Methods that are not clearly worse than the best one, which comes first.

        The scores of the two on the same splits differ by less than twice the standard error of that difference, which
        is corrected for training sets that overlap. A rough guide, not a test.
        """
        best, metric = self.best_, self.metrics[0]
        top = np.array([part[metric] for part in self.scores.get(best, ())])
        near = [best]
        for row in self.rows:
            values = np.array([part[metric] for part in self.scores.get(row["method"], ())])
            if row["status"] != "done" or row["method"] == best or len(values) != len(top) or len(top) < 2:
                continue
            gap, n = top - values, len(top)
            if gap.mean() <= 2 * gap.std(ddof=1) * math.sqrt(1 / n + 1 / (n - 1)):
                near.append(row["method"])
        return near

    def plot(self, metric: str | None = None, axis: Any = None) -> Any:
        """Plot one bar per method with its standard deviation; baselines are gray.

        Parameters
        ----------
        metric : str, optional
            The score to draw; by default the one that ranks.
        axis : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib Figure
        """
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise ValueError(f"metric must be one of {', '.join(self.metrics)}, got {metric!r}.")
        rows = [row for row in self.rows if math.isfinite(row.get(metric, math.nan))]
        if axis is None:
            from matplotlib.figure import Figure

            figure = Figure(figsize=(8.0, 0.9 + 0.27 * len(rows)), layout="constrained")
            axis = figure.add_subplot()
        for place, row in enumerate(rows):
            color, whole = COLORS[row["group"]], row["status"] == "done"
            error = row[f"{metric}_std"]
            axis.barh(place, row[metric], 0.7, color=color, alpha=1.0 if whole else 0.4, xerr=error, ecolor="#444444")
        labels = [row["method"] + ("" if row["status"] == "done" else f" ({row['status']})") for row in rows]
        axis.set_yticks(range(len(rows)), labels, fontsize=8)
        axis.invert_yaxis()
        axis.set_xlabel(f"{metric.replace('_', ' ')} ± standard deviation")
        axis.spines[["top", "right"]].set_visible(False)
        shown = [group for group in COLORS if any(row["group"] == group for row in rows)]
        if len(shown) > 1:
            from matplotlib.patches import Patch

            axis.legend(handles=[Patch(color=COLORS[group], label=group) for group in shown], frameon=False, fontsize=8)
        return axis.figure

    def _content(self) -> dict[str, Any]:
        head = {"task": self.task, "note": NOTES[self.task], "metrics": self.metrics, "about": self.about}
        return {**head, "rows": self.rows, "scores": self.scores}

    def __repr__(self) -> str:
        done = sum(row["status"] == "done" for row in self.rows)
        best = f", best: {self.best_}" if done else ""
        return f"Comparison of {len(self.rows)} methods ({self.task}): {done} done{best}"

    def _table(self, whole_names: bool = False) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, caption=Text(printable(self._note())), caption_justify="left", pad_edge=False)
        side: Any
        for name, right in self._columns():
            head, side, is_note = (
                Text(printable(name).replace("[", "\n[")),
                "right" if right else "left",
                name == "note",
            )
            table.add_column(head, justify=side, overflow="fold", no_wrap=whole_names and not is_note,
                             max_width=60 if is_note else None)  # fmt: skip
        style = {"baseline": "dim", "links": "green"}
        for row in self.rows:
            look = style.get(row["group"]) if row["status"] == "done" else "dim italic"
            table.add_row(*(Text(printable(cell)) for cell in self._cells(row)), style=look)
        return table

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name, _ in self._columns())
        lines = []
        for row in self.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in self._cells(row))
            gray = ' style="opacity: 0.65"' if row["group"] == "baseline" or row["status"] != "done" else ""
            lines.append(f"<tr{gray}>{cells}</tr>")
        note = html.escape(self._note())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table><p>{note}</p>"

    # -- pieces

    def _place(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        value = row.get(self.metrics[0], math.nan)
        return row["status"] != "done", -value if math.isfinite(value) else math.inf, row["method"]

    def _note(self) -> str:
        if not any(row["status"] == "done" for row in self.rows) or self.task == "internal":
            return NOTES[self.task]
        near = self.near_best_[1:]
        listed = ", ".join(near[:5]) + (f" and {len(near) - 5} more" if len(near) > 5 else "")
        return f"{NOTES[self.task]} {f'Not clearly worse than the best: {listed}.' if near else ''}".strip()

    def _extra(self) -> list[str]:
        """Scores of the views alone, in the order of the views."""
        return list(dict.fromkeys(name for row in self.rows for name in row if name.endswith("]")))

    def _notes(self) -> list[tuple[str, bool]]:
        return [("note", False)] if any(row["note"] or row["status"] != "done" for row in self.rows) else []

    def _columns(self) -> list[tuple[str, bool]]:
        scores = [(name, True) for name in (*self.metrics, *self._extra())]
        return [("method", False), ("kind", False), *scores, ("fit s", True), *self._notes()]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        cells = [row["method"], row["group"]]
        first, *others = self.metrics
        known = math.isfinite(row.get(first, math.nan))
        cells.append(f"{row[first]:.3f} ± {row[f'{first}_std']:.3f}" if known else "")
        for name in (*others, *self._extra()):
            value = row.get(name, math.nan)
            cells.append(f"{value:.3f}" if math.isfinite(value) else "")
        seconds = row.get("fit_seconds", math.nan)
        cells.append(f"{seconds:.2f}" if math.isfinite(seconds) else "")
        status = "" if row["status"] == "done" else f"{row['status']}: "
        return [*cells, f"{status}{row['note']}"] if self._notes() else cells
