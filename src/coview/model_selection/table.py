"""`Comparison`, the table of `compare`, and what it shares with that of `select_clusters`: print, plot, write down."""

from __future__ import annotations

import html
import io
import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from scipy.stats import t as student_t
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
    "standard deviation over seeds on the same objects, which do not tell how differences vary with the objects.",
    "internal": "No labels: these are internal indices. They measure how compact and reproducible clusters are and how "
    "far the views agree on them, not whether they are the clusters you are looking for.",
}
UNFINISHED = ("over budget", "stopped")
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
        (``accuracy[words]``), "fit_seconds" (median), "splits" (how many were done) and "note". Scores are means over
        all splits: methods that did not finish come last and have none. "behind" is how far the score that ranks lies
        below that of the best method, as the mean difference over the same splits, with a 95 % interval from
        "behind_low" to "behind_high"; clusterings have none, as seeds on the same objects do not tell how it varies.
    scores : dict of lists
        By method, the figures of every split that was done.
    metrics : list of str
        The scores; the first one ranks.
    task : str
        "classification", "few_labels", "clustering" or "internal".
    best_ : str
        Name of the best method that was done.
    near_best_ : list of str
        Methods that are not clearly worse than the best one, which comes first.
    about : dict
        Objects, views and settings of the comparison; "overlap" is by how much the variance of a mean difference over
        the splits is larger, as a share of that of one split, because they share training objects; None of clusters.

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
        self.scores = dict(scores or {})
        self.about = dict(about or {})
        self._estimators = dict(estimators or {})
        self.rows = sorted((dict(row) for row in rows), key=self._place)
        for row in self.rows:
            if row["status"] != "done":  # a mean over some splits cannot be held against those over all
                row |= {name: math.nan for name in row if name.split("[")[0].removesuffix("_std") in self.metrics}
            elif task in ("classification", "few_labels"):
                row |= self._behind(row["method"])

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

        The 95 % interval of the difference from the best one over the same splits ("behind_low" in `rows`) reaches 0,
        and so does that of every method with a better mean. A method whose interval reaches 0 only because its scores
        vary much from split to split is not among them: the splits do not tell how good it is. With fewer than two
        splits, and of clusterings, nothing is said of the others. The interval is that of the corrected resampled
        t-test (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003). It does not allow
        for the best one being the best of many.
        """
        done = [row for row in self.rows if row["status"] == "done"]
        near = takewhile(lambda row: row["method"] == self.best_ or _reaches_zero(row), done)
        return [self.best_, *(row["method"] for row in near if row["method"] != self.best_)]

    def _behind(self, name: str) -> dict[str, float]:
        """How far a method lies behind the best on the same splits, with its interval; empty with fewer than two."""
        best, values = (
            np.array([part[self.metrics[0]] for part in self.scores.get(method, ())]) for method in (self.best_, name)
        )
        n = len(values)
        if n < 2 or len(best) != n or name == self.best_:
            return {}
        gap = np.round(best - values, 12)  # equal scores in another order of summation are equal
        error = gap.std(ddof=1) * math.sqrt(1 / n + self.about.get("overlap", 1 / (n - 1)))
        half = float(student_t.ppf(0.975, n - 1) * error)
        middle = float(gap.mean())
        return {"behind": middle, "behind_low": middle - half, "behind_high": middle + half}

    def plot(self, metric: str | None = None, axis: Any = None) -> Any:
        """Plot one bar per method that finished, with its standard deviation; baselines are gray.

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
            error = row[f"{metric}_std"]
            axis.barh(place, row[metric], 0.7, color=COLORS[row["group"]], xerr=error, ecolor="#444444")
        axis.set_yticks(range(len(rows)), [row["method"] for row in rows], fontsize=8)
        axis.invert_yaxis()
        rest = [row["method"] for row in self.rows if row["status"] in UNFINISHED]
        late = fill(f"not finished: {', '.join(rest)}", 90, initial_indent="\n") if rest else ""
        axis.set_xlabel(f"{metric.replace('_', ' ')} ± standard deviation{late}")
        axis.spines[["top", "right"]].set_visible(False)
        shown = [group for group in COLORS if any(row["group"] == group for row in rows)]
        if len(shown) > 1:
            from matplotlib.patches import Patch

            axis.legend(handles=[Patch(color=COLORS[group], label=group) for group in shown], frameon=False, fontsize=8)
        return axis.figure

    def _content(self) -> dict[str, Any]:
        head = {"task": self.task, "note": self._note(), "metrics": self.metrics, "about": self.about}
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
        value = -value if row["status"] == "done" and math.isfinite(value) else math.inf
        return row["status"] != "done", row["status"] == "failed", value, row["method"]

    def _note(self) -> str:
        judged = [row for row in self.rows if "behind" in row]
        if not judged:
            return NOTES[self.task]
        near = self.near_best_[1:]
        rest = [row["method"] for row in judged if _reaches_zero(row) and row["method"] not in near]
        said = [
            NOTES[self.task],
            "Behind: the difference from the best over the same splits, with its 95 % interval.",
            *([f"Not clearly worse than the best: {_some(near)}."] if near else []),
            *([f"Too uneven from split to split to be told from it: {_some(rest)}."] if rest else []),
        ]
        return " ".join(said)

    def _extra(self) -> list[str]:
        """Scores of the views alone, in the order of the views."""
        return list(dict.fromkeys(name for row in self.rows for name in row if name.endswith("]")))

    def _notes(self) -> list[tuple[str, bool]]:
        return [("note", False)] if any(row["note"] or row["status"] != "done" for row in self.rows) else []

    def _columns(self) -> list[tuple[str, bool]]:
        scores = [(name, True) for name in (*self.metrics, *self._extra())]
        behind = [("behind", True)] if any("behind" in row for row in self.rows) else []
        return [("method", False), ("kind", False), scores[0], *behind, *scores[1:], ("fit s", True), *self._notes()]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        cells = [row["method"], row["group"]]
        first, *others = self.metrics
        known = math.isfinite(row.get(first, math.nan))
        cells.append(f"{row[first]:.3f} ± {row[f'{first}_std']:.3f}" if known else "")
        if any("behind" in each for each in self.rows):
            cells.append(
                "{behind:.3f} ({behind_low:.3f} to {behind_high:.3f})".format(**row) if "behind" in row else ""
            )
        for name in (*others, *self._extra()):
            value = row.get(name, math.nan)
            cells.append(f"{value:.3f}" if math.isfinite(value) else "")
        seconds = row.get("fit_seconds", math.nan)
        cells.append(f"{seconds:.2f}" if math.isfinite(seconds) else "")
        status = "" if row["status"] == "done" else "not finished: " if row["status"] in UNFINISHED else "failed: "
        return [*cells, f"{status}{row['note']}"] if self._notes() else cells


def _reaches_zero(row: Mapping[str, Any]) -> bool:
    return row.get("behind_low", math.inf) <= 0


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
