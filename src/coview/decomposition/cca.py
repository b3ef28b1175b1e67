"""Canonical correlation analysis of any number of views, sparse ones included: `MultiViewCCA` and its formula.

Projections w_v of the features of each view make the views agree, pair by pair:

    maximize  sum_(v != u) w_v' C_vu w_u      subject to  sum_v w_v' (C_vv + r_v I) w_v = 1      C = covariances

For two views this is regularized CCA, and the eigenvalues are the canonical correlations. Each view is given by a
randomized truncated SVD, X_v ~ U_v S_v V_v', so that w_v = V_v (S_v^2 + r_v)^-1/2 a_v, where a are eigenvectors of a
small matrix with blocks T_v U_v' U_u T_u, T = S / sqrt(S^2 + r). Centering is part of the operator: a sparse matrix
stays sparse. The covariance of two views is taken over the objects that have both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from coview.base import MultiViewEstimator
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Structure, Training, numbered
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, integer, number, one_or_by_view
from coview.validation import base_seed, per_view
from coview.views.views import Matrix, Views

__all__ = [
    "COMMON_SPACE",
    "CommonSpace",
    "MultiViewCCA",
    "center_view",
    "column_signs",
    "compute_total_variance",
    "compute_truncated_svd",
    "learn_common_space",
]

COMMON_SPACE: dict[str, rules.Rule | None] = {  # what fitted models keep of a space
    "projections_": rules.by_view(rules.floats("features of {view}", "components")),
    "offsets_": rules.by_view(rules.floats("components")),
    "correlations_": rules.floats("components", low=0, high=1.001),
}


@shared_parameters
class MultiViewCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewEstimator):
    """A common space of several views by regularized canonical correlation analysis.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions of the common space; fewer where the views have fewer.
    regularization : float or {view: float}, default=0.005
        Ridge of each view, as a share of its total variance; more of it trusts strong directions more.
    power : float, default=1.0
        Components are multiplied by their correlation to this power: those that the views agree on count more. 0 leaves
        canonical variates as the textbook has them, of equal weight.
    rank : int or None, default=None
        Number of singular directions kept of each view; None is three times `n_components`, and at least 100.
    <shared: random_state>

    Attributes
    ----------
    projections_ : dict of ndarray (n_features of the view, n_components)
        Projection of each view: what each feature adds to each component.
    offsets_ : dict of ndarray (n_components,)
        What the mean of the training objects adds; it is taken off.
    correlations_ : ndarray (n_components,)
        How far the views agree on each component, from 0 to 1, falling.
    <shared: fitted views>

    See Also
    --------
    SemanticCorrelationMatching : the same space, and classes in it.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewCCA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=200, n_clusters=3, random_state=0).views
    >>> model = MultiViewCCA(n_components=2, random_state=0).fit(X)
    >>> words, links = (model.transform(X.select(name)) for name in X.names)
    >>> bool(np.corrcoef(words[:, 0], links[:, 0])[0, 1] > 0.9)
    True
    """

    _models_counts = False
    projections_: dict[str, np.ndarray]
    offsets_: dict[str, np.ndarray]
    correlations_: np.ndarray

    _fitted_state = COMMON_SPACE
    _parameters = {
        "regularization": one_or_by_view(number()),
        "power": number(),
        "rank": integer() | NONE,
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        regularization: Any = 0.005,
        power: float = 1.0,
        rank: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.power = power
        self.rank = rank
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> MultiViewCCA:
        """Learn the common space; y is ignored."""
        self._learn_space(self._fit_views(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Project objects into the common space from some or all of the fitted views, averaged per object."""
        return self.project(X)

    def project(self, X: Any) -> np.ndarray:
        """Project objects into the common space, independently of `transform` in a subclass."""
        views = self._new_views(X)
        return CommonSpace(self.projections_, self.offsets_, self.correlations_).project(views)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: components of a space; memberships are coordinates."""
        return Inspection(
            self,
            "component",
            **numbered(len(self.correlations_)),
            views=self._view_inputs(),
            training=Training(history={"correlations": self.correlations_}),
            structure=Structure(projections=dict(self.projections_)),
            _features=lambda view: Features(self.projections_[view].T, False, "weight"),
            _memberships=self.project,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def _project_view(self, name: str, matrix: Matrix) -> np.ndarray:
        return np.asarray(matrix @ self.projections_[name]) - self.offsets_[name]

    def _learn_space(self, views: Views) -> None:
        space = learn_common_space(
            views,
            self.n_components,
            ridge=per_view("regularization", self.regularization, views.names, default=0.005),
            power=self.power,
            rank=self.rank,
            seed=base_seed(self.random_state),
        )
        self.projections_, self.offsets_, self.correlations_ = space.projections, space.offsets, space.correlations


# -- the formula


@dataclass(frozen=True)
class CommonSpace:
    """A space into which objects are projected from any of their views."""

    projections: dict[str, np.ndarray]  # features x components, by view
    offsets: dict[str, np.ndarray]  # what the mean of the training objects adds to each component, by view
    correlations: np.ndarray  # how far the views agree on each component, from 0 to 1, falling

    def project(self, views: Views) -> np.ndarray:
        """Project objects (n_objects, n_components): the mean over these views; one without any is in the middle."""
        total = np.zeros((len(views), len(self.correlations)))
        for v, (name, matrix) in enumerate(views.items()):
            total += views.present[:, [v]] * (np.asarray(matrix @ self.projections[name]) - self.offsets[name])
        mean = total / np.maximum(views.present.sum(axis=1, keepdims=True), 1)
        return mean.astype(next(views.values()).dtype, copy=False)


def learn_common_space(
    views: Views,
    n_components: int,
    *,
    ridge: np.ndarray,
    power: float = 1.0,
    rank: int | None = None,
    seed: int = 0,
) -> CommonSpace:
    """Learn the space in which views correlate; the parameters are those of `MultiViewCCA`, with one ridge per view.

    Examples
    --------
    >>> import numpy as np
    >>> cause = np.arange(8.0)[:, None] % 3
    >>> X = Views(a=cause @ np.array([[1.0, 2.0]]), b=cause @ np.array([[3.0, -1.0]]))
    >>> space = learn_common_space(X, 1, ridge=np.zeros(2), power=0.0, rank=2)
    >>> space.correlations.round(6), space.project(X.select("b")).shape
    (array([1.]), (8, 1))
    """
    rank = rank or max(3 * n_components, 100)
    if len(views) < 2:
        raise ViewsError("X has 1 sample, but correlations need at least 2 objects.")
    parts, means = [], {}
    for v, name in enumerate(views.names):
        operator, means[name] = center_view(views[name], views.present[:, v])
        # one seed for all views: their order changes nothing
        parts.append(compute_truncated_svd(operator, rank, np.random.default_rng(seed)))
    if not any(len(values) for _, values, _ in parts):
        raise ViewsError("All objects are identical in every view, so there is nothing to correlate.")
    # a share of the total variance, so that the unit of a view changes nothing
    shrunk = [
        np.sqrt(values**2 + share * compute_total_variance(views[name], means[name]))
        for name, share, (_, values, _) in zip(views.names, ridge, parts)
    ]
    # U T of the formula: without the ridge, T is 1 and noise directions count like all others
    whitened = [left * (values / root) for (left, values, _), root in zip(parts, shrunk)]
    loadings, correlations = _find_agreement(whitened, views.present, n_components)
    places = sum(part @ loading for part, loading in zip(whitened, loadings))
    scale = column_signs(places) * correlations ** float(power)
    # singular vectors have length 1 over all objects of a view, so that values of a view that few have would be larger
    counts = views.present.sum(axis=0)
    projections = {
        name: right @ (np.sqrt(count) * loading * scale / root[:, None])
        for name, (_, _, right), root, loading, count in zip(views.names, parts, shrunk, loadings, counts)
    }
    return CommonSpace(projections, {name: means[name] @ part for name, part in projections.items()}, correlations)


def center_view(matrix: Matrix, present: np.ndarray) -> tuple[LinearOperator, np.ndarray]:
    """Return a view less its mean as an operator that never builds it, and the mean; absent rows stay zero."""
    here = present.astype(np.float64)
    mean = np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel() / max(here.sum(), 1.0)

    def multiply(block: np.ndarray) -> np.ndarray:
        block = block.reshape(len(mean), -1)
        return np.asarray(matrix @ block) - here[:, None] * (mean @ block)

    def multiply_transposed(block: np.ndarray) -> np.ndarray:
        block = block.reshape(len(here), -1)
        return np.asarray(matrix.T @ block) - mean[:, None] * (here @ block)

    operator = LinearOperator(
        matrix.shape,
        matvec=multiply,
        rmatvec=multiply_transposed,
        matmat=multiply,
        rmatmat=multiply_transposed,
        dtype=np.dtype(np.float64),
    )
    return operator, mean


def compute_total_variance(matrix: Any, mean: np.ndarray) -> float:
    """Sum of squares of a view less its mean, over the objects that have it; absent rows are zero in both terms.

    Examples
    --------
    >>> import numpy as np
    >>> compute_total_variance(np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([2.0, 2.0]))
    2.0
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    sums = np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel()
    return max(float(np.square(values, dtype=np.float64).sum() - mean @ sums), 0.0)


def compute_truncated_svd(
    operator: LinearOperator, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest singular values of an operator with their vectors, by a random sketch and power iterations.

    Returns (left, values, right); directions of no weight are left out. Exact where the rank covers the smaller side.
    """
    n_rows, n_columns = operator.shape
    width = min(rank + 10, n_rows, n_columns)  # ten columns more than asked for make the sketch sure
    reached = operator.matmat(np.eye(n_columns) if width == n_columns else rng.standard_normal((n_columns, width)))
    # powers draw the sketch towards strong directions; QR in between keeps weak ones from drowning in rounding
    # (Halko, Martinsson and Tropp 2011, algorithm 4.4). A sketch of full width spans everything already
    for _ in range(4 if width < min(n_rows, n_columns) else 0):
        reached = operator.matmat(linalg.qr(operator.rmatmat(reached), mode="economic", check_finite=False)[0])
    basis = linalg.qr(reached, mode="economic", check_finite=False)[0]
    right, values, left = linalg.svd(operator.rmatmat(basis), full_matrices=False, check_finite=False)
    kept = min(rank, int(np.count_nonzero(values > max(n_rows, n_columns) * np.finfo(float).eps * values[:1].sum())))
    return basis @ left[:kept].T, values[:kept], right[:, :kept]


def _find_agreement(
    whitened: list[np.ndarray], present: np.ndarray, n_components: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Loadings of each view's whitened directions on the components, and the correlations, falling.

    A correlation is the mean over pairs of views.
    """
    if len(whitened) == 1:  # nothing to agree with: the strongest directions themselves
        strength = (whitened[0] ** 2).sum(axis=0)
        order = np.argsort(-strength, kind="stable")[:n_components]
        return [np.eye(len(strength))[:, order]], strength[order]
    shared = present.T.astype(np.float64) @ present  # objects that two views have in common

    def correlate(v: int, u: int) -> np.ndarray:
        # over the objects that have both views, of vectors that have length 1 over those that have one
        share = np.sqrt(shared[v, v] * shared[u, u]) / max(shared[v, u], 1.0)
        return whitened[v].T @ whitened[u] * (share if v != u else 0.0)

    # a small matrix of directions x directions, never of objects
    every = range(len(whitened))
    matrix = np.block([[correlate(v, u) for u in every] for v in every])
    widths = [left.shape[1] for left in whitened]
    kept = (sum(widths) - min(n_components, max(widths)), sum(widths) - 1)
    values, vectors = linalg.eigh(matrix, subset_by_index=kept, check_finite=False)
    # eigenvectors have length 1 over all views together; a view's part is to have length 1 by itself in the mean
    loadings = np.split(vectors[:, ::-1] * np.sqrt(len(whitened)), np.cumsum(widths)[:-1])
    # the sum over the other views, of which there are one less: with ridges rounding can lead beyond 1
    return loadings, np.clip(values[::-1] / (len(whitened) - 1), 0.0, 1.0)


def column_signs(vectors: np.ndarray) -> np.ndarray:
    """Signs with which the largest entry of each column is positive, so that rounding decides on none."""
    return np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
