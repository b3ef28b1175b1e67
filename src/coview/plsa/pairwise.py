"""Pairwise co-regularized PLSA: topics per view, and pairs of objects that are as similar in one view as in another.

    maximize  sum_v t_v L_v  -  sum_(v<w) coupling_vw R_vw                                              (eq. 15)
              R_vw = sum_ij (S^v_ij - S^w_ij)^2,     S^v_ij = exp(-|P_i - P_j|^2 / sigma)               (eq. 6, 7)

Equations are those of Jiang, Liu, Li, Li and Lu (2012). L_v is the log-likelihood of PLSA in view v, P = p(y|d,v) by
rows, and ij runs over sampled pairs, in both orders, that lie inside a block of rows: time and memory grow with the
number of pairs. Views need not share their topics: only which objects are near each other counts. Topics take
the M step of PLSA (eq. 12). With the row statistic n = P * R F and g = t n / P - coupling dR/dP (eq. 14), the published
step of the mixtures (eq. 13 and 17) is

    P <- rows(P * g)  =  P + s P * (g - m),     m_i = sum_k P_ik g_ik,  s_i = 1 / m_i

which leaves the simplex where g is negative, and may lower the objective. The safeguarded one takes that s_i where
g >= 0 and m_i > 0, else 0.9 of the largest feasible s_i, and halves all s until the objective does not fall: the
direction P * (g - m) points uphill, so that this ends. A trial is judged first by the lower bound sum_k n_k log P_k of
the likelihood, which costs nothing, and by the likelihood itself where the bound is not enough.

A view that an object lacks takes no part in the objective: its mixture there is even, and stays so. The regularizer
does not bring together views that have settled on different clusters, and the likelihood has many local maxima that are
no clusters. So the default start is the likeliest of several clusterings, moved by some sweeps of link-PLSA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coview.engines.loop import Deadline
from coview.engines.passes import blockwise
from coview.engines.protocol import Block, Engine, Holder, State, Tree
from coview.inspection import Inspection
from coview.plsa.co_plsa import ByView, ByViewSteps, has_data, read_couplings
from coview.plsa.link import LinkPLSA
from coview.plsa.mixture import RESTART, MixtureClusterMixin, MixtureModel
from coview.plsa.starts import FitContext, align_topics, compute_topic_overlap, find_likeliest_arrays
from coview.plsa.steps import ROW_FLOOR, MixtureSteps, draw_rows, fold_rows, get_dtype
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import MAPPING, number, one_of
from coview.views.views import Views

__all__ = ["PairSteps", "PairwiseCoPLSA"]

AUTO = 0.3  # coupling="auto", in units of an object's mass per partner
HALVINGS = 60  # of a step: then it is below the precision of a mixture
WARM_SWEEPS = 20  # of link-PLSA, before pairs count


# -- pairs of objects


@dataclass(frozen=True)
class Partners:
    """Draws a share of the pairs of a block, each once: partners of each row (rows x most of a row, -1 = none)."""

    seed: int
    fraction: float = 0.05

    def __call__(self, views: Views) -> np.ndarray:
        from coview.kernels.pairs import draw_partners  # numba, only when it is needed

        n = len(views)
        every = n * (n - 1) // 2
        total = min(int(np.ceil(self.fraction * every - 1e-9)), every)
        # row i owns as many pairs as objects follow it on a half circle; see the kernel
        owned = np.full(n, n // 2)
        if n % 2 == 0:
            owned[n // 2 :] -= 1
        exact = owned * (total / max(every, 1))
        counts = np.floor(exact + 1e-9).astype(np.int64)
        order = np.random.default_rng(self.seed).permutation(n)
        order = order[np.argsort(-(exact - counts)[order], kind="stable")]
        counts[order[: total - int(counts.sum())]] += 1
        out = np.empty((n, int(counts.max(initial=0))), dtype=np.int32)
        draw_partners(self.seed, counts, out)
        return out


@dataclass(frozen=True)
class Masses:
    """Sum of each object's values, views weighted: what the blocks carry for weights in units of it.

    Examples
    --------
    >>> Masses({"words": 0.5, "links": 2.0})(Views(words=np.array([[1.0, 3.0]]), links=np.array([[4.0]])))
    array([10.])
    """

    shares: dict[str, float]

    def __call__(self, views: Views) -> np.ndarray:
        sums = [self.shares[name] * np.asarray(matrix.sum(axis=1)).ravel() for name, matrix in views.items()]
        return np.asarray(np.sum(sums, axis=0, dtype=np.float64))


def compute_median_distance(mixtures: np.ndarray) -> float:
    """Median squared distance of two rows (objects x views x topics) in the same view; 1 where all are alike.

    Examples
    --------
    >>> compute_median_distance(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    2.0
    """
    gaps = mixtures - np.roll(mixtures, 1, axis=0)
    median = float(np.median((gaps * gaps).sum(axis=2)))
    return median if median > 0 else 1.0


# -- the steps


@dataclass(frozen=True)
class PairSteps(ByViewSteps):
    """Steps of `PairwiseCoPLSA`; shared parameters hold "sigma" too.

    A block also carries "partners" (see `Partners`), and may carry "mass" (what each object's data weigh): with it,
    couplings are in units of mass per partner.
    """

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given rows, or the same random mixture in every view; even where an object lacks the view."""
        have = ops.to_numpy(block.extra["have"])
        if "start" in block.extra:
            table = np.array(ops.to_numpy(block.extra["start"]), dtype=np.float64)
        else:
            table = np.tile(draw_rows(seed, block.start, block.stop, self.width), len(block.views))
        views = table.reshape(len(block), len(block.views), self.width)
        views[~have] = 1.0 / self.width
        return self.normalize_rows({"mixture": ops.asarray(table, get_dtype(shared))})

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """New mixtures, view by view; with `stats`, the pass over the features as well."""
        profiles, names = shared["profiles"], list(block.views)
        old = rows["mixture"]
        parts = [old[:, self._columns(v)] for v in range(len(names))]
        # views in turn (problems P1 and P2 of the paper): each sees the similarities that those before it have reached
        pairs = self._field(block, old, shared, ops)
        objective: Any = -pairs.value()
        for name in sorted(names):
            v, X = names.index(name), block.views[name]
            mixture = ops.asarray(parts[v])
            pull, likelihood = ops.ratio_rows(X, mixture, profiles[name])  # E step, eq. 9, summed over the features
            weight = self.weights.get(name, 1.0)
            objective = objective + weight * likelihood
            move = _Move(pairs, v, mixture, pull, weight, ops.xp)
            if not self.alternating:
                parts[v] = move.published()
                continue

            def exact(trial: Any, X: Any = X, F: Any = profiles[name], at: Any = likelihood) -> float:
                return float(ops.log_likelihood(X, ops.asarray(trial), F).sum()) - float(at)

            parts[v] = move.safeguarded(exact)
        new = ops.beside(parts)
        if stats is not None:
            self._add_statistics(block, new if self.alternating else old, objective, shared, ops, stats)
        return {"mixture": new}, stats

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block less its regularizer."""
        table = rows["mixture"]
        return self.likelihood(block, table, shared, ops) - self._field(block, table, shared, ops).value()

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        return {**super().update(shared, pulls, ops), "sigma": shared["sigma"]}

    def normalize_shared(self, shared: Tree) -> Tree:
        return {**super().normalize_shared(shared), "sigma": shared["sigma"]}

    # -- pieces

    def _field(self, block: Block, table: Any, shared: Tree, ops: Engine) -> Any:
        names = list(block.views)
        couplings = self._couplings(names)
        partners = block.extra["partners"]
        if "mass" in block.extra:  # an object has two places in each pair
            couplings *= float(block.extra["mass"].sum()) / max(2 * int((partners >= 0).sum()), 1)
        mixtures = [ops.asarray(table[:, self._columns(v)]) for v in range(len(names))]
        return ops.pair_field(partners, block.extra["have"], couplings, float(shared["sigma"][0]), mixtures)


class _Move:
    """One step of the mixtures of one view; similarities in the field move with them."""

    def __init__(self, pairs: Any, v: int, mixture: Any, pull: Any, weight: float, xp: Any) -> None:
        self.pairs, self.v, self.mixture, self.weight, self.xp = pairs, v, mixture, weight, xp
        self.have = pairs.have[:, v]
        self.P = xp.asarray(mixture, dtype=xp.float64)
        self.counts = weight * self.P * pull
        # g of the module's docstring: the likelihood pulls, and the pairs push (eq. 14)
        self.slope = weight * pull - pairs.gradient(v, mixture)

    def published(self) -> Any:
        """Eq. 17; negative entries become 0, and a row that has nothing else stays where it is."""
        raised = self.xp.clip(self.P * self.slope, 0.0, None)
        total = raised.sum(1)[:, None]
        moved = self.xp.where(total > 0, raised / self.xp.where(total > 0, total, 1.0), self.P)
        mixture = self._as_mixture(moved)
        self.pairs.similar[self.v] = self.pairs.similarities(self.v, mixture)
        return mixture

    def safeguarded(self, exact: Callable[[Any], float]) -> Any:
        """Shorten the step until the objective does not fall; `exact` gives the gain of likelihood of a trial."""
        xp = self.xp
        mean = (self.P * self.slope).sum(1)
        lowest = xp.amin(self.slope, 1)
        room = mean - lowest
        free = (lowest >= 0) & (mean > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = xp.where(free, 1.0 / mean, xp.where(room > 0, 0.9 / room, 0.0))
        # uphill on the simplex: it sums to zero, and vanishes only where the slopes of all topics in use are equal
        change = self.P * (self.slope - mean[:, None]) * length[:, None]
        before = self.pairs.part(self.v)
        for _ in range(HALVINGS):
            trial = self._as_mixture(self.P + change)
            similar = self.pairs.similarities(self.v, trial)
            cost = self.pairs.part(self.v, similar) - before
            bound = float((self.counts * xp.log(trial / self.P)).sum())
            if bound >= cost or self.weight * exact(trial) >= cost:
                self.pairs.similar[self.v] = similar
                return trial
            change *= 0.5
        return self.mixture

    def _as_mixture(self, moved: Any) -> Any:
        """Floored rows that sum to one, of the type of the mixtures; objects that lack the view stay."""
        moved = self.xp.clip(moved, ROW_FLOOR, None)
        moved /= moved.sum(1)[:, None]
        return self.xp.asarray(self.xp.where(self.have[:, None], moved, self.P), dtype=self.mixture.dtype)


# -- the estimator


@shared_parameters
class PairwiseCoPLSA(MixtureClusterMixin, ByView, MixtureModel):
    """Cluster objects with two or more views: topics for each view, aligned through pairs of objects.

    Two objects that are near each other in the topics of one view should be so in those of another, and two that are
    far apart likewise. Topics of two views need not be about the same things for that.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of topics, the same in every view; each is a cluster.
    coupling : "auto", float or {(view, view): float}, default="auto"
        Strength of the pull between the views: one number, or one per pair of views (1 for pairs that are not named).
        It stands against log-likelihoods: the longer objects are, and the fewer pairs each has, the more it takes.
        "auto" is 0.3 times the mean sum of an object's values, views weighted, over its number of partners.
    view_weights : None, float or {view: float}, default=None
        Weight of each view's likelihood, and of its topics in the consensus; 1 for views that are not named.
    sigma : float or "median", default="median"
        Width of the similarity. "median" takes the median squared distance of mixtures at the start.
    pair_fraction : float, default=0.05
        Share of the pairs of objects in the regularizer. Pairs are drawn once per fit, inside blocks of rows.
    <shared: max_iter, tol>
    n_init : int, default=1
        Number of initializations; the fit with the highest objective is kept.
    init : {"likeliest", "random"} or dict, default="likeliest"
        Where to start: some EM iterations of `LinkPLSA` on all views, from the likeliest of several clusterings,
        or one random mixture per object in all views and random topics. A dict holds any of ``memberships_by_view``
        (``{view: array}``, or one array for all views) and ``topic_feature`` (``{view: array}``) in the shapes of the
        fitted attributes; the rest is random.
    algorithm : {"fast", "published"}, default="fast"
        "fast" shortens the published step of the mixtures until the objective does not fall, updates topics from fresh
        mixtures, and adds momentum. "published" is the paper's fixed-point step, from one expectation for both; it may
        lower the objective. With ``init="random"`` it is the published algorithm.
    <shared: engine, n_jobs>
    <shared: random_state, verbose>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object, by all its views.
    labels_by_view_ : dict of ndarray (n_objects,)
        Likeliest topic of each training object by view; -1 where it lacks the view.
    memberships_by_view_ : dict of ndarray (n_objects, n_clusters)
        ``p(topic | object, view)`` of the training objects, by view; even where an object lacks the view. Topics are
        numbered so that topic k goes with topic k of the other views.
    <shared: topic_feature_>
    sigma_ : float
        Width of the similarity.
    <shared: view_weights_>
    history_ : dict of lists
        "objective" (weighted log-likelihood less the penalty of the pairs) and "seconds" after each EM iteration; entry
        0 is the initialization.
    <shared: fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Notes
    -----
    New objects have no pairs: each view is folded in by itself. Rows are worked on in blocks (8192 of them on the
    processor), pairs lie inside blocks: shuffle the rows of a large sorted collection. An object without any feature in
    a view counts as lacking that view.

    References
    ----------
    Y. Jiang, J. Liu, Z. Li, P. Li, H. Lu: Co-regularized PLSA for multi-view clustering. ACCV 2012.

    Examples
    --------
    >>> from coview import PairwiseCoPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> model = PairwiseCoPLSA(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.target, model.labels_) > 0.9
    True
    >>> sorted(model.labels_by_view_), model.predict(data.views[:5].select("view1")).shape
    (['view0', 'view1'], (5,))
    """

    sigma_: float
    _most_rows = 8192  # of a block, since its pairs grow with their square

    _fitted_state = {
        "labels_": rules.integers("objects", below="topics"),
        "labels_by_view_": rules.by_view(rules.integers("objects", low=-1, below="topics")),
        "memberships_": None,
        "memberships_by_view_": rules.by_view(rules.shares("objects", "topics")),
        "sigma_": rules.real(0.0),
    }
    _parameters = {
        "coupling": one_of("auto") | number() | MAPPING,
        "sigma": one_of("median") | number(above=0),
        "pair_fraction": number(above=0, most=1),
        "init": one_of("likeliest", "random") | MAPPING,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        coupling: Any = "auto",
        view_weights: Any = None,
        sigma: Any = "median",
        pair_fraction: float = 0.05,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "likeliest",
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.coupling = coupling
        self.view_weights = view_weights
        self.sigma = sigma
        self.pair_fraction = pair_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- pieces

    def _carried(self) -> dict[str, Any]:
        return {"have": has_data}

    def _keep_labels(self) -> None:
        mixtures, weights = self.memberships_by_view_, self.view_weights_
        self.labels_by_view_ = {name: _find_likeliest(part) for name, part in mixtures.items()}
        blend: Any = sum(weights[name] * part for name, part in mixtures.items())
        self.labels_ = blend.argmax(axis=1)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: topics of the views are clusters, numbered alike in all views."""
        answer = super()._inspect()
        labels = self.__dict__.get("labels_")  # a copy that travels to a cluster has none
        return replace(
            answer,
            training=replace(answer.training, codes=None if labels is None else np.asarray(labels)),
            _view_weights=self.view_weights_,
        )

    def _steps(self) -> PairSteps:
        return PairSteps(
            self.n_clusters,
            self.algorithm == "fast",
            self.view_weights_,
            pairs=read_couplings(AUTO if self._relative() else self.coupling, self.view_names_),
        )

    def _relative(self) -> bool:
        return isinstance(self.coupling, str)  # "auto"

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        make, carried = super()._begin(views, context)
        sigma = np.array([self._start_sigma(carried.get("start"), len(views), context.seed)])
        carried["partners"] = Partners(context.seed, float(self.pair_fraction))
        if self._relative():
            carried["mass"] = Masses(self.view_weights_)
        return lambda here: {**make(here), "sigma": sigma}, carried

    def _start_sigma(self, start: np.ndarray | None, n_rows: int, seed: int) -> float:
        """Sigma as given, or the median squared distance of two rows at the start (None: a random mixture)."""
        sigma, width = self.sigma, self.n_clusters
        if sigma != "median":
            return float(sigma)
        if start is None:
            return compute_median_distance(draw_rows(seed, 0, min(n_rows, 2048), width)[:, None])
        rows = np.random.default_rng(seed).permutation(n_rows)[:2048]
        return compute_median_distance(start[rows].reshape(len(rows), -1, width))

    def _initial_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        """Mixtures and topics after some sweeps of link-PLSA, of `n_init` starts the one that is highest then."""
        if self.init != "likeliest":
            return super()._initial_arrays(views, context)
        # restarts are compared by link-PLSA, before pairs count: the loop then has one start, and sweeps once
        ordered = views.select(*sorted(views.names))  # their order in the data does not matter
        models: list[LinkPLSA] = []
        for restart in range(self.n_init):
            if models and context.deadline.is_over():
                break
            mine = context.deadline.share(1 / (self.n_init - restart))
            here = replace(context, seed=context.seed + RESTART * restart, deadline=mine.share(0.5))
            init = find_likeliest_arrays(ordered, self.n_clusters, here, {}, self.n_jobs)
            models.append(self._warm_fit(views, init, context.seed, mine))
        best = max(models, key=lambda one: one.history_["objective"][-1])
        return {"memberships_by_view": best.memberships_, "topic_feature": best.topic_feature_}

    def _warm_fit(self, views: Any, init: Any, seed: int, deadline: Deadline) -> LinkPLSA:
        return LinkPLSA(
            self.n_clusters,
            likelihood="multinomial",
            init=init,
            max_iter=WARM_SWEEPS,
            tol=0,
            engine=self.engine,
            n_jobs=self.n_jobs,
            random_state=seed,
        )._fit_until(views, deadline)

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        return {**super()._shared_attributes(shared), "sigma_": float(shared["sigma"][0])}

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        """Fitted attributes, the topics of every view in the order of those of the first (by name)."""
        attributes, width, names = super()._attributes(state, holder), self.n_clusters, self.view_names_
        sequence = [names.index(name) for name in sorted(names)]
        parts = np.asarray(holder.total(compute_topic_overlap, state.rows)).reshape(
            len(names), width, len(names), width
        )
        overlap = parts[sequence][:, :, sequence].reshape(len(names) * width, -1)
        orders = dict(zip(sorted(names), align_topics(overlap, width)))
        table = attributes[self._mixture]
        attributes[self._mixture] = {name: table[:, v * width + orders[name]] for v, name in enumerate(names)}
        topics = attributes["topic_feature_"]
        attributes["topic_feature_"] = {name: part[orders[name]] for name, part in topics.items()}
        return attributes

    @blockwise
    def _tables(self, X: Any, engine: Engine | None = None) -> np.ndarray:
        engine = engine or self._engine(X)
        views, steps = self._new_views(X), MixtureSteps(self._n_features_out)
        parts = []
        with engine.limits():
            for name in views.names:  # each by itself
                view = views.select(name)
                shared, blocks = self._fitted(view, engine), self._each_block(view, engine, steps.width)
                parts.append(np.concatenate([fold_rows(steps, block, None, shared, engine) for block in blocks]))
        return np.hstack(parts)


def _find_likeliest(mixtures: Any) -> Any:
    """Likeliest topic of each row, -1 for an even one; arrays on a cluster or on disk stay arrays of theirs."""
    known = mixtures.max(axis=1) > mixtures.min(axis=1)
    return (mixtures.argmax(axis=1) + 1) * known - 1
