"""Co-regularized PLSA: every view has its own topic mixture per object, and the mixtures of an object are kept close.

    maximize  sum_v sum_df x_vdf log (H_v F_v^T)_df  -  sum_(v<u) coupling_vu sum_d D(h_vd, h_ud)         (eq. 8)

H_v = p(y|d,v) (objects x topics), F_v = p(f|y,v) (features x topics; W in the paper, where both are transposed).
Equations are those of Wang, Chang, Ying and Lyu (2016). D is one of

    skl   sum_k (p_k - q_k) log(p_k / q_k)      symmetric Kullback-Leibler divergence, KL(p, q) + KL(q, p)
    l2    sum_k (p_k - q_k)^2 / 2
    l1    sum_k |p_k - q_k|

all convex in the pair (p, q), and zero where the two are equal. Coupling 0 is one PLSA per view; a coupling without
bound is link-PLSA. With R_v = X_v / (H_v F_v^T) on the non-zeros, the expected counts q = H_v * R_v F_v make
sum_k q_k log h_k a lower bound of the likelihood that touches it at the current H_v (eq. 5), so that

    H     max  sum_v sum_k q_vk log h_vk - sum_(v<u) coupling_vu D(h_v, h_u)  on the simplexes          (eq. 10)
    F_v   columns(F_v * R_v^T H_v), as in PLSA, with the fresh H_v                                      (eq. 3, 4)

never lower the objective. `_pulls` are the R_v F_v, `step_rows` solves eq. 10 and `_add_statistics` sums R_v^T H_v. For
skl and l2 one view after the other is enough (eq. 11 and 12, in `divergences.py`). L1 (eq. 13) would stick so:
it holds entries of several views at one value, each for the sake of the others, though all would gain by moving
together. Its views are solved jointly (`kernels/simplex_l1.py`). Where q is zero, l1 leaves h undecided; adding
a constant to the likelihood's slope, which changes nothing on the simplex, keeps it close to where it was.

New objects are folded in by the same step. Their problem is concave, so that its slope bounds what is still to be
gained: an object rests when that is next to nothing.

A view that an object lacks takes no part in the objective; its columns are imputed from those of the views that are
there. An object without any feature in a view counts as lacking it.

The rows of a block are one table (objects x (views * topics)), the columns of its views side by side.

A Gaussian view (`dense.py`) has a quadratic in place of the log-likelihood, with slope s and curvature c. By
Pinsker's inequality and log x <= x - 1 it lies above  sum_k q_k log h_k  with  q = H_v * (c / 2 + s - min s),  but for
a constant, and touches it at the current H_v: counts that any of the three divergences can be weighed against.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from coview.engines.passes import blockwise
from coview.engines.protocol import Block, Engine, Extra, Holder, State, Tree
from coview.exceptions import ParameterError, ViewsError
from coview.inspection import Inspection
from coview.plsa.divergences import DIVERGENCES, Divergence, step_rows
from coview.plsa.mixture import FamilyMixin, MixtureModel
from coview.plsa.starts import FitContext, as_distributions, draw_topics, read_init, read_init_keys, soften
from coview.plsa.steps import ROW_FLOOR, MixtureSteps, draw_rows, fold_rows, get_dtype, normalize_mixtures
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import did_you_mean, listed
from coview.utils.parameters import MAPPING, TRUTH, number, one_of
from coview.validation import check_number
from coview.views.coerce import as_views
from coview.views.views import Views

__all__ = ["ByView", "ByViewSteps", "CoPLSA", "CoSteps", "has_data", "read_couplings", "split_views"]

# -- one mixture per object and view, as in pairwise PLSA too


def has_data(views: Views, vectors: Collection[str] = ()) -> np.ndarray:
    """Which objects have data in which view (objects x views); in one of the `vectors` zeros are data."""
    # a row of zeros has nothing to scale to a sum of one, and no likelihood that could pull at its mixture
    there = np.ones(len(views), dtype=bool)
    sums = [there if name in vectors else np.asarray(matrix.sum(axis=1)).ravel() > 0 for name, matrix in views.items()]
    return np.column_stack(sums) & views.present


def read_couplings(coupling: Any, names: list[str]) -> dict[tuple[str, str], float]:
    """Coupling of each pair of views, pairs in alphabetical order, from one number or ``{(view, view): number}``.

    Examples
    --------
    >>> read_couplings({("words", "image"): 2}, ["words", "image", "links"])
    {('image', 'links'): 1.0, ('image', 'words'): 2.0, ('links', 'words'): 1.0}
    """
    pairs = list(combinations(sorted(names), 2))
    if not isinstance(coupling, Mapping):
        return dict.fromkeys(pairs, check_number("coupling", coupling))
    couplings = dict.fromkeys(pairs, 1.0)
    for key, value in coupling.items():
        pair = tuple(sorted(key)) if isinstance(key, tuple) else ()
        if pair not in couplings:
            raise ValueError(f"coupling has the key {key!r}, which is not a pair of the views {listed(names)}.")
        couplings[pair] = check_number(f"coupling of {key!r}", value)
    return couplings


@dataclass(frozen=True)
class ByViewSteps(MixtureSteps):
    """Steps whose rows are {"mixture": objects x (views * topics)}; `width` is the number of topics.

    A block carries "have" (objects x views: which rows hold data) and may carry "start" (a table to begin with). Views
    are taken in the order of their names, so that their order in the data does not matter.
    """

    pairs: dict[tuple[str, str], float] = field(default_factory=dict)

    def likelihood(self, block: Block, table: Any, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block."""
        total = 0.0
        for v, (name, X) in enumerate(block.views.items()):
            mixture = ops.asarray(table[:, self._columns(v)])
            if name in self.dense:
                total += self.vector_objective(block, name, mixture, shared, ops)
                continue
            total += self.weights.get(name, 1.0) * float(ops.log_likelihood(X, mixture, shared["profiles"][name]).sum())
        return total

    def settled_rows(self, block: Block, start: Any, shared: Tree, ops: Engine) -> None:
        """None: the steps of a table are its own."""

    def folding_block(self, block: Block, shared: Tree, ops: Engine) -> Block:
        """The block as it is: its views are the columns of the table."""
        return block

    def normalize_rows(self, rows: Tree) -> Tree:
        """Every view's mixtures back onto the simplex."""
        table = rows["mixture"]
        return {"mixture": normalize_mixtures(table.reshape(-1, self.width)).reshape(table.shape)}

    def _columns(self, v: int) -> slice:
        return slice(v * self.width, (v + 1) * self.width)

    def _couplings(self, names: list[str]) -> np.ndarray:
        """Coupling of each pair of views (views x views), zero on the diagonal."""
        # pairs are named in alphabetical order, blocks hold views in the order of the data
        order, couplings = np.argsort(names), np.zeros((len(names), len(names)))
        pairs = combinations([names[v] for v in order], 2)
        first, second = (order[side] for side in np.triu_indices(len(names), 1))
        couplings[first, second] = couplings[second, first] = [self.pairs.get(pair, 0.0) for pair in pairs]
        return couplings

    def _add_statistics(self, block: Block, table: Any, objective: Any, shared: Tree, ops: Engine, stats: Tree) -> None:
        """Make the pass over the features with the mixtures of every view."""
        sums = stats.setdefault("ratio", {})
        for v, (name, X) in enumerate(block.views.items()):
            mixture = ops.asarray(table[:, self._columns(v)])
            if name in self.dense:
                self.add_moments(block, name, mixture, shared, ops, stats)
                continue
            sums[name] = ops.ratio_features(X, mixture, shared["profiles"][name], sums.get(name))
        stats["objective"] = stats.get("objective", 0.0) + objective


class ByView(FamilyMixin):
    """What models with a mixture per object and view have beside `MixtureModel`."""

    _mixture = "memberships_by_view_"
    coupling: Any
    memberships_by_view_: dict[str, np.ndarray]
    _min_views = 2

    def transform_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Mixtures by view, for each of the views given, but those of weight 0, the topics fixed.

        Where an object lacks one of these views, its mixture there is that nearest to its other views' (`CoPLSA`), or
        even (`PairwiseCoPLSA`). The mean over the views that an object has is what `transform` gives.
        """
        return self._opinions(self._mixtures_by_view(X))

    def _mixtures_by_view(self, X: Any) -> dict[str, np.ndarray]:
        check_is_fitted(self, "topic_feature_")
        table, names = self._tables(X), as_views(X).names
        return split_views(table, [name for name in self.view_names_ if name in names])

    def _tables(self, X: Any, engine: Engine | None = None) -> np.ndarray:
        """Mixtures of all views given, folded in, side by side; by the engine that X calls for, if none is given."""
        raise NotImplementedError

    def _initial_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        return read_init(self.init, ("memberships_by_view", "topic_feature"), list(views.names))

    # -- what follows

    def _inspect(self) -> Inspection:
        """Answer `inspect`: every view has a mixture of its own."""
        return replace(super()._inspect(), _memberships_by_view=self.transform_by_view)

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        arrays = self._initial_arrays(views, context)
        carried: dict[str, Any] = {}
        if "memberships_by_view" in arrays:
            carried["start"] = self._start_table(arrays["memberships_by_view"], views, context.seed)
        given = arrays.get("topic_feature", {})
        widths = {name: views.n_features[name] for name in self._count_views(views.names)}
        n_topics = dict.fromkeys(widths, self._n_columns())
        return lambda here: {"profiles": draw_topics(given, n_topics, widths, here)}, carried

    def _start_table(self, given: Any, views: Any, seed: int) -> np.ndarray:
        """Mixtures of all views side by side: one array for all, or by view; else random."""
        shape = (len(views), self._n_columns())
        by_view = given if isinstance(given, Mapping) else dict.fromkeys(views.names, given)
        for name in by_view:
            if name not in views:
                raise ValueError(
                    f"init['memberships_by_view'] names view {name!r}, but the views are {listed(views.names)}."
                    f"{did_you_mean(name, views.names)}"
                )
        rest = draw_rows(seed, 0, *shape)  # the same in all views, so that topic k begins as one subject
        parts = (
            as_distributions("memberships_by_view", by_view[name], shape) if name in by_view else rest
            for name in views.names
        )
        return np.hstack(list(parts))

    def _fixed_start(self) -> bool:
        if isinstance(self.init, Mapping):
            return {"memberships_by_view", "topic_feature"} <= read_init_keys(self.init)
        return self.init != "random"  # "likeliest" of pairwise PLSA tries its restarts before the sweeps

    def _hold(self, views: Any, engine: Engine, width: int, extra: Extra) -> Holder:
        return super()._hold(views, engine, width * len(views.names), extra)  # a mixture for each view

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        """Weighted mean of an object's mixtures over the views that it has; even where it has none."""
        views, engine, weights = self._new_views(X), self._engine(X), self._steps().weights
        table = self._tables(views, engine)
        parts = table.reshape(len(table), len(views.names), -1)
        # what was imputed for a view that an object lacks has no vote
        shares = has_data(views, self._vector_views()) * np.array([weights.get(name, 1.0) for name in views.names])
        total = shares.sum(axis=1, keepdims=True)
        mean = np.einsum("iv,ivk->ik", shares / np.where(total > 0, total, 1.0), parts)
        mixtures = np.where(total > 0, mean, 1.0 / parts.shape[2]).astype(table.dtype)
        return mixtures

    def _likelihood(self, views: Views, first: int) -> tuple[float, float]:
        views, table = self._new_views(views), self._tables(views)
        engine, steps = self._engine(), self._fitted_steps()
        shared = self._fitted(views, engine)
        total = mass = 0.0
        for block in self._each_block(views, engine, steps.width):
            total += steps.likelihood(block, table[block.start : block.stop], shared, engine)
            mass += self._mass(block, steps, engine)
        return total, mass


def split_views(table: Any, names: Any) -> dict[str, Any]:
    """Columns of a table by view; what is still on a cluster or on disk stays there."""
    width = table.shape[1] // len(names)
    parts = {name: table[:, v * width : (v + 1) * width] for v, name in enumerate(names)}
    return {name: part.copy() if type(part) is np.ndarray else part for name, part in parts.items()}


# -- the steps


@dataclass(frozen=True)
class CoSteps(ByViewSteps):
    """Steps of `CoPLSA`; see the module's docstring."""

    fold_in_sweeps: ClassVar[int] = 3000
    fold_in_tol: ClassVar[float] = 3e-5  # of what an object can gain at all, by the mass of its data
    divergence: str = "skl"

    @property
    def _measure(self) -> Divergence:
        return DIVERGENCES[self.divergence]

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given rows, or the same random mixture in every view; even where an object has no view at all."""
        dtype = get_dtype(shared)
        if "start" in block.extra:
            return self.normalize_rows({"mixture": ops.asarray(block.extra["start"], dtype)})
        # from different mixtures topic k of one view could settle on another subject than topic k of the next
        rows = draw_rows(seed, block.start, block.stop, self.width)
        rows[~ops.to_numpy(block.extra["have"]).any(axis=1)] = 1.0 / self.width
        return {"mixture": ops.asarray(np.tile(rows, len(block.views)), dtype)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """New mixtures; with `stats`, the pass over the features as well."""
        old, have, names = rows["mixture"], block.extra["have"], list(block.views)
        pulls, likelihood = self._pulls(block, old, shared, ops)  # E step
        new, _ = self._moved(old, pulls, have, names, ops)  # M step of H, eq. 10
        if stats is not None:
            # the objective of the state that was given, with the sums for the M step of F from the new one
            objective = likelihood - self._penalty(old, have, names, ops).sum()
            self._add_statistics(block, new, objective, shared, ops, stats)
        return {"mixture": new}, stats

    def _step_from(
        self, ahead: Any, mixture: Any, block: Block, shared: Tree, ops: Engine
    ) -> tuple[Any, Any, np.ndarray]:
        """Rows one step from ahead, and the most that each could gain by it and all others; at rest they stay ahead.

        A short step is no sign of rest, as entries near zero grow by a factor: what counts is by how much the objective
        can rise at all, relative to the mass of the object's data. Views that an object lacks say not where it leads.
        """
        have, names = block.extra["have"], list(block.views)
        pulls, _ = self._pulls(block, ahead, shared, ops)
        moved, added = self._moved(ahead, pulls, have, names, ops)
        old, new, slopes = ops.to_numpy(ahead), ops.to_numpy(moved), [ops.to_numpy(part) for part in pulls]
        there = ops.to_numpy(have)
        gain = self._possible_gain(old, new, np.stack(slopes), added, there, names)
        # moving an object at rest would only restart its momentum
        new = np.where((gain > self.fold_in_tol)[:, None], new, old)
        along = (new - old) * (new - ops.to_numpy(mixture)) * np.repeat(there, self.width, axis=1)
        return ops.asarray(new), ops.asarray(along.sum(axis=1)), gain

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Log-likelihood of the block less coupling times divergence."""
        table, names = rows["mixture"], list(block.views)
        likelihood = self.likelihood(block, table, shared, ops)
        return likelihood - float(self._penalty(table, block.extra["have"], names, ops).sum())

    def _pulls(self, block: Block, table: Any, shared: Tree, ops: Engine) -> tuple[list[Any], Any]:
        """R_v F_v of every view (objects x topics), the slope of the log-likelihood; and the log-likelihood."""
        pulls: list[Any] = [None] * len(block.views)
        likelihood: Any = 0.0
        for v, name in self._ordered(list(block.views)):
            mixture = ops.asarray(table[:, self._columns(v)])
            if name in self.dense:
                bound = self.bound_vectors(block, name, mixture, shared, ops)
                pulls[v] = ops.asarray(bound.as_pull(mixture, ops), table.dtype)
                likelihood = likelihood + self.vector_objective(block, name, mixture, shared, ops, bound)
                continue
            pulls[v], value = ops.ratio_rows(block.views[name], mixture, shared["profiles"][name])
            likelihood = likelihood + value
        return pulls, likelihood

    def _moved(self, old: Any, pulls: list[Any], have: Any, names: list[str], ops: Engine) -> tuple[Any, np.ndarray]:
        """New table, and by how much each object's pulls were raised on the way, as a share of the mass.

        What is added is a constant on the simplex.
        """
        # q of eq. 5
        couplings, order = self._couplings(names), [v for v, _ in self._ordered(names)]
        counts = [pull * old[:, self._columns(v)] for v, pull in enumerate(pulls)]
        return step_rows(self._measure, counts, old, couplings, have, order, ROW_FLOOR, ops)

    def _possible_gain(
        self, old: np.ndarray, new: np.ndarray, pulls: np.ndarray, added: np.ndarray, have: np.ndarray, names: list[str]
    ) -> np.ndarray:
        """Upper bound of what each object's objective can still gain from the old mixtures, by its data's mass.

        The objective is concave, so that its slope bounds it. L1 has many slopes where entries are tied: there the new
        mixtures, which solve the bound of the old ones, say which to take.
        """
        before, after = self._by_view(old).astype(np.float64), self._by_view(new).astype(np.float64)
        mass = np.einsum("vik,vik->vi", pulls, before)
        if self._measure.slope is None:
            solved = np.isfinite(added)
            slope = (pulls + (np.where(solved, added, 0.0) * mass)[:, :, None]) * (1.0 - before / after)
            fall = self._penalty(old, have, names) - self._penalty(new, have, names)
            gain = np.where(solved, np.where(have.T, slope.max(axis=2), 0.0).sum(axis=0) + fall, np.inf)
        else:
            # a linear function on the simplex is largest at a corner: max_k slope_k - <slope, h> bounds the gain
            slope = pulls - self._measure.slope(before, have, self._couplings(names))
            gap = slope.max(axis=2) - np.einsum("vik,vik->vi", slope, before)
            gain = np.where(have.T, gap, 0.0).sum(axis=0)
        total = np.where(have.T, mass, 0.0).sum(axis=0)
        return gain / np.where(total > 0, total, 1.0)

    def _ordered(self, names: list[str]) -> list[tuple[int, str]]:
        """Places and names of the views by name: their order in the data does not matter."""
        return sorted(enumerate(names), key=itemgetter(1))

    def _by_view(self, table: Any) -> Any:
        """The table as views x objects x topics."""
        return table.reshape(len(table), -1, self.width).swapaxes(0, 1)

    def _penalty(self, table: Any, have: Any, names: list[str], ops: Engine | None = None) -> Any:
        """What each object's divergences cost; arrays of the engine, else NumPy's."""
        couplings = self._couplings(names)
        if ops is None:
            return self._measure.total(self._by_view(table), have, couplings)
        return self._measure.total(self._by_view(table), have, ops.asarray(couplings), ops.xp)


# -- the estimator


@shared_parameters
class CoPLSA(ByView, MixtureModel):
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
        Strength of the pull between the views: one number, or one per pair of views (1 for pairs that are not named),
        all equal with "l1". With `scale_rows` the log-likelihood of a view counts like one token per
        object beside it.
    scale_rows : bool, default=True
        Scale each object's features to sum to one in each view, so that `coupling` means the same for long and short
        objects. False leaves counts as they are. Vectors are never scaled.
    <shared: likelihood>
    <shared: max_iter, tol, n_init>
    init : "random" or dict, default="random"
        Where to start: one random mixture per object in all views and random topics. A dict holds any of
        ``memberships_by_view`` (``{view: array}``, or one array for all views) and ``topic_feature`` (``{view:
        array}``) in the shapes of the fitted attributes; the rest is random.
    <shared: algorithm>
    <shared: engine, n_jobs>
    <shared: random_state, verbose>

    Attributes
    ----------
    memberships_by_view_ : dict of ndarray (n_objects, n_components)
        ``p(topic | object, view)`` of the training objects, by view; rows sum to one. Where an object lacks the view,
        the mixture nearest to those of its other views.
    <shared: topic_feature_, likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    history_ : dict of lists
        "objective" (log-likelihood less coupling times divergence) and "seconds" after each EM iteration; entry 0
        is the initialization.
    <shared: fit_seconds_, n_iter_, stopped_by_>
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

    _takes_vectors = True
    _takes_weights = False
    _fitted_state = {
        "view_weights_": None,
        "memberships_": None,
        "memberships_by_view_": rules.by_view(rules.shares("objects", "topics")),
    }
    _parameters = {
        "divergence": one_of(*DIVERGENCES),
        "coupling": number() | MAPPING,
        "scale_rows": TRUTH,
        "init": one_of("random") | MAPPING,
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        divergence: str = "skl",
        coupling: Any = 1.0,
        scale_rows: bool = True,
        likelihood: Any = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "random",
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.divergence = divergence
        self.coupling = coupling
        self.scale_rows = scale_rows
        self.likelihood = likelihood
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @blockwise
    def impute(self, X: Any, view: str) -> np.ndarray:
        """Compute the expected features of a view (objects x features, rows sum to one) from the views in X.

        Of a Gaussian view these are the expected vectors.

        An object that lacks the view gets the mixture nearest to those of its other views, and the features that the
        view's topics give it; one that has the view is smoothed.
        """
        check_is_fitted(self, "topic_feature_")
        if view not in self.view_names_:
            raise ViewsError(f"view must name one of the fitted views {listed(self.view_names_)}, got {view!r}.")
        views = self._new_views(X)
        if view not in views:  # all objects lack it: then fold-in gives the mixtures nearest to those of the others
            dtype = next(views.values()).dtype
            empty = sparse.csr_array((len(views), self.n_features_by_view_[view]), dtype=dtype)
            present = np.column_stack([views.present, np.zeros(len(views), dtype=bool)])
            views = Views({**dict(views.items()), view: empty}, present=present)
        return self.transform_by_view(views)[view] @ self.topic_feature_[view]

    # -- pieces

    def _prepared(self, views: Any) -> Any:
        # the paper's V has columns that sum to one: there the coupling means the same for long and short objects
        names = self._count_views(views.names) if self.scale_rows else ()
        return views.map(dict.fromkeys(names, partial(normalize, norm="l1"))) if names else views

    def _carried(self) -> dict[str, Any]:
        """What blocks carry beside their views."""
        return {"have": partial(has_data, vectors=self._vector_views())}

    def _steps(self) -> CoSteps:
        pairs = read_couplings(self.coupling, self.view_names_)
        # the joint solver of L1 merges views that are tied, which needs equal forces between all of them
        if DIVERGENCES[self.divergence].one_coupling and len(set(pairs.values())) > 1:
            raise ParameterError(
                f"must be the same for all pairs of views with divergence={self.divergence!r}.", parameter="coupling"
            )
        return CoSteps(self._n_columns(), dense=self._vector_views(), pairs=pairs, divergence=self.divergence)

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        attributes = super()._attributes(state, holder)
        return {**attributes, self._mixture: split_views(attributes[self._mixture], self.view_names_)}

    def _fold_in(self, block: Block, steps: MixtureSteps, shared: Tree, engine: Engine) -> np.ndarray:
        """Table of mixtures of new objects; the problem is concave, and solved for a coupling without bound first.

        That is all for an object of one view. Where there are several, what it drove to zero must be free to grow.
        """
        # link-PLSA is the limit of an unbounded coupling, and has one mixture: a table of them is feasible and near
        start = fold_rows(MixtureSteps(steps.width, dense=steps.dense), block, None, shared, engine)
        table = np.tile(start, len(block.views))
        several = np.flatnonzero(engine.to_numpy(block.extra["have"]).sum(axis=1) > 1)
        if several.size:
            part = block if len(several) == len(block) else block.take(several, engine)
            freed = np.tile(soften(start[several]), len(block.views))
            table[several] = fold_rows(steps, part, freed, shared, engine)
        return table

    @blockwise
    def _tables(self, X: Any, engine: Engine | None = None) -> np.ndarray:
        engine = engine or self._engine(X)
        steps, data = self._fitted_steps(), self._prepared(self._new_views(X))
        shared = self._fitted(data, engine)
        blocks = self._each_block(data, engine, steps.width, self._carried())
        return np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])
