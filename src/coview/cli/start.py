"""What every command loads first, quickly."""

from __future__ import annotations

import gc
import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["load_sklearn"]

_PARTS = ("cluster", "covariance", "metrics", "model_selection", "pipeline")  # they load what most models need


def load_sklearn() -> None:
    """Load scikit-learn without pandas and scipy.stats, which take longer than all the rest of it.

    scikit-learn has them at hand when it is imported, for functions that few commands call. Those of scipy.stats load
    it when they are called; pandas is looked for again where there may be a table of it.
    """
    if "sklearn" in sys.modules:
        return
    gc.set_threshold(50_000, 10, 10)  # modules are many objects that stay; data are few and large
    statistics = ModuleType("scipy.stats")
    statistics.__getattr__ = _find_statistic  # type: ignore[method-assign]
    absent: dict[str, Any] = {"scipy.stats": statistics, "pandas": None}
    absent = {name: module for name, module in absent.items() if name not in sys.modules}
    sys.modules.update(absent)
    try:
        for part in _PARTS:
            importlib.import_module(f"sklearn.{part}")
    finally:
        for name in absent:
            del sys.modules[name]


def _find_statistic(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Statistic(name)


class _Statistic:
    """A function or distribution of scipy.stats, which is loaded when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _load(self) -> Any:
        return getattr(importlib.import_module("scipy.stats"), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)
