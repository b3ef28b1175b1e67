"""Rows of very different mass are brought to the same one; others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coview import DualPLSAClassifier, MultiViewPLSAClassifier, Views
from coview.datasets import make_topic_views
from coview.plsa.multiview import compute_row_masses, scale_to_masses
from coview.views.lazy import LazyViews


@pytest.fixture(scope="module")
def uneven():
    """Texts of which a few are a thousand times as long as the others."""
    data = make_topic_views(300, {"words": 80, "tags": 50}, n_clusters=3, quality=0.7, random_state=0)
    lengths = np.where(np.arange(300) % 30 == 0, 1000.0, 1.0)
    scaled = {name: sparse.csr_array(sparse.diags_array(lengths) @ matrix) for name, matrix in data.views.items()}
    y = np.where(np.arange(300) % 30 == 1, data.target, -1)
    return data, Views(scaled), y


def test_rows_get_the_median_mass_of_their_view_and_keep_their_shares(uneven):
    _, views, _ = uneven
    masses = compute_row_masses(views, "auto")
    scaled = scale_to_masses(views, masses)
    for name, matrix in views.items():
        sums = np.asarray(matrix.sum(axis=1)).ravel()
        assert masses[name] == np.median(sums[sums > 0])
        expected = matrix.toarray() / sums[:, None] * masses[name]
        np.testing.assert_allclose(scaled[name].toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize(("setting", "scales"), [("auto", False), (True, True), (False, False)])
def test_even_rows_are_scaled_only_where_asked(setting, scales):
    views = make_topic_views(50, n_clusters=2, random_state=0).views
    assert bool(compute_row_masses(views, setting)) == scales


def test_the_rule_looks_at_all_views_together():
    links = np.zeros((40, 5))
    links[0] = 9.0  # a short view may be as uneven as it likes
    assert compute_row_masses(Views(words=np.full((40, 6), 10.0), links=links), "auto") == {}


def test_lazy_views_are_scaled_as_those_in_memory(uneven):
    _, views, _ = uneven
    lazy = LazyViews.from_views(views, rows_per_part=70)
    masses = compute_row_masses(lazy, "auto")
    assert masses == compute_row_masses(views, "auto")
    np.testing.assert_array_equal(
        scale_to_masses(lazy, masses).collect()["words"].toarray(), scale_to_masses(views, masses)["words"].toarray()
    )


def test_empty_rows_and_whole_numbers_are_no_trouble():
    scaled = scale_to_masses(Views(words=np.array([[0, 0], [2, 6]])), {"words": 4.0})
    np.testing.assert_array_equal(scaled["words"], [[0.0, 0.0], [1.0, 3.0]])


@pytest.mark.parametrize("model", [MultiViewPLSAClassifier, DualPLSAClassifier])
def test_lengths_of_objects_do_not_change_a_classifier(uneven, model):
    data, views, y = uneven
    even = model(n_components=6, unit_mass=True, random_state=0).fit(data.views, y)
    fitted = model(n_components=6, random_state=0).fit(views, y)
    assert np.mean(fitted.transduction_ == data.target) > 0.95
    np.testing.assert_array_equal(fitted.transduction_, even.transduction_)
    np.testing.assert_allclose(fitted.predict_proba(views[:9]), fitted.predict_proba(data.views[:9]), atol=1e-6)


def test_batches_are_scaled_like_the_first_one(uneven):
    _, views, y = uneven
    model = MultiViewPLSAClassifier(n_components=6, random_state=0)
    model.partial_fit(views[:150], y[:150], classes=[0, 1, 2])
    masses = dict(model.row_masses_)
    model.partial_fit(views[150:], y[150:])
    assert model.row_masses_ == masses == compute_row_masses(views[:150], "auto")
