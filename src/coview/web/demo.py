"""Models for demonstrations: the functions and classes of the Python packages on this machine, by words and by code.

Three models of the same two views: topics, classes from a few labels under an ontology of packages, and search. The
retriever is learned once, and kept in the user's cache folder for the next call.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import textwrap
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import make_pipeline

from coview._version import __version__
from coview.assignment.ontology import Ontology
from coview.assignment.seeded_kmeans import SeededKMeansClassifier
from coview.datasets.python_packages import find_package_root, find_user_cache, load_python_packages, read_definitions
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import CoviewError
from coview.io.models import load, save
from coview.plsa.link import LinkPLSA
from coview.preprocessing.weighting import TfidfViews
from coview.retrieval.retriever import CrossModalRetriever
from coview.web.service import Service

__all__ = ["demo_retriever", "demo_service"]

RECIPE = 6  # part of the cache's key: raise it whenever the same corpus would give another retriever

LABELED = 8  # objects of each subpackage whose label the classifier is told
TOPICS = 30
LONGEST = 6000  # characters of a source text that are shown


def demo_service(quiet: bool = False) -> Service:
    """Return a service of the demonstration's models; they take seconds to learn."""
    _say("Learning from the Python packages on this machine (parsed, never imported)", quiet)
    corpus = load_python_packages()
    retriever = demo_retriever(quiet=True)
    topics = LinkPLSA(TOPICS, max_iter=60, random_state=0).fit(corpus.views)
    sorter = make_pipeline(
        TfidfViews(sublinear_tf=True), SeededKMeansClassifier("max_agree", _packages(corpus.target_names))
    )
    sorter.fit(corpus.views, _few_labels(corpus))
    texts = {view: _Sources(corpus.names, corpus.groups, view) for view in corpus.views.names}
    title = "Python packages on this machine"
    return Service(sorter, corpus.views, also=[topics, retriever], title=title, texts=texts)


def _say(what: str, quiet: bool) -> None:
    if not quiet:
        print(f"{what} ...", file=sys.stderr)


def _packages(names: Any) -> Any:
    """Which subpackage belongs to which package."""
    edges = [(str(name), name.split(".")[0] if "." in name else "standard library") for name in names]
    return Ontology.from_edges(edges)


def _few_labels(corpus: Any) -> list[str | None]:
    known: list[str | None] = [None] * len(corpus.target)
    for code, name in enumerate(corpus.target_names):
        members = np.flatnonzero(corpus.target == code)
        for row in np.random.default_rng(code).permutation(members)[:LABELED]:
            known[row] = str(name)
    return known


# -- the retriever


def demo_retriever(quiet: bool = False, cache: Path | None = None) -> Any:
    """Return a retriever of the code of the installed Python packages by the words of their documentation.

    It is learned once and then read from a file in `cache`, by default a folder of the user's cache. A file that is
    damaged or of another corpus or version is not used; a folder that cannot be written costs the next call seconds.
    """
    _say("Reading the Python packages on this machine (parsed, never imported)", quiet)
    corpus = load_python_packages()
    path = (find_user_cache() / "search" if cache is None else cache) / f"{_key(corpus.content_hash)}.coview"
    retriever = _from_cache(path)
    if retriever is None:
        _say("Learning a common space of words and code, once", quiet)
        model = make_pipeline(TfidfViews(sublinear_tf=True), MultiViewCCA(100, random_state=0))
        retriever = CrossModalRetriever(model).fit(corpus.views)
        _into_cache(retriever, path)
    return retriever


def _key(content_hash: str) -> str:
    parts = json.dumps([RECIPE, content_hash, __version__, sklearn.__version__])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _from_cache(path: Path) -> Any:
    """The retriever in a file, or None where there is none that can be used."""
    if not path.is_file():
        return None
    try:
        model = load(path)
    except (CoviewError, OSError):  # whatever is wrong with it, it is made anew
        return None
    return model if isinstance(model, CrossModalRetriever) else None


def _into_cache(retriever: Any, path: Path) -> None:
    """Keep the retriever where the folder can be written; those of older corpora and versions go."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        save(retriever, path)
        for old in path.parent.glob("*.coview"):
            if old != path:
                old.unlink(missing_ok=True)


# -- what is shown of an object


class _Sources:
    """Docstring or code of each object, read from its source file when it is asked for."""

    def __init__(self, names: np.ndarray, files: np.ndarray, view: str) -> None:
        self._names, self._files, self._view = names, files, view

    def __getitem__(self, row: int) -> str:
        document, code = _texts(str(self._files[row])).get(str(self._names[row]), ("", ""))
        return (document if self._view == "words" else code)[:LONGEST]


@lru_cache(maxsize=64)
def _texts(file: str) -> dict[str, tuple[str, str]]:
    """(docstring, code without it) of the definitions of a source file, by dotted name."""
    root = find_package_root(Path(file).parts[0])
    lines = (root / file).read_text(encoding="utf-8", errors="replace").splitlines()
    definitions = read_definitions(root, Path(file))
    return {name: (ast.get_docstring(node) or "", _code(node, lines)) for name, node in definitions}


def _code(node: Any, lines: list[str]) -> str:
    kept = lines[node.lineno - 1 : node.end_lineno]
    if ast.get_docstring(node) is not None:
        document = node.body[0]
        kept = lines[node.lineno - 1 : document.lineno - 1] + lines[document.end_lineno : node.end_lineno]
    return textwrap.dedent("\n".join(kept)).strip("\n")
