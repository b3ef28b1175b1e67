import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from coview import LazyViews, MultiViewPLSAClassifier, SeededKMeansClassifier, Views
from coview.classification import view_evidence
from coview.classification.naive_bayes import MultiViewNaiveBayes, NaiveBayesStart, learn_label_start
from coview.classification.view_evidence import held_out_agreement, learn_view_weights
from coview.datasets import make_topic_views
from coview.engines.loop import Deadline
from coview.exceptions import ParameterError


def corpus(n: int = 60, seed: int = 0) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.array(["ant", "bee", "cat"])[rng.integers(0, 3, size=n)]
    y[:3] = ["ant", "bee", "cat"]
    _, codes = np.unique(y, return_inverse=True)
    words, links = rng.gamma(0.3, size=(3, 24)), rng.gamma(0.3, size=(3, 15))
    return Views(
        words=sparse.csr_array(rng.poisson(3 * words[codes]).astype(float)), links=rng.poisson(2 * links[codes]) * 1.0
    ), y


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.1, 1.0, 3.0]), st.booleans())
def test_each_view_is_scikit_learns_model(seed, alpha, fit_prior):
    X, y = corpus(seed=seed)
    weight = np.random.default_rng(seed).uniform(0.1, 2, size=len(y))
    model = MultiViewNaiveBayes(alpha, fit_prior=fit_prior).fit(X, y, sample_weight=weight)
    found = model.predict_proba_by_view(X)
    for name, part in X.items():
        oracle = MultinomialNB(alpha=alpha, fit_prior=fit_prior).fit(part, y, sample_weight=weight)
        assert_allclose(found[name], oracle.predict_proba(part), rtol=1e-8, atol=1e-12)
        assert_allclose(model.feature_log_prob_[name], oracle.feature_log_prob_)
        assert_array_equal(model.classes_, oracle.classes_)
    assert_allclose(model.predict_proba(X), (found["words"] + found["links"]) / 2)


def test_weights_make_a_weighted_mean_and_zero_leaves_a_view_out():
    X, y = corpus()
    parts = MultiViewNaiveBayes().fit(X, y).predict_proba_by_view(X)
    model = MultiViewNaiveBayes(view_weights={"links": 3}).fit(X, y)
    assert_allclose(model.predict_proba(X), 0.25 * parts["words"] + 0.75 * parts["links"])
    alone = MultiViewNaiveBayes(view_weights={"words": 0}).fit(X, y)
    assert_allclose(alone.predict_proba(X), parts["links"])


def test_batches_give_the_model_of_one_fit():
    X, y = corpus()
    whole = MultiViewNaiveBayes().fit(X, y)
    model = MultiViewNaiveBayes()
    for rows in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[rows], y[rows], classes=["cat", "ant", "bee"])
    assert_allclose(model.predict_proba(X), whole.predict_proba(X))
    assert_allclose(model.class_count_, whole.class_count_)


def test_a_batch_may_lack_a_view_or_all_labels():
    X, y = corpus()
    model = MultiViewNaiveBayes().partial_fit(X, y, classes=np.unique(y))
    before = model.feature_count_["links"].copy()
    model.partial_fit(X.select("words"), y)
    assert_array_equal(model.feature_count_["links"], before)
    assert_allclose(model.feature_count_["words"].sum(), 2 * X["words"].sum())
    model.partial_fit(X, [None] * len(y))
    assert_array_equal(model.feature_count_["links"], before)


def test_a_missing_view_is_left_out_and_no_view_gives_the_prior():
    X, y = corpus()
    model = MultiViewNaiveBayes().fit(X, y)
    present = np.ones((2, 2), dtype=bool)
    present[0, 0] = present[1] = False
    new = Views(words=np.zeros((2, 24)), links=np.vstack([X["links"][:1], np.zeros((1, 15))]), present=present)
    assert_allclose(model.predict_proba(new)[0], model.predict_proba_by_view(X.select("links"))["links"][0])
    assert_allclose(model.predict_proba(new)[1], np.exp(model.class_log_prior_))


def test_bad_data_are_refused():
    X, y = corpus()
    with pytest.raises(ValueError, match="negative values"):
        MultiViewNaiveBayes().fit(X.map({"links": lambda part: part - 1}), y)
    with pytest.raises(ValueError, match="59 labels for 60 objects"):
        MultiViewNaiveBayes().fit(X, y[:-1])
    with pytest.raises(ValueError, match="2 weights for 60 objects"):
        MultiViewNaiveBayes().fit(X, y, sample_weight=[1, 2])
    with pytest.raises(ValueError, match="at least 0"):
        MultiViewNaiveBayes().fit(X, y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="first call to partial_fit"):
        MultiViewNaiveBayes().partial_fit(X, y)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        MultiViewNaiveBayes().partial_fit(X, y, classes=np.unique(y)).partial_fit(X, y, classes=["dog"])


# -- the start from few labels


def labeled_corpus(n: int = 90, k: int = 3, seed: int = 0) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    words, links = rng.gamma(0.3, size=(k, 30)), rng.gamma(0.3, size=(k, 20))
    return Views(
        words=sparse.csr_array(rng.poisson(8 * words[y]).astype(float)),
        links=sparse.csr_array(rng.poisson(6 * links[y]).astype(float)),
    ), y


def few_labels(y: np.ndarray, n: int = 12) -> np.ndarray:
    return np.where(np.arange(len(y)) < n, y, -1)


def test_a_round_of_co_em_is_naive_bayes_on_objects_that_are_shared_out():
    """Oracle: scikit-learn's; each unlabeled object is there once per class, weighted as the views say."""
    X, y = labeled_corpus()
    codes = few_labels(y, 6)
    start = NaiveBayesStart.learned(X, codes, 3)
    shares = start(X)
    shares[codes >= 0] = np.eye(3)[codes[codes >= 0]]
    expected = np.mean(
        [
            MultinomialNB()
            .fit(np.tile(part.toarray(), (3, 1)), np.repeat([0, 1, 2], len(y)), sample_weight=shares.T.ravel())
            .predict_proba(part.toarray())
            for part in X.values()
        ],
        axis=0,
    )
    assert_allclose(start.refined(X, codes)(X), expected, rtol=1e-9, atol=1e-12)


def test_rounds_of_co_em_find_the_classes_that_few_labels_leave_open():
    made = make_topic_views(n_objects=300, n_clusters=3, quality=0.3, random_state=0)
    X, y, codes = made.views, made.target, np.full(300, -1)
    for label in range(3):
        codes[np.flatnonzero(y == label)[0]] = label
    starts = (NaiveBayesStart.learned(X, codes, 3, scaled=True), learn_label_start(X, codes, 3))
    before, after = (np.mean(start(X).argmax(axis=1) == y) for start in starts)
    assert after > before + 0.2


def test_lazy_rows_start_where_rows_in_memory_do(monkeypatch):
    monkeypatch.setattr("coview.engines.protocol._ROWS", 37)
    X, y = labeled_corpus()
    codes = few_labels(y)
    lazy = learn_label_start(LazyViews.from_views(X, 37), codes, 3)
    assert_allclose(lazy(X), learn_label_start(X, codes, 3)(X), rtol=1e-9)


@pytest.mark.parametrize("unit", [0.001, 0.5, 100.0])
def test_the_unit_of_counts_does_not_matter(unit):
    X, y = labeled_corpus()
    codes = few_labels(y)
    one, other = (learn_label_start(part, codes, 3)(part) for part in (X, X.map(lambda part: part * unit)))
    assert_allclose(one, other, rtol=1e-6)


def test_smoothing_whose_sums_would_overflow_is_refused():
    X = Views(words=np.array([[3, 0], [0, 2]]))
    assert np.isfinite(MultiViewNaiveBayes(alpha=1e100).fit(X, [0, 1]).predict_proba(X)).all()
    with pytest.raises(ParameterError, match=r"alpha.* must be a float in the range"):
        MultiViewNaiveBayes(alpha=1e308).fit(X, [0, 1])


# -- Weights of views that are learned from few labels: useless views are left out, useful ones keep theirs


@pytest.fixture(scope="module")
def corpus_of_view_evidence():
    data = make_topic_views(400, {"words": 60, "tags": 40}, n_clusters=3, quality=0.25, random_state=0)
    noise = data.views["words"][np.random.default_rng(1).permutation(400)]  # real texts, but of other objects
    codes = np.full(400, -1)
    for label in range(3):
        codes[np.flatnonzero(data.target == label)[:3]] = label
    return data, Views({**dict(data.views.items()), "noise": noise}), codes


def test_useless_views_are_left_out_and_useful_ones_keep_their_weight(corpus_of_view_evidence):
    _, noisy, codes = corpus_of_view_evidence
    assert learn_view_weights(noisy, codes, 3, seed=0) == {"words": 1.0, "tags": 1.0, "noise": 0.0}


def test_two_views_that_agree_by_chance_keep_their_weights_without_labels_to_hold_out(corpus_of_view_evidence):
    _, noisy, codes = corpus_of_view_evidence
    lone = np.where(np.arange(400) == np.flatnonzero(codes >= 0)[0], codes, -1)
    assert set(learn_view_weights(noisy.select("tags", "noise"), lone, 3, seed=0).values()) == {1.0}


def test_a_view_that_shares_nothing_is_not_taken_in_by_a_few_labels_that_it_finds(corpus_of_view_evidence, monkeypatch):
    _, noisy, codes = corpus_of_view_evidence
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


def test_views_are_not_compared_after_the_deadline(corpus_of_view_evidence, monkeypatch):
    _, noisy, codes = corpus_of_view_evidence
    monkeypatch.setattr(view_evidence, "relate_views", lambda *given: pytest.fail("views were compared"))
    assert set(learn_view_weights(noisy, codes, 3, 0, Deadline.after(1e-9)).values()) == {1.0}


def test_views_with_negative_values_are_judged_by_class_means(corpus_of_view_evidence):
    data, _, codes = corpus_of_view_evidence
    rng = np.random.default_rng(0)
    vectors = np.eye(3)[data.target] + 0.3 * rng.standard_normal((400, 3))
    views = Views(words=data.views["words"], vectors=vectors, noise=rng.standard_normal((400, 4)))
    assert learn_view_weights(views, codes, 3, seed=0) == {"words": 1.0, "vectors": 1.0, "noise": 0.0}


def test_held_out_labels_are_predicted_from_each_view_alone(corpus_of_view_evidence):
    data, noisy, _ = corpus_of_view_evidence
    codes = np.where(np.arange(400) < 90, data.target, -1)
    kappas, n_held = held_out_agreement(noisy, codes, 3, seed=0)
    assert n_held == 90 and min(kappas["words"], kappas["tags"]) > 0.5 > 0.3 > kappas["noise"]
    alone = np.where(np.arange(400) < 1, data.target, -1)
    assert held_out_agreement(noisy, alone, 3, seed=0) == (dict.fromkeys(noisy.names, 0.0), 0)


@pytest.mark.parametrize("model", [MultiViewPLSAClassifier, SeededKMeansClassifier])
def test_a_useless_view_costs_a_model_nothing(corpus_of_view_evidence, model):
    data, noisy, codes = corpus_of_view_evidence
    noisy = noisy.map({"noise": lambda part: 20 * part})

    def accuracy(X, **settings):
        return np.mean(
            model(random_state=0, **settings).fit(X, codes).transduction_[codes < 0] == data.target[codes < 0]
        )

    assert accuracy(noisy, view_weights="auto") == accuracy(data.views) > accuracy(noisy)


def test_seeded_kmeans_refuses_learned_weights_under_an_ontology(corpus_of_view_evidence):
    from coview import Ontology

    _, noisy, codes = corpus_of_view_evidence
    ontology = Ontology(["any", "0", "1", "2"], subset=[("0", "any"), ("1", "any"), ("2", "any")])
    y = [str(code) if code >= 0 else None for code in codes]
    with pytest.raises(ValueError, match="cannot be 'auto' with an ontology"):
        SeededKMeansClassifier(ontology=ontology, view_weights="auto").fit(noisy, y)
