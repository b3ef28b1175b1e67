"""WebKB in the selection of LINQS: pages of four computer-science departments, by words and by hyperlinks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import locate
from corpora.linqs import DIRECTIONS, LinqsCorpus, linked_views, read_linqs
from coview.exceptions import DataFileError
from coview.validation import check_option

__all__ = ["UNIVERSITIES", "load_webkb"]

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
TASKS = ("binary", "classes")

_FILES = {
    "webkb_linqs/cornell.content": "28d1a6593981e47859965341735b2b9e1b42ea96502dad3c0857b3bf8967e960",
    "webkb_linqs/cornell.cites": "9b553733f8621bde1e149b2570da31701d6c41ac1263a4d1e94bc9fd08054a13",
    "webkb_linqs/texas.content": "b56017ff6e0097218f238c6dafa5265e0bbe70c0cae39b3a5a4d862611d36b98",
    "webkb_linqs/texas.cites": "c7b6cc42170870e4470dafd9ad9330422d42ae2a1f3a746aba93039dc8b41710",
    "webkb_linqs/washington.content": "89a63171f394529849da1319b3d55426582c04dc9cdb196c29c5335931269e60",
    "webkb_linqs/washington.cites": "7aa0e59b0dcba44f63fe2248671bb4c551e7322ecb512284732a08a968759223",
    "webkb_linqs/wisconsin.content": "bca4574c8f77db5bda3ad9fc734f67ea87b06c43e239b9bb77725ea58d0315d6",
    "webkb_linqs/wisconsin.cites": "f5b60f45a277d93f4e883d8845b4e81fda632818ba0fe8ab8d118d9d2a9e9c73",
}
_URL = "https://raw.githubusercontent.com/hazdzz/ChebyNet/4870875d684c3d3695315d89e312f2527c641e19/data"
_SOURCE = "https://linqs-data.soe.ucsc.edu/public/lbc/WebKB.tgz"

_DESCR = """WebKB: pages of computer-science departments, in the selection of LINQS ({university}).

{n} pages: {counts}.

The view "words" says which of {m} stems (document frequency at least 10, no stop words; common to the four
universities) a page holds; the words themselves are not part of the data. The link views say which pages it links to
("out"), is linked from ("in"), or either ("symmetric"): every link counts once, and a column is a page. There are
{links} links, {loops} of them of a page to itself.

task="classes" has the five classes; task="binary" sets course pages (1) against all others (0), as in Zhuang et al.
(Multi-view learning via probabilistic latent semantic analysis, 2012), who use Cornell and Washington and do
not say which way links count. Cornell has 42 course pages; their "46" is a slip, since 153 others make 195.

References: Craven et al., Learning to extract symbolic knowledge from the World Wide Web, AAAI 1998; Sen et al.,
Collective classification in network data, AI Magazine 29(3), 2008.
"""


def load_webkb(
    university: str = "cornell",
    links: str = "symmetric",
    task: str = "binary",
    data_home: str | Path | None = None,
    *,
    self_links: bool = True,
) -> Bunch:
    """Load WebKB: the web pages of one university or all four, with words and links.

    Parameters
    ----------
    university : {"cornell", "texas", "washington", "wisconsin", "all"}, default="cornell"
        Whose pages: 195, 187, 230 or 265 of them. "all" stacks the 877; their links never cross.
    links : {"symmetric", "out", "in", "both"}, default="symmetric"
        View "links" of a page: all pages that it links to or that link to it, those it links to, or those that link
        to it. "both" gives two views, "links_out" and "links_in".
    task : {"binary", "classes"}, default="binary"
        The target: course pages (1) against the others (0), or course, faculty, project, staff, student.
    data_home : path, optional
        Folder that holds ``webkb_linqs/<university>.content`` and ``.cites``, plain or compressed (.gz, .xz, .bz2);
        see `corpora.data_home`. What is absent is downloaded.
    self_links : bool, default=True
        Keep links of a page to itself.

    Returns
    -------
    Bunch
        ``views`` (`Views` "words" and links: 0 or 1 in float64, addresses of the pages as ids, which also name the
        columns of the links), ``target`` (integers) and ``target_names``; whatever the task, ``classes`` (integers)
        and ``class_names``; ``groups`` (university of each page), ``DESCR``.

    Examples
    --------
    The two files of a corpus of three pages and two words:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_webkb
    >>> folder = Path(tempfile.mkdtemp()) / "webkb_linqs"
    >>> folder.mkdir()
    >>> pages = "http://a\\t1\\t0\\tcourse\\nhttp://b\\t1\\t1\\tstaff\\nhttp://c\\t0\\t1\\tstudent\\n"
    >>> _ = (folder / "texas.content").write_text(pages)
    >>> _ = (folder / "texas.cites").write_text("http://a http://b\\nhttp://a http://c\\n")
    >>> texas = load_webkb("texas", data_home=folder.parent)
    >>> texas.target_names[texas.target].tolist()
    ['course', 'other', 'other']
    >>> texas.views["links"].toarray()
    array([[0., 1., 1.],
           [1., 0., 0.],
           [1., 0., 0.]])
    """
    check_option("university", university, (*UNIVERSITIES, "all"))
    check_option("links", links, DIRECTIONS)
    check_option("task", task, TASKS)
    chosen = UNIVERSITIES if university == "all" else (university,)
    parts = {name: _read_university(name, data_home) for name in chosen}
    corpus = _stack(parts)
    class_names, classes = np.unique(corpus.labels, return_inverse=True)
    binary = task == "binary"
    counts = ", ".join(f"{name} {count}" for name, count in zip(class_names, np.bincount(classes)))
    return Bunch(
        views=linked_views(corpus.words, corpus.links, links, self_links, corpus.ids),
        target=(corpus.labels == "course").astype(np.int64) if binary else classes.astype(np.int64),
        target_names=np.array(["other", "course"]) if binary else class_names,
        classes=classes.astype(np.int64),
        class_names=class_names,
        groups=np.repeat(list(parts), [len(part.ids) for part in parts.values()]),
        DESCR=_DESCR.format(
            university=university,
            n=len(classes),
            counts=counts,
            m=corpus.words.shape[1],
            links=corpus.links.nnz,
            loops=int(corpus.links.diagonal().sum()),
        ),
    )


def _read_university(name: str, data_home: str | Path | None) -> LinqsCorpus:
    paths = [
        locate(f"webkb_linqs/{name}.{part}", data_home, _SOURCE, _FILES, f"{_URL}/{name}")
        for part in ("content", "cites")
    ]
    corpus = read_linqs(*paths)
    if corpus.n_unknown_links:
        raise DataFileError(
            f"{corpus.n_unknown_links} links of {str(paths[1])!r} name pages that are not in {str(paths[0])!r}: the "
            "files do not belong together. Download both again."
        )
    return corpus


def _stack(parts: dict[str, LinqsCorpus]) -> LinqsCorpus:
    """Put universities one below the other: words share their columns, links do not."""
    corpora = list(parts.values())
    if len(corpora) == 1:
        return corpora[0]
    widths = {name: part.words.shape[1] for name, part in parts.items()}
    if len(set(widths.values())) > 1:
        raise DataFileError(
            f"The universities must share one vocabulary, but have {widths} words. Download them again."
        )
    return LinqsCorpus(
        np.concatenate([part.ids for part in corpora]),
        sparse.csr_array(sparse.vstack([part.words for part in corpora], format="csr")),
        np.concatenate([part.labels for part in corpora]),
        sparse.csr_array(sparse.block_diag([part.links for part in corpora], format="csr")),
        0,
    )
