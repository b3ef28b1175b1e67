"""Archives of arrays: aligned, mapped instead of read, readable by everyone else, refused when damaged."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from scipy import sparse

from coview.exceptions import DataFileError
from coview.io.npz import csr_parts, map_npy, map_npz, npz_headers, write_npz

ARRAYS = {
    "a": np.arange(1001, dtype=np.float32),
    "b": np.arange(6, dtype=np.int64).reshape(2, 3),
    "flag": np.array([True, False, True]),
    "text": np.array(["x", "yy"]),
    "zero": np.empty((0, 3)),
    "scalar": np.array(b"csr"),
}


def test_numpy_reads_what_is_written(tmp_path):
    write_npz(tmp_path / "a.npz", ARRAYS)
    with np.load(tmp_path / "a.npz") as found:
        assert set(found.files) == set(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
    assert zipfile.ZipFile(tmp_path / "a.npz").testzip() is None


def test_arrays_are_mapped_and_aligned(tmp_path):
    write_npz(tmp_path / "a.npz", ARRAYS)
    found = map_npz(tmp_path / "a.npz")
    for name in ("a", "b", "flag", "text"):
        assert isinstance(found[name], np.memmap) and found[name].ctypes.data % 64 == 0
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(tmp_path, save):
    save(tmp_path / "a.npz", **ARRAYS)
    for name, array in map_npz(tmp_path / "a.npz").items():
        np.testing.assert_array_equal(array, ARRAYS[name])


@pytest.mark.parametrize("order", ["C", "F"])
def test_both_orders_of_an_array_are_mapped(tmp_path, order):
    array = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(map_npy(tmp_path / "a.npy"), array)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
def test_the_parts_of_scipys_csr_matrices_are_known(tmp_path, make):
    sparse.save_npz(tmp_path / "a.npz", make(np.eye(3)), compressed=False)
    assert csr_parts(map_npz(tmp_path / "a.npz")) == ((3, 3), make)


def test_other_arrays_are_no_csr_matrix(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csc_array(np.eye(3)), compressed=False)
    assert csr_parts(map_npz(tmp_path / "a.npz")) is None
    assert csr_parts({"x": np.eye(2)}) is None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_headers_tell_shapes_and_types(tmp_path, save):
    save(tmp_path / "a.npz", **ARRAYS)
    assert npz_headers(tmp_path / "a.npz") == {name: (array.shape, array.dtype) for name, array in ARRAYS.items()}


def test_objects_are_not_read(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataFileError, match="Python objects"):
        map_npy(tmp_path / "a.npy")


def test_an_array_cut_short_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(1000))
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-10])
    with pytest.raises(DataFileError, match="cut short"):
        map_npy(tmp_path / "a.npy")


def test_a_directory_that_points_elsewhere_is_refused(tmp_path):
    write_npz(tmp_path / "a.npz", {"a": np.arange(10)})
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[:4] = b"XXXX"
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataFileError, match="damaged"):
        map_npz(tmp_path / "a.npz")


def test_a_shape_that_would_need_more_than_the_file_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((4, 4)))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"(4, 4)", b"(4,99999999999999999999)", 1))
    with pytest.raises((DataFileError, ValueError)):
        map_npy(tmp_path / "a.npy")
