"""Corpora in the two-file format of LINQS: words and links of the same documents.

``<corpus>.content`` has a line per document: its id, a 0 or 1 for each word of the vocabulary, its class.
``<corpus>.cites`` has a line per link: the id of the *cited* document, then that of the *citing* one. In the link
matrix L of this module a row is the document that links and a column the one it links to: L[citing, cited] = 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import damaged, locate, read_lines
from coview.exceptions import DataFileError
from coview.utils.docs import parameters_of
from coview.validation import check_option
from coview.views.views import Views

__all__ = [
    "DIRECTIONS",
    "LinqsCorpus",
    "link_matrix",
    "link_views",
    "linked_views",
    "load_citeseer",
    "load_cora",
    "read_linqs",
]

DIRECTIONS = ("symmetric", "out", "in", "both")

_FILES = {  # of the plain files; no address is known that serves those of CiteSeer as they are
    "cora/cora.content": "b8ebed0fd45e53995abafd1b70cf6a9fcc8f86abc5826d69b97fe6ca46e9c8ee",
    "cora/cora.cites": "ec1a372391b7f0f60a6aff0084e8abd8f19f0faa7e1f2441a41c492042d5945e",
}
_URL = "https://raw.githubusercontent.com/tkipf/pygcn/master/data/cora"
_SOURCE = "https://linqs-data.soe.ucsc.edu/public/lbc/{name}.tgz"

_DESCR = """{title}: papers in the selection of LINQS, in two views.

{n} papers of {k} classes. The view "words" says which of {m} stems (document frequency at least 10, no stop words) a
paper holds; the words themselves are not part of the data. The link views say which papers it cites ("out"), is cited
by ("in"), or either ("symmetric"): every link counts once, and a column is a paper. {links} links are used, {loops} of
them of a paper to itself; {unknown} name a paper that is not in the corpus and are left out.

Reference: Sen et al., Collective classification in network data, AI Magazine 29(3), 2008.
"""


class LinqsCorpus(NamedTuple):
    """What the two files hold: ids, the words of each document, its class, L[citing, cited], and dropped links."""

    ids: np.ndarray
    words: sparse.csr_array
    labels: np.ndarray
    links: sparse.csr_array
    n_unknown_links: int


def load_cora(data_home: str | Path | None = None, *, links: str = "symmetric", self_links: bool = True) -> Bunch:
    """Load Cora: 2,708 machine-learning papers of 7 classes, by 1,433 words and by citations.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``cora/cora.content`` and ``cora/cora.cites``, plain or compressed (.gz, .xz, .bz2); see
        `corpora.data_home`. What is absent is downloaded.
    links : {"symmetric", "out", "in", "both"}, default="symmetric"
        View "links" of a paper: all papers that it cites or that cite it, those it cites, or those that cite it.
        "both" gives two views, "links_out" and "links_in".
    self_links : bool, default=True
        Keep links of a paper to itself. Cora has none.

    Returns
    -------
    Bunch
        ``views`` (`Views` "words" and links: 0 or 1 in float64, ids of the papers, which also name the columns of the
        links), ``target`` (integers) and ``target_names``, ``n_unknown_links`` (left out because an end is not in the
        corpus), ``DESCR``.

    Examples
    --------
    The two files of a corpus of three papers and two words:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_cora
    >>> folder = Path(tempfile.mkdtemp()) / "cora"
    >>> folder.mkdir()
    >>> _ = (folder / "cora.content").write_text("31\\t1\\t0\\tTheory\\n7\\t1\\t1\\tTheory\\n12\\t0\\t1\\tRules\\n")
    >>> _ = (folder / "cora.cites").write_text("31\\t7\\n12\\t7\\n")
    >>> cora = load_cora(folder.parent, links="out")
    >>> cora.views["links"].toarray()[1], cora.views.ids.tolist()
    (array([1., 0., 1.]), ['31', '7', '12'])
    """
    return _load_papers("cora", "Cora", data_home, links, self_links)


@parameters_of(load_cora)
def load_citeseer(data_home: str | Path | None = None, *, links: str = "symmetric", self_links: bool = True) -> Bunch:
    """Load CiteSeer: 3,312 computer-science papers of 6 classes, by 3,703 words and by citations.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``citeseer/citeseer.content`` and ``citeseer/citeseer.cites``, plain or compressed (.gz,
        .xz, .bz2); see `corpora.data_home`. There is no download: where they are absent, the error says
        where to get them.
    <same: links>
    self_links : bool, default=True
        Keep links of a paper to itself. CiteSeer has 124.

    Returns
    -------
    Bunch
        As that of `load_cora`.

    Examples
    --------
    A link to a paper that is not in the corpus is left out, and counted:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_citeseer
    >>> folder = Path(tempfile.mkdtemp()) / "citeseer"
    >>> folder.mkdir()
    >>> _ = (folder / "citeseer.content").write_text("100157\\t1\\tAgents\\nbradshaw97\\t1\\tIR\\n")
    >>> _ = (folder / "citeseer.cites").write_text("100157\\tbradshaw97\\nghose99\\t100157\\n")
    >>> citeseer = load_citeseer(folder.parent)
    >>> citeseer.views["links"].sum(), citeseer.n_unknown_links
    (np.float64(2.0), 1)
    """
    return _load_papers("citeseer", "CiteSeer", data_home, links, self_links)


def _load_papers(name: str, title: str, data_home: str | Path | None, links: str, self_links: bool) -> Bunch:
    check_option("links", links, DIRECTIONS)
    paths = [
        locate(f"{name}/{name}.{part}", data_home, _SOURCE.format(name=name), _FILES, _URL)
        for part in ("content", "cites")
    ]
    corpus = read_linqs(*paths)
    target_names, target = np.unique(corpus.labels, return_inverse=True)
    return Bunch(
        views=linked_views(corpus.words, corpus.links, links, self_links, corpus.ids),
        target=target.astype(np.int64),
        target_names=target_names,
        n_unknown_links=corpus.n_unknown_links,
        DESCR=_DESCR.format(
            title=title,
            n=len(target),
            k=len(target_names),
            m=corpus.words.shape[1],
            links=corpus.links.nnz,
            loops=int(corpus.links.diagonal().sum()),
            unknown=corpus.n_unknown_links,
        ),
    )


# -- the two files


def read_linqs(content: Path, cites: Path) -> LinqsCorpus:
    """Read the two files of a corpus.

    Ids are texts, also where they look like numbers. A link that is named twice counts once; a link with an end that
    is not in the content file is left out.
    """
    ids, words, labels = _read_content(content)
    links, n_unknown = _read_cites(cites, {key: row for row, key in enumerate(ids)}, content)
    return LinqsCorpus(np.array(ids), words, np.array(labels), links, n_unknown)


def link_views(links: sparse.csr_array, direction: str, self_links: bool = True) -> dict[str, sparse.csr_array]:
    """Views of a link matrix L[citing, cited]: "links", or "links_out" and "links_in" for both directions."""
    check_option("links", direction, DIRECTIONS)
    if not self_links:
        off = links.tocoo()
        apart = off.row != off.col
        links = sparse.csr_array((off.data[apart], (off.row[apart], off.col[apart])), shape=links.shape)
    if direction == "out":
        return {"links": links}
    backwards = _sorted(links.T.tocsr())
    if direction == "in":
        return {"links": backwards}
    if direction == "both":
        return {"links_out": links, "links_in": backwards}
    return {"links": _sorted(links.maximum(backwards))}


def linked_views(
    words: sparse.csr_array,
    links: sparse.csr_array,
    direction: str,
    self_links: bool,
    ids: Sequence[str] | np.ndarray,
    names: np.ndarray | None = None,
) -> Views:
    """Views "words" and links of documents, whose ids also name the columns of the links."""
    matrices = link_views(links, direction, self_links)
    features: dict[str, Any] = {} if names is None else {"words": names}
    features |= dict.fromkeys(matrices, ids)
    return Views({"words": words, **matrices}, ids=ids, feature_names=features)


def link_matrix(links: Iterable[Sequence[str]], row_of: Mapping[str, int]) -> tuple[sparse.csr_array, int]:
    """L[citing, cited] of pairs of ids, each counted once, and how many links name an unknown document."""
    ends = np.array([[row_of.get(end, -1) for end in link] for link in links], dtype=np.int32).reshape(-1, 2)
    known = ends[ends.min(axis=1) >= 0]
    rows, cols = np.unique(known, axis=0).T
    matrix = sparse.csr_array((np.ones(len(rows)), (rows, cols)), shape=(len(row_of), len(row_of)))
    return _sorted(matrix), len(ends) - len(known)


def _read_content(path: Path) -> tuple[list[str], sparse.csr_array, list[str]]:
    ids: list[str] = []
    labels: list[str] = []
    columns: list[np.ndarray] = []
    seen: set[str] = set()
    width = -1
    for number, line in enumerate(read_lines(path), start=1):
        # the words are the long part of a line: they are never split into pieces
        head, _, rest = line.replace(b" ", b"\t").partition(b"\t")
        middle, _, label = rest.rpartition(b"\t")
        flags = np.frombuffer(middle.translate(None, b"\t"), dtype=np.uint8) - ord("0")
        width = len(flags) if width < 0 else width
        if not width or len(flags) != width or flags.max() > 1:
            fault = f"{len(flags)} values, not {width}" if len(flags) != width else "values other than 0 and 1"
            raise DataFileError(
                f"Document {number} of {str(path)!r} has {fault if width else 'no values'} between its id and its "
                "class. Download it again."
            )
        key = head.decode("latin-1")
        if key in seen:
            raise damaged(path, f"has document {key!r} twice")
        seen.add(key)
        ids.append(key)
        labels.append(label.decode("latin-1"))
        columns.append(np.flatnonzero(flags).astype(np.int32))
    if not ids:
        raise damaged(path, "has no documents")
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in columns])]).astype(np.int32)
    indices = np.concatenate(columns)
    return ids, sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(ids), width)), labels


def _read_cites(path: Path, row_of: dict[str, int], content: Path) -> tuple[sparse.csr_array, int]:
    links = [line.decode("latin-1").split()[::-1] for line in read_lines(path)]
    for number, ends in enumerate(links, start=1):
        if len(ends) != 2:
            raise DataFileError(
                f"Link {number} of {str(path)!r} has {len(ends)} parts, not the two ids of a link. Download it again."
            )
    matrix, n_unknown = link_matrix(links, row_of)
    if links and not matrix.nnz:
        raise DataFileError(f"No link of {str(path)!r} is between documents of {str(content)!r}: they do not match.")
    return matrix, n_unknown


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    matrix.sort_indices()
    return matrix
