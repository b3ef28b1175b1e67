"""Scikit-learn transformers on views."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from coview import ConcatenatedViews, EachView, Views
from coview.exceptions import ViewsError


def views() -> Views:
    rng = np.random.default_rng(0)
    words = sparse.csr_array(rng.poisson(1.0, size=(12, 6)).astype(float))
    return Views(size=rng.normal(size=(12, 3)), words=words, feature_names={"size": ["a", "b", "c"]})


def test_each_view_gets_the_transformer_that_names_it():
    X = views()
    found = EachView({"size": StandardScaler(), "words": TruncatedSVD(2, random_state=0)}).fit_transform(X)
    np.testing.assert_allclose(found["size"], StandardScaler().fit_transform(X["size"]))
    np.testing.assert_allclose(found["words"], TruncatedSVD(2, random_state=0).fit_transform(X["words"]))
    assert found.feature_names["size"].tolist() == ["a", "b", "c"]


def test_one_transformer_is_for_the_views_that_are_named():
    X = views()
    model = EachView(MinMaxScaler(), views="size").fit(X)
    assert model.transform(X)["words"] is not None and list(model.transformers_) == ["size"]
    np.testing.assert_allclose(model.transform(X.select("size"))["size"].max(axis=0), 1)


def test_rows_that_lack_a_view_teach_nothing_and_stay_empty():
    X = views()
    present = np.ones((12, 2), dtype=bool)
    present[:4, 0] = False
    size = X["size"].copy()
    size[:4] = 0
    partial = Views(size=size, words=X["words"], present=present)
    model = EachView({"size": StandardScaler()}).fit(partial)
    found = model.transform(partial)
    assert not found["size"][:4].any() and np.array_equal(found.present, present)
    np.testing.assert_allclose(found["size"][4:], StandardScaler().fit_transform(size[4:]))
    assert model.transform(partial[:4])["size"].shape == (4, 3)


def test_a_scaler_that_would_fill_a_sparse_view_is_refused_by_name():
    X = Views(words=sparse.csr_array(np.eye(4)), size=np.arange(4.0)[:, None])
    with pytest.raises(ViewsError, match=r"StandardScaler .* the sparse view 'words'.*views=\[...\]"):
        EachView(StandardScaler()).fit(X)
    assert sparse.issparse(EachView(StandardScaler(), views="size").fit_transform(X)["words"])


def test_a_fit_says_how_many_rows_it_left_empty():
    X = Views(words=sparse.csr_array([[1, 0], [0, 2], [0, 3], [0, 0]]), size=np.arange(4.0)[:, None])
    front = EachView({"words": VarianceThreshold(0.5), "size": StandardScaler()})
    with pytest.warns(UserWarning, match=r"without any feature: 1 of 3 in view 'words'\.$"):
        front.fit_transform(X)


# -- Metadata through wrappers: weights reach the estimators inside, with and without scikit-learn's routing

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = Views(
    words=RNG.poisson(2 + 2 * np.eye(6)[Y], (40, 6)).astype(float),
    links=RNG.poisson(1 + np.eye(4)[Y], (40, 4)).astype(float),
)
WEIGHTS = RNG.uniform(0.1, 5, 40)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_pipelines_hand_them_on(routing):
    asked = ConcatenatedViews(LogisticRegression()).set_fit_request(sample_weight=True)
    scaler = EachView(StandardScaler().set_fit_request(sample_weight=True))
    model = make_pipeline(scaler, asked).fit(X, Y, sample_weight=WEIGHTS)
    assert_allclose(
        model[0].transformers_["links"].mean_, StandardScaler().fit(X["links"], sample_weight=WEIGHTS).mean_
    )


def test_weights_of_transformers_are_of_the_rows_that_have_the_view():
    have = np.arange(40) < 25
    Z = Views(words=X["words"], links=X["links"] * have[:, None], present={"links": have})
    model = EachView({"links": StandardScaler()}).fit(Z, sample_weight=WEIGHTS)
    expected = StandardScaler().fit(X["links"][:25], sample_weight=WEIGHTS[:25])
    assert_allclose(model.transformers_["links"].mean_, expected.mean_)


def test_pipelines_take_weights_by_the_name_of_the_step():
    model = make_pipeline(EachView(StandardScaler()), ConcatenatedViews(LogisticRegression()))
    model.fit(X, Y, concatenatedviews__sample_weight=WEIGHTS)
    scaled = EachView(StandardScaler()).fit_transform(X).hstack()
    assert_allclose(
        model.predict_proba(X), LogisticRegression().fit(scaled, Y, sample_weight=WEIGHTS).predict_proba(scaled)
    )
