"""Co-regularized PLSA: every view has its own topic mixture per object, and the mixtures of an object are kept close.

    maximize  sum_v sum_df x_vdf log sum_y p(y|d,v) p(f|y,v)  -  sum_(v<u) coupling_vu sum_d D(p(.|d,v), p(.|d,u))

Wang, Chang, Ying and Lyu (2016). D is the symmetric KL divergence, half the squared distance, or the sum of absolute
differences. Coupling 0 is one PLSA per view; a coupling without bound is link-PLSA. See `coregularized_steps.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from coview.engines.loop import fold_in
from coview.engines.passes import blockwise
from coview.engines.protocol import Block, Engine, Extra, Holder
from coview.engines.state import State, Tree
from coview.exceptions import ViewsError
from coview.inspection import Inspection
from coview.plsa.co_plsa_steps import CoSteps
from coview.plsa.divergence import DIVERGENCES, pair_couplings
from coview.plsa.factors import FEATURE_FLOOR, as_distributions, initial_arrays, random_matrix, random_topics
from coview.plsa.link import LinkPLSA
from coview.plsa.mixture import FOLD_IN_SWEEPS, FOLD_IN_TOL, MixtureModel
from coview.plsa.steps import LinkSteps
from coview.validation import check_count, check_option
from coview.views.views import Views

__all__ = ["CoPLSA"]

LINK_SWEEPS = 20  # of link-PLSA, for init="link"


class CoPLSA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MixtureModel):
    """Topics of two or more views, one topic mixture per object and view, kept close to each other.

    Topic k is one subject in all views; an object may weigh it differently in each of them. That is less than
    `LinkPLSA` asks (one mixture for all views) and more than one `PLSA` per view (whose topics have nothing in common).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, the same in every view.
    divergence : {"skl", "l2", "l1"}, default="skl"
        How the distance of two mixtures is measured: symmetric KL divergence, half the squared distance, or the sum of
        absolute differences. With "l1" entries of two views can be exactly equal.
    coupling : float or {(view, view): float}, default=1.0
        Strength of the pull between the views: one number, or one per pair of views (1 for pairs that are not named).
        With `scale_rows` the log-likelihood of a view counts like one token per object beside it.
    scale_rows : bool, default=True
        Scale each object's features to sum to one in each view, so that `coupling` means the same for long and short
        objects. False leaves counts as they are.
    max_iter : int, default=200
        Most sweeps over the data.
    tol : float, default=1e-5
        Stop when the objective changes by less than this, relative to itself; 0 runs exactly `max_iter` sweeps.
    n_init : int, default=1
        Number of starts; the one that ends highest is kept.
    init : {"random", "link"} or dict, default="random"
        Where to start: one random mixture per object in all views and random topics, or what some sweeps of `LinkPLSA`
        make of that. A dict holds any of ``memberships_by_view`` (``{view: array}``, or one array for all views) and
        ``topic_feature`` (``{view: array}``) in the shapes of the fitted attributes; the rest is random.
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the objective. Worth it where `coupling` is large: mixtures that
        hold each other tightly take short steps.
    learning_decay, learning_offset : float, default=0.7 and 10
        `partial_fit` gives minibatch t the weight ``(learning_offset + t) ** -learning_decay``.
    engine, n_jobs, time_budget, random_state, verbose, callbacks, checkpoint
        As in `PLSA`.

    Attributes
    ----------
    memberships_by_view_ : dict of ndarray (n_objects, n_components)
        ``p(topic | object, view)`` of the training objects, by view; rows sum to one. Where an object lacks the view,
        the mixture nearest to those of its other views.
    topic_feature_ : dict of ndarray (n_components, n_features of the view)
        ``p(feature | topic, view)`` by view; rows sum to one.
    history_ : dict of lists
        "objective" (log-likelihood less coupling times divergence) and "seconds" after each sweep; entry 0 is the
        start.
    n_iter_ : int
        Sweeps of the best start.
    view_names_ : list of str
        Names of the views.

    Notes
    -----
    An object without any feature in a view counts as lacking that view, whatever ``present`` says: it has nothing to
    scale. A view that an object lacks adds nothing to the objective, neither likelihood nor divergence.

    References
    ----------
    X. Wang, M.-C. Chang, Y. Ying, S. Lyu: Co-regularized PLSA for multi-modal learning. AAAI 2016.

    Examples
    --------
    >>> from coview import CoPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
    >>> model = CoPLSA(n_components=3, coupling=0.5, random_state=0).fit(data.views)
    >>> sorted(model.memberships_by_view_), model.memberships_by_view_["view0"].shape
    (['view0', 'view1'], (100, 3))
    >>> model.transform(data.views.select("view1")).shape
    (100, 3)
    >>> model.impute(data.views[:2].select("view1"), "view0").shape
    (2, 500)
    """

    _mixture = "memberships_by_view_"
    memberships_by_view_: dict[str, np.ndarray]

    def __init__(
        self,
        n_components: int = 10,
        *,
        divergence: str = "skl",
        coupling: Any = 1.0,
        scale_rows: bool = True,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "random",
        acceleration: str | None = None,
        engine: Any = "auto",
        n_jobs: int | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_components = n_components
        self.divergence = divergence
        self.coupling = coupling
        self.scale_rows = scale_rows
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.acceleration = acceleration
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None) -> CoPLSA:
        """Learn topics from X, which has at least two views; y is ignored."""
        return self._fit(X, self._scaled(self._fit_views(X)), _CARRIED)

    def partial_fit(self, X: Any, y: Any = None) -> CoPLSA:
        """Learn from one minibatch (online EM), going on from what is known; every batch has the views of the first."""
        fitted = hasattr(self, "topic_feature_")
        self._learn_stream(self._new_views(X) if fitted else self._fit_views(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn topics from X and fold X in; `memberships_by_view_` holds the mixtures at the end of the fit itself."""
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Topic mixtures of objects, new or old, from some or all of the fitted views (topics stay fixed).

        The mixture of an object is the mean over the views that it has, which are folded in together, each held close
        to the others; of one view it is just that view's. Rows sum to one; an object without any feature gets an even
        mixture.
        """
        return self._mixtures(X)

    def transform_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Topic mixtures by view, for each of the views given; all are folded in together.

        Where an object lacks one of these views, its mixture there is imputed: the one nearest to its other views'.
        """
        check_is_fitted(self, "topic_feature_")
        return self._by_view(self._tables(X), self._new_views(X).names)

    @blockwise
    def impute(self, X: Any, view: str) -> np.ndarray:
        """Expected features of a view (objects x features, rows sum to one) from whatever views X has.

        An object that lacks the view gets the mixture nearest to those of its other views, and the features that the
        view's topics give it; one that has the view is smoothed.
        """
        check_is_fitted(self, "topic_feature_")
        if view not in self.view_names_:
            listed = ", ".join(map(repr, self.view_names_))
            raise ViewsError(f"CoPLSA knows no view {view!r} to impute; it was fitted on {listed}.")
        views = self._new_views(X)
        if view not in views:
            dtype = next(views.values()).dtype
            empty = sparse.csr_array((len(views), self.n_features_by_view_[view]), dtype=dtype)
            present = np.column_stack([views.present, np.zeros(len(views), dtype=bool)])
            views = Views({**dict(views.items()), view: empty}, present=present)
        return self.transform_by_view(views)[view] @ self.topic_feature_[view]

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass) of X, its mixtures folded in; 0 where X holds nothing."""
        return self._token_score(X)

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return int(next(iter(self.topic_feature_.values())).shape[0])

    def _inspect(self) -> Inspection:
        """Answer `inspect`: every view has a mixture of its own."""
        return replace(super()._inspect(), _memberships_by_view=self.transform_by_view)

    def _fit_views(self, X: Any) -> Views:
        views = super()._fit_views(X)
        if len(views.names) < 2:
            raise ViewsError(f"CoPLSA needs at least 2 views, got 1 ({views.names[0]!r}). For one view use PLSA.")
        return views

    def _scaled(self, views: Any) -> Any:
        return views.map(_unit_sums) if self.scale_rows else views

    def _checked_steps(self) -> CoSteps:
        self._check_loop()
        return self._steps()

    def _steps(self) -> CoSteps:
        check_option("divergence", self.divergence, tuple(DIVERGENCES))
        return CoSteps(
            check_count("n_components", self.n_components),
            divergence=self.divergence,
            pairs=pair_couplings(self.coupling, self.view_names_),
        )

    def _begin(self, views: Any, seed: int, labels: np.ndarray | None) -> tuple[Any, dict[str, np.ndarray]]:
        carried: dict[str, np.ndarray] = {}
        arrays: dict[str, Any] = {}
        if isinstance(self.init, Mapping):
            arrays = initial_arrays(self.init, ("memberships_by_view", "topic_feature"), list(views.names))
        elif check_option("init", self.init, ("random", "link")) == "link":
            link = LinkPLSA(
                self.n_components, max_iter=LINK_SWEEPS, tol=0, n_init=self.n_init, engine=self.engine,
                n_jobs=self.n_jobs, random_state=seed,
            ).fit(views)  # fmt: skip
            arrays = {"memberships_by_view": link.memberships_, "topic_feature": link.topic_feature_}
        if "memberships_by_view" in arrays:
            carried["start"] = self._start_table(arrays["memberships_by_view"], views, seed)
        given = arrays.get("topic_feature", {})

        def make(here: int) -> Tree:
            topics = {
                name: random_topics(given.get(name), self.n_components, width, here, name)
                for name, width in views.n_features.items()
            }
            return {"profiles": {name: np.maximum(part.T, FEATURE_FLOOR) for name, part in topics.items()}}

        return make, carried

    def _start_table(self, given: Any, views: Any, seed: int) -> np.ndarray:
        shape = (len(views), self.n_components)
        by_view = given if isinstance(given, Mapping) else dict.fromkeys(views.names, given)
        for name in by_view:
            if name not in views:
                listed = ", ".join(map(repr, views.names))
                raise ValueError(f"init['memberships_by_view'] names view {name!r}, but the views are {listed}.")
        rest = random_matrix(seed, 0, *shape, np.float64)
        return np.hstack(
            [
                as_distributions("memberships_by_view", by_view[name], shape) if name in by_view else rest
                for name in views.names
            ]
        )

    def _fixed_start(self) -> bool:
        if isinstance(self.init, Mapping):
            return {"memberships_by_view", "topic_feature"} <= {str(key).rstrip("_") for key in self.init}
        return self.init == "link"

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: np.maximum(self.topic_feature_[name].T, FEATURE_FLOOR) for name in names}

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        return {"topic_feature_": {name: part.T for name, part in shared["profiles"].items()}}

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        found = super()._attributes(state, holder)
        return {**found, self._mixture: self._by_view(found[self._mixture], tuple(self.view_names_))}

    def _by_view(self, table: Any, names: tuple[str, ...]) -> dict[str, Any]:
        width = table.shape[1] // len(names)
        parts = {name: table[:, v * width : (v + 1) * width] for v, name in enumerate(names)}
        # what is still on a cluster or on disk stays there
        return {name: part.copy() if type(part) is np.ndarray else part for name, part in parts.items()}

    def _fold_in(self, block: Block, steps: Any, shared: Tree, engine: Engine) -> np.ndarray:
        """Table of mixtures of new objects; the problem is concave, and solved for a coupling without bound first."""
        dtype = next(iter(shared["profiles"].values())).dtype
        limits: dict[str, Any] = {"max_iter": FOLD_IN_SWEEPS, "tol": FOLD_IN_TOL}
        rows = {"mixture": engine.asarray(np.full((len(block), steps.width), 1.0 / steps.width), dtype)}
        linked = fold_in(LinkSteps(steps.width), block, rows, shared, engine, **limits)["mixture"]
        if len(block.views) == 1:
            return linked
        rows = {"mixture": engine.asarray(np.tile(linked, len(block.views)), dtype)}
        return fold_in(steps, block, rows, shared, engine, **limits)["mixture"]

    @blockwise
    def _tables(self, X: Any) -> np.ndarray:
        """Mixtures of all views given, folded in together, side by side."""
        views = self._new_views(X)
        engine, steps, data = self._engine(X), self._steps(), self._scaled(views)
        shared = self._fitted(data, engine)
        blocks = self._each_block(data, engine, steps.width, _CARRIED)
        return np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "topic_feature_")
        views, table = self._new_views(X), self._tables(X)
        have = _have(views)[:, :, None]
        parts = table.reshape(len(table), len(views.names), -1)
        mean = (parts * have).sum(axis=1, dtype=np.float64) / np.maximum(have.sum(axis=1), 1)
        found = np.where(have.any(axis=1), mean, 1.0 / parts.shape[2]).astype(table.dtype)
        engine = self._engine(X)
        return engine.asarray(found) if getattr(engine, "tensors", False) else found

    def _likelihood(self, views: Views, first: int) -> tuple[float, float]:
        views, table = self._new_views(views), self._tables(views)
        engine, steps = self._engine(), self._steps()
        shared = self._fitted(views, engine)
        total = mass = 0.0
        for block in self._each_block(views, engine, steps.width):
            total += steps.likelihood(block, table[block.start : block.stop], shared, engine)
            mass += float(sum(engine.row_sums(part).sum() for part in block.views.values()))
        return total, mass

    def _learn_batch(self, views: Views, extra: Any = None) -> None:
        super()._learn_batch(self._scaled(views), _CARRIED)

    def _hold(self, views: Any, engine: Engine, width: int, extra: Extra) -> Holder:
        return super()._hold(views, engine, width * len(views.names), extra)  # a mixture for each view

    def _checkpoint(self, views: Any, holder: Holder, extra: Extra) -> Any:
        if not isinstance(self.coupling, Mapping):
            return super()._checkpoint(views, holder, extra)
        twin = copy.copy(self)  # the checkpoint's fingerprint is JSON, whose keys are text
        twin.coupling = sorted(
            (*pair, value) for pair, value in pair_couplings(self.coupling, self.view_names_).items()
        )
        return super(CoPLSA, twin)._checkpoint(views, holder, extra)


def _unit_sums(matrix: Any) -> Any:
    """Rows that sum to one; rows of zeros stay."""
    return normalize(matrix, norm="l1")


def _have(views: Views) -> np.ndarray:
    """Which objects have data in which view (objects x views)."""
    sums = [np.asarray(matrix.sum(axis=1)).ravel() > 0 for matrix in views.values()]
    return np.column_stack(sums) & views.present


_CARRIED: dict[str, Any] = {"have": _have}  # by the blocks
