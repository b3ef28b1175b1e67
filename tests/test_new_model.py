"""A new model is one file and one line of the catalog: then every part of coview knows it, with no other change.

Each model below is written to a file of its own and entered in the catalog by one line, as its author would do. It is
then fitted from the command line, compared, saved and loaded, reported, explored over HTTP and searched with.
"""

import importlib
import json

import pytest

from coview import CrossModalRetriever, catalog, compare, inspect, load, make_report, save, write_views
from coview.datasets import make_topic_views
from coview.testing import check_estimator

CLUSTERER = '''
"""Clusters of the objects nearest to a few that are drawn at random; answers by scikit-learn's conventions alone."""

import numpy as np
from scipy import sparse
from sklearn.base import ClusterMixin

from coview.base import MultiViewEstimator


class NearestDraws(ClusterMixin, MultiViewEstimator):
    """Clusters around drawn objects."""

    def __init__(self, n_clusters=3, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None):
        views = self._fit_views(X)
        rows = np.random.default_rng(self.random_state).choice(len(views), self.n_clusters, replace=False)
        self.cluster_centers_ = {view: sparse.csr_array(matrix)[rows].toarray() for view, matrix in views.items()}
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        views = self._new_views(X)
        return sum(matrix @ self.cluster_centers_[view].T for view, matrix in views.items()).argmax(axis=1)
'''

CLASSIFIER = '''
"""Classes by the mean of their objects; answers by scikit-learn's conventions alone."""

import numpy as np
from sklearn.base import ClassifierMixin

from coview.base import MultiViewEstimator


class MeanClassifier(ClassifierMixin, MultiViewEstimator):
    """Classes by their means."""

    def fit(self, X, y):
        views = self._fit_views(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.coef_ = {
            view: np.vstack([np.asarray(matrix[codes == k].mean(axis=0)).ravel() for k in range(len(self.classes_))])
            for view, matrix in views.items()
        }
        return self

    def predict_proba(self, X):
        views = self._new_views(X)
        scores = sum(matrix @ self.coef_[view].T for view, matrix in views.items())
        shares = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-12)
        return shares.astype(next(views.values()).dtype)

    def predict(self, X):
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]
'''

TOPICS = '''
"""Topics by non-negative factors of all views side by side; says itself what its topics are."""

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.decomposition import NMF

from coview.base import MultiViewEstimator
from coview.inspection import Features, Inspection, Structure, Training, shares_of


class FactorTopics(TransformerMixin, MultiViewEstimator):
    """Topics by non-negative factors."""

    def __init__(self, n_components=3, random_state=None):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None):
        views = self._fit_views(X)
        factors = NMF(self.n_components, random_state=self.random_state, max_iter=50, tol=1e-2).fit(views.hstack())
        ends = np.cumsum([0, *self.n_features_by_view_.values()])
        self.topic_feature_ = {
            view: shares_of(factors.components_[:, ends[v] : ends[v + 1]]) for v, view in enumerate(self.view_names_)
        }
        self.memberships_ = self.transform(X)
        return self

    def transform(self, X):
        views = self._new_views(X)
        shares = shares_of(sum(matrix @ self.topic_feature_[view].T for view, matrix in views.items()))
        return shares.astype(next(views.values()).dtype)

    def _inspect(self):
        labels = list(range(self.n_components))
        return Inspection(
            self,
            "topic",
            [str(label) for label in labels],
            labels,
            self._view_inputs(),
            Training(self.memberships_, codes=self.memberships_.argmax(axis=1)),
            structure=Structure(probabilities=True),
            _features=lambda view: Features(self.topic_feature_[view], True, "p(feature)"),
            _memberships=self.transform,
        )
'''

# file, kind in the catalog, kind that `inspect` names
MODELS = {
    "NearestDraws": (CLUSTERER, "clusterer", "cluster"),
    "MeanClassifier": (CLASSIFIER, "classifier", "class"),
    "FactorTopics": (TOPICS, "transformer", "topic"),
}


@pytest.fixture(params=MODELS)
def model(request, tmp_path, monkeypatch):
    """The class of a new model: one file, one line of the catalog."""
    name = request.param
    source, kind, _ = MODELS[name]
    (tmp_path / f"new_{name.lower()}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setitem(catalog.ESTIMATORS, name, catalog.Entry(name, f"new_{name.lower()}", "a new model", kind))
    return getattr(importlib.import_module(f"new_{name.lower()}"), name)


@pytest.fixture(scope="module")
def data():
    return make_topic_views(60, {"words": 30, "links": 20}, n_clusters=3, random_state=0)


def coview(*words):
    from typer.testing import CliRunner

    from coview.cli.app import make_commands

    ran = CliRunner().invoke(make_commands(), [str(word) for word in words])
    assert ran.exit_code == 0, (ran.output, ran.exception)
    return ran.stdout


def as_texts(labels):
    return [f"kind {label}" for label in labels]


def test_a_new_model_is_known_everywhere(model, data, tmp_path):
    X, y = data.views, as_texts(data.target)
    kind = MODELS[model.__name__][2]

    # fitted from the command line
    write_views(X, tmp_path / "views")
    (tmp_path / "y.txt").write_text("\n".join(y))
    labels = ["--labels", tmp_path / "y.txt"] if kind == "class" else []
    path = tmp_path / "m.coview"
    fitted = json.loads(coview("fit", model.__name__, tmp_path / "views", *labels, "-o", path, "--json"))
    assert fitted["model"]["name"] == model.__name__
    assert [view["name"] for view in fitted["data"]["views"]] == ["words", "links"]
    more = ["--coordinates"] if kind == "topic" else []
    table = json.loads(coview("predict", path, tmp_path / "views", *more, "--json"))
    assert all(len(column) == 60 for column in table.values())
    assert model.__name__ in json.loads(coview("info", "--json"))["models"]

    # saved and loaded
    loaded = load(path)
    again = tmp_path / "again.coview"
    save(loaded, again)
    inspection = inspect(load(again))
    assert inspection.kind == kind and len(inspection.groups) == 3 and set(inspection.views) == {"words", "links"}
    assert (inspection.memberships(X) == inspect(loaded).memberships(X)).all()
    assert inspection.features("words").shape == (3, 30)

    # compared
    row = f"{model.__name__} + KMeans" if kind == "topic" else model.__name__
    task = "classification" if kind == "class" else "clustering"
    table = compare(X, y, task=task, methods=[row], n_repeats=2, time_budget=None, n_jobs=1, random_state=0)
    assert [(one["method"], one["status"]) for one in table.rows] == [(row, "done")]

    # reported
    page = make_report(loaded, X, y if kind == "class" else None).html
    assert model.__name__ in page and "words" in page and "links" in page
    strongest = inspection.feature_names("words")[inspection.features("words")[0].argmax()]
    assert strongest in page


def test_a_new_model_keeps_the_contract(model):
    check_estimator(model(random_state=0) if "random_state" in model().get_params() else model())


def test_a_new_model_is_explored_over_http(model, data):
    for name in ("fastapi", "uvicorn", "httpx"):
        pytest.importorskip(name, reason="the extra 'web' or httpx is not installed: HTTP is not checked")
    import httpx

    from coview.web.api import make_app
    from coview.web.run import running
    from coview.web.service import Service

    X, kind = data.views, MODELS[model.__name__][2]
    fitted = model().fit(X, as_texts(data.target))
    with running(make_app(Service(fitted, X), page=True)) as url, httpx.Client(base_url=url) as client:
        info = client.get("/info").json()
        assert info["model"] == model.__name__ and "predict" in info["can"]
        answer = client.post(
            "/predict", json={"rows": {"words": {"f3": 2}, "links": [[1] * 20]}, "by_view": True}
        ).json()
        assert len(answer["labels"]) == 1 and set(answer["by_view"]) == {"words", "links"}
        groups = client.get("/api/describe/0/groups").json()
        assert groups["noun"] == kind and sum(group["size"] for group in groups["items"]) == 60
        assert all(set(group["features"]) == {"words", "links"} for group in groups["items"])
        one = client.get("/api/object", params={"id": 5}).json()
        (opinion,) = one["opinions"]
        assert {view["name"] for view in one["views"]} == set(opinion["by_view"]) == {"words", "links"}
        assert {row["name"] for row in client.get("/api/describe/0/views").json()["rows"]} == {"words", "links"}


def test_a_new_model_is_searched_with(model, data, tmp_path):
    X, y = data.views, as_texts(data.target)
    retriever = CrossModalRetriever(model()).fit(X, y)
    save(retriever, tmp_path / "search.coview")
    hits = load(tmp_path / "search.coview").search(X[:4].select("words"), target="links", k=5)
    assert (
        hits.ids.shape == (4, 5)
        and hits.ids.tolist() == retriever.search(X[:4].select("words"), target="links", k=5).ids.tolist()
    )
    query = ["--model", tmp_path / "search.coview", "--source", "words", "--target", "links", "-k", "3", "--json"]
    named = type(X)(dict(X.items()), feature_names={"words": [f"word{j}" for j in range(30)]})
    save(CrossModalRetriever(model()).fit(named, y), tmp_path / "search.coview")
    assert len(json.loads(coview("search", "word1 word2 word3", *query))["hits"]) == 3
