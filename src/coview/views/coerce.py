"""The only gate in: whatever a user holds becomes `Views` or `LazyViews` here, or is refused with one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.utils.limits import text_array
from coview.utils.messages import did_you_mean, listed
from coview.views.arrays import is_anndata, is_dask_collection, is_frame, is_mudata
from coview.views.dask_collections import from_dask
from coview.views.lazy import LazyViews
from coview.views.views import NamedViews, Views, name_matrices

__all__ = ["as_views", "check_in_memory"]


def as_views(X: Any, *, obsm: str | Sequence[str] | None = None) -> Any:
    """Convert X to `Views`, or to `LazyViews` if it contains Dask collections; views are returned unchanged.

    Parameters
    ----------
    X : views, mapping, sequence, matrix, MuData or AnnData
        Whatever `Views` takes, `Views` and `LazyViews` themselves, dask arrays and DataFrames, a MuData, each of whose
        modalities is a view, or an AnnData, whose view is "X".
    obsm : str, list of str or None, default=None
        Matrices in ``obsm`` of a MuData or AnnData, such as embeddings, that become views of these names too;
        "rna:X_pca" is that of a modality. Of an AnnData without features, all of them do.

    Returns
    -------
    Views or LazyViews
        Views in memory; lazy ones where X was lazy or held a dask collection.

    Examples
    --------
    >>> import numpy as np
    >>> as_views([np.eye(2), np.ones((2, 3))]).names
    ('view0', 'view1')
    >>> as_views(np.eye(2)).names
    ('x',)
    """
    if isinstance(X, NamedViews):
        return X
    if is_mudata(X) or is_anndata(X):
        return _from_annotated(X, [obsm] if isinstance(obsm, str) else obsm)
    # one dask collection makes all views lazy: those in memory are cut into the same parts
    sources = name_matrices(X, {})
    return from_dask(sources) if any(map(is_dask_collection, sources.values())) else Views(X)


def check_in_memory(X: Any, caller: str, verb: str) -> Views:
    """Return `as_views` for a function that reads all rows at once: lazy views are refused in its name."""
    views = as_views(X)
    if isinstance(views, LazyViews):
        raise ViewsError(
            f"{caller} requires in-memory views, got lazy views of {len(views)} rows. {verb} on some of them, "
            "X[:5000], or read all with X.collect()."
        )
    return views


def _from_annotated(data: Any, obsm: Sequence[str] | None) -> Views:
    """Make a view of each modality of a MuData, or of X of an AnnData; objects may lack a modality."""
    if is_mudata(data):
        modalities = {str(name): part for name, part in data.mod.items()}
        # matrices of a modality are called "rna:X_pca", those of the whole MuData by their own name
        places = {"": data, **{f"{name}:": part for name, part in modalities.items()}}
    else:
        modalities, places = {"X": data}, {"": data}
    parts = {name: part for name, part in modalities.items() if part.n_vars and part.X is not None}
    sources = {name: (_find_object_names(part), part.X) for name, part in parts.items()}
    known = {
        start + str(key): (_find_object_names(part), part.obsm[key])
        for start, part in places.items()
        for key in part.obsm
    }
    # an AnnData of embeddings alone has no X to make a view of
    if obsm is None and not parts and not is_mudata(data):
        obsm = list(known)
    for name in obsm or ():
        if name not in known:
            raise ViewsError(f"obsm has no {name!r}; it has {listed(known) or 'nothing'}.{did_you_mean(name, known)}")
        sources[name] = _drop_absent(*known[name])
    joined = Views.align(sources)
    order = {key: i for i, key in enumerate(joined.ids.tolist())}  # type: ignore[union-attr]
    # in the order of the data, so that results fit its `obs`
    rows = np.array([order[key] for key in _find_object_names(data) if key in order], dtype=np.intp)
    names = {name: text_array(part.var_names, f"feature names of view {name!r}") for name, part in parts.items()}
    return Views(joined[rows], feature_names=names)


def _find_object_names(data: Any) -> list[str]:
    return list(map(str, data.obs_names))


def _drop_absent(ids: list[str], matrix: Any) -> tuple[list[str], Any]:
    """Drop the rows that are all NaN, by which a MuData marks objects that are not there."""
    values = np.asarray(matrix) if not sparse.issparse(matrix) else None
    if values is None or values.ndim != 2 or values.dtype.kind != "f" or not np.isnan(values).any():
        return ids, matrix
    # a row with some NaN is a mistake in the data, which `as_matrix` refuses
    there = ~np.isnan(values).all(axis=1)
    rows = np.flatnonzero(there)
    return [ids[i] for i in rows], matrix.iloc[rows] if is_frame(matrix) else values[rows]
