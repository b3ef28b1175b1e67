"""`NeighborViews`: where one view is links among the objects, every other view smoothed over them.

With A the links (row = object, column = the object it is linked to), s the weight of an object beside its neighbors
(`self_weight`), D = s + row sums, and S = D^-1/2 (A + s I) D^-1/2, `hops` times

    H <- (1 - restart) S H + restart X,      H = X at first

so that an object also carries what its neighbors, and theirs, are made of. S H is a product of sparse matrices; S^2 is
never formed. A new object takes part with its own links: its row of S H is D_new^-1/2 (s D_new^-1/2 H_new + A_new
D^-1/2 H). With `restart` (Gasteiger and others 2019) an object keeps its own features however many hops there are; many
hops then are personalized PageRank over the links. With `tol`, values of a row below tol times its largest are dropped
after each hop, so that sparse views stay sparse.

Known labels become one more view, each object's own label left out. With Y one row per object (1 at its label, all 0
where it has none), `hops` steps make P Y, P a polynomial in S. Row i of the view is that without what object i gave:

    Z_i = sum_{j != i} (P_ij + prior / n) Y_j = (P Y)_i - P_ii Y_i + prior / n (sum_j Y_j - Y_i)
    P_ii = sum_k w_k (S^k)_ii,      (S^(a+b))_ii = <row i of S^a, column i of S^b>

so labeled objects look like unlabeled ones, which have nothing to leave out. The `prior` is a weak link to everybody:
where few labels come over the links, the shares of the classes count. Walks of half the hops from the labeled objects
are enough to know P_ii; nothing of objects x objects is built.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.base import ViewsTransformerMixin
from coview.utils import fitted_state as rules
from coview.utils.fitting import WholeFitMixin
from coview.utils.messages import did_you_mean, listed
from coview.utils.parameters import TEXT, TRUTH, integer, number, one_of
from coview.validation import encode_labels
from coview.views.coerce import as_views
from coview.views.inputs import match_columns
from coview.views.views import Views, check_same_order

__all__ = ["LinkGraph", "NeighborViews", "as_links", "find_rows", "pick_columns", "prune"]

_WALKED = 4_000_000  # places that the walks held at a time may have come to
_ROUNDING = 1e-9  # what is left of a share that was taken away whole


def _check_links(checker: rules.Checker, value: Any, where: str) -> None:
    if value not in checker.state.get("view_names_", ()):
        checker.refuse(where, f"is {value!r}, which is no view")


class NeighborViews(WholeFitMixin, ViewsTransformerMixin, BaseEstimator):
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
        How far to smooth: 1 is neighbors, 2 also theirs.
    restart : float, default=0.0
        Share of an object's own features that comes back after each hop, at least 0 and below 1. ``hops=10,
        restart=0.1`` reaches far without blurring all; that pays where labels are few.
    tol : float, default=0.0
        Drop values of sparse views below this share of the largest in their row, after each hop; at least 0 and below
        1. Many hops leave few zeros otherwise; 0.01 costs no accuracy on citations.
    self_weight : float or "mean", default=1.0
        Weight of an object itself beside its links in each hop, above 0; "mean" is the mean weight of an object's
        links, for graphs of many links, where an object soon is lost among its neighbors.
    directed : bool, default=True
        Whether links count from the row's side alone. If False, a link counts at both of its ends; new objects know
        their own links only.
    layers : {"all", "last"}, default="all"
        What new objects are joined to: the fitted ones as they were before each hop, or as they are at the end, which
        stores one layer in place of `hops`. With `restart` and many hops both are the same, but for what is left after
        so many: (1 - restart)^hops.
    views : str, list of str or None, default=None
        Views to smooth; all but the links by default. The links themselves may be named too: smoothed links say
        which objects are near, and how near.
        They begin as each object's own column, which of new objects is known by their ids only.
    keep : bool, default=True
        Keep the given views beside the smoothed ones; if False, only those remain.
    labels : bool, default=False
        Add a view "labels_near": the known labels of y spread over the links in the same way, one column per class. An
        object's own label is left out of its row, exactly, so that labeled objects look like the others. Labels that
        are spread to unlabeled objects are semi-supervised: -1 marks such an object, as None, NaN and "" do, whatever
        classifier comes behind. Name classes otherwise than -1 here, for a supervised classifier too.
    label_prior : float, default=0.0
        Labels of all other objects, so many times their mean, added to what comes over the links: the shares of the
        classes then decide where few labels are near. 0.1 is about a tenth of what links bring.

    Attributes
    ----------
    layers_ : dict of lists
        The fitted objects after 0, 1, ... hops, or after all of them, by view: what new objects are joined to.
    n_layers_ : int
        Layers of each view.
    self_weight_ : float
        Weight of an object itself in each hop.
    scale_ : ndarray (n_objects,)
        Factor of each fitted object as a neighbor.
    classes_ : ndarray
        With labels: the classes, one column each of "labels_near".
    label_layers_ : list of ndarray (n_objects, n_classes)
        With labels: the known labels after 0, 1, ... hops, own ones included: what new objects are joined to.
    labels_near_ : csr_array (n_objects, n_classes)
        With labels: those near the fitted objects, without their own.
    smoothed_views_ : list of str
        Views that are smoothed.
    present_layers_ : dict of lists
        Which of the fitted objects have something of a view after 0, 1, ... hops.
    n_objects_ : int
        Number of fitted objects.
    fitted_ids_ : ndarray or None
        Their ids.
    link_names_ : ndarray or None
        Names of the columns of the links.
    fitted_links_ : csr_array (n_objects, n_objects)
        Links among the fitted objects as they were given, by which these are known where they have no ids.
    view_names_ : list of str
        Names of the views.
    n_features_by_view_ : dict of int
        Number of features of each view.
    feature_names_by_view_ : dict of ndarray
        Names of the features, of the views that have them.

    Notes
    -----
    An object that lacks a view gets it from its neighbors, if one of them has it. Links to objects that are neither
    fitted nor given are left out; objects given together may link to each other where they have ids, and where they are
    all objects of the fit, which `transform` knows by their links. Smoothed views
    are denser: on Cora 2 hops turn 1.3 % of non-zero words into 19 %, 10 hops into 92 %.

    Labels: an object that no label but its own can reach lacks "labels_near", unless there is a `label_prior`.
    `transform` gives a fitted object its row of the fit; it is known by its id or, where there are none, when X has all
    links of the fit, in its order. Without ids, some of the fitted objects by themselves count as new ones, and a
    neighbor may tell them their own label: give ids where you ask for fitted objects again. New objects get the labels
    of fitted ones that they are linked to. A few columns of labels have large cosines: give them a small weight beside
    words. Where links join different classes, labels mislead like words.

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
    >>> X = NeighborViews(hops=1, labels=True).fit_transform(Views(words=words, links=links), ["cat", "dog", None])
    >>> X["labels_near"].toarray().round(2), X.present[:, -1]  # no own label, and no other one reaches objects 0 and 1
    (array([[0. , 0. ],
           [0. , 0. ],
           [0.5, 0. ]]), array([False, False,  True]))
    """

    _fitted_state = {
        **rules.FITTED_VIEWS,
        "n_features_in_": None,
        "links": rules.custom(_check_links),
        "smoothed_views_": rules.view_names(some=True, also="smoothed views"),
        "n_objects_": rules.count(1, size="objects"),
        "fitted_ids_": rules.or_none(rules.values("objects")),
        "link_names_": rules.or_none(rules.strings()),
        "scale_": rules.floats("objects", low=0),
        "self_weight_": rules.weight(),
        "n_layers_": rules.count(1, size="layers"),
        "layers_": rules.mapping(
            rules.sequence(rules.floats("objects", "features of {view}", sparse=True), "layers"), "smoothed views"
        ),
        "present_layers_": rules.mapping(rules.sequence(rules.booleans("objects"), "layers"), "smoothed views"),
        "classes_": rules.or_none(rules.labels("classes"), needed=itemgetter("labels")),
        "label_layers_": rules.or_none(
            rules.sequence(rules.floats("objects", "classes"), "hops"), needed=itemgetter("labels")
        ),
        "labels_near_": rules.or_none(rules.floats("objects", "classes", sparse=True), needed=itemgetter("labels")),
        "fitted_links_": rules.or_none(rules.floats("objects", "objects", sparse=True)),
        "hops": rules.count(1, size="hops"),
    }
    _parameters = {
        "links": TEXT,
        "hops": integer(most=1000),
        "restart": number(below=1),
        "tol": number(below=1),
        "self_weight": number(above=0) | one_of("mean"),
        "directed": TRUTH,
        "layers": one_of("all", "last"),
        "keep": TRUTH,
        "labels": TRUTH,
        "label_prior": number(),
    }

    def __init__(
        self,
        links: str = "links",
        hops: int = 2,
        *,
        restart: float = 0.0,
        tol: float = 0.0,
        self_weight: Any = 1.0,
        directed: bool = True,
        layers: str = "all",
        views: Any = None,
        keep: bool = True,
        labels: bool = False,
        label_prior: float = 0.0,
    ) -> None:
        self.links = links
        self.hops = hops
        self.restart = restart
        self.tol = tol
        self.self_weight = self_weight
        self.directed = directed
        self.layers = layers
        self.views = views
        self.keep = keep
        self.labels = labels
        self.label_prior = label_prior

    @property
    def _semi_supervised(self) -> bool:
        """Whether -1 marks an unlabeled object: where labels are read. A step does not see what comes behind it."""
        return bool(self.labels)

    def fit(self, X: Any, y: Any = None) -> NeighborViews:
        """Store and smooth the objects; y is used only with `labels=True`."""
        self._fit_layers(as_views(X), y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Views:
        """Fit and return X with its smoothed views."""
        views = as_views(X)
        graph = self._fit_layers(views, y)
        # all objects are here, with their own features
        layers: dict[str, Any] = dict.fromkeys(self.smoothed_views_)  # nothing is joined from outside
        return self._assemble(views, graph, layers, self._rows_of_columns(views), self.labels_near_)

    def transform(self, X: Any) -> Views:
        """Return X with its smoothed views, for training or new objects; views may be left out."""
        check_is_fitted(self, "layers_")
        views = as_views(X)
        # columns of links are matched to objects by their ids, below
        names = {view: columns for view, columns in self.feature_names_by_view_.items() if view != self.links}
        views = match_columns(type(self).__name__, views, self.n_features_by_view_, names)
        self._check_links(views)
        chosen = [name for name in self.smoothed_views_ if name in views]
        if not chosen and self.labels_near_ is None:
            raise ViewsError(f"X has none of the views to smooth, {listed(tuple(self.smoothed_views_))}.")
        graph, rows, fitted = self._join(views)
        labels = None if self.labels_near_ is None else self._join_labels(graph, fitted)
        return self._assemble(views, graph, {name: self.layers_[name] for name in chosen}, rows, labels)

    # -- pieces

    def _fit_layers(self, views: Views, y: Any) -> LinkGraph:
        self._check_links(views)
        if self.labels and y is None:
            raise ViewsError("labels=True requires y, with -1, None, NaN or an empty text for unlabeled objects.")
        check_same_order(views, y, "y")
        self.smoothed_views_ = self._chosen(views)
        self.n_features_by_view_ = views.n_features
        self.feature_names_by_view_ = views.feature_names
        self.view_names_ = list(views.names)
        self.fitted_ids_, self.link_names_ = views.ids, views.feature_names.get(self.links)
        self.n_objects_ = len(views)
        links = as_links(self.links, views[self.links])
        rows = self._rows_of_columns(views)
        self.fitted_links_ = within = pick_columns(links, rows)
        if not self.directed:
            within = sparse.csr_array(within.maximum(within.T))
        # learned from the fit alone, or new objects would change how old ones are smoothed
        self.self_weight_ = average_links(within) if self.self_weight == "mean" else float(self.self_weight)
        graph = LinkGraph.of(within, None, self.self_weight_)
        self.scale_ = graph.scale
        self.n_layers_ = self.hops if self.layers == "all" else 1
        self.layers_, self.present_layers_ = {}, {}
        for name in self.smoothed_views_:
            array, mask = self._first_layer(views, name, rows)
            layers, present = [array], [mask]
            # new objects take their last hop from these layers, hence one less of them than hops
            for _ in range(self.hops - 1 if self.layers == "all" else self.hops):
                layers.append(self._anew(graph.step(layers[-1]), array))
                present.append(graph.spread(present[-1]))
                if self.layers == "last":
                    del layers[0], present[0]
            self.layers_[name], self.present_layers_[name] = layers, present
        self._fit_labels(graph, y if self.labels else None)
        return graph

    def _fit_labels(self, graph: LinkGraph, y: Any) -> None:
        none: Any = None
        self.classes_ = self.label_layers_ = self.labels_near_ = none
        if y is None:
            return
        # the own label is taken off by row, not by id
        if self.fitted_ids_ is not None and len(set(self.fitted_ids_.tolist())) < self.n_objects_:
            raise ViewsError(
                "labels=True needs ids that differ: one object given twice would tell itself its label. Drop the "
                "repeated rows, or leave labels=False."
            )
        codes, self.classes_ = encode_labels(y, self.n_objects_, semi_supervised=self._semi_supervised)
        self.label_layers_, self.labels_near_ = spread_labels(
            graph, codes, len(self.classes_), self.hops, self.restart, self.label_prior
        )

    def _fitted_rows(self, views: Views, links: sparse.csr_array) -> np.ndarray:
        """Row of the fit of each given object, -1 for new ones; `links` are theirs to the fitted objects."""
        if views.ids is not None and self.fitted_ids_ is not None:
            # names of columns are text, so that ids are compared as text
            return find_rows(np.array([str(key) for key in views.ids.tolist()]), self.fitted_ids_)
        fitted = self.fitted_links_
        if fitted is not None and links.shape == fitted.shape and not abs(links - fitted).nnz:
            return np.arange(len(views))
        return np.full(len(views), -1)

    def _join_labels(self, graph: LinkGraph, fitted: np.ndarray) -> sparse.csr_array:
        """Labels near objects: of fitted ones (their row in `fitted`, -1 for new) as in the fit; new ones join them.

        Labels travel over the links of the fit only, so that no label comes home by way of a new object.
        """
        old = np.flatnonzero(fitted >= 0)
        known = fitted[old]
        factors = graph.scale.copy()
        # degrees as in the fit: links to new objects would thin out the labels of old ones
        factors[old] = self.scale_[known]
        joined = replace(graph, scale=factors)
        near = np.zeros((len(fitted), len(self.classes_)))
        for layer in self.label_layers_:
            near[old] = layer[known]
            near = (1 - self.restart) * joined.step(near, layer, self.scale_)  # new ones have no label to restart with
        # where few labels arrive, the shares of the classes count
        near += self.label_prior * self.label_layers_[0].mean(axis=0)
        near[old] = self.labels_near_[known].toarray()
        return sparse.csr_array(near)

    def _first_layer(self, views: Views, name: str, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Features before the first hop, and which objects have them; of links, each object's own column."""
        if name != self.links:
            return as_floats(views[name]), views.present[:, views.names.index(name)]
        own = np.flatnonzero(rows >= 0)
        ones = np.ones(len(own), np.result_type(views[name].dtype, np.float32))
        # links smoothed over themselves are the objects reached in so many hops
        columns = sparse.csr_array((ones, (rows[own], own)), shape=views[name].shape)
        return columns, np.ones(len(views), dtype=bool)

    def _assemble(
        self, views: Views, graph: LinkGraph, known: dict[str, Any], rows: np.ndarray, labels: sparse.csr_array | None
    ) -> Views:
        """Views with the smoothed ones added; `known` holds the layers of fitted objects that the graph leads to."""
        arrays = dict(views.items()) if self.keep else {}
        names: dict[str, Any] = dict(views.feature_names) if self.keep else {}
        present = {name: views.present[:, v] for v, name in enumerate(views.names)} if self.keep else {}
        for name, layers in known.items():
            near = f"{name}_near"
            array, mask = self._first_layer(views, name, rows)
            own = array
            for hop in range(self.hops):
                others = None if layers is None else layers[hop if self.layers == "all" else 0]
                there = None if layers is None else self.present_layers_[name][hop if self.layers == "all" else 0]
                array = self._anew(graph.step(array, others, self.scale_), own)
                mask = graph.spread(mask, there)
            arrays[near], present[near] = array, mask
            if name in views.feature_names:
                names[near] = views.feature_names[name]
        if labels is not None:
            near = "labels_near"
            arrays[near] = labels.astype(np.result_type(views[self.links].dtype, np.float32))
            # an object that no label reaches lacks the view, rather than being in the middle
            present[near], names[near] = labels.sum(axis=1) > 0, [str(label) for label in self.classes_.tolist()]
        return Views(arrays, ids=views.ids, present=present, feature_names=names)

    def _anew(self, smoothed: Any, own: Any) -> Any:
        """Smoothed features with some of the own ones, without those that are next to nothing."""
        if self.restart:
            share = smoothed.dtype.type(self.restart)
            smoothed = smoothed * (1 - share) + own * share
        return prune(smoothed, self.tol) if self.tol and sparse.issparse(smoothed) else smoothed

    def _join(self, views: Views) -> tuple[LinkGraph, np.ndarray, np.ndarray]:
        """Links of the given objects among each other and to fitted ones, the given object of each column and the rows
        of the fit of given objects.
        """
        links = as_links(self.links, views[self.links])
        names = views.feature_names.get(self.links, self.link_names_)
        inside, outside = np.full(links.shape[1], -1), np.full(links.shape[1], -1)
        if names is not None and views.ids is not None:
            inside = find_rows(names, views.ids)
        if names is not None and self.fitted_ids_ is not None:
            outside = find_rows(names, self.fitted_ids_)
            self._check_found(names, self.fitted_ids_, np.maximum(inside, outside))
        else:  # without names the columns are the objects of the fit, and no object links to a new one
            outside[: self.n_objects_] = np.arange(self.n_objects_)
        fitted = self._fitted_rows(views, pick_columns(links, outside, self.n_objects_))
        if views.ids is None and (fitted >= 0).all():  # all objects of the fit, in its order
            inside = outside.copy()
        outside[inside >= 0] = -1  # an object that is given again counts as given
        within = pick_columns(links, inside, len(views))
        if not self.directed:
            within = sparse.csr_array(within.maximum(within.T))
        others = pick_columns(links, outside, self.n_objects_)
        if not self.directed:
            others = sparse.csr_array(others.maximum(self._links_to(fitted)))
        return LinkGraph.of(within, others, self.self_weight_), inside, fitted

    def _links_to(self, fitted: np.ndarray) -> sparse.csr_array:
        """Links of the fit that lead to given objects (their row of the fit, -1 for new), from those not given."""
        known = np.flatnonzero(fitted >= 0)
        shape = (len(fitted), self.n_objects_)
        if self.fitted_links_ is None or not known.size:
            return sparse.csr_array(shape)
        back = sparse.csr_array(self.fitted_links_[:, fitted[known]]).T.tocoo()
        apart = ~np.isin(back.col, fitted[known])
        return sparse.csr_array((back.data[apart], (known[back.row[apart]], back.col[apart])), shape=shape)

    def _rows_of_columns(self, views: Views) -> np.ndarray:
        """Row of X that each column of the links stands for in fit, -1 for none."""
        n_columns, names = views[self.links].shape[1], views.feature_names.get(self.links)
        if views.ids is not None and names is not None:
            rows = find_rows(names, views.ids)
            self._check_found(names, views.ids, rows)
            return rows
        if n_columns != len(views):
            raise ViewsError(
                f"View {self.links!r} has {n_columns} columns for {len(views)} objects. Its columns must be the "
                "objects.",
                python="Give a square matrix, or ids and feature_names that name them; of a table, "
                "TableViews(id=COLUMN) makes the ids.",
                cli="Give a square matrix, or, of a table, the column that names the objects: --id COLUMN.",
            )
        return np.arange(n_columns)

    def _check_found(self, names: np.ndarray, ids: np.ndarray, rows: np.ndarray) -> None:
        if (rows < 0).all():
            raise ViewsError(
                f"No column of view {self.links!r} is named like an object: the columns are "
                f"{listed(names[:3].tolist())} ..., the ids {listed(ids[:3].tolist())} ... Name its columns by the ids "
                "of the objects."
            )

    def _chosen(self, views: Views) -> list[str]:
        named = (self.views,) if isinstance(self.views, str) else self.views
        chosen = [name for name in views.names if name != self.links] if named is None else list(named)
        for name in chosen:
            if name not in views:
                raise ViewsError(
                    f"NeighborViews cannot smooth {name!r}; the views are {listed(views.names)}."
                    f"{did_you_mean(name, views.names)}"
                )
        made = [f"{name}_near" for name in (*chosen, *(["labels"] if self.labels else []))]
        taken = [name for name in made if name in views or made.count(name) > 1]
        if taken:
            raise ViewsError(f"X already has a view {taken[0]!r}. Rename it.")
        if not chosen and not self.labels:
            raise ViewsError(f"X has no view besides the links {self.links!r}, so there is nothing to smooth.")
        return chosen

    def _check_links(self, views: Views) -> None:
        if self.links not in views:
            raise ViewsError(
                f"X has no view of links {self.links!r}; the views are {listed(views.names)}."
                f"{did_you_mean(self.links, views.names)}"
            )


# -- links as a graph


@dataclass(frozen=True)
class LinkGraph:
    """Links of some objects within themselves and to others outside, with the factor of each as a neighbor.

    Examples
    --------
    >>> graph = LinkGraph.of(sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), None)
    >>> graph.step(np.array([[4.0], [0.0]])).round(6).tolist()
    [[2.0], [2.0]]
    """

    within: sparse.csr_array
    outside: sparse.csr_array | None
    scale: np.ndarray
    own: float = 1.0  # weight of an object beside its links

    @classmethod
    def of(cls, within: sparse.csr_array, outside: sparse.csr_array | None, own: float = 1.0) -> LinkGraph:
        """Make one with the factors that the degrees give."""
        # D^-1/2 (A + wI) D^-1/2, as in graph convolutions (Kipf and Welling 2017)
        degree = own + within.sum(axis=1)
        if outside is not None:
            degree = degree + outside.sum(axis=1)
        return cls(within, outside, degree**-0.5, own)

    def step(self, array: Any, others: Any = None, others_scale: Any = None) -> Any:
        """One hop: own features and those of the neighbors; of the others, only neighbors are looked at."""
        mine = scale_rows(array, self.scale)
        total = mine * array.dtype.type(self.own)
        if self.within.nnz:
            total = total + self.within.astype(array.dtype) @ mine
        if others is not None and self.outside is not None and self.outside.nnz:
            links = self.outside @ sparse.diags_array(others_scale)
            total = total + links.astype(array.dtype) @ others
        return scale_rows(total, self.scale)

    def spread(self, present: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
        """Which objects have features after one hop."""
        reached = present | (self.within @ present.astype(np.float64) > 0)
        if others is not None and self.outside is not None:
            reached |= self.outside @ others.astype(np.float64) > 0
        return reached


def as_links(name: str, matrix: Any) -> sparse.csr_array:
    """View of links as a sparse matrix of numbers that are 0 or more."""
    links = sparse.csr_array(matrix, dtype=np.float64)
    if links.nnz and links.data.min() < 0:
        raise ViewsError(f"View {name!r} has negative links (minimum {links.data.min():.3g}). Links must be 0 or more.")
    return links


def average_links(links: sparse.csr_array) -> float:
    """Mean weight of an object's links; 1 where there are none."""
    return float(links.sum()) / max(links.shape[0], 1) or 1.0


def pick_columns(links: sparse.csr_array, positions: np.ndarray, width: int | None = None) -> sparse.csr_array:
    """Columns of the links moved to the positions that they stand for; those of -1 are left out."""
    width = links.shape[0] if width is None else width
    known = np.flatnonzero(positions >= 0)
    move = sparse.csr_array((np.ones(len(known)), (known, positions[known])), shape=(links.shape[1], width))
    moved = sparse.csr_array(links @ move)
    moved.sort_indices()
    return moved


def find_rows(names: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Row of the object that each name stands for, -1 for none."""
    row = {str(key): i for i, key in enumerate(ids.tolist())}  # feature names are text, ids need not be
    return np.array([row.get(name, -1) for name in names.tolist()], dtype=np.intp)


def scale_rows(array: Any, scale: np.ndarray) -> Any:
    """Rows times their factors, sparse or dense as given."""
    factors = scale.astype(array.dtype)
    if sparse.issparse(array):
        return sparse.csr_array(sparse.diags_array(factors) @ array)
    return array * factors[:, None]


def prune(matrix: Any, tol: float) -> sparse.csr_array:
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


def as_floats(array: Any) -> Any:
    """Features as numbers that can be averaged: float32 and float64 stay."""
    floats = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    return sparse.csr_array(floats) if sparse.issparse(floats) else floats


# -- labels over the links


def spread_labels(
    graph: LinkGraph, codes: np.ndarray, n_classes: int, hops: int, restart: float, prior: float
) -> tuple[list[np.ndarray], sparse.csr_array]:
    """Labels after 0, 1, ... hops, own ones included, for new objects; and after all hops without the own ones.

    Examples
    --------
    >>> links = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> graph = LinkGraph.of(links, None)
    >>> layers, near = spread_labels(graph, np.array([0, 1]), 2, 1, 0.0, 0.0)
    >>> near.toarray().round(2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    rows = np.flatnonzero(codes >= 0)
    first = np.zeros((len(codes), n_classes))
    first[rows, codes[rows]] = 1.0
    layers = [first]
    for _ in range(hops):
        layers.append((1 - restart) * graph.step(layers[-1]) + restart * first)
    near = layers.pop()
    whole = near[rows, codes[rows]]
    # P y less P_ii y_i: what came home of the own label would give it away in training, and be absent later
    rest = whole - compute_own_shares(graph, rows, hops, restart)
    near[rows, codes[rows]] = np.where(rest > _ROUNDING * whole, rest, 0.0)
    near += prior / len(codes) * (first.sum(axis=0) - first)
    return layers, sparse.csr_array(near)


def compute_own_shares(graph: LinkGraph, rows: np.ndarray, hops: int, restart: float) -> np.ndarray:
    """P_ii of some objects: how much of what an object starts with comes back to it."""
    step = scale_rows(graph.within + graph.own * sparse.eye_array(len(graph.scale), format="csr"), graph.scale)
    step = sparse.csr_array(step @ sparse.diags_array(graph.scale))
    back = sparse.csr_array(step.T)
    weights = [restart * (1 - restart) ** k for k in range(hops)] + [(1 - restart) ** hops]
    shares = np.full(len(rows), float(weights[0]))
    # walks from many objects at once, in bounded memory
    block = max(1, _WALKED // step.shape[0])
    for start in range(0, len(rows), block):
        some = rows[start : start + block]
        ones = (np.ones(len(some)), (np.arange(len(some)), some))
        out = home = sparse.csr_array(ones, shape=(len(some), step.shape[0]))
        for k in range(1, hops + 1):
            # P_ii of k hops is a product of k/2 hops out and k/2 hops home, which fill far fewer cells than k hops one
            # way
            out, home = (sparse.csr_array(out @ step), home) if k % 2 else (out, sparse.csr_array(home @ back))
            if weights[k]:
                shares[start : start + block] += weights[k] * out.multiply(home).sum(axis=1)
    return shares
