"""Handwritten numerals: small files with every trap of the format, then the published sizes."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from corpora import load_mfeat
from corpora.mfeat import VIEWS

from coview.exceptions import DataFileError


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "mfeat"
    place.mkdir()
    for number, name in enumerate(VIEWS.values()):
        text = "".join(f"  {number}.5  -{row}\n" for row in range(20))
        (place / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return place


def test_the_digit_follows_from_the_place(folder):
    found = load_mfeat(folder.parent)
    assert found.target.tolist() == np.repeat(range(10), 2).tolist()
    assert found.views.names == tuple(VIEWS)
    assert found.views["zernike"][3].tolist() == [4.5, -3.0]


def test_a_line_of_another_length_is_named(folder):
    (folder / "mfeat-mor").write_text("1 2\n1 2\n1\n")
    with pytest.raises(DataFileError, match=r"Line 3 of .* has 1 numbers, not 2"):
        load_mfeat(folder.parent)


def test_text_is_refused(folder):
    (folder / "mfeat-kar").write_text("1 x\n")
    with pytest.raises(DataFileError, match=r"Line 1 of .* contains values that are not numbers"):
        load_mfeat(folder.parent)
