"""The start of topics by a nonnegative factorization of tf-idf."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from coview import PLSA, LazyViews, LinkPLSA, Views
from coview.datasets import make_topic_views
from coview.metrics import clustering_accuracy
from coview.plsa import starts
from coview.plsa.starts import FactorizedStart, factorize_views

DATA = make_topic_views(200, {"words": 120, "links": 60}, n_clusters=4, length=[40, 20], random_state=0)


def test_the_factorization_is_that_of_scikit_learns_tf_idf():
    views = DATA.views.select("words")
    Z = TfidfTransformer().fit_transform(sparse.csr_matrix(views["words"]))
    start = FactorizedStart.learned(views, 4, 0, {"words": 1.0})
    ours = clustering_accuracy(DATA.target, start(views).argmax(axis=1))
    theirs = clustering_accuracy(DATA.target, NMF(4, init="nndsvd", random_state=0).fit_transform(Z).argmax(axis=1))
    assert ours > theirs - 0.03


@pytest.mark.parametrize("model", [PLSA, LinkPLSA])
def test_topics_begin_at_the_counts_of_their_objects(model):
    arrays = factorize_views(DATA.views, 4, 0, {})
    for name, matrix in DATA.views.items():
        counts = arrays["memberships"].T @ matrix
        assert np.allclose(arrays["topic_feature"][name], np.maximum(counts, 1e-15))
    assert np.allclose(arrays["topic_view"].sum(axis=0), [matrix.sum() for matrix in DATA.views.values()])
    given = dict(arrays) if model is PLSA else {key: arrays[key] for key in ("memberships", "topic_feature")}
    fits = [model(4, init=init, max_iter=5, random_state=0).fit(DATA.views) for init in ("nmf", given)]
    assert np.allclose(fits[0].memberships_, fits[1].memberships_)


def test_objects_that_lack_all_counts_begin_even_and_weightless_views_say_nothing():
    words = DATA.views["words"].toarray()
    links = DATA.views["links"].toarray()
    words[3] = links[3] = 0
    views = Views(words=words, links=links, present={"links": np.arange(200) != 3})
    assert np.allclose(factorize_views(views, 4, 0, {})["memberships"][3], 0.25)
    alone = factorize_views(views.select("words"), 4, 0, {})["memberships"]
    assert np.allclose(factorize_views(views, 4, 0, {"links": 0.0})["memberships"], alone)


def test_lazy_rows_begin_as_those_in_memory_also_where_a_part_is_learned_from(monkeypatch):
    monkeypatch.setattr(starts, "FACTORIZED", 60)
    monkeypatch.setattr(starts, "PER_TOPIC", 10)
    lazy = LazyViews.from_views(DATA.views, 70)
    here, there = (factorize_views(views, 4, 0, {}) for views in (DATA.views, lazy))
    assert np.allclose(here["memberships"], there["memberships"](DATA.views))
    assert np.allclose(here["topic_feature"]["words"], there["topic_feature"]["words"])
    assert clustering_accuracy(DATA.target, here["memberships"].argmax(axis=1)) > 0.9


@pytest.mark.parametrize("shape", [(3, 4), (40, 2)])
def test_more_topics_than_objects_or_features_can_be_asked_for(shape):
    X = np.random.default_rng(0).poisson(2.0, size=shape) + 1
    model = PLSA(5, init="nmf", random_state=0).fit(X)
    assert np.isfinite(model.memberships_).all() and np.allclose(model.memberships_.sum(axis=1), 1)
