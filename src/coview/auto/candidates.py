"""The members of a consensus that chooses for itself: different ideas of what a cluster is, each cheap to fit.

| member | idea |
|---|---|
| graphs | spectral clustering by neighbors: of each view alone, of all views side by side, and of the views' sum |
| sphere | spherical k-means: angles between rows |
| correlation | k-means where the views correlate |
| topics | clusters as distributions over features, for counts only |

Views of counts are weighed by inverse document frequency first, and columns of measurements have variance 1. A graph of
one view by itself is no member: which view a user has in mind cannot be told without labels, and all views' graphs
together are rarely far from the best of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import sparse
from sklearn.preprocessing import StandardScaler

from coview.auto.profiles import ProfileMixture
from coview.clustering.affinity import looks_counted, metric_by_default
from coview.clustering.cca import CCAClustering
from coview.clustering.spectral import SpectralClusteringViews
from coview.clustering.spherical_kmeans import SphericalKMeans
from coview.preprocessing.each_view import EachView
from coview.preprocessing.weighting import TfidfViews
from coview.views.views import Views

__all__ = ["Member", "auto_members", "counted_views", "preparation", "prepared"]

TRIED = 1.05  # what graphs are worth more than others if the evidence is the same, for they fail less often


@dataclass(frozen=True)
class Member:
    """A clusterer, and what it is shown."""

    name: str
    estimator: Any
    views: tuple[str, ...]
    prepared: bool = True  # sees views after `preparation`
    prior: float = 1.0  # factor of its worth before any evidence

    def shown(self, given: Views, ready: Views) -> Views | None:
        """Views for the clusterer of those that are given; None where it knows none of them."""
        names = [name for name in self.views if name in given]
        return (ready if self.prepared else given).select(*names) if names else None


def counted_views(views: Views) -> list[str]:
    """Names of the views that look like counts: nothing negative, at least half of it zeros.

    Examples
    --------
    >>> import numpy as np
    >>> counted_views(Views(words=np.eye(3), pixels=np.ones((3, 2)), waves=-np.eye(3)))
    ['words']
    """
    return [name for name, matrix in views.items() if looks_counted(matrix)]


def preparation(views: Views) -> list[Any]:
    """Transformers that make views comparable, learned: weights for counts, scales for measurements.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> prepared(X, preparation(X))["sizes"].ravel().round(2)
    array([-0.93, -0.46,  1.39])
    """
    counted = counted_views(views)
    measured = [name for name, matrix in views.items() if metric_by_default(matrix) == "standard"]
    found: list[Any] = [TfidfViews(views=counted).fit(views)] if counted else []
    if measured:
        found.append(EachView(StandardScaler(), views=measured).fit(_filled(views, measured)))
    return found


def prepared(views: Views, by: list[Any]) -> Views:
    """Views after the transformers of `preparation`."""
    for transformer in by:
        if isinstance(transformer, EachView):
            views = _filled(views, transformer.views)
        views = transformer.transform(views)
    return views


def auto_members(views: Views, n_clusters: int, seed: int) -> tuple[list[Member], dict[str, str]]:
    """Members for these views, and why others are left out.

    Examples
    --------
    >>> import numpy as np
    >>> members, skipped = auto_members(Views(a=np.eye(4), b=-np.eye(4)), 2, seed=0)
    >>> [member.name for member in members]
    ['graphs', 'sphere', 'correlation']
    >>> skipped
    {'topics': "view 'b' has negative values"}
    """
    names, skipped = views.names, {}
    graphs = SpectralClusteringViews(n_clusters, form="stacked", random_state=seed)
    found = [
        Member("graphs", graphs, names, prior=TRIED),
        Member("sphere", SphericalKMeans(n_clusters, random_state=seed), names),
    ]
    if len(names) > 1:
        found.append(Member("correlation", CCAClustering(n_clusters, random_state=seed), names))
    else:
        skipped["correlation"] = "there is only one view"
    others = [name for name in names if name not in counted_views(views)]
    if others:
        negative = _lowest(views[others[0]]) < 0
        filled = "has few zeros, unlike counts"
        skipped["topics"] = f"view {others[0]!r} " + ("has negative values" if negative else filled)
    else:
        found.append(Member("topics", ProfileMixture(n_clusters, random_state=seed), names))
    return found, skipped


def _filled(views: Views, names: list[str]) -> Views:
    """Views of measurements that are stored as sparse, made dense: they are mostly filled."""
    stored = [name for name in names if name in views and sparse.issparse(views[name])]
    return views.map(dict.fromkeys(stored, sparse.csr_array.toarray)) if stored else views


def _lowest(matrix: Any) -> float:
    values = matrix.data if sparse.issparse(matrix) else matrix
    return float(values.min()) if values.size else 0.0
