"""Modules that need an optional library are not collected for doctests where it is absent; tests have no doctests."""

import gc
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE / "src" / "coview"
_NEEDS = {
    "fastapi": [SOURCE / "web" / "api.py", SOURCE / "web" / "run.py"],
    "torch": [SOURCE / "engines" / "cuda.py", *SOURCE.glob("kernels/torch_*.py")],
    "triton": SOURCE.glob("kernels/triton_*.py"),
}
collect_ignore = [path for library, paths in _NEEDS.items() if find_spec(library) is None for path in paths]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    collected = yield
    if (HERE / "tests") in file_path.parents:
        collected = [each for each in collected if type(each).__name__ != "DoctestModule"]
    return collected


def pytest_collection():
    """Thousands of tests are collected faster where nobody looks for garbage among them, here and later."""
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
