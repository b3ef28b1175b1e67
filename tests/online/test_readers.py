"""Files read batch by batch give what they hold, in any batch size, without holding it all."""

import io
import json
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction import FeatureHasher
from sklearn.metrics import accuracy_score, f1_score

from coview import MultiViewNaiveBayes, MultiViewPassiveAggressiveClassifier, evaluate_stream, read_stream
from coview.datasets import make_topic_views
from coview.exceptions import DataFileError
from coview.online.hashing import hash_row, hash_rows


def joined(batches):
    batches = list(batches)
    names = batches[0].views.names
    matrices = {name: sparse.vstack([sparse.csr_array(b.views[name]) for b in batches]).toarray() for name in names}
    return matrices, [label for b in batches for label in b.labels]


def svmlight(path, n=25):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, 9), density=0.4, format="csr", rng=rng)
    y = rng.choice([-1, 1], n)
    dump_svmlight_file(X, y, str(path))
    return X.toarray(), y


@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_svmlight_is_cut_into_views(tmp_path, batch_size):
    X, y = svmlight(tmp_path / "a.svmlight")
    found, labels = joined(read_stream(tmp_path / "a.svmlight", views={"a": 4, "b": 5}, batch_size=batch_size))
    np.testing.assert_allclose(np.hstack([found["a"], found["b"]]), X)
    assert labels == [str(label) for label in y]  # text: -1 is a class here


def test_svmlight_columns_beyond_the_width_are_folded(tmp_path):
    X, _ = svmlight(tmp_path / "a.svmlight")
    found, _ = joined(read_stream(tmp_path / "a.svmlight", n_features=4))
    folded = np.zeros((len(X), 4))
    for column in range(9):
        folded[:, column % 4] += X[:, column]
    np.testing.assert_allclose(found["x"], folded)
    with pytest.raises(DataFileError, match="make 6 columns"):
        list(read_stream(tmp_path / "a.svmlight", views={"a": 4, "b": 2}))


def test_svmlight_from_a_stream(tmp_path):
    X, _ = svmlight(tmp_path / "a.svmlight")
    text = (tmp_path / "a.svmlight").read_text()
    for stream in (io.StringIO(text), io.BytesIO(text.encode())):
        found, _ = joined(read_stream(stream, format="svmlight", n_features=9))
        np.testing.assert_allclose(found["x"], X)


ROWS = [
    {"label": "spam", "text": "Win, win now", "links": {"a.com": 1, "kind": "bad"}},
    {"label": None, "text": "see you", "size": 3},
    {"id": 7, "label": "ham", "links": {"b.org": 2.5, "gone": None}, "flag": True},
]


@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_jsonl_views_by_name(tmp_path, batch_size):
    path = tmp_path / "mail.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)) + "\n\n")
    batches = list(read_stream(path, views=["text", "links", "x"], n_features=512, batch_size=batch_size))
    found, labels = joined(batches)
    assert labels == ["spam", None, "ham"]
    expected = {
        "text": [{"win": 2, "now": 1}, {"see": 1, "you": 1}, None],
        "links": [{"a.com": 1, "kind=bad": 1}, None, {"b.org": 2.5}],
        "x": [None, {"size": 3}, {"flag": 1}],
    }
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name], hash_rows(rows, 512).toarray())
    present = np.vstack([batch.views.present for batch in batches])
    np.testing.assert_array_equal(present, [[row is not None for row in rows] for rows in zip(*expected.values())])


def test_jsonl_lists_are_dense_views():
    text = '{"label": 1, "v": [1, 2.5]}\n{"label": 0}\n{"label": 0, "v": [0, 1]}\n'
    batches = list(read_stream(io.StringIO(text), format="jsonl", views=["v"], batch_size=2))
    assert [b.views["v"].tolist() for b in batches] == [[[1, 2.5], [0, 0]], [[0, 1]]]
    assert [label for b in batches for label in b.labels] == [1, 0, 0]
    with pytest.raises(DataFileError, match="list of 2 numbers"):
        list(read_stream(io.StringIO('{"v": [1, 2]}\n{"v": [1]}\n'), format="jsonl", label=None))


def test_a_view_that_was_not_there_at_first_is_refused():
    text = '{"a": {"f": 1}}\n{"b": {"f": 1}}\n'
    with pytest.raises(DataFileError, match="view 'b', but the views are 'a'"):
        list(read_stream(io.StringIO(text), format="jsonl", batch_size=1, label=None))


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("{broken\n", "jsonl", "no JSON object in line 1"),
        ("[1]\n", "jsonl", "but list"),
        ('{"label": 1, "v": {"f": [1]}}\n', "jsonl", "must be a number or a string"),
        ('{"label": 1}\n', "jsonl", "no feature"),
        ("1 x:y\n", "svmlight", "not valid svmlight"),
        ("", "xml", "no known format"),
        ('{"label": 1, "v": ' + "[" * 100_000 + "\n", "jsonl", "nested too deeply"),
        ('{"label": 1, "v": {"f": ' + "1" * 5000 + "}}\n", "jsonl", "no JSON object in line 1"),
        ('{"label": 1, "v": {"f": ' + "1" * 400 + "}}\n", "jsonl", "View 'v' has 1111.* for 'f'; it must be a number"),
        ('{"label": 1, "v": [1, "a"]}\n', "jsonl", "View 'v' of the stream is not a list of 2 numbers"),
        ('{"label": [1], "v": {"f": 1}}\n', "jsonl", r"A label must be text or a number, got \[1\]"),
        ("1 99999999999999999999:1\n", "svmlight", "not valid svmlight in lines 1 to 1"),
    ],
)
def test_broken_input_is_told_in_a_sentence(text, format, message):
    with pytest.raises(DataFileError, match=message):
        list(read_stream(io.StringIO(text), format=format))


def test_labels_keep_their_type_and_whole_numbers_are_one_class(tmp_path):
    given = [1, 1.0, 0.5, "1", True, None, "", " ", float("nan"), -1]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"label": label, "f": 1}) + "\n" for label in given))
    (batch,) = read_stream(path, n_features=8)
    assert batch.labels == [1, 1, 0.5, "1", True, None, None, None, None, -1]
    assert [type(label) for label in batch.labels[:3]] == [int, int, float]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Fifteen times the rows, and no more of the file is held than a batch; other threads may hold something too."""
    evaluate_stream(
        MultiViewPassiveAggressiveClassifier(), read_stream(io.StringIO("1 1:1\n-1 2:1\n"), format="svmlight")
    )
    peaks = []
    for copies in (1, 15):
        path = tmp_path / f"{copies}.svmlight"
        line = "1 1:0.5 5:1 9:2\n-1 2:1 6:1 8:1\n"
        path.write_text(line * 2000 * copies)
        tracemalloc.start()
        rounds = evaluate_stream(
            MultiViewPassiveAggressiveClassifier(), read_stream(path, n_features=16, batch_size=200), every=1_000_000
        ).final["rounds"]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert rounds == 4000 * copies
    assert peaks[1] < peaks[0] + path.stat().st_size / 4


def test_numbers_beside_views_are_told_of_once():
    lines = '{"label": 1, "text": "a b", "age": 3}\n{"label": 0, "text": "c", "age": 4}\n'
    with pytest.warns(UserWarning, match="numbers beside its views, such as 'age'") as caught:
        batches = list(read_stream(io.StringIO(lines), format="jsonl", batch_size=1, n_features=64))
    assert len(caught) == 1 and batches[0].views.names == ("text", "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(read_stream(io.StringIO(lines), format="jsonl", views=["text", "x"], n_features=64))
        list(read_stream(io.StringIO('{"label": 1, "a": 2, "b": 3}'), format="jsonl", n_features=64))


# -- Hashed features: the columns of scikit-learn's hasher, whichever way they come in

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(NAMES, st.floats(-10, 10).filter(bool), max_size=12), st.sampled_from([7, 64, 2**18]))
def test_one_row_has_the_columns_of_scikit_learn(features, width):
    columns, values = hash_row(features, width)
    dense = np.zeros(width)
    np.add.at(dense, columns, values)
    expected = FeatureHasher(width, input_type="dict").transform([features]).toarray()[0]
    np.testing.assert_allclose(dense, expected, atol=1e-12)
    assert len(set(columns.tolist())) == len(columns)  # names that collide share one entry


def test_text_and_words_and_names_with_text():
    width = 2**14
    given = ["win win now", {"win": 2, "now": 1}, {"color": "red"}, {"color=red": 1}, None, {"size": "2"}, {7: 1}, {}]
    rows = hash_rows(given, width).toarray()
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[2], rows[3])
    assert not rows[4].any()
    for i, row in enumerate([*given[:4], {}, *given[5:]]):
        columns, values = hash_row(row, width)
        np.testing.assert_array_equal(rows[i][columns], values)


# -- Progressive validation: predictions before learning, counted right

Classifier = MultiViewPassiveAggressiveClassifier


def corpus(n_classes=2, n=230):
    data = make_topic_views(n_objects=n, n_clusters=n_classes, length=8, random_state=1)
    return data.views, data.target


def one_by_one(X, y, classes):
    """Predict, then learn, object by object, through the plain methods."""
    model, guess, gaps = Classifier(), [], []
    for i in range(len(y)):
        if i == 0:
            guess.append(classes[0])
            gaps.append(0.0)
        else:
            guess.append(model.predict(X[[i]])[0])
            first, second = model.decision_function_by_view(X[[i]]).values()
            gaps.append(float(abs(first - second)[0]) if first.ndim == 1 else 0.0)
        model.partial_fit(X[[i]], y[[i]], classes=classes)
    return np.array(guess), np.array(gaps)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_object_is_predicted_before_it_is_learned(n_classes):
    X, y = corpus(n_classes)
    guess, gaps = one_by_one(X, y, np.unique(y))
    result = evaluate_stream(Classifier(), X, y, every=50, classes=np.unique(y), batch_size=70)
    table = result.table
    assert table["rounds"] == [50, 100, 150, 200, 230]
    np.testing.assert_allclose(
        result.model.coef_["view1"], Classifier().partial_fit(X, y).coef_["view1"], rtol=1e-10, atol=1e-12
    )
    average = "binary" if n_classes == 2 else "macro"
    for i, stop in enumerate(table["rounds"]):
        start = 50 * i
        assert table["accuracy"][i] == pytest.approx(accuracy_score(y[:stop], guess[:stop]))
        assert table["f1"][i] == pytest.approx(f1_score(y[:stop], guess[:stop], average=average))
        if n_classes == 2:
            assert table["view_difference"][i] == pytest.approx(gaps[start:stop].mean())
            assert table["cumulative_view_difference"][i] == pytest.approx(gaps[:stop].mean())


def test_objects_without_label_are_not_counted():
    X, y = corpus()
    hidden = y.astype(float)
    hidden[::2] = np.nan
    known = ~np.isnan(hidden)
    found = evaluate_stream(Classifier(), X, hidden, every=20, classes=[0, 1])
    assert found.table == evaluate_stream(Classifier(), X[known], y[known], every=20, classes=[0, 1]).table


def test_other_models_predict_a_batch_and_learn_it():
    X, y = corpus()
    result = evaluate_stream(MultiViewNaiveBayes(), X, y, every=100, classes=[0, 1], batch_size=10)
    model, guess = MultiViewNaiveBayes(), []
    for i in range(0, len(y), 10):
        guess += [] if i == 0 else model.predict(X[i : i + 10]).tolist()
        model.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1])
    assert list(result.table) == ["rounds", "accuracy", "f1"]
    assert result.final["accuracy"] == pytest.approx(np.mean(guess == y[10:]))
    assert result.table["rounds"] == [100, 200, 220] and result.unpredicted == 10
    assert "10 objects before them were learned" in repr(result)
