"""Words that queries and objects have in common: BM25, over all words of raw texts or the named features of views.

    score(query, object) = sum_w (1 + log q_w) idf_w n_w (k + 1) / (n_w + k (1 - b + b length / mean length))

q and n count the words w of query and object; idf_w = log(1 + (N - df_w + 1/2) / (df_w + 1/2)) over the training
objects, k = 1.5 and b = 0.75. Words are hashed, so that those of new objects count although no training object has
them. Beside a score of another kind, that of words counts by a share for each pair of views, as a share of the score of
the best object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from coview.preprocessing.vectorizer import TextVectorizer
from coview.preprocessing.weighting import document_frequency
from coview.views.views import Views

__all__ = [
    "BUCKETS",
    "SharedWords",
    "best_share",
    "count_words",
    "hash_words",
    "pairs_with_words",
    "spell_words",
    "weigh_query",
]

BUCKETS = 2**20
SATURATION, LENGTH = 1.5, 0.75  # k and b
SHARES = (0.0, 0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)  # that are tried

Counts = dict[str, sparse.csr_array]


@dataclass(eq=False)
class SharedWords:
    """What BM25 knows of the training objects, and how much it counts for each pair of views.

    Parameters
    ----------
    shares : dict
        ``{source: {target: share}}``: share of the score that is BM25, by the views of query and object.
    lengths : dict
        Mean number of words, by view; views without words are not in it.
    languages : dict
        Language of the texts, by view, whose function words do not count.
    buckets, frequency : ndarray
        The (hashed) words of the training objects, and in how many texts each of them is.
    n_rows : int
        Number of texts.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(a=np.eye(2), b=np.eye(2), feature_names={"a": ["sea", "fox"], "b": ["fox", "sea"]})
    >>> counts = count_words(X, {}, X.feature_names, {})
    >>> pairs_with_words(counts)
    [('a', 'b'), ('b', 'a')]
    >>> words = SharedWords.learn(counts, X.names)
    >>> (weigh_query(counts["a"]) @ words.weigh("b", counts["b"]).T).toarray().round(2)
    array([[0.  , 0.69],
           [0.69, 0.  ]], dtype=float32)
    """

    shares: dict[str, dict[str, float]]
    lengths: dict[str, float]
    languages: dict[str, str | None]
    buckets: np.ndarray
    frequency: np.ndarray
    n_rows: int

    @classmethod
    def learn(
        cls, counts: Counts, views: Iterable[str], languages: Mapping[str, str | None] | None = None
    ) -> SharedWords:
        """Learn frequencies of words and lengths of views; no share of the score is set yet.

        Parameters
        ----------
        counts : dict of sparse arrays
            Words of the training objects, as `count_words` gives them.
        views : iterable of str
            Names of all views.
        languages : mapping, optional
            Language of each view's texts.
        """
        names = list(views)
        frequency = np.zeros(BUCKETS, dtype=np.int64)
        for rows in counts.values():
            frequency += document_frequency(rows)
        buckets = np.flatnonzero(frequency)
        filled = {name: int(np.count_nonzero(np.diff(rows.indptr))) for name, rows in counts.items()}
        return cls(
            shares={source: dict.fromkeys(names, 0.0) for source in names},
            lengths={name: float(rows.sum()) / max(filled[name], 1) for name, rows in counts.items()},
            languages=dict(languages or {}),
            buckets=buckets,
            frequency=frequency[buckets],
            n_rows=sum(filled.values()),
        )

    def share(self, sources: Iterable[str], target: str | None) -> float:
        """Return the share of the score that is BM25.

        Parameters
        ----------
        sources : iterable of str
            Views of the query, over which the mean is taken.
        target : str or None
            View that is searched; where all are, the largest share of all pairs counts.
        """
        if target is None:
            return max((share for shares in self.shares.values() for share in shares.values()), default=0.0)
        return float(np.mean([self.shares[name][target] for name in sources]))

    def searched(self) -> set[str]:
        """Return the views in which words count."""
        return {target for shares in self.shares.values() for target, share in shares.items() if share}

    def weigh(self, name: str, counts: sparse.csr_array) -> sparse.csr_array:
        """Return the weights of the words of a view's objects (rows x buckets), float32."""
        length = np.asarray(counts.sum(axis=1)).ravel() / max(self.lengths[name], 1e-12)
        scale = np.repeat(SATURATION * (1 - LENGTH + LENGTH * length), np.diff(counts.indptr))
        weights = counts.data * (SATURATION + 1) / (counts.data + scale) * self._idf(counts.indices)
        return sparse.csr_array((weights.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)

    def _idf(self, buckets: np.ndarray) -> np.ndarray:
        frequencies = np.zeros(BUCKETS)
        frequencies[self.buckets] = self.frequency
        frequency = frequencies[buckets]
        return np.log1p((self.n_rows - frequency + 0.5) / (frequency + 0.5))


def pairs_with_words(counts: Counts) -> list[tuple[str, str]]:
    """Return the pairs of views with words in common, both ways: more than different words in one bucket explain."""
    words = {name: np.unique(rows.indices) for name, rows in counts.items()}
    pairs = []
    for a, b in permutations(words, 2):
        chance = len(words[a]) * len(words[b]) / BUCKETS
        if len(np.intersect1d(words[a], words[b])) > chance + 3 * np.sqrt(chance):
            pairs.append((a, b))
    return pairs


def best_share(positions: np.ndarray, words: np.ndarray, own: np.ndarray) -> float:
    """Return the share of words with which queries find their own object best; 0 where the gain may be chance.

    Parameters
    ----------
    positions, words : ndarray (n_queries, n_objects)
        Scores of another kind, and BM25 as a share of the best object's.
    own : ndarray of int (n_queries,)
        Column of the object that belongs to each query.

    Examples
    --------
    >>> best_share(np.zeros((4, 4)), np.eye(4), np.arange(4))
    0.1
    """
    ranks = np.array([_reciprocal_ranks((1 - share) * positions + share * words, own) for share in SHARES])
    best = int(ranks.mean(axis=1).argmax())
    gain = ranks[best] - ranks[0]
    return float(SHARES[best]) if gain.mean() > gain.std() / np.sqrt(len(gain)) else 0.0


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
    return dict(zip(hash_words(words).tolist(), words))


def hash_words(words: Iterable[str]) -> np.ndarray:
    """Return the bucket of each word: where `FeatureHasher` puts it."""
    return np.abs(np.array([murmurhash3_32(word) for word in words], dtype=np.int64)) % BUCKETS


def _reciprocal_ranks(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return 1 / rank of each row's own column; ties count against it."""
    return 1 / (scores >= scores[np.arange(len(own)), own][:, None]).sum(axis=1)


def _of_texts(texts: list[str], language: str | None) -> sparse.csr_array:
    hasher = FeatureHasher(BUCKETS, input_type="string", alternate_sign=False, dtype=np.float32)
    return sparse.csr_array(hasher.transform(map(TextVectorizer(language).build_analyzer(), texts)))


def _of_features(matrix: Any, names: Iterable[Any]) -> sparse.csr_array:
    rows = sparse.csr_array(matrix, dtype=np.float32)
    positive = sparse.csr_array((np.maximum(rows.data, 0), rows.indices, rows.indptr), shape=rows.shape)
    columns = hash_words([str(name).lower() for name in names])[positive.indices]
    starts = positive.indptr.copy()  # those of views cannot be written to
    counts = sparse.csr_array((positive.data, columns, starts), shape=(rows.shape[0], BUCKETS))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts
