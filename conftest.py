"""Modules that need an optional library are not collected for doctests where it is absent."""

import gc
from importlib.util import find_spec

KERNELS = "src/coview/kernels"
_NEEDS = {
    "fastapi": [f"src/coview/web/{name}.py" for name in ("api", "run")],
    "torch": [
        "src/coview/engines/cuda.py",
        *(f"{KERNELS}/torch_{name}.py" for name in ("kmeans", "pairs", "simplex", "split", "svd")),
    ],
    "triton": [f"{KERNELS}/triton_{name}.py" for name in ("eight", "pairs", "ratio", "shares", "simplex", "split")],
}
collect_ignore = [path for library, paths in _NEEDS.items() if find_spec(library) is None for path in paths]


def pytest_collection():
    """Thousands of tests are collected faster where nobody looks for garbage among them, here and later."""
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
