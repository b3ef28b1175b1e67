"""`ScaledViews` against scikit-learn's scaler, and that a turned embedding stays the same embedding."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from coview import ScaledViews, Views
from coview.preprocessing.scaling import scaling_by_default
from coview.preprocessing.weighting import TfidfViews, UnitRows, weigh_counts


def vectors(n: int = 300, width: int = 24, seed: int = 0) -> np.ndarray:
    """Correlated columns of one unit, some wider than others."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)) @ rng.normal(size=(width, width)) + rng.normal(size=width)


def test_standard_is_what_scikit_learn_does():
    X = vectors() * np.geomspace(1, 1e4, 24)
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(ScaledViews("standard").fit_transform(Views(x=X))["x"], expected, atol=1e-12)
    assert ScaledViews("standard").fit_transform(Views(x=X.astype(np.float32)))["x"].dtype == np.float32


def test_columns_of_units_of_their_own_are_standardized_by_default():
    X = Views(few=vectors(width=4), grams=vectors() * np.where(np.arange(24) == 3, 1e3, 1.0))
    assert ScaledViews().fit(X).scaling_ == {"few": "standard", "grams": "standard"}


@pytest.mark.parametrize("scaling", ["standard", "pareto", "centered"])
def test_the_mean_variance_of_columns_is_one(scaling):
    rows = ScaledViews(scaling).fit_transform(Views(x=vectors()))["x"]
    assert np.abs(rows.mean(axis=0)).max() < 1e-10
    assert rows.var(axis=0).mean() == pytest.approx(1)


def test_principal_components_are_of_one_unit_however_far_they_reach():
    wide = vectors(2000, 40) * np.geomspace(100, 1, 40)
    components = PCA(40).fit_transform(wide)
    assert components.std(axis=0).max() > 10 * np.median(components.std(axis=0))
    assert scaling_by_default(components) == "centered"
    assert scaling_by_default(components[:, :16]) == "centered"
    assert scaling_by_default(components[:, :15]) == "standard"  # too few to be told from measurements
    assert scaling_by_default(PCA(40).fit(wide[::2]).transform(wide[1::2])) == "centered"
    assert scaling_by_default(wide @ np.diag(np.geomspace(1, 1e4, 40))) == "standard"
    units = np.random.default_rng(0).permutation(np.geomspace(1, 1e4, 32))
    assert scaling_by_default(np.random.default_rng(1).normal(size=(300, 32)) * units) == "standard"


def test_counts_pass_and_histograms_are_scaled_by_roots():
    rng = np.random.default_rng(0)
    words = sparse.csr_array(rng.poisson(0.1, size=(50, 30)))
    X = Views(words=words, shares=rng.dirichlet(np.full(20, 5.0), size=50))
    model = ScaledViews().fit(X)
    assert model.scaling_ == {"shares": "pareto"}
    assert (model.transform(X)["words"] != words).nnz == 0


def test_sparse_columns_keep_their_zeros():
    X = sparse.random_array((60, 20), density=0.4, rng=np.random.default_rng(0), format="csr")
    made = ScaledViews("standard", views="x").fit_transform(Views(x=X))["x"]
    assert sparse.issparse(made)
    expected = StandardScaler(with_mean=False).fit_transform(X)
    np.testing.assert_allclose(made.toarray(), expected.toarray(), atol=1e-12)


def test_who_does_not_have_a_view_is_not_looked_at_and_stays_empty():
    X = vectors()
    present = np.arange(300) % 3 > 0
    given = Views({"x": np.where(present[:, None], X, 0.0), "y": X}, present={"x": present})
    model = ScaledViews().fit(given)
    np.testing.assert_allclose(model.mean_["x"], X[present].mean(axis=0))
    rows = model.transform(given)["x"]
    assert not rows[~present].any()
    np.testing.assert_allclose(rows[present].mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("value", [7.0, 33333.3, 1e9 / 3, 1.7e9 + 0.1])
def test_a_column_that_does_not_vary_is_zero(value):
    """But for rounding: a sum of many such numbers is off in the last places."""
    X = vectors(997)
    X[:, 2] = value
    column = ScaledViews().fit_transform(Views(x=X))["x"][:, 2]
    assert np.ptp(column) == 0 and abs(column[0]) < 1e-4


def test_views_have_scalings_of_their_own():
    X = Views(one=vectors(), other=vectors(seed=3))
    assert ScaledViews({"one": "pareto"}).fit(X).scaling_ == {"one": "pareto", "other": "centered"}
    with pytest.raises(ValueError, match="scaling"):
        ScaledViews("whitened").fit(X)


def test_wide_sparse_rows_are_not_made_dense():
    """Signed counts of hashed words: a few numbers of a million columns."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 1 << 20), density=1e-5, rng=rng, data_sampler=lambda size: rng.normal(size=size))
    made = ScaledViews("auto", views="x").fit_transform(Views(x=sparse.csr_array(X)))["x"]
    assert sparse.issparse(made) and made.nnz == X.nnz
    tracemalloc.start()
    scaling_by_default(sparse.csr_array(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * (1 << 20) * 8 / 10


# -- Weights over views: equal to scikit-learn in each view, sparse and float32 kept, other views untouched

COUNTS = np.array([[2, 0, 1, 0], [1, 3, 0, 0], [0, 0, 5, 0], [1, 0, 0, 0]])
ALL = [TfidfViews(), UnitRows()]
MAKERS = {"dense": np.asarray, "array": sparse.csr_array, "matrix": sparse.csr_matrix}
counts = hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(0, 4))


def dense(array):
    return array.toarray() if sparse.issparse(array) else array


def with_gap(make=sparse.csr_array, dtype=float) -> Views:
    """Two views; the last object lacks the first."""
    words = np.vstack([COUNTS, np.zeros(4)]).astype(dtype)
    present = np.ones((5, 2), dtype=bool)
    present[4, 0] = False
    return Views({"words": make(words), "image": -np.ones((5, 2))}, present=present, ids=list("abcde"))


# -- one law for all


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_kind_and_precision_are_kept(model, kind, dtype):
    X = Views(words=MAKERS[kind](COUNTS.astype(dtype)))
    before = dense(X["words"]).copy()
    found = clone(model).fit_transform(X)["words"]
    assert type(found) is type(X["words"])
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(dense(X["words"]), before)


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_other_views_pass_through_untouched(model):
    X = with_gap()
    found = clone(model).set_params(views="words").fit_transform(X)
    assert found.names == X.names
    assert np.shares_memory(found["image"], X["image"])
    np.testing.assert_array_equal(found.present, X.present)
    np.testing.assert_array_equal(found.ids, X.ids)
    assert dense(found["words"])[4].sum() == 0
    without = clone(model).fit_transform(X.select("words")[:4])  # rows that lack a view do not count
    np.testing.assert_allclose(dense(found["words"])[:4], dense(without["words"]), rtol=1e-12)


# -- each against its oracle


@settings(max_examples=40, deadline=None)
@given(
    counts,
    st.fixed_dictionaries(
        {"norm": st.sampled_from(["l1", "l2", None]), "use_idf": st.booleans(), "sublinear_tf": st.booleans()}
    ),
)
def test_tfidf_equals_scikit_learn(matrix, options):
    matrix[0] += 1  # scikit-learn divides by zero for a feature of no document
    expected = TfidfTransformer(**options).fit_transform(matrix).toarray()
    for make in MAKERS.values():
        np.testing.assert_allclose(dense(TfidfViews(**options).fit_transform(make(matrix))["x"]), expected, atol=1e-12)


def test_counts_get_log_weights_and_weighted_rows_keep_theirs():
    given = normalize(COUNTS * np.array([[1.0, 0.3, 2.5, 1.7]]))
    X = Views(words=COUNTS, tfidf=given)
    found = make_pipeline(*weigh_counts(X)).fit_transform(X)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(COUNTS).toarray()
    np.testing.assert_allclose(found["words"], expected)
    np.testing.assert_allclose(found["tfidf"], given)


def test_short_counts_stay_as_they_are_where_that_is_asked():
    links = sparse.csr_array(np.eye(5, dtype=int))
    assert weigh_counts(Views(links=links), keep_short=True) == []
    (step,) = weigh_counts(Views(links=links, words=3 * links), keep_short=True)
    assert (step.views, step.sublinear_tf) == (["words"], True)


@settings(max_examples=30, deadline=None)
@given(counts, st.sampled_from(["l1", "l2", "max"]))
def test_unit_rows_equal_scikit_learn(matrix, norm):
    for make in MAKERS.values():
        found = dense(UnitRows(norm).fit_transform(make(matrix - 1))["x"])
        np.testing.assert_allclose(found, normalize(matrix - 1, norm=norm), atol=1e-12)
