"""The clustering to trust where nobody knows which method suits the data: different methods, weighed by evidence.

Every candidate (`candidates.py`) is fitted to a sample of bounded size (`objects.py`), which is all objects where there
are few. A candidate that fails is dropped with the reason, and the others go on. Those whose clusters are predicted
well enough from the views to be kept are fitted once more, on half of the sample: are their clusters stable?
Reliability and stability (`evidence.py`) give a weight. Those that are kept are then fitted to all objects, or to many
and place the others, and their consensus (`coview.clustering.consensus`) is the clustering.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from coview.auto.candidates import (
    FAILURES,
    MOST,
    SCALING,
    Candidate,
    TimedFit,
    asked_candidates,
    can_place,
    default_candidates,
    given_candidates,
    in_this_process,
    linked_candidates,
    placed,
    preparation,
    prepared,
    view_scalings,
    wide_counts,
)
from coview.auto.completion import completions
from coview.auto.evidence import agreements, candidate_weights, decisive_scores, may_be_kept, reliabilities, support
from coview.auto.links import LINK_EVIDENCE, NAMED_LINKS, find_links, judge_links, smoothing
from coview.auto.number import borne_out, choose_number
from coview.auto.objects import Objects
from coview.auto.table import CandidateTable, candidate_table, left_out
from coview.base import NumbersGate
from coview.clustering.consensus import BaseConsensus
from coview.clustering.relations import RELATIONS, check_alignment, structured_views
from coview.engines.loop import NO_DEADLINE, Deadline, select_engine
from coview.engines.passes import blockwise
from coview.engines.protocol import few_threads, floating_type
from coview.exceptions import InterruptedFitWarning, ParameterError, ViewsError
from coview.inspection import Inspection, inspect
from coview.inspection.features import cluster_frequencies, cluster_means, features_of_means
from coview.metrics import normalized_mutual_info
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TEXT, TRUTH, instance, integer
from coview.utils.progress import print_line, tell
from coview.utils.warn import silenced, warn_user
from coview.validation import base_seed, check_enough_objects
from coview.views.lazy import LazyViews
from coview.views.sources import Changed
from coview.views.views import Views

__all__ = ["AutoClustering"]

SHARE = 0.5  # of the objects that a repeated fit sees
N_CLUSTERS = 8  # that links are judged by, where the number is not given
NUMBERED = 0.3  # share of the time for the number of clusters, where it is not given
FIRST = 0.5  # share of the time for the sample; the rest is for all objects
FITTED = 0.6  # share of a candidate's time for its fit; the rest is for the fits that stability is measured by
JUDGED = 0.8  # share of the time after the candidates for reliability and completion; the rest is for stability
PROBE = 500  # objects that are placed to see how long that takes


@shared_parameters
class AutoClustering(BaseConsensus):
    """Clusters by the method, or the methods, with the best evidence: a default if no method is known to fit best.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Number of clusters. None chooses it too: the number whose clusters tell most that comes back on other samples
        of the objects (`n_clusters_evidence_`), 2 to 20 or, where 14 and more are the best of these, to 100. Views in
        which no structure is found (`view_relations_`) have no say. Where no number is borne out, a warning says it.
    candidates : None or list of names and (name, estimator), default=None
        Clusterers of all views, or topic models, whose most likely topic is used. None tries neighbor graphs
        ("graphs"), of more than 10,000 objects anchor graphs alone ("anchors"), angles ("sphere"), correlations
        ("correlation") and, for counts, singular vectors ("latent") and "topics". Any of these names, and "smoothed"
        where there are links, stands for that candidate.
    links : str, False or None, default=None
        A view of links among the objects, which the other views are smoothed over for one more candidate, "smoothed".
        Its columns are the objects: named by their ids, or in the order of the rows. None looks for such a view, and
        leaves that candidate out where its links do not join alike objects (`links_`); where you name the view, the
        candidate takes part, weighed by evidence as all others are. False takes links as features and nothing else.
    time_budget : float or None, default=None
        Seconds that `fit` may take. Candidates share it; one that would take too long on all objects is fitted to a
        sample, as large as there is time for, and one whose turn never comes is dropped (`candidates_` says so).
    warm_start : bool, default=False
        Another `fit` of a fitted model keeps the methods that it chose, their weights and the number of clusters, fits
        those methods alone to the objects that are given, and numbers the clusters as before where they are alike. For
        the same kind of data with more objects; whether another method has become better is not asked again.
    engine : str or engine, default="auto"
        Where default candidates compute that can choose: neighbors of graphs, anchor graphs and topics. "auto", "cpu",
        "cuda", "dask", "reference" or an engine object; "auto" is the processor, and of dask collections their cluster.
    <shared: random_state>
    verbose : int or None, default=None
        1 writes to standard error which candidate is being fitted, and its weight; 0 nothing. None shows where the fit
        stands in notebooks and on the command line, once it takes more than a moment.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        Share of the kept candidates' weight that puts an object into each cluster, spread a little: no
        probabilities. Rows sum to one.
    candidates_ : dict of lists
        A table, which prints as one, with one row per candidate: "name", "method" (its class), "weight" (0 where it was
        dropped), "score" (what decides, as a share of the best: the prior of the method, what the views say for it, and
        to a small power its stability; the weight is its 12th power), "reliability" (how well its clusters are
        predicted from the views), "completion" (of counts of many features: nats of an object that clusters by half of
        its features predict of the other half), "stability" (whether they come back on samples of the objects),
        "agreement" with the other candidates (which does not count), "without" (the views that it leaves out, and why,
        or None), and "dropped" (why, or None).
    n_clusters_ : int
        Number of clusters, given or chosen.
    n_clusters_evidence_ : dict of lists
        A table with one row for each number that was tried: "n_clusters", "information" (nats of its clusters that
        come back on other samples, less those that do not) and "reproduced" (adjusted mutual information of
        the clusters of two samples). Empty where the number was given.
    labels_by_candidate_ : dict of ndarray (n_objects,)
        Clusters of the training objects by each candidate that was fitted to all of them.
    estimators_ : dict
        Fitted estimators of the candidates that were kept.
    given_candidates_ : list of str
        Names of the candidates whose estimators were given: these see the views as they are, the others as
        `preparation_` makes them.
    cluster_mapping_ : dict of ndarray (n_clusters, clusters of the candidate)
        Share of each candidate's clusters in each cluster of the consensus; rows sum to one.
    cluster_means_ : dict of ndarray (n_clusters, n_features of the view)
        Mean of each feature over the objects of a cluster, rows brought to sum one first: what the clusters are about.
    cluster_frequencies_ : dict of ndarray (n_clusters, n_features of the view)
        Share of a cluster's objects that have the feature, of all its objects: features that many have name it.
    preparation_ : list
        Fitted transformers that make the views comparable for the default candidates.
    scaling_ : dict of str
        How they do that, by view: "tf-idf" (counts, weighted), "standard" (numbers, each column divided by its
        standard deviation), "pareto" (amounts, by the root of it) or "centered" (vectors, all columns by one number),
        as `ScaledViews` chooses. Empty where all candidates were given.
    links_ : dict or None
        The view of links, if there is one, and whether they join alike objects: "view", "n_links", "alike_by_view"
        (share of linked pairs that are more alike in another view than 95 % of pairs joined at random),
        "together_by_view" (share of links within a cluster of that view, less the share by chance), "join", "why", and
        "used": whether features are smoothed over them.
    view_relations_ : dict of lists
        A table with one row per view, whether it belongs to the others: "view" and
        "verdict", one word for each view: "shares" (it belongs to the others), "alone" (structure of
        its own, and nothing shared: a warning asks whether its rows are in the order of the others), "noise" (neither:
        half of its columns says nothing of the other half, or there are no halves; where another view has structure,
        clusters and their number are found without it) and "unknown" (nothing shared, and why cannot be told: few
        objects, or no other view with structure).
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
    ['graphs', 'sphere', 'correlation', 'latent', 'topics', 'anchors']
    >>> max(model.candidates_["weight"])
    1.0
    """

    n_clusters: int | None  # type: ignore[assignment]
    candidates_: CandidateTable
    estimators_: dict[str, Any]
    preparation_: list[Any]
    _takes_lazy = True
    _fitted_state = {
        "candidates_": candidate_table("score", "reliability", "completion", "stability", "agreement"),
        "n_clusters_": rules.count(1, size="clusters"),
        "n_clusters_evidence_": rules.record(
            n_clusters=rules.sequence(rules.count(1), "numbers"),
            information=rules.sequence(rules.real(), "numbers"),
            reproduced=rules.sequence(rules.real(), "numbers"),
        ),
        "links_": LINK_EVIDENCE,
        "view_relations_": RELATIONS,
        "estimators_": rules.mapping(rules.estimator(), "clusterings"),
        "given_candidates_": rules.optional(rules.sequence(rules.text())),  # models of older files have none
        "labels_by_candidate_": rules.mapping(rules.integers("objects", low=-1)),
        "scaling_": SCALING,
        "preparation_": rules.sequence(rules.estimator(methods=["transform"])),
        "cluster_means_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_frequencies_": rules.by_view(rules.floats("clusters", "features of {view}")),
    }
    _parameters = {
        "n_clusters": integer() | NONE,
        "warm_start": TRUTH,
        "links": TEXT | TRUTH | NONE,
        "candidates": instance(list, tuple) | NONE,
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        candidates: Any = None,
        links: Any = None,
        time_budget: float | None = None,
        warm_start: bool = False,
        engine: Any = "auto",
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.candidates = candidates
        self.links = links
        self.time_budget = time_budget
        self.warm_start = warm_start
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> AutoClustering:
        """Fit the candidates, weight them by evidence and compute their consensus; y is ignored."""
        deadline = Deadline.after(self.time_budget)
        if not isinstance(self.engine, str) or self.engine != "auto":
            select_engine(self.engine)  # one that is not there is refused; a candidate would be dropped for it
        earlier = self._earlier()
        views = self._checked_views(X, earlier)
        seed = base_seed(self.random_state)
        objects = Objects.of(views, self.n_clusters or 0, seed)
        known = None if earlier is None else earlier.predict(objects.sample)
        steps = self._smoothing(views, seed, earlier)
        # smoothed once, all objects together: one by one or in blocks they lack links of others to them
        beside = Objects.of(prepared(views, steps), self.n_clusters or 0, seed) if steps else objects
        transformers = preparation(beside.base, views.names)
        ready = beside.through(partial(prepared, by=transformers))
        self.view_relations_ = check_alignment(ready.sample.select(*self.view_names_), seed)
        self.n_clusters_, self.n_clusters_evidence_ = self._number(ready, seed, deadline, earlier)
        asks_default = self._asks_default() if earlier is None else bool(earlier.preparation_)
        self.preparation_ = [*steps, *transformers] if asks_default else []
        self.scaling_ = view_scalings(self.preparation_)
        self.given_candidates_ = self._own_names() if earlier is None else earlier._as_given()
        given = objects if isinstance(views, LazyViews) else replace(objects, all=views)
        data = Seen(ready, given)
        if earlier is None:
            judged = self._judge(objects, data, seed, deadline.share(FIRST) if objects.sampled else deadline)
        else:
            judged, self.candidates_ = earlier._kept(), copy.deepcopy(earlier.candidates_)
        with few_threads(len(views), self.n_clusters_), silenced(but=InterruptedFitWarning):
            kept = self._fit_kept(judged, data, deadline)
        # the kept clusterings are few and good: each is a start, and random ones would only cost time
        self._agree(kept, views, self.n_clusters_, seed=seed, n_init=len(kept), deadline=deadline)
        if known is not None:
            self._renumber(matching(known, self.labels_[objects.sample_rows], self.n_clusters_))
        codes = self.labels_[objects.base_rows]
        self.cluster_means_ = cluster_means(objects.base, codes, self.n_clusters_)
        self.cluster_frequencies_ = cluster_frequencies(objects.base, codes, self.n_clusters_)
        return self

    @available_if(lambda self: self._can_predict())
    @blockwise
    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views; of lazy views block by block."""
        return self._memberships(X).argmax(axis=1)

    @available_if(lambda self: self._can_predict())
    @blockwise
    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects (n_objects, n_clusters), from some or all of the fitted views."""
        return self._memberships(X)

    def _traveling(self) -> AutoClustering:
        """Return a copy to send to the workers of a cluster, without what is known of each training object."""
        light = copy.copy(self)
        for name in ("labels_", "memberships_", "labels_by_candidate_"):
            light.__dict__.pop(name, None)
        return light

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters, and the candidates that they were chosen from."""
        # the objective is that of a consensus of labels, which tells nobody how good the clusters are
        # and memberships are shares of the weight of the methods that say so
        return replace(
            super()._inspect(),
            candidates=self.candidates_,
            numbers=self.n_clusters_evidence_,
            relations=self.view_relations_,
            scalings=dict(vars(self).get("scaling_", {})),
            history={},
            probabilities=False,
            _features=lambda view: features_of_means(
                self.cluster_means_[view], self.cluster_frequencies_[view], "cluster"
            ),
        )

    def _unused_views(self) -> list[str]:
        """Views that no method that is kept looks at, as they are or smoothed over links."""
        used: set[str] = set()
        for name, model in self.estimators_.items():
            inner = inspect(model)
            used |= set(self.view_names_ if name in self._as_given() else inner.views) - set(inner.unused_views)
        for steps in (one for one in self.preparation_ if isinstance(one, Pipeline)):
            last = steps.steps[-1][1]
            near = [view for view in last.smoothed_views_ if f"{view}_near" in used]
            used |= {last.links, *near} if near else set()
        return [view for view in self.view_names_ if view not in used]

    # -- pieces

    def _earlier(self) -> AutoClustering | None:
        """Return a copy of the model as it was fitted, where this fit is to go on from there."""
        return copy.copy(self) if self.warm_start and "estimators_" in vars(self) else None

    def _checked_views(self, X: Any, earlier: AutoClustering | None = None) -> Any:
        views = self._fit_views(X)
        if earlier is not None and views.n_features != earlier.n_features_by_view_:
            raise ViewsError(
                f"A fit with warm_start needs the views of the earlier one, {earlier.n_features_by_view_}, got "
                f"{views.n_features}. Use warm_start=False for other views."
            )
        check_enough_objects(len(views), self.n_clusters or 1)
        if isinstance(views, LazyViews):
            gate = NumbersGate(type(self).__name__, self._models_counts, floating_type(views))
            views = LazyViews(Changed(views.source, gate))
        return views

    def _number(
        self, ready: Objects, seed: int, deadline: Deadline, earlier: AutoClustering | None
    ) -> tuple[int, dict[str, list[Any]]]:
        """Return the number of clusters: that of the earlier fit, the one that is given, or the best by evidence."""
        if earlier is not None:
            if self.n_clusters not in (None, earlier.n_clusters_):
                warn_user(
                    f"n_clusters={self.n_clusters} is not used: a fit with warm_start keeps the {earlier.n_clusters_} "
                    "clusters of the earlier one. Use warm_start=False for another number.",
                    UserWarning,
                )
            return earlier.n_clusters_, earlier.n_clusters_evidence_
        if self.n_clusters is not None:
            return self.n_clusters, {column: [] for column in ("n_clusters", "information", "reproduced")}
        if self._own_names():
            raise ParameterError(
                "must be a number where candidates are given, which have numbers of their own.", parameter="n_clusters"
            )
        some = ready.sample.select(*structured_views(self.view_relations_))
        number, table = choose_number(some, seed, deadline.share(NUMBERED), in_this_process(self.engine))
        if not borne_out(table):
            why = (
                "whichever is tried, more of its clusters is lost on other samples of the objects than comes back"
                if table["n_clusters"]
                else "there are too few objects to try any"
            )
            warn_user(
                f"n_clusters=None takes {number}, but the data bear out no number of clusters: {why}. Give the number "
                "that you need, and take the clusters for no more than groups of objects that are near each other.",
                UserWarning,
            )
        return number, table

    def _smoothing(self, views: Any, seed: int, earlier: AutoClustering | None) -> list[Any]:
        """Fitted steps that smooth views over links, where the user names them or they join alike objects.

        Fills `links_`.
        """
        self.links_ = None
        asked = self._asks_default("smoothed") if earlier is None else earlier.links_ is not None
        if not asked or (isinstance(views, LazyViews) and not self.links):
            return []
        if isinstance(views, LazyViews):
            raise ViewsError(
                f"links={self.links!r} needs all objects in memory, got LazyViews. Use X.collect(), or links=False."
            )
        links = find_links(views, self.links)
        if links is None:
            return []
        tell("links")
        self.links_ = vars(judge_links(views, links, self.n_clusters or N_CLUSTERS, seed)).copy()
        named = bool(self.links) and len(views.names) > 1  # links alone have nothing to be smoothed
        takes_part = (
            named or self.links_["join"]
            if earlier is None
            else any(isinstance(one, Pipeline) for one in earlier.preparation_)
        )
        self.links_["used"] = takes_part
        if named and not self.links_["join"]:
            self.links_["why"] = f"{NAMED_LINKS}; {self.links_['why']}"
        return [smoothing(views, links, seed).fit(views)] if takes_part else []

    def _kept(self) -> list[Judged]:
        """Return the fitted candidates with their weights, ready to be fitted again."""
        fit, own = TimedFit(np.zeros(0, dtype=np.int64), 1, 0.0, 0.0), self._as_given()
        return [
            Judged(
                Candidate(name, model, as_given=True)
                if name in own
                else Candidate(name, model, views=tuple(inspect(model).views), most=MOST.get(name, np.inf)),
                fit,
                weight=self._weights()[name],
            )
            for name, model in self.estimators_.items()
        ]

    def _judge(self, objects: Objects, data: Seen, seed: int, deadline: Deadline) -> list[Judged]:
        """Fit all candidates to the sample and weigh them by evidence; fills `candidates_`."""
        dropped: dict[str, str] = {}
        candidates: list[Candidate] = []
        names = structured_views(self.view_relations_)
        sample = objects.sample.select(*names)
        if self._asks_default():
            candidates, dropped = default_candidates(sample, self.n_clusters_, seed, len(objects), self.engine)
            steps = [one for one in self.preparation_ if isinstance(one, Pipeline)]
            if len(names) < len(objects.base.names):
                candidates = [replace(one, views=one.views or tuple(names)) for one in candidates]
            if steps:
                candidates = linked_candidates(candidates, names, steps[0], seed)
            elif self.links_ is not None:
                dropped["smoothed"] = self.links_["why"]
        if self.candidates is not None:
            known = {"smoothed": "no view holds links among the objects", **dropped}
            candidates, dropped = given_candidates(self.candidates, candidates, known, seed)
        # what a candidate says of itself, such as that it has not converged, is for the evidence to judge
        with few_threads(len(objects.sample), self.n_clusters_), silenced(but=InterruptedFitWarning):
            fits, failed = self._fit_candidates(candidates, data, seed, deadline)
            plain = data.prepared.sample.select(*names)  # what views are made of says all that they say
            counted = wide_counts(sample)
            counts = sample.select(*counted) if counted else None
            judged = self._weigh(fits, data, plain, counts, seed, deadline)
        methods = {one.name: one.method for one in candidates}
        self._tabulate(judged, objects.base.names, {**failed, **dropped}, methods)
        return judged

    def _fit_candidates(
        self, candidates: list[Candidate], data: Seen, seed: int, deadline: Deadline
    ) -> tuple[list[Judged], dict[str, str]]:
        """Those that could be fitted to a sample of the objects, and why others failed.

        Where time is short the cheapest comes first, and is what remains where there is none for the others.
        """
        fits: dict[str, Judged] = {}
        failed: dict[str, str] = {}
        last: Exception | None = None
        turns = candidates if deadline == NO_DEADLINE else sorted(candidates, key=lambda candidate: candidate.cost)
        least = 0.0  # seconds that a candidate takes at least: what one of lower cost took for its first sample
        for number, candidate in enumerate(turns):
            place = f"candidate {number + 1}/{len(turns)}, {candidate.name}"
            tell(place, number, len(turns))
            mine = deadline.share(1 / (len(turns) - number + 1))  # the last part is for the evidence
            if fits and deadline.share(JUDGED).left() <= least:
                failed[candidate.name] = f"not fitted within the time budget of {self.time_budget:g} seconds"
                continue
            began, views = time.monotonic(), data.by(candidate).sample
            try:
                fit = candidate.fit_in_time(views, seed, mine.share(FITTED))
            except FAILURES as error:
                failed[candidate.name], last = f"could not be fitted: {error}", error
                self._log(f"{place}: {failed[candidate.name]}")
            else:
                least = max(least, fit.first_seconds)
                fits[candidate.name] = Judged(candidate, fit)
                some = "" if fit.n_seen == len(views) else f"fitted to {fit.n_seen:,} objects, "
                self._log(f"{place}: {some}{time.monotonic() - began:.1f} s")
        if not fits:
            raise ValueError(f"No candidate could be fitted. The last error was: {last}") from last
        return [fits[candidate.name] for candidate in candidates if candidate.name in fits], failed

    def _weigh(
        self, fits: list[Judged], data: Seen, ready: Views, counts: Views | None, seed: int, deadline: Deadline
    ) -> list[Judged]:
        """Weights by evidence: all by what the views say, and those that may still be the best by stability too."""
        labels = [one.fit.labels for one in fits]
        reliability, completion = np.full((2, len(fits)), np.nan)
        if len(labels) > 1 or not deadline.is_over():  # else there is nothing to choose from
            tell("evidence")
            judging = deadline.share(JUDGED)
            first = judging if counts is None else judging.share(0.5)
            reliability = reliabilities(ready, labels, self.n_clusters_, seed, first)
            if counts is not None:
                completion = completions(counts, labels, seed, judging)
        # who leaves views out may not place every object: those it does not place are not predicted
        anything = ready.present.any(axis=1)
        placed = np.array([np.mean(one.fit.labels[anything] >= 0) if one.candidate.views else 1.0 for one in fits])
        counted = 0.0 if counts is None else len(counts.names) / len(ready.names)
        score = support(reliability, completion, counted) * placed * np.array([one.candidate.prior for one in fits])
        stability = np.full(len(fits), np.nan)
        for i in np.argsort(-score, kind="stable"):
            if not may_be_kept(score[i], score, stability):
                break
            try:
                views = data.by(fits[i].candidate).sample
                stability[i] = _stability(fits[i].candidate, views, fits[i].fit, seed, deadline)
            except FAILURES as error:
                stability[i] = 0.0  # nothing comes back
                self._log(f"evidence, {fits[i].candidate.name}: could not be fitted to a part of the objects: {error}")
        weights = candidate_weights(score, stability)
        decided = decisive_scores(score, stability)
        whys = _why_dropped(fits, score, stability, placed)
        return [
            replace(
                one,
                reliability=float(reliability[i]),
                completion=float(completion[i]),
                stability=float(stability[i]),
                agreement=float(agreement),
                score=float(decided[i]),
                weight=float(weights[i]),
                dropped=whys[i],
            )
            for i, (one, agreement) in enumerate(zip(fits, agreements(labels)))
        ]

    def _tabulate(
        self, judged: list[Judged], views: Sequence[str], others: dict[str, str], methods: dict[str, str]
    ) -> None:
        """Fill `candidates_`: those that were fitted, and why others were not."""
        noise = dict.fromkeys(set(views) - set(structured_views(self.view_relations_)), "noise")
        rows = [
            (one.candidate.name, one.weight, one.score, one.reliability, one.completion, one.stability, one.agreement,
             left_out(views, one.candidate.sources or one.candidate.views or views, one.candidate.why, noise),
             one.dropped)
            for one in judged
        ]  # fmt: skip
        rows += [(name, 0.0, np.nan, np.nan, np.nan, np.nan, np.nan, None, why) for name, why in others.items()]
        columns = (
            "name",
            "weight",
            "score",
            "reliability",
            "completion",
            "stability",
            "agreement",
            "without",
            "dropped",
        )
        table = {column: list(values) for column, values in zip(columns, zip(*rows))}
        self.candidates_ = CandidateTable(name=table.pop("name"), method=[methods.get(row[0]) for row in rows], **table)
        for name, weight, why in zip(*(self.candidates_[key] for key in ("name", "weight", "dropped"))):
            self._log(f"weight {weight:.2f}, {name}" + (f": {why}" if why else ""))

    def _fit_kept(self, judged: list[Judged], data: Seen, deadline: Deadline) -> dict[str, np.ndarray]:
        """Clusters of all objects by the candidates that are kept; fills `estimators_` and `labels_by_candidate_`.

        What was fitted to a sample is fitted again to all, or to as many as it takes, and places the others. Where
        there is no time for that, the first fit places them.
        """
        n_objects = len(data.given)
        whole = {one.candidate.name: one for one in judged if len(one.fit.labels) == n_objects}
        self.labels_by_candidate_ = {name: one.fit.labels for name, one in whole.items()}
        self.estimators_ = {name: one.candidate.estimator for name, one in whole.items() if one.weight > 0}
        kept = {name: whole[name].fit.labels for name in self.estimators_}
        chosen = [one for one in judged if one.weight > 0 and one.candidate.name not in whole]
        chosen.sort(key=lambda one: -one.weight)
        for number, one in enumerate(chosen):
            tell(f"all objects, {one.candidate.name}", number, len(chosen))
            began = time.monotonic()
            try:
                objects, mine = data.by(one.candidate), deadline.share(1 / (len(chosen) - number + 0.5))
                candidate, labels = self._fit_one(one, objects, mine, kept)
            except FAILURES as error:
                self._drop(one.candidate.name, f"could not be fitted to all objects: {error}")
                if number == len(chosen) - 1 and not kept:
                    raise
                continue
            if labels is None:
                self._drop(one.candidate.name, f"not fitted within the time budget of {self.time_budget:g} seconds")
                continue
            kept[candidate.name] = self.labels_by_candidate_[candidate.name] = labels
            self.estimators_[candidate.name] = candidate.estimator
            self._log(f"all objects, {candidate.name}: {time.monotonic() - began:.1f} s")
        return kept

    def _fit_one(
        self, one: Judged, objects: Objects, deadline: Deadline, kept: dict[str, np.ndarray]
    ) -> tuple[Candidate, np.ndarray | None]:
        """Fit one candidate to more objects than the sample, if there is time, and place all; None if there is none."""
        candidate, placing = one.candidate, 0.0
        can_place = candidate.can_place()
        if can_place and deadline != NO_DEADLINE:
            began = time.monotonic()
            candidate.place(objects.sample[:PROBE])
            placing = (time.monotonic() - began) * len(objects) / min(PROBE, len(objects.sample))
        if kept and deadline.left() < placing:
            return candidate, None
        labels = None
        more = min(len(objects), candidate.most) / one.fit.n_seen
        if not can_place or deadline.left() - placing > one.fit.seconds * more:
            candidate, labels = candidate.refit(objects, deadline)
        return candidate, candidate.place(objects.all) if labels is None else labels

    def _renumber(self, order: np.ndarray) -> None:
        """Put the clusters into this order."""
        self.memberships_ = np.ascontiguousarray(self.memberships_[:, order])
        self.labels_ = self.memberships_.argmax(axis=1)
        self.cluster_mapping_ = {name: part[order] for name, part in self.cluster_mapping_.items()}

    def _drop(self, name: str, why: str) -> None:
        row = self.candidates_["name"].index(name)
        self.candidates_["weight"][row], self.candidates_["dropped"][row] = 0.0, why

    def _log(self, text: str) -> None:
        if self.verbose:
            print_line(f"AutoClustering, {text}")

    def _can_predict(self) -> bool:
        if "estimators_" in vars(self):
            return all(map(can_place, self.estimators_.values()))
        given = [] if self.candidates is None else asked_candidates(self.candidates)
        return all(hasattr(one, "predict") or hasattr(one, "transform") for _, one in given if one is not None)

    def _own_names(self) -> list[str]:
        """Names of the candidates whose estimators the user gave."""
        given = [] if self.candidates is None else asked_candidates(self.candidates)
        return [name for name, estimator in given if estimator is not None]

    def _as_given(self) -> list[str]:
        """Names of the candidates that see the views as they are; of an older file all or none."""
        return vars(self).get("given_candidates_", [] if self.preparation_ else list(self.estimators_))

    def _asks_default(self, name: str | None = None) -> bool:
        """Whether this default candidate, or any, is to be tried."""
        names = None if self.candidates is None else [one for one in self.candidates if isinstance(one, str)]
        return names is None or (bool(names) if name is None else name in names)

    def _weights(self) -> dict[str, float]:
        return dict(zip(self.candidates_["name"], self.candidates_["weight"]))

    def _new_labels(self, views: Views) -> dict[str, np.ndarray]:
        ready, own = prepared(views, self.preparation_), self._as_given()
        labels = {}
        for name, model in self.estimators_.items():
            if name in own:
                labels[name] = placed(model, None, views)
            else:  # a default candidate may have been fitted to some of the views
                labels[name] = placed(model, tuple(inspect(model).views), ready)
        lost = views.present.any(axis=1) & np.all([part < 0 for part in labels.values()], axis=0)
        if lost.any():
            warn_user(
                f"{lost.sum()} of {len(views)} objects have only views that the chosen methods leave out, so that no "
                "cluster is likelier for them than another. Pass other views of them too.",
                UserWarning,
            )
        return labels


@dataclass(frozen=True)
class Seen:
    """The objects as default candidates see them, made comparable, and as they were given."""

    prepared: Objects
    given: Objects

    def by(self, candidate: Candidate) -> Objects:
        """Return the objects as a candidate sees them."""
        return self.given if candidate.as_given else self.prepared


@dataclass(frozen=True)
class Judged:
    """A candidate that was fitted to the sample, and what is known of it."""

    candidate: Candidate
    fit: TimedFit
    reliability: float = np.nan
    completion: float = np.nan
    stability: float = np.nan
    agreement: float = np.nan
    score: float = np.nan
    weight: float = 0.0
    dropped: str | None = None


def matching(known: np.ndarray, codes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the order of clusters in which most of these codes are the known ones.

    Examples
    --------
    >>> matching(np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1]), 3)
    array([2, 0, 1])
    """
    shared = np.zeros((n_clusters, n_clusters))
    np.add.at(shared, (known, codes), 1.0)
    return linear_sum_assignment(-shared)[1]


def _why_dropped(fits: list[Judged], scores: np.ndarray, stability: np.ndarray, placed: np.ndarray) -> list[str | None]:
    """Say of each candidate without weight what would have kept it: the best one's figure in place of its own."""
    weights = candidate_weights(scores, stability)
    best = int(weights.argmax())
    name = fits[best].candidate.name

    def kept(i: int, score: float, stable: float) -> bool:
        """Whether candidate i would be kept with these figures."""
        others = np.arange(len(fits)) != i
        return bool(candidate_weights(np.where(others, scores, score), np.where(others, stability, stable))[i] > 0)

    def why(i: int) -> str:
        full = scores[i] / max(placed[i], 1e-12) * placed[best]
        if placed[i] < placed[best] and kept(i, full, stability[i]):
            return f"places only {placed[i]:.0%} of the objects, by the views that it sees"
        mine, prior = fits[i].candidate.prior, fits[best].candidate.prior
        if mine < prior and kept(i, scores[i] / mine * prior, stability[i]):
            return f"{name} counts {prior / mine:.3g} times as much before any evidence, and that decides"
        if np.isnan(stability[i]):  # out before stability was asked for
            return f"less supported by the views than {name}"
        by_support, by_stability = kept(i, scores[best], stability[i]), kept(i, scores[i], stability[best])
        if by_support != by_stability:
            return f"less {'supported by the views' if by_support else 'stable'} than {name}"
        return f"less supported by the views and less stable than {name}"

    return [None if weights[i] > 0 else why(i) for i in range(len(fits))]


def _stability(candidate: Candidate, views: Views, fit: TimedFit, seed: int, deadline: Deadline) -> float:
    """Mutual information of clusters with those of another fit on a part of the objects, with another seed.

    NaN where there is no time for it; a fit of a sample is repeated on no more objects than it saw.
    """
    known = np.flatnonzero(fit.labels >= 0)
    size = min(int(SHARE * len(known)), fit.n_seen)
    n_clusters = candidate.estimator.get_params().get("n_clusters", int(fit.labels.max()) + 1)
    if size < max(2, n_clusters):  # too few objects to leave some out
        return 1.0
    if deadline.left() < fit.seconds * size / fit.n_seen:
        return float("nan")
    some = np.sort(np.random.default_rng([seed, 1]).choice(known, size, replace=False))
    again = candidate.fit_sample(views[some], seed + 1, None if deadline == NO_DEADLINE else max(fit.seconds, 1e-9))
    return float(normalized_mutual_info(fit.labels[some], again))
