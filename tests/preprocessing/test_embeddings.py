"""EmbeddingViews: batches, duplicates, a cache by content, answers checked, and encoders that no file decides on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from coview import (
    ConcatenatedViews,
    CrossModalRetriever,
    EmbeddingViews,
    SphericalKMeans,
    TableViews,
    inspect,
    load,
    save,
)
from coview.exceptions import DataFileError, EngineError, ModelFileError, ParameterError, ViewsError
from coview.preprocessing import vector_cache
from coview.preprocessing.vector_cache import VectorCache, content_key
from coview.utils.archive import write_archive

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


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_the_size_of_batches_does_not_matter(batch_size):
    encode = Letters()
    X = EmbeddingViews(encode, batch_size=batch_size).fit_transform(TEXTS)
    np.testing.assert_array_equal(X["text"], EXPECTED)
    assert max(map(len, encode.batches)) == min(batch_size, 4)


def test_duplicates_are_computed_once():
    encode = Letters()
    EmbeddingViews(encode, batch_size=2).fit(TEXTS)
    assert encode.asked == ["red fox", "blue sea", "", "the sea at night"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("f4", "f4"), ("f8", "f8"), ("f2", "f4"), ("i1", "f4"), ("i8", "f8"), ("?", "f4")],
)
def test_precision(given, kept):
    X = EmbeddingViews(Letters(given)).fit_transform(TEXTS)
    assert X["text"].dtype == np.dtype(kept)


def test_lists_tensors_and_objects_with_encode_will_do():
    torch = pytest.importorskip("torch", reason="torch is not installed; tensors are not tested")
    plain = Letters()

    class Model:
        def __call__(self, features):
            raise AssertionError("a model of torch is a function, but not from texts")

        def encode(self, texts):
            return torch.tensor(plain(texts), requires_grad=True)

    def each(texts):
        yield from plain(texts)

    for encoder in (lambda texts: plain(texts).tolist(), Model(), each):
        np.testing.assert_array_equal(EmbeddingViews(encoder).fit_transform(TEXTS)["text"], EXPECTED)


def test_tensors_of_half_the_digits_are_taken():
    torch = pytest.importorskip("torch", reason="torch is not installed; tensors are not tested")
    front = EmbeddingViews(lambda texts: torch.full((len(texts), 2), 0.5, dtype=torch.bfloat16))
    vectors = front.fit_transform(TEXTS)["text"]
    assert vectors.dtype == np.float32
    assert vectors[0].tolist() == [0.5, 0.5]


def test_one_encoder_by_view():
    table = {"a": ["sea", "eel"], "b": ["fox", "ox"]}
    front = EmbeddingViews({"a": Letters(), "b": Letters(letters="xo")}, {"a": "a", "b": "b"})
    assert front.fit_transform(table).n_features == {"a": 3, "b": 2}
    assert front.transform({"b": ["ox"]})["b"].tolist() == [[1.0, 1.0]]


def test_images_are_arrays_or_files(tmp_path):
    images = [np.full((2, 2, 3), value, dtype=np.uint8) for value in (1, 2, 1)]
    seen = []

    def brightness(batch):
        seen.extend(batch)
        return [[float(np.mean(image))] for image in batch]

    assert EmbeddingViews(brightness).fit_transform(images)["text"].ravel().tolist() == [1, 2, 1] and len(seen) == 2
    for i in range(2):
        (tmp_path / f"{i}.png").write_bytes(b"same")
    names = [str(tmp_path / f"{i}.png") for i in range(2)]
    sizes = EmbeddingViews(lambda paths: [[path.stat().st_size] for path in paths], {"image": "file"}, files="image")
    assert sizes.fit_transform({"file": names})["image"].ravel().tolist() == [4, 4]
    with pytest.raises(
        DataFileError, match=r"Column 'file' of view 'image' must name files, but in row 1 .* there is none"
    ):
        sizes.fit({"file": [names[0], "nowhere.png"]})


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda texts: np.ones(len(texts)), r"returned an array of shape \(4,\) for 4 items; it must return a vector"),
        (lambda texts: np.ones((2, 3)), r"returned an array of shape \(2, 3\) for 4 items"),
        (lambda texts: np.ones((4, 0)), r"returned an array of shape \(4, 0\)"),
        (lambda texts: np.full((4, 2), np.nan), "returned NaN or infinity for 'red fox'"),
        (lambda texts: [[1.0], [1.0, 2.0], [3.0], [4.0]], "returned what is no array of numbers"),
        (lambda texts: [["a"]] * 4, "returned values of dtype <U1"),
        (lambda texts: None, "returned None, which is no array of vectors"),
        (lambda texts: {"data": [[1.0]] * 4}, r"returned \{'data': .*which is no array of vectors"),
        (lambda texts: (float(text) for text in texts), r"failed for 4 items \(ValueError"),
        (lambda texts: sparse.eye_array(4), r"returned a sparse matrix; make views of it with TextViews\(vectorizer"),
        (lambda texts: [][1], r"failed for 4 items \(IndexError: list index out of range\)"),
        (lambda: 3, r"failed for 4 items \(TypeError"),
    ],
)
def test_a_wrong_answer_is_refused_in_the_name_of_the_view(answer, sentence):
    with pytest.raises(ViewsError, match=rf"The encoder of view 'text' {sentence}"):
        EmbeddingViews(answer).fit(TEXTS)


def test_vectors_must_have_one_length():
    widths = iter([3, 2])
    with pytest.raises(ViewsError, match=r"vectors of view 'text' have 3 numbers, but it returned vectors of 2"):
        EmbeddingViews(lambda texts: np.ones((len(texts), next(widths))), batch_size=3).fit(TEXTS)
    front = EmbeddingViews(Letters()).fit(TEXTS).set_params(encoder=Letters(letters="ab"))
    with pytest.raises(ViewsError, match=r"have 3 numbers, but it returned vectors of 2\. Use the encoder of the fit"):
        front.transform(TEXTS)


def test_errors_of_a_network_pass_with_a_note():
    def unreachable(texts):
        raise ConnectionError("no route")

    with pytest.raises(ConnectionError) as caught:
        EmbeddingViews(unreachable).fit(TEXTS)
    assert caught.value.__notes__ == ["While the encoder of view 'text' was given 4 items."]


@pytest.mark.parametrize(
    ("front", "error", "sentence"),
    [
        (EmbeddingViews(), ParameterError, "encoder is not set for view 'body'"),
        (EmbeddingViews({"body": None}), ParameterError, "encoder is not set for view 'body'"),
        (EmbeddingViews(3), ParameterError, "'encoder' parameter .* must be a callable"),
        (EmbeddingViews(len, batch_size=0), ParameterError, "batch_size.* must be an int in the range"),
        (EmbeddingViews(len, "bdy"), ViewsError, "no column 'bdy' for view 'bdy'; .* Did you mean 'body'"),
        (EmbeddingViews(len, files="bdy"), ViewsError, "files names view 'bdy', but the views are 'body'"),
        (EmbeddingViews(len, cache="x"), ParameterError, "name must be given where there is a cache"),
        (EmbeddingViews(Letters(), "none"), ViewsError, "Column 'none' of view 'none' has no value in any row"),
        (EmbeddingViews(Letters(), "v"), ViewsError, "Column 'v' holds vectors already"),
    ],
)
def test_parameters_that_make_no_views(front, error, sentence):
    with pytest.raises(error, match=sentence):
        front.fit({"body": ["red", "sea"], "none": [None, None], "v": [[1.0], [2.0]]})


def test_a_model_name_needs_sentence_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        EngineError, match=r"'mini' is the name of a model .* pip install sentence-transformers, or pass"
    ):
        EmbeddingViews("mini").fit(TEXTS)


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


# -- cache


def test_a_second_run_calls_nothing(tmp_path):
    first, second = Letters(), Letters()
    X = EmbeddingViews(first, name="letters", cache=tmp_path).fit_transform(TEXTS)
    Y = EmbeddingViews(second, name="letters", cache=str(tmp_path), batch_size=1).fit_transform(TEXTS)
    assert X == Y and Y["text"].dtype == np.float32 and second.batches == []


def test_only_what_is_new_is_computed(tmp_path):
    encode = Letters()
    front = EmbeddingViews(encode, name="letters", cache=tmp_path).fit(TEXTS[:2])
    X = front.transform(["a sea", "blue sea", "a fox"])
    assert encode.asked == ["red fox", "blue sea", "a sea", "a fox"]
    np.testing.assert_array_equal(X["text"], Letters()(["a sea", "blue sea", "a fox"]))


def test_another_name_does_not_share(tmp_path):
    EmbeddingViews(Letters(), name="letters", cache=tmp_path).fit(TEXTS)
    other = Letters(letters="xyz")
    X = EmbeddingViews(other, name="others", cache=tmp_path).fit_transform(TEXTS)
    assert len(other.asked) == 4 and X["text"][0].tolist() == [1, 0, 0]


def test_an_encoder_that_changed_under_its_name_is_noticed_by_its_width(tmp_path):
    EmbeddingViews(Letters(), name="letters", cache=tmp_path).fit(TEXTS[:2])
    with pytest.raises(ViewsError, match="A changed encoder needs another name than 'letters'"):
        EmbeddingViews(Letters(letters="ab"), name="letters", cache=tmp_path).fit(TEXTS)


def test_what_was_computed_before_an_error_is_kept(tmp_path):
    plain = Letters()

    def fails(texts):
        if "" in texts:
            raise ConnectionError
        return plain(texts)

    with pytest.raises(ConnectionError):
        EmbeddingViews(fails, name="letters", cache=tmp_path, batch_size=1).fit(TEXTS)
    EmbeddingViews(plain, name="letters", cache=tmp_path).fit(TEXTS)
    assert plain.asked == ["red fox", "blue sea", "", "the sea at night"]


def test_a_changed_file_is_another_content(tmp_path):
    image, asked = tmp_path / "a.png", []

    def encode(paths):
        asked.extend(path.read_bytes() for path in paths)
        return [[len(path.read_bytes())] for path in paths]

    front = EmbeddingViews(encode, {"image": "file"}, name="sizes", cache=tmp_path / "cache", files=["image"])
    for content in (b"one", b"three", b"one"):
        image.write_bytes(content)
        assert front.fit_transform({"file": [str(image)]})["image"].tolist() == [[len(content)]]
    assert asked == [b"one", b"three"]


def test_contents_of_different_kinds_differ():
    values = ["ab", b"ab", np.array([1, 2], dtype=np.int32), np.array([1, 2], dtype=np.int64), np.array([[1, 2]])]
    assert len({content_key(value) for value in values}) == len(values)
    assert content_key(np.arange(6).reshape(2, 3)) == content_key(np.asfortranarray(np.arange(6).reshape(2, 3)))
    assert content_key(np.array([1], dtype=">i4")) == content_key(np.array([1], dtype="<i4"))


def painted(*colors, transparency=None):
    """Two pixels by their places in a palette."""
    image = pytest.importorskip("PIL.Image").fromarray(np.array([[0, 1]], dtype=np.uint8)).convert("P")
    image.putpalette([part for color in colors for part in color])
    if transparency is not None:
        image.info["transparency"] = transparency
    return image


def test_images_of_other_colors_are_others(tmp_path):
    red, blue, gray = (255, 0, 0), (0, 0, 255), (9, 9, 9)
    images = [painted(red, gray), painted(blue, gray), painted(red, gray)]
    asked = []

    def encode(batch):
        asked.extend(batch)
        return np.array([np.asarray(image.convert("RGB"), dtype=float)[0, 0] for image in batch])

    front = EmbeddingViews(encode, {"image": "image"}, name="colors", cache=tmp_path)
    assert front.fit_transform({"image": images})["image"].tolist() == [list(red), list(blue), list(red)]
    assert len(asked) == 2


def test_what_an_image_says_beside_its_pixels_counts():
    red, blue = (255, 0, 0), (0, 0, 255)
    plain, turned = painted(red, blue), painted(red, blue)
    turned.getexif()[0x0112] = 6
    faint = painted(red, blue)
    faint.putpalette([*red, 7, *blue, 255], "RGBA")
    pixels = np.asarray(plain)
    values = [plain, turned, faint, painted(blue, red), painted(red, blue, transparency=0), plain.convert("L"), pixels]
    values += [[plain, plain], [plain, painted(blue, red)]]
    assert len({content_key(value) for value in values} - {None}) == len(values)
    assert content_key(plain) == content_key(painted(red, blue))


def test_masks_count_and_other_subclasses_are_not_known():
    data = np.array([1.0, 2.0])
    values = [data, np.ma.array(data, mask=[0, 0]), np.ma.array(data, mask=[0, 1])]
    values += [np.ma.array(data, mask=[0, 1], fill_value=5), [values[1], values[1]], [values[1], values[2]]]
    assert len({content_key(value) for value in values} - {None}) == len(values)
    assert content_key(np.ma.array(data, mask=[0, 1])) == content_key(values[2])
    assert content_key(data.view(type("Meters", (np.ndarray,), {}))) is None


def test_lists_are_known_by_what_is_in_them():
    assert content_key([1.0, 2.0]) == content_key(np.array([1.0, 2.0]))
    assert len({content_key(value) for value in (["ab", "c"], ["a", "bc"], [["ab"], "c"], ["ab", 1])} - {None}) == 4
    assert content_key(["ab", object()]) is None


def test_what_has_no_content_is_not_cached(tmp_path):
    with pytest.raises(ViewsError, match=r"column 'text' of view 'text' holds Thing\. Leave out cache"):
        EmbeddingViews(len, name="x", cache=tmp_path).fit([type("Thing", (), {})()])


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_few_files_of_little_more_than_the_vectors(tmp_path):
    cache = VectorCache(tmp_path, "numbers")
    for i in range(200):
        cache.add([content_key(str(i))], np.full((1, 50), i, dtype=np.float32))
    files = files_of(tmp_path)
    assert len(files) <= 8  # as many as 200 has binary digits
    assert sum(path.stat().st_size for path in files) < 200 * (4 * 50 + 32) + 1024 * len(files)
    found = {}
    for at, vectors in cache.find([content_key(str(i)) for i in range(200)]):
        found.update(zip(at.tolist(), vectors[:, 0].tolist()))
    assert found == {i: float(i) for i in range(200)}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"no file of vectors" * 10,
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data.replace(b"letters", b"LETTERS"),
        lambda data: (2**60).to_bytes(8, "little") + data[8:],
    ],
    ids=["half", "empty", "foreign", "a bit", "another name", "a huge header"],
)
def test_a_damaged_file_is_computed_again(tmp_path, damage):
    EmbeddingViews(Letters(), name="letters", cache=tmp_path).fit(TEXTS)
    (file,) = files_of(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    encode = Letters()
    with pytest.warns(UserWarning, match="is not used, and removed: .* Its vectors are computed again"):
        X = EmbeddingViews(encode, name="letters", cache=tmp_path).fit_transform(TEXTS)
    np.testing.assert_array_equal(X["text"], EXPECTED)
    assert len(encode.asked) == 4 and not file.exists()
    again = Letters()
    EmbeddingViews(again, name="letters", cache=tmp_path).fit(TEXTS)
    assert again.batches == []


KEYS = np.frombuffer(b"".join(sorted(content_key(text) for text in ("a", "b"))), dtype=np.uint8).reshape(2, 32)


@pytest.mark.parametrize(
    "tree",
    [
        {"name": "letters", "keys": KEYS, "vectors": np.full((2, 3), np.nan)},
        {"name": "letters", "keys": KEYS[::-1].copy(), "vectors": np.ones((2, 3))},
        {"name": "letters", "keys": KEYS, "vectors": np.ones((3, 3))},
        {"name": "letters", "keys": KEYS, "vectors": np.ones((2, 0))},
        {"name": "letters", "keys": KEYS[:, :8].copy(), "vectors": np.ones((2, 3))},
        {"name": "letters", "keys": "a", "vectors": np.ones((2, 3))},
        {"name": "other", "keys": KEYS, "vectors": np.ones((2, 3))},
        ["letters"],
    ],
)
def test_a_hostile_file_with_fitting_checksums_is_not_believed(tmp_path, tree):
    folder = VectorCache(tmp_path, "letters").folder
    write_archive(folder / "hostile.safetensors", tree, kind="vectors", version=1)
    encode = Letters()
    with pytest.warns(UserWarning, match="is not used, and removed"):
        X = EmbeddingViews(encode, name="letters", cache=tmp_path).fit_transform(["a", "b"])
    assert encode.asked == ["a", "b"] and X["text"].tolist() == [[0, 1, 0], [0, 0, 0]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_pipes_and_links_in_the_folder_are_not_opened(tmp_path):
    folder = VectorCache(tmp_path, "letters").folder
    os.mkfifo(folder / "pipe.safetensors")
    (folder / "link.safetensors").symlink_to("/etc/passwd")
    with pytest.warns(UserWarning, match="is no regular file"):
        EmbeddingViews(Letters(), name="letters", cache=tmp_path).fit(TEXTS)


KILLED = """
import sys, time
from pathlib import Path
import numpy as np
import coview.utils.archive as archive
from coview import EmbeddingViews
from coview.preprocessing import embeddings
import safetensors.numpy

embeddings._OFTEN = 0.0  # writes after every batch
whole = safetensors.numpy.save_file
def slow(tensors, path, metadata):
    if Path(sys.argv[1]).exists() and len(list(Path(sys.argv[1]).rglob("*.safetensors"))) >= 1:
        Path(path).write_bytes(b"half")
        print("writing", flush=True)
        time.sleep(60)
    whole(tensors, path, metadata)
safetensors.numpy.save_file = slow
encode = lambda texts: np.ones((len(texts), 3), dtype=np.float32)
EmbeddingViews(encode, name="letters", cache=sys.argv[1], batch_size=1).fit(["a", "b", "c"])
"""


@pytest.mark.skipif(os.name != "posix", reason="killed by a signal")
def test_a_process_killed_while_it_writes_leaves_whole_files(tmp_path):
    with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "writing"
        process.send_signal(signal.SIGKILL)
    encode = Letters()
    EmbeddingViews(encode, name="letters", cache=tmp_path).fit(["a", "b", "c"])
    assert encode.asked == ["b", "c"]


def test_what_a_killed_process_left_is_taken_away_after_a_day(tmp_path):
    cache = VectorCache(tmp_path, "letters")
    old, new = cache.folder / ".a.safetensors.x.part", cache.folder / ".b.safetensors.x.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 2 * 24 * 3600,) * 2)
    list(cache.find([content_key("a")]))
    assert not old.exists() and new.exists()


def test_two_processes_may_take_in_the_same_file(tmp_path, monkeypatch):
    one, two = VectorCache(tmp_path, "letters"), VectorCache(tmp_path, "letters")
    keys = [content_key(str(i)) for i in range(3)]
    one.add(keys[:1], np.zeros((1, 2), dtype=np.float32))
    shards = two._shards()
    one.add(keys[1:2], np.ones((1, 2), dtype=np.float32))  # removes the file that two has listed
    monkeypatch.setattr(two, "_shards", lambda: shards)
    two.add(keys[2:], np.full((1, 2), 2, dtype=np.float32))
    found = sorted(int(v) for at, vectors in one.find(keys) for v in vectors[:, 0])
    assert found == [0, 1, 2]


def test_the_maps_of_files_that_are_gone_are_let_go(tmp_path):
    cache = VectorCache(tmp_path, "letters")
    for i in range(4):
        cache.add([content_key(str(i))], np.zeros((1, 2), dtype=np.float32))
        list(cache.find([content_key("0")]))
    mapped = [path for path in vector_cache._opened if path.parent == cache.folder]
    assert mapped == files_of(tmp_path)


def test_a_file_that_is_taken_in_before_it_is_opened_is_looked_up_in_the_new_one(tmp_path, monkeypatch):
    one, two = VectorCache(tmp_path, "letters"), VectorCache(tmp_path, "letters")
    keys = [content_key(str(i)) for i in range(2)]
    one.add(keys[:1], np.full((1, 2), 7, dtype=np.float32))
    read = vector_cache.read_archive

    def late(path, **options):
        monkeypatch.setattr(vector_cache, "read_archive", read)
        two.add(keys[1:], np.ones((1, 2), dtype=np.float32))  # removes the file that one has listed
        raise FileNotFoundError(path)  # as safetensors says it

    monkeypatch.setattr(vector_cache, "read_archive", late)
    assert [vectors.tolist() for _, vectors in one.find(keys[:1])] == [[[7, 7]]]


MANY = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from coview.preprocessing.vector_cache import VectorCache, content_key

sys.setswitchinterval(1e-6)
def work(name):
    cache = VectorCache(sys.argv[1], "letters")
    for i in range(int(sys.argv[4])):
        cache.add([content_key(f"{name} {i}")], np.ones((1, 2), dtype=np.float32))
        assert len(list(cache.find([content_key(f"{name} {i}")]))) <= 1
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    list(pool.map(work, [f"{sys.argv[2]} {i}" for i in range(int(sys.argv[3]))]))
"""


@pytest.mark.parametrize(("processes", "threads", "rounds"), [(3, 1, 40), (1, 6, 20)])
def test_many_at_once_neither_fail_nor_lose_anything(tmp_path, processes, threads, rounds):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    counts = [str(threads), str(rounds)]
    jobs = [
        subprocess.Popen([sys.executable, "-c", MANY, tmp_path, str(p), *counts], **pipes) for p in range(processes)
    ]
    for job in jobs:
        job.stdout.readline()
    for job in jobs:  # all at once
        job.stdin.write("go\n")
        job.stdin.flush()
    assert [(job.communicate()[1], job.returncode) for job in jobs] == [("", 0)] * processes
    names = [f"{p} {t} {i}" for p in range(processes) for t in range(threads) for i in range(rounds)]
    keys = [content_key(name) for name in names]
    assert sum(len(at) for at, _ in VectorCache(tmp_path, "letters").find(keys)) == len(keys)


def test_a_cache_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataFileError, match=r"The cache .*file cannot be made \(.*\). Name another folder"):
        EmbeddingViews(Letters(), name="letters", cache=tmp_path / "file").fit(TEXTS)


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
    fitted = inspect(model)
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


def test_a_front_of_its_own():
    model = make_pipeline(EmbeddingViews(Letters(), {"meaning": "body"}), SphericalKMeans(2, random_state=0))
    assert len(set(model.fit_predict({"body": BODIES}))) == 2
    fitted = inspect(model)
    assert fitted.inputs["meaning"].n_features == 3 and fitted.raw_texts({"body": BODIES[:1]}) == {
        "meaning": BODIES[:1]
    }


def test_views_of_the_same_name_are_refused():
    with pytest.raises(ViewsError, match="View 'body' is named in two of text, tokens, columns and embeddings"):
        TableViews("body", embeddings=EmbeddingViews(Letters(), "body")).fit({"body": BODIES})
    with pytest.raises(ParameterError, match=r"'embeddings' parameter .* must be an instance of .*EmbeddingViews"):
        TableViews("body", embeddings=len).fit({"body": BODIES})


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


def test_a_model_name_is_not_written_either(tmp_path):
    with pytest.warns(UserWarning, match=r"left out EmbeddingViews\.encoder:"):
        save(EmbeddingViews("mini"), tmp_path / "m.coview")
    assert load(tmp_path / "m.coview").encoder is None


def test_progress_is_told(capsys):
    EmbeddingViews(Letters(), verbose=1).fit(TEXTS)
    assert "EmbeddingViews" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*Can't test estimator")
def test_scikit_learn_checks_that_need_no_matrix():
    results = check_estimator(EmbeddingViews(encode_shape), on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []


def encode_shape(items):
    return np.array([[len(str(item)), 1.0] for item in items])


def test_raw_queries_are_embedded(tmp_path):
    embeddings = EmbeddingViews(Letters(letters="abdefnorsx"), {"meaning": "body"})
    front = TableViews({"words": "body"}, embeddings=embeddings, min_df=1)
    retriever = CrossModalRetriever(front).fit({"body": BODIES})
    hits = retriever.search("fox", source="meaning", target="words", k=3)
    assert all("fox" in BODIES[i] for i in hits.ids[0])
    alone = EmbeddingViews(Letters(letters="abdefnorsx"), {"meaning": "body", "name": "title"})
    searcher = CrossModalRetriever(alone).fit({"body": BODIES, "title": [body.split()[-1] for body in BODIES]})
    assert "sea" in BODIES[searcher.search("blue sea", source="meaning", target="name", k=1).ids[0, 0]]
    with pytest.warns(UserWarning, match=r"save left out EmbeddingViews\.encoder"):
        save(retriever, tmp_path / "r.coview")
    again = load(tmp_path / "r.coview")
    again.front_.set_params(embeddings__encoder=embeddings.encoder)
    np.testing.assert_array_equal(again.search("fox", source="meaning", target="words", k=3).ids, hits.ids)


def test_a_table_names_the_columns_to_embed():
    with pytest.raises(ViewsError, match="needs the columns to embed by name"):
        TableViews("body", embeddings=EmbeddingViews(Letters())).fit({"body": BODIES, "kind": BODIES})
