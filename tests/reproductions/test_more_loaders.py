"""Pubmed, Wikipedia (LINQS) and leaves: small files with every trap of their formats, then the published sizes."""

from __future__ import annotations

import lzma

import numpy as np
import pytest
from corpora import load_leaves, load_pubmed, load_wikipedia_linqs
from scipy import sparse
from scipy.io import savemat

from coview.exceptions import DataFileError

PAPERS = (
    "NODE\tPaper\ncat=1,2,3:label\tnumeric:w-rat:0.0\tnumeric:w-insulin:0.0\n"
    "12\tlabel=1\tw-insulin=0.25\tw-rat=0.5\tsummary=w-insulin,w-rat\n7\tlabel=3\tsummary=\nx9\tlabel=2\tw-rat=1.0\n"
)
HEAD = "DIRECTED\tcites\nNO_FEATURES\n"


@pytest.fixture
def pubmed(tmp_path):
    def read(papers=PAPERS, cites=HEAD + "0\tpaper:7\t|\tpaper:12\n", kind="DIRECTED", **options):
        folder = tmp_path / "pubmed_diabetes"
        folder.mkdir(exist_ok=True)
        (folder / "Pubmed-Diabetes.NODE.paper.tab.xz").write_bytes(lzma.compress(papers.encode()))
        (folder / f"Pubmed-Diabetes.{kind}.cites.tab").write_text(cites)
        return load_pubmed(tmp_path, **options)

    return read


def test_pubmed_words_stand_in_the_columns_that_the_header_names(pubmed):
    found = pubmed()
    assert found.views["words"].toarray().tolist() == [[0.5, 0.25], [0, 0], [1, 0]]
    assert found.views.feature_names["words"].tolist() == ["w-rat", "w-insulin"]
    assert found.target.tolist() == [0, 2, 1] and found.views.ids.tolist() == ["12", "7", "x9"]


def test_pubmed_the_first_paper_of_a_link_cites_the_second(pubmed):
    assert pubmed(links="out").views["links"].toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert pubmed(links="in").views["links"].toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("papers", "cites", "sentence"),
    [
        ("NODE\tPaper\nnothing\n", HEAD, "names no words"),
        (PAPERS + "13\tlabel=1\tw-cat=1\n", HEAD, "Paper 4 .* cannot be read .*w-cat"),
        (PAPERS + "13\tlabel=7\n", HEAD, "Paper 4 .* no label from 1 to 3"),
        (PAPERS + "7\tlabel=1\n", HEAD, "twice"),
        (PAPERS, HEAD + "0\tpaper:7\n", "has 1 ends"),
        (PAPERS, HEAD, "do not match"),
    ],
)
def test_pubmed_files_that_are_something_else_are_refused(pubmed, papers, cites, sentence):
    with pytest.raises(DataFileError, match=sentence):
        pubmed(papers, cites)


def test_absent_files_say_where_to_get_them(tmp_path):
    for load in (load_pubmed, load_wikipedia_linqs, load_leaves):
        with pytest.raises(DataFileError, match="Get it from"):
            load(tmp_path)


# -- Wikipedia


@pytest.fixture
def wiki(tmp_path):
    def write(**parts):
        folder = tmp_path / "wikipedia_linqs_2405"
        folder.mkdir(exist_ok=True)
        whole = {"feature": np.ones((3, 2)), "group": np.eye(4)[[3, 1, 3]], "network": np.eye(3), **parts}
        savemat(folder / "wiki.mat", {k: sparse.csc_matrix(v) for k, v in whole.items() if v is not None})
        return load_wikipedia_linqs(tmp_path)

    return write


def test_wikipedia_classes_without_articles_are_left_out(wiki):
    found = wiki()
    assert found.target.tolist() == [1, 0, 1] and found.target_names.tolist() == ["2", "4"]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"network": None}, "does not hold feature, group and network"),
        ({"network": np.eye(2)}, "do not match"),
        ({"group": np.ones((3, 2))}, "without a class or with several"),
    ],
)
def test_wikipedia_files_that_are_something_else_are_refused(wiki, parts, sentence):
    with pytest.raises(DataFileError, match=sentence):
        wiki(**parts)


# -- leaves


@pytest.fixture
def leaves(tmp_path):
    def write(**texts):
        folder = tmp_path / "leaves100"
        folder.mkdir(exist_ok=True)
        files = {
            "Sha": "B,3\nB,4\nAcer Campestre,1\nAcer Campestre,2\n",
            "Mar": "Acer Campestre,1\nAcer Campestre,2\nB,3\nB,4\n",
        }
        files = {**files, "Tex": files["Mar"], **texts}
        for name, text in files.items():
            (folder / f"data_{name}_64.txt").write_text(text)
        return load_leaves(tmp_path)

    return write


def test_leaves_are_joined_by_species_and_place(leaves):
    views = leaves().views
    for name in ("shape", "texture", "margin"):
        assert views[name].ravel().tolist() == [1, 2, 3, 4]
