"""`NeighborViews`: where one view is links among the objects, every other view smoothed over them.

With A the links (row = object, column = the object it is linked to), D = 1 + row sums, and S = D^-1/2 (A + I) D^-1/2,
`hops` times

    H <- (1 - restart) S H + restart X,      H = X at first

so that an object also carries what its neighbours, and theirs, are made of. S H is a product of sparse matrices; S^2 is
never formed. A new object takes part with its own links: its row of S H is D_new^-1/2 (D_new^-1/2 H_new + A_new D^-1/2
H). With `restart` (Gasteiger and others 2019) an object keeps its own features however many hops there are; many hops
then are personalised PageRank over the links. With `tol`, values of a row below tol times its largest are dropped after
each hop, so that sparse views stay sparse.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.data.checks import listed
from coview.data.coerce import as_views
from coview.data.per_view import check_fitted_views
from coview.data.views import Views
from coview.exceptions import ViewsError

__all__ = ["NeighborViews"]


class NeighborViews(TransformerMixin, BaseEstimator):
    """Add every other view smoothed over a view of links.

    Models that take links as words leave most of what links say unused: linked papers are mostly of one class, though
    they may cite no third paper in common. Where links join objects of different classes, as web pages of courses and
    students, smoothing misleads: compare both.

    Parameters
    ----------
    links : str, default="links"
        The view of links. Its columns are the objects of `fit`: in the order of the rows, or named by their ids where
        the views have ids and the links have feature names. Links count from the row's side; give them symmetric.
    hops : int, default=2
        How far to smooth: 1 is neighbours, 2 also theirs.
    restart : float, default=0.0
        Share of an object's own features that comes back after each hop, at least 0 and below 1. ``hops=10,
        restart=0.1`` reaches far without blurring all; that pays where labels are few.
    tol : float, default=0.0
        Drop values of sparse views below this share of the largest in their row, after each hop; at least 0 and below
        1. Many hops leave few zeros otherwise; 0.01 costs no accuracy on citations.
    normalize : {"symmetric", "rows"}, default="symmetric"
        Divide by the square roots of the degrees at both ends of a link, or by the degree of the row (a plain mean).
    views : str, list of str or None, default=None
        Views to smooth; all but the links by default. The links themselves may be named too: who is near, and how near.
        They begin as each object's own column, which of new objects is known by their ids only.
    keep : bool, default=True
        Keep the given views beside the smoothed ones; if False, only those remain.
    suffix : str, default="_near"
        What is added to the name of a view for its smoothed form.

    Attributes
    ----------
    layers_ : dict of lists
        The fitted objects after 0, 1, ... hops, by view: what new objects are joined to.
    scale_ : ndarray (n_objects,)
        Factor of each fitted object as a neighbour.

    Notes
    -----
    An object that lacks a view gets it from its neighbours, if one of them has it. Links to objects that are neither
    fitted nor given are left out; objects given together may link to each other where they have ids. Smoothed views
    are denser: on Cora 2 hops turn 1.3 % of non-zero words into 19 %, 10 hops into 92 %.

    References
    ----------
    J. Gasteiger, A. Bojchevski, S. Günnemann: Predict then propagate: graph neural networks meet personalized
    PageRank. 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import NeighborViews, Views
    >>> words = np.array([[4.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> links = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> X = NeighborViews(hops=1).fit_transform(Views(words=words, links=links))
    >>> X.names
    ('words', 'links', 'words_near')
    >>> X["words_near"].round(2)
    array([[2., 0.],
           [0., 2.],
           [2., 0.]])
    """

    def __init__(
        self,
        links: str = "links",
        hops: int = 2,
        *,
        restart: float = 0.0,
        tol: float = 0.0,
        normalize: str = "symmetric",
        views: Any = None,
        keep: bool = True,
        suffix: str = "_near",
    ) -> None:
        self.links = links
        self.hops = hops
        self.restart = restart
        self.tol = tol
        self.normalize = normalize
        self.views = views
        self.keep = keep
        self.suffix = suffix

    def fit(self, X: Any, y: Any = None) -> NeighborViews:
        """Keep the objects and smooth them: new ones are joined to them."""
        self._fit_layers(as_views(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Views:
        """Fit, and return X with its smoothed views."""
        views = as_views(X)
        known = self._fit_layers(views)
        # the objects are their own neighbours here: nothing is joined from outside
        alone = _Graph(known.within, None, known.scale)
        return self._assemble(views, alone, dict.fromkeys(self.smoothed_views_), self._rows_of_columns(views))

    def transform(self, X: Any) -> Views:
        """Return X, of fitted or new objects, with its smoothed views; any of the fitted views may be left out."""
        check_is_fitted(self, "layers_")
        views = as_views(X)
        check_fitted_views(type(self).__name__, views, self.n_features_by_view_)
        self._check_links(views)
        chosen = [name for name in self.smoothed_views_ if name in views]
        if not chosen:
            raise ViewsError(f"X has none of the views to smooth, {listed(tuple(self.smoothed_views_))}.")
        graph, rows = self._join(views)
        return self._assemble(views, graph, {name: self.layers_[name] for name in chosen}, rows)

    # -- pieces

    def _fit_layers(self, views: Views) -> _Graph:
        self._check_parameters(views)
        self.smoothed_views_ = self._chosen(views)
        self.n_features_by_view_ = views.n_features
        self.view_names_ = list(views.names)
        self.fitted_ids_, self.link_names_ = views.ids, views.feature_names.get(self.links)
        self.n_objects_ = len(views)
        links = _as_links(self.links, views[self.links])
        rows = self._rows_of_columns(views)
        graph = _Graph.of(_pick(links, rows), None, self.normalize)
        self.scale_ = graph.scale
        self.layers_, self.present_layers_ = {}, {}
        for name in self.smoothed_views_:
            array, mask = self._first_layer(views, name, rows)
            layers, present = [array], [mask]
            for _ in range(self.hops - 1):
                layers.append(self._anew(graph.step(layers[-1], None, None, self.normalize), array))
                present.append(graph.spread(present[-1], None))
            self.layers_[name], self.present_layers_[name] = layers, present
        return graph

    def _first_layer(self, views: Views, name: str, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Features before the first hop, and who has them; of links, each object's own column."""
        if name != self.links:
            return _as_floats(views[name]), views.present[:, views.names.index(name)]
        own = np.flatnonzero(rows >= 0)
        dtype = np.result_type(views[name].dtype, np.float32)
        shape = views[name].shape
        return sparse.csr_array((np.ones(len(own), dtype), (rows[own], own)), shape=shape), np.ones(
            len(views), dtype=bool
        )

    def _assemble(self, views: Views, graph: _Graph, known: dict[str, Any], rows: np.ndarray) -> Views:
        """Views with the smoothed ones added; `known` holds the layers of fitted objects that the graph leads to."""
        arrays = dict(views.items()) if self.keep else {}
        names = views.feature_names if self.keep else {}
        present = {name: views.present[:, v] for v, name in enumerate(views.names)} if self.keep else {}
        for name, layers in known.items():
            near = f"{name}{self.suffix}"
            array, mask = self._first_layer(views, name, rows)
            own = array
            for hop in range(self.hops):
                others = None if layers is None else layers[hop]
                there = None if layers is None else self.present_layers_[name][hop]
                array = self._anew(graph.step(array, others, self.scale_, self.normalize), own)
                mask = graph.spread(mask, there)
            arrays[near], present[near] = array, mask
            if name in views.feature_names:
                names[near] = views.feature_names[name]
        return Views(arrays, ids=views.ids, present=present, feature_names=names)

    def _anew(self, smoothed: Any, own: Any) -> Any:
        """Smoothed features with some of the own ones, without those that are next to nothing."""
        if self.restart:
            share = smoothed.dtype.type(self.restart)
            smoothed = smoothed * (1 - share) + own * share
        return _prune(smoothed, self.tol) if self.tol and sparse.issparse(smoothed) else smoothed

    def _join(self, views: Views) -> tuple[_Graph, np.ndarray]:
        """Links of the given objects among each other and to fitted ones, and the given object of each column."""
        links = _as_links(self.links, views[self.links])
        names = views.feature_names.get(self.links, self.link_names_)
        inside, outside = np.full(links.shape[1], -1), np.full(links.shape[1], -1)
        if names is not None and views.ids is not None:
            inside = _find(names, views.ids)
        if names is not None and self.fitted_ids_ is not None:
            outside = _find(names, self.fitted_ids_)
            self._check_found(names, self.fitted_ids_, np.maximum(inside, outside))
        else:  # without names the columns are the objects of the fit, and a new object is nobody's neighbour
            outside[: self.n_objects_] = np.arange(self.n_objects_)
        outside[inside >= 0] = -1  # an object that is given again counts as given
        graph = _Graph.of(_pick(links, inside, len(views)), _pick(links, outside, self.n_objects_), self.normalize)
        return graph, inside

    def _rows_of_columns(self, views: Views) -> np.ndarray:
        """Row of X that each column of the links stands for in fit, -1 for none."""
        n_columns, names = views[self.links].shape[1], views.feature_names.get(self.links)
        if views.ids is not None and names is not None:
            rows = _find(names, views.ids)
            self._check_found(names, views.ids, rows)
            return rows
        if n_columns != len(views):
            raise ViewsError(
                f"View {self.links!r} has {n_columns} columns for {len(views)} objects. Its columns must be the "
                "objects: give a square matrix, or ids and feature_names that name them."
            )
        return np.arange(n_columns)

    def _check_found(self, names: np.ndarray, ids: np.ndarray, found: np.ndarray) -> None:
        if (found < 0).all():
            raise ViewsError(
                f"No column of view {self.links!r} is named like an object: the columns are "
                f"{listed(names[:3].tolist())} ..., the ids {listed(ids[:3].tolist())} ... Name its columns by the ids "
                "of the objects."
            )

    def _chosen(self, views: Views) -> list[str]:
        given = (self.views,) if isinstance(self.views, str) else self.views
        chosen = [name for name in views.names if name != self.links] if given is None else list(given)
        for name in chosen:
            if name not in views:
                raise ViewsError(f"NeighborViews cannot smooth {name!r}; the views are {listed(views.names)}.")
            if f"{name}{self.suffix}" in views:
                raise ViewsError(f"X already has a view {name + self.suffix!r}. Choose another suffix.")
        if not chosen:
            raise ViewsError(f"X has no view beside the links {self.links!r}, so there is nothing to smooth.")
        return chosen

    def _check_parameters(self, views: Views) -> None:
        if isinstance(self.hops, bool) or not isinstance(self.hops, (int, np.integer)) or self.hops < 1:
            raise ValueError(f"hops must be a whole number of at least 1, got {self.hops!r}.")
        for name, share in (("restart", self.restart), ("tol", self.tol)):
            if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= share < 1:
                raise ValueError(f"{name} must be a number of at least 0 and below 1, got {share!r}.")
        if self.normalize not in ("symmetric", "rows"):
            raise ValueError(f"normalize must be 'symmetric' or 'rows', got {self.normalize!r}.")
        if not isinstance(self.suffix, str) or not self.suffix:
            raise ValueError(f"suffix must be a text that is not empty, got {self.suffix!r}.")
        self._check_links(views)

    def _check_links(self, views: Views) -> None:
        if self.links not in views:
            raise ViewsError(f"X has no view of links {self.links!r}; the views are {listed(views.names)}.")


class _Graph:
    """Links of some objects within themselves and to others outside, with the factor of each as a neighbour."""

    def __init__(self, within: sparse.csr_array, outside: sparse.csr_array | None, scale: np.ndarray) -> None:
        self.within, self.outside, self.scale = within, outside, scale

    @classmethod
    def of(cls, within: sparse.csr_array, outside: sparse.csr_array | None, normalize: str) -> _Graph:
        degree = 1.0 + within.sum(axis=1)
        if outside is not None:
            degree = degree + outside.sum(axis=1)
        return cls(within, outside, degree**-0.5 if normalize == "symmetric" else degree**-1.0)

    def step(self, array: Any, others: Any, others_scale: Any, normalize: str) -> Any:
        """One hop: own features and those of the neighbours."""
        both = normalize == "symmetric"
        mine = _scale_rows(array, self.scale) if both else array
        total = mine + self.within.astype(array.dtype) @ mine
        if others is not None and self.outside is not None and self.outside.nnz:
            theirs = _scale_rows(others, others_scale) if both else others
            total = total + self.outside.astype(array.dtype) @ theirs
        return _scale_rows(total, self.scale)

    def spread(self, present: np.ndarray, others: np.ndarray | None) -> np.ndarray:
        """Which objects have features after one hop."""
        found = present | (self.within @ present.astype(np.float64) > 0)
        if others is not None and self.outside is not None:
            found |= self.outside @ others.astype(np.float64) > 0
        return found


def _as_links(name: str, matrix: Any) -> sparse.csr_array:
    links = sparse.csr_array(matrix, dtype=np.float64)
    if links.nnz and links.data.min() < 0:
        raise ViewsError(f"View {name!r} has negative links (minimum {links.data.min():.3g}). Links must be 0 or more.")
    return links


def _pick(links: sparse.csr_array, positions: np.ndarray, width: int | None = None) -> sparse.csr_array:
    """Columns of the links moved to the positions that they stand for; those of -1 are left out."""
    width = links.shape[0] if width is None else width
    known = np.flatnonzero(positions >= 0)
    move = sparse.csr_array((np.ones(len(known)), (known, positions[known])), shape=(links.shape[1], width))
    found = sparse.csr_array(links @ move)
    found.sort_indices()
    return found


def _find(names: np.ndarray, ids: np.ndarray) -> np.ndarray:
    row = {str(key): i for i, key in enumerate(ids.tolist())}  # feature names are text, ids need not be
    return np.array([row.get(name, -1) for name in names.tolist()], dtype=np.intp)


def _scale_rows(array: Any, scale: np.ndarray) -> Any:
    factors = scale.astype(array.dtype)
    if sparse.issparse(array):
        return sparse.csr_array(sparse.diags_array(factors) @ array)
    return array * factors[:, None]


def _prune(matrix: Any, tol: float) -> sparse.csr_array:
    """Matrix without the values that are smaller than tol times the largest of their row."""
    rows = sparse.csr_array(matrix)
    if not rows.nnz:
        return rows
    sizes = np.diff(rows.indptr)
    filled = np.flatnonzero(sizes)
    largest = np.maximum.reduceat(np.abs(rows.data), rows.indptr[filled])
    kept = np.abs(rows.data) >= tol * np.repeat(largest, sizes[filled])
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sparse.csr_array((rows.data[kept], rows.indices[kept], ends), shape=rows.shape)


def _as_floats(array: Any) -> Any:
    floats = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    return sparse.csr_array(floats) if sparse.issparse(floats) else floats
