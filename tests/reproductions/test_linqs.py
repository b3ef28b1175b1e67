"""The two files of LINQS: every trap of the format on small files, then the published sizes of Cora and CiteSeer."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from corpora import load_citeseer, load_cora
from corpora.linqs import link_views, read_linqs
from scipy import sparse

from coview.exceptions import DataFileError

CONTENT = "35\t0\t1\t1\tTheory\n100\t1\t0\t0\tRule_Learning\nkim99\t0\t0\t1\tTheory\n"
CITES = "35\t100\n35\tkim99\n100\tkim99\n"  # 100 -> 35, kim99 -> 35, kim99 -> 100
OUT = [[0, 0, 0], [1, 0, 0], [1, 1, 0]]


@pytest.fixture
def corpus(tmp_path):
    """Write the two files and read them."""

    def read(content=CONTENT, cites=CITES):
        (tmp_path / "a.content").write_bytes(content.encode("latin-1"))
        (tmp_path / "a.cites").write_bytes(cites.encode("latin-1"))
        return read_linqs(tmp_path / "a.content", tmp_path / "a.cites")

    return read


@pytest.fixture
def home(tmp_path):
    for name in ("cora", "citeseer"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.content.gz").write_bytes(gzip.compress(CONTENT.encode()))
        (tmp_path / name / f"{name}.cites").write_text(CITES)
    return tmp_path


# -- the content file


def test_words_and_classes_are_read_row_by_row(corpus):
    found = corpus()
    assert found.words.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 1]]
    assert found.words.has_canonical_format and found.links.toarray().tolist() == OUT
    assert found.labels.tolist() == ["Theory", "Rule_Learning", "Theory"]


def test_ids_are_texts_also_where_they_look_like_numbers(corpus):
    found = corpus("007\t1\tA\n7\t1\tA\n", "007 7\n")
    assert found.ids.tolist() == ["007", "7"]
    assert found.links.toarray().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a\t0\t1\tA\nb\t1\tA\n", "Document 2 of .* has 1 values, not 2"),
        ("a\t0\t2\tA\n", "Document 1 of .* has values other than 0 and 1"),
        ("a\tA\n", "Document 1 of .* has no values"),
        ("a\t1\tA\na\t0\tA\n", "has document 'a' twice"),
        ("", "has no documents"),
    ],
)
def test_a_content_file_that_is_something_else_is_refused(corpus, content, sentence):
    with pytest.raises(DataFileError, match=sentence):
        corpus(content)


# -- the cites file


def test_links_to_unknown_documents_are_left_out_and_counted(corpus):
    found = corpus(cites=CITES + "35\tghost\nghost\t35\nghost\tghost\n")
    assert found.links.toarray().tolist() == OUT
    assert found.n_unknown_links == 3


@pytest.mark.parametrize("line", ["35", "35\t100\t1"])
def test_a_link_has_two_ends(corpus, line):
    with pytest.raises(DataFileError, match=f"Link 4 of .* has {len(line.split())} parts"):
        corpus(cites=CITES + line)


# -- views of the links


@pytest.fixture
def random_links():
    return sparse.csr_array((np.random.default_rng(0).random((9, 9)) < 0.3).astype(float))


def test_direction_decides_what_a_row_is(random_links):
    dense = random_links.toarray()
    assert np.array_equal(link_views(random_links, "out")["links"].toarray(), dense)
    assert np.array_equal(link_views(random_links, "in")["links"].toarray(), dense.T)
    assert np.array_equal(link_views(random_links, "symmetric")["links"].toarray(), np.maximum(dense, dense.T))


# -- the loaders


@pytest.mark.parametrize("load", [load_cora, load_citeseer])
def test_loaders_return_aligned_views_with_names(home, load):
    corpus = load(home)
    assert corpus.views.names == ("words", "links")
    assert corpus.views.ids.tolist() == corpus.views.feature_names["links"].tolist() == ["35", "100", "kim99"]
    assert "words" not in corpus.views.feature_names
    assert corpus.target.tolist() == [1, 0, 1] and corpus.target.dtype == np.int64
    assert corpus.target_names.tolist() == ["Rule_Learning", "Theory"]
