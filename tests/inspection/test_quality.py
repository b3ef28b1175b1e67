"""Quality of groups: good topics beside shuffled ones, every kind of model, and views that cannot be read."""

from __future__ import annotations

import numpy as np
import pytest

from coview import (
    LinkPLSA,
    MultiViewPLSA,
    SeededKMeansClassifier,
    SphericalKMeans,
    Views,
    inspect,
    make_report,
    refit_stability,
)
from coview.datasets import make_topic_views
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
        assert table.diversity[view] == topic_diversity(topics, n_features=7)
        assert table.means[view]["npmi"] == pytest.approx(np.mean([table["npmi"][i] for i in rows]))
    assert table["group"] == ["0", "1", "2"] * 2
    assert "mean NPMI view0" in repr(table)


def test_topics_of_the_data_are_more_coherent_than_those_of_other_data():
    rng = np.random.default_rng(0)
    strangers = Views({name: X[:, rng.permutation(X.shape[1])] for name, X in DATA.views.items()})
    own, foreign = (inspect(MODEL).quality(X).means for X in (DATA.views, strangers))
    assert all(own[view]["npmi"] > foreign[view]["npmi"] + 0.05 for view in own)


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


def test_measurements_do_not_occur_together():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    numbers = pandas.DataFrame(rng.uniform(1, 2, size=(150, 3)), columns=["age", "size", "price"])
    X = Views(words=DATA.views["view0"], numbers=numbers)
    for model in (SphericalKMeans(3, random_state=0), LinkPLSA(3, random_state=0)):
        model.fit(X)
        assert set(inspect(model).quality(X)["view"]) == {"words"}
        assert set(refit_stability(model, X, n_fits=1)["view"]) == {"words"}


def test_the_report_has_a_section():
    report = make_report(MODEL, DATA.views)
    quality = report.summary["quality"]
    assert [view["name"] for view in quality["views"]] == list(DATA.views.names)
    means = [np.mean(list(item["npmi"].values())) for item in quality["groups"]]
    assert means == sorted(means, reverse=True)
    assert "Quality of the topics: coherence (NPMI) of view0" in report.html


def test_other_seeds_find_clear_topics_again_and_no_topics_of_noise():
    clear = make_topic_views(n_objects=300, n_clusters=3, random_state=1).views
    noise = Views(words=np.random.default_rng(0).poisson(1.0, size=(300, 200)).astype(float))
    found, lost = (refit_stability(LinkPLSA(3, random_state=0).fit(X), X, n_fits=3) for X in (clear, noise))
    assert np.mean(found["stability"]) > np.mean(lost["stability"]) + 0.2
    again = refit_stability(LinkPLSA(3, random_state=0).fit(clear), clear, n_fits=3)
    assert found == again
