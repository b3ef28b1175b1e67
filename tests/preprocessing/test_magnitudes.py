"""Vectors of another scale than those of the fit are told of, and ordinary ones never are."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from coview import AutoClassifier, LabelSpreadingClassifier, LinkPLSA, SphericalKMeans, Views, load, save
from coview.preprocessing.scaling import vector_norms, warn_of_other_scale

CLASSES = np.arange(150) % 3


def vectors():
    rng = np.random.default_rng(0)
    return 0.5 + 2 * rng.normal(size=(3, 24))[CLASSES] + rng.normal(size=(150, 24))


def heard(ask):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask()
    return [str(each.message) for each in caught if "long, but" in str(each.message)]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("model", [AutoClassifier(random_state=0, time_budget=5), LabelSpreadingClassifier()])
def test_a_classifier_warns_once_of_vectors_that_were_normalized(model):
    X = vectors()
    model.fit(Views(vec=X[:100]), CLASSES[:100])
    assert not heard(lambda: model.predict(Views(vec=X[100:])))
    for rows in (X[100:], X[100:101]):
        messages = heard(lambda rows=rows: model.predict(Views(vec=unit(rows))))
        assert len(messages) == 1
        assert messages[0].startswith("View 'vec' has vectors about 1 long, but ")


def test_a_model_from_a_file_and_one_plain_matrix_warn_too(tmp_path):
    X = vectors()
    save(LinkPLSA(3, random_state=0).fit(X), tmp_path / "m.coview")
    model = load(tmp_path / "m.coview")
    assert not heard(lambda: model.transform(X[:7]))
    assert len(heard(lambda: model.transform(X[:7] * 10))) == 1
    assert len(heard(lambda: model.transform(X[:7] / 10))) == 1


def test_a_model_of_directions_does_not_mind():
    X = vectors()
    model = SphericalKMeans(3, random_state=0).fit(Views(vec=X))
    assert not heard(lambda: model.predict(Views(vec=unit(X))))


@pytest.mark.parametrize("size", [1, 2, 5, 50])
def test_subsets_of_the_same_data_are_never_told_of(size):
    rng = np.random.default_rng(size)
    heavy = np.exp(rng.normal(0, 1.5, size=(400, 4)))
    for data in (load_digits().data / 16, heavy, rng.standard_t(2, size=(500, 32))):
        for _ in range(20):
            rows = rng.permutation(len(data))
            fitted = vector_norms(data[rows[: len(data) // 2]])
            new = data[rows[len(data) // 2 :][:size]]
            assert not heard(lambda fitted=fitted, new=new: warn_of_other_scale({"v": fitted}, {"v": new}))


def test_counts_and_single_columns_have_no_lengths():
    assert vector_norms(np.array([[3.0, 1.0], [2.0, 5.0]])) is None
    assert vector_norms(np.array([[0.5], [0.7]])) is None
