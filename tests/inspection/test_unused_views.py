"""Views that a model leaves out have no opinion, wherever one asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClustering,
    MultiViewNaiveBayes,
    SphericalKMeans,
    TfidfViews,
    Views,
    inspect,
)
from coview.datasets import make_topic_views
from coview.exceptions import UnknownObjectsWarning
from coview.inspection.by_view import agreement_matrix, read_by_view
from coview.web.explorer import Explorer
from coview.web.service import Service

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
