"""The members of a consensus that chooses for itself: different ideas of what a cluster is, each cheap to fit.

| family | members |
|---|---|
| graph | spectral clustering: neighbours by all views side by side, the sum of the views' graphs, each view alone |
| angle | spherical k-means; one k-means per view and their consensus |
| correlation | k-means where the views correlate |
| topics | clusters as distributions over features, for counts only |

Views of counts are weighed by inverse document frequency first, and columns of measurements have variance 1. Members of
one family make the same mistakes together, and so they count together when it is asked who agrees with whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import sparse
from sklearn.preprocessing import StandardScaler

from coview.baselines.cca_clustering import CCAClustering
from coview.baselines.coreg_spectral import CoRegularizedSpectralClustering
from coview.baselines.profiles import ProfileMixture
from coview.baselines.spherical_kmeans import SphericalKMeans
from coview.data.arrays import density
from coview.data.each import EachView
from coview.data.views import Views
from coview.data.weighting import TfidfViews

__all__ = ["Member", "auto_members", "counted_views", "preparation", "prepared"]

MOST_VIEWS = 6  # views up to which each has a member of its own


@dataclass(frozen=True)
class Member:
    """A clusterer, and what it is shown."""

    name: str
    family: str
    estimator: Any
    views: tuple[str, ...]
    prepared: bool = True  # sees views after `preparation`

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
    return [name for name, matrix in views.items() if _lowest(matrix) >= 0 and density(matrix) <= 0.5]


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
    measured = [name for name, matrix in views.items() if name not in counted and not sparse.issparse(matrix)]
    found: list[Any] = [TfidfViews(views=counted).fit(views)] if counted else []
    if measured:
        found.append(EachView(StandardScaler(), views=measured).fit(views))
    return found


def prepared(views: Views, by: list[Any]) -> Views:
    """Views after the transformers of `preparation`."""
    for transformer in by:
        views = transformer.transform(views)
    return views


def auto_members(views: Views, n_clusters: int, seed: int) -> tuple[list[Member], dict[str, str]]:
    """Members for these views, and why others are left out.

    Examples
    --------
    >>> import numpy as np
    >>> members, skipped = auto_members(Views(a=np.eye(4), b=-np.eye(4)), 2, seed=0)
    >>> [member.name for member in members]
    ['joined', 'sum', 'graph of a', 'graph of b', 'sphere', 'correlation']
    >>> skipped
    {'topics': "view 'b' has negative values"}
    """
    names, skipped = views.names, {}
    several = len(names) > 1

    def graph(form: str) -> Any:
        return CoRegularizedSpectralClustering(n_clusters, form=form, n_init=5, random_state=seed)

    found = [Member("joined", "graph", graph("joined"), names)]
    if several:
        found.append(Member("sum", "graph", graph("sum"), names, prepared=False))
        if len(names) <= MOST_VIEWS:
            found += [Member(f"graph of {name}", "graph", graph("joined"), (name,)) for name in names]
        else:
            skipped["graph of each view"] = f"there are more than {MOST_VIEWS} views"
    found.append(Member("sphere", "angle", SphericalKMeans(n_clusters, random_state=seed), names))
    if several:
        found.append(Member("correlation", "correlation", CCAClustering(n_clusters, random_state=seed), names))
    else:
        skipped["sum"] = skipped["correlation"] = "there is only one view"
    others = [name for name in names if name not in counted_views(views)]
    if others:
        negative = _lowest(views[others[0]]) < 0
        skipped["topics"] = f"view {others[0]!r} " + ("has negative values" if negative else "does not hold counts")
    else:
        found.append(Member("topics", "topics", ProfileMixture(n_clusters, random_state=seed), names))
    return found, skipped


def _lowest(matrix: Any) -> float:
    values = matrix.data if sparse.issparse(matrix) else matrix
    return float(values.min()) if values.size else 0.0
