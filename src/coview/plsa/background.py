"""A background beside the topics: what all objects have in common, so that no topic needs to say it.

    p(f | d, v) = sum_z p(z | d) ((1 - s) p(f | z, v) + s q(f | v))

q is the share of each feature in all objects, and s the share of the background, both fixed (Zhai, Velivelli and Yu,
2004). Where the mean explains the most of every object, the topics must say how it differs: their deviations from q are
1 / (1 - s) times as large, and come first among their features. As in MultiView PLSA a profile is made of parts: with
the profiles in place of the topics the row step is the usual one, and with H = R^T mixture the topics are
columns(topics * H).

A large share leaves little to tell topics apart at first, and from random mixtures EM ends in poor ones: the start is
the factorized one (`factorized_start.py`), unless another is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.engines.passes import over_rows
from coview.engines.protocol import Engine
from coview.engines.state import Tree
from coview.plsa.factors import EVERY_FEATURE, column_shares, update_columns, with_masses
from coview.plsa.likelihood import batch_rule, vectors_of
from coview.plsa.mixture import MixtureSteps
from coview.utils import fitted_state as rules
from coview.views.views import Views

__all__ = [
    "LARGEST_SHARE",
    "BackgroundSteps",
    "background_of",
    "background_rule",
    "moved_background",
    "over_background",
    "topic_counts_rule",
    "topics_of",
    "with_background",
]

LARGEST_SHARE = 0.95  # beyond, what is left to the topics is less than the noise of the counts


@dataclass(frozen=True)
class BackgroundSteps(MixtureSteps):
    """Steps of PLSA and link-PLSA with a background: shared also holds "topics" and "background" {view: array}."""

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        return {"topics": with_masses(shared["topics"], like["topics"], joint=self.joint)}

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        return {"topics": stats["ratio"]}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        topics = update_columns(shared["topics"], pulls["topics"], ops, joint=self.joint)
        return with_background(topics, shared["background"], joint=self.joint)

    def normalize_profiles(self, shared: Tree) -> Tree:
        return with_background(
            column_shares(shared["topics"], joint=self.joint), shared["background"], joint=self.joint
        )


def with_background(topics: Tree, background: Tree, *, joint: bool) -> Tree:
    """Shared parameters with the profiles that topics (features x topics) and their background (features x 1) make."""
    return {"topics": topics, "background": background, "profiles": over_background(topics, background, joint=joint)}


def over_background(
    topics: Tree, background: Tree, some: Mapping[str, np.ndarray] = EVERY_FEATURE, *, joint: bool
) -> Tree:
    """Topics over a background, which sums to its share: of each view, or (`joint`) over all views.

    Where `some` has a view, the topics are those of these features.

    Examples
    --------
    >>> over_background({"x": np.array([[1.0], [0.0]])}, {"x": np.array([[0.1], [0.1]])}, joint=False)["x"].round(2)
    array([[0.9],
           [0.1]])
    """
    shares = _masses(background, joint)
    own = {name: part[some[name]] if name in some else part for name, part in background.items()}
    return {name: (1 - shares[name]) * part + own[name] for name, part in topics.items()}


def topics_of(shared: Tree) -> Tree:
    """Topics by themselves, without the background where there is one."""
    return dict(shared["topics"] if "topics" in shared else shared["profiles"])


def background_of(views: Any, share: float, *, joint: bool) -> dict[str, np.ndarray]:
    """Share of each feature in all objects times that of the background: of each view, or over all views.

    Examples
    --------
    >>> X = Views(words=np.array([[3, 0], [0, 1]]), links=np.array([[1, 1], [1, 1]]))
    >>> background_of(X, 0.8, joint=False)
    {'words': array([0.6, 0.2]), 'links': array([0.4, 0.4])}
    >>> background_of(X, 0.8, joint=True)["words"]
    array([0.3, 0.1])
    """
    sums = _feature_sums(views)
    if not joint or not any(part.any() for part in sums.values()):  # even where there is nothing
        sums = {name: part if part.any() else np.ones_like(part) for name, part in sums.items()}
    masses = _masses(sums, joint)
    return {name: share * part / masses[name] for name, part in sums.items()}


def moved_background(
    known: Mapping[str, np.ndarray], views: Any, weight: float, *, joint: bool
) -> dict[str, np.ndarray]:
    """Background on the way to that of a minibatch, by so much; it keeps its share, and stays where a view is empty.

    Examples
    --------
    >>> X = Views(words=np.array([[3, 0], [0, 1]]), links=np.zeros((2, 2)))
    >>> moved_background({"words": np.array([0.2, 0.2]), "links": np.array([0.3, 0.1])}, X, 0.5, joint=False)
    {'words': array([0.25, 0.15]), 'links': array([0.3, 0.1])}
    """
    sums = _feature_sums(views)
    masses, shares = _masses(sums, joint), _masses(known, joint)
    return {
        name: (1 - weight) * part + weight * shares[name] / masses[name] * sums[name] if masses[name] else part
        for name, part in known.items()
    }


def _feature_sums(views: Any) -> dict[str, np.ndarray]:
    """Sum of each feature over all objects, of views in memory or lazy."""
    parts = over_rows(views, _sums_of)
    return {name: np.sum([part[name] for part in parts], axis=0) for name in views.names}


def _sums_of(views: Views, first: int) -> dict[str, np.ndarray]:
    return {name: np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() for name, X in views.items()}


def _masses(parts: Mapping[str, np.ndarray], joint: bool) -> dict[str, Any]:
    """Sum of each view, or (`joint`) of all."""
    sums = {name: part.sum() for name, part in parts.items()}
    return dict.fromkeys(sums, sum(sums.values())) if joint else sums


# -- in model files


def background_rule(*, joint: bool) -> rules.Rule:
    """What a background must look like: shares of the features of each view of counts that add up to less than 1."""
    inside = rules.by_view(rules.floats("features of {view}", low=0, high=1), some=True)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if not value:
            return
        if set(value) != set(checker.state.get("view_names_", [])) - vectors_of(checker):
            checker.refuse(where, "has other views than those of counts")
        sums = [float(part.sum()) for part in value.values()]
        if not all(0 < total < 1 for total in ([sum(sums)] if joint else sums)):
            checker.refuse(where, "has shares that do not add up to a number between 0 and 1")

    return rules.optional(rules.custom(visit))


def topic_counts_rule() -> rules.Rule:
    """What the running counts of minibatches must look like: of topics over a background, or of profiles."""
    counts = rules.floats("features of {view}", "topics", low=0)
    plain, over = batch_rule("topics", profiles=counts), batch_rule("topics", topics=counts)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(over if checker.state.get("background_") else plain, value, where)

    return rules.optional(rules.custom(visit), needed=plain.needed)
