"""Corpora to try methods on: one that is on every machine, public ones by download, and synthetic ones."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# public name -> module that defines it
_PUBLIC = {
    "data_home": "coview.datasets.files",
    "load_citeseer": "coview.datasets.linqs",
    "load_cora": "coview.datasets.linqs",
    "load_internet_ads": "coview.datasets.internet_ads",
    "load_leaves": "coview.datasets.leaves",
    "load_mfeat": "coview.datasets.mfeat",
    "load_newsgroups_views": "coview.datasets.newsgroups",
    "load_pubmed": "coview.datasets.pubmed",
    "load_python_packages": "coview.datasets.python_packages",
    "load_reuters_multilingual": "coview.datasets.reuters_multilingual",
    "load_webkb": "coview.datasets.webkb",
    "load_webkb_course": "coview.datasets.webkb_course",
    "load_wikipedia_linqs": "coview.datasets.wikipedia_linqs",
    "load_wikipedia_retrieval": "coview.datasets.wikipedia",
    "make_blobs_views": "coview.datasets.synthetic",
    "make_topic_views": "coview.datasets.synthetic",
}

__all__ = [*sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'coview.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


if TYPE_CHECKING:
    from coview.datasets.files import data_home as data_home
    from coview.datasets.internet_ads import load_internet_ads as load_internet_ads
    from coview.datasets.leaves import load_leaves as load_leaves
    from coview.datasets.linqs import load_citeseer as load_citeseer
    from coview.datasets.linqs import load_cora as load_cora
    from coview.datasets.mfeat import load_mfeat as load_mfeat
    from coview.datasets.newsgroups import load_newsgroups_views as load_newsgroups_views
    from coview.datasets.pubmed import load_pubmed as load_pubmed
    from coview.datasets.python_packages import load_python_packages as load_python_packages
    from coview.datasets.reuters_multilingual import load_reuters_multilingual as load_reuters_multilingual
    from coview.datasets.synthetic import make_blobs_views as make_blobs_views
    from coview.datasets.synthetic import make_topic_views as make_topic_views
    from coview.datasets.webkb import load_webkb as load_webkb
    from coview.datasets.webkb_course import load_webkb_course as load_webkb_course
    from coview.datasets.wikipedia import load_wikipedia_retrieval as load_wikipedia_retrieval
    from coview.datasets.wikipedia_linqs import load_wikipedia_linqs as load_wikipedia_linqs
