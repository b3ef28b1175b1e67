"""WebKB course: made-up files of both forms, then the sizes of the real ones."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
from corpora import load_webkb_course
from scipy.io import savemat

from coview.exceptions import DataFileError

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
