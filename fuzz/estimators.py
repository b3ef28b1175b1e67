"""Every estimator and transformer of the catalog, with nasty data and nasty parameters.

    python -m fuzz.estimators --count 2000 --seed 1
    python -m fuzz.estimators --seed 1 --case 1234           one case again, here, with its traceback

Cases run one after the other in a forked child with a limit on time and memory; a new child takes over where one dies
or hangs. A case may be refused by one of coview's sentences: an error of `coview.exceptions`, or a ValueError or
TypeError that a `raise` of coview's own gives. Anything else is a fault: a crash, a hang, an error from inside, an
answer that is not finite, an input that is not what it was.
"""

from __future__ import annotations

import copy
import os
import pickle
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import CoviewError
from coview.views.views import Views
from fuzz._cases import again, command_line, deadline, described, goes_on, is_ours, limit_memory

SECONDS = 60  # of work that a case may take
WAIT = 600  # seconds after which a case that does not work waits for good
MEMORY = 8 << 30  # bytes of addresses that a child may have more than this process
ROWS = 24

# small settings, where the defaults are meant for real data
SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 10, "n_init": 2, "random_state": 0}
SETTINGS: dict[str, dict[str, Any]] = {
    "EachView": {"transformers": StandardScaler(with_mean=False)},
    "EmbeddingViews": {"encoder": lambda texts: np.array([[len(str(text)), 1.0] for text in texts])},
    "SiftWords": {"n_words": 3},
    "TableViews": {"text": {"words": "body"}, "columns": {"meta": ["year"]}},
}
TEXTS = ("EmbeddingViews", "TextViews", "TextVectorizer")
TABLES = ("TableViews",)
IMAGES = ("SiftWords",)

# -- nasty parameters


def _nothing() -> None:
    """Stand for a function."""


VALUES: tuple[Any, ...] = (
    None, True, False, "a", "", "auto", b"a", -1, 0, 1, 2, 3, 7, 10**4, 2**31, 10**30, -(2**63), 0.0, -0.0, 0.5, 1.0,
    1.5, -0.5, 1e-9, 1e-320, 1e30, 1e308, float("nan"), float("inf"), -float("inf"), 1j, [], [1], ["a"], (), (1, 2), {},
    {"words": 1}, {"words": "a"}, {"nowhere": 1}, {1: 1}, set(), frozenset("a"), range(3), object, _nothing, KMeans,
    KMeans(2), LogisticRegression(), StandardScaler(), np.int64(2), np.float32(0.5), np.nan, np.array([1.0, 2.0]),
    np.array([]), np.array("a"), np.bool_(True), np.random.RandomState(0), Path("x"), "words", ["words"],
)  # fmt: skip
HEAVY = {  # numbers that are fine as such, but ask for much work or memory
    "n_components", "n_clusters", "max_iter", "n_init", "n_words", "power_iter", "hops", "bins",
    "points", "grid", "rank", "max_side", "max_features",
}  # fmt: skip


def nasty_parameters(cls: type[Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return one or two parameters of a class with values that may be nonsense."""
    names = sorted(cls().get_params(deep=False))
    chosen = {}
    for name in rng.choice(names, size=min(len(names), int(rng.choice([1, 1, 1, 2]))), replace=False).tolist():
        value = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        large = isinstance(value, (int, float)) and not isinstance(value, bool) and 1e3 < abs(value) < 1e12
        chosen[name] = 5 if name in HEAVY and large else value
    return chosen


# -- nasty data: each makes views, or what becomes views, of a corpus


def corpus(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three groups of objects in two views of counts; the links are square."""
    y = np.arange(ROWS) % 3
    words, links = rng.gamma(0.3, size=(3, 10)), rng.gamma(0.3, size=(3, ROWS))
    return {
        "words": rng.poisson(8 * words[y] + 0.1).astype(float),
        "links": rng.poisson(6 * links[y] + 0.1).astype(float),
    }, y


Maker = Callable[[dict[str, np.ndarray], np.random.Generator], Any]
MAKERS: dict[str, Maker] = {}


def maker(function: Maker) -> Maker:
    """Enter a function that makes nasty data."""
    MAKERS[function.__name__] = function
    return function


def _some(X: dict[str, np.ndarray], rng: np.random.Generator, value: float, share: float = 0.05) -> dict[str, Any]:
    """Put a value in some places of one view, at least one."""
    name = str(rng.choice(list(X)))
    where = rng.random(X[name].shape) < share
    where.flat[int(rng.integers(where.size))] = True
    return {**X, name: np.where(where, value, X[name])}


@maker
def plain(X: Any, rng: Any) -> Any:
    return X


@maker
def as_sparse(X: Any, rng: Any) -> Any:
    form = str(rng.choice(["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]))
    kind = sparse.csr_matrix if rng.random() < 0.5 else sparse.csr_array
    return {name: kind(part).asformat(form) for name, part in X.items()}


@maker
def one_matrix(X: Any, rng: Any) -> Any:
    return X["links"] if rng.random() < 0.5 else sparse.csr_array(X["links"])


@maker
def list_of_views(X: Any, rng: Any) -> Any:
    return list(X.values())


@maker
def types(X: Any, rng: Any) -> Any:
    kinds = ["f4", "f2", "i1", "i8", "u1", "u8", "?", "O", "g", ">f8", ">i4"]
    if rng.random() < 0.5:
        kind = str(rng.choice(kinds))
        return {name: part.astype(kind) for name, part in X.items()}
    return {name: part.astype(str(rng.choice(kinds))) for name, part in X.items()}


@maker
def strange_types(X: Any, rng: Any) -> Any:
    kind = str(rng.choice(["c16", "U5", "S5", "M8[s]", "m8[s]"]))
    return {**X, "words": X["words"].astype("i8").astype(kind)}


@maker
def empty_rows(X: Any, rng: Any) -> Any:
    gone = rng.random(ROWS) < 0.4
    return {name: np.where(gone[:, None], 0.0, part) for name, part in X.items()}


@maker
def empty_rows_of_one_view(X: Any, rng: Any) -> Any:
    return {**X, "links": np.where(rng.random((ROWS, 1)) < 0.7, 0.0, X["links"])}


@maker
def empty_columns(X: Any, rng: Any) -> Any:
    return {name: np.where(rng.random(part.shape[1]) < 0.6, 0.0, part) for name, part in X.items()}


@maker
def empty_view(X: Any, rng: Any) -> Any:
    return {**X, "links": np.zeros_like(X["links"])}


@maker
def nothing_but_zeros(X: Any, rng: Any) -> Any:
    return {name: np.zeros_like(part) for name, part in X.items()}


@maker
def constant(X: Any, rng: Any) -> Any:
    value = float(rng.choice([1.0, 0.1, 1e-8, 1e8]))
    return {name: np.full_like(part, value) for name, part in X.items()}


@maker
def scaled(X: Any, rng: Any) -> Any:
    """One view, or all, many times larger or smaller."""
    by = 10.0 ** rng.integers(-320, 308)
    with np.errstate(all="ignore"):
        scaled = {name: part * by for name, part in X.items()}
    return scaled if rng.random() < 0.5 else {**X, "words": scaled["words"]}


@maker
def scaled_float32(X: Any, rng: Any) -> Any:
    by = 10.0 ** rng.integers(-44, 37)
    with np.errstate(all="ignore"):
        return {name: (part * by).astype(np.float32) for name, part in X.items()}


@maker
def huge_values(X: Any, rng: Any) -> Any:
    return _some(X, rng, float(rng.choice([1e308, 1e300, 1e200, 1e155, 1e100, 1e50, 1e38, 1e20])))


@maker
def tiny_values(X: Any, rng: Any) -> Any:
    tiny = float(rng.choice([5e-324, 1e-320, 1e-308, 1e-200, 1e-160, 1e-100, 1e-50]))
    return _some(X, rng, tiny, float(rng.choice([0.05, 0.5, 1.0])))


@maker
def tiny_rows(X: Any, rng: Any) -> Any:
    by = np.where(rng.random((ROWS, 1)) < 0.3, 10.0 ** -float(rng.integers(20, 320)), 1.0)
    return {name: part * by for name, part in X.items()}


@maker
def wide_span(X: Any, rng: Any) -> Any:
    with np.errstate(all="ignore"):
        return {name: part * 10.0 ** rng.integers(-300, 300, size=part.shape) for name, part in X.items()}


@maker
def negative(X: Any, rng: Any) -> Any:
    return {name: part - float(rng.choice([0.1, 3.0])) for name, part in X.items()}


@maker
def minus_zero(X: Any, rng: Any) -> Any:
    return {name: np.where(part == 0, -0.0, part) for name, part in X.items()}


@maker
def not_finite(X: Any, rng: Any) -> Any:
    X = _some(X, rng, float(rng.choice([np.nan, np.inf, -np.inf])))
    form = rng.integers(5)
    if form == 0:
        return {name: sparse.csr_array(part) for name, part in X.items()}
    if form == 1:
        return X["words"]
    if form == 2:
        return X["words"].tolist()
    return X


@maker
def one_object(X: Any, rng: Any) -> Any:
    return {name: part[:1] for name, part in X.items()}


@maker
def two_objects(X: Any, rng: Any) -> Any:
    return {name: part[:2] for name, part in X.items()}


@maker
def no_object(X: Any, rng: Any) -> Any:
    return {name: part[:0] for name, part in X.items()}


@maker
def one_feature(X: Any, rng: Any) -> Any:
    return {"words": X["words"][:, :1], "links": X["links"][:, : int(rng.choice([1, 24]))]}


@maker
def no_feature(X: Any, rng: Any) -> Any:
    return {**X, "words": X["words"][:, :0]}


@maker
def equal_rows(X: Any, rng: Any) -> Any:
    kept = int(rng.choice([1, 2]))
    return {name: part[np.arange(ROWS) % kept] for name, part in X.items()}


@maker
def many_views(X: Any, rng: Any) -> Any:
    return {f"view{i}": rng.poisson(1.0, size=(ROWS, 4)).astype(float) for i in range(int(rng.choice([10, 40, 80])))}


@maker
def one_view(X: Any, rng: Any) -> Any:
    return {"words": X["words"]}


@maker
def equal_views(X: Any, rng: Any) -> Any:
    return {"words": X["words"], "links": X["words"]}


@maker
def missing_views(X: Any, rng: Any) -> Any:
    share = float(rng.choice([0.2, 0.6, 0.95, 1.0]))
    present = {name: rng.random(len(part)) >= share for name, part in X.items()}
    if rng.random() < 0.5:
        present["words"] |= ~present["links"]
    return Views({name: part * present[name][:, None] for name, part in X.items()}, present=present)


@maker
def masked(X: Any, rng: Any) -> Any:
    X = {**X, "words": np.ma.masked_array(X["words"], rng.random(X["words"].shape) < 0.1)}
    return X["words"] if rng.random() < 0.3 else X


@maker
def strided(X: Any, rng: Any) -> Any:
    return {
        "words": np.asfortranarray(X["words"])[::-1],
        "links": np.repeat(np.repeat(X["links"], 2, axis=1), 2, axis=0)[::2, ::2],
    }


@maker
def read_only(X: Any, rng: Any) -> Any:
    made = {name: sparse.csr_array(part) if rng.random() < 0.5 else part.copy() for name, part in X.items()}
    for part in made.values():
        for array in (part.data, part.indices, part.indptr) if sparse.issparse(part) else (part,):
            array.setflags(write=False)
    return made


@maker
def memory_map(X: Any, rng: Any) -> Any:
    return {name: part.view(np.memmap) for name, part in X.items()}


@maker
def unsorted_csr(X: Any, rng: Any) -> Any:
    """Column indices in any order, some twice, some zeros written out."""
    result = {}
    for name, part in X.items():
        rows, columns = np.divmod(rng.integers(part.size, size=3 * len(part)), part.shape[1])
        order = np.argsort(rows, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(part)))])
        values = rng.integers(0, 3, size=len(rows)).astype(float)
        result[name] = sparse.csr_array((values, columns[order], ends), shape=part.shape)
    return result


@maker
def frames(X: Any, rng: Any) -> Any:
    import pandas as pd

    odd: list[list[Any]] = [[0, "0"], ["", " "], [None, 1], [("a", 1), "b"], ["é", "a\nb"], [1.5, 2.5], ["x", "x"]]
    heads = odd[int(rng.integers(len(odd)))]
    made = pd.DataFrame(X["words"][:, :2], columns=pd.Index(heads, dtype=object))
    form = rng.integers(4)
    if form == 0:
        return made
    if form == 1:
        return pd.concat({name: pd.DataFrame(part) for name, part in X.items()}, axis=1)
    if form == 2:
        made.index = rng.permutation(ROWS)
    return {**X, "words": made}


@maker
def nullable_frame(X: Any, rng: Any) -> Any:
    import pandas as pd

    kind = str(rng.choice(["Int64", "Float64", "boolean", "category", "string", "object"]))
    made = pd.DataFrame(X["words"].astype(int) > 0 if kind == "boolean" else X["words"].astype(int)).astype(kind)
    if rng.random() < 0.5:
        made.iloc[1, 1] = None
    return {**X, "words": made}


@maker
def no_matrix(X: Any, rng: Any) -> Any:
    """What is no matrix at all, alone or as one of the views."""
    made: Any = [
        {1.0, 2.0}, (row for row in X["words"]), iter(X["words"]), range(3), 3, 3.5, "words", b"words", None, object(),
        [], (), {}, [[]], [[1, 2], [3]], [[[1.0]]], np.float64(3), np.zeros(ROWS), np.zeros((2, 2, 2)), np.array(3.0),
        X["words"].tolist(), [["a", "b"]] * ROWS, ["a"] * ROWS, map(list, X["words"]), frozenset({1}), lambda: 3,
        {"a": {"b": 1}}, [{1, 2}], [None] * ROWS, np.array([None] * ROWS), memoryview(b"abc"), Path("words"),
    ][int(rng.integers(32))]  # fmt: skip
    return made if rng.random() < 0.5 else {**X, "words": made}


@maker
def strange_names(X: Any, rng: Any) -> Any:
    name: Any = [1, None, "", ("a", "b"), " ", "a" * 500, "words\n", 1.5, "é"][int(rng.integers(9))]
    return {name: X["words"], "links": X["links"]}


@maker
def other_lengths(X: Any, rng: Any) -> Any:
    return {**X, "words": X["words"][:-1]}


@maker
def ids_and_names(X: Any, rng: Any) -> Any:
    ids: Any = [[0] * ROWS, [None] * ROWS, list(range(ROWS)), [f"é{i}" for i in range(ROWS)]][int(rng.integers(4))]
    return Views(X, ids=ids, feature_names={"links": [str(each) for each in ids]})


# -- nasty labels


def nasty_labels(y: np.ndarray, rng: np.random.Generator) -> tuple[str, Any]:
    """Return labels in many types and with many faults, and what they are called."""
    import pandas as pd

    few = np.where(rng.random(len(y)) < 0.6, -1, y)
    gaps = [None if label < 0 else int(label) for label in few]
    names = np.array(["ant", "bee", "cat"])[y % 3]
    forms: dict[str, Callable[[], Any]] = {
        **{f"labels as {kind}": lambda kind=kind: y.astype(kind) for kind in ("u1", "i1", "u8", "f4", "f8", "O", "U3")},
        "two labels as bool": lambda: y > 0,
        "few labels": lambda: few,
        "few labels as i1": lambda: few.astype("i1"),
        "few labels and None": lambda: gaps,
        "few labels and NaN": lambda: np.where(few < 0, np.nan, y),
        "few texts": lambda: np.where(few < 0, None, names.astype(object)),
        "few texts, empty": lambda: np.where(few < 0, "", names),
        "texts": lambda: names.tolist(),
        "bytes": lambda: names.astype("S"),
        "categories": lambda: pd.Categorical(names),
        "series of categories": lambda: pd.Series(pd.Categorical(names)),
        "nullable numbers": lambda: pd.array(gaps, dtype="Int64"),
        "nullable texts": lambda: pd.array(names, dtype="string"),
        "nullable booleans": lambda: pd.array([None if g is None else g > 0 for g in gaps], dtype="boolean"),
        "one class": lambda: np.zeros(len(y), int),
        "one label": lambda: [0] + [None] * (len(y) - 1),
        "no label": lambda: np.full(len(y), -1),
        "one label of each": lambda: np.where(np.arange(len(y)) < 3, y, -1),
        "as many classes as objects": lambda: np.arange(len(y)),
        "no y": lambda: None,
        "too short": lambda: y[:-1],
        "two columns": lambda: np.column_stack([y, y]),
        "one column": lambda: y[:, None],
        "infinite": lambda: np.where(y == 0, np.inf, y),
        "fractions": lambda: y + 0.5,
        "huge": lambda: np.where(y == 0, 1e308, y),
        "large numbers": lambda: [2**70 + int(label) for label in y],
        "mixed": lambda: ["a", 1, 2.5] * (len(y) // 3) + ["a"] * (len(y) % 3),
        "objects": lambda: [object() for _ in y],
        "a set": lambda: {1, 2, 3},
        "a generator": lambda: (label for label in y),
        "a number": lambda: 3,
        "a text": lambda: "labels",
        "masked": lambda: np.ma.masked_array(y, rng.random(len(y)) < 0.3),
        "times": lambda: y.astype("M8[s]"),
        "complex": lambda: y.astype(complex),
        "sparse": lambda: sparse.csr_array(y[:, None]),
        "lists": lambda: [[label] for label in y.tolist()],
        "-1 and 1": lambda: np.where(y > 0, 1, -1),
    }
    name = str(rng.choice(list(forms)))
    return name, forms[name]()


# -- raw input of transformers


def raw_input(name: str, rng: np.random.Generator) -> tuple[str, Any]:
    """Return texts, tables or images, more or less nasty."""
    if name in IMAGES:
        return _images(rng)
    texts: list[Any] = ["the red fox", "a blue sea, and more", "C++ & node.js", "", "fox fox", "été 語彙 \x00"] * 4
    odd: Any = [None, float("nan"), 3, b"fox", ["a"], "x" * 10**5, "\ud800", {}, True, " "][int(rng.integers(10))]
    nasty: list[Any] = [*texts[:-1], odd] if rng.random() < 0.7 else texts
    if name in TEXTS and rng.random() < 0.5:
        forms: dict[str, Any] = {
            "a list of texts": nasty,
            "an array of texts": np.array(nasty, dtype=object),
            "a generator": (text for text in nasty),
            "a set": set(texts),
            "a text": "fox",
            "numbers": [1.0, 2.0],
            "nothing": [],
            "None": None,
            "a matrix": np.eye(3),
            "empty texts": [""] * 5,
            "stop words": ["the"] * 5,
            "sparse": sparse.eye_array(3, format="csr"),
        }
        which = str(rng.choice(list(forms)))
        return which, forms[which]
    years: list[Any] = list(range(1990, 1990 + len(nasty)))
    value: Any = [None, float("nan"), float("inf"), 1e308, -5, 10**400, "x", True, 1j, [], 5e-324][
        int(rng.integers(11))
    ]
    years[3] = value
    table: Any = {"body": nasty, "year": years, "kind": [str(i % 3) for i in range(len(nasty))]}
    form = rng.integers(6)
    if form == 0:
        import pandas as pd

        return "a frame", pd.DataFrame(table, dtype=object).infer_objects() if years[3] != 10**400 else table
    if form == 1:
        return "columns of other lengths", {**table, "year": years[:-1]}
    if form == 2:
        return "a table without rows", {column: [] for column in table}
    if form == 3:
        odd_table: Any = [None, 3, [], {}, {"body": 3}, {"body": None}, np.eye(2), set(), {1: [1]}][
            int(rng.integers(9))
        ]
        return f"no table, {odd_table!r}", odd_table
    return "a table", table


def _images(rng: np.random.Generator) -> tuple[str, Any]:
    good = [np.kron(rng.random((6, 6)), np.ones((6, 6))) for _ in range(3)]
    odd: dict[str, Any] = {
        "good": good[0],
        "one pixel": np.zeros((1, 1)),
        "no pixel": np.zeros((0, 5)),
        "NaN": np.full((9, 9), np.nan),
        "infinity": np.full((9, 9, 3), np.inf),
        "negative": -good[0],
        "huge": good[0] * 1e308,
        "bytes": (good[0] * 255).astype(np.uint8),
        "whole numbers": (good[0] * 1000).astype(int),
        "booleans": good[0] > 0.5,
        "four channels": np.zeros((9, 9, 4)),
        "two channels": np.zeros((9, 9, 2)),
        "four dimensions": np.zeros((2, 2, 3, 3)),
        "a line": np.zeros(9),
        "a path": "nowhere.png",
        "None": None,
        "a number": 3,
        "a text as bytes": b"no image",
        "objects": np.array([[None, 1]]),
        "complex": good[0] * 1j,
        "masked": np.ma.masked_array(good[0], good[0] > 0.5),
        "a thin one": np.zeros((1, 400)),
    }
    which = str(rng.choice(list(odd)))
    if rng.random() < 0.1:
        return f"no list, but {which}", odd[which]
    return f"images, one is {which}", [*good, odd[which]]


# -- one case


@dataclass
class Case:
    """An estimator with its parameters, and what it is fitted on."""

    name: str
    parameters: dict[str, Any]
    data: str
    labels: str
    X: Any
    y: Any
    new: Any  # to predict on

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        labels = f" with {self.labels}" if self.labels else ""
        return f"{self.name}({' '.join(shown.split())[:150]}) on {self.data}{labels}"


def make_case(seed: int, number: int) -> Case:
    """Return a case; the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    names = [*ESTIMATORS, *TRANSFORMERS]
    name = names[number % len(names)]
    cls = resolve(name)
    mode = rng.choice(["data", "labels", "parameters", "both"], p=[0.45, 0.1, 0.35, 0.1])
    parameters = nasty_parameters(cls, rng) if mode in ("parameters", "both") else {}
    if name in (*TEXTS, *TABLES, *IMAGES):
        data, X = raw_input(name, rng)
        return Case(name, parameters, data, "", X, None, X)
    views, y = corpus(rng)
    data = str(rng.choice(list(MAKERS))) if mode in ("data", "both") else "plain"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            X = MAKERS[data](views, rng)
        except CoviewError:  # refused by `Views` already
            X = views
    n_rows = _rows(X, len(y))
    y = np.resize(y, n_rows)
    labels: Any = y
    called = ""
    if mode in ("labels", "both") or (mode == "data" and rng.random() < 0.1):
        called, labels = nasty_labels(y, rng)
    elif name in ESTIMATORS and ESTIMATORS[name].kind == "classifier" and rng.random() < 0.5:
        called, labels = "few labels", np.where(np.arange(len(y)) % 2 == 0, y, -1)
    new = (
        X if data in ("no_matrix", "frames") or rng.random() < 0.7 else {name: part[:5] for name, part in views.items()}
    )
    if rng.random() < 0.1 and isinstance(X, dict):  # fitted on plain data, asked of nasty data
        X, new, data = views, X, f"plain, then {data}"
        labels, called = (np.arange(ROWS) % 3, "") if n_rows != ROWS or called == "" else (labels, called)
    return Case(name, parameters, data, called, X, labels, new)


def _rows(X: Any, default: int) -> int:
    part = next(iter(X.values()), None) if isinstance(X, (dict, Views)) and not sparse.issparse(X) else X
    shape = getattr(part, "shape", None)
    return int(shape[0]) if shape else default


def run_case(case: Case) -> str:
    """Fit and ask; return what is wrong, or nothing. An error of coview's own is as good as an answer."""
    before = fingerprint(case.X), fingerprint(case.y), fingerprint(case.new)
    try:
        wrong = _use(case)
    except (NotFittedError, MemoryError, RecursionError, SystemError) as error:
        wrong = described(error)
    except Exception as error:
        wrong = "" if is_ours(error) else described(error)
    after = fingerprint(case.X), fingerprint(case.y), fingerprint(case.new)
    return wrong or ("" if before == after else "an input is not what it was")


def _use(case: Case) -> str:
    cls = resolve(case.name)
    known = cls().get_params(deep=False)
    settings = {**SMALL, **SETTINGS.get(case.name, {}), **case.parameters}
    model = cls(**{name: value for name, value in settings.items() if name in known})
    model.fit(case.X, case.y)
    for name in ("labels_", "memberships_", "memberships_by_view_", "transduction_", "history_"):
        if (where := not_finite_in(vars(model).get(name), name)) and where != "history_['objective']":
            return f"NaN or infinity in {where}"
    for name in (
        "predict", "predict_proba", "decision_function", "transform", "predict_proba_by_view", "transform_by_view",
        "decision_function_by_view", "predict_by_view", "score",
    ):  # fmt: skip
        if not hasattr(model, name):
            continue
        try:
            if name != "score":
                answer = getattr(model, name)(case.new)
            else:
                answer = model.score(case.X, case.y)
        except Exception as error:
            if is_ours(error):
                continue
            raise
        if where := not_finite_in(answer, name):
            return f"NaN or infinity in the answer of {where}"
    return ""


def not_finite_in(answer: Any, name: str) -> str:
    """Return where an answer has NaN or infinity, or nothing."""
    if isinstance(answer, (Mapping, Views)):
        parts = ((not_finite_in(answer[key], f"{name}[{key!r}]")) for key in answer)
        return next(filter(None, parts), "")
    if isinstance(answer, list):
        return next(filter(None, (not_finite_in(part, name) for part in answer)), "")
    values = answer.data if sparse.issparse(answer) else answer
    array = np.asarray(values)
    return name if array.dtype.kind in "fc" and not np.isfinite(array).all() else ""


def fingerprint(X: Any) -> Any:
    """Return bytes by which a change of an input would show; nothing where it has none."""
    if sparse.issparse(X):  # asked first: a dok matrix is a mapping too
        return [fingerprint(part) for part in (X.data, X.indices, X.indptr)] if X.format in ("csr", "csc") else None
    if isinstance(X, (dict, Views)):
        return [(key, fingerprint(X[key])) for key in X]
    if isinstance(X, np.ndarray) and X.dtype != object:
        return (X.shape, X.dtype.str, X.tobytes())
    if hasattr(X, "tolist"):  # pandas keeps what it worked out beside the values
        return repr(X.tolist())
    try:
        return pickle.dumps(X)
    except Exception:
        return None


# -- many cases, in children


def main(seed: int = 0, count: int | None = None, seconds: float | None = None) -> list[str]:
    """Run cases until there are so many or so much time is spent; return failures, one sentence each."""
    failures: list[str] = []
    ends, number = deadline(seconds), 0
    while goes_on(number, count, ends):
        number = _run_child(seed, number, count, ends, failures)
    print(f"{number} cases were tried", file=sys.stderr)
    return failures


def _run_child(seed: int, number: int, count: int | None, ends: float, failures: list[str]) -> int:
    """Fork a child that runs cases from one on; return the number of the next case that is to be run."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            _run_cases(seed, number, count, ends, writing)
        finally:
            os._exit(0)
    os.close(writing)
    fault, first = "", number
    with os.fdopen(reading, "rb", buffering=0) as lines:
        while True:
            ready, _, _ = select.select([lines], [], [], WAIT)
            if not ready:
                os.kill(child, signal.SIGKILL)
                fault = "it waits for good"
                break
            line = lines.readline().decode(errors="replace")
            if not line:
                break
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "failed":
                failures.append(f"{rest}{again('estimators', seed, number)}")
            number += 1
    _, status = os.waitpid(child, 0)
    if not fault and os.WIFSIGNALED(status):
        sign = signal.Signals(os.WTERMSIG(status))
        fault = f"it takes more than {SECONDS} s" if sign == signal.SIGPROF else f"the process dies of {sign.name}"
    if not fault and number == first and time.monotonic() < ends:
        fault = "the process ends without a word"
    if fault:
        failures.append(f"{make_case(seed, number)}: {fault}.{again('estimators', seed, number)}")
        number += 1
    return number


def _run_cases(seed: int, number: int, count: int | None, ends: float, writing: int) -> None:
    limit_memory(MEMORY)
    with threadpool_limits(1), _quietly():
        while goes_on(number, count, ends):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process by SIGPROF
            try:
                case = make_case(seed, number)
                wrong = run_case(case)
                text = f"failed {case}: {wrong}." if wrong else "passed"
            except Exception as error:
                text = f"failed The fuzzer itself: {error!r}."
            os.write(writing, f"{' '.join(text.split())}\n".encode(errors="replace"))
            number += 1


@contextmanager
def _quietly() -> Iterator[None]:
    """No warnings, nothing printed."""
    sink = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(sink, stream)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def show(seed: int, number: int) -> None:
    """Run one case here, and show its traceback."""
    case = make_case(seed, number)
    print(case)
    try:
        print(_use(case) or "nothing is wrong")
    except Exception as error:
        traceback.print_exc()
        print("coview's own" if is_ours(error) else "not coview's own")


if __name__ == "__main__":
    sys.exit(command_line("estimators", __doc__, main, show))
