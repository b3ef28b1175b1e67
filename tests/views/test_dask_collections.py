"""Dask collections as lazy views: the same rows as in memory, whatever the chunks, and nothing computed early."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coview import Views, as_views
from coview.exceptions import ViewsError
from coview.views.lazy import LazyViews
from coview.views.views import is_plain

dask = pytest.importorskip("dask", reason="dask is not installed; views of dask collections are not tested")
da = pytest.importorskip("dask.array", reason="dask.array cannot be imported: views of dask collections are not tested")

N = 20
WORDS = np.arange(N * 5, dtype=np.float32).reshape(N, 5)
LINKS = np.arange(N * 3, dtype=np.float64).reshape(N, 3)


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def computed(monkeypatch):
    """Count the computations."""
    calls: list[int] = []

    def get(graph, keys, **options):
        calls.append(1)
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=get):
        yield calls


def sparse_array(matrix: np.ndarray, rows, meta: bool = True):
    empty = sparse.csr_array((0, 0), dtype=matrix.dtype) if meta else np.empty((0, 0), matrix.dtype)
    return da.from_array(matrix, chunks=(rows, -1)).map_blocks(sparse.csr_array, meta=empty)


def unknown(matrix: np.ndarray, rows):
    """Return a dask array that does not know its number of rows."""
    whole = da.from_array(matrix, chunks=(rows, -1))
    return whole[da.from_array(np.ones(len(matrix), dtype=bool), chunks=rows)]


def no_part_is_empty(X: LazyViews) -> bool:
    return min(X.lengths) > 0 and sum(X.lengths) == len(X)


# -- the same rows

chunks = st.lists(st.integers(1, N), min_size=1, max_size=6).map(
    lambda sizes: tuple(np.diff([0, *sorted({s for s in np.cumsum(sizes).tolist() if s < N}), N]).tolist())
)


@given(first=chunks, second=chunks, columns=st.sampled_from([(5,), (2, 3), (1, 1, 3)]))
@settings(deadline=None, max_examples=25)
def test_any_chunks_of_rows_and_columns_give_the_same_views(first, second, columns):
    with dask.config.set(scheduler="synchronous"):
        X = as_views(
            {"words": da.from_array(WORDS, chunks=(first, columns)), "links": da.from_array(LINKS, chunks=(second, 3))}
        )
        assert X.lengths == max(first, second, key=len)
        assert X.collect() == Views(words=WORDS, links=LINKS)
        assert X[3:11] == Views(words=WORDS, links=LINKS)[3:11]


@pytest.mark.parametrize(
    ("make", "names"),
    [(lambda a: a, ("x",)), (lambda a: [a, a], ("view0", "view1")), (lambda a: as_views({"w": a}), ("w",))],
)
def test_every_form_that_views_take_may_hold_dask(make, names):
    array = da.from_array(WORDS, chunks=(8, 5))
    X = as_views(make(array))
    assert isinstance(X, LazyViews) and X.is_dask and X.names == names and X.lengths == (8, 8, 4)
    assert is_plain(array) and not is_plain(X)
    assert as_views(X) is X


@pytest.mark.parametrize("meta", [True, False])
def test_sparse_chunks_stay_sparse(meta):
    X = as_views({"words": sparse_array(WORDS, 8, meta), "links": da.from_array(LINKS, chunks=(6, 3))})
    found = X.collect()["words"]
    assert sparse.issparse(found) and found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), WORDS)
    assert X.kinds["words"] == ("sparse" if meta else "dense")


def test_unknown_numbers_of_rows_are_counted_once(computed):
    X = as_views({"words": unknown(WORDS, 7), "links": unknown(LINKS, 9)})
    assert len(computed) == 2
    assert X.lengths == (7, 7, 6) and no_part_is_empty(X)
    assert X.collect() == Views(words=WORDS, links=LINKS)


def test_chunks_without_rows_are_left_out():
    array = da.from_array(WORDS, chunks=(5, 5))
    X = as_views(array[array[:, 0] >= 50])
    assert X.lengths == (5, 5)
    np.testing.assert_array_equal(X.collect()["x"], WORDS[10:])


def test_a_view_in_memory_is_cut_to_match_and_pickles_come_back():
    frame = pd.DataFrame(LINKS, columns=list("abc"), index=np.arange(N) + 7)
    X = as_views({"words": da.from_array(WORDS, chunks=(3, 5)), "links": frame, "tags": sparse.csr_array(LINKS)})
    assert X.ids.tolist() == frame.index.tolist()
    assert X.collect() == Views(words=WORDS, links=frame, tags=sparse.csr_array(LINKS))
    again = pickle.loads(pickle.dumps(X.rename(words="w")))
    assert again.is_dask and again.collect() == X.rename(words="w").collect()


def test_frames_of_dask_give_names_and_ids():
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported; its views are not tested")
    frame = pd.DataFrame(LINKS, columns=list("abc"), index=np.arange(N) + 7)
    X = as_views({"words": da.from_array(WORDS, chunks=(3, 5)), "links": dd.from_pandas(frame, npartitions=2)})
    assert X.feature_names["links"].tolist() == ["a", "b", "c"] and X.ids.tolist() == frame.index.tolist()
    assert X.collect() == Views(words=WORDS, links=frame)
    other = dd.from_pandas(frame.set_index(frame.index + 5), npartitions=2)
    texts = dd.from_pandas(pd.DataFrame({"t": ["x", "y"]}), npartitions=1)
    for bad, text in (
        ({"a": dd.from_pandas(frame, npartitions=2), "o": other}, "different row indexes"),
        ({"a": texts}, "numeric matrix"),
        ({"a": texts["t"]}, "dask Series"),
    ):
        with pytest.raises(ViewsError, match=text):
            as_views(bad)


# -- laziness


def test_nothing_is_computed_before_rows_are_asked_for(computed):
    X = as_views({"words": sparse_array(WORDS, 8), "links": da.from_array(LINKS, chunks=(8, 3))})
    assert (len(X), X.shape, X.n_features["words"]) == (N, (N, 8), 5)
    assert "3 parts" in repr(X)
    X.select("links").rename(links="l").map(np.sqrt).delayed_parts()
    assert not computed
    X[9:12]
    assert len(computed) == 1


def test_selected_views_leave_the_others_uncomputed():
    def fail(block):
        raise AssertionError("computed")

    bad = da.from_array(WORDS, chunks=(8, 5)).map_blocks(fail, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    X = as_views({"bad": bad, "good": da.from_array(LINKS, chunks=(8, 3))})
    assert X.rename(good="g").select("g").collect() == Views(g=LINKS)


# -- refusals


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: {"a": da.ones(5, chunks=2)}, "numeric matrix .* got 1 dimension"),
        (lambda: {"a": da.ones((5, 2), chunks=2).astype(str)}, "dtype <U32"),
        (lambda: {"a": da.ones((5, 2), chunks=2), "b": np.ones((6, 2))}, "'a' has 5, 'b' has 6"),
        (lambda: {"a": da.ones((5, 2), chunks=2)[:0]}, "View 'a' is empty"),
        (lambda: {"a": dask.delayed(np.eye)(3)}, "dask Delayed, which is not a matrix"),
        (lambda: {"a": unknown(WORDS, 5), "b": unknown(LINKS[:15], 5)}, "'a' has 20, 'b' has 15"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(make, text):
    with pytest.raises(ViewsError, match=text):
        as_views(make())


def test_sizes_of_dense_views_are_known_and_of_sparse_ones_estimated(computed):
    X = as_views({"words": da.from_array(WORDS, chunks=(8, 5))})
    assert X.nbytes == (160, 160, 80) and X.nnz == (40, 40, 20) and not computed
    Y = as_views({"words": sparse_array(WORDS, 8)})
    first = Y.part(0)["words"]
    assert Y.nbytes[0] == first.data.nbytes + first.indices.nbytes + first.indptr.nbytes and Y.nnz is None
