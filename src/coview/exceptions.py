"""Errors and warnings of coview.

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
    "LoneLabelWarning",
    "MissingPackageError",
    "ModelFileError",
    "ParameterError",
    "UnknownObjectsWarning",
    "ViewsError",
    "ViewsTypeError",
]


class CoviewError(Exception):
    """Base class of all errors that coview raises.

    Parameters
    ----------
    message : str
        What is wrong.
    parameter : str, default=""
        The parameter that the message is about; the sentence starts with it.
    owner : str, default=""
        The class whose parameter it is; the sentence is then that of scikit-learn.
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
        owner: str = "",
        use: Mapping[str, Any] | None = None,
        python: str = "",
        cli: str | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter, self.owner = parameter, owner
        self.use = dict(use or {})
        # kept apart until somebody reads it: the same error is raised below Python and the command line
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
        # the command line calls parameters by its options
        name = option(self.parameter)
        if self.owner and name == self.parameter:  # not an option of the command line
            name = f"The {name!r} parameter of {self.owner}"
        use = ", ".join(setting(name, value) for name, value in self.use.items())
        parts = (
            self.parameter and name,
            super().__str__(),
            use and f"Use {use}.",
            self.advice.get(front, ""),
        )
        return " ".join(part for part in parts if part)


class ParameterError(CoviewError, ValueError):
    """A parameter or argument has an invalid value."""


class ViewsError(CoviewError, ValueError):
    """The views are inconsistent, or contain values that a model cannot use."""


class ViewsTypeError(ViewsError, TypeError):
    """Views stand where one matrix is needed, or an estimator inside a model got something of a wrong type."""


class DataFileError(CoviewError, ValueError):
    """A data file is missing, truncated or of another format."""


class ModelFileError(CoviewError, ValueError):
    """A model or checkpoint file is truncated, altered, of another kind or of a newer format."""


class EngineError(CoviewError, RuntimeError):
    """The requested engine is not available on this machine."""


class MissingPackageError(EngineError, ImportError):
    """A package is not installed, which is asked for here alone; the message names the extra that installs it."""


class InterruptedFitWarning(UserWarning):
    """A fit was stopped by the user (Ctrl-C); the model keeps what it has learned so far."""


class UnknownObjectsWarning(UserWarning):
    """Objects without any feature known to the model were predicted: what they got is the same for all such objects.

    `predict` warns of them where you call it; scores and the folds of a cross-validation do not.
    """


class LoneLabelWarning(UserWarning):
    """A class has a single labeled object where others have more: what is predicted of it rests on that object alone.

    `fit` warns of it where you call it; the folds of a cross-validation and models inside others do not.
    """


RAW_TABLE: dict[str, Any] = {  # advice where text or categories stand for numbers
    "python": "Turn text into counts with TextViews, and categories into indicators with TableViews.",
    "cli": "Use --text NAME=COLUMN for text and --columns NAME=COLUMN for categories.",
}
