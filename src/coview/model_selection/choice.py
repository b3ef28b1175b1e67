"""`ClusterChoice`: the table of `select_clusters`, a plot of it, and which setting to take."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from coview.model_selection.table import as_frame, rich_text
from coview.utils.atomic import atomic_path
from coview.utils.jsonable import plain

__all__ = ["ClusterChoice", "recommend"]

NEAR = 0.02  # smaller differences say nothing: of the adjusted Rand index, or as a share of all that likelihood gained
SAID = {
    "likelihood": "held-out likelihood",
    "stability": "stability (adjusted Rand index)",
    "information": "information that comes back (nats)",
}


class ClusterChoice:
    """What `select_clusters` found.

    Attributes
    ----------
    rows : list of dict
        By setting: its values, the mean of each criterion (``stability``), its standard error (``stability_error``) and
        its values by repeat (``stability_values``), "status", "seconds" and "note".
    best_ : dict
        The recommended values.
    reason : str
        Why, in a sentence.
    criteria : list of str
        What was chosen by.

    Examples
    --------
    >>> rows = [{"n_clusters": k, "stability": s, "stability_error": 0.01, "stability_values": [s, s]}
    ...         for k, s in ((2, 0.5), (3, 0.9))]
    >>> best, reason = recommend(rows, ["stability"], ["n_clusters"])
    >>> reason
    'n_clusters=3: stability (adjusted Rand index) is best there (0.900).'
    """

    def __init__(
        self, rows: list[dict[str, Any]], criteria: list[str], best: dict[str, Any], reason: str, estimator: Any = None
    ) -> None:
        self.rows, self.criteria, self.best_, self.reason = rows, criteria, best, reason
        self._estimator = estimator

    def best_estimator(self) -> Any:
        """Return the estimator with the recommended values, not fitted."""
        return clone(self._estimator)

    @property
    def frame(self) -> Any:
        """The rows as a pandas frame, or a polars one where only polars is installed."""
        return as_frame([{key: row[key] for key in row if not key.endswith("_values")} for row in self.rows])

    def plot(self, figure: Any = None) -> Any:
        """Draw each criterion over the number of clusters, a line per coupling, the recommended setting marked.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw.

        Returns
        -------
        matplotlib Figure
        """
        if figure is None:
            from matplotlib.figure import Figure

            figure = Figure(figsize=(4.2 * len(self.criteria), 3.2), layout="constrained")
        across = "n_clusters"
        if "coupling" in self.best_ and len({row["n_clusters"] for row in self.rows}) == 1:
            across = "coupling"
        other: Any = next((name for name in self.best_ if name != across), None)
        lines = list(dict.fromkeys(str(row.get(other)) for row in self.rows))
        panels = np.ravel(figure.subplots(1, len(self.criteria), squeeze=False))
        for panel, name in zip(panels, self.criteria):
            for line in lines:
                mine = [row for row in self.rows if str(row.get(other)) == line and math.isfinite(row[name])]
                error = [np.nan_to_num(row[f"{name}_error"]) for row in mine]
                label = None if other is None or len(lines) == 1 else f"{other} {line}"
                panel.errorbar([str(row[across]) for row in mine], [row[name] for row in mine], error, fmt="o-", ms=4,
                               lw=1.4, capsize=2, label=label)  # fmt: skip
            panel.axvline(str(self.best_[across]), color="#d9822b", lw=1, ls="--")
            panel.set(xlabel=across.replace("_", " "), title=SAID[name])
            panel.spines[["top", "right"]].set_visible(False)
            if other is not None and len(lines) > 1:
                panel.legend(frameon=False, fontsize=8)
        return figure

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON, and write it to `path` if there is one: whole or not at all."""
        found = {"best": self.best_, "reason": self.reason, "criteria": self.criteria, "rows": self.rows}
        text = json.dumps(plain(found), indent=1)
        if path is not None:
            with atomic_path(path) as beside:
                beside.write_text(text + "\n", encoding="utf-8")
        return text

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"ClusterChoice of {len(self.rows)} settings: {self.reason}"

    def __str__(self) -> str:
        return rich_text(self.__rich__())

    def __rich__(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, caption=Text(self.reason), caption_justify="left", pad_edge=False)
        names = list(self.best_)
        for name in (*names, *self.criteria, "seconds", "note"):
            table.add_column(name, justify="left" if name == "note" else "right", overflow="fold")
        for row in self.rows:
            marks = [f"{row[name]}" for name in names]
            values = [
                f"{row[name]:.3f} ± {np.nan_to_num(row[f'{name}_error']):.3f}" if math.isfinite(row[name]) else ""
                for name in self.criteria
            ]
            best = all(row[name] == self.best_[name] for name in names)
            status = "" if row["status"] == "done" else f"{row['status']}: {row['note']}"
            cells = [*marks, *values, f"{row['seconds']:.1f}", "recommended" if best else status]
            table.add_row(*map(Text, cells), style="bold" if best else None)
        return table


def recommend(rows: Sequence[dict[str, Any]], criteria: Sequence[str], names: Sequence[str]) -> tuple[int, str]:
    """Return the position of the row to take, and why in a sentence.

    A row is near the best by a criterion when it is at most one standard error below it, or .02 of the adjusted Rand
    index, or .02 of the range of the others.
    """
    usable = [i for i, row in enumerate(rows) if all(math.isfinite(row[name]) for name in criteria)]
    if not usable:
        note = next((row["note"] for row in rows if row.get("note")), "")
        raise ValueError(f"No setting could be fitted. {note}".strip())
    tops = {name: max(usable, key=lambda i: rows[i][name]) for name in criteria}
    near = {name: [i for i in usable if _is_near(rows, usable, i, tops[name], name)] for name in criteria}
    common = [i for i in usable if all(i in near[name] for name in criteria)]
    clash = ""
    if list(criteria) == ["stability"]:
        # few large clusters are easily stable: of equals, the finest
        best = max(near["stability"], key=lambda i: (rows[i]["n_clusters"], rows[i]["stability"]))
    elif common:
        best = min(common, key=lambda i: (rows[i]["n_clusters"], *(-rows[i][name] for name in reversed(criteria))))
    else:
        ranks = {i: sum(sum(rows[j][name] > rows[i][name] for j in usable) for name in criteria) for i in usable}
        best = min(usable, key=lambda i: (ranks[i], rows[i]["n_clusters"]))
        clash = " The two do not agree, and this has the best mean rank."
    said = "; ".join(_why(rows, best, tops[name], name, names, best in near[name]) for name in criteria)
    return best, f"{_setting(rows[best], names)}: {said}.{clash}"


def _is_near(rows: Sequence[dict[str, Any]], usable: Sequence[int], i: int, top: int, name: str) -> bool:
    """Less than one standard error below the best, or by so little that it does not matter."""
    gap = rows[top][name] - rows[i][name]
    span = rows[top][name] - min(rows[j][name] for j in usable)
    least = NEAR if name == "stability" else NEAR * span
    return bool(gap <= max(np.nan_to_num(rows[top][f"{name}_error"]), least))


def _why(rows: Sequence[dict[str, Any]], best: int, top: int, name: str, names: Sequence[str], is_near: bool) -> str:
    value = f"{rows[best][name]:.3f}"
    if rows[best][name] >= rows[top][name]:
        return f"{SAID[name]} is best there ({value})"
    how = "no worse within its error" if is_near else "worse"
    return f"{SAID[name]} is best at {_setting(rows[top], names)} ({rows[top][name]:.3f}) and here {how} ({value})"


def _setting(row: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in names)
