"""Weights of views that are learned from few labels: useless views are left out, useful ones keep theirs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coview import MultiViewPLSAClassifier, SeededKMeansClassifier, Views
from coview.classification import view_evidence
from coview.classification.view_evidence import held_out_agreement, learn_view_weights
from coview.datasets import make_topic_views
from coview.engines.loop import Deadline


@pytest.fixture(scope="module")
def corpus():
    data = make_topic_views(400, {"words": 60, "tags": 40}, n_clusters=3, quality=0.25, random_state=0)
    noise = data.views["words"][np.random.default_rng(1).permutation(400)]  # real texts, but of other objects
    codes = np.full(400, -1)
    for label in range(3):
        codes[np.flatnonzero(data.target == label)[:3]] = label
    return data, Views({**dict(data.views.items()), "noise": noise}), codes


def test_useless_views_are_left_out_and_useful_ones_keep_their_weight(corpus):
    _, noisy, codes = corpus
    assert learn_view_weights(noisy, codes, 3, seed=0) == {"words": 1.0, "tags": 1.0, "noise": 0.0}


def test_two_views_that_agree_by_chance_keep_their_weights_without_labels_to_hold_out(corpus):
    _, noisy, codes = corpus
    lone = np.where(np.arange(400) == np.flatnonzero(codes >= 0)[0], codes, -1)
    assert set(learn_view_weights(noisy.select("tags", "noise"), lone, 3, seed=0).values()) == {1.0}


def test_a_view_that_shares_nothing_is_not_taken_in_by_a_few_labels_that_it_finds(corpus, monkeypatch):
    _, noisy, codes = corpus
    for kappa, n_held, weight in ((0.5, 9, 0.0), (0.5, 200, 1.0)):
        found = {"noise": kappa}, n_held
        monkeypatch.setattr(view_evidence, "held_out_agreement", lambda *given, found=found: found)
        assert learn_view_weights(noisy, codes, 3, seed=0) == {"words": 1.0, "tags": 1.0, "noise": weight}


def test_a_view_of_few_objects_is_no_stranger():
    data = make_topic_views(1200, {"words": 60, "tags": 40, "rare": 50}, n_clusters=3, quality=0.25, random_state=0)
    has = np.arange(1200) % 20 == 0  # of the objects that views are related by, too few
    rare = sparse.csr_array(data.views["rare"].toarray() * has[:, None])
    views = Views({**dict(data.views.items()), "rare": rare}, present={"rare": has})
    codes = np.where(np.arange(1200) % 15 == 0, data.target, -1)
    assert learn_view_weights(views, codes, 3, seed=0)["rare"] > 0


def test_views_are_not_compared_after_the_deadline(corpus, monkeypatch):
    _, noisy, codes = corpus
    monkeypatch.setattr(view_evidence, "relate_views", lambda *given: pytest.fail("views were compared"))
    assert set(learn_view_weights(noisy, codes, 3, 0, Deadline.after(1e-9)).values()) == {1.0}


def test_views_with_negative_values_are_judged_by_class_means(corpus):
    data, _, codes = corpus
    rng = np.random.default_rng(0)
    vectors = np.eye(3)[data.target] + 0.3 * rng.standard_normal((400, 3))
    views = Views(words=data.views["words"], vectors=vectors, noise=rng.standard_normal((400, 4)))
    assert learn_view_weights(views, codes, 3, seed=0) == {"words": 1.0, "vectors": 1.0, "noise": 0.0}


def test_held_out_labels_are_predicted_from_each_view_alone(corpus):
    data, noisy, _ = corpus
    codes = np.where(np.arange(400) < 90, data.target, -1)
    kappas, n_held = held_out_agreement(noisy, codes, 3, seed=0)
    assert n_held == 90 and min(kappas["words"], kappas["tags"]) > 0.5 > 0.3 > kappas["noise"]
    alone = np.where(np.arange(400) < 1, data.target, -1)
    assert held_out_agreement(noisy, alone, 3, seed=0) == (dict.fromkeys(noisy.names, 0.0), 0)


@pytest.mark.parametrize("model", [MultiViewPLSAClassifier, SeededKMeansClassifier])
def test_a_useless_view_costs_a_model_nothing(corpus, model):
    data, noisy, codes = corpus
    noisy = noisy.map({"noise": lambda part: 20 * part})

    def accuracy(X, **settings):
        return np.mean(
            model(random_state=0, **settings).fit(X, codes).transduction_[codes < 0] == data.target[codes < 0]
        )

    assert accuracy(noisy, view_weights="auto") == accuracy(data.views) > accuracy(noisy)


def test_seeded_kmeans_refuses_learned_weights_under_an_ontology(corpus):
    from coview import Ontology

    _, noisy, codes = corpus
    ontology = Ontology(["any", "0", "1", "2"], subset=[("0", "any"), ("1", "any"), ("2", "any")])
    y = [str(code) if code >= 0 else None for code in codes]
    with pytest.raises(ValueError, match="cannot be 'auto' with an ontology"):
        SeededKMeansClassifier(ontology=ontology, view_weights="auto").fit(noisy, y)
