"""Words that views have in common: a plain lexical score beside the one of a model.

A feature counts where another view has a feature of the same name. Rows are log(1 + count) times the inverse document
frequency in their own view, of length 1; the score of two rows is their inner product.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.exceptions import ViewsError
from coview.preprocessing.weighting import document_frequency
from coview.views.views import Matrix, Views

__all__ = ["learn_words", "word_rows"]


def learn_words(views: Views) -> dict[str, Any]:
    """Return the shared words and, for each view, where they are and how much they weigh (plain values, to be stored).

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(a=np.eye(2), b=np.eye(2), feature_names={"a": ["sea", "fox"], "b": ["Fox", "red"]})
    >>> learn_words(X)["names"].tolist()
    ['fox']
    """
    spelled = {name: [str(word).lower() for word in words] for name, words in views.feature_names.items()}
    counts = Counter(word for words in spelled.values() for word in set(words))
    shared = sorted(word for word, count in counts.items() if count > 1)
    if not shared:
        raise ViewsError(
            "lexical > 0 requires views that share feature names, but these views share none.",
            use={"lexical": 0},
        )
    column = {word: j for j, word in enumerate(shared)}
    learned: dict[str, Any] = {"names": np.array(shared), "features": {}, "columns": {}, "weights": {}}
    for name, words in spelled.items():
        here = np.array([j for j, word in enumerate(words) if word in column], dtype=np.int64)
        frequency = document_frequency(views[name][:, here])
        present = views.present[:, views.names.index(name)].sum()
        learned["features"][name] = here
        learned["columns"][name] = np.array([column[words[j]] for j in here], dtype=np.int64)
        learned["weights"][name] = np.log((1 + present) / (1 + frequency)) + 1
    return learned


def word_rows(learned: dict[str, Any], name: str, matrix: Matrix) -> sparse.csr_array:
    """Return the weighed shared words of a view's rows (rows x shared words), float32, of length 1."""
    width = len(learned["names"])
    if name not in learned["features"]:
        return sparse.csr_array((matrix.shape[0], width), dtype=np.float32)
    part = sparse.csr_array(matrix[:, learned["features"][name]], dtype=np.float64).tocoo()
    values = np.log1p(np.maximum(part.data, 0)) * learned["weights"][name][part.col]
    cells = (values, (part.row, learned["columns"][name][part.col]))
    rows = sparse.csr_array(cells, shape=(matrix.shape[0], width))
    return sparse.csr_array(normalize(rows), dtype=np.float32)
