"""The Wikipedia corpus: parsing on small files, then the published sizes."""

import io
import tarfile

import numpy as np
import pytest
from corpora import load_reuters_multilingual
from corpora.reuters_multilingual import _TRIPLETS, LANGUAGES
from corpora.wikipedia import counts_of, load_wikipedia_retrieval, parse_document
from scipy.io import savemat

from coview.exceptions import DataFileError

TEXTS = {
    "aa-1": "The red fox &ndash; a fox!",
    "aa-2.1": "Red & blue foxes; 20 of the 3rd",
    "bb-1": "Blue sea, blue wave",
    "aa-3": "A red wave, unseen before",
}


@pytest.fixture
def home(tmp_path):
    """The files of a small corpus; the last text is for testing."""
    folder = tmp_path / "wikipedia_crossmodal"
    folder.mkdir()
    *train, last = TEXTS
    for split, names in (("train", train), ("test", [last])):
        lines = [f"{name}\timg{i}\t{1 + (name[0] == 'b')}" for i, name in enumerate(names)]
        (folder / f"{split}set_txt_img_cat.list").write_text("\n".join(lines) + "\n")
    (folder / "categories.list").write_text("art\nsea\n")
    (folder / "stopwords.txt").write_text(" \nthe\na\nof\nbefore\n")
    features = {}
    for part, n in {"tr": len(train), "te": 1}.items():
        features[f"T_{part}"] = np.full((n, 10), 0.1)
        features[f"I_{part}"] = np.array([[2, 0, 6, i + 1] for i in range(n)]) / np.array([[9 + i] for i in range(n)])
    savemat(folder / "raw_features.mat", features)
    with tarfile.open(folder / "texts.tar.xz", "w:xz") as archive:
        for name, text in TEXTS.items():
            document = f'<document id="{name}" name="A & B" cat="3">\n<text>\n{text}\n</text>\n<imageset>fox</imageset>'
            entry = tarfile.TarInfo(f"texts/{name}.xml")
            entry.size = len(document.encode())
            archive.addfile(entry, io.BytesIO(document.encode()))
    return tmp_path


def test_words_are_counted_over_the_vocabulary_of_the_training_texts(home):
    corpus = load_wikipedia_retrieval(home, min_df=1, max_df=1.0)
    names = corpus.views.feature_names["words"].tolist()
    assert names == ["blue", "fox", "foxes", "rd", "red", "sea", "wave"]  # "unseen" is in a test text only
    rows = [{names[j]: int(row[j]) for j in np.flatnonzero(row)} for row in corpus.views["words"].toarray()]
    assert rows == [
        {"fox": 2, "red": 1},
        {"blue": 1, "foxes": 1, "rd": 1, "red": 1},
        {"blue": 2, "sea": 1, "wave": 1},
        {"red": 1, "wave": 1},
    ]


def test_training_rows_come_first_and_know_their_article_and_image(home):
    corpus = load_wikipedia_retrieval(home, min_df=1)
    assert corpus.split.tolist() == ["train", "train", "train", "test"]
    assert corpus.views.ids.tolist() == list(TEXTS)
    assert corpus.groups.tolist() == ["aa", "aa", "bb", "aa"]
    assert corpus.image_ids.tolist() == ["img0", "img1", "img2", "img0"]
    assert corpus.target_names[corpus.target].tolist() == ["art", "art", "sea", "art"]
    assert "1 of the 1 test sections" in corpus.DESCR


def test_counts_are_found_again_from_shares_in_single_precision():
    counts = np.random.default_rng(0).poisson(6, size=(50, 128)).astype(float)
    counts[:, 0] = 1  # so that no smaller numbers have the same shares
    shares = (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(counts_of(shares), counts)


def test_documents_that_are_no_xml_are_read():
    assert parse_document('<document id="x-1"><text>R&D &mdash; 5 < 6</text>', "x") == ("x-1", "R&D — 5 < 6")
    with pytest.raises(DataFileError, match="holds no <document"):
        parse_document("<page>nothing</page>", "x.xml")


# -- Multilingual Reuters: small files with every trap of both formats, then the published sizes


def cells(tmp_path):
    (tmp_path / "reuters_multilingual").mkdir(exist_ok=True)
    cell = np.empty((5, 1), dtype=object)
    for v in range(5):
        cell[v, 0] = np.arange(6.0).reshape(3, 2) * (v + 1)
    savemat(tmp_path / "reuters_multilingual/Reuters-1200.mat", {"X": cell, "y": np.array([[3], [1], [3]])})
    return tmp_path


def triplets(tmp_path):
    (tmp_path / "reuters_multilingual").mkdir(exist_ok=True)
    parts = {name: np.array([[1, 1, -4.5], [1, 7, 2.0], [2, 3, 1.5]]) for name, _ in _TRIPLETS.values()}
    path = tmp_path / "reuters_multilingual/reuters_600_triplets.mat"
    savemat(path, {**parts, "truth": np.array([[4], [2]])})
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
