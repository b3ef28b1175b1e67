"""Archives: what goes in comes out, equal in value and type; anything else is refused and nothing is executed."""

import hashlib
import io
import json
import os
import pickle
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save as save_bytes
from safetensors.numpy import save_file
from scipy import sparse

from coview import Views, write_views
from coview.exceptions import DataFileError, ModelFileError, ViewsError
from coview.utils.archive import read_archive, write_archive
from coview.utils.atomic import atomic_folder, atomic_path

NUMERIC = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def write(path, tree, **options):
    write_archive(path, tree, **{"kind": "model", "version": 1, **options})


def read(path, **options):
    return read_archive(path, **{"kind": "model", "newest": 1, **options})[0]


def round_trip(path, tree):
    write(path, tree)
    return read(path)


def same(a, b):
    """Equal in type and value, all the way down; NaN equals NaN, and -0.0 is not 0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(p, q) for p, q in zip(a.items(), b.items()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if sparse.issparse(a):
        return a.shape == b.shape and all(same(getattr(a, p), getattr(b, p)) for p in ("data", "indices", "indptr"))
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return same(a.ravel().tolist(), b.ravel().tolist()) if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and same(a.item(), b.item())
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else a == b


TREE = {
    "view": "wörter",
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "counts": sparse.csr_array(np.eye(3)),
    "names": np.array(["a", "bc"]),
    "history": [1.5, float("-inf"), {"n": (1, None)}],
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.coview"


# -- round trips


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 2**63, -(2**200), -0.0, float("nan"), float("-inf"), "", "ß \x00 \U0001f600", "\ud83d\ude00"),
        *(np.str_("a"), np.float32("nan"), np.uint64(2**64 - 1), [], (), {}, [[], ({},)]),
        {1: "int", "1": "str", np.int64(2): None, False: 0.5},
    ],
    ids=lambda value: type(value).__name__ + repr(value if not isinstance(value, int) else value.bit_length()),
)
def test_plain_values_keep_value_and_type(path, value):
    assert same(round_trip(path, value), value)


@pytest.mark.parametrize(
    "array",
    [
        *(np.array(["a", "", "ccc", "\U0001f600"]), np.array([["a", "b"]]).T, np.array("x")),
        *(np.empty((0, 2), dtype="<U3"), np.array([["a", 1.5], [float("nan"), None]], dtype=object), np.array(None)),
        *(np.empty((2, 0), dtype=object), np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))),
        np.arange(60).reshape(3, 4, 5).transpose(1, 0, 2)[::2, :, ::-1],
        sparse.csr_array(([1.0, 0.0, 2.0], np.array([3, 1, 1], dtype=np.int64), [0, 2, 3]), shape=(2, 4)),
        *(sparse.csc_matrix(np.eye(3, dtype=bool)), sparse.csc_array((0, 3))),
    ],
    ids=range(12),
)
def test_arrays_keep_everything(path, array):
    again = round_trip(path, array)
    assert same(again, array)
    assert sparse.issparse(array) or again.flags.f_contiguous == array.flags.f_contiguous
    swapped = np.arange(6).astype(">i4")
    assert same(round_trip(path, swapped), swapped.astype("<i4"))


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(NUMERIC).flatmap(lambda dtype: hnp.from_dtype(np.dtype(dtype)))
)
arrays = hnp.arrays(st.sampled_from([*NUMERIC, "<U3"]), hnp.array_shapes(min_dims=0, min_side=0, max_side=3))
matrices = hnp.arrays("f8", hnp.array_shapes(min_dims=2, max_dims=2, max_side=4), elements=st.integers(-1, 1)).map(
    lambda array: sparse.csr_matrix(array)
)
plain_keys = st.text(max_size=3) | st.integers()
keys = plain_keys | st.tuples(plain_keys, plain_keys) | st.tuples(st.tuples(plain_keys))
trees = st.recursive(
    scalars | arrays | matrices,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | inner.map(lambda value: value.T if isinstance(value, np.ndarray) else value)
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=40)
@given(tree=trees)
def test_any_tree_round_trips(tmp_path_factory, tree):
    path = tmp_path_factory.getbasetemp() / "any.coview"
    assert same(round_trip(path, tree), tree)


def test_the_same_tree_gives_the_same_bytes(tmp_path):
    write(tmp_path / "a", TREE)
    write(tmp_path / "b", TREE)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_extend_and_revive_carry_other_types(path):
    tree = {"at": [Path("a/b"), 1]}
    write(path, tree, extend=lambda value, where: ("path", str(value)))
    seen = []
    again = read(path, revive=lambda tag, value, header: seen.append((tag, header["kind"])) or Path(value))
    assert again == tree
    assert seen == [("path", "model")]


# -- what cannot be written


class Number(int):
    pass


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, object()]}, r"model\['a'\]\[1\] \(builtins.object\)"),
        ((print,), r"model\[0\]"),
        ([np.array([object()])], r"model\[0\]\[0\] \(builtins.object"),
        ({"t": np.array(["2020-01-01"], "M8[D]")}, r"model\['t'\] \(array of dtype datetime64"),
        (b"bytes", r"model \(builtins.bytes"),
        (Number(3), "Number"),
        (np.ma.masked_array([1.0]), "MaskedArray"),
        ({(1, b"2"): 0}, r"model\[1\] \(builtins.bytes"),
        (np.zeros(2, dtype=[("a", "f8")]), "array of dtype"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_refused_with_their_place(path, value, where):
    with pytest.raises(TypeError, match=where):
        write(path, value)
    assert not list(path.parent.iterdir())


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    write(path, {"old": 1})
    before = path.read_bytes()

    def fail(tensors, name, metadata):
        Path(name).write_bytes(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr("safetensors.numpy.save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        write(path, {"new": np.ones(3)})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# -- what is not read


def test_every_shorter_file_is_refused(path):
    write(path, TREE)
    raw = path.read_bytes()
    for length in [*range(0, len(raw), 31), len(raw) - 1]:
        path.write_bytes(raw[:length])
        with pytest.raises(ModelFileError, match=r"file\.coview"):
            read(path)


def test_every_flipped_byte_is_found(path):
    write(path, {"view": "wörter", "weights": np.arange(3.0), "history": [1.5, (1, None)]})
    tree, raw = read(path), path.read_bytes()
    header = 8 + int.from_bytes(raw[:8], "little")
    padding = range(header - 8, header)  # blanks at its end may change without a trace, as long as the values do not
    for position in range(len(raw)):
        altered = bytearray(raw)
        altered[position] ^= 0x01 if position % 2 else 0xFF
        path.write_bytes(altered)
        if position in padding and raw[position] == ord(" "):
            with suppress(ModelFileError):
                assert same(read(path), tree), position
        else:
            with pytest.raises(ModelFileError, match=r"file\.coview"):
                read(path)


def altered(path, old, new):
    """Write other words in the description of a file, and a checksum that fits them."""
    with safe_open(path, framework="numpy") as stream:
        tensors = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118
        header = json.loads(stream.metadata()["coview"])
    text = tensors["json"].tobytes()
    assert old in text
    text = text.replace(old, new)
    del header["sha256"]
    plain = json.dumps(header, separators=(",", ":")).encode()
    header["sha256"] = hashlib.sha256(plain + text).hexdigest()
    metadata = {"coview": json.dumps(header, separators=(",", ":"))}
    save_file({**tensors, "json": np.frombuffer(text, dtype=np.uint8)}, path, metadata=metadata)


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (np.array(["ab"] * 2**18), b'"width":2', b'"width":%d' % (2**29 - 1)),
        (np.array(["ab", "c"]), b'"width":2', b'"width":%d' % 2**50),
        (np.array(["ab", "c"]), b'"shape":[2]', b'"shape":[%d]' % 2**50),
        (np.array(["ab", 1], dtype=object), b'"shape":[2]', b'"shape":[%d]' % 2**80),
        (sparse.csr_array(np.eye(3)), b'"shape":[3,3]', b'"shape":[%d,3]' % 2**58),
        (np.array(["ab", "c"]), b'"width":2', b'"width":1e999'),
    ],
    ids=range(6),
)
def test_stated_sizes_that_no_memory_holds_are_refused(path, value, old, new):
    write(path, value)
    altered(path, old, new)
    with pytest.raises(ModelFileError, match="truncated or altered"):
        read(path)


def test_texts_that_state_much_are_refused_before_they_cost_memory(path):
    write(path, [np.array(["ab", "c"]) for _ in range(1000)])
    before = path.read_bytes()
    altered(path, b'"width":2', b'"width":%d' % 2**19)
    with pytest.raises(ModelFileError, match=r"its texts would take [\d.]+ MB of memory"):
        read(path)
    path.write_bytes(before)
    write(path, np.array(["ab"] * 2000))
    altered(path, b'"width":2', b'"width":%d' % 2**19)
    with pytest.raises(ModelFileError, match=r"its texts would take 4.19 GB of memory"):
        read(path)


@pytest.mark.parametrize("cls", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_matrices_that_state_much_are_refused_before_they_cost_memory(path, cls):
    write(path, cls(np.eye(3)))
    shape = b"[600000000,3]" if cls is sparse.csr_array else b"[3,600000000]"
    altered(path, b'"shape":[3,3]', b'"shape":' + shape)
    with pytest.raises(ModelFileError, match="has 4 bounds of its parts"):
        read(path)


def test_an_absent_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file"):
        read(tmp_path / "nothing.coview")
    with pytest.raises(ModelFileError, match="is a folder, not a file"):
        read(tmp_path)


def foreign_files():
    """Bytes of files of other programs."""
    yield from (b"", b"\x01", b"id,words\n1,hello\n" * 20)
    for write_foreign in (lambda stream: np.savez(stream, x=np.eye(3)), lambda stream: pickle.dump(TREE, stream)):
        stream = io.BytesIO()
        write_foreign(stream)
        yield stream.getvalue()
    yield from (save_bytes({"x": np.eye(2)}, metadata=metadata) for metadata in (None, {"format": "pt"}))


def test_foreign_files_are_refused(path):
    for content in foreign_files():
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"file\.coview is not a model file of coview"):
            read(path)


class Bomb:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (self.target,)


def test_a_pickle_is_refused_and_does_not_run(path, tmp_path):
    target = str(tmp_path / "ran")
    path.write_bytes(pickle.dumps(Bomb(target)))
    with pytest.raises(ModelFileError, match="is not a model file of coview"):
        read(path)
    assert not os.path.exists(target)
    pickle.loads(path.read_bytes())  # the bomb was live
    assert os.path.exists(target)


# -- Files and folders appear whole or not at all


def fail_halfway(make, target):
    with make(target) as beside:
        (beside / "part" if beside.is_dir() else beside).write_text("half")
        raise RuntimeError("stop")


def test_a_folder_replaces_the_old_one_whole(tmp_path):
    target = tmp_path / "folder"
    for text in ("old", "new"):
        with atomic_folder(target) as beside:
            (beside / text).write_text(text)
    assert os.listdir(target) == ["new"]
    assert os.listdir(tmp_path) == ["folder"]


def test_the_old_folder_comes_back_if_the_new_one_cannot_be_moved(tmp_path, monkeypatch):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    real, calls = os.replace, []

    def replace(a, b):
        calls.append(b)
        if len(calls) == 2:
            raise OSError("no room")
        real(a, b)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="no room"), atomic_folder(target) as beside:
        (beside / "new").write_text("new")
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("make", [atomic_path, atomic_folder])
def test_what_fails_leaves_the_old_one_and_no_rest(tmp_path, make):
    target = tmp_path / "target"
    with make(target) as beside:
        (beside / "old" if beside.is_dir() else beside).write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway(make, target)
    assert os.listdir(target) == ["old"] if target.is_dir() else target.read_text() == "old"
    assert os.listdir(tmp_path) == ["target"]


# -- what is replaced


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="there are no modes here")
@pytest.mark.parametrize("before", [0o600, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode_and_is_never_more_public(tmp_path, before):
    target = tmp_path / "file.txt"
    target.write_text("old")
    target.chmod(before)
    with atomic_path(target) as beside:
        assert mode(beside) & ~(before | 0o600) == 0
        beside.unlink()  # some libraries put a file of their own there
        beside.write_text("new")
    assert (mode(target), target.read_text()) == (before, "new")


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_to_a_file_stays_a_link(tmp_path, there):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "file", tmp_path / "link"
    if there:
        real.write_text("old")
    link.symlink_to(real)
    with atomic_path(link) as beside:
        beside.write_text("new")
    assert link.is_symlink() and real.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"] and os.listdir(tmp_path / "real") == ["file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for name in ("pipe", "folder", os.devnull):
        with pytest.raises(DataFileError, match=f"{name} is not a regular file"), atomic_path(tmp_path / name):
            pytest.fail("it was to be replaced")
    with pytest.raises(DataFileError, match="is not a folder"), atomic_folder(tmp_path / "file"):
        pytest.fail("it was to be replaced")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and stat.S_ISCHR(os.stat(os.devnull).st_mode)


# -- What a file states is refused where it is out of proportion to its size


def test_one_long_text_among_many_is_refused_before_it_costs_memory(tmp_path):
    texts = [f"r{i}" for i in range(10_000)]
    texts[7] = "x" * 150_000
    for make in (
        lambda: write_views(Views(x=np.ones((10_000, 1)), ids=texts), tmp_path / "v"),
        lambda: Views(x=np.ones((1, 10_000)), feature_names={"x": texts}),
        lambda: Views(x=pd.DataFrame(np.ones((1, 10_000)), columns=texts)),
    ):
        with pytest.raises(
            ViewsError, match=r"would take 6 GB of memory, because one of the 10000 has 150000 characters"
        ):
            make()
