"""Words that queries and objects have in common: BM25, over all words of raw texts or the named features of views.

    score(query, object) = sum_w (1 + log q_w) idf_w n_w (k + 1) / (n_w + k (1 - b + b length / mean length))

q and n count the words w of query and object; idf_w = log(1 + (N - df_w + 1/2) / (df_w + 1/2)) over the training
objects, k = 1.5 and b = 0.75. Words are hashed, so that those of new objects count although no training object has
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from coview.preprocessing.vectorizer import TextVectorizer
from coview.preprocessing.weighting import document_frequency
from coview.views.views import Views

__all__ = ["BUCKETS", "count_words", "learn_words", "spell_words", "weigh_objects", "weigh_query"]

BUCKETS = 2**20
SATURATION, LENGTH = 1.5, 0.75  # k and b

Counts = dict[str, sparse.csr_array]


def count_words(
    views: Views, texts: Mapping[str, list[str]], names: Mapping[str, Any], languages: Mapping[str, str | None]
) -> Counts:
    """Return the hashed words of each view (rows x buckets): of its texts, else of the `names` of its features.

    Of texts, without the function words of the view's language.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(a=np.array([[2, 0]]), b=np.array([[1.0]]), feature_names={"a": ["sea", "fox"]})
    >>> counts = count_words(X, {"b": ["the red fox"]}, X.feature_names, {"b": "english"})
    >>> {name: rows.sum() for name, rows in counts.items()}
    {'a': np.float32(2.0), 'b': np.float32(2.0)}
    """
    counts = {}
    for name in views.names:
        if name in texts:
            counts[name] = _of_texts(texts[name], languages.get(name))
        elif name in names:
            counts[name] = _of_features(views[name], names[name])
    return counts


def learn_words(counts: Counts, languages: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what BM25 has to know of the training objects, as plain values: frequencies of words, lengths of views."""
    frequency = np.sum([document_frequency(rows) for rows in counts.values()], axis=0)
    buckets = np.flatnonzero(frequency)
    filled = {name: int(np.count_nonzero(np.diff(rows.indptr))) for name, rows in counts.items()}
    lengths = {name: float(rows.sum()) / max(filled[name], 1) for name, rows in counts.items()}
    frequency = frequency[buckets].astype(np.int64)
    learned = {"buckets": buckets, "frequency": frequency, "n_rows": sum(filled.values()), "lengths": lengths}
    return {**learned, "languages": dict(languages)}


def weigh_objects(learned: Mapping[str, Any], name: str, counts: sparse.csr_array) -> sparse.csr_array:
    """Return the weights of the words of a view's objects (rows x buckets), float32."""
    length = np.asarray(counts.sum(axis=1)).ravel() / max(learned["lengths"][name], 1e-12)
    scale = np.repeat(SATURATION * (1 - LENGTH + LENGTH * length), np.diff(counts.indptr))
    weights = counts.data * (SATURATION + 1) / (counts.data + scale) * _idf(learned, counts.indices)
    return sparse.csr_array((weights.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)


def weigh_query(counts: sparse.csr_array) -> sparse.csr_array:
    """Return the weights of the words of queries (rows x buckets), float32."""
    rows = sparse.csr_array(counts, dtype=np.float32)
    rows.data = 1 + np.log(np.maximum(rows.data, 1))
    return rows


def spell_words(views: Views, texts: Mapping[str, list[str]], names: Mapping[str, Any]) -> dict[int, str]:
    """Return the word of each bucket, of the words of a query."""
    words: list[str] = []
    for name in views.names:
        if name in texts:
            words += [word for text in texts[name] for word in TextVectorizer().build_analyzer()(text)]
        elif name in names:
            used = np.flatnonzero(np.asarray(abs(views[name]).sum(axis=0)).ravel())
            words += [str(names[name][j]).lower() for j in used]
    return dict(zip(_buckets(words).tolist(), words))


def _idf(learned: Mapping[str, Any], buckets: np.ndarray) -> np.ndarray:
    frequencies = np.zeros(BUCKETS)
    frequencies[learned["buckets"]] = learned["frequency"]
    frequency = frequencies[buckets]
    return np.log1p((learned["n_rows"] - frequency + 0.5) / (frequency + 0.5))


def _of_texts(texts: list[str], language: str | None) -> sparse.csr_array:
    hasher = FeatureHasher(BUCKETS, input_type="string", alternate_sign=False, dtype=np.float32)
    return sparse.csr_array(hasher.transform(map(TextVectorizer(language).build_analyzer(), texts)))


def _of_features(matrix: Any, names: Iterable[Any]) -> sparse.csr_array:
    rows = sparse.csr_array(matrix, dtype=np.float32)
    positive = sparse.csr_array((np.maximum(rows.data, 0), rows.indices, rows.indptr), shape=rows.shape)
    columns = _buckets([str(name).lower() for name in names])[positive.indices]
    starts = positive.indptr.copy()  # those of views cannot be written to
    counts = sparse.csr_array((positive.data, columns, starts), shape=(rows.shape[0], BUCKETS))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _buckets(words: Iterable[str]) -> np.ndarray:
    """Return where `FeatureHasher` puts words."""
    return np.abs(np.array([murmurhash3_32(word) for word in words], dtype=np.int64)) % BUCKETS
