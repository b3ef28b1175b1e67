"""Dask collections as lazy views: the same rows as in memory, whatever the chunks, and nothing computed early."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coview import Views, as_views, read_views, write_views
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


def from_pandas(frame: pd.DataFrame, npartitions: int):
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported; its views are not tested")
    return dd.from_pandas(frame, npartitions=npartitions)


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


def test_views_of_dask_arrays_are_lazy_views():
    X = as_views({"words": da.from_array(WORDS, chunks=(8, 5)), "links": da.from_array(LINKS, chunks=(8, 3))})
    assert isinstance(X, LazyViews) and X.is_dask
    assert (X.names, X.lengths, X.shape) == (("words", "links"), (8, 8, 4), (N, 8))
    assert X.dtypes == {"words": np.float32, "links": np.float64}


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda a: a, ("x",)),
        (lambda a: {"words": a}, ("words",)),
        (lambda a: [a, a], ("view0", "view1")),
        (lambda a: as_views({"w": a}), ("w",)),
    ],
)
def test_every_form_that_views_take_may_hold_dask(make, names):
    X = as_views(make(da.from_array(WORDS, chunks=(8, 5))))
    assert isinstance(X, LazyViews) and X.names == names
    assert as_views(X) is X


def test_a_dask_array_is_a_plain_matrix_and_lazy_views_are_not():
    array = da.from_array(WORDS, chunks=(8, 5))
    assert is_plain(array) and not is_plain(as_views({"x": array}))


@pytest.mark.parametrize("meta", [True, False])
def test_sparse_chunks_stay_sparse(meta):
    X = as_views({"words": sparse_array(WORDS, 8, meta), "links": da.from_array(LINKS, chunks=(6, 3))})
    found = X.collect()["words"]
    assert sparse.issparse(found) and found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), WORDS)
    assert X.kinds["words"] == ("sparse" if meta else "dense")


def test_sparse_chunks_side_by_side_stay_sparse():
    whole = da.concatenate([sparse_array(WORDS[:, :2], 8), sparse_array(WORDS[:, 2:], 8)], axis=1)
    found = as_views(whole).collect()["x"]
    assert sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), WORDS)


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


def test_frames_give_names_and_rows(computed):
    frame = pd.DataFrame(LINKS, columns=["a", "b", "c"])
    X = as_views({"words": da.from_array(WORDS, chunks=(8, 5)), "links": from_pandas(frame, npartitions=4)})
    assert X.feature_names["links"].tolist() == ["a", "b", "c"] and X.ids is None
    assert len(computed) == 1  # how long the partitions are
    assert X.collect() == Views(words=WORDS, links=frame)


def test_the_index_of_a_frame_identifies_the_rows():
    frame = pd.DataFrame(LINKS, columns=list("abc"), index=[f"r{i:02d}" for i in range(N)])
    X = as_views({"links": from_pandas(frame, npartitions=3)})
    assert X.ids.tolist() == frame.index.tolist()
    assert X.collect() == Views(links=frame)


def test_frames_cut_anew_keep_their_index():
    frame = pd.DataFrame(LINKS, columns=list("abc"), index=np.arange(N) * 2)
    X = as_views({"links": from_pandas(frame, npartitions=2), "words": da.from_array(WORDS, chunks=(3, 5))})
    assert X.collect() == Views(links=frame, words=WORDS)


def test_frames_with_different_indexes_are_refused():
    frames = [pd.DataFrame(LINKS, index=np.arange(N) + i) for i in (0, 5)]
    with pytest.raises(ViewsError, match="different row indexes"):
        as_views({f"f{i}": from_pandas(frame, npartitions=2) for i, frame in enumerate(frames)})


def test_a_view_in_memory_is_cut_to_match():
    frame = pd.DataFrame(LINKS, index=np.arange(N) + 7)
    X = as_views(
        {"words": da.from_array(WORDS, chunks=(8, 5)), "links": frame, "tags": sparse.csr_array(LINKS), "d": LINKS}
    )
    assert X.lengths == (8, 8, 4)
    assert X.collect() == Views(words=WORDS, links=frame, tags=sparse.csr_array(LINKS), d=LINKS)


def test_a_part_does_not_carry_the_memory_of_the_others():
    big = np.ones((2000, 100))
    X = as_views({"a": da.ones((2000, 1), chunks=(20, 1)), "b": big})
    assert len(pickle.dumps(X.delayed_parts()[3])) < big.nbytes / 20


def test_ids_missing_rows_and_names_are_kept():
    present = np.ones((N, 1), dtype=bool)
    present[0] = False
    ids = np.arange(N).astype(str)
    options = {"ids": ids, "present": present, "feature_names": {"words": list("abcde")}}
    words = WORDS.copy()
    words[0] = 0
    X = as_views({"words": da.from_array(words, chunks=(8, 5))}, **options)
    assert X.collect() == Views(words=words, **options)
    assert X.ids.tolist() == ids.tolist()


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


def test_delayed_parts_are_the_views_with_their_changes():
    X = as_views({"words": da.from_array(WORDS, chunks=(8, 5)), "links": da.from_array(LINKS, chunks=(8, 3))})
    changed = X.select("links").rename(links="l").map(np.sqrt)
    parts = dask.compute(*changed.delayed_parts())
    assert [len(part) for part in parts] == [8, 8, 4]
    assert all(part == wanted for part, wanted in zip(parts, changed.parts()))


def test_delayed_parts_of_a_sharded_folder_read_it(tmp_path):
    X = Views(words=WORDS, links=LINKS)
    write_views(X, tmp_path / "s", rows_per_shard=8)
    lazy = read_views(tmp_path / "s")
    assert not lazy.is_dask
    assert [len(part) for part in dask.compute(*lazy.delayed_parts())] == [8, 8, 4]


def test_dask_views_are_written_as_shards(tmp_path):
    X = as_views({"words": sparse_array(WORDS, 8), "links": da.from_array(LINKS, chunks=(8, 3))})
    write_views(X, tmp_path / "s")
    again = read_views(tmp_path / "s")
    assert again.lengths == (8, 8, 4) and again.collect() == X.collect()


def test_sizes_of_dense_views_are_known_and_of_sparse_ones_estimated(computed):
    X = as_views({"words": da.from_array(WORDS, chunks=(8, 5))})
    assert X.nbytes == (160, 160, 80) and X.nnz == (40, 40, 20) and not computed
    Y = as_views({"words": sparse_array(WORDS, 8)})
    first = Y.part(0)["words"]
    assert Y.nbytes[0] == first.data.nbytes + first.indices.nbytes + first.indptr.nbytes and Y.nnz is None


def test_pickles_come_back():
    X = as_views({"words": da.from_array(WORDS, chunks=(8, 5)), "links": from_pandas(pd.DataFrame(LINKS), 3)})
    again = pickle.loads(pickle.dumps(X.rename(words="w")))
    assert again.is_dask and again.collect() == X.rename(words="w").collect()


# -- refusals


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: {"a": da.ones(5, chunks=2)}, "numeric matrix .* got 1 dimension"),
        (lambda: {"a": da.ones((5, 2), chunks=2).astype(str)}, "dtype <U32"),
        (lambda: {"a": da.ones((5, 2), chunks=2), "b": da.ones((6, 2), chunks=2)}, "'a' has 5, 'b' has 6"),
        (lambda: {"a": da.ones((5, 2), chunks=2), "b": np.ones((6, 2))}, "'a' has 5, 'b' has 6"),
        (lambda: {"a": da.ones((5, 2), chunks=2)[:0]}, "View 'a' is empty"),
        (lambda: {"a": dask.delayed(np.eye)(3)}, "dask Delayed, which is not a matrix"),
        (lambda: {"a": from_pandas(pd.DataFrame({"t": ["x", "y"]}), npartitions=1)}, "numeric matrix"),
        (lambda: {"a": from_pandas(pd.DataFrame({"t": [1, 2]}), npartitions=1)["t"]}, "dask Series"),
        (lambda: {"a": unknown(WORDS, 5), "b": unknown(LINKS[:15], 5)}, "'a' has 20, 'b' has 15"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(make, text):
    with pytest.raises(ViewsError, match=text):
        as_views(make())


def test_dask_ids_names_of_other_views_and_nan_are_refused():
    array = da.from_array(WORDS, chunks=(8, 5))
    with pytest.raises(ViewsError, match="ids must be in memory"):
        as_views({"words": array}, ids=da.arange(N))
    with pytest.raises(ViewsError, match="names view 'links'"):
        as_views({"words": array}, feature_names={"links": ["a"]})
    with pytest.raises(ViewsError, match="contains NaN"):
        as_views({"words": array / np.nan}).part(0)


def test_nothing_imports_dask_by_itself():
    code = (
        "import sys, numpy as np, coview; X = coview.Views(x=np.eye(3)); coview.as_views({'a': np.eye(2)});"
        "from coview.views.lazy import LazyViews; LazyViews.from_views(X, 2).map(np.sqrt).collect();"
        "sys.exit('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_views_in_memory_are_never_made_of_dask_collections():
    array = da.from_array(WORDS, chunks=(8, 5))
    with pytest.raises(ViewsError, match=r"View 'words' is a dask Array, .* as_views\(\{'words': ...\}\)"):
        Views(words=array)
    with pytest.raises(ViewsError, match=r"got lazy views. Keep them lazy with as_views\(X\)"):
        Views(as_views(array))
