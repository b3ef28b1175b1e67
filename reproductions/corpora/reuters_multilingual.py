"""Reuters RCV1/RCV2 multilingual: news in English and their translations, two samples used in multi-view clustering.

``Reuters-1200.mat`` holds a cell of five dense matrices (documents x 2,000 words) and classes 1 to 6;
``reuters_600_triplets.mat`` lists (document, word, weight), both counted from 1, over the whole vocabularies. There a
few weights are negative: words that are in nearly every document.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import damaged, locate, open_mat
from coview.validation import check_option
from coview.views.views import Views

__all__ = ["load_reuters_multilingual"]

_FOLDER = "reuters_multilingual/"
_PATHS = {1200: f"{_FOLDER}Reuters-1200.mat", 600: f"{_FOLDER}reuters_600_triplets.mat"}
_FILES = {  # no address is known that serves the other one as it is
    _PATHS[1200]: "cf549b72a66d7418a639a940899993c052bab9ec868fd493451cf85cd0d81d14",
}
_URL = "https://raw.githubusercontent.com/ChuanbinZhang/Multi-view-datasets/03ead31e6538322e4e0701c3c28a01595c1a015d"
_SOURCE = "https://github.com/ChuanbinZhang/Multi-view-datasets or github.com/YilinZhang107/Multi-view-Datasets"
LANGUAGES = ("english", "french", "german", "spanish", "italian")
_TRIPLETS = {  # part of the file, and size of the vocabulary: the last words may be in no document
    "english": ("EN_EN_sample", 21_531),
    "french": ("EN_FR_sample", 24_893),
    "german": ("EN_GR_sample", 34_279),
    "spanish": ("EN_SP_sample", 11_547),
    "italian": ("EN_IT_sample", 15_506),
}

_DESCR = """Reuters RCV1/RCV2 multilingual, a sample of {n} documents of {k} classes, {each} of each.

News that were written in English, and their machine translations into French, German, Spanish and Italian: five views
of weighted words ({words}), without the words themselves. Classes are those of the file, which does not name
them (the whole collection has C15, CCAT, E21, ECAT, GCAT and M11). {negative}

Reference: Amini, Usunier and Goutte, Learning from multiple partially observed views - an application to multilingual
text categorization, NIPS 2009.
"""


def load_reuters_multilingual(
    sample: int = 1200, data_home: str | Path | None = None, *, negative: str = "zero"
) -> Bunch:
    """Load multilingual Reuters news: English and four translations, 1,200 documents or 600 with full vocabularies.

    Parameters
    ----------
    sample : {1200, 600}, default=1200
        Which sample: 200 documents of each of 6 classes with 2,000 words per language, or 100 of each with 11,547 to
        34,279 words.
    data_home : path, optional
        Folder that holds ``reuters_multilingual/Reuters-1200.mat`` or ``reuters_600_triplets.mat``; see
        `corpora.data_home`. The first is downloaded where it is absent.
    negative : {"zero", "keep"}, default="zero"
        The sample of 600 has some negative weights, of words that nearly all documents hold: make them zero, as models
        of counts need it, or keep them.

    Returns
    -------
    Bunch
        ``views`` (`Views` "english", "french", "german", "spanish" and "italian", sparse, float64), ``target``
        (integers, 0 to 5), ``target_names`` (the file's numbers), ``n_negative`` (weights below zero by language),
        ``DESCR``.

    Examples
    --------
    A file of two documents, two words and two classes:

    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from scipy.io import savemat
    >>> from corpora import load_reuters_multilingual
    >>> folder = Path(tempfile.mkdtemp()) / "reuters_multilingual"
    >>> folder.mkdir()
    >>> cell = np.empty((5, 1), dtype=object)
    >>> for v in range(5):
    ...     cell[v, 0] = np.array([[v, 0.5], [0.0, 1.0]])
    >>> savemat(folder / "Reuters-1200.mat", {"X": cell, "y": np.array([[2], [1]])})
    >>> corpus = load_reuters_multilingual(data_home=folder.parent)
    >>> corpus.views["spanish"].toarray().tolist(), corpus.target.tolist()
    ([[3.0, 0.5], [0.0, 1.0]], [1, 0])
    """
    if sample not in _PATHS or isinstance(sample, bool):
        raise ValueError(f"sample must be 1200 or 600, got {sample!r}.")
    check_option("negative", negative, ("zero", "keep"))
    path = locate(_PATHS[sample], data_home, _SOURCE, _FILES, _URL)
    with open_mat(path, f"does not hold the sample of {sample}") as stored:
        matrices, classes = _cells(stored) if sample == 1200 else _triplets(stored)
    names, target = np.unique(classes, return_inverse=True)
    for language, matrix in matrices.items():
        if matrix.shape[0] != len(target):
            raise damaged(path, f"has {len(target)} classes, but {matrix.shape[0]} documents in {language}")
    below = {language: int((matrix.data < 0).sum()) for language, matrix in matrices.items()}
    if negative == "zero":
        for matrix in matrices.values():
            np.maximum(matrix.data, 0.0, out=matrix.data)
            matrix.eliminate_zeros()
    fate = "were made zero" if negative == "zero" else "are kept"
    return Bunch(
        views=Views(matrices),
        target=target.astype(np.int64).ravel(),
        target_names=np.array([str(name) for name in names]),
        n_negative=below,
        DESCR=_DESCR.format(
            n=len(target),
            k=len(names),
            each=len(target) // len(names),
            words=", ".join(f"{language} {matrix.shape[1]}" for language, matrix in matrices.items()),
            negative=f"{sum(below.values())} negative weights {fate}." if any(below.values()) else "",
        ),
    )


def _cells(stored: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray]:
    parts = stored["X"].ravel()
    if len(parts) != len(LANGUAGES):
        raise ValueError(f"{len(parts)} languages, not {len(LANGUAGES)}")
    matrices = {name: sparse.csr_array(part, dtype=np.float64) for name, part in zip(LANGUAGES, parts)}
    return matrices, stored["y"].ravel()


def _triplets(stored: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray]:
    classes = stored["truth"].ravel()
    matrices = {}
    for language, (name, width) in _TRIPLETS.items():
        rows, words, weights = stored[name].T
        places = rows.astype(np.int64) - 1, words.astype(np.int64) - 1
        matrices[language] = sparse.csr_array((weights, places), shape=(len(classes), width))
        matrices[language].sort_indices()
    return matrices, classes
