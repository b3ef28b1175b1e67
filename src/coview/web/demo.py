"""The retriever that is searched where no model is named: code of the Python packages on this machine, by words.

It is learned once, and kept in the user's cache folder for the next call.
"""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import sklearn
from sklearn.pipeline import make_pipeline

from coview._version import __version__
from coview.datasets.python_packages import find_user_cache, load_python_packages
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import CoviewError
from coview.io.models import load, save
from coview.preprocessing.weighting import TfidfViews
from coview.retrieval.retriever import CrossModalRetriever

__all__ = ["demo_retriever"]

RECIPE = 6  # part of the cache's key: raise it whenever the same corpus would give another retriever


def _say(what: str, quiet: bool) -> None:
    if not quiet:
        print(f"{what} ...", file=sys.stderr)


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
