"""New rows for a fitted topic model: EM with the old topics as prior counts, and what has become of each topic.

The M step adds to the expected counts of the new rows those of as many old objects as `strength` says,

    F  <-  columns(strength p(z) m_v F_old + F * R^T mixture),     m_v the mean mass of an object in view v,

so that topics keep their numbers and move as far as the new rows outweigh them. What has become of them is read from
the rows under the old topics, and compared with rows drawn from the old model: of the same lengths and mixtures, their
topics drawn around the old ones as widely as the prior counts leave open (Dirichlet).

    born      on one half of the rows a distribution is learned beside p(f | d); in the other half it is the largest
              part of more objects than of objects drawn from the old model, or of old ones (`reference`)
    split     likewise, but what it explains was in the old rows too, in one topic with something else
    died      it leads less than 1 % of the objects, and less than a tenth of the share that it led
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
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from coview.editing.edited import EditedModel, are_read_as_fitted, edit, hold
from coview.engines.protocol import Holder, State, Tree, floating_type, tree_map
from coview.exceptions import ParameterError
from coview.inspection import inspect
from coview.plsa.link import LinkPLSA
from coview.plsa.multiview import DualPLSA, MultiViewPLSA
from coview.plsa.plsa import PLSA
from coview.plsa.steps import FEATURE_FLOOR, ROW_FLOOR
from coview.preprocessing.vectorizer import TextVectorizer
from coview.utils.loading import load_member
from coview.utils.messages import cut, listed, quantity
from coview.utils.tables import ResultTable
from coview.utils.warn import warn_user
from coview.validation import base_seed, check_number
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["Update", "update"]

LEVEL = 0.05  # share of streams that do not change in which something is found
LEAST = 0.01  # share of the rows that a new topic must lead, and one that has died must not
LEAST_GAIN = 0.5  # and by how much it raises log p of each token that it explains, or it is old topics in other words
MOST_NEW = 10  # topics of one update
Event = tuple[Any, ...]  # what, its p-value, the evidence with gaps for topics, and their positions
NEWS = ("group", "event", "now", "p_value", "evidence")  # what a model keeps of an event
EVENTS = ("kept", "drifted", "born", "split", "merged", "died")
N_DRAWS = 19  # of rows from the old model: the least number that tells a level of 5 %
CLUSTERS, WORST = 8, 0.3  # where a new topic is looked for: clusters of the worst explained rows
EM_STEPS, UPDATE_STEPS = 25, 30
FALLEN = 0.1  # of the objects that a topic led, at most, are led by one that has died
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

    wraps = True

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
    held, edited, inner = _open(model)
    about, rng = inspect(model), np.random.default_rng(base_seed(random_state))
    views = _read(about, inner, X, "X")
    known = _with_features(views, "X")
    _check_new(inner, views, known)
    rows, old = views[known], None
    if reference is not None:
        old = _read(about, inner, reference, "reference")
        old = old[_with_features(old, "reference")]
    strength = len(inner.memberships_) if strength is None else check_number("strength", strength, positive=True)
    groups = edited.ever_groups
    grown, explaining, origins = inner, inner, [*range(inner.memberships_.shape[1])]
    n_topics = len(origins)
    for split, divided in zip(edited.splits_, groups.divided[1:]):  # what was split by hand is known apart
        parts = split["model"]._profiles(tuple(rows.names))
        for each in zip(*(part.T for part in parts.values())):
            explaining = add_topic(explaining, dict(zip(parts, each)), rows.names)
            origins.append(min(groups.roots(divided)))
    added: list[NewTopic] = []
    stream = Stream(explaining, rows, strength)
    others = stream.draw(rng) if old is None else old
    while len(added) < MOST_NEW and (found := stream.find_new(rng, others)):
        origins.append(n_topics + len(added))
        added.append(found)
        grown, explaining = (add_topic(each, found.profiles, rows.names) for each in (grown, explaining))
        stream = Stream(explaining, rows, strength)
    stream = Stream(grown, rows, strength)
    theirs = stream.read(others)
    events = stream.tell_events(rng, None if old is None else theirs)
    whose = "objects drawn from the old model" if old is None else "the reference"
    for g, new in enumerate(added, start=n_topics):
        text = f"only {theirs.mixtures[:, g].mean():.1%} of {whose}"
        events[g] = ("born", new.p_value, text)
        if new.parent is not None:
            parent = origins[new.parent]
            events[g] = ("split", new.p_value, "part of {}; " + text, parent)
            events[parent] = ("split", new.p_value, "its objects make two topics, one is {}", g)
    vars(inner).update(vars(learn(grown, rows, strength)))
    edited.take_update(rows, len(added))
    told, shown = _tell_groups(edited, inner, stream, events, old), inspect(held)
    # not of groups that were dropped, or marked as noise
    table = [{"group": key, "name": name} | told[key] for key, name in zip(shown.groups, shown.group_names)]
    news = [{key: row[key] for key in NEWS} for row in table if row["event"] != "kept"]
    inner.updates_ = [*vars(inner).get("updates_", []), {"n_objects": len(rows), "events": news}]
    counts = Counter(row["event"] for row in table)
    happened = ", ".join(f"{counts[kind]} {kind}" for kind in EVENTS if counts[kind])
    lines = [f"{quantity(len(rows), 'new object')}: {happened}", *_describe_unknown(about.preparation, X)]
    before = dict(zip(about.groups, about.group_names))
    renamed = [
        f"{before[g]!r} is {name!r}" for g, name in zip(shown.groups, shown.group_names) if before.get(g, name) != name
    ]
    if renamed:  # not those that people gave
        lines.append(f"Names made of features follow them: {cut('; '.join(renamed), 300)} now.")
    if old is None and added:
        lines.append("Without a reference, what is born or split may have been in the old objects already.")
    columns = {key: [row[key] for row in table] for key in table[0]}
    return Update(columns, "\n".join(lines), model=held, n_objects=len(rows))


# -- the model and its rows


def _open(model: Any) -> tuple[Any, EditedModel, Any]:
    """A copy of a model, the same as an edited model, and the estimator inside."""
    held = inner = hold(model)
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
    if vectors := inner._vector_views():
        raise ParameterError(
            f"must be a model of counts, but {type(inner).__name__} takes {listed(list(vectors))} as vectors: fit it "
            "again on all objects.",
            parameter="model",
        )
    return held, held if isinstance(held, EditedModel) else edit(held), inner


def _read(about: Any, inner: Any, X: Any, what: str) -> Views:
    """Objects as the estimator inside takes them."""
    views = inner._new_views(about.preparation.prepare(X))
    if missing := [name for name in inner.view_names_ if name not in views.names]:
        raise ParameterError(f"must have all views of the model, and lacks {listed(missing)}.", parameter=what)
    return views.collect() if isinstance(views, LazyViews) else views


def _with_features(views: Views, what: str) -> np.ndarray:
    """Positions of the objects that have features of the model."""
    known = np.flatnonzero(np.sum([np.asarray(part.sum(axis=1)).ravel() for part in views.values()], axis=0) > 0)
    if len(known) < 10:
        raise ParameterError("must hold 10 objects or more that have features of the model.", parameter=what)
    return known


def _check_new(model: Any, rows: Views, known: np.ndarray) -> None:
    """Refuse the objects of the fit, and warn of those among the new ones; those at `known` have features."""
    told, ids, own = model._object_ids, rows.ids, model.memberships_
    n = min(len(rows), len(own))
    if told is not None and ids is not None and ids.dtype.kind not in "iu":
        twice = int(np.isin(ids[known], told).sum())
    else:
        # without ids they are the first or the last of the fit, in order, also where they come before or after others
        mixtures, twice = np.full((len(rows), own.shape[1]), np.nan), 0
        mixtures[known] = model._mixtures(rows[known])
        for found in (mixtures[:n], mixtures[-n:]):
            have = ~np.isnan(found[:, 0])
            if any(are_read_as_fitted(found[have], part[have]) for part in (own[:n], own[-n:])):
                twice = max(twice, int(have.sum()))
    if twice == len(known):
        raise ParameterError("must hold new objects: the model was fitted on all of these.", parameter="X")
    if twice:
        warn_user(
            f"{twice:,} of {len(known):,} new objects are known to the model already, and count twice: pass new "
            "objects alone.",
            UserWarning,
        )


def _describe_unknown(preparation: Any, X: Any) -> list[str]:
    """Say how many of the words of raw texts the model does not know; nothing where it knows all."""
    rows, n_words = Counter[str](), 0
    texts = {} if isinstance(X, (Views, LazyViews)) else preparation.raw_texts(X)
    for vectorizer, cells in ((preparation.inputs[view].vectorizer, cells) for view, cells in texts.items()):
        if isinstance(vectorizer, TextVectorizer):
            tokenize, stop_words = vectorizer.build_tokenizer(), vectorizer.get_stop_words()
            words = [word for text in cells for word in tokenize(text) if word not in stop_words]
            n_words += len(words)
            rows.update(word for word in words if word not in vectorizer.vocabulary_)
    most = ", ".join(f"{cut(word, 30)!r} ({count:,})" for word, count in rows.most_common(5))
    share = rows.total() / max(n_words, 1)
    return [f"{share:.1%} of the words are unknown to the model and left out: {most}."] if rows else []


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


def learn(model: Any, rows: Views, strength: float) -> Any:
    """The model after EM on some rows, with its topics as prior counts of so many objects."""
    sizes = model.memberships_.mean(axis=0, dtype=np.float64) * strength
    learned, engine, dtype = copy.copy(model), model._engine(), floating_type(rows)
    steps = learned._fitted_steps()
    shared: Tree = tree_map(lambda part: engine.asarray(part, dtype), learned._restored())
    holder = Holder(list(learned._each_block(rows, engine, steps.width)), engine)
    masses = {view: float(part.sum()) / len(rows) for view, part in rows.items()}
    if model._joint:
        masses = dict.fromkeys(masses, sum(masses.values()))
    prior = make_prior(steps, learned._restored(), {view: sizes * mass for view, mass in masses.items()})
    mixtures = [{"mixture": engine.asarray(learned._fold_in(block, steps, shared, engine))} for block in holder.blocks]
    known = tree_map(lambda part: engine.asarray(part, dtype), prior)
    for _ in range(UPDATE_STEPS):
        stats_: Tree = {}
        for b, block in enumerate(holder.blocks):
            mixtures[b], stats_ = steps.row_step(block, mixtures[b], shared, engine, stats_)
        pulls = steps.pulls(stats_, shared)
        pulls = {
            name: {v: pull + known[name][v] / shared[name][v] for v, pull in part.items()}
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
    """New rows under the topics of a model, which count as `strength` objects."""

    def __init__(self, model: Any, views: Views, strength: float) -> None:
        self.model, self.names, self.joint = model, views.names, model._joint
        profiles = model._profiles(tuple(views.names))
        self.profiles = [profiles[name].astype(np.float64) for name in views.names]
        self.before, self.rows = model.memberships_.mean(axis=0, dtype=np.float64), self.read(views)
        # a topic that was found in these rows is known as well as they tell it
        self.sizes = np.where(self.before > 0, self.before * strength, self.rows.mixtures.sum(axis=0) + 1.0)

    def read(self, views: Views) -> MixedRows:
        """Objects with their mixtures."""
        return MixedRows([views[name] for name in self.names], self.profiles, self.model._mixtures(views))

    def draw(self, rng: np.random.Generator, mixtures: np.ndarray | None = None) -> Views:
        """Objects like these from topics around those of the model."""
        mixtures, drawn = self.rows.mixtures if mixtures is None else mixtures, {}
        for name, X, F, mass in zip(self.names, self.rows.counts, self.profiles, self.rows.masses):
            truth = rng.standard_gamma(F * self.sizes * mass.mean() + 1e-12)
            shares = mixtures * F.sum(axis=0)
            # what is no count is drawn in tokens of its mean size
            size = 1.0 if (X.data % 1 == 0).all() else float(X.data.mean())
            tokens = rng.multinomial(np.rint(mass / size).astype(int), shares / shares.sum(axis=1, keepdims=True))
            features = [rng.choice(len(F), n, p=topic / topic.sum()) for topic, n in zip(truth.T, tokens.sum(axis=0))]
            at = [np.repeat(np.arange(len(mass)), n) for n in tokens.T]
            places = np.concatenate(at), np.concatenate(features)
            drawn[name] = sparse.csr_array((np.full(len(places[0]), size), places), X.shape)
        return Views(drawn)

    def find_new(self, rng: np.random.Generator, others: Views) -> NewTopic | None:
        """Return a topic that leads more of these rows than of others, learned and counted on other halves."""
        n, they, parents = len(self.rows), self.read(others), np.zeros(len(self.sizes))
        halves = np.array_split(rng.permutation(n), 2)
        n_led = n_theirs = gain = rise = 0.0
        for learned, told in (halves, halves[::-1]):
            topic, rows = self.rows.take(learned).find_topic(self.joint), self.rows.take(told)
            shares = rows.fit_shares(topic)
            led, own = rows.leads(shares), shares * rows.mass
            n_led += led.sum()
            n_theirs += they.leads(they.fit_shares(topic)).sum() / 2
            gain += rows.beside(topic, shares)[1][led].sum() - LEAST_GAIN * own[led].sum()
            # what was in the old rows adds to no feature; it was in the topic that explained most of it
            rise += self._rise(rows, topic) - own.sum() / 2
            parents += np.sum([part[led].sum(axis=0) for part in rows.tokens()], axis=0)
        table = [[n_led, n - n_led], [n_theirs, len(they) - n_theirs]]
        p = float(stats.fisher_exact(np.rint(table).astype(int), alternative="greater")[1])
        if n_led < max(LEAST * n, 3) or p > LEVEL or (rise > 0 and gain < 0):
            return None
        profiles = dict(zip(self.names, self.rows.find_topic(self.joint)))
        return NewTopic(profiles, None if rise > 0 else int(parents.argmax()), p)

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

    def tell_events(self, rng: np.random.Generator, old: MixedRows | None) -> dict[int, Event]:
        """Return the event of each topic."""
        self.distances, found = self.compare_halves(self.rows, rng)
        drawn = np.array([self.compare_halves(self.read(self.draw(rng)), rng)[1] for _ in range(N_DRAWS)])
        highest = drawn.max(axis=1)  # of all topics, so that one in twenty streams has any
        events: dict[int, Event] = {}
        chance = np.exp(highest.max())
        for g, score in enumerate(found):
            p = float((1 + (highest >= score).sum()) / (1 + N_DRAWS))
            text = f"moved {np.exp(score):.1f} times as far as its halves differ; by chance at most {chance:.1f} times"
            events[g] = ("drifted" if score > 0 and p <= LEVEL else "kept", p, text)
        died = self._find_died(self.model.memberships_ if old is None else old.mixtures)
        return events | self._find_merged(rng, died) | died

    def _find_died(self, old: np.ndarray) -> dict[int, Event]:
        events, now, n, n_old = {}, self.rows.mixtures, len(self.rows), len(old)
        for g, (led, was) in enumerate(zip(_count_led(now), _count_led(old))):
            p = stats.fisher_exact([[led, n - led], [was, n_old - was]], alternative="less")[1] * now.shape[1]
            if p <= LEVEL and led / n < min(LEAST, FALLEN * was / n_old):
                events[g] = ("died", float(p), f"the most of {led / n:.1%} of these objects, was of {was / n_old:.1%}")
        return events

    def _find_merged(self, rng: np.random.Generator, died: Collection[int]) -> dict[int, Event]:
        shares, events = self.rows.mixtures, dict[int, Event]()
        for j, k in np.argwhere(np.triu(_correlate(shares), 1) > TOGETHER).tolist():
            if j in died or k in died:
                continue
            one, pooled = shares.copy(), shares[:, [j, k]].sum(axis=0)
            one[:, [j, k]] = shares[:, [j, k]].sum(axis=1, keepdims=True) * pooled / pooled.sum()
            found = _correlate(shares)[j, k]
            chance = [_correlate(self.read(self.draw(rng, one)).mixtures)[j, k] for _ in range(N_DRAWS)]
            p = (1 + sum(value <= found for value in chance)) / (1 + N_DRAWS)
            if p > LEVEL:  # as far together as one topic of both
                text = f"together with {{}}: correlation {found:.2f}, of one topic {np.mean(chance):.2f}"
                events |= {j: ("merged", p, text, k), k: ("merged", p, text, j)}
        return events


def _count_led(shares: np.ndarray) -> np.ndarray:
    """Number of objects of which each topic is the largest part."""
    return np.bincount(shares.argmax(axis=1), minlength=shares.shape[1])


def _correlate(shares: np.ndarray) -> np.ndarray:
    """Correlations of topics over objects; 0 of one that is the same in all."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.atleast_2d(np.corrcoef(shares.T)))


def _tell_groups(
    edited: EditedModel, inner: Any, stream: Stream, events: dict[int, Event], old: Views | None
) -> dict[str, dict[str, Any]]:
    """What the table says of each group: of one that was merged by hand all of its topics count."""
    groups, n = edited.ever_groups, len(stream.rows)
    shares = groups.memberships([inner.memberships_, *(split["shares"] for split in edited.splits_)])
    before, now = shares[:-n].mean(axis=0), shares[-n:].mean(axis=0)
    if old is not None:
        models = [stream.model, *(split["model"] for split in edited.splits_)]
        before = groups.memberships([model._mixtures(old) for model in models]).mean(axis=0)
    roots = {number: groups.roots(columns) for number, columns in groups.columns.items()}
    number_of = {root: number for number in reversed(roots) for root in roots[number]}
    told = {}
    for at, (number, own) in enumerate(roots.items()):
        each = [events[root] for root in own]
        changes = [event for event in each if event[0] not in ("kept", "died") and own.isdisjoint(event[3:])]
        if changes:
            each = [min(changes, key=lambda event: event[1])]
        elif any(event[0] != "died" for event in each):
            each = [*(event for event in each if event[0] == "kept"), ("kept", 1.0, "its topics come together")]
        what, p_value, text, *others = each[0]
        told[str(number)] = {
            "event": what,
            "before": float(before[at]) if before[at] > 0 else np.nan,  # no old object has any of a new topic
            "now": float(now[at]),
            "distance": float(stream.distances[list(own)].max()),
            "p_value": p_value,
            "evidence": text.format(*map(number_of.__getitem__, others)),
        }
    return told
