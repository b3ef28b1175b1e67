"""`select_clusters`: finds the number that the data were made with, by rules that are checked by hand."""

import json

import numpy as np
import pytest
from sklearn.cluster import KMeans

from coview import (
    ConcatenatedViews,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    SphericalKMeans,
    Views,
    select_clusters,
    suggest_labels,
)
from coview.datasets import make_blobs_views, make_topic_views
from coview.model_selection import suggest
from coview.model_selection.select import compute_held_out_likelihood, recommend

HERE = {"n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def topics():
    data = make_topic_views(150, n_clusters=3, n_features=50, random_state=2)
    model = MultiViewPLSA(n_components=6, init="random", n_init=2, max_iter=40)
    return select_clusters(data.views, model, range(2, 6), n_repeats=2, **HERE)


def test_the_number_of_topic_clusters_is_found(topics):
    assert topics.best_ == 3
    assert topics.reason.startswith("n_clusters=3: held-out likelihood")
    assert topics.best_estimator().n_clusters == 3


def test_the_number_of_blobs_is_found():
    data = make_blobs_views(150, n_clusters=4, std=0.7, random_state=1)
    for model in (None, ConcatenatedViews(KMeans())):
        choice = select_clusters(data.views, model, range(2, 7), n_repeats=3, **HERE)
        assert choice.best_ == 4 and choice.criteria == ["stability"]


@pytest.mark.parametrize(("counts", "name"), [(True, "MultiViewPLSA"), (False, "SpectralClusteringViews")])
def test_what_is_clustered_by_depends_on_the_values(counts, name):
    rows = np.kron(np.eye(2), np.ones((10, 3))) + (0 if counts else 0.5)
    choice = select_clusters(Views(a=rows, b=rows), n_clusters=[2], n_repeats=1, **HERE)
    assert type(choice.best_estimator()).__name__ == name


@pytest.mark.parametrize("model", [LinkPLSA, MultiViewPLSA], ids=lambda cls: cls.__name__)
def test_completion_rewards_what_predicts_the_other_half(model):
    data = make_topic_views(120, n_clusters=3, n_features=40, random_state=0)
    size = "n_clusters" if "n_clusters" in model().get_params() else "n_components"
    one, three = (
        compute_held_out_likelihood(
            model(**{size: k}, max_iter=40, random_state=0).fit(data.views[:90]), data.views[90:], 0
        )
        for k in (1, 3)
    )
    uniform = -np.log(40)
    assert uniform < one < three < 0


def row(k, **criteria):
    found = {"n_clusters": k, "status": "done", "repeats": 5, "seconds": 1.0, "note": ""}
    for name, (value, error) in criteria.items():
        found |= {name: value, f"{name}_error": error}
    return found


def test_both_must_be_near_their_best():
    stable = [row(2, stability=(1.0, 0.01)), row(3, stability=(0.99, 0.01)), row(4, stability=(0.8, 0.01))]
    likely = [row(2, likelihood=(-5.0, 0.1)), row(3, likelihood=(-4.05, 0.1)), row(4, likelihood=(-4.0, 0.1))]
    assert recommend(stable, ["stability"])[0] == recommend(likely, ["likelihood"])[0] == 1  # largest, smallest
    both = ["likelihood", "stability"]
    rows = [row(2, likelihood=(-5, 0.1), stability=(1, 0.0)), row(3, likelihood=(-4.05, 0.1), stability=(0.99, 0.0)),
            row(4, likelihood=(-4, 0.1), stability=(0.5, 0.0))]  # fmt: skip
    best, reason = recommend(rows, both)
    assert best == 1 and "no worse within its error" in reason


def test_where_they_clash_the_mean_rank_decides():
    both = ["likelihood", "stability"]
    figures = {2: (-5, 1), 3: (-4.5, 0.9), 4: (-4.8, 0.2), 5: (-4, 0.3)}
    rows = [row(k, likelihood=(a, 0.0), stability=(b, 0.0)) for k, (a, b) in figures.items()]
    best, reason = recommend(rows, both)
    assert best == 1 and "disagree" in reason


def test_the_same_seed_gives_the_same_table():
    X = make_topic_views(30, n_clusters=2, n_features=20, random_state=0).views
    one, two = (select_clusters(X, LinkPLSA(max_iter=5), [2, 3], n_repeats=1, **HERE).rows for _ in range(2))
    for a, b in zip(one, two):
        assert a["likelihood_values"] == b["likelihood_values"] and a["stability_values"] == b["stability_values"]


def test_the_table_is_shown_drawn_and_written(topics, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: figures are not checked")
    text = str(topics)
    assert "recommended" in text and "n_clusters=3: held-out" in text
    assert [panel.get_title() for panel in topics.plot().axes] == [
        "held-out likelihood",
        "stability (adjusted Rand index)",
    ]
    topics.to_json(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text())["best"] == 3
    assert topics.frame.shape[0] == 4


# -- `suggest_labels`: what its columns are, who is named and who never is


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
    for row in suggest_labels(model, X, y=y).rows:
        i = row["row"]
        assert row["predicted"] == model.predict(X[[i]])[0] and row["probability"] == pytest.approx(proba[i, -1])
        assert row["uncertainty"] == pytest.approx(1 - (proba[i, -1] - proba[i, -2]), abs=1e-9)


def test_objects_are_chosen_as_a_plain_loop_over_all_pairs_does():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    need, labeled = rng.random(30), places[:2]
    found = suggest._choose(places, labeled, need, 4, 0)
    covered = [max(0.0, *(float(p @ q) for q in labeled)) for p in places]
    for chosen, coverage in found:
        gains = []
        for i in range(30):
            gain = sum(need[j] * max(0.0, float(places[i] @ places[j]) - covered[j]) for j in range(30))
            gains.append(gain / need.sum())
        assert chosen == int(np.argmax(gains)) and coverage == pytest.approx(max(gains), rel=1e-4)
        covered = [max(c, float(places[chosen] @ places[j])) for j, c in enumerate(covered)]


def test_objects_without_any_view_or_known_feature_are_never_named(small):
    X, y, model = small
    present = np.ones((len(X), 2), dtype=bool)
    present[20] = False
    empty = {name: np.where(np.isin(np.arange(36), (20, 21))[:, None], 0, matrix) for name, matrix in X.items()}
    found = suggest_labels(model, Views(empty, present=present), len(X), y=y)
    assert not {20, 21} & set(found.indices.tolist()) and len(found) == 28


def test_the_order_of_objects_does_not_matter(small):
    X, y, model = small
    order = np.random.default_rng(3).permutation(len(X))
    one, other = suggest_labels(model, X, 8, y=y), suggest_labels(model, X[order], 8, y=y[order])
    assert one.indices.tolist() == order[other.indices].tolist()


def test_many_objects_are_sampled_and_the_seed_repeats_it(small, monkeypatch):
    X, y, model = small
    monkeypatch.setattr(suggest, "MOST", 20)
    monkeypatch.setattr(suggest, "LANDMARKS", 10)
    first, again = (suggest_labels(model, X, 40, y=y, random_state=4).rows for _ in range(2))
    assert first == again and len(first) == 20
    assert {row["row"] for row in first} != {row["row"] for row in suggest_labels(model, X, 40, y=y).rows}


def test_what_cannot_be_done_is_refused_in_a_sentence(small):
    X, _, model = small
    with pytest.raises(ValueError, match="needs a fitted classifier of at least two classes, got SphericalKMeans"):
        suggest_labels(SphericalKMeans(3, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="n must be"):
        suggest_labels(model, X, 0)
    with pytest.raises(ValueError, match="y must hold one label per object: 3 for 36"):
        suggest_labels(model, X, y=[0, 1, 2])


def test_of_equal_objects_the_second_comes_last(small):
    X, y, model = small
    twice = Views.concat([X, X])
    found = suggest_labels(model, twice, 60, y=np.append(y, np.full(len(y), np.nan)))
    first = [tuple(np.hstack([twice["a"][i], twice["b"][i]])) for i in found.indices[:20]]
    assert len(set(first)) == 20
