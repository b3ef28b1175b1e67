"""Multilingual Reuters: small files with every trap of both formats, then the published sizes."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import load_reuters_multilingual
from corpora.reuters_multilingual import _TRIPLETS, LANGUAGES
from scipy.io import savemat

from coview.exceptions import DataFileError


def cells(tmp_path, languages=5, documents=3):
    (tmp_path / "reuters_multilingual").mkdir(exist_ok=True)
    cell = np.empty((languages, 1), dtype=object)
    for v in range(languages):
        cell[v, 0] = np.arange(2.0 * documents).reshape(documents, 2) * (v + 1)
    savemat(tmp_path / "reuters_multilingual/Reuters-1200.mat", {"X": cell, "y": np.array([[3], [1], [3]])})
    return tmp_path


def triplets(tmp_path, **changed):
    (tmp_path / "reuters_multilingual").mkdir(exist_ok=True)
    parts = {name: np.array([[1, 1, -4.5], [1, 7, 2.0], [2, 3, 1.5]]) for name, _ in _TRIPLETS.values()}
    path = tmp_path / "reuters_multilingual/reuters_600_triplets.mat"
    savemat(path, {**parts, "truth": np.array([[4], [2]]), **changed})
    return tmp_path


def test_dense_cells_become_sparse_views_by_language(tmp_path):
    found = load_reuters_multilingual(data_home=cells(tmp_path))
    assert found.views.names == LANGUAGES
    assert found.views["german"].toarray().tolist() == [[0, 3], [6, 9], [12, 15]]
    assert found.target.tolist() == [1, 0, 1] and found.target_names.tolist() == ["1", "3"]


def test_triplets_count_from_one_and_have_the_whole_vocabulary(tmp_path):
    found = load_reuters_multilingual(600, triplets(tmp_path))
    matrix = found.views["spanish"]
    assert matrix.shape == (2, 11_547)
    assert matrix[0, 6] == 2.0 and matrix[1, 2] == 1.5
    assert found.target.tolist() == [1, 0]


def test_negative_weights_become_zero_or_are_kept(tmp_path):
    home = triplets(tmp_path)
    zeroed, kept = (load_reuters_multilingual(600, home, negative=choice) for choice in ("zero", "keep"))
    assert zeroed.views["english"].nnz == 2 and zeroed.views["english"].data.min() > 0
    assert kept.views["english"][0, 0] == -4.5
    assert zeroed.n_negative == kept.n_negative == dict.fromkeys(LANGUAGES, 1)
    assert "5 negative weights were made zero" in zeroed.DESCR and "are kept" in kept.DESCR


def test_a_file_with_four_languages_is_refused(tmp_path):
    with pytest.raises(DataFileError, match="4 languages, not 5"):
        load_reuters_multilingual(data_home=cells(tmp_path, languages=4))
