"""Dense views of the PLSA family: vectors and measurements are Gaussian, counts multinomial.

| values of a view | likelihood |
|---|---|
| whole numbers of at least 0: counts, 0/1, one-hot categories | multinomial |
| sparse, or of at least 0 and for the most part zeros: weighted counts such as tf-idf | multinomial |
| other numbers in a dense matrix: embeddings, measurements, histograms | Gaussian |
| a single column of a dense matrix, whole numbers too: of one feature, every share is 1 | Gaussian |

In a Gaussian view an object's vector is the mixture of its groups' vectors, and noise:

    x_d = theta_d M + e,   e ~ N(0, s I)     adds  - (w / m) sum_d ( |x_d - theta_d M|^2 / 2 s + (m / 2) log s )

to what is maximized, for the objects d that have the view, with M (groups x features) the mean vectors, s the noise
variance, m the number of features and w the weight of the view. Divided by m, a vector counts like
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
            it is: groups without objects stay, and the residual never grows.

Means of members.  Objects between groups put M_k, the end of the mixtures, outside of the data. What the objects of a
            group are like is  x_k = C_k / n_k,  the mean of their vectors by their memberships, with n_k the sum of
            these: it lies among the data, and people are shown how far it is from the mean x of all vectors.

Variance explained.  1 - sum_d |x_d - theta_d M|^2 / sum_d |x_d - x|^2  of the variance is explained together. It is
            divided among the groups by how far their members lie from the mean,  n_k |x_k - x|^2.

Far from zero.  x M' less its center, and |x|^2 less what is explained, are differences of large numbers where vectors
            lie far from zero for their spread. There products and sums are taken in float64, some rows at a time.

Weight.     Between two classes with means d apart and noise of covariance S around them, the log-odds by a vector,
            - w |x - mu|^2 / 2 tr S,  have the mean  w d'd / 2 tr S  and the variance  w^2 d'S d / (tr S)^2.  They are
            those of two Gaussian classes only where the variance is twice the mean:

    w* = tr S  sum d'd / sum d'S d     sums over pairs of classes;  from 1 to the number of columns

            So a vector is worth w* tokens, a token the mean c of all entries above 0 of the counts. Without labels
            classes are clusters of the vectors. A view that knows nothing would drag the counts down: it weighs one
            token where held-out labels do not gain by it or, without labels, where held-out vectors have no clusters,
            or these are others than those of the counts: groups by half of the features, by EM from the clusters, lose
            half of what they foretell of the other half where the vectors take part.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from coview.classification.naive_bayes import LEAST, NaiveBayesStart, count_class_features, sum_entries
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.engines.protocol import Block, Engine, Tree, few_threads, floating_type, sample_rows
from coview.utils.parameters import one_of, one_or_by_view
from coview.utils.sampling import sample_positions
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = [
    "GAUSSIAN",
    "LIKELIHOOD",
    "LIKELIHOODS",
    "MULTINOMIAL",
    "VECTOR_LIKELIHOODS",
    "GaussianLikelihood",
    "Quadratic",
    "VectorStart",
    "cluster_vectors",
    "compute_column_moments",
    "compute_vector_weights",
    "fit_class_means",
    "initialize_vectors",
    "take_quadratic_step",
]

MULTINOMIAL, GAUSSIAN = "multinomial", "gaussian"
PARAMETERS = ("means", "log_variance", "explained", "members")  # of a view of vectors, among the shared ones
RIDGE = 1e-9  # of the mean diagonal of G
LEAST_NOISE = 1e-6  # of the variance of the view
# of the variance of the view where mixtures of the groups can be anything: without it, three measurements beside words
# took 6 topics from an NMI of .58 to .15
FITTED_NOISE = 0.4
FAR = 10  # standard deviations from zero, from which single precision is too coarse
SPREAD_COST = 0.5  # of clusters: what is chosen between .3 and .9 hardly matters
SAMPLE = 2000  # objects by which a view is judged, scaled and weighed
CLUSTERED = 20_000  # objects at most that k-means is run on
SURE = 2.0  # standard errors that a finding must be away from chance, as a 95 % interval has them
PRODUCTS = "products of "  # what a block carries of a view whose vectors are no longer needed


# -- the row step


@dataclass(frozen=True)
class Quadratic:
    """What a view of vectors says of the rows of a block: slope = scale (products - mixture gram), by row."""

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


def center_means(means: Any) -> tuple[Any, Any]:
    """Means (features x groups) less their mean over the groups, and that mean (features)."""
    # by way of the first, so that means that are all alike are exactly zero when centered
    center = means[:, 0] + (means - means[:, :1]).mean(axis=1)
    return means - center[:, None], center


def is_far_from_zero(shared: Tree, name: str, ops: Engine) -> bool:
    """Tell whether the vectors of a view lie so far from zero that their products need float64."""
    centered, center = center_means(shared["means"][name])
    spread = get_variance(shared, name, ops) + float((centered**2).mean())
    return float((center**2).mean()) > FAR**2 * spread


def get_variance(shared: Tree, name: str, ops: Engine) -> float:
    """Noise variance of a view."""
    return float(np.exp(ops.to_numpy(shared["log_variance"][name]).astype(np.float64)[0]))


def take_quadratic_step(
    mixture: Any, counts: Any, quadratics: list[Quadratic], ops: Engine, floor: float, steps: int = 2
) -> Any:
    """Rows that counts (expected from the other views) and quadratics pull at; the objective does not fall."""
    curvature: Any = sum(each.scale[:, 0] * each.curvature for each in quadratics)
    # the products with the vectors serve for all steps; a third one gains hardly anything
    for _ in range(steps):
        slope = sum(each.slope(mixture) for each in quadratics)
        mixture = ops.quadratic_shares(mixture, counts, slope, curvature, floor)
    return mixture


# -- a likelihood of vectors


class GaussianLikelihood:
    """How a view of vectors takes part in a sweep; other likelihoods of vectors override what they do differently.

    The parameters of a view are entries of `shared`, by name: "means" (features x groups), "log_variance" (one number),
    "members" (the means of the groups' objects, features x groups) and "explained" (groups). All methods are pure. The
    `weight` of the view and the `spread_cost` of the model are those of the module's docstring.
    """

    def compute_bound(
        self, block: Block, name: str, mixture: Any, shared: Tree, weight: float, ops: Engine, spread_cost: float
    ) -> Quadratic:
        """Compute a quadratic below the objective that touches it at the mixtures; here it is the objective itself.

        Its products are those that the block carries, where it does (`project`).
        """
        kept = shared["means"][name].dtype
        means, far = _prepare_means(shared, name, ops)
        centered, center = center_means(means)
        products, along = block.extra.get(PRODUCTS + name), None
        if products is None:
            products, along = _compute_products(block.views[name], centered, center, far, spread_cost, ops)
        gram = (1 - spread_cost) * (centered.T @ centered)
        if far:
            products, gram = ops.asarray(products, kept), ops.asarray(gram, kept)
        with few_threads(1, gram.shape[0]):
            curvature = np.linalg.eigvalsh(ops.to_numpy(gram).astype(np.float64))[-1]
        strength = weight / (len(means) * get_variance(shared, name, ops))
        scale = ops.asarray(strength * block.present[name][:, None], kept)
        return Quadratic(products, along, gram, scale, center, max(float(curvature), 0.0))

    def project(self, block: Block, name: str, shared: Tree, ops: Engine, spread_cost: float) -> Any:
        """Products of the vectors with fixed means: all that the steps of fold-in need."""
        means, far = _prepare_means(shared, name, ops)
        products, _ = _compute_products(block.views[name], *center_means(means), far, spread_cost, ops)
        return ops.asarray(products, shared["means"][name].dtype)

    def compute_objective(
        self, block: Block, name: str, bound: Quadratic, mixture: Any, shared: Tree, weight: float, ops: Engine
    ) -> np.ndarray:
        """What the view adds to the objective of each object, in float64."""
        variance, residuals = get_variance(shared, name, ops), self.compute_residuals(block, name, bound, mixture, ops)
        value = residuals / (2 * len(bound.center) * variance) + 0.5 * np.log(variance)
        return -weight * np.where(block.present[name], value, 0.0)

    def compute_residuals(self, block: Block, name: str, bound: Quadratic, mixture: Any, ops: Engine) -> np.ndarray:
        """Compute |x - theta M|^2 of each object, and what its spread costs, in float64."""
        inside = ((mixture @ bound.gram - 2 * bound.products) * mixture).sum(axis=1)
        parts = (ops.square_sums(block.views[name]), bound.along, inside)
        squares, along, inside = (ops.to_numpy(part).astype(np.float64) for part in parts)
        offset = float((ops.to_numpy(bound.center).astype(np.float64) ** 2).sum())
        # from sums that are there already; rounding must not make it negative
        return np.maximum(squares - 2 * along + offset + inside, 0.0)

    def compute_moments(self, block: Block, name: str, mixture: Any, shared: Tree, ops: Engine) -> Tree:
        """Sums of a block that means and noise are learned from: in float64, whatever the vectors are."""
        present, far = block.present[name], is_far_from_zero(shared, name, ops)
        if far:  # rows that sum to one in single precision alone would move the vectors
            mixture = ops.asarray(mixture, np.float64)
            mixture = mixture / mixture.sum(1)[:, None]
        cross = ops.vector_moments(block.views[name], mixture, far)  # vectors that are not there are zeros
        mixture = ops.asarray(mixture, np.float64)
        if not present.all():
            mixture = mixture * ops.asarray(present[:, None], np.float64)
        return {
            "gram": mixture.T @ mixture,
            "cross": cross,
            "squares": ops.square_sums(block.views[name]).sum()[None],
            "count": ops.asarray(np.array([float(present.sum())])),
        }

    def update(self, name: str, shared: Tree, moments: Tree, ops: Engine, spread_cost: float) -> Tree:
        """Parameters of the view from the sums over all objects."""
        old = shared["means"][name]
        sums = {key: ops.to_numpy(part).astype(np.float64) for key, part in moments.items()}
        count = float(sums["count"][0])
        if count == 0:  # no object has the view: there is nothing to learn from
            return {key: shared[key][name] for key in PARAMETERS}
        before = ops.to_numpy(old).astype(np.float64).T
        gram, cross = spread_gram(sums["gram"], spread_cost), sums["cross"]
        ridge = RIDGE * np.trace(gram) / len(gram)
        with few_threads(1, len(gram)):  # sixteen of them take ten times as long for matrices this small
            new = before + solve(gram + ridge * np.eye(len(gram)), cross - gram @ before, assume_a="pos")
            residual = float(sums["squares"][0] - 2 * np.vdot(new, cross) + np.vdot(new, gram @ new))
        variance = max(compute_least_variance(sums), residual / (count * new.shape[1]))
        members = compute_member_means(sums, new)
        learned = {
            "means": np.ascontiguousarray(new.T),
            "log_variance": np.array([np.log(variance)]),
            "members": np.ascontiguousarray(members.T),
            "explained": compute_variance_shares(sums, new, members),
        }
        return {key: ops.asarray(part, old.dtype) for key, part in learned.items()}

    def recover_moments(self, name: str, shared: Tree, like: Tree, spread_cost: float) -> Tree:
        """Sums that the present parameters would be learned from, with the memberships of others: online learning."""
        gram, count, means = like["gram"], like["count"], shared["means"][name].T.astype(np.float64)
        cross = spread_gram(gram, spread_cost) @ means
        variance = np.exp(shared["log_variance"][name].astype(np.float64))
        squares = np.vdot(cross, means) + count * means.shape[1] * variance
        return {"gram": gram, "cross": cross, "squares": squares, "count": count}


def _prepare_means(shared: Tree, name: str, ops: Engine) -> tuple[Any, bool]:
    """Means to multiply with, and whether in float64."""
    means, far = shared["means"][name], is_far_from_zero(shared, name, ops)
    return (ops.asarray(means, np.float64) if far else means), far


def _compute_products(
    X: Any, centered: Any, center: Any, far: bool, spread_cost: float, ops: Engine
) -> tuple[Any, Any]:
    """Vectors, less the center, times the centered means, less half the cost of spread; and times the center."""
    both = ops.vector_products(X, ops.beside([centered, center[:, None]]), far)
    return both[:, :-1] - (center @ centered + 0.5 * spread_cost * (centered**2).sum(axis=0)), both[:, -1]


# A new likelihood of vectors is entered here: parameter checks, steps, model files and the tests go by this table.
VECTOR_LIKELIHOODS = {GAUSSIAN: GaussianLikelihood()}
LIKELIHOODS = (MULTINOMIAL, *VECTOR_LIKELIHOODS)
LIKELIHOOD = one_or_by_view(one_of("auto", *LIKELIHOODS))


def spread_gram(gram: np.ndarray, spread_cost: float) -> np.ndarray:
    """Sums of products of memberships, with what the spread of an object's groups costs."""
    return (1 - spread_cost) * gram + spread_cost * np.diag(gram.sum(axis=1))  # memberships of an object sum to one


def compute_member_means(sums: Mapping[str, np.ndarray], means: np.ndarray) -> np.ndarray:
    """Means (groups x features) of the vectors of each group's objects, by their memberships; `means` where none is."""
    sizes = sums["gram"].sum(axis=1)[:, None]  # memberships of an object sum to one
    return np.divide(sums["cross"], sizes, out=means.copy(), where=sizes > 1e-12 * float(sums["count"][0]))


def compute_variance_shares(sums: Mapping[str, np.ndarray], means: np.ndarray, members: np.ndarray) -> np.ndarray:
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


def compute_least_variance(sums: Mapping[str, np.ndarray]) -> float:
    """Noise that a view has at least: without it the objective would grow without bound where nothing is left.

    Mixtures of k groups reach any point within k - 1 dimensions, so that as many columns are explained whatever they
    hold, and would decide alone. The floor is a share of the variance that falls with the share of the columns that are
    explained in any case.
    """
    count, squares = float(sums["count"][0]), float(sums["squares"][0])
    mean = sums["cross"].sum(axis=0) / count  # memberships of an object sum to one
    variance = max(squares / count - float(mean @ mean), 0.0) / len(mean)
    share = compute_least_share(len(sums["gram"]), len(mean))
    return max(share * variance, 1e-12 * squares / count / len(mean), 1e-30)


def compute_least_share(n_groups: int, n_features: int) -> float:
    """Share of the variance of a view that its noise has at least."""
    return max(LEAST_NOISE, FITTED_NOISE * min(1.0, (n_groups - 1) / n_features))


# -- the start


def initialize_vectors(
    views: Any, names: Iterable[str], given: Mapping[str, Any], n_groups: int, seed: int, spread: bool
) -> Tree:
    """Means to start from, and the variance of each view as its noise.

    Those that are not given are vectors of objects far from each other where `spread` (k-means++), and else all alike:
    then the first memberships, which come from elsewhere, say what they become.
    """
    means, noise, explained, members = {}, {}, {}, {}
    for name in names:
        rows = _sample(views, name, seed)
        variance = 1.0  # where no object has the view
        if len(rows):
            own, size = float(rows.var(axis=0).mean()), float((rows**2).mean())
            variance = max(own if len(rows) > 1 else size, 1e-12 * size, 1e-30)
        rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        center = rows.mean(axis=0)
        start = np.tile(center, (n_groups, 1))
        if name in given:
            start = _check_means(name, given[name], start.shape)
        elif spread:
            drawn, _ = kmeans_plusplus(
                rows, min(n_groups, len(rows)), random_state=(seed + zlib.crc32(name.encode())) % 2**32
            )
            start[: len(drawn)] = drawn
        means[name], noise[name] = np.ascontiguousarray(start.T), np.array([np.log(variance)])
        explained[name], members[name] = np.zeros(n_groups), means[name].copy()
    return {"means": means, "log_variance": noise, "explained": explained, "members": members}


def _sample(views: Any, name: str, seed: int) -> np.ndarray:
    """Vectors of some objects that have a view, in float64."""
    one = views.select(name)
    some = sample_rows(one, SAMPLE) if isinstance(one, LazyViews) else one
    there = np.flatnonzero(some.present[:, 0])
    return as_dense(some[name][there[sample_positions(len(there), SAMPLE, seed)]])


def compute_column_moments(views: Any, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Mean and standard deviation of the columns of some views, over a sample; 0 and 0 where no object has the view."""
    moments = {}
    for name in names:
        rows = _sample(views, name, seed=0)
        moments[name] = np.stack([rows.mean(axis=0), rows.std(axis=0)]) if len(rows) else np.zeros((2, rows.shape[1]))
    return moments


def _check_means(name: str, array: Any, shape: tuple[int, int]) -> np.ndarray:
    values = np.array(array, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"init['topic_feature'] of view {name!r} must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"init['topic_feature'] of view {name!r} must hold finite values.")
    return values


# -- clusters and classes of vectors


@dataclass(frozen=True)
class VectorStart:
    """Centers of groups (groups x features, by view); called with some rows it gives their memberships."""

    offsets: dict[str, np.ndarray]
    scales: dict[str, float]
    centers: dict[str, np.ndarray]
    tokens: dict[str, float] = field(default_factory=dict)  # w* of classes; clusters have none: nearest alone

    def __call__(self, views: Views) -> np.ndarray:
        odds = self.log_odds(views)
        return softmax(odds, axis=1) if self.tokens else np.eye(odds.shape[1])[odds.argmax(axis=1)]

    def log_odds(self, views: Views) -> np.ndarray:
        """Minus the squared distances to the centers, but for a constant of each object."""
        odds = np.zeros((len(views), len(next(iter(self.centers.values())))))
        for name, centers in self.centers.items():
            moved = centers - self.offsets[name]
            squares = (moved**2).sum(axis=1)
            present = views.present[:, views.names.index(name), None]
            products = np.asarray(views[name] @ moved.T) - self.offsets[name] @ moved.T
            odds += present * (self.scales[name] * (2 * products - squares))
        return odds


def _scaled(views: Views) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Mean of each view, and one over its variance and width."""
    offsets, scales = {}, {}
    for v, (name, matrix) in enumerate(views.items()):
        rows = as_dense(matrix[views.present[:, v]])
        rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        offsets[name] = rows.mean(axis=0)
        variance = float(((rows - offsets[name]) ** 2).mean())
        scales[name] = 1.0 / (variance * rows.shape[1]) if variance > 0 else 0.0
    return offsets, scales


def as_dense(matrix: Any) -> np.ndarray:
    """Vectors in float64, whatever they are kept in."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix).astype(np.float64)


def take_some_rows(views: Any, most: int, seed: int) -> Views:
    """At most so many rows of views in memory or lazy."""
    if isinstance(views, LazyViews):
        return sample_rows(views, most)
    return views if len(views) <= most else views[sample_positions(len(views), most, seed)]


def cluster_vectors(views: Any, n_clusters: int, seed: int) -> VectorStart:
    """k-means on all views side by side, of a sample where there are very many objects.

    Examples
    --------
    >>> start = cluster_vectors(Views(x=np.array([[0.1], [-0.1], [9.0], [9.2]])), 2, 0)
    >>> bool((start(Views(x=np.array([[0.0], [8.0]])))[0] != start(Views(x=np.array([[0.0], [8.0]])))[1]).all())
    True
    """
    offsets, scales = _scaled(take_some_rows(views, SAMPLE, seed))
    some = take_some_rows(views, CLUSTERED, seed)
    cuts = np.cumsum([some.n_features[name] for name in some.names])
    rows = np.empty((len(some), cuts[-1]), dtype=floating_type(some))  # the only copy, in the vectors' own precision
    for v, (name, matrix) in enumerate(some.items()):
        part = rows[:, cuts[v] - some.n_features[name] : cuts[v]]
        part[:] = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        part -= offsets[name]
        part *= np.sqrt(scales[name]) * some.present[:, [v]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that are alike have fewer clusters
        model = KMeans(n_clusters, n_init=5, copy_x=False, random_state=seed % 2**32).fit(rows)
    centers = {
        name: part / np.sqrt(scales[name] or 1.0) + offsets[name]
        for name, part in zip(some.names, np.split(model.cluster_centers_.astype(np.float64), cuts[:-1], axis=1))
    }
    return VectorStart(offsets, scales, centers)


def rank_in_class(codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labeled objects (code not -1), in random order within each class, and the number of each in its class.

    Examples
    --------
    >>> rows, ranks = rank_in_class(np.array([1, -1, 0, 1]), 0)
    >>> sorted(rows.tolist()), ranks.tolist()
    ([0, 2, 3], [0, 0, 1])
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(codes >= 0))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return rows, np.arange(len(rows)) - np.searchsorted(codes[rows], codes[rows])


def fit_class_means(views: Any, codes: np.ndarray, n_classes: int, seed: int) -> VectorStart:
    """Naive Bayes by the means of the labeled objects of each class (code not -1).

    Examples
    --------
    >>> X = Views(x=np.array([[0.1], [-0.1], [9.0], [9.2]]))
    >>> fit_class_means(X, np.array([0, -1, 1, -1]), 2, 0)(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    rows, ranks = rank_in_class(codes, seed)
    rows = np.sort(rows[np.argsort(ranks, kind="stable")[:SAMPLE]])  # of each class as many, as far as it has them
    some, known = views[rows], codes[rows]
    offsets, scales, centers, tokens = {}, {}, {}, {}
    for v, name in enumerate(views.names):
        there = some.present[:, v]
        offset, means, sizes, noise = _compute_moments(as_dense(some[name][there]), known[there], n_classes)
        free = int(sizes.sum() - np.count_nonzero(sizes))
        if free < 1:  # one object of each class has no noise: then it is what clusters leave
            own = take_some_rows(views.select(name), SAMPLE, seed)
            own = own[np.flatnonzero(own.present[:, 0])]
            k = min(n_classes, max(len(own) - 1, 1))
            clusters = cluster_vectors(own, k, seed)(own).argmax(axis=1) if len(own) else np.zeros(0, int)
            noise, free = _compute_moments(as_dense(own[name]), clusters, k)[3], max(len(own) - k, 1)
        met = sizes > 0
        apart = means[met] - means[met].mean(axis=0) if met.any() else means
        total, spread, along = (float((part**2).sum()) for part in (noise, apart, noise @ apart.T))
        tokens[name] = min(means.shape[1], total * spread / along) if along > 0 else float(means.shape[1])
        of_mean = total / free / np.maximum(sizes, 1)  # noise of each mean
        between = max(float(((means**2).sum(axis=1) - of_mean)[met].mean()), 0.0) if met.any() else 0.0
        drawn = between / np.maximum(between + of_mean, 1e-300)
        offsets[name], centers[name] = offset, offset + drawn[:, None] * means
        scales[name] = tokens[name] / max(2 * total / free, 1e-12 * spread, 1e-300) if spread > 0 else 0.0
    return VectorStart(offsets, scales, centers, tokens)


def _compute_moments(
    rows: np.ndarray, codes: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean of all rows; of each group, less that (0 for empty groups); its size; and rows less that of their group."""
    offset = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
    rows = rows - offset
    sizes = np.bincount(codes, minlength=n_groups)
    means = count_class_features(rows, codes, n_groups) / np.maximum(sizes, 1)[:, None]
    return offset, means, sizes, rows - means[codes]


# -- how much vectors weigh beside counts


def compute_vector_weights(
    views: Any,
    names: Iterable[str],
    counts: Mapping[str, float],
    n_groups: int,
    seed: int,
    *,
    codes: np.ndarray | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> tuple[float, dict[str, float]]:
    """Weight of a token, and how many each of the Gaussian views `names` is worth beside `counts`, which have weights.

    `codes` are the labels of a classifier, -1 for none; then groups are classes. A view that its turn does not come to
    before the deadline is worth one token, and so are all where there are no counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = rng.integers(3, size=300)
    >>> words = 0.1 * rng.poisson(0.2 + np.eye(3)[groups][:, np.arange(30) % 3])
    >>> X = Views(words=words, good=3 * np.eye(3)[groups] + rng.normal(size=(300, 3)), noise=rng.normal(size=(300, 3)))
    >>> token, tokens = compute_vector_weights(X, ["good", "noise"], {"words": 1.0}, 3, 0)
    >>> round(token, 1), {view: round(worth) for view, worth in tokens.items()}
    (0.1, {'good': 3, 'noise': 1})
    """
    tokens = dict.fromkeys(names, 1.0)
    if not counts or not tokens:
        return 1.0, tokens
    some = take_some_rows(views, SAMPLE, seed)
    entries = {name: sum_entries(some[name]) for name in counts}
    number = sum(number for _, number in entries.values())
    token = sum(counts[name] * total for name, (total, _) in entries.items()) / number if number else 0.0
    for name in tokens:
        if n_groups > 1 and not deadline.is_over():
            gain = np.nan if codes is None else _compute_gain(views, name, counts, codes, n_groups, seed)
            if gain > 0:
                assert codes is not None
                tokens[name] = fit_class_means(views.select(name), codes, n_groups, seed).tokens[name]
            elif np.isnan(gain):  # there are no labels, or too few to hold some out
                tokens[name] = _weigh_by_clusters(some.select(*counts, name), n_groups, seed)
    return token or 1.0, tokens


def _compute_gain(views: Any, name: str, counts: Iterable[str], codes: np.ndarray, n_classes: int, seed: int) -> float:
    """Mean gain of the log-probabilities of held-out labels where vectors stand beside counts; NaN where unknown."""
    rows, ranks = rank_in_class(codes, seed)
    first = np.argsort(ranks, kind="stable")[:SAMPLE]
    some, known, ranks = views[rows[first]], codes[rows[first]], ranks[first]
    there = some.present[:, some.names.index(name)]
    # one of each class in a fold (`deal_folds` would not): a class with fewer labels left has another share of the rest
    fold = np.where(there & (np.bincount(known)[known] > 1), ranks % 5, -1)
    gains = []
    for number in range(5):
        hidden, seen = np.flatnonzero(fold == number), np.where(fold == number, -1, known)
        if not len(hidden) or (seen >= 0).sum() <= len(np.unique(known)):  # one of each class says nothing of noise
            continue
        words = NaiveBayesStart.learned(some.select(*counts), seen, n_classes, scaled=True)(some[hidden])
        odds = fit_class_means(some.select(name), seen, n_classes, seed).log_odds(some[hidden])
        alone = np.log(np.maximum(words, LEAST))
        gains.append((log_softmax(alone + odds, axis=1) - alone)[np.arange(len(hidden)), known[hidden]])
    return float(np.concatenate(gains).mean()) if gains else np.nan


def _weigh_by_clusters(some: Views, n_groups: int, seed: int) -> float:
    """Tokens that vectors (the last view) are worth by clusters of half of them; 1 where these do not help.

    They do where most of the other vectors have a denser place there, and counts do not lose. The mean density would
    not do: a few vectors that lie far out are near a cluster of their own wherever there are none.
    """
    name = some.names[-1]
    some = some[np.random.default_rng(seed).permutation(np.flatnonzero(some.present[:, -1]))]
    vectors, half = some.select(name), len(some) // 2
    k = min(n_groups, half // 10)  # clusters of ten objects at least, on average
    if k < 2:
        return 1.0
    clusters = cluster_vectors(vectors[:half], k, seed)(vectors).argmax(axis=1)
    start = fit_class_means(vectors[:half], clusters[:half], k, seed)
    worth, scale = start.tokens[name], start.scales[name]
    if scale == 0:  # vectors that are all alike
        return 1.0
    squares = ((as_dense(vectors[name]) - start.offsets[name]) ** 2).sum(axis=1)
    single = worth / (2 * squares[:half].mean())
    shares = np.bincount(clusters[:half], minlength=k) / half
    around = logsumexp(start.log_odds(vectors[half:]) + np.log(np.maximum(shares, LEAST)), axis=1)
    gains = around + (single - scale) * squares[half:] + worth / 2 * np.log(scale / single)
    dense = (2 * np.mean(gains > 0) - 1) * np.sqrt(len(gains)) >= SURE
    return worth if dense and not _are_counts_hurt(some, clusters, start, k) else 1.0


def _are_counts_hurt(some: Views, clusters: np.ndarray, start: VectorStart, k: int) -> bool:
    """Whether groups by counts and vectors foretell held-out counts less than half as well as those by counts alone."""
    names, half = some.names[:-1], len(some) // 2
    # halves of the features, not of the tokens: with halves of tokens, vectors of other groups beside the short rows of
    # CiteSeer pass in seven of eight draws, and take its clusters from an NMI of .34 to .00
    seen = some.map(dict.fromkeys(names, lambda matrix: matrix[:, ::2]))
    gains = np.zeros(len(some) - half)
    for share, odds in ((1.0, start.log_odds), (-0.5, None)):
        model = NaiveBayesStart.learned(seen.select(*names), clusters, k, scaled=True, odds=odds)
        for _ in range(10):
            model = model.refined(seen, np.full(len(some), -1))
        members = model(seen)
        for name, scale in model.scales.items():
            rest = some[name][:, 1::2]
            log_prob = np.log1p(scale * np.asarray(rest[:half].T @ members[:half]).T)
            sums = rest[half:].T @ np.ones(len(gains))
            log_prob -= (log_prob @ sums / max(sums.sum(), LEAST))[:, None]  # 0 on average where groups say nothing
            gains += share * scale * ((rest[half:] @ log_prob.T) * members[half:]).sum(axis=1)
    gains = gains.round(6)  # what rounding leaves of no gain is none
    return bool(gains.mean() * np.sqrt(len(gains)) < -SURE * (gains.std() or 1.0))
