"""`suggest_labels`: what its columns are, who is named and who never is."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClassifier,
    LazyViews,
    MultiViewNaiveBayes,
    SeededKMeansClassifier,
    SphericalKMeans,
    TfidfViews,
    Views,
    read_views,
    suggest_labels,
    write_views,
)
from coview.model_selection import suggest

FIGURES = ("uncertainty", "disagreement", "coverage")


def grouped(n_per_class: int = 12, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Counts of three classes in two views, all different."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(3), n_per_class)
    rates = np.kron(np.eye(3), np.ones(5))[target] * 4 + 0.3
    return Views(a=rng.poisson(rates) + 0.0, b=rng.poisson(rates) + 0.0), target


def few(target: np.ndarray, per_class: int = 2) -> np.ndarray:
    """Labels of the first objects of each class, NaN for the others."""
    y = np.full(len(target), np.nan)
    for code in np.unique(target):
        rows = np.flatnonzero(target == code)[:per_class]
        y[rows] = code
    return y


@pytest.fixture(scope="module")
def small():
    X, target = grouped()
    y = few(target)
    return X, y, MultiViewNaiveBayes(alpha=0.1).fit(X, y)


def test_labeled_objects_are_never_named(small):
    X, y, model = small
    every = suggest_labels(model, X, len(X), y=y)
    assert set(every.indices.tolist()) == set(np.flatnonzero(np.isnan(y)).tolist())
    assert (every.n_labeled, every.n_unlabeled) == (6, 30)


def test_columns_are_what_the_model_says(small):
    X, y, model = small
    proba = np.sort(model.predict_proba(X), axis=1)
    alone = [model.predict_proba(X.select(view)) for view in X.names]
    for row in suggest_labels(model, X, y=y).rows:
        i = row["row"]
        assert row["predicted"] == model.predict(X[[i]])[0] and row["probability"] == pytest.approx(proba[i, -1])
        assert row["uncertainty"] == pytest.approx(1 - (proba[i, -1] - proba[i, -2]), abs=1e-9)
        assert row["disagreement"] == pytest.approx(jensenshannon(alone[0][i], alone[1][i], base=2) ** 2, abs=1e-9)


@pytest.mark.parametrize(("n_views", "n_classes"), [(3, 2), (3, 3), (5, 2), (4, 3), (2, 7)])
def test_the_farthest_that_views_can_be_apart_is_1(n_views, n_classes):
    """Opinions are farthest apart where each is sure: the farthest of all such is found by trying them all."""
    weights = np.random.default_rng(n_views).dirichlet(np.ones(n_views))
    sure = np.array(list(itertools.product(range(n_classes), repeat=n_views)))
    parts = np.eye(n_classes)[sure].transpose(1, 0, 2)  # views x opinions x classes
    found = suggest._divergence(parts, np.repeat(weights[:, None], len(sure), axis=1))
    apart = np.array([entropy(np.bincount(row, weights, n_classes)) for row in sure])
    assert_allclose(found, apart / apart.max(), atol=1e-9)


def test_labels_of_classes_that_the_model_does_not_know_are_told_of(small):
    X, y, model = small
    labels = [None if np.isnan(label) else int(label) for label in y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suggest_labels(model, X, 2, y=labels)
    labels[5], labels[7] = "catt", "dgo"
    with pytest.warns(UserWarning, match=r"2 labels are none of the classes of MultiViewNaiveBayes: 'catt', 'dgo'"):
        found = suggest_labels(model, X, 36, y=labels)
    assert not {5, 7} & set(found.indices.tolist())


def test_objects_that_the_views_dispute_come_first(small):
    X, y, _ = small
    rng = np.random.default_rng(5)
    divided = np.zeros((4, 15))
    divided[:, :5], other = rng.poisson(4, (4, 5)), np.zeros((4, 15))
    other[:, 5:10] = rng.poisson(4, (4, 5))
    both = Views(a=np.vstack([X["a"], divided]), b=np.vstack([X["b"], other]))
    labels = np.append(y, [np.nan] * 4)
    model = MultiViewNaiveBayes(alpha=0.1).fit(both, labels)
    found = suggest_labels(model, both, 6, y=labels)
    assert found.rows[0]["row"] >= len(X) and found.rows[0]["why"] == "views disagree: a says 0.0, b says 1.0"
    assert found.rows[0]["disagreement"] > 0.9


def test_objects_are_chosen_as_a_plain_loop_over_all_pairs_does():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    need, labeled = rng.random(30), places[:2]
    found = suggest._choose(places, labeled, need, list(range(30)), 4, 0)
    covered = [max(0.0, *(float(p @ q) for q in labeled)) for p in places]
    for chosen, coverage in found:
        gains = []
        for i in range(30):
            gain = sum(need[j] * max(0.0, float(places[i] @ places[j]) - covered[j]) for j in range(30))
            gains.append(gain / need.sum())
        assert chosen == int(np.argmax(gains)) and coverage == pytest.approx(max(gains), rel=1e-4)
        covered = [max(c, float(places[chosen] @ places[j])) for j, c in enumerate(covered)]


def test_equal_objects_are_not_named_twice(small):
    X, y, model = small
    twice = Views.concat([X, X])
    found = suggest_labels(model, twice, len(twice), y=np.append(y, np.full(len(y), np.nan)))
    rows = [tuple(np.hstack([twice["a"][i], twice["b"][i]])) for i in found.indices]
    assert len(set(rows)) == len(rows)


def test_equal_objects_are_equal_however_zeros_are_stored(small):
    X, _, model = small
    stored = sparse.csr_array(X["a"])
    padded = sparse.csr_array((np.append(stored.data, 0.0), np.append(stored.indices, 0), stored.indptr.copy()))
    padded.indptr[-1] += 1
    both = Views(a=sparse.vstack([stored[[-1]], padded[[-1]]]), b=X["b"][[-1, -1]])
    assert len(suggest_labels(model, both, 2, y=[np.nan, np.nan])) == 1


def test_an_object_like_a_labeled_one_comes_after_one_unlike_all():
    X, target = grouped(6)
    y = np.where((target == 0) | (np.arange(18) == 6), target, np.nan)  # one label of class 1, none of class 2
    y[1:6] = np.nan
    model = MultiViewNaiveBayes(alpha=0.1).fit(X, y)
    assert target[suggest_labels(model, X, 1, y=y).indices[0]] == 2


def test_objects_without_any_view_or_known_feature_are_never_named(small):
    X, y, model = small
    present = np.ones((len(X), 2), dtype=bool)
    present[20] = False
    empty = {name: np.where(np.isin(np.arange(36), (20, 21))[:, None], 0, matrix) for name, matrix in X.items()}
    found = suggest_labels(model, Views(empty, present=present), len(X), y=y)
    assert not {20, 21} & set(found.indices.tolist()) and len(found) == 28


def test_new_objects_that_lack_views_are_compared_by_those_they_have(small):
    new, _ = grouped(4, seed=9)
    present = np.ones((12, 2), dtype=bool)
    present[:3, 0] = present[3:6, 1] = False
    lost = {view: matrix * present[:, [v]] for v, (view, matrix) in enumerate(new.items())}
    model = small[2]
    found = suggest_labels(model, Views(lost, present=present), 12)
    lacking = [row["disagreement"] for row in found.rows if row["row"] < 6]
    assert len(found) == 12 and lacking == [0.0] * 6
    alone = suggest_labels(model, new.select("b"), 3)
    assert len(alone) == 3 and all(row["disagreement"] == 0 for row in alone.rows)


def test_the_order_of_objects_does_not_matter(small):
    X, y, model = small
    order = np.random.default_rng(3).permutation(len(X))
    one, other = suggest_labels(model, X, 8, y=y), suggest_labels(model, X[order], 8, y=y[order])
    assert one.indices.tolist() == order[other.indices].tolist()


def test_names_of_the_classes_do_not_matter(small):
    X, y, model = small
    names = np.array(["zebra", "ant", "cow"], dtype=object)
    named = np.array([None if np.isnan(code) else names[int(code)] for code in y], dtype=object)
    other = suggest_labels(MultiViewNaiveBayes(alpha=0.1).fit(X, named), X, 8, y=named)
    one = suggest_labels(model, X, 8, y=y)
    assert one.indices.tolist() == other.indices.tolist()
    assert [names[int(row["predicted"])] for row in one.rows] == [row["predicted"] for row in other.rows]


def test_many_objects_are_sampled_and_the_seed_repeats_it(small, monkeypatch):
    X, y, model = small
    monkeypatch.setattr(suggest, "MOST", 20)
    monkeypatch.setattr(suggest, "LANDMARKS", 10)
    monkeypatch.setattr(suggest, "MOST_LABELED", 3)
    first, again = (suggest_labels(model, X, 40, y=y, random_state=4).rows for _ in range(2))
    assert first == again and len(first) == 20
    assert {row["row"] for row in first} != {row["row"] for row in suggest_labels(model, X, 40, y=y).rows}


def test_without_y_the_objects_that_the_model_keeps_for_certain_are_left_out():
    X, target = grouped(8)
    y = np.where(np.isnan(few(target, 3)), -1, target)
    model = AutoClassifier([("bayes", MultiViewNaiveBayes(alpha=0.1))], random_state=0).fit(X, y)
    assert not (y[suggest_labels(model, X, 24).indices] >= 0).any()


def test_a_model_that_does_not_know_who_was_labeled_says_so(small):
    X, y, _ = small
    model = SeededKMeansClassifier(random_state=0).fit(X, np.where(np.isnan(y), -1, y))
    with pytest.warns(UserWarning, match=r"does not keep which of its 36 objects were labeled\. Pass the labels"):
        suggest_labels(model, X, 2)


def test_views_on_disk_are_read(small, tmp_path):
    X, y, model = small
    write_views(X, tmp_path / "views", rows_per_shard=10)
    lazy = read_views(tmp_path / "views", lazy=True)
    assert isinstance(lazy, LazyViews)
    assert suggest_labels(model, lazy, 4, y=y).rows == suggest_labels(model, X, 4, y=y).rows


def test_pipelines_and_measurements_are_taken():
    X, target = grouped()
    rng = np.random.default_rng(1)
    mixed = Views(words=sparse.csr_array(X["a"]), size=rng.normal(size=(36, 2)) + target[:, None])
    y = np.where(np.isnan(few(target)), -1, target)
    model = make_pipeline(TfidfViews(views=["words"]), SeededKMeansClassifier(random_state=0)).fit(mixed, y)
    found = suggest_labels(model, mixed, 5, y=y)
    assert len(found) == 5 and all(0 <= row[name] <= 1 for row in found.rows for name in FIGURES)


def test_the_table_is_printed_and_shown(small):
    X, y, model = small
    found = suggest_labels(model, X, 2, y=y)
    assert "disagreement" in str(found) and found.rows[0]["why"] in str(found)
    found.rows[0]["coverage"] = 0.00123
    assert "0.12 %" in str(found)
    assert found._repr_html_().count("<tr>") == 3 and list(found.columns) == list(suggest.COLUMNS)
    assert repr(found) == "2 objects to label, of 30 without a label (6 labeled)"


def test_nothing_to_label_is_an_empty_table(small):
    X, _, model = small
    found = suggest_labels(model, X, y=np.zeros(len(X)))
    assert len(found) == 0 and found.indices.tolist() == [] and found.columns["id"] == []


def test_what_cannot_be_done_is_refused_in_a_sentence(small):
    X, _, model = small
    with pytest.raises(ValueError, match="needs a fitted classifier of at least two classes, got SphericalKMeans"):
        suggest_labels(SphericalKMeans(3, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="n must be"):
        suggest_labels(model, X, 0)
    with pytest.raises(ValueError, match="y must hold one label per object: 3 for 36 objects"):
        suggest_labels(model, X, y=[0, 1, 2])


def test_a_long_reason_is_shortened_and_no_id_is():
    why = "views disagree: " + ", ".join(f"view{i} says something" for i in range(20))
    row = {"row": 0, "id": "T00700", "predicted": "login", "probability": 0.5, "uncertainty": 0.5}
    text = str(
        suggest.LabelSuggestions([row | {"disagreement": 0.1, "coverage": 0.1, "why": why}], n_labeled=1, n_unlabeled=1)
    )
    assert "T00700" in text and "login" in text and "0.50" in text
    assert "views disagree" in text and why not in text


def test_no_object_is_called_uncertain_of_which_the_model_is_sure():
    whole = np.array([[0.97, 0.02, 0.01], [0.6, 0.3, 0.1]])
    told = [suggest._why(["ant", "bee", "cat"], row, {}, np.array([1.0, 0.0])) for row in whole]
    assert told == ["less certain than most: ant, then bee", "uncertain: ant or bee"]
