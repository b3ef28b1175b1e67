"""The 2016 paper's file and experiments: every printed figure, labels drawn as said, rows that the tables ask for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from harness.paper import Cell, load_experiment, read_paper
from scipy import sparse

from coview import Views
from coview.datasets import make_topic_views
from coview.exceptions import DataFileError

PAPER = Path(__file__).resolve().parents[2] / "reproductions" / "optimal_assignment_2016"

pytestmark = pytest.mark.no_cover


def test_every_printed_figure_is_transcribed():
    counts = {
        table.name: sum(len(figures) for rows in table.published.values() for figures in rows.values())
        for table in read_paper(PAPER).tables
    }
    assert (counts["table2"], counts["table4"]) == (9 * 2 * 7, 6 * 8)


def test_labels_are_a_random_share_with_one_of_each_class():
    draw = load_experiment(str(PAPER)).draw_labels
    target = np.repeat([0, 1, 2], [180, 118, 2])
    found = draw(target, 0.1, 3)
    assert 30 <= (found >= 0).sum() <= 32 and set(found[found >= 0]) == {0, 1, 2}
    assert (found[found >= 0] == target[found >= 0]).all()
    assert (found != draw(target, 0.1, 4)).any()


def test_data_that_cannot_be_had_are_refused():
    with pytest.raises(DataFileError, match="cannot be had"):
        load_experiment(str(PAPER)).load("nell", {"unavailable": "No copy is known.", "title": "NELL_mv"})


def test_every_method_gives_the_rows_of_its_tables(monkeypatch):
    paper, experiment = read_paper(PAPER), load_experiment(str(PAPER))
    made = make_topic_views(60, {"words": 30, "other": 60}, n_clusters=4, random_state=0)
    links = (made.target[:, None] == made.target) * 1.0
    groups = np.array(["a.x", "a.y", "b.z", "b.w"])

    def tiny(loader, links_as, views):
        second = {"links": links} if loader in ("cora", "citeseer", "webkb") else {"other": made.views["other"]}
        return SimpleNamespace(
            views=Views({"words": made.views["words"], **second}),
            target=made.target,
            target_names=groups,
            hierarchy={group: group[0] for group in groups},
        )

    monkeypatch.setattr(experiment, "_load", tiny)
    monkeypatch.setattr(experiment, "_directed", tiny)
    experiment._weighted.cache_clear()
    experiment._smoothed_of.cache_clear()
    values: dict[Cell, dict] = {}
    for table in paper.tables:
        for data, rows in table.rows.items():
            options = paper.raw["data"][data]
            if "unavailable" in options:
                continue
            cells = {c.method: c for c in paper.cells([table.name], runs=1) if c.data == data}
            values.update((cell, experiment.run(cell, options)) for cell in cells.values() if cell not in values)
            for metric in table.metrics:
                given = {row: x for cell in cells.values() for row, x in values[cell].get(metric, {}).items()}
                assert set(rows) <= set(given), (table.name, data)
    experiment._smoothed_of.cache_clear()


def test_the_direction_of_links_comes_back_from_the_same_graph_under_other_names():
    experiment = load_experiment(str(PAPER))
    rng = np.random.default_rng(0)
    arcs = sparse.random_array((40, 40), density=0.06, rng=rng, format="csr")
    order = rng.permutation(40)
    renamed = arcs[order][:, order]
    links = renamed.maximum(renamed.T)
    found = experiment.directed(links, arcs)
    assert found.nnz == arcs.nnz  # every link has one direction, and they are those of the arcs
    assert not ((found != 0).maximum((found != 0).T) != (links != 0)).nnz
    with pytest.raises(DataFileError, match="not the same graph"):
        experiment.directed(sparse.csr_array(np.ones((40, 40))), arcs)
