"""Objects that no group explains: by how well one half of an object predicts the other half, against other objects.

The counts of an object are put into two halves at random, token by token. From one half the model finds the memberships
m of the object, and the other half is held out. By view, with the profiles p(f | k) of the groups and their mean q(f)
over all objects, the fit of an object is the held-out log-likelihood per token, half of it against that of the mean:

    fit = sum_f x_f (log((1 - s) sum_k m_k p(f | k) + s q(f)) - log(q(f)) / 2) / sum_f x_f,     s = 0.1

and the mean of both ways round is taken. Of a view of vectors or measurements the fit is minus the squared
distance from the mean vector that the memberships expect, where these come from the counts if there are any.

Short objects fit worse, and by more chance, than long ones. So a fit is compared with those of other objects of about
its own length: how many robust standard deviations it lies above their median. The score of an object is the mean of
these over its views, in robust standard deviations of the scores of the others. Without a reference the objects are
their own: outliers among them do not move the median and the lower quartile. Objects of a group that was marked as
noise have no score, and are no reference. The objects of the fit are no good reference for others: the model knows them
too well.

Fits of a few tokens are far from normal: of three, one rare token is a third. How far, is told by objects that the
model makes itself, of the same lengths and with the memberships of the fit: among these none is an outlier. Where the
lowest of their scores lie below those of a normal distribution, scores are brought closer to 0 by as much. So on data
that the model describes no more objects are called outliers than were asked for, of any length (of four tokens, 2 %
where 1 % were asked for); of real data, which no model describes well, the other objects decide. p-values are those of
a normal distribution. They do not hold for objects much unlike the others in length, nor for weights that are no
counts, of which the model can make none.

Posts of 20 newsgroups, header and body as views, LinkPLSA with 20 topics of the earlier posts of sci.*, and 10 % of
posts of rec.* among the later posts of sci.*: area under the curve 0.915, by the largest membership 0.717; on comp.*
with posts of talk.*, 0.978 and 0.750. With 5 and 10 topics it is 0.909 and 0.910, by the largest membership 0.665 and
0.667; on comp.* 0.981 and 0.980, and 0.761 and 0.739. At a rate of 1 %, 27 % of the posts of rec.* and 63 % of those of
talk.* are found, and 0.4 and 0.8 % of the others called outliers; at 5 %, 49 and 85 %, and 2.4 and 2.9 %. All are means
over three draws of the posts of rec.* and talk.*.
"""

from __future__ import annotations

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
QUARTILE = 0.6745  # standard deviations from the median of a normal distribution to its quartiles
TAIL = np.array([0.01, 0.02, 0.05, 0.1, 0.25])  # shares of the lowest scores, which are compared with a normal tail
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
    by_view = {view: _standardized(part, sizes[view], others[view], lengths[view]) for view, part in fits.items()}
    usual = by_view
    if reference is not None:
        usual = {view: _standardized(part, lengths[view], part, lengths[view]) for view, part in others.items()}
    scores = _robust_scores(_mean(by_view), _mean(usual))
    made = _make_objects(inspection, views, profiles, sizes, seed + 2)
    if made is not None:
        scores = _with_normal_tail(
            scores, _tokens(sizes, profiles), *_fits(inspection, made, profiles, seed + 2), profiles
        )
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
    places, bins = np.log(np.maximum(lengths[known], FLOOR)), _length_bins(lengths[known])
    parts = [others[known][bins == b] for b in np.unique(bins)]
    centers = [places[bins == b].mean() for b in np.unique(bins)]
    least = max(1e-9, 1e-3 * float(np.std(others[known])))
    here = np.log(np.maximum(sizes, FLOOR))
    shorter = np.minimum(here - centers[0], 0.0)  # below the first bin: the mean of n tokens varies by 1 / sqrt(n)
    spread = np.interp(here, centers, [max(_spread(part), least) for part in parts]) * np.exp(-shorter / 2)
    return (fits - np.interp(here, centers, [np.median(part) for part in parts])) / spread


def _robust_scores(scores: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Return scores in robust standard deviations from the median of usual ones."""
    usual = usual[np.isfinite(usual)]
    return (scores - np.median(usual)) / max(_spread(usual), 1e-9)


# -- objects that the model makes


def _with_normal_tail(
    scores: np.ndarray,
    tokens: np.ndarray,
    fits: dict[str, np.ndarray],
    sizes: dict[str, np.ndarray],
    profiles: dict[str, Features],
) -> np.ndarray:
    """Return scores brought closer to 0 by as much as those of made objects of like length go beyond normal ones."""
    made = _mean({view: _standardized(part, sizes[view], part, sizes[view]) for view, part in fits.items()})
    known = np.isfinite(made)
    made, lengths = _robust_scores(made[known], made[known]), _tokens(sizes, profiles)[known]
    bins, places = _length_bins(lengths), np.log(np.maximum(lengths, FLOOR))
    centers = np.array([places[bins == b].mean() for b in np.unique(bins)])
    nearest = np.abs(np.log(np.maximum(tokens, FLOOR))[:, None] - centers).argmin(axis=1)
    normal, found = norm.ppf(TAIL), scores.copy()
    for b in np.unique(bins):
        # by the rank a (n + 1): a new object lies below it in a share a of all cases
        low = np.minimum(np.quantile(made[bins == b], TAIL, method="weibull"), normal)
        here = (nearest == b) & (scores < normal[-1])
        found[here] = np.interp(scores[here], low, normal) + np.minimum(scores[here] - low[0], 0.0)
    return found


def _make_objects(
    inspection: Inspection, views: Views, profiles: dict[str, Features], sizes: dict[str, np.ndarray], seed: int
) -> Views | None:
    """Objects that the model makes, of the lengths of some objects and with the memberships of others."""
    tokens, memberships = _tokens(sizes, profiles), inspection.training.memberships
    usable = np.flatnonzero(tokens > 0)
    counted = [view for view in sizes if profiles[view].probabilities]
    if not counted or not len(usable) or not all(holds_tokens(sparse.csr_array(views[view])) for view in counted):
        return None
    rng = np.random.default_rng(seed)
    # as many of each class of lengths, so that the few short ones among long ones have enough of their kind
    kinds = np.unique(_length_class(tokens[usable]), return_inverse=True)[1]
    odds = 1.0 / np.bincount(kinds)[kinds]
    like = usable[rng.choice(len(usable), MADE, p=odds / odds.sum())]
    own = inspection.memberships(views, prepared=True)
    if own is None:
        return None
    shares = own if memberships is None else memberships
    shares = np.maximum(shares[rng.integers(len(shares), size=MADE)], FLOOR).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    made: dict[str, Any] = {}
    for view, size in sizes.items():
        weights, lengths = np.asarray(profiles[view].weights), np.minimum(size[like], LONGEST).astype(np.int64)
        if profiles[view].probabilities:
            rows = [np.repeat(np.arange(MADE), part) for part in rng.multinomial(lengths, shares).T]
            columns = [rng.choice(len(p), len(part), p=p / p.sum()) for p, part in zip(weights, rows)]
            places = (np.concatenate(rows), np.concatenate(columns))
            made[view] = sparse.csr_array((np.ones(len(places[0])), places), shape=(MADE, weights.shape[1]))
        else:  # normal noise with the deviation of most objects, column by column
            off = (dense(views[view]) - own @ weights)[size > 0]
            low, high = np.quantile(off, [0.25, 0.75], axis=0) if len(off) else np.zeros(2)
            noise = rng.normal(size=(MADE, weights.shape[1])) * (high - low) / (2 * QUARTILE)
            made[view] = (shares @ weights + noise) * (lengths > 0)[:, None]
    names = {view: views.feature_names[view] for view in made if view in views.feature_names}
    return Views(made, present={view: sizes[view][like] > 0 for view in made}, feature_names=names)


def _tokens(sizes: dict[str, np.ndarray], profiles: dict[str, Features]) -> np.ndarray:
    """Number of tokens of each object in all views of counts; of vectors alone, the number of views."""
    counted = [part for view, part in sizes.items() if profiles[view].probabilities]
    return np.sum(counted or list(sizes.values()), axis=0)


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
