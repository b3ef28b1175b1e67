"""Co-regularized PLSA: every view has its own topic mixture per object, and the mixtures of an object are kept close.

    maximize  sum_v sum_df x_vdf log (H_v F_v^T)_df  -  sum_(v<u) coupling_vu sum_d D(h_vd, h_ud)

H_v = p(y|d,v) (objects x topics), F_v = p(f|y,v) (features x topics). Wang, Chang, Ying and Lyu (2016). D is one of

    skl   sum_k (p_k - q_k) log(p_k / q_k)      symmetric Kullback-Leibler divergence, KL(p, q) + KL(q, p)
    l2    sum_k (p_k - q_k)^2 / 2
    l1    sum_k |p_k - q_k|

all convex in the pair (p, q), and zero where the two are equal. Coupling 0 is one PLSA per view; a coupling without
bound is link-PLSA. With R_v = X_v / (H_v F_v^T) on the non-zeros, the expected counts q = H_v * R_v F_v make
sum_k q_k log h_k a lower bound of the likelihood that touches it at the current H_v, so that

    H_v, view by view   max  sum_k q_k log h_k - sum_u coupling_vu D(h, h_u)  on the simplex (`kernels/simplex.py`)
    F_v                 columns(F_v * R_v^T H_v), as in PLSA, with the fresh H_v

never lower the objective. L1 can hold all mixtures of an object at one point, each for the sake of the others, though
all would gain by moving: where no view moved, they move together, to the shares of the summed q, which maximizes the
same lower bound over all h_v = h.

A view that an object lacks takes no part in the objective; its columns are imputed from those of the views that are
there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from coview.engines.passes import blockwise
from coview.engines.protocol import Block, Engine, Holder
from coview.engines.state import State, Tree
from coview.engines.threads import team_of
from coview.exceptions import ViewsError
from coview.plsa.by_view import ByViewModel, ByViewSteps, has_data, pair_couplings, split_views
from coview.plsa.factors import ROW_FLOOR, random_matrix
from coview.plsa.link import LinkPLSA
from coview.plsa.mixture import FitContext, MixtureSteps, fold_rows
from coview.utils.docs import shared_parameters
from coview.validation import check_count, check_option
from coview.views.views import Views

__all__ = ["DIVERGENCES", "CoPLSA", "CoSteps", "total_divergence"]

LINK_SWEEPS = 20  # of link-PLSA, for init="link"
_ROWS = 4096  # rows per chunk of the solver


# -- divergences of two mixtures


def symmetric_kl(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Symmetric Kullback-Leibler divergence of each row of P and Q; all entries must be above 0.

    Examples
    --------
    >>> symmetric_kl(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(4)
    array([0.2747])
    """
    P, Q = P.astype(np.float64, copy=False), Q.astype(np.float64, copy=False)
    return np.einsum("ij,ij->i", P - Q, np.log(P / Q))


def squared_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Half the squared distance of each row of P and Q.

    Examples
    --------
    >>> squared_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.0625])
    """
    gap = P.astype(np.float64, copy=False) - Q
    return 0.5 * np.einsum("ij,ij->i", gap, gap)


def absolute_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Sum of absolute differences of each row of P and Q.

    Examples
    --------
    >>> absolute_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.5])
    """
    return np.abs(P.astype(np.float64, copy=False) - Q).sum(axis=1)


DIVERGENCES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "skl": symmetric_kl,
    "l2": squared_difference,
    "l1": absolute_difference,
}


def total_divergence(
    divergence: str,
    mixtures: Mapping[str, np.ndarray],
    have: Mapping[str, np.ndarray],
    couplings: Mapping[tuple[str, str], float],
) -> np.ndarray:
    """Sum over pairs of views of how far apart each object's mixtures are, times the coupling of the pair.

    Parameters
    ----------
    divergence : {"skl", "l2", "l1"}
        The measure.
    mixtures : {view: ndarray (n_objects, n_topics)}
        Topic mixtures by view.
    have : {view: ndarray of bool (n_objects,)}
        Which objects have the view; a pair counts for the objects that have both.
    couplings : {(view, view): float}
        Coupling of each pair of views.

    Returns
    -------
    ndarray (n_objects,)
        The penalty of each object.
    """
    measure = DIVERGENCES[divergence]
    total = np.zeros(len(next(iter(mixtures.values()))))
    for (a, b), coupling in couplings.items():
        if coupling == 0 or a not in mixtures or b not in mixtures:
            continue
        both = have[a] & have[b]
        if both.all():
            total += coupling * measure(mixtures[a], mixtures[b])
        elif both.any():
            total[both] += coupling * measure(mixtures[a][both], mixtures[b][both])
    return total


# -- the steps


@dataclass(frozen=True)
class CoSteps(ByViewSteps):
    """Steps of `CoPLSA`; see the module's docstring."""

    divergence: str = "skl"

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given rows, or the same random mixture in every view; even where an object has no view at all."""
        dtype = next(iter(shared["profiles"].values())).dtype
        if "start" in block.extra:
            return self.normalize_rows({"mixture": ops.asarray(ops.to_numpy(block.extra["start"]), dtype)})
        rows = random_matrix(seed, block.start, block.stop, self.width, np.float64)
        rows[~ops.to_numpy(block.extra["have"]).any(axis=1)] = 1.0 / self.width
        return {"mixture": ops.asarray(np.tile(rows, len(block.views)), dtype)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """New mixtures, view by view; with `stats`, the pass over the features as well."""
        profiles, have = shared["profiles"], ops.to_numpy(block.extra["have"])
        old = ops.to_numpy(rows["mixture"])
        new = np.array(old)
        names = list(block.views)
        likelihood: Any = 0.0
        summed = np.zeros((len(block), self.width))
        for name in sorted(names):
            mixture = ops.asarray(old[:, self._columns(names.index(name))])
            pull, value = ops.ratio_rows(block.views[name], mixture, profiles[name])
            likelihood = likelihood + value
            counts = ops.to_numpy(mixture * pull)
            self._solve(counts, new, have, names, name, ops)
            if self.divergence == "l1":
                summed += counts
        if self.divergence == "l1":
            self._move_together(summed, old, new, have)
        if not have.all():
            for name in sorted(names):
                self._solve(np.zeros(summed.shape, old.dtype), new, have, names, name, ops, absent=True)
        if stats is not None:
            self._add_statistics(block, new, likelihood - self._penalty(old, have, names), shared, ops, stats)
        return {"mixture": ops.asarray(new)}, stats

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Log-likelihood of the block less coupling times divergence."""
        table, names = ops.to_numpy(rows["mixture"]), list(block.views)
        likelihood = self.likelihood(block, table, shared, ops)
        return likelihood - self._penalty(table, ops.to_numpy(block.extra["have"]), names)

    def _solve(
        self,
        counts: np.ndarray,
        table: np.ndarray,
        have: np.ndarray,
        names: list[str],
        name: str,
        ops: Engine,
        *,
        absent: bool = False,
    ) -> None:
        """Rewrite one view's columns of the table: of the objects that have the view, or of those that lack it."""
        from coview.kernels import simplex  # numba, only when it is needed

        solver = {"skl": simplex.skl_rows, "l2": simplex.l2_rows, "l1": simplex.l1_rows}[self.divergence]
        view = names.index(name)
        weights = self._couplings(names)[view]
        chunks = [(i, min(i + _ROWS, len(table))) for i in range(0, len(table), _ROWS)]
        team_of(ops).map(lambda i, j: solver(counts, table, view, weights, have, absent, ROW_FLOOR, i, j), chunks)

    def _move_together(self, summed: np.ndarray, old: np.ndarray, new: np.ndarray, have: np.ndarray) -> None:
        """Where all mixtures of an object are one and none of them moved, give all the shares of the summed counts."""
        shape = (len(old), have.shape[1], self.width)
        before, after = old.reshape(shape), new.reshape(shape)
        first = after[np.arange(len(old)), have.argmax(axis=1)][:, None]
        near = 1e-12 if old.dtype == np.float64 else 1e-6
        still = (np.abs(before - after) <= near) & (np.abs(after - first) <= near)
        total = summed.sum(axis=1)
        rest = (still.all(axis=2) | ~have).all(axis=1) & (have.sum(axis=1) > 1) & (total > 0)
        if rest.any():
            shares = np.maximum(summed[rest] / total[rest, None], ROW_FLOOR)
            shares /= shares.sum(axis=1, keepdims=True)
            after[rest] = np.where(have[rest][:, :, None], shares[:, None], after[rest])

    def _penalty(self, table: np.ndarray, have: np.ndarray, names: list[str]) -> float:
        mixtures = {name: table[:, self._columns(names.index(name))] for name in names}
        masks = {name: have[:, v] for v, name in enumerate(names)}
        return float(total_divergence(self.divergence, mixtures, masks, self.pairs).sum())


# -- the estimator


@shared_parameters
class CoPLSA(ByViewModel):
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
    <shared: max_iter, tol, n_init>
    init : {"random", "link"} or dict, default="random"
        Where to start: one random mixture per object in all views and random topics, or what some sweeps of `LinkPLSA`
        make of that. A dict holds any of ``memberships_by_view`` (``{view: array}``, or one array for all views) and
        ``topic_feature`` (``{view: array}``) in the shapes of the fitted attributes; the rest is random.
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the objective. Worth it where `coupling` is large: mixtures that
        hold each other tightly take short steps.
    <shared: engine, n_jobs, learning_decay, learning_offset>
    <shared: time_budget, random_state, verbose, callbacks, checkpoint>

    Attributes
    ----------
    memberships_by_view_ : dict of ndarray (n_objects, n_components)
        ``p(topic | object, view)`` of the training objects, by view; rows sum to one. Where an object lacks the view,
        the mixture nearest to those of its other views.
    <shared: topic_feature_>
    history_ : dict of lists
        "objective" (log-likelihood less coupling times divergence) and "seconds" after each sweep; entry 0 is the
        start.
    <shared: n_iter_, stopped_by_>
    <shared: fitted views>

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
        """Update the model with one minibatch (online EM); every batch must have the views of the first."""
        self._learn_stream(self._known_views(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Compute the topic mixtures of objects from some or all of the fitted views, with fixed topics.

        The mixture of an object is the mean over the views that it has, which are folded in together, each held close
        to the others; of one view it is just that view's. Rows sum to one; an object without any feature gets an even
        mixture.
        """
        return self._mixtures(X)

    def transform_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute one topic mixture per view that X has; all views are folded in together.

        Where an object lacks one of these views, its mixture there is imputed: the one nearest to its other views'.
        """
        return super().transform_by_view(X)

    @blockwise
    def impute(self, X: Any, view: str) -> np.ndarray:
        """Compute the expected features of a view (objects x features, rows sum to one) from the views in X.

        An object that lacks the view gets the mixture nearest to those of its other views, and the features that the
        view's topics give it; one that has the view is smoothed.
        """
        check_is_fitted(self, "topic_feature_")
        if view not in self.view_names_:
            listed = ", ".join(map(repr, self.view_names_))
            raise ViewsError(f"view must name one of the fitted views {listed}, got {view!r}.")
        views = self._new_views(X)
        if view not in views:
            dtype = next(views.values()).dtype
            empty = sparse.csr_array((len(views), self.n_features_by_view_[view]), dtype=dtype)
            present = np.column_stack([views.present, np.zeros(len(views), dtype=bool)])
            views = Views({**dict(views.items()), view: empty}, present=present)
        return self.transform_by_view(views)[view] @ self.topic_feature_[view]

    # -- pieces

    def _n_topics(self) -> int:
        return check_count("n_components", self.n_components)

    def _scaled(self, views: Any) -> Any:
        return views.map(partial(normalize, norm="l1")) if self.scale_rows else views

    def _steps(self) -> CoSteps:
        check_option("divergence", self.divergence, tuple(DIVERGENCES))
        pairs = pair_couplings(self.coupling, self.view_names_)
        return CoSteps(self._n_topics(), pairs=pairs, divergence=self.divergence)

    def _warm_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        if check_option("init", self.init, ("random", "link")) == "random":
            return {}
        link = LinkPLSA(
            self.n_components,
            max_iter=LINK_SWEEPS,
            tol=0,
            n_init=self.n_init,
            engine=self.engine,
            n_jobs=self.n_jobs,
            random_state=context.seed,
        ).fit(views)
        return {"memberships_by_view": link.memberships_, "topic_feature": link.topic_feature_}

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        attributes = super()._attributes(state, holder)
        return {**attributes, self._mixture: split_views(attributes[self._mixture], self.view_names_)}

    def _fold_in(self, block: Block, steps: MixtureSteps, shared: Tree, engine: Engine) -> np.ndarray:
        """Table of mixtures of new objects; the problem is concave, and solved for a coupling without bound first."""
        linked = fold_rows(MixtureSteps(steps.width), block, None, shared, engine)
        if len(block.views) == 1:
            return linked
        return fold_rows(steps, block, np.tile(linked, len(block.views)), shared, engine)

    @blockwise
    def _tables(self, X: Any, engine: Engine | None = None) -> np.ndarray:
        engine = engine or self._engine(X)
        steps, data = self._steps(), self._scaled(self._new_views(X))
        shared = self._fitted(data, engine)
        blocks = self._each_block(data, engine, steps.width, _CARRIED)
        return np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])

    def _learn_batch(self, views: Views, extra: dict[str, Any]) -> None:
        super()._learn_batch(self._scaled(views), _CARRIED)


_CARRIED: dict[str, Any] = {"have": has_data}  # by the blocks
