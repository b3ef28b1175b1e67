"""`suggest_labels`: what its columns are, who is named and who never is."""

from __future__ import annotations

import numpy as np
import pytest

from coview import (
    MultiViewNaiveBayes,
    SphericalKMeans,
    Views,
    suggest_labels,
)
from coview.model_selection import suggest


def grouped(n_per_class: int = 12, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Counts of three classes in two views, all different."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(3), n_per_class)
    rates = np.kron(np.eye(3), np.ones(5))[target] * 4 + 0.3
    return Views(a=rng.poisson(rates) + 0.0, b=rng.poisson(rates) + 0.0), target


def few(target: np.ndarray, per_class: int = 2) -> np.ndarray:
    """Labels of the first objects of each class, NaN for the others."""
    y = np.full(len(target), np.nan)
    for code in np.unique(target):
        rows = np.flatnonzero(target == code)[:per_class]
        y[rows] = code
    return y


@pytest.fixture(scope="module")
def small():
    X, target = grouped()
    y = few(target)
    return X, y, MultiViewNaiveBayes(alpha=0.1).fit(X, y)


def test_labeled_objects_are_never_named(small):
    X, y, model = small
    every = suggest_labels(model, X, len(X), y=y)
    assert set(every.indices.tolist()) == set(np.flatnonzero(np.isnan(y)).tolist())
    assert (every.n_labeled, every.n_unlabeled) == (6, 30)


def test_columns_are_what_the_model_says(small):
    X, y, model = small
    proba = np.sort(model.predict_proba(X), axis=1)
    for row in suggest_labels(model, X, y=y).rows:
        i = row["row"]
        assert row["predicted"] == model.predict(X[[i]])[0] and row["probability"] == pytest.approx(proba[i, -1])
        assert row["uncertainty"] == pytest.approx(1 - (proba[i, -1] - proba[i, -2]), abs=1e-9)


def test_objects_are_chosen_as_a_plain_loop_over_all_pairs_does():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    need, labeled = rng.random(30), places[:2]
    found = suggest._choose(places, labeled, need, 4, 0)
    covered = [max(0.0, *(float(p @ q) for q in labeled)) for p in places]
    for chosen, coverage in found:
        gains = []
        for i in range(30):
            gain = sum(need[j] * max(0.0, float(places[i] @ places[j]) - covered[j]) for j in range(30))
            gains.append(gain / need.sum())
        assert chosen == int(np.argmax(gains)) and coverage == pytest.approx(max(gains), rel=1e-4)
        covered = [max(c, float(places[chosen] @ places[j])) for j, c in enumerate(covered)]


def test_objects_without_any_view_or_known_feature_are_never_named(small):
    X, y, model = small
    present = np.ones((len(X), 2), dtype=bool)
    present[20] = False
    empty = {name: np.where(np.isin(np.arange(36), (20, 21))[:, None], 0, matrix) for name, matrix in X.items()}
    found = suggest_labels(model, Views(empty, present=present), len(X), y=y)
    assert not {20, 21} & set(found.indices.tolist()) and len(found) == 28


def test_the_order_of_objects_does_not_matter(small):
    X, y, model = small
    order = np.random.default_rng(3).permutation(len(X))
    one, other = suggest_labels(model, X, 8, y=y), suggest_labels(model, X[order], 8, y=y[order])
    assert one.indices.tolist() == order[other.indices].tolist()


def test_many_objects_are_sampled_and_the_seed_repeats_it(small, monkeypatch):
    X, y, model = small
    monkeypatch.setattr(suggest, "MOST", 20)
    monkeypatch.setattr(suggest, "LANDMARKS", 10)
    first, again = (suggest_labels(model, X, 40, y=y, random_state=4).rows for _ in range(2))
    assert first == again and len(first) == 20
    assert {row["row"] for row in first} != {row["row"] for row in suggest_labels(model, X, 40, y=y).rows}


def test_what_cannot_be_done_is_refused_in_a_sentence(small):
    X, _, model = small
    with pytest.raises(ValueError, match="needs a fitted classifier of at least two classes, got SphericalKMeans"):
        suggest_labels(SphericalKMeans(3, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="n must be"):
        suggest_labels(model, X, 0)
    with pytest.raises(ValueError, match="y must hold one label per object: 3 for 36"):
        suggest_labels(model, X, y=[0, 1, 2])


def test_of_equal_objects_the_second_comes_last(small):
    X, y, model = small
    twice = Views.concat([X, X])
    found = suggest_labels(model, twice, 60, y=np.append(y, np.full(len(y), np.nan)))
    first = [tuple(np.hstack([twice["a"][i], twice["b"][i]])) for i in found.indices[:20]]
    assert len(set(first)) == 20
