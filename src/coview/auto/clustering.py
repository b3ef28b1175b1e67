"""The clustering to trust where nobody knows which method suits the data: different methods, weighed by evidence.

Every candidate (`candidates.py`) is fitted. A candidate that fails is dropped with the reason, and the others go on.
Each is fitted twice more, on most of the objects, to see whether its clusters are stable; of more than 2,000 objects
once more, on at most 2,000. Reliability and stability (`evidence.py`) give its weight, and the consensus of those that
are kept (`coview.clustering.consensus`) is the clustering.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from coview.auto.candidates import Candidate, TimedFit, default_candidates, given_candidates, preparation, prepared
from coview.auto.evidence import agreements, candidate_weights, reliabilities
from coview.clustering.consensus import BaseConsensus
from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.engines.threads import few_threads
from coview.inspection import Features, Inspection, inspect
from coview.inspection.features import cluster_frequencies, cluster_means
from coview.metrics import normalized_mutual_info
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, instance
from coview.utils.progress import print_line, tell
from coview.utils.warn import warn_user
from coview.validation import base_seed
from coview.views.views import Views

__all__ = ["AutoClustering"]

SHARE = 0.8  # of the objects that a repeated fit sees
REPEATS = 2  # fits that stability is measured by
FITTED = 0.6  # share of a candidate's time for its fit; the rest is for the fits that stability is measured by
JUDGED = 0.8  # share of the time after the candidates for evidence; the rest is for the consensus
MANY = 2000  # objects above which there is one repeated fit, and most that it sees


@shared_parameters
class AutoClustering(BaseConsensus):
    """Clusters by the method, or the methods, with the best evidence: a default if no method is known to fit best.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    candidates : None or list of (name, estimator), default=None
        Clusterers of all views, or topic models, whose most likely topic is used. None tries neighbor graphs, angles,
        correlations and, for counts, topics.
    time_budget : float or None, default=None
        Seconds that `fit` may take. Candidates share it; one that would take too long on all objects is fitted to a
        sample, as large as there is time for, and one whose turn never comes is dropped (`candidates_` says so).
    <shared: random_state>
    verbose : int or None, default=None
        1 writes to standard error which candidate is being fitted, and its weight; 0 nothing. None shows where the fit
        stands in notebooks and on the command line, once it takes more than a moment.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        Share of the kept candidates' weight that puts an object into each cluster, spread a little (`softness_`): no
        probabilities. Rows sum to one.
    candidates_ : dict of lists
        A table with one row per candidate: "name", "method" (its class), "weight" (0 where it was dropped),
        "reliability" (how well its clusters are predicted from the views), "stability" (whether they come back on
        samples of the objects), "agreement" with the other candidates (which does not count), "without" (the views
        that it leaves out, or None), and "dropped" (why, or None).
    labels_by_candidate_ : dict of ndarray (n_objects,)
        Clusters of the training objects by each candidate that was fitted.
    estimators_ : dict
        Fitted estimators of the candidates that were kept.
    cluster_mapping_ : dict of ndarray (n_clusters, clusters of the candidate)
        Share of each candidate's clusters in each cluster of the consensus; rows sum to one.
    cluster_means_ : dict of ndarray (n_clusters, n_features of the view)
        Mean of each feature over the objects of a cluster, rows brought to sum one first: what the clusters are about.
    cluster_frequencies_ : dict of ndarray (n_clusters, n_features of the view)
        Share of a cluster's objects that have the feature, of all its objects: features that many have name it.
    preparation_ : list
        Fitted transformers that make the views comparable for the default candidates.
    softness_ : float
        Share of each object's cluster that is spread over all clusters of a candidate.
    history_ : dict of lists
        "objective" of the consensus: minus the divergence after each update.
    n_iter_ : int
        Updates of the consensus.
    <shared: fitted views>

    See Also
    --------
    ConsensusClustering : The consensus of one clustering per view.

    Examples
    --------
    >>> from coview import AutoClustering
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> model = AutoClustering(3, random_state=0).fit(X)
    >>> model.candidates_["name"]
    ['graphs', 'sphere', 'correlation', 'topics']
    >>> max(model.candidates_["weight"])
    1.0
    """

    candidates_: dict[str, list[Any]]
    estimators_: dict[str, Any]
    _fitted_state = {
        "candidates_": rules.record(
            name=rules.sequence(rules.text(), "candidates"),
            method=rules.sequence(rules.or_none(rules.text()), "candidates"),
            weight=rules.sequence(rules.weight(), "candidates"),
            reliability=rules.sequence(rules.number(nan=True), "candidates"),
            stability=rules.sequence(rules.number(nan=True), "candidates"),
            agreement=rules.sequence(rules.number(nan=True), "candidates"),
            without=rules.sequence(rules.or_none(rules.text()), "candidates"),
            dropped=rules.sequence(rules.or_none(rules.text()), "candidates"),
        ),
        "estimators_": rules.mapping(rules.estimator(), "clusterings"),
        "labels_by_candidate_": rules.mapping(rules.integers("objects", low=-1)),
        "preparation_": rules.sequence(rules.estimator(methods=["transform"])),
        "cluster_means_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_frequencies_": rules.by_view(rules.floats("clusters", "features of {view}")),
    }
    _parameters = {
        "candidates": instance("a list of (name, clusterer)", list, tuple) | NONE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        candidates: Any = None,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.candidates = candidates
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> AutoClustering:
        """Fit the candidates, weight them by evidence and compute their consensus; y is ignored."""
        deadline = Deadline.after(self.time_budget)
        views = self._checked_views(X)
        seed = base_seed(self.random_state)
        transformers = preparation(views)
        ready = prepared(views, transformers)
        dropped: dict[str, str] = {}
        if self.candidates is None:
            candidates, dropped = default_candidates(views, self.n_clusters, seed)
        else:
            candidates = given_candidates(self.candidates, seed)
        self.preparation_ = transformers if self.candidates is None else []
        with few_threads(len(views), self.n_clusters):
            data = ready if self.preparation_ else views
            fitted, stability, failed = self._fit_candidates(candidates, data, seed, deadline)
            self._weigh(fitted, np.array(stability), ready, {**failed, **dropped}, seed, deadline.share(JUDGED))
        methods = {candidate.name: candidate.method for candidate in candidates}
        names = self.candidates_.pop("name")
        self.candidates_ = {"name": names, "method": [methods.get(name) for name in names], **self.candidates_}
        kept = {name: self.labels_by_candidate_[name] for name in self.estimators_}
        # the kept clusterings are few and good: each is a start, and random ones would only cost time
        self._agree(kept, views, seed=seed, n_init=len(kept), deadline=deadline)
        self.cluster_means_ = cluster_means(views, self.labels_, self.memberships_.shape[1])
        self.cluster_frequencies_ = cluster_frequencies(views, self.labels_, self.memberships_.shape[1])
        return self

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters, and the candidates that they were chosen from."""

        def features(view: str) -> Features:
            means, frequencies = self.cluster_means_[view], self.cluster_frequencies_[view]
            positive = bool(means.min(initial=0) >= 0)
            return Features(means, positive, "mean of the cluster's objects", frequencies if positive else None)

        # the objective is that of a consensus of labels, which tells nobody how good the clusters are
        # and memberships are shares of the weight of the methods that say so
        return replace(
            super()._inspect(), candidates=self.candidates_, history={}, probabilities=False, _features=features
        )

    # -- pieces

    def _fit_candidates(
        self, candidates: list[Candidate], views: Views, seed: int, deadline: Deadline
    ) -> tuple[list[Candidate], list[float], dict[str, str]]:
        """Those that could be fitted, the stability of each, and why others failed; fills `labels_by_candidate_`.

        Where time is short the cheapest comes first, and is what remains where there is none for the others.
        """
        labels: dict[str, np.ndarray] = {}
        stability: dict[str, float] = {}
        failed: dict[str, str] = {}
        last: Exception | None = None
        turns = candidates if deadline == NO_DEADLINE else sorted(candidates, key=lambda candidate: candidate.cost)
        least = 0.0  # seconds that a candidate takes at least: what one of lower cost took for its first sample
        for number, candidate in enumerate(turns):
            tell(f"candidate {number + 1}/{len(turns)}, {candidate.name}", number, len(turns))
            mine = deadline.share(1 / (len(turns) - number + 1))  # the last part is for the evidence
            if labels and deadline.share(JUDGED).left() <= least:
                failed[candidate.name] = f"not fitted within the time budget of {self.time_budget:g} seconds"
                continue
            began, how = time.monotonic(), "fitted"
            try:
                fit = candidate.fit_in_time(views, seed, mine.share(FITTED))
                least = max(least, fit.first_seconds)
                stability[candidate.name] = _stability(candidate, views, fit, seed, mine)
            except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
                failed[candidate.name], last = f"could not be fitted: {error}", error
                how = failed[candidate.name]
            else:
                labels[candidate.name] = fit.labels
                how += "" if fit.n_seen == len(views) else f" to {fit.n_seen} objects"
            self._log(f"{candidate.name}: {how} ({time.monotonic() - began:.1f} s)")
        if not labels:
            raise ValueError(f"No candidate could be fitted. The last error was: {last}") from last
        fitted = [candidate for candidate in candidates if candidate.name in labels]
        self.labels_by_candidate_ = {candidate.name: labels[candidate.name] for candidate in fitted}
        return fitted, [stability[candidate.name] for candidate in fitted], failed

    def _weigh(
        self,
        fitted: list[Candidate],
        stability: np.ndarray,
        views: Views,
        dropped: dict[str, str],
        seed: int,
        deadline: Deadline,
    ) -> None:
        """Fill `candidates_` and `estimators_` by evidence from all views."""
        labels = list(self.labels_by_candidate_.values())
        if len(labels) == 1 and deadline.is_over():  # nothing to choose from
            reliability = np.full(1, np.nan)
        else:
            tell("evidence")
            reliability = reliabilities(views, labels, self.n_clusters, seed, deadline)
        # no time to see whether one is stable: then that says nothing for or against it
        usual = np.mean(stability[~np.isnan(stability)]) if not np.isnan(stability).all() else 1.0
        # who leaves views out may not place every object: those it does not place are not predicted
        anything = views.present.any(axis=1)
        placed = np.array([np.mean(part[anything] >= 0) if candidate.views else 1.0
                           for candidate, part in zip(fitted, labels)])  # fmt: skip
        prior = np.array([candidate.prior for candidate in fitted])
        weights = candidate_weights(reliability * placed, np.nan_to_num(stability, nan=usual), prior)
        evidence = {"reliability": reliability, "stability": stability, "agreement": agreements(labels)}
        left_out = [_left_out(candidate, views) for candidate in fitted]
        reason = "much less reliable than the best candidate"
        self.candidates_ = {
            "name": [candidate.name for candidate in fitted] + list(dropped),
            "weight": weights.tolist() + [0.0] * len(dropped),
            **{name: values.tolist() + [float("nan")] * len(dropped) for name, values in evidence.items()},
            "without": left_out + [None] * len(dropped),
            "dropped": [None if weight > 0 else reason for weight in weights] + list(dropped.values()),
        }
        for name, weight, why in zip(*(self.candidates_[key] for key in ("name", "weight", "dropped"))):
            self._log(f"weight {weight:.2f} {name}" + (f": {why}" if why else ""))
        self.estimators_ = {candidate.name: candidate.estimator for candidate, w in zip(fitted, weights) if w > 0}

    def _log(self, text: str) -> None:
        if self.verbose:
            print_line(f"AutoClustering: {text}")

    def _can_predict(self) -> bool:
        if "estimators_" in vars(self):
            answers = map(inspect, self.estimators_.values())
            return all(answer.predicts or answer.kind == "topic" for answer in answers)
        return self.candidates is None or all(
            hasattr(estimator, "predict") or hasattr(estimator, "transform") for _, estimator in self.candidates
        )

    def _weights(self) -> dict[str, float]:
        return dict(zip(self.candidates_["name"], self.candidates_["weight"]))

    def _new_labels(self, views: Views) -> dict[str, np.ndarray]:
        ready = prepared(views, self.preparation_)
        labels = {}
        for name, model in self.estimators_.items():
            fitted, names = inspect(model), ready.names
            if self.preparation_:  # a default candidate, which may have been fitted to some of the views
                names = tuple(view for view in names if view in fitted.views)
            labels[name] = np.full(len(views), -1, dtype=np.int64)
            if names:
                some = ready.select(*names)
                labels[name] = np.where(some.present.any(axis=1), fitted.predict(some), -1)
        lost = views.present.any(axis=1) & np.all([part < 0 for part in labels.values()], axis=0)
        if lost.any():
            warn_user(
                f"{lost.sum()} of {len(views)} objects have only views that the chosen methods leave out, so that no "
                "cluster is likelier for them than another. Pass other views of them too.",
                UserWarning,
            )
        return labels


def _left_out(candidate: Candidate, views: Views) -> str | None:
    """Names of the views that a candidate does not see, in one text."""
    seen = views.names if candidate.views is None else candidate.views
    return ", ".join(name for name in views.names if name not in seen) or None


def _stability(candidate: Candidate, views: Views, fit: TimedFit, seed: int, deadline: Deadline) -> float:
    """Mean mutual information of clusters with those of fits on most of the objects, with other seeds.

    NaN where there is no time for one; a fit of a sample is repeated on no more objects than it saw.
    """
    known = np.flatnonzero(fit.labels >= 0)
    size = min(int(SHARE * len(known)), MANY, fit.n_seen)
    n_clusters = candidate.estimator.get_params().get("n_clusters", int(fit.labels.max()) + 1)
    if size < max(2, n_clusters):  # too few objects to leave some out
        return 1.0
    shared = []
    for turn in range(1, (REPEATS if len(known) <= MANY else 1) + 1):
        if deadline.left() < fit.seconds * size / fit.n_seen:
            break
        sample = np.sort(np.random.default_rng([seed, turn]).choice(known, size, replace=False))
        shared.append(normalized_mutual_info(fit.labels[sample], candidate.fit_sample(views[sample], seed + turn)))
    return float(np.mean(shared)) if shared else float("nan")
