"""Find the engine that was asked for; the only place where engines are imported."""

from __future__ import annotations

from typing import Any

from coview.exceptions import EngineError

__all__ = ["select_engine"]


def select_engine(engine: Any = "auto", *, n_jobs: int | None = None) -> Any:
    """Return an engine by name ("auto", "cpu", "reference"), or the engine object that was passed.

    Examples
    --------
    >>> select_engine("reference").name
    'reference'
    """
    if not isinstance(engine, str):
        if hasattr(engine, "ratio_rows") and hasattr(engine, "prepare"):
            return engine
        raise EngineError(f"engine must be 'auto', 'cpu', 'reference' or an engine object, got {engine!r}.")
    if engine in ("auto", "cpu"):
        from coview.engines.cpu import CpuEngine

        return CpuEngine(n_jobs)
    if engine == "reference":
        from coview.engines.reference import ReferenceEngine

        return ReferenceEngine()
    raise EngineError(f"engine must be 'auto', 'cpu', 'reference' or an engine object, got {engine!r}.")
