"""Data sets: a corpus available on every machine, and synthetic views."""

from __future__ import annotations

from coview.datasets.python_packages import load_python_packages
from coview.datasets.synthetic import make_blobs_views, make_topic_views

__all__ = ["load_python_packages", "make_blobs_views", "make_topic_views"]
