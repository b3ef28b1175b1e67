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


def test_a_link_to_an_unknown_page_is_a_damaged_file(home):
    write_university(home, "texas", cites="http://texas/0 http://texas/1\nhttp://texas/0 http://ghost\n")
    with pytest.raises(DataFileError, match=r"1 links of .*texas\.cites.* name pages that are not in"):
        load_webkb("texas", data_home=home)
