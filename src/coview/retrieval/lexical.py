"""Words that queries and objects have in common: BM25, over all words of raw texts or the named features of views.

    score(query, object) = sum_w (1 + log q_w) idf_w n_w (k + 1) / (n_w + k (1 - b + b length / mean length))

q and n count the words w of query and object; idf_w = log(1 + (N - df_w + 1/2) / (df_w + 1/2)) over the training
objects, k = 1.5 and b = 0.75 as usual. Words are hashed, so that those of new objects count although no training object
has them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations, repeat
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from coview.preprocessing.vectorizer import TextVectorizer, make_char_ngrams
from coview.preprocessing.weighting import count_documents
from coview.views.views import Views

__all__ = ["BUCKETS", "SharedWords", "count_words", "hash_words", "spell_words", "weigh_query"]

BUCKETS = 2**20  # that words are hashed to, as in scikit-learn's HashingVectorizer
ENDING, SHORTEST = 3, 3  # letters that a word may lose at its end, as those of the plural, and that are left of it

Counts = dict[str, sparse.csr_array]


@dataclass(eq=False)
class SharedWords:
    """What BM25 knows of the training objects.

    Parameters
    ----------
    pairs : list of [source, target]
        Views that have words in common, both ways.
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
    >>> words = SharedWords.learn(counts)
    >>> words.pairs
    [['a', 'b'], ['b', 'a']]
    >>> (weigh_query(counts["a"]) @ words.weigh("b", counts["b"]).T).toarray().round(2)
    array([[0.  , 0.69],
           [0.69, 0.  ]], dtype=float32)
    """

    pairs: list[list[str]]
    lengths: dict[str, float]
    languages: dict[str, str | None]
    buckets: np.ndarray
    frequency: np.ndarray
    n_rows: int

    @classmethod
    def learn(cls, counts: Counts, languages: Mapping[str, str | None] | None = None) -> SharedWords:
        """Learn frequencies of words and lengths of views; nothing where no two views have words in common.

        Parameters
        ----------
        counts : dict of sparse arrays
            Words of the training objects, as `count_words` gives them.
        languages : mapping, optional
            Language of each view's texts.
        """
        # views without common words, such as texts and visual words, are never compared by words
        pairs = _pairs_with_words(counts)
        counts = counts if pairs else {}
        frequency = np.zeros(BUCKETS, dtype=np.int64)
        for rows in counts.values():
            # over all views: a word that is rare in titles but in every body says little
            frequency += count_documents(rows)
        buckets = np.flatnonzero(frequency)
        filled = {name: int(np.count_nonzero(np.diff(rows.indptr))) for name, rows in counts.items()}
        return cls(
            pairs=pairs,
            lengths={name: float(rows.sum()) / max(filled[name], 1) for name, rows in counts.items()},
            languages=dict(languages or {}),
            buckets=buckets,
            frequency=frequency[buckets],
            n_rows=sum(filled.values()),
        )

    def count_in(self, sources: Iterable[str], target: str | None) -> bool:
        """Tell whether words count for queries of some views in a search of a view, or of all of them (None)."""
        return any(target is None or (of in sources and to == target) for of, to in self.pairs)

    def weigh(self, name: str, counts: sparse.csr_array) -> sparse.csr_array:
        """Return the weights of the words of a view's objects (rows x buckets), float32."""
        length = np.asarray(counts.sum(axis=1)).ravel() / max(self.lengths[name], 1e-12)
        # k (1 - b + b length / mean length) of the formula: repetitions count less in long texts
        scale = np.repeat(1.5 * (0.25 + 0.75 * length), np.diff(counts.indptr))
        frequencies = np.zeros(BUCKETS)
        frequencies[self.buckets] = self.frequency
        frequency = frequencies[counts.indices]
        # the idf of BM25 (Robertson and Sparck Jones), which falls to zero for words of all texts; that of
        # `compute_idf` does not
        idf = np.log1p((self.n_rows - frequency + 0.5) / (frequency + 0.5))
        weights = counts.data * 2.5 / (counts.data + scale) * idf
        return sparse.csr_array((weights.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)


def _pairs_with_words(counts: Counts) -> list[list[str]]:
    """Return the pairs of views with words in common, both ways: more than different words in one bucket explain."""
    words = {name: np.unique(rows.indices) for name, rows in counts.items()}
    pairs = []
    for a, b in permutations(words, 2):
        # expected number of buckets that both views fill by chance, and three of its standard deviations
        chance = len(words[a]) * len(words[b]) / BUCKETS
        if len(np.intersect1d(words[a], words[b])) > chance + 3 * np.sqrt(chance):
            pairs.append([a, b])
    return pairs


def count_words(
    views: Views,
    texts: Mapping[str, list[str]],
    names: Mapping[str, Any],
    languages: Mapping[str, str | None],
    short: Container[str] = (),
    known: np.ndarray | None = None,
) -> Counts:
    """Return the hashed words of each view (rows x buckets): of its texts, else of the `names` of its features.

    Of texts, without the function words of the view's language; of views of `short` texts, with the character n-grams
    of the words. `known` tells of queries and each bucket whether an indexed object has it: a word that none has counts
    as its longest beginning that one has, else as its n-grams, which count together as one word.

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
            # no signs: sums of colliding words would cancel, and counts must not be negative
            hasher = FeatureHasher(BUCKETS, input_type="pair", alternate_sign=False, dtype=np.float32)
            words = map(TextVectorizer(languages.get(name)).build_analyzer(), texts[name])
            if known is None and name not in short:  # of many long texts: each word is one
                parted: Any = (zip(row, repeat(1.0)) for row in words)
            else:
                parted = ((part for word in row for part in _parts(word, name in short, known)) for row in words)
            counts[name] = sparse.csr_array(hasher.transform(parted))
        elif name in names:
            rows = sparse.coo_array(sparse.csr_array(views[name], dtype=np.float32))
            columns = hash_words([str(word).lower() for word in names[name]])[rows.col]
            # features of measurements may be negative, which is no count of a word
            cells = (np.maximum(rows.data, 0), (rows.row, columns))
            counts[name] = sparse.csr_array(cells, shape=(rows.shape[0], BUCKETS))
            counts[name].eliminate_zeros()
    return counts


def _parts(word: str, short: bool, known: np.ndarray | None) -> list[tuple[str, float]]:
    """Return what a word counts as, and how much each counts.

    Examples
    --------
    >>> _parts("dog", True, None)
    [('dog', 1.0), ('do…', 1.0), ('…dog…', 1.0), ('…og', 1.0), ('dog…', 1.0), ('…dog', 1.0)]
    >>> known = np.zeros(BUCKETS, dtype=bool)
    >>> known[hash_words(["dog", *make_char_ngrams("dog")])] = True
    >>> _parts("dogs", True, known)
    [('dog', 1.0)]
    """
    whole, grams = [(word, 1.0)], [*make_char_ngrams(word)] if short else []
    if known is None:
        return [*whole, *((gram, 1.0) for gram in grams)]
    for stem in _stems(word):
        # of short texts the n-grams are known too; without them the bucket is that of another word
        if known[hash_words([stem, *(make_char_ngrams(stem) if short else ())])].all():
            return [(stem, 1.0)]
    return [*whole, *((gram, 1 / len(grams)) for gram in grams)]


def _stems(word: str) -> list[str]:
    """Return a word and its beginnings, up to so many letters shorter, of more than half of its letters.

    Examples
    --------
    >>> _stems("dogs"), _stems("barking"), _stems("cat")
    (['dogs', 'dog'], ['barking', 'barkin', 'barki', 'bark'], ['cat'])
    """
    least = max(len(word) - ENDING, SHORTEST, len(word) // 2 + 1)
    return [word, *(word[:end] for end in range(len(word) - 1, least - 1, -1))]


def weigh_query(counts: sparse.csr_array) -> sparse.csr_array:
    """Return the weights of the words of queries (rows x buckets), float32."""
    rows = sparse.csr_array(counts, dtype=np.float32)
    rows.data = np.minimum(rows.data, 1) + np.log(np.maximum(rows.data, 1))
    return rows


def spell_words(views: Views, texts: Mapping[str, list[str]], names: Mapping[str, Any]) -> dict[int, str]:
    """Return the word of each bucket, of the words of a query."""
    words: list[str] = []
    parts: dict[str, str] = {}  # beginnings and character n-grams count for their word
    for name in views.names:
        if name in texts:
            words += [word for text in texts[name] for word in TextVectorizer().build_analyzer()(text)]
            parts |= {part: word for word in words for part in (*make_char_ngrams(word), *_stems(word)[::-1])}
        elif name in names:
            used = np.flatnonzero(np.asarray(abs(views[name]).sum(axis=0)).ravel())
            words += [str(names[name][j]).lower() for j in used]
    spelled = [*parts.values(), *words]
    return dict(zip(hash_words([*parts, *words]).tolist(), spelled))


def hash_words(words: Iterable[str]) -> np.ndarray:
    """Return the bucket of each word: where `FeatureHasher` puts it."""
    return np.abs(np.array([murmurhash3_32(word) for word in words], dtype=np.int64)) % BUCKETS
