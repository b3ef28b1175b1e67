"""One set of probabilities from those of several classifiers: each calibrated, then a convex combination of them.

Scores s of a classifier become p = softmax(s / T). The temperature T minimizes the log loss of objects whose labels
were held out; with few of them it stays near the one at which the classifier is as sure as it is right. The weights w
of the combination sum_c w_c p_c maximize its likelihood under a Dirichlet prior, whose counts stand for labels: with
three labels the prior decides, with three hundred the labels do. Both problems have one dimension or are concave, and
are solved by bisection and by EM.

A mean of probabilities is less sure than it is right, since its parts err on different objects. So the combination
has a temperature too: p to the power 1 / T, brought to sum one. It minimizes the log loss of held-out objects; with few
of them it stays near what suited other data, and without any the combination is as sure as its parts agree with it.
Of new objects, and from some of the views, it is as sure as it agrees with the fit (`subsets.py`).

Default candidates treat all classes alike, however many labels each has. Their mean is multiplied by a power of the
number of labels of each class, below one since labels may not have been drawn at random: an object of which candidates
hardly know anything goes to the frequent class. Where all classes have as many labels nothing changes.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

__all__ = [
    "agreeing_temperature",
    "class_factors",
    "combine",
    "fit_pool_temperature",
    "fit_temperature",
    "fit_weights",
    "log_loss",
    "log_losses",
    "matching_temperature",
    "own_temperature",
    "pool",
    "sharpened",
    "with_class_factors",
]

ROUNDS = 200  # of EM
FLAT = 1e-9  # scores that differ by less say nothing
LOG_T = -0.7  # at which the likeliest class is about twice as far ahead as it is by itself
T_STRENGTH = 5.0  # how firmly: whoever is right of a few by chance must not drown the others

LOG_POOL_T, POOL_STRENGTH = -0.4, 10.0  # of a combination before any label, and labels that this counts for
POOL_BOUNDS = (-5.0, 3.0)  # of its logarithm
SUREST = 0.95  # mean probability of the likeliest class, where no label says more
SUBSET_SPREAD = 2.0  # of the logarithm of a temperature about that of all views
SUBSET_BOUNDS = (-6.0, 6.0)  # of the same
PRIOR_POWER = 1 / 3  # of a class's number of labels
PSEUDO_LABELS = 5  # of each class beside those given, so that one more says little
TINY = 1e-12


def own_temperature(scores: np.ndarray) -> float:
    """Temperature of scores before any label: the likeliest class is then equally far ahead, whoever gives the scores.

    Examples
    --------
    >>> own_temperature(np.array([[4.0, 0.0]])) == 4 * own_temperature(np.array([[1.0, 0.0]]))
    True
    """
    return _scale(scores) * float(np.exp(LOG_T))


def fit_temperature(scores: np.ndarray, codes: np.ndarray, strength: float = T_STRENGTH) -> float:
    """Temperature of least log loss on held-out objects; `strength` objects' worth of belief that T is the scores' own.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> scores = np.log([[0.99, 0.01]] * 4)  # too sure: one of four is wrong
    >>> bool(softmax(scores / fit_temperature(scores, np.array([0, 0, 0, 1]), 0.0), axis=1)[0, 0].round(2) == 0.75)
    True
    """
    scale = _scale(scores)
    behind = (scores - scores.max(axis=1, keepdims=True)) / scale  # the likeliest class: exp cannot overflow
    own = float(behind[np.arange(len(codes)), codes].sum())

    def loss(log_t: float) -> float:
        slope = np.exp(-log_t)
        found = own * slope - np.log(np.exp(behind * slope).sum(axis=1)).sum()
        return float(-found + strength * (log_t - LOG_T) ** 2 / 2)

    return float(scale * np.exp(minimize_scalar(loss, bounds=(-7.0, 4.0), method="bounded").x))


def _scale(scores: np.ndarray) -> float:
    """How far the likeliest class is ahead of the mean class; 1 where all are alike."""
    ahead = float(np.mean(scores.max(axis=1) - scores.mean(axis=1)))
    return ahead if ahead > FLAT else 1.0


def log_loss(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Mean of minus the logarithm of the right class's probability."""
    return float(log_losses(probabilities, codes).mean())


def log_losses(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Minus the logarithm of the right class's probability, for each object."""
    return -np.log(np.maximum(probabilities[np.arange(len(codes)), codes], TINY))


def fit_weights(probabilities: np.ndarray, codes: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    """Weights of a combination of classifiers (classifiers x objects x classes) by held-out objects and a prior.

    Examples
    --------
    >>> right, wrong = np.array([[0.9, 0.1]] * 5), np.array([[0.2, 0.8]] * 5)
    >>> fit_weights(np.array([right, wrong]), np.zeros(5, int), np.array([0.5, 0.5]), 1.0).round(2)
    array([0.9, 0.1])
    """
    prior = prior / prior.sum()
    if not len(codes):
        return prior
    likelihoods = probabilities[:, np.arange(len(codes)), codes]
    weights = prior.copy()
    for _ in range(ROUNDS):
        shares = weights[:, None] * likelihoods
        shares /= np.maximum(shares.sum(axis=0), 1e-300)
        updated = (strength * prior + shares.sum(axis=1)) / (strength + len(codes))
        if np.abs(updated - weights).max() < 1e-6:
            return updated
        weights = updated
    return weights


def class_factors(counts: np.ndarray) -> np.ndarray:
    """What probabilities of classes with so many labels are multiplied by; 1 for the class that has most.

    Examples
    --------
    >>> class_factors(np.array([4, 4])).tolist(), class_factors(np.array([95, 20, 1])).round(2).tolist()
    ([1.0, 1.0], [1.0, 0.63, 0.39])
    """
    shares = (counts + PSEUDO_LABELS) / (counts.max() + PSEUDO_LABELS)
    return np.asarray(shares**PRIOR_POWER, dtype=np.float64)


def with_class_factors(probabilities: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Probabilities (objects x classes) times a factor of each class, brought to sum one.

    Examples
    --------
    >>> with_class_factors(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([1.0, 0.25])).tolist()
    [[0.8, 0.2], [0.0, 1.0]]
    """
    weighed = probabilities * factors
    return np.asarray(weighed / weighed.sum(axis=1, keepdims=True))


def sharpened(probabilities: np.ndarray, temperature: float | np.ndarray) -> np.ndarray:
    """Probabilities to the power 1 / temperature, brought to sum one.

    Examples
    --------
    >>> sharpened(np.array([[0.75, 0.25]]), 0.5).round(3).tolist()
    [[0.9, 0.1]]
    """
    return np.asarray(softmax(np.log(np.maximum(probabilities, TINY)) / temperature, axis=1))


def fit_pool_temperature(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Temperature of a combination by the log loss of held-out objects, some objects' worth near the usual one.

    Examples
    --------
    >>> rough = np.array([[0.6, 0.4]] * 400)  # right nine times of ten, and not sure of it
    >>> sharpened(rough, fit_pool_temperature(rough, np.repeat([0, 1], [360, 40])))[0].round(1).tolist()
    [0.9, 0.1]
    """
    logarithms = np.log(np.maximum(probabilities, TINY))

    def loss(log_t: float) -> float:
        found = log_softmax(logarithms / np.exp(log_t), axis=1)[np.arange(len(codes)), codes]
        return float(-found.sum() + POOL_STRENGTH * (log_t - LOG_POOL_T) ** 2 / 2)

    return float(np.exp(minimize_scalar(loss, bounds=POOL_BOUNDS, method="bounded").x))


def agreeing_temperature(probabilities: np.ndarray, opinions: list[np.ndarray]) -> float:
    """Temperature at which the likeliest class is as probable as classifiers agree with it, in the mean.

    `opinions` has the class of each object by each classifier, -1 where it does not know.

    Examples
    --------
    >>> rough = np.array([[0.4, 0.3, 0.3]] * 10)
    >>> one, other = np.zeros(10, int), np.repeat([0, 1], [6, 4])
    >>> sharpened(rough, agreeing_temperature(rough, [one, other])).max(axis=1)[0].round(2)
    np.float64(0.8)
    """
    top = probabilities.argmax(axis=1)
    shares = [np.mean(each[each >= 0] == top[each >= 0]) for each in opinions if (each >= 0).any()]
    if len(shares) < 2:
        return 1.0
    wanted = min(float(np.mean(shares)), SUREST)

    def miss(log_t: float) -> float:
        return (float(sharpened(probabilities, np.exp(log_t)).max(axis=1).mean()) - wanted) ** 2

    return float(np.exp(minimize_scalar(miss, bounds=POOL_BOUNDS, method="bounded").x))


def matching_temperature(probabilities: np.ndarray, wanted: np.ndarray, usual: float) -> float:
    """Temperature at which the likeliest class is as probable as wanted, in the mean; of few objects near the usual.

    Examples
    --------
    >>> rough = np.array([[0.98, 0.01, 0.01]] * 500)
    >>> sharpened(rough, matching_temperature(rough, np.full(500, 0.4), 1.0)).max(axis=1)[0].round(1)
    np.float64(0.4)
    """
    logarithms, mean = np.log(np.maximum(probabilities, TINY)), float(wanted.mean())

    def miss(shift: float) -> float:
        sure = float(softmax(logarithms / (usual * np.exp(shift)), axis=1).max(axis=1).mean())
        return 2 * len(wanted) * (sure - mean) ** 2 + (shift / SUBSET_SPREAD) ** 2 / 2  # 1/4: most that a share varies

    grid = np.linspace(*SUBSET_BOUNDS, 25)  # flat where probabilities are 0 and 1 to rounding
    near = grid[int(np.argmin([miss(shift) for shift in grid]))]
    step = grid[1] - grid[0]
    return float(
        usual
        * np.exp(minimize_scalar(miss, bounds=(near - step, near + step), method="bounded", options={"xatol": 1e-3}).x)
    )


def pool(
    answers: list[tuple[np.ndarray, np.ndarray]],
    prior: np.ndarray,
    n_objects: int,
    factors: np.ndarray,
    temperature: float | np.ndarray = 1.0,
) -> np.ndarray:
    """Mean of probabilities (objects x classes) by weights, times factors, sharpened; the prior without any weight.

    The temperature may be a column, one for each object.

    Examples
    --------
    >>> one, other = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> told = [(np.array([1.0, 0.0]), one), (np.array([1.0, 0.0]), other)]
    >>> pool(told, np.array([0.3, 0.7]), 2, np.ones(2)).tolist()
    [[0.5, 0.5], [0.3, 0.7]]
    """
    total, share = np.zeros((n_objects, len(prior))), np.zeros(n_objects)
    for weights, probabilities in answers:
        total += weights[:, None] * probabilities
        share += weights
    mean = np.where(share[:, None] > 0, total, 1.0)
    known = sharpened(with_class_factors(mean, factors), temperature)
    return np.where(share[:, None] > 0, known, prior)


def combine(probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean of probabilities (classifiers x objects x classes)."""
    return np.tensordot(weights / weights.sum(), probabilities, axes=1)
