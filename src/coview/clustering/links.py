"""Links among the objects: which view they are, whether they join alike objects, and features smoothed over them.

A view is links where its columns are the objects: most of either named by the others, or square with a link back for
every link. Of ids that are no whole numbers, columns that are mostly ids are enough, if they hold `FEWEST` links or
more: few objects may be linked to, but nothing else is named like them. Categories 1 to 9 are.
Whether links help is judged without labels, by two questions to each other view.

| figure | question |
|---|---|
| alike | share of linked pairs that are more alike than all but one in twenty pairs of link ends joined at random |
| together | share of links that stay within a cluster of the view, less the share by chance q: (share - q) / (1 - q) |

Alike are counts by their cosine, measurements by their distance. Links that mean nothing have .05 and 0. Ends and not
objects are joined at random, since an object of many links may well be alike to all. One figure is not enough: of two
clusters half of all pairs are within one, so that hardly any can be alike beyond chance; and clusters of few words are
poor, while linked pairs share rare ones. On citations and encyclopedia pages alike is .46 to .65 and together .43 to
.74. Within each of four universities' web pages, where links lead from courses to teachers and from these to students,
they are at most .28 and .06, over all four .31 and .31: pages of one university are alike in words, not in kind. From
`ENOUGH` on, of either, links join alike objects; it lies between.

Where they do, the other views are smoothed over them (`NeighborViews`): counts are dampened, weighed by inverse
document frequency and brought to few dimensions first, so that many hops are cheap and nothing of objects x objects is
formed. All of it is linear in the number of links and of non-zeros.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import Pipeline, make_pipeline

from coview.clustering.affinity import Scaling, metric_by_default
from coview.clustering.spherical_kmeans import SphericalKMeans
from coview.exceptions import ViewsError
from coview.preprocessing.each_view import EachView
from coview.preprocessing.neighbors import NeighborViews, find_rows, pick_columns
from coview.preprocessing.scaling import ScaledViews
from coview.preprocessing.weighting import weigh_counts
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, listed
from coview.views.arrays import density, looks_counted, take_rows
from coview.views.views import Views, n_present

__all__ = [
    "LINK_EVIDENCE",
    "LinkEvidence",
    "find_links",
    "judge_links",
    "links_among",
    "smoothed",
    "smoothing",
    "with_smoothed",
]

ENOUGH = 0.38  # of either figure: from there on links join alike objects
RARE = 0.05  # share of linked pairs that are alike by chance
FEWEST = 30  # linked pairs that have a view, to judge by it; links, to be found by the names of few columns
MOST_PAIRS = 5000  # linked pairs that are looked at
NAMED = 0.5  # share of the columns that must be named like objects, and of objects named by numbers that are columns
DIMENSIONS = 64  # of a view before it is smoothed
HOPS, RESTART = 20, 0.12


@dataclass(frozen=True)
class LinkEvidence:
    """Whether links join alike objects: figures, and the words for them.

    Attributes
    ----------
    view : str
        The view of links.
    n_links : int
        Links between two different objects.
    alike_by_view : dict of float
        Share of the linked pairs that are more alike, in each other view, than all but one in twenty pairs whose ends
        were joined at random; views that too few linked objects have are left out.
    together_by_view : dict of float
        Share of the links that stay within a cluster of each other view, less that by chance: 1 where all do, 0 by
        chance, negative where links avoid it.
    join : bool
        Whether the links join alike objects, in one view at least.
    why : str
        The same in words.
    used : bool
        Whether features are smoothed over them: where they join alike objects or the user names them; in an
        `AutoClassifier` also where labels speak for them.
    """

    view: str
    n_links: int
    alike_by_view: dict[str, float]
    together_by_view: dict[str, float]
    join: bool
    why: str
    used: bool


# rule for `links_`, the evidence as a dict: one contract for clusters and classes
LINK_EVIDENCE = rules.or_none(
    rules.record(
        view=rules.text(),
        n_links=rules.count(),
        alike_by_view=rules.mapping(rules.real(0, 1)),
        together_by_view=rules.mapping(rules.real(high=1)),
        join=rules.flag(),
        why=rules.text(),
        used=rules.optional(rules.flag()),
    )
)


def find_links(views: Views, links: Any = None) -> str | None:
    """Name of the view that is links among the objects, or None.

    Where the views have ids and feature names, more than half of the columns of links are named by ids. Besides, more
    than half of the objects are columns; or, where the ids are no whole numbers, which categories may look like, there
    are at least 30 links to other objects, and the columns are not just the first objects in order, as where both are
    numbered alike. Without names, links are square, with a link back for every link.

    Parameters
    ----------
    views : Views
        All objects.
    links : str, False or None, default=None
        A view's name, which then must have the objects as columns; None looks for one, False for none.

    Examples
    --------
    >>> words, pairs = np.eye(4, 9), np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> find_links(Views(words=words, cites=pairs)), find_links(Views(words=words, cites=pairs), False)
    ('cites', None)
    """
    if links is False:
        return None
    if links is None:
        # one view alone has nothing to be smoothed, and nothing to be judged by
        return next((name for name in views.names if _is_links(views, name)), None) if len(views.names) > 1 else None
    if links not in views:
        raise ViewsError(
            f"X has no view of links {links!r}; the views are {listed(views.names)}.{did_you_mean(links, views.names)}"
        )
    _columns(views, links)
    return str(links)


def judge_links(views: Views, links: str, n_clusters: int, seed: int = 0, named: bool = False) -> LinkEvidence:
    """Compare linked objects with others in all other views, by a sample of bounded size.

    Parameters
    ----------
    views : Views
        All objects.
    links : str
        The view of links.
    n_clusters : int
        Number of clusters, or of classes, that the objects are to be told apart by.
    seed : int, default=0
        Of the sample, the pairs joined at random and the clusters.
    named : bool, default=False
        Whether the user names them: then they are used in any case, where there is another view to be smoothed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(80) % 2
    >>> words = rng.poisson(np.where(np.arange(8) % 2 == y[:, None], 2.0, 0.3))
    >>> same, mixed = [np.triu(rng.uniform(size=(80, 80)) < part, 1) for part in (0.1 * (y == y[:, None]), 0.05)]
    >>> [judge_links(Views(words=words, links=part + part.T), "links", 2).join for part in (same, mixed)]
    [True, False]
    """
    table = links_among(views, links).tocoo()
    far = (table.row != table.col) & (table.data != 0)
    one, other = np.minimum(table.row, table.col)[far], np.maximum(table.row, table.col)[far]
    pairs = np.unique(one.astype(np.int64) * len(views) + other)  # a link that is named at both ends is one
    n_links = len(pairs)
    if n_links > MOST_PAIRS:
        pairs = np.sort(np.random.default_rng([seed, 0]).choice(pairs, MOST_PAIRS, replace=False))
    ends = np.stack([pairs // len(views), pairs % len(views)])
    alike: dict[str, float] = {}
    together: dict[str, float] = {}
    for v, name in enumerate(views.names):
        if name != links:
            figures = _figures(views[name], views.present[:, v], ends, n_clusters, seed)
            if figures is not None:
                alike[name], together[name] = figures
    if not alike:
        why = f"too few of the {n_links} links join objects that have other views to tell whether these are alike"
        return LinkEvidence(links, n_links, alike, together, False, *_used(False, named and len(views.names) > 1, why))
    best = max(alike, key=lambda name: max(alike[name], together[name]))
    join = max(alike[best], together[best]) >= ENOUGH
    verdict = "links join alike objects" if join else "linked objects are not alike enough"
    why = (
        f"{verdict}: {alike[best]:.0%} of linked pairs are more alike in view "
        f"{best!r} than {1 - RARE:.0%} of pairs joined at random, and {together[best]:.0%} of the links stay within "
        f"its clusters, less those by chance; {ENOUGH:.0%} of either {'is' if join else 'would be'} enough"
    )
    return LinkEvidence(links, n_links, alike, together, join, *_used(join, named, why))


def links_among(views: Views, links: str) -> sparse.csr_array:
    """Links from each object (row) to the others (columns), in the order of the objects."""
    return pick_columns(sparse.csr_array(views[links], dtype=np.float64), _columns(views, links))


def smoothing(views: Views, links: str, seed: int = 0) -> Pipeline:
    """Steps, not fitted, from views as they are to those smoothed over the links, one dense view for each.

    As in spherical k-means, measurements are left out beside counts, since a few of them would decide on all angles.
    """
    others = [name for name in views.names if name != links]
    having = n_present(views)
    measured = [name for name in others if metric_by_default(views[name], having[name]) != "cosine"]
    chosen = [name for name in others if name not in measured] or others
    counted = [name for name in chosen if looks_counted(views[name], having[name])]
    steps: list[Any] = weigh_counts(views, counted)
    scaled = [name for name in chosen if name in measured]
    if scaled:
        steps.append(ScaledViews(views=scaled))
    width = max(min(DIMENSIONS, len(views) - 1), 1)
    narrow = {name: TruncatedSVD(width, random_state=seed) for name in chosen if views[name].shape[1] > DIMENSIONS}
    if narrow:
        steps.append(EachView(narrow))
    steps.append(
        NeighborViews(
            links, HOPS, restart=RESTART, self_weight="mean", directed=False, layers="last", views=chosen, keep=False,
        )
    )  # fmt: skip
    return make_pipeline(*steps)


def smoothed(steps: Pipeline, views: Views) -> Views:
    """Smoothed views of any objects, by fitted steps: without links, as nobody's neighbors; without features, by links.

    Examples
    --------
    >>> links = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> X = Views(sizes=np.array([[1.0], [3.0], [8.0]]), links=links)
    >>> steps = smoothing(X, "links").fit(X)
    >>> smoothed(steps, X.select("sizes"))["sizes_near"].round(2).tolist()
    [[-1.02], [-0.34], [1.36]]
    """
    last = steps.steps[-1][1]
    wanted = (last.links, *last.smoothed_views_)
    arrays: dict[str, Any] = {}
    present = {}
    for name in wanted:
        if name in views:
            arrays[name], present[name] = views[name], views.present[:, views.names.index(name)]
        else:
            arrays[name] = sparse.csr_array((len(views), steps.steps[0][1].n_features_by_view_[name]))
            present[name] = np.zeros(len(views), dtype=bool)
    names = {name: columns for name, columns in views.feature_names.items() if name in arrays}
    # a fitted object that comes again without its features has them from the fit: then it is not known by its id
    ids = views.ids if all(name in views for name in wanted) else None
    return steps.transform(Views(arrays, ids=ids, present=present, feature_names=names))


def with_smoothed(steps: Pipeline, views: Views) -> Views:
    """Views with the smoothed ones beside them, if they have links or any view that is smoothed."""
    last = steps.steps[-1][1]
    if not any(name in views for name in (last.links, *last.smoothed_views_)):
        return views
    near = smoothed(steps, views)
    present = {name: part.present[:, v] for part in (views, near) for v, name in enumerate(part.names)}
    arrays = {**dict(views.items()), **dict(near.items())}
    return Views(arrays, ids=views.ids, present=present, feature_names=views.feature_names)


# -- pieces


def _used(join: bool, named: bool, why: str) -> tuple[str, bool]:
    """Return why links are used or not, and whether they are."""
    return (f"the parameter links names them; {why}" if named and not join else why), join or named


def _is_links(views: Views, name: str) -> bool:
    matrix = views[name]
    if not looks_counted(matrix, int(views.present[:, views.names.index(name)].sum())):
        return False
    names = views.feature_names.get(name)
    if names is not None and views.ids is not None:
        rows = find_rows(names, views.ids)
        found = np.unique(rows[rows >= 0])
        if names.tolist() != [str(i) for i in range(len(names))]:  # numbers from 0 on are no names, but the places
            if np.mean(rows >= 0) <= NAMED:
                return False
            if len(found) > NAMED * len(views):
                return True
            if np.array_equal(rows, np.arange(len(rows))):  # columns and objects were numbered alike: p0, p1, p2
                return False
            return not _mostly_numbers(names[rows >= 0].tolist()) and _n_links(matrix, rows) >= FEWEST
    if matrix.shape[1] != len(views) or density(matrix) == 0:
        return False
    table = sparse.csr_array(matrix) != 0
    back = sparse.csr_array(table.T)
    return bool((table != back).nnz == 0 and table.nnz > table.diagonal().sum())


def _mostly_numbers(names: list[str]) -> bool:
    """Tell whether names are mostly whole numbers, as categories may be, too.

    Examples
    --------
    >>> _mostly_numbers(["1", "2", "17"]), _mostly_numbers(["p1", "p2", "17"])
    (True, False)
    """
    return 2 * sum(re.fullmatch(r"-?\d+(\.0+)?", name) is not None for name in names) > len(names)


def _n_links(matrix: Any, rows: np.ndarray) -> int:
    """Links to other objects, of columns that stand for these rows (-1 for none)."""
    table = sparse.coo_array(matrix)
    ends = rows[table.col]
    return int(np.sum((ends >= 0) & (ends != table.row) & (table.data != 0)))


def _columns(views: Views, links: str) -> np.ndarray:
    """Object of each column of the links, -1 for none."""
    names = views.feature_names.get(links)
    if names is not None and views.ids is not None:
        rows = find_rows(names, views.ids)
        if (rows >= 0).any():
            return rows
    elif views[links].shape[1] == len(views):
        return np.arange(len(views))
    raise ViewsError(
        f"View {links!r} cannot be links among {len(views)} objects: its {views[links].shape[1]} columns are not the "
        "objects.",
        python="Give a square matrix, or ids and feature_names that name the same objects; of a table, "
        "TableViews(id=COLUMN) makes the ids.",
        cli="Give a square matrix, or, of a table, the column that names the objects: --id COLUMN.",
    )


def _figures(
    matrix: Any, present: np.ndarray, ends: np.ndarray, n_clusters: int, seed: int
) -> tuple[float, float] | None:
    """How alike the ends of links are in one view, and how often within one of its clusters; None of too few links."""
    if ends.shape[1] < FEWEST:
        return None
    weighed = matrix
    having = int(present.sum())
    if looks_counted(matrix, having):
        counts = Views(x=matrix)
        weighed = make_pipeline(*weigh_counts(counts, ["x"])).fit_transform(counts)["x"]
    scaling = Scaling.learned(weighed, n_present=having)
    linked, places = np.unique(ends, return_inverse=True)
    rows = scaling.rows(take_rows(weighed, linked))
    known = scaling.known(rows, present[linked])
    one, other = places.reshape(ends.shape)
    both = known[one] & known[other]
    one, other = one[both], other[both]
    if len(one) < FEWEST:
        return None
    every, partners = np.concatenate([one, other]), np.concatenate([other, one])
    drawn = np.random.default_rng([seed, 1]).permutation(partners)
    apart = every != drawn
    limit = np.quantile(_likeness(rows, every[apart], drawn[apart]), 1 - RARE)
    alike = float(np.mean(_likeness(rows, one, other) > limit))
    few = int(min(n_clusters, known.sum()))
    model = SphericalKMeans(few, random_state=seed) if scaling.metric == "cosine" else KMeans(few, random_state=seed)
    codes = model.fit(rows).labels_
    shares = np.bincount(codes[every], minlength=few) / len(every)
    chance = float(shares @ shares)
    stay = float(np.mean(codes[one] == codes[other]))
    return alike, (stay - chance) / (1 - chance) if chance < 1 else 0.0


def _likeness(rows: Any, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Minus the squared distances of pairs of rows, but for rounding; of rows of length 1, as good as their cosines."""
    gaps = take_rows(rows, one) - take_rows(rows, other)
    squares = gaps.multiply(gaps) if sparse.issparse(gaps) else gaps * gaps
    return -np.round(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel(), 9)
