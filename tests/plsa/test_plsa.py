"""PLSA: its mathematics against naive EM and scikit-learn's NMF, its laws, and its edges."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import non_negative_factorization

from coview import PLSA, DualPLSAClassifier, LinkPLSA, MultiViewPLSAClassifier, Views
from coview.catalog import ESTIMATORS, resolve
from coview.datasets import make_topic_views
from coview.engines import cpu
from coview.engines.cpu import CpuEngine
from coview.exceptions import ViewsError
from coview.plsa.minibatches import FIRST_ITERATIONS
from coview.plsa.multiview import compute_row_masses, scale_to_masses
from coview.plsa.steps import draw_rows
from coview.views.lazy import LazyViews


def counts(n=30, m=20, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, m), density=density, format="csr", rng=rng)
    X.data = np.ceil(4 * X.data)
    return X


def naive_em(X, memberships, topic_feature, sweeps, *, alternating):
    """EM written with p(y|d,f) in full, as the textbook has it."""
    X = X.toarray()
    for _ in range(sweeps):

        def posterior(doc, topics):
            joint = doc[:, :, None] * topics[None]
            return joint / joint.sum(axis=1, keepdims=True)

        p = posterior(memberships, topic_feature)
        new_doc = (X[:, None] * p).sum(axis=2)
        new_doc = new_doc / new_doc.sum(axis=1, keepdims=True)
        if alternating:
            p = posterior(new_doc, topic_feature)
        topic_feature = (X[:, None] * p).sum(axis=0)
        topic_feature = topic_feature / topic_feature.sum(axis=1, keepdims=True)
        memberships = new_doc
    return memberships, topic_feature


def start(X, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), X.shape[0]), rng.dirichlet(np.ones(X.shape[1]), k)


@pytest.mark.parametrize("algorithm", ["fast", "published"])
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_equals_naive_em_from_the_same_start(algorithm, engine):
    X = counts()
    doc, topics = start(X, 4)
    model = PLSA(
        4, max_iter=25, tol=0, algorithm=algorithm, init={"memberships": doc, "topic_feature": topics}, engine=engine
    )
    model.fit(X)
    right_doc, right_topics = naive_em(X, doc, topics, 25, alternating=algorithm == "fast")
    assert_allclose(model.memberships_, right_doc, atol=1e-9)
    assert_allclose(model.topic_feature_["x"], right_topics, atol=1e-9)


def test_reaches_the_divergence_of_scikit_learns_nmf_from_the_same_start():
    X = counts(60, 40)
    doc, topics = start(X, 5)
    totals = np.asarray(X.sum(axis=1)).reshape(-1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        W, H, _ = non_negative_factorization(
            X, W=doc * totals, H=topics.copy(), n_components=5, init="custom", solver="mu",
            beta_loss="kullback-leibler", max_iter=10, tol=0,
        )  # fmt: skip
    model = PLSA(5, max_iter=10, tol=0, init={"memberships": doc, "topic_feature": topics}).fit(X)
    WH = W @ H
    coo = X.tocoo()
    # generalized KL at the best scale of each row is the likelihood of its shares
    right = (coo.data * np.log(WH[coo.row, coo.col] / WH.sum(axis=1)[coo.row])).sum()
    assert model.history_["objective"][-1] == pytest.approx(right, rel=1e-4)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 25), m=st.integers(1, 20), k=st.integers(1, 12), density=st.floats(0, 1),
    seed=st.integers(0, 1000), algorithm=st.sampled_from(["fast", "published"]),
)  # fmt: skip
def test_laws_hold_on_any_counts(n, m, k, density, seed, algorithm):
    X = counts(n, m, seed, density)
    model = PLSA(k, max_iter=15, tol=0, algorithm=algorithm, random_state=seed).fit(X)
    values = np.array(model.history_["objective"])
    assert (np.diff(values) >= -1e-9 * np.maximum(1, np.abs(values[1:]))).all()
    assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-9)
    assert_allclose(model.topic_feature_["x"].sum(axis=1), 1, atol=1e-9)
    mixtures = model.transform(X)
    assert_allclose(mixtures.sum(axis=1), 1, atol=1e-9)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize(("n_topics", "dtype"), [(1, np.int32), (6, np.float64), (58, np.float32)])
def test_all_steps_at_once_end_where_steps_one_by_one_do(monkeypatch, n_topics, dtype):
    X = Views(words=counts(120, 60).astype(dtype), tags=counts(120, 20, seed=1).astype(dtype))
    model = LinkPLSA(n_topics, view_weights={"words": 0.7, "tags": 2.0}, random_state=0).fit(X)
    at_once = model.transform(X)
    monkeypatch.setattr(CpuEngine, "settled_rows", lambda *_: None)
    one_by_one = model.transform(X)
    assert at_once.dtype == one_by_one.dtype
    assert_allclose(at_once, one_by_one, atol=1e-9 if dtype != np.float32 else 2e-3)


@pytest.mark.parametrize("room", [None, 1000])
def test_fold_in_of_long_empty_and_no_objects(monkeypatch, room):
    if room is not None:  # bytes: every long object has more rows of profiles than are copied at a time
        monkeypatch.setattr(cpu, "_COPIES", room)
    rng = np.random.default_rng(0)
    long = rng.poisson(2.0, (3, 5000))
    X = np.vstack([long, np.zeros((1, 5000), dtype=np.int64), rng.poisson(0.01, (40, 5000))])
    model = PLSA(4, random_state=0).fit(X)
    together = model.transform(X)
    assert_array_equal(together[3], np.full(4, 0.25))
    assert_allclose(np.vstack([model.transform(X[[i]]) for i in range(len(X))]), together, rtol=1e-9, atol=1e-12)
    assert_allclose(PLSA(4, engine=CpuEngine(2), random_state=0).fit(X).transform(X), together, rtol=1e-9, atol=1e-12)
    engine = CpuEngine(1)
    nothing = engine.settled_rows(
        [(engine.prepare(X[:0]), np.full((5000, 4), 1 / 5000), 1.0)], together[:0], 9, 0, 0, 0
    )
    assert nothing.shape == (0, 4)


def test_several_views_equal_their_concatenation():
    X, Z = counts(40, 20), counts(40, 15, seed=5)
    doc, topics = start(sparse.hstack([X, Z]), 3)
    glued = PLSA(3, max_iter=20, tol=0, init={"memberships": doc, "topic_feature": topics}).fit(
        sparse.hstack([X, Z], "csr")
    )
    shares = np.column_stack([topics[:, :20].sum(axis=1), topics[:, 20:].sum(axis=1)])
    parts = {"a": topics[:, :20], "b": topics[:, 20:]}
    views = Views(a=X, b=Z)
    init = {"memberships": doc, "topic_feature": parts, "topic_view": shares}
    model = PLSA(3, max_iter=20, tol=0, init=init).fit(views)
    assert_allclose(model.memberships_, glued.memberships_, atol=1e-9)
    joint = np.hstack([model.topic_view_[:, [v]] * model.topic_feature_[name] for v, name in enumerate("ab")])
    assert_allclose(joint, glued.topic_feature_["x"], atol=1e-9)
    assert_allclose(model.transform(views), glued.transform(sparse.hstack([X, Z], "csr")), atol=1e-6)


def test_a_fit_starts_again_from_its_own_attributes():
    X = Views(a=counts(30, 12), b=counts(30, 9, seed=1))
    first = PLSA(3, max_iter=10, tol=0, random_state=0).fit(X)
    init = {name: getattr(first, name) for name in ("memberships_", "topic_feature_", "topic_view_")}
    second = PLSA(3, max_iter=5, tol=0, init=init).fit(X)
    unbroken = PLSA(3, max_iter=15, tol=0, random_state=0).fit(X)
    assert second.history_["objective"][-1] == pytest.approx(unbroken.history_["objective"][-1], rel=1e-9)


def test_permuting_rows_columns_and_topics_commutes():
    X = counts(25, 18)
    doc, topics = start(X, 4)
    rng = np.random.default_rng(0)
    rows, columns, order = rng.permutation(25), rng.permutation(18), rng.permutation(4)
    plain = PLSA(4, max_iter=12, tol=0, init={"memberships": doc, "topic_feature": topics}).fit(X)
    init = {"memberships": doc[rows][:, order], "topic_feature": topics[order][:, columns]}
    mixed = PLSA(4, max_iter=12, tol=0, init=init).fit(X[rows][:, columns])
    assert_allclose(mixed.memberships_, plain.memberships_[rows][:, order], atol=1e-9)
    assert_allclose(mixed.topic_feature_["x"], plain.topic_feature_["x"][order][:, columns], atol=1e-9)


def test_empty_rows_and_columns():
    X = counts().toarray()
    X[3] = 0
    X[:, 5] = 0
    model = PLSA(3, random_state=0).fit(X)
    assert_allclose(model.memberships_[3], 1 / 3)
    assert_allclose(model.transform(X)[3], 1 / 3)
    assert (model.topic_feature_["x"][:, 5] < 1e-12).all()


def test_a_feature_unseen_in_training_says_nothing():
    X = counts(30, 20).toarray()
    X[:, 7] = 0
    model = PLSA(3, random_state=0).fit(X)
    new = X.copy()
    new[:, 7] = 4
    assert_allclose(model.transform(new), model.transform(X), atol=2e-3)


def test_score_is_mean_log_likelihood_per_token():
    X = counts()
    model = PLSA(3, random_state=0).fit(X)
    mixture = model.transform(X) @ model.topic_feature_["x"]
    coo = X.tocoo()
    expected = (coo.data * np.log(mixture[coo.row, coo.col])).sum() / X.sum()
    assert model.score(X) == pytest.approx(expected, rel=1e-9)
    assert model.perplexity(X) == pytest.approx(np.exp(-expected))


def test_minibatches_reach_the_batch_likelihood():
    X = make_topic_views(n_objects=300, n_views=1, n_clusters=4, random_state=1).views
    batch, model = PLSA(4, random_state=0).fit(X).score(X), PLSA(4, random_state=0)
    for epoch in range(6):
        for part in np.array_split(np.random.default_rng(epoch).permutation(300), 6):
            model.partial_fit(X[part])
    assert model.score(X) > batch - 0.02 * abs(batch)
    assert model.n_batches_ == 36
    assert_allclose(next(iter(model.topic_feature_.values())).sum(axis=1), 1, atol=1e-9)


def test_the_first_batch_is_a_fit_of_some_sweeps_and_one_batch_more():
    X = counts(40, 20)
    fitted = PLSA(3, max_iter=FIRST_ITERATIONS, tol=0, random_state=0).fit(X)
    rows, topics = fitted.transform(X), fitted.topic_feature_["x"]
    expected = topics * (rows.T @ (X.toarray() / (rows @ topics)))
    model = PLSA(3, random_state=0).partial_fit(X)
    assert_allclose(model.topic_feature_["x"], expected / expected.sum(axis=1, keepdims=True), atol=1e-3)


def test_partial_fit_needs_the_same_views_and_fit_starts_afresh():
    X = Views(a=counts(), b=counts(seed=2))
    model = PLSA(2, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="X lacks 'b'"):
        model.partial_fit(X.select("a"))
    model.fit(X)
    assert_array_equal(model.memberships_, PLSA(2, random_state=0).fit(X).memberships_)


def test_top_features_asks_for_a_view_where_there_are_several():
    model = PLSA(2, random_state=0).fit(Views(a=counts(), b=counts(seed=2)))
    assert model.top_features("b", 2)[0][0][0].startswith("f")
    with pytest.raises(ViewsError, match="'a', 'b'"):
        model.top_features()


@pytest.mark.parametrize(
    ("init", "sentence"),
    [
        ({"memberships": np.ones((3, 2))}, "must have shape"),
        ({"topic_feature": -np.ones((2, 20))}, "at least 0"),
        ({"topic_feature": np.zeros((2, 20))}, "sums to 0"),
        ({"topics": np.ones((2, 20))}, "known keys are"),
    ],
)
def test_a_bad_start_is_refused(init, sentence):
    with pytest.raises(ValueError, match=sentence):
        PLSA(2, init=init).fit(counts())


def test_one_matrix_is_refused_where_several_views_were_fitted():
    model = PLSA(2, random_state=0).fit(Views(a=counts(), b=counts(seed=2)))
    with pytest.raises(ViewsError, match="fitted on 2 views"):
        model.transform(counts())


def test_only_the_first_batch_draws_from_a_shared_random_state():
    X, shared = np.random.default_rng(0).poisson(1.0, (20, 6)), np.random.RandomState(0)
    model = PLSA(2, random_state=shared).partial_fit(X)
    before = shared.get_state()[2]
    model.partial_fit(X)
    assert shared.get_state()[2] == before


def test_partial_fit_goes_on_from_a_fit():
    X = counts(60, 30)
    model = PLSA(4, random_state=0).fit(X)
    before, topics = model.score(X), model.topic_feature_["x"].copy()
    model.partial_fit(X[:10])
    assert not np.array_equal(model.topic_feature_["x"], topics)
    assert model.score(X) > before - 0.05 * abs(before)
    assert model.score(X) > PLSA(4, random_state=0).partial_fit(X[:10]).score(X)


@pytest.mark.parametrize("init", ["nmf", "given"])
def test_a_fixed_start_is_run_once(init):
    X = counts()
    seen = []
    if init == "given":
        init = dict(zip(("memberships", "topic_feature"), start(X, 3)))
    model = PLSA(3, init=init, n_init=4, max_iter=2, tol=0, random_state=0)
    model.set_callbacks(lambda s: seen.append(s.restart)).fit(X)
    assert seen == [0, 0]


@pytest.mark.parametrize(
    "name", [name for name, entry in ESTIMATORS.items() if entry.module.startswith("coview.plsa.")]
)
def test_a_fit_leaves_curves_of_one_length_and_the_seconds_of_its_phases(name):
    made = make_topic_views(n_objects=30, n_clusters=3, random_state=0)
    model = resolve(name)(max_iter=3, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(made.views, made.target) if ESTIMATORS[name].kind == "classifier" else model.fit(made.views)
    assert {key: len(values) for key, values in model.history_.items()} == {"objective": 4, "seconds": 4}
    assert list(model.fit_seconds_) == ["start", "iterations", "end"] and min(model.fit_seconds_.values()) >= 0


def test_objects_with_few_of_many_features_are_folded_in_by_these_alone():
    rng = np.random.default_rng(0)
    X = Views(words=rng.poisson(0.1, (40, 200)), links=rng.poisson(0.1, (40, 90)))
    model = PLSA(3, max_iter=5, random_state=0).fit(X)
    one = X[[7]].map(sparse.csr_array)
    light, few = model._of_features(one)
    assert few.n_features == {name: np.count_nonzero(X[name][7]) for name in X.names}
    assert {name: part.shape[1] for name, part in light.topic_feature_.items()} == few.n_features
    assert_allclose(model.transform(one), model.transform(X[[7]]), atol=1e-10)


# -- Rows of very different mass are brought to the same one; others stay as they are


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


@pytest.mark.parametrize("model", [MultiViewPLSAClassifier, DualPLSAClassifier])
def test_lengths_of_objects_do_not_change_a_classifier(uneven, model):
    data, views, y = uneven
    even = model(n_components=6, unit_mass=True, random_state=0).fit(data.views, y)
    fitted = model(n_components=6, random_state=0).fit(views, y)
    assert np.mean(fitted.transduction_ == data.target) > 0.95
    np.testing.assert_array_equal(fitted.transduction_, even.transduction_)
    np.testing.assert_allclose(fitted.predict_proba(views[:9]), fitted.predict_proba(data.views[:9]), atol=1e-6)


# -- Starts: distributions, the same however rows are cut


def test_random_rows_do_not_depend_on_the_blocks():
    whole = draw_rows(7, 0, 3000, 5)
    cut = np.vstack([draw_rows(7, a, b, 5) for a, b in ((0, 10), (10, 1500), (1500, 3000))])
    assert_array_equal(whole, cut)
    assert_allclose(whole.sum(axis=1), 1)
    assert not np.array_equal(whole, draw_rows(8, 0, 3000, 5))
