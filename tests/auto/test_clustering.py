"""AutoClustering: near its best candidate, failures reported, new objects, files."""

from __future__ import annotations

import copy
import threading
import time
import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from coview import (
    AutoClustering,
    CCAClustering,
    ConcatenatedViews,
    LinkPLSA,
    SphericalKMeans,
    TimeBudget,
    Views,
    inspect,
    load,
    save,
)
from coview.auto import clustering
from coview.auto.candidates import GRAPH_PRIORS, Candidate, TimedFit, default_candidates
from coview.auto.clustering import Judged, _why_dropped
from coview.auto.objects import Objects
from coview.datasets import make_topic_views
from coview.engines.loop import Deadline
from coview.exceptions import EngineError, ParameterError, ViewsError
from coview.inspection.choice import describe_choice
from coview.metrics import normalized_mutual_info
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


def why_dropped(model: AutoClustering) -> dict[str, str | None]:
    return dict(zip(model.candidates_["name"], model.candidates_["dropped"]))


@pytest.fixture(scope="module")
def counts():
    return make_topic_views(n_objects=150, n_clusters=3, random_state=0)


@pytest.fixture(scope="module")
def fitted(counts):
    return AutoClustering(3, random_state=0).fit(counts.views)


def test_it_is_near_its_best_candidate_on_counts():
    """Of texts so short and alike that the candidates differ."""
    made = make_topic_views(n_objects=150, n_clusters=3, overlap=0.85, length=20, random_state=0)
    model = AutoClustering(3, random_state=0).fit(made.views)
    scores = [normalized_mutual_info(made.target, labels) for labels in model.labels_by_candidate_.values()]
    assert min(scores) < max(scores) - 0.2
    assert normalized_mutual_info(made.target, model.labels_) > max(scores) - 0.03


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_near_its_best_candidate_on_measurements_with_noise(seed):
    X, y = measured(seed=seed)
    model = AutoClustering(3, random_state=0).fit(X)
    scores = [normalized_mutual_info(y, labels) for labels in model.labels_by_candidate_.values()]
    assert min(scores) > 0.7  # none of them sees the noise
    assert normalized_mutual_info(y, model.labels_) > max(scores) - 0.05
    assert why_dropped(model)["topics"].startswith("no view holds counts")


def rings(n: int = 240, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Two rings, one around the other, in each of two views: no centroid tells them, and most candidates are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    views = {}
    for name, noise in (("a", 0.15), ("b", 0.2)):
        angle = rng.uniform(0, 2 * np.pi, n)
        ring = (1 + 1.5 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        views[name] = ring + rng.normal(scale=noise, size=(n, 2))
    return Views(views), y


def test_a_minority_that_the_neighbors_bear_out_wins():
    X, y = rings()
    model = AutoClustering(2, random_state=0).fit(X)
    truth = {name: normalized_mutual_info(y, labels) for name, labels in model.labels_by_candidate_.items()}
    assert np.median(list(truth.values())) < 0.7 and max(truth.values()) > 0.9
    assert normalized_mutual_info(y, model.labels_) > 0.9


def test_a_view_does_not_speak_for_all():
    """Wine in two halves of its columns: one view tells its own clusters best, and both together tell the truth."""
    wine = load_wine()
    X = Views(a=wine.data[:, :6], b=wine.data[:, 6:])

    def found(views: Views) -> float:
        model = AutoClustering(3, random_state=0).fit(views)
        return normalized_mutual_info(wine.target, model.labels_)

    assert found(X) > max(0.8, found(X.select("a")) + 0.05, found(X.select("b")) + 0.05)


def test_no_candidate_is_begun_when_the_time_is_over(counts):
    candidates = [("cca", CCAClustering(3)), ("sphere", SphericalKMeans(3))]
    model = AutoClustering(3, candidates=candidates, time_budget=1e-9, random_state=0).fit(counts.views)
    assert list(model.labels_by_candidate_) == ["cca"]
    assert why_dropped(model)["sphere"] == ("not fitted within the time budget of 1e-09 seconds")
    with pytest.raises(ValueError, match=r"time_budget.* must be a float in the range.* Got 0"):
        model.set_params(time_budget=0).fit(counts.views)


class Counting(SphericalKMeans):
    """Remembers how many objects each fit saw."""

    seen: ClassVar[list[int]] = []

    def fit_predict(self, X, y=None):
        self.seen.append(len(X))
        return super().fit_predict(X)


def test_a_second_fit_on_half_of_the_objects_says_how_stable_the_first_is():
    X = make_topic_views(n_objects=150, n_clusters=3, n_features=20, random_state=0).views
    Counting.seen.clear()
    AutoClustering(3, candidates=[("one", Counting(3, n_init=1))], random_state=0).fit(X)
    assert Counting.seen == [150, 75]


def test_evidence_is_gathered_on_a_sample_and_only_who_is_kept_sees_all(monkeypatch, counts):
    monkeypatch.setattr("coview.auto.objects.SAMPLE", 100)
    Counting.seen.clear()
    candidates = [("good", CCAClustering(3)), ("bad", Counting(3, init="random", n_init=1, max_iter=1))]
    noise = np.random.default_rng(0).permutation(150)
    monkeypatch.setattr(Counting, "fit_predict", lambda self, X, y=None: _noted(self, X, noise))
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    assert Counting.seen == [100]
    assert list(model.labels_by_candidate_) == ["good"]
    assert normalized_mutual_info(counts.target, model.labels_) > 0.9


def _noted(model, X, noise):
    model.seen.append(len(X))
    return noise[: len(X)] % 3


@pytest.fixture
def small_samples(monkeypatch):
    """Samples so small that a few hundred objects are many."""
    for name, size in (("SAMPLE", 150), ("BASE", 300), ("BLOCK", 128)):
        monkeypatch.setattr(f"coview.auto.objects.{name}", size)
        monkeypatch.setattr(f"coview.auto.objects.{name}_PER_CLUSTER", 1, raising=False)
    monkeypatch.setattr("coview.auto.candidates.MOST_NODES", 300)


@pytest.fixture(scope="module")
def many():
    return make_topic_views(n_objects=700, n_clusters=3, random_state=0)


def test_many_objects_go_through_blocks(small_samples, many):
    model = AutoClustering(3, random_state=0).fit(many.views)
    assert model.labels_.shape == (700,) and model.memberships_.shape == (700, 3)
    assert normalized_mutual_info(many.target, model.labels_) > 0.9
    assert "too many for neighbor graphs" in why_dropped(model)["graphs"]
    assert_array_equal(model.predict(many.views), model.labels_)


def test_rows_that_are_read_when_needed_give_the_same_as_in_memory(small_samples, many):
    lazy = LazyViews.from_views(many.views, 100)
    one, two = (AutoClustering(3, random_state=0).fit(X) for X in (many.views, lazy))
    assert_array_equal(one.labels_, two.labels_)
    assert one.candidates_["weight"] == two.candidates_["weight"]
    assert_array_equal(one.predict(lazy), one.labels_)


def test_rows_of_a_cluster_are_gone_through_where_they_are(small_samples, many):
    da = pytest.importorskip("dask.array")
    chunks = {name: da.from_array(part.toarray(), chunks=(100, -1)) for name, part in many.views.items()}
    model = AutoClustering(3, random_state=0).fit(chunks)
    assert normalized_mutual_info(many.target, model.labels_) > 0.9
    assert_array_equal(model.predict(chunks).compute(), model.labels_)


def test_a_few_lazy_rows_beyond_single_precision_are_told_with_their_view(small_samples, many):
    """They are found when all objects are read, after the candidates were fitted to a sample."""
    late = np.setdiff1d(np.arange(700), Objects.of(many.views, 3, 0).base_rows)[-1]
    large = sparse.diags_array(np.where(np.arange(700) == late, 1e12, 1.0))
    X = many.views.map(lambda part: sparse.csr_array(large @ part).astype(np.float32))
    with pytest.raises(ViewsError, match="'view0' has values too large or too small for single precision"):
        AutoClustering(3, random_state=0).fit(LazyViews.from_views(X, 100))


def test_lazy_rows_are_checked_as_those_in_memory(small_samples, many):
    lazy = LazyViews.from_views(many.views, 100).map(lambda part: part * 1e300)
    with pytest.raises(ViewsError, match="view0"):
        AutoClustering(3, random_state=0).fit(lazy)


def test_the_number_of_clusters_is_chosen_where_it_is_not_given():
    made = make_topic_views(n_objects=200, n_clusters=4, random_state=0)
    model = AutoClustering(None, random_state=0).fit(made.views)
    table = model.n_clusters_evidence_
    assert model.n_clusters_ == 4 == table["n_clusters"][int(np.argmax(table["information"]))]
    assert normalized_mutual_info(made.target, model.labels_) > 0.9
    assert "4 was chosen" in describe_choice(inspect(model).candidates, inspect(model).numbers)


def test_a_number_of_clusters_that_nothing_bears_out_is_told():
    rng = np.random.default_rng(0)
    X = Views(a=rng.normal(size=(60, 4)), b=rng.normal(size=(60, 4)))
    with pytest.warns(UserWarning, match=r"takes \d+, but the data bear out no number of clusters: whichever") as told:
        model = AutoClustering(None, random_state=0).fit(X)
    assert f"takes {model.n_clusters_}," in str(told[0].message)
    assert max(model.n_clusters_evidence_["information"]) < 0
    words = describe_choice(inspect(model).candidates, inspect(model).numbers)
    assert "None of 5 numbers of clusters from 2 to 6 is supported by the data" in words
    with pytest.warns(UserWarning, match="takes 2, .*: there are too few objects to try any"):
        assert AutoClustering(None, random_state=0).fit(X[:15]).n_clusters_ == 2


class Told(SphericalKMeans):
    """A clusterer that has its clusters from a table: one for all objects, and one for any sample of them."""

    all: ClassVar[np.ndarray]
    some: ClassVar[np.ndarray]

    def fit_predict(self, X, y=None):
        super().fit(X)
        return self.all if len(X) == len(self.all) else self.some[: len(X)]


def test_a_candidate_whose_clusters_do_not_come_back_is_dropped_for_that(counts):
    Told.all, Told.some = counts.target, np.random.default_rng(0).integers(0, 3, 150)
    candidates = [("good", SphericalKMeans(3)), ("fickle", Told(3))]
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    assert why_dropped(model) == {"good": None, "fickle": "less stable than good"}


@pytest.mark.parametrize(
    ("score", "stability", "placed", "why"),
    [
        (0.99, 0.9, 1.0, None),
        (0.8, np.nan, 1.0, "less supported by the views than good"),
        (0.8, 1.0, 1.0, "less supported by the views than good"),
        (0.99, 0.2, 1.0, "less stable than good"),
        (0.93, 0.45, 1.0, "less supported by the views and less stable than good"),  # either one's figure would do
        (0.8, 0.1, 1.0, "less supported by the views and less stable than good"),  # neither would
        (0.5, np.nan, 0.5, "places only 50% of the objects, by the views that it sees"),
    ],
)
def test_the_reason_of_a_candidate_that_is_dropped_is_what_would_have_kept_it(score, stability, placed, why):
    fits = [Judged(Candidate(name, None), TimedFit(np.zeros(1), 1, 0, 0)) for name in ("good", "other")]
    figures = (np.array([1.0, value]) for value in (score, stability, placed))
    assert _why_dropped(fits, *figures) == [None, why]


def test_a_number_of_clusters_is_not_chosen_for_given_candidates(counts):
    with pytest.raises(ParameterError, match="n_clusters must be a number where candidates are given"):
        AutoClustering(None, candidates=[("sphere", SphericalKMeans(3))]).fit(counts.views)


def test_a_warm_start_keeps_the_choice_and_the_numbers_of_the_clusters(many):
    model = AutoClustering(3, random_state=0).fit(many.views[:200])
    weights, few = copy.deepcopy(model.candidates_), model.labels_
    again = clone(model).set_params(warm_start=True, random_state=5)
    again.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    again.fit(many.views)
    assert_equal(again.candidates_, weights)
    assert list(again.estimators_) == list(model.estimators_)
    assert np.mean(again.labels_[:200] == few) > 0.9
    assert normalized_mutual_info(many.target, again.labels_) > 0.9
    with pytest.raises(ViewsError, match="warm_start needs the views of the earlier one"):
        again.fit(many.views.select("view0"))


def test_a_warm_start_says_that_another_number_of_clusters_is_not_used(counts):
    model = AutoClustering(3, candidates=[("sphere", SphericalKMeans(3))], warm_start=True, random_state=0)
    model.fit(counts.views)
    with pytest.warns(UserWarning, match=r"n_clusters=5 is not used: .* keeps the 3 clusters"):
        model.set_params(n_clusters=5).fit(counts.views)
    assert model.n_clusters_ == 3


class Recorded(LinkPLSA):
    """A topic model that notes the time that its fits have."""

    seen: ClassVar[list[float | None]] = []

    def fit(self, X, y=None):
        self.seen.append(self._deadline().left())
        return super().fit(X, y)


@pytest.mark.parametrize("own", [None, 90.0])
def test_the_time_of_one_fit_is_not_that_of_the_next(counts, own):
    own = () if own is None else (TimeBudget(own),)
    candidate = Candidate("topics", Recorded(3, random_state=0).set_callbacks(*own))
    Recorded.seen.clear()
    candidate.fit_in_time(counts.views, 0, Deadline.after(0.2))
    again, _ = candidate.refit(Objects.of(counts.views, 3, 0), Deadline.after(60))
    first, second = Recorded.seen
    assert first <= 0.2 and 1 < second <= 60
    assert candidate.estimator._callbacks == again.estimator._callbacks == own


def test_objects_without_any_view_are_in_no_cluster_whatever_their_number(small_samples, many, monkeypatch):
    monkeypatch.setitem(GRAPH_PRIORS, "counts", 5.0)  # so that anchors are kept
    present = np.ones((700, len(many.views.names)), dtype=bool)
    present[3:6] = False
    keep = sparse.diags_array(present[:, 0].astype(float))
    X = Views({name: sparse.csr_array(keep @ part) for name, part in many.views.items()}, present=present)
    model = AutoClustering(3, random_state=0).fit(X)
    assert "anchors" in model.labels_by_candidate_
    for labels in model.labels_by_candidate_.values():
        assert_array_equal(np.flatnonzero(labels < 0), [3, 4, 5])
    assert_allclose(model.memberships_[3:6], 1 / 3, rtol=1e-6)


def test_the_table_has_a_line_for_every_candidate(fitted):
    table = fitted.candidates_
    evidence = {"score", "reliability", "completion", "stability", "agreement"}
    assert set(table) == {"name", "method", "weight", "without", "dropped"} | evidence
    assert len({len(column) for column in table.values()}) == 1
    assert max(table["weight"]) == 1
    for weight, why in zip(table["weight"], table["dropped"]):
        assert (weight > 0) == (why is None)
    assert set(fitted.estimators_) == {name for name, w in zip(table["name"], table["weight"]) if w > 0}


def test_new_objects_are_placed_by_any_view(counts, fitted):
    assert_array_equal(fitted.predict(counts.views), fitted.labels_)
    for name in counts.views.names:
        assert normalized_mutual_info(fitted.labels_, fitted.predict(counts.views.select(name))) > 0.5
    assert fitted.transform(counts.views[:5]).shape == (5, 3)


def test_a_file_holds_the_candidates(counts, fitted, tmp_path):
    save(fitted, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert_array_equal(again.predict(counts.views), fitted.labels_)
    assert_equal(again.candidates_, fitted.candidates_)


def test_the_same_seed_gives_the_same(counts, fitted):
    again = AutoClustering(3, random_state=0).fit(counts.views)
    assert_array_equal(again.labels_, fitted.labels_)
    assert again.candidates_["weight"] == fitted.candidates_["weight"]


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


def test_one_view_has_fewer_candidates(counts):
    model = AutoClustering(3, random_state=0).fit(counts.views["view0"])
    why = why_dropped(model)
    assert why["correlation"] == "there is no second view to correlate with"


class Broken(KMeans):
    """A clusterer that cannot be fitted."""

    def fit_predict(self, X, y=None):
        raise ValueError("it is broken.")


def test_a_candidate_that_fails_is_reported_and_the_others_go_on(counts):
    candidates = [("sphere", SphericalKMeans(3)), ("cca", CCAClustering(3)), ("broken", Broken(3))]
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    assert why_dropped(model)["broken"] == "could not be fitted: it is broken."
    assert normalized_mutual_info(counts.target, model.labels_) > 0.8


class Stuck(KMeans):
    """A clusterer whose eigenvectors are not found in time."""

    def fit_predict(self, X, y=None):
        raise ArpackNoConvergence("no eigenvectors.", np.empty(0), np.empty((0, 0)))


def test_a_candidate_whose_eigenvectors_do_not_converge_is_left_out(counts):
    candidates = [("sphere", SphericalKMeans(3)), ("cca", CCAClustering(3)), ("stuck", Stuck(3))]
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    assert "no eigenvectors" in why_dropped(model)["stuck"]


def test_parameters_that_change_after_the_fit_do_not_change_what_was_fitted(counts):
    candidates = [("sphere", SphericalKMeans(3)), ("cca", CCAClustering(3))]
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    model.set_params(candidates=None)
    assert_array_equal(model.predict(counts.views), model.labels_)


def test_if_all_fail_the_last_reason_is_given(counts):
    with pytest.raises(ValueError, match=r"No candidate could be fitted\. The last error was: it is broken"):
        AutoClustering(3, candidates=[("broken", Broken(3))]).fit(counts.views)


def test_own_candidates_may_wrap_any_clusterer(counts):
    candidates = [("k-means", ConcatenatedViews(KMeans(3, n_init=2), normalize="l2")), ("sphere", SphericalKMeans(3))]
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    assert normalized_mutual_info(counts.target, model.labels_) > 0.8
    assert model.predict(counts.views).shape == (150,)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("all", "'candidates' parameter .* must be an instance of 'list'.* Got 'all'"),
        ([], "at least one entry"),
        ([("a", SphericalKMeans(3)), ("a", SphericalKMeans(3))], "unique names"),
        (KMeans(3), "an instance of 'list'.* Got KMeans"),
        ([SphericalKMeans(3)], "list of names of default candidates and \\(name, clusterer\\)"),
        ([("a", 3)], "Candidate 'a' must be a clusterer"),
    ],
)
def test_what_are_no_candidates_is_refused(given, sentence, counts):
    with pytest.raises(ParameterError, match=sentence):
        AutoClustering(3, candidates=given).fit(counts.views)


def test_progress_is_said_where_asked(counts, capsys):
    AutoClustering(3, candidates=[("sphere", SphericalKMeans(3))], verbose=1, random_state=0).fit(counts.views)
    assert "AutoClustering, candidate 1/1, sphere: " in capsys.readouterr().err


def test_an_engine_that_is_not_there_is_refused_and_no_candidate_dropped_for_it(counts):
    with pytest.raises(EngineError, match=r"engine must be 'auto', 'cpu', .* got 'abacus'"):
        AutoClustering(3, engine="abacus").fit(counts.views)
    with pytest.raises(EngineError, match="engine must be 'auto'"):
        AutoClustering(3, engine=np.ones(2)).fit(counts.views)


def test_the_engine_of_a_cluster_is_for_rows_that_are_not_in_memory():
    X = Views(a=np.eye(4), b=np.eye(4))
    few = {one.name: one.estimator for one in default_candidates(X, 2, 0, engine="dask")[0]}
    many = {one.name: one.estimator for one in default_candidates(X, 2, 0, 10**6, "dask")[0]}
    assert (few["graphs"].engine, few["topics"].steps[-1][1].engine, many["anchors"].engine) == ("auto", "cpu", "dask")


def test_candidates_are_those_that_the_views_allow():
    names = {
        "counts": [candidate.name for candidate in default_candidates(Views(a=np.eye(4), b=np.eye(4)), 2, seed=0)[0]],
        "one": [candidate.name for candidate in default_candidates(Views(a=-np.eye(4)), 2, seed=0)[0]],
    }
    assert names == {
        "counts": ["graphs", "sphere", "correlation", "topics"],
        "one": ["graphs", "sphere"],
    }


@pytest.fixture(scope="module")
def mixed():
    """Counts, and two columns that have nothing to do with them."""
    made = make_topic_views(n_objects=300, n_clusters=5, random_state=0)
    columns = np.random.default_rng(0).normal([2020, 300], [3, 100], size=(300, 2))
    return Views({**dict(made.views.items()), "meta": columns}), made


def test_a_few_columns_beside_counts_do_not_make_the_clusters(mixed):
    X, made = mixed
    with_columns, without = (AutoClustering(5, random_state=0).fit(part) for part in (X, made.views))
    score, alone = (normalized_mutual_info(made.target, model.labels_) for model in (with_columns, without))
    assert score > alone - 0.05
    sphere, topics = (with_columns.labels_by_candidate_[name] for name in ("sphere", "topics"))
    assert min(normalized_mutual_info(made.target, labels) for labels in (sphere, topics)) > 0.8
    table = with_columns.candidates_
    reasons = {name: reason for name, reason in zip(table["name"], table["without"]) if reason}
    assert set(reasons.values()) == {"meta (noise)"}
    assert set(reasons) == {"graphs", "sphere", "correlation", "latent", "topics"}
    assert_array_equal(with_columns.predict(X), with_columns.labels_)


def test_objects_that_no_chosen_method_can_place_are_named(mixed, monkeypatch):
    X, _ = mixed
    monkeypatch.setattr("coview.auto.clustering.default_candidates", lambda *a: (default_candidates(*a)[0][1:2], {}))
    model = AutoClustering(5, random_state=0).fit(X)
    assert list(model.estimators_) == ["sphere"]
    with pytest.warns(UserWarning, match="3 of 3 objects have only views that the chosen methods leave out"):
        assert np.ptp(model.transform(X.select("meta")[:3])) < 1e-6


def test_who_leaves_views_out_counts_by_the_objects_it_places(mixed):
    """Most objects have the two columns alone: what clusters the others by their counts says little of all."""
    _, made = mixed
    present = np.ones((300, 3), dtype=bool)
    present[90:, :2] = False
    few = {name: sparse.diags_array(present[:, 0].astype(float)) @ made.views[name] for name in made.views.names}
    y = np.arange(300) % 5
    columns = 9 * np.eye(5)[y] + np.random.default_rng(0).normal(size=(300, 5))
    model = AutoClustering(5, random_state=0).fit(Views({**few, "meta": columns}, present=present))
    weights = dict(zip(model.candidates_["name"], model.candidates_["weight"]))
    assert weights["sphere"] == weights["topics"] == 0
    assert why_dropped(model)["sphere"] == "places only 30% of the objects, by the views that it sees"
    assert normalized_mutual_info(y[90:], model.labels_[90:]) > 0.9


def test_a_topic_model_is_a_candidate_by_its_likeliest_topics(counts):
    model = AutoClustering(3, candidates=[("topics", LinkPLSA(3, init="likeliest"))], random_state=0).fit(counts.views)
    assert normalized_mutual_info(counts.target, model.labels_) > 0.9
    assert_array_equal(model.predict(counts.views), model.labels_)


def test_measurements_stored_as_sparse_are_measurements():
    X, _ = measured()
    wide = X.map(sparse.csr_array)
    one, two = (AutoClustering(3, random_state=0).fit(part) for part in (X, wide))
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(two.predict(X), two.predict(wide))


def test_verbose_says_why_a_candidate_is_dropped(capsys):
    X, _ = measured()
    AutoClustering(3, random_state=0, verbose=1).fit(X)
    assert "AutoClustering, weight 0.00, topics: no view holds counts" in capsys.readouterr().err


class WholeOnly(SphericalKMeans):
    """Cannot be fitted to a part of the objects."""

    def fit(self, X, y=None):
        if len(X) < 150:
            raise ValueError("some are not there")
        return super().fit(X)


def test_a_candidate_that_fails_on_a_part_of_the_objects_is_unstable_and_no_failure(counts):
    candidates = [("whole", WholeOnly(3)), ("any", SphericalKMeans(3, max_iter=3))]
    model = AutoClustering(3, candidates=candidates, random_state=0).fit(counts.views)
    assert list(model.estimators_) == ["any"] and "less stable than any" in why_dropped(model)["whole"]
    assert dict(zip(model.candidates_["name"], model.candidates_["stability"]))["whole"] == 0
    alone = AutoClustering(3, candidates=candidates[:1], random_state=0).fit(counts.views)
    assert list(alone.estimators_) == ["whole"]


def test_what_candidates_say_of_themselves_is_not_told(counts):
    """K-means of coordinates in a view that one object has finds less clusters than it was asked for."""
    present = np.ones((150, 2), dtype=bool)
    present[1:, 1] = False
    rare = sparse.csr_array(counts.views["view1"].multiply(present[:, [1]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AutoClustering(3, random_state=0).fit(Views(a=counts.views["view0"], b=rare, present=present))


def test_evidence_has_its_share_of_the_time_once(counts, monkeypatch):
    shares = {}
    here, real = threading.get_ident(), time.monotonic  # nothing takes any time but in threads of others
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 if threading.get_ident() == here else real())
    for name in ("reliabilities", "completions"):
        call = getattr(clustering, name)

        def timed(*args, name=name, call=call):
            shares[name] = args[-1].left() / 20
            return call(*args)

        monkeypatch.setattr(clustering, name, timed)
    AutoClustering(3, time_budget=20, random_state=0).fit(counts.views)
    assert_allclose([shares["reliabilities"], shares["completions"]], [clustering.JUDGED / 2, clustering.JUDGED])


class ReadsCounts(SphericalKMeans):
    """Notes the largest value that it was ever shown."""

    shown: ClassVar[list[float]] = []

    def fit(self, X, y=None):
        self.shown.append(max(part.max() for part in X.values()))
        return super().fit(X)

    def predict(self, X):
        self.shown.append(max(part.max() for part in X.values()))
        return super().predict(X)

    def _inspect(self):
        return replace(super()._inspect(), _predict=self.predict)


SHORT = make_topic_views(n_objects=150, n_clusters=3, overlap=0.5, length=20, random_state=0).views


def test_a_given_candidate_sees_the_views_as_they_are_in_fit_and_predict():
    """Default ones see weighted views, whose rows have length 1."""
    ReadsCounts.shown.clear()
    model = AutoClustering(3, candidates=["sphere", ("mine", ReadsCounts(3))], random_state=0).fit(SHORT)
    assert list(model.estimators_) == model.given_candidates_ == ["mine"]
    assert len(ReadsCounts.shown) >= 2 and min(ReadsCounts.shown) > 1
    ReadsCounts.shown.clear()
    model.set_params(candidates=None).predict(SHORT)
    assert len(ReadsCounts.shown) == 1 and min(ReadsCounts.shown) > 1


def test_a_saved_model_knows_which_candidates_were_given(tmp_path):
    candidates = ["sphere", ("mine", SphericalKMeans(3))]
    model = AutoClustering(3, candidates=candidates, warm_start=True, random_state=0).fit(SHORT)
    save(model.set_params(candidates=None), tmp_path / "model.coview")
    back = load(tmp_path / "model.coview")
    assert_array_equal(back.predict(SHORT), model.labels_)
    again = back.fit(SHORT)
    assert again.given_candidates_ == ["mine"]
    assert_array_equal(again.predict(SHORT), again.labels_)


def test_default_candidates_are_asked_for_by_name_beside_estimators(counts):
    X = counts.views
    model = AutoClustering(3, candidates=["sphere", ("mine", SphericalKMeans(3))], random_state=0).fit(X)
    alone = AutoClustering(3, candidates=["sphere"], random_state=0).fit(X)
    whole = AutoClustering(3, random_state=0).fit(X)
    assert alone.candidates_["name"] == ["sphere"] and model.candidates_["name"] == ["sphere", "mine"]
    assert_array_equal(alone.labels_by_candidate_["sphere"], whole.labels_by_candidate_["sphere"])
    assert_array_equal(model.labels_by_candidate_["sphere"], whole.labels_by_candidate_["sphere"])


def test_the_number_is_chosen_beside_names_of_candidates(counts, tmp_path):
    model = AutoClustering(None, candidates=["sphere", "latent"], random_state=0).fit(counts.views)
    assert model.n_clusters_ == 3
    save(model, tmp_path / "model.coview")
    assert_array_equal(load(tmp_path / "model.coview").predict(counts.views), model.predict(counts.views))


def test_names_that_are_no_candidates_are_refused(counts):
    with pytest.raises(ValueError, match=r"no default candidate 'spheres'.*Did you mean 'sphere'\?.*graphs, sphere"):
        AutoClustering(3, candidates=["spheres"]).fit(counts.views)
    with pytest.raises(ValueError, match="suits the data: smoothed, since no view holds links"):
        AutoClustering(3, candidates=["smoothed"]).fit(counts.views)


def test_the_score_in_the_table_of_candidates_is_what_decided():
    table = AutoClustering(3, random_state=0).fit(measured()[0]).candidates_
    assert np.nanmax(table["score"]) == 1.0 and 0.0 in table["weight"]
    for score, weight in zip(table["score"], table["weight"]):
        assert weight == pytest.approx(score**12 if score**12 >= 0.2 else 0.0)


@pytest.mark.parametrize(("score", "why"), [(0.8, "good counts 2 times as much before"), (0.3, "less supported")])
def test_a_candidate_that_lost_by_its_prior_is_told_so(score, why):
    both = (Candidate("good", None, 2.0), Candidate("other", None, 1.0))
    fits = [Judged(each, TimedFit(np.zeros(1), 1, 0, 0)) for each in both]
    assert _why_dropped(fits, np.array([1.4, score]), np.ones(2), np.ones(2))[1].startswith(why)
