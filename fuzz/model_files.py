"""Model files that lie: fitted models, saved, changed at random with checksums that fit, then loaded and used.

    python -m fuzz.model_files --count 20000 --seed 1
    python -m fuzz.model_files --only 1234 --show           one case again, with its traceback
    python -m fuzz.model_files --systematic                 each entry of each file by turns: taken out, None, empty

Every case runs in a forked child with a limit on time and memory. A file may be refused by one of coview's errors when
it is loaded; a model that is loaded may give other numbers, or raise when it is used. A crash, a hang, memory out of
proportion and another error at loading are faults: they are listed, and the exit status is 1. Fitted estimators of
scikit-learn inside the models, whose arrays coview does not check, are left as they are.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy import sparse

from coview.utils.archive import _dumps, _hash_of, _header_hash

SECONDS = 30  # that a case may take
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
MEMORY = 6 << 30  # bytes of addresses that it may have more than this process
NUMBERS = (0, -1, 1, 2, 3, 7, 1000, 2**31, 2**40, 2**63 - 1, -(2**62), 0.5, -0.0, 1e-320, 1e30, 1e160, 1e308, -1e308)
TEXTS = ("", "x", "nan", "auto", "words", "links", "exact", "hnsw", "\x00", "a" * 300, "predict", "../../x", "é")


# -- a file as a tree, and a tree as a file


@dataclass
class Archive:
    """The description of a model file, its arrays by name, and its header."""

    header: dict[str, Any]
    tree: Any
    tensors: dict[str, np.ndarray]

    @classmethod
    def read(cls, path: str | Path) -> Archive:
        """Take a file apart."""
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as stream:
            header = json.loads(stream.metadata()["coview"])
        tensors = load_file(path)
        tree = json.loads(tensors.pop("json").tobytes().decode(errors="surrogatepass"))
        return cls(header, tree, tensors)

    def copy(self) -> Archive:
        """Return another one with the same content."""
        tensors = {name: array.copy() for name, array in self.tensors.items()}
        return Archive(dict(self.header), copy.deepcopy(self.tree), tensors)

    def write(self, path: str | Path) -> None:
        """Put a file together, with checksums that fit whatever it holds."""
        for node in self.nodes():
            about = node.get("array") if isinstance(node, dict) else None
            if isinstance(about, dict) and about.get("name") in self.tensors:
                array = self.tensors[about["name"]]
                about["sha256"] = _hash_of(array)
                about["shape"], about["dtype"] = list(array.shape), array.dtype.name
        text = _dumps(self.tree)
        self.header["sha256"] = _header_hash(self.header, text)
        tensors = {**self.tensors, "json": np.frombuffer(text, dtype=np.uint8)}
        save_file(tensors, path, metadata={"coview": _dumps(self.header).decode()})

    def nodes(self) -> Iterator[Any]:
        """Walk over all nodes of the tree."""
        waiting = [self.tree]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, dict) and not _is_of_sklearn(node):
                waiting.extend(node.values())
            elif isinstance(node, list):
                waiting.extend(node)

    def names(self) -> list[str]:
        """Return the names of the arrays that are not of scikit-learn's estimators."""
        return [node["array"]["name"] for node in self.nodes() if isinstance(node, dict) and "array" in node]


def _is_of_sklearn(node: dict[str, Any]) -> bool:
    """Tell whether a node is a packed estimator of scikit-learn; a pipeline's steps may be of coview."""
    about = node.get("object")
    if not isinstance(about, list) or about[0] != "estimator" or not isinstance(about[1], dict):
        return False
    entries = dict(pair for pair in about[1].get("dict", ()) if isinstance(pair[0], str))
    return "version" in entries and entries.get("class") != "Pipeline"


# -- mutations: each changes an archive in place, and says what it did


def mutate(archive: Archive, rng: np.random.Generator) -> list[str]:
    """Change an archive in one to three ways; return what was done."""
    kinds: list[tuple[float, Callable[[Archive, np.random.Generator], str]]] = [
        (4, change_values),
        (3, change_shape),
        (1, change_dtype),
        (4, change_scalar),
        (2, change_text),
        (2, drop_entry),
        (1, rename_entry),
        (2, swap_entries),
        (1, graft),
        (3, widen_views),
        (1, change_list),
        (0.5, change_class),
    ]
    weights = np.array([weight for weight, _ in kinds])
    done = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        kind = kinds[rng.choice(len(kinds), p=weights / weights.sum())][1]
        try:
            done.append(kind(archive, rng))
        except (IndexError, ValueError, OverflowError, KeyError, TypeError):
            continue  # there is nothing of the kind in this file
    return done


def _pick(items: list[Any], rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))]


def _number(rng: np.random.Generator) -> float:
    return _pick([*NUMBERS, math.nan, math.inf, -math.inf, float(rng.normal()) * 10.0 ** rng.integers(-8, 9)], rng)


def change_values(archive: Archive, rng: np.random.Generator) -> str:
    """Overwrite some numbers of an array, or all."""
    name = _pick(archive.names(), rng)
    array = archive.tensors[name] = archive.tensors[name].copy()
    flat = array.reshape(-1)
    number = _number(rng)
    some = rng.integers(flat.size, size=_pick([1, 1, 3, flat.size], rng))
    with np.errstate(all="ignore"):
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            whole = 0 if not math.isfinite(number) else int(min(max(number, limits.min), limits.max))
            flat[some] = _pick([whole, limits.max, limits.min, int(rng.integers(0, 100))], rng)
        elif array.dtype.kind == "b":
            flat[some] ^= True
        elif rng.random() < 0.2:
            flat[some] *= number
        else:
            flat[some] = number
    return f"{len(some)} values of array {name} are {number}"


def change_shape(archive: Archive, rng: np.random.Generator) -> str:
    """Make an array longer, shorter, flat, empty or of another number of dimensions."""
    name = _pick(archive.names(), rng)
    array = archive.tensors[name]
    how = _pick(["longer", "shorter", "flat", "empty", "deeper", "turned", "one"], rng)
    axis = int(rng.integers(max(array.ndim, 1)))
    if how == "longer":
        array = np.concatenate([array, np.take(array, rng.integers(array.shape[axis], size=2), axis=axis)], axis=axis)
    elif how == "shorter":
        array = np.take(array, np.arange(array.shape[axis] - 1), axis=axis)
    elif how == "flat":
        array = array.reshape(-1)
    elif how == "empty":
        array = np.take(array, np.arange(0), axis=axis)
    elif how == "deeper":
        array = array[None]
    elif how == "turned":
        array = array.T
    else:
        array = np.take(array, np.arange(1), axis=axis)
    archive.tensors[name] = np.ascontiguousarray(array)
    return f"array {name} is {how}: {array.shape}"


def change_dtype(archive: Archive, rng: np.random.Generator) -> str:
    """Give an array another type."""
    name = _pick(archive.names(), rng)
    kind = _pick(["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?"], rng)
    with np.errstate(all="ignore"):
        archive.tensors[name] = archive.tensors[name].astype(kind)
    return f"array {name} is {kind}"


def _places(archive: Archive, wanted: Callable[[Any], bool]) -> list[tuple[Any, Any]]:
    """Containers and keys at which a wanted node is; what describes arrays is left out."""
    places = []
    for node in archive.nodes():
        pairs: Any = enumerate(node) if isinstance(node, list) else node.items() if isinstance(node, dict) else ()
        if isinstance(node, dict) and {"sha256", "order"} <= node.keys():
            continue
        places += [(node, key) for key, value in pairs if wanted(value)]
    return places


def change_scalar(archive: Archive, rng: np.random.Generator) -> str:
    """Put another number, None, True, a text or a list in the place of a number or of None."""
    node, key = _pick(_places(archive, lambda value: value is None or isinstance(value, (bool, int, float))), rng)
    old = node[key]
    node[key] = _pick([_number(rng), _number(rng), _number(rng), None, True, _pick(list(TEXTS), rng), []], rng)
    if isinstance(old, int) and rng.random() < 0.4:
        node[key] = old + int(_pick([-1, 1, 5, 100], rng))
    return f"{old!r} became {node[key]!r}"


def change_text(archive: Archive, rng: np.random.Generator) -> str:
    """Put another text in the place of one: of the same file, or a strange one."""
    places = _places(archive, lambda value: isinstance(value, str))
    node, key = _pick(places, rng)
    old = node[key]
    other, at = _pick(places, rng)
    node[key] = _pick([other[at], _pick(list(TEXTS), rng), None, 3], rng)
    return f"{old!r} became {node[key]!r}"


def _dicts(archive: Archive) -> list[list[Any]]:
    """Entries of all dicts of the tree, as lists of pairs."""
    found = (node["dict"] for node in archive.nodes() if isinstance(node, dict) and isinstance(node.get("dict"), list))
    return [entries for entries in found if entries]


def drop_entry(archive: Archive, rng: np.random.Generator) -> str:
    """Take an entry out of a dict."""
    entries = _pick(_dicts(archive), rng)
    return f"{entries.pop(int(rng.integers(len(entries))))[0]!r} is gone"


def rename_entry(archive: Archive, rng: np.random.Generator) -> str:
    """Give an entry of a dict the key of another, or a strange one."""
    entries, others = _pick(_dicts(archive), rng), _pick(_dicts(archive), rng)
    entry = _pick(entries, rng)
    old, entry[0] = entry[0], _pick([_pick(others, rng)[0], _pick(list(TEXTS), rng), 3], rng)
    return f"the key {old!r} became {entry[0]!r}"


def swap_entries(archive: Archive, rng: np.random.Generator) -> str:
    """Exchange two values of dicts."""
    one, two = _pick(_pick(_dicts(archive), rng), rng), _pick(_pick(_dicts(archive), rng), rng)
    if rng.random() < 0.5:
        entries = _pick(_dicts(archive), rng)
        one, two = _pick(entries, rng), _pick(entries, rng)
    one[1], two[1] = copy.deepcopy(two[1]), copy.deepcopy(one[1])
    return f"the values of {one[0]!r} and {two[0]!r} are exchanged"


def graft(archive: Archive, rng: np.random.Generator) -> str:
    """Copy a value of one dict into another."""
    one, two = _pick(_dicts(archive), rng), _pick(_dicts(archive), rng)
    entry = copy.deepcopy(_pick(two, rng))
    one.append(entry)
    return f"an entry {entry[0]!r} is there too"


def change_list(archive: Archive, rng: np.random.Generator) -> str:
    """Make a list longer or shorter, or change its order."""
    lists = [node for node in archive.nodes() if isinstance(node, list) and node]
    node = _pick(lists, rng)
    how = _pick(["longer", "shorter", "reversed"], rng)
    if how == "longer":
        node.append(copy.deepcopy(_pick(node, rng)))
    elif how == "shorter":
        node.pop(int(rng.integers(len(node))))
    else:
        node.reverse()
    return f"a list is {how}"


def widen_views(archive: Archive, rng: np.random.Generator) -> str:
    """Say that views, or the whole input, have more or fewer features, in all places that say it by a number."""
    places = []
    for entries in _dicts(archive):
        for entry in entries:
            if entry[0] in ("n_features_by_view_", "n_features_in_"):
                places.append(entry)
    by = int(_pick([1, 5, 100, 10**6, -1], rng))
    some = places if rng.random() < 0.6 else [_pick(places, rng)]
    for entry in some:
        if isinstance(entry[1], int):
            entry[1] += by
        else:
            _pick(entry[1]["dict"], rng)[1] += by
    return f"{len(some)} numbers of features are changed by {by}"


def change_class(archive: Archive, rng: np.random.Generator) -> str:
    """Call an estimator by the name of another class."""
    from coview.catalog import ESTIMATORS, TRANSFORMERS

    named = [entry for entries in _dicts(archive) for entry in entries if entry[0] == "class"]
    entry = _pick(named, rng)
    old, entry[1] = entry[1], _pick([*ESTIMATORS, *TRANSFORMERS, "MultinomialNB", "PCA"], rng)
    return f"a {old} is called {entry[1]}"


def systematic(archive: Archive) -> Iterator[tuple[str, Archive]]:
    """Yield what was done, and the archive: each entry of a dict dropped or None, each list and each array empty."""
    for i, entries in enumerate(_dicts(archive)):
        for j, (key, value) in enumerate(entries):
            for how in ("gone", "None"):
                if how == "gone" or value is not None:
                    changed = archive.copy()
                    mine = _dicts(changed)[i]
                    if how == "gone":
                        mine.pop(j)
                    else:
                        mine[j][1] = None
                    yield f"{key!r} is {how}", changed
    lists = {i: node for i, node in enumerate(archive.nodes()) if isinstance(node, list) and node}
    pairs = {id(entry) for entries in _dicts(archive) for entry in entries}
    for i in (i for i, node in lists.items() if id(node) not in pairs):
        changed = archive.copy()
        node = next(node for j, node in enumerate(changed.nodes()) if j == i)
        said = f"the list {str(node)[:60]} is empty"
        node.clear()
        yield said, changed
    for name in archive.names():
        array = archive.tensors[name]
        for axis in range(array.ndim):
            changed = archive.copy()
            changed.tensors[name] = np.ascontiguousarray(np.take(array, np.arange(0), axis=axis))
            yield f"array {name} is empty along axis {axis}", changed


# -- models, and what is done with them


@dataclass
class Subject:
    """A fitted model, and a function that uses it as a user would and returns all numbers that it answers."""

    model: Any
    use: Callable[[Any], list[Any]]


def data() -> tuple[Any, np.ndarray]:
    """Return two views of counts, and classes."""
    from coview import Views

    rng = np.random.default_rng(3)
    y = np.arange(48) % 3
    words, links = rng.gamma(0.3, size=(3, 14)), rng.gamma(0.3, size=(3, 9))
    arrays = {"words": rng.poisson(8 * words[y]), "links": rng.poisson(6 * links[y])}
    names = {"words": [f"w{i}" for i in range(14)]}
    return Views({k: sparse.csr_array(v.astype(float)) for k, v in arrays.items()}, feature_names=names), y


TABLE = {
    "title": ["red green blue", "green tea", "blue sea and red sky", "tea at sea", "red tea", "sky over sea"] * 4,
    "body": ["one fish two fish", "fish and chips", "one potato", "two potatoes and chips", "fish", "chips"] * 4,
    "price": [1.0, 2.5, 3.0, 0.5, 2.0, 9.0] * 4,
    "kind": ["a", "b", "a", "b", "a", "b"] * 4,
}


def answers(model: Any, X: Any, y: Any, views: tuple[str, ...] = ()) -> list[Any]:
    """Ask everything that a model can be asked of X."""
    results = []
    for X_part in (X, *(X.select(view) for view in views)):
        for method in (
            "predict", "transform", "predict_proba", "predict_log_proba", "decision_function", "transform_by_view",
            "predict_proba_by_view", "decision_function_by_view", "predict_labels",
        ):  # fmt: skip
            if hasattr(model, method):
                answer = getattr(model, method)(X_part)
                if method != "predict_log_proba":  # the logarithm of 0 is what it should be
                    results.append(answer)
    for method in ("score", "perplexity"):
        if hasattr(model, method):
            results.append(getattr(model, method)(X, y) if method == "score" else getattr(model, method)(X))
    return results


def use_views(model: Any) -> list[Any]:
    """Use a model of views, then ask what it says of itself, and let it learn on."""
    from coview import inspect

    X, y = data()
    results = answers(model, X[:20], y[:20], X.names)
    described = inspect(model)
    for view in described.views:
        features = described.features(view)
        results.append(features)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[20:40], y[20:40])
        results += answers(model, X[:20], y[:20])
    return results


def use_table(model: Any) -> list[Any]:
    """Use a model of raw columns."""
    return [getattr(model, name)(TABLE) for name in ("transform", "predict") if hasattr(model, name)]


def use_retriever(model: Any) -> list[Any]:
    """Search, by views and by their words."""
    X, _ = data()
    results: list[Any] = [model.transform(X[:5])]
    for target in X.names:
        source = next(name for name in X.names if name != target)
        hits = model.search(X[:5].select(source), source, target, k=4)
        results += [hits.scores, model.similarities(X[:3].select(source), source, target)]
        match = model.explain(X[[0]].select(source), hits.ids.tolist()[0][0], source, target)
        results += [match.score, list(match.contributions.values())]
    results.append(model.near(model.indexed_ids().tolist()[0], k=3).scores)
    model.add(X[:3], ids=[1001, 1002, 1003])
    model.remove([1001])
    results.append(model.search(X[:2].select("words"), "words", "links", k=60).scores)
    return results


def subjects() -> dict[str, Callable[[], Subject]]:
    """Return functions that fit a small model each, of every kind, by name."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import coview
    from coview.catalog import ESTIMATORS

    X, y = data()
    few = np.where(np.arange(48) < 24, y, -1)
    matrix = X["words"].toarray()
    linked = coview.Views(words=X["words"], links=sparse.csr_array((matrix @ matrix.T > 40).astype(float)))
    settings: dict[str, dict[str, Any]] = {
        "SpectralClusteringViews": {"n_neighbors": 8},
        "CoTrainingClassifier": {"max_iter": 3, "pool_size": 20},
        "MultiViewPassiveAggressiveClassifier": {"probability": True, "average": True},
        "PairwiseCoPLSA": {"pair_fraction": 0.2},
    }
    common = {"n_components": 3, "n_clusters": 3, "max_iter": 5, "n_init": 2, "random_state": 0}

    def of_catalog(name: str) -> Any:
        cls = coview.catalog.resolve(name)
        allowed = cls().get_params(deep=False)
        given = {**common, **settings.get(name, {})}
        return cls(**{key: value for key, value in given.items() if key in allowed})

    seed, short = {"random_state": 0}, {"max_iter": 3, "random_state": 0}
    ontology = coview.Ontology.from_tree({"a": ["b", "c"], "d": []})
    titles = {"title": "title", "body": "body"}
    cca = coview.MultiViewCCA(2, **seed)
    of_views: dict[str, Callable[[], Any]] = {
        **{name: lambda name=name: of_catalog(name).fit(X, y) for name in ESTIMATORS if name != "CrossModalRetriever"},
        "PLSA of a batch": lambda: coview.PLSA(3, **seed).partial_fit(X),
        "DualPLSAClassifier of few labels": lambda: coview.DualPLSAClassifier(3, **short).fit(X, few),
        "LinkPLSA of a batch": lambda: coview.LinkPLSA(3, **short).fit(X).partial_fit(X),
        "SpectralClusteringViews stacked": lambda: coview.SpectralClusteringViews(
            3, method="stacked", n_neighbors=8, **seed
        ).fit(X),
        "SpectralClusteringViews concatenated": lambda: coview.SpectralClusteringViews(
            3, method="concatenated", metric="standard", n_neighbors=8, **seed
        ).fit(X),
        "two classes online": lambda: coview.MultiViewPassiveAggressiveClassifier(**seed).fit(X, y > 0),
        "SeededKMeansClassifier under an ontology": lambda: coview.SeededKMeansClassifier(
            ontology=ontology, max_iter=3
        ).fit(X, np.array(["b", "c", "d"])[y]),
        "ConcatenatedViews of logistic regression": lambda: coview.ConcatenatedViews(LogisticRegression()).fit(X, y),
        "pipeline": lambda: make_pipeline(coview.TfidfViews(), cca).fit(X, y),
        "pipeline of weights": lambda: make_pipeline(
            coview.TfidfViews(views=["links"]), coview.MultiViewNaiveBayes()
        ).fit(X, y),
        "EachView": lambda: make_pipeline(coview.UnitRows(), coview.EachView(StandardScaler(with_mean=False))).fit(X),
    }
    retrievers: dict[str, Callable[[], Any]] = {
        "CrossModalRetriever": lambda: of_catalog("CrossModalRetriever").fit(X, y),
        "semantic retriever": lambda: coview.CrossModalRetriever(cca, "semantic").fit(X, y),
    }
    if find_spec("usearch") is not None:
        retrievers["retriever with a graph"] = lambda: coview.CrossModalRetriever(cca, index="hnsw").fit(X).remove([3])
    tables: dict[str, Callable[[], Any]] = {
        "TableViews": lambda: coview.TableViews(text=titles, columns={"facts": ["price", "kind"]}).fit(TABLE),
        "texts": lambda: make_pipeline(coview.TextViews(titles), coview.MultiViewPLSA(2, 3, **short)).fit(TABLE),
    }
    others: dict[str, Callable[[], Subject]] = {
        "NeighborViews": lambda: Subject(
            coview.NeighborViews("links", labels=True, hops=2).fit(linked, y), lambda model: [model.transform(linked)]
        ),
    }
    for use, group in ((use_views, of_views), (use_retriever, retrievers), (use_table, tables)):
        others.update({name: lambda fit=fit, use=use: Subject(fit(), use) for name, fit in group.items()})
    return others


# -- running


@dataclass
class Outcome:
    """What became of one case: "refused", "answered", "raised", or the kind of fault, and more words."""

    seed: int
    subject: str
    kind: str
    words: str
    mutations: list[str]

    @property
    def is_fault(self) -> bool:
        """Tell whether this must not happen."""
        return self.kind not in ("refused", "answered", "raised")


class Fuzzer:
    """Fits the models once, then tries mutated files of them."""

    def __init__(self, only: str | None = None, seconds: float = SECONDS) -> None:
        from coview import load, save
        from coview.catalog import sklearn_class

        sklearn_class("")  # imports all of scikit-learn, which each case would do anew otherwise
        self.seconds = seconds
        self.folder = tempfile.TemporaryDirectory(prefix="coview-fuzz-")
        self.path = Path(self.folder.name) / "case.coview"
        self.archives: dict[str, Archive] = {}
        self.subjects: dict[str, Subject] = {}
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        for name, fit in subjects().items():
            if only is not None and only.lower() not in name.lower():
                continue
            subject = fit()
            save(subject.model, self.path)
            subject.use(load(self.path))  # compiles, and tells that the models are whole
            save(subject.model, self.path)
            self.archives[name], self.subjects[name] = Archive.read(self.path), subject

    def run(self, seed: int, *, show: bool = False) -> Outcome:
        """Try one case, which the seed makes."""
        rng = np.random.default_rng(seed)
        name = _pick(list(self.archives), rng)
        archive = self.archives[name].copy()
        return self._run(seed, name, archive, mutate(archive, rng), show)

    def run_systematic(self, *, show: bool = False) -> Iterator[Outcome]:
        """Try all cases that are not made at random; their seeds are their numbers."""
        cases = ((name, *case) for name, archive in self.archives.items() for case in systematic(archive))
        for number, (name, said, archive) in enumerate(cases):
            yield self._run(number, name, archive, [said], show)

    def _run(self, seed: int, name: str, archive: Archive, mutations: list[str], show: bool) -> Outcome:
        try:
            archive.write(self.path)
        except Exception as error:  # what no file can hold is no case
            return Outcome(seed, name, "refused", f"cannot be written: {error}", mutations)
        kind, words = self._in_child(name, show, self.seconds)
        if kind == "hang":  # or a machine with too much to do: what hangs does so again
            kind, words = self._in_child(name, show, 4 * self.seconds)
        return Outcome(seed, name, kind, words, mutations)

    def _in_child(self, name: str, show: bool, seconds: float) -> tuple[str, str]:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                kind, words = self._try(name, show)
                os.write(writer, json.dumps([kind, words[:2000]]).encode())
            finally:
                os._exit(0)
        os.close(writer)
        status, end = None, time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.002)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return "hang", f"no end within {seconds:g} seconds"
        with os.fdopen(reader, "rb") as stream:
            said = stream.read()
        if status and os.WIFSIGNALED(status):
            return "crash", signal.Signals(os.WTERMSIG(status)).name
        return tuple(json.loads(said)) if said else ("crash", "ended without a word")

    def _try(self, name: str, show: bool) -> tuple[str, str]:
        from sklearn.exceptions import NotFittedError

        from coview import load
        from coview.exceptions import CoviewError

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        step = "load"
        try:
            model = load(self.path)
            step = "use"
            self.subjects[name].use(model)
        except (CoviewError, NotFittedError) as error:
            if show:
                print(f"{type(error).__name__}: {error}")
            return "refused", f"{step}: {error}"
        except MemoryError as error:
            return "memory", f"{step}: {error}"
        except BaseException as error:
            if show:
                traceback.print_exc()
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "coview/" in frame.filename] or frames
            where = f"{Path(ours[-1].filename).name}:{ours[-1].name}"
            return "raised" if step == "use" else "raw error", f"{type(error).__name__} in {where}: {str(error)[:300]}"
        return "answered", ""


def main(seed: int = 0, count: int | None = None, seconds: float = math.inf, model: str | None = None) -> list[str]:
    """Try so many cases, or for so many seconds, in a process of its own; return the faults, one line each.

    Parameters
    ----------
    seed : int, default=0
        Seed of the first case; the next case has the next one.
    count : int, optional
        Number of cases.
    seconds : float, optional
        Stop after so many.
    model : str, optional
        Only models whose name contains this.
    """
    words = [sys.executable, "-m", "fuzz.model_files", "--seed", str(seed), "--minutes", str(seconds / 60)]
    words += ["--count", str(10**9 if count is None else count)] + ([] if model is None else ["--model", model])
    home = Path(__file__).parents[1]
    # a forked child has no threads but its own: the process that forks must have none either
    ran = subprocess.run(
        words, cwd=home, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, text=True, check=False
    )
    *faults, summary = ran.stdout.splitlines() or [f"the fuzzer ended with status {ran.returncode}"]
    return faults if summary.endswith(".") else [*faults, summary]


def _command_line() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--only", type=int, help="run the case of one seed")
    parser.add_argument("--model", help="only models whose name contains this")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a case may take")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--systematic", action="store_true", help="in place of random cases, each entry by turns")
    parser.add_argument("--show", action="store_true", help="print tracebacks")
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **ONE_THREAD})
    end = time.monotonic() + 60 * given.minutes
    fuzzer = Fuzzer(given.model, given.seconds)
    first, count = (given.seed, given.count) if given.only is None else (given.only, 1)
    counts: Counter[str] = Counter()
    cases = (fuzzer.run(seed, show=given.show) for seed in range(first, first + count))
    for outcome in fuzzer.run_systematic(show=given.show) if given.systematic else cases:
        counts[outcome.kind] += 1
        if outcome.is_fault or given.only is not None:
            print(f"{outcome.seed} {outcome.subject}: {outcome.kind}: {outcome.words} [{'; '.join(outcome.mutations)}]")
            sys.stdout.flush()
        if time.monotonic() > end:
            break
    print(f"{sum(counts.values())} files: " + ", ".join(f"{n} {kind}" for kind, n in counts.most_common()) + ".")
    return int(any(kind not in ("refused", "answered", "raised") for kind in counts))


if __name__ == "__main__":
    sys.exit(_command_line())
