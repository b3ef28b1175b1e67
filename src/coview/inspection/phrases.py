"""Phrases: two or three words that stand side by side in raw texts, with no function word at either end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer

from coview.preprocessing.stop_words import STOP_WORDS, detect_language

__all__ = ["count_phrases"]

LONGEST_PHRASE = 3  # words
LEAST_OBJECTS = 3  # that contain a phrase
MOST_PHRASES = 100_000
_RUN = re.compile(r"[^\W\d_][\w'’-]*(?: +[^\W\d_][\w'’-]*)*")  # words with nothing but spaces between, or one word


def count_phrases(texts: Sequence[str]) -> tuple[Any, list[str]] | None:
    """Return which texts contain which phrases (texts x phrases), and the phrases; None where there are none.

    Examples
    --------
    >>> found, names = count_phrases(["red fox", "A red fox!", "the red fox", "foxes, red"])
    >>> names, found.toarray().ravel().tolist()
    (['red fox'], [1, 1, 1, 0])
    """
    vectorizer = CountVectorizer(
        analyzer=_phrases_of(detect_language(texts) or "english"),
        min_df=LEAST_OBJECTS,
        max_features=MOST_PHRASES,
        binary=True,
    )
    try:
        found = vectorizer.fit_transform(texts)
    except ValueError:  # no phrase is in so many texts
        return None
    return found, vectorizer.get_feature_names_out().tolist()


def _phrases_of(language: str) -> Callable[[str], list[str]]:
    function_words = STOP_WORDS[language]

    def phrases(text: str) -> list[str]:
        found = []
        runs = [run.split() for run in _RUN.findall(text.lower())]
        for words in runs:
            telling = [len(word) > 1 and word not in function_words for word in words]
            for length in range(2, LONGEST_PHRASE + 1):
                for start in range(len(words) - length + 1):
                    if telling[start] and telling[start + length - 1]:
                        found.append(" ".join(words[start : start + length]))
        return found

    return phrases
