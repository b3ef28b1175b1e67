"""The front of the package: lazy, complete, and consistent with the catalog."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import coview
from coview import datasets, metrics, plot
from coview.catalog import ESTIMATORS, resolve


def test_import_is_lazy_and_views_need_no_numba_and_no_dask():
    code = (
        "import sys; import sklearn.base; before = set(sys.modules); import coview; added = set(sys.modules) - before;"
        "heavy = {'numba', 'torch', 'dask', 'pandas', 'polars', 'matplotlib', 'typer', 'rich'};"
        "print(*heavy & added, len(added));"
        "import numpy; from coview import LazyViews, Views; X = Views(a=numpy.eye(2));"
        "LazyViews.from_views(X, 2).map(numpy.sqrt).collect(); print({'numba', 'dask'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added, of_views = run.stdout.splitlines()
    assert int(added) < 20  # and no name of a heavy one before it
    assert of_views == "set()"


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


def test_all_names_that_are_listed_can_be_looked_at():
    assert {"PLSA", "datasets"} <= {name for name, _ in inspect.getmembers(coview)}  # as help() does
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        coview.nothing  # noqa: B018


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_the_catalog_names_classes_where_they_are_defined(name):
    assert resolve(name).__name__ == name and resolve(name).__module__ == ESTIMATORS[name].module


# -- the house


PACKAGE = Path(coview.__file__).parent
TREES = {
    ".".join(("coview", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): ast.parse(
        path.read_text(encoding="utf-8")
    )
    for path in sorted(PACKAGE.rglob("*.py"))
}


def parts_that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a module, without what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from parts_that_run(node)


def imported_modules(module: str, tree: ast.AST) -> set[str]:
    """Modules of coview that a module imports, also inside functions."""
    names = []
    for node in parts_that_run(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by a relative name"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names += [str(value.value) for value in node.args[:1] if isinstance(value, ast.Constant)]
    found = set()
    for name in names:
        while name and name not in TREES:
            name = name.rpartition(".")[0]
        found.add(name)
    return found - {"", module}


def test_imports_have_no_circle():
    # the front of the package loads every module by its name when it is asked for, and no module asks it
    inner = {module: imported_modules(module, tree) for module, tree in TREES.items() if module != "coview"}
    try:
        TopologicalSorter({module: found - {"coview"} for module, found in inner.items()}).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_no_two_classes_share_a_name():
    homes: dict[str, set[str]] = {}
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, set()).add(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_few_functions_share_a_name():
    """Commands, kernels of several devices and rules of one word aside, a name is one public function."""
    homes: dict[str, set[str]] = {}
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(module)
    assert sum(len(modules) > 1 for modules in homes.values()) <= 13


def test_attributes_are_guessed_at_the_borders_only():
    # of foreign objects that come in; what a fitted model says is asked by `inspect`
    trees = [tree for module, tree in TREES.items() if module != "coview.testing"]  # it checks models of others
    calls = (node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert sum(isinstance(called, ast.Name) and called.id in ("hasattr", "getattr") for called in calls) < 100


def test_every_file_says_what_it_is_for():
    assert [module for module, tree in TREES.items() if tree.body and not ast.get_docstring(tree)] == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_constructor_has_at_most_sixteen_parameters(name):
    assert len(inspect.signature(resolve(name)).parameters) <= 16


@pytest.mark.parametrize("name", [name for name, entry in ESTIMATORS.items() if entry.module.startswith("coview.plsa")])
def test_at_most_two_base_classes_stand_above_a_model(name):
    """Mixins, which are no estimators by themselves, aside."""
    above = [cls.__name__ for cls in resolve(name).__mro__[1:] if issubclass(cls, BaseEstimator)]
    assert above == ["MixtureModel", "MultiViewEstimator", "BaseEstimator"]


def test_a_fit_goes_through_few_files():
    """Those of coview whose functions a plain fit of a topic model calls: who reads one has to open them."""
    model, X, root = coview.PLSA(2, random_state=0), np.array([[4, 3, 0], [5, 4, 0], [0, 1, 6]]), coview.__path__[0]
    model.fit(X)  # compiles kernels, and loads what is loaded once
    files = set()
    sys.setprofile(lambda frame, event, arg: files.add(frame.f_code.co_filename))
    try:
        model.fit(X)
    finally:
        sys.setprofile(None)
    assert len([file for file in files if file.startswith(root)]) <= 15
