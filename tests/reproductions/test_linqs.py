"""The two files of LINQS: every trap of the format on small files, then the published sizes of Cora and CiteSeer."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile

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


# -- Pubmed, Wikipedia (LINQS) and leaves: small files with every trap of their formats, then the published sizes

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


# -- WebKB: targets, universities and links on small files, then the published sizes

CLASSES = ["course", "student", "staff", "course"]


def write_university(home, name, classes=CLASSES, n_words=3, cites=None):
    """Write page i of class classes[i]; by default every page links to the first one, itself included."""
    folder = home / "webkb_linqs"
    folder.mkdir(exist_ok=True)
    pages = [f"http://{name}/{i}" for i in range(len(classes))]
    rows = ["\t".join([page, *"101010"[:n_words], label]) for page, label in zip(pages, classes)]
    (folder / f"{name}.content.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    (folder / f"{name}.cites").write_text(cites or "".join(f"{pages[0]} {page}\n" for page in pages))


@pytest.fixture
def home_of_webkb(tmp_path):
    for name in webkb.UNIVERSITIES:
        write_university(tmp_path, name)
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


def test_a_link_to_an_unknown_page_is_a_damaged_file(home_of_webkb):
    write_university(home_of_webkb, "texas", cites="http://texas/0 http://texas/1\nhttp://texas/0 http://ghost\n")
    with pytest.raises(DataFileError, match=r"1 links of .*texas\.cites.* name pages that are not in"):
        load_webkb("texas", data_home=home_of_webkb)


# -- WebKB course: made-up files of both forms, then the sizes of the real ones

PAGES = {
    "fulltext/course/http:^^a.edu^1": b"<html><!-- exam --><script>var exam;</script><b>Home&nbsp;work</b> exam",
    "inlinks/course/http:^^a.edu^1": b"exam course\n",
    "fulltext/non-course/http:^^b.edu^": b"My homework, the exam \xe9",
    "inlinks/non-course/http:^^b.edu^": b"exam of Kim",
}


def write_pages(home, pages=PAGES, suffix=".xz"):
    (home / "webkb_course").mkdir(exist_ok=True)
    with tarfile.open(home / "webkb_course" / f"course-cotrain-data.tar{suffix}", f"w:{suffix[1:]}") as archive:
        for name, text in pages.items():
            about = tarfile.TarInfo(f"course-cotrain-data/{name}")
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text))
    return home


def write_matrices(home, labels=(1, 2, 2)):
    (home / "webkb_course").mkdir(exist_ok=True)
    cells = np.empty((2, 1), dtype=object)
    cells[0, 0], cells[1, 0] = np.eye(3, 2), np.eye(3, 5)
    savemat(home / "webkb_course" / "WebKB_course.mat", {"X": cells, "y": np.array(labels)[:, None]})
    return home


def test_the_second_matrix_is_the_page_and_label_one_the_course(tmp_path):
    corpus = load_webkb_course(data_home=write_matrices(tmp_path))
    assert corpus.views.n_features == {"page": 5, "link": 2}
    assert corpus.target.tolist() == [1, 0, 0]
    assert corpus.target_names[corpus.target].tolist() == ["course", "non-course", "non-course"]


@pytest.mark.parametrize("suffix", [".xz", ".gz"])
def test_words_are_counted_without_tags_comments_and_scripts(tmp_path, suffix):
    corpus = load_webkb_course("counts", write_pages(tmp_path, suffix=suffix), min_df=1)
    page = dict(zip(corpus.views.feature_names["page"], corpus.views["page"].toarray()[0]))
    assert page["exam"] == 1 and page["work"] == 1 and "var" not in page and "the" not in page
    assert corpus.views.ids.tolist() == ["http://a.edu/1", "http://b.edu/"]
    assert corpus.target.tolist() == [1, 0] and len(corpus.texts["link"]) == 2


def test_what_is_broken_is_told(tmp_path):
    with pytest.raises(DataFileError, match="Get it from"):
        load_webkb_course(data_home=tmp_path)
    with pytest.raises(ValueError, match=r"form.* must be a str among"):
        load_webkb_course("raw", tmp_path)
    with pytest.raises(DataFileError, match="do not fit together"):
        load_webkb_course(data_home=write_matrices(tmp_path, labels=(1, 2, 3)))
    lacking = dict(list(PAGES.items())[:-1])
    with pytest.raises(DataFileError, match="2 pages and links to 1"):
        load_webkb_course("counts", write_pages(tmp_path, lacking))
    (tmp_path / "webkb_course" / "WebKB_course.mat").write_bytes(b"nothing of the kind")
    with pytest.raises(DataFileError, match="does not hold the matrices"):
        load_webkb_course(data_home=tmp_path)
