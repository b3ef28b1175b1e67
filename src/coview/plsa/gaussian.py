"""Gaussian views of the PLSA family: an object's vector is the mixture of its groups' vectors, and noise.

    x_d = theta_d M + e,   e ~ N(0, s I)     adds  - (w / m) sum_d ( |x_d - theta_d M|^2 / 2 s + (m / 2) log s )

to what is maximized, for the objects d that have the view, with M (groups x features) the mean vectors, s the noise
variance, m the number of features and w the weight of the view (`vector_weight.py`). Divided by m, a vector counts like
w tokens however long it is; without it, 768 columns would drown a text of 50 words.

Clusters.   Where groups are clusters or classes, of which an object is to have one, the spread of its groups' vectors
            around its own mixture counts as noise too, by a share t (`SPREAD_COST`; 0 in topic models):

    - (w / 2 m s) sum_d ( |x_d - theta_d M|^2 + t sum_k theta_dk |M_k - theta_d M|^2 )

            With t = 0 the ends M of the mixtures move far outside of the data, as they do in archetypal analysis, and
            all objects end between all of them, wherever they began. With t = 1 every vector has one group, as in
            k-means. Since  sum_k theta_k |M_k - theta M|^2 = theta diag(M M') - theta M M' theta',  all that follows
            stays as it is, with the products  x M' - t diag(M M') / 2,  the gram matrix  (1 - t) M M'  in the row step
            and  (1 - t) G + t diag(n),  n the sums of the memberships, in the shared step. For t < 1 rows have one
            optimal value.

Row step.   The quadratic has the slope  b (x M' - theta M M'),  b = w / (m s),  and no more curvature than  b lambda
            with lambda the largest eigenvalue of M M'. Mixtures sum to one, so that M may be centered first, which
            makes lambda smaller. Bounded so, and with the expected counts n of the other views, the best row is that of
            `kernels/simplex.py`: a square root for each group and one multiplier. The products x M' serve for
            several such steps, of which none lowers the objective.

Shared step.  With the sums  G = theta' theta,  C = theta' X,  |x|^2  and the number of objects, which add up over
            blocks:  M <- M + (G + ridge)^-1 (C - G M),  s <- what is left of |x|^2, per value. The ridge holds M where
            it is: groups that nobody has stay, and the residual never grows.

Means of members.  Objects between groups put M_k, the end of the mixtures, outside of the data. What the objects of a
            group are like is  x_k = C_k / n_k,  the mean of their vectors by their memberships, with n_k the sum of
            these: it lies among the data, and people are shown how far it is from the mean x of all vectors.

Variance explained.  1 - sum_d |x_d - theta_d M|^2 / sum_d |x_d - x|^2  of the variance is explained together. It is
            divided among the groups by how far their members lie from the mean,  n_k |x_k - x|^2.

Far from zero.  x M' less its center, and |x|^2 less what is explained, are differences of large numbers where vectors
            lie far from zero for their spread. There products and sums are taken in float64, some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.cluster import kmeans_plusplus

from coview.engines.passes import sample_rows
from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.engines.threads import few_threads
from coview.plsa.factors import stream_of
from coview.views.lazy import LazyViews, stack_views
from coview.views.views import Views

__all__ = [
    "Quadratic",
    "add_moments",
    "as_moments",
    "centered_means",
    "column_moments",
    "far_from_zero",
    "gaussian_objective",
    "gaussian_start",
    "least_share",
    "projected_block",
    "quadratic_of",
    "quadratic_step",
    "update_means",
]

STEPS = 2  # of the rows per sweep, for one pass over the vectors; more gain hardly anything
RIDGE = 1e-9  # of the mean diagonal of G
NOBODY = 1e-12  # of all objects: a group with less has no members
LEAST_NOISE = 1e-6  # of the variance of the view
FITTED_NOISE = 0.4  # of it, where mixtures of the groups can be anything
FAR = 10  # standard deviations from zero, from which single precision is too coarse
SAMPLE = 2000  # objects that a random start is drawn from
SPREAD_COST = 0.5  # of clusters: what is chosen between .3 and .9 hardly matters
FEW = 100  # objects with a view in a sample of lazy rows, below which others are looked for
PRODUCTS = "products of "  # what a block carries of a view whose vectors are no longer needed


# -- the row step


@dataclass(frozen=True)
class Quadratic:
    """What a Gaussian view says of the rows of a block: slope = scale (products - mixture gram), by row."""

    products: Any  # x times the centered means (objects x groups), x less their center, less half the cost of spread
    along: Any  # x times the center of the means (objects), or None where no objective is asked for
    gram: Any  # of the centered means (groups x groups), less the cost of spread
    scale: Any  # w / (m s) where an object has the view, else 0 (objects x 1)
    center: Any  # of the means (features)
    curvature: float  # largest eigenvalue of the gram matrix

    def slope(self, mixture: Any) -> Any:
        """Derivative by the entries of the mixture, but for a constant of each row."""
        return self.scale * (self.products - mixture @ self.gram)

    def as_pull(self, mixture: Any, ops: Engine) -> np.ndarray:
        """The slope, moved by a constant of each row so that mixture * pull are counts that bound the quadratic."""
        slope = ops.to_numpy(self.slope(mixture))
        least = 0.5 * self.curvature * ops.to_numpy(self.scale)
        return least + slope - slope.min(axis=1, keepdims=True)


def centered_means(means: Any) -> tuple[Any, Any]:
    """Means (features x groups) less their mean over the groups, and that mean (features)."""
    center = means[:, 0] + (means - means[:, :1]).mean(axis=1)  # exactly the means where they are all alike
    return means - center[:, None], center


def far_from_zero(shared: Tree, name: str, ops: Engine) -> bool:
    """Whether the vectors of a view lie so far from zero that their products need float64."""
    centered, center = centered_means(shared["means"][name])
    spread = variance_of(shared, name, ops) + float((centered**2).mean())
    return float((center**2).mean()) > FAR**2 * spread


def _exact_means(shared: Tree, name: str, ops: Engine) -> tuple[Any, bool]:
    """Means to multiply with, and whether in float64."""
    means, far = shared["means"][name], far_from_zero(shared, name, ops)
    return (ops.asarray(means, np.float64) if far else means), far


def quadratic_of(
    block: Block, name: str, shared: Tree, weight: float, ops: Engine, spread_cost: float = 0.0
) -> Quadratic:
    """Make the quadratic of one view at the present means; its products are the block's, where it carries them."""
    means, far = _exact_means(shared, name, ops)
    kept = shared["means"][name].dtype
    centered, center = centered_means(means)
    gram = centered.T @ centered
    products, along = block.extra.get(PRODUCTS + name), None
    if products is None:
        both = ops.vector_products(block.views[name], ops.beside([centered, center[:, None]]), far)
        products, along = both[:, :-1] - (center @ centered + 0.5 * spread_cost * gram.diagonal()), both[:, -1]
    gram = (1 - spread_cost) * gram
    if far:
        products, gram = ops.asarray(products, kept), ops.asarray(gram, kept)
    with few_threads(1, gram.shape[0]):
        curvature = np.linalg.eigvalsh(ops.to_numpy(gram).astype(np.float64))[-1]
    strength = weight / (len(means) * variance_of(shared, name, ops))
    scale = ops.asarray(strength * block.present[name][:, None], kept)
    return Quadratic(products, along, gram, scale, center, max(float(curvature), 0.0))


def quadratic_step(
    mixture: Any, counts: Any, quadratics: list[Quadratic], ops: Engine, floor: float, steps: int = STEPS
) -> Any:
    """Rows that counts (expected from the other views) and Gaussian views pull at; the objective does not fall."""
    curvature: Any = sum(each.scale[:, 0] * each.curvature for each in quadratics)
    for _ in range(steps):
        slope = sum(each.slope(mixture) for each in quadratics)
        mixture = ops.quadratic_shares(mixture, counts, slope, curvature, floor)
    return mixture


def projected_block(block: Block, names: Iterable[str], shared: Tree, ops: Engine, spread_cost: float = 0.0) -> Block:
    """A block that carries the products of its vectors with fixed means in place of the vectors."""
    carried = {}
    for name in names:
        if name in block.views:
            means, far = _exact_means(shared, name, ops)
            centered, center = centered_means(means)
            less = center @ centered + 0.5 * spread_cost * (centered**2).sum(axis=0)
            products = ops.vector_products(block.views[name], centered, far) - less
            carried[PRODUCTS + name] = ops.asarray(products, shared["means"][name].dtype)
    views = {name: X for name, X in block.views.items() if PRODUCTS + name not in carried}
    return replace(block, views=views, extra={**block.extra, **carried})


def gaussian_objective(
    block: Block, name: str, quadratic: Quadratic, mixture: Any, shared: Tree, weight: float, ops: Engine
) -> np.ndarray:
    """What a view adds to the objective of each object, in float64."""
    variance, width = variance_of(shared, name, ops), len(quadratic.center)
    inside = ((mixture @ quadratic.gram - 2 * quadratic.products) * mixture).sum(axis=1)
    parts = (ops.square_sums(block.views[name]), quadratic.along, inside)
    squares, along, inside = (ops.to_numpy(part).astype(np.float64) for part in parts)
    offset = float((ops.to_numpy(quadratic.center).astype(np.float64) ** 2).sum())
    residual = np.maximum(squares - 2 * along + offset + inside, 0.0)
    value = residual / (2 * width * variance) + 0.5 * np.log(variance)
    return -weight * np.where(block.present[name], value, 0.0)


def variance_of(shared: Tree, name: str, ops: Engine) -> float:
    """Noise variance of a view."""
    return float(np.exp(ops.to_numpy(shared["log_variance"][name]).astype(np.float64)[0]))


# -- the shared step


def add_moments(block: Block, name: str, mixture: Any, stats: Tree, ops: Engine, far: bool = False) -> None:
    """Add the sums of a block that means and noise are learned from: in float64, whatever the vectors are.

    Single-precision vectors are also multiplied in float64 where they are `far` from zero.
    """
    present = block.present[name]
    if far:  # rows that sum to one in single precision alone would move the vectors
        mixture = ops.asarray(mixture, np.float64)
        mixture = mixture / mixture.sum(1)[:, None]
    cross = ops.vector_moments(block.views[name], mixture, far)  # vectors that are not there are zeros
    mixture = ops.asarray(mixture, np.float64)
    if not present.all():
        mixture = mixture * ops.asarray(present[:, None], np.float64)
    new = {
        "gram": mixture.T @ mixture,
        "cross": cross,
        "squares": ops.square_sums(block.views[name]).sum()[None],
        "count": ops.asarray(np.array([float(present.sum())])),
    }
    moments = stats.setdefault("moments", {})
    old = moments.get(name)
    moments[name] = new if old is None else {key: old[key] + part for key, part in new.items()}


def spread_gram(gram: np.ndarray, spread_cost: float) -> np.ndarray:
    """Sums of products of memberships, with what the spread of an object's groups costs."""
    return (1 - spread_cost) * gram + spread_cost * np.diag(gram.sum(axis=1))  # memberships of an object sum to one


def update_means(shared: Tree, moments: Tree, ops: Engine, spread_cost: float = 0.0) -> Tree:
    """Means and noise variances from the sums over all objects."""
    means, noise, explained, members = {}, {}, {}, {}
    for name, old in shared["means"].items():
        sums = {key: ops.to_numpy(part).astype(np.float64) for key, part in moments[name].items()}
        before = ops.to_numpy(old).astype(np.float64).T
        gram, cross, count = spread_gram(sums["gram"], spread_cost), sums["cross"], float(sums["count"][0])
        if count == 0:
            means[name], noise[name] = old, shared["log_variance"][name]
            explained[name], members[name] = shared["explained"][name], shared["members"][name]
            continue
        ridge = RIDGE * np.trace(gram) / len(gram)
        with few_threads(1, len(gram)):  # sixteen of them take ten times as long for matrices this small
            new = before + solve(gram + ridge * np.eye(len(gram)), cross - gram @ before, assume_a="pos")
            residual = float(sums["squares"][0] - 2 * np.vdot(new, cross) + np.vdot(new, gram @ new))
        variance = max(least_variance(sums), residual / (count * new.shape[1]))
        means[name] = ops.asarray(np.ascontiguousarray(new.T), old.dtype)
        noise[name] = ops.asarray(np.array([np.log(variance)]), old.dtype)
        own = member_means(sums, new)
        members[name] = ops.asarray(np.ascontiguousarray(own.T), old.dtype)
        explained[name] = ops.asarray(variance_shares(sums, new, own), old.dtype)
    return {"means": means, "log_variance": noise, "explained": explained, "members": members}


def member_means(sums: Mapping[str, np.ndarray], means: np.ndarray) -> np.ndarray:
    """Means (groups x features) of the vectors of each group's objects, by their memberships; `means` where none is."""
    sizes = sums["gram"].sum(axis=1)[:, None]  # memberships of an object sum to one
    return np.divide(sums["cross"], sizes, out=means.copy(), where=sizes > NOBODY * float(sums["count"][0]))


def variance_shares(sums: Mapping[str, np.ndarray], means: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Share of the variance of a view that each group explains, of at least 0; 0 where there is none.

    `means` are the ends of the mixtures, `members` the means of the groups' own objects (groups x features).
    """
    count, sizes = float(sums["count"][0]), sums["gram"].sum(axis=1)
    center = sums["cross"].sum(axis=0) / count
    total = float(sums["squares"][0]) - count * float(center @ center)
    if total <= 1e-12 * float(sums["squares"][0]):
        return np.zeros(len(means))
    moved = means - center
    fitted = 2 * np.vdot(sums["cross"] - np.outer(sizes, center), moved) - np.vdot(moved, sums["gram"] @ moved)
    together = max(float(fitted) / total, 0.0)
    between = sizes * ((members - center) ** 2).sum(axis=1)
    return together * between / max(float(between.sum()), 1e-300)


def least_variance(sums: Mapping[str, np.ndarray]) -> float:
    """Noise that a view has at least: without it the objective would grow without bound where nothing is left.

    Mixtures of k groups reach any point within k - 1 dimensions, so that as many columns are explained whatever they
    hold, and would decide alone: three measurements beside words took 6 topics from an NMI of .58 to .15. The floor is
    a share of the variance that falls with the share of the columns that are explained in any case.
    """
    count, squares = float(sums["count"][0]), float(sums["squares"][0])
    mean = sums["cross"].sum(axis=0) / count  # memberships of an object sum to one
    variance = max(squares / count - float(mean @ mean), 0.0) / len(mean)
    share = least_share(len(sums["gram"]), len(mean))
    return max(share * variance, 1e-12 * squares / count / len(mean), 1e-30)


def least_share(n_groups: int, n_features: int) -> float:
    """Share of the variance of a view that its noise has at least."""
    return max(LEAST_NOISE, FITTED_NOISE * min(1.0, (n_groups - 1) / n_features))


def as_moments(shared: Tree, like: Tree, spread_cost: float = 0.0) -> Tree:
    """Sums that the present means and noise would be learned from, with the memberships of others: online learning."""
    moments = {}
    for name, means in shared["means"].items():
        gram, count = like[name]["gram"], like[name]["count"]
        cross = spread_gram(gram, spread_cost) @ means.T.astype(np.float64)
        variance = np.exp(shared["log_variance"][name].astype(np.float64))
        squares = np.vdot(cross, means.T) + count * len(means) * variance
        moments[name] = {"gram": gram, "cross": cross, "squares": squares, "count": count}
    return moments


# -- the start


def gaussian_start(
    views: Any, names: Iterable[str], given: Mapping[str, Any], n_groups: int, seed: int, spread: bool
) -> Tree:
    """Means to start from, and the variance of each view as its noise.

    Those that are not given are vectors of objects far from each other where `spread` (k-means++), and else all alike:
    then the first memberships, which come from elsewhere, say what they become.
    """
    means, noise, explained, members = {}, {}, {}, {}
    for name in names:
        rows = _sample(views, name, seed)
        variance = 1.0  # where nobody has the view
        if len(rows):
            own, size = float(rows.var(axis=0).mean()), float((rows**2).mean())
            variance = max(own if len(rows) > 1 else size, 1e-12 * size, 1e-30)
        rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        center = rows.mean(axis=0)
        start = np.tile(center, (n_groups, 1))
        if name in given:
            start = _given_means(name, given[name], start.shape)
        elif spread:
            drawn, _ = kmeans_plusplus(rows, min(n_groups, len(rows)), random_state=(seed + stream_of(name)) % 2**32)
            start[: len(drawn)] = drawn
        means[name], noise[name] = np.ascontiguousarray(start.T), np.array([np.log(variance)])
        explained[name], members[name] = np.zeros(n_groups), means[name].copy()
    return {"means": means, "log_variance": noise, "explained": explained, "members": members}


def _sample(views: Any, name: str, seed: int) -> np.ndarray:
    """Vectors of some objects that have a view, in float64."""
    one = views.select(name)
    if isinstance(one, LazyViews):
        some = sample_rows(one, SAMPLE)
        if some.present.sum() < FEW:  # of a rare view all rows are looked for
            some = stack_views(_that_have_it(one))
    else:
        some = one
    there = np.flatnonzero(some.present[:, 0])
    if len(there) > SAMPLE:
        there = there[np.sort(np.random.default_rng(seed).choice(len(there), SAMPLE, replace=False))]
    rows: Any = some[name][there]
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray()).astype(np.float64)


def column_moments(views: Any, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Mean and standard deviation of the columns of some views, over a sample; standard deviation 0 where nobody is."""
    moments = {}
    for name in names:
        rows = _sample(views, name, seed=0)
        moments[name] = np.stack([rows.mean(axis=0), rows.std(axis=0)]) if len(rows) else np.zeros((2, rows.shape[1]))
    return moments


def _that_have_it(view: LazyViews) -> list[Views]:
    """Rows that are there, of as many parts as it takes; at least an empty one."""
    found: list[Views] = []
    for part in view.parts():
        found.append(part[np.flatnonzero(part.present[:, 0])])
        if sum(map(len, found)) >= SAMPLE:
            break
    return found


def _given_means(name: str, array: Any, shape: tuple[int, int]) -> np.ndarray:
    values = np.array(array, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"init['topic_feature'] of view {name!r} must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"init['topic_feature'] of view {name!r} must hold finite values.")
    return values
