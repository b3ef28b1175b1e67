"""The container: what it takes, what it gives back, what it refuses, and that nothing changes or copies it."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coview import LazyViews, Views, read_views, write_views
from coview.exceptions import ViewsError

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
SPARSE_CLASSES = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array, sparse.coo_array]


def make_views() -> Views:
    image = np.array([[0.5, 1.0], [0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    return Views(
        {"words": sparse.csr_array(DENSE), "image": image},
        ids=["a", "b", "c", "d"],
        present={"image": np.array([True, False, True, True])},
        feature_names={"words": ["fox", "sea", "sky"]},
    )


# -- construction


@pytest.mark.parametrize("make", SPARSE_CLASSES)
def test_any_sparse_class_becomes_csr_of_the_same_family(make):
    found = Views(words=make(DENSE))["words"]
    assert found.format == "csr"
    assert isinstance(found, sparse.sparray) == issubclass(make, sparse.sparray)
    np.testing.assert_array_equal(found.toarray(), DENSE)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pl.LazyFrame], ids=["pandas", "polars", "polars, lazy"])
def test_frames_bring_values_and_feature_names(frame):
    X = Views(table=frame({"age": [1, 2], "size": [0.5, 1.5]}))
    np.testing.assert_array_equal(X["table"], [[1, 0.5], [2, 1.5]])
    assert X.feature_names["table"].tolist() == ["age", "size"]
    assert X.ids is None


def test_numbers_are_names_of_columns_where_somebody_gave_them():
    X = Views(table=pd.DataFrame(DENSE), years=pd.DataFrame(DENSE, columns=[2019, 2020, 2021]))
    np.testing.assert_array_equal(X["table"], DENSE)
    assert "table" not in X.feature_names and X.feature_names["years"].tolist() == ["2019", "2020", "2021"]


def test_a_sparse_pandas_frame_stays_sparse():
    X = Views(words=pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(DENSE)))
    assert sparse.issparse(X["words"])
    np.testing.assert_array_equal(X["words"].toarray(), DENSE)


def test_two_level_columns_are_views():
    columns = pd.MultiIndex.from_tuples([("words", "fox"), ("words", "sea"), ("image", "red")])
    X = Views(pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=columns))
    assert X.names == ("words", "image")
    assert X.feature_names["words"].tolist() == ["fox", "sea"]
    assert X["image"].tolist() == [[2.0], [5.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16, bool])
def test_dtypes_are_kept(dtype):
    X = Views(dense=DENSE.astype(dtype), sparse=sparse.csr_array(DENSE.astype(dtype)))
    assert X["dense"].dtype == X["sparse"].dtype == dtype


# -- what is in it


def test_shape_length_names_and_features():
    X = make_views()
    assert (X.shape, len(X), X.names, X.n_features) == ((4, 5), 4, ("words", "image"), {"words": 3, "image": 2})
    assert list(X) == list(dict(X)) == ["words", "image"]
    assert "words" in X and "sound" not in X
    again = Views(X, more=np.ones((4, 1)))
    assert again.names == ("words", "image", "more") and again.drop("more") == X == make_views()
    assert Views(w=sparse.csr_matrix(DENSE)) == Views(w=sparse.csr_array(DENSE))


def test_present_as_a_matrix_equals_present_by_name():
    mask = np.array([[True, True], [True, False], [True, True], [True, True]])
    X = make_views()
    assert Views(dict(X), ids=X.ids, present=mask, feature_names=X.feature_names) == X


# -- rows


@pytest.mark.parametrize(
    "key",
    [
        *(slice(1, 3), slice(None, None, -1), slice(None, None, 2), slice(3, 1), [0, 2], [], np.array([3, 3, 0])),
        *(np.array([-1, 0]), np.array([True, False, True, False]), [False, True, True, False], range(2)),
        *(pd.Series([True, False, False, True]), np.array([1, 2], dtype=np.uint8)),
    ],
    ids=repr,
)
def test_rows_match_numpy_indexing(key):
    X, rows = make_views(), np.asarray(key) if not isinstance(key, slice) else key
    rows = rows.astype(int) if not isinstance(rows, slice) and rows.size == 0 else rows
    taken = X[key]
    assert taken == X[key, ...] == X[key, :]
    np.testing.assert_array_equal(taken["words"].toarray(), DENSE[rows])
    np.testing.assert_array_equal(taken["image"], X["image"][rows])
    np.testing.assert_array_equal(taken.present, X.present[rows])
    np.testing.assert_array_equal(taken.ids, X.ids[rows])
    assert taken.feature_names.keys() == {"words"}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=6), st.data())
def test_rows_of_rows_compose(rows, data):
    X = make_views()
    more = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=4)) if rows else []
    assert X[rows][more] == X[[rows[i] for i in more]]


@pytest.mark.parametrize("key", [4, [0, 9], np.array([-7]), np.array([True, False])])
def test_rows_out_of_range_are_refused(key):
    with pytest.raises(IndexError, match="4 rows"):
        make_views()[key]


@pytest.mark.parametrize("key", [["words", "image"], 1.5, None, np.eye(2, dtype=int)])
def test_keys_that_are_no_rows_are_refused(key):
    with pytest.raises(TypeError, match="Views are indexed by rows or by one view's name"):
        make_views()[key]


# -- views


def test_select_keeps_the_order_asked_for():
    X = make_views().select("image", "words")
    assert X.names == ("image", "words")
    assert X.present[1].tolist() == [False, True]
    assert make_views().select(["words"]).names == ("words",)


def test_map_applies_one_function_to_all_or_one_to_each():
    X = make_views()
    np.testing.assert_array_equal(X.map(lambda a: a * 2)["image"], X["image"] * 2)
    only = X.map({"image": lambda a: a * 3})
    np.testing.assert_array_equal(only["image"], X["image"] * 3)
    assert np.shares_memory(only["words"].data, X["words"].data)
    assert only.feature_names["words"].tolist() == ["fox", "sea", "sky"]


def test_map_forgets_feature_names_that_no_longer_fit():
    assert make_views().map({"words": lambda a: a[:, :2]}).feature_names == {}


def test_hstack_matches_numpy_and_is_sparse_if_any_view_is():
    X = make_views()
    glued = X.hstack()
    assert sparse.issparse(glued)
    np.testing.assert_array_equal(glued.toarray(), np.hstack([DENSE, X["image"]]))
    dense = Views(a=DENSE.astype(np.float32), b=DENSE.astype(np.float32)).hstack()
    assert isinstance(dense, np.ndarray)
    assert dense.dtype == np.float32


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda X: X["sound"], "There is no view 'sound'; the views are 'words', 'image'."),
        (lambda X: X.select("sound"), "There is no view 'sound'"),
        (lambda X: X.rename(sound="x"), "There is no view 'sound'"),
        (lambda X: X.map({"sound": abs}), "There is no view 'sound'"),
        (lambda X: X.select(), "select needs at least one view; the views are 'words', 'image'."),
        (lambda X: X.drop("words", "image"), "select needs at least one view"),
        (lambda X: X.select("words", "words"), "View names must be unique, got 'words', 'words'."),
        (lambda X: X.rename(words="image"), "View names must be unique, got 'image', 'image'."),
    ],
)
def test_views_that_are_not_there_are_refused(act, sentence):
    with pytest.raises(ViewsError, match=re.escape(sentence)):
        act(make_views())


# -- joining by id


def align(how: str, make=np.asarray) -> Views:
    return Views.align(
        {"words": (["a", "b", "c"], make(DENSE[:3])), "image": (["d", "b"], make(DENSE[:2] + 1))}, how=how
    )


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix], ids=["dense", "array", "matrix"])
@pytest.mark.parametrize(
    ("how", "ids", "present"),
    [
        ("outer", ["a", "b", "c", "d"], [[1, 0], [1, 1], [1, 0], [0, 1]]),
        ("inner", ["b"], [[1, 1]]),
        ("left", ["a", "b", "c"], [[1, 0], [1, 1], [1, 0]]),
    ],
)
def test_align_joins_by_id(how, ids, present, make):
    X = align(how, make)
    assert X.ids.tolist() == ids
    assert X.present.astype(int).tolist() == present
    rows = {"words": dict(zip("abc", DENSE[:3])), "image": dict(zip("db", DENSE[:2] + 1))}
    for name, array in X.items():
        expected = [rows[name].get(key, np.zeros(3)) for key in ids]
        np.testing.assert_array_equal(array.toarray() if sparse.issparse(array) else array, expected)
        assert type(array) is type(make(DENSE))


def test_align_takes_the_index_of_pandas_frames():
    X = Views.align({"a": pd.DataFrame({"x": [1, 2]}, index=[7, 9]), "b": pd.DataFrame({"y": [3]}, index=[9])})
    assert X.ids.tolist() == [7, 9]
    assert X.feature_names["b"].tolist() == ["y"]


@pytest.mark.parametrize(
    ("views", "options", "sentence"),
    [
        ({"a": (["p", "p"], np.eye(2))}, {}, "View 'a' has 2 rows and 1 different ids."),
        ({"a": np.eye(2)}, {}, "View 'a' has no ids to align by."),
        ({"a": (["p", "q"], np.eye(2)), "b": ([1, 2], np.eye(2))}, {}, "Ids must be of one type to align by."),
        ({"a": (["p"], np.eye(1)), "b": (["q"], np.eye(1))}, {"how": "inner"}, "no ids in common"),
        ({"a": (["p"], np.eye(1))}, {"how": "cross"}, "how must be 'outer', 'inner' or 'left', got 'cross'."),
        ({}, {}, "Views.align needs {name: (ids, matrix)} with at least one view."),
        ({3: (["p"], np.eye(1))}, {}, "A view's name must be a non-empty string, got 3."),
    ],
)
def test_what_cannot_be_aligned_is_refused(views, options, sentence):
    with pytest.raises(ViewsError, match=re.escape(sentence)):
        Views.align(views, **options)


# -- equality and display


@pytest.mark.parametrize(
    "other",
    [
        make_views()[:3],
        make_views().select("image", "words"),
        make_views().rename(words="text"),
        make_views().map({"words": lambda a: a * 2}),
        Views(dict(make_views()), ids=make_views().ids, feature_names=make_views().feature_names),
        Views(make_views(), ids=["a", "b", "c", "e"]),
        Views(make_views(), ids=[0, 1, 2, 3]),
        Views(make_views(), feature_names={"words": ["fox", "sea", "sun"]}),
        make_views().map({"words": lambda a: a.toarray()}),
        "words",
    ],
    ids=["length", "order", "names", "values", "present", "ids", "kind of ids", "features", "dense", "type"],
)
def test_a_difference_anywhere_makes_views_unequal(other):
    assert make_views() != other


def test_repr_tells_shape_kind_density_and_presence():
    assert repr(make_views()).splitlines() == [
        "Views of 4 rows",
        "  words  4 x 3  sparse float64  41.7 % non-zero",
        "  image  4 x 2  dense float64   75.0 % non-zero  present in 75.0 % of rows",
    ]


# -- immutable, and shared rather than copied


def test_nothing_can_be_assigned():
    X = make_views()
    with pytest.raises(TypeError, match="immutable"):
        X["words"] = DENSE
    with pytest.raises(AttributeError, match="immutable"):
        X.names = ("a",)


@pytest.mark.parametrize(
    "act", [lambda X: pickle.loads(pickle.dumps(X)), lambda X: X[[0, 1]], lambda X: X.select("words", "image")]
)
@pytest.mark.parametrize(
    "part",
    [
        lambda X: X["words"].data,
        lambda X: X["words"].indices,
        lambda X: X["words"].indptr,
        lambda X: X["image"],
        lambda X: X.present,
        lambda X: X.ids,
        lambda X: X.feature_names["words"],
    ],
    ids=["data", "indices", "indptr", "dense", "present", "ids", "feature_names"],
)
def test_no_array_can_be_written_to(part, act):
    array = part(act(make_views()))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[0]


def test_construction_and_slices_share_memory():
    dense, words = DENSE.copy(), sparse.csr_array(DENSE)
    X = Views(dense=dense, words=words)
    assert np.shares_memory(X["dense"], dense)
    assert np.shares_memory(X["words"].data, words.data)
    assert np.shares_memory(X["words"].indices, words.indices)
    part = X[1:3]
    assert np.shares_memory(part["dense"], dense)
    assert np.shares_memory(part["words"].data, words.data)
    assert np.shares_memory(X.select("words").rename(words="w")["w"].data, words.data)


def test_views_do_not_become_one_matrix_by_accident():
    with pytest.raises(TypeError, match=r"are not one matrix. Use X.hstack\(\)"):
        np.asarray(make_views())


# -- refusals


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"words": np.ones((3, 1)), "links": np.ones((2, 1))},
            "Views must have the same rows: 'words' has 3, 'links' has 2.",
        ),
        ({"a": [[1.0, np.nan]]}, "View 'a' cannot be used: Input contains NaN. Fill or drop such values; mark rows"),
        ({"a": [[np.inf, -np.inf]]}, "View 'a' cannot be used: Input contains infinity"),
        ({"a": sparse.csr_array([[0.0, 1.0], [0.0, np.nan]])}, "View 'a' cannot be used: Input contains NaN."),
        ({"a": np.empty((0, 2))}, "Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 1 is required."),
        ({"a": np.empty((2, 0))}, "Found array with 0 feature(s) (shape=(2, 0)) while a minimum of 1 is required."),
        ({"a": np.array([[1, "x"]], dtype=object)}, "View 'a' cannot be used: could not convert string to float: 'x'"),
        ({"a": [["x", "y"]]}, "is not compatible with arrays of bytes/strings"),
        ({"a": [[1, 2], [3]]}, "View 'a' cannot be used: setting an array element with a sequence"),
        ({"a": np.ones(3)}, "View 'a' cannot be used: Expected 2D array, got 1D array instead"),
        ({"a": np.ones((2, 2), dtype=complex)}, "Complex data not supported"),
        ({"a": pd.DataFrame({"t": ["x", "y"]})}, "View 'a' has column 't' of type String, which is not numeric."),
        ({"a": pd.DataFrame(np.eye(2), columns=["t", "t"])}, "has the column 't' more than once."),
        ({"a": pd.DataFrame({"t": pd.array([1, None], dtype="Int64")})}, "View 'a' cannot be used"),
        (
            {"a": pd.DataFrame({"t": [1, 2]}, index=[0, 5]), "b": pd.DataFrame({"t": [1, 2]}, index=[5, 0])},
            "Views 'a' and 'b' have different row indexes.",
        ),
        ({}, "Views needs at least one view, got none."),
    ],
)
def test_bad_matrices_are_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(ViewsError, match=re.escape(sentence)):
        Views(arguments)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Views({"a": DENSE}, a=DENSE), "View names must be unique, got 'a' more than once."),
        (lambda: Views({"": DENSE}), "A view's name must be a non-empty string, got ''."),
        (lambda: Views({1: DENSE}), "A view's name must be a non-empty string, got 1."),
        (lambda: Views([]), "Views needs at least one view, got none."),
        (lambda: Views(a=DENSE, ids=["p"]), "ids must have one entry per row: 4 rows, ids of shape (1,)."),
        (lambda: Views(a=DENSE, present={"b": np.ones(4, bool)}), "present names view 'b', but the views are 'a'."),
        (lambda: Views(a=DENSE, present=np.ones((4, 1))), "present must be boolean of shape (4, 1), got float64"),
        (lambda: Views(a=DENSE, present=np.zeros((4, 1), bool)), "View 'a' has 5 non-zero values in rows that present"),
        (
            lambda: Views(a=DENSE, feature_names={"a": ["x"]}),
            "View 'a' has 3 features, but 1 feature names were given.",
        ),
        (lambda: Views(a=DENSE, feature_names={"b": ["x"]}), "feature_names names view 'b', but the views are 'a'."),
    ],
)
def test_bad_descriptions_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(ViewsError, match=re.escape(sentence)):
        make()


def test_rows_of_several_views_stand_below_each_other():
    words, links = sparse.csr_array(np.eye(4)), np.arange(8.0).reshape(4, 2)
    X = Views(words=words, links=links, ids=list("abcd"))
    assert Views.concat([X[:1], X[1:3], X[3:]]) == X
    part = Views.concat([X[:2], X[2:].select("links")])
    assert part.present.tolist() == [[True, True], [True, True], [False, True], [False, True]]
    assert sparse.issparse(part["words"]) and part["words"].toarray()[2:].sum() == 0
    assert np.array_equal(part["links"], links) and part.ids.tolist() == list("abcd")


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([], "at least one Views"),
        ([Views(x=np.eye(2)), np.eye(2)], "part 1 is ndarray"),
        ([Views(x=np.eye(2)), Views(x=np.ones((2, 3)))], "View 'x' has 3 features instead of 2 in part 1"),
        ([Views(x=np.eye(2), ids=["a", "b"]), Views(x=np.eye(2))], "part 1 has none"),
        (
            [Views(x=np.eye(2), feature_names={"x": ["f", "g"]}), Views(x=np.eye(2), feature_names={"x": ["g", "f"]})],
            "View 'x' has other features in part 1",
        ),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(parts, sentence):
    with pytest.raises(ViewsError, match=sentence):
        Views.concat(parts)


# -- What all views have in common: ids

TEXT_IDS = {"list": ["gimp", "gparted"], "array": np.array(["gimp", "gparted"]), "index": pd.Index(["gimp", "gparted"])}


@pytest.mark.parametrize("ids", TEXT_IDS.values(), ids=TEXT_IDS)
def test_ids_that_are_texts_are_plain_str(ids, tmp_path):
    """Not numpy.str_, which shows as such and is no str for who looks at the type; files hold what they held."""
    X = Views(x=np.eye(2), ids=ids)
    write_views(X, tmp_path / "v", rows_per_shard=1)
    forms = [X, X[[1, 0]], X.select("x"), Views.concat([X, X]), pickle.loads(pickle.dumps(X))]
    forms += [Views.align({"x": (ids, np.eye(2))}), LazyViews.from_views(X, 1), read_views(tmp_path / "v")]
    for form in forms:
        assert {type(key) for key in form.ids} == {str}, form
    assert repr(X.ids[0]) == "'gimp'"
    assert np.load(tmp_path / "v" / "00000-ids.npy", allow_pickle=False).dtype.kind == "U"
    assert read_views(tmp_path / "v").collect() == X
    assert not X.ids.flags.writeable
