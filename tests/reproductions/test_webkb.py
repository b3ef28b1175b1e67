"""WebKB: targets, universities and links on small files, then the published sizes."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from corpora import load_webkb, webkb

from coview.exceptions import DataFileError

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
def home(tmp_path):
    for name in webkb.UNIVERSITIES:
        write_university(tmp_path, name)
    return tmp_path


def test_the_binary_task_sets_course_pages_against_the_rest(home):
    corpus = load_webkb(data_home=home)
    assert corpus.target.tolist() == [1, 0, 0, 1] and corpus.target.dtype == np.int64
    assert corpus.target_names.tolist() == ["other", "course"]


def test_the_classes_are_there_whatever_the_task(home):
    binary, five = load_webkb(data_home=home), load_webkb(task="classes", data_home=home)
    assert five.target_names[five.target].tolist() == CLASSES
    for corpus in (binary, five):
        assert corpus.class_names[corpus.classes].tolist() == CLASSES


def test_direction_of_links_is_an_option(home):
    links = {
        how: load_webkb("texas", how, data_home=home).views["links"].toarray() for how in ("out", "in", "symmetric")
    }
    assert links["out"].tolist() == [[1, 0, 0, 0]] * 4
    assert np.array_equal(links["in"], links["out"].T)
    assert np.array_equal(links["symmetric"], np.maximum(links["in"], links["out"]))
    assert load_webkb("texas", "both", data_home=home).views.names == ("words", "links_out", "links_in")


def test_pages_are_ids_and_name_the_columns_of_the_links(home):
    views = load_webkb("wisconsin", data_home=home).views
    assert views.ids[0] == "http://wisconsin/0"
    assert views.feature_names["links"].tolist() == views.ids.tolist()


def test_all_stacks_the_universities_and_no_link_crosses(home):
    every = load_webkb("all", "out", data_home=home)
    assert every.groups.tolist() == [name for name in webkb.UNIVERSITIES for _ in CLASSES]
    assert every.views.n_features == {"words": 3, "links": 16}
    for i, name in enumerate(webkb.UNIVERSITIES):
        one, rows = load_webkb(name, "out", data_home=home), slice(4 * i, 4 * i + 4)
        assert np.array_equal(every.views["words"][rows].toarray(), one.views["words"].toarray())
        assert np.array_equal(every.views["links"][rows, rows].toarray(), one.views["links"].toarray())
        assert every.target[rows].tolist() == one.target.tolist()
    assert every.views["links"].nnz == 16


def test_universities_must_share_a_vocabulary(home):
    write_university(home, "texas", n_words=2)
    with pytest.raises(DataFileError, match=r"share one vocabulary.*'texas': 2"):
        load_webkb("all", data_home=home)


def test_a_link_to_an_unknown_page_is_a_damaged_file(home):
    write_university(home, "texas", cites="http://texas/0 http://texas/1\nhttp://texas/0 http://ghost\n")
    with pytest.raises(DataFileError, match=r"1 links of .*texas\.cites.* name pages that are not in"):
        load_webkb("texas", data_home=home)


@pytest.mark.parametrize(
    ("option", "value"), [("university", "Cornell"), ("links", "directed"), ("task", "multiclass"), ("task", None)]
)
def test_an_unknown_option_is_refused(home, option, value):
    with pytest.raises(ValueError, match=f"{option} must be a str among .* Got {value!r} instead"):
        load_webkb(**{option: value}, data_home=home)


def test_absent_files_are_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(webkb, "_URL", "http://127.0.0.1:1/data")
    with pytest.raises(DataFileError, match=r"from http://127\.0\.0\.1:1/data/texas/texas\.content"):
        load_webkb("texas", data_home=tmp_path)
