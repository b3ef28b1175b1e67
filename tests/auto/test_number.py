"""How many clusters: chosen by what comes back, within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from coview import AutoClustering
from coview.auto.number import COLUMNS, LOSS, compare_numbers
from coview.datasets import make_blobs_views, make_topic_views
from coview.inspection.choice import describe_number, stable_numbers
from coview.views.views import Views


@pytest.mark.parametrize(("make", "n_clusters"), [(make_blobs_views, 2), (make_blobs_views, 5), (make_topic_views, 8)])
def test_clusters_that_are_apart_are_counted(make, n_clusters):
    made = make(n_objects=30 * n_clusters, n_clusters=n_clusters, random_state=n_clusters)
    assert AutoClustering(None, random_state=0).fit(made.views).n_clusters_ == n_clusters


def test_information_is_what_comes_back_less_what_does_not():
    made = make_blobs_views(n_objects=120, n_clusters=3, std=4.0, random_state=0)
    table = compare_numbers([made.views], [{}], 0)
    assert tuple(table) == COLUMNS and table["n_clusters"][:3] == [2, 3, 4]
    for k, stability, information in zip(*table.values()):
        assert 0 <= stability <= 1
        assert (
            0 < information / (stability - LOSS * (1 - stability)) <= np.log(k) + 1e-12
        )  # the entropy of the clusters
    assert entropy(np.ones(3)) == pytest.approx(np.log(3))


def test_few_objects_are_asked_about_few_numbers():
    X = Views(a=np.random.default_rng(0).normal(size=(33, 3)))
    assert compare_numbers([X], [{}], 0)["n_clusters"] == [2, 3]
    assert compare_numbers([X[:9]], [{}], 0) == {column: [] for column in COLUMNS}


def test_many_clusters_are_found_to_be_many():
    centers = 100.0 * np.arange(20)[:, None]
    rows = np.repeat(centers, 12, axis=0) + np.random.default_rng(0).normal(size=(240, 1))
    X = Views(a=np.hstack([rows, np.abs(rows - 1000)]), b=rows)
    assert 18 <= AutoClustering(None, random_state=0).fit(X).n_clusters_ <= 22


def test_a_view_of_noise_has_no_say_in_the_number():
    data = make_topic_views(n_objects=150, n_clusters=6, quality=0.5, random_state=1)
    noise = np.random.default_rng(1).normal(size=(150, 2))
    model = AutoClustering(None, random_state=0).fit(Views(dict(data.views.items()), noise=noise))
    assert model.view_relations_["verdict"] == ["shares", "shares", "noise"] and model.n_clusters_ == 6


def test_numbers_that_tell_more_than_their_neighbors_are_told():
    told = [0.9, 0.4, 0.8, 1.3, 0.0, 0.3, -0.4]
    table = {"n_clusters": [*range(2, 9)], "stability": [0.9] * 7, "information": told}
    assert stable_numbers(table) == [2, 5]
    words = describe_number(table)
    assert words.startswith("5 clusters were chosen, of 7 numbers from 2 to 8: ")
    assert words.endswith("Also stable: 2.")
