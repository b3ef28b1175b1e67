"""Values and labels with gaps: what stands for none, and arrays in which each label keeps its type."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.utils.messages import short

__all__ = ["is_gap", "is_missing", "label_array"]


def is_gap(label: Any) -> bool:
    """Tell whether a label stands for "no label": None, NaN, pandas' NA, or an empty text.

    An empty text is what a cell without label becomes in a file, and no name of a class.

    Examples
    --------
    >>> is_gap(None), is_gap(float("nan")), is_gap(""), is_gap("a"), is_gap(0)
    (True, True, True, False, False)
    """
    if isinstance(label, str):
        return not label
    # NA is known by its name, since pandas is not imported here and NA refuses to be compared
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def is_missing(value: Any) -> bool:
    """Tell whether a cell holds nothing: None, NaN or a marker of pandas, told without importing it.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing([None])
    (True, True, False, False)
    """
    return (
        value is None
        or (isinstance(value, (float, np.floating, np.datetime64)) and value != value)
        or type(value).__name__ in ("NAType", "NaTType")
    )


def label_array(labels: Any) -> np.ndarray:
    """Return labels as an array, each in its own type: NumPy would turn [1, "1"] and ["a", None] into texts.

    Examples
    --------
    >>> label_array(["a", None])
    array(['a', None], dtype=object)
    """
    if isinstance(labels, np.ma.MaskedArray) and np.ma.is_masked(labels):  # a masked label is none
        whole = labels.data.astype(object)
        whole[np.ma.getmaskarray(labels)] = None
        return whole
    library = type(labels).__module__.partition(".")[0]
    # NumPy would turn whole numbers with gaps into floats
    if library == "pandas" and labels.ndim == 1 and labels.dtype.kind in "iu" and labels.isna().any():
        return np.asarray(labels.to_numpy(dtype=object, na_value=None))
    if library == "polars" and type(labels).__name__ == "Series" and labels.null_count():
        labels = labels.to_list()
    if isinstance(labels, (list, tuple)):
        kinds = {"text" if isinstance(label, str) else "gap" if label is None else "other" for label in labels}
        if len(kinds) > 1:
            return np.fromiter(labels, dtype=object, count=len(labels))
    try:
        return np.asarray(labels)
    except ValueError as error:  # lists of different lengths
        raise ViewsError(f"One label per object is needed, got {short(labels)}.") from error
