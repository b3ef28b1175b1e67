"""Clustering without a choice of method: votes over neighbor graphs at several scales.

Views are scaled; where linked objects are similar, views smoothed over the links are added (`links.py`); views without
structure are left out (`clustering/relations.py`). Clusterings of the views' graphs vote (`votes.py`), and the number
of clusters, if none is given, is chosen by resampling (`number.py`).

Half of the clusterings count every view equally. The other half count every token equally, as the likelihood of topic
models does: views of counts are concatenated with rows of their original length, so that a title weighs less than its
text. Without the second half, a weak view of few words would count as much as a strong one of many.

Not all words are of use: where views are plain counts, every other scale votes first, and then the rest, with words
weighed also by how much they tell of the clusters of the first votes (`clustering/telling_words.py`). Both count.

Neighbor graphs compare all pairs of objects. Of more than `MOST_OBJECTS`, or of more than there is time for, a sample
is clustered, and all others are placed by their neighbors in it, as new objects are.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.pipeline import Pipeline

from coview.assignment.pairs import find_disputed, read_pairs, weigh_votes
from coview.auto.number import COLUMNS, OBJECTS_PER_CLUSTER, compare_numbers
from coview.auto.preparation import (
    MOST_OBJECTS,
    SCALING,
    WEIGHTED,
    join_tokens,
    preparation,
    prepared,
    token_weights,
    view_scalings,
)
from coview.auto.votes import N_CLUSTERINGS, SCALES, GraphVoter
from coview.base import MultiViewEstimator, NumbersGate
from coview.clustering.links import LINK_EVIDENCE, find_links, judge_links, smoothing
from coview.clustering.relations import RELATIONS, check_alignment, weigh_by_relations
from coview.clustering.telling_words import stress_telling_words
from coview.clustering.vote_counting import count_votes
from coview.engines.loop import Deadline, largest_in_time, select_engine
from coview.engines.passes import blockwise
from coview.engines.protocol import floating_type, over_rows
from coview.exceptions import InterruptedFitWarning, ViewsError
from coview.inspection import Inspection, Selection, Structure, Training, numbered
from coview.inspection.features import features_of_means, summarize_groups
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TEXT, TRUTH, integer
from coview.utils.progress import print_line, tell
from coview.utils.sampling import sample_positions
from coview.utils.warn import silenced, warn_user
from coview.validation import base_seed, check_enough_objects
from coview.views.lazy import LazyViews
from coview.views.sources import Changed
from coview.views.views import Views

__all__ = ["AutoClustering"]

SAMPLE = 5_000  # of more objects, and those that the number of clusters is chosen by
LINKED_CLUSTERS = 8  # that links are judged by, where the number is not given
HALF = 0.5  # of the time that is left: for the number of clusters, for samples of growing size, and for all objects
FIRST = 300  # objects of the first of them
BLOCK = 8192  # objects that are placed at a time


def _check_voters(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(rules.sequence(rules.estimator(methods=["place"])), value, where)
    if {type(voter) for voter in value} != {GraphVoter}:
        checker.refuse(where, "has no voters")
    for voter in value:
        checker.check(rules.sequence(rules.choice(*SCALES)), voter.scales, f"{where}.scales")
        if not voter.scales:
            checker.refuse(f"{where}.scales", "is empty")
        n = len(voter.view_names_)
        checker.size(n + 2 * (n > 1), len(voter.part_weights_), f"{where}.part_weights_")
        checker.size("sampled", next(iter(voter.neighbors_.values())).shape[0], f"{where}.neighbors_")


@shared_parameters
class AutoClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """Cluster objects by votes over spectral clusterings of neighbor graphs at several scales.

    A default that needs no choice of method, of scaling or of the number of clusters.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None chooses it, from 2 to 100: the number whose clusters are most informative and are still
        found in resampled data (`n_clusters_evidence_`). A warning says where no number is.
    links : str, False or None, default=None
        View of links among the objects, whose columns are the objects: named by their ids, or in the order of the rows.
        Features smoothed over it are added to the views. None finds such a view, and uses it if linked objects are
        similar (`links_`); a name uses it in any case; False takes links as features.
    time_budget : float or None, default=None
        Seconds that `fit` may take. Where they are too few for all objects, a sample is clustered, as large as there is
        time for, and the others are placed by their neighbors in it.
    engine : str or engine, default="auto"
        Where neighbors and eigenvectors are computed: "auto", "cpu", "cuda", "dask", "reference" or an engine object.
        "auto" is the processor, or the cluster of dask collections.
    <shared: random_state>
    verbose : int or None, default=None
        1 writes the steps and their seconds to standard error; 0 nothing. None shows progress in notebooks and on the
        command line, once a fit takes more than a moment.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object, the one with most votes.
    memberships_ : ndarray (n_objects, n_clusters)
        Shares of the votes for each cluster. They say how certain the cluster of an object is, but are no
        probabilities. Where words are weighed by the clusters of the first votes, the others are not independent of
        these, and shares are somewhat larger for that.
    cluster_votes_ : ndarray (n_clusters,)
        Mean share of the votes that the objects of a cluster give it.
    n_clusters_ : int
        Number of clusters, given or chosen.
    n_clusters_evidence_ : dict of lists
        A table with one row for each number that was tried: "n_clusters", "stability" (adjusted mutual information of
        the clusters of one half of the objects with those that the other half predicts) and "information" (in nats: of
        the clusters that are found again, less of those that are not). Empty if the number was given.
    voters_ : list of estimators
        The graphs that voted last, by which new objects are placed: one in which every view counts equally, and, if
        views of many counts are beside others, one in which every token does.
    disputed_pairs_ : ndarray of int (n_pairs, 2)
        Positions of pairs of objects that about half of the clusterings put together, the most disputed first: whether
        they belong together tells most. `EditedModel.together` and `EditedModel.apart` take ids, where there are any:
        ``X.ids[pair]``.
    sample_ : ndarray of int
        Positions of the objects that were clustered, usually all; others and new objects are placed by their neighbors
        among these.
    preparation_ : list
        Fitted transformers that scale the views; `idf_` of counts is multiplied by what words tell of the clusters.
    token_weights_ : list
        Fitted transformers that weigh the tokens, in the same way.
    scaling_ : dict of str
        How each view is scaled: "tf-idf" (counts), "unit length" (weighted counts), "standard" (measurements, each
        column by its standard deviation), "pareto" (amounts, by its root) or "centered" (vectors, all columns by one
        number), as `ScaledViews` chooses.
    links_ : dict or None
        The view of links and whether linked objects are similar: "view", "n_links", "alike_by_view" (share of linked
        pairs that are more similar in another view than 95 % of random pairs), "together_by_view" (share of links
        within a cluster of that view, less the share by chance), "join", "why" and "used".
    view_relations_ : dict of lists
        A table with one row per view: "view", "verdict" and "weight". The verdict is "shares" (structure in common with
        other views), "alone" (structure, but none in common: a warning asks whether the rows are in the same order),
        "noise" (one half of its columns does not predict the other) or "unknown" (too little data to say).
    cluster_means_ : dict of ndarray (n_clusters, n_features of the view)
        Mean of each feature over the objects of a cluster; rows of counts are divided by their sums first.
    cluster_frequencies_ : dict of ndarray (n_clusters, n_features of the view)
        Share of a cluster's objects that have the feature.
    column_moments_ : dict of ndarray (2, n_features of the view)
        Mean and standard deviation of each column of measurements.
    <shared: fitted views>

    See Also
    --------
    SpectralClusteringViews : One graph of neighbors for each view, at one scale.

    Examples
    --------
    >>> from coview import AutoClustering
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> model = AutoClustering(random_state=0).fit(X)
    >>> model.n_clusters_, model.cluster_votes_.round(2).tolist()
    (3, [1.0, 1.0, 1.0])
    """

    labels_: np.ndarray
    memberships_: np.ndarray
    sample_: np.ndarray
    voters_: list[GraphVoter]
    preparation_: list[Any]
    _models_counts = False
    _takes_lazy = True
    _pairs: Sequence[Any] = ()  # edits of an `EditedModel` that say which objects belong together or apart
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
        "voters_": rules.custom(_check_voters),
        "disputed_pairs_": rules.optional(rules.integers(None, 2, below="objects")),
        "sample_": rules.integers("sampled", below="objects", rising=True),
        "token_weights_": rules.sequence(rules.estimator(methods=["transform"])),
        "scaling_": SCALING,
        "preparation_": rules.sequence(rules.estimator(methods=["transform"])),
        "cluster_means_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_frequencies_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "column_moments_": rules.by_view(rules.floats(2, "features of {view}"), some=True),
    }
    _parameters = {"n_clusters": integer() | NONE, "links": TEXT | TRUTH | NONE}

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        links: Any = None,
        time_budget: float | None = None,
        engine: Any = "auto",
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.links = links
        self.time_budget = time_budget
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> AutoClustering:
        """Cluster the objects; y is ignored."""
        deadline = Deadline.after(self.time_budget)
        if not isinstance(self.engine, str) or self.engine != "auto":
            select_engine(self.engine)  # one that is not there is refused before anything is computed
        views, seed = self._checked_views(X), base_seed(self.random_state)
        steps = self._smoothing(views, seed)
        self.sample_ = sample_positions(len(views), SAMPLE if len(views) > MOST_OBJECTS else MOST_OBJECTS, seed)
        # smoothed all together: one by one or in blocks objects lack links of others to them
        base = prepared(views, steps)[self.sample_]
        self.preparation_ = [*steps, *preparation(base, views.names)]
        self.scaling_ = view_scalings(self.preparation_)
        self.view_relations_ = check_alignment(
            prepared(base, self.preparation_[len(steps) :]).select(*views.names), seed
        )
        # who looks along links does not look at single tokens
        self.token_weights_ = [] if steps else token_weights(base.select(*weigh_by_relations(self.view_relations_)))
        self._choose_number(self._families(base), seed, deadline.share(HALF))
        with silenced(but=InterruptedFitWarning):
            self.memberships_ = self._vote(base, views, seed, deadline.share(HALF))
            if len(self.sample_) < len(views):
                self.memberships_ = self._place_all(prepared(views, self._smoothing_steps()))
        self.memberships_ = self.memberships_.astype(floating_type(views), copy=False)
        self.labels_ = self.memberships_.argmax(axis=1)
        self._describe(views[self.sample_])
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
        """Return a copy to send to the workers of a cluster, without what is known of objects that place no others."""
        light = copy.copy(self)
        light.memberships_, light.sample_ = self.memberships_[self.sample_], np.arange(len(self.sample_))
        light.__dict__.pop("labels_", None)
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
            selection=Selection(
                votes=self._describe_votes(), numbers=self.n_clusters_evidence_, relations=self.view_relations_
            ),
            structure=Structure(scalings=dict(self.scaling_)),  # memberships are shares of votes, no probabilities
            _memberships=self._memberships,
            _features=lambda view: features_of_means(
                self.cluster_means_[view], self.cluster_frequencies_[view], self.column_moments_.get(view), "cluster"
            ),
        )

    def _unused_views(self) -> list[str]:
        """Views that are not clustered, neither as they are nor smoothed over links."""
        made_of = self._smoothed_views()
        used = {made_of.get(name, name) for name in self.voters_[0].view_names_}
        used |= {steps[-1].links for steps in self._smoothing_steps()}
        return [view for view in self.view_names_ if view not in used]

    # -- views

    def _checked_views(self, X: Any) -> Any:
        views = self._fit_views(X)
        check_enough_objects(len(views), self.n_clusters or 1)
        if isinstance(views, LazyViews):
            gate = NumbersGate(type(self).__name__, self._models_counts, floating_type(views))
            views = LazyViews(Changed(views.source, gate))
        return views

    def _smoothing(self, views: Any, seed: int) -> list[Any]:
        """Fitted steps that smooth views over links, where the user names them or they join alike objects.

        Fills `links_`.
        """
        self.links_ = None
        if isinstance(views, LazyViews):
            if self.links:
                raise ViewsError(
                    f"links={self.links!r} needs all objects in memory, got LazyViews. Use X.collect(), or links=False."
                )
            return []
        links = find_links(views, self.links)
        if links is None:
            return []
        tell("links")
        evidence = judge_links(views, links, self.n_clusters or LINKED_CLUSTERS, seed, bool(self.links))
        self.links_ = vars(evidence).copy()
        return [smoothing(views, links, seed).fit(views)] if evidence.used else []

    def _smoothing_steps(self) -> list[Any]:
        return [step for step in self.preparation_ if isinstance(step, Pipeline)]

    def _smoothed_views(self) -> dict[str, str]:
        """Return the views that are smoothed over links, and what each is made of."""
        return {f"{name}_near": name for steps in self._smoothing_steps() for name in steps[-1].smoothed_views_}

    def _families(self, views: Views) -> list[Views]:
        """Return the views that vote together, of objects that are smoothed over links where the fit does so.

        They are the views, weighed and scaled, and the tokens of those that were counted.
        """
        ready = prepared(views, self.preparation_[len(self._smoothing_steps()) :])
        kept = weigh_by_relations(self.view_relations_)
        made_of = self._smoothed_views()
        names = [name for name in ready.names if made_of.get(name, name) in kept]
        families = [ready.select(*names)] if names else []
        if names and self.token_weights_:
            families.append(join_tokens(views, self.token_weights_, kept))
        return families

    # -- pieces

    def _choose_number(self, families: list[Views], seed: int, deadline: Deadline) -> None:
        """Fill `n_clusters_`, the number that is given or the one that tells most that comes back."""
        self.n_clusters_evidence_: dict[str, list[Any]] = {column: [] for column in COLUMNS}
        if self.n_clusters is not None:
            self.n_clusters_ = self.n_clusters
            return
        began = time.monotonic()
        present = np.any([family.present.any(axis=1) for family in families], axis=0)
        rows = np.flatnonzero(present)
        rows = rows[sample_positions(len(rows), SAMPLE, seed)]
        settings = [self._voter_settings(family) for family in families]
        with silenced(but=InterruptedFitWarning):
            table, _ = largest_in_time(
                lambda some: compare_numbers([family[rows[some]] for family in families], settings, seed),
                len(rows), FIRST, seed, deadline,
            )  # fmt: skip
        tried, told = table["n_clusters"], table["information"]
        self.n_clusters_ = tried[int(np.argmax(told))] if tried else min(2, len(present))
        self.n_clusters_evidence_ = table
        self._log(f"{self.n_clusters_} clusters, of {len(tried)} numbers: {time.monotonic() - began:.1f} s")
        if max(told, default=0.0) <= 0:
            why = f"none of the {len(tried)} numbers tried gives clusters that are found again in resampled data"
            if not tried:
                why = f"{len(rows):,} objects are too few, or the time was too short, to compare it with other numbers"
            warn_user(
                f"{self.n_clusters_} clusters were chosen, but {why}. Give the number that you need, and do not read "
                "more into the clusters than that their objects are similar.",
                UserWarning,
            )

    def _voter_settings(self, views: Views) -> dict[str, Any]:
        """Return what `GraphVoter` is told: smoothed views are compared by their cosines, as what they were made of."""
        made_of = self._smoothed_views()
        metric = {name: "cosine" for name in views.names if name in made_of}
        weights = weigh_by_relations(self.view_relations_)
        return {
            "metric": metric or "auto",
            "view_weights": {view: weights.get(made_of.get(view, view), 1.0) for view in views.names},
            "engine": self._voter_engine(),
        }

    def _voter_engine(self) -> Any:
        name = self.engine if isinstance(self.engine, str) else self.engine.name
        return "auto" if name == "dask" else self.engine  # the engine of a cluster is for rows that are not in memory

    def _vote(self, base: Views, whole: Any, seed: int, deadline: Deadline) -> np.ndarray:
        """Return the memberships of the sample; fills `voters_`, and makes the sample smaller where time is short."""
        plain = self.preparation_, self.token_weights_

        def cluster(rows: np.ndarray) -> np.ndarray:
            began = time.monotonic()
            self.preparation_, self.token_weights_ = plain
            some = base if len(rows) == len(base) else base[rows]
            votes = self._ask(some, seed, SCALES[:: 1 + self._weighs_words()])
            if self._weighs_words():
                found = count_votes(votes, self.n_clusters_, seed)
                # all objects are smoothed once more: too long for a sample that is to grow
                again = whole if some is base else None
                self.preparation_, self.token_weights_ = (
                    stress_telling_words(steps, some, found, again) for steps in plain
                )
                if again is not None and (smoothed := self._smoothing_steps()):
                    some = prepared(whole, smoothed)[self.sample_[rows]]
                votes = np.hstack([votes, self._ask(some, seed, SCALES[1::2])])
            objects = self.sample_[rows]
            self.disputed_pairs_ = objects[find_disputed(votes, seed)]
            votes = weigh_votes(votes, *read_pairs(self._pairs, whole, objects))
            found = count_votes(votes, self.n_clusters_, seed)
            self._log(f"votes of {len(rows):,} objects: {time.monotonic() - began:.1f} s")
            return found

        first = max(FIRST, OBJECTS_PER_CLUSTER * self.n_clusters_)
        found, rows = largest_in_time(cluster, len(self.sample_), first, seed, deadline)
        self.sample_ = self.sample_[rows]
        return found

    def _weighs_words(self) -> bool:
        """Tell whether any view that votes is of plain counts; others keep the weights that they have."""
        return any(self.scaling_.get(name) == WEIGHTED for name in weigh_by_relations(self.view_relations_))

    def _ask(self, some: Views, seed: int, scales: Sequence[float]) -> np.ndarray:
        """Return the clusterings of these objects (objects x votes) by their graphs at some scales; fills `voters_`."""
        self.voters_, votes = [], []
        for family in self._families(some):
            voter = GraphVoter(self.n_clusters_, scales=scales, **self._voter_settings(family))
            votes.append(voter.cluster(voter.embed(family, seed), self.n_clusters_, seed))
            self.voters_.append(voter)
        return np.hstack(votes)

    def _place_all(self, whole: Any) -> np.ndarray:
        """Return the memberships of all objects, some at a time, by those of the sample."""
        tell("all objects")
        light = copy.copy(self)
        light.sample_ = np.arange(len(self.sample_))
        memberships = np.concatenate(over_rows(whole, light._place, BLOCK))
        memberships[self.sample_] = self.memberships_
        return memberships

    def _place(self, views: Views, first: int = 0) -> np.ndarray:
        """Return the mean memberships of the neighbors of objects, smoothed over links; equal ones where there is none.

        The second argument is that of `over_rows`, not used.
        """
        memberships = self.memberships_[self.sample_]
        placed = np.zeros((len(views), memberships.shape[1]))
        for voter, family in zip(self.voters_, self._families(views)):
            voter.engine = self._voter_engine()  # the fit may have been elsewhere
            placed += voter.place(family, memberships)
        total = placed.sum(axis=1, keepdims=True)
        return np.where(total > 0, placed / np.where(total > 0, total, 1.0), 1 / memberships.shape[1])

    def _memberships(self, X: Any) -> np.ndarray:
        views = self._new_views(X)
        ready = prepared(views, self._smoothing_steps())
        lost = views.present.any(axis=1)
        used = [name for name in self.voters_[0].view_names_ if name in ready.names]
        if used:
            lost &= ~ready.select(*used).present.any(axis=1)
        if lost.any():
            warn_user(
                f"{lost.sum()} of {len(views)} objects have only views that the clusters were found without, so that "
                "no cluster is likelier for them than another. Pass other views of them too.",
                UserWarning,
            )
        return self._place(ready).astype(next(views.values()).dtype, copy=False)

    # -- what is said

    def _describe(self, some: Views) -> None:
        """Fill what is known of the clusters, by the views of the sample as they were given."""
        codes, k = self.labels_[self.sample_], self.n_clusters_
        described = summarize_groups(some, codes, k, self.scaling_)
        self.cluster_means_, self.cluster_frequencies_, self.column_moments_ = described
        own = np.bincount(self.labels_, self.memberships_.max(axis=1), minlength=k)
        self.cluster_votes_ = own / np.maximum(np.bincount(self.labels_, minlength=k), 1)

    def _describe_votes(self) -> dict[str, Any]:
        clusterings = len(SCALES) * N_CLUSTERINGS * len(self.voters_)
        share, by_cluster = float(self.memberships_.max(axis=1).mean()), self.cluster_votes_.tolist()
        return {"clusterings": clusterings, "share": share, "by_cluster": by_cluster}

    def _log(self, text: str) -> None:
        if self.verbose:
            print_line(f"AutoClustering, {text}")
