"""Progressive validation: predictions before learning, counted right."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import accuracy_score, f1_score

from coview import MultiViewNaiveBayes, MultiViewPassiveAggressiveClassifier, SphericalKMeans, evaluate_stream
from coview.datasets import make_topic_views

Classifier = MultiViewPassiveAggressiveClassifier


def corpus(n_classes=2, n=230):
    data = make_topic_views(n_objects=n, n_clusters=n_classes, length=8, random_state=1)
    return data.views, data.target


def one_by_one(X, y, classes):
    """Predict, then learn, object by object, through the plain methods."""
    model, guess, gaps = Classifier(), [], []
    for i in range(len(y)):
        if i == 0:
            guess.append(classes[0])
            gaps.append(0.0)
        else:
            guess.append(model.predict(X[[i]])[0])
            first, second = model.decision_function_by_view(X[[i]]).values()
            gaps.append(float(abs(first - second)[0]) if first.ndim == 1 else 0.0)
        model.partial_fit(X[[i]], y[[i]], classes=classes)
    return np.array(guess), np.array(gaps)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_object_is_predicted_before_it_is_learned(n_classes):
    X, y = corpus(n_classes)
    guess, gaps = one_by_one(X, y, np.unique(y))
    result = evaluate_stream(Classifier(), X, y, every=50, classes=np.unique(y), batch_size=70)
    table = result.table
    assert table["rounds"] == [50, 100, 150, 200, 230]
    np.testing.assert_allclose(
        result.model.coef_["view1"], Classifier().partial_fit(X, y).coef_["view1"], rtol=1e-10, atol=1e-12
    )
    average = "binary" if n_classes == 2 else "macro"
    for i, stop in enumerate(table["rounds"]):
        start = 50 * i
        assert table["accuracy"][i] == pytest.approx(accuracy_score(y[:stop], guess[:stop]))
        assert table["f1"][i] == pytest.approx(f1_score(y[:stop], guess[:stop], average=average))
        if n_classes == 2:
            assert table["view_difference"][i] == pytest.approx(gaps[start:stop].mean())
            assert table["cumulative_view_difference"][i] == pytest.approx(gaps[:stop].mean())


def test_objects_without_label_are_not_counted():
    X, y = corpus()
    hidden = y.astype(float)
    hidden[::2] = np.nan
    known = ~np.isnan(hidden)
    found = evaluate_stream(Classifier(), X, hidden, every=20, classes=[0, 1])
    assert found.table == evaluate_stream(Classifier(), X[known], y[known], every=20, classes=[0, 1]).table


def test_other_models_predict_a_batch_and_learn_it():
    X, y = corpus()
    result = evaluate_stream(MultiViewNaiveBayes(), X, y, every=100, classes=[0, 1], batch_size=10)
    model, guess = MultiViewNaiveBayes(), []
    for i in range(0, len(y), 10):
        guess += [] if i == 0 else model.predict(X[i : i + 10]).tolist()
        model.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1])
    assert list(result.table) == ["rounds", "accuracy", "f1"]
    assert result.final["accuracy"] == pytest.approx(np.mean(guess == y[10:]))
    assert result.table["rounds"] == [100, 200, 220] and result.unpredicted == 10
    assert "10 objects before them were learned" in repr(result)


def test_models_that_cannot_take_part_are_refused():
    X, y = corpus()
    for model, message in (
        (MiniBatchKMeans(2), "MiniBatchKMeans is not a classifier"),
        (SphericalKMeans(2), "SphericalKMeans is not a classifier"),
        (LogisticRegression(), "LogisticRegression has no partial_fit"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate_stream(model, X["view0"], y)
    with pytest.raises(ValueError, match="SGDClassifier must know all classes before its first batch: pass classes="):
        evaluate_stream(SGDClassifier(), X["view0"], y)


def test_bad_calls_are_refused_with_a_sentence():
    X, y = corpus()
    with pytest.raises(ValueError, match="needs labels"):
        evaluate_stream(Classifier(), X)
    with pytest.raises(ValueError, match="one label per object"):
        evaluate_stream(Classifier(), X, y[:5])
    with pytest.raises(ValueError, match="every"):
        evaluate_stream(Classifier(), X, y, every=0)
