"""The reproduction of the two-view paper: its file, its experiments on small data, and the committed table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from harness.paper import load_experiment, read_paper
from harness.store import Results
from harness.summary import Numbers
from harness.table import table_text
from harness.work import missing_cells

from coview import UnitRows
from coview.datasets import make_topic_views

PAPER = Path(__file__).resolve().parents[1] / "reproductions" / "two_view_pa_2012"

pytestmark = pytest.mark.no_cover


@pytest.fixture
def experiment(monkeypatch):
    module = load_experiment(str(PAPER))
    made = make_topic_views(n_objects=60, n_clusters=2, n_features=30, length=10, random_state=0)
    small = SimpleNamespace(views=UnitRows().fit_transform(made.views), target=made.target)
    monkeypatch.setattr(module, "_load", lambda loader: small)
    monkeypatch.setattr(module, "COSTS", [0.1, 1.0])
    monkeypatch.setattr(module, "COUPLINGS", [0.0, 0.1])
    return module


def test_every_printed_figure_is_transcribed():
    (table,) = (table for table in read_paper(PAPER).tables if table.name == "table2")
    assert [len(rows) for rows in table.published.values()] == [4, 4, 4]
    assert table.published["webkb"]["Two-view PA"][0].text == "97.50 ± 1.80"


def test_folds_are_disjoint_and_cover_all_objects():
    target = np.arange(50) % 2
    fold = load_experiment(str(PAPER)).fold
    tests = [fold(target, seed)[1] for seed in range(5)]
    assert sorted(np.concatenate(tests)) == list(range(50))
    assert not np.array_equal(fold(target, 0)[1], fold(target, 5)[1])
    for seed in range(5):
        learn, test = fold(target, seed)
        assert not set(learn) & set(test)


def test_every_method_gives_the_rows_of_its_tables(experiment):
    paper = read_paper(PAPER)
    for table in paper.tables:
        firsts = {(cell.data, cell.method): cell for cell in reversed(paper.cells([table.name], runs=1))}
        for data, rows in table.rows.items():
            if data in paper.unavailable:
                continue
            values = [
                experiment.run(cell, paper.raw["data"][data]) for (name, _), cell in firsts.items() if name == data
            ]
            for metric in table.metrics:
                given = {row: x for value in values for row, x in value[metric].items()}
                assert set(rows) <= set(given), (table.name, data)
                assert all(x >= 0 for x in given.values())


def test_the_sum_of_two_learners_is_that_of_their_scores(experiment):
    data = experiment._load("")
    learners = experiment.IndependentLearners(random_state=3).fit(data.views, data.target)
    scores = 0.0
    for name in data.views.names:
        alone = experiment.Model(experiment.C, random_state=3).fit(data.views.select(name), data.target)
        scores = scores + alone.decision_function(data.views.select(name))
    np.testing.assert_array_equal(learners.predict(data.views), scores > 0)


def test_passes_are_those_of_the_column(experiment):
    paper = read_paper(PAPER)
    cells = [cell for cell in paper.cells(["passes"], runs=1) if cell.data == "webkb" and cell.method == "TwoView"]
    (once,) = (cell for cell in paper.cells(["table2"], runs=1) if cell.data == "webkb" and cell.method == "TwoView")
    data, (learn, test) = experiment._load(""), experiment.fold(experiment._load("").target, 0)
    by_passes = {cell["passes"]: experiment.run(cell, paper.raw["data"]["webkb"])["F1"] for cell in cells}
    assert by_passes[1] == experiment.run(once, paper.raw["data"]["webkb"])["F1"]
    model = experiment.Model(0.1, 0.5, update="paper", max_iter=5, random_state=0)
    guess = model.fit(data.views[learn], data.target[learn]).predict(data.views[test])
    assert by_passes[5]["Two-view PA"] == pytest.approx(100 * experiment._f1(data.target[test], guess))


def test_with_the_same_view_twice_the_exact_update_is_pa_of_half_the_cost_and_algorithm_1_is_not(experiment):
    data = experiment._load("")
    first = data.views[data.views.names[0]]
    twice, once = experiment.Views(a=first, b=first), experiment.Views(a=first)
    half = experiment.Model(0.5, random_state=0).fit(once, data.target).decision_function(once)
    exact = experiment.Model(1.0, random_state=0).fit(twice, data.target).decision_function(twice)
    np.testing.assert_allclose(exact, half, atol=1e-9)
    printed = experiment.Model(1.0, update="paper", random_state=0).fit(twice, data.target)
    for cost in (0.25, 0.5, 1.0):
        alone = experiment.Model(cost, random_state=0).fit(once, data.target).decision_function(once)
        assert np.abs(printed.decision_function(twice) - alone).max() > 0.01


def test_algorithm_1_written_out_has_the_weights_of_the_library(experiment):
    data = experiment._load("")
    first, second = data.views.values()
    views = experiment.Views(first=5 * first, second=second)
    share, weights = experiment.algorithm_1(views, data.target)
    model = experiment.Model(0.1, 0.5, update="paper", shuffle=False).fit(views, data.target)
    for matrix, w, scores in zip(views.values(), weights, model.decision_function_by_view(views).values()):
        np.testing.assert_allclose(matrix @ w, scores, atol=1e-6)
    assert 0 < share < 1  # and with rows of length 1, for which its formula is right, none
    assert experiment.algorithm_1(data.views, data.target)[0] == 0


def test_differences_are_those_of_the_weights_before_each_round(experiment):
    data = experiment._load("")
    found = experiment._paired(experiment.Model(0.1, 0.5), data.views, data.target)
    model = experiment.Model(0.1, 0.5).partial_fit(data.views[:30], data.target[:30], classes=[0, 1])
    first, second = model.decision_function_by_view(data.views[[30]]).values()
    assert found[30] == pytest.approx(float(abs(first - second)[0]))
    assert found[0] == 0.0


def test_the_committed_runs_are_complete_and_the_committed_table_is_what_they_print():
    paper, results = read_paper(PAPER), Results(PAPER / "results.jsonl")
    assert missing_cells(paper, paper.cells(), results) == []
    text = table_text(paper, Numbers(paper, results, paper.runs))
    assert (PAPER / "table.md").read_text(encoding="utf-8") == text
    assert all((PAPER / "figures" / f"{table.name}.png").exists() for table in paper.tables if table.figure)
