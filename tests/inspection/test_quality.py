"""Quality of groups: good topics beside shuffled ones, every kind of model, and views that cannot be read."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from coview import (
    Checkpoint,
    LinkPLSA,
    MultiViewPLSA,
    SeededKMeansClassifier,
    SphericalKMeans,
    TableViews,
    Views,
    edit,
    inspect,
    make_report,
    refit_stability,
)
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.metrics import topic_coherence, topic_diversity, topic_exclusivity

DATA = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
MODEL = LinkPLSA(3, random_state=0).fit(DATA.views)


def test_numbers_are_those_of_the_metrics():
    table = inspect(MODEL).quality(DATA.views, n_features=7)
    for view in DATA.views.names:
        rows = [i for i, name in enumerate(table["view"]) if name == view]
        topics, X = MODEL.topic_feature_[view], DATA.views[view]
        assert [table["npmi"][i] for i in rows] == topic_coherence(topics, X, n_features=7).tolist()
        assert [table["c_v"][i] for i in rows] == topic_coherence(topics, X, measure="c_v", n_features=7).tolist()
        assert [table["exclusivity"][i] for i in rows] == topic_exclusivity(topics, n_features=7).tolist()
        assert table.means[view]["diversity"] == topic_diversity(topics, n_features=7)
        assert table.means[view]["npmi"] == pytest.approx(np.mean([table["npmi"][i] for i in rows]))
    assert table["group"] == ["0", "1", "2"] * 2
    assert "mean NPMI view0" in repr(table)


@pytest.mark.parametrize(
    "model", [MultiViewPLSA(3, random_state=0), SphericalKMeans(3, random_state=0), SeededKMeansClassifier()]
)
def test_clusters_and_classes_have_quality(model):
    table = inspect(model.fit(DATA.views, DATA.target)).quality(DATA.views)
    assert set(table["view"]) == set(DATA.views.names)
    assert np.isfinite(table["npmi"]).all()


def test_vectors_have_nothing_to_read_and_objects_without_a_view_do_not_count():
    words, vectors = DATA.views["view0"].tolil(), np.random.default_rng(0).normal(size=(150, 4))
    words[100:] = 0
    words = words.tocsr()
    present = np.ones((150, 2), dtype=bool)
    present[100:, 0] = False
    X = Views({"words": words, "vector": vectors}, present=present)
    table = inspect(LinkPLSA(3, random_state=0).fit(X)).quality(X)
    assert set(table["view"]) == {"words"}
    model = LinkPLSA(3, random_state=0).fit(X)
    assert table["npmi"] == topic_coherence(model.topic_feature_["words"], words[:100]).tolist()


@pytest.mark.parametrize(
    ("model", "X", "said"),
    [
        (MODEL, None, "pass X"),
        (MODEL, DATA.views[:100], "150 objects of its fit, got 100"),
        (SeededKMeansClassifier().fit(DATA.views, DATA.target), DATA.views, "finds neither"),
        (SphericalKMeans(2, random_state=0).fit(np.eye(8)), np.eye(8), "fewer features"),
    ],
)
def test_stability_says_what_it_needs(model, X, said):
    with pytest.raises(ViewsError, match=said):
        make_report(model, X, held_out=False, stability=True)


def test_other_seeds_find_clear_topics_again_and_no_topics_of_noise():
    clear = make_topic_views(n_objects=300, n_clusters=3, random_state=1).views
    noise = Views(words=np.random.default_rng(0).poisson(1.0, size=(300, 200)).astype(float))
    found, lost = (refit_stability(LinkPLSA(3, random_state=0).fit(X), X, n_fits=3) for X in (clear, noise))
    assert np.mean(found["stability"]) > np.mean(lost["stability"]) + 0.2
    again = refit_stability(LinkPLSA(3, random_state=0).fit(clear), clear, n_fits=3)
    assert found == again


def test_the_edits_of_a_model_are_made_again_in_its_copies():
    X = DATA.views.select("view0")
    model = edit(LinkPLSA(3, random_state=0).fit(X)).merge([0, 1])
    before = model.estimator_.random_state, model.log()
    table = refit_stability(model, X, n_fits=2)
    assert table["group"] == ["0", "2"]
    assert (model.estimator_.random_state, model.log()) == before
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=2)
    copies = [edit(model).set_params(estimator=LinkPLSA(3, random_state=seed)).fit(X) for seed in seeds]
    ours, *others = (inspect(each).features("view0") for each in (model, *copies))
    assert [len(topics) for topics in others] == [2, 2]
    expected = np.mean([found_again(ours, other) for other in others], axis=0)
    assert table["stability"] == pytest.approx(expected.tolist())


def found_again(ours, theirs):
    """Jaccard indexes of the ten first features of matched topics, of all matchings the best."""
    mine, others = ([set(np.argsort(-row, kind="stable")[:10]) for row in part] for part in (ours, theirs))
    shared = [[len(a & b) / len(a | b) for a, b in zip(mine, order)] for order in permutations(others)]
    return max(shared, key=sum)


def test_copies_leave_the_checkpoint_of_the_model_alone(tmp_path):
    model = LinkPLSA(3, random_state=0).set_callbacks(Checkpoint(tmp_path / "fit")).fit(DATA.views)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    table = refit_stability(model, DATA.views, n_fits=1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    assert table == refit_stability(MODEL, DATA.views, n_fits=1)


def test_objects_with_other_words_than_those_of_the_fit_are_refused():
    texts = ["red fox den", "blue sea wave", "red den", "blue wave"] * 5
    model = make_pipeline(TableViews({"words": "body"}, min_df=1), LinkPLSA(2, random_state=0))
    model.fit({"body": texts})
    with pytest.raises(ViewsError, match="pass the objects that it was fitted on"):
        refit_stability(model, {"body": [*texts[1:], "green tree"]}, n_fits=1)


def test_texts_of_two_words_have_no_coherence():
    X = Views(words=np.eye(20)[np.arange(60) % 20] + np.eye(20)[(np.arange(60) + 1) % 20])
    assert inspect(LinkPLSA(2, max_iter=3, random_state=0).fit(X)).quality(X)["npmi"] == []
