"""The steps of a sweep that the whole PLSA family shares, and how factors stay distributions.

    p(f | d, v) = sum_z p(z | d) p(f | z, v)         mixture (objects x columns), profile (features x columns) by view

The posteriors of the E step, p(z | f, d, v) = p(z | d) p(f | z, v) / p(f | d, v), are never built: only their sums are
needed. With R_v = X_v / (mixture profile_v^T) on the non-zeros,

    sum_f x_vdf p(z | f, d, v) = (mixture * R_v profile_v)_dz        sum_d x_vdf p(z | f, d, v) = (profile_v * H_v)_fz

where H_v = R_v^T mixture. The M step of the rows is mixture <- rows(mixture * sum_v w_v R_v profile_v) (Hofmann, 1999);
H_v is what the shared step is made of. The models differ in what their profiles consist of:

    PLSA        one distribution over the features of all views    profile <- columns(profile * H), views together
    LinkPLSA    one distribution per view                          profile <- columns(profile * H), view by view
    background  (1 - s) topics + s q, q and s fixed                topics <- columns(topics * H)
    MultiView   profile = F B^T, F = p(f|y,v), B = p(y|z,v)        F <- columns(F * H B),  B <- rows(B * H^T F)

Views of vectors and measurements are Gaussian (`dense.py`): they have means in place of profiles, and pull at the
mixtures by a quadratic. The factor of a view is (features x topics), since the kernels gather its rows; users see the
transpose, `topic_feature_`. Floors keep float32 clear of subnormal numbers and logarithms finite.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from coview.engines.loop import fold_in
from coview.engines.protocol import Block, Engine, Tree
from coview.plsa.dense import (
    PARAMETERS,
    PRODUCTS,
    VECTOR_LIKELIHOODS,
    GaussianLikelihood,
    Quadratic,
    take_quadratic_step,
)

__all__ = [
    "FEATURE_FLOOR",
    "ROW_FLOOR",
    "BackgroundSteps",
    "MixtureSteps",
    "add_background",
    "draw_rows",
    "fold_rows",
    "get_dtype",
    "get_topics",
    "hash_name",
    "mix_with_background",
    "normalize_mixtures",
    "normalize_topics",
    "scale_to_sums",
    "update_columns",
]

# A zero is a fixed point of EM, and its logarithm is infinite; yet a floor must add up to nothing over a row of some
# thousand groups, or a column of some million features.
ROW_FLOOR = 1e-12
FEATURE_FLOOR = 1e-15
STAYS = 0.8  # least share of a weight that momentum leaves: less, and an object would seem to be at rest too soon
_STRIPE = 1024  # rows of a random matrix that have a stream of their own


# -- the row step


@dataclass(frozen=True)
class MixtureSteps:
    """Steps of link-PLSA, and the row side of every model: rows = {"mixture"}, shared = {"profiles": {view: array}}.

    A profile (features x columns) is one distribution per view; other models override what profiles are made of. A
    block may carry "start" (row states to begin with) and "labels" (codes; -1 is free): labeled rows are clamped to
    their class. With `joint` a profile is one distribution over the features of all views (PLSA). Views named in
    `dense` are vectors, each with its likelihood (`dense.py`): shared also holds what `PARAMETERS` names, by view.
    """

    width: int
    alternating: bool = True
    fold_in_sweeps: ClassVar[int] = 200
    fold_in_tol: ClassVar[float] = 1e-5
    spread_cost: ClassVar[float] = 0.0  # of vectors: only clusters and classes have one
    weights: dict[str, float] = field(default_factory=dict)
    dense: Mapping[str, str] = field(default_factory=dict)
    joint: bool = False

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given or random rows; an object without any feature is an even mixture and stays so."""
        if "start" in block.extra:
            rows = ops.xp.clip(ops.asarray(block.extra["start"], get_dtype(shared)), ROW_FLOOR, None)
        else:
            rows = draw_rows(seed, block.start, block.stop, self.width)
            # an object without features would keep its random mixture, as if that had been learned
            masses = [ops.to_numpy(ops.row_sums(part)) for _, part in self.counts(block)]
            masses += [block.present[name].astype(np.float64) for name in self.vectors(block)]
            rows[np.sum(masses, axis=0) <= 0] = 1.0 / self.width
        return {"mixture": clamp_labels(ops.asarray(rows, get_dtype(shared)), block, ops)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """One half-step of the rows; with `stats`, the pass over the features as well."""
        mixture, profiles = rows["mixture"], shared["profiles"]
        pull, objective = None, 0.0
        for name, X in self.counts(block):
            # E step, summed over the features: R F, and the log-likelihood, which falls out of the same pass
            part, likelihood = ops.ratio_rows(X, mixture, profiles[name])
            weight = self.weights.get(name, 1.0)
            part = part if weight == 1.0 else part * weight
            pull = part if pull is None else pull + part
            objective += weight * likelihood
        vectors = self.vectors(block)
        if not vectors:
            # M step: p(z | d) is the share of z in the expected counts
            new = clamp_labels(ops.row_shares(mixture, pull, ROW_FLOOR), block, ops)
        else:
            bounds = {name: self.bound_vectors(block, name, mixture, shared, ops) for name in vectors}
            counts = mixture * (0.0 if pull is None else pull)
            new = clamp_labels(take_quadratic_step(mixture, counts, list(bounds.values()), ops, ROW_FLOOR), block, ops)
        if stats is not None:
            # one E step for both sides is the published EM; from the new mixtures it takes fewer sweeps to converge
            used = new if self.alternating else mixture
            sums = stats.setdefault("ratio", {})
            for name, X in self.counts(block):
                sums[name] = ops.ratio_features(X, used, profiles[name], sums.get(name))
            for name in vectors:
                objective += self.vector_objective(block, name, mixture, shared, ops, bounds[name])
                # means and mixtures have no joint bound as counts do: the means are learned from the new mixtures
                self.add_moments(block, name, new, shared, ops, stats)
            stats["objective"] = stats.get("objective", 0.0) + objective
        return {"mixture": new}, stats

    def counts(self, block: Block) -> Iterator[tuple[str, Any]]:
        """Names and rows of the views of a block that are counts."""
        return ((name, X) for name, X in block.views.items() if name not in self.dense)

    def vectors(self, block: Block) -> list[str]:
        """Names of the views of a block that are vectors, or of which it carries their products with the means."""
        return [name for name in self.dense if name in block.views or PRODUCTS + name in block.extra]

    def fold_step(self, block: Block, rows: Tree, shared: Tree, ops: Engine, number: int) -> tuple[Tree, np.ndarray]:
        """Row step `number` of new objects, and how far each was from rest: here by how much its largest entry moved.

        A step is taken from ahead of where an object stands (Nesterov's momentum), and the momentum of an object begins
        anew where the step leads back (O'Donoghue and Candes, 2015). It takes a fifth of a weight at most: a weight
        that was all but lost would come back so slowly that the object seems to be at rest.
        """
        mixture, ahead = rows["mixture"], rows["mixture"]
        pace = rows.get("pace", mixture[:, :1] * 0)  # steps since an object's momentum began
        if "behind" in rows:
            ahead = ops.xp.maximum(mixture + pace / (pace + 3) * (mixture - rows["behind"]), STAYS * mixture)
            ahead = self.normalize_rows({"mixture": ahead})["mixture"]
        new, along, unrest = self._step_from(ahead, mixture, block, shared, ops)
        return {"mixture": new, "behind": mixture, "pace": (pace + 1) * (along[:, None] >= 0)}, unrest

    def _step_from(
        self, ahead: Any, mixture: Any, block: Block, shared: Tree, ops: Engine
    ) -> tuple[Any, Any, np.ndarray]:
        """Rows one step from ahead of where they stand, how far it leads on, and how far each was from rest."""
        new = self.row_step(block, {"mixture": ahead}, shared, ops, None)[0]["mixture"]
        steps = (np.abs(ops.to_numpy(new - part)).max(axis=1, initial=0.0) for part in (ahead, mixture))
        return new, ((new - ahead) * (new - mixture)).sum(1), np.maximum(*steps)

    def settled_rows(self, block: Block, start: Any, shared: Tree, ops: Engine) -> Any:
        """Mixtures of new objects after all steps of fold-in, where the engine takes them at once; None elsewhere."""
        if self.vectors(block):  # the engines' kernel knows counts alone
            return None
        parts = [(X, shared["profiles"][name], self.weights.get(name, 1.0)) for name, X in self.counts(block)]
        found = ops.settled_rows(parts, start, self.fold_in_sweeps, self.fold_in_tol, ROW_FLOOR, STAYS)
        return None if found is None else clamp_labels(found, block, ops)

    def folding_block(self, block: Block, shared: Tree, ops: Engine) -> Block:
        """What fold-in goes over again and again: of vectors, their products with the means alone."""
        carried = {
            PRODUCTS + name: self._likelihood(name).project(block, name, shared, ops, self.spread_cost)
            for name in self.vectors(block)
        }
        return replace(block, views=dict(self.counts(block)), extra={**block.extra, **carried})

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block."""
        profiles = shared["profiles"]
        total = float(
            sum(
                self.weights.get(name, 1.0) * ops.log_likelihood(X, rows["mixture"], profiles[name]).sum()
                for name, X in self.counts(block)
            )
        )
        return total + sum(
            self.vector_objective(block, name, rows["mixture"], shared, ops) for name in self.vectors(block)
        )

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        """New shared parameters from the statistics; those may be overwritten."""
        new = self.update(shared, self.pulls(stats, shared), ops)
        return {**new, **self.update_vectors(shared, stats["moments"], ops)} if self.dense else new

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        """What multiplies each shared parameter before it is made a distribution again; product = expected counts."""
        return {"profiles": stats["ratio"]}

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        """Shared parameters as expected counts with the masses of others: what `fit` learned, for online learning."""
        return {"profiles": scale_to_sums(shared["profiles"], like["profiles"], joint=self.joint)}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        """Shared parameters times their pulls, as distributions."""
        return {"profiles": update_columns(shared["profiles"], pulls["profiles"], ops, joint=self.joint)}

    # -- views of vectors

    def _likelihood(self, name: str) -> GaussianLikelihood:
        return VECTOR_LIKELIHOODS[self.dense[name]]

    def bound_vectors(self, block: Block, name: str, mixture: Any, shared: Tree, ops: Engine) -> Quadratic:
        """What a view of vectors says of the rows of a block."""
        weight = self.weights.get(name, 1.0)
        return self._likelihood(name).compute_bound(block, name, mixture, shared, weight, ops, self.spread_cost)

    def vector_objective(
        self, block: Block, name: str, mixture: Any, shared: Tree, ops: Engine, bound: Quadratic | None = None
    ) -> float:
        """What a view of vectors adds to the objective; its bound at the mixtures is made where it is not given."""
        bound = bound or self.bound_vectors(block, name, mixture, shared, ops)
        weight = self.weights.get(name, 1.0)
        parts = self._likelihood(name).compute_objective(block, name, bound, mixture, shared, weight, ops)
        return float(parts.sum())

    def add_moments(self, block: Block, name: str, mixture: Any, shared: Tree, ops: Engine, stats: Tree) -> None:
        """Add the sums of a view of vectors that its shared parameters are learned from."""
        new = self._likelihood(name).compute_moments(block, name, mixture, shared, ops)
        moments = stats.setdefault("moments", {})
        old = moments.get(name)
        moments[name] = new if old is None else {key: old[key] + part for key, part in new.items()}

    def update_vectors(self, shared: Tree, moments: Tree, ops: Engine) -> Tree:
        """Shared parameters of the views of vectors from the sums over all objects."""
        new = {
            name: self._likelihood(name).update(name, shared, moments[name], ops, self.spread_cost)
            for name in shared["means"]
        }
        return {key: {name: part[key] for name, part in new.items()} for key in PARAMETERS}

    def as_moments(self, shared: Tree, like: Tree) -> Tree:
        """Shared parameters of the views of vectors as sums with the memberships of others, as `as_counts`."""
        return {
            name: self._likelihood(name).recover_moments(name, shared, like[name], self.spread_cost)
            for name in shared["means"]
        }

    # -- distributions stay distributions

    def normalize_rows(self, rows: Tree) -> Tree:
        """Rows back onto the simplex after an extrapolation."""
        return {"mixture": normalize_mixtures(rows["mixture"])}

    def normalize_shared(self, shared: Tree) -> Tree:
        """Shared parameters as distributions again; means and logarithms of variances are any numbers."""
        return {**shared, **self.normalize_profiles(shared)}

    def normalize_profiles(self, shared: Tree) -> Tree:
        """What profiles are made of as distributions again."""
        return {"profiles": normalize_topics(shared["profiles"], joint=self.joint)}


def clamp_labels(mixture: Any, block: Block, ops: Engine) -> Any:
    """Labeled rows hold their class alone; -1 is free."""
    codes = block.extra.get("labels")
    return mixture if codes is None else ops.clamp(mixture, codes)


def fold_rows(steps: MixtureSteps, block: Block, start: Any, shared: Tree, engine: Engine) -> np.ndarray:
    """Mixtures of new objects, the profiles fixed, from a start or (None) from even ones."""
    if start is None:
        start = np.full((len(block), steps.width), 1.0 / steps.width)
    rows = {"mixture": engine.asarray(start, get_dtype(shared))}
    settled = steps.settled_rows(block, rows["mixture"], shared, engine)
    if settled is not None:
        return engine.to_numpy(settled)
    block = steps.folding_block(block, shared, engine)

    def step(part: Block, rows: Tree, number: int) -> tuple[Tree, np.ndarray]:
        return steps.fold_step(part, rows, shared, engine, number)

    return fold_in(step, block, rows, engine, max_iter=steps.fold_in_sweeps, tol=steps.fold_in_tol)["mixture"]


def get_dtype(shared: Tree) -> Any:
    """Floating type of the parameters, and so of the mixtures."""
    return next(chain(shared["profiles"].values(), shared.get("means", {}).values())).dtype


# -- distributions


def draw_rows(seed: int, start: int, stop: int, width: int) -> np.ndarray:
    """Rows start..stop of a random positive matrix whose rows sum to one.

    Each stripe of rows has its own stream, so that a row is the same however the rows are cut into blocks.
    """
    values = np.empty((stop - start, width))
    for stripe in range(start // _STRIPE, -(-stop // _STRIPE)):
        part = np.random.default_rng([seed, stripe]).random((_STRIPE, width))
        first = stripe * _STRIPE
        part = part[max(start - first, 0) : stop - first]
        part += 1e-3  # entries near zero would take many sweeps to grow
        part /= part.sum(axis=1, keepdims=True)
        begin = max(first - start, 0)
        values[begin : begin + len(part)] = part
    return values


def hash_name(view: str) -> int:
    """Seed offset of a view, by its name: the order of the views does not matter."""
    return 1 + zlib.crc32(view.encode()) % 1_000_003


def normalize_mixtures(values: Any) -> Any:
    """Rows at least the floor, divided by their sums."""
    values = values.clip(min=ROW_FLOOR)
    return values / values.sum(axis=1, keepdims=True)


def normalize_topics(parts: Tree, *, joint: bool) -> Tree:
    """Columns at least the floor, divided by their sums: of each view, or (`joint`) over all views."""
    parts = {name: part.clip(min=FEATURE_FLOOR) for name, part in parts.items()}
    sums = _sum_columns(parts, joint=joint)
    return {name: part / sums[name] for name, part in parts.items()}


def scale_to_sums(parts: Tree, like: Tree, *, joint: bool) -> Tree:
    """Distributions as counts with the column sums of others."""
    masses = _sum_columns(like, joint=joint)
    return {name: part * masses[name] for name, part in parts.items()}


def update_columns(old: Tree, pulls: Tree, ops: Engine, *, joint: bool) -> Tree:
    """Columns of old * pull as distributions: of each view, or (`joint`) over all views."""
    if joint and pulls:  # the sums of all views are one: which shares the views have is learned with it
        return ops.column_shares(old, pulls, FEATURE_FLOOR)
    return {
        name: ops.column_shares({name: old[name]}, {name: pull}, FEATURE_FLOOR)[name] for name, pull in pulls.items()
    }


def _sum_columns(parts: Tree, *, joint: bool) -> Tree:
    sums = {name: part.sum(axis=0) for name, part in parts.items()}
    return dict.fromkeys(sums, sum(sums.values())) if joint else sums


# -- a background


@dataclass(frozen=True)
class BackgroundSteps(MixtureSteps):
    """Steps of PLSA and link-PLSA with a background: shared also holds "topics" and "background" {view: array}.

    Zhai, Velivelli and Yu (2004): the share of the background is fixed, so that it takes no step.
    """

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        return {"topics": scale_to_sums(shared["topics"], like["topics"], joint=self.joint)}

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        # p(z | d) (1 - s) p(f | z) / p(f | d) of a count is of topic z: H as before, the rest is the background's
        return {"topics": stats["ratio"]}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        topics = update_columns(shared["topics"], pulls["topics"], ops, joint=self.joint)
        return add_background(topics, shared["background"], joint=self.joint)

    def normalize_profiles(self, shared: Tree) -> Tree:
        return add_background(
            normalize_topics(shared["topics"], joint=self.joint), shared["background"], joint=self.joint
        )


def add_background(topics: Tree, background: Tree, *, joint: bool) -> Tree:
    """Shared parameters with the profiles that topics (features x topics) and their background (features x 1) make."""
    return {
        "topics": topics,
        "background": background,
        "profiles": mix_with_background(topics, background, joint=joint),
    }


def mix_with_background(topics: Tree, background: Tree, *, joint: bool) -> Tree:
    """Topics over a background, which sums to its share: of each view, or (`joint`) over all views.

    Examples
    --------
    >>> mix_with_background({"x": np.array([[1.0], [0.0]])}, {"x": np.array([[0.1], [0.1]])}, joint=False)["x"].round(2)
    array([[0.9],
           [0.1]])
    """
    shares = _sum_parts(background, joint)
    return {name: (1 - shares[name]) * part + background[name] for name, part in topics.items()}


def get_topics(shared: Tree) -> Tree:
    """Topics by themselves, without the background where there is one."""
    return dict(shared["topics"] if "topics" in shared else shared["profiles"])


def _sum_parts(parts: Tree, joint: bool) -> dict[str, Any]:
    """Sum of each view, or (`joint`) of all."""
    sums = {name: part.sum() for name, part in parts.items()}
    return dict.fromkeys(sums, sum(sums.values())) if joint else sums
