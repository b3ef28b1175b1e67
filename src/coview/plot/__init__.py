"""Figures of fitted models as displays: ``SomeDisplay.from_estimator(model, X, ...)``, then ``.plot()``.

Every display keeps what it draws as plain attributes, and what it drew as ``figure_``, ``ax_`` and, where there are
several panels, ``axes_``. matplotlib (the extra ``plot``) is imported when something is drawn.
"""

from __future__ import annotations

from coview.plot.curves import StreamDisplay
from coview.plot.effects import EffectsDisplay
from coview.plot.hierarchy import HierarchyDisplay
from coview.plot.objects import ObjectMapDisplay
from coview.plot.prevalence import PrevalenceDisplay
from coview.plot.topics import TopicsDisplay
from coview.plot.updates import UpdateDisplay

__all__ = [
    "EffectsDisplay",
    "HierarchyDisplay",
    "ObjectMapDisplay",
    "PrevalenceDisplay",
    "StreamDisplay",
    "TopicsDisplay",
    "UpdateDisplay",
]
