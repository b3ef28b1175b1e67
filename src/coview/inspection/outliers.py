"""Objects that no group explains: by how well one half of an object predicts the other half, against other objects.

The counts of an object are put into two halves at random, token by token. From one half the model finds the memberships
m of the object, and the other half is held out. By view, with the profiles p(f | k) of the groups and their mean q(f)
over all objects, the fit of an object is the held-out log-likelihood per token, half of it against that of the mean:

    fit = sum_f x_f (log((1 - s) sum_k m_k p(f | k) + s q(f)) - log(q(f)) / 2) / sum_f x_f,     s = 0.1

and the mean of both ways round is taken. Of a view of vectors or measurements the fit is minus the squared distance
from the mean vector that the memberships expect, where these come from the counts if there are any.

Short objects fit worse, and by more chance, than long ones. So a fit is compared with those of reference objects of
about its own length: how many robust standard deviations it lies above their median. Where all of these are longer, the
median is lower along a line and the deviation larger by the square root of the ratio of lengths. The score of an object
is the mean of these over its views. Objects of a group that was marked as noise have no score, and are no reference. An
object is an outlier where its score is below that of all but a share of the reference, the rate of false alarms.
Without a reference the objects are their own: what is usual is told by the median and the lower quartile of their
scores, as of a normal distribution, so that outliers among them do not hide each other. The objects of the fit are no
good reference for others: the model knows them too well.

Fits of a few tokens are far from normal: of three, one rare token is a third. How much farther their lower tail reaches
is told by objects that the model makes itself, of the same lengths, from memberships of others: among these none is an
outlier. What scores lie below the lower quartile is divided by how many times as far such objects of like length reach
(their lowest 2 %) as a normal distribution. This was measured on synthetic corpora with objects of 2
to 100 tokens and a rate of 1 %: without it up to 13 % of the objects of two or three tokens were called outliers, 4 %
of all; with it at most 4 % of those of any length, and 1 % of all. With a reference, up to 5.3 % of those of one length
were seen. It changes the areas below by 0.002 at most, but costs finds where the rate is low: on the real posts of
comp.* with talk.* below, at a rate of 1 %, 62 % of the posts of talk.* are found, and 64 % without it (0.6 and 0.8 % of
the others are called outliers).

Posts of 20 newsgroups, header and body as views, LinkPLSA with 20 topics of the earlier posts of sci.*, and 10 % of
posts of rec.* among the later posts of sci.*: area under the curve 0.898, by the largest membership 0.707; on comp.*
with posts of talk.*, 0.978 and 0.753. With 5 and 10 topics it is 0.905 and 0.904, by the largest membership 0.652 and
0.633; on comp.* 0.980 with both, and 0.762 and 0.743. All are means over three draws of the posts of rec.* and talk.*,
which differ by up to 0.013 (standard deviation; by the largest membership, 0.033). When the score was chosen, before
that correction, the area on sci.* was 0.90 by the likelihood alone and 0.78 by the ratio to that of the
mean. On comp.*, likewise before it, with a rate of 5 %, 4 and 3 % of the posts of comp.* (LinkPLSA and MultiViewPLSA)
were false alarms and 82 to 86 % of those of talk.* were found; with 500 other posts of comp.* as the reference, 6 and
5 %, and 94 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.stats import norm

from coview.exceptions import ViewsError
from coview.inspection.features import Features, is_measured
from coview.inspection.memberships import dense
from coview.utils.tables import ColumnTable
from coview.utils.warn import warn_user
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["OutlierTable", "find_outliers"]

SMOOTHING = 0.1  # share of the mean of all groups in what is expected of an object
AGAINST = 0.5  # how much the likelihood of the mean of all groups counts against that of an object
FLOOR = 1e-12
MADE, LONGEST, TAIL = 4000, 200, 0.02  # objects that the model makes, their most tokens, the share that is their tail
FARTHEST = 4.0  # times a normal tail: more is told only where most objects are alike, so that scores mean little
LEAST_OF_LENGTH = 50  # reference objects of like length
LEAST_APART = 0.2  # of log lengths, for a slope between them
QUARTILE = 0.6745  # standard deviations from the median of a normal distribution to its quartiles
FEWEST = 10  # objects that can say what is usual
MOST_VALUES = 1 << 22  # entries times groups at a time
SHOWN = 10


class OutlierTable(ColumnTable):
    """Objects that no group explains, the clearest first: one row per outlier, as a dict of lists.

    Parameters
    ----------
    columns : dict of lists
        "row", "id", "score", "p_value", "group", "name", and for each view "score: " and its name.
    scores : ndarray (n_objects,)
        Score of every object; low scores are outlying. NaN where too little is known.
    p_values : ndarray (n_objects,)
        Share of the reference with a score that is as low; without a reference, that of the normal distribution that
        the threshold comes from, so that it is below `false_alarm` where the score is below the threshold.
    threshold : float
        Objects with a lower score are outliers.
    false_alarm : float
        Share of the reference below the threshold.
    n_noise : int, default=0
        Objects of groups that were marked as noise, which have no score.

    Attributes
    ----------
    scores, p_values, threshold, false_alarm, n_noise
        The same.
    """

    def __init__(
        self,
        columns: dict[str, list[Any]],
        scores: np.ndarray,
        p_values: np.ndarray,
        threshold: float,
        false_alarm: float,
        n_noise: int = 0,
    ) -> None:
        super().__init__(columns)
        self.n_noise = n_noise
        self.scores, self.p_values, self.threshold, self.false_alarm = scores, p_values, threshold, false_alarm

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        head, rows = super()._shown()
        return head, rows[:SHOWN]

    def _title(self) -> str:
        judged = int(np.isfinite(self.scores).sum())
        count = len(self["row"])
        unknown = len(self.scores) - judged - self.n_noise
        rest = f"; of {unknown:,} more too little is known" if unknown else ""
        rest += f"; {self.n_noise:,} more are noise" if self.n_noise else ""
        return (
            f"{count:,} outlier{'' if count == 1 else 's'} among {judged:,} objects, with a score below "
            f"{self.threshold:.2f} (false alarms {self.false_alarm:.3g}){rest}"
        )


def find_outliers(
    inspection: Inspection, views: Views, reference: Views | None, false_alarm: float, seed: int
) -> OutlierTable:
    """Return the objects that no group of a model explains; see `Inspection.outliers`."""
    profiles = _profiles(inspection, views)
    before, sizes = _fits(inspection, views, profiles, seed)
    fits = _without_noise(inspection, views, before)
    if reference is None:
        others, lengths = fits, sizes
    else:
        others, lengths = _fits(inspection, reference, profiles, seed + 1)
        others = _without_noise(inspection, reference, others)
    tails = _tails(inspection, views, profiles, sizes, seed + 2)
    by_view = {
        view: tails[view](_standardized(fits[view], sizes[view], others[view], lengths[view]), sizes[view])
        for view in fits
    }
    known = {
        view: tails[view](_standardized(others[view], lengths[view], others[view], lengths[view]), lengths[view])
        for view in others
    }
    scores, usual = _mean(by_view), _mean(known)
    usual = np.sort(usual[np.isfinite(usual)])
    noise = int((np.isfinite(_mean(before)) & ~np.isfinite(scores)).sum())
    if reference is None and 0 < len(usual) < FEWEST:
        warn_user(
            f"{len(usual)} object{'' if len(usual) == 1 else 's'} cannot say what is usual, so that outliers among "
            "them are hardly found. Pass usual objects as reference.",
            UserWarning,
        )
    if not len(usual):
        raise ViewsError("No object has enough features to tell outliers: at least two tokens are needed in a view.")
    threshold = float(np.quantile(usual, false_alarm))
    if reference is None:  # some of these are outliers themselves: the bulk of them tells what is usual
        threshold = float(np.median(usual) + norm.ppf(false_alarm) * _spread(usual))
        p_values = norm.cdf(scores, np.median(usual), max(_spread(usual), FLOOR))
    else:
        shares = np.searchsorted(usual, scores, side="right") / len(usual)
        p_values = np.where(np.isfinite(scores), shares, np.nan)
    rows = np.flatnonzero(scores < threshold)
    rows = rows[np.argsort(scores[rows], kind="stable")]
    columns: dict[str, list[Any]] = {"row": rows.tolist()}
    if views.ids is not None:
        columns["id"] = views.ids[rows].tolist()
    columns |= {"score": scores[rows].tolist(), "p_value": p_values[rows].tolist()}
    codes = inspection.read(views[rows], prepared=True).codes if len(rows) else None
    codes = np.full(len(rows), -1) if codes is None else codes
    columns["group"] = [inspection.groups[code] if code >= 0 else None for code in codes]
    columns["name"] = [inspection.group_names[code] if code >= 0 else None for code in codes]
    if len(by_view) > 1:
        columns |= {f"score: {view}": part[rows].tolist() for view, part in by_view.items()}
    return OutlierTable(columns, scores, p_values, threshold, false_alarm, noise)


def _profiles(inspection: Inspection, views: Views) -> dict[str, Features]:
    """What groups expect in each view: distributions of counts, or mean vectors."""
    found = {}
    for view in views.names:
        features = inspection.described_features(view)
        if features is None:
            continue
        kept: Any = features.expected
        weights = np.asarray(kept.toarray() if sparse.issparse(kept) else kept)
        measured = is_measured(inspection, view, views)
        if not measured and (weights < 0).any():
            continue
        if not measured:
            weights = np.maximum(weights, 0.0) + FLOOR
            weights = weights / weights.sum(axis=1, keepdims=True)
        found[view] = Features(weights, not measured)
    if not found:
        raise ViewsError(
            f"{inspection.name} does not say what its groups expect of objects, so it cannot tell outliers. Use a "
            "model of the PLSA family."
        )
    return found


def _fits(
    inspection: Inspection, views: Views, profiles: dict[str, Features], seed: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Fit of each object in each view (NaN where there is none), and the number of tokens."""
    counted = [view for view, part in profiles.items() if part.probabilities and view in views]
    halves = _halves(views, counted, seed)
    shares = inspection.training.memberships
    sizes = np.ones(len(inspection.groups)) if shares is None else np.maximum(shares.sum(axis=0), FLOOR)
    fits: dict[str, list[np.ndarray]] = {view: [] for view in profiles if view in views}
    tokens = {view: np.zeros(len(views)) for view in fits}
    for given, held in (halves, halves[::-1]) if counted else ((views, views),):
        memberships = inspection.memberships(given, prepared=True)
        if memberships is None:
            raise ViewsError(f"{inspection.name} cannot tell which groups objects belong to: it has no predict.")
        total = memberships.sum(axis=1, keepdims=True)
        memberships = np.where(total > 0, memberships / np.where(total > 0, total, 1.0), 1.0 / memberships.shape[1])
        for view in fits:
            weights = profiles[view].weights
            if profiles[view].probabilities:
                mean = sizes / sizes.sum() @ weights
                counts = sparse.csr_array(held[view])
                mass = np.asarray(counts.sum(axis=1)).reshape(-1)
                fits[view].append(np.where(mass > 0, _fit_of(counts, memberships, weights, mean, mass), np.nan))
                tokens[view] += mass
            else:
                off = dense(views[view]) - memberships @ weights
                have = views.present[:, views.names.index(view)]
                fits[view].append(np.where(have, -(off**2).sum(axis=1), np.nan))
                tokens[view] += have
    return {view: _mean(dict(enumerate(parts))) for view, parts in fits.items()}, tokens


def _without_noise(inspection: Inspection, views: Views, fits: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fits without those of objects in groups that people have marked as noise: the other groups explain them not."""
    if all(record["edit"] != "noise" for record in inspection.edits):
        return fits
    codes = inspection.read(views, prepared=True).codes
    return fits if codes is None else {view: np.where(codes < 0, np.nan, part) for view, part in fits.items()}


def _fit_of(
    counts: sparse.csr_array, memberships: np.ndarray, weights: np.ndarray, mean: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """Fit of each row, entry by entry of the matrix."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    expected = np.empty(len(rows))
    step = max(1, MOST_VALUES // memberships.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        expected[part] = (memberships[rows[part]] * weights[:, counts.indices[part]].T).sum(axis=1)
    background = mean[counts.indices]
    expected = (1 - SMOOTHING) * expected + SMOOTHING * background
    logs = counts.data * (np.log(expected) - AGAINST * np.log(background))
    return np.bincount(rows, logs, minlength=counts.shape[0]) / np.maximum(mass, FLOOR)


def _halves(views: Views, counted: list[str], seed: int) -> tuple[Views, Views]:
    """Two halves of the counts of each object: single tokens where counts are whole numbers, else single features."""
    first, second = {}, {}
    for number, view in enumerate(counted):
        rng = np.random.default_rng([seed, number])
        counts = sparse.csr_array(views[view])
        whole = _is_whole(counts)
        thinned = rng.binomial(counts.data.astype(np.int64), 0.5) if whole else rng.integers(0, 2, counts.nnz)
        drawn = thinned if whole else counts.data * thinned
        first[view] = _with_data(counts, drawn.astype(np.float64))
        second[view] = _with_data(counts, counts.data - drawn)
    if not counted:
        return views, views
    present = {view: views.present[:, views.names.index(view)] for view in counted}
    names = {view: views.feature_names[view] for view in counted if view in views.feature_names}
    one, other = (Views(part, present=present, feature_names=names) for part in (first, second))
    return one, other


def _with_data(counts: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    part = sparse.csr_array((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
    part.eliminate_zeros()
    return part


def _standardized(fits: np.ndarray, sizes: np.ndarray, others: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many robust standard deviations fits lie above the median of reference objects of their length."""
    known = np.isfinite(others)
    if not known.any():
        return np.full(len(fits), np.nan)
    places = np.log(np.maximum(lengths[known], FLOOR))
    bins = _length_bins(lengths[known])
    used = np.unique(bins)
    slope, longest = _slope(places, others[known]), places.max()  # so that it goes on below the first bin
    rest = others[known] - slope * places
    parts = [rest[bins == b] for b in used]
    centers = np.array([places[bins == b].mean() for b in used])
    medians = np.array([np.median(part) for part in parts])
    spreads = np.array([_spread(part) for part in parts])
    spreads = np.maximum(spreads, max(1e-9, 1e-3 * float(np.std(rest))))
    here = np.log(np.maximum(sizes, FLOOR))
    shorter = np.minimum(here - centers[0], 0.0)  # below the first bin: the mean of n tokens varies by 1 / sqrt(n)
    location = np.interp(here, centers, medians) + slope * np.minimum(here, longest)
    return (fits - location) / (np.interp(here, centers, spreads) * np.exp(-shorter / 2))


# -- the tails of short objects


@dataclass(frozen=True)
class _Tail:
    """How many times as far beyond the lower quartile as a normal distribution scores reach, by log length."""

    places: np.ndarray
    factors: np.ndarray

    def __call__(self, scores: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        if not len(self.places):
            return scores
        factors = np.interp(np.log(np.maximum(sizes, FLOOR)), self.places, self.factors)
        beyond = scores + QUARTILE
        return np.where(beyond < 0, beyond / factors - QUARTILE, scores)


def _tails(
    inspection: Inspection, views: Views, profiles: dict[str, Features], sizes: dict[str, np.ndarray], seed: int
) -> dict[str, _Tail]:
    """Tails of the scores in each view, from objects that the model makes; none of views that are no whole counts."""
    none = _Tail(np.empty(0), np.empty(0))
    made = _made(inspection, views, profiles, sizes, seed)
    if made is None:
        return dict.fromkeys(sizes, none)
    fits, lengths = _fits(inspection, made, profiles, seed)
    found = {}
    for view in sizes:
        if view not in fits:
            found[view] = none
            continue
        scores = _standardized(fits[view], lengths[view], fits[view], lengths[view])
        there = np.isfinite(scores)
        if not there.any():  # nobody has this view
            found[view] = none
            continue
        bins = _length_bins(lengths[view][there])
        places = np.log(lengths[view][there])
        parts = [(places[bins == b].mean(), scores[there][bins == b]) for b in np.unique(bins)]
        reach = [float((np.quantile(part, TAIL) + QUARTILE) / (norm.ppf(TAIL) + QUARTILE)) for _, part in parts]
        found[view] = _Tail(np.array([place for place, _ in parts]), np.clip(reach, 1.0, FARTHEST))
    return found


def _made(
    inspection: Inspection, views: Views, profiles: dict[str, Features], sizes: dict[str, np.ndarray], seed: int
) -> Views | None:
    """Objects that the model makes, of the lengths of some objects and with the memberships of others."""
    whole = [view for view in sizes if profiles[view].probabilities and _is_whole(sparse.csr_array(views[view]))]
    total = np.sum([sizes[view] for view in whole], axis=0) if whole else np.zeros(0)
    usable = np.flatnonzero(total > 0)
    if not len(usable):
        return None
    rng = np.random.default_rng(seed)
    # as many of each class of lengths, so that the few short ones among long ones have enough of their kind
    kinds = _length_class(total[usable])
    classes, kinds = np.unique(kinds, return_inverse=True)
    odds = 1.0 / np.bincount(kinds)[kinds] / len(classes)
    like = usable[rng.choice(len(usable), MADE, p=odds / odds.sum())]
    long = usable[total[usable] >= np.median(total[usable])]
    others = np.unique(rng.choice(long, MADE))
    memberships = inspection.memberships(views[others], prepared=True)
    if memberships is None:
        return None
    ends = np.cumsum(memberships[rng.integers(len(others), size=MADE)], axis=1)
    made = {}
    for view in whole:
        lengths = np.minimum(sizes[view][like], LONGEST).astype(np.int64)
        rows = np.repeat(np.arange(MADE), lengths)
        at = rng.random(len(rows)) * ends[rows, -1]
        groups = np.empty(len(rows), dtype=np.int64)
        step = max(1, MOST_VALUES // ends.shape[1])
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            groups[part] = (at[part, None] > ends[rows[part]]).sum(axis=1)
        columns = np.empty(len(rows), dtype=np.int64)
        weights = np.asarray(profiles[view].weights)
        for k, chosen in enumerate(_by_code(groups.clip(max=len(weights) - 1), len(weights))):
            sums = np.cumsum(weights[k])
            columns[chosen] = np.searchsorted(sums, rng.random(len(chosen)) * sums[-1])
        columns = columns.clip(max=weights.shape[1] - 1)
        made[view] = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(MADE, weights.shape[1]))
    names = {view: views.feature_names[view] for view in made if view in views.feature_names}
    return Views(made, present={view: sizes[view][like] > 0 for view in made}, feature_names=names)


def _by_code(codes: np.ndarray, n_codes: int) -> list[np.ndarray]:
    """Positions of each code."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.searchsorted(codes[order], np.arange(1, n_codes)))


def _length_class(lengths: np.ndarray) -> np.ndarray:
    """Class of like lengths: each number of tokens up to four, then half an octave."""
    return np.round(2 * np.log2(np.maximum(lengths, 1.0)))


def _length_bins(lengths: np.ndarray) -> np.ndarray:
    """Bin of each length: classes of like lengths, joined with the next where they have too few objects.

    Examples
    --------
    >>> _length_bins(np.repeat([2, 3, 4, 100, 400], [60, 20, 70, 50, 9]))[[0, 60, 80, 150, 200]]
    array([0, 1, 1, 2, 2])
    """
    _, codes, counts = np.unique(_length_class(lengths), return_inverse=True, return_counts=True)
    bins, held = [0], int(counts[0])
    for count in counts[1:].tolist():
        full = held >= LEAST_OF_LENGTH
        bins.append(bins[-1] + int(full))
        held = count if full else held + count
    if held < LEAST_OF_LENGTH and bins[-1] > 0:
        bins = [min(number, bins[-1] - 1) for number in bins]
    return np.array(bins)[codes]


def _is_whole(counts: sparse.csr_array) -> bool:
    return bool((counts.data == np.round(counts.data)).all()) and counts.data.max(initial=0) < 2**31


def _slope(places: np.ndarray, fits: np.ndarray) -> float:
    """How much better longer objects fit, by log length: from the medians of the shorter and the longer half."""
    order = np.argsort(places, kind="stable")
    half = len(order) // 2
    if not half:
        return 0.0
    one, other = order[:half], order[len(order) - half :]
    apart = float(np.median(places[other]) - np.median(places[one]))
    better = float(np.median(fits[other]) - np.median(fits[one]))
    return max(0.0, better / apart) if apart > LEAST_APART else 0.0


def _spread(values: np.ndarray) -> float:
    """Standard deviation below the median, by the lower quartile: a few outliers do not move it."""
    low, middle = np.quantile(values, [0.25, 0.5])
    return float((middle - low) / QUARTILE)


def _mean(parts: dict[Any, np.ndarray]) -> np.ndarray:
    """Mean of several arrays, of each object over those that are not NaN."""
    stacked = np.stack(list(parts.values()))
    there = np.isfinite(stacked)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    return np.where(there.any(axis=0), total / np.maximum(there.sum(axis=0), 1), np.nan)
