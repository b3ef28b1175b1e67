"""Estimators inside others: what they cannot answer is told in one sentence, which names the view and the estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coview.exceptions import CoviewError, ViewsError

__all__ = ["asking"]


class InnerTypeError(ViewsError, TypeError):
    """An estimator inside another got something of a wrong type."""


@contextmanager
def asking(model: Any, what: str) -> Iterator[None]:
    """Turn the errors of an estimator that is asked for an answer into one of ours; `what` it is asked about.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit(np.eye(2))
    >>> with asking(scaler, "view 'words'"):
    ...     scaler.transform(np.eye(3))
    Traceback (most recent call last):
    coview.exceptions.ViewsError: StandardScaler cannot answer for view 'words': X has 3 features, but ...
    """
    from sklearn.exceptions import NotFittedError

    try:
        yield
    except (CoviewError, NotFittedError):
        raise
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        kind = InnerTypeError if isinstance(error, TypeError) else ViewsError
        why = " ".join(str(error).split()) or type(error).__name__
        raise kind(f"{type(model).__name__} cannot answer for {what}: {why}") from error
