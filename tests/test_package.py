"""The front of the package: lazy, complete, and consistent with the catalog."""

from __future__ import annotations

import subprocess
import sys

import pytest

import coview
from coview import datasets, metrics, plot
from coview.catalog import ESTIMATORS, name_of, resolve


def test_import_is_lazy():
    code = (
        "import sys; import sklearn.base; before = set(sys.modules); import coview; added = set(sys.modules) - before;"
        "heavy = {'numba', 'torch', 'dask', 'pandas', 'polars', 'matplotlib', 'typer', 'rich', 'pooch'};"
        "print(sorted(heavy & added), len(added))"
    )
    heavy, added = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split("] ")
    assert heavy == "["
    assert int(added) < 20


def test_building_views_needs_no_numba():
    code = "import sys, numpy; from coview import Views; Views(a=numpy.eye(2)); print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


PUBLIC = [
    *(f"coview.{name}" for name in coview.__all__ if name != "__version__"),
    *(f"{module.__name__}.{name}" for module in (datasets, metrics, plot) for name in module.__all__),
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_loads_and_is_documented(name):
    module, _, attribute = name.rpartition(".")
    value = getattr(sys.modules[module], attribute)
    assert value.__doc__
    assert ">>>" in value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        coview.nothing  # noqa: B018


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_the_catalog_resolves_both_ways(name):
    assert name_of(resolve(name)) == name


def test_a_class_of_the_same_name_from_elsewhere_is_not_the_catalogs():
    with pytest.raises(KeyError):
        name_of(type("PLSA", (), {}))
