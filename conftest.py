"""Modules that need an optional library are not collected for doctests where it is absent."""

from importlib.util import find_spec

_NEEDS = {
    "fastapi": [f"src/coview/web/{name}.py" for name in ("api", "connections", "guard", "run")],
    "torch": [f"src/coview/{name}.py" for name in ("engines/cuda", "kernels/torch_kmeans", "kernels/torch_svd")],
    "triton": ["src/coview/kernels/triton_ratio.py", "src/coview/kernels/triton_shares.py"],
}
collect_ignore = [path for library, paths in _NEEDS.items() if find_spec(library) is None for path in paths]
