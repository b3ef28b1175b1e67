"""Soft assignment: rows are distributions over the nearest centers, missing stays missing, seeds repeat."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from coview import Views
from coview.exceptions import ViewsError
from coview.preprocessing import codebook
from coview.preprocessing.codebook import Codebook


@pytest.fixture(scope="module")
def points():
    return make_blobs(120, 5, centers=6, random_state=0)[0]


@pytest.mark.parametrize(("softness", "total"), [(0.7, 1.0), (0, 50.0)])
def test_weights_follow_the_formula_by_brute_force(points, softness, total):
    model = Codebook(8, softness=softness, n_nearest=3, total=total, random_state=0).fit(points)
    centers = model.centers_["x"]
    squared = ((points[:, None] - centers) ** 2).sum(axis=2)
    scale = np.median(squared.min(axis=1))
    np.testing.assert_allclose(model.scale_["x"], scale)
    expected = np.zeros((120, 8))
    for row, distances in zip(expected, squared):
        nearest = np.argsort(distances)[: 3 if softness else 1]
        row[nearest] = np.exp(-(distances[nearest] - distances.min()) / (softness * scale)) if softness else 1.0
        row *= total / row.sum()
    found = model.transform(points)["x"]
    assert found.format == "csr" and np.diff(found.indptr).max() <= 3
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)
    assert model.transform(points.astype(np.float32))["x"].dtype == np.float32


def test_centers_are_about_as_good_as_those_of_k_means(points):
    model = Codebook(6, random_state=0).fit(points)
    found = ((points[:, None] - model.centers_["x"]) ** 2).sum(axis=2).min(axis=1).sum()
    assert found <= 1.2 * KMeans(6, random_state=0, n_init=10).fit(points).inertia_


def test_blocks_of_rows_make_no_difference(points, monkeypatch):
    whole = Codebook(6, random_state=0).fit(points)
    expected = whole.transform(points)["x"].toarray()
    monkeypatch.setattr(codebook, "_BLOCK", 40)
    again = Codebook(6, random_state=0).fit(points)
    np.testing.assert_allclose(again.transform(points)["x"].toarray(), expected, atol=1e-12)
    assert again.scale_ == pytest.approx(whole.scale_)


def test_missing_rows_stay_missing(points):
    image, present = points.copy(), np.ones((120, 1), dtype=bool)
    image[::3], present[::3] = 0, False
    X = Codebook(6, random_state=0).fit(Views(image=image, present=present))
    words = X.transform(Views(image=image, present=present))
    np.testing.assert_array_equal(words.present, present)
    np.testing.assert_allclose(words["image"].sum(axis=1), present[:, 0])
    alone = Codebook(6, random_state=0).fit(Views(image=image[present[:, 0]]))
    np.testing.assert_array_equal(X.centers_["image"], alone.centers_["image"])


def test_only_dense_views_are_changed_by_default(points):
    X = Views(words=sparse.csr_array(np.abs(points).round()), image=points)
    found = Codebook(6, random_state=0).fit_transform(X)
    assert np.shares_memory(found["words"].data, X["words"].data)
    assert found["image"].shape == (120, 6)
    named = Codebook(6, views="words", random_state=0).fit_transform(X)
    assert named["words"].shape == (120, 6)
    assert np.shares_memory(named["image"], X["image"])


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (
            Codebook(500),
            ViewsError,
            "Codebook cannot find n_words=500 centers in view 'image', which only n_samples=120 objects have.",
        ),
        (Codebook({"b": 3}), ViewsError, "n_words has no entry for view 'image'; it names 'b'."),
        (
            Codebook(0),
            ValueError,
            "must be an int in the range [1, 2147483647] or a dict of such values by view. Got 0 instead.",
        ),
        (Codebook(3, softness=-1), ValueError, "The 'softness' parameter of Codebook must be a float"),
    ],
)
def test_bad_parameters_are_refused(points, model, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        model.fit(Views(image=points))


def test_a_number_of_words_for_each_view(points):
    X = Codebook({"a": 4, "b": 7}, random_state=0).fit_transform(Views(a=points, b=points))
    assert X.n_features == {"a": 4, "b": 7}
    assert X.feature_names["a"].tolist() == ["word0", "word1", "word2", "word3"]
