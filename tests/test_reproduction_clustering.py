"""The clustering paper's file (2012), its experiments on a tiny corpus, and the committed table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from coview.datasets import make_topic_views

REPRODUCTIONS = Path(__file__).resolve().parents[1] / "reproductions"
FOLDER = REPRODUCTIONS / "coplsa_clustering_2012"
if str(REPRODUCTIONS) not in sys.path:
    sys.path.insert(0, str(REPRODUCTIONS))

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="needs a checkout: reproductions are not in the package"),
]

from harness.paper import load_experiment, read_paper  # noqa: E402
from harness.store import Results  # noqa: E402
from harness.summary import Numbers  # noqa: E402
from harness.table import table_text  # noqa: E402


def tiny(loader: str, weighting: str) -> Bunch:
    names = {
        "reuters": ("english", "spanish", "french"),
        "mfeat": ("pixel", "profile", "fourier"),
        "leaves": ("texture", "margin", "shape"),
    }[loader]
    made = make_topic_views(60, dict.fromkeys(names, 40), 3, random_state=0)
    return Bunch(views=made.views, target=made.target)


def test_every_printed_figure_of_reuters_is_transcribed():
    published = {table.name: table.published for table in read_paper(FOLDER).tables}
    acc, nmi = (published[f"table1_{name}"]["reuters"] for name in ("acc", "nmi"))
    assert len(acc) == len(nmi) == 9
    assert [(acc[row][0].mean, nmi[row][0].mean) for row in ("K-means+BOVF", "VPLSA", "CoPLSA(2)", "CoPLSA(3)")] == [
        (33.6, 7.2),
        (46.8, 29.8),
        (49.4, 31.8),
        (50.2, 33.8),
    ]


def test_every_method_gives_the_rows_of_its_tables(monkeypatch):
    paper, experiment = read_paper(FOLDER), load_experiment(str(FOLDER))
    monkeypatch.setattr(experiment, "_load", tiny)
    monkeypatch.setattr(experiment, "REDUCED", 5)
    made: dict[object, dict[str, dict[str, float]]] = {}
    for table in paper.tables:
        firsts = {(cell.data, cell.method): cell for cell in reversed(paper.cells([table.name], runs=1))}
        for data, rows in table.rows.items():
            options = {**paper.raw["data"][data], "sweeps": 4}
            # data sets with the same options give the same rows: one of them is enough
            mine = {(cell.method, *options): cell for (name, _), cell in firsts.items() if name == data}
            made.update((kind, experiment.run(cell, options)) for kind, cell in mine.items() if kind not in made)
            for metric in table.metrics:
                given = {row: value for kind in mine for row, value in made[kind][metric].items()}
                assert set(rows) <= set(given), (table.name, data, metric)
                assert all(0 <= value <= 100 for value in given.values())


def test_the_published_step_runs_as_the_paper_says():
    experiment, corpus = load_experiment(str(FOLDER)), tiny("reuters", "raw")
    options = {"two": ["english", "spanish"], "best": "spanish", "weight": "auto", "sweeps": 5}
    first, second = (experiment.METHODS["Published2"](corpus.views, 3, 0, options) for _ in range(2))
    assert set(first) == {"CoPLSA(2), published step", "CoPLSA(2), published step, consensus"}
    for row, labels in first.items():
        np.testing.assert_array_equal(labels, second[row])


def test_the_committed_table_is_what_the_committed_runs_print():
    if not (FOLDER / "results.jsonl").exists():
        pytest.skip("no runs of this reproduction are committed: there is nothing to compare")
    paper, results = read_paper(FOLDER), Results(FOLDER / "results.jsonl")
    text = table_text(paper, Numbers(paper, results, paper.runs))
    assert (FOLDER / "table.md").read_text(encoding="utf-8") == text
    assert all((FOLDER / "figures" / f"{table.name}.png").exists() for table in paper.tables if table.figure)
