"""Table 3, the average ranks of tables 2 and 4, what the hierarchy adds, and figures 6 to 8, 10 and 11, from kept runs.

    python reproductions/optimal_assignment_2016/analysis.py

Writes analysis.md and figures beside it. Correlations and ranks are over data sets and shares of labels, as in the
paper.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import pearsonr

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from harness.paper import read_paper  # noqa: E402
from harness.ranking import rank_tests  # noqa: E402
from harness.store import Results  # noqa: E402
from harness.summary import Numbers  # noqa: E402

from coview.metrics import view_imbalance  # noqa: E402

METHODS = ("V1", "V2", "V12", "COTRAIN", "PRODSCORE", "SUMSCORE", "MAXAGREE")
OURS = ("PRODSCORE", "SUMSCORE", "MAXAGREE")
PUBLISHED_RANKS = dict(zip(METHODS, (3.6, 5.8, 3.3, 5.1, 4.6, 2.7, 2.9)))
PUBLISHED_CORRELATIONS = {
    ("PRODSCORE", "V12"): (-0.50, 0.03),
    ("MAXAGREE", "V12"): (-0.39, 0.11),
    ("MAXAGREE", "PRODSCORE"): (0.36, 0.14),
}
PAIRS = (
    ("SUM", "Hier-SUM"),
    ("SUM", "Hier-SUM, costs of 2"),
    ("PROD", "Hier-PROD"),
    ("PROD", "Hier-PROD, costs of 2"),
    ("MAX", "Hier-MAX"),
)
RATES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
PUBLISHED_GAINS = {  # table 4, column "delta": macro F1 on NELL_mv
    "Hier-SUM": dict(zip(RATES, (9.0, 11.0, 12.8, 14.2, 15.5, 18.2))),
    "Hier-PROD": dict(zip(RATES, (1.1, 0.1, 1.1, 3.1, 4.4, 6.6))),
    "Hier-MAX": dict(zip(RATES, (12.6, 14.0, 15.1, 16.0, 17.4, 20.0))),
}
TABLE4 = ("V12", "COTRAIN", "SUM", "Hier-SUM", "PROD", "Hier-PROD", "MAX", "Hier-MAX")
PUBLISHED_TABLE4_RANKS = dict(zip(TABLE4, (7.8, 3.3, 5.0, 3.5, 2.6, 4.2, 6.3, 3.3)))
FIGURE8 = ("PROD", "Hier-PROD", "MAX", "Hier-MAX")
TRENDS = ("V1", "V2", "V12", "SUM", "Hier-SUM", "Hier-PROD", "Hier-MAX")  # rows of figure 11b


@cache
def kept() -> Numbers:
    """The runs that are there."""
    paper = read_paper(HERE)
    return Numbers(paper, Results(HERE / "results.jsonl"), paper.runs)


def means(metric: str, rows: tuple[str, ...], table: str = "table2") -> dict[tuple[str, Any], dict[str, float]]:
    """Mean over the runs of each row, by data set and share of labels; only where all runs are there."""
    numbers = kept()
    paper = numbers.paper
    spec = next(found for found in paper.tables if found.name == table)
    found = {}
    for data in spec.rows:
        for column in spec.columns[data]:
            cells = {row: numbers.ours(spec, data, row, column, metric) for row in rows}
            if all(ours is not None for ours in cells.values()):
                found[paper.title_of(data), column] = {row: ours.mean for row, ours in cells.items() if ours}
    return found


def ranks(kind: str) -> list[str]:
    """Average ranks over macro and micro F1, with Friedman's test and Wilcoxon's against the best."""
    both = [means(f"{average} F1, {kind}", METHODS) for average in ("macro", "micro")]
    lines = [f"### {kind.capitalize()}", ""]
    return [*lines, *_rank_lines([row for part in both for row in part.values()], METHODS, PUBLISHED_RANKS)]


def table4_ranks() -> list[str]:
    """The last row of table 4: average ranks over rates, macro and micro F1 of the leaves."""
    both = [means(metric, TABLE4, "table4") for metric in ("leaf macro F1", "leaf micro F1")]
    rows = [row for part in both for row in part.values()]
    return _rank_lines(rows, TABLE4, PUBLISHED_TABLE4_RANKS) if rows else ["Not all runs are there.", ""]


def _rank_lines(table: list[dict[str, float]], methods: tuple[str, ...], published: dict[str, float]) -> list[str]:
    found = rank_tests(table)
    rank, best, against = found["rank"], found["best"], found["against_best"]
    lines = ["| | " + " | ".join(methods) + " |", "|---|" + "--:|" * len(methods)]
    lines.append("| ours | " + " | ".join(f"{rank[method]:.1f}" for method in methods) + " |")
    lines.append("| paper | " + " | ".join(f"{published[method]:.1f}" for method in methods) + " |")
    values = [f"{against[method]:.3f}" if method in against else "" for method in methods]
    lines.append(f"| p against {best} | " + " | ".join(values) + " |")
    what = f"Friedman's test over {len(table)} rows: chi2 = {found['statistic']:.1f}, p = {found['p_value']:.2g}."
    how = "p: Wilcoxon's signed-rank test, two-sided, corrected for all pairs of methods (Holm)."
    return [*lines, "", f"{what} {how} Rows of one data set are not independent, so all p are too small.", ""]


def gains(values: dict[Any, dict[str, float]], method: str, base: str) -> np.ndarray:
    """Relative improvement in percent."""
    return np.array([100 * (row[method] - row[base]) / row[base] for row in values.values()])


def correlations() -> list[str]:
    """Table 3: how gains go with the imbalance of the views, and with their agreement."""
    values = means("macro F1, all objects", METHODS)
    imbalance = np.array([view_imbalance(row["V1"], row["V2"]) for row in values.values()])
    agreement = means("agreement", ("V1 = V2",), "agreement")
    agreed = np.array([agreement[key]["V1 = V2"] for key in values])
    lines = ["| gain | with | ours | p | paper | p |", "|---|---|--:|--:|--:|--:|"]
    for (method, base), (theirs, p) in PUBLISHED_CORRELATIONS.items():
        found = pearsonr(imbalance, gains(values, method, base))
        lines.append(
            f"| {method} over {base} | view imbalance | {found.statistic:.2f} | {found.pvalue:.2f} | {theirs} | {p} |"
        )
    for method in OURS:
        found = pearsonr(agreed, gains(values, method, "V12"))
        lines.append(f"| {method} over V12 | view agreement | {found.statistic:.2f} | {found.pvalue:.2f} | | |")
    return [*lines, "", f"Over {len(values)} pairs of a data set and a share of labels.", ""]


def hierarchy() -> list[str]:
    """Table 4's last columns: what each method gains by the ontology, in percent of itself."""
    lines = ["| | labeled | leaf macro F1 | leaf micro F1 | hierarchical F1 | paper, macro F1 (NELL_mv) |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    metrics = ("leaf macro F1", "leaf micro F1", "hierarchical F1")
    for flat, tree in PAIRS:
        found = {metric: means(metric, (flat, tree), "table4") for metric in metrics}
        for key in found["leaf macro F1"]:
            gain = [100 * (values[key][tree] / values[key][flat] - 1) for values in found.values()]
            theirs = PUBLISHED_GAINS.get(tree)
            cells = [f"{100 * key[1]:.0f} %", *(f"{value:+.1f} %" for value in gain)]
            cells.append("" if theirs is None else f"{theirs[key[1]]:+.1f} %")
            lines.append(f"| {tree} over {flat} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def agreement_and_gains() -> dict[str, tuple[list[float], dict[str, list[float]]]]:
    """Figure 8's points, ours and the paper's: view agreement, and gains over V12 in percent, rate by rate."""
    ours = means("leaf macro F1", ("V12", *FIGURE8), "table4")
    agreed = means("agreement", ("V1 = V2",), "view_agreement")
    keys = [key for key in ours if key in agreed]
    paper = next(table for table in kept().paper.tables if table.name == "table4").published["nell"]
    theirs = [{row: paper[row][c].mean for row in ("V12", *FIGURE8)} for c in range(len(RATES))]
    views = next(table for table in kept().paper.tables if table.name == "view_agreement").published["nell"]
    return {
        "ours": (
            [agreed[key]["V1 = V2"] for key in keys],
            {row: list(gains({key: ours[key] for key in keys}, row, "V12")) for row in FIGURE8},
        ),
        "paper": (
            [figure.mean for figure in views["V1 = V2"]],
            {row: list(gains(dict(enumerate(theirs)), row, "V12")) for row in FIGURE8},
        ),
    }


def figure8() -> list[str]:
    """Correlation of view agreement and gain over V12, over the rates of table 4."""
    lines = ["| gain over V12 | ours, 20 Newsgroups | p | the paper's figures, NELL_mv | p |", "|---|--:|--:|--:|--:|"]
    points = agreement_and_gains()
    for row in FIGURE8:
        cells = []
        for agreed, gain in points.values():
            found = pearsonr(agreed, gain[row]) if len(agreed) > 2 else None
            cells += ["not run", ""] if found is None else [f"{found.statistic:.2f}", f"{found.pvalue:.3f}"]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def draw() -> None:
    """Figures 6, 7, 8, 10 and 11b."""
    folder = HERE / "figures"
    folder.mkdir(exist_ok=True)
    _draw_flat(folder)
    _draw_agreement(folder)
    _draw_tree(folder)
    _draw_trends(folder)


def _draw_flat(folder: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axis, average in zip(figure.subplots(1, 2), ("macro", "micro")):
        values = means(f"{average} F1, all objects", METHODS)
        for i, method in enumerate(OURS):
            for mark, base in zip("o^s", ("max(V1, V2)", "V12", "COTRAIN")):
                y = [max(row["V1"], row["V2"]) if base.startswith("max") else row[base] for row in values.values()]
                x = [row[method] for row in values.values()]
                axis.plot(x, y, mark, color=f"C{i}", ms=4, alpha=0.7, label=f"{method} / {base}")
        axis.plot([0, 100], [0, 100], ":", color="gray")
        axis.set(xlabel="proposed method", ylabel="baseline", title=f"{average} F1 (%), all objects")
    figure.axes[0].legend(fontsize=6, frameon=False)
    figure.savefig(folder / "figure6.png", dpi=110, metadata={"Software": None})
    values = means("macro F1, all objects", METHODS)
    imbalance = [abs(row["V1"] - row["V2"]) for row in values.values()]
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axis = figure.subplots()
    for i, method in enumerate(("PRODSCORE", "MAXAGREE")):
        axis.plot(imbalance, gains(values, method, "V12"), "o", color=f"C{i}", label=f"{method} over V12")
    axis.axhline(0, color="gray", lw=0.8)
    axis.set(xlabel="view imbalance", ylabel="gain in macro F1 (%)")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(folder / "figure7.png", dpi=110, metadata={"Software": None})


def _draw_agreement(folder: Path) -> None:
    """Figure 8 as printed: gains of the hierarchical methods over V12 against view agreement, one point per rate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    titles = {"ours": "20 Newsgroups", "paper": "NELL_mv, from the paper's table 4"}
    for axis, (whose, (agreed, gain)) in zip(figure.subplots(1, 2), agreement_and_gains().items()):
        for i, row in enumerate(("Hier-PROD", "Hier-MAX")):
            axis.plot(agreed, gain[row], "o-" if whose == "ours" else "x--", color=f"C{i}", label=f"{row} over V12")
        axis.set(xlabel="view agreement (%)", ylabel="gain in macro F1 (%)", title=titles[whose])
        axis.grid(alpha=0.25)
        axis.legend(frameon=False, fontsize=8)
    figure.savefig(folder / "figure8.png", dpi=110, metadata={"Software": None})


def _draw_tree(folder: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axis, bars = figure.subplots(1, 2)
    for mark, metric in zip("o^", ("leaf macro F1", "leaf micro F1")):
        for i, (flat, tree) in enumerate(pair for pair in PAIRS if "costs" not in pair[1]):
            found = means(metric, (flat, tree), "table4").values()
            x, y = [row[tree] for row in found], [row[flat] for row in found]
            axis.plot(x, y, mark, color=f"C{i}", label=f"{flat}, {metric.split()[1]}")
    low, high = axis.get_xlim()
    axis.plot([low, high], [low, high], ":", color="gray")
    axis.set(xlabel="with the ontology", ylabel="flat", title="(a) F1 (%), 20 Newsgroups")
    axis.legend(frameon=False, fontsize=7)
    sizes = class_sizes()
    bars.bar(range(len(sizes)), sorted(sizes.values(), reverse=True), color="C0")
    bars.set_xticks(range(len(sizes)), sorted(sizes, key=lambda name: -sizes[name]), rotation=90, fontsize=6)
    bars.set(ylabel="objects", title="(b) objects of each leaf class")
    figure.savefig(folder / "figure10.png", dpi=110, metadata={"Software": None})


def class_sizes() -> dict[str, float]:
    """Objects of each leaf class, as any of the runs counted them."""
    for run in kept().results.runs.values():
        if "objects of the class" in run["values"]:
            return dict(run["values"]["objects of the class"])
    return {}


def _draw_trends(folder: Path) -> None:
    """Figure 11b: bits of labels that change in each sweep, with 30 % labeled."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axis = figure.subplots()
    sweeps = range(2, 21)  # the first sweep gives every object its first labels
    curves: dict[str, list[float]] = {}
    for name in TRENDS:
        found = [means(f"bits flipped, sweep {number}", (name,), "table4") for number in sweeps]
        curves[name] = [row[name] for values in found for key, row in values.items() if key[1] == 0.3]
    for name, values in curves.items():
        if values:
            axis.plot(sweeps, values, label=name)
    axis.set_yscale("symlog", linthresh=10)
    axis.set(xlabel="sweep", ylabel="bits flipped", title="20 Newsgroups, 30 % labeled")
    axis.legend(frameon=False, fontsize=7)
    figure.savefig(folder / "figure11b.png", dpi=110, metadata={"Software": None})


def main() -> None:
    lines = [
        "# Ranks and correlations",
        "",
        "Written by `analysis.py` from the runs in `results.jsonl`; do not edit. NELL_mv and Citeseer2, which are in",
        "the published figures, cannot be had: ours are over the six other data sets.",
        "",
        "## Average rank over data sets, shares of labels, macro and micro F1",
        "",
        *ranks("all objects"),
        *ranks("unlabeled"),
        "## Table 4: average rank over rates, macro and micro F1 of the leaves",
        "",
        "Ours on 20 Newsgroups, the paper's on NELL_mv.",
        "",
        *table4_ranks(),
        "## Table 3: Pearson's correlation of gains in macro F1 (all objects)",
        "",
        *correlations(),
        "## Table 4: what the hierarchy adds",
        "",
        "20 Newsgroups, unlabeled objects; equal weights of the views and at most 20 sweeps. Hier-SUM and Hier-PROD",
        'have the costs of eq. 9, rows "costs of 2" those of coview.',
        "",
        *hierarchy(),
        "## Figure 8: view agreement and gain over V12",
        "",
        "Pearson's correlation over the rates of table 4; the paper's from the figures that its table 4 prints.",
        "",
        *figure8(),
        "![Figure 6](figures/figure6.png)",
        "",
        "![Figure 7](figures/figure7.png)",
        "",
        "![Figure 8](figures/figure8.png)",
        "",
        "![Figure 10](figures/figure10.png)",
        "",
        "![Figure 11b](figures/figure11b.png)",
    ]
    (HERE / "analysis.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw()


if __name__ == "__main__":
    main()
