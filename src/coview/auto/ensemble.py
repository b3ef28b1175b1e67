"""Fit the members of a consensus, ask for evidence, and remember those that are kept.

A member that fails says why and is left out; the others go on. Each is fitted twice more, on most of the objects, to
see whether its clusters come back; of more than 2,000 objects once more, on at most 2,000, since what many objects say
is less a matter of the draw.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from coview.auto.candidates import Member, auto_members, preparation, prepared
from coview.auto.evidence import MOST_ASKED, MOST_SCORES, agreements, member_weights, telling, witnesses
from coview.metrics import normalized_mutual_info
from coview.views.views import Views

__all__ = ["Ensemble", "as_members", "fit_ensemble"]

SHARE = 0.8  # of the objects that another fit sees
AGAIN = 2  # other fits
FEWEST, MOST = 10, 30  # neighbors that are asked about an object's cluster
MANY = 2000  # objects above which there is one other fit, and most that it sees


@dataclass(frozen=True)
class Ensemble:
    """Fitted members that are kept, what they are shown, and what makes views comparable."""

    estimators: dict[str, Any]
    views: dict[str, dict[str, Any]]  # "names" and "prepared" by member
    preparation: list[Any]

    def predict(self, views: Views) -> dict[str, np.ndarray]:
        """Clusters of objects by each member that knows one of these views."""
        ready = prepared(views, self.preparation)
        found = {}
        for name, estimator in self.estimators.items():
            about = self.views[name]
            shown = Member(name, estimator, tuple(about["names"]), about["prepared"]).shown(views, ready)
            if shown is not None:
                known = shown.present.any(axis=1)
                found[name] = np.where(known, estimator.predict(shown), -1)
        return found


def as_members(estimators: Any, views: Views, n_clusters: int, seed: int) -> tuple[list[Member], dict[str, str]]:
    """Members as the parameter names them, and why others are left out."""
    if isinstance(estimators, str):
        if estimators != "auto":
            raise ValueError(f"estimators must be None, 'auto' or a list of (name, clusterer), got {estimators!r}.")
        return auto_members(views, n_clusters, seed)
    if not isinstance(estimators, (list, tuple)):
        raise TypeError(f"estimators must be None, 'auto' or a list of (name, clusterer), got {estimators!r}.")
    found = []
    for pair in estimators:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"estimators must be 'auto' or a list of (name, clusterer), got {pair!r} in it.")
        name, estimator = pair
        if not hasattr(estimator, "fit_predict"):
            raise TypeError(f"Member {name!r} must be a clusterer with fit_predict, got {estimator!r}.")
        model = clone(estimator)
        if model.get_params().get("random_state", seed) is None:
            model.set_params(random_state=seed)
        found.append(Member(name, model, views.names, prepared=False))
    names = [member.name for member in found]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"estimators must name at least one member, each differently, got {names!r}.")
    return found, {}


def fit_ensemble(
    views: Views,
    members: list[Member],
    skipped: dict[str, str],
    n_clusters: int,
    seed: int,
    *,
    verbose: bool = False,
    time_budget: float | None = None,
) -> tuple[Ensemble, dict[str, list[Any]], dict[str, np.ndarray]]:
    """Fit members and weigh them.

    Returns
    -------
    ensemble : Ensemble
        Those that are kept.
    table : dict of lists
        What is known of each member.
    labels : dict of ndarray
        Clusters by each member that could be fitted.
    """
    by = preparation(views)
    ready = prepared(views, by)
    labels: dict[str, np.ndarray] = {}
    stability: dict[str, float] = {}
    failed: dict[str, str] = {}
    last: Exception | None = None
    began = time.perf_counter()
    for member in members:
        clock = time.perf_counter()
        if labels and time_budget is not None and clock - began > time_budget:
            failed[member.name] = f"{time_budget:g} seconds were over before its turn"
            continue
        shown = member.shown(views, ready)
        assert shown is not None
        try:
            labels[member.name] = _clusters(member.estimator, shown)
            stability[member.name] = _stability(member.estimator, shown, labels[member.name], seed)
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
            labels.pop(member.name, None)
            failed[member.name], last = f"it failed: {error}", error
        if verbose:
            _say(f"{member.name}: {failed.get(member.name, 'fitted')} ({time.perf_counter() - clock:.1f} s)")
    if not labels:
        raise ValueError(f"No member could be fitted; the last one said: {last}") from last
    fitted = [member for member in members if member.name in labels]
    told = _told(ready, list(labels.values()), n_clusters, seed)
    stable = np.array(list(stability.values()))
    heft = member_weights(told, stable, np.array([member.prior for member in fitted]))
    agree = agreements(list(labels.values()))
    table = _table(fitted, heft, {"telling": told, "stability": stable, "agreement": agree}, failed | skipped)
    if verbose:
        for name, weight, why in zip(table["name"], table["weight"], table["dropped"]):
            _say(f"weight {weight:.2f} {name}" + (f": {why}" if why else ""))
    kept = [member for member, weight in zip(fitted, heft) if weight > 0]
    ensemble = Ensemble(
        {member.name: member.estimator for member in kept},
        {member.name: {"names": list(member.views), "prepared": member.prepared} for member in kept},
        by,
    )
    return ensemble, table, labels


def _clusters(estimator: Any, shown: Views) -> np.ndarray:
    """Fit a clusterer; objects without any view that it knows have no cluster, nor has noise."""
    known = shown.present.any(axis=1)
    labels = np.full(len(shown), -1, dtype=np.int64)
    if known.all():
        labels[:] = estimator.fit_predict(shown)
    else:
        labels[known] = estimator.fit_predict(shown[np.flatnonzero(known)])
    return np.maximum(labels, -1)


def _stability(estimator: Any, shown: Views, labels: np.ndarray, seed: int) -> float:
    """Mean mutual information of clusters with those of fits on most of the objects, with other seeds."""
    known = np.flatnonzero(labels >= 0)
    n_clusters = estimator.get_params().get("n_clusters", 1)
    size = min(int(SHARE * len(known)), MANY)
    if size < max(2, n_clusters):  # too few objects to leave some out
        return 1.0
    found = []
    for turn in range(1, (AGAIN if len(known) <= MANY else 1) + 1):
        some = np.sort(np.random.default_rng([seed, turn]).choice(known, size, replace=False))
        again = clone(estimator)
        if "random_state" in again.get_params():
            again.set_params(random_state=seed + turn)
        found.append(normalized_mutual_info(labels[some], again.fit_predict(shown[some])))
    return float(np.mean(found))


def _told(ready: Views, labels: list[np.ndarray], n_clusters: int, seed: int) -> np.ndarray:
    """Evidence from all views; of many objects with many clusters, fewer are asked about."""
    numbers = sum(int(part.max()) + 1 for part in labels) * 2 * len(ready.names)  # of each object
    n_asked = int(np.clip(MOST_SCORES // max(numbers, 1), MOST_ASKED // 10, MOST_ASKED))
    n_neighbors = int(np.clip(len(ready) // (2 * n_clusters), FEWEST, MOST))
    return telling(witnesses(ready, n_neighbors, n_asked, seed), labels)


def _table(
    fitted: list[Member], heft: np.ndarray, evidence: dict[str, np.ndarray], out: dict[str, str]
) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {
        "name": [member.name for member in fitted] + list(out),
        "weight": heft.tolist() + [0.0] * len(out),
    }
    for name, values in evidence.items():
        table[name] = values.tolist() + [float("nan")] * len(out)
    little = "too little speaks for it beside the others"
    table["dropped"] = [None if weight > 0 else little for weight in heft] + list(out.values())
    return table


def _say(text: str) -> None:
    print(f"ConsensusClustering: {text}", file=sys.stderr, flush=True)
