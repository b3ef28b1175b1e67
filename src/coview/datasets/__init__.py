"""Data sets: a corpus available on every machine, public corpora and synthetic data."""

from __future__ import annotations

from coview.datasets.debian_packages import load_debian_packages
from coview.datasets.dublin_news import load_3sources, load_bbc_segments
from coview.datasets.files import data_home
from coview.datasets.internet_ads import load_internet_ads
from coview.datasets.leaves import load_leaves
from coview.datasets.linqs import load_citeseer, load_cora
from coview.datasets.mfeat import load_mfeat
from coview.datasets.newsgroups import load_newsgroups_views
from coview.datasets.nutrimouse import load_nutrimouse
from coview.datasets.pubmed import load_pubmed
from coview.datasets.python_packages import load_python_packages
from coview.datasets.reuters_multilingual import load_reuters_multilingual
from coview.datasets.synthetic import make_blobs_views, make_topic_views
from coview.datasets.webkb import load_webkb
from coview.datasets.webkb_course import load_webkb_course
from coview.datasets.wikipedia import load_wikipedia_retrieval
from coview.datasets.wikipedia_linqs import load_wikipedia_linqs

__all__ = [
    "data_home",
    "load_3sources",
    "load_bbc_segments",
    "load_citeseer",
    "load_cora",
    "load_debian_packages",
    "load_internet_ads",
    "load_leaves",
    "load_mfeat",
    "load_newsgroups_views",
    "load_nutrimouse",
    "load_pubmed",
    "load_python_packages",
    "load_reuters_multilingual",
    "load_webkb",
    "load_webkb_course",
    "load_wikipedia_linqs",
    "load_wikipedia_retrieval",
    "make_blobs_views",
    "make_topic_views",
]
