"""Loading of modules."""

import gc
import subprocess
import sys

import pytest

from coview.utils.loading import paused_collector


def test_the_collector_runs_again_after_a_failed_import():
    gc.enable()  # whatever an earlier test has left
    with pytest.raises(ImportError, match="False"), paused_collector():
        raise ImportError(gc.isenabled())
    assert gc.isenabled()


STEPS = """
import sys

def absent(*names):
    print([name for name in names if name in sys.modules])

import coview.cli.main
absent("typer", "numpy")
import coview.cli.app
absent("numpy", "sklearn", "numba", "polars", "pandas")
from coview.cli.start import quicken_sklearn
quicken_sklearn()
from coview import LinkPLSA, inspect, load
absent("scipy.stats", "scipy.interpolate", "pandas")
from coview import AutoClassifier
absent("numba", "torch", "matplotlib", "fastapi", "skops")

from coview.io.models import _import_skops
print(_import_skops().__name__)  # which looks at all of scikit-learn

# what scikit-learn needs of the statistics that were left out: a function, and a distribution
from sklearn.metrics import label_ranking_average_precision_score as score
from sklearn.preprocessing import SplineTransformer, quantile_transform
import pandas
print(score([[1, 0, 0]], [[.5, .7, .1]]))
print(SplineTransformer(3, degree=1).fit_transform([[0.0], [1.0]]).tolist())
print(quantile_transform([[1.0], [2.0], [3.0]], n_quantiles=3, output_distribution="normal")[1, 0])

class Missing:
    def find_spec(name, *more):
        if name.partition(".")[0] in ("torch", "matplotlib"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing)
for code in ("from coview import CudaEngine",
             "from coview.plot import StreamDisplay; StreamDisplay({'a': {'accuracy': [1.0]}}).plot()"):
    try:
        exec(code)
    except ImportError as error:
        print(error)
"""


def test_large_libraries_are_loaded_where_they_are_needed_and_an_absent_one_is_an_error_that_names_its_extra():
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)
    *absent, skops, ranking, spline, middle, gpu, plot = done.stdout.splitlines()
    assert absent == ["[]"] * 4
    assert (skops, ranking, spline, middle) == ("skops.io", "0.5", "[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]", "0.0")
    assert 'pip install "coview[gpu]"' in gpu and 'pip install "coview[plot]"' in plot
