"""The clustering to trust where nobody knows which method suits the data: votes over graphs at several scales.

Views are made comparable (counts weighed, measurements scaled); where links join alike objects, views smoothed over
them stand beside the others (`links.py`); views in which there is nothing are left out (`clustering/relations.py`).
Then many clusterings of the views' graphs vote (`votes.py`), and the number of clusters, where none is given, is one
that comes back (`number.py`).

Two ideas of what a view is worth vote, each with half of the clusterings. In the one every view counts alike. In the
other every token does, as in the likelihood of topic models: views of counts stand side by side with rows as long as
they are, so that a title weighs less than its text. Without the second, a weak view of few words counts as much as a
strong one of many.
"""

from __future__ import annotations

import copy
import time
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from coview.auto.candidates import SCALING, join_tokens, preparation, prepared, token_weights, view_scalings
from coview.auto.links import LINK_EVIDENCE, NAMED_LINKS, find_links, judge_links, smoothing
from coview.auto.number import COLUMNS, OBJECTS_PER_CLUSTER, choose_number
from coview.auto.objects import Objects
from coview.auto.votes import AnchorVotes, GraphVotes, count_votes, share_votes
from coview.base import MultiViewEstimator, NumbersGate
from coview.clustering.relations import RELATIONS, check_alignment, structured_views
from coview.engines.loop import NO_DEADLINE, Deadline, largest_in_time, select_engine
from coview.engines.passes import blockwise
from coview.engines.protocol import floating_type, over_rows
from coview.exceptions import InterruptedFitWarning, ViewsError
from coview.inspection import Inspection, Training, numbered
from coview.inspection.features import cluster_frequencies, cluster_means, features_of_means
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TEXT, TRUTH, integer
from coview.utils.progress import print_line, tell
from coview.utils.warn import silenced, warn_user
from coview.validation import base_seed, check_enough_objects
from coview.views.lazy import LazyViews
from coview.views.sources import Changed
from coview.views.views import Views

__all__ = ["AutoClustering"]

N_CLUSTERS = 8  # that links are judged by, where the number is not given
NUMBERED = 0.4  # share of the time for the number of clusters, where it is not given
FITTED = 0.7  # share of the time for samples of growing size; the rest is for all objects
FIRST = 300  # objects of the first of them
TOKENS = "all_tokens"  # what the joined tokens of views of counts are called among these
NEAR = "_near"  # what smoothed views are called by


@shared_parameters
class AutoClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """Clusters that many clusterings, of graphs at several scales, vote for: a default that needs no choice of method.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Number of clusters. None chooses it too: the number whose clusters tell most that comes back, by other scales
        and on other objects (`n_clusters_evidence_`), 2 to 20 or, where 14 and more are among the best of these, to
        100. Where no number is borne out, a warning says it.
    links : str, False or None, default=None
        A view of links among the objects, which the other views are smoothed over; the smoothed ones stand beside them.
        Its columns are the objects: named by their ids, or in the order of the rows. None looks for such a view, and
        smooths where its links join alike objects (`links_`). Where you name the view, it smooths in any case. False
        takes links as features and nothing else.
    time_budget : float or None, default=None
        Seconds that `fit` may take. Where they do not suffice for all objects, a sample is clustered, as large as there
        is time for, and the others go where their neighbors in it are.
    warm_start : bool, default=False
        Another `fit` of a fitted model keeps the number of clusters and numbers them as before where they are alike.
        For the same kind of data with more objects.
    engine : str or engine, default="auto"
        Where neighbors and anchor graphs are computed. "auto", "cpu", "cuda", "dask", "reference" or an engine object;
        "auto" is the processor, and of dask collections their cluster.
    <shared: random_state>
    verbose : int or None, default=None
        1 writes to standard error what was found and how long it took; 0 nothing. None shows where the fit stands in
        notebooks and on the command line, once it takes more than a moment.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object, the one with most votes.
    memberships_ : ndarray (n_objects, n_clusters)
        Shares of the votes for each cluster: how sure the cluster of an object is, but no probabilities. Rows sum to
        one.
    cluster_votes_ : ndarray (n_clusters,)
        Mean share of the votes that the objects of a cluster give it: how sure the cluster is.
    n_clusters_ : int
        Number of clusters, given or chosen.
    n_clusters_evidence_ : dict of lists
        A table with one row for each number that was tried: "n_clusters", "scales" and "samples" (adjusted mutual
        information of the clusters by some scales with those by the others, and of the clusters of one half of the
        objects with where the other half places them) and "information" (nats of the clusters that come back, less
        those that do not). Empty where the number was given.
    voters_ : estimator
        What clusters the objects, as `preparation_` makes them: by neighbor graphs, of more than 25,000 objects by
        anchor graphs.
    token_voters_ : estimator or None
        What else clusters them, where views of many counts stand beside other views: by graphs of all their tokens side
        by side, in which a view with more tokens counts for more. Half of the votes are its own.
    preparation_ : list
        Fitted transformers that make the views comparable.
    token_weights_ : list
        Fitted transformers that weigh the tokens.
    scaling_ : dict of str
        How they do that, by view: "tf-idf" (counts, weighted), "unit length" (they have weights already), "standard"
        (numbers, each column divided by its standard deviation), "pareto" (amounts, by the root of it) or "centered"
        (vectors, all columns by one number), as `ScaledViews` chooses.
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
    cluster_means_ : dict of ndarray (n_clusters, n_features of the view)
        Mean of each feature over the objects of a cluster, rows brought to sum one first: what the clusters are about.
    cluster_frequencies_ : dict of ndarray (n_clusters, n_features of the view)
        Share of a cluster's objects that have the feature, of all its objects: features that many have name it.
    <shared: fitted views>

    See Also
    --------
    SpectralClusteringViews : One graph of neighbors for each view, at one scale.

    Examples
    --------
    >>> from coview import AutoClustering, inspect
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> model = AutoClustering(3, random_state=0).fit(X)
    >>> model.memberships_.shape, model.cluster_votes_.round(2).tolist()
    ((60, 3), [1.0, 1.0, 1.0])
    """

    labels_: np.ndarray
    memberships_: np.ndarray
    voters_: GraphVotes | AnchorVotes
    preparation_: list[Any]
    _models_counts = False
    _takes_lazy = True
    _fitted_state = {
        "labels_": rules.integers("objects", below="clusters"),
        "memberships_": rules.shares("objects", "clusters"),
        "cluster_votes_": rules.floats("clusters", low=0.0),
        "n_clusters_": rules.count(1, size="clusters"),
        "n_clusters_evidence_": rules.record(
            n_clusters=rules.sequence(rules.count(1), "numbers"),
            **dict.fromkeys(COLUMNS[1:], rules.sequence(rules.real(), "numbers")),
        ),
        "links_": LINK_EVIDENCE,
        "view_relations_": RELATIONS,
        "voters_": rules.estimator(methods=["transform"]),
        "token_voters_": rules.or_none(rules.estimator(methods=["transform"])),
        "token_weights_": rules.sequence(rules.estimator(methods=["transform"])),
        "scaling_": SCALING,
        "preparation_": rules.sequence(rules.estimator(methods=["transform"])),
        "cluster_means_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_frequencies_": rules.by_view(rules.floats("clusters", "features of {view}")),
    }
    _parameters = {
        "n_clusters": integer() | NONE,
        "warm_start": TRUTH,
        "links": TEXT | TRUTH | NONE,
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        links: Any = None,
        time_budget: float | None = None,
        warm_start: bool = False,
        engine: Any = "auto",
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.links = links
        self.time_budget = time_budget
        self.warm_start = warm_start
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> AutoClustering:
        """Cluster the objects; y is ignored."""
        deadline = Deadline.after(self.time_budget)
        if not isinstance(self.engine, str) or self.engine != "auto":
            select_engine(self.engine)  # one that is not there is refused before anything is computed
        earlier = self._earlier()
        views = self._checked_views(X, earlier)
        seed = base_seed(self.random_state)
        given = Objects.of(views, seed)
        # smoothed once, all objects together: one by one or in blocks they lack links of others to them
        steps = self._smoothing(views, seed, earlier)
        beside = Objects.of(prepared(views, steps), seed) if steps else given
        self.preparation_ = [*steps, *preparation(beside.base, views.names)]
        self.scaling_ = view_scalings(self.preparation_)
        ready = beside.through(partial(prepared, by=self.preparation_[len(steps) :]))
        self.view_relations_ = check_alignment(ready.base.select(*self.view_names_), seed)
        unused = set(self.view_names_) - set(structured_views(self.view_relations_))
        if unused:
            ready = ready.select([name for name in ready.base.names if name.removesuffix(NEAR) not in unused])
        # who looks along links does not look at single tokens; of many objects anchors stand for the views alone
        self.token_weights_ = [] if steps or given.many else token_weights(given.base.select(*ready.base.names))
        settings = self._settings(ready.base)
        self.n_clusters_, self.n_clusters_evidence_ = self._number(ready.base, settings, seed, deadline, earlier)
        if self.token_weights_:
            ready = ready.through(partial(_with_tokens, tokens=join_tokens(given.base, self.token_weights_)))
        with silenced(but=InterruptedFitWarning):
            self.memberships_ = self._vote(ready, settings, seed, deadline).astype(floating_type(views), copy=False)
        if earlier is not None:
            known = earlier.predict(given.base)
            codes = self.memberships_[given.base_rows].argmax(axis=1)
            self._renumber(matching(known, codes, self.n_clusters_))
        self.labels_ = self.memberships_.argmax(axis=1)
        self._describe(given)
        return self

    @blockwise
    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views; of lazy views block by block."""
        return self._memberships(X).argmax(axis=1)

    @blockwise
    def transform(self, X: Any) -> np.ndarray:
        """Shares of the votes (n_objects, n_clusters) of objects, from some or all of the fitted views."""
        return self._memberships(X)

    def _traveling(self) -> AutoClustering:
        """Return a copy to send to the workers of a cluster, without what is known of each training object."""
        light = copy.copy(self)
        for name in ("labels_", "memberships_"):
            light.__dict__.pop(name, None)
        return light

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters, how sure they are, and what they were found by."""
        return Inspection(
            self,
            "cluster",
            **numbered(self.n_clusters_),
            views=self._view_inputs(),
            training=Training(self.memberships_, codes=self.labels_),
            votes=self._describe_votes(),
            numbers=self.n_clusters_evidence_,
            relations=self.view_relations_,
            scalings=dict(self.scaling_),
            probabilities=False,  # shares of votes
            _memberships=self._memberships,
            _features=lambda view: features_of_means(
                self.cluster_means_[view], self.cluster_frequencies_[view], "cluster"
            ),
        )

    def _unused_views(self) -> list[str]:
        """Views that are not clustered, neither as they are nor smoothed over links."""
        used = {name.removesuffix(NEAR) for name in self.voters_.view_names_}
        used |= {steps.steps[-1][1].links for steps in self.preparation_ if isinstance(steps, Pipeline)}
        return [view for view in self.view_names_ if view not in used]

    # -- pieces

    def _earlier(self) -> AutoClustering | None:
        """Return a copy of the model as it was fitted, where this fit is to go on from there."""
        return copy.copy(self) if self.warm_start and "voters_" in vars(self) else None

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

    def _smoothing(self, views: Any, seed: int, earlier: AutoClustering | None) -> list[Any]:
        """Fitted steps that smooth views over links, where the user names them or they join alike objects.

        Fills `links_`.
        """
        self.links_ = None
        if (earlier is not None and earlier.links_ is None) or (isinstance(views, LazyViews) and not self.links):
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
        self.links_["used"] = named or self.links_["join"] if earlier is None else earlier.links_["used"]
        if named and not self.links_["join"]:
            self.links_["why"] = f"{NAMED_LINKS}; {self.links_['why']}"
        return [smoothing(views, links, seed).fit(views)] if self.links_["used"] else []

    def _number(
        self, views: Views, settings: dict[str, Any], seed: int, deadline: Deadline, earlier: AutoClustering | None
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
            return self.n_clusters, {column: [] for column in COLUMNS}
        began = time.monotonic()
        with silenced(but=InterruptedFitWarning):
            number, table = choose_number(views, settings, seed, deadline.share(NUMBERED))
        self._log(f"{number} clusters, of {len(table['n_clusters'])} numbers: {time.monotonic() - began:.1f} s")
        if max(table["information"], default=0.0) <= 0:
            why = (
                "whichever is tried, more of its clusters is lost on other objects than comes back"
                if table["n_clusters"]
                else "there are too few objects to try any"
            )
            warn_user(
                f"n_clusters=None takes {number}, but the data bear out no number of clusters: {why}. Give the number "
                "that you need, and take the clusters for no more than groups of objects that are near each other.",
                UserWarning,
            )
        return number, table

    def _settings(self, views: Views) -> dict[str, Any]:
        """Return what `GraphVotes` is told: smoothed views are compared by their cosines, as what they were made of."""
        metric = {name: "cosine" for name in views.names if name not in self.view_names_}
        name = self.engine if isinstance(self.engine, str) else self.engine.name
        # the engine of a cluster is for rows that are not in memory
        return {"metric": metric or "auto", "engine": "auto" if name == "dask" else self.engine}

    def _vote(self, objects: Objects, settings: dict[str, Any], seed: int, deadline: Deadline) -> np.ndarray:
        """Memberships of all objects; fills `voters_`.

        Where there is no time for all, a sample is clustered, as large as there is time for, and places the others.
        """
        voters = (
            AnchorVotes(self.n_clusters_, random_state=seed, **{**settings, "engine": self.engine})
            if objects.many
            else GraphVotes(self.n_clusters_, random_state=seed, **settings)
        )
        seconds = 0.0

        def cluster(views: Any) -> np.ndarray:
            nonlocal seconds
            began = time.monotonic()
            self.voters_, self.token_voters_ = copy.copy(voters), None
            if self.token_weights_:
                self.token_voters_ = GraphVotes(self.n_clusters_, engine=settings["engine"], random_state=seed)
                found = _count_together(self.voters_, self.token_voters_, views, seed)
            else:
                found = self.voters_.fit_transform(views)
            seconds = time.monotonic() - began
            self._log(f"{type(self.voters_).__name__} of {len(views):,} objects: {seconds:.1f} s")
            return found

        if deadline == NO_DEADLINE:
            return cluster(objects.all)
        base = objects.base
        first = max(FIRST, OBJECTS_PER_CLUSTER * self.n_clusters_)
        found, rows = largest_in_time(
            lambda some: cluster(base if len(some) == len(base) else base[some]),
            len(base), first, seed, deadline.share(FITTED),
        )  # fmt: skip
        if len(rows) == len(objects):
            return found
        if len(rows) == len(base) and deadline.left() > seconds * len(objects) / len(base):
            return cluster(objects.all)
        tell("all objects")
        return np.concatenate(over_rows(objects.all, partial(_place, self.voters_, self.token_voters_)))

    def _describe(self, objects: Objects) -> None:
        """Fill what is known of the clusters."""
        codes, k = self.labels_[objects.base_rows], self.n_clusters_
        self.cluster_means_ = cluster_means(objects.base, codes, k)
        self.cluster_frequencies_ = cluster_frequencies(objects.base, codes, k)
        own = np.bincount(self.labels_, self.memberships_.max(axis=1), minlength=k)
        self.cluster_votes_ = own / np.maximum(np.bincount(self.labels_, minlength=k), 1)

    def _describe_votes(self) -> dict[str, Any]:
        by_anchors = isinstance(self.voters_, AnchorVotes)
        return {
            "graphs": "anchors" if by_anchors else "neighbors",
            "n_clusterings": sum(len(some.centers_) for some in (self.voters_, self.token_voters_) if some is not None),
            "share": float(self.memberships_.max(axis=1).mean()),
            "by_cluster": self.cluster_votes_.tolist(),
        }

    def _renumber(self, order: np.ndarray) -> None:
        """Put the clusters into this order."""
        self.memberships_ = np.ascontiguousarray(self.memberships_[:, order])
        for voters in filter(None, (self.voters_, self.token_voters_)):
            voters.shares_ = np.ascontiguousarray(voters.shares_[:, :, order])

    def _log(self, text: str) -> None:
        if self.verbose:
            print_line(f"AutoClustering, {text}")

    def _memberships(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "voters_")
        views = self._new_views(X)
        ready = prepared(views, self.preparation_)
        some = [name for name in self.voters_.view_names_ if name in ready]
        if self.token_voters_ is not None:
            ready = _with_tokens(ready, join_tokens(views, self.token_weights_))
        lost = views.present.any(axis=1)
        found = np.full((len(views), self.n_clusters_), 1 / self.n_clusters_)
        if some:
            found = _place(self.voters_, self.token_voters_, ready)
            lost &= ~ready.select(*some).present.any(axis=1)
        if lost.any():
            warn_user(
                f"{lost.sum()} of {len(views)} objects have only views that the clusters were found without, so that "
                "no cluster is likelier for them than another. Pass other views of them too.",
                UserWarning,
            )
        return found.astype(next(views.values()).dtype, copy=False)


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


def _with_tokens(views: Views, tokens: Views) -> Views:
    """Return the views and the tokens of the same objects beside them."""
    present = {name: views.present[:, v] for v, name in enumerate(views.names)}
    return Views({**views, TOKENS: tokens["tokens"]}, present={**present, TOKENS: tokens.present[:, 0]}, ids=views.ids)


def _count_together(voters: GraphVotes, token_voters: GraphVotes, views: Views, seed: int) -> np.ndarray:
    """Cluster the views and their tokens, and count the votes of both; return memberships."""
    own = [name for name in views.names if name != TOKENS]
    votes = np.hstack([voters.cluster(views.select(*own)), token_voters.cluster(views.select(TOKENS))])
    shares = count_votes(votes, voters.n_clusters, seed)
    voters.shares_, token_voters.shares_ = np.split(shares, 2)
    return share_votes(votes, shares)


def _place(voters: Any, token_voters: GraphVotes | None, views: Views, first: int = 0) -> np.ndarray:
    """Return the memberships of objects that come with some or all of the fitted views."""
    some = views.select(*(name for name in voters.view_names_ if name in views))
    if token_voters is None:
        return voters.transform(some)
    votes = np.hstack([voters.cast(some), token_voters.cast(views.select(TOKENS))])
    return share_votes(votes, np.concatenate([voters.shares_, token_voters.shares_]))
