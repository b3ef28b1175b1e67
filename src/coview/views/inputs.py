"""What a model takes for each view, and new data matched to it: columns by name, where both have names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.utils.messages import did_you_mean, listed, quantity
from coview.utils.warn import warn_user
from coview.views.arrays import place_columns
from coview.views.views import Views

__all__ = ["ViewInput", "match_columns", "order_as_fitted"]


@dataclass(frozen=True, eq=False)
class ViewInput:
    """What a model takes for one view.

    Attributes
    ----------
    name : str
        The view.
    n_features : int
        Number of its features; 0 where that is not known.
    feature_names : ndarray or None
        Their names.
    vectorizer : object or None
        A fitted vectorizer that turns raw text into rows of the view.
    fill_values : ndarray or None
        What stands for each feature where it is missing among others of an object, in views made of columns; NaN
        where it must not be missing. None: a feature that is not there is 0, as in counts.
    dense : bool
        Whether rows are best given as a dense matrix, as those made of numbers alone.
    hashed : bool
        Whether names of features become columns by a hash, as in streams.
    column : str or None
        The column of a table that the view is made of, where it is one of numbers or categories alone.
    categorical : frozenset of str
        Columns of a table that hold categories, in views made of columns: feature ``column_category`` tells of one.
    """

    name: str
    n_features: int
    feature_names: np.ndarray | None = None
    vectorizer: Any = None
    fill_values: np.ndarray | None = None
    dense: bool = False
    hashed: bool = False
    column: str | None = None
    categorical: frozenset[str] = frozenset()


def match_columns(who: str, views: Any, n_features: Mapping[str, int], feature_names: Mapping[str, np.ndarray]) -> Any:
    """Return views whose columns are those that a model was fitted with, in the same order.

    Columns are matched by name where both the model and the view have names: those in another order are put into the
    fitted one, fitted columns that the view lacks are zero, and columns that the model does not know are left out,
    each with a warning. A view without names must have as many columns as the fitted one.

    Parameters
    ----------
    who : str
        The model, as errors and warnings call it.
    views : Views or LazyViews
        Some or all of the fitted views. Lazy ones are not changed: other columns are refused.
    n_features : mapping
        Number of columns of each fitted view.
    feature_names : mapping
        Names of the columns of the fitted views that have them.

    Examples
    --------
    >>> import warnings
    >>> from coview import Views
    >>> X = Views(x=np.array([[1, 2]]), feature_names={"x": ["b", "a"]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     match_columns("PLSA", X, {"x": 2}, {"x": np.array(["a", "b"])})["x"]
    array([[2, 1]])
    >>> print(caught[0].message)
    View 'x' is not as PLSA was fitted: it has its columns in another order. Columns are matched by name.
    """
    arrays: dict[str, Any] = {}
    for name, width in views.n_features.items():
        if name not in n_features:
            # the advice names the views that are left, if any are
            both = [view for view in views.names if view in n_features]
            raise ViewsError(
                f"{who} was not fitted on view {name!r}; it was fitted on {listed(n_features)}."
                f"{did_you_mean(name, n_features)}",
                python=f"Leave it out, for example X.select({', '.join(map(repr, both))})." if both else "",
                cli="Leave it out." if both else "",
            )
        fitted, columns = feature_names.get(name), views.feature_names.get(name)
        # without names on one side, the number of columns is all that can be compared
        if fitted is None or columns is None:
            if width != n_features[name]:
                raise ViewsError(
                    f"View {name!r} has {quantity(width, 'feature')}, but {who} was fitted with {n_features[name]}. "
                    "Make it with the same vectorizer or columns; where both have names of columns, they are matched "
                    "by name."
                )
        elif not np.array_equal(fitted, columns):
            # every part would be matched anew in each pass over the data
            if not isinstance(views, Views):
                raise ViewsError(
                    f"View {name!r} has other columns than {who} was fitted with, or another order of them, and its "
                    "rows are read when needed. Give the same columns in the same order, or read X.collect()."
                )
            arrays[name] = place_columns(views[name], _match_names(who, name, columns, fitted), len(fitted))
    if not arrays:
        return views
    # trusted from here on: the matrices came from checked views, and their widths from the model
    names = {name: feature_names[name] if name in arrays else columns for name, columns in views.feature_names.items()}
    return Views._trusted({**dict(views.items()), **arrays}, views.ids, views.present, names)


def order_as_fitted(who: str, views: Views, expected: Mapping[str, ViewInput]) -> Views:
    """Return views whose named columns are those that a model takes, as `match_columns` does; other views stay.

    Examples
    --------
    >>> import warnings
    >>> from coview import Views
    >>> X = Views(x=np.array([[1, 2]]), y=np.array([[3]]), feature_names={"x": ["b", "a"]})
    >>> with warnings.catch_warnings(record=True):
    ...     order_as_fitted("PLSA", X, {"x": ViewInput("x", 2, np.array(["a", "b"]))})["x"]
    array([[2, 1]])
    """
    fitted = {name: each.feature_names for name, each in expected.items() if each.feature_names is not None}
    named = {name: columns for name, columns in fitted.items() if name in views.feature_names}
    if not named:
        return views
    matched = match_columns(who, views.select(*named), {name: len(columns) for name, columns in named.items()}, named)
    arrays, names = {**dict(views.items()), **dict(matched.items())}, {**views.feature_names, **matched.feature_names}
    return Views._trusted(arrays, views.ids, views.present, names)


def _match_names(who: str, view: str, columns: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Return the position of each given column among the fitted ones, or -1; warn of any difference."""
    where = {name: i for i, name in enumerate(fitted.tolist())}
    new = columns.tolist()
    if len(where) < len(fitted) or len(set(new)) < len(new):
        raise ViewsError(
            f"View {view!r} has other columns than {who} was fitted with, and some names are there twice, so they "
            "cannot be matched by name. Give the same columns in the same order."
        )
    # features beyond the fitted ones are normal for new texts, so they are left out and not refused
    targets = np.array([where.get(name, -1) for name in new])
    n_known, lacking = int((targets >= 0).sum()), len(where) - int((targets >= 0).sum())
    if not n_known:
        raise ViewsError(
            f"View {view!r} has none of the columns that {who} was fitted with: {listed(new[:3])} are not among "
            f"{listed(fitted[:3].tolist())}, ..."
        )
    changes = [
        "its columns in another order" if np.any(np.diff(targets[targets >= 0]) < 0) else "",
        f"{lacking} of the {len(where)} columns missing, which count as 0" if lacking else "",
        f"{len(new) - n_known} unknown column(s), which are ignored" if n_known < len(new) else "",
    ]
    # also inside other work: a wrong order of columns is a fault of the data, which only the user can mend
    warn_user(
        f"View {view!r} is not as {who} was fitted: it has {', '.join(filter(None, changes))}. Columns are matched by "
        "name.",
        UserWarning,
        inside=True,
    )
    return targets
