"""`TextVectorizer`: counts of the words of a text, or of the items of a list, with identifiers kept whole."""

from __future__ import annotations

import ast
import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.stop_words import LANGUAGES, STOP_WORDS
from coview.preprocessing.weighting import count_documents
from coview.utils import fitted_state as rules
from coview.utils.messages import listed, short
from coview.utils.parameters import NONE, TRUTH, check_parameters, frequency, instance, one_of
from coview.utils.sampling import sample_positions

__all__ = ["STOPPED", "TextVectorizer", "find_separators", "is_char_ngram", "make_char_ngrams", "read_noted_list"]

_WORD = re.compile(r"\w+(?:[-.]\w+)*(?:\+{1,2}|#)?")
_PARTS = re.compile(r"[-._]+")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")  # scripts that write words without spaces
_SYMBOLS = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")  # emoji, arrows and the like
_LONGEST = 200  # letters; what is longer is no word, but a picture or a key in text
_LETTERS = frozenset("cr")  # names of programming languages; other single letters are fragments
_REMEMBERED = 1 << 16  # parts of texts that were split; some 10 MB
_WORDS_OF_ITEM = 4  # more in the middle are clauses of sentences
_SEPARATORS = (";", "|", ",", "\t", "\n")
_ALTERNATIVES = " | "  # inside an item of a list: "python3 | python3-dev"
_NOTED = re.compile(
    r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+)(?:\s*,\s*|\s+|$)""", re.DOTALL
)  # an item of ['a', "b", 3]
_VERSION = re.compile(r"\([<>=!~]{1,3} \d[^()]*\)")  # that an item requires: "libc6 (>= 2.14)"

_FEW_TEXTS = 100  # below, every word counts: one that is there once may be all that a text says
_SHORT = 10  # words of the median text below which texts are short: alike ones seldom have whole words in common
_GOES_ON = "…"  # marks where a word goes on beyond an n-gram; no word has one

STOPPED = instance(str, list)


class TextVectorizer(CountVectorizer):
    """Count the words of texts, or the items of lists.

    A word may contain hyphens and dots ("libghc-base-dev", "node.js") and end in signs ("C++", "C#"); such a word
    counts whole and by its parts, so that "real-time" and "real time" have words in common. Words of more than 200
    letters are left out; so are numbers of one or two digits, versions, single letters other than C and R, and the
    function words of a language, but for texts that have nothing else. Japanese and Chinese texts are counted by pairs
    of characters.

    Parameters
    ----------
    stop_words : str, list of str or None, default=None
        A language, by name or code ("english" or "en"), whose function words are left out, or a list of words.
    separator : str, tuple of str or None, default=None
        The texts are lists: what stands between two separators is an item. Of several separators each one divides, so
        that ``(",", "|")`` counts alternatives by themselves. Lists written as in Python, "['red', 'sea']", are read as
        such. None for texts made of words.
    drop_versions : bool, default=False
        Leave the required versions of items out, as in "libc6 (>= 2.14)"; lists only.
    char_ngrams : bool or "auto", default=False
        Count 3 to 5 adjacent characters of each word beside the words, so that "dogs" and "dog" have something in
        common; they are spelled "do…", "…og…" and "…gs". "auto" does so for at least 100 texts of less than ten words
        at the median. Lists have none.
    min_df : int, float or "auto", default=1
        Least number (or share) of texts that a word must be in. "auto" is 1 below 100 texts, 2 below 50,000 and 5
        above, but a text without any such word keeps those that it has.
    max_df : int, float or "auto", default=1.0
        Largest number (or share) of texts that a word may be in. "auto" is a half, and all below 100 texts, but a text
        that has only words of most texts keeps them.

    Attributes
    ----------
    vocabulary_ : dict
        Column of each word.
    fixed_vocabulary_ : bool
        Whether the words were given, and not learned.
    char_ngrams_ : bool
        Whether character n-grams are counted beside words.

    Examples
    --------
    >>> from coview.preprocessing.vectorizer import TextVectorizer
    >>> TextVectorizer(stop_words="en").fit(["The C++ and R bindings of node.js 2"]).get_feature_names_out().tolist()
    ['bindings', 'c++', 'js', 'node', 'node.js', 'r']
    >>> lists = TextVectorizer(separator=",", drop_versions=True)
    >>> lists.fit(["libc6 (>= 2.14), python3-numpy"]).get_feature_names_out().tolist()
    ['libc6', 'python3-numpy']
    """

    vocabulary_: dict[str, int]
    fixed_vocabulary_: bool
    char_ngrams_: bool
    _fitted_state = {
        "vocabulary_": rules.vocabulary(),
        "fixed_vocabulary_": rules.flag(),
        "char_ngrams_": rules.flag(),
    }

    _parameters = {
        "stop_words": STOPPED | NONE,
        "separator": instance(str, tuple) | NONE,
        "drop_versions": TRUTH,
        "char_ngrams": TRUTH | one_of("auto"),
        "min_df": frequency() | one_of("auto"),
        "max_df": frequency() | one_of("auto"),
    }

    def __init__(
        self,
        stop_words: Any = None,
        *,
        separator: str | tuple[str, ...] | None = None,
        drop_versions: bool = False,
        char_ngrams: Any = False,
        min_df: Any = 1,
        max_df: Any = 1.0,
    ) -> None:
        super().__init__(min_df=min_df, max_df=max_df)
        self.stop_words = stop_words
        self.separator = separator
        self.drop_versions = drop_versions
        self.char_ngrams = char_ngrams

    def fit(self, raw_documents: Any, y: Any = None) -> TextVectorizer:
        """Learn the words of texts."""
        self.fit_transform(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the words of texts and return their counts (texts x words)."""
        check_parameters(self)
        texts = _as_texts(raw_documents)
        self.char_ngrams_ = self._needs_char_ngrams(texts)
        try:
            counter = CountVectorizer(analyzer=self.build_analyzer())
            counts = counter.fit_transform(texts)
        except ParameterError:
            raise
        except ValueError as error:  # no words at all
            why = " ".join(str(error).split())
            if why.startswith("empty vocabulary"):
                why = "its texts hold no words, or stop words alone. Read them as categories, or leave the column out."
            raise ViewsError(why) from None
        words = counter.get_feature_names_out()
        kept = np.flatnonzero(self._keep_columns(counts, words))
        if not len(kept):
            raise ViewsError("No words remain between min_df and max_df. Try a lower min_df or a higher max_df.")
        self.vocabulary_ = {word: column for column, word in enumerate(words[kept].tolist())}
        self.fixed_vocabulary_ = False
        return counts[:, kept]

    def _needs_char_ngrams(self, texts: list[Any]) -> bool:
        """Tell whether character n-grams are counted: as asked for, else where there are many short texts."""
        if self.separator is not None or self.char_ngrams != "auto":
            return self.separator is None and bool(self.char_ngrams)
        # n-grams of few texts are hardly ever in two of them, and would all be kept
        if len(texts) < _FEW_TEXTS:
            return False
        tokenize = self.build_tokenizer()
        lengths = [len(tokenize(self.decode(texts[i]))) for i in sample_positions(len(texts), 1_000)]
        return float(np.median(list(filter(None, lengths)) or [_SHORT])) < _SHORT

    def _keep_columns(self, counts: Any, words: np.ndarray) -> np.ndarray:
        """Tell of each word whether it counts."""
        n, frequency = counts.shape[0], count_documents(counts)
        least, most = self.min_df, self.max_df
        if least == "auto":
            # a word of one text joins it to no other; of very many texts, words of a few are mostly slips
            least = 1 if n < _FEW_TEXTS else 2 if n < 50_000 else 5
        if most == "auto":
            most = 1.0 if n < _FEW_TEXTS else 0.5
        common = frequency > (most * n if isinstance(most, float) else most)
        kept = ~common & (frequency >= (least * n if isinstance(least, float) else least))
        whole = np.array([not is_char_ngram(word) for word in words])
        # in short texts, or in a language of long words, every word of a text may be rare; or it is one that most have
        for bound, spared in ((self.min_df, whole & ~common), (self.max_df, whole & common)):
            if bound == "auto":
                emptied = np.flatnonzero(np.diff(counts[:, kept].indptr) == 0)
                kept |= spared & (count_documents(counts[emptied]) > 0)
        return kept

    def transform(self, raw_documents: Any) -> Any:
        """Return the counts of the learned words in texts (texts x words)."""
        texts = _as_texts(raw_documents)
        self._check_vocabulary()
        read, columns, ends = self._build_reader(), array("i"), [0]
        for text in texts:
            columns.fromlist(read(self.decode(text)))
            ends.append(len(columns))
        ones = np.ones(len(columns), dtype=np.int64)
        X = sparse.csr_matrix((ones, np.asarray(columns, dtype=np.int32), ends), (len(texts), len(self.vocabulary_)))
        X.sum_duplicates()
        return X

    def _build_reader(self) -> Callable[[str], list[int]]:
        """Return the function that turns a text into the columns of what is counted in it."""
        analyze, columns = self.build_analyzer(), self.vocabulary_

        def read(text: str) -> list[int]:
            return [columns[word] for word in analyze(text) if word in columns]

        if self.separator is not None or self.char_ngrams_:
            return read
        stop_words = self.get_stop_words()
        left = {word: column for word, column in columns.items() if word not in stop_words}
        known = _Remembered(lambda part: [left[word] for word in _split_words(part) if word in left])
        # a text of function words alone, or of none that is known, is read again by the rules for these
        return lambda text: list(chain.from_iterable(map(known.__getitem__, text.lower().split()))) or read(text)

    def get_stop_words(self) -> frozenset[str]:
        """Return the words that are left out of all texts."""
        if self.stop_words is None or self.separator is not None:
            return frozenset()
        if not isinstance(self.stop_words, str):
            return frozenset(word.lower() for word in self.stop_words)
        if self.stop_words not in LANGUAGES:
            raise ParameterError(
                f"must be a language among {listed(STOP_WORDS)}, or a list of words. Got {self.stop_words!r} instead.",
                parameter="stop_words",
            )
        return STOP_WORDS[LANGUAGES[self.stop_words]]

    def build_tokenizer(self) -> Callable[[str], list[str]]:
        """Return the function that splits a text into words, or a list into items."""
        if self.separator is None:
            return lambda text: _split_text(text.lower()) or _find_fragments(text.lower())
        between = re.compile("|".join(map(re.escape, self._separators())))

        def split(text: str) -> list[str]:
            noted = read_noted_list(text)
            if noted is not None:
                return noted
            bare = _VERSION.sub("", text) if self.drop_versions else text
            return [item for item in map(str.strip, between.split(bare)) if item]

        return split

    def build_analyzer(self) -> Callable[[Any], list[str]]:
        """Return the function that turns a text into what is counted."""
        tokenize, stop_words = self.build_tokenizer(), self.get_stop_words()
        characters = getattr(self, "char_ngrams_", False)

        def analyze(text: Any) -> list[str]:
            every = tokenize(self.decode(text))
            words = [word for word in every if word not in stop_words]
            # a text of function words alone has nothing else to be known by; words that were listed stay out
            if not words and isinstance(self.stop_words, str):
                words = every
            parts = (part for word in words for part in make_char_ngrams(word)) if characters else ()
            return [*words, *parts]

        return analyze

    def _separators(self) -> tuple[str, ...]:
        separators = self.separator if isinstance(self.separator, tuple) else (self.separator,)
        if not separators or not all(isinstance(sign, str) and sign for sign in separators):
            raise ParameterError(
                f"must be a text such as ',', a tuple of such texts or None, got {short(self.separator)}.",
                parameter="separator",
            )
        return separators  # type: ignore[return-value]

    def _check_stop_words_consistency(self, *_: Any) -> None:
        """Pass: stop words are compared with words after splitting, so there is nothing to warn of."""


def make_char_ngrams(word: str) -> Iterator[str]:
    """Character n-grams of a word, with an ellipsis where the word goes on.

    Examples
    --------
    >>> list(make_char_ngrams("dogs"))
    ['do…', '…dog…', '…ogs…', '…gs', 'dog…', '…dogs…', '…ogs', 'dogs…', '…dogs']
    """
    # compound words are counted by their parts as well, and pairs of ideographs are n-grams already
    if len(word) < 3 or _PARTS.search(word):
        return
    padded = f" {word} "
    for n in (3, 4, 5):  # the lengths that most text classifiers by characters use
        for first in range(len(padded) - n + 1):
            part = padded[first : first + n]
            if part != padded:  # that is the word
                yield f"{'' if part[0] == ' ' else _GOES_ON}{part.strip()}{'' if part[-1] == ' ' else _GOES_ON}"


def is_char_ngram(feature: str) -> bool:
    """Tell the character n-grams of `TextVectorizer` from its words, for people to whom they say nothing.

    Examples
    --------
    >>> is_char_ngram("dogs"), is_char_ngram("dog…")
    (False, True)
    """
    return _GOES_ON in (feature[:1], feature[-1:])


def _as_texts(documents: Any) -> list[Any]:
    if isinstance(documents, (str, bytes)) or sparse.issparse(documents) or not isinstance(documents, Iterable):
        raise ViewsError(f"TextVectorizer needs a list of texts, got {short(documents)}.")
    texts = list(documents)
    for number, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise ViewsError(f"TextVectorizer needs texts, but entry {number} is {short(text)}.")
    return texts


def find_separators(cells: Sequence[Any]) -> str | tuple[str, str]:
    """Return the sign between the items of lists: the one that most texts contain; a space where there is none.

    Where a comma or a semicolon stands between the items and some items are alternatives, "python3 | python3-dev",
    their sign comes second. Signs inside required versions, "(>= 2.14)", do not count. Lists that are no texts, or are
    written as in Python, have the sign that is in none of their items.

    Examples
    --------
    >>> find_separators(["red; blue", "red"]), find_separators(["libc6, python3 | python3-dev", "libc6, perl"])
    (';', (',', ' | '))
    """
    noted = [read_noted_list(cell) if isinstance(cell, str) else None for cell in cells]
    some = [cell if items is None else items for cell, items in zip(cells, noted)]
    bare = [_VERSION.sub("", cell) for cell in some if isinstance(cell, str)]
    if not bare:
        items = {str(item) for cell in some if cell is not None for item in cell}
        return next((sign for sign in ",;|" if not any(sign in item for item in items)), "\n")
    counts = {sign: sum(sign in text for text in bare) for sign in _SEPARATORS}
    first = max(counts, key=lambda sign: counts[sign]) if any(counts.values()) else " "
    # of a hundred lists, or else the sign belongs to an item
    divides = first in (",", ";") and 100 * sum(_ALTERNATIVES in text for text in bare) >= len(bare)
    return (first, _ALTERNATIVES) if divides else first


def are_lists(texts: Sequence[str]) -> bool:
    """Tell whether most texts are items with a sign between them that come again in others.

    Between commas may stand the clauses of sentences, which are no items, though they come again in ads and forms.

    Examples
    --------
    >>> are_lists(["red;old", "old;new", "red;new"]), are_lists(["a fox, red", "the sea, blue"])
    (True, False)
    >>> are_lists(["We bake, and you sell."] * 2), are_lists(["your task is to bake bread, our hours are flexible"] * 2)
    (False, False)
    """
    sign = find_separators(texts)
    lists = list(map(TextVectorizer(separator=sign).build_tokenizer(), texts))
    if sign == " " or 2 * sum(len(items) > 1 for items in lists) < len(texts):
        return False
    items = [item for items in lists for item in items]
    if sign == ",":
        closed = sum(isinstance(text, str) and text.rstrip().endswith((".", "!", "?")) for text in texts)
        lengths = sorted(item.count(" ") + 1 for item in items)
        if 2 * closed > len(texts) or lengths[len(lengths) // 2] > _WORDS_OF_ITEM:
            return False
    return sign == "|" or 2 * len(set(items)) <= len(items)  # that sign is in no text


def holds_ideographs(texts: Sequence[str]) -> bool:
    """Tell whether most texts are in a script without spaces between the words, or emoji."""
    return 2 * sum(bool(_IDEOGRAPHS.search(text) or _SYMBOLS.match(text)) for text in texts) > len(texts)


def read_noted_list(text: str) -> list[str] | None:
    """Return the items of a list written as in Python, NumPy or JSON; None of other texts.

    Examples
    --------
    >>> read_noted_list("['a, b', 'c']"), read_noted_list("['a' 'b'\\n 'c']"), read_noted_list('["a", 3]')
    (['a, b', 'c'], ['a', 'b', 'c'], ['a', '3'])
    >>> read_noted_list("[]"), read_noted_list("[a, b]"), read_noted_list("[1-2]"), read_noted_list('["a", null]')
    ([], None, None, ['a'])
    """
    bare = text.strip()
    if not (bare[:1] + bare[-1:] in ("[]", "()", "{}") and len(bare) > 1):
        return None
    with suppress(ValueError):
        noted = json.loads(bare)
        if isinstance(noted, list) and all(isinstance(item, (str, int, type(None))) for item in noted):
            return [text for item in noted if item is not None and (text := str(item).strip())]
    inside, items, end = bare[1:-1].strip(), list[str](), 0
    while found := _NOTED.match(inside, end):  # item by item: a search would look at long texts many times
        items.append(found[1])
        end = found.end()
    if end < len(inside):
        return None
    try:
        read = [(ast.literal_eval(item) if item[0] in "\"'" else item).strip() for item in items]
    except (SyntaxError, ValueError):  # an escape that is none
        return None
    return [item for item in read if item]


class _Remembered(dict[str, tuple[Any, ...]]):
    """What is read in the parts of texts between spaces, in lower case: most come again."""

    def __init__(self, read: Callable[[str], Iterable[Any]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, part: str) -> tuple[Any, ...]:
        found = tuple(self._read(part))
        if len(part) <= _LONGEST and not _IDEOGRAPHS.search(part):  # a line without spaces hardly comes again
            if len(self) >= _REMEMBERED:
                self.clear()
            self[part] = found
        return found


def _split_text(text: str) -> list[str]:
    """Words of a text in lower case, of which none goes beyond a space."""
    return list(chain.from_iterable(map(_known_words.__getitem__, text.split())))


def _split_words(text: str) -> Iterator[str]:
    """Words in lower case, long ones with their parts."""
    for word in _WORD.findall(text):
        if len(word) > _LONGEST and not _IDEOGRAPHS.search(word):
            continue
        if word.isascii() and word.isalpha():  # most words: nothing to look at
            if len(word) > 1 or word in _LETTERS:
                yield word
            continue
        if not word.isascii() and _IDEOGRAPHS.search(word):
            for run in _IDEOGRAPHS.findall(word):
                yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
            yield from _split_words(
                _IDEOGRAPHS.sub(" ", word)
            )  # such as "API", which stands among them without a space
            continue
        word = word.strip("_")
        if _count_terms(word):
            yield word
        parts = _PARTS.split(word)
        if len(parts) > 1:
            yield from filter(_count_terms, parts)


_known_words = _Remembered(_split_words)


def _find_fragments(text: str) -> list[str]:
    """Single letters and small numbers, or else emoji: of a text that has nothing else, they are what it says."""
    return [word for word in _WORD.findall(text) if len(word) <= _LONGEST] or _SYMBOLS.findall(text)


def _count_terms(word: str) -> bool:
    """Tell whether a word says something: not a fragment, a small number or a version."""
    if len(word) < 2:
        return word in _LETTERS
    return not word[0].isdigit() or (word.isdigit() and 3 <= len(word) <= 6) or any(map(str.isalpha, word))
