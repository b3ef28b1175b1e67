"""coview: multi-view learning for people who live in scikit-learn.

Everything public is importable from here and loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# public name -> module that defines it
_PUBLIC = {
    "Views": "coview.data.views",
    "as_views": "coview.data.coerce",
}

__all__ = ["__version__", *sorted(_PUBLIC)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'coview' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


if TYPE_CHECKING:
    from coview.data.coerce import as_views as as_views
    from coview.data.views import Views as Views
