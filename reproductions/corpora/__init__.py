"""Corpora of the papers and of the benchmarks: loaders that find or download the original files and read them as views.

Scripts in `reproductions/` and `benchmarks/` import `corpora`; elsewhere, put `reproductions/` on the path.
"""

from __future__ import annotations

from corpora.debian_packages import load_debian_packages
from corpora.dublin_news import load_3sources, load_bbc_segments
from corpora.files import data_home
from corpora.internet_ads import load_internet_ads
from corpora.leaves import load_leaves
from corpora.linqs import load_citeseer, load_cora
from corpora.mfeat import load_mfeat
from corpora.newsgroups import load_newsgroups_views
from corpora.nutrimouse import load_nutrimouse
from corpora.pubmed import load_pubmed
from corpora.reuters_multilingual import load_reuters_multilingual
from corpora.webkb import load_webkb
from corpora.webkb_course import load_webkb_course
from corpora.wikipedia import load_wikipedia_retrieval
from corpora.wikipedia_linqs import load_wikipedia_linqs

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
    "load_reuters_multilingual",
    "load_webkb",
    "load_webkb_course",
    "load_wikipedia_linqs",
    "load_wikipedia_retrieval",
]
