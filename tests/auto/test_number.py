"""How many clusters: chosen by what comes back, within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from coview import AutoClustering
from coview.auto import number as module
from coview.auto.number import COLUMNS, LARGE, SMALL, choose_number, compare_numbers
from coview.auto.votes import GraphVotes
from coview.datasets import make_blobs_views, make_topic_views
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.inspection.choice import describe_number, stable_numbers
from coview.views.views import Views


@pytest.mark.parametrize("make", [make_blobs_views, make_topic_views])
@pytest.mark.parametrize("n_clusters", [2, 3, 5, 8])
def test_clusters_that_are_apart_are_counted(make, n_clusters):
    made = make(n_objects=240, n_clusters=n_clusters, random_state=n_clusters)
    assert AutoClustering(None, random_state=0).fit(made.views).n_clusters_ == n_clusters


def test_information_is_what_comes_back_less_what_does_not():
    made = make_blobs_views(n_objects=120, n_clusters=3, std=4.0, random_state=0)
    table = compare_numbers(made.views, [3, 6], {}, 0)
    assert tuple(table) == COLUMNS
    for k, scales, samples, information in zip(*table.values()):
        assert 0 <= scales <= 1 and 0 <= samples <= 1
        sizes = (information / (2 * scales * samples - 1)) if scales * samples != 0.5 else 0.0
        assert 0 < sizes <= np.log(k) + 1e-12  # the entropy of the clusters
    assert entropy(np.ones(3)) == pytest.approx(np.log(3))


def test_few_objects_are_asked_about_few_numbers():
    number, table = choose_number(Views(a=np.random.default_rng(0).normal(size=(33, 3))), {}, 0, NO_DEADLINE)
    assert table["n_clusters"] == [2, 3] and number in table["n_clusters"]
    assert choose_number(Views(a=np.eye(3)), {}, 0, NO_DEADLINE) == (2, {column: [] for column in COLUMNS})


def test_large_numbers_are_tried_where_the_best_of_the_small_is_high():
    centers = 100.0 * np.arange(30)[:, None]
    rows = np.repeat(centers, 12, axis=0) + np.random.default_rng(0).normal(size=(360, 1))
    X = Views(a=np.hstack([rows, np.abs(rows - 1500)]), b=rows)
    number, table = choose_number(X, {}, 0, NO_DEADLINE)
    assert set(LARGE[:2]) <= set(table["n_clusters"]) and number >= 20
    hurried = choose_number(X, {}, 0, Deadline.after(1e-9))[1]
    assert hurried["n_clusters"] == list(SMALL)


def test_where_time_is_short_fewer_objects_are_asked(monkeypatch):
    X, sizes = make_blobs_views(n_objects=900, n_clusters=3, random_state=0).views, []
    embed = GraphVotes.embed
    monkeypatch.setattr(GraphVotes, "embed", lambda self, views: (sizes.append(len(views)), embed(self, views))[1])
    number, table = choose_number(X, {}, 0, Deadline.after(1e-9))
    assert sizes == [module.FEWEST // 2] * 2
    assert number == 3 and table["n_clusters"] == list(SMALL)
    sizes.clear()
    choose_number(X, {}, 0, NO_DEADLINE)
    assert set(sizes) == {450}


def test_a_view_of_noise_has_no_say_in_the_number():
    data = make_topic_views(n_objects=150, n_clusters=6, quality=0.5, random_state=1)
    noise = np.random.default_rng(1).normal(size=(150, 2))
    model = AutoClustering(None, random_state=0).fit(Views(dict(data.views.items()), noise=noise))
    assert model.view_relations_["verdict"] == ["shares", "shares", "noise"] and model.n_clusters_ == 6


def test_numbers_that_come_back_better_than_their_neighbors_are_told():
    again = {2: 0.95, 3: 0.7, 4: 0.8, 5: 0.9, 6: 0.5, 7: 0.6, 8: 0.4}
    table = {
        "n_clusters": list(again),
        "scales": list(again.values()),
        "samples": [1.0] * 7,
        "information": [0.5, 0.4, 0.8, 1.3, 0.0, 0.3, -0.4],
    }
    assert stable_numbers(table) == [2, 5, 7]
    words = describe_number(table)
    assert words.startswith("Of 7 numbers of clusters from 2 to 8, 5 was chosen: ")
    assert words.endswith("Also stable: 2, 7.")
