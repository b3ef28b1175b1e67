"""A corpus file is found plain or compressed, read line by line, and refused in a sentence when absent or damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

from coview.datasets.packed import check_option, locate, read_lines
from coview.exceptions import DataFileError

TEXT = b"one\t1\ntwo\t2\n"
NOWHERE = "http://127.0.0.1:1/corpora"  # nothing listens on port 1
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def find(home, name="corpus/a.txt", files=None):
    return locate(name, home, files or {}, NOWHERE, "https://example.org/a.tgz")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "corpus").mkdir()
    return tmp_path


@pytest.mark.parametrize("suffix", PACK)
def test_lines_are_the_same_however_the_file_is_packed(home, suffix):
    (home / f"corpus/a.txt{suffix}").write_bytes(PACK[suffix](TEXT))
    assert list(read_lines(find(home))) == [b"one\t1", b"two\t2"]


def test_the_plain_file_goes_before_the_compressed_one(home):
    (home / "corpus/a.txt").write_bytes(TEXT)
    (home / "corpus/a.txt.gz").write_bytes(gzip.compress(b"other"))
    assert find(home).name == "a.txt"


def test_a_compressed_file_spares_the_download(home):
    (home / "corpus/a.txt.gz").write_bytes(gzip.compress(TEXT))
    assert find(home, files={"corpus/a.txt": "0" * 64}).name == "a.txt.gz"


def test_an_absent_file_without_a_checksum_is_never_downloaded(home):
    with pytest.raises(DataFileError, match=r"Get it from https://example\.org/a\.tgz and put it at .*a\.txt"):
        find(home)


def test_an_absent_file_with_a_checksum_is_asked_for(home, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(DataFileError, match=r"could not be downloaded from http://127\.0\.0\.1:1/corpora/a\.txt"):
        find(home, files={"corpus/a.txt": "0" * 64})


def test_blank_lines_and_carriage_returns_are_no_content(home):
    (home / "corpus/a.txt").write_bytes(b"\n  one 1 \r\n\r\ntwo 2")
    assert list(read_lines(home / "corpus/a.txt")) == [b"one 1", b"two 2"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_damaged_file_is_refused(home, suffix, damage):
    packed = PACK[suffix](TEXT * 1000)
    path = home / f"corpus/a.txt{suffix}"
    path.write_bytes(packed[: len(packed) // 2] if damage == "cut" else TEXT)
    with pytest.raises(DataFileError, match="cannot be read to its end"):
        list(read_lines(path))


@pytest.mark.parametrize("value", ["inward", None, 3, ["in"]])
def test_an_unknown_option_is_answered_with_the_known_ones(value):
    with pytest.raises(ValueError, match=r"links must be one of 'in', 'out', got"):
        check_option("links", value, ("in", "out"))
