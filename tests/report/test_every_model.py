"""Reports of pipelines, searches, retrievers and estimators of scikit-learn; the catalog is in the fixtures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from coview import PLSA, CrossModalRetriever, LinkPLSA, MultiViewNaiveBayes, TextViews, TfidfViews, make_report

TEXTS = ["red fox", "blue sea", "red sea fox", "blue fox", "red red sea", "blue blue"] * 4


def checked(report):
    json.dumps(report.summary, allow_nan=False)
    assert report.html.startswith("<!DOCTYPE html>")
    return report.summary


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, n_init=1, random_state=0),
        AgglomerativeClustering(3),
        DBSCAN(eps=5.0),
        PCA(3),
        NMF(3, init="nndsvda", max_iter=500, tol=1e-2),
        LogisticRegression(max_iter=1000),
        MultinomialNB(),
        SVC(),
        RandomForestClassifier(5, random_state=0),
        LinearRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("given", ["nothing", "objects", "labels"])
def test_estimators_of_scikit_learn_are_reported(model, given, data):
    X, labels = data[0]["words"].toarray(), data[1]
    y = np.arange(60.0) if isinstance(model, LinearRegression) else labels
    model.fit(X, y)
    found = checked(make_report(model, *{"nothing": (), "objects": (X,), "labels": (X, y)}[given]))
    assert found["model"]["name"] == type(model).__name__
    assert [view["name"] for view in found["data"]["views"]] == ["x"]
    assert ("scores" in found) == (given == "labels")


def test_a_classifier_of_scikit_learn_is_scored_on_hidden_labels(data):
    X, y = data[0]["words"].toarray(), data[1]
    held_out = make_report(MultinomialNB().fit(X, y), X, y).summary["scores"]["held_out"]
    assert (held_out["n_hidden"], held_out["n_shown"], held_out["refitted"]) == (15, 45, True)


def test_pipelines_from_raw_text_are_reported():
    chain = make_pipeline(TextViews(), TfidfViews(), PLSA(2, max_iter=5, random_state=0)).fit({"words": TEXTS})
    found = checked(make_report(chain, {"words": TEXTS}))
    assert len(found["model"]["steps"]) == 3 and found["data"]["n_objects"] == len(TEXTS)
    plain = make_pipeline(CountVectorizer(), MultinomialNB()).fit(TEXTS, np.arange(24) % 2)
    assert checked(make_report(plain, TEXTS, np.arange(24) % 2))["scores"]["n_labeled"] == 24


def test_searches_are_reported_by_their_best_model(data):
    X, y = data
    search = GridSearchCV(MultiViewNaiveBayes(), {"alpha": [0.5, 1.0]}, cv=2).fit(X, y)
    assert checked(make_report(search, X, y))["model"]["name"] == "MultiViewNaiveBayes"
    plain = GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1.0]}, cv=2).fit(X["words"], y)
    assert checked(make_report(plain, X["words"], y))["model"]["name"] == "LogisticRegression"


def test_a_retriever_is_reported_with_its_searches(data):
    X, y = data
    found = checked(make_report(CrossModalRetriever(LinkPLSA(3, max_iter=5, random_state=0)).fit(X), X, y))
    assert {(pair["source"], pair["target"]) for pair in found["search"]["pairs"]} == {
        ("words", "links"),
        ("links", "words"),
    }
