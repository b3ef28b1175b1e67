"""WebKB course: pages of four computer-science departments, by their words and by those of links that point to them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import damaged, locate, open_mat, read_tar
from coview.preprocessing.text import TextViews
from coview.validation import check_option
from coview.views.views import Views

__all__ = ["load_webkb_course"]

FORMS = ("tfidf", "counts")

_MATRICES = "webkb_course/WebKB_course.mat"
_PAGES = "webkb_course/course-cotrain-data.tar"
_SOURCE = "the authors of the data (Blum and Mitchell, 1998, the course co-training data of the WebKB project)"
_CLASSES = ("non-course", "course")
_VIEWS = {"fulltext": "page", "inlinks": "link"}  # folder -> view
_HIDDEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")

_DESCR = """WebKB course: {n} pages of four computer-science departments, {course} of them of courses.

Two views of a page: the words on it, and the words of the links on other pages that point to it.

form="tfidf": the matrices of Sindhwani, Niyogi and Belkin (Beyond the point cloud, ICML 2005), tf-idf with rows of
length 1, 3000 words of pages and 1840 of links; in each view five pages have no word. The words are not given.
form="counts": counted from the pages as they were collected, without tags and English stop words, words of at least
`min_df` pages; `texts` has the texts. Which page of the one form is which of the other is not known.

Reference: Blum and Mitchell, Combining labeled and unlabeled data with co-training, COLT 1998.
"""


def load_webkb_course(form: str = "tfidf", data_home: str | Path | None = None, *, min_df: int = 5) -> Bunch:
    """Load WebKB course: 1,051 web pages, course pages or not, with the words of the pages and of links to them.

    Parameters
    ----------
    form : {"tfidf", "counts"}, default="tfidf"
        The weighted matrices that papers use, or counts of words made from the pages themselves.
    data_home : path, optional
        Folder that holds ``webkb_course/WebKB_course.mat`` ("tfidf") or ``webkb_course/course-cotrain-data.tar``
        ("counts"; plain or compressed: .gz, .xz, .bz2); see `corpora.data_home`.
    min_df : int, default=5
        Words of fewer pages are left out of "counts".

    Returns
    -------
    Bunch
        ``views`` ("page" and "link", sparse), ``target`` (1: course), ``target_names``, ``DESCR``; of "counts" also
        ``texts`` ({view: list of texts}) and the addresses of the pages as ids of the views.

    Examples
    --------
    An archive of two pages:

    >>> import io, tarfile, tempfile
    >>> from pathlib import Path
    >>> from corpora import load_webkb_course
    >>> folder = Path(tempfile.mkdtemp()) / "webkb_course"
    >>> folder.mkdir()
    >>> files = {"fulltext/course/http:^^a": b"<b>Homework</b> one", "inlinks/course/http:^^a": b"Homework course",
    ...          "fulltext/non-course/http:^^b": b"My homework", "inlinks/non-course/http:^^b": b"Kim course"}
    >>> with tarfile.open(folder / "course-cotrain-data.tar", "w") as archive:
    ...     for name, text in files.items():
    ...         about = tarfile.TarInfo(f"course-cotrain-data/{name}")
    ...         about.size = len(text)
    ...         archive.addfile(about, io.BytesIO(text))
    >>> pages = load_webkb_course("counts", folder.parent, min_df=2)
    >>> pages.target.tolist(), pages.views.ids.tolist(), pages.views.feature_names["page"].tolist()
    ([1, 0], ['http://a', 'http://b'], ['homework'])
    """
    check_option("form", form, FORMS)
    corpus = _read_matrices(data_home) if form == "tfidf" else _read_pages(data_home, min_df)
    about = _DESCR.format(n=len(corpus.target), course=int(corpus.target.sum()))
    return Bunch(**corpus, target_names=np.array(_CLASSES), DESCR=about)


def _read_matrices(data_home: str | Path | None) -> Bunch:
    path = locate(_MATRICES, data_home, _SOURCE)
    with open_mat(path, "does not hold the matrices X and y") as stored:
        link, page = (sparse.csr_array(np.asarray(stored["X"][v, 0], dtype=np.float64)) for v in (0, 1))
        labels = np.asarray(stored["y"]).ravel()
    if not set(labels.tolist()) <= {1, 2} or not len(labels) == link.shape[0] == page.shape[0]:
        raise damaged(path, "has labels or rows that do not fit together")
    return Bunch(views=Views(page=page, link=link), target=(labels == 1).astype(np.int64))


def _read_pages(data_home: str | Path | None, min_df: int) -> Bunch:
    from sklearn.feature_extraction.text import CountVectorizer

    path = locate(_PAGES, data_home, _SOURCE)
    texts: dict[str, dict[tuple[str, str], str]] = {view: {} for view in _VIEWS.values()}
    for member, page in read_tar(path, lambda name: name.count("/") > 1):
        folder, label, name = member.split("/")[-3:]
        if folder in _VIEWS and label in _CLASSES:
            texts[_VIEWS[folder]][label, name] = _text_of(page)
    keys = sorted(texts["page"])  # course first, as in the matrices
    if not keys or keys != sorted(texts["link"]):
        counts = f"{len(texts['page'])} pages and links to {len(texts['link'])} of them"
        raise damaged(path, f"has {counts}; both must be of the same pages")
    kept = {view: [pages[key] for key in keys] for view, pages in texts.items()}
    words = TextViews(vectorizer=CountVectorizer(stop_words="english", min_df=min_df, dtype=np.float64))
    ids = [name.replace("^", "/") for _, name in keys]
    target = np.array([label == "course" for label, _ in keys], dtype=np.int64)
    return Bunch(views=Views(words.fit_transform(kept), ids=ids), target=target, texts=kept)


def _text_of(page: bytes) -> str:
    """Text of a page, without tags, comments and scripts."""
    return html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", page.decode("latin-1"))))
