"""What every fitted model answers: one contract over the catalog, pipelines, searches and scikit-learn's estimators."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import LabelSpreading

from coview import LinkPLSA, SphericalKMeans, TextViews, TfidfViews, inspect
from coview.catalog import ESTIMATORS, resolve
from coview.datasets import make_topic_views
from coview.inspection import KINDS
from coview.inspection.memberships import label_codes
from coview.inspection.reading import read_groups, transform_objects

DATA = make_topic_views(n_objects=60, n_features=40, n_clusters=3, random_state=0)
SMALL = {"n_clusters": 3, "n_components": 3, "max_iter": 5, "random_state": 0, "n_init": 1}


def fitted(name):
    model = resolve(name)()
    model.set_params(**{key: value for key, value in SMALL.items() if key in model.get_params(deep=False)})
    return model.fit(DATA.views, DATA.target if ESTIMATORS[name].kind == "classifier" else None)


@pytest.fixture(scope="module", params=[name for name in ESTIMATORS if name not in ("BestView", "ConcatenatedViews")])
def found(request):
    return inspect(fitted(request.param))


def test_kind_and_groups(found):
    assert found.kind in KINDS
    assert len(found.groups) == len(found.labels) >= 3
    assert all(isinstance(name, str) for name in found.groups)


def test_features_are_groups_by_features(found):
    for view in found.views:
        weights = found.features(view)
        if weights is not None:
            assert weights.shape == (len(found.groups), DATA.views.n_features[view])


def test_memberships_from_all_views_and_from_some(found):
    for views in (DATA.views, DATA.views.select("view1")):
        memberships = found.memberships(views)
        if memberships is None:
            continue
        assert memberships.shape == (60, len(found.groups))
        if found.kind != "component":
            np.testing.assert_allclose(memberships.sum(axis=1), 1, atol=1e-5)
            assert (memberships >= 0).all()


def test_memberships_by_view(found):
    by_view = found.memberships_by_view(DATA.views)
    assert set(by_view) <= set(DATA.views.names)
    for part in by_view.values():
        assert part.shape == (60, len(found.groups))


def test_a_reading_agrees_with_predict(found):
    if found.kind in ("class", "cluster") and found.structure.retriever is None:
        labels = found.estimator.predict(DATA.views)
        np.testing.assert_array_equal(read_groups(found, DATA.views).codes, label_codes(labels, found.labels))


def test_training_is_of_the_right_shape(found):
    training = found.training
    if training.codes is not None:
        assert np.asarray(training.codes).shape == (60,)
    if training.memberships is not None:
        assert np.asarray(training.memberships).shape == (60, len(found.groups))
    for part in training.memberships_by_view.values():
        assert np.asarray(part).shape == (60, len(found.groups))


def test_a_pipeline_from_text_says_how_text_becomes_a_row():
    texts = {"words": ["red fox", "blue sea", "red sea", "blue fox"]}
    from coview import PLSA

    found = inspect(make_pipeline(TextViews(), TfidfViews(), PLSA(2, random_state=0)).fit(texts))
    assert found.kind == "topic"
    assert isinstance(found.preparation.inputs["words"].vectorizer, CountVectorizer)
    assert found.feature_names("words") == ["blue", "fox", "red", "sea"]
    assert found.memberships({"words": ["red"]}).shape == (1, 2)
    assert found.known({"words": ["a red sea", "zebra"]}).tolist() == [True, False]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        *((KMeans(3, n_init=1, random_state=0), "cluster"), (MultinomialNB(), "class")),
        *((LogisticRegression(), "class"), (NMF(3, init="nndsvd", max_iter=20), "component")),
        (LinearRegression(), "value"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_estimators_of_scikit_learn(model, kind):
    X = DATA.views["view0"]
    with pytest.warns() if isinstance(model, NMF) else pytest.MonkeyPatch.context():
        found = inspect(model.fit(X, DATA.target))
    assert found.kind == kind
    if kind != "value":
        assert found.features("x").shape == (len(found.groups), X.shape[1])
        assert found.memberships(X).shape == (60, len(found.groups))


class SumOfViews(TransformerMixin, BaseEstimator):
    """An estimator of a user's own: takes views, knows nothing of coview's base."""

    def fit(self, X, y=None):
        self.names_ = X.names
        return self

    def transform(self, X):
        return sum(np.asarray(X[name].sum(axis=1)).reshape(-1, 1) for name in X.names)


def test_an_own_estimator_behind_transformers_of_coview_takes_views():
    found = inspect(make_pipeline(TfidfViews(), SumOfViews()).fit(DATA.views))
    assert list(found.views) == list(DATA.views.names)
    weighted = TfidfViews().fit(DATA.views).transform(DATA.views)
    np.testing.assert_allclose(transform_objects(found, DATA.views), SumOfViews().fit(weighted).transform(weighted))


@pytest.mark.parametrize("name", ["BestView", "ConcatenatedViews"])
@pytest.mark.parametrize("inner", [MultinomialNB(), KMeans(3, n_init=1, random_state=0)], ids=["class", "cluster"])
def test_wrappers_answer_for_what_is_inside(name, inner):
    found = inspect(resolve(name)(inner).fit(DATA.views, DATA.target))
    assert len(found.groups) == 3
    weights = [found.features(view) for view in found.views]
    shapes = [part.shape for part in weights if part is not None]
    assert (3, 40) in shapes
    assert found.memberships(DATA.views).shape == (60, 3)


@pytest.mark.parametrize("name", ["BestView", "ConcatenatedViews"])
def test_groups_of_a_wrapper_are_its_classes_where_it_learns_codes(name):
    y = np.array(["ant", "bee", "cat"])[DATA.target]  # LabelSpreading takes no texts
    model = resolve(name)(LabelSpreading(kernel="knn")).fit(DATA.views, y)
    found = inspect(model)
    assert found.groups == found.labels == ["ant", "bee", "cat"]
    assert np.array(found.labels)[read_groups(found, DATA.views).codes].tolist() == model.predict(DATA.views).tolist()


def test_memberships_that_are_no_numbers_are_zero():
    X = np.vstack([np.eye(3), np.full((1, 3), 1e6)])
    model = LabelSpreading().fit(X[:3], [0, 1, 2])
    with np.errstate(invalid="ignore"):
        assert np.isnan(model.predict_proba(X)[3]).all()
        assert inspect(model).memberships(X)[3].tolist() == [0, 0, 0]


def test_the_objects_of_a_fit_are_counted_by_group():
    X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    for model in (LinkPLSA(3, random_state=0).fit(X), SphericalKMeans(3, random_state=0).fit(X)):
        found = inspect(model)
        counts = np.bincount(model.transform(X).argmax(axis=1), minlength=3)
        assert found.training.n_objects == 60
        assert found.group_sizes == counts.tolist()
        assert f"fitted on 60 objects ({counts.argmax()}: {counts.max()}" in repr(found)


def test_the_face_is_small(found):
    assert sum(not name.startswith("_") for name in dir(found)) <= 25


def test_what_a_model_says_is_compared_and_changed_without_harm(found):
    assert found == found and found != replace(found) and found.training != replace(found.training)
    names = list(found.group_names)
    found.group_names.clear()
    assert found.group_names == names
