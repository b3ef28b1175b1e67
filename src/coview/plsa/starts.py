"""Where fits of the PLSA family begin: given arrays, random ones, factorizations, clusterings and seeds of topics.

**Factorized** (`factorize_views`), for topics: EM ends near where it begins, and from random mixtures every topic
begins as the mean of all objects. A nonnegative factorization  |Z - W H|^2  of the views' tf-idf Z asks for what sets
topics apart first. The mixtures begin at the shares of W, and each topic at the counts that these give it.

**Likeliest** (`find_likeliest_start`), for clusters: k-means on sparse rows ends in many places, and likes one small
tight cluster against all the rest, which EM does not leave. So there are several starts: the consensus of one k-means
per view, k-means on the views side by side, clusters of the views' neighbor graphs (short rows share too few features
for k-means) and k-means of the vectors. The one is taken that is likeliest after a few EM iterations of link-PLSA.
Where time is short, larger and larger samples are clustered as long as the last one says that the next will be ready;
naive Bayes carries the last to all objects.

**Seeds** (`Seeds`): each seeded topic k has one pseudo-object, which is in topic k alone and contains the seeds. It
adds to the objective the logarithm of a Dirichlet prior on the profile of the topic,

    sum over its features of  c log p(feature | topic k),     seed_strength * counts of the view / number of topics

pseudo-counts in each view: a share of what a topic has on average. Pseudo-objects are rows like others: all engines,
checkpoints and minibatches work with them as they are. Objects start in the topics whose seeds they contain, each seed
by its inverse document frequency; those without any start at random.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from coview.classification.naive_bayes import NaiveBayesStart
from coview.clustering.consensus import ConsensusClustering, cluster_side_by_side, make_memberships
from coview.clustering.spectral import SpectralClusteringViews
from coview.engines.held import HeldViews
from coview.engines.loop import NO_DEADLINE, Deadline, largest_in_time, select_engine, sweep
from coview.engines.protocol import (
    Engine,
    Holder,
    State,
    Tree,
    floating_type,
    make_blocks,
    over_rows,
    row_bytes,
    sample_rows,
    tree_map,
)
from coview.exceptions import ParameterError
from coview.plsa.dense import cluster_vectors, initialize_vectors
from coview.plsa.steps import FEATURE_FLOOR, MixtureSteps, draw_rows, hash_name
from coview.preprocessing.weighting import TfidfViews, compute_idf, weigh_counts
from coview.utils.messages import did_you_mean, listed, short
from coview.utils.parameters import MAPPING, NONE, number
from coview.utils.progress import counted
from coview.utils.sampling import sample_positions
from coview.utils.warn import warn_user
from coview.views.arrays import from_tensor, is_tensor
from coview.views.lazy import LazyViews, stack_views
from coview.views.views import Views

__all__ = [
    "SEED_PARAMETERS",
    "FitContext",
    "Seeds",
    "align_topics",
    "apply_start",
    "as_distributions",
    "choose_likeliest",
    "compute_topic_overlap",
    "compute_topics",
    "compute_view_shares",
    "draw_topics",
    "factorize_views",
    "find_consensus_start",
    "find_likeliest_arrays",
    "find_likeliest_start",
    "read_init",
    "read_init_keys",
    "read_seeds",
    "soften",
]

SEED_PARAMETERS = {"seeds": MAPPING | NONE, "seed_strength": number()}
SOFT = 1e-3  # share of a start that is spread evenly: an exact one-hot row is a fixed point of EM
SAMPLE = 20_000  # lazy rows that are read for a start
FACTORIZED, PER_TOPIC = 5000, 100  # objects that topics are factorized from: the larger number of both
NODES_PER_CLUSTER, LEAST_NODES, MOST_NODES = 100, 1000, 4000  # objects of which graphs are made
FEW_NODES = 10  # for each cluster: with fewer a graph says nothing
TIE = 1e-9  # of a likelihood: what engines differ by in rounding decides nothing, the first of equal starts is taken
RANDOM_SHARE = 0.1  # of the start of an object that contains seeds


@dataclass(frozen=True)
class FitContext:
    """What a start may need: the seed, codes of labeled objects (-1 is none), when it should be there, who computes.

    And the Gaussian views that were found to know something; and memberships that are known already.
    """

    seed: int
    labels: np.ndarray | None = None
    deadline: Deadline = NO_DEADLINE
    vectors: tuple[str, ...] = ()
    engine: Engine | None = None
    start: np.ndarray | None = None


# -- given arrays and random ones


def draw_topics(
    given: Mapping[str, Any], n_topics: Mapping[str, int], widths: Mapping[str, int], seed: int
) -> dict[str, np.ndarray]:
    """Topics by view (features x topics, columns sum to one) as given, or random with a stream of its own per view."""
    topics = {}
    for view, width in widths.items():
        shape = (n_topics[view], width)
        if view in given:
            topics[view] = as_distributions("topic_feature", given[view], shape).T
        else:
            # a prime apart from restarts (`RESTART`), so that no view of one repeats a view of another
            part = draw_rows(seed + 7919 * hash_name(view), 0, width, shape[0])
            topics[view] = part / part.sum(axis=0)
        topics[view] = np.maximum(topics[view], FEATURE_FLOOR)
    return topics


def compute_view_shares(views: Any, n_topics: int, given: Any = None) -> np.ndarray:
    """Share of each view in each topic (topics x views) as given, or that of its mass, of views in memory or lazy."""
    if given is not None:
        return as_distributions("topic_view", given, (n_topics, len(views.names)))
    mass = np.sum(over_rows(views, _compute_masses), axis=0)
    return np.tile(mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass)), (n_topics, 1))


def _compute_masses(views: Views, first: int) -> np.ndarray:
    return np.array([matrix.sum(dtype=np.float64) for matrix in views.values()])


def soften(start: np.ndarray) -> np.ndarray:
    """Memberships mixed with a little of the even ones."""
    return (1 - SOFT) * start + SOFT / start.shape[1]


def as_distributions(name: str, array: Any, shape: tuple[int, int]) -> np.ndarray:
    """Rows of a given array as distributions, or one sentence that says why it cannot be."""
    values = np.array(array, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"init[{name!r}] must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"init[{name!r}] must hold finite values of at least 0.")
    sums = values.sum(axis=1, keepdims=True)
    if (sums <= 0).any():
        raise ValueError(f"init[{name!r}] has a row that sums to 0 (row {int(np.argmin(sums))}).")
    return values / sums


def read_init(init: Any, allowed: tuple[str, ...] | None, view_names: list[str]) -> dict[str, Any]:
    """Arrays of an `init` mapping by name without trailing underscore; a bare array becomes {the only view: array}.

    Other names than those allowed are refused; None allows all.
    """
    arrays: dict[str, Any] = {}
    if not isinstance(init, Mapping):
        return arrays
    for key, value in init.items():
        name = str(key).rstrip("_")
        if allowed is not None and name not in allowed:
            raise ValueError(f"init has the unknown key {key!r}; known keys are {', '.join(map(repr, allowed))}.")
        # one view needs no name
        if name in ("topic_feature", "cluster_topic") and not isinstance(value, Mapping):
            if len(view_names) > 1:
                raise ValueError(f"init[{name!r}] must be {{view: array}} where there are several views.")
            value = {view_names[0]: value}
        arrays[name] = value
    return arrays


def read_init_keys(init: Any) -> set[str]:
    """Keys of an `init` mapping without trailing underscore; none where it names a strategy."""
    return {str(key).rstrip("_") for key in init} if isinstance(init, Mapping) else set()


# -- a factorization


@dataclass(frozen=True)
class FactorizedStart:
    """Topics of weighted counts; called with some rows it gives their mixtures (objects x topics)."""

    weights: list[TfidfViews]  # fitted
    scales: dict[str, float]  # of each view; views of scale 0 have no part in the topics
    topics: np.ndarray  # topics x features of all views

    def __call__(self, views: Views) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rows, _, _ = non_negative_factorization(  # each row for itself, from zero
                _weighted(views, self.weights, self.scales),
                H=self.topics,
                n_components=len(self.topics),
                update_H=False,
                max_iter=5,
                tol=0.0,
            )
        total = rows.sum(axis=1, keepdims=True)
        return soften(np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / rows.shape[1]))

    @classmethod
    def learned(cls, views: Views, n_components: int, seed: int, scales: dict[str, float]) -> FactorizedStart:
        """Factorize the weighted counts of objects in memory, for some sweeps of coordinate descent."""
        used = [name for name in views.names if scales[name] > 0]
        weights = [step.fit(views) for step in weigh_counts(views, used)]
        Z = _weighted(views, weights, scales)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, topics, _ = non_negative_factorization(
                Z,
                n_components=n_components,
                init="nndsvda" if n_components <= min(Z.shape) else "random",
                max_iter=30,
                random_state=seed % 2**32,
            )
        return cls(weights, scales, normalize(topics))


def _weighted(views: Views, weights: list[TfidfViews], scales: dict[str, float]) -> sparse.csr_array:
    """Weighted counts of all views side by side, rows of unit length in each view times its scale."""
    for step in weights:
        views = step.transform(views)
    parts = [scales[name] * sparse.csr_array(views[name]) for name in sorted(views.names) if scales[name] > 0]
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def factorize_views(views: Any, n_components: int, seed: int, weights: dict[str, float]) -> dict[str, Any]:
    """Mixtures of the objects and the topics that they make, by view and in their shares, as an `init` of PLSA.

    Of lazy rows the mixtures are a function of some of them. Topics are those of every n-th object, where there are
    very many.

    Examples
    --------
    >>> views = Views(words=np.array([[4, 3, 0, 0], [5, 4, 0, 0], [0, 0, 3, 4], [0, 1, 6, 5]]))
    >>> rows = factorize_views(views, 2, 0, {})["memberships"].argmax(axis=1).tolist()
    >>> rows == [0, 0, 1, 1] or rows == [1, 1, 0, 0]
    True
    """
    scales = {name: float(np.sqrt(weights.get(name, 1.0))) for name in views.names}  # of squares: the weights
    # every n-th and not the first ones, which may be of one kind in a sorted collection
    step = max(-(-len(views) // max(FACTORIZED, PER_TOPIC * n_components)), 1)
    parts = over_rows(views, partial(_take_every, step=step))
    start = FactorizedStart.learned(parts[0] if len(parts) == 1 else stack_views(parts), n_components, seed, scales)
    memberships: Any = start(views) if isinstance(views, Views) else start
    topics = compute_topics(views, memberships)
    return {
        "memberships": memberships,
        "topic_feature": topics,
        "topic_view": np.column_stack([part.sum(axis=1) for part in topics.values()]),
    }


def _take_every(views: Views, first: int, *, step: int) -> Views:
    """Those of some rows whose number among all is a multiple of `step`."""
    return views if step == 1 else views[np.arange(-first % step, len(views), step)]


def compute_topics(views: Any, memberships: Any, held: HeldViews | None = None) -> dict[str, np.ndarray]:
    """Features of each topic (topics x features), by view, that memberships make; these may be a function of rows."""
    sums = over_rows(views, partial(_sum_topics, memberships=memberships, held=held))
    topics = {name: np.sum([part[name] for part in sums], axis=0) for name in views.names}
    return {name: np.maximum(part, FEATURE_FLOOR) for name, part in topics.items()}


def _sum_topics(views: Views, first: int, *, memberships: Any, held: HeldViews | None) -> dict[str, np.ndarray]:
    here = memberships(views) if callable(memberships) else memberships[first : first + len(views)]
    return {name: part.T for name, part in _sum_cluster_features(views, here, held).items()}


# -- the likeliest of several clusterings


def find_likeliest_start(
    views: Any,
    n_clusters: int,
    context: FitContext,
    weights: dict[str, float],
    n_jobs: int | None,
    *,
    dense: Mapping[str, str] = {},
    graphs: bool = True,
) -> Any:
    """Memberships (objects x clusters); of very many lazy rows a function of some of them.

    The clusters of these are those of a sample, carried to the others by naive Bayes on the views of counts, which
    are those not named in `dense`. Without `graphs` all starts are by k-means. Passes over the rows are made on the
    device of the fit's engine, where it has one.
    """
    names = [name for name in views.names if name not in dense]
    if isinstance(views, LazyViews):
        sample = sample_rows(views, SAMPLE)
        start = find_likeliest_start(sample, n_clusters, context, weights, n_jobs, dense=dense, graphs=graphs)
        if len(views) <= SAMPLE:
            return start
        return NaiveBayesStart.learned(sample.select(*names), start.argmax(axis=1), n_clusters, scaled=True)

    def make(some: Views) -> np.ndarray:
        held = HeldViews.on_device(some, context.engine, n_clusters)
        return _choose_of_several(some, n_clusters, context, weights, n_jobs, dense, graphs, held)

    return _start_in_time(make, views, names, n_clusters, context)


def _start_in_time(
    make: Callable[[Views], np.ndarray], views: Views, counts: Sequence[str], n_clusters: int, context: FitContext
) -> np.ndarray:
    """Memberships that `make` gives of all objects, or of a sample that there is time for and then by naive Bayes."""
    first = max(LEAST_NODES, FEW_NODES * n_clusters)

    def start_of(rows: np.ndarray) -> np.ndarray:
        return make(views if len(rows) == len(views) else views[rows])

    start, rows = largest_in_time(start_of, len(views), first, context.seed, context.deadline)
    if len(rows) == len(views):
        return start
    views = views.select(*counts)
    return NaiveBayesStart.learned(views[rows], start.argmax(axis=1), n_clusters, scaled=True)(views)


def _choose_of_several(
    views: Views,
    n_clusters: int,
    context: FitContext,
    weights: dict[str, float],
    n_jobs: int | None,
    dense: Mapping[str, str],
    graphs: bool,
    held: HeldViews | None,
) -> np.ndarray:
    seed, deadline = context.seed, context.deadline
    counts = views.select(*(name for name in views.names if name not in dense))
    # with few clusters a start may be all wrong; with many some of them are always right
    tries = int(np.clip(64 // n_clusters, 3, 8))
    seeds = range(seed, seed + tries)
    cut = tries - (2 if tries == 8 else 1)
    words = None if held is None else held.select(*counts.names)
    # generators: a start is made when the one before it has been judged, as long as there is time
    agreed = make_memberships(counts, n_clusters, seeds[:cut], deadline, words)
    beside = cluster_side_by_side(counts, n_clusters, seeds[cut:], words)
    if n_clusters == 1:
        return next(agreed)
    starts = chain(agreed, beside)
    if graphs and FEW_NODES * n_clusters <= MOST_NODES:  # graphs take time with the square of their nodes
        own = {name: weight for name, weight in weights.items() if name not in dense}
        starts = chain(starts, (cluster_graphs(counts, n_clusters, each, own, words) for each in seeds[:1]))
        tries += 1
    vectors = {name: kind for name, kind in dense.items() if weights.get(name, 1.0) > 0}
    if vectors:
        some = views.select(*vectors)
        starts = chain(starts, (cluster_vectors(some, n_clusters, each)(some) for each in seeds[:1]))
        tries += 1
    used = (*counts.names, *vectors)
    tried = counted(starts, "choosing a start", tries)
    there = None if held is None else held.select(*used)
    return choose_likeliest(views.select(*used), tried, weights, n_jobs, deadline, vectors, there)


def cluster_graphs(
    views: Views, n_clusters: int, seed: int, weights: dict[str, float], held: HeldViews | None = None
) -> np.ndarray:
    """Memberships by the neighbor graphs of all views, cut on a sample of the objects and carried to all."""
    most = int(np.clip(NODES_PER_CLUSTER * n_clusters, LEAST_NODES, MOST_NODES))
    some = views if len(views) <= most else views[sample_positions(len(views), most, seed)]
    model = SpectralClusteringViews(n_clusters, method="stacked", view_weights=weights, n_init=3, random_state=seed)
    return NaiveBayesStart.learned(some, model.fit(some).labels_, n_clusters, scaled=True)(views, held)


def find_consensus_start(views: Any, n_clusters: int, context: FitContext, weights: dict[str, float]) -> Any:
    """Find memberships by one consensus clustering, as published; of many lazy rows a function of some of them."""
    sample = sample_rows(views, SAMPLE) if isinstance(views, LazyViews) else views

    def make(some: Views) -> np.ndarray:
        model = ConsensusClustering(n_clusters, view_weights=weights, random_state=context.seed)
        return model._fit_until(some, context.deadline).memberships_

    start = _start_in_time(make, sample, sample.names, n_clusters, context)
    if len(views) <= SAMPLE or sample is views:  # then these are the objects themselves
        return start
    return NaiveBayesStart.learned(sample, start.argmax(axis=1), n_clusters, scaled=True)


def choose_likeliest(
    views: Views,
    starts: Iterable[np.ndarray],
    weights: dict[str, float] | None = None,
    n_jobs: int | None = None,
    deadline: Deadline = NO_DEADLINE,
    dense: Mapping[str, str] = {},
    held: HeldViews | None = None,
) -> np.ndarray:
    """Of several memberships those whose likelihood is the highest after a few sweeps.

    A further one is made only where it will be ready before the deadline, if it takes as long as the one before.
    """
    engine = select_engine("cpu", n_jobs=n_jobs) if held is None else held.ops
    dtype = floating_type(views)
    counts = views.select(*(name for name in views.names if name not in dense))
    words = None if held is None else held.select(*counts.names)
    best, highest, took = None, -np.inf, 0.0
    remaining = iter(starts)
    means: Tree = {}
    with engine.limits():
        size = engine.block_rows(1, dtype.itemsize, len(views), row_bytes(views))
        blocks = list(make_blocks(views, engine, size)) if held is None else [held.block()]
        while best is None or deadline.left() > took:
            began = time.monotonic()
            start = next(remaining, None)
            if start is None:
                break
            if best is None and deadline.is_over():  # no time to compare, but a start there must be
                return start
            rows = soften(start)
            steps = MixtureSteps(rows.shape[1], weights=weights or {}, dense=dense)
            sums = _sum_cluster_features(counts, rows, words)
            profiles = {name: np.maximum(part, FEATURE_FLOOR) for name, part in sums.items()}
            shared: Tree = {"profiles": {name: part / part.sum(axis=0) for name, part in profiles.items()}}
            if dense and not means:  # all starts have them in common
                means = initialize_vectors(views, dense, {}, rows.shape[1], 0, spread=False)
            shared |= means
            shared = tree_map(lambda part: engine.asarray(part, dtype), shared)
            holder = Holder([replace(b, extra={"start": rows[b.start : b.stop]}) for b in blocks], engine)
            state = State(holder.start(steps, shared, 0, 0), shared)
            for _ in range(5):  # what counts is how far EM gets from a start, not how likely the start itself is
                sweep(steps, holder, state)
            reached = holder.objective(steps, state.rows, state.shared)
            if best is None or reached > highest + TIE * abs(highest):
                best, highest = start, reached
            took = time.monotonic() - began
    assert best is not None
    return best


def _sum_cluster_features(views: Views, rows: np.ndarray, held: HeldViews | None) -> dict[str, np.ndarray]:
    """Features of each cluster (features x clusters) that memberships make, by view, added up where they are held."""
    if held is not None:
        return held.feature_sums(rows)
    return {name: np.asarray(matrix.T @ rows) for name, matrix in views.items()}


def find_likeliest_arrays(
    views: Any,
    n_clusters: int,
    context: FitContext,
    weights: dict[str, float],
    n_jobs: int | None,
    *,
    dense: Mapping[str, str] = {},
) -> Any:
    """Memberships of a consensus clustering and the topics that they make, as an `init` for link-PLSA.

    Views named in `dense` are vectors, and get none.

    Rows that are read when needed begin as those in memory do; of very many, a sample is clustered, and naive Bayes
    places all.
    """
    start = find_likeliest_start(views, n_clusters, context, weights, n_jobs, dense=dense, graphs=False)
    rows = soften(np.concatenate(over_rows(views, partial(apply_start, start=start))) if callable(start) else start)
    counts = views.select(*(name for name in views.names if name not in dense)) if dense else views
    held = HeldViews.on_device(counts, context.engine, n_clusters)
    return {"memberships": rows, "topic_feature": compute_topics(counts, rows, held)}


def apply_start(views: Views, first: int, *, start: Any) -> np.ndarray:
    """Memberships that a start gives to some rows."""
    return np.asarray(start(views))


# -- seeds of topics


@dataclass(frozen=True)
class Seeds:
    """Seeds of some topics: their numbers, their names (None where only a number was given), and by view the weights.

    Weights (seeded topics x features) sum to one in each row, or to zero where a topic has no seeds in the view.
    """

    numbers: list[int]
    names: list[str | None]
    weights: dict[str, sparse.csr_array]

    def group_names(self) -> dict[str, str]:
        """Return the names by the key of the group."""
        return {str(number): name for number, name in zip(self.numbers, self.names) if name is not None}

    def with_pseudo_objects(self, views: Views, strength: float, n_groups: int) -> Views:
        """Return views with one more row for each seeded topic, at the end."""
        arrays: dict[str, Any] = {}
        present = np.zeros((len(views) + len(self.numbers), len(views.names)), dtype=bool)
        present[: len(views)] = views.present
        for v, (name, matrix) in enumerate(views.items()):
            rows = self.weights.get(name, sparse.csr_array((len(self.numbers), matrix.shape[1])))
            counts = rows * (strength * float(matrix.sum(dtype=np.float64)) / n_groups) if rows.nnz else rows
            counts = counts.astype(matrix.dtype)
            # a pseudo-object lacks the views that it has no seeds in: they are to say nothing of its topic
            present[len(views) :, v] = np.diff(rows.indptr) > 0
            if sparse.issparse(matrix):
                arrays[name] = sparse.vstack([matrix, counts], format="csr")
            else:
                arrays[name] = np.vstack([matrix, counts.toarray()])
        shown = {name: present[:, v] for v, name in enumerate(views.names)}
        return Views(arrays, present=shown, feature_names=views.feature_names)

    def labels(self, n_objects: int) -> np.ndarray:
        """Return the topics of objects and pseudo-objects; -1 for those that are free."""
        return np.concatenate([np.full(n_objects, -1), self.numbers]).astype(np.int64)

    def start(self, views: Views, n_groups: int, seed: int) -> np.ndarray:
        """Return where objects and pseudo-objects start (rows x topics)."""
        found = np.zeros((len(views), len(self.numbers)))
        for name, weights in self.weights.items():
            counts = sparse.csr_array(views[name])
            found += (counts @ (weights * compute_idf(counts)).T).toarray()
        rows = draw_rows(seed, 0, len(views) + len(self.numbers), n_groups)
        total = found.sum(axis=1)
        some = np.flatnonzero(total > 0)
        rows[some] *= RANDOM_SHARE
        rows[some[:, None], self.numbers] += (1 - RANDOM_SHARE) * found[some] / total[some, None]
        rows[len(views) :] = np.eye(n_groups)[self.numbers]
        return rows


def read_seeds(
    seeds: Mapping[Any, Any],
    n_groups: int,
    widths: Mapping[str, int],
    names: Mapping[str, Sequence[Any]],
) -> Seeds:
    """Look seeds up among the features of the views of counts.

    Parameters
    ----------
    seeds : mapping
        As the parameter `seeds` of an estimator.
    n_groups : int
        Number of topics or clusters.
    widths : dict of int
        Number of features of each view of counts.
    names : dict of sequences
        Names of the features, of the views that have them.

    Examples
    --------
    >>> words = {"words": ["fox", "salt", "wave"]}
    >>> seeds = read_seeds({"sea": ["salt", "wave"], "land": ["fox"]}, 3, {"words": 3}, words)
    >>> seeds.numbers, seeds.weights["words"].toarray().tolist()
    ([0, 1], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    """
    columns = {view: {str(name): j for j, name in enumerate(names[view])} for view in widths if view in names}
    if not seeds:
        raise ParameterError("must seed at least one topic, got none.", parameter="seeds")
    numbers, called = _number_topics(list(seeds), n_groups)
    weights = {view: sparse.lil_array((len(numbers), width)) for view, width in widths.items()}
    absent: list[str] = []
    for row, (topic, given) in enumerate(seeds.items()):
        for view, column, weight in _lookup(topic, given, columns, widths, absent):
            weights[view][row, column] += weight
    if absent:
        warn_user(f"Some seeds are no features of the views, and are left out: {listed(absent)}.", UserWarning)
    return Seeds(numbers, called, {view: _divide_by_sums(part) for view, part in weights.items() if part.nnz})


def _number_topics(topics: Sequence[Any], n_groups: int) -> tuple[list[int], list[str | None]]:
    """Numbers and names of seeded topics: whole numbers are numbers, names get those that are left, in order."""
    # numbers first, so that a name never takes the topic that a number asks for
    taken = [topic for topic in topics if isinstance(topic, (int, np.integer))]
    named = [topic for topic in topics if isinstance(topic, str)]
    if len(taken) + len(named) < len(topics) or len(topics) > n_groups or any(not 0 <= one < n_groups for one in taken):
        raise ParameterError(
            f"must have names or numbers of topics from 0 to {n_groups - 1} as keys, got {listed(topics)}.",
            parameter="seeds",
        )
    free = iter(k for k in range(n_groups) if k not in taken)
    numbers = [next(free) if isinstance(topic, str) else int(topic) for topic in topics]
    return numbers, [" ".join(topic.split()) if isinstance(topic, str) else None for topic in topics]


def _lookup(
    topic: Any, given: Any, columns: Mapping[str, Mapping[str, int]], widths: Mapping[str, int], absent: list[str]
) -> list[tuple[str, int, float]]:
    """View, column and weight of each seed of a topic; notes those that are nowhere."""
    by_view = given if isinstance(given, Mapping) else dict.fromkeys(widths, given)
    found: list[tuple[str, int, float]] = []
    seen: dict[str, bool] = {}  # whether a feature is one of any view
    for view, features in by_view.items():
        if view not in widths:
            raise ParameterError(
                f"names view {view!r} for topic {short(topic)}, but the views of counts are {listed(widths)}."
                f"{did_you_mean(view, widths)}",
                parameter="seeds",
            )
        if isinstance(features, str) or not isinstance(features, (Iterable, Mapping)):
            raise ParameterError(
                f"must have a list of features, or {{view: features}}, for topic {short(topic)}, got "
                f"{short(features)}.",
                parameter="seeds",
            )
        weights = features if isinstance(features, Mapping) else dict.fromkeys(features, 1.0)
        for feature, weight in weights.items():
            if not weight > 0:
                raise ParameterError(
                    f"must have positive weights, got {short(weight)} for {short(feature)}.", parameter="seeds"
                )
            column = _find_column(feature, columns.get(view), widths[view])
            seen[str(feature)] = seen.get(str(feature), False) or column is not None
            if column is not None:
                found.append((view, column, float(weight)))
    absent += [feature for feature, there in seen.items() if not there]
    if not found:
        hint = did_you_mean(next(iter(seen), ""), (name for view in columns.values() for name in view))
        raise ParameterError(
            f"has nothing for topic {short(topic)} that is a feature of the views {listed(widths)}, got "
            f"{short(list(seen))}.{hint}",
            parameter="seeds",
        )
    return found


def _find_column(feature: Any, columns: Mapping[str, int] | None, width: int) -> int | None:
    if columns is not None:
        return columns.get(str(feature), columns.get(str(feature).lower()))  # as vectorizers lower words
    whole = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
    return int(feature) if whole and 0 <= feature < width else None


def _divide_by_sums(rows: sparse.lil_array) -> sparse.csr_array:
    rows = sparse.csr_array(rows)
    sums = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
    return sparse.csr_array(rows.multiply(1 / np.where(sums > 0, sums, 1.0)))


# -- which topic of one view is which of another


def compute_topic_overlap(rows: dict[str, np.ndarray]) -> np.ndarray:
    """Products of all columns of a block's table of mixtures, the views side by side: all O_uv in one matrix."""
    table = rows["mixture"]
    table = np.asarray(from_tensor(table) if is_tensor(table) else table, dtype=np.float64)
    return table.T @ table


def align_topics(overlap: np.ndarray, width: int) -> np.ndarray:
    """Orders of the topics of each view (views x topics); the first view keeps its own.

    Parameters
    ----------
    overlap : ndarray (n_views * width, n_views * width)
        All O_uv, as `compute_topic_overlap` gives them.
    width : int
        Topics of each view.

    Returns
    -------
    ndarray of int (n_views, width)
        Entry v, k: the topic of view v that goes with topic k of the first view.
    """
    views = len(overlap) // width
    parts = overlap.reshape(views, width, views, width)
    orders = np.tile(np.arange(width), (views, 1))
    for v in range(1, views):
        orders[v] = _match_topics(sum(parts[u, orders[u], v] for u in range(v)))
    # two views have one optimal matching; more are matched in turn to all others until none changes, which is a local
    # optimum: the joint problem is NP-hard
    for _ in range(20 if views > 2 else 0):
        before = orders.copy()
        for v in range(1, views):
            orders[v] = _match_topics(sum(parts[u, orders[u], v] for u in range(views) if u != v))
        if (orders == before).all():
            break
    return orders


def _match_topics(shared: np.ndarray) -> np.ndarray:
    return linear_sum_assignment(shared, maximize=True)[1]
