"""One object at a time, as river does it."""

from __future__ import annotations

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from coview import MultiViewPassiveAggressiveClassifier, Views, load, save, to_river
from coview.exceptions import ViewsError
from coview.online.hashing import hash_rows

Classifier = MultiViewPassiveAggressiveClassifier


def mail(n=120, seed=0, labels=("ham", "spam")):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        k = int(rng.integers(len(labels)))
        words = {f"w{k}{j}": float(rng.integers(1, 4)) for j in rng.integers(0, 6, 3)}
        words.update({f"c{j}": 1.0 for j in rng.integers(0, 9, 3)})
        row = {"words": words, "links": {f"site{k}": 1.0}}
        if rng.random() < 0.2:
            del row["links"]
        rows.append((row, labels[k]))
    return rows


@pytest.mark.parametrize("labels", [("ham", "spam"), ("a", "b", "c")])
@pytest.mark.parametrize("settings", [{}, {"average": True, "fit_intercept": True, "probability": True}])
def test_one_by_one_is_partial_fit_on_hashed_rows(labels, settings):
    rows = mail(labels=labels)
    online = to_river(Classifier(**settings), views={"words": 256, "links": 128})
    model = Classifier(**settings)
    for row, label in rows:
        online.learn_one(row, label)
        present = np.array([[view in row for view in ("words", "links")]])
        hashed = {view: hash_rows([row.get(view)], width) for view, width in (("words", 256), ("links", 128))}
        model.partial_fit(Views(hashed, present=present), [label])
    for name in ("words", "links"):
        np.testing.assert_allclose(online.model.coef_[name], model.coef_[name], rtol=1e-9, atol=1e-12)
    right = 0
    for row, label in mail(60, seed=1, labels=labels):
        views = Views({v: hash_rows([row.get(v)], width) for v, width in (("words", 256), ("links", 128))})
        assert online.predict_one(row) == model.predict(views)[0]
        right += online.predict_one(row) == label
        shares = online.predict_proba_one(row)
        assert list(shares) == list(labels) and sum(shares.values()) == pytest.approx(1)
    assert right > 50


def test_features_that_were_never_seen_need_no_warning():
    online = to_river(Classifier())
    for row, label in mail():
        online.learn_one({"words": row["words"]}, label)
    assert online.predict_one({"words": {"never": 1.0, "w11": 3.0}}) == "spam"
    with pytest.raises(ViewsError, match="view 'links'"):
        online.predict_one({"links": {"site1": 1.0}})


def test_a_flat_object_is_one_view():
    online = to_river(Classifier(C=1.0), n_features=64)
    assert online.predict_one({"a": 1}) is None and online.predict_proba_one({"a": 1}) == {}
    online.learn_one({"a": 1.0, "kind": "big"}, True)
    assert online.predict_one({"b": 1.0}) is True and online.predict_proba_one({"b": 1.0}) == {True: 1.0}
    for _ in range(3):
        online.learn_one({"b": 1.0}, False)
        online.learn_one({"a": 1.0}, True)
    assert online.predict_one({"a": 1.0}) is True and online.predict_one({"b": 1.0}) is False


def test_a_fitted_model_goes_on():
    rows = mail()
    first = to_river(Classifier(), views={"words": 64, "links": 64})
    for row, label in rows[:60]:
        first.learn_one(row, label)
    again = to_river(first.model.sparsify())
    for row, label in rows[60:]:
        again.learn_one(row, label)
    assert again.model.t_ == 120


@pytest.mark.parametrize("settings", [{}, {"average": True}])
def test_a_pickled_copy_learns_on_its_own(settings):
    online = to_river(Classifier(**settings), views={"words": 64, "links": 64})
    rows = mail()
    for row, label in rows[:60]:
        online.learn_one(row, label)
    copy = pickle.loads(pickle.dumps(online))
    before = online.model.coef_["words"]
    for row, label in rows[60:]:
        copy.learn_one(row, label)
    np.testing.assert_array_equal(online.model.coef_["words"], before)
    for row, label in rows[60:]:
        online.learn_one(row, label)
    assert np.abs(online.model.coef_["words"] - before).max() > 0.01
    np.testing.assert_allclose(copy.model.coef_["words"], online.model.coef_["words"], rtol=1e-9, atol=1e-12)


def test_a_saved_model_goes_on(tmp_path):
    online = to_river(Classifier(), views={"words": 64, "links": 64})
    for row, label in mail():
        online.learn_one(row, label)
    save(online.model, tmp_path / "mail.coview")
    again = to_river(load(tmp_path / "mail.coview"))
    assert [again.predict_one(row) for row, _ in mail()] == [online.predict_one(row) for row, _ in mail()]
    again.learn_one(*mail()[0])
    assert again.model.t_ == 121


def test_features_outside_of_a_view_are_refused():
    online = to_river(Classifier(), views=["words"])
    with pytest.raises(ViewsError, match=r"Pass \{view: \{feature: value\}\}"):
        online.learn_one({"words": {"a": 1.0}, "b": 2.0}, "ham")


def test_values_that_are_no_finite_numbers_are_refused():
    online = to_river(Classifier(), views=["words"])
    for label in ("ham", "spam"):
        online.learn_one({"words": {"a": 1.0}}, label)
    with pytest.raises(ViewsError, match="View 'words' cannot be used: Input contains NaN"):
        online.learn_one({"words": {"a": 1.0, "b": float("nan")}}, "ham")


@pytest.mark.parametrize("value", [1e70, 1e160])
def test_values_beyond_computing_are_refused(value):
    model = to_river(Classifier(), views=["words"])
    for label in ("ham", "spam"):
        model.learn_one({"words": {label: 1.0}}, label)
    with pytest.raises(ViewsError, match="View 'words' has values as large as 1e"):
        model.learn_one({"words": {"ham": value}}, "spam")
    assert model.predict_one({"words": {"ham": 1.0}}) == "ham"


def test_learning_by_batches_in_between_is_seen():
    online = to_river(Classifier(C=1.0), views={"words": 64})
    for label in ("ham", "spam"):
        online.learn_one({"words": {label: 1.0}}, label)
    online.model.partial_fit(Views(words=hash_rows([{"new": 1.0}], 64)), ["other"])
    online.learn_one({"words": {"new": 1.0}}, "other")
    assert online.predict_one({"words": {"new": 1.0}}) == "other" and online.model.t_ == 4


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="to_river takes"):
        to_river(object())


@pytest.mark.skipif(find_spec("river") is None, reason="river is not installed: the adapter is checked without it only")
def test_river_takes_it_as_a_classifier():
    from river import base, evaluate, metrics

    online = to_river(Classifier(), views=["words", "links"])
    assert isinstance(online, base.Classifier)
    assert evaluate.progressive_val_score(mail(), online, metrics.Accuracy()).get() > 0.8
