"""The 2016 paper's file, its experiments on a tiny corpus, and the committed table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness.paper import load_experiment, read_paper
from harness.store import Results
from harness.summary import Numbers
from harness.table import table_text
from harness.work import missing_cells
from sklearn.utils import Bunch

from coview import Views
from coview.datasets import make_topic_views

COPLSA = Path(__file__).resolve().parents[1] / "reproductions" / "coplsa_2016"

pytestmark = pytest.mark.no_cover


def tiny(text: str) -> Bunch:
    made = make_topic_views(90, {"text": 40, "image": 30}, n_clusters=3, random_state=0)
    words = made.views["text"] if text == "words" else made.views["text"].toarray()
    shares = made.views["image"].toarray()
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    names = {"text": [f"word{j}" for j in range(40)]}
    views = Views(text=words, image=shares, ids=np.arange(90).astype(str), feature_names=names)
    return Bunch(
        train=views[:60],
        test=views[60:],
        target=made.target[:60],
        test_target=made.target[60:],
        target_names=np.array(["a", "b", "c"]),
        texts=["some text"] * 30,
        words=text == "words",
    )


def test_every_printed_figure_is_transcribed():
    tables = read_paper(COPLSA).tables
    counts = [len(rows) for table in tables for rows in table.published.values() if rows]
    assert counts == [5, 5] * 4  # Wikipedia and TVGraz


def test_published_figures_are_those_of_table_1():
    tables = {table.name: table.published for table in read_paper(COPLSA).tables}
    found = {
        name: [tables[f"table1_{name}"]["words"][row][0].mean for row in ("SCM", "Link PLSA", "sKL coPLSA")]
        for name in ("topic_i2t", "topic_t2i", "semantic_i2t", "semantic_t2i")
    }
    assert found == {
        "topic_i2t": [26.7, 24.7, 41.3],
        "topic_t2i": [21.9, 24.7, 41.3],
        "semantic_i2t": [36.2, 60.5, 72.6],
        "semantic_t2i": [27.3, 60.5, 72.4],
    }


def test_every_method_gives_the_rows_of_its_tables(monkeypatch):
    paper, experiment = read_paper(COPLSA), load_experiment(str(COPLSA))
    monkeypatch.setattr(experiment, "_load", tiny)
    monkeypatch.setattr(experiment, "SWEEPS", 5)
    monkeypatch.setattr(experiment, "TRIAL_SWEEPS", 3)
    monkeypatch.setattr(experiment, "STARTS", 2)
    monkeypatch.setattr(experiment, "Nystroem", lambda kernel, **settings: experiment.StandardScaler())
    made = {}
    for table in paper.tables:
        firsts = {(cell.data, cell.method): cell for cell in reversed(paper.cells([table.name], runs=1))}
        for data, rows in table.rows.items():
            if data in paper.unavailable:
                continue
            options = {**paper.raw["data"][data], "topics": 3, "weights": [1.0, 10.0]}
            mine = [cell for (name, _), cell in firsts.items() if name == data]
            made.update((cell, experiment.run(cell, options)) for cell in mine if cell not in made)
            for metric in table.metrics:
                given = {row: x for cell in mine for row, x in made[cell].get(metric, {}).items()}
                assert set(rows) <= set(given), (table.name, data, metric)
                assert all(0 <= x <= 100 for x in given.values())


def test_l1_as_published_takes_the_modalities_in_turn_and_the_joint_step_does_not():
    experiment, corpus = load_experiment(str(COPLSA)), tiny("words")
    in_turn, joint = (
        experiment._coplsa(name, 3, 0.3, 0, sweeps=60).fit(corpus.train) for name in ("L1 coPLSA", "coview CoPLSA, L1")
    )
    assert type(in_turn._steps()) is experiment.AlternatingL1Steps and type(joint) is experiment.CoPLSA
    assert (np.diff(in_turn.history_["objective"]) >= -1e-6).all()
    assert not np.allclose(in_turn.transform(corpus.test), joint.transform(corpus.test), atol=1e-3)


def test_a_weight_is_chosen_once_for_all_runs(monkeypatch):
    experiment, fitted = load_experiment(str(COPLSA)), []
    monkeypatch.setattr(experiment, "_load", tiny)
    monkeypatch.setattr(experiment, "TRIAL_SWEEPS", 3)
    plain = experiment._coplsa
    monkeypatch.setattr(experiment, "_coplsa", lambda *args: fitted.append(args) or plain(*args))
    experiment.chosen_weight.cache_clear()
    first = experiment.chosen_weight("L2 coPLSA", "words", 3, (1.0, 10.0))
    assert first == experiment.chosen_weight("L2 coPLSA", "words", 3, (1.0, 10.0)) and first in (1.0, 10.0)
    assert len(fitted) == 2
    experiment.chosen_weight.cache_clear()


def test_similarities_of_a_space_do_not_depend_on_what_was_remembered():
    experiment, corpus = load_experiment(str(COPLSA)), tiny("words")
    from coview import CrossModalRetriever, LinkPLSA

    model = LinkPLSA(3, max_iter=5, random_state=0)
    found = experiment._search(model, corpus)
    for space, scores in found.items():
        plain = CrossModalRetriever(model, space).fit(corpus.train, corpus.target).clear().add(corpus.test)
        np.testing.assert_allclose(scores, plain.similarities(corpus.test, "image", "text"), atol=1e-6)


def test_the_committed_runs_are_complete_and_the_committed_table_is_what_they_print():
    if not (COPLSA / "results.jsonl").exists():
        pytest.skip("no runs of this reproduction are committed: there is nothing to compare")
    paper, results = read_paper(COPLSA), Results(COPLSA / "results.jsonl")
    assert missing_cells(paper, paper.cells(), results) == []
    text = table_text(paper, Numbers(paper, results, paper.runs))
    assert (COPLSA / "table.md").read_text(encoding="utf-8") == text
    assert all((COPLSA / "figures" / f"{table.name}.png").exists() for table in paper.tables if table.figure)
