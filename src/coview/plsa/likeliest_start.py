"""Where the objects of a clustering begin: several clusterings of different kinds, tried for a few sweeps each.

k-means on sparse rows ends in many places. A start by one small tight cluster against all the rest is one that EM does
not leave, and k-means itself likes it: its distances are a little smaller there. The likelihood of the model knows
better. So there are several starts: the consensus of one k-means start per view, one k-means start on the views side by
side, and, since short rows in many clusters share too few features for any k-means, the clusters of the views' neighbor
graphs, cut on a sample of the objects and carried to all by naive Bayes. Where some views are vectors, k-means of those
is one more. The one is taken that is ahead, in likelihood, after a few sweeps of the simplest such model:

    p(f | d, v) = sum_z p(z|d) p(f|z,v)     (multi-view PLSA whose topics are its clusters)

Where time is short, larger and larger samples are clustered as long as the last one says that the next will be ready,
and naive Bayes carries the last to all objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from coview.classification.naive_bayes import NaiveBayesStart
from coview.clustering.consensus import ConsensusClustering, several_memberships, side_by_side_memberships
from coview.clustering.spectral import SpectralClusteringViews
from coview.engines.deadline import NO_DEADLINE, Deadline, largest_in_time
from coview.engines.held import HeldViews
from coview.engines.loop import sweep
from coview.engines.memory import MemoryHolder
from coview.engines.passes import over_rows, sample_rows
from coview.engines.protocol import Engine, floating_type, make_blocks, row_bytes
from coview.engines.select import select_engine
from coview.engines.state import State, Tree, tree_map
from coview.plsa.factors import FEATURE_FLOOR, softened
from coview.plsa.gaussian import gaussian_start
from coview.plsa.mixture import MixtureSteps
from coview.plsa.vector_start import cluster_vectors
from coview.utils.progress import counted
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["consensus_start", "graph_memberships", "likeliest_arrays", "likeliest_start", "most_likely", "placed"]

SWEEPS = 5
TIE = 1e-9  # of a likelihood: what engines differ by in rounding decides nothing, the first of equal starts is taken
SAMPLE = 20_000  # lazy rows that are read for a start
NODES_PER_CLUSTER, LEAST_NODES, MOST_NODES = 100, 1000, 4000  # objects of which graphs are made
FEW_NODES = 10  # for each cluster: with fewer a graph says nothing


def likeliest_start(
    views: Any,
    n_clusters: int,
    seed: int,
    weights: dict[str, float],
    n_jobs: int | None,
    *,
    gaussian: tuple[str, ...] = (),
    graphs: bool = True,
    deadline: Deadline = NO_DEADLINE,
    engine: Engine | None = None,
) -> Any:
    """Memberships (objects x clusters); of very many lazy rows a function of some of them.

    The clusters of these are those of a sample, carried to the others by naive Bayes on the views of counts, which
    are those not named in `gaussian`. Without `graphs` all starts are by k-means. Passes over the rows are made on the
    device of the fit's `engine`, where it has one.
    """
    names = [name for name in views.names if name not in gaussian]
    if isinstance(views, LazyViews):
        sample = sample_rows(views, SAMPLE)
        start = likeliest_start(
            sample,
            n_clusters,
            seed,
            weights,
            n_jobs,
            gaussian=gaussian,
            graphs=graphs,
            deadline=deadline,
            engine=engine,
        )
        if len(views) <= SAMPLE:
            return start
        return NaiveBayesStart.learned(sample.select(*names), start.argmax(axis=1), n_clusters, scaled=True)

    def make(some: Views) -> np.ndarray:
        held = HeldViews.on_device(some, engine, n_clusters)
        return _likeliest_of_several(some, n_clusters, seed, weights, n_jobs, gaussian, graphs, deadline, held)

    return _in_time(make, views, names, n_clusters, seed, deadline)


def _in_time(
    make: Callable[[Views], np.ndarray],
    views: Views,
    counts: Sequence[str],
    n_clusters: int,
    seed: int,
    deadline: Deadline,
) -> np.ndarray:
    """Memberships that `make` gives of all objects, or of a sample that there is time for and then by naive Bayes."""
    first = max(LEAST_NODES, FEW_NODES * n_clusters)

    def start_of(rows: np.ndarray) -> np.ndarray:
        return make(views if len(rows) == len(views) else views[rows])

    start, rows = largest_in_time(start_of, len(views), first, seed, deadline)
    if len(rows) == len(views):
        return start
    views = views.select(*counts)
    return NaiveBayesStart.learned(views[rows], start.argmax(axis=1), n_clusters, scaled=True)(views)


def _likeliest_of_several(
    views: Views,
    n_clusters: int,
    seed: int,
    weights: dict[str, float],
    n_jobs: int | None,
    gaussian: tuple[str, ...],
    graphs: bool,
    deadline: Deadline,
    held: HeldViews | None,
) -> np.ndarray:
    counts = views.select(*(name for name in views.names if name not in gaussian))
    # with few clusters a start may be all wrong; with many some of them are always right
    tries = int(np.clip(64 // n_clusters, 3, 8))
    seeds = range(seed, seed + tries)
    cut = tries - (2 if tries == 8 else 1)
    words = None if held is None else held.select(*counts.names)
    agreed = several_memberships(counts, n_clusters, seeds[:cut], deadline, words)
    beside = side_by_side_memberships(counts, n_clusters, seeds[cut:], words)
    if n_clusters == 1:
        return next(agreed)
    starts = chain(agreed, beside)
    if graphs and FEW_NODES * n_clusters <= MOST_NODES:
        own = {name: weight for name, weight in weights.items() if name not in gaussian}
        starts = chain(starts, (graph_memberships(counts, n_clusters, each, own, words) for each in seeds[:1]))
        tries += 1
    vectors = tuple(name for name in gaussian if weights.get(name, 1.0) > 0)
    if vectors:
        some = views.select(*vectors)
        starts = chain(starts, (cluster_vectors(some, n_clusters, each)(some) for each in seeds[:1]))
        tries += 1
    used = (*counts.names, *vectors)
    tried = counted(starts, "choosing a start", tries)
    there = None if held is None else held.select(*used)
    return most_likely(views.select(*used), tried, weights, n_jobs, deadline, vectors, there)


def graph_memberships(
    views: Views, n_clusters: int, seed: int, weights: dict[str, float], held: HeldViews | None = None
) -> np.ndarray:
    """Memberships by the neighbor graphs of all views, cut on a sample of the objects and carried to all."""
    most = int(np.clip(NODES_PER_CLUSTER * n_clusters, LEAST_NODES, MOST_NODES))
    some = views
    if len(views) > most:
        some = views[np.sort(np.random.default_rng(seed).choice(len(views), most, replace=False))]
    model = SpectralClusteringViews(n_clusters, method="stacked", view_weights=weights, n_init=3, random_state=seed)
    return NaiveBayesStart.learned(some, model.fit(some).labels_, n_clusters, scaled=True)(views, held)


def consensus_start(
    views: Any, n_clusters: int, seed: int, weights: dict[str, float], *, deadline: Deadline = NO_DEADLINE
) -> Any:
    """Memberships by one consensus clustering, as published; of many lazy rows a function, as in `likeliest_start`."""
    sample = sample_rows(views, SAMPLE) if isinstance(views, LazyViews) else views

    def make(some: Views) -> np.ndarray:
        model = ConsensusClustering(n_clusters, view_weights=weights, random_state=seed)
        return model._fit_until(some, deadline).memberships_

    start = _in_time(make, sample, sample.names, n_clusters, seed, deadline)
    if len(views) <= SAMPLE or sample is views:
        return start
    return NaiveBayesStart.learned(sample, start.argmax(axis=1), n_clusters, scaled=True)


def most_likely(
    views: Views,
    starts: Iterable[np.ndarray],
    weights: dict[str, float] | None = None,
    n_jobs: int | None = None,
    deadline: Deadline = NO_DEADLINE,
    gaussian: tuple[str, ...] = (),
    held: HeldViews | None = None,
) -> np.ndarray:
    """Of several memberships those whose likelihood is the highest after a few sweeps.

    A further one is made only where it will be ready before the deadline, if it takes as long as the one before.
    """
    engine = select_engine("cpu", n_jobs=n_jobs) if held is None else held.ops
    dtype = floating_type(views)
    counts = views.select(*(name for name in views.names if name not in gaussian))
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
            if best is None and deadline.is_over():
                return start
            rows = softened(start)
            steps = MixtureSteps(rows.shape[1], weights=weights or {}, gaussian=gaussian)
            sums = _feature_sums(counts, rows, words)
            profiles = {name: np.maximum(part, FEATURE_FLOOR) for name, part in sums.items()}
            shared: Tree = {"profiles": {name: part / part.sum(axis=0) for name, part in profiles.items()}}
            if gaussian and not means:  # all starts have them in common
                means = gaussian_start(views, gaussian, {}, rows.shape[1], 0, spread=False)
            shared |= means
            shared = tree_map(lambda part: engine.asarray(part, dtype), shared)
            holder = MemoryHolder([replace(b, extra={"start": rows[b.start : b.stop]}) for b in blocks], engine)
            state = State(holder.start(steps, shared, 0, 0), shared)
            for _ in range(SWEEPS):
                sweep(steps, holder, state)
            reached = holder.objective(steps, state.rows, state.shared)
            if best is None or reached > highest + TIE * abs(highest):
                best, highest = start, reached
            took = time.monotonic() - began
    assert best is not None
    return best


def _feature_sums(views: Views, rows: np.ndarray, held: HeldViews | None) -> dict[str, np.ndarray]:
    """Features of each cluster (features x clusters) that memberships make, by view, added up where they are held."""
    if held is not None:
        return held.feature_sums(rows)
    return {name: np.asarray(matrix.T @ rows) for name, matrix in views.items()}


def likeliest_arrays(
    views: Any,
    n_clusters: int,
    seed: int,
    weights: dict[str, float],
    n_jobs: int | None,
    *,
    gaussian: tuple[str, ...] = (),
    deadline: Deadline = NO_DEADLINE,
    engine: Engine | None = None,
) -> Any:
    """Memberships of a consensus clustering and the topics that they make, as an `init` for link-PLSA.

    Views named in `gaussian` are vectors, and get none.

    Rows that are read when needed begin as those in memory do; of very many, a sample is clustered, and naive Bayes
    places all.
    """
    start = likeliest_start(
        views, n_clusters, seed, weights, n_jobs, gaussian=gaussian, graphs=False, deadline=deadline, engine=engine
    )
    if callable(start):
        start = np.concatenate(over_rows(views, partial(placed, start=start)))
    rows = softened(start)
    counts = views.select(*(name for name in views.names if name not in gaussian)) if gaussian else views
    held = HeldViews.on_device(counts, engine, n_clusters)
    sums = over_rows(counts, partial(_topic_sums, memberships=rows, held=held))
    topics = {name: np.sum([part[name] for part in sums], axis=0) for name in counts.names}
    return {"memberships": rows, "topic_feature": {name: np.maximum(t, FEATURE_FLOOR) for name, t in topics.items()}}


def placed(views: Views, first: int, *, start: Any) -> np.ndarray:
    """Memberships that a start gives to some rows."""
    return np.asarray(start(views))


def _topic_sums(views: Views, first: int, *, memberships: np.ndarray, held: HeldViews | None) -> dict[str, np.ndarray]:
    """Features of each topic in some rows (topics x features), by view."""
    here = memberships[first : first + len(views)]
    return {name: part.T for name, part in _feature_sums(views, here, held).items()}
