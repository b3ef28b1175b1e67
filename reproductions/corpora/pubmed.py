"""Pubmed-Diabetes in the selection of LINQS: papers by tf-idf words and by citations.

``Pubmed-Diabetes.NODE.paper.tab`` has two header lines and a line per paper: its id, ``label=``, ``word=value`` for the
words that it holds, ``summary=``. The file of links has two header lines and a line per link: a number, ``paper:<id>``,
``|``, ``paper:<id>``; in the DIRECTED one the first paper cites the second.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import damaged, locate, read_lines
from corpora.linqs import DIRECTIONS, link_matrix, linked_views
from coview.exceptions import DataFileError
from coview.validation import check_option

__all__ = ["load_pubmed"]

_FOLDER = "pubmed_diabetes/Pubmed-Diabetes"
_SOURCE = "https://linqs-data.soe.ucsc.edu/public/Pubmed-Diabetes.tgz"
_NAMES = np.array(["experimental", "type 1", "type 2"])

_DESCR = """Pubmed-Diabetes: {n} papers on diabetes in the selection of LINQS, in two views.

Classes: diabetes mellitus experimental, type 1, type 2. The view "words" holds tf-idf weights of {m} words. The view
"links" says which papers are linked by a citation ({kind}): a column is a paper. There are {links} different links,
{loops} of them of a paper to itself; {unknown} name a paper that is not in the corpus and are left out.

Reference: Namata et al., Query-driven active surveying for collective classification, MLG 2012.
"""


def load_pubmed(data_home: str | Path | None = None, *, links: str = "symmetric", self_links: bool = True) -> Bunch:
    """Load Pubmed-Diabetes: 19,717 papers of 3 classes, by 500 words and by citations.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``pubmed_diabetes/Pubmed-Diabetes.NODE.paper.tab`` and ``...DIRECTED.cites.tab`` or
        ``...UNDIRECTED.cites.tab``, plain or compressed (.gz, .xz, .bz2); see `corpora.data_home`. There is no
        download: where they are absent, the error says where to get them.
    links : {"symmetric", "out", "in", "both"}, default="symmetric"
        View "links" of a paper: all papers that it cites or that cite it, those it cites, or those that cite it;
        "both" gives two views. All but "symmetric" need the DIRECTED file.
    self_links : bool, default=True
        Keep links of a paper to itself.

    Returns
    -------
    Bunch
        ``views`` (`Views` "words" in float32 and links in float64, with ids), ``target`` (integers), ``target_names``,
        ``n_unknown_links``, ``DESCR``.

    Examples
    --------
    The two files of a corpus of two papers:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_pubmed
    >>> folder = Path(tempfile.mkdtemp()) / "pubmed_diabetes"
    >>> folder.mkdir()
    >>> papers = "NODE\\tPaper\\ncat=1,2,3:label\\tnumeric:w-rat:0.0\\n7\\tlabel=1\\tw-rat=0.5\\n9\\tlabel=3\\n"
    >>> _ = (folder / "Pubmed-Diabetes.NODE.paper.tab").write_text(papers)
    >>> cites = "DIRECTED\\tcites\\nNO_FEATURES\\n1\\tpaper:9\\t|\\tpaper:7\\n"
    >>> _ = (folder / "Pubmed-Diabetes.DIRECTED.cites.tab").write_text(cites)
    >>> pubmed = load_pubmed(folder.parent, links="out")
    >>> pubmed.views["links"].toarray().tolist(), pubmed.views["words"].toarray().tolist()
    ([[0.0, 0.0], [1.0, 0.0]], [[0.5], [0.0]])
    """
    check_option("links", links, DIRECTIONS)
    nodes = locate(f"{_FOLDER}.NODE.paper.tab", data_home, _SOURCE)
    cites, directed = _locate_cites(data_home)
    if links != "symmetric" and not directed:
        raise ValueError(
            f"links={links!r} needs the file Pubmed-Diabetes.DIRECTED.cites.tab; the one found has links without "
            "direction. Use links='symmetric'."
        )
    ids, words, names, labels = _read_papers(nodes)
    matrix, unknown = _read_links(cites, {key: row for row, key in enumerate(ids)})
    if not directed:
        matrix = sparse.csr_array(matrix.maximum(matrix.T))
    loops = int(matrix.diagonal().sum())
    return Bunch(
        views=linked_views(words, matrix, links, self_links, np.array(ids), names),
        target=labels - 1,
        target_names=_NAMES,
        n_unknown_links=unknown,
        DESCR=_DESCR.format(
            n=len(ids),
            m=words.shape[1],
            links=matrix.nnz if directed else (matrix.nnz - loops) // 2 + loops,
            loops=loops,
            unknown=unknown,
            kind="with direction" if directed else "without direction",
        ),
    )


def _locate_cites(data_home: str | Path | None) -> tuple[Path, bool]:
    """File of links, the directed one where it is, and whether it has directions."""
    try:
        return locate(f"{_FOLDER}.DIRECTED.cites.tab", data_home, _SOURCE), True
    except DataFileError:
        return locate(f"{_FOLDER}.UNDIRECTED.cites.tab", data_home, _SOURCE), False


def _read_papers(path: Path) -> tuple[list[str], sparse.csr_array, np.ndarray, np.ndarray]:
    lines = read_lines(path)
    head = [next(lines, b"").decode("latin-1").split("\t") for _ in range(2)]
    names = [part.split(":")[1] for part in head[1] if part.startswith("numeric:")]
    if not names:
        raise damaged(path, "names no words in its second line")
    column = {name: j for j, name in enumerate(names)}
    ids: list[str] = []
    labels: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    indptr = [0]
    for number, line in enumerate(lines, start=1):
        key, *fields = line.decode("latin-1").split("\t")
        label = 0
        try:
            for field in fields:
                name, _, value = field.partition("=")
                if name == "label":
                    label = int(value)
                elif name != "summary":
                    indices.append(column[name])
                    values.append(float(value))
        except (KeyError, ValueError) as error:
            raise DataFileError(f"Paper {number} of {str(path)!r} has a field that cannot be read ({error}).") from None
        if label not in (1, 2, 3):
            raise DataFileError(f"Paper {number} of {str(path)!r} has no label from 1 to 3. Download it again.")
        ids.append(key)
        labels.append(label)
        indptr.append(len(indices))
    if not ids or len(set(ids)) != len(ids):
        raise damaged(path, "has no papers, or one of them twice")
    words = sparse.csr_array((np.array(values, np.float32), indices, indptr), shape=(len(ids), len(names)))
    words.sort_indices()
    return ids, words, np.array(names), np.array(labels, dtype=np.int64)


def _read_links(path: Path, row_of: dict[str, int]) -> tuple[sparse.csr_array, int]:
    links = []
    for line in read_lines(path):
        ends = [part.strip()[6:] for part in line.decode("latin-1").split("\t") if part.strip().startswith("paper:")]
        if not ends:
            continue  # header lines
        if len(ends) != 2:
            raise DataFileError(f"A link of {str(path)!r} has {len(ends)} ends, not two. Download it again.")
        links.append(ends)
    matrix, unknown = link_matrix(links, row_of)
    if not matrix.nnz:
        raise DataFileError(f"No link of {str(path)!r} is between papers of the corpus: the files do not match.")
    return matrix, unknown
