"""Reports of pipelines, searches, retrievers and estimators of scikit-learn; the catalog is in the fixtures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC

from coview import CrossModalRetriever, LinkPLSA, make_report


def checked(report):
    json.dumps(report.summary, allow_nan=False)
    assert report.html.startswith("<!DOCTYPE html>")
    return report.summary


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, n_init=1, random_state=0),
        DBSCAN(eps=5.0),
        PCA(3),
        NMF(3, init="nndsvda", max_iter=500, tol=1e-2),
        LogisticRegression(max_iter=1000),
        SVC(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("given", ["nothing", "labels"])
def test_estimators_of_scikit_learn_are_reported(model, given, data):
    X, labels = data[0]["words"].toarray(), data[1]
    model.fit(X, labels)
    found = checked(make_report(model, *{"nothing": (), "labels": (X, labels)}[given]))
    assert found["model"]["name"] == type(model).__name__
    assert [view["name"] for view in found["data"]["views"]] == ["x"]
    assert ("scores" in found) == (given == "labels")


def test_a_regressor_is_described_and_takes_no_labels(data):
    X = data[0]["words"].toarray()
    model = LinearRegression().fit(X, np.arange(60.0))
    assert "scores" not in checked(make_report(model, X))
    with pytest.raises(ValueError, match="LinearRegression predicts numbers"):
        make_report(model, X, np.arange(60.0))


def test_a_retriever_is_reported_with_its_searches(data):
    X, y = data
    found = checked(make_report(CrossModalRetriever(LinkPLSA(3, max_iter=5, random_state=0)).fit(X), X, y))
    assert {(pair["source"], pair["target"]) for pair in found["search"]["pairs"]} == {
        ("words", "links"),
        ("links", "words"),
    }
