"""The two files of LINQS: every trap of the format on small files, then the published sizes of Cora and CiteSeer."""

import gzip
import io
import lzma
import tarfile
from functools import partial

import numpy as np
import pytest
from corpora import (
    load_citeseer,
    load_cora,
    load_leaves,
    load_pubmed,
    load_webkb,
    load_webkb_course,
    load_wikipedia_linqs,
    webkb,
)
from corpora.linqs import link_views, read_linqs
from scipy import sparse
from scipy.io import savemat

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


def test_words_and_classes_are_read_row_by_row(corpus):
    found = corpus()
    assert found.words.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 1]]
    assert found.words.has_canonical_format and found.links.toarray().tolist() == OUT
    assert found.labels.tolist() == ["Theory", "Rule_Learning", "Theory"]


def test_links_to_unknown_documents_are_left_out_and_counted(corpus):
    found = corpus(cites=CITES + "35\tghost\nghost\t35\nghost\tghost\n")
    assert found.links.toarray().tolist() == OUT
    assert found.n_unknown_links == 3


@pytest.fixture
def random_links():
    return sparse.csr_array((np.random.default_rng(0).random((9, 9)) < 0.3).astype(float))


def test_direction_decides_what_a_row_is(random_links):
    dense = random_links.toarray()
    assert np.array_equal(link_views(random_links, "out")["links"].toarray(), dense)
    assert np.array_equal(link_views(random_links, "in")["links"].toarray(), dense.T)
    assert np.array_equal(link_views(random_links, "symmetric")["links"].toarray(), np.maximum(dense, dense.T))


@pytest.mark.parametrize("load", [load_cora, load_citeseer])
def test_loaders_return_aligned_views_with_names(home, load):
    corpus = load(home)
    assert corpus.views.names == ("words", "links")
    assert corpus.views.ids.tolist() == corpus.views.feature_names["links"].tolist() == ["35", "100", "kim99"]
    assert "words" not in corpus.views.feature_names
    assert corpus.target.tolist() == [1, 0, 1] and corpus.target.dtype == np.int64
    assert corpus.target_names.tolist() == ["Rule_Learning", "Theory"]


# -- Pubmed, Wikipedia (LINQS) and leaves: small files with every trap of their formats, then the published sizes

PAPERS = (
    "NODE\tPaper\ncat=1,2,3:label\tnumeric:w-rat:0.0\tnumeric:w-insulin:0.0\n"
    "12\tlabel=1\tw-insulin=0.25\tw-rat=0.5\tsummary=w-insulin,w-rat\n7\tlabel=3\tsummary=\nx9\tlabel=2\tw-rat=1.0\n"
)
HEAD = "DIRECTED\tcites\nNO_FEATURES\n"


@pytest.fixture
def pubmed(tmp_path):
    folder = tmp_path / "pubmed_diabetes"
    folder.mkdir()
    (folder / "Pubmed-Diabetes.NODE.paper.tab.xz").write_bytes(lzma.compress(PAPERS.encode()))
    (folder / "Pubmed-Diabetes.DIRECTED.cites.tab").write_text(HEAD + "0\tpaper:7\t|\tpaper:12\n")
    return partial(load_pubmed, tmp_path)


def test_pubmed_words_stand_in_the_columns_that_the_header_names(pubmed):
    found = pubmed()
    assert found.views["words"].toarray().tolist() == [[0.5, 0.25], [0, 0], [1, 0]]
    assert found.views.feature_names["words"].tolist() == ["w-rat", "w-insulin"]
    assert found.target.tolist() == [0, 2, 1] and found.views.ids.tolist() == ["12", "7", "x9"]


def test_pubmed_the_first_paper_of_a_link_cites_the_second(pubmed):
    assert pubmed(links="out").views["links"].toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert pubmed(links="in").views["links"].toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_wikipedia_classes_without_articles_are_left_out(tmp_path):
    (tmp_path / "wikipedia_linqs_2405").mkdir()
    parts = {"feature": np.ones((3, 2)), "group": np.eye(4)[[3, 1, 3]], "network": np.eye(3)}
    matrices = {name: sparse.csc_matrix(part) for name, part in parts.items()}
    savemat(tmp_path / "wikipedia_linqs_2405" / "wiki.mat", matrices)
    found = load_wikipedia_linqs(tmp_path)
    assert found.target.tolist() == [1, 0, 1] and found.target_names.tolist() == ["2", "4"]


def test_leaves_are_joined_by_species_and_place(tmp_path):
    (tmp_path / "leaves100").mkdir()
    acer, other = "Acer Campestre,1\nAcer Campestre,2\n", "B,3\nB,4\n"
    for name, text in {"Sha": other + acer, "Mar": acer + other, "Tex": acer + other}.items():
        (tmp_path / "leaves100" / f"data_{name}_64.txt").write_text(text)
    views = load_leaves(tmp_path).views
    for name in ("shape", "texture", "margin"):
        assert views[name].ravel().tolist() == [1, 2, 3, 4]


# -- WebKB: targets, universities and links on small files, then the published sizes

CLASSES = ["course", "student", "staff", "course"]


@pytest.fixture
def home_of_webkb(tmp_path):
    """Page i of each university is of class CLASSES[i], and links to the first one."""
    folder = tmp_path / "webkb_linqs"
    folder.mkdir()
    for name in webkb.UNIVERSITIES:
        pages = [f"http://{name}/{i}" for i in range(len(CLASSES))]
        rows = ["\t".join([page, *"101", label]) for page, label in zip(pages, CLASSES)]
        (folder / f"{name}.content.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
        (folder / f"{name}.cites").write_text("".join(f"{pages[0]} {page}\n" for page in pages))
    return tmp_path


def test_the_binary_task_sets_course_pages_against_the_rest(home_of_webkb):
    corpus = load_webkb(data_home=home_of_webkb)
    assert corpus.target.tolist() == [1, 0, 0, 1] and corpus.target.dtype == np.int64
    assert corpus.target_names.tolist() == ["other", "course"]


def test_all_stacks_the_universities_and_no_link_crosses(home_of_webkb):
    every = load_webkb("all", "out", data_home=home_of_webkb)
    assert every.groups.tolist() == [name for name in webkb.UNIVERSITIES for _ in CLASSES]
    assert every.views.n_features == {"words": 3, "links": 16}
    for i, name in enumerate(webkb.UNIVERSITIES):
        one, rows = load_webkb(name, "out", data_home=home_of_webkb), slice(4 * i, 4 * i + 4)
        assert np.array_equal(every.views["words"][rows].toarray(), one.views["words"].toarray())
        assert np.array_equal(every.views["links"][rows, rows].toarray(), one.views["links"].toarray())
        assert every.target[rows].tolist() == one.target.tolist()
    assert every.views["links"].nnz == 16


# -- WebKB course: made-up files of both forms, then the sizes of the real ones

PAGES = {
    "fulltext/course/http:^^a.edu^1": b"<html><!-- exam --><script>var exam;</script><b>Home&nbsp;work</b> exam",
    "inlinks/course/http:^^a.edu^1": b"exam course\n",
    "fulltext/non-course/http:^^b.edu^": b"My homework, the exam \xe9",
    "inlinks/non-course/http:^^b.edu^": b"exam of Kim",
}


def test_the_second_matrix_is_the_page_and_label_one_the_course(tmp_path):
    (tmp_path / "webkb_course").mkdir()
    cells = np.empty((2, 1), dtype=object)
    cells[0, 0], cells[1, 0] = np.eye(3, 2), np.eye(3, 5)
    savemat(tmp_path / "webkb_course" / "WebKB_course.mat", {"X": cells, "y": np.array([[1], [2], [2]])})
    corpus = load_webkb_course(data_home=tmp_path)
    assert corpus.views.n_features == {"page": 5, "link": 2}
    assert corpus.target.tolist() == [1, 0, 0]
    assert corpus.target_names[corpus.target].tolist() == ["course", "non-course", "non-course"]


@pytest.mark.parametrize("suffix", [".xz", ".gz"])
def test_words_are_counted_without_tags_comments_and_scripts(tmp_path, suffix):
    (tmp_path / "webkb_course").mkdir()
    with tarfile.open(tmp_path / "webkb_course" / f"course-cotrain-data.tar{suffix}", f"w:{suffix[1:]}") as archive:
        for name, text in PAGES.items():
            about = tarfile.TarInfo(f"course-cotrain-data/{name}")
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text))
    corpus = load_webkb_course("counts", tmp_path, min_df=1)
    page = dict(zip(corpus.views.feature_names["page"], corpus.views["page"].toarray()[0]))
    assert page["exam"] == 1 and page["work"] == 1 and "var" not in page and "the" not in page
    assert corpus.views.ids.tolist() == ["http://a.edu/1", "http://b.edu/"]
    assert corpus.target.tolist() == [1, 0] and len(corpus.texts["link"]) == 2
