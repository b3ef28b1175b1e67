"""Made-up views with known truth: counts from the multi-view PLSA model, and Gaussian blobs.

`make_topic_views` draws every token of object d in view v in three steps, as the model has it:

    z ~ p(z|d)         the clusters of the object, shared by all views
    y ~ p(y|z,v)       a topic of the view
    f ~ p(f|y,v)       a feature of the topic

Time and memory grow with the tokens drawn, never with objects x features.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from coview.utils.docs import parameters_of
from coview.validation import check_count, check_number, values_by_view
from coview.views.views import Views

__all__ = ["make_blobs_views", "make_topic_views"]


def make_topic_views(
    n_objects: int = 200,
    n_views: Any = 2,
    n_clusters: int = 3,
    *,
    n_components: Any = None,
    n_features: Any = None,
    length: Any = 100,
    agreement: float = 1.0,
    quality: Any = 1.0,
    missing: Any = 0.0,
    concentration: Any = 0.1,
    overlap: Any = 0.1,
    mixing: float = 0.0,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Bunch:
    """Generate count views from the generative process of multi-view PLSA.

    A per-view parameter is one value, ``{view: value}``, or a list with one value per view.

    Parameters
    ----------
    n_objects : int, default=200
        Number of rows.
    n_views : int, mapping or sequence, default=2
        Number of views (named ``view0``, ``view1``, ...), or ``{view: n_features}``, or a list of numbers of features.
    n_clusters : int, default=3
        Number of clusters, of equal size up to one object.
    n_components : int or per view, optional
        Topics of a view; by default twice the clusters. Each topic belongs to one cluster.
    n_features : int or per view, optional
        Columns of a view, where `n_views` does not say; by default 500.
    length : float or per view, default=100
        Mean number of tokens per object, at least 1; every object has at least one token in the views it has.
    agreement : float, default=1.0
        Share of the objects with one cluster in all views. The others draw a cluster for each further view,
        independently, so it may fall on the first view's again.
    quality : float or per view, default=1.0
        Weight of the topics against a background common to all topics: at 0 a view says nothing about the cluster.
    missing : float or per view, default=0.0
        Share of the objects that lack the view. Every object keeps at least one view.
    concentration : float or per view, default=0.1
        Dirichlet concentration of topics over features: smaller means fewer features per topic and sparser rows.
    overlap : float or per view, default=0.1
        Share of a cluster's tokens that comes from any topic rather than from its own.
    mixing : float, default=0.0
        Share of p(z|d) that is spread over all clusters at random rather than put on the object's own.
    dtype : numpy type, default=float64
        Type of the counts.
    random_state : int, RandomState instance or None, default=None
        Seed for repeatable draws. Another length, quality or number of topics in one view leaves the other views as
        they are.

    Returns
    -------
    Bunch
        ``views`` (`Views` of CSR counts), ``target`` (clusters of the objects, as in the first view),
        ``view_cluster`` ({view: clusters}), and the true parameters ``memberships`` (objects x clusters, p(z|d) in the
        first view), ``cluster_topic`` ({view: clusters x topics}, p(y|z,v)) and ``topic_feature``
        ({view: topics x features}, p(f|y,v)).

    Examples
    --------
    >>> from coview.datasets.synthetic import make_topic_views
    >>> data = make_topic_views(50, {"words": 300, "links": 80}, quality={"words": 1.0, "links": 0.5}, random_state=0)
    >>> data.views.n_features, data.target.shape
    ({'words': 300, 'links': 80}, (50,))
    >>> data.topic_feature["words"].shape, data.cluster_topic["words"].shape, data.memberships.shape
    ((6, 300), (3, 6), (50, 3))
    """
    check_count("n_objects", n_objects)
    check_count("n_clusters", n_clusters)
    check_number("mixing", mixing, most=1)
    # all parameters are checked before the first draw, which may take long
    columns = _view_features(n_views, n_features, 500)
    topics = values_by_view("n_components", 2 * n_clusters if n_components is None else n_components, columns)
    lengths = values_by_view("length", length, columns, check_number, least=1)
    qualities = values_by_view("quality", quality, columns, check_number, most=1)
    concentrations = values_by_view("concentration", concentration, columns, check_number, least=1e-4)
    overlaps = values_by_view("overlap", overlap, columns, check_number, most=1)
    shared, of_view = _generators(random_state, list(columns))
    clusters = _draw_clusters(shared, n_objects, list(columns), n_clusters, agreement)
    noise = _dirichlet(shared, np.ones((n_objects, n_clusters)))
    present = _draw_present(shared, n_objects, values_by_view("missing", missing, columns, check_number, most=1))

    arrays: dict[str, Any] = {}
    cluster_topic: dict[str, np.ndarray] = {}
    topic_feature: dict[str, np.ndarray] = {}
    for v, name in enumerate(columns):
        rng = of_view[name]
        topic_feature[name] = _draw_topics(rng, topics[name], columns[name], concentrations[name], qualities[name])
        cluster_topic[name] = _draw_cluster_topics(rng, n_clusters, topics[name], overlaps[name])
        topic_shares = _memberships(clusters[name], noise, mixing) @ cluster_topic[name]
        # one token at least: an object without any would look like one that lacks the view
        n_tokens = (1 + rng.poisson(lengths[name] - 1, size=n_objects)) * present[:, v]
        arrays[name] = _draw_counts(rng, n_tokens, topic_shares, topic_feature[name], dtype)
    target = next(iter(clusters.values()))
    return Bunch(
        views=Views(arrays, present=present),
        target=target,
        view_cluster=clusters,
        memberships=_memberships(target, noise, mixing),
        cluster_topic=cluster_topic,
        topic_feature=topic_feature,
    )


@parameters_of(make_topic_views)
def make_blobs_views(
    n_objects: int = 200,
    n_views: Any = 2,
    n_clusters: int = 3,
    *,
    n_features: Any = None,
    std: Any = 1.0,
    center_box: tuple[float, float] = (-10.0, 10.0),
    agreement: float = 1.0,
    missing: Any = 0.0,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Bunch:
    """Generate dense real-valued views in which each cluster is a Gaussian blob.

    A per-view parameter is one value, ``{view: value}``, or a list with one value per view.

    Parameters
    ----------
    <same: n_objects, n_views, n_clusters>
    n_features : int or per view, optional
        Columns of a view, where `n_views` does not say; by default 5.
    std : float or per view, default=1.0
        Standard deviation of the blobs.
    center_box : pair of floats, default=(-10.0, 10.0)
        Range from which each coordinate of a center is drawn.
    agreement : float, default=1.0
        Share of the objects that have one cluster in all views.
    missing : float or per view, default=0.0
        Share of the objects that lack a view; it is zeros there.
    dtype : numpy type, default=float64
        Type of the values.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data. Changing `std` in one view does not change the other views.

    Returns
    -------
    Bunch
        ``views`` (dense `Views`), ``target`` (clusters of the objects, as in the first view), ``view_cluster``
        ({view: clusters}) and ``centers`` ({view: clusters x features}).

    Examples
    --------
    >>> from coview.datasets.synthetic import make_blobs_views
    >>> data = make_blobs_views(60, {"sound": 4, "image": 8}, n_clusters=2, missing=0.25, random_state=0)
    >>> data.views.n_features, data.views.present.mean(axis=0)
    ({'sound': 4, 'image': 8}, array([0.75, 0.75]))
    """
    check_count("n_objects", n_objects)
    check_count("n_clusters", n_clusters)
    columns = _view_features(n_views, n_features, 5)
    stds = values_by_view("std", std, columns, check_number)
    low, high = center_box
    if not low <= high:
        raise ValueError(f"center_box must be (low, high) with low <= high, got {center_box!r}.")
    shared, of_view = _generators(random_state, list(columns))
    clusters = _draw_clusters(shared, n_objects, list(columns), n_clusters, agreement)
    present = _draw_present(shared, n_objects, values_by_view("missing", missing, columns, check_number, most=1))
    arrays: dict[str, np.ndarray] = {}
    centers: dict[str, np.ndarray] = {}
    for v, (name, n_columns) in enumerate(columns.items()):
        rng = of_view[name]
        centers[name] = rng.uniform(low, high, size=(n_clusters, n_columns))
        values = centers[name][clusters[name]] + stds[name] * rng.standard_normal((n_objects, n_columns))
        arrays[name] = np.where(present[:, [v]], values, 0.0).astype(dtype)
    return Bunch(
        views=Views(arrays, present=present),
        target=next(iter(clusters.values())),
        view_cluster=clusters,
        centers=centers,
    )


# -- parameters


def _view_features(n_views: Any, n_features: Any, default: int) -> dict[str, int]:
    """Return the number of features by name of the view."""
    if isinstance(n_views, Integral) and not isinstance(n_views, bool):
        check_count("n_views", n_views)
        names = [f"view{v}" for v in range(int(n_views))]
        return values_by_view("n_features", default if n_features is None else n_features, names)
    if not isinstance(n_views, (Mapping, list, tuple)) or not n_views:
        raise ValueError(f"n_views must be a number, {{view: n_features}} or a list of n_features, got {n_views!r}.")
    if n_features is not None:
        raise ValueError(f"n_views already gives the numbers of features ({n_views!r}); leave n_features out.")
    by_view = dict(n_views) if isinstance(n_views, Mapping) else {f"view{v}": n for v, n in enumerate(n_views)}
    return values_by_view("n_views", by_view, by_view)


def _generators(random_state: Any, names: list[str]) -> tuple[np.random.Generator, dict[str, np.random.Generator]]:
    """Return a random stream for what the views share and one for each view, so that views are independent."""
    # one number from the random state, whatever the number of views: adding a view changes no other
    seed = int(check_random_state(random_state).randint(0, 2**32, dtype=np.uint32))
    streams = [np.random.default_rng([seed, v]) for v in range(len(names) + 1)]
    return streams[0], dict(zip(names, streams[1:]))


# -- draws


def _draw_clusters(
    rng: np.random.Generator, n_objects: int, names: list[str], n_clusters: int, agreement: float
) -> dict[str, np.ndarray]:
    """Draw the clusters of the objects in each view."""
    check_number("agreement", agreement, most=1)
    # sizes differ by one at most: unequal clusters would favor some methods in comparisons
    first = rng.permutation(np.arange(n_objects) % n_clusters)
    # the same objects disagree in all further views
    free = rng.permutation(n_objects)[round(agreement * n_objects) :]
    clusters = {names[0]: first}
    for name in names[1:]:
        clusters[name] = first.copy()
        clusters[name][free] = rng.integers(n_clusters, size=len(free))
    return clusters


def _draw_present(rng: np.random.Generator, n_objects: int, missing: Mapping[str, float]) -> np.ndarray:
    """Draw a mask (objects x views) with the exact number of absences per view and no object without a view."""
    absences = [round(share * n_objects) for share in missing.values()]
    n_views = len(absences)
    if sum(absences) > n_objects * (n_views - 1):
        raise ValueError(
            f"missing={dict(missing)} would leave objects without any view. Lower the shares: for {n_views} view(s) "
            f"they may sum to at most {n_views - 1}."
        )
    present = np.ones((n_objects, n_views), dtype=bool)
    for v, n_absent in enumerate(absences):
        present[rng.permutation(n_objects)[:n_absent], v] = False
    bare = np.flatnonzero(~present.any(axis=1))
    # An object with several views can give one up to an object with none; by the check above there are enough.
    owners, views = np.nonzero(present)
    order = rng.permutation(len(owners))
    owners, views = owners[order], views[order]
    _, keepers = np.unique(owners, return_index=True)
    spare = np.delete(np.arange(len(owners)), keepers)[: len(bare)]
    present[owners[spare], views[spare]] = False
    present[bare, views[spare]] = True
    return present


def _dirichlet(rng: np.random.Generator, concentration: np.ndarray) -> np.ndarray:
    """Draw rows from Dirichlet distributions, in logarithms: tiny concentrations must not give 0 / 0."""
    tiny = np.finfo(np.float64).tiny
    # gamma(a) is gamma(a + 1) * u ** (1 / a), which in logarithms does not vanish for small a
    logs = np.log(rng.standard_gamma(concentration + 1.0))
    logs += np.log(np.maximum(rng.random(concentration.shape), tiny)) / concentration
    logs -= logs.max(axis=1, keepdims=True)
    weights = np.exp(logs)
    return weights / weights.sum(axis=1, keepdims=True)


def _draw_topics(
    rng: np.random.Generator, n_topics: int, n_features: int, concentration: float, quality: float
) -> np.ndarray:
    """Draw p(f|y,v); the background is the mean topic, so that quality keeps the features' overall frequencies."""
    own = _dirichlet(rng, np.full((n_topics, n_features), concentration))
    mixed = quality * own + (1 - quality) * own.mean(axis=0)
    return mixed / mixed.sum(axis=1, keepdims=True)


def _draw_cluster_topics(rng: np.random.Generator, n_clusters: int, n_topics: int, overlap: float) -> np.ndarray:
    """Draw p(y|z,v): cluster z owns the topics z, z + n_clusters, ...; with too few topics they are shared in turn."""
    owned = np.zeros((n_clusters, n_topics))
    most = np.arange(max(n_clusters, n_topics))
    # weights at random, so that topics of a cluster differ in how frequent they are
    owned[most % n_clusters, most % n_topics] = rng.standard_exponential(len(most))
    anywhere = _dirichlet(rng, np.ones((n_clusters, n_topics)))
    mixed = (1 - overlap) * owned / owned.sum(axis=1, keepdims=True) + overlap * anywhere
    return mixed / mixed.sum(axis=1, keepdims=True)


def _memberships(clusters: np.ndarray, noise: np.ndarray, mixing: float) -> np.ndarray:
    result = mixing * noise
    result[np.arange(len(clusters)), clusters] += 1 - mixing
    return result / result.sum(axis=1, keepdims=True)


def _draw_counts(
    rng: np.random.Generator, n_tokens: np.ndarray, topic_shares: np.ndarray, topic_feature: np.ndarray, dtype: Any
) -> sparse.csr_array:
    """Draw counts (objects x features): the topics of tokens object by object, then features topic by topic."""
    n_topics, n_features = topic_feature.shape
    topic_shares = topic_shares / topic_shares.sum(axis=1, keepdims=True)  # rounding may have lifted a share above 1
    per_topic = rng.multinomial(n_tokens, topic_shares)
    names = np.tile(np.arange(n_topics, dtype=np.min_scalar_type(n_topics)), len(n_tokens))
    topic_of_token = np.repeat(names, per_topic.ravel())
    features = np.empty(len(topic_of_token), dtype=np.int32)
    for topic, probabilities in enumerate(topic_feature):
        # The features of all tokens of a topic at once: their counts, then who gets which by a shuffle.
        counts = rng.multinomial(per_topic[:, topic].sum(), probabilities)
        drawn = np.repeat(np.arange(n_features, dtype=np.int32), counts)
        rng.shuffle(drawn)
        features[topic_of_token == topic] = drawn
    starts = np.concatenate([[0], np.cumsum(n_tokens)])
    starts = starts.astype(np.int32 if max(len(features), n_features) <= np.iinfo(np.int32).max else np.int64)
    ones = np.ones(len(features), dtype=dtype)
    matrix = sparse.csr_array((ones, features, starts), shape=(len(n_tokens), n_features))
    matrix.sum_duplicates()
    return matrix
