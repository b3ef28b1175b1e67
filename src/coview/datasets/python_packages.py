"""The demo corpus: documented functions and classes of the packages installed beside coview, in two views.

Nothing is downloaded and nothing is imported: the source files of a fixed list of subpackages are read with `ast`. View
"words" holds the words of an object's docstring, view "code" the names in its code, and the target is the subpackage.
Objects of one file resemble one another, so honest splits keep the files (`groups`) apart.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import platform
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.utils import Bunch

from coview.exceptions import DataFileError, ModelFileError
from coview.utils.archive import read_archive, write_archive
from coview.views.views import Views

__all__ = ["find_user_cache", "load_python_packages"]

RECIPE = 1  # part of the cache's key: raise it whenever the same source files would give another corpus

_SCIPY = "stats optimize signal sparse interpolate linalg spatial ndimage io special"
_SKLEARN = "metrics linear_model ensemble preprocessing cluster model_selection decomposition"
SUBPACKAGES: dict[str, tuple[str, ...]] = {  # label -> folders
    **{f"scipy.{part}": (f"scipy/{part}",) for part in _SCIPY.split()},
    **{f"sklearn.{part}": (f"sklearn/{part}",) for part in _SKLEARN.split()},
    "numpy.ma": ("numpy/ma",),
    "numpy.polynomial": ("numpy/polynomial",),
    "email": ("email",),
    "asyncio": ("asyncio",),
    "http+urllib": ("http", "urllib"),
}
MIN_WORDS, MIN_CODE, PER_LABEL, MIN_DF, MAX_DF = 15, 10, 100, 3, 0.5

_SKIPPED_FOLDERS = {"test", "tests", "testing", "vendored", "_vendor", "_vendored", "externals", "_external", "_lib"}
_END_OF_PROSE = re.compile(r"\s*(see also|examples?|references)\s*:{0,2}\s*", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_NAME_FIELD = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_DESCR = """Functions and classes of installed Python packages, in two views.

Objects are the documented functions, methods and classes of {n_labels} subpackages of scipy, scikit-learn, numpy and
the standard library, as installed here: {versions}.

The view "words" counts the content words of the docstring up to its See Also, Examples or References, without
doctests. The view "code" counts the parts of the names in the code, without the docstring. An object has at least
{min_words} content words and {min_code} different name parts in its code; repeated docstrings and repeated code are
dropped; a label keeps at most {per_label} objects, chosen by a hash of the name. Features are in at least {min_df}
objects and in at most {max_df:.0%} of them.

The target is the subpackage. Split by `groups` (the source file): random splits put neighbors of one file on both
sides and flatter every method.
"""


class SourceObject(NamedTuple):
    """A documented function, method or class: dotted name, source file, docstring words, parts of names in the code."""

    name: str
    file: str
    words: tuple[str, ...]
    code: tuple[str, ...]


def load_python_packages(data_home: str | Path | None = None, refresh: bool = False) -> Bunch:
    """Load the demo corpus: functions and classes of installed packages, by docstring words and by names in the code.

    About 1,900 objects of 22 subpackages (scipy, scikit-learn, numpy, the standard library). The sources are parsed,
    never imported or executed. The first call reads them, in seconds; later calls read a cache, which is kept per
    version of the packages. The same versions always give the same corpus.

    Parameters
    ----------
    data_home : path, optional
        Where the cache lies; the user's cache folder by default. Where it cannot be written, nothing is cached.
    refresh : bool, default=False
        Read the sources again although there is a cache.

    Returns
    -------
    Bunch
        ``views`` (`Views` "words" and "code": float32 counts with feature names, the objects' names as ids),
        ``target`` (integers) and ``target_names`` (subpackages), ``groups`` (source file of each object, for
        scikit-learn's group splitters), ``names`` (qualified names), ``versions`` (of the packages),
        ``content_hash`` (SHA-256 of all of it), ``DESCR``.

    Examples
    --------
    >>> from coview.datasets import load_python_packages
    >>> corpus = load_python_packages()
    >>> corpus.views.names, len(corpus.target_names)
    (('words', 'code'), 22)
    >>> from sklearn.model_selection import StratifiedGroupKFold
    >>> honest = StratifiedGroupKFold(5).split(corpus.views, corpus.target, corpus.groups)
    """
    versions = {
        "numpy": np.__version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
    }
    key = hashlib.sha256(json.dumps([RECIPE, versions], sort_keys=True).encode()).hexdigest()[:16]
    home = find_user_cache() if data_home is None else Path(data_home).expanduser()
    cache = home / "python_packages" / f"{key}.safetensors"
    arrays = None if refresh else _read_cache(cache)
    if arrays is None:
        packages = {folder.split("/")[0] for folders in SUBPACKAGES.values() for folder in folders}
        roots = {package: find_package_root(package) for package in sorted(packages)}
        arrays = build_corpus(SUBPACKAGES, roots)
        with suppress(OSError, DataFileError):  # a read-only home costs the next call seconds, never its result
            write_archive(cache, arrays, kind="corpus", version=RECIPE)
    return _as_bunch(arrays, versions)


def find_user_cache() -> Path:
    """Return the folder for what coview makes itself and can make again."""
    from platformdirs import user_cache_path

    return user_cache_path("coview", appauthor=False)


# -- from source files to objects


def find_package_root(package: str) -> Path:
    """Return the folder that holds a top-level package, found without importing it."""
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations if spec else None) or ():
        if Path(place, "__init__.py").is_file():
            return Path(place).parent
    raise DataFileError(
        f"The source files of package {package!r} are not installed here, and the corpus is made of them. Use an "
        "environment with ordinary folders of .py files, or make_topic_views for data without sources."
    )


def read_source_objects(root: Path, folder: str) -> Iterator[SourceObject]:
    """Yield the documented objects under root/folder, file by file; names and files are relative to root."""
    for path in sorted((root / folder).rglob("*.py")):
        relative = path.relative_to(root)
        if _is_skipped(relative) or not path.is_file():
            continue
        for name, node in read_definitions(root, relative):
            words = split_docstring(ast.get_docstring(node) or "")
            if len(words) < MIN_WORDS:
                continue
            code = split_code(node)
            if len(set(code)) >= MIN_CODE:
                yield SourceObject(name, relative.as_posix(), words, code)


def read_definitions(root: Path, file: Path) -> Iterator[tuple[str, Definition]]:
    """Yield the definitions of a source file with their dotted names; none of a file that cannot be parsed."""
    tree = _parse(root / file)
    parts = file.with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return iter(()) if tree is None else _list_definitions(tree, module)


def split_docstring(docstring: str) -> tuple[str, ...]:
    """Return the content words of a docstring, up to its See Also, Examples or References, without doctests."""
    prose = []
    in_doctest = False
    for line in docstring.splitlines():
        if _END_OF_PROSE.fullmatch(line):
            break
        text = line.strip()
        # a doctest with what it prints ends at the next blank line
        in_doctest = bool(text) and (in_doctest or text.startswith(">>>"))
        if not in_doctest:
            prose.append(text)
    words = _WORD.findall(" ".join(prose).lower())
    return tuple(word for word in words if word not in ENGLISH_STOP_WORDS)


def split_code(node: Definition) -> tuple[str, ...]:
    """Return the parts of an object's own name and of the names in its arguments and body, without the docstring."""
    names = [node.name]
    # statements of text alone hold no names, so the docstring needs no care here
    waiting: list[Any] = [*node.body] if isinstance(node, ast.ClassDef) else [node.args, *node.body]
    while waiting:
        part = waiting.pop()
        field = _NAME_FIELD.get(type(part))
        if field is not None:
            names.append(getattr(part, field) or "")  # a keyword without a name is **mapping
        for _, value in ast.iter_fields(part):
            if isinstance(value, list):
                waiting.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST) and value._fields:  # operators and contexts hold nothing
                waiting.append(value)
    return tuple(token for name in names for token in split_name(name))


@lru_cache(maxsize=65536)
def split_name(name: str) -> tuple[str, ...]:
    """Return the lower-case parts of a name, split on underscores, digits and camel case, but for single letters."""
    return tuple(part.lower() for part in _NAME_PART.findall(name) if len(part) > 1)


def _is_skipped(path: Path) -> bool:
    """Tell tests, vendored code and hidden files from the package's own."""
    hidden = any(part.startswith(".") for part in path.parts)
    return hidden or not _SKIPPED_FOLDERS.isdisjoint(path.parts) or path.stem.startswith(("test", "conftest"))


def _parse(path: Path) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the parser, about escapes in other people's strings
            return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None  # written for another Python, or a template: nothing that could be called here


def _list_definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    """Yield functions, classes and methods with their dotted names; definitions inside functions are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            name = f"{prefix}.{child.name}"
            yield name, child
            if isinstance(child, ast.ClassDef):
                yield from _list_definitions(child, name)
        elif not isinstance(child, ast.expr):  # definitions under if, try, with
            yield from _list_definitions(child, prefix)


# -- from objects to a corpus


def build_corpus(
    labels: Mapping[str, Sequence[str]], roots: Mapping[str, Path], min_df: int = MIN_DF, max_df: float = MAX_DF
) -> dict[str, np.ndarray]:
    """Read all labels' folders and return the corpus as plain arrays, in the order of the objects' names."""
    objects = {
        label: [item for folder in folders for item in read_source_objects(roots[folder.split("/")[0]], folder)]
        for label, folders in labels.items()
    }
    chosen = choose(objects)
    target_names = sorted({label for label, _ in chosen})  # a later release may have moved a subpackage away
    arrays = {
        "names": np.array([item.name for _, item in chosen], dtype=np.str_),
        "groups": np.array([item.file for _, item in chosen], dtype=np.str_),
        "target": np.array([target_names.index(label) for label, _ in chosen], dtype=np.int64),
        "target_names": np.array(target_names, dtype=np.str_),
    }
    for view, tokens in (("words", [item.words for _, item in chosen]), ("code", [item.code for _, item in chosen])):
        vectorizer = CountVectorizer(analyzer=list, min_df=min_df, max_df=max_df, dtype=np.float32)
        counts = sparse.csr_array(vectorizer.fit_transform(tokens))
        counts.sort_indices()
        arrays[f"{view}.data"] = counts.data
        arrays[f"{view}.indices"] = counts.indices.astype(np.int32)
        arrays[f"{view}.indptr"] = counts.indptr.astype(np.int32)
        arrays[f"{view}.features"] = vectorizer.get_feature_names_out().astype(np.str_)
    arrays["content_hash"] = np.array(_hash_files(arrays))
    return arrays


def choose(objects: Mapping[str, Iterable[SourceObject]], per_label: int = PER_LABEL) -> list[tuple[str, SourceObject]]:
    """Drop repeated names, docstrings and code, keep at most `per_label` of a label, and sort by name."""
    pairs = [(label, item) for label, group in objects.items() for item in group]
    seen: set[Any] = set()
    kept: dict[str, list[SourceObject]] = {label: [] for label in objects}
    for label, item in sorted(pairs, key=lambda pair: pair[1]):
        marks = {("name", item.name), ("words", item.words), ("code", item.code)}
        if seen.isdisjoint(marks):
            kept[label].append(item)
            seen |= marks
    for group in kept.values():
        group.sort(key=lambda item: hashlib.sha256(item.name.encode()).hexdigest())
    chosen = [(label, item) for label, group in kept.items() for item in group[:per_label]]
    return sorted(chosen, key=lambda pair: pair[1].name)


def _as_bunch(arrays: Mapping[str, np.ndarray], versions: dict[str, str]) -> Bunch:
    n_rows = len(arrays["names"])
    matrices = {}
    for view in ("words", "code"):
        parts = (arrays[f"{view}.data"], arrays[f"{view}.indices"], arrays[f"{view}.indptr"])
        matrices[view] = sparse.csr_array(parts, shape=(n_rows, len(arrays[f"{view}.features"])))
    names = {view: arrays[f"{view}.features"] for view in matrices}
    return Bunch(
        views=Views(matrices, ids=arrays["names"], feature_names=names),
        target=arrays["target"],
        target_names=arrays["target_names"],
        groups=arrays["groups"],
        names=arrays["names"],
        versions=versions,
        content_hash=str(arrays["content_hash"]),
        DESCR=_DESCR.format(
            n_labels=len(arrays["target_names"]),
            versions=", ".join(f"{package} {version}" for package, version in versions.items()),
            min_words=MIN_WORDS,
            min_code=MIN_CODE,
            per_label=PER_LABEL,
            min_df=MIN_DF,
            max_df=MAX_DF,
        ),
    )


# -- the cache


def _hash_files(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 over every array but the hash itself, by name, type, shape and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays.keys() - {"content_hash"}):
        array = arrays[name]
        # the width of a string array and the machine's byte order are no content
        plain = "\0".join(array.tolist()).encode() if array.dtype.kind == "U" else array.astype("<f8").tobytes()
        digest.update(f"{name} {array.dtype.kind} {array.shape} ".encode() + plain)
    return digest.hexdigest()


def _read_cache(path: Path) -> dict[str, np.ndarray] | None:
    """Return the cached arrays, or None where there are none or they are not what was written."""
    try:
        return read_archive(path, kind="corpus", newest=RECIPE)[0]
    except (ModelFileError, OSError):
        return None
