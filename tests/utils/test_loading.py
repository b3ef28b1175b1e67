"""Loading of modules."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from coview.utils.loading import paused_collector


def test_the_collector_runs_again_after_a_failed_import():
    with pytest.raises(ImportError, match="False"), paused_collector():
        raise ImportError(gc.isenabled())
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import coview.cli.main", ("numpy", "sklearn", "numba", "polars", "pandas")),
        ("from coview import inspect, load, AutoClassifier", ("numba", "torch", "matplotlib", "fastapi", "skops")),
    ],
)
def test_large_libraries_are_loaded_where_they_are_needed(code, absent):
    found = f"{code}; import sys; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
