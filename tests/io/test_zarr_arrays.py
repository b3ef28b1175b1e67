"""Zarr arrays of others: numbers through a short list of codecs; nothing else is opened."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from coview import read_views
from coview.exceptions import DataFileError
from coview.io.zarr_arrays import open_array

zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed; Zarr arrays are not tested")

VALUES = np.arange(6.0).reshape(3, 2)


def folder_of(tmp_path):
    text = '{"format": "coview views", "version": 1, "views": ["x"], "shards": [{"files": ["a.zarr"]}]}'
    (tmp_path / "views.json").write_text(text)
    return tmp_path


def write_array(path, version=3, **options):
    zarr.create_array(str(path), data=VALUES, chunks=(2, 2), zarr_format=version, **options)
    return path / ("zarr.json" if version == 3 else ".zarray")


def change(file, **entries):
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_of_both_versions_are_read(tmp_path, version):
    write_array(tmp_path / "a.zarr", version)
    np.testing.assert_array_equal(read_views(folder_of(tmp_path))["x"], VALUES)


class Trap:
    def __init__(self, file):
        self.file = str(file)

    def __reduce__(self):
        return open, (self.file, "w")


def test_an_array_of_objects_with_a_pickle_codec_runs_nothing(tmp_path):
    array = tmp_path / "a.zarr"
    array.mkdir()
    about = {"zarr_format": 2, "shape": [2, 1], "chunks": [2, 1], "dtype": "|O", "fill_value": 0, "order": "C"}
    filters = [{"id": "pickle", "protocol": 5}]
    (array / ".zarray").write_text(json.dumps({**about, "compressor": None, "filters": filters}))
    (array / "0.0").write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    with pytest.raises(DataFileError, match="is of no array of numbers"):
        read_views(folder_of(tmp_path))
    assert not (tmp_path / "ran").exists()
    change(array / ".zarray", dtype="<f8")
    with pytest.raises(DataFileError, match="names the codec 'pickle'; coview reads arrays of 'blosc'"):
        read_views(folder_of(tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("version", "entries", "sentence"),
    [
        (2, {"dtype": "|O"}, "its type is '|O'"),
        (2, {"dtype": [["a", "<f8"]]}, "is of no array of numbers"),
        (2, {"compressor": {"id": "pickle"}}, "names the codec 'pickle'"),
        (2, {"filters": [{"id": "json2"}]}, "names the codec 'json2'"),
        (2, {"filters": ["pickle"]}, "names the codec 'pickle'"),
        (3, {"data_type": "string"}, "its type is 'string'"),
        (3, {"data_type": {"name": "numpy.datetime64"}}, "is of no array of numbers"),
        (3, {"codecs": [{"name": "numcodecs.pickle"}]}, "names the codec 'numcodecs.pickle'"),
        (3, {"codecs": [{"name": "sharding_indexed"}]}, "names the codec 'sharding_indexed'"),
        (3, {"codecs": {}}, "is of no array of numbers"),
        (3, {"chunk_grid": {"name": "rectilinear"}}, "is of no array of numbers"),
        (3, {"storage_transformers": [{"name": "x"}]}, "is of no array of numbers"),
    ],
)
def test_what_is_not_on_the_list_is_not_opened(tmp_path, monkeypatch, version, entries, sentence):
    file = write_array(tmp_path / "a.zarr", version)
    change(file, **entries)
    monkeypatch.setattr(zarr, "open_array", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(DataFileError) as caught:
        read_views(folder_of(tmp_path))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_that_states_much_is_refused(tmp_path, version):
    file = write_array(tmp_path / "a.zarr", version)
    change(file, shape=[600_000_000, 2])
    with pytest.raises(DataFileError, match=r"states 9.6 GB, but has"):
        open_array(tmp_path / "a.zarr")


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, '{"shape": ' + "1" * 5000 + "}"])
def test_metadata_that_are_no_json_are_told(tmp_path, text):
    write_array(tmp_path / "a.zarr").write_text(text)
    with pytest.raises(DataFileError, match=r"zarr\.json"):
        read_views(folder_of(tmp_path))


def test_a_wrong_crc_is_told(tmp_path):
    write_array(tmp_path / "a.zarr", compressors=[zarr.codecs.Crc32cCodec()])
    chunk = tmp_path / "a.zarr" / "c" / "0" / "0"
    chunk.write_bytes(b"\x01" + chunk.read_bytes()[1:])
    with pytest.raises(DataFileError, match="checksum"):
        read_views(folder_of(tmp_path))


def test_a_missing_chunk_is_told(tmp_path):
    write_array(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "c" / "1" / "0").unlink()
    with pytest.raises(DataFileError, match="lacks 1 of its 2 chunks"):
        read_views(folder_of(tmp_path))
