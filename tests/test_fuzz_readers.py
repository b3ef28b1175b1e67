"""A fixed small part of `fuzz/readers.py`: whatever is damaged, a reader gives views or one of coview's sentences."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "fuzz" / "readers.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here: damaged files are not read")
@pytest.mark.skipif(not SCRIPT.exists(), reason="fuzz/ is not here: damaged files are not read")
def test_damaged_files_end_in_views_or_sentences():
    for module in ("polars", "mudata"):
        pytest.importorskip(module, reason=f"{module} is not installed: damaged files are not read")
    # a process of its own: threads of polars, which other tests use, do not survive a fork
    command = [sys.executable, "-m", "fuzz.readers", "--seed", "18", "--count", "20"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPT.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
