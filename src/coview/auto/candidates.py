"""The candidates of `AutoClustering`: different ideas of what a cluster is, each cheap to fit.

| candidate | idea |
|---|---|
| graphs | spectral clustering by neighbors: of each view alone, of all views side by side, and of the views' sum |
| anchors | many small graphs of objects and anchors, of more than 10,000 objects in place of neighbor graphs |
| sphere | spherical k-means: angles between rows; beside other views, measurements are left out |
| correlation | k-means where the views correlate |
| latent | spherical k-means of 50 singular vectors of each view of counts, side by side |
| topics | link-PLSA, an object's cluster being its likeliest topic: of views of counts only |
| smoothed | spherical k-means of views smoothed over links, where links join alike objects (`links.py`) |

Views of counts are weighed by inverse document frequency first, and columns of measurements are scaled. Rows of a
few measurements are all within a few directions, those of texts nearly at right angles to each other: side by side,
with the same length, the measurements alone would decide on the clusters, however little they say. Hence angles are
compared among views of one kind, and what the measurements say is left to graphs and correlation. Topics leave them out
too: as Gaussian views they changed the consensus on none of ten collections for the better, and on words and images
for the worse (mutual information .633 to .627). The graph of one view by itself is no candidate: which view a user has
in mind cannot be known without labels, and all views' graphs together are rarely far from the best of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import normalize

from coview.auto.links import with_smoothed
from coview.auto.objects import Objects
from coview.base import MultiViewEstimator
from coview.classification.wrapper import last_step
from coview.clustering.affinity import metric_by_default
from coview.clustering.anchor_graphs import AnchorGraphClustering
from coview.clustering.cca import CCAClustering
from coview.clustering.spectral import SpectralClusteringViews
from coview.clustering.spherical_kmeans import SphericalKMeans, unit_side_by_side
from coview.engines.loop import Deadline, TimeBudget, largest_in_time, models_inside
from coview.engines.protocol import over_rows
from coview.exceptions import ParameterError
from coview.inspection import inspect, one_hot
from coview.plsa.link import LinkPLSA
from coview.preprocessing.each_view import EachView
from coview.preprocessing.scaling import SCALINGS, ScaledViews
from coview.preprocessing.weighting import TfidfViews, UnitRows
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean
from coview.utils.sampling import sample_positions
from coview.views.arrays import looks_counted
from coview.views.lazy import LazyViews
from coview.views.views import Views, n_present

__all__ = [
    "FAILURES",
    "OTHER_ANGLES",
    "SCALING",
    "Candidate",
    "TimedFit",
    "asked_candidates",
    "can_place",
    "comparable_sample",
    "counted_views",
    "default_candidates",
    "fewer_views",
    "given_candidates",
    "in_this_process",
    "linked_candidates",
    "named_estimators",
    "pick",
    "placed",
    "preparation",
    "prepared",
    "view_scalings",
    "wide_counts",
    "within",
]

# what a fit of a candidate may end in: it is dropped then, and the others go on
FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, RuntimeError)
WEIGHTED, GIVEN = "tf-idf", "unit length"  # how counts are made comparable, and those that have weights already
# what a fitted model keeps of how each view was; models of older files have nothing
SCALING = rules.optional(rules.mapping(rules.choice(WEIGHTED, GIVEN, *SCALINGS)))
# graphs of measurements fail less often than others, so they count for more by the same evidence
GRAPH_PRIORS = {"measurements": 1.05, "counts": 1.0}
# why measurements are left out beside counts
OTHER_ANGLES = "angles between vectors or measurements do not compare with angles between counts"
NO_TOPICS = "it holds vectors or measurements, in which topics find clusters less well than other methods"
LATENT = 50  # singular vectors of each view
WIDE = 50  # columns up to which counts may well be something else, such as the pixels of a small image

LEAST_OBJECTS, OBJECTS_PER_CLUSTER = 300, 10  # of the first sample, where time is short
MOST_NODES = 10_000  # objects of full neighbor graphs, whose time grows with the square
MOST_ROWS = 20_000  # objects of a fit of other methods, which place the others afterwards
MOST = {"graphs": MOST_NODES} | dict.fromkeys(
    ("sphere", "correlation", "latent", "topics", "smoothed"), MOST_ROWS
)  # of each
LEARNED_BY = 4000  # objects that views are made comparable by, to be related to each other
SMOOTH_STARTS = 20  # of k-means on smoothed views, which have few dimensions
SMOOTH_PRIOR = 1.14  # where links join alike objects; what the other views say of these is evidence for it already


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str: ...


C = TypeVar("C", bound=Named)


@dataclass(frozen=True)
class TimedFit:
    """Clusters of all objects, how many of them the fit saw, and how long it took for the first sample and in all."""

    labels: np.ndarray
    n_seen: int
    first_seconds: float
    seconds: float


@dataclass(frozen=True)
class Candidate:
    """A clusterer or topic model of all views, and the factor of its score before any evidence.

    Where time is short, candidates of the least `cost` are fitted first; one of a higher rank takes longer.
    `views` are the names of those that it sees, None for all, `sources` those that they were made of, and `why` says
    why it leaves others out. Of more than
    `most` objects it is fitted to so many, and the others are placed by it. One that is `as_given`, by the user, sees
    the views as they are, default ones after `preparation`.
    """

    name: str
    estimator: Any
    prior: float = 1.0
    cost: int = 0
    views: tuple[str, ...] | None = None
    most: float = math.inf
    sources: tuple[str, ...] | None = None
    as_given: bool = False
    why: str | None = None

    @property
    def method(self) -> str:
        """Name of the estimator's class; of a pipeline, that of its last step."""
        return type(last_step(self.estimator)).__name__

    def fit(self, views: Views) -> np.ndarray:
        """Fit the estimator; the cluster of each object, -1 for noise and for objects without any view."""
        views = self._seen(views)
        known = views.present.any(axis=1)
        labels = np.full(len(views), -1, dtype=np.int64)
        labels[known] = _fit_labels(self.estimator, views if known.all() else views[np.flatnonzero(known)])
        return np.maximum(labels, -1)

    def fit_in_time(self, views: Views, seed: int, deadline: Deadline) -> TimedFit:
        """Fit the estimator to as many objects as there is time for.

        An estimator that has a time budget is fitted to all, within it. Of others, where there is no time for all
        objects, those that were not seen go to the cluster whose center is nearest.
        """
        began, took = time.monotonic(), []
        views = self._seen(views)

        def fit(some: Views) -> np.ndarray:
            start = time.monotonic()
            labels = self.fit(some)
            took.append(time.monotonic() - start)
            return labels

        seconds = deadline.seconds()
        if seconds is None or models_inside(self.estimator):
            with within(self.estimator, seconds):
                return TimedFit(fit(views), len(views), took[0], took[0])
        first = max(LEAST_OBJECTS, OBJECTS_PER_CLUSTER * self.estimator.get_params().get("n_clusters", 1))
        labels, rows = largest_in_time(lambda some: fit(views[some]), len(views), first, seed, deadline)
        if len(rows) < len(views):
            seen, labels = labels, _nearest_clusters(views, rows, labels)
            labels[rows] = seen
        return TimedFit(labels, len(rows), took[0], time.monotonic() - began)

    def fit_sample(self, views: Views, seed: int, seconds: float | None = None) -> np.ndarray:
        """Clusters of these objects by a new copy of the estimator, with another seed, within so many seconds."""
        again = with_seed(clone(self.estimator), seed, always=True)
        with within(again, seconds):
            return _fit_labels(again, self._seen(views))

    def refit(self, objects: Objects, deadline: Deadline) -> tuple[Candidate, np.ndarray | None]:
        """Return a copy that is fitted to all objects, and their clusters; or to as many as it takes, and None."""
        again = replace(self, estimator=clone(self.estimator))
        with within(again.estimator, deadline.seconds()):
            return again, again._fit_all(objects)

    def _fit_all(self, objects: Objects) -> np.ndarray | None:
        views = objects.all
        if isinstance(views, LazyViews):
            if self.most == math.inf and isinstance(self.estimator, MultiViewEstimator) and self.estimator._takes_lazy:
                views = self._seen(views)
                labels = _fit_labels(self.estimator, views)
                return np.where(np.concatenate(over_rows(views, _has_any)), labels, -1)
            views = objects.base
        if len(views) > self.most:
            views = views[np.linspace(0, len(views) - 1, int(self.most)).astype(int)]
        labels = self.fit(views)
        return labels if len(views) == len(objects) else None

    def can_place(self) -> bool:
        """Whether the fitted estimator can say to which clusters other objects belong."""
        return can_place(self.estimator)

    def place(self, views: Any) -> np.ndarray:
        """Clusters of any objects, lazy ones block by block, by the fitted estimator; -1 without any of its views."""
        return np.concatenate(over_rows(views, partial(placed, self.estimator, self.views)))

    def _seen(self, views: Any) -> Any:
        return views if self.views is None else views.select(*self.views)


def with_seed(estimator: Any, seed: int, always: bool = False) -> Any:
    """Give an estimator, the steps of a pipeline and the transformers of views a seed where they have none (or always).

    Examples
    --------
    >>> with_seed(SphericalKMeans(2), 3).random_state, with_seed(SphericalKMeans(2, random_state=1), 3).random_state
    (3, 1)
    """
    params = estimator.get_params()
    for value in params.values():
        if isinstance(value, dict):  # of transformers by view, which `get_params` does not look into
            for inner in value.values():
                if isinstance(inner, BaseEstimator):
                    with_seed(inner, seed, always)
    states = [name for name in params if name.split("__")[-1] == "random_state" and (always or params[name] is None)]
    return estimator.set_params(**dict.fromkeys(states, seed)) if states else estimator


@contextmanager
def within(estimator: Any, seconds: float | None) -> Iterator[None]:
    """Let an estimator that can have a time budget fit within so many seconds, or its own; then it is as it was."""
    own = [(model, model._callbacks) for model in models_inside(estimator)]
    if seconds is not None:
        for model, callbacks in own:
            model._callbacks = (*callbacks, TimeBudget(seconds))
    try:
        yield
    finally:
        for model, callbacks in own:
            model._callbacks = callbacks


def counted_views(views: Views) -> list[str]:
    """Names of the views that look like counts: nothing negative, at least half zeros in the rows that have the view.

    Examples
    --------
    >>> import numpy as np
    >>> counted_views(Views(words=np.eye(3), pixels=np.ones((3, 2)), waves=-np.eye(3)))
    ['words']
    """
    having = n_present(views)
    return [name for name, matrix in views.items() if looks_counted(matrix, having[name])]


def measured_views(views: Views) -> list[str]:
    """Names of the views that distances of scaled columns suit: those that cosines do not."""
    having = n_present(views)
    return [name for name, matrix in views.items() if metric_by_default(matrix, having[name]) != "cosine"]


def wide_counts(views: Views) -> list[str]:
    """Names of the views that look like counts of many features, such as words or links.

    Examples
    --------
    >>> import numpy as np
    >>> wide_counts(Views(words=np.eye(3, 80), pixels=np.eye(3, 16)))
    ['words']
    """
    return [name for name in counted_views(views) if views[name].shape[1] > WIDE]


def preparation(views: Views, names: Sequence[str] | None = None) -> list[Any]:
    """Transformers that make views comparable, learned: weights for counts, scales for measurements.

    Only views of these names are changed, None for all: those smoothed over links stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> prepared(X, preparation(X))["sizes"].ravel().round(2)
    array([-0.93, -0.46,  1.39])
    """
    given = views if names is None else views.select(*names)
    counted = counted_views(given)
    measured = measured_views(given)
    transformers: list[Any] = [TfidfViews(views=counted).fit(views)] if counted else []
    if measured:
        transformers.append(ScaledViews(views=measured).fit(_filled(views, measured)))
    return transformers


def view_scalings(steps: Iterable[Any]) -> dict[str, str]:
    """How fitted transformers make the columns of each view comparable.

    "tf-idf", "unit length" where some step takes it to have such weights already, or a scaling of `ScaledViews`.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> view_scalings(preparation(X))
    {'words': 'tf-idf', 'sizes': 'standard'}
    """
    scalings: dict[str, str] = {}
    for step in steps:
        if isinstance(step, TfidfViews):
            for name in step.changed_views_:
                scalings[name] = scalings.get(name, WEIGHTED) if step.use_idf else GIVEN
        elif isinstance(step, ScaledViews):
            scalings.update(step.scaling_)
    return scalings


def prepared(views: Views, by: list[Any]) -> Views:
    """Views after the transformers of `preparation`."""
    for transformer in by:
        if isinstance(transformer, Pipeline):
            views = with_smoothed(transformer, views)
            continue
        if isinstance(transformer, ScaledViews):
            views = _filled(views, list(transformer.views or views.names))
        views = transformer.transform(views)
    return views


def comparable_sample(views: Views, seed: int = 0) -> Views:
    """Some of the objects, counts weighed and measurements scaled, where nobody else needs the views prepared."""
    rows = sample_positions(len(views), LEARNED_BY, seed)
    some = views if len(rows) == len(views) else views[rows]
    return prepared(some, preparation(some))


def default_candidates(
    views: Views, n_clusters: int, seed: int, n_objects: int | None = None, engine: Any = "auto"
) -> tuple[list[Candidate], dict[str, str]]:
    """Candidates for these views, and why others do not apply; the views may be a sample of so many objects.

    `engine` is for those that take one.
    """
    n_objects = len(views) if n_objects is None else n_objects
    here = in_this_process(engine)
    skipped = {}
    counted = counted_views(views)
    angular = [name for name in views.names if name not in measured_views(views)]
    candidates = []
    prior = GRAPH_PRIORS["counts" if wide_counts(views) else "measurements"]
    if n_objects <= MOST_NODES:
        graphs = SpectralClusteringViews(n_clusters, method="stacked", engine=here, random_state=seed)
        candidates.append(Candidate("graphs", graphs, prior, cost=3, most=MOST_NODES))
        skipped["anchors"] = f"up to {MOST_NODES:,} objects, graphs are the better of the two"
    else:
        skipped["graphs"] = f"more than {MOST_NODES:,} objects are too many for neighbor graphs"
        anchors = AnchorGraphClustering(n_clusters, engine=engine, random_state=seed)
        candidates.append(Candidate("anchors", anchors, prior, cost=2))
    sphere = SphericalKMeans(n_clusters, random_state=seed)
    candidates.append(Candidate("sphere", sphere, views=fewer_views(angular, views), most=MOST_ROWS, why=OTHER_ANGLES))
    if len(views.names) > 1:
        correlation = CCAClustering(n_clusters, random_state=seed)
        candidates.append(Candidate("correlation", correlation, cost=1, most=MOST_ROWS))
    else:
        skipped["correlation"] = "there is no second view to correlate with"
    having = n_present(views)
    wide = [name for name in counted if min(having[name], views[name].shape[1]) > LATENT]
    if wide:
        vectors = EachView({name: TruncatedSVD(LATENT, random_state=seed) for name in wide})
        model = make_pipeline(vectors, UnitRows(), SphericalKMeans(n_clusters, random_state=seed))
        some = fewer_views(counted, views)
        candidates.append(Candidate("latent", model, cost=1, views=some, most=MOST_ROWS, why=OTHER_ANGLES))
    else:
        skipped["latent"] = f"no view of counts has more than {LATENT} objects and columns"
    if counted:  # rows of unit length: neither a long text nor a long view dominates
        topics = LinkPLSA(
            n_clusters,
            init="likeliest",
            max_iter=60,
            engine="cpu" if here == "auto" else here,
            random_state=seed,
        )
        model = make_pipeline(UnitRows(), topics)
        some = fewer_views(counted, views)
        candidates.append(Candidate("topics", model, cost=2, views=some, most=MOST_ROWS, why=NO_TOPICS))
    else:
        skipped["topics"] = "no view holds counts, and in vectors or measurements alone other methods find more"
    return candidates, skipped


def in_this_process(engine: Any) -> Any:
    """Return the engine for rows in memory: that of a cluster is for rows that are not.

    Examples
    --------
    >>> in_this_process("dask"), in_this_process("cuda")
    ('auto', 'cuda')
    """
    return "auto" if (engine if isinstance(engine, str) else engine.name) == "dask" else engine


def linked_candidates(candidates: list[Candidate], names: Sequence[str], steps: Pipeline, seed: int) -> list[Candidate]:
    """Candidates that see these views as they are, and one that sees them smoothed over links by fitted steps."""
    last = steps.steps[-1][1]
    n_clusters = candidates[0].estimator.get_params()["n_clusters"]
    some = [name for name in last.smoothed_views_ if name in names] or list(last.smoothed_views_)
    near = tuple(f"{name}_near" for name in some)
    model = SphericalKMeans(n_clusters, n_init=SMOOTH_STARTS, random_state=seed)
    sources = (last.links, *some)
    smooth = Candidate("smoothed", model, SMOOTH_PRIOR, views=near, most=MOST_ROWS, sources=sources)
    return [*(replace(one, views=one.views or tuple(names)) for one in candidates), smooth]


def fewer_views(names: Sequence[str], views: Views) -> tuple[str, ...] | None:
    """Return these views; None, for all, where they are all of them or none."""
    return tuple(names) if 0 < len(names) < len(views.names) else None


def given_candidates(
    given: Any, proposed: list[Candidate], skipped: Mapping[str, str], seed: int
) -> tuple[list[Candidate], dict[str, str]]:
    """Candidates from a list of names of default ones and (name, estimator), those cloned and seeded; as `pick`."""

    def own(name: str, estimator: Any) -> Candidate:
        return Candidate(name, with_seed(clone(estimator), seed), as_given=True)

    return pick(asked_candidates(given), proposed, skipped, own)


def asked_candidates(given: Any) -> list[tuple[str, Any]]:
    """Check the candidates that a user asks `AutoClustering` for: (name, estimator), None for a default one."""

    def clusters(estimator: Any) -> bool:
        return hasattr(estimator, "fit_predict") or hasattr(estimator, "fit_transform")

    return named_estimators(given, "clusterer", "a clusterer or a topic model", clusters)


def named_estimators(given: Any, what: str, kind: str, fits: Callable[[Any], bool]) -> list[tuple[str, Any]]:
    """Check a list of names and (name, estimator) that a user gave; `what` and `kind` are the words for what `fits`.

    The estimator of a name alone, that of a default candidate, is None.
    """
    form = f"of names of default candidates and (name, {what})"
    if not isinstance(given, (list, tuple)):
        raise ParameterError(f"candidates must be None or a list {form}, got {given!r}.")
    asked: list[tuple[str, Any]] = []
    for entry in given:
        if isinstance(entry, str):
            asked.append((entry, None))
            continue
        if not isinstance(entry, (tuple, list)) or len(entry) != 2 or not isinstance(entry[0], str):
            raise ParameterError(f"candidates must be a list {form}, got {entry!r} in it.")
        name, estimator = entry
        if not fits(estimator):
            raise ParameterError(f"Candidate {name!r} must be {kind}, got {estimator!r}.")
        asked.append((name, estimator))
    names = [name for name, _ in asked]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"candidates must have at least one entry and unique names, got {names!r}.")
    return asked


def pick(
    asked: Sequence[tuple[str, Any]],
    proposed: Sequence[C],
    skipped: Mapping[str, str],
    own: Callable[[str, Any], C],
) -> tuple[list[C], dict[str, str]]:
    """Candidates that were asked for, in that order, and why others of them do not apply to the data.

    `asked` is as `named_estimators` gives it, `skipped` says which default candidates do not apply, and why; `own`
    makes a candidate of a name and an estimator.
    """
    defaults = {candidate.name: candidate for candidate in proposed}
    known = list(dict.fromkeys([*defaults, *skipped]))
    for name, estimator in asked:
        if estimator is None and name not in known:
            raise ParameterError(
                f"There is no default candidate {name!r} for these views.{did_you_mean(name, known)} Choose from: "
                f"{', '.join(known)}; or give (name, estimator)."
            )
    chosen = [
        defaults[name] if estimator is None else own(name, estimator)
        for name, estimator in asked
        if estimator is not None or name in defaults
    ]
    why = {name: skipped[name] for name, estimator in asked if estimator is None and name not in defaults}
    if not chosen:
        reasons = "; ".join(f"{name}, since {reason}" for name, reason in why.items())
        raise ParameterError(
            f"No candidate that was named suits the data: {reasons}. Choose from: {', '.join(defaults)}."
        )
    return chosen, why


def _fit_labels(estimator: Any, views: Views) -> np.ndarray:
    """Clusters of the training objects: as a clusterer gives them, or the likeliest topic of each."""
    if hasattr(estimator, "fit_predict"):
        return np.asarray(estimator.fit_predict(views))
    codes = inspect(estimator.fit(views)).training.codes
    if codes is None:
        raise TypeError(f"{estimator!r} does not assign objects to clusters. Use a clusterer or a topic model.")
    return codes


def can_place(estimator: Any) -> bool:
    """Whether a fitted clusterer or topic model can say to which clusters other objects belong."""
    answer = inspect(estimator)
    return answer.predicts or answer.kind == "topic"


def placed(estimator: Any, names: tuple[str, ...] | None, views: Views, first: int = 0) -> np.ndarray:
    """Clusters of some objects by a fitted estimator; -1 where they have none of the views that it was fitted to."""
    given = [name for name in views.names if names is None or name in names]
    if not given:
        return np.full(len(views), -1, dtype=np.int64)
    some = views.select(*given)
    known = some.present.any(axis=1)
    labels = np.full(len(views), -1, dtype=np.int64)
    if known.any():
        labels[known] = inspect(estimator).predict(some if known.all() else some[np.flatnonzero(known)])
    return labels


def _has_any(views: Views, first: int = 0) -> np.ndarray:
    """Whether each object has a view."""
    return np.asarray(views.present.any(axis=1))


def _nearest_clusters(views: Views, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Cluster of each object whose center, the mean direction of its known members, is nearest; -1 without any view."""
    matrix = unit_side_by_side(views)
    sums = one_hot(labels, int(labels.max()) + 1).T @ matrix[rows]
    placed = np.asarray(matrix @ normalize(sums).T).argmax(axis=1)
    return np.where(views.present.any(axis=1), placed, -1)


def _filled(views: Views, names: list[str]) -> Views:
    """Views of measurements that are stored as sparse, made dense: they are mostly filled."""
    stored = [name for name in names if name in views and sparse.issparse(views[name])]
    return views.map(dict.fromkeys(stored, sparse.csr_array.toarray)) if stored else views
