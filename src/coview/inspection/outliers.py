"""Objects that no group explains: by how well one half of an object predicts the other half, against other objects.

The counts of an object are put into two halves at random, token by token. From one half the model finds the memberships
m of the object, and the other half is held out. By view, with the profiles p(f | k) of the groups and their mean q(f)
over all objects, the fit of an object is the held-out log-likelihood per token, half of it against that of the mean:

    fit = sum_f x_f (log((1 - s) sum_k m_k p(f | k) + s q(f)) - log(q(f)) / 2) / sum_f x_f,     s = 0.1

and the mean of both ways round is taken. Of a view of vectors or measurements the fit is minus the squared distance
from the mean vector that the memberships expect, where these come from the counts if there are any.

Short objects fit worse, and by more chance, than long ones. So a fit is compared with those of other objects of about
its own length: how many robust standard deviations it lies above their median. Where all of these are longer, the
median is lower along a line and the deviation larger by the square root of the ratio of lengths. The score of an object
is the mean of these over its views. Objects of a group that was marked as noise have no score, and are no reference.

Fits of a few tokens are far from normal: of three, one rare token is a third. What is usual for them is told by objects
that the model makes itself, of the same lengths and with the memberships of the fit: among these none is an outlier.
In each view, a fit that is no farther off than theirs, by their own median and deviation, gets the higher score of the
two, and scores are shortened below the lower quartile so that those of such objects reach as far as a normal
distribution; so is their mean over the views, as objects may be far off in several views at once. So on data that the
model describes no more objects are called outliers than were asked for, of any length; of real data, which no model
describes well, the other objects decide.

Without a reference the objects are their own: what is usual is told by the median and the lower quartile of their
scores, as of a normal distribution, so that outliers among them do not hide each other. The objects of the fit are no
good reference for others: the model knows them too well. p-values are those of a normal distribution. They do not hold
for objects much unlike the others in length, nor for weights that are no counts, of which the model can make none.

Posts of 20 newsgroups, header and body as views, LinkPLSA with 20 topics of the earlier posts of sci.*, and 10 % of
posts of rec.* among the later posts of sci.*: area under the curve 0.915, by the largest membership 0.717; on comp.*
with posts of talk.*, 0.978 and 0.750. With 5 and 10 topics it is 0.909 and 0.910, by the largest membership 0.665 and
0.667; on comp.* 0.981 and 0.980, and 0.761 and 0.739. At a rate of 1 %, 27 % of the posts of rec.* and 63 % of those of
talk.* are found, and 0.4 and 0.8 % of the others called outliers; at 5 %, 49 and 85 %, and 2.4 and 2.9 %. All are means
over three draws of the posts of rec.* and talk.*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.stats import binom, norm

from coview.exceptions import ViewsError
from coview.inspection.features import Features, described_features, is_measured
from coview.inspection.memberships import dense
from coview.inspection.reading import read_groups
from coview.utils.messages import quantity
from coview.utils.tables import ResultTable
from coview.utils.warn import warn_user
from coview.views.arrays import holds_tokens, split_counts
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["find_outliers"]

SMOOTHING = 0.1  # share of the mean of all groups in what is expected of an object
AGAINST = 0.5  # how much the likelihood of the mean of all groups counts against that of an object
FLOOR = 1e-12
MADE, LONGEST = 4000, 200  # objects that the model makes, and their most tokens
LEAST_OF_LENGTH = 50  # reference objects of like length
LEAST_APART = 0.2  # of log lengths, for a slope between them
QUARTILE = 0.6745  # standard deviations from the median of a normal distribution to its quartiles
TAIL = np.array([0.1, 0.05, 0.02, 0.01])  # shares of the lowest scores, whose reach is compared with a normal tail
NORMAL_STEPS = np.diff(-QUARTILE - norm.ppf(TAIL), prepend=0.0)
FEWEST = 10  # objects that can say what is usual
MOST_VALUES = 1 << 22  # entries times groups at a time
SHOWN = 10
CHANCE = 0.005  # that usual objects look like more outliers than by chance, at each of two levels


def find_outliers(
    inspection: Inspection, views: Views, reference: Views | None, false_alarm: float, seed: int
) -> ResultTable:
    """Return the objects that no group of a model explains; see `Inspection.outliers`."""
    profiles = _profiles(inspection, views)
    before, sizes = _fits(inspection, views, profiles, seed)
    fits = _without_noise(inspection, views, before)
    others, lengths = fits, sizes
    if reference is not None:
        others, lengths = _fits(inspection, reference, profiles, seed + 1)
        others = _without_noise(inspection, reference, others)
    n_known = int(np.isfinite(_mean(others)).sum())
    if not n_known:
        raise ViewsError("No object has enough features to tell outliers: at least two tokens are needed in a view.")
    if n_known < FEWEST:
        warn_user(
            f"{quantity(n_known, 'object')} cannot say what is usual, so that outliers are hardly found. Pass more "
            "usual objects as reference.",
            UserWarning,
        )
    made = _make_objects(inspection, views, profiles, sizes, seed + 2)
    made_fits, made_sizes = ({}, {}) if made is None else _fits(inspection, made, profiles, seed + 2)
    score = partial(_scores, made={view: _describe_made(part, made_sizes[view]) for view, part in made_fits.items()})
    by_view = score(fits, sizes, others, lengths)
    usual = _mean(by_view if reference is None else score(others, lengths, others, lengths))
    same = np.ones(len(views))  # lengths are allowed for
    scores = _standardized(_mean(by_view), same, usual, np.ones(len(usual)))
    if made_fits.keys() == fits.keys():
        alike = _mean(score(made_fits, made_sizes, made_fits, made_sizes))
        scores = _describe_made(alike, np.ones(len(alike))).shorten_tail(scores, same)
    threshold, p_values = float(norm.ppf(false_alarm)), norm.cdf(scores)
    rows = np.flatnonzero(scores < threshold)
    rows = rows[np.argsort(scores[rows], kind="stable")]
    ids = {} if views.ids is None else {"id": views.ids[rows].tolist()}
    codes = read_groups(inspection, views[rows], prepared=True).codes if len(rows) else None
    codes = np.full(len(rows), -1) if codes is None else codes
    columns: dict[str, list[Any]] = {
        "row": rows.tolist(),
        **ids,
        "score": scores[rows].tolist(),
        "p_value": p_values[rows].tolist(),
        **{
            name: [known[code] if code >= 0 else None for code in codes]
            for name, known in (("group", inspection.groups), ("name", inspection.group_names))
        },
        **({f"score: {view}": part[rows].tolist() for view, part in by_view.items()} if len(by_view) > 1 else {}),
    }
    exceeds, about = _judge(p_values, false_alarm)
    judged = np.isfinite(scores)
    n_noise = int((np.isfinite(_mean(before)) & ~judged).sum())
    unknown = int((~judged).sum()) - n_noise
    title = f"{about} (score below {threshold:.2f})"
    title += f"; of {unknown:,} more too little is known" if unknown else ""
    title += f"; {n_noise:,} more are noise" if n_noise else ""
    table = ResultTable({name: column[:SHOWN] for name, column in columns.items()}, title)
    facts = {"scores": scores, "p_values": p_values, "threshold": threshold, "n_noise": n_noise}
    return ResultTable(columns, title, table._shown(), exceeds_chance=exceeds, about=about, **facts)


def _judge(p_values: np.ndarray, false_alarm: float) -> tuple[bool, str]:
    """Whether there are more outliers, or clearer ones, than among as many usual objects by chance; and a sentence.

    Usual objects have a p-value of at most a in at most a share a of all cases: of n of them, a binomial number.
    """
    known = p_values[np.isfinite(p_values)]
    n, count = len(known), int((known < false_alarm).sum())
    levels = (false_alarm, false_alarm / 10)
    exceeds = any(binom.sf(np.sum(known <= level) - 1, n, level) <= CHANCE for level in levels)
    usual = f"chance alone gives {100 * false_alarm:.3g} %, about {false_alarm * n:,.0f}"
    if exceeds:
        return exceeds, f"{quantity(count, 'outlier')} among {n:,} objects; {usual}"
    return exceeds, f"No more outliers than by chance: {count:,} of {n:,} objects are below the threshold; {usual}"


def _profiles(inspection: Inspection, views: Views) -> dict[str, Features]:
    """What groups expect in each view: distributions of counts, or mean vectors."""
    found = {}
    for view in views.names:
        features = described_features(inspection, view)
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
    if all(record["edit"] != "noise" for record in inspection.structure.edits):
        return fits
    codes = read_groups(inspection, views, prepared=True).codes
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
        first[view], second[view] = split_counts(views[view], np.random.default_rng([seed, number]))
    if not counted:
        return views, views
    present = {view: views.present[:, views.names.index(view)] for view in counted}
    names = {view: views.feature_names[view] for view in counted if view in views.feature_names}
    one, other = (Views(part, present=present, feature_names=names) for part in (first, second))
    return one, other


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


def _scores(
    fits: dict[str, np.ndarray],
    sizes: dict[str, np.ndarray],
    others: dict[str, np.ndarray],
    lengths: dict[str, np.ndarray],
    made: dict[str, _Made],
) -> dict[str, np.ndarray]:
    """Scores of objects in each view: against others or against objects that the model made, whichever is higher."""
    found = {}
    for view, part in fits.items():
        found[view] = _standardized(part, sizes[view], others[view], lengths[view])
        if view in made:
            like = made[view]
            higher = np.maximum(found[view], _standardized(part, sizes[view], like.fits, like.sizes))
            found[view] = like.shorten_tail(higher, sizes[view])
    return found


# -- the tails of short objects


@dataclass(frozen=True)
class _Made:
    """Fits of objects that the model made in a view, and how far their lowest scores reach, by log length."""

    fits: np.ndarray
    sizes: np.ndarray
    places: np.ndarray
    reach: np.ndarray  # below the lower quartile, at each share of `TAIL`

    def shorten_tail(self, scores: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return scores that reach as far as those of a normal distribution: linear between the shares, and beyond."""
        below, at = -QUARTILE - scores, np.log(np.maximum(sizes, FLOOR))
        steps = np.diff([np.interp(at, self.places, reach) for reach in self.reach.T], axis=0, prepend=0.0)
        inside = np.zeros(len(scores))
        for step, normal in zip(steps[:-1], NORMAL_STEPS):
            inside += np.clip(below, 0.0, step) * normal / step
            below = below - step
        inside += np.maximum(below, 0.0) * NORMAL_STEPS[-1] / steps[-1]
        return np.where(inside > 0, -QUARTILE - inside, scores)


def _describe_made(fits: np.ndarray, sizes: np.ndarray) -> _Made:
    scores = _standardized(fits, sizes, fits, sizes)
    there = np.isfinite(scores)
    if not there.any():  # nobody has this view
        return _Made(fits, sizes, np.zeros(1), np.cumsum(NORMAL_STEPS)[None])
    scores, places, bins = scores[there], np.log(sizes[there]), _length_bins(sizes[there])
    parts = [bins == b for b in np.unique(bins)]
    # by the rank a (n + 1): a new object lies below it in a share a of all cases
    reach = [-QUARTILE - np.quantile(scores[part], TAIL, method="weibull") for part in parts]
    steps = np.maximum(np.diff(reach, axis=1, prepend=0.0), NORMAL_STEPS)  # never shorter than a normal tail
    return _Made(fits, sizes, np.array([places[part].mean() for part in parts]), np.cumsum(steps, axis=1))


def _make_objects(
    inspection: Inspection, views: Views, profiles: dict[str, Features], sizes: dict[str, np.ndarray], seed: int
) -> Views | None:
    """Objects that the model makes, of the lengths of some objects and with the memberships of others."""
    can = [view for view in sizes if not profiles[view].probabilities or holds_tokens(sparse.csr_array(views[view]))]
    total = np.sum([np.zeros(len(views)), *(sizes[view] for view in can)], axis=0)
    usable = np.flatnonzero(total > 0)
    if not any(profiles[view].probabilities for view in can) or not len(usable):
        return None
    rng = np.random.default_rng(seed)
    # as many of each class of lengths, so that the few short ones among long ones have enough of their kind
    kinds = np.unique(_length_class(total[usable]), return_inverse=True)[1]
    odds = 1.0 / np.bincount(kinds)[kinds]
    like = usable[rng.choice(len(usable), MADE, p=odds / odds.sum())]
    memberships = inspection.training.memberships
    if memberships is None:  # longer objects tell better how groups mix
        long = usable[total[usable] >= np.median(total[usable])]
        memberships = inspection.memberships(views[np.unique(rng.choice(long, MADE))], prepared=True)
    if memberships is None:
        return None
    shares = np.asarray(memberships[rng.integers(len(memberships), size=MADE)], dtype=np.float64)
    shares = np.maximum(shares, FLOOR) / np.maximum(shares, FLOOR).sum(axis=1, keepdims=True)
    made: dict[str, Any] = {}
    for view in can:
        weights, lengths = np.asarray(profiles[view].weights), np.minimum(sizes[view][like], LONGEST).astype(np.int64)
        if profiles[view].probabilities:
            tokens = [np.repeat(np.arange(MADE), part) for part in rng.multinomial(lengths, shares).T]
            columns = [rng.choice(len(p), len(rows), p=p / p.sum()) for p, rows in zip(weights, tokens)]
            places = (np.concatenate(tokens), np.concatenate(columns))
            made[view] = sparse.csr_array((np.ones(len(places[0])), places), shape=(MADE, weights.shape[1]))
            continue
        # normal noise with the deviation of most objects from what all of their views expect, column by column
        some = views[like]
        off = dense(some[view]) - inspection.memberships(some, prepared=True) @ weights
        low, high = np.quantile(off[lengths > 0], [0.25, 0.75], axis=0) if lengths.any() else np.zeros(2)
        noise = rng.normal(size=off.shape) * (high - low) / (2 * QUARTILE)
        made[view] = (shares @ weights + noise) * (lengths > 0)[:, None]
    names = {view: views.feature_names[view] for view in made if view in views.feature_names}
    return Views(made, present={view: sizes[view][like] > 0 for view in made}, feature_names=names)


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
