"""The same objects read from fewer views."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClustering,
    CoPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    SphericalKMeans,
    TfidfViews,
    Views,
    inspect,
)
from coview.datasets import make_topic_views
from coview.exceptions import UnknownObjectsWarning, ViewsError
from coview.inspection.by_view import agreement_matrix, read_by_view, try_views
from coview.inspection.objects import disputed_objects
from coview.web.explorer import Explorer
from coview.web.service import Service


@pytest.fixture
def three():
    """Two views that know the classes and one of noise; half of the objects lack the second."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    a, b = (np.eye(3)[y] * 6 + rng.poisson(1, size=(60, 3)) for _ in range(2))
    have = np.arange(60) < 30
    noise = rng.poisson(2, size=(60, 3)).astype(float)
    return Views(a=a, b=np.where(have[:, None], b, 0), noise=noise, present={"b": have}), y


def test_readings_are_what_the_model_says_of_these_views(three):
    X, y = three
    model = MultiViewNaiveBayes().fit(X, y)
    readings = read_by_view(inspect(model), X)
    assert_array_equal(readings.whole.codes, model.predict(X))
    for v, view in enumerate(X.names):
        have = X.present[:, v]
        assert_array_equal(readings.alone[view].codes, np.where(have, model.predict(X.select(view)), -1))
        assert_array_equal(readings.without[view].memberships, model.predict_proba(X.drop(view)))


def test_agreement_counts_objects_that_have_both_views(three):
    X, y = three
    model = MultiViewNaiveBayes().fit(X, y)
    found = agreement_matrix(read_by_view(inspect(model), X))
    a, b = model.predict(X.select("a"))[:30], model.predict(X[:30].select("b"))
    assert found["names"] == ["a", "b", "noise", "all views"]
    assert found["values"][0][1] == found["values"][1][0] == pytest.approx(np.mean(a == b))


def test_what_a_model_refuses_is_kept(three):
    X, y = three
    needed = X.names[0]

    class Picky(MultiViewNaiveBayes):
        def predict_proba(self, X):
            if needed not in X.names:
                raise ViewsError(f"{needed!r} is needed.")
            return super().predict_proba(X)

    readings = read_by_view(inspect(Picky().fit(X, y)), X)
    assert list(readings.alone) == [needed]
    assert readings.refused == dict.fromkeys(X.names, f"{needed!r} is needed.")


def test_of_two_views_the_refusal_of_one_is_not_that_of_the_other():
    alone, without, refused = try_views(("a", "b"), lambda names: 1 if names == ("a",) else int(names[0]))
    assert (alone, without, list(refused)) == ({"a": 1}, {"b": 1}, ["b"])


@pytest.fixture
def bare():
    """Objects of which every fifth has no feature in the second view, though it is said to have the view."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    words, links = (np.repeat(np.eye(3), 3, axis=1)[y] * 6 + rng.poisson(0.3, size=(90, 9)) for _ in range(2))
    links[2::5] = 0
    counts = Views(words=sparse.csr_array(words), links=sparse.csr_array(links))
    return counts, y, np.arange(90) % 5 == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: MultiViewPLSA(3, 4, max_iter=20, random_state=0),
        lambda: SphericalKMeans(3, random_state=0),
        lambda: CoPLSA(3, max_iter=20, random_state=0),
    ],
)
def test_a_view_without_a_feature_of_an_object_has_no_opinion_of_it(bare, make):
    X, _, empty = bare
    model = inspect(make().fit(X))
    readings = read_by_view(model, X)
    assert (readings.alone["links"].codes[empty] == -1).all() and (readings.alone["links"].codes[~empty] >= 0).all()
    assert not readings.alone["links"].memberships[empty].any()
    assert (readings.without["words"].codes[empty] == -1).all()  # nothing is left of them
    assert (readings.whole.codes >= 0).all() and (readings.alone["words"].codes >= 0).all()
    by_view = model.memberships_by_view(X)
    assert not by_view["links"][empty].any() and by_view["links"][~empty].any(axis=1).all()
    disputed = disputed_objects(readings, n=90)
    assert not empty[[one["row"] for one in disputed]].any()


# -- Views that a model leaves out have no opinion, wherever one asks for it

UNUSED = ("money", "rating")


@pytest.fixture(scope="module")
def movies():
    """Titles and genres that know the clusters; money and a rating, with gaps, that know nothing."""
    rng = np.random.default_rng(0)
    data = make_topic_views(240, {"title": 60, "genres": 60}, n_clusters=3, random_state=0)
    present = np.ones((240, 4), dtype=bool)
    present[:, 2:] = rng.random((240, 2)) < 0.8
    money, rating = rng.lognormal(16, 1, (240, 4)) * present[:, [2]], rng.normal(6, 1, (240, 4)) * present[:, [3]]
    return Views({**dict(data.views.items()), "money": money, "rating": rating}, present=present), data.target


@pytest.fixture(scope="module")
def clustering(movies):
    return AutoClustering(3, random_state=0).fit(movies[0])


def test_no_view_that_all_methods_leave_out_is_asked(movies, clustering):
    answer = inspect(clustering)
    assert answer.unused_views == UNUSED
    assert list(answer.memberships_by_view(movies[0])) == ["title", "genres"]
    assert agreement_matrix(read_by_view(answer, movies[0]))["names"] == ["title", "genres", "all views"]


def test_predict_says_that_it_knows_nothing_of_objects_with_only_such_views(movies, clustering):
    with pytest.warns(UnknownObjectsWarning, match="4 of 4 objects have no feature known to the model"):
        clustering.predict(movies[0].select("money")[np.flatnonzero(movies[0].present[:, 2])[:4]])


def test_the_explorer_compares_and_shows_none_of_them(movies, clustering):
    service = Service(clustering, movies[0])
    views = Explorer(service).section(0, "views")
    assert [row["name"] for row in views["rows"]] == ["title", "genres"]
    assert views["agreement"]["names"] == ["title", "genres", "all views"]
    assert Explorer(service).section(0, "data")["unused"] == list(UNUSED)
    (opinion,) = Explorer(service).object(0)["opinions"]
    assert (list(opinion["by_view"]), opinion["unused"]) == (["title", "genres"], list(UNUSED))
    assert list(service.predict(movies[0][:2], by_view=True)["by_view"]) == ["title", "genres"]
    assert [view["name"] for view in service.info()["views"] if view["unused"]] == list(UNUSED)


def test_a_classifier_has_none_of_views_that_no_candidate_sees(movies, fit_auto):
    X, target = movies
    y = np.where(np.arange(240) % 4 == 0, target, -1)
    model = fit_auto(["centers", "topics"], X, y, cv=2)
    assert inspect(model).unused_views == UNUSED
    assert list(model.predict_labels_by_view(X)) == ["title", "genres"]


def test_steps_that_keep_the_views_leave_them_unused(movies):
    X = movies[0].select("title", "genres")
    model = make_pipeline(TfidfViews(), SphericalKMeans(3, random_state=0))
    bayes = make_pipeline(TfidfViews(), MultiViewNaiveBayes(view_weights={"genres": 0.0})).fit(X, movies[1])
    assert inspect(model.fit(X)).preparation.unused_inputs == ()
    assert list(Service(bayes, X).predict(X[:2], by_view=True)["by_view"]) == ["title"]
