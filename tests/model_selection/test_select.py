"""`select_clusters`: finds the number that the data were made with, by rules that are checked by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from coview import ConcatenatedViews, LinkPLSA, MultiViewPLSA, Views, select_clusters
from coview.datasets import make_blobs_views, make_topic_views
from coview.model_selection.jobs import JobOutcome
from coview.model_selection.select import ClusterChoice, _row, compute_held_out_likelihood, recommend

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


def test_a_mixture_has_both_criteria():
    data = make_blobs_views(120, n_clusters=3, std=0.7, random_state=1)
    model = ConcatenatedViews(GaussianMixture(covariance_type="diag", reg_covar=1e-3))
    choice = select_clusters(data.views, model, range(2, 6), n_repeats=2, **HERE)
    assert choice.best_ == 3
    assert choice.criteria == ["likelihood", "stability"]


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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_clusters": []}, "n_clusters must be numbers up to 15"),
        ({"n_clusters": [0]}, "must be an int in the range"),
        ({"n_clusters": [40]}, "n_clusters must be numbers up to 15"),
        ({"n_repeats": 0}, "n_repeats.* must be an int in the range"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, sentence):
    X = Views(a=np.eye(30))
    with pytest.raises(ValueError, match=sentence):
        select_clusters(X, **{"n_clusters": [2], **HERE, **arguments})


def test_what_did_not_finish_is_not_recommended():
    whole, late = JobOutcome("done", [{"stability": 0.5}] * 3), JobOutcome("over budget", [{"stability": 0.9}], "No.")
    rows = [_row(k, outcome, ["stability"]) for k, outcome in ((2, whole), (3, late))]
    assert recommend(rows, ["stability"])[0] == 0 and [row["repeats"] for row in rows] == [3, 1]
    with pytest.raises(ValueError, match=r"No number of clusters could be judged\. No\."):
        recommend(rows[1:], ["stability"])


def test_a_notebook_shows_the_table_and_the_reason():
    rows = [row(2, stability=(0.5, 0.01)), row(3, stability=(0.9, 0.01))]
    page = ClusterChoice(rows, ["stability"], 3, "n_clusters=3 < 4")._repr_html_()
    assert "<td>0.900 ± 0.010</td>" in page and "n_clusters=3 &lt; 4" in page and "recommended" in page
