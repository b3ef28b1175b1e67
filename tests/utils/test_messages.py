"""What errors quote is short, whatever a user gave."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.preprocessing import Normalizer

from coview import (
    CCAClustering,
    CrossModalRetriever,
    EachView,
    LinkPLSA,
    MultiViewNaiveBayes,
    NeighborViews,
    PairwiseCoPLSA,
    SeededKMeansClassifier,
    TableViews,
    TextViews,
    TfidfViews,
    Views,
)
from coview.exceptions import InterruptedFitWarning, ViewsError
from coview.utils import messages
from coview.utils.messages import cut, did_you_mean, listed, printable, short
from coview.utils.warn import silenced

LONG = "a text that goes on " * 500


@pytest.mark.parametrize("value", [LONG, [LONG], {"a": LONG}, list(range(10_000)), np.arange(10_000)])
def test_a_quoted_value_is_short_and_stands_on_one_line(value):
    assert len(short(value)) <= 48 and "\n" not in short(value) and "..." in short(value)


def test_what_is_short_is_quoted_whole():
    assert short("it's") == repr("it's") and short(3.5) == "3.5" and cut("a\n b") == "a b"


def test_a_list_of_many_names_says_how_many_more():
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed([f"c{i}" for i in range(21)]).count("'c") == 21  # one more is named as quickly as counted
    assert listed([f"c{i}" for i in range(900)]).endswith("'c19' and 880 others")


@pytest.mark.parametrize(
    "texts", [np.array([LONG, "b"], dtype=object), np.array([LONG, "b"]), [LONG, "b"]], ids=["objects", "array", "list"]
)
def test_texts_where_numbers_are_needed_are_not_quoted_whole(texts):
    with pytest.raises(ViewsError, match="TextViews") as caught:
        Views(words=texts)
    assert len(str(caught.value)) < 250


X = Views(words=np.eye(4), links=np.eye(4))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: X.select("wrods"),
        lambda: X["Words"],
        lambda: Views(words=np.eye(2), feature_names={"word": ["a", "b"]}),
        lambda: LinkPLSA(2, view_weights={"word": 2}).fit(X),
        lambda: PairwiseCoPLSA(2, init={"memberships_by_view": {"word": np.ones((4, 2))}}).fit(X),
        lambda: LinkPLSA(2, max_iter=1).fit(X).transform(X.rename({"words": "wrods"})),
        lambda: TfidfViews(views=["wrods"]).fit(X),
        lambda: EachView({"wrods": Normalizer()}).fit(X),
        lambda: NeighborViews("link").fit(X),
        lambda: CrossModalRetriever().fit(X).indexed_ids("wrods"),
        lambda: TextViews({"words": "body"}, vectorizer={"word": None}).fit({"body": ["a", "b"]}),
    ],
)
def test_a_view_that_was_meant_is_named(ask):
    with pytest.raises(ValueError, match=r"Did you mean '(words|links)'\?"):
        ask()


def test_names_that_are_far_off_are_not_suggested():
    assert did_you_mean("image", ["words", "links"]) == ""
    assert did_you_mean("plsa", ["DualPLSA", "PLSA", "SiftWords"], most=2) == " Did you mean 'PLSA' or 'DualPLSA'?"
    assert did_you_mean(3, [1, 2]) == ""


IDS = [f"doc-{i:07d}" for i in range(50_000)]


@pytest.mark.parametrize("asked", ["doc-00123456", "Doc-0012x45", "x" * 10_000, ""])
def test_a_name_is_compared_with_few_of_many(asked, monkeypatch):
    seen = []
    compare = messages.difflib.get_close_matches

    def counted(word, possibilities, **options):
        seen.append(len(word) ** 2 * len(possibilities))
        assert len(possibilities) <= 2_000
        return compare(word, possibilities, **options)

    monkeypatch.setattr(messages.difflib, "get_close_matches", counted)
    near = messages.find_close_names(asked, IDS, 1)
    assert bool(near) == asked.lower().startswith("do")
    assert seen and seen[0] <= 2_000_000


def test_control_characters_are_written_out():
    assert printable("a\x1b[2Jb\x07\x9bc\u202ed\ud800") == r"a\x1b[2Jb\x07\x9bc\u202ed\ud800"
    assert printable("a\tb\nc\rd") == r"a\tb\nc\rd" and printable("a\tb\nc\rd", lines=True) == "a\tb\nc\\rd"
    assert printable("Zürich 東京 🦊 \\x1b") == "Zürich 東京 🦊 \\x1b" and printable(3) == "3"
    every = printable("".join(map(chr, range(0x3000))))
    assert every.encode() and not any(sign in every for sign in map(chr, [*range(32), *range(127, 160)]))


# -- Warnings about a user's data name the user's line, however deep in coview they are found

X_OF_WARN = np.random.default_rng(0).poisson(1.0, (40, 6))
Y = np.arange(40) % 2
NAMES = [f"w{i}" for i in range(6)]


def columns_in_another_order(folder):
    model = CCAClustering(2, random_state=0).fit(
        Views(a=X_OF_WARN, b=X_OF_WARN, feature_names={"a": NAMES, "b": NAMES})
    )
    model.predict(Views(a=X_OF_WARN, b=X_OF_WARN, feature_names={"a": NAMES[::-1], "b": NAMES}))


def columns_that_are_absent(folder):
    model = MultiViewNaiveBayes().fit(Views(a=X_OF_WARN, feature_names={"a": NAMES}), Y)
    model.predict_proba(Views(a=X_OF_WARN[:, 1:], feature_names={"a": NAMES[1:]}))


def classes_with_one_label(folder):
    labels = np.full(40, -1)
    labels[:2] = 0, 1
    SeededKMeansClassifier(view_weights="held_out").fit(Views(a=X_OF_WARN, b=X_OF_WARN), labels)


def categories_that_are_texts(folder):
    TableViews(columns={"facts": ["note"]}).fit_transform({"note": [f"text {i}" for i in range(40)]})


def labels_in_a_column(folder):
    MultiViewNaiveBayes().fit(Views(a=X_OF_WARN), Y[:, None])


@pytest.mark.parametrize(
    "work",
    [
        columns_in_another_order,
        columns_that_are_absent,
        classes_with_one_label,
        categories_that_are_texts,
        labels_in_a_column,
    ],
)
def test_the_line_is_the_users(work, tmp_path):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        work(tmp_path)
    assert heard and {each.filename for each in heard} == {__file__}


def test_two_threads_that_are_silent_at_once_leave_the_filters_as_they_were():
    before, both, first_is_out = list(warnings.filters), threading.Barrier(2, timeout=60), threading.Event()

    def work(comes_first):
        with silenced(but=InterruptedFitWarning):
            both.wait()
            if not comes_first:
                assert first_is_out.wait(60)
                warnings.warn("not converged", UserWarning, stacklevel=1)  # still silent: an error if it is not
        first_is_out.set()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inside = list(warnings.filters)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, (True, False)))
        assert warnings.filters == inside
    assert warnings.filters == before
