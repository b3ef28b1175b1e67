"""What takes part in a comparison: every method of the catalog that fits the task, and what it must beat.

A transformer takes part with a plain estimator behind it: k-means for clusters, logistic regression for classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier, is_clusterer
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from coview.auto.preparation import counted_views
from coview.catalog import ESTIMATORS, resolve
from coview.classification.best_view import BestView
from coview.classification.concatenated import ConcatenatedViews
from coview.preprocessing.each_view import EachView
from coview.preprocessing.weighting import UnitRows
from coview.utils.messages import did_you_mean
from coview.views.coerce import as_views
from coview.views.views import Views

__all__ = ["Method", "list_applicable_methods", "only_views", "select_methods", "set_seed"]

GROUPS = ("method", "baseline", "given")
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "SeededKMeansClassifier": {"max_agree": {"combine": "max_agree"}},
    "SpectralClusteringViews": {"stacked": {"method": "stacked"}},
}


@dataclass(frozen=True)
class Method:
    """One row of the table to be."""

    name: str
    estimator: Any  # not fitted
    group: str  # one of GROUPS


def list_applicable_methods(classify: bool, views: Views, n_clusters: int) -> list[Method]:
    """Return every applicable method and baseline."""
    counts = len(counted_views(views)) == len(views.names)
    return [*_from_catalog(classify, n_clusters), *_baselines(classify, views, n_clusters, counts)]


def select_methods(methods: Any, known: list[Method]) -> list[Method]:
    """Return the methods that `methods` asks for: names or patterns, estimators, or ``{name: estimator}``."""
    if methods is None:
        return known
    if isinstance(methods, Mapping):
        return [Method(str(name), _checked(estimator), "given") for name, estimator in methods.items()]
    asked = [methods] if isinstance(methods, str) or not isinstance(methods, Iterable) else list(methods)
    picked: dict[str, Method] = {}
    for item in asked:
        if isinstance(item, str):
            fits = [c for c in known if _fits(item, c)]
            if not fits:
                names = [c.name for c in known]
                raise ValueError(
                    f"There is no method {item!r} for this task.{did_you_mean(item, names)} Choose from: "
                    f"{', '.join(names)}."
                )
        else:
            fits = [Method(" ".join(repr(_checked(item)).split()), item, "given")]
        picked.update((c.name, c) for c in fits)
    if not picked:
        raise ValueError("methods is empty. Leave it out to compare all of them.")
    return list(picked.values())


def set_seed(estimator: Any, seed: int) -> Any:
    """Return a clone, every random_state in it set."""
    copy = clone(estimator)
    states = [name for name in copy.get_params() if name.rpartition("__")[2] == "random_state"]
    return copy.set_params(**dict.fromkeys(states, seed)) if states else copy


def only_views(X: Any, names: tuple[str, ...]) -> Views:
    """Return some of the views.

    Examples
    --------
    >>> import numpy as np
    >>> only_views({"words": np.eye(2), "tags": np.eye(2)}, ("tags",)).names
    ('tags',)
    """
    return as_views(X).select(*names)


# -- the catalog


def _from_catalog(classify: bool, n_clusters: int) -> Iterator[Method]:
    kind = "classifier" if classify else "clusterer"
    for name, entry in ESTIMATORS.items():
        if entry.kind == kind:
            cls = resolve(name)
            yield Method(name, _sized(cls(), n_clusters), "method")
            for label, settings in VARIANTS.get(name, {}).items():
                yield Method(f"{name} ({label})", _sized(cls(**settings), n_clusters), "method")
        elif entry.kind == "transformer":
            model = resolve(name)()
            size = _size_parameter(model)
            if size is None:
                continue
            model.set_params(**{size: max(20, 2 * n_clusters) if classify else n_clusters})
            # ConcatenatedViews takes one matrix too, and leaves unlabeled objects out
            head = ConcatenatedViews(_logistic()) if classify else _kmeans(n_clusters)
            ending = "LogisticRegression" if classify else "KMeans"
            yield Method(f"{name} + {ending}", make_pipeline(model, head), "method")


def _sized(model: Any, n_clusters: int) -> Any:
    size = None if is_classifier(model) else _size_parameter(model)
    return model if size is None else model.set_params(**{size: n_clusters})


def _size_parameter(model: Any) -> str | None:
    return next((name for name in ("n_clusters", "n_components") if name in model.get_params()), None)


# -- what to beat


def _baselines(classify: bool, views: Views, n_clusters: int, counts: bool) -> Iterator[Method]:
    plain = _classifiers() if classify else _clusterers(n_clusters)
    several = len(views.names) > 1
    for name, model in plain.items():
        yield Method(f"concatenated {name}" if several else name, _joined(model, counts), "baseline")
    if not several:
        return
    for name, model in plain.items():
        best = BestView(_scaled(model, counts)) if classify else make_pipeline(_scaler(counts), BestView(model))
        yield Method(f"best view {name}", best, "baseline")
    first, model = next(iter(plain.items()))
    for view in views.names:
        select = FunctionTransformer(only_views, kw_args={"names": (view,)})
        single = make_pipeline(select, _joined(model, bool(counted_views(views.select(view)))))
        yield Method(f"{view} {first}", single, "baseline")


def _classifiers() -> dict[str, Any]:
    return {
        "LogisticRegression": _logistic(),
        "LinearSVC": LinearSVC(),
        "MultinomialNB": MultinomialNB(),
    }


def _clusterers(n_clusters: int) -> dict[str, Any]:
    spectral = SpectralClustering(n_clusters, affinity="nearest_neighbors", assign_labels="cluster_qr")
    return {"KMeans": _kmeans(n_clusters), "SpectralClustering": spectral}


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=10, solver="newton-cg", tol=1e-3)  # as good as lbfgs, in a third of its time


def _kmeans(n_clusters: int) -> KMeans:
    return KMeans(n_clusters, n_init=10)


def _joined(model: Any, counts: bool) -> Any:
    """Views side by side; neither a long row nor a view of large numbers drowns the others."""
    if isinstance(model, MultinomialNB):  # it models the counts themselves
        return ConcatenatedViews(model)
    if counts:
        return ConcatenatedViews(model, normalize="l2")
    if is_clusterer(model):  # some only know the labels of what they were fitted on, which a pipeline does not show
        return make_pipeline(_scaler(counts), ConcatenatedViews(model))
    return ConcatenatedViews(_scaled(model, counts))


def _scaler(counts: bool) -> Any:
    """Scaling of views, before what must see the clusterer itself and no pipeline."""
    return UnitRows() if counts else EachView(StandardScaler(with_mean=False))


def _scaled(model: Any, counts: bool) -> Any:
    if isinstance(model, MultinomialNB):
        return model
    return make_pipeline(Normalizer() if counts else StandardScaler(with_mean=False), model)


# -- what users ask for


def _fits(pattern: str, method: Method) -> bool:
    """By name, by pattern, by group, or by the plain name of a class where the row has more in its name."""
    if pattern in GROUPS or pattern.removesuffix("s") in GROUPS:
        return method.group in (pattern, pattern.removesuffix("s"))
    if method.group == "baseline" and method.name.endswith(f" {pattern}"):  # of the best view, of each, of all together
        return True
    return fnmatchcase(method.name, pattern) or method.name.startswith((f"{pattern} (", f"{pattern} + "))


def _checked(estimator: Any) -> Any:
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"methods must hold names, estimators or {{name: estimator}}, got {estimator!r}.")
    return estimator
