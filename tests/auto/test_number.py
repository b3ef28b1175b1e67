"""How many clusters: chosen by what comes back, within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from coview.auto.clustering import AutoClustering
from coview.auto.number import LARGE, SMALL, choose_number, reproduced_information
from coview.clustering.spectral import SpectralClusteringViews
from coview.datasets import make_blobs_views, make_topic_views
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.views.views import Views


@pytest.mark.parametrize("n_clusters", [3, 6])
def test_blobs_that_are_apart_are_counted(n_clusters):
    made = make_blobs_views(n_objects=240, n_clusters=n_clusters, random_state=0)
    number, table = choose_number(made.views, 0, NO_DEADLINE)
    assert number == n_clusters
    assert table["n_clusters"] == list(SMALL)


def test_information_is_what_comes_back_less_what_does_not():
    rng = np.random.default_rng(0)
    one = rng.integers(0, 4, 200)
    two = np.where(rng.random(200) < 0.9, one, rng.integers(0, 4, 200))
    again = adjusted_mutual_info_score(one, two)
    sizes = [np.bincount(labels) / 200 for labels in (one, two)]
    spread = np.mean([-(share * np.log(share)).sum() for share in sizes])
    assert reproduced_information(one, two) == pytest.approx((spread * (2 * again - 1), again))
    assert reproduced_information(one, np.zeros(200, dtype=int)) == (0, 0)


def test_where_no_number_is_borne_out_the_smallest_that_comes_back_as_well_as_any_is_taken(monkeypatch):
    table = {"n_clusters": [2, 3, 4, 14], "information": [-0.3, -0.4, -0.5, -0.6], "reproduced": [0.1, 0.29, 0.2, 0.3]}
    asked = []
    monkeypatch.setattr("coview.auto.number._evidence", lambda views, numbers, *_: asked.append(numbers) or table)
    assert choose_number(Views(a=np.eye(40)), 0, NO_DEADLINE)[0] == 3
    assert asked == [SMALL]  # large numbers are for data that bear out high ones


def test_few_objects_are_asked_about_few_numbers():
    number, table = choose_number(Views(a=np.random.default_rng(0).normal(size=(33, 3))), 0, NO_DEADLINE)
    assert table["n_clusters"] == [2, 3] and number in table["n_clusters"]
    assert choose_number(Views(a=np.eye(3)), 0, NO_DEADLINE) == (2, {key: [] for key in table})


def test_large_numbers_are_tried_where_the_best_of_the_small_is_high():
    centers = np.arange(30)[:, None] * 100.0
    rows = np.repeat(centers, 12, axis=0) + np.random.default_rng(0).normal(size=(360, 1))
    X = Views(a=np.hstack([rows, rows[::-1] * 0]), b=rows)
    number, table = choose_number(X, 0, NO_DEADLINE)
    assert set(LARGE[:2]) <= set(table["n_clusters"]) and number >= 20
    hurried = choose_number(X, 0, Deadline.after(1e-9))[1]
    assert hurried["n_clusters"] == list(SMALL)


def test_where_time_is_short_fewer_objects_are_asked(monkeypatch):
    X, sizes = make_blobs_views(n_objects=900, n_clusters=3, random_state=0).views, []
    fit = SpectralClusteringViews.fit
    monkeypatch.setattr(
        SpectralClusteringViews, "fit", lambda self, views: (sizes.append(len(views)), fit(self, views))[1]
    )
    number, table = choose_number(X, 0, Deadline.after(1e-9))
    assert sizes == [150, 150]
    assert number == 3 and table["n_clusters"] == list(SMALL)
    sizes.clear()
    choose_number(X, 0, NO_DEADLINE)
    assert set(sizes) == {450}


def test_a_view_of_noise_has_no_say_in_the_number():
    """By all three views ten clusters would come back best."""
    data = make_topic_views(n_objects=150, n_clusters=6, quality=0.5, random_state=1)
    noise = np.random.default_rng(1).normal(size=(150, 2))
    model = AutoClustering(None, random_state=0).fit(Views(dict(data.views.items()), noise=noise))
    assert model.view_relations_["verdict"] == ["shares", "shares", "noise"] and model.n_clusters_ == 6
