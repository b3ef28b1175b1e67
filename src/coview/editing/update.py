"""New rows for a fitted topic model: EM with the old topics as prior counts, and what has become of each topic.

The M step adds to the expected counts of the new rows those of as many old objects as `strength` says,

    F  <-  columns(strength p(z) m_v F_old + F * R^T mixture),     m_v the mean mass of an object in view v,

so that topics keep their numbers and move as far as the new rows outweigh them. What has become of them is read from
the rows under the old topics, and compared with rows drawn from the old model: of the same lengths and mixtures, their
topics drawn around the old ones as widely as the prior counts leave open (Dirichlet).

    born      on one half of the rows a distribution is learned beside p(f | d); in the other half it is the largest
              part of more objects than of objects drawn from the old model, or of old ones (`reference`)
    split     likewise, but what it explains was in the old rows too, in one topic with something else
    died      the share is lower than it was, and it leads no more of the rows than of rows drawn without it
    merged    two topics come together in the same objects, where one topic of both explains the rows as well as it
              explains rows drawn from it
    drifted   H(old, new) / H(half, half), H the squared Hellinger distance of the distributions of a topic in the old
              and new rows, and in two halves of the new ones, is above 1 and above that of drawn rows: text repeats its
              words, in both alike

Whether features were in the old rows is told by residuals: at a maximum of the likelihood the sum over old objects of
x_d - E x_d is zero for each feature, whatever the words of an object do.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from coview.editing.edited import EditedModel, hold
from coview.engines.protocol import Holder, State, Tree, floating_type, tree_map
from coview.exceptions import ParameterError
from coview.inspection import inspect
from coview.plsa.link import LinkPLSA
from coview.plsa.multiview import DualPLSA, MultiViewPLSA
from coview.plsa.plsa import PLSA
from coview.plsa.steps import FEATURE_FLOOR, ROW_FLOOR
from coview.utils.loading import load_member
from coview.utils.messages import listed, quantity
from coview.utils.tables import ResultTable
from coview.utils.warn import warn_user
from coview.validation import base_seed, check_number
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["Update", "update"]

LEVEL = 0.05  # share of streams that do not change in which something is found
LEAST = 0.01  # share of the rows that a new topic must lead
LEAST_GAIN = 0.5  # and by how much it raises log p of each token that it explains, or it is old topics in other words
MOST_NEW = 10  # topics of one update
Event = tuple[Any, ...]  # what, its p-value, the evidence with gaps for topics, and their positions
EVENTS = ("kept", "drifted", "born", "split", "merged", "died")
N_DRAWS = 19  # of rows from the old model: the least number that tells a level of 5 %
CLUSTERS, WORST = 8, 0.3  # where a new topic is looked for: clusters of the worst explained rows
EM_STEPS, UPDATE_STEPS = 25, 30
FALLEN = 0.25  # of its share is left to a topic that may have died
TOGETHER = 0.5  # correlation of two topics over objects from which they may be one


class Update(ResultTable):
    """What has become of the topics of a model, returned by `update`.

    A dict of lists that prints as a table, one row for each topic: "group", "name", "event" ("kept", "drifted", "born",
    "split", "merged" or "died"), "before" and "now" (shares of the old objects, or of the reference, and of the new
    ones), "distance" (squared Hellinger distance of old and new distribution, from 0 to 1), "p_value" and "evidence", a
    sentence.

    Attributes
    ----------
    model : estimator
        The updated model, of the class of the old one; that stays as it is.
    n_objects : int
        Number of new objects.

    Examples
    --------
    >>> from coview import LinkPLSA, update
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=300, n_clusters=4, random_state=0)
    >>> old = (X.target != 3) & (np.arange(300) % 2 == 0)
    >>> found = update(LinkPLSA(3, random_state=0).fit(X.views[old]), X.views[~old])
    >>> found["event"][-1], found.model.transform(X.views).shape
    ('born', (300, 4))
    """

    def plot(self, ax: Any = None) -> Any:
        """Draw shares before and now, and what happened; see `coview.plot.UpdateDisplay`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        """
        return load_member("coview.plot", "UpdateDisplay")(self).plot(ax)


def update(
    model: Any, X: Any, *, reference: Any = None, strength: float | None = None, random_state: Any = 0
) -> Update:
    """Teach a fitted topic model new objects, and tell which topics were kept, drifted, were born, split, merged, died.

    Topics keep their numbers, their edits and the names that were given; new ones get numbers that no topic had.

    Parameters
    ----------
    model : PLSA, LinkPLSA, DualPLSA or MultiViewPLSA
        A fitted model of counts, also at the end of a Pipeline or edited. It stays as it is.
    X : what the model takes
        The new objects, without old ones. Features that the model does not know are left out.
    reference : what the model takes, optional
        Old objects that the model was not fitted on: those of a fit are explained too well. A topic is then new if it
        leads more of the new objects than of these, and has died if it has less of the new ones. By default objects
        drawn from the model take their place: real text holds more than any model of it, so that what is found may have
        been there before.
    strength : float, optional
        How many objects the old topics count as; by default as many as they were learned from. With less, topics
        follow the new objects sooner.
    random_state : int, RandomState or None, default=0
        Seed of the draws.

    Returns
    -------
    Update
        A table of the topics, with the updated `model`.

    Examples
    --------
    >>> from coview import LinkPLSA, update
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=300, n_clusters=3, random_state=0).views
    >>> found = update(LinkPLSA(3, random_state=0).fit(X[:200]), X[200:])
    >>> found["group"], len(found.model.memberships_)
    (['0', '1', '2'], 300)
    """
    held, inner = _open(model)
    rows = _read(model, inner, X)
    _warn_of_known(inner._object_ids, rows.ids)
    old = None if reference is None else _read(model, inner, reference)
    n_old = len(inner.memberships_)
    strength = n_old if strength is None else check_number("strength", strength, positive=True)
    rng, before = np.random.default_rng(base_seed(random_state)), inner.memberships_.mean(axis=0, dtype=np.float64)
    stream, grown = Stream(inner, rows, before * strength), inner
    added: list[NewTopic] = []
    while len(added) < MOST_NEW and (found := stream.find_new(rng, old)):
        added.append(found)
        grown = add_topic(grown, found.profiles, rows.names)
        stream = Stream(grown, rows, np.append(before, [0.0] * len(added)) * strength)
    sizes, shares = np.append(before, [0.0] * len(added)), np.append(before, [np.nan] * len(added))
    if old is not None:
        n_old, shares = len(old), stream.read(old).mixtures.mean(axis=0)
    events = stream.tell_events(rng, np.nan_to_num(shares), n_old)
    for g, found in enumerate(added, start=len(before)):
        events[g] = ("born", found.p_value, found.evidence)
        if found.parent is not None:
            events[g] = ("split", found.p_value, "part of {}, " + found.evidence, found.parent)
            events[found.parent] = ("split", found.p_value, "its objects make two topics, one is {}", g)
    learned = learn(grown, rows, sizes * strength)
    vars(inner).update(vars(learned))
    if isinstance(held, EditedModel):
        held.take_update(rows, len(added))
    return _make_table(held, inner, events, shares, stream, len(rows))


# -- the model and its rows


def _open(model: Any) -> tuple[Any, Any]:
    """A copy of a model, and the estimator inside it."""
    held = hold(model)
    inner = held
    if isinstance(held, EditedModel):
        inner = held.estimator_ = hold(held.estimator_)
    while isinstance(inner, Pipeline):
        inner = inner.steps[-1][1]
    if not isinstance(inner, (PLSA, LinkPLSA, DualPLSA, MultiViewPLSA)):
        raise ParameterError(
            f"must be PLSA, LinkPLSA, DualPLSA or MultiViewPLSA, which can be updated, got {type(inner).__name__}. "
            "Fit others again on all objects.",
            parameter="model",
        )
    about = inspect(model)
    if vectors := inner._vector_views():
        raise ParameterError(
            f"must be a model of counts, but {about.name} takes {listed(list(vectors))} as vectors: fit it again on "
            "all objects.",
            parameter="model",
        )
    return held, inner


def _read(model: Any, inner: Any, X: Any) -> Views:
    """Objects as the estimator inside takes them."""
    views = inner._new_views(inspect(model).preparation.prepare(X))
    views = views.collect() if isinstance(views, LazyViews) else views
    masses = np.sum([np.asarray(part.sum(axis=1)).ravel() for part in views.values()], axis=0)
    if (masses > 0).sum() < 10:
        raise ParameterError("must hold 10 objects or more that have features of the model.", parameter="X")
    return views[np.flatnonzero(masses > 0)]


def _warn_of_known(known: np.ndarray | None, ids: np.ndarray | None) -> None:
    """Warn of new objects that the model was fitted on already; numbers may be those of rows, and tell nothing."""
    if known is None or ids is None:
        return
    old, new = ({each for each in part.tolist() if isinstance(each, str)} for part in (known, ids))
    if twice := len(old & new):
        warn_user(
            f"{twice:,} of {len(ids):,} new objects have ids that the model knows already, and count twice: pass new "
            "objects alone.",
            UserWarning,
        )


def add_topic(model: Any, profiles: dict[str, np.ndarray], names: Any) -> Any:
    """A copy of a model with one more topic, which has these distributions."""
    grown, counts = copy.copy(model), {}
    total = sum(part.sum() for part in profiles.values())
    for view, topics in model.topic_feature_.items():
        own = profiles.get(view, topics.mean(axis=0))
        counts[view] = np.vstack([topics, np.maximum(own / own.sum(), FEATURE_FLOOR)]).astype(topics.dtype)
    grown.topic_feature_ = counts
    if model._joint:
        share = [profiles[view].sum() / total if view in profiles else 0.0 for view in model.view_names_]
        grown.topic_view_ = np.vstack([model.topic_view_, share]).astype(model.topic_view_.dtype)
    more = {"n_components": model.n_components}
    if hasattr(model, "cluster_topic_"):  # a cluster of its own topic
        grown.cluster_topic_ = {view: _add_corner(part) for view, part in model.cluster_topic_.items()}
        more["n_clusters"] = model.n_clusters + 1
    each = model.n_components
    more["n_components"] = {view: n + 1 for view, n in each.items()} if isinstance(each, dict) else each + 1
    vars(grown).update(more)
    grown.memberships_ = np.pad(model.memberships_, ((0, 0), (0, 1)))
    return grown


def _add_corner(shares: np.ndarray) -> np.ndarray:
    wide = np.pad(shares, ((0, 1), (0, 1)), constant_values=ROW_FLOOR)
    wide[-1, -1] = 1.0
    return wide


def learn(model: Any, rows: Views, sizes: np.ndarray) -> Any:
    """The model after EM on some rows, with its topics as prior counts of so many objects each."""
    learned, engine, dtype = copy.copy(model), model._engine(), floating_type(rows)
    steps = learned._fitted_steps()
    shared: Tree = tree_map(lambda part: engine.asarray(part, dtype), learned._restored())
    holder = Holder(list(learned._each_block(rows, engine, steps.width)), engine)
    masses = {view: float(part.sum()) / len(rows) for view, part in rows.items()}
    if model._joint:
        masses = dict.fromkeys(masses, sum(masses.values()))
    prior = make_prior(steps, learned._restored(), {view: sizes * mass for view, mass in masses.items()})
    mixtures = [{"mixture": engine.asarray(learned._fold_in(block, steps, shared, engine))} for block in holder.blocks]
    for _ in range(UPDATE_STEPS):
        stats_: Tree = {}
        for b, block in enumerate(holder.blocks):
            mixtures[b], stats_ = steps.row_step(block, mixtures[b], shared, engine, stats_)
        pulls = steps.pulls(stats_, shared)
        known = {name: {v: engine.asarray(c, dtype) for v, c in part.items()} for name, part in prior.items()}
        pulls = {
            name: {v: pull + known[name][v] / shared[name][v] if v in known[name] else pull for v, pull in part.items()}
            for name, part in pulls.items()
        }
        shared = steps.update(shared, pulls, engine)
    earlier, ids = model.memberships_, model._object_ids
    vars(learned).update(learned._attributes(State(mixtures, shared), holder))
    learned.memberships_ = np.vstack([earlier, learned.memberships_])
    learned._object_ids = None if ids is None or rows.ids is None else np.append(ids, rows.ids)
    for name in ("batch_counts_", "n_batches_"):  # of `partial_fit`, of the topics before
        vars(learned).pop(name, None)
    learned._keep_labels()
    return learned


def make_prior(steps: Any, shared: Tree, masses: dict[str, np.ndarray]) -> Tree:
    """Expected counts of topics that have so many tokens in each view, or (joint) in all."""
    parts = len(masses) if steps.joint else 1
    if "cluster_topic" not in shared:
        like = {view: mass[None] / parts for view, mass in masses.items()}
        return steps.as_counts(shared, {"profiles": like, "topics": like})
    by_topic = {view: (mass @ shared["cluster_topic"][view])[None] / parts for view, mass in masses.items()}
    clusters = {view: mass[:, None] for view, mass in masses.items()}
    return steps.as_counts(shared, {"feature_topic": by_topic, "cluster_topic": clusters})


# -- what the rows say


@dataclass(frozen=True, eq=False)
class NewTopic:
    """A topic that was found in new rows; of a split, the topic that held it."""

    profiles: dict[str, np.ndarray]
    parent: int | None
    p_value: float
    evidence: str


class MixedRows:
    """Counts of objects by view, and what mixtures of some profiles (features x topics) expect of them."""

    def __init__(self, counts: list[Any], profiles: list[np.ndarray], mixtures: np.ndarray) -> None:
        self.counts, self.profiles = [sparse.csr_array(X, dtype=np.float64) for X in counts], profiles
        self.mixtures = np.asarray(mixtures, dtype=np.float64)
        self.objects = [np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)) for X in self.counts]
        self.masses = [np.asarray(X.sum(axis=1)).ravel() for X in self.counts]
        self.mass = np.maximum(np.sum(self.masses, axis=0), 1e-300)
        self.expected = [_at_entries(X, at, self.mixtures, F) for X, at, F in zip(self.counts, self.objects, profiles)]

    def __len__(self) -> int:
        return len(self.mixtures)

    def take(self, some: np.ndarray, longest: float = np.inf) -> MixedRows:
        """Some of the objects, long ones scaled down to a length."""
        scale = np.minimum(1.0, longest / self.mass[some])
        counts = [X[some] * scale[:, None] for X in self.counts]
        return MixedRows(counts, self.profiles, self.mixtures[some])

    def tokens(self) -> list[np.ndarray]:
        """Expected tokens of each object by topic, by view."""
        return [self.mixtures * (R @ F) for R, F in zip(self._ratios(), self.profiles)]

    def topics(self, some: Any = slice(None)) -> list[np.ndarray]:
        """Distribution over the features of each topic in some of the objects, by view."""
        sums = [F * (R[some].T @ self.mixtures[some]) for R, F in zip(self._ratios(), self.profiles)]
        return [part / np.maximum(part.sum(axis=0), 1e-300) for part in sums]

    def _ratios(self) -> list[Any]:
        """Counts over what is expected."""
        parts = zip(self.counts, self.expected)
        return [sparse.csr_array((X.data / p, X.indices, X.indptr), X.shape) for X, p in parts]

    def beside(self, topic: list[np.ndarray], shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """An E step of one topic beside the others: its share and gain in each object, and its counts by view."""
        taken, gain, counts = np.zeros(len(self)), np.zeros(len(self)), []
        for X, p, at, phi in zip(self.counts, self.expected, self.objects, topic):
            own = shares[at] * phi[X.indices]
            mixed = own + (1 - shares[at]) * p
            part = X.data * own / mixed
            taken += np.bincount(at, part, len(self))
            gain += np.bincount(at, X.data * np.log(mixed / p), len(self))
            counts.append(np.bincount(X.indices, part, X.shape[1]))
        return np.clip(taken / self.mass, 1e-4, 0.999), gain, counts

    def leads(self, shares: np.ndarray) -> np.ndarray:
        """Whether a topic with these shares beside the others is the largest part of each object."""
        return shares > (1 - shares) * self.mixtures.max(axis=1)

    def fit_shares(self, topic: list[np.ndarray]) -> np.ndarray:
        """Shares of a topic beside the others."""
        shares = np.full(len(self), 0.05)
        for _ in range(EM_STEPS // 3):
            shares = self.beside(topic, shares)[0]
        return shares

    def find_topic(self, joint: bool) -> list[np.ndarray]:
        """Learn the one topic that explains most beside the others, from clusters of the worst explained objects."""
        typical = float(np.median(self.mass))
        loss = sum(np.bincount(at, -X.data * np.log(p), len(self)) for X, p, at in self._entries()) / self.mass
        score = (loss - np.average(loss, weights=self.mass)) * np.sqrt(np.minimum(self.mass, typical))
        worst = self.take(np.argsort(-score)[: max(int(WORST * len(self)), 2 * CLUSTERS)], typical)
        odd = [X / np.sqrt(F @ m.sum(axis=0) / m.sum() + 1e-6) for X, F, m in worst._usual()]
        rows = normalize(sparse.csr_matrix(sparse.hstack(odd)))
        codes = KMeans(min(CLUSTERS, len(worst)), n_init=1, max_iter=20, random_state=0).fit_predict(rows)
        best, most = [], -np.inf
        for code in range(codes.max() + 1):
            own = codes == code
            shares = np.where(own, 0.5, 0.02)
            # what is more frequent in the cluster than expected
            sums = [
                np.maximum(np.asarray(X[own].sum(axis=0)).ravel() - F @ m[own].sum(axis=0), 0) + 1e-3 * F.mean(axis=1)
                for X, F, m in worst._usual()
            ]
            for _ in range(EM_STEPS):
                topic = _normalized(sums, joint)
                shares, gain, sums = worst.beside(topic, shares)
            if (found := gain[worst.leads(shares)].sum()) > most:
                best, most = topic, found
        return best

    def _entries(self) -> Any:
        return zip(self.counts, self.expected, self.objects)

    def _usual(self) -> Any:
        """By view the counts, the profiles, and the tokens of each object by its mixture."""
        return zip(self.counts, self.profiles, [self.mixtures * m[:, None] for m in self.masses])


def _at_entries(X: Any, objects: np.ndarray, mixtures: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    """p(feature | object) of the entries of a sparse matrix."""
    found = np.empty(X.nnz)
    for start in range(0, X.nnz, 100_000):  # all at once would be entries x topics
        some = slice(start, start + 100_000)
        found[some] = np.einsum("ek,ek->e", mixtures[objects[some]], profiles[X.indices[some]])
    return np.maximum(found, FEATURE_FLOOR)


def _normalized(counts: list[np.ndarray], joint: bool) -> list[np.ndarray]:
    """Counts by view as one distribution each, or (`joint`) as one over all views."""
    sums = [part.sum() for part in counts]
    return [(part + 1e-9) / ((sum(sums) if joint else total) + 1e-9 * len(part)) for part, total in zip(counts, sums)]


class Stream:
    """New rows under the topics of a model; `sizes` says how many objects each topic was learned from."""

    def __init__(self, model: Any, views: Views, sizes: np.ndarray) -> None:
        self.model, self.names, self.joint = model, views.names, model._joint
        profiles = model._profiles(tuple(views.names))
        self.profiles = [profiles[name].astype(np.float64) for name in views.names]
        self.rows = self.read(views)
        # a topic that was found in these rows is known as well as they tell it
        self.sizes = np.where(sizes > 0, sizes, self.rows.mixtures.sum(axis=0) + 1.0)

    def read(self, views: Any) -> MixedRows:
        """Objects with their mixtures."""
        views = views if isinstance(views, Views) else Views(dict(zip(self.names, views)))
        return MixedRows([views[name] for name in self.names], self.profiles, self.model._mixtures(views))

    def draw(self, rng: np.random.Generator, mixtures: np.ndarray | None = None) -> MixedRows:
        """MixedRows like these from topics around those of the model."""
        mixtures, drawn = self.rows.mixtures if mixtures is None else mixtures, []
        for X, F, mass in zip(self.rows.counts, self.profiles, self.rows.masses):
            truth = rng.standard_gamma(F * self.sizes * mass.mean() + 1e-12)
            shares = mixtures * F.sum(axis=0)
            # what is no count is drawn in tokens of its mean size
            size = 1.0 if (X.data % 1 == 0).all() else float(X.data.mean())
            tokens = rng.multinomial(np.rint(mass / size).astype(int), shares / shares.sum(axis=1, keepdims=True))
            features = [
                np.searchsorted(np.cumsum(truth[:, k] / truth[:, k].sum())[:-1], rng.random(n))
                for k, n in enumerate(tokens.sum(axis=0))
            ]
            at = [np.repeat(np.arange(len(mass)), n) for n in tokens.T]
            places = (np.concatenate(at).astype(np.int32), np.concatenate(features).astype(np.int32))
            drawn.append(sparse.csr_array((np.full(len(places[0]), size), places), X.shape))
        return self.read(drawn)

    def find_new(self, rng: np.random.Generator, reference: Views | None) -> NewTopic | None:
        """Return a topic that leads more of these rows than of others, learned and counted on other halves."""
        n, others = len(self.rows), self.draw(rng) if reference is None else self.read(reference)
        halves = np.array_split(rng.permutation(n), 2)
        counts, rise, parents = np.zeros(4), np.zeros(2), np.zeros(len(self.sizes))
        for learned, told in (halves, halves[::-1]):
            topic, rows = self.rows.take(learned).find_topic(self.joint), self.rows.take(told)
            shares = rows.fit_shares(topic)
            led, theirs = rows.leads(shares), others.leads(others.fit_shares(topic))
            gain, own = rows.beside(topic, shares)[1], shares * rows.mass
            counts += led.sum(), theirs.sum() / 2, gain[led].sum(), own[led].sum()
            rise += self._rise(rows, topic), own.sum()
            parents += np.sum([part[led].sum(axis=0) for part in rows.tokens()], axis=0)
        n_led, n_theirs = int(counts[0]), round(float(counts[1]))
        p = float(
            stats.fisher_exact([[n_led, n - n_led], [n_theirs, len(others) - n_theirs]], alternative="greater")[1]
        )
        if n_led < max(LEAST * n, 3) or p > LEVEL:
            return None
        # what was in the old rows adds to no feature; it was in the topic that explained most of it
        parent = None if 2 * rise[0] > rise[1] else int(parents.argmax())
        if parent is None and counts[2] < LEAST_GAIN * counts[3]:
            return None
        whose = "drawn from the old model" if reference is None else "of the reference"
        evidence = f"leads {n_led:,} of {n:,} objects, and {n_theirs:,} of {len(others):,} {whose}"
        return NewTopic(dict(zip(self.names, self.rows.find_topic(self.joint))), parent, p, evidence)

    def _rise(self, rows: MixedRows, topic: list[np.ndarray]) -> float:
        """How many tokens of a topic the rows have beyond what the others expect of them."""
        found = 0.0
        for X, F, tokens, phi in zip(rows.counts, rows.profiles, rows.tokens(), topic):
            sums = tokens.sum(axis=0)
            mean = F @ sums / max(sums.sum(), 1e-300)
            along = phi / (0.05 * phi + 0.95 * mean + 1e-15)
            excess = float((X @ along).sum() - sums @ (F.T @ along))
            found += excess / max(float((phi - mean) @ along), 1e-300)
        return found

    # -- events of the topics that there are

    def compare_halves(self, rows: MixedRows, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Distance of each topic here from the model's, and its logarithm over that between halves of the rows."""
        halves = np.array_split(rng.permutation(len(rows)), 2)
        whole, (a, b) = self._distances(self.profiles, rows.topics()), (rows.topics(half) for half in halves)
        return whole, np.log((whole + 1e-9) / (self._distances(a, b) + 1e-9))

    def _distances(self, one: list[np.ndarray], other: list[np.ndarray]) -> np.ndarray:
        """Squared Hellinger distances of topics, the mean over views by their mass."""
        weights = [m.sum() for m in self.rows.masses]
        parts = [1 - np.sqrt(p / p.sum(axis=0) * q).sum(axis=0) for p, q in zip(one, other)]
        return np.average(parts, axis=0, weights=weights)

    def tell_events(self, rng: np.random.Generator, before: np.ndarray, n_old: int) -> dict[int, Event]:
        """Return the event of each topic."""
        rows, now = self.rows, self.rows.mixtures.mean(axis=0)
        self.distances, found = self.compare_halves(rows, rng)
        drawn = np.array([self.compare_halves(self.draw(rng), rng)[1] for _ in range(N_DRAWS)])
        highest = drawn.max(axis=1)  # of all topics, so that one in twenty streams has any
        events: dict[int, Event] = {}
        chance = np.exp(highest.max())
        for g, score in enumerate(found):
            p = float((1 + (highest >= score).sum()) / (1 + N_DRAWS))
            text = f"moved {np.exp(score):.1f} times as far as its halves differ; by chance at most {chance:.1f} times"
            events[g] = ("drifted" if score > 0 and p <= LEVEL else "kept", p, text)
        died = self._find_died(rng, before, now, n_old)
        return events | self._find_merged(rng, np.setdiff1d(np.arange(len(now)), list(died))) | died

    def _find_died(self, rng: np.random.Generator, before: np.ndarray, now: np.ndarray, n_old: int) -> dict[int, Event]:
        shares = self.rows.mixtures
        errors = np.sqrt(shares.var(axis=0) / len(shares) + before * (1 - before) / n_old)
        fewer = np.flatnonzero((now < FALLEN * before) & (before - now > stats.norm.ppf(1 - LEVEL) * errors))
        if not len(fewer) or len(fewer) == len(before):
            return {}
        rest = np.delete(np.arange(len(before)), fewer)
        without = np.zeros_like(shares)
        without[:, rest] = shares[:, rest] / np.maximum(shares[:, rest].sum(axis=1, keepdims=True), 1e-12)
        led, chance = _lead(shares), np.max([_lead(self.draw(rng, without).mixtures) for _ in range(N_DRAWS)], axis=0)
        p_values = stats.norm.sf((before - now) / np.maximum(errors, 1e-300))
        text = "share {:.2%}, was {:.2%}; leads {:.2%} of the objects, of rows without it up to {:.2%}"
        return {
            g: ("died", float(p_values[g]), text.format(now[g], before[g], led[g], chance[g]))
            for g in fewer.tolist()
            if led[g] <= chance[g]
        }

    def _find_merged(self, rng: np.random.Generator, alive: np.ndarray) -> dict[int, Event]:
        shares, events = self.rows.mixtures, dict[int, Event]()
        alive = alive[np.ptp(shares[:, alive], axis=0) > 0]  # what is the same in all objects comes with none
        if len(alive) < 2:
            return events
        joined = np.triu(np.corrcoef(shares[:, alive].T), 1)
        for j, k in alive[np.argwhere(joined > TOGETHER)].tolist():
            one = shares.copy()
            pooled = shares[:, [j, k]].sum(axis=0)
            one[:, [j, k]] = shares[:, [j, k]].sum(axis=1, keepdims=True) * pooled / pooled.sum()
            found = _correlation(shares, j, k)
            chance = [_correlation(self.draw(rng, one).mixtures, j, k) for _ in range(N_DRAWS)]
            p = (1 + sum(value <= found for value in chance)) / (1 + N_DRAWS)
            if p > LEVEL:  # as far together as one topic of both
                text = f"together with {{}}: correlation {found:.2f}, of one topic {np.mean(chance):.2f}"
                events |= {j: ("merged", p, text, k), k: ("merged", p, text, j)}
        return events


def _lead(shares: np.ndarray) -> np.ndarray:
    """Share of the objects of which each topic is the largest part."""
    return np.bincount(shares.argmax(axis=1), minlength=shares.shape[1]) / len(shares)


def _correlation(shares: np.ndarray, j: int, k: int) -> float:
    return float(np.corrcoef(shares[:, j], shares[:, k])[0, 1])


def _make_table(model: Any, inner: Any, events: dict[int, Event], before: np.ndarray, stream: Stream, n: int) -> Update:
    shown, now = inspect(model), stream.rows.mixtures.mean(axis=0)
    names = dict(zip(shown.groups, shown.group_names))
    keys = [str(g) for g in range(len(now))]
    if isinstance(model, EditedModel):
        keys = [str(number) for number in model.inner_numbers_]
        names = {str(number): why for number, why in model.gone.items()} | names
    kinds, p_values, texts = zip(*(events[g][:3] for g in range(len(now))))
    columns = {
        "group": keys,
        "name": [names.get(key, "") for key in keys],
        "event": list(kinds),
        "before": before.tolist(),
        "now": now.tolist(),
        "distance": stream.distances.tolist(),
        "p_value": list(p_values),
        "evidence": [text.format(*(keys[k] for k in events[g][3:])) for g, text in enumerate(texts)],
    }
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    news = [
        {key: row[key] for key in ("group", "event", "now", "p_value", "evidence")}
        for row in rows
        if row["event"] != "kept"
    ]
    inner.updates_ = [*vars(inner).get("updates_", []), {"n_objects": n, "events": news}]
    told = [f"{kinds.count(kind)} {kind}" for kind in EVENTS if kind in kinds]
    return Update(columns, f"{quantity(n, 'new object')}: {', '.join(told)}", model=model, n_objects=n)
