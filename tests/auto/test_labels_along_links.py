"""Labels along links: they speak for links that features know nothing of, and for no others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import cohen_kappa_score

import coview
from coview import AutoClassifier, Views
from coview.auto.cross_validation import deal_folds
from coview.auto.labels_along_links import FEWEST, FOLDS, HOPS, RESTART, labels_along_links
from coview.engines.loop import Deadline

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


def by_hand(X: Views, codes: np.ndarray, hops: int = HOPS) -> float:
    """Cohen's kappa of held-out labels with those spread over links in both directions."""
    links, folds, guesses = X["links"].toarray(), deal_folds(codes, FOLDS, 0), np.full(len(codes), -1)
    links = np.maximum(links, links.T)
    root = 1 / np.sqrt(np.maximum(links.sum(axis=1), 1))
    step = root[:, None] * links * root
    for number in range(FOLDS):
        given = np.eye(K)[codes] * ((codes >= 0) & (folds != number))[:, None]
        shares = given
        for _ in range(hops):
            shares = (1 - RESTART) * step @ shares + RESTART * given
        hidden = (folds == number) & (shares.sum(axis=1) > 0)
        guesses[hidden] = (shares / shares.sum(axis=0))[hidden].argmax(axis=1)
    asked = folds >= 0
    return float(cohen_kappa_score(codes[asked], guesses[asked]))


@pytest.mark.parametrize("cells", [20_000_000, 2 * N, 1])
def test_kappa_is_that_of_labels_spread_by_hand(cells, monkeypatch):
    X, _, codes = made(0.7)
    monkeypatch.setattr("coview.auto.labels_along_links.CELLS", cells)  # all classes at once, two, or one
    found = labels_along_links(X, "links", codes, K, seed=0)
    assert found.n_held_out == 60
    assert found.kappa == pytest.approx(by_hand(X, codes))


def test_links_of_one_direction_are_followed_in_both():
    X, _, codes = made(0.7)
    one_way = X.map({"links": lambda part: sparse.csr_array(sparse.triu(part))})
    assert labels_along_links(one_way, "links", codes, K, 0) == labels_along_links(X, "links", codes, K, 0)


def test_a_label_that_nothing_comes_to_is_not_found():
    X, _, codes = made(1.0)
    few = X.map({"links": lambda part: sparse.csr_array(part.multiply(np.arange(N)[:, None] < 60))})
    found = labels_along_links(few, "links", codes, K, seed=0)
    assert found.n_held_out == 60
    assert found.kappa == pytest.approx(by_hand(few, codes))
    assert 0 < found.kappa < labels_along_links(X, "links", codes, K, seed=0).kappa


@pytest.mark.parametrize(("within", "clear"), [(0.3, False), (0.9, True)])
def test_chance_is_not_enough(within, clear):
    X, _, codes = made(within)
    found = labels_along_links(X, "links", codes, K, seed=0)
    assert found.kappa > 0.05  # more than nothing, in both
    assert found.agree is clear
    assert found.why.endswith("not clearly more than chance") is not clear


def test_the_units_of_another_view_do_not_matter():
    X, y, codes = made(0.6)
    sizes = np.eye(K)[y] @ np.random.default_rng(0).normal(size=(K, 6)) + np.random.default_rng(1).normal(size=(N, 6))
    for shift in (0.0, 100.0):
        found = labels_along_links(Views(sizes=sizes + shift, links=X["links"]), "links", codes, K, seed=0)
        assert not found.agree and found.why.endswith("not clearly more than from view 'sizes'")


def test_no_time_no_labels():
    X, _, codes = made(0.9)
    found = labels_along_links(X, "links", codes, K, 0, Deadline.after(1e-9))
    assert not found.agree and "take long" in found.why


def test_all_labels_of_one_class():
    X, _, codes = made(0.9)
    assert not labels_along_links(X, "links", np.where(codes == 1, 0, -1), K, seed=0).agree


def test_a_view_that_says_more_keeps_the_links_out():
    X, _, codes = made(0.6)
    clear, _, _ = made(0.6, told=0.9)
    both = Views(words=clear["words"], links=X["links"])
    assert labels_along_links(X, "links", codes, K, seed=0).agree
    assert not labels_along_links(both, "links", codes, K, seed=0).agree


@pytest.mark.parametrize(("labels", "agree"), [(FEWEST - 1, False), (24, True)])
def test_few_labels_are_not_enough_however_well_they_agree(labels, agree):
    X, _, codes = made(1.0, labels=labels)
    found = labels_along_links(X, "links", codes, K, seed=0)
    assert found.agree is agree
    assert agree or found.why == f"labels are too few to tell ({labels} can be held out)"


def test_many_links_take_fewer_hops(monkeypatch):
    X, _, codes = made(0.7)
    monkeypatch.setattr("coview.auto.labels_along_links.WORK", 3.5 * K * FOLDS * (X["links"].nnz + N))
    assert labels_along_links(X, "links", codes, K, seed=0).kappa == pytest.approx(by_hand(X, codes, hops=3))


def test_the_classifier_follows_labels_where_words_do_not_know(tmp_path):
    X, y, codes = made(0.6, told=0.1, seed=3)
    hidden = codes < 0
    model = AutoClassifier(random_state=0).fit(X, codes)
    assert not model.links_["join"] and model.links_["used"]
    assert "held-out labels are found over links" in model.links_["why"]
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
    assert not model.links_["join"] and not model.links_["used"]
    why = dict(zip(model.candidates_["name"], model.candidates_["dropped"]))["near latent"]
    assert why == model.links_["why"] and "not clearly more than chance" in why


def test_links_that_are_named_are_not_judged_by_labels():
    X, _, codes = made(0.0, told=0.3)
    model = AutoClassifier(links="links", random_state=0).fit(X, codes)
    assert model.links_["used"] and "labels" not in model.links_["why"]
    assert model.links_["why"].startswith("the parameter links names them; ")
    assert not AutoClassifier(["margins"], links="links").fit(X, codes).links_["used"]


def test_links_of_one_direction_smooth_in_both():
    X, _, codes = made(0.8, told=0.3)
    one_way = X.map({"links": lambda part: sparse.csr_array(sparse.triu(part))})
    names = ["near latent"]
    models = [AutoClassifier(names, links="links", random_state=0).fit(each, codes) for each in (X, one_way)]
    np.testing.assert_allclose(models[0].memberships_, models[1].memberships_)
    alone = np.concatenate([models[1].predict_proba(one_way[[i]]) for i in range(60, 90)])
    both = np.concatenate([models[0].predict_proba(X[[i]]) for i in range(60, 90)])
    np.testing.assert_allclose(alone, both)  # fitted objects are known by those that link to them, too


def test_a_file_written_before_links_said_whether_they_are_used(tmp_path):
    X, _, codes = made(0.9, told=0.3)
    model = AutoClassifier(["margins", "near latent"], links="links", random_state=0).fit(X, codes)
    del model.links_["used"]
    coview.save(model, tmp_path / "old.coview")
    assert coview.load(tmp_path / "old.coview").links_ == model.links_
