"""The front of the package: lazy, complete, and consistent with the catalog."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import coview
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


@pytest.mark.parametrize("name", [name for name in coview.__all__ if name != "__version__"])
def test_every_public_name_loads_and_is_documented(name):
    value = getattr(coview, name)
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


def test_a_file_holds_one_idea_and_stays_short():
    files = Path(coview.__file__).parent.rglob("*.py")
    long = {path.name: n for path in files if (n := len(path.read_text(encoding="utf-8").splitlines())) > 400}
    assert not long
