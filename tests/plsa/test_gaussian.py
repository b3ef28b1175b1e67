"""Views of vectors beside views of counts: the row step, the objective, and what must not change it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from coview import (
    PLSA,
    CoPLSA,
    LinkPLSA,
    MultiViewPLSA,
    MultiViewPLSAClassifier,
    Views,
    inspect,
    load,
    read_views,
    save,
    write_views,
)
from coview.datasets import make_topic_views
from coview.engines.cpu import CpuEngine
from coview.engines.loop import select_engine
from coview.engines.protocol import make_block
from coview.exceptions import ParameterError, ViewsError
from coview.inspection.features import described_features
from coview.metrics import normalized_mutual_info
from coview.plsa.co_plsa import CoSteps
from coview.plsa.dense import SPREAD_COST, center_means, fit_class_means, initialize_vectors
from coview.plsa.mixture import choose_likelihood, choose_likelihoods
from coview.plsa.multiview import ClusterSteps
from coview.plsa.steps import MixtureSteps

N, K = 150, 3
DATA = make_topic_views(n_objects=N, n_clusters=K, random_state=0)
RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(K, 12))
VECTORS = CENTERS[DATA.target] + RNG.normal(size=(N, 12))
Y = np.where(np.arange(N) < 12, DATA.target, -1)
BOTH = Views(words=DATA.views["view0"], vector=VECTORS)
GAPS = Views(
    words=sparse.csr_array(DATA.views["view0"]) * (np.arange(N) % 5 > 0)[:, None],
    vector=VECTORS * (np.arange(N) % 7 > 0)[:, None],
    present={"words": np.arange(N) % 5 > 0, "vector": np.arange(N) % 7 > 0},
)
MODELS = [
    PLSA(K, max_iter=10, tol=0, random_state=0, algorithm="published"),
    LinkPLSA(K, max_iter=40, tol=0, random_state=0, view_weights={"vector": 5.0}),  # momentum sets in
    MultiViewPLSA(K, 4, init="random", max_iter=10, tol=0, random_state=0),
    MultiViewPLSAClassifier(4, max_iter=10, tol=0, random_state=0),
    CoPLSA(K, max_iter=10, tol=0, random_state=0),
]
names = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


# -- the row step


def value(theta, counts, X, profile, vector, means, strength, spread_cost):
    """Objective of one object: its counts' log-likelihood less strength / 2 times residual and cost of spread."""
    gap = vector - theta @ means
    spread = theta @ ((means - theta @ means) ** 2).sum(axis=1)
    dense = -strength * (gap @ gap + spread_cost * spread) / 2
    return float(X @ np.log(profile @ theta) + dense) if counts else float(dense)


@pytest.mark.parametrize(
    ("engine", "counts", "make", "spread_cost"),
    [
        ("cpu", True, MixtureSteps, 0.0),
        ("cpu", False, ClusterSteps, SPREAD_COST),
        ("reference", True, ClusterSteps, SPREAD_COST),
    ],
)
def test_row_steps_end_at_the_optimum_of_a_convex_solver(engine, counts, make, spread_cost):
    ops = select_engine(engine)
    rng = np.random.default_rng(1)
    n, m, width, groups = 6, 8, 5, 4
    words = rng.poisson(2.0, (n, m)).astype(float)
    vectors = rng.normal(size=(n, width)) * 2
    profile = rng.dirichlet(np.ones(m), groups).T
    means, variance, weight = rng.normal(size=(groups, width)), 0.7, 3.0
    views = {"words": words, "vector": vectors} if counts else {"vector": vectors}
    block = make_block(Views(views), 0, n, ops, {})
    steps = make(groups, weights={"vector": weight}, dense={"vector": "gaussian"})
    shared = {
        "profiles": {"words": profile} if counts else {},
        "means": {"vector": np.ascontiguousarray(means.T)},
        "log_variance": {"vector": np.log([variance])},
    }
    rows = {"mixture": np.full((n, groups), 1 / groups)}
    for _ in range(400):
        rows, _ = steps.row_step(block, rows, shared, ops, None)
    strength = weight / (width * variance)
    for i in range(n):

        def loss(theta, i=i):
            theta = np.maximum(theta, 1e-300)
            return -value(theta, counts, words[i], profile, vectors[i], means, strength, spread_cost)

        simplex = {"type": "eq", "fun": lambda theta: theta.sum() - 1}
        solved = minimize(
            loss,
            np.full(groups, 1 / groups),
            bounds=[(1e-12, 1)] * groups,
            constraints=simplex,
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert loss(rows["mixture"][i]) == pytest.approx(solved.fun, abs=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        *MODELS,
        CoPLSA(K, divergence="l1", max_iter=10, random_state=0),
        MultiViewPLSA(K, 4, max_iter=10, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_objective_never_falls(model):
    X = BOTH.select("vector") if model.get_params().get("init") == "likeliest" else GAPS
    path = clone(model).fit(X, Y).history_["objective"]
    assert np.diff(path).min() >= -1e-9 * np.abs(path).max()
    assert path[-1] > path[0]


@pytest.mark.parametrize("divergence", ["skl", "l2"])
def test_co_plsa_steps_end_at_the_optimum_of_a_convex_solver(divergence):
    ops, rng = select_engine("cpu"), np.random.default_rng(2)
    words, vectors = rng.poisson(2.0, (4, 6)).astype(float), rng.normal(size=(4, 5))
    profile, means, variance = rng.dirichlet(np.ones(6), 3).T, rng.normal(size=(3, 5)), 0.4
    steps = CoSteps(3, dense={"b": "gaussian"}, pairs={("a", "b"): 0.7}, divergence=divergence)
    block = make_block(Views(a=words, b=vectors), 0, 4, ops, {"have": np.ones((4, 2), dtype=bool)})
    shared = {
        "profiles": {"a": profile},
        "means": {"b": np.ascontiguousarray(means.T)},
        "log_variance": {"b": np.log([variance])},
    }
    rows, moved = {"mixture": np.full((4, 6), 1 / 3)}, 1.0
    while moved > 1e-12:
        before = rows["mixture"]
        rows, _ = steps.row_step(block, rows, shared, ops, None)
        moved = np.abs(rows["mixture"] - before).max()

    def loss(both, i):
        h, g = np.maximum(both[:3], 1e-12), np.maximum(both[3:], 1e-12)
        apart = (h - g) @ np.log(h / g) if divergence == "skl" else (h - g) @ (h - g) / 2
        gap = vectors[i] - g @ means
        return -(words[i] @ np.log(profile @ h)) + gap @ gap / (2 * 5 * variance) + 0.7 * apart

    sums = [{"type": "eq", "fun": lambda both, at=at: both[at : at + 3].sum() - 1} for at in (0, 3)]
    for i in range(4):
        options = {"ftol": 1e-15, "maxiter": 2000}
        solved = minimize(
            loss, np.full(6, 1 / 3), (i,), "SLSQP", bounds=[(1e-12, 1)] * 6, constraints=sums, options=options
        )
        assert loss(rows["mixture"][i], i) <= solved.fun + 1e-7


def test_co_plsa_imputes_vectors_from_words():
    model = CoPLSA(K, max_iter=40, random_state=0).fit(BOTH)
    imputed = model.impute(BOTH.select("words"), "vector")
    near = ((imputed[:, None] - CENTERS[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(near == DATA.target) > 0.95


def test_the_objective_is_its_formula():
    X = GAPS.map({"vector": lambda rows: 0.1 * rows})  # residuals are far below 1
    model = LinkPLSA(K, max_iter=4, tol=0, random_state=0, view_weights={"vector": 2.5}).fit(X)
    theta, s = model.memberships_, model.noise_variance_["vector"]
    words, vectors, there = X["words"].toarray(), X["vector"], X.present[:, 1]
    counts = (words * np.log(theta @ model.topic_feature_["words"])).sum()
    gap = ((vectors - theta @ model.topic_feature_["vector"]) ** 2).sum(axis=1)[there]
    dense = (gap / (2 * s) + 12 / 2 * np.log(s)).sum() / 12
    assert model.history_["objective"][-1] == pytest.approx(counts - 2.5 * dense, rel=1e-10)


def test_the_objective_of_clusters_counts_the_spread_of_their_vectors():
    model = MultiViewPLSA(K, 4, init="random", max_iter=4, tol=0, random_state=0, view_weights=2.5).fit(GAPS)
    theta, s, means = model.memberships_, model.noise_variance_["vector"], model.topic_feature_["vector"]
    words, vectors, there = GAPS["words"].toarray(), GAPS["vector"], GAPS.present[:, 1]
    profiles = model.cluster_topic_["words"] @ model.topic_feature_["words"]
    counts = (words * np.log(theta @ profiles)).sum()
    gap = ((vectors - theta @ means) ** 2).sum(axis=1)
    gap += SPREAD_COST * (theta * ((means[None] - (theta @ means)[:, None]) ** 2).sum(axis=2)).sum(axis=1)
    dense = (gap[there] / (2 * s) + 12 / 2 * np.log(s)).sum() / 12
    assert model.history_["objective"][-1] == pytest.approx(2.5 * (counts - dense), rel=1e-10)


# -- the shared step


@pytest.mark.parametrize(("make", "spread_cost"), [(MixtureSteps, 0.0), (ClusterSteps, SPREAD_COST)])
def test_means_and_noise_are_those_of_least_squares_with_the_spread(make, spread_cost):
    ops = select_engine("cpu")
    theta = np.random.default_rng(0).dirichlet(np.ones(K), N)
    start = {"means": {"vector": np.zeros((12, K))}, "log_variance": {"vector": np.zeros(1)}}
    steps = make(theta.shape[1], dense={"vector": "gaussian"})
    stats = {}
    steps.add_moments(make_block(BOTH, 0, N, ops, {}), "vector", theta, start, ops, stats)
    new = steps.update_vectors(start, stats["moments"], ops)
    # one row more for each object and cluster: the cluster's vector less the mixture is to be zero
    apart = np.sqrt(spread_cost * theta)[:, :, None] * (np.eye(K)[None] - theta[:, None])
    left = np.vstack([theta, apart.reshape(N * K, K)])
    right, squares, *_ = np.linalg.lstsq(left, np.vstack([VECTORS, np.zeros((N * K, 12))]), rcond=None)
    assert_allclose(new["means"]["vector"].T, right, rtol=1e-6, atol=1e-7)
    assert np.exp(new["log_variance"]["vector"][0]) == pytest.approx(squares.sum() / VECTORS.size, rel=1e-9)


@pytest.mark.parametrize("groups", [2, 3, 7])
def test_means_that_are_all_alike_say_nothing(groups):
    means = np.tile(np.random.default_rng(0).normal(size=(50, 1)), (1, groups))
    centered, center = center_means(means)
    assert not centered.any()
    assert_array_equal(center, means[:, 0])


def test_a_group_that_nobody_has_keeps_its_mean():
    ops = select_engine("cpu")
    theta = np.tile([1.0, 0.0], (N, 1))
    start = {"means": {"vector": np.full((12, 2), 5.0)}, "log_variance": {"vector": np.zeros(1)}}
    steps = MixtureSteps(theta.shape[1], dense={"vector": "gaussian"})
    stats = {}
    steps.add_moments(make_block(BOTH, 0, N, ops, {}), "vector", theta, start, ops, stats)
    new = steps.update_vectors(start, stats["moments"], ops)["means"]["vector"]
    assert_allclose(new[:, 1], 5.0)
    assert_allclose(new[:, 0], VECTORS.mean(axis=0), rtol=1e-6)


# -- what must not matter


@pytest.mark.parametrize(
    "change", [lambda v: v + 3.0, lambda v: v * 20.0, lambda v: v[:, ::-1]], ids=["+", "*", "order"]
)
def test_memberships_do_not_depend_on_where_vectors_lie_and_how_long_they_are(change):
    moved = Views(words=BOTH["words"], vector=np.ascontiguousarray(change(VECTORS)))
    fits = [MultiViewPLSAClassifier(4, max_iter=10, tol=0, random_state=0).fit(X, Y) for X in (BOTH, moved)]
    assert_allclose(fits[1].memberships_, fits[0].memberships_, atol=1e-5)


def test_clusters_of_vectors_alone_are_found():
    from coview.metrics import clustering_accuracy

    model = MultiViewPLSA(K, random_state=0).fit(VECTORS)
    assert clustering_accuracy(DATA.target, model.labels_) > 0.9
    assert model.likelihood_ == {"x": "gaussian"}
    assert not described_features(inspect(model), "x").probabilities


@pytest.mark.parametrize("labels", [False, True])
def test_sweeps_do_not_lose_the_clusters_that_they_start_from(labels):
    """Mixtures whose ends move outside of the data put all digits between all clusters."""
    pixels, target = load_digits(return_X_y=True)
    pixels, target = pixels[:300] + 0.5, target[:300]
    X = Views(upper=pixels[:, :32], lower=pixels[:, 32:])
    if labels:
        y = np.where(np.arange(300) < 30, target, -1)
        model = MultiViewPLSAClassifier(random_state=0).fit(X, y)
        nearest = fit_class_means(X, y, 10, 0)(X).argmax(axis=1)
        assert np.mean(model.transduction_ == target) > np.mean(nearest == target)
    else:
        model = MultiViewPLSA(10, random_state=0).fit(X)
        plain = KMeans(10, n_init=5, random_state=0).fit_predict(pixels)
        assert normalized_mutual_info(target, model.labels_) > normalized_mutual_info(target, plain) - 0.03
    assert model.memberships_.max(axis=1).mean() > 0.8


@pytest.mark.parametrize("lazy", [False, True], ids=["memory", "disk"])
def test_a_rare_view_starts_with_the_variance_of_its_own_vectors(lazy, tmp_path):
    n, rng = 6000, np.random.default_rng(0)
    there = np.isin(np.arange(n), np.arange(40) * 17 + 250)
    X = Views(words=np.ones((n, 2)), vector=3 * rng.normal(size=(n, 4)) * there[:, None], present={"vector": there})
    if lazy:
        write_views(X, tmp_path / "shards", rows_per_shard=1000)
        X = read_views(tmp_path / "shards")
    start = initialize_vectors(X, ["vector"], {}, 2, seed=0, spread=True)
    assert np.exp(start["log_variance"]["vector"][0]) == pytest.approx(9.0, rel=0.3)
    assert np.abs(start["means"]["vector"]).max() > 1
    nobody = Views(words=np.ones((5, 2)), vector=np.zeros((5, 3)), present={"vector": np.zeros(5, dtype=bool)})
    assert initialize_vectors(nobody, ["vector"], {}, 2, seed=0, spread=True)["log_variance"]["vector"][0] == 0.0


# -- likelihoods


@pytest.mark.parametrize(
    ("matrix", "likelihood"),
    [
        (np.array([[3, 0], [1, 2]]), "multinomial"),
        (np.array([[1.0, 0.0], [1.0, 1.0]]), "multinomial"),
        (np.array([[True, False]]), "multinomial"),
        (np.array([[0.0, 0.0, 0.4], [0.0, 0.2, 0.0]]), "multinomial"),
        (sparse.csr_array([[0.5, 0.25], [0.25, 0.5]]), "multinomial"),
        (np.array([[0.5, 0.25], [0.25, 0.0]]), "gaussian"),
        (np.array([[3, 0], [-1, 2]]), "gaussian"),
        (sparse.csr_array([[0.5, -1.0]]), "multinomial"),
        (np.array([[0, 0, -3], [0, 1, 0]]), "gaussian"),
    ],
)
def test_values_say_which_likelihood_a_view_has(matrix, likelihood):
    assert choose_likelihood(matrix) == likelihood


@pytest.mark.parametrize("n_present", [3, 20])
def test_objects_that_lack_a_view_do_not_say_which_likelihood_it_has(n_present, tmp_path):
    there = np.arange(20) < n_present
    values = np.random.default_rng(0).random((20, 4))
    X = Views(words=np.ones((20, 2)), vector=values * there[:, None], present={"vector": there})
    assert choose_likelihoods("auto", X) == {"words": "multinomial", "vector": "gaussian"}
    write_views(X, tmp_path / "shards", rows_per_shard=5)
    assert choose_likelihoods("auto", read_views(tmp_path / "shards")) == choose_likelihoods("auto", X)


def test_a_parameter_says_it_for_all_or_some_views():
    assert choose_likelihoods("gaussian", BOTH) == {"words": "gaussian", "vector": "gaussian"}
    assert choose_likelihoods({"words": "gaussian"}, BOTH) == {"words": "gaussian", "vector": "gaussian"}
    with pytest.raises(ParameterError, match=r"likelihood names view 'word'.*'words'"):
        PLSA(likelihood={"word": "gaussian"}).fit(BOTH)
    with pytest.raises(ParameterError, match=r"'likelihood' parameter .* must be"):
        PLSA(likelihood="poisson").fit(BOTH)


# -- the rest of an estimator's life


@names
def test_an_object_is_folded_in_alike_alone_in_company_and_from_a_file(model, tmp_path):
    fitted = clone(model).fit(BOTH, Y)
    whole = fitted.transform(GAPS)
    assert_allclose(whole.sum(axis=1), 1.0, atol=1e-6)
    for i in (0, 5, 7, 8):
        assert_allclose(fitted.transform(GAPS[[i]])[0], whole[i], atol=1e-9)
    save(fitted, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert again.likelihood_ == fitted.likelihood_
    assert_array_equal(again.transform(GAPS), whole)


@names
def test_a_fit_from_disk_is_the_fit_in_memory(model, tmp_path, monkeypatch):
    monkeypatch.setattr(CpuEngine, "block_rows", lambda self, *_: 40)
    write_views(GAPS, tmp_path / "shards", rows_per_shard=60)
    inside, outside = clone(model).fit(GAPS, Y), clone(model).fit(read_views(tmp_path / "shards"), Y)
    assert_allclose(outside.history_["objective"], inside.history_["objective"], rtol=1e-9)
    assert_allclose(outside.topic_feature_["vector"], inside.topic_feature_["vector"], atol=1e-6)


@pytest.mark.parametrize("model", MODELS[:2], ids=["joint", "link"])
def test_minibatches_teach_vectors(model):
    model = clone(model).set_params(**({} if isinstance(model, PLSA) else {"view_weights": None}))
    online = clone(model)
    for first in range(0, N, 50):
        online.partial_fit(BOTH[first : first + 50])
    batch = clone(model).fit(BOTH)
    assert online.noise_variance_["vector"] < 1.5 * batch.noise_variance_["vector"]
    again = clone(model).fit(BOTH).partial_fit(BOTH)
    assert again.noise_variance_["vector"] == pytest.approx(batch.noise_variance_["vector"], rel=0.2)


def test_single_precision_vectors_are_neither_copied_nor_widened():
    vectors = VECTORS.astype(np.float32)
    model = LinkPLSA(K)
    views = model._fit_views(Views(words=DATA.views["view0"], vector=vectors))
    assert views["vector"].dtype == np.float32
    assert np.shares_memory(views["vector"], vectors)
    assert views["words"].dtype == np.float64
    fitted = LinkPLSA(K, max_iter=15, tol=0, random_state=0).fit(Views(words=DATA.views["view0"], vector=vectors))
    right = LinkPLSA(K, max_iter=15, tol=0, random_state=0).fit(BOTH)
    assert_allclose(fitted.history_["objective"], right.history_["objective"], rtol=1e-6)


@pytest.mark.parametrize("model", [LinkPLSA, MultiViewPLSAClassifier, CoPLSA])
def test_single_precision_suffices_far_from_zero(model):
    far = (VECTORS + 1e4).astype(np.float32)
    others = {} if model is LinkPLSA else {"words": DATA.views["view0"]}
    single, double = (
        model(K, max_iter=15, tol=0, random_state=0).fit(Views(**others, vector=far.astype(dtype)), Y)
        for dtype in (np.float32, np.float64)
    )
    path = single.history_["objective"]
    assert np.diff(path).min() >= -1e-5 * np.abs(path).max()
    assert single.noise_variance_["vector"] == pytest.approx(double.noise_variance_["vector"], rel=1e-3)
    shares = [fitted.variance_explained_["vector"].sum() for fitted in (single, double)]
    assert shares[0] == pytest.approx(shares[1], abs=1e-3)
    folded = [fitted.transform(Views(vector=far)) for fitted in (single, double)]
    assert_allclose(folded[0], folded[1], atol=0.02)


def test_a_start_may_be_what_was_fitted():
    model = PLSA(K, max_iter=5, tol=0, random_state=0).fit(BOTH)
    fitted = {"memberships": model.memberships_, "topic_feature": model.topic_feature_, "topic_view": model.topic_view_}
    again = clone(model).set_params(init=fitted).fit(BOTH)
    assert again.history_["objective"][-1] > model.history_["objective"][-1]
    with pytest.raises(ValueError, match=r"'topic_view'.*must have shape"):
        clone(model).set_params(init={**fitted, "topic_view": np.ones((K, 3))}).fit(BOTH)


def test_densities_have_no_perplexity():
    model = LinkPLSA(K, max_iter=5, random_state=0).fit(BOTH)
    with pytest.raises(ViewsError, match="perplexity needs counts, but X holds Gaussian views 'vector'"):
        model.perplexity(BOTH)
    assert model.perplexity(BOTH.select("words")) == pytest.approx(np.exp(-model.score(BOTH.select("words"))))


@pytest.mark.parametrize("size", [1e9, 1e30])
def test_vectors_far_from_all_means_still_get_mixtures(size):
    model = LinkPLSA(K, max_iter=10, random_state=0).fit(BOTH)
    means = model.topic_feature_["vector"]
    far = (size * (means - means.mean(axis=0))).astype(np.float32)  # each in the direction of a mean
    for X in (Views(words=DATA.views["view0"][:K], vector=far), Views(vector=far)):
        rows = model.transform(X)
        assert_allclose(rows.sum(axis=1), 1, atol=1e-6)
        # a vector so far away has the group whose mean lies farthest in its direction, and that alone
        assert_array_equal(rows.argmax(axis=1), ((means - means.mean(axis=0)) @ means.T).argmax(axis=1))
        assert_allclose(rows.max(axis=1), 1, atol=1e-6)


@names
def test_a_group_explains_by_how_far_its_members_lie_from_the_mean(model):
    fitted = clone(model).fit(BOTH, Y)
    theta = fitted.memberships_by_view_["vector"] if isinstance(model, CoPLSA) else fitted.memberships_
    center, sizes = VECTORS.mean(axis=0), theta.sum(axis=0)
    own = np.array([np.average(VECTORS, axis=0, weights=theta[:, k]) for k in range(K)])
    assert_allclose(fitted.group_means_["vector"], own, atol=1e-6)
    between = sizes * ((own - center) ** 2).sum(axis=1)
    shares = fitted.variance_explained_["vector"]
    assert_allclose(shares / shares.sum(), between / between.sum(), atol=1e-6)
    gap = VECTORS - theta @ fitted.topic_feature_["vector"]
    assert shares.sum() == pytest.approx(1 - (gap**2).sum() / ((VECTORS - center) ** 2).sum(), abs=1e-6)
    assert_array_equal(inspect(fitted).structure.variance_explained["vector"], shares)


def between_groups():
    """Objects of a line, all of them between its ends, of which the model makes its groups; some lack the vector."""
    mixture = np.random.default_rng(1).uniform(0.35, 0.65, 200)
    words = np.random.default_rng(2).poisson(np.outer(mixture, [6.0, 0, 3]) + np.outer(1 - mixture, [0, 6.0, 3]))
    have = np.arange(200) % 4 > 0
    size = np.column_stack([mixture * 50 + 20.5, 9.5 - 4 * mixture, np.random.default_rng(3).normal(size=200)])
    return Views(words=words, size=np.where(have[:, None], size, 0), present={"size": have},
                 feature_names={"size": ["age", "price", "noise"]}), size[have]  # fmt: skip


def test_shares_and_deviations_stay_among_the_data():
    X, size = between_groups()
    model = LinkPLSA(3, max_iter=60, random_state=0, view_weights={"size": 30.0}).fit(X)
    outside = (model.topic_feature_["size"] < size.min(axis=0)) | (model.topic_feature_["size"] > size.max(axis=0))
    assert outside.any()  # the ends of the mixtures, which no object is
    assert (model.variance_explained_["size"] >= 0).all()
    far = np.abs((size - size.mean(axis=0)) / size.std(axis=0)).max(axis=0)
    features = described_features(inspect(model), "size")
    assert (np.abs(features.deviations) <= far).all()
    assert ((features.weights >= size.min(axis=0)) & (features.weights <= size.max(axis=0))).all()


def test_fewer_columns_than_groups_do_not_decide_alone():
    """Mixtures of six groups reach any three numbers: that they are explained says nothing."""
    rng = np.random.default_rng(0)
    target = np.arange(300) % 6
    words = rng.poisson(0.15 + 1.2 * (np.arange(60) % 6 == target[:, None]))
    X = Views(words=words, numbers=rng.normal(size=(300, 3)))
    model = LinkPLSA(6, view_weights={"numbers": 8.0}, random_state=0).fit(X)
    assert_allclose(model.noise_variance_["numbers"], 0.4 * X["numbers"].var(axis=0).mean())
    assert normalized_mutual_info(target, model.memberships_.argmax(axis=1)) > 0.6


def test_one_column_of_whole_numbers_is_no_count():
    target = np.arange(90) % 3
    minutes = np.array([5, 40, 200])[target] + np.random.default_rng(0).integers(0, 4, 90)
    words = np.random.default_rng(1).poisson(np.eye(3)[target].repeat(5, axis=1) * 4 + 0.2).astype(float)
    X = Views(words=words, minutes=minutes[:, None])
    model = LinkPLSA(3, random_state=0).fit(X)
    assert model.likelihood_ == {"words": "multinomial", "minutes": "gaussian"}
    assert normalized_mutual_info(target, model.transform(X.select("minutes")).argmax(axis=1)) > 0.5
