"""A quick start: scikit-learn without what it loads and commands seldom use."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["quicken_sklearn"]

_LATER = ("scipy.stats", "scipy.interpolate", "scipy.integrate")
_PARTS = ("cluster", "covariance", "metrics", "model_selection", "pipeline")  # they load what most models need


def quicken_sklearn() -> None:
    """Have scikit-learn loaded without pandas and parts of scipy, which take longer than all the rest of it.

    scikit-learn has them at hand when it is imported, for functions that few commands call. Those of scipy load their
    module when they are called; pandas is looked for again where there may be a table of it.
    """
    if "sklearn" not in sys.modules:
        gc.set_threshold(50_000, 10, 10)  # modules are many objects that stay; data are few and large
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds scikit-learn once, with a loader that leaves the others out."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "sklearn":
            return None
        sys.meta_path.remove(self)
        spec: Any = find_spec(name)
        load = spec.loader.exec_module

        def load_all(module: ModuleType) -> None:
            with _left_out():
                load(module)
                for part in _PARTS:
                    importlib.import_module(f"sklearn.{part}")

        spec.loader.exec_module = load_all
        return spec


@contextmanager
def _left_out() -> Iterator[None]:
    others: dict[str, Any] = {"pandas": None, **{name: _Later(name) for name in _LATER}}
    others = {name: module for name, module in others.items() if name not in sys.modules}
    sys.modules.update(others)
    try:
        yield
    finally:
        for name in others:
            del sys.modules[name]


class _Later(ModuleType):
    """A module of scipy, of which a function or class is loaded when it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Member(self.__name__, name)


class _Member:
    """A function, class or distribution of such a module."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _load(self) -> Any:
        return getattr(importlib.import_module(self._module), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)
