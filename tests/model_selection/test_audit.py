"""`audit_labels`: finds labels that were changed, shows nobody the label in question, is as sure as it is right."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from coview import MultiViewNaiveBayes, Ontology, SphericalKMeans, Views, audit_labels
from coview.assignment.seeded_kmeans import SeededKMeansClassifier
from coview.exceptions import ParameterError
from coview.model_selection import audit as module

NAMES = np.array(["hockey", "baseball", "space"])


@pytest.fixture(scope="module")
def flipped():
    """Counts of three classes in two views and a view of noise; four labels are wrong, and some objects lack a view."""
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(3), 30)
    rates = np.kron(np.eye(3), np.ones(6))[target] * 2 + 0.2
    present = np.ones((90, 3), dtype=bool)
    present[[5, 40], 0] = False
    words, links = rng.poisson(rates) + 0.0, rng.poisson(rates) + 0.0
    words[[5, 40]] = 0
    X = Views({"words": words, "links": links, "noise": rng.normal(size=(90, 8))}, present=present)
    y = target.copy()
    y[[5, 17, 44, 70]] = [1, 1, 2, 0]
    return X, NAMES[target].astype(object), NAMES[y].astype(object)


def test_wrong_labels_come_first_with_the_right_class_and_what_the_views_say(flipped):
    X, target, y = flipped
    audit = audit_labels(None, X, y)
    assert set(audit.indices[:4].tolist()) == {5, 17, 44, 70}
    for row in audit.rows[:4]:
        assert row["suggested"] == target[row["row"]] and row["label"] == y[row["row"]] and row["doubt"] > 0.1
    assert audit.rows[4]["doubt"] < 0.02
    of = {row["row"]: row for row in audit.rows}
    assert "words" not in of[5]["views"] and of[5]["views"]["links"][0] == "hockey"
    assert of[17]["reason"].startswith("words: hockey (")
    assert np.mean([row["views"]["noise"][1] for row in audit.rows]) < 0.5  # it knows nothing, and says so
    assert audit.n_doubted == 3 and len(str(audit).splitlines()) == 12
    np.testing.assert_allclose(audit.probabilities.sum(axis=1), 1)


def test_what_no_view_can_judge_comes_last_and_rows_are_json(flipped):
    X, _, y = flipped
    X, bare = X.select("words", "links"), [3, 50]
    present, words, links = X.present.copy(), X["words"].copy(), X["links"].copy()
    present[bare], words[bare], links[bare] = False, 0, 0
    audit = audit_labels(None, Views({"words": words, "links": links}, present=present), y)
    assert set(audit.indices[-2:].tolist()) == set(bare) and len(audit) == 90
    assert [row["reason"] for row in audit.rows[-2:]] == ["no view to judge it by"] * 2
    assert json.loads(json.dumps(audit.rows))[0]["id"] == audit.rows[0]["row"]


@pytest.mark.parametrize("model", [MultiViewNaiveBayes(), SeededKMeansClassifier(random_state=0)])
def test_a_given_model_is_one_more_witness_and_gaps_are_not_audited(flipped, model):
    X, _, y = flipped
    some = y.copy()
    some[::3] = None
    some[1] = "curling"  # the only one of its class
    audit = audit_labels(model.fit(X.select("words", "links"), some), X.select("words", "links"), some)
    assert sorted(audit.indices.tolist()) == [i for i in range(90) if i % 3 and i != 1]
    assert set(audit.indices[:4].tolist()) == {5, 17, 44, 70}


def test_a_classifier_of_one_matrix_keeps_the_kind_of_its_labels(flipped):
    X, target, _ = flipped
    codes = np.searchsorted(np.sort(NAMES), target.astype(str)) - 1  # -1 is a class here
    codes[3] = 1 - codes[3]
    audit = audit_labels(LogisticRegression().fit(X["links"], codes), X["links"], codes)
    assert audit.rows[0]["row"] == 3 and type(audit.rows[0]["suggested"]) is int and len(audit) == 90


def test_nobody_is_asked_about_a_label_that_he_has_seen(flipped, monkeypatch):
    X, _, y = flipped
    monkeypatch.setattr(module, "fit_temperature", lambda scores, codes: 1.0)  # the one thing that reads all labels
    codes = np.searchsorted(np.sort(NAMES), y.astype(str))
    folds = np.arange(90) % 5
    other = np.where(folds == 2, (codes + 1) % 3, codes)
    said, again = (module._hear(None, X, X, each, folds, np.arange(3)) for each in (codes, other))
    for one, two in zip(said, again, strict=True):
        np.testing.assert_allclose(one.logarithms[folds == 2], two.logarithms[folds == 2], atol=1e-6)
    assert not np.allclose(said[0].logarithms[folds == 0], again[0].logarithms[folds == 0], atol=1e-3)


def test_doubts_are_calibrated_where_the_witnesses_are_and_mistakes_repeat():
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([0.5] * 4, size=8000)
    true = (shares.cumsum(axis=1) > rng.random((8000, 1))).argmax(axis=1)
    given = np.where((true == 2) & (rng.random(8000) < 0.4), 3, true)  # one class is often called another
    rough = np.log(np.maximum(shares, 1e-12)) / 2  # less sure than it is right
    belief, probabilities = module._doubt(rough, given)
    np.testing.assert_allclose(probabilities, shares, atol=0.1)
    doubt = 1 - belief[np.arange(8000), given]
    for low, high in ((0.0, 0.1), (0.1, 0.4), (0.4, 0.8), (0.8, 1.0)):
        some = (doubt >= low) & (doubt < high)
        assert np.mean(given[some] != true[some]) == pytest.approx(doubt[some].mean(), abs=0.07)
    without = 1 - shares[np.arange(8000), given]  # the same without mistakes that repeat
    wrong = given != true
    assert average_precision_score(wrong, doubt) > average_precision_score(wrong, without) + 0.1


def test_what_cannot_be_audited_is_refused_in_a_sentence(flipped):
    X, _, y = flipped
    with pytest.raises(ValueError, match="needs a fitted classifier of at least two classes, got SphericalKMeans"):
        audit_labels(SphericalKMeans(3, random_state=0).fit(X.select("words", "links")), X, y)
    with pytest.raises(ParameterError, match="y must have two classes"):
        audit_labels(None, X, np.arange(90))
    with pytest.raises(ParameterError, match="y must hold one label per object"):
        audit_labels(None, X, y[:4])
    tree = Ontology.from_tree({"sport": ["hockey", "baseball"], "space": []})
    model = SeededKMeansClassifier(ontology=tree, random_state=0).fit(X.select("words"), y)
    with pytest.raises(ParameterError, match="has an ontology"):
        audit_labels(model, X.select("words"), y)
