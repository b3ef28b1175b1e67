"""Counts or measurements: told by the objects that have the view, and in one way everywhere."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coview import AutoClassifier, AutoClustering, TfidfViews, UnitRows, Views, inspect, load, make_report, save
from coview.auto.experts import propose_experts
from coview.auto.preparation import counted_views, measured_views
from coview.cli.summary import summarize_fit
from coview.datasets import make_topic_views
from coview.plsa.mixture import choose_likelihoods

FILLED, EMPTY = np.array([[0.3, 0.7], [0.2, 0.4]]), np.array([[2.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(("matrix", "counts"), [(FILLED, False), (EMPTY, True), (-EMPTY, False)])
def test_objects_that_lack_a_view_say_nothing_of_what_it_holds(matrix, counts):
    """Their rows are zeros, which are no counts of zero."""
    padded = np.vstack([matrix, np.zeros((6, 2))])
    present = np.arange(8)[:, None] < [2, 8]
    for views in (Views(x=matrix, y=np.eye(2)), Views({"x": padded, "y": np.eye(8)}, present=present)):
        assert ("x" in counted_views(views)) == counts
        assert ("x" in measured_views(views)) == (not counts)
        assert (choose_likelihoods("auto", views)["x"] == "multinomial") == counts


def _texts(rng):
    """Counts of 200 texts of two classes: few words are in most of them, most words in few."""
    shares = 1 / np.arange(1, 301)
    words = rng.choice(300, p=shares / shares.sum(), size=(200, 40))
    own = rng.random((200, 40)) < 0.3
    words[own] = (words[own] // 2) * 2 + np.repeat(np.arange(200) % 2, 40).reshape(200, 40)[own]
    return sparse.csr_array(np.array([np.bincount(row % 300, minlength=300) for row in words], dtype=float))


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda counts: counts, False),
        (lambda counts: counts > 0, False),
        (lambda counts: UnitRows("l1").fit_transform(Views(x=counts))["x"], True),
        (lambda counts: TfidfViews(norm="l1", sublinear_tf=True).fit_transform(Views(x=counts))["x"].toarray(), True),
    ],
)
def test_weights_that_a_view_comes_with_are_not_put_on_again(change, given, fit_auto):
    X = Views(x=change(_texts(np.random.default_rng(0))), y=np.eye(200))
    for expert in propose_experts(X, None, 0):
        weighed = {
            view: step.use_idf for step in expert.estimator if isinstance(step, TfidfViews) for view in step.views
        }
        if "x" in weighed:
            assert weighed["x"] == (not given), expert.name
    y = np.where(np.arange(200) < 60, np.arange(200) % 2, -1)
    model = fit_auto(["latent", "centers"], X, y)
    assert model.scaling_["x"] == ("unit length" if given else "tf-idf")
    said = {True: "already weighted; each row scaled", False: "counts, categories or shares, weighted by"}
    assert said[given] in str(inspect(model))


def test_what_each_view_was_taken_for_is_told_everywhere(tmp_path):
    rng, y = np.random.default_rng(0), np.arange(60) % 3
    words = sparse.csr_array((np.eye(30)[y * 10 + rng.integers(0, 10, 60)] * 3).astype(int))
    vectors = rng.normal(size=(60, 20)) + 3 * np.eye(20)[y]
    person = np.stack([40.0 + 10 * y, 1000.0 * y], axis=1) + rng.normal(size=(60, 2))
    X = Views(words=words, vector=vectors, person=person, amounts=abs(vectors))
    taken = {"words": "tf-idf", "vector": "centered", "person": "standard", "amounts": "pareto"}
    for model in (AutoClustering(3, random_state=0).fit(X), AutoClassifier(random_state=0).fit(X, y)):
        assert model.scaling_ == taken
        assert repr(inspect(model)).count("  view 'person': 2 features, numbers, each column divided by its") == 1
        shown = make_report(model, X)
        assert {view["name"]: view["scaling"] for view in shown.summary["data"]["views"]} == taken
        save(model, tmp_path / "m.coview")
        told = summarize_fit(inspect(load(tmp_path / "m.coview")))
        assert "  view 'vector': 20 features, vectors, all columns divided by one number" in told
        assert (
            "  view 'words': 30 features, counts, categories or shares, weighted by how much each feature tells" in told
        )


def test_candidates_that_see_counts_as_they_are_say_nothing_of_scaling(fit_auto):
    X, y = Views(words=np.tile(np.eye(4, dtype=int), (6, 1))), np.arange(24) % 4
    assert fit_auto(["topics"], X, y).scaling_ == {}
    assert fit_auto(["topics", "latent"], X, y).scaling_ == {"words": "tf-idf"}


def test_a_turned_embedding_leads_to_the_same_answers():
    """Axes of an embedding mean nothing: few wide columns that tell classes apart, many narrow ones of noise."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    centers = np.zeros((4, 40))
    centers[:, :4] = 3 * np.eye(4)
    vectors = centers[y] + rng.normal(size=(240, 40)) * np.linspace(1.0, 0.6, 40)
    turned = vectors @ np.linalg.qr(rng.normal(size=(40, 40)))[0]
    labels = np.where(np.arange(240) < 16, y, -1)
    accuracy = [
        np.mean(AutoClassifier(random_state=0, cv=2).fit(Views(text=rows), labels).transduction_ == y)
        for rows in (vectors, turned)
    ]
    assert abs(accuracy[0] - accuracy[1]) < 0.02
    assert min(accuracy) > 0.9


@pytest.mark.parametrize("width", [1, 2])
def test_the_middle_class_of_one_or_two_columns_is_found(width):
    """About their mean, objects in the middle have any direction; only the length of their rows tells."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = Views(size=(y[:, None] - 1.0) * 3 + 0.5 * rng.normal(size=(150, width)))
    model = AutoClassifier(random_state=0, cv=2).fit(X, np.where(np.arange(150) < 15, y, -1))
    assert np.mean(model.transduction_ == y) > 0.95
    assert np.mean(model.predict(X) == y) > 0.95


# -- The Auto models are continuous in their data: what changes little, changes answers and weights little

N = 120
LABELED = np.arange(N) % 10 == 0
STRENGTHS = (0.5, 0.7, 0.9)  # of a view: from where it is noise to where it tells the clusters
MADE = make_topic_views(N, 2, 4, quality=0.4, length=40, random_state=0)
NOISE = np.random.default_rng(0).normal(size=(N, 4))


def made(strength: float, rounding: float = 0.0) -> Views:
    """Words of two views and numbers that tell the clusters as far as said."""
    numbers = strength * np.eye(4)[MADE.target] + NOISE
    return Views(**MADE.views, numbers=numbers * (1 + rounding * NOISE))


def moved(one: np.ndarray, two: np.ndarray) -> float:
    """Share of the memberships that is in other groups, whatever the numbers of these."""
    same = linear_sum_assignment(one.T @ two, maximize=True)[1]
    return float(np.abs(one - two[:, same]).sum(axis=1).mean() / 2)


EXPERTS = ["margins", "latent", "centers", "topics", "graph", "latent: numbers"]


@pytest.fixture
def fit(fit_auto):
    """Fit an Auto model to views by the name of what it finds."""

    def fitted(kind: str, X: Views) -> AutoClustering | AutoClassifier:
        if kind == "clusters":
            return AutoClustering(4, random_state=0).fit(X)
        return fit_auto(EXPERTS, X, np.where(LABELED, MADE.target, -1)[: len(X)])

    return fitted


# .047 and .016 at most on eight made sets of 300, some of them so hard that every tenth object changes its cluster
@pytest.mark.parametrize(("kind", "most"), [("clusters", 0.1), ("classes", 0.05)])
def test_one_object_more_or_other_last_digits_change_little(kind, most, fit):
    X = made(1.0)
    whole = fit(kind, X).memberships_
    assert moved(whole[: N - 1], fit(kind, made(1.0, rounding=1e-6)[: N - 1]).memberships_) < most


# whether a view of numbers is noise is a choice of AutoClustering: up to .2 move where it is made, .05 elsewhere
@pytest.mark.parametrize(("kind", "most"), [("clusters", 0.3), ("classes", 0.05)])
def test_a_view_that_tells_more_and_more_takes_over_by_degrees(kind, most, fit):
    models = [fit(kind, made(strength)) for strength in STRENGTHS]
    assert max(moved(a.memberships_, b.memberships_) for a, b in pairwise(models)) < most
    if kind == "classes":
        weights = [dict(zip(model.candidates_["name"], model.candidates_["weight"])) for model in models]
        assert max(abs(a[name] - b[name]) for a, b in pairwise(weights) for name in a) < most


def test_more_labels_do_not_harm(fit_auto):
    rng = np.random.default_rng(0)
    places = np.array([[0, 0], [3, 0], [0, 3], [3, 3]])[MADE.target] + rng.normal(size=(N, 2))
    X = Views(words=MADE.views["view0"], places=places)
    draws = [rng.permutation(N) for _ in range(2)]
    found = []
    for n_labels in (8, 60):  # the same hidden objects, and the labels of before among those of after
        right = []
        for order in draws:
            y = np.full(N, -1)
            y[order[:n_labels]] = MADE.target[order[:n_labels]]
            hidden = order[60:]
            model = fit_auto(["margins", "latent", "centers", "latent: places"], X, y)
            right.append(np.mean(model.transduction_[hidden] == MADE.target[hidden]))
        found.append(np.mean(right))
    assert found[0] + 0.03 < found[1], found
