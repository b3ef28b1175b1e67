"""EmbeddingViews: batches, duplicates, a cache by content, answers checked, and encoders that no file decides on."""

import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from coview import ConcatenatedViews, EmbeddingViews, SphericalKMeans, TableViews, inspect, load, save
from coview.exceptions import ModelFileError, ParameterError, ViewsError

TEXTS = ["red fox", "blue sea", None, "red fox", "", "the sea at night", "blue sea"]


class Letters:
    """Counts of three letters, and what it was asked."""

    def __init__(self, dtype=np.float32, letters="eas"):
        self.batches: list[list[str]] = []
        self.dtype, self.letters = dtype, letters

    def __call__(self, texts):
        assert isinstance(texts, list)
        self.batches.append(texts)
        return np.array([[text.count(letter) for letter in self.letters] for text in texts], dtype=self.dtype)

    @property
    def asked(self):
        return [text for batch in self.batches for text in batch]


EXPECTED = np.array([[0 if text is None else text.count(letter) for letter in "eas"] for text in TEXTS])


# -- vectors


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_batches_do_not_matter_and_duplicates_are_computed_once(batch_size):
    encode = Letters()
    X = EmbeddingViews(encode, batch_size=batch_size).fit_transform(TEXTS)
    np.testing.assert_array_equal(X["text"], EXPECTED)
    assert max(map(len, encode.batches)) == min(batch_size, 4)
    assert encode.asked == ["red fox", "blue sea", "", "the sea at night"]


@pytest.mark.parametrize(
    "make",
    [dict, pd.DataFrame, pl.DataFrame, lambda table: [{"body": text} for text in table["body"]]],
    ids=["dict", "pandas", "polars", "rows"],
)
def test_each_text_gets_its_vector_in_order(make):
    X = EmbeddingViews(Letters(), {"meaning": "body"}).fit_transform(make({"body": TEXTS}))
    assert X.names == ("meaning",) and X["meaning"].dtype == np.float32
    np.testing.assert_array_equal(X["meaning"], EXPECTED)
    assert X.present.ravel().tolist() == [text is not None for text in TEXTS]


def test_lists_and_objects_with_encode_will_do():
    plain = Letters()

    class Model:
        def __call__(self, features):
            raise AssertionError("a model of torch is a function, but not from texts")

        def encode(self, texts):
            return plain(texts)

    def each(texts):
        yield from plain(texts)

    for encoder in (lambda texts: plain(texts).tolist(), Model(), each):
        np.testing.assert_array_equal(EmbeddingViews(encoder).fit_transform(TEXTS)["text"], EXPECTED)


def test_one_encoder_by_view():
    table = {"a": ["sea", "eel"], "b": ["fox", "ox"]}
    front = EmbeddingViews({"a": Letters(), "b": Letters(letters="xo")}, {"a": "a", "b": "b"})
    assert front.fit_transform(table).n_features == {"a": 3, "b": 2}
    assert front.transform({"b": ["ox"]})["b"].tolist() == [[1.0, 1.0]]


def test_images_are_arrays():
    images = [np.full((2, 2, 3), value, dtype=np.uint8) for value in (1, 2, 1)]
    seen = []

    def brightness(batch):
        seen.extend(batch)
        return [[float(np.mean(image))] for image in batch]

    assert EmbeddingViews(brightness).fit_transform(images)["text"].ravel().tolist() == [1, 2, 1] and len(seen) == 2


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda texts: np.ones(len(texts)), r"returned an array of shape \(4,\) and type float64 for 4 items"),
        (lambda texts: np.ones((2, 3)), r"returned an array of shape \(2, 3\) and"),
        (lambda texts: np.full((4, 2), np.nan), "returned NaN or infinity"),
        (lambda texts: [[1.0], [1.0, 2.0], [3.0], [4.0]], r"failed for 4 items \(ValueError"),
        (lambda texts: [["a"]] * 4, r"returned an array of shape \(4, 1\) and type <U"),
        (lambda texts: sparse.eye_array(4), r"returned an array of shape \(\)"),
        (lambda texts: [][1], r"failed for 4 items \(IndexError: list index out of range\)"),
        (lambda: 3, r"failed for 4 items \(TypeError"),
    ],
)
def test_a_wrong_answer_is_refused_in_the_name_of_the_view(answer, sentence):
    with pytest.raises(ViewsError, match=rf"The encoder of view 'text' {sentence}"):
        EmbeddingViews(answer).fit(TEXTS)


def test_vectors_must_have_one_length():
    widths = iter([3, 2])
    with pytest.raises(ViewsError, match="vectors of view 'text' have 3 and 2 numbers"):
        EmbeddingViews(lambda texts: np.ones((len(texts), next(widths))), batch_size=3).fit(TEXTS)
    front = EmbeddingViews(Letters()).fit(TEXTS).set_params(encoder=Letters(letters="ab"))
    with pytest.raises(ViewsError, match=r"have 3 and 2 numbers\. Use the encoder of the fit"):
        front.transform(TEXTS)


def test_a_model_name_is_resolved_once(monkeypatch):
    class Module:
        made: list[str] = []

        class SentenceTransformer:
            def __init__(self, name):
                Module.made.append(name)

            def encode(self, texts, show_progress_bar, convert_to_numpy):
                assert convert_to_numpy and not show_progress_bar
                return Letters()(texts)

    monkeypatch.setitem(sys.modules, "sentence_transformers", Module)
    front = EmbeddingViews("made-for-this-test", batch_size=1).fit(TEXTS)
    np.testing.assert_array_equal(front.transform(TEXTS)["text"], EXPECTED)
    assert Module.made == ["made-for-this-test"]


def test_only_what_no_run_has_computed_under_that_name_is_computed(tmp_path):
    first, second, other = Letters(), Letters(), Letters(letters="xyz")
    X = EmbeddingViews(first, name="letters", cache=tmp_path).fit_transform(TEXTS)
    front = EmbeddingViews(second, name="letters", cache=str(tmp_path), batch_size=1)
    Y = front.fit_transform(TEXTS)
    assert X == Y and Y["text"].dtype == np.float32 and second.batches == []
    new = front.transform(["a sea", "blue sea", "a fox"])
    assert second.asked == ["a sea", "a fox"]
    np.testing.assert_array_equal(new["text"], Letters()(["a sea", "blue sea", "a fox"]))
    Z = EmbeddingViews(other, name="others", cache=tmp_path).fit_transform(TEXTS)
    assert len(other.asked) == 4 and Z["text"][0].tolist() == [1, 0, 0]
    with pytest.raises(ViewsError, match="a changed encoder needs another name in the cache"):
        EmbeddingViews(Letters(letters="ab"), name="letters", cache=tmp_path).fit([*TEXTS, "new"])


# -- in pipelines and files


BODIES = ["red fox", "fox red fox", "a fox den", "blue sea", "sea blue sea", "a sea salt"] * 3
TARGET = np.array([0, 0, 0, 1, 1, 1] * 3)


def test_words_numbers_and_vectors_in_one_model():
    table = pd.DataFrame({"body": BODIES, "year": range(18), "key": [f"p{i}" for i in range(18)]})
    embeddings = EmbeddingViews(Letters(), {"meaning": "body"})
    front = TableViews({"words": "body"}, {"meta": ["year"]}, embeddings=embeddings, id="key", min_df=1)
    model = make_pipeline(front, ConcatenatedViews(LogisticRegression())).fit(table, TARGET)
    assert (model.predict(table) == TARGET).all()
    X = front.fit_transform(table)
    assert X.names == ("words", "meta", "meaning") and X.ids[0] == "p0"
    assert sparse.issparse(X["words"]) and X["meaning"].dtype == np.float32
    assert front.view_inputs()["meaning"].n_features == 3
    assert list(front.raw_texts(table)) == ["words"]  # the column is shown once
    fitted = inspect(model).preparation
    assert fitted.front.view_names_ == ["words", "meta", "meaning"]


class Client:
    """An encoder that cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()

    def encode(self, texts):
        return Letters()(texts)


@pytest.mark.parametrize("of", [lambda c: c, lambda c: c.encode, lambda c: {"meaning": c}], ids=["own", "bound", "map"])
def test_clones_share_the_encoder(of):
    front = EmbeddingViews(of(Client()), {"meaning": "body"}, batch_size=5)
    front.fit({"body": BODIES})
    for made in (clone(front), clone(TableViews(embeddings=front)).embeddings):
        assert made is not front and made.encoder is front.encoder
        assert made.get_params() == front.get_params() and made.columns is not front.columns
        with pytest.raises(NotFittedError):
            made.transform({"body": BODIES})
    table = TableViews(embeddings=front)
    assert table.fit_transform({"body": BODIES}).names == ("meaning",)
    assert table.embeddings_.encoder is front.encoder


@pytest.mark.filterwarnings("error")
def test_a_model_file_asks_for_the_encoder_again(tmp_path):
    encode, file = Letters(), tmp_path / "model.coview"
    front = EmbeddingViews(encode, {"meaning": "body"}, name="letters", cache=tmp_path / "cache")
    for model, parameter in (
        (make_pipeline(front, SphericalKMeans(2, random_state=0)), "embeddingviews__encoder"),
        (
            make_pipeline(TableViews({"words": "body"}, embeddings=front), ConcatenatedViews(SphericalKMeans(2))),
            "tableviews__embeddings__encoder",
        ),
    ):
        model.fit({"body": BODIES})
        with pytest.warns(UserWarning, match=r"save left out EmbeddingViews.cache, EmbeddingViews.encoder: functions"):
            save(model, file)
        again = load(file)
        with pytest.raises(
            ParameterError, match=r"encoder is not set for view 'meaning'.* set it again with set_params"
        ):
            again.predict({"body": BODIES})
        again.set_params(**{parameter: encode})
        assert (again.predict({"body": BODIES}) == model.predict({"body": BODIES})).all()
        assert again.get_params()[parameter.replace("__encoder", "__name")] == "letters"


@pytest.mark.parametrize("parameter", ["encoder", "cache"])
def test_a_file_that_decides_what_is_run_or_written_is_refused(tmp_path, parameter, monkeypatch):
    model = EmbeddingViews(Letters()).fit(TEXTS).set_params(encoder=None)
    with monkeypatch.context() as patch:
        patch.setattr("coview.io.models._GIVEN_AGAIN", {})
        save(model.set_params(**{parameter: "somewhere/else"}), tmp_path / "hostile.coview")
    with pytest.raises(ModelFileError, match=f"is refused: it sets '{parameter}' of its EmbeddingViews"):
        load(tmp_path / "hostile.coview")


def test_errors_of_a_network_pass_with_a_note():
    def unreachable(texts):
        raise ConnectionError("no route")

    with pytest.raises(ConnectionError) as caught:
        EmbeddingViews(unreachable).fit(TEXTS)
    assert caught.value.__notes__ == ["While the encoder of view 'text' was given 4 items."]
