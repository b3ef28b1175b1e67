"""Draw the picture of the README from `results/auto_classifier.json`: one percent of the labels.

python benchmarks/draw_few_labels.py
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

HERE = Path(__file__).resolve().parent
PLAIN, OURS = "#8a8f98", "#1f5fa8"


def draw() -> None:
    """Write `docs/_static/few_labels.svg`: a line per collection, from the linear SVM to `AutoClassifier`."""
    table = json.loads((HERE / "results" / "auto_classifier.json").read_text(encoding="utf-8"))
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    rows = [row for row in rows if row["labels"] == "1%" and isinstance(row["linear SVM"], float)]
    rows.sort(key=lambda row: row["auto"] - row["linear SVM"])
    pyplot.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "coview", "font.size": 10})
    figure, ax = pyplot.subplots(figsize=(7.6, 4.4), layout="constrained")
    for height, row in enumerate(rows):
        ax.plot([row["linear SVM"], row["auto"]], [height, height], color="#c9ced6", lw=3, zorder=1)
    heights = range(len(rows))
    ax.scatter(
        [row["linear SVM"] for row in rows], heights, color=PLAIN, s=42, label="linear SVM on tf-idf of all views"
    )
    ax.scatter([row["auto"] for row in rows], heights, color=OURS, s=56, label="AutoClassifier")
    ax.set_yticks(heights, [row["data"] for row in rows])
    ax.set(xlim=(0.2, 1.03), xlabel="accuracy on the objects without a label; 1 % of the labels are known")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#eceff3")
    ax.set_axisbelow(True)
    figure.savefig(HERE.parent / "docs" / "_static" / "few_labels.svg", facecolor="white", metadata={"Date": None})


if __name__ == "__main__":
    draw()
