"""Modules that need an optional library are not collected for doctests where it is absent."""

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
