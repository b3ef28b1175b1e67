"""Find the engine that was asked for; the only place where engines are imported."""

from __future__ import annotations

from importlib import util
from typing import Any

from coview.exceptions import EngineError

__all__ = ["select_engine"]


def select_engine(engine: Any = "auto", *, n_jobs: int | None = None) -> Any:
    """Return an engine by name ("auto", "cpu", "cuda", "reference"), or the engine object that was passed.

    Examples
    --------
    >>> select_engine("reference").name
    'reference'
    """
    if not isinstance(engine, str):
        if hasattr(engine, "ratio_rows") and hasattr(engine, "prepare"):
            return engine
        raise EngineError(f"engine must be 'auto', 'cpu', 'cuda', 'reference' or an engine object, got {engine!r}.")
    if engine in ("auto", "cpu"):
        from coview.engines.cpu import CpuEngine

        return CpuEngine(n_jobs)
    if engine == "cuda":
        if util.find_spec("torch") is None:
            raise EngineError(
                "engine='cuda' needs PyTorch with CUDA; torch is not installed. Run: pip install \"coview[gpu]\", or "
                "use engine='cpu'."
            )
        from coview.engines.cuda import CudaEngine

        return CudaEngine()
    if engine == "reference":
        from coview.engines.reference import ReferenceEngine

        return ReferenceEngine()
    raise EngineError(f"engine must be 'auto', 'cpu', 'cuda', 'reference' or an engine object, got {engine!r}.")
