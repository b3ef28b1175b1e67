"""The experts of `AutoClassifier`: pipelines for the data at hand, each of which is the best one somewhere.

| expert | pipeline | best where |
|---|---|---|
| topics | multi-view PLSA of the sparse views | labels are few, views are counts |
| centers | weighted views, seeded k-means | labels are few |
| latent | weighted views, 50 singular vectors of each, logistic regression | there are some labels of each class |
| graph | the same singular vectors, labels spread over a graph of neighbors | classes are no blobs |
| margins | weighted views side by side, linear support vector machine | there are many labels |
| near centers | singular vectors smoothed over links, seeded k-means | linked objects are similar, labels are few |
| near linear | weighted views smoothed over links by four hops, logistic regression | the same, many labels |

A view that knows little must not drag the others down. So there is an expert for all views, one for the sparse views
together, such as "graph: counts", and one for each view alone, such as "latent: VIEW"; held-out labels weigh them
(`pooling.py`). Topics are of sparse views only: a joint likelihood of words and vectors depends on their units.

Counts are weighted as `weigh_counts` decides, columns of measurements are scaled, and rows of every view have length 1.
Few columns have a 1 beside them, so that an object in the middle is no other's neighbor by the direction of its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, RobustScaler
from sklearn.svm import LinearSVC

from coview.assignment.seeded_kmeans import SeededKMeansClassifier
from coview.auto.preparation import MOST_OBJECTS, counted_views
from coview.classification.concatenated import ConcatenatedViews
from coview.classification.label_spreading import LabelSpreadingClassifier
from coview.classification.wrapper import last_step
from coview.plsa.multiview import MultiViewPLSAClassifier
from coview.preprocessing.each_view import EachView
from coview.preprocessing.neighbors import NeighborViews
from coview.preprocessing.scaling import ScaledViews
from coview.preprocessing.weighting import UnitRows, weigh_counts
from coview.views.arrays import mostly_zeros
from coview.views.views import Views

__all__ = ["Expert", "needed_view", "propose_experts", "seen_views"]

FEW, MANY = 50, 200  # singular vectors of a view, and of one that is smoothed over links
NARROW = 2  # columns whose directions say little: the middle of three classes has none
# how much more than others topics weigh before any label, and experts that smooth over links that join alike objects:
# they were the best or near it most often where labels are few
LEADING = 10.0


@dataclass(frozen=True)
class Expert:
    """A classifier of views, as a pipeline of ordinary steps that has not been fitted.

    `views` are the names of those that it sees. `prior` is its weight before any evidence, as a share of that of all,
    `cost` its rank where time is short.
    """

    name: str
    estimator: Pipeline
    views: tuple[str, ...]
    prior: float = 1.0
    cost: int = 0

    @property
    def method(self) -> str:
        """Name of the class of the classifier, of one matrix where views are put side by side."""
        last = last_step(self.estimator)
        inner = last.estimator if isinstance(last, ConcatenatedViews) else last
        return type(inner).__name__

    def sees(self, views: Views) -> bool:
        """Tell whether it can answer from these views."""
        return seen_views(views, self.views, needed_view(self.estimator)) is not None


def seen_views(views: Views, names: Sequence[str], needed: str | None) -> Views | None:
    """Some of the views; none where `needed` is not among them, or nothing else is."""
    chosen = [name for name in views.names if name in names]
    if (needed is not None and needed not in views) or not set(chosen) - {needed}:
        return None
    return views if len(chosen) == len(views.names) else views.select(*chosen)


def needed_view(estimator: Pipeline) -> str | None:
    """View of links that a pipeline smooths over, without which it cannot answer; None where it needs none."""
    return next((step.links for _, step in estimator.steps if isinstance(step, NeighborViews)), None)


def propose_experts(views: Views, links: str | None, seed: int) -> list[Expert]:
    """Experts for these views; `links` is the view of links where they join similar objects, or None."""
    counted, everything = counted_views(views), tuple(views.names)
    together = tuple(counted) or everything
    plain = tuple(name for name in views.names if name != links)
    dense = [(name,) for name in plain if name not in counted]
    experts: list[Expert] = []

    def add(kind: str, build: Callable[[Views], Pipeline], groups: Sequence[tuple[str, ...]], cost: int) -> None:
        groups = list(dict.fromkeys(groups))
        alone = [names for names in groups if len(names) == 1 < len(everything)]
        for names in groups:
            part = "" if names == groups[0] else f": {names[0] if names in alone else 'counts'}"
            prior = (LEADING if kind == "topics" else 1.0) / (len(alone) if names in alone and part else 1)
            experts.append(Expert(kind + part, build(views.select(*names)), names, prior, cost))

    add("margins", _margins, [everything, together], 0)
    add("latent", _latent, [everything, together, *((name,) for name in plain)], 0)
    if len(views) <= MOST_OBJECTS:
        add("graph", _graph, [everything, together, *dense], 1)
    add("centers", _centers, [together], 1)
    if counted:
        add("topics", _topics, [together], 2)
    if links is not None and plain:
        smoothed = zip(("near centers", "near linear"), _smoothed(views.select(*plain), links))
        experts += [Expert(name, pipeline, everything, LEADING, 1) for name, pipeline in smoothed]
    for expert in experts:
        _give_seed(expert.estimator, seed)
    return experts


# -- pieces


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
    model = MultiViewPLSAClassifier(view_weights="auto", engine="cpu")
    return make_pipeline(*weigh_counts(views, counted_views(views), keep_short=True), model)


def _smoothed(plain: Views, links: str) -> tuple[Pipeline, Pipeline]:
    """Seeded k-means and logistic regression that see the views smoothed over links."""

    def near(**settings: Any) -> NeighborViews:
        return NeighborViews(links, restart=0.2, keep=False, directed=False, layers="last", **settings)

    narrow = _narrowing(plain, MANY)[:-1]
    centers = make_pipeline(*narrow, near(hops=10), UnitRows(), SeededKMeansClassifier(engine="cpu"))
    return centers, make_pipeline(*_weighing(plain), near(hops=4, tol=0.02), UnitRows(), _side_by_side(_logistic()))


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
        few = [name for name in measured if views[name].shape[1] <= NARROW and not mostly_zeros(views[name])]
        narrow = {name: _with_constant() for name in few}
        steps += [ScaledViews(views=measured), *([EachView(narrow)] if narrow else []), UnitRows(views=measured)]
    return steps


def _with_constant() -> Pipeline:
    """Columns about their medians, by the middle half of their values, and a 1 beside them: outliers do not matter."""
    return make_pipeline(RobustScaler(), PolynomialFeatures(degree=1))


def _side_by_side(classifier: Any) -> ConcatenatedViews:
    return ConcatenatedViews(classifier, unlabeled="drop")


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=2, class_weight="balanced", solver="newton-cg", tol=1e-3)


def _give_seed(estimator: Any, seed: int) -> None:
    """Give a pipeline, its steps and the transformers of single views the seed."""
    params = estimator.get_params()
    for value in params.values():
        if isinstance(value, dict):  # of transformers by view, which `get_params` does not look into
            for inner in value.values():
                if isinstance(inner, BaseEstimator):
                    _give_seed(inner, seed)
    states = [name for name in params if name.split("__")[-1] == "random_state"]
    estimator.set_params(**dict.fromkeys(states, seed))
