"""Results for scverse: what a model says of objects, in the annotations of a MuData or an AnnData."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from coview.exceptions import DataFileError, ViewsError
from coview.inspection import Inspection, inspect
from coview.inspection.reading import embed_objects, read_groups
from coview.utils.messages import listed
from coview.views.arrays import is_anndata, is_mudata
from coview.views.coerce import as_views, check_in_memory
from coview.views.views import Views

__all__ = ["to_mudata"]


def to_mudata(X: Any, model: Any = None, *, key: str = "coview") -> Any:
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
    ...     data = to_mudata(X, model)
    ...     assert list(data.mod) == ["words"] and data.obsm["coview"].shape == (20, 2)
    """
    data = X if is_mudata(X) or is_anndata(X) else _make_mudata(check_in_memory(X, "to_mudata", "Call it"))
    if model is not None:
        fitted = inspect(model)
        _annotate(data, _select_views(X, fitted), fitted, key)
    return data


def _select_views(X: Any, fitted: Inspection) -> Views:
    """Return the views of a model that the data has; of MuData and AnnData those in ``obsm`` too."""
    views = as_views(X)
    if is_mudata(X) or is_anndata(X):
        # modalities come first: a matrix in obsm of the same name may be something else
        views = as_views(
            X, obsm=[name for name in fitted.preparation.inputs if name in X.obsm and name not in views.names]
        )
    known = [name for name in views.names if name in fitted.preparation.inputs]
    if not known:
        raise ViewsError(
            f"The model was fitted on {listed(fitted.preparation.inputs)}, but the data has {listed(views.names)}."
        )
    return views.select(*known)


def _annotate(data: Any, views: Views, fitted: Inspection, key: str) -> None:
    import pandas as pd

    views = views[np.flatnonzero(views.present.any(axis=1))]  # an object without views has no group
    names = _name_objects(views)
    # a regressor has no groups
    if fitted.kind == "value":
        data.obs[key] = pd.Series(fitted.predict(views), names).reindex(data.obs_names)
        return
    reading = read_groups(fitted, views)
    if reading.codes is not None:
        groups = pd.Categorical.from_codes(reading.codes, categories=[str(group) for group in fitted.groups])
        # by name: the rows of views without absent objects are fewer than those of the data
        data.obs[key] = pd.Series(groups, names).reindex(data.obs_names)
    positions = reading.memberships if fitted.groups else embed_objects(fitted, views)
    if positions is not None:
        data.obsm[key] = pd.DataFrame(positions, names).reindex(data.obs_names).to_numpy()
    data.uns[key] = {
        "model": fitted.name,
        "kind": fitted.kind,
        "groups": np.array([*map(str, fitted.groups)], dtype=object),
        "names": np.array([*map(str, fitted.group_names)], dtype=object),
    }


def _name_objects(views: Views) -> list[str]:
    """Return the names of the objects in a MuData: their ids, or their numbers."""
    return list(map(str, range(len(views)) if views.ids is None else views.ids))


def _make_mudata(views: Views) -> Any:
    try:
        import anndata
        import mudata
        import pandas as pd
    except ImportError:
        raise DataFileError('to_mudata needs mudata. Run: pip install "coview[mudata]".') from None
    ids = _name_objects(views)
    if len(set(ids)) < len(ids):
        raise ViewsError("A MuData needs a different name for each object, but some ids are there twice.")
    parts = {}
    for v, (name, matrix) in enumerate(views.items()):
        rows = np.flatnonzero(views.present[:, v])
        # names of features must differ between modalities, so numbers get the name of the view
        columns = views.feature_names.get(name, [f"{name}:{i}" for i in range(matrix.shape[1])])
        parts[name] = anndata.AnnData(
            matrix[rows],
            obs=pd.DataFrame(index=pd.Index([ids[i] for i in rows], dtype=object)),
            var=pd.DataFrame(index=pd.Index(list(map(str, columns)), dtype=object)),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns and options that are not used here
        return mudata.MuData(parts)
