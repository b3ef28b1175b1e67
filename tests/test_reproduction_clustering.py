"""The clustering paper's file (2012), its experiments on a tiny corpus, and the committed table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness.paper import load_experiment, read_paper
from harness.store import Results
from harness.summary import Numbers
from harness.table import table_text
from sklearn.cross_decomposition import CCA
from sklearn.metrics import pairwise_distances
from sklearn.utils import Bunch

from coview import PairwiseCoPLSA
from coview.datasets import make_blobs_views, make_topic_views

FOLDER = Path(__file__).resolve().parents[1] / "reproductions" / "coplsa_clustering_2012"

pytestmark = pytest.mark.no_cover


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


OPTIONS = {"two": ["english", "spanish"], "best": "spanish", "weight": "auto", "sweeps": 5}


def test_rows_with_the_papers_name_run_the_papers_algorithm(monkeypatch):
    experiment, corpus = load_experiment(str(FOLDER)), tiny("reuters", "raw")
    settings = []

    class Watched(PairwiseCoPLSA):
        def fit(self, X, y=None):
            settings.append(self.get_params())
            return super().fit(X, y)

    monkeypatch.setattr(experiment, "PairwiseCoPLSA", Watched)
    for name in ("CoPLSA2", "CoPLSA2Apart", "Pairwise2"):
        first, second = (experiment.METHODS[name](corpus.views, 3, 0, OPTIONS) for _ in range(2))
        for row, labels in first.items():
            np.testing.assert_array_equal(labels, second[row])
            assert row.startswith("PairwiseCoPLSA" if name == "Pairwise2" else "CoPLSA(2)")
    published, apart, ours = settings[::2]
    for model in (published, apart):
        assert (model["algorithm"], model["coupling"]) == ("published", 0.07)
        assert (model["view_weights"], model["pair_fraction"]) == (0.5, 0.05)
    assert published["init"] == "random" and set(apart["init"]) == {"memberships_by_view"}
    assert ours["algorithm"] == "fast" and ours["coupling"] == "auto"


def test_canonical_variates_correlate_as_those_of_scikit_learn():
    experiment, corpus = load_experiment(str(FOLDER)), make_blobs_views(80, (4, 5), n_clusters=3, random_state=0)
    first, second = corpus.views.values()
    ours = [experiment._canonical_variates(*pair, 2) for pair in ((first, second), (second, first))]
    theirs = CCA(2, max_iter=5000, tol=1e-12).fit_transform(first, second)
    for column in range(2):
        correlation = abs(np.corrcoef(ours[0][:, column], ours[1][:, column])[0, 1])
        assert correlation == pytest.approx(np.corrcoef(theirs[0][:, column], theirs[1][:, column])[0, 1], abs=1e-6)


def test_spectral_rows_cut_the_graph_of_all_pairs():
    experiment = load_experiment(str(FOLDER))
    matrix = make_blobs_views(60, 1, n_clusters=3, random_state=1).views["view0"]
    distances = pairwise_distances(matrix)
    graph = np.exp(-(distances**2) / (2 * np.median(distances) ** 2))
    laplacian = np.eye(60) - graph / np.sqrt(np.outer(graph.sum(axis=0), graph.sum(axis=1)))
    vectors = experiment._leading(experiment._gaussian_graph(matrix), 3, 0)
    smallest = np.linalg.eigh(laplacian)[1][:, :3]
    np.testing.assert_allclose(vectors @ vectors.T, smallest @ smallest.T, atol=1e-8)


def test_the_committed_table_is_what_the_committed_runs_print():
    paper, results = read_paper(FOLDER), Results(FOLDER / "results.jsonl")
    text = table_text(paper, Numbers(paper, results, paper.runs))
    assert (FOLDER / "table.md").read_text(encoding="utf-8") == text
    assert all((FOLDER / "figures" / f"{table.name}.png").exists() for table in paper.tables if table.figure)
