"""Errors and warnings that coview raises on purpose; each is one sentence on what is wrong, and one on what to do.

An error carries what it is about (a parameter), which setting would help, and advice by front: Python's users read of
arguments, those of the command line of options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = [
    "CoviewError",
    "DataFileError",
    "EngineError",
    "InterruptedFitWarning",
    "ModelFileError",
    "ParameterError",
    "ViewsError",
]


class CoviewError(Exception):
    """Root of every error that coview raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong.
    parameter : str, default=""
        The parameter that the message is about; the sentence starts with it.
    use : mapping, optional
        A setting that would help, ``{"engine": "cpu"}``.
    python : str, default=""
        What to do, in Python.
    cli : str, optional
        What to do on the command line, where that differs.

    Examples
    --------
    >>> error = ParameterError("must hold one label per object.", parameter="y", use={"task": "clustering"})
    >>> str(error)
    "y must hold one label per object. Use task='clustering'."
    >>> error.worded("cli", lambda name: "--labels", lambda name, value: f"--{name} {value}")
    '--labels must hold one label per object. Use --task clustering.'
    """

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str = "",
        use: Mapping[str, Any] | None = None,
        python: str = "",
        cli: str | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.use = dict(use or {})
        self.advice = {"python": python, "cli": python if cli is None else cli}

    def __str__(self) -> str:
        return self.worded()

    def worded(
        self,
        front: str = "python",
        option: Callable[[str], str] = str,
        setting: Callable[[str, Any], str] = "{}={!r}".format,
    ) -> str:
        """Return the sentences as one front words them.

        Parameters
        ----------
        front : str, default="python"
            Whose advice to give: "python" or "cli"; others get none.
        option : callable, default=str
            What the front calls a parameter.
        setting : callable, optional
            How a parameter and its value are written there.
        """
        use = ", ".join(setting(name, value) for name, value in self.use.items())
        parts = (
            self.parameter and option(self.parameter),
            super().__str__(),
            use and f"Use {use}.",
            self.advice.get(front, ""),
        )
        return " ".join(part for part in parts if part)


class ParameterError(CoviewError, ValueError):
    """A parameter, or an argument of a function, has a value that cannot be used."""


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


RAW_TABLE: dict[str, Any] = {  # advice where text or categories stand for numbers
    "python": "Turn text into counts with TextViews, and categories into indicators with ColumnViews.",
    "cli": "Give the table by --table, with --text NAME=COLUMN for text and --columns NAME=COLUMN for categories.",
}
