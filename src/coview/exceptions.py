"""Errors and warnings that coview raises on purpose; each carries one sentence that says what to do."""

from __future__ import annotations

__all__ = ["CoviewError", "DataFileError", "EngineError", "InterruptedFitWarning", "ModelFileError", "ViewsError"]


class CoviewError(Exception):
    """Root of every error that coview raises on purpose."""


class ViewsError(CoviewError, ValueError):
    """The views do not fit together, or hold values that a model cannot use."""


class DataFileError(CoviewError, ValueError):
    """A data file is absent, truncated, or not what its name says."""


class ModelFileError(CoviewError, ValueError):
    """A model or checkpoint file is truncated, altered, foreign, or of a newer format."""


class EngineError(CoviewError, RuntimeError):
    """An engine was asked for that cannot run here."""


class InterruptedFitWarning(UserWarning):
    """A fit was stopped by the user (Ctrl-C); the model holds what was learned so far."""
