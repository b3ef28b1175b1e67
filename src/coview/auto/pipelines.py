"""The candidates of `AutoClassifier`: pipelines for the data at hand, each of which is the best one somewhere.

| candidate | pipeline | best where |
|---|---|---|
| topics | multi-view PLSA of counts and of the vectors beside them | labels are few, some views are counts |
| centers | weighted views, seeded k-means; beside counts, measurements are left out | labels are few |
| latent | weighted views, 50 singular vectors of each, logistic regression | there are some labels of each class |
| latent: VIEW | the same of one view | the other views say little |
| graph | the same singular vectors, labels spread over a graph of neighbors | classes are no blobs, no links join |
| margins | weighted views side by side, linear support vector machine | there are many labels |
| near centers | singular vectors smoothed over links, seeded k-means | links join alike objects, labels are few |
| near latent | the same, logistic regression | links join alike objects |
| near linear | weighted views smoothed over links by four hops, logistic regression | the same, many labels |

Where labels are few, and there are links, or many objects that linear ones tell best, a last one learns from what these
say of other objects (`self_training.py`): weighted views side by side, logistic regression.

Views of counts are weighed by inverse document frequency, columns of measurements are scaled, and rows of every view
have length 1, so that no view drowns the others; of one or two columns, with a 1 beside them, so that an object in the
middle is no other's neighbor by the direction of its noise. PLSA sees counts as they are, unless their row sums differ
widely: then one long text would outweigh a hundred short ones. Views that hold only 0 and 1 stay as they are, since a
page with many links says more than one with few. Whole numbers beside counts are counts to PLSA too, and measurements
are vectors (`coview.plsa.dense`). A view that is already weighted, as by tf-idf, is used as it is, its rows scaled
to length 1: weights applied twice leave little but the rarest features. Only centers apply them again, since they group
all objects and, like clusterings, were better for it where the two were compared. Links that join objects no more alike
than any two are no more than a view of counts.

Priors were settled on two to fourteen draws of labels from ten collections, for labels so few that held-out ones say
little: topics of counts are then the best or near it, centers and graphs of measurements, and over links centers and
latent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, RobustScaler
from sklearn.svm import LinearSVC

from coview.assignment.seeded_kmeans import SeededKMeansClassifier
from coview.auto.candidates import OTHER_ANGLES, counted_views, fewer_views, named_estimators, pick, with_seed
from coview.classification.concatenated import ConcatenatedViews
from coview.classification.label_spreading import LabelSpreadingClassifier
from coview.classification.wrapper import last_step
from coview.plsa.dense import GAUSSIAN
from coview.plsa.multiview import MultiViewPLSAClassifier, is_uneven
from coview.preprocessing.each_view import EachView
from coview.preprocessing.neighbors import NeighborViews
from coview.preprocessing.scaling import ScaledViews
from coview.preprocessing.weighting import TfidfViews, UnitRows
from coview.utils.sampling import sample_positions
from coview.views.arrays import holds_measurements
from coview.views.views import Views, n_present

__all__ = [
    "LINKED",
    "PER_CLASS",
    "SELF_TRAINING",
    "PipelineCandidate",
    "asked_pipelines",
    "comparable",
    "given_pipelines",
    "needed_view",
    "propose_pipelines",
    "seen_views",
    "self_training_pipeline",
]

SELF_TRAINING = "self-training"
LINKED = ("near centers", "near latent", "near linear")  # candidates that smooth over links
FEW, MANY = 50, 200  # singular vectors
SWEEPS = 60  # of PLSA
PER_CLASS = 40  # unlabeled objects of a class that topics and centers are judged with
RARE_HAVE_MORE = 0.2  # correlation of values with the rarity of their features from which on they look weighted
SEEN_ROWS, SEEN_CELLS = 4000, 10_000_000  # by which this is told; cells of a dense view
NARROW = 2  # columns whose directions say little: the middle of three classes has none
GRAPH_OBJECTS = 5000  # above which neighbors of all objects take too long


@dataclass(frozen=True)
class PipelineCandidate:
    """A classifier of views, as a pipeline of ordinary steps that has not been fitted.

    `views` are the names of those that it sees, None for all, and `why` says why it leaves the others out.
    `prior` is its factor before any evidence, `cost` its rank where time is short. `per_class` is how many unlabeled
    objects of a class are enough to judge it with, where every one of them takes time; None for all. One that is
    `as_given`, by the user, may know how frequent the classes are, where default ones treat them alike, and gets views
    in their own precision.
    """

    name: str
    estimator: Any
    views: tuple[str, ...] | None = None
    prior: float = 1.0
    cost: int = 0
    why: str | None = None
    per_class: int | None = None
    as_given: bool = False

    @property
    def method(self) -> str:
        """Name of the class of the classifier, of one matrix where views are put side by side."""
        last = last_step(self.estimator)
        inner = last.estimator if isinstance(last, ConcatenatedViews) else last
        return type(inner).__name__

    @property
    def is_linear(self) -> bool:
        """Whether the classifier is a linear one."""
        return self.method in ("LinearSVC", "LogisticRegression")

    def seen(self, views: Views) -> Views | None:
        """Views that it looks at, of those given; None where it cannot answer from them."""
        return seen_views(views, self.views, needed_view(self.estimator))

    def sees(self, views: Views) -> np.ndarray:
        """Which objects have any of the views that it looks at."""
        seen = self.seen(views)
        return np.zeros(len(views), dtype=bool) if seen is None else np.asarray(seen.present.any(axis=1))


def seen_views(views: Views, names: Sequence[str] | None, needed: str | None) -> Views | None:
    """Some of the views, None for all; no views where `needed` is not among them, or nothing else is."""
    chosen = [name for name in views.names if names is None or name in names]
    if (needed is not None and needed not in views) or not set(chosen) - {needed}:
        return None
    return views if len(chosen) == len(views.names) else views.select(*chosen)


def needed_view(estimator: Any) -> str | None:
    """View of links that a pipeline smooths over, without which it cannot answer; None where it needs none."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else []
    return next((step.links for step in steps if isinstance(step, NeighborViews)), None)


def propose_pipelines(
    views: Views, links: str | None, seed: int, strangers: Collection[str] = ()
) -> tuple[list[PipelineCandidate], dict[str, str]]:
    """Candidates for these views, and why others do not apply; `links` joins alike objects, or is None.

    None of them looks at `strangers`, views that say nothing of the classes.
    """
    if strangers:
        named = [name for name in views.names if name not in strangers]
        proposed, why_not = propose_pipelines(views.select(*named), links, seed)
        return [replace(each, views=each.views or tuple(named)) for each in proposed], why_not
    counted = counted_views(views)
    kind = counted or list(views.names)  # angles are compared among views of one kind
    skipped: dict[str, str] = {}
    candidates = [
        PipelineCandidate("margins", make_pipeline(*_weighing(views), _side_by_side(_margins())), prior=0.5),
        PipelineCandidate("latent", make_pipeline(*_latent(views, FEW), _side_by_side(_logistic()))),
    ]
    plain = [name for name in views.names if name != links]
    if len(plain) > 1:
        candidates += [
            PipelineCandidate(
                f"latent: {name}",
                make_pipeline(*_latent(views.select(name), FEW), _side_by_side(_logistic())),
                (name,),
                prior=1 / len(plain),
                why="one view by itself",
            )
            for name in plain
        ]
    joined = links is not None and bool(plain)
    if joined:
        skipped["graph"] = "the links are its graph; with links=False it makes one of neighbors"
    elif len(views) <= GRAPH_OBJECTS:
        spread = make_pipeline(*_latent(views, FEW), LabelSpreadingClassifier(metric="centered"))
        candidates.append(PipelineCandidate("graph", spread, prior=1 if counted else 4, cost=1))
    else:
        skipped["graph"] = f"there are more than {GRAPH_OBJECTS:,} objects"
    centers = make_pipeline(
        *_weighing(views.select(*kind), again=True), SeededKMeansClassifier(view_weights="auto", engine="cpu")
    )
    some, prior = fewer_views(kind, views), 3 if counted else 4
    candidates.append(PipelineCandidate("centers", centers, some, prior, cost=1, why=OTHER_ANGLES, per_class=PER_CLASS))
    if counted:
        candidates.append(PipelineCandidate("topics", _topics(views, counted), prior=20, cost=2, per_class=PER_CLASS))
    else:
        skipped["topics"] = "no view holds counts, and in vectors or measurements alone other candidates find more"
    if joined:
        assert links is not None
        candidates = [replace(candidate, prior=candidate.prior / 4) for candidate in candidates]
        candidates += _with_links(views.select(*plain), links)
    for candidate in candidates:
        with_seed(candidate.estimator, seed)
    return candidates, skipped


def self_training_pipeline(views: Views, links: str | None, strangers: Collection[str]) -> PipelineCandidate | None:
    """Candidate that learns from what the others say: of all views but links that the others smooth over.

    None where nothing else is left.
    """
    names = [name for name in views.names if name != links and name not in strangers]
    if not names:
        return None
    regression = LogisticRegression(C=1, solver="newton-cg", tol=1e-3)
    pipeline = make_pipeline(*_weighing(views.select(*names)), _side_by_side(regression))
    why = "links among the objects" if links is not None else None
    return PipelineCandidate(SELF_TRAINING, pipeline, fewer_views(names, views), why=why)


def comparable(views: Views) -> Views:
    """Views with rows of length 1: counts weighed, measurements scaled."""
    steps = _weighing(views)
    return make_pipeline(*steps).fit_transform(views) if steps else views


def given_pipelines(
    given: Any, proposed: list[PipelineCandidate], skipped: Mapping[str, str], seed: int
) -> tuple[list[PipelineCandidate], dict[str, str]]:
    """Candidates from a list of names of default ones and (name, classifier), those cloned and seeded; as `pick`."""

    def own(name: str, estimator: Any) -> PipelineCandidate:
        return PipelineCandidate(name, with_seed(clone(estimator), seed), as_given=True)

    missing = dict.fromkeys(LINKED, "no view holds links among the objects")
    missing[SELF_TRAINING] = "it learns from the others, and takes part by itself with candidates=None"
    return pick(asked_pipelines(given), proposed, {**missing, **skipped}, own)


def asked_pipelines(given: Any) -> list[tuple[str, Any]]:
    """Check the candidates that a user asks `AutoClassifier` for: (name, classifier), None for a default one."""

    def classifies(estimator: Any) -> bool:
        return hasattr(estimator, "fit") and hasattr(estimator, "predict")

    return named_estimators(given, "classifier", "a classifier", classifies)


# -- pieces


def _topics(views: Views, counted: list[str]) -> Pipeline:
    """Multi-view PLSA of all views: counts as they are or weighed, measurements scaled to vectors of length 1."""
    weighed = [name for name in counted if _uneven(views[name])]
    having = n_present(views)
    vectors = [name for name in views.names if name not in counted and not _holds_counts(views[name], having[name])]
    steps: list[Any] = [*_tfidf(views, weighed)]
    model = MultiViewPLSAClassifier(view_weights="auto", max_iter=SWEEPS, engine="cpu")
    if vectors:
        steps += _scaling(views.select(*vectors))
        model.set_params(likelihood=dict.fromkeys(vectors, GAUSSIAN))
    return make_pipeline(*steps, model)


def _holds_counts(matrix: Any, having: int) -> bool:
    """Whether a matrix, mostly filled in the rows that have the view, holds whole numbers of at least 0, as shades."""
    return not (
        holds_measurements(matrix.data[None]) if sparse.issparse(matrix) else holds_measurements(matrix, having)
    )


def _uneven(matrix: Any) -> bool:
    """Whether PLSA would hear mostly of a few objects: their row sums differ widely, and not by the number of entries.

    Examples
    --------
    >>> _uneven(np.diag([60, 2, 1])), _uneven(np.diag([3, 2, 1])), _uneven(np.repeat(np.eye(3), [60, 2, 1], axis=1))
    (True, False, False)
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    sums = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    return bool(values.size) and bool(values.max() > 1) and is_uneven(sums)


def _with_links(plain: Views, links: str) -> list[PipelineCandidate]:
    def smoothed(**settings: Any) -> list[Any]:
        near = NeighborViews(links, keep=False, directed=False, layers="last", **settings)
        return [*_latent(plain, MANY)[:-1], near, UnitRows()]

    centers = make_pipeline(*smoothed(hops=10, restart=0.2), SeededKMeansClassifier(engine="cpu"))
    latent = make_pipeline(*smoothed(hops=10, restart=0.1), _side_by_side(_logistic()))
    near = NeighborViews(links, keep=False, directed=False, hops=4, restart=0.2, tol=0.02, layers="last")
    linear = make_pipeline(*_weighing(plain), near, UnitRows(), _side_by_side(_logistic()))
    priors = (4.0, 4.0, 1.0)
    return [
        PipelineCandidate(name, pipeline, prior=prior, cost=1)
        for name, pipeline, prior in zip(LINKED, (centers, latent, linear), priors)
    ]


def _latent(views: Views, width: int) -> list[Any]:
    """Transformers to dense rows of length 1: singular vectors of wide views, measurements as they are."""
    wide = {name: TruncatedSVD(width) for name in counted_views(views) if min(views[name].shape) > width}
    return [*_weighing(views), *([EachView(wide)] if wide else []), UnitRows()]


def _weighing(views: Views, *, again: bool = False) -> list[Any]:
    """Transformers that bring every view to rows of length 1: tf-idf for counts, scales for measurements.

    If `again`, views that already have tf-idf weights are weighted once more.
    """
    counted = counted_views(views)
    measured = [name for name in views.names if name not in counted]
    return [*_tfidf(views, counted, again=again), *(_scaling(views.select(*measured)) if measured else [])]


def _tfidf(views: Views, names: list[str], *, again: bool = False) -> list[TfidfViews]:
    """Tf-idf for views of these names; unless `again`, those that already have such weights are only scaled."""
    given = [] if again else [name for name in names if _looks_weighted(views[name])]
    plain = [name for name in names if name not in given]
    parts = [TfidfViews(views=plain)] if plain else []
    return [*parts, TfidfViews(use_idf=False, views=given)] if given else parts


def _looks_weighted(matrix: Any) -> bool:
    """Tell whether what looks like counts already has weights such as tf-idf: within a row, rare features have more.

    That is the correlation of log(value) with -log(number of rows that have the feature), both less their means in the
    row. It is above `RARE_HAVE_MORE` in tf-idf of all collections that were tried, and below in their counts, shares
    and logarithms of counts. Whole numbers are always counts.

    Examples
    --------
    >>> counts = sparse.csr_array([[3, 1, 0], [2, 0, 1], [4, 1, 0], [1, 0, 1]] * 100)
    >>> _looks_weighted(counts), _looks_weighted(counts.multiply(1 / counts.sum(axis=1)[:, None]).tocsr())
    (False, False)
    >>> _looks_weighted(sparse.csr_array(counts * np.array([[1.0, 5.5, 5.5]])))
    True
    """
    if matrix.dtype.kind != "f":
        return False
    most = SEEN_ROWS if sparse.issparse(matrix) else min(SEEN_ROWS, SEEN_CELLS // max(matrix.shape[1], 1))
    rows = sparse.csr_array(matrix[sample_positions(matrix.shape[0], most, 0)])
    rows.eliminate_zeros()
    if not rows.nnz or np.array_equal(rows.data, np.rint(rows.data)):
        return False
    lengths = np.diff(rows.indptr)
    owners = np.repeat(np.arange(rows.shape[0]), lengths)

    def within_rows(values: np.ndarray) -> np.ndarray:
        return values - (np.bincount(owners, weights=values, minlength=len(lengths)) / np.maximum(lengths, 1))[owners]

    values = within_rows(np.log(rows.data, dtype=np.float64))
    rarity = within_rows(-np.log(np.bincount(rows.indices, minlength=rows.shape[1])[rows.indices]))
    spread = np.sqrt((values @ values) * (rarity @ rarity))
    return bool(spread > 0 and values @ rarity > max(RARE_HAVE_MORE, 3 / np.sqrt(rows.nnz)) * spread)


def _scaling(measured: Views) -> list[Any]:
    """Scales, and rows of length 1; in one or two columns a constant beside them turns the length into an angle."""
    names = list(measured.names)
    narrow = {name: _with_constant() for name in names if measured[name].shape[1] <= NARROW}
    return [ScaledViews(views=names), *([EachView(narrow)] if narrow else []), UnitRows(views=names)]


def _with_constant() -> Pipeline:
    """Columns about their medians, by the middle half of their values, and a 1 beside them: outliers do not matter."""
    return make_pipeline(RobustScaler(), PolynomialFeatures(degree=1))


def _side_by_side(classifier: Any) -> ConcatenatedViews:
    return ConcatenatedViews(classifier, unlabeled="drop")


def _margins() -> LinearSVC:
    return LinearSVC(class_weight="balanced")


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=2, class_weight="balanced", solver="newton-cg", tol=1e-3)
