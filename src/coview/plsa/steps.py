"""The steps that the whole PLSA family shares: every model is a mixture of profiles.

    p(f | d, v) = sum_z p(z | d) p(f | z, v)         mixture (objects x columns), profile (features x columns) by view

With R_v = X_v / (mixture profile_v^T) on the non-zeros, the row step is mixture <- rows(mixture * sum_v w_v R_v
profile_v) and the statistics are H_v = R_v^T mixture. The models differ in what their profiles are made of:

    PLSA        one distribution over the features of all views    profile <- columns(profile * H), views together
    LinkPLSA    one distribution per view                          profile <- columns(profile * H), view by view
    MultiView   profile = F B^T, F = p(f|y,v), B = p(y|z,v)        F <- columns(F * H B),  B <- rows(B * H^T F)

The last line is exact EM for the latent pair (y, z): sums over topics are taken before the pass over the data, so
that a sweep costs non-zeros x clusters, however many topics there are, and p(y, z | f, d, v) is never built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.plsa.factors import FEATURE_FLOOR, ROW_FLOOR, random_matrix

__all__ = ["ClusterSteps", "JointSteps", "LinkSteps", "MixtureSteps"]


@dataclass(frozen=True)
class MixtureSteps:
    """Row side of every model: rows = {"mixture"}, shared = {"profiles": {view: features x columns}, ...}.

    A block may carry "start" (row states to begin with) and "labels" (codes; -1 is free): labeled rows are clamped
    to their class.
    """

    width: int
    alternating: bool = True
    weights: dict[str, float] = field(default_factory=dict)

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given or random rows; an object without any feature is an even mixture and stays so."""
        dtype = next(iter(shared["profiles"].values())).dtype
        if "start" in block.extra:
            rows = ops.to_numpy(block.extra["start"]).clip(min=ROW_FLOOR)
        else:
            rows = random_matrix(seed, block.start, block.stop, self.width, np.float64)
            mass = sum(ops.to_numpy(ops.row_sums(part)) for part in block.views.values())
            rows[np.asarray(mass) <= 0] = 1.0 / self.width
        return {"mixture": clamped(ops.asarray(rows, dtype), block, ops)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """One half-step of the rows; with `stats`, the pass over the features as well."""
        mixture, profiles = rows["mixture"], shared["profiles"]
        pull, objective = None, 0.0
        for name, X in block.views.items():
            part, likelihood = ops.ratio_rows(X, mixture, profiles[name])
            weight = self.weights.get(name, 1.0)
            part = part if weight == 1.0 else part * weight
            pull = part if pull is None else pull + part
            objective += weight * likelihood
        new = clamped(ops.row_shares(mixture, pull, ROW_FLOOR), block, ops)
        if stats is not None:
            used = new if self.alternating else mixture
            sums = stats.setdefault("ratio", {})
            for name, X in block.views.items():
                sums[name] = ops.ratio_features(X, used, profiles[name], sums.get(name))
            stats["objective"] = stats.get("objective", 0.0) + objective
        return {"mixture": new}, stats

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block."""
        profiles = shared["profiles"]
        return float(
            sum(
                self.weights.get(name, 1.0) * ops.log_likelihood(X, rows["mixture"], profiles[name]).sum()
                for name, X in block.views.items()
            )
        )

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        """New shared parameters from the statistics; those may be overwritten."""
        return self.update(shared, self.pulls(stats, shared), ops)

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        """What multiplies each shared parameter before it is made a distribution again; product = expected counts."""
        return {"profiles": stats["ratio"]}

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        """Shared parameters as expected counts with the masses of others: what `fit` learned, for online learning."""
        return {"profiles": _with_masses(shared["profiles"], like["profiles"], joint=False)}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        """Shared parameters times their pulls, as distributions."""
        raise TypeError(f"{type(self).__name__} does not say how its profiles are made.")

    def normalize_rows(self, rows: Tree) -> Tree:
        """Rows back onto the simplex after an extrapolation."""
        return {"mixture": _shares(rows["mixture"], 1, ROW_FLOOR)}

    def normalize_shared(self, shared: Tree) -> Tree:
        """Shared parameters as distributions again."""
        raise TypeError(f"{type(self).__name__} does not say how its profiles are made.")


@dataclass(frozen=True)
class JointSteps(MixtureSteps):
    """PLSA: each profile is one distribution over the features of all views."""

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        return {"profiles": _with_masses(shared["profiles"], like["profiles"], joint=True)}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        return {"profiles": ops.column_shares(shared["profiles"], pulls["profiles"], FEATURE_FLOOR)}

    def normalize_shared(self, shared: Tree) -> Tree:
        return {"profiles": _column_shares(shared["profiles"], joint=True)}


@dataclass(frozen=True)
class LinkSteps(MixtureSteps):
    """LinkPLSA: each profile is one distribution per view."""

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        return {"profiles": _view_by_view(shared["profiles"], pulls["profiles"], ops)}

    def normalize_shared(self, shared: Tree) -> Tree:
        return {"profiles": _column_shares(shared["profiles"], joint=False)}


@dataclass(frozen=True)
class ClusterSteps(MixtureSteps):
    """Dual and multi-view PLSA: a profile is a mixture of topics, profile = F B^T.

    shared also holds "feature_topic" {view: features x topics} and "cluster_topic" {view: clusters x topics}. With
    `joint`, all views share their topics, as one view side by side (dual PLSA).
    """

    joint: bool = False

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        clusters = like["cluster_topic"]
        masses = {name: part.sum(axis=1, keepdims=True) for name, part in clusters.items()}
        return {
            "feature_topic": _with_masses(shared["feature_topic"], like["feature_topic"], joint=self.joint),
            "cluster_topic": {name: part * masses[name] for name, part in shared["cluster_topic"].items()},
        }

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        features, clusters, ratio = shared["feature_topic"], shared["cluster_topic"], stats["ratio"]
        if self.joint:  # views meet in the same topics: there their weights matter too
            ratio = {name: part * self.weights.get(name, 1.0) for name, part in ratio.items()}
        found = {name: part.T @ features[name] for name, part in ratio.items()}
        if self.joint:
            found = dict.fromkeys(found, sum(found.values()))
        return {"feature_topic": {name: part @ clusters[name] for name, part in ratio.items()}, "cluster_topic": found}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        old = shared["feature_topic"]
        if self.joint:
            features = ops.column_shares(old, pulls["feature_topic"], FEATURE_FLOOR)
        else:
            features = _view_by_view(old, pulls["feature_topic"], ops)
        clusters = {
            name: ops.row_shares(shared["cluster_topic"][name], pull, ROW_FLOOR)
            for name, pull in pulls["cluster_topic"].items()
        }
        return self.with_profiles(features, clusters)

    def with_profiles(self, features: Tree, clusters: Tree) -> Tree:
        """Shared parameters with the profiles that topics and their mixtures make."""
        return {
            "feature_topic": features,
            "cluster_topic": clusters,
            "profiles": {name: features[name] @ clusters[name].T for name in features},
        }

    def normalize_shared(self, shared: Tree) -> Tree:
        clusters = {name: _shares(part, 1, ROW_FLOOR) for name, part in shared["cluster_topic"].items()}
        return self.with_profiles(_column_shares(shared["feature_topic"], joint=self.joint), clusters)


def clamped(mixture: Any, block: Block, ops: Engine) -> Any:
    """Labeled rows hold their class alone; -1 is free."""
    codes = block.extra.get("labels")
    return mixture if codes is None else ops.clamp(mixture, codes)


def _view_by_view(old: Tree, pulls: Tree, ops: Engine) -> Tree:
    return {
        name: ops.column_shares({name: old[name]}, {name: pull}, FEATURE_FLOOR)[name] for name, pull in pulls.items()
    }


def _column_shares(parts: Tree, *, joint: bool) -> Tree:
    parts = {name: part.clip(min=FEATURE_FLOOR) for name, part in parts.items()}
    sums = {name: part.sum(axis=0) for name, part in parts.items()}
    if joint:
        sums = dict.fromkeys(sums, sum(sums.values()))
    return {name: part / sums[name] for name, part in parts.items()}


def _with_masses(parts: Tree, like: Tree, *, joint: bool) -> Tree:
    masses = {name: part.sum(axis=0) for name, part in like.items()}
    if joint:
        masses = dict.fromkeys(masses, sum(masses.values()))
    return {name: part * masses[name] for name, part in parts.items()}


def _shares(values: Any, axis: int, floor: float) -> Any:
    values = values.clip(min=floor)
    return values / values.sum(axis=axis, keepdims=True)
