"""Find the engine that was asked for, and who holds its rows; the only place where engines are imported."""

from __future__ import annotations

from typing import Any

from coview.engines.memory import MemoryHolder
from coview.engines.protocol import Extra, Gate, Holder, make_blocks, row_bytes
from coview.exceptions import EngineError
from coview.views.arrays import is_tensor
from coview.views.lazy import LazyViews

__all__ = ["hold", "local_engine", "select_engine"]

_NAMES = "'auto', 'cpu', 'cuda', 'dask', 'reference' or an engine object"


def select_engine(engine: Any = "auto", *, n_jobs: int | None = None, data: Any = None) -> Any:
    """Return an engine by name ("auto", "cpu", "cuda", "dask", "reference"), or the engine object that was passed.

    "auto" follows the data: dask collections are worked on by the cluster, CUDA tensors on their GPU, all else here.
    """
    if not isinstance(engine, str):
        if hasattr(engine, "ratio_rows") and hasattr(engine, "prepare"):
            return engine
        raise EngineError(f"engine must be {_NAMES}, got {engine!r}.")
    device = "cuda"
    if engine == "auto":
        engine, device = _engine_of(data)
    if engine == "cpu":
        from coview.engines.cpu import CpuEngine

        return CpuEngine(n_jobs)
    if engine == "cuda":
        from coview.engines.cuda import CudaEngine

        return CudaEngine(device)
    if engine == "dask":
        from coview.engines.dask.engine import DaskEngine

        return DaskEngine()
    if engine == "reference":
        from coview.engines.reference import ReferenceEngine

        return ReferenceEngine()
    raise EngineError(f"engine must be {_NAMES}, got {engine!r}.")


def local_engine(engine: Any) -> Any:
    """Return the engine that computes in this process, or in a worker's."""
    return select_engine(engine.worker_engine, n_jobs=1) if engine.name == "dask" else engine


def hold(views: Any, engine: Any, width: int, extra: Extra, gate: Gate, most: int | None = None) -> Holder:
    """Hand the rows of a fit to a holder: a cluster, this machine's disk for lazy views, or memory.

    Blocks have no more than `most` rows, where that is given.
    """
    if engine.name == "dask":
        return engine.hold(views, width, extra, gate, most)
    if isinstance(views, LazyViews):
        from coview.engines.disk import DiskHolder

        return DiskHolder(views, engine, width, extra, gate, most)
    itemsize = next(views.values()).dtype.itemsize
    size = min(engine.block_rows(width, itemsize, len(views), row_bytes(views)), most or len(views))
    return MemoryHolder(list(make_blocks(views, engine, size, extra)), engine)


def _engine_of(data: Any) -> tuple[str, str]:
    """Name of the engine that data call for, and the device of CUDA tensors."""
    if isinstance(data, LazyViews) and data.is_dask:
        return "dask", ""
    parts = list(data.values()) if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else [data]
    for part in parts:
        home = type(part).__module__.split(".")[0]
        if home == "dask":
            return "dask", ""
        if is_tensor(part) and part.is_cuda:
            return "cuda", str(part.device)
    return "cpu", ""
