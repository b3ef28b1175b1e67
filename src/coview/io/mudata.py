"""Results for scverse: what a model says of objects, in the annotations of a MuData or an AnnData."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from coview.exceptions import DataFileError, ViewsError
from coview.inspection import Inspection, Reading, inspect, one_hot
from coview.utils.messages import listed
from coview.views.checks import is_anndata, is_mudata
from coview.views.coerce import as_views, in_memory_views
from coview.views.views import Views

__all__ = ["to_mudata"]


def to_mudata(X: Any, model: Any = None, *, key: str = "coview", training: bool = False) -> Any:
    """Put what a model says of objects into a MuData or an AnnData, or make a MuData of views.

    The group of each object goes to ``obs[key]`` (the cluster's number, the class, the strongest topic), its
    memberships, or coordinates, to ``obsm[key]``, and the names of the groups to ``uns[key]``. An object that has none
    of the model's views has no group.

    Parameters
    ----------
    X : MuData, AnnData, Views or what becomes Views
        The objects. A MuData or AnnData is changed in place; of views a new MuData is made, with a modality for each.
    model : fitted model or None, default=None
        What `inspect` takes. Views that it was fitted on and that are no modalities are looked for in ``obsm``. None
        adds nothing.
    key : str, default="coview"
        Name of what is added; what is there under this name is replaced.
    training : bool, default=False
        Take the groups that the fit found, where X has the objects of the fit in the same order. By default objects are
        predicted like new ones, of which a few may get another cluster than in the fit.

    Returns
    -------
    MuData or AnnData
        X itself where it is one of them.

    See Also
    --------
    as_views : The other way: modalities, and matrices in ``obsm``, as views.

    Examples
    --------
    >>> from importlib.util import find_spec
    >>> from coview import SphericalKMeans, to_mudata
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(20, {"words": 30}, n_clusters=2, random_state=0).views
    >>> model = SphericalKMeans(2, random_state=0).fit(X)
    >>> if find_spec("mudata"):
    ...     data = to_mudata(X, model, training=True)
    ...     assert list(data.mod) == ["words"] and data.obsm["coview"].shape == (20, 2)
    """
    data = X if is_mudata(X) or is_anndata(X) else _new_mudata(in_memory_views(X, "to_mudata", "Call it"))
    if is_mudata(data) and key in data.mod:
        raise ViewsError(f"is the name of a modality, got {key!r}. Choose another.", parameter="key")
    if model is not None:
        fitted = inspect(model)
        views = _views_of(data, fitted) if data is X else _selected(as_views(X), fitted)
        _annotate(data, views, fitted, key, training)
    return data


def _views_of(data: Any, fitted: Inspection) -> Views:
    """The views of a model, as far as the data has them."""
    own = [str(name) for name, part in data.mod.items() if part.n_vars] if is_mudata(data) else ["X"]
    more = [str(name) for name in data.obsm]
    if is_mudata(data):
        more += [f"{name}:{each}" for name, part in data.mod.items() for each in part.obsm]
    return _selected(as_views(data, obsm=[each for each in fitted.inputs if each not in own and each in more]), fitted)


def _selected(views: Views, fitted: Inspection) -> Views:
    known = [name for name in views.names if name in fitted.inputs]
    if not known and len(views.names) == len(fitted.inputs) == 1:  # one matrix was fitted, whatever it was called
        return Views({next(iter(fitted.inputs)): views[views.names[0]]}, ids=views.ids)
    if not known:
        raise ViewsError(f"The model was fitted on {listed(fitted.inputs)}, but the data has {listed(views.names)}.")
    return views.select(*known)


def _annotate(data: Any, views: Views, fitted: Inspection, key: str, training: bool) -> None:
    import pandas as pd

    names = list(map(str, data.obs_names))
    row = {name: i for i, name in enumerate(names)}
    rows = np.array([row[each] for each in _object_names(views)])
    there, n_objects = np.asarray(views.present.any(axis=1)), len(views)
    if not there.all():
        views, rows = views[there], rows[there]
    if fitted.kind == "value":
        values = np.full(len(names), np.nan)
        values[rows] = fitted.predict(views)
        data.obs[key] = values
        return
    reading = _training_reading(fitted, n_objects).take(there) if training else fitted.read(views)
    if reading.codes is not None:
        codes = np.full(len(names), -1)
        codes[rows] = reading.codes
        data.obs[key] = pd.Categorical.from_codes(codes, categories=[str(group) for group in fitted.groups])
    positions = reading.memberships if fitted.groups else fitted.embed(views)
    if positions is not None:
        whole = np.full((len(names), positions.shape[1]), np.nan, dtype=positions.dtype)
        whole[rows] = positions
        data.obsm[key] = whole
    about = {"groups": fitted.groups, "names": fitted.group_names}
    data.uns[key] = {
        "model": fitted.name,
        "kind": fitted.kind,
        **{name: np.array(list(map(str, values)), dtype=object) for name, values in about.items()},
    }


def _training_reading(fitted: Inspection, n_objects: int) -> Reading:
    """What the fit says of its own objects."""
    reading = fitted.training_reading()
    known = next((len(part) for part in (reading.codes, reading.memberships) if part is not None), None)
    if known is None:
        raise ViewsError(f"must be False: {fitted.name} keeps nothing of its training objects.", parameter="training")
    if known != n_objects:
        raise ViewsError(
            f"must be False for objects other than those of the fit: it had {known}, X has {n_objects}.",
            parameter="training",
        )
    if reading.memberships is None and reading.codes is not None:
        return Reading(one_hot(reading.codes, len(fitted.groups)), reading.codes)
    return reading


def _object_names(views: Views) -> list[str]:
    """Names of the objects in a MuData: their ids, or their numbers."""
    return list(map(str, range(len(views)) if views.ids is None else views.ids))


def _new_mudata(views: Views) -> Any:
    try:
        import anndata
        import mudata
        import pandas as pd
    except ImportError:
        raise DataFileError('to_mudata needs mudata. Run: pip install "coview[mudata]".') from None
    ids = _object_names(views)
    if len(set(ids)) < len(ids):
        raise ViewsError("A MuData needs a different name for each object, but some ids are there twice.")
    parts = {}
    for v, (name, matrix) in enumerate(views.items()):
        rows = np.flatnonzero(views.present[:, v])
        columns = views.feature_names.get(name, [f"{name}:{i}" for i in range(matrix.shape[1])])
        parts[name] = anndata.AnnData(
            matrix[rows],
            obs=pd.DataFrame(index=pd.Index([ids[i] for i in rows], dtype=object)),
            var=pd.DataFrame(index=pd.Index(list(map(str, columns)), dtype=object)),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns and options that are not used here
        return mudata.MuData(parts)
