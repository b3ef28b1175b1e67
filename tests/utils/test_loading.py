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


QUICK = "from coview.cli.start import load_sklearn; load_sklearn()"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import coview.cli.main", ("typer", "numpy")),
        ("import coview.cli.app", ("numpy", "sklearn", "numba", "polars", "pandas")),
        (f"{QUICK}; from coview import LinkPLSA, inspect, load", ("scipy.stats", "pandas")),
        ("from coview import inspect, load, AutoClassifier", ("numba", "torch", "matplotlib", "fastapi", "skops")),
    ],
)
def test_large_libraries_are_loaded_where_they_are_needed(code, absent):
    found = f"{code}; import sys; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scikit_learn_finds_the_statistics_that_a_command_left_out():
    code = (
        "from sklearn.metrics import label_ranking_average_precision_score as score; "  # a function
        "from sklearn.preprocessing import quantile_transform; "  # a distribution
        "import pandas; "
        "print(score([[1, 0, 0]], [[.5, .7, .1]]), "
        "quantile_transform([[1.0], [2.0], [3.0]], n_quantiles=3, output_distribution='normal')[1, 0])"
    )
    done = subprocess.run([sys.executable, "-c", f"{QUICK}; {code}"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0.5 0.0"


WITHOUT = """
import sys

class Absent:
    def find_spec(name, *more):
        if name.partition(".")[0] == {package!r}:
            raise ImportError(name)

sys.meta_path.insert(0, Absent)
try:
    {code}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("torch", "from coview import CudaEngine", "gpu"),
        (
            "matplotlib",
            "from coview.plot import StreamDisplay; StreamDisplay({'a': {'accuracy': [1.0]}}).plot()",
            "plot",
        ),
    ],
)
def test_what_is_not_installed_is_an_import_error_that_names_the_extra(package, code, extra):
    code = WITHOUT.format(package=package, code=code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f'pip install "coview[{extra}]"' in done.stdout
