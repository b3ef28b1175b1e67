"""`TextVectorizer`, stop words, and the defaults of `TextViews` for texts and lists."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from coview import PLSA, TableViews, TextVectorizer, TextViews, inspect
from coview.exceptions import ViewsError
from coview.inspection.features import described_features, top_features
from coview.preprocessing.stop_words import STOP_WORDS, detect_language
from coview.preprocessing.vectorizer import find_separators, is_char_ngram, read_noted_list

SENTENCES = {
    "english": "The fox is in the garden and it was looking for something to eat",
    "german": "Der Fuchs ist in dem Garten und hat nach etwas zu essen gesucht",
    "french": "Le renard est dans le jardin et il cherche quelque chose pour manger",
    "spanish": "El zorro está en el jardín y busca algo para comer con los otros",
    "italian": "La volpe è nel giardino e cerca qualcosa per mangiare con gli altri",
    "portuguese": "A raposa está no jardim e não procura uma coisa para comer com os outros",
    "dutch": "De vos is in de tuin en zoekt naar iets om te eten voor het donker wordt",
    "swedish": "Räven är i trädgården och letar efter något att äta som inte är för litet",
    "danish": "Ræven er i haven og leder efter noget at spise, som ikke er for lidt, hvor jeg er",
    "norwegian": "Reven er i hagen og leter etter noe å spise som ikke er for lite, jeg vil være der",
    "russian": "Лиса в саду, и она ищет что то, чтобы поесть, но не может",
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("libghc-base-dev", ["libghc-base-dev", "libghc", "base", "dev"]),
        ("R and C++, C# or C", ["r", "and", "c++", "c#", "or", "c"]),
        ("Node.js 3.11.2 in 2048", ["node.js", "node", "js", "in", "2048"]),
        ("GTK+ x86_64 __init__ it's", ["gtk+", "x86_64", "x86", "init", "it"]),
        *(("a b fox 7 42 1234567", ["fox"]), ("p 42", ["p", "42"]), ("== !", []), ("東京都 x", ["東京", "京都"])),
        *(("木", ["木"]), ("のAPIを使", ["の", "を使", "api"]), ("", [])),
    ],
)
def test_words(text, words):
    assert TextVectorizer().build_analyzer()(text) == words


def test_plain_words_are_those_of_count_vectorizer():
    texts = list(SENTENCES.values())
    ours, theirs = TextVectorizer(), CountVectorizer()
    assert (ours.fit_transform(texts) != theirs.fit_transform(texts)).nnz == 0
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("language", SENTENCES)
def test_languages_are_told_apart(language):
    assert detect_language([SENTENCES[language]] * 3) == language
    words = TextVectorizer(language).build_analyzer()(SENTENCES[language])
    assert words
    assert not set(words) & STOP_WORDS[language]


def test_texts_without_sentences_are_in_no_language():
    assert detect_language(["numpy scipy", "red fox"]) is None
    assert detect_language([]) is None
    assert detect_language(["red fox den", "blue sea", "red den"]) is None  # "den" is an article in German
    assert detect_language(["http www linux org", "http www gnu org"]) is None


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        *((["a, b", "c"], ","), (["a;b, c", "d;e"], ";"), (["a|b"], "|"), (["a b", "c"], " "), ([["a"], None], ",")),
        *((["a, b | c", "d, e"], (",", " | ")), (["a, b | c", *["a, b"] * 1000], ",")),
        *((["a, b | c", *["a, b"] * 99], (",", " | ")), (["Doe, J. | Roe, R.", "Low, T. | Doe, J."], "|")),
        (["a (>= 1, << 2); b", "c (>= 1, << 2)"], ";"),
    ],
)
def test_separators_are_recognized(texts, separator):
    assert find_separators(texts) == separator


DEPENDS = {
    "depends": ["libc6 (>= 2.14), python3 | python3-dev (>= 3.9, << 4)", "libc6, perl", "mawk | perl (= 5), sed"]
}


def test_alternatives_are_items_and_required_versions_are_none():
    X = TextViews(tokens="depends").fit_transform(DEPENDS)
    assert X.feature_names["depends"].tolist() == ["libc6", "mawk", "perl", "python3", "python3-dev", "sed"]
    assert X["depends"].toarray().tolist() == [[1, 0, 0, 1, 1, 0], [1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 1]]
    given = TextViews({}, tokens={"depends": ("depends", ",")}).fit_transform(DEPENDS)  # and none but that
    items = [item.strip() for text in DEPENDS["depends"] for item in text.split(",")]
    assert given.feature_names["depends"].tolist() == sorted(set(items))


LISTS = [["red", "blue, dark"], ["green"], [], ["it's", "red"]]


@pytest.mark.parametrize("write", [str, json.dumps, lambda items: str(np.array(items, dtype=object)), tuple])
def test_lists_in_notation_are_read_as_lists(write):
    texts = [write(items) if write is not tuple else str(tuple(items)) for items in LISTS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TextViews({}, tokens="tags").fit({"tags": texts})
    assert sorted(model.vectorizers_["tags"].vocabulary_) == ["blue, dark", "green", "it's", "red"]
    for again in (texts, LISTS):
        assert model.transform({"tags": again})["tags"].toarray().sum(axis=1).tolist() == [2, 1, 0, 2]
    assert model.list_columns()["tags"](texts[0]) == LISTS[0]


@pytest.mark.parametrize(
    "text", ["[a, b]", "['a', b]", "[0.5, 1.0]", "['a'", "['\\x']", "[", "['a'] and ['b']", "['a', ...]"]
)
def test_what_is_no_list_in_notation_is_split_by_its_separator(text):
    assert read_noted_list(text) is None
    assert TextVectorizer(separator=";").build_tokenizer()(f"{text}; c") == [text, "c"]


def test_only_required_versions_are_left_out():
    table = {"tags": ["age (<18), income (>50K), a (>= 2.14)", "age (>=65), income (<=50K), a(= 1:5)"]}
    items = ["age (<18)", "age (>=65)", "income (<=50K)", "income (>50K)"]
    assert TextViews(tokens="tags").fit_transform(table).feature_names["tags"].tolist() == ["a", *items]
    X = TextViews({}, tokens={"tags": ("tags", ",")}).fit_transform(table)
    assert X.feature_names["tags"].tolist() == ["a (>= 2.14)", "a(= 1:5)", *items]


@pytest.mark.parametrize("piece", [" ", "(> ", "(>= 1"])
def test_long_texts_of_lists_are_read_once(piece):
    """The number of characters that a search looks at grows with its text; a million would never end otherwise."""
    for begin in ("['", "[1", "['a' ", "['\\'"):
        assert read_noted_list(f"{begin}{piece * 300_000};]") is None
    text = "a (>= 1" + piece * 300_000
    assert find_separators([text]) == " "
    assert TextVectorizer(separator=",", drop_versions=True).build_analyzer()(text)


def _texts(n):
    rng = np.random.default_rng(0)
    words = np.array([f"word{i:03}" for i in range(200)])
    return [f"The common thing is {' and '.join(rng.choice(words, 5))}" for _ in range(n)] + ["only one unique"]


def test_defaults_leave_out_function_words_and_rare_and_common_ones():
    model = TextViews().fit({"body": [f"{text} {text}" for text in _texts(300)]})
    names = model.vectorizers_["body"].get_feature_names_out().tolist()
    assert model.stop_words_ == {"body": "english"}
    assert len(names) > 190
    assert "common" not in names
    # the last text has no other words; it is not left without any
    assert [name for name in names if not name.startswith("word")] == ["unique"]


@pytest.mark.parametrize("front", [TextViews(stop_words="en"), TextViews({}, tokens="text"), TableViews("text")])
@pytest.mark.parametrize("texts", [["open"] * 150 + ["closed"] * 50, ["more fox"] * 110 + ["more", "9"], ["red"] * 120])
def test_no_text_that_has_words_is_left_without_any(front, texts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = clone(front).fit_transform({"text": texts})
    assert X["text"].sum(axis=1).min() > 0


def test_groups_are_named_and_described_by_words_alone():
    X = TextViews().fit_transform(["barking dog", "sleepy dog", "red flag", "blue flag"] * 50)
    assert any(map(is_char_ngram, X.feature_names["text"]))
    model = inspect(PLSA(2, random_state=0).fit(X))
    shown = [
        name
        for group in top_features(described_features(model, "text"), model.feature_names("text"))
        for name, _, _ in group
    ]
    assert {"dog", "flag"} <= set(shown) <= {"barking", "dog", "sleepy", "red", "blue", "flag"}
    assert not any("…" in name for name in model.group_names)


@pytest.mark.parametrize("stop_words", [("fox",), "klingon"])
def test_what_are_no_stop_words_is_refused(stop_words):
    with pytest.raises(ValueError, match=r"stop_words.* must be a (str|language) among"):
        TextViews(stop_words=stop_words).fit(["red fox", "blue sea"])


def test_what_is_too_long_to_be_a_word_is_left_out():
    words = TextVectorizer().build_analyzer()(f"red {'x' * 201} {'y' * 200} {'x-' * 101}z")
    assert words == ["red", "y" * 200]
    assert len(TextVectorizer().build_analyzer()("使う" * 200)) == 399


@pytest.mark.parametrize("asked", [{"min_df": 5}, {"stop_words": ["red", "fox"]}])
def test_what_is_asked_for_is_not_dropped_where_it_leaves_nothing(asked):
    with pytest.raises(ViewsError, match="View 'text' cannot be built"):
        TextViews(**asked).fit(["red fox", "fox", "red"])


def test_a_rare_word_counts_only_where_a_text_has_no_other():
    texts = [f"fox {'sea' if i % 2 else 'hill'} rare{i}" for i in range(120)] + ["solitary"]
    words = set(TextVectorizer(min_df="auto", max_df=1.0).fit(texts).vocabulary_)
    assert words == {"fox", "sea", "hill", "solitary"}
    words = set(TextVectorizer(min_df=2).fit(texts).vocabulary_)  # what is asked for holds
    assert words == {"fox", "sea", "hill"}
