"""The explorer's demonstration: the functions and classes of the Python packages on this machine, by words and by code.

Three models of the same two views: topics, classes from a few labels under an ontology of packages, and search.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np

from coview.web.service import Service

__all__ = ["demo_service"]

LABELED = 8  # objects of each subpackage whose label the classifier is told
TOPICS = 30
LONGEST = 6000  # characters of a source text that are shown


def demo_service(quiet: bool = False) -> Service:
    """Return a service of the demonstration's models; they take seconds to learn."""
    from sklearn.pipeline import make_pipeline

    from coview import LinkPLSA, SeededKMeansClassifier, TfidfViews
    from coview.cli.search import build_demo_retriever
    from coview.datasets import load_python_packages

    if not quiet:
        print("Learning from the Python packages on this machine (parsed, never imported) ...", file=sys.stderr)
    corpus = load_python_packages()
    retriever = build_demo_retriever(quiet=True)
    topics = LinkPLSA(TOPICS, max_iter=60, random_state=0).fit(corpus.views)
    sorter = make_pipeline(
        TfidfViews(sublinear_tf=True), SeededKMeansClassifier("max_agree", _packages(corpus.target_names))
    )
    sorter.fit(corpus.views, _few_labels(corpus))
    texts = {view: _Sources(corpus.names, corpus.groups, view) for view in corpus.views.names}
    title = "Python packages on this machine"
    return Service(sorter, corpus.views, also=[topics, retriever], title=title, texts=texts)


def _packages(names: Any) -> Any:
    """Which subpackage belongs to which package."""
    from coview import Ontology

    edges = [(str(name), name.split(".")[0] if "." in name else "standard library") for name in names]
    return Ontology.from_edges(edges)


def _few_labels(corpus: Any) -> list[str | None]:
    known: list[str | None] = [None] * len(corpus.target)
    for code, name in enumerate(corpus.target_names):
        members = np.flatnonzero(corpus.target == code)
        for row in np.random.default_rng(code).permutation(members)[:LABELED]:
            known[row] = str(name)
    return known


class _Sources(Sequence[str]):
    """Docstring or code of each object, read from its source file when it is asked for."""

    def __init__(self, names: np.ndarray, files: np.ndarray, view: str) -> None:
        self._names, self._files, self._view = names, files, view

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        found = _definitions(str(self._files[row])).get(str(self._names[row]))
        return "" if found is None else found[0 if self._view == "words" else 1][:LONGEST]


@lru_cache(maxsize=64)
def _definitions(file: str) -> dict[str, tuple[str, str]]:
    """(docstring, code without it) of the definitions of a source file, by dotted name."""
    from coview.datasets.python_packages import package_root

    path = package_root(Path(file).parts[0]) / file
    source = path.read_text(encoding="utf-8", errors="replace")
    parts = Path(file).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    found: dict[str, tuple[str, str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the parser, about escapes in other people's strings
        tree = ast.parse(source)
    lines = source.splitlines()
    waiting: list[tuple[ast.AST, str]] = [(tree, module)]
    while waiting:
        node, prefix = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}.{child.name}"
                found[name] = (ast.get_docstring(child) or "", _code(child, lines))
                if isinstance(child, ast.ClassDef):
                    waiting.append((child, name))
            elif not isinstance(child, ast.expr):
                waiting.append((child, prefix))
    return found


def _code(node: Any, lines: list[str]) -> str:
    first = node.body[0] if node.body else None
    is_doc = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    start, end = node.lineno - 1, node.end_lineno
    kept = lines[start:end]
    if is_doc and first is not None:
        kept = lines[start : first.lineno - 1] + lines[first.end_lineno : end]
    indent = min((len(line) - len(line.lstrip()) for line in kept if line.strip()), default=0)
    return "\n".join(line[indent:] for line in kept).strip("\n")
