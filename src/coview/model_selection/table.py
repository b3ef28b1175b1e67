"""`Comparison`, the table of `compare`, and what it shares with those of `select_clusters` and `suggest_labels`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from textwrap import fill
from typing import Any, ClassVar

import numpy as np
from scipy.stats import t as student_t
from sklearn.base import clone

from coview.utils.atomic import atomic_path
from coview.utils.jsonable import to_jsonable
from coview.utils.loading import load_matplotlib
from coview.utils.tables import format_html_table, format_text_table

__all__ = ["Comparison", "ObjectTable", "RowTable"]

NOTES = {
    "classification": "Means over the same folds for all methods, ± standard deviation.",
    "few_labels": "Few labels: all objects take part in the fit, and some known labels are hidden and predicted; "
    "means ± standard deviation over the same splits for all methods.",
    "clustering": "Clusters compared with the known classes, which were hidden from all methods; means ± "
    "standard deviation over seeds on the same objects, which do not tell how differences vary with the objects.",
}
UNFINISHED = ("over budget", "stopped")
_NAMED = 3  # methods of a tie in the title
COLORS = {"method": "#3b6fb6", "baseline": "#9aa0a6", "given": "#d9822b"}


class RowTable:
    """Rows of figures that can be printed, written down, and read as a frame."""

    rows: list[dict[str, Any]]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, less those that hold lists."""
        names = dict.fromkeys(name for row in self.rows for name, value in row.items() if not isinstance(value, list))
        return {name: [row.get(name) for row in self.rows] for name in names}

    @property
    def frame(self) -> Any:
        """The rows as a pandas frame; `columns` is what polars takes."""
        import pandas

        return pandas.DataFrame(self.columns)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON, and write it to `path` if there is one: whole or not at all."""
        text = json.dumps(to_jsonable(self._content()), indent=1)
        if path is not None:
            with atomic_path(path) as beside:
                beside.write_text(text + "\n", encoding="utf-8")
        return text

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, rows: Sequence[Mapping[str, Any]] | None = None) -> str:
        """Return the table as text, with some of its rows or all."""
        cells = [self._head(), *map(self._cells, self.rows if rows is None else rows)]
        lines = format_text_table(repr(self), cells, aligned=len(cells[0]) - 1).split("\n")
        return "\n".join([*(line.rstrip() for line in lines), "", fill(self._note(), 100)]).rstrip()

    def _repr_html_(self) -> str:
        return format_html_table(f"{self!r}. {self._note()}", self._head(), [self._cells(row) for row in self.rows])

    def _content(self) -> dict[str, Any]:
        """Everything in plain values."""
        raise NotImplementedError

    def _head(self) -> list[str]:
        """Names of the columns that are shown."""
        raise NotImplementedError

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        """What is shown of a row."""
        raise NotImplementedError

    def _note(self) -> str:
        """What to know about the table."""
        return ""


class ObjectTable(RowTable):
    """Rows of objects, each with its position in X."""

    _fields: ClassVar[tuple[str, ...]]

    @property
    def indices(self) -> np.ndarray:
        """Positions of the objects in X, in the order of the rows."""
        return np.array([row["row"] for row in self.rows], dtype=np.int64)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, of these names also where there is no row."""
        return {name: [row[name] for row in self.rows] for name in self._fields}


class Comparison(RowTable):
    """Result of `compare`: one row per method, best first.

    Attributes
    ----------
    rows : list of dict
        By row: "method", "group" (method, baseline, given), "status" (done, failed, over budget, stopped), the
        mean of each score and its standard deviation (``accuracy``, ``accuracy_std``), "fit_seconds" (median), "splits"
        (how many were done) and "note". Scores are means over all splits: methods that did not finish come last and
        have none. "behind" is how far the score that ranks lies below that of the best method, as the mean difference
        over the same splits, with a 95 % interval from "behind_low" to "behind_high", within what scores
        from 0 to 1 allow; clusterings have none, as seeds
        on the same objects do not tell how it varies.
    scores : dict of lists
        By method, the figures of every split that was done.
    metrics : list of str
        The scores; the first one ranks.
    task : str
        "classification", "few_labels" or "clustering".
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
        # copies: figures are added to them below
        self.rows = sorted((dict(row) for row in rows), key=self._place)
        for row in self.rows:
            if row["status"] != "done":  # a mean over some splits cannot be held against those over all
                row |= {name: math.nan for name in row if name.removesuffix("_std") in self.metrics}
            elif task != "clustering":
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
        return clone(self._estimators[name])

    @property
    def near_best_(self) -> list[str]:
        """Methods that are not clearly worse than the best one, which comes first.

        The 95 % interval of the difference from the best one over the same splits ("behind_low" in `rows`) reaches 0,
        and so does that of every method with a better mean. A method whose interval reaches 0 only because its scores
        vary much from split to split is not among them: the splits do not tell how good it is. With fewer than two
        splits, and of clusterings, they are those whose means differ by no more than the standard deviation of such
        differences. The interval is that of the corrected resampled t-test (Nadeau and Bengio, Inference for the
        generalization error, Machine Learning 52, 2003). It does not allow for the best one being the best of many.
        """
        best, *others = (row for row in self.rows if row["status"] == "done")
        name = self.metrics[0]

        def is_near(row: Mapping[str, Any]) -> bool:
            spread = math.hypot(best[f"{name}_std"], row[f"{name}_std"])
            return row.get("behind_low", round(best[name] - row[name] - spread, 12)) <= 0

        near = takewhile(is_near, others)
        return [best["method"], *(row["method"] for row in near)]

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
        middle, top = float(gap.mean()), float(best.mean())
        low, high = middle - half, middle + half
        if min(*best, *values) >= 0 and max(*best, *values) <= 1:  # of few splits it would reach beyond what can be
            low, high = max(low, top - 1), min(high, top)
        return {"behind": middle, "behind_low": low, "behind_high": high}

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
        rows = [row for row in self.rows if row["status"] == "done"]
        if axis is None:
            figure = load_matplotlib("figure").Figure(figsize=(8.0, 0.9 + 0.27 * len(rows)), layout="constrained")
            axis = figure.add_subplot()
        names, colors = [row["method"] for row in rows], [COLORS[row["group"]] for row in rows]
        # standard deviations of splits, not errors of means: splits share objects, and means look surer than they are
        errors = [row[f"{metric}_std"] for row in rows]
        axis.barh(names, [row[metric] for row in rows], 0.7, color=colors, xerr=errors, ecolor="#444444")
        axis.invert_yaxis()
        axis.set_xlabel(f"{metric.replace('_', ' ')} ± standard deviation")
        axis.spines[["top", "right"]].set_visible(False)
        return axis.figure

    def __repr__(self) -> str:
        done = sum(row["status"] == "done" for row in self.rows)
        near = self.near_best_ if done else []
        first = "best" if len(near) == 1 else f"a tie of {len(near)}"
        named = f", {first}: {', '.join(near[:_NAMED])}{', ...' if len(near) > _NAMED else ''}" if near else ""
        return f"Comparison of {len(self.rows)} methods ({self.task}): {done} done{named}"

    # -- pieces

    def _content(self) -> dict[str, Any]:
        head = {"task": self.task, "note": self._note(), "metrics": self.metrics, "about": self.about}
        return {**head, "rows": self.rows, "scores": self.scores}

    def _place(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        done = row["status"] == "done"
        # what ran out of time may still be good, and stands before what failed
        return not done, row["status"] == "failed", -row[self.metrics[0]] if done else 0, row["method"]

    def _note(self) -> str:
        parts = [NOTES[self.task]]
        if any("behind" in row for row in self.rows):
            best, *near = self.near_best_
            parts.append("Behind: the difference from the best over the same splits, with its 95 % interval.")
            tied = f"{', '.join(near)} and {best} are within their intervals: any of them may be best"
            parts.append(f"{tied if near else f'No other method is within its interval of {best}'}.")
        # a table of methods that ran out of time is no verdict on them: say what to change
        if any(row["status"] == "over budget" for row in self.rows):
            budget = self.about.get("time_budget")
            parts.append(f"Each method had {budget} s for all splits: time_budget, or --budget, gives them more.")
        return " ".join(parts)

    def _head(self) -> list[str]:
        return ["method", "kind", *self.metrics, "behind", "fit s", "note"]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        done = row["status"] == "done"
        scores = [f"{row[name]:.3f} ± {row[f'{name}_std']:.3f}" if done else "" for name in self.metrics]
        behind = "{behind:.3f} ({behind_low:.3f} to {behind_high:.3f})".format(**row) if "behind" in row else ""
        seconds = f"{row['fit_seconds']:.2f}" if done else ""
        reason = "not finished: " if row["status"] in UNFINISHED else "failed: "
        return [row["method"], row["group"], *scores, behind, seconds, "" if done else f"{reason}{row['note']}"]
