"""Labels along links: they speak for links that features know nothing of, and for no others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import cohen_kappa_score

import coview
from coview import AutoClassifier, Views
from coview.auto.cross_validation import deal_folds
from coview.auto.labels_along_links import FOLDS, HOPS, RESTART, labels_along_links

N, K = 360, 3


def made(
    within: float, told: float = 0.0, labels: int = 60, seed: int = 0, n: int = N
) -> tuple[Views, np.ndarray, np.ndarray]:
    """Links a share of which is `within` classes, words a share of which tells them, classes and codes of some."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    rates = (1 - told) / 60 + told * (np.arange(60) % K == y[:, None]) * K / 60
    words = sparse.csr_array(rng.poisson(15 * rates).astype(float))
    own = [rng.choice(np.flatnonzero(y == y[i]), 2) for i in range(n)]
    ends = np.where(rng.random((n, 2)) < within, own, rng.integers(n, size=(n, 2)))
    table = sparse.csr_array((np.ones(2 * n), (np.repeat(np.arange(n), 2), ends.ravel())), shape=(n, n))
    table = sparse.csr_array(((table + table.T) > 0).astype(float))
    ids = np.array([f"page {i}" for i in range(n)])
    codes = np.where(np.arange(n) < labels, y, -1)
    return Views(words=words, links=table, ids=ids, feature_names={"links": ids}), y, codes


@pytest.mark.parametrize("seed", range(3))
def test_labels_agree_along_links_within_classes_only(seed):
    for within, agree in ((0.9, True), (0.0, False)):
        X, _, codes = made(within, seed=seed)
        assert labels_along_links(X, "links", codes, K, seed).agree is agree


def test_kappa_is_that_of_labels_spread_by_hand():
    X, _, codes = made(0.7)
    found = labels_along_links(X, "links", codes, K, seed=0)
    links, folds, guesses = X["links"].toarray(), deal_folds(codes, FOLDS, 0), np.full(N, -1)
    root = 1 / np.sqrt(np.maximum(links.sum(axis=1), 1))
    step = root[:, None] * links * root
    for number in range(FOLDS):
        given = np.eye(K)[codes] * ((codes >= 0) & (folds != number))[:, None]
        shares = given
        for _ in range(HOPS):
            shares = (1 - RESTART) * step @ shares + RESTART * given
        hidden = (folds == number) & (shares.sum(axis=1) > 0)
        guesses[hidden] = (shares / shares.sum(axis=0))[hidden].argmax(axis=1)
    reached = guesses >= 0
    assert found.n_held_out == reached.sum()
    assert found.kappa == pytest.approx(cohen_kappa_score(codes[reached], guesses[reached]))


def test_a_view_that_says_more_keeps_the_links_out():
    X, _, codes = made(0.6)
    clear, _, _ = made(0.6, told=0.9)
    both = Views(words=clear["words"], links=X["links"])
    assert labels_along_links(X, "links", codes, K, seed=0).agree
    assert not labels_along_links(both, "links", codes, K, seed=0).agree


def test_few_labels_are_not_enough_however_well_they_agree():
    X, _, codes = made(1.0, labels=12)
    found = labels_along_links(X, "links", codes, K, seed=0)
    assert found.kappa > 0.5 and not found.agree and found.why.endswith("too few to tell")


def test_one_label_of_each_class_says_nothing():
    X, y, _ = made(1.0)
    codes = np.full(N, -1)
    for code in range(K):
        codes[np.flatnonzero(y == code)[0]] = code
    found = labels_along_links(X, "links", codes, K, seed=0)
    assert (found.n_held_out, found.agree) == (0, False) and found.why.startswith("no label can be held out")


def test_many_links_take_fewer_hops(monkeypatch):
    X, _, codes = made(0.9)
    all_hops = labels_along_links(X, "links", codes, K, seed=0)
    monkeypatch.setattr("coview.auto.labels_along_links.WORK", 1.0)
    fewer = labels_along_links(X, "links", codes, K, seed=0)
    assert fewer.n_held_out < all_hops.n_held_out


def test_the_classifier_follows_labels_where_words_do_not_know(tmp_path):
    X, y, codes = made(0.6, told=0.2, seed=2)
    hidden = codes < 0
    model = AutoClassifier(random_state=0).fit(X, codes)
    assert not model.links_["join"] and model.links_["labels_agree"]
    assert "more than in any other view" in model.links_["why"]
    assert any(name.startswith("near") for name in model.estimators_)
    assert "self-training" not in model.candidates_["name"]  # words know too little to learn from
    alone = AutoClassifier(random_state=0, links=False).fit(X, codes)
    right, before = (np.mean(each.transduction_[hidden] == y[hidden]) for each in (model, alone))
    assert right > before
    coview.save(model, tmp_path / "model.coview")
    assert coview.load(tmp_path / "model.coview").links_ == model.links_


def test_the_classifier_leaves_links_out_that_labels_do_not_follow():
    X, _, codes = made(0.0, told=0.3)
    model = AutoClassifier(random_state=0).fit(X, codes)
    assert not model.links_["join"] and not model.links_["labels_agree"]
    why = dict(zip(model.candidates_["name"], model.candidates_["dropped"]))["near latent"]
    assert why == model.links_["why"] and "or by chance" in why
