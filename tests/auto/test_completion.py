"""Completion: nats of half of an object's features that its cluster, by the other half, predicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from coview import Views
from coview.auto.completion import FOLDS, GUESS, SHARES, _Split, completions
from coview.datasets import make_topic_views


def by_hand(split: _Split, labels: np.ndarray) -> float:
    """Word for word what the head of the file says, object by object."""
    rows, n_clusters = split.rows.toarray(), labels.max() + 1
    had = rows.any(axis=1)
    known = [i for i in range(len(rows)) if labels[i] >= 0 and had[i]]
    told = dict.fromkeys(SHARES, 0.0)
    for i in known:
        others = [j for j in known if split.fold[j] != split.fold[i]]

        def ratio(w, z, others=others):
            half = [v for v in range(rows.shape[1]) if split.half[v] == split.half[w]]
            mine = [j for j in others if labels[j] == z]
            every, cluster = rows[others][:, half].sum(), rows[mine][:, half].sum()
            if not rows[others, w].sum() or not cluster:
                return 1.0  # nothing is known of the feature, or of the cluster
            return rows[mine, w].sum() / cluster / (rows[others, w].sum() / every)

        for seen in (0, 1):
            words = {side: np.flatnonzero(rows[i] * (split.half == side)) for side in (0, 1)}
            scores = [
                sum(rows[i, w] * math.log(GUESS + (1 - GUESS) * ratio(w, z)) for w in words[seen])
                for z in range(n_clusters)
            ]
            if not len(words[seen]):
                continue
            z = int(np.argmax(scores))
            for share in SHARES:
                told[share] += sum(rows[i, w] * math.log(share + (1 - share) * ratio(w, z)) for w in words[1 - seen])
    return max(told.values()) / len(known) * math.sqrt(np.mean([(rows[i] > 0).sum() for i in known])) * had.mean()


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_the_formula_says(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.4, size=(14, 9)).astype(float)
    labels = rng.integers(-1, 3, 14)
    split = _Split.of(sparse.csr_array(counts), 100, rng)
    assert split.completion(labels) == pytest.approx(by_hand(split, labels), abs=1e-12)


@pytest.fixture(scope="module")
def corpus():
    return make_topic_views(300, {"words": 200, "tags": 80}, n_clusters=4, length=[40, 10], quality=0.5, random_state=0)


def test_right_clusters_predict_more_than_wrong_ones_and_chance_nothing(corpus):
    y, rng = corpus.target, np.random.default_rng(0)
    half_wrong = np.where(rng.random(300) < 0.5, rng.integers(0, 4, 300), y)
    right, coarse, mixed, none = completions(corpus.views, [y, y // 2, half_wrong, rng.permutation(y)], 0)
    assert right > coarse > none
    assert right > mixed > none
    assert 0 <= none < 0.05 * right


def test_a_few_odd_objects_by_themselves_predict_little(corpus):
    odd = np.zeros(300, dtype=int)
    odd[:9] = np.arange(9) // 3 + 1
    right, found = completions(corpus.views, [corpus.target, odd], 0)
    assert found < 0.2 * right


def test_numbers_of_clusters_are_names_only(corpus):
    y = corpus.target
    one, other = completions(corpus.views, [y, 3 - y], 0)
    assert one == pytest.approx(other, rel=1e-12)


def test_views_add_up(corpus):
    alone = [completions(corpus.views.select(name), [corpus.target], 0)[0] for name in corpus.views.names]
    assert completions(corpus.views, [corpus.target], 0)[0] == pytest.approx(sum(alone), rel=1e-12)


def test_what_nobody_else_has_and_who_is_nowhere_count_for_nothing():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    counts = rng.poisson(np.where(y[:, None] == np.arange(12) % 2, 2.0, 0.2)).astype(float)
    split = _Split.of(np.hstack([counts, np.eye(60, 5)]), 100, rng)
    assert split.rows.shape[1] == 12
    hidden = np.where(np.arange(60) < 30, y, -1)
    some = _Split(split.rows[np.arange(30)], split.fold[:30], split.half)
    assert split.completion(hidden) == pytest.approx(some.completion(y[:30]), rel=1e-12)
    assert split.completion(np.full(60, -1)) == 0.0


def test_of_many_features_those_that_most_objects_have_are_kept():
    counts = np.tile([1.0, 0, 1, 0], (8, 1))
    counts[:3, 1] = 1
    counts[:2, 3] = 1
    split = _Split.of(counts, 3, np.random.default_rng(0))
    np.testing.assert_array_equal((split.rows.toarray() > 0).sum(axis=0), [8, 3, 8])
    assert set(split.fold) == set(range(FOLDS))


def test_nothing_is_predicted_of_views_without_a_feature():
    X = Views(words=sparse.csr_array((20, 6)))
    assert completions(X, [np.arange(20) % 2], 0).tolist() == [0.0]
