"""Wikipedia in the selection of LINQS, the part of it that is still to be had: articles by words and by links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import damaged, locate, open_mat
from corpora.linqs import linked_views
from coview.validation import check_option

__all__ = ["load_wikipedia_linqs"]

_SOURCE = 'the authors of TADW (Yang et al., IJCAI 2015, data set "Wiki")'

_DESCR = """Wikipedia (LINQS): {n} articles in two views.

A part of Wikipedia_linqs (3,363 articles, 19 classes), the one that Yang et al. (Network representation learning with
rich text information, IJCAI 2015) use: {k} classes. The view "words" holds tf-idf weights of {m} words, whose names are
not part of the data; the view "links" says which articles are linked ({links} pairs, without direction): a column is
an article.
"""


def load_wikipedia_linqs(
    data_home: str | Path | None = None, *, links: str = "symmetric", self_links: bool = True
) -> Bunch:
    """Load Wikipedia (LINQS): 2,405 articles of 17 classes, by 4,973 words and by links.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``wikipedia_linqs_2405/wiki.mat``; see `corpora.data_home`. There is no download.
    links : {"symmetric"}, default="symmetric"
        View "links" of an article. The file has undirected links, so there is no other choice.
    self_links : bool, default=True
        Keep links of an article to itself.

    Returns
    -------
    Bunch
        ``views`` (`Views` "words" and "links" in float64, with the row numbers as ids), ``target`` (integers, in the
        order of the file's classes that occur), ``target_names`` (numbers of the file's classes, as text), ``DESCR``.

    Examples
    --------
    A file of three articles, two words and two classes:

    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from scipy import sparse
    >>> from scipy.io import savemat
    >>> from corpora import load_wikipedia_linqs
    >>> folder = Path(tempfile.mkdtemp()) / "wikipedia_linqs_2405"
    >>> folder.mkdir()
    >>> parts = {"feature": np.ones((3, 2)), "group": np.eye(2)[[0, 1, 1]], "network": np.eye(3)}
    >>> savemat(folder / "wiki.mat", {name: sparse.csc_matrix(part) for name, part in parts.items()})
    >>> load_wikipedia_linqs(folder.parent).target.tolist()
    [0, 1, 1]
    """
    check_option("links", links, ("symmetric",))
    path = locate("wikipedia_linqs_2405/wiki.mat", data_home, _SOURCE)
    with open_mat(path, "does not hold feature, group and network") as stored:
        parts = [stored[name] for name in ("feature", "group", "network")]
        words, groups, network = (sparse.csr_array(part, dtype=np.float64) for part in parts)
    n = words.shape[0]
    if groups.shape[0] != n or network.shape != (n, n):
        sizes = f"{n} articles, {groups.shape[0]} rows of classes and links {network.shape}"
        raise damaged(path, f"has {sizes}: they do not match")
    if not (np.diff(groups.indptr) == 1).all():
        raise damaged(path, "has articles without a class or with several")
    names, target = np.unique(groups.indices, return_inverse=True)
    ids = np.array([str(i) for i in range(n)])
    words.sort_indices()
    network.data[:] = 1
    loops = int(network.diagonal().sum())
    return Bunch(
        views=linked_views(words, sparse.csr_array(network), links, self_links, ids),
        target=target.astype(np.int64),
        target_names=np.array([str(name + 1) for name in names]),
        DESCR=_DESCR.format(n=n, k=len(names), m=words.shape[1], links=(network.nnz - loops) // 2 + loops),
    )
