"""How well a regressor does: measures against true numbers, predictions beside them, and what each view contributed.

    R2 = 1 - sum (y - p)^2 / sum (y - mean y)^2,    mean absolute error = mean |y - p|

Nothing is fitted again for the views: the fitted model predicts from one view alone, and from all but one. A copy is
fitted with a quarter of the objects hidden where that is quick, since a model flatters itself on what it has seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.metrics import mean_absolute_error, r2_score

from coview.exceptions import CoviewError
from coview.report.contributions import own_weight
from coview.report.reader import Reader, sample_rows
from coview.views.views import Views

__all__ = ["about_regression", "true_numbers"]

HIDDEN_SHARE = 0.25
QUICK_OBJECTS = 2_000  # up to here a copy is fitted unasked
MOST_PAIRS = 1_000  # predictions that are drawn


def true_numbers(reader: Reader, y: Any) -> np.ndarray | None:
    """Return the true numbers of a regressor's objects, NaN for none; None where there are none, or it predicts others.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from coview import ConcatenatedViews
    >>> reader = Reader(ConcatenatedViews(Ridge()).fit({"a": np.eye(3), "b": np.ones((3, 1))}, [1.0, 2.0, 4.0]))
    >>> true_numbers(reader, [1, None, 4])
    array([ 1., nan,  4.])
    """
    if y is None or not is_regressor(reader.core):
        return None
    found = np.array([np.nan if value is None else value for value in np.asarray(y, dtype=object).reshape(-1)])
    try:
        numbers = found.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("y of a regressor must hold numbers, with None or NaN for none.") from None
    if len(numbers) != len(y):
        raise ValueError(f"y must hold one number per object, got {np.shape(y)[1]} for each of {len(y)}.")
    return numbers if np.isfinite(numbers).any() else None


def about_regression(
    reader: Reader, views: Views, truth: np.ndarray, ids: Any = None, held_out: bool | str = "auto"
) -> dict[str, Any]:
    """Return the sections "scores" and "views" of a report on a regressor.

    Parameters
    ----------
    reader : Reader
        The model.
    views : Views
        The objects.
    truth : ndarray
        Their true numbers, NaN for none.
    ids : array-like, optional
        Their identifiers.
    held_out : bool or "auto", default="auto"
        Fit a copy with a quarter of the objects hidden; "auto" does so for at most 2,000 objects.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from coview import ConcatenatedViews
    >>> rng = np.random.default_rng(0)
    >>> X = Views(a=rng.normal(size=(80, 3)), b=rng.normal(size=(80, 2)))
    >>> y = X["a"] @ [1.0, 2.0, 3.0]
    >>> found = about_regression(Reader(ConcatenatedViews(Ridge(1e-6)).fit(X, y)), X, y)
    >>> [(row["name"], row["alone"] > 0.99) for row in found["views"]["rows"]]
    [('a', True), ('b', False)]
    """
    known = np.flatnonzero(np.isfinite(truth))
    views, truth = views[known], truth[known]
    predicted = np.asarray(reader.core.predict(views), dtype=np.float64).reshape(-1)
    drawn = sample_rows(len(known), MOST_PAIRS)
    named = known if ids is None else np.asarray(ids)[known]
    scores = {
        "of": "numbers",
        "n_labeled": len(known),
        "n_objects": len(known) if ids is None else len(ids),
        "measures": _measures(truth, predicted),
        "pairs": {"true": truth[drawn], "predicted": predicted[drawn], "ids": named[drawn]},
        "held_out": _held_out(reader, views, truth, held_out),
    }
    found: dict[str, Any] = {"scores": scores}
    if len(views.names) > 1 and len(truth) > 1:
        found["views"] = _by_view(reader, views, truth, predicted)
    return found


def _measures(truth: np.ndarray, predicted: np.ndarray) -> list[dict[str, Any]]:
    told = []
    if len(truth) > 1:
        told.append(("R2", r2_score(truth, predicted), "1 is perfect, 0 is the mean of all; below it is worse"))
    told.append(("mean absolute error", mean_absolute_error(truth, predicted), "in the units of what is predicted"))
    usual = np.abs(truth - np.median(truth)).mean()
    told.append(("the same of the median", usual, "the error of one who always says the median"))
    return [{"name": name, "value": float(value), "about": about} for name, value, about in told]


def _held_out(reader: Reader, views: Views, truth: np.ndarray, wanted: bool | str) -> dict[str, Any] | None:
    if wanted is False:
        return None
    if len(truth) < 8:
        return {"note": "too few objects to hide some of them."}
    if wanted == "auto" and len(truth) > QUICK_OBJECTS:
        return {"note": "not measured, since it needs another fit; ask for it with held_out=True (--held-out)."}
    order = np.random.default_rng(0).permutation(len(truth))
    hidden, shown = np.split(order, [int(HIDDEN_SHARE * len(order))])
    again = clone(reader.core).fit(views[np.sort(shown)], truth[np.sort(shown)])
    told = _measures(truth[hidden], np.asarray(again.predict(views[hidden]), dtype=np.float64).reshape(-1))
    return {"n_hidden": len(hidden), "n_shown": len(shown), "refitted": True, "measures": told}


def _by_view(reader: Reader, views: Views, truth: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    rows = []
    for v, name in enumerate(views.names):
        have = views.present[:, v]
        row: dict[str, Any] = {"name": name, "present": float(have.mean()), "kept": None, "refused": None}
        others = [other for other in views.names if other != name]
        for key, which, part in (("alone", have, [name]), ("without", np.ones(len(truth), dtype=bool), others)):
            row[key] = None
            try:
                if which.sum() > 1:
                    row[key] = r2_score(truth[which], reader.core.predict(views[which].select(*part)))
            except (CoviewError, ValueError) as error:
                row["refused"] = str(error)
        rows.append({**row, "weight": own_weight(reader.core, name)})
    return {"measure": "R2", "whole": r2_score(truth, predicted), "rows": rows, "agreement": None, "sampled": None}
