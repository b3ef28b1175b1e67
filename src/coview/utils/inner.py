"""Errors of estimators inside other estimators, as one sentence that names the view and the estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coview.exceptions import CoviewError, ViewsError, ViewsTypeError

__all__ = ["asking", "fitting"]


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
    with _renamed_errors(model, "answer for", what):
        yield


@contextmanager
def fitting(model: Any, what: str) -> Iterator[None]:
    """Turn the errors of an estimator that is fitted into one of ours; `what` it is fitted on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> with fitting(KMeans(3), "view 'words'"):
    ...     KMeans(3).fit(np.eye(2))
    Traceback (most recent call last):
    coview.exceptions.ViewsError: KMeans cannot be fitted on view 'words': n_samples=2 should be >= n_clusters=3.
    """
    with _renamed_errors(model, "be fitted on", what):
        yield


@contextmanager
def _renamed_errors(model: Any, asked: str, what: str) -> Iterator[None]:
    from sklearn.exceptions import NotFittedError

    try:
        yield
    # these are clear already, and callers ask for their types
    except (CoviewError, NotFittedError):
        raise
    # what wrong data and damaged attributes raise; memory, interrupts and assertions pass
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        kind = ViewsTypeError if isinstance(error, TypeError) else ViewsError
        why = " ".join(str(error).split()) or type(error).__name__
        raise kind(f"{type(model).__name__} cannot {asked} {what}: {why}") from error
