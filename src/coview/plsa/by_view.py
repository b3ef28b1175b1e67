"""Models in which an object has a topic mixture in every view: what co-regularized and pairwise PLSA share.

The rows of a block are one table (objects x (views * topics)), the columns of its views side by side. An object without
any feature in a view counts as lacking that view. Pairs of views pull at each other's mixtures with a `coupling` each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coview.engines.passes import blockwise
from coview.engines.protocol import Block, Engine, Extra, Holder
from coview.engines.state import Tree
from coview.exceptions import ViewsError
from coview.inspection import Inspection
from coview.plsa.factors import as_distributions, given_keys, initial_arrays, random_matrix, row_shares
from coview.plsa.gaussian import add_moments, far_from_zero
from coview.plsa.mixture import FitContext, MixtureModel, MixtureSteps, random_profiles
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, listed
from coview.validation import check_number
from coview.views.coerce import as_views
from coview.views.views import Views

__all__ = ["ByViewModel", "ByViewSteps", "has_data", "pair_couplings", "split_views"]


def has_data(views: Views, vectors: tuple[str, ...] = ()) -> np.ndarray:
    """Which objects have data in which view (objects x views); in one of the `vectors` zeros are data."""
    there = np.ones(len(views), dtype=bool)
    sums = [there if name in vectors else np.asarray(matrix.sum(axis=1)).ravel() > 0 for name, matrix in views.items()]
    return np.column_stack(sums) & views.present


def pair_couplings(coupling: Any, names: list[str]) -> dict[tuple[str, str], float]:
    """Coupling of each pair of views, pairs in alphabetical order, from one number or ``{(view, view): number}``.

    Examples
    --------
    >>> pair_couplings({("words", "image"): 2}, ["words", "image", "links"])
    {('image', 'links'): 1.0, ('image', 'words'): 2.0, ('links', 'words'): 1.0}
    """
    pairs = list(combinations(sorted(names), 2))
    if not isinstance(coupling, Mapping):
        return dict.fromkeys(pairs, check_number("coupling", coupling))
    couplings = dict.fromkeys(pairs, 1.0)
    named: set[tuple[str, ...]] = set()
    for key, value in coupling.items():
        pair = tuple(sorted(key)) if isinstance(key, tuple) else ()
        if pair not in couplings:
            listed = ", ".join(map(repr, names))
            raise ValueError(f"coupling has the key {key!r}, which is not a pair of the views {listed}.")
        if pair in named:
            raise ValueError(f"coupling names the pair {key!r} twice.")
        named.add(pair)
        couplings[pair] = check_number(f"coupling of {key!r}", value)
    return couplings


@dataclass(frozen=True)
class ByViewSteps(MixtureSteps):
    """Steps whose rows are {"mixture": objects x (views * topics)}; `width` is the number of topics.

    A block carries "have" (objects x views: which rows hold data) and may carry "start" (a table to begin with). Views
    are taken in the order of their names, so that their order in the data does not matter.
    """

    pairs: dict[tuple[str, str], float] = field(default_factory=dict)

    def likelihood(self, block: Block, table: Any, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block."""
        total = 0.0
        for v, (name, X) in enumerate(block.views.items()):
            mixture = ops.asarray(table[:, self._columns(v)])
            if name in self.gaussian:
                total += float(self.vector_objective(block, name, mixture, shared, ops).sum())
                continue
            total += self.weights.get(name, 1.0) * float(ops.log_likelihood(X, mixture, shared["profiles"][name]).sum())
        return total

    def settled_rows(self, block: Block, start: Any, shared: Tree, ops: Engine) -> None:
        """None: the steps of a table are its own."""

    def folding_block(self, block: Block, shared: Tree, ops: Engine) -> Block:
        """The block as it is: its views are the columns of the table."""
        return block

    def normalize_rows(self, rows: Tree) -> Tree:
        """Every view's mixtures back onto the simplex."""
        table = rows["mixture"]
        return {"mixture": row_shares(table.reshape(-1, self.width)).reshape(table.shape)}

    def _columns(self, v: int) -> slice:
        return slice(v * self.width, (v + 1) * self.width)

    def _couplings(self, names: list[str]) -> np.ndarray:
        """Coupling of each pair of views (views x views), zero on the diagonal."""
        order, couplings = np.argsort(names), np.zeros((len(names), len(names)))
        pairs = combinations([names[v] for v in order], 2)
        first, second = (order[side] for side in np.triu_indices(len(names), 1))
        couplings[first, second] = couplings[second, first] = [self.pairs.get(pair, 0.0) for pair in pairs]
        return couplings

    def _add_statistics(self, block: Block, table: Any, objective: Any, shared: Tree, ops: Engine, stats: Tree) -> None:
        """Make the pass over the features with the mixtures of every view."""
        sums = stats.setdefault("ratio", {})
        for v, (name, X) in enumerate(block.views.items()):
            mixture = ops.asarray(table[:, self._columns(v)])
            if name in self.gaussian:
                add_moments(block, name, mixture, stats, ops, far_from_zero(shared, name, ops))
                continue
            sums[name] = ops.ratio_features(X, mixture, shared["profiles"][name], sums.get(name))
        stats["objective"] = stats.get("objective", 0.0) + objective


class ByViewModel(MixtureModel):
    """Base of models with a mixture per object and view."""

    _mixture = "memberships_by_view_"
    coupling: Any
    memberships_by_view_: dict[str, np.ndarray]
    _fitted_state = {"memberships_": None, "memberships_by_view_": rules.by_view(rules.shares("objects", "topics"))}

    def transform_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Mixtures by view, for each of the views given, but those of weight 0, the topics fixed."""
        return self._opinions(self._mixtures_by_view(X))

    def _mixtures_by_view(self, X: Any) -> dict[str, np.ndarray]:
        check_is_fitted(self, "topic_feature_")
        table, names = self._tables(X), as_views(X).names
        return split_views(table, [name for name in self.view_names_ if name in names])

    # -- what a model says of itself

    def _n_topics(self) -> int:
        raise NotImplementedError

    def _steps(self) -> ByViewSteps:
        raise NotImplementedError

    def _tables(self, X: Any, engine: Engine | None = None) -> np.ndarray:
        """Mixtures of all views given, folded in, side by side; by the engine that X calls for, if none is given."""
        raise NotImplementedError

    def _warm_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        """Arrays that the strategy named by `init` starts from, by the keys of an `init` mapping."""
        raise NotImplementedError

    # -- what follows

    def _inspect(self) -> Inspection:
        """Answer `inspect`: every view has a mixture of its own."""
        return replace(super()._inspect(), _memberships_by_view=self.transform_by_view)

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        if len(views.names) < 2:
            model = type(self).__name__
            raise ViewsError(f"{model} needs at least 2 views, got 1 ({views.names[0]!r}). For one view use PLSA.")
        return views

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        if isinstance(self.init, Mapping):
            arrays = initial_arrays(self.init, ("memberships_by_view", "topic_feature"), list(views.names))
        else:
            arrays = self._warm_arrays(views, context)
        carried: dict[str, Any] = {}
        if "memberships_by_view" in arrays:
            carried["start"] = self._start_table(arrays["memberships_by_view"], views, context.seed)
        given = arrays.get("topic_feature", {})
        widths = {name: views.n_features[name] for name in self._count_views(views.names)}
        return lambda here: {"profiles": random_profiles(given, self._n_topics(), widths, here)}, carried

    def _start_table(self, given: Any, views: Any, seed: int) -> np.ndarray:
        """Mixtures of all views side by side: one array for all, or by view; else random."""
        shape = (len(views), self._n_topics())
        by_view = given if isinstance(given, Mapping) else dict.fromkeys(views.names, given)
        for name in by_view:
            if name not in views:
                raise ValueError(
                    f"init['memberships_by_view'] names view {name!r}, but the views are {listed(views.names)}."
                    f"{did_you_mean(name, views.names)}"
                )
        rest = random_matrix(seed, 0, *shape, np.float64)
        parts = (
            as_distributions("memberships_by_view", by_view[name], shape) if name in by_view else rest
            for name in views.names
        )
        return np.hstack(list(parts))

    def _fixed_start(self) -> bool:
        if isinstance(self.init, Mapping):
            return {"memberships_by_view", "topic_feature"} <= given_keys(self.init)
        return self.init != "random"

    def _hold(self, views: Any, engine: Engine, width: int, extra: Extra) -> Holder:
        return super()._hold(views, engine, width * len(views.names), extra)  # a mixture for each view

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        """Weighted mean of an object's mixtures over the views that it has; even where it has none."""
        check_is_fitted(self, "topic_feature_")
        views, engine, weights = self._new_views(X), self._engine(X), self._steps().weights
        table = self._tables(views, engine)
        parts = table.reshape(len(table), len(views.names), -1)
        shares = has_data(views, self._vector_views()) * np.array([weights.get(name, 1.0) for name in views.names])
        total = shares.sum(axis=1, keepdims=True)
        mean = np.einsum("iv,ivk->ik", shares / np.where(total > 0, total, 1.0), parts)
        mixtures = np.where(total > 0, mean, 1.0 / parts.shape[2]).astype(table.dtype)
        return engine.asarray(mixtures) if engine.tensors else mixtures

    def _likelihood(self, views: Views, first: int) -> tuple[float, float]:
        views, table = self._new_views(views), self._tables(views)
        engine, steps = self._engine(), self._fitted_steps()
        shared = self._fitted(views, engine)
        total = mass = 0.0
        for block in self._each_block(views, engine, steps.width):
            total += steps.likelihood(block, table[block.start : block.stop], shared, engine)
            mass += self._mass(block, steps, engine)
        return total, mass


def split_views(table: Any, names: Any) -> dict[str, Any]:
    """Columns of a table by view; what is still on a cluster or on disk stays there."""
    width = table.shape[1] // len(names)
    parts = {name: table[:, v * width : (v + 1) * width] for v, name in enumerate(names)}
    return {name: part.copy() if type(part) is np.ndarray else part for name, part in parts.items()}
