"""Lazy views: the same rows as in memory, read when asked for and not before, whatever the parts."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import train_test_split

from coview import Views
from coview.exceptions import ViewsError
from coview.views.lazy import LazyViews, stack_views
from coview.views.sources import MemorySource, Source

N = 23


def eager(**options) -> Views:
    rng = np.random.default_rng(0)
    words = sparse.random_array((N, 7), density=0.4, format="csr", rng=rng, dtype=np.float32)
    return Views(words=words, links=rng.random((N, 3)), **options)


class Counting(MemorySource):
    """Remembers what was read."""

    def __init__(self, views: Views, rows: int) -> None:
        super().__init__(views, rows)
        self.log: list[tuple[int, int, int]] = []

    def read(self, part: int, start: int, stop: int) -> Views:
        if hasattr(self, "log"):
            self.log.append((part, start, stop))
        return super().read(part, start, stop)

    def select(self, names):
        return Source.select(self, names)  # as a source that cannot leave views unread


def counted(rows: int = 5) -> tuple[LazyViews, list]:
    source = Counting(eager(), rows)
    return LazyViews(source), source.log


def double(matrix):
    return matrix * 2


def first_column(matrix):
    return matrix[:, [0]]


# -- the same rows

slices = st.builds(slice, *[st.none() | st.integers(-N - 3, N + 3)] * 2, st.none() | st.sampled_from([1, 2, -1, 5, -4]))
rows = st.lists(st.integers(-N, N - 1), max_size=30)
masks = st.lists(st.booleans(), min_size=N, max_size=N).map(np.array)


@given(key=slices | rows | masks, per_part=st.integers(1, N + 4))
@settings(deadline=None, max_examples=40)
def test_any_rows_are_those_of_the_views_in_memory(key, per_part):
    X = eager(ids=np.arange(N) * 10)
    assert LazyViews.from_views(X, per_part)[key] == X[key]


def test_parts_follow_each_other_and_make_the_whole():
    X = eager()
    lazy = LazyViews.from_views(X, 6)
    assert [len(part) for part in lazy.parts()] == [6, 6, 6, 5] == list(lazy.lengths)
    assert stack_views([lazy.part(i) for i in range(4)]) == X


# -- what is known without reading


def test_bytes_and_stored_values_are_those_of_the_parts():
    X = eager()
    lazy = LazyViews.from_views(X, 5)
    sizes = [sum(a.nbytes for a in (p["words"].data, p["words"].indices, p["words"].indptr)) for p in lazy.parts()]
    assert list(lazy.nbytes) == [size + part["links"].nbytes for size, part in zip(sizes, lazy.parts())]
    assert sum(lazy.nnz) == X["words"].nnz + X["links"].size


def test_facts_changes_and_what_is_shown_read_nothing():
    X, log = counted()
    assert (len(X), X.shape, X.names, X.n_features) == (N, (N, 10), ("words", "links"), {"words": 7, "links": 3})
    assert X.dtypes == {"words": np.float32, "links": np.float64} and X.kinds == {"words": "sparse", "links": "dense"}
    X.select("links").rename(links="refs").map(double)
    X.drop("words")
    assert repr(X).splitlines()[0] == f"LazyViews of {N} rows in 5 parts" and "sparse float32" in repr(X)
    assert "<table>" in X._repr_html_() and "words" in X._repr_html_()
    assert not log


# -- laziness


def test_a_slice_reads_only_the_parts_and_rows_it_needs():
    X, log = counted(5)
    X[7:12]
    assert log == [(1, 2, 5), (2, 0, 2)]


def test_rows_in_any_order_read_each_part_once():
    X, log = counted(5)
    X[[22, 1, 3, 21, 1]]
    assert log == [(0, 1, 4), (4, 1, 3)]


def test_a_mapped_width_is_told_from_a_few_rows_of_the_first_part_and_once():
    X, log = counted(5)
    mapped = X.map({"links": first_column})
    assert mapped.n_features == {"words": 7, "links": 1} and mapped.shape == (N, 8)
    assert log == [(0, 0, 5)]


# -- lazy changes are those of Views


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.select("links", "words"),
        lambda X: X.select(["links"]),
        lambda X: X.drop("links"),
        lambda X: X.rename(words="text"),
        lambda X: X.rename({"words": "links", "links": "words"}),
        lambda X: X.map(double),
        lambda X: X.map({"links": first_column}).rename(links="first").select("first"),
        lambda X: X.rename(words="links", links="words").drop("words"),
    ],
)
@pytest.mark.parametrize("make", [MemorySource, Counting])
def test_a_change_is_that_of_views(change, make):
    X = eager(feature_names={"words": list("abcdefg")}, ids=np.arange(N))
    lazy, wanted = change(LazyViews(make(X, 4))), change(X)
    assert lazy.collect() == wanted
    assert (lazy.names, lazy.n_features, lazy.shape) == (wanted.names, wanted.n_features, wanted.shape)
    assert {n: c.tolist() for n, c in lazy.feature_names.items()} == {
        n: c.tolist() for n, c in wanted.feature_names.items()
    }
    assert lazy.dtypes == {name: array.dtype for name, array in wanted.items()}
    assert lazy.ids.tolist() == wanted.ids.tolist()


def test_a_function_that_drops_rows_is_refused():
    X = LazyViews.from_views(eager(), 5).map({"links": lambda matrix: matrix[:2]})
    with pytest.raises(ViewsError, match="Views must have the same rows: 'words' has 5, 'links' has 2"):
        X.collect()


# -- in company


def test_scikit_learn_splits_lazy_views():
    X = eager(ids=np.arange(N))
    train, test = train_test_split(LazyViews.from_views(X, 4), test_size=5, random_state=0)
    wanted = train_test_split(X, test_size=5, random_state=0)
    assert train == wanted[0] and test == wanted[1]


def test_pickles_come_back_with_their_changes():
    X = LazyViews.from_views(eager(), 5).map(double).rename(words="text")
    again = pickle.loads(pickle.dumps(X))
    assert again.collect() == X.collect()
