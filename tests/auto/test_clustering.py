"""AutoClustering: votes over graphs, noise and missing views, many objects, new objects, files."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import entropy

from coview import AutoClustering, Views, inspect, load, save
from coview.auto.number import COLUMNS, LOSS, compare_numbers
from coview.auto.preparation import join_tokens, token_weights
from coview.auto.votes import N_CLUSTERINGS, SCALES
from coview.clustering.telling_words import stress_telling_words
from coview.datasets import make_blobs_views, make_topic_views
from coview.exceptions import ViewsError
from coview.inspection.choice import describe_number, describe_selection, stable_numbers
from coview.metrics import normalized_mutual_info
from coview.preprocessing.weighting import TfidfViews
from coview.views.lazy import LazyViews


def measured(n: int = 150, seed: int = 0) -> tuple[Views, np.ndarray]:
    """A good view, a weak one and noise, all real-valued."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return Views(
        good=3 * np.eye(3)[y] + rng.normal(size=(n, 3)),
        weak=np.eye(3)[y] + rng.normal(size=(n, 3)),
        noise=rng.normal(size=(n, 4)),
    ), y


@pytest.fixture(scope="module")
def counts():
    return make_topic_views(n_objects=150, n_clusters=3, random_state=0)


@pytest.fixture(scope="module")
def fitted(counts):
    return AutoClustering(3, random_state=0).fit(counts.views)


# -- what is found


def rings(n: int = 240, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Two rings, one around the other, in each of two views: no centroid tells them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    views = {}
    for name, noise in (("a", 0.15), ("b", 0.2)):
        angle = rng.uniform(0, 2 * np.pi, n)
        ring = (1 + 1.5 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        views[name] = ring + rng.normal(scale=noise, size=(n, 2))
    return Views(views), y


def test_clusters_may_have_any_shape():
    X, y = rings()
    assert normalized_mutual_info(y, AutoClustering(2, random_state=0).fit(X).labels_) > 0.9


def test_measurements_are_measurements_however_they_are_stored():
    X, _ = measured()
    one, two = (AutoClustering(3, random_state=0).fit(part) for part in (X, X.map(sparse.csr_array)))
    assert_array_equal(one.labels_, two.labels_)
    assert one.view_relations_["verdict"][2] == "noise" and one._unused_views() == ["noise"]


def test_a_few_columns_beside_counts_do_not_make_the_clusters():
    made = make_topic_views(n_objects=150, n_clusters=5, random_state=0)
    columns = np.random.default_rng(0).normal([2020, 300], [3, 100], size=(150, 2))
    X = Views({**dict(made.views.items()), "meta": columns})
    model = AutoClustering(5, random_state=0).fit(X)
    assert normalized_mutual_info(made.target, model.labels_) > 0.95
    assert_array_equal(model.predict(X), model.labels_)
    with pytest.warns(UserWarning, match="3 of 3 objects have only views that the clusters were found without"):
        assert_allclose(model.transform(X.select("meta")[:3]), 0.2)


def test_objects_that_lack_views_are_placed_by_the_others():
    X, y = measured()
    present = np.ones((len(X), 3), dtype=bool)
    present[:20, 0] = present[20:30, 1] = False
    arrays = {name: np.where(present[:, [v]], part, 0) for v, (name, part) in enumerate(X.items())}
    model = AutoClustering(3, random_state=0).fit(Views(arrays, present=present))
    whole = normalized_mutual_info(y[30:], model.labels_[30:])
    without_weak = normalized_mutual_info(y[20:30], model.labels_[20:30])
    without_good = normalized_mutual_info(y[:20], model.labels_[:20])
    assert min(whole, without_weak) > 0.8
    assert 0.2 < without_good < whole  # by the weak view alone, which says a little


def test_a_view_that_one_object_has_raises_no_warning(counts):
    present = np.ones((150, 2), dtype=bool)
    present[1:, 1] = False
    rare = sparse.csr_array(counts.views["view1"].multiply(present[:, [1]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AutoClustering(3, random_state=0).fit(Views(a=counts.views["view0"], b=rare, present=present))


# -- how sure


def test_labels_have_most_votes_and_are_predicted_again(counts, fitted):
    assert_allclose(fitted.memberships_.sum(axis=1), 1, rtol=1e-6)
    assert_array_equal(fitted.labels_, fitted.memberships_.argmax(axis=1))
    assert_array_equal(fitted.predict(counts.views), fitted.labels_)
    assert_allclose(fitted.transform(counts.views), fitted.memberships_, atol=0.1)


def test_clusters_that_run_into_each_other_are_less_sure():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    centers = np.array([[0.0, 0.0], [2.0, 0.0], [30.0, 30.0]])  # the first two overlap
    X = Views(a=centers[y] + rng.normal(size=(150, 2)), b=centers[y] + rng.normal(size=(150, 2)))
    model = AutoClustering(3, random_state=0).fit(X)
    apart = np.bincount(model.labels_[y == 2]).argmax()
    assert model.cluster_votes_[apart] > 0.99 > np.delete(model.cluster_votes_, apart).max()
    means = [model.memberships_[model.labels_ == z, z].mean() for z in range(3)]
    assert_allclose(model.cluster_votes_, means)
    told = inspect(model).selection.votes
    assert told["clusterings"] == len(SCALES) * N_CLUSTERINGS
    assert told["share"] == pytest.approx(model.memberships_.max(axis=1).mean())
    assert f"on average, {100 * told['share']:.0f} % of them agree on the cluster" in repr(inspect(model))


def test_the_number_of_clusters_is_chosen_where_it_is_not_given():
    made = make_topic_views(n_objects=120, n_clusters=4, random_state=0)
    model = AutoClustering(None, random_state=0).fit(made.views)
    table = model.n_clusters_evidence_
    assert model.n_clusters_ == 4 == table["n_clusters"][int(np.argmax(table["information"]))]
    assert normalized_mutual_info(made.target, model.labels_) > 0.9
    answer = inspect(model)
    assert "4 clusters were chosen" in " ".join(describe_selection(answer.selection))


def test_a_number_of_clusters_that_nothing_bears_out_is_told():
    rng = np.random.default_rng(0)
    X = Views(a=rng.normal(size=(60, 4)), b=rng.normal(size=(60, 4)))
    with pytest.warns(UserWarning, match=r"clusters were chosen, but none of the") as told:
        model = AutoClustering(None, random_state=0).fit(X)
    assert f"{model.n_clusters_} clusters were chosen," in str(told[0].message)
    assert max(model.n_clusters_evidence_["information"]) < 0
    assert "None of 5 numbers of clusters from 2 to 6 is supported by the data" in repr(inspect(model))
    with pytest.warns(UserWarning, match="2 clusters were chosen, but 15 objects are too few"):
        assert AutoClustering(None, random_state=0).fit(X[:15]).n_clusters_ == 2


# -- many objects


@pytest.fixture
def few_in_memory(monkeypatch):
    """So few objects at once that a few hundred are many."""
    for name, size in (("MOST_OBJECTS", 200), ("SAMPLE", 150), ("BLOCK", 64)):
        monkeypatch.setattr(f"coview.auto.clustering.{name}", size)


@pytest.fixture(scope="module")
def many():
    return make_topic_views(n_objects=350, n_clusters=3, random_state=0)


def test_of_many_objects_a_sample_is_clustered_and_places_the_others(few_in_memory, many):
    model = AutoClustering(3, random_state=0).fit(many.views)
    assert len(model.sample_) == 150 and model.memberships_.shape == (350, 3)
    assert normalized_mutual_info(many.target, model.labels_) > 0.9
    assert_array_equal(model.predict(many.views), model.labels_)
    alone = AutoClustering(3, random_state=0).fit(many.views[model.sample_])
    assert_allclose(alone.memberships_, model.memberships_[model.sample_])
    others = np.setdiff1d(np.arange(350), model.sample_)
    assert_allclose(alone.transform(many.views[others]), model.memberships_[others], atol=1e-6)


def test_rows_that_are_read_when_needed_give_the_same_as_in_memory(few_in_memory, many):
    lazy = LazyViews.from_views(many.views, 100)
    one, two = (AutoClustering(3, random_state=0).fit(X) for X in (many.views, lazy))
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.memberships_, two.memberships_, atol=1e-6)
    assert_array_equal(one.predict(lazy), one.labels_)


def test_rows_of_a_cluster_are_gone_through_where_they_are(few_in_memory, many):
    da = pytest.importorskip("dask.array")
    chunks = {name: da.from_array(part.toarray(), chunks=(100, -1)) for name, part in many.views.items()}
    model = AutoClustering(3, random_state=0).fit(chunks)
    assert normalized_mutual_info(many.target, model.labels_) > 0.9
    assert_array_equal(model.predict(chunks).compute(), model.labels_)


def test_lazy_rows_are_checked_as_those_in_memory(few_in_memory, many):
    lazy = LazyViews.from_views(many.views, 100).map(lambda part: part * 1e300)
    with pytest.raises(ViewsError, match="view0"):
        AutoClustering(3, random_state=0).fit(lazy)


@pytest.mark.parametrize("size", [10_000, 150])
def test_objects_without_any_view_belong_to_all_clusters_alike(many, monkeypatch, size):
    monkeypatch.setattr("coview.auto.clustering.MOST_OBJECTS", size)
    monkeypatch.setattr("coview.auto.clustering.SAMPLE", 150)
    present = np.ones((350, len(many.views.names)), dtype=bool)
    present[3:6] = False
    keep = sparse.diags_array(present[:, 0].astype(float))
    X = Views({name: sparse.csr_array(keep @ part) for name, part in many.views.items()}, present=present)
    model = AutoClustering(3, random_state=0).fit(X)
    assert len(model.sample_) == min(size, 350)
    assert_allclose(model.memberships_[3:6], 1 / 3, rtol=1e-6)


# -- fits and files


def test_new_objects_are_placed_by_any_view(counts, fitted):
    for name in counts.views.names:
        assert normalized_mutual_info(fitted.labels_, fitted.predict(counts.views.select(name))) > 0.5
    half = AutoClustering(3, random_state=0).fit(counts.views[:100])
    assert normalized_mutual_info(counts.target[100:], half.predict(counts.views[100:])) > 0.9


def test_clusters_of_unequal_scale_are_told_apart():
    made = make_blobs_views(n_objects=120, n_clusters=4, random_state=0)
    stretched = made.views.map(lambda part: part * np.logspace(-3, 3, part.shape[1]))
    assert normalized_mutual_info(made.target, AutoClustering(4, random_state=0).fit(stretched).labels_) > 0.95


def titled(seed=0):
    """Texts that tell six groups, beside titles of four words that tell other groups, and little of these."""
    rng = np.random.default_rng(seed)
    y, other = np.arange(300) % 6, rng.integers(0, 6, 300)
    topics, tilts = rng.gamma(0.08, size=(6, 400)) + 0.02, rng.gamma(0.05, size=(12, 120)) + 1e-3
    topics, tilts = (part / part.sum(axis=1, keepdims=True) for part in (topics, tilts))
    texts = np.stack([rng.multinomial(60, topics[z]) for z in y])
    titles = np.stack([rng.multinomial(4, 0.8 * tilts[w] + 0.2 * tilts[6 + z]) for w, z in zip(other, y)])
    return Views(text=sparse.csr_array(texts.astype(float)), title=sparse.csr_array(titles.astype(float))), y


def test_tokens_vote_where_views_of_counts_stand_side_by_side():
    X, _ = titled()
    alone, both = (AutoClustering(6, random_state=0).fit(views) for views in (X.select("text"), X))
    assert len(alone.voters_) == 1 and len(both.voters_) == 2
    assert_array_equal(both.predict(X), both.labels_)


def test_tokens_are_all_weighed_counts_side_by_side_as_long_as_they_are():
    X, _ = titled()
    joined = join_tokens(X, token_weights(X), {})["tokens"].toarray()
    parts = []
    for name in X.names:
        counts = X[name].toarray()
        idf = np.log((1 + len(X)) / (1 + (counts > 0).sum(axis=0))) + 1
        parts.append(np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf)
    assert_allclose(joined, np.hstack(parts))


def test_objects_that_lack_a_view_have_the_tokens_of_the_others(tmp_path):
    X, y = titled()
    present = np.ones((300, 2), dtype=bool)
    present[:40, 1], present[40:50, 0] = False, False
    arrays = {name: X[name].toarray() * present[:, [v]] for v, name in enumerate(X.names)}
    model = AutoClustering(6, random_state=0).fit(Views(arrays, present=present))
    assert normalized_mutual_info(y[:40], model.labels_[:40]) > 0.8
    assert_allclose(model.transform(X.select("text")).sum(axis=1), 1)
    save(model, tmp_path / "model.coview")
    assert_allclose(load(tmp_path / "model.coview").transform(X), model.transform(X))


@pytest.mark.parametrize("part", ["sample_", "voters_", "part_weights_", "scales"])
def test_a_file_whose_voters_know_other_objects_is_refused(part, tmp_path):
    model = AutoClustering(3, random_state=0).fit(make_topic_views(60, n_clusters=3, random_state=0).views)
    if part == "sample_":
        model.sample_ = model.sample_[:-1]
    elif part == "voters_":
        model.voters_ = []
    elif part == "scales":
        model.voters_[0].scales = (float("nan"),)
    else:
        model.voters_[0].part_weights_ = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match=r"voters_|sample_"):
        save(model, tmp_path / "model.coview")


# -- How many clusters: chosen by what comes back, within bounds


@pytest.mark.parametrize(("make", "n_clusters"), [(make_blobs_views, 2), (make_blobs_views, 5), (make_topic_views, 8)])
def test_clusters_that_are_apart_are_counted(make, n_clusters):
    made = make(n_objects=30 * n_clusters, n_clusters=n_clusters, random_state=n_clusters)
    assert AutoClustering(None, random_state=0).fit(made.views).n_clusters_ == n_clusters


def test_information_is_what_comes_back_less_what_does_not():
    made = make_blobs_views(n_objects=120, n_clusters=3, std=4.0, random_state=0)
    table = compare_numbers([made.views], [{}], 0)
    assert tuple(table) == COLUMNS and table["n_clusters"][:3] == [2, 3, 4]
    for k, stability, information in zip(*table.values()):
        assert 0 <= stability <= 1
        assert (
            0 < information / (stability - LOSS * (1 - stability)) <= np.log(k) + 1e-12
        )  # the entropy of the clusters
    assert entropy(np.ones(3)) == pytest.approx(np.log(3))


def test_few_objects_are_asked_about_few_numbers():
    X = Views(a=np.random.default_rng(0).normal(size=(33, 3)))
    assert compare_numbers([X], [{}], 0)["n_clusters"] == [2, 3]
    assert compare_numbers([X[:9]], [{}], 0) == {column: [] for column in COLUMNS}


def test_many_clusters_are_found_to_be_many():
    centers = 100.0 * np.arange(20)[:, None]
    rows = np.repeat(centers, 12, axis=0) + np.random.default_rng(0).normal(size=(240, 1))
    X = Views(a=np.hstack([rows, np.abs(rows - 1000)]), b=rows)
    assert 18 <= AutoClustering(None, random_state=0).fit(X).n_clusters_ <= 22


def test_a_view_of_noise_has_no_say_in_the_number():
    data = make_topic_views(n_objects=150, n_clusters=6, quality=0.5, random_state=1)
    noise = np.random.default_rng(1).normal(size=(150, 2))
    model = AutoClustering(None, random_state=0).fit(Views(dict(data.views.items()), noise=noise))
    assert model.view_relations_["verdict"] == ["shares", "shares", "noise"] and model.n_clusters_ == 6


def test_numbers_that_tell_more_than_their_neighbors_are_told():
    told = [0.9, 0.4, 0.8, 1.3, 0.0, 0.3, -0.4]
    table = {"n_clusters": [*range(2, 9)], "stability": [0.9] * 7, "information": told}
    assert stable_numbers(table) == [2, 5]
    words = describe_number(table)
    assert words.startswith("5 clusters were chosen, of 7 numbers from 2 to 8: ")
    assert words.endswith("Also stable: 2.")


def test_words_weigh_by_what_they_tell_of_the_clusters():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    telling = rng.poisson(1.0, (400, 40)) * (np.arange(40) // 10 == y[:, None])
    X = Views(words=np.hstack([telling, rng.poisson(0.25, (400, 40))]))  # the same words per object, of no cluster
    model = AutoClustering(4, random_state=0).fit(X)
    plain = AutoClustering(4, random_state=0).fit(X.map({"words": lambda part: part * 0.5}))
    assert normalized_mutual_info(y, model.labels_) > 0.95
    idf = TfidfViews(sublinear_tf=True).fit(X).idf_["words"]
    ratio = model.preparation_[-1].idf_["words"] / idf
    # the divergence of clusters, word by word, from its definition
    for word in (0, 25, 70):
        found = 5 * model.memberships_.mean(axis=0) + model.memberships_[X["words"][:, word] > 0].sum(axis=0)
        expected = np.sqrt(0.1 + entropy(found, model.memberships_.mean(axis=0)) / np.log(4))
        assert ratio[word] == pytest.approx(expected, abs=0.02)  # by the votes of the first round
    assert ratio[:40].min() > 2 * ratio[40:].max()
    assert_array_equal(plain.preparation_[-1].idf_["words"], np.ones(80))  # who gives weights has weighed
    for each in (model, plain):
        assert inspect(each).selection.votes["clusterings"] == len(SCALES) * N_CLUSTERINGS


def test_words_of_a_view_that_one_cluster_has_tell_no_more_for_that():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    words, notes = rng.poisson(1.0, (200, 20)), rng.poisson(1.0, (200, 9))
    views = {"words": words * (np.arange(20) // 10 == y[:, None]), "notes": notes * (y == 0)[:, None]}
    X = Views(views, present={"notes": y == 0})
    (plain,) = [TfidfViews(sublinear_tf=True).fit(X)]
    (step,) = stress_telling_words([plain], X, np.eye(2)[y], X)
    assert_allclose(step.idf_["notes"] / plain.idf_["notes"], np.sqrt(0.1), atol=1e-6)
    assert (step.idf_["words"] / plain.idf_["words"]).min() > 0.9
