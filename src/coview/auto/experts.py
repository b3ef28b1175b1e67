"""The experts of `AutoClassifier`: pipelines for the data at hand, each of which is the best one somewhere.

| expert | pipeline | best where |
|---|---|---|
| topics | multi-view PLSA of the sparse views | labels are few, views are counts |
| centers | weighted views, seeded k-means | labels are few |
| latent | weighted views, 50 singular vectors of each, logistic regression | there are some labels of each class |
| graph | the same singular vectors, labels spread over a graph of neighbors | classes are no blobs |
| margins | weighted views side by side, linear support vector machine | there are many labels |
| near centers | singular vectors smoothed over links, seeded k-means | linked objects are similar, labels are few |
| near latent | the same, logistic regression | linked objects are similar |
| near linear | weighted views smoothed over links by four hops, logistic regression | the same, many labels |

A view that knows little must not drag the others down. So there is an expert for all views, one for the sparse views
together, such as "graph: counts", and one for each view alone, such as "latent: VIEW"; held-out labels weigh them
(`pooling.py`). Topics are of sparse views only: a joint likelihood of words and vectors depends on their units.

Counts are weighted as `weigh_counts` decides, columns of measurements are scaled, and rows of every view have length 1.
Few columns have a 1 beside them, so that an object in the middle is no other's neighbor by the direction of its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, RobustScaler
from sklearn.svm import LinearSVC

from coview.assignment.seeded_kmeans import SeededKMeansClassifier
from coview.auto.candidates import counted_views, named_estimators, pick, with_seed
from coview.classification.concatenated import ConcatenatedViews
from coview.classification.label_spreading import LabelSpreadingClassifier
from coview.classification.wrapper import last_step
from coview.plsa.multiview import MultiViewPLSAClassifier
from coview.preprocessing.each_view import EachView
from coview.preprocessing.neighbors import NeighborViews
from coview.preprocessing.scaling import ScaledViews
from coview.preprocessing.weighting import UnitRows, weigh_counts
from coview.views.views import Views

__all__ = ["LINKED", "Expert", "asked_experts", "given_experts", "needed_view", "propose_experts", "seen_views"]

LINKED = ("near centers", "near latent", "near linear")  # experts that smooth over links
FEW, MANY = 50, 200  # singular vectors of a view, and of one that is smoothed over links
NARROW = 2  # columns whose directions say little: the middle of three classes has none
GRAPH_OBJECTS = 20_000  # above which neighbors of all objects take too long
# weight of a kind of expert before any label: where labels are few topics were the best or near it most often, in
# measurements centers and graphs, and over links those that smooth features
PRIORS = {"topics": 20.0, "near": 12.0, "centers": 4.0, "graph": 2.0, "latent": 1.0, "margins": 0.5}


@dataclass(frozen=True)
class Expert:
    """A classifier of views, as a pipeline of ordinary steps that has not been fitted.

    `views` are the names of those that it sees, None for all, and `why` says why it leaves the others out.
    `prior` is its weight before any evidence, as a share of that of all, `cost` its rank where time is short. One that
    is `as_given`, by the user, gets views in their own precision.
    """

    name: str
    estimator: Any
    views: tuple[str, ...] | None = None
    prior: float = 1.0
    cost: int = 0
    why: str | None = None
    as_given: bool = False

    @property
    def method(self) -> str:
        """Name of the class of the classifier, of one matrix where views are put side by side."""
        last = last_step(self.estimator)
        inner = last.estimator if isinstance(last, ConcatenatedViews) else last
        return type(inner).__name__

    def seen(self, views: Views) -> Views | None:
        """Views that it looks at, of those given; None where it cannot answer from them."""
        return seen_views(views, self.views, needed_view(self.estimator))


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


def propose_experts(views: Views, links: str | None, seed: int) -> tuple[list[Expert], dict[str, str]]:
    """Experts for these views, and why others do not apply; `links` joins similar objects, or is None."""
    counted = counted_views(views)
    together = tuple(counted) if 0 < len(counted) < len(views.names) else None
    plain = [name for name in views.names if name != links]
    alone = [(name,) for name in plain] if len(views.names) > 1 else []
    several = [together] if together is not None and len(together) > 1 else []
    dense = [names for names in alone if names[0] not in counted]
    experts: list[Expert] = []
    skipped: dict[str, str] = {}

    def add(kind: str, groups: Sequence[tuple[str, ...] | None], build: Callable[[Views], Pipeline], cost: int) -> None:
        for names in groups:
            pipeline = build(views if names is None else views.select(*names))
            prior, why = PRIORS[kind] / (len(alone) if names in alone else 1), "the others have experts of their own"
            experts.append(Expert(_name(kind, names, groups), pipeline, names, prior, cost, why if names else None))

    add("margins", [None, *([together] if together else [])], _margins, 0)
    add("latent", [None, *several, *alone], _latent, 0)
    if len(views) <= GRAPH_OBJECTS:
        add("graph", [None, *([together] if together else []), *dense], _graph, 1)
    else:
        skipped["graph"] = f"there are more than {GRAPH_OBJECTS:,} objects"
    add("centers", [together], _centers, 1)
    if counted:
        add("topics", [together], _topics, 2)
    else:
        skipped["topics"] = "no view holds counts, and in vectors or measurements alone other experts find more"
    if links is not None and plain:
        experts += _smoothed(views.select(*plain), links)
    for expert in experts:
        with_seed(expert.estimator, seed)
    return experts, skipped


def given_experts(
    given: Any, proposed: list[Expert], skipped: Mapping[str, str], seed: int
) -> tuple[list[Expert], dict[str, str]]:
    """Experts from a list of names of default ones and (name, classifier), those cloned and seeded; as `pick`."""

    def own(name: str, estimator: Any) -> Expert:
        return Expert(name, with_seed(clone(estimator), seed), as_given=True)

    missing = dict.fromkeys(LINKED, "no view holds links among the objects")
    return pick(asked_experts(given), proposed, {**missing, **skipped}, own)


def asked_experts(given: Any) -> list[tuple[str, Any]]:
    """Check the candidates that a user asks `AutoClassifier` for: (name, classifier), None for a default one."""

    def classifies(estimator: Any) -> bool:
        return hasattr(estimator, "fit") and hasattr(estimator, "predict")

    return named_estimators(given, "classifier", "a classifier", classifies)


# -- pieces


def _name(kind: str, names: tuple[str, ...] | None, groups: Sequence[tuple[str, ...] | None]) -> str:
    if names is None or len(groups) == 1:
        return kind
    return f"{kind}: {names[0] if len(names) == 1 else 'counts'}"


def _margins(views: Views) -> Pipeline:
    return make_pipeline(*_weighing(views), _side_by_side(LinearSVC(class_weight="balanced")))


def _latent(views: Views) -> Pipeline:
    return make_pipeline(*_narrowing(views, FEW), _side_by_side(_logistic()))


def _graph(views: Views) -> Pipeline:
    return make_pipeline(*_narrowing(views, FEW), LabelSpreadingClassifier(metric="centered"))


def _centers(views: Views) -> Pipeline:
    return make_pipeline(*_weighing(views), SeededKMeansClassifier(view_weights="auto", engine="cpu"))


def _topics(views: Views) -> Pipeline:
    """Multi-view PLSA of counts: of long texts weighted, since one of them would outweigh a hundred short ones."""
    model = MultiViewPLSAClassifier(view_weights="auto", max_iter=60, engine="cpu")
    return make_pipeline(*weigh_counts(views, counted_views(views), keep_short=True), model)


def _smoothed(plain: Views, links: str) -> list[Expert]:
    """Experts that see the views smoothed over links."""

    def near(**settings: Any) -> NeighborViews:
        return NeighborViews(links, keep=False, directed=False, layers="last", **settings)

    narrow = _narrowing(plain, MANY)[:-1]
    centers = make_pipeline(*narrow, near(hops=10, restart=0.2), UnitRows(), SeededKMeansClassifier(engine="cpu"))
    latent = make_pipeline(*narrow, near(hops=10, restart=0.1), UnitRows(), _side_by_side(_logistic()))
    smooth = near(hops=4, restart=0.2, tol=0.02)
    linear = make_pipeline(*_weighing(plain), smooth, UnitRows(), _side_by_side(_logistic()))
    return [
        Expert(name, pipeline, prior=PRIORS["near"], cost=1)
        for name, pipeline in zip(LINKED, (centers, latent, linear))
    ]


def _narrowing(views: Views, width: int) -> list[Any]:
    """Transformers to dense rows of length 1: singular vectors of wide views, measurements as they are."""
    wide = {name: TruncatedSVD(width) for name in counted_views(views) if min(views[name].shape) > width}
    return [*_weighing(views), *([EachView(wide)] if wide else []), UnitRows()]


def _weighing(views: Views) -> list[Any]:
    """Transformers that bring every view to rows of length 1: weights for counts, scales for measurements."""
    counted = counted_views(views)
    measured = [name for name in views.names if name not in counted]
    steps: list[Any] = [*weigh_counts(views, counted)]
    if measured:
        narrow = {name: _with_constant() for name in measured if views[name].shape[1] <= NARROW}
        steps += [ScaledViews(views=measured), *([EachView(narrow)] if narrow else []), UnitRows(views=measured)]
    return steps


def _with_constant() -> Pipeline:
    """Columns about their medians, by the middle half of their values, and a 1 beside them: outliers do not matter."""
    return make_pipeline(RobustScaler(), PolynomialFeatures(degree=1))


def _side_by_side(classifier: Any) -> ConcatenatedViews:
    return ConcatenatedViews(classifier, unlabeled="drop")


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=2, class_weight="balanced", solver="newton-cg", tol=1e-3)
