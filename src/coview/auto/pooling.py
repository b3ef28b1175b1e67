"""One set of probabilities from those of several classifiers: each calibrated, then a convex combination of them.

Scores s of a classifier become p = softmax(s / T). The temperature T minimizes the log loss of held-out labels; with
few of them it stays near one at which the classifier is as sure as it is right. The weights w of the combination
sum_c w_c p_c maximize its likelihood under a Dirichlet prior, whose counts stand for labels: with three labels the
prior decides, with three hundred the labels do. Both problems have one dimension or are concave, and are solved by
bisection and by EM.

Averaged probabilities are under-confident, since their parts err on different objects. So the combination has a
temperature too: p to the power 1 / T, brought to sum one. Where no label can be held out, the combination is as sure as
its parts agree with it.

How good the whole is, held-out labels can say only if they have no part in it: temperatures and weights are settled
once more for each fold, by the labels of the others (`nested`). Nobody is fitted again for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

__all__ = [
    "STRENGTH",
    "TINY",
    "Pool",
    "fit_temperature",
    "log_loss",
    "matching_temperature",
    "pool",
    "sharpened",
]

ROUNDS = 200  # of EM
# labels that what is believed before any label counts for, of weights and of temperatures: whoever is right of a few by
# chance must not drown the others
STRENGTH = 10.0
KEPT = 0.03  # least weight of a classifier that is kept
# logarithm of the temperature at which the likeliest class is about twice as far ahead as in the scores themselves
LOG_T = -0.7
LOG_POOL_T = -0.4  # the same of a combination: it suited label samples of other data
SUREST = 0.95  # mean probability of the likeliest class, where no label says more
TINY = 1e-12  # of a probability, so that its logarithm is finite


@dataclass(frozen=True)
class Pool:
    """How scores of several classifiers become one set of probabilities: temperatures, weights, and a last temperature.

    A classifier that adds nothing to the others has the weight 0.
    """

    temperatures: np.ndarray
    weights: np.ndarray
    temperature: float

    @classmethod
    def fit(cls, scores: np.ndarray, codes: np.ndarray, prior: np.ndarray) -> Pool:
        """Settle a pool by scores of held-out objects (classifiers x objects x classes), their codes and a prior.

        The last objects may have no codes: then only the scale of their scores is looked at.
        """
        temperatures = np.array([fit_temperature(part, codes) for part in scores])
        probabilities = softmax(scores / temperatures[:, None, None], axis=2)
        weights = fit_weights(probabilities, codes, prior)
        mean = np.tensordot(weights, probabilities, axes=1)
        alone = np.count_nonzero(weights) == 1  # calibrated already
        return cls(temperatures, weights, 1.0 if alone else fit_pool_temperature(mean, codes))

    def combine(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (objects x classes) by scores of all classifiers (classifiers x objects x classes)."""
        kept = np.flatnonzero(self.weights)
        probabilities = softmax(scores[kept] / self.temperatures[kept, None, None], axis=2)
        return sharpened(np.tensordot(self.weights[kept], probabilities, axes=1), self.temperature)

    @classmethod
    def nested(cls, scores: np.ndarray, codes: np.ndarray, prior: np.ndarray, folds: np.ndarray) -> np.ndarray:
        """Probabilities of held-out objects by the pool as it is settled without the labels of their fold."""
        combined = np.empty(scores.shape[1:])
        for number in np.unique(folds):
            here = folds == number
            order = np.argsort(here, kind="stable")  # what the scores of the fold are worth at all needs no labels
            combined[here] = cls.fit(scores[:, order], codes[~here], prior).combine(scores[:, here])
        return combined


def fit_temperature(scores: np.ndarray, codes: np.ndarray) -> float:
    """Temperature of least log loss on held-out objects, some objects' worth near the scores' own.

    Without any codes it is their own: the likeliest class is then equally far ahead, whoever gives the scores.

    Examples
    --------
    >>> scores = np.log([[0.99, 0.01]] * 400)  # too sure: one of four is wrong
    >>> softmax(scores / fit_temperature(scores, np.repeat([0, 1], [300, 100])), axis=1)[0].round(1).tolist()
    [0.8, 0.2]
    """
    ahead = float(np.mean(scores.max(axis=1) - scores.mean(axis=1))) if len(scores) else 0.0
    scale = ahead if ahead > TINY else 1.0  # scores that are all alike say nothing
    return scale * _fit_slope(scores / scale, codes, LOG_T)


def fit_pool_temperature(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Temperature of a combination by the log loss of held-out objects, some objects' worth near the usual one.

    Examples
    --------
    >>> rough = np.array([[0.6, 0.4]] * 400)  # right nine times of ten, and not sure of it
    >>> sharpened(rough, fit_pool_temperature(rough, np.repeat([0, 1], [360, 40])))[0].round(1).tolist()
    [0.9, 0.1]
    """
    return _fit_slope(np.log(np.maximum(probabilities, TINY)), codes, LOG_POOL_T)


def matching_temperature(probabilities: np.ndarray, wanted: float) -> float:
    """Temperature at which the likeliest class is as probable as wanted, in the mean, but never nearly certain.

    Examples
    --------
    >>> rough = np.array([[0.4, 0.3, 0.3]] * 10)
    >>> sharpened(rough, matching_temperature(rough, 0.8)).max(axis=1)[0].round(2)
    np.float64(0.8)
    """
    wanted = min(wanted, SUREST)

    def miss(log_t: float) -> float:
        return (float(sharpened(probabilities, np.exp(log_t)).max(axis=1).mean()) - wanted) ** 2

    return float(np.exp(minimize_scalar(miss, bounds=(-6.0, 4.0), method="bounded").x))


def _fit_slope(scores: np.ndarray, codes: np.ndarray, usual: float) -> float:
    """Temperature T of least log loss of softmax(scores / T), whose logarithm is believed to be near a usual one."""
    scores = (scores - scores.max(axis=1, keepdims=True))[: len(codes)]  # the likeliest: exp cannot overflow
    own = float(scores[np.arange(len(codes)), codes].sum())

    def loss(log_t: float) -> float:
        slope = np.exp(-log_t)
        found = own * slope - np.log(np.exp(scores * slope).sum(axis=1)).sum()
        return float(-found + STRENGTH * (log_t - usual) ** 2 / 2)

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 4.0), method="bounded").x))


def fit_weights(probabilities: np.ndarray, codes: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Weights of classifiers (probabilities: classifiers x objects x classes) by held-out objects and a prior.

    Weights that would be tiny are 0.

    Examples
    --------
    >>> right, wrong = np.array([[0.9, 0.1]] * 15), np.array([[0.2, 0.8]] * 15)
    >>> fit_weights(np.array([right, wrong]), np.zeros(15, int), np.array([1, 1])).round(2)
    array([0.76, 0.24])
    """
    prior = prior / prior.sum()
    likelihoods = probabilities[:, np.arange(len(codes)), codes]
    weights = prior
    for _ in range(ROUNDS):
        shares = weights[:, None] * likelihoods
        shares = shares / np.maximum(shares.sum(axis=0), TINY)
        updated = (STRENGTH * prior + shares.sum(axis=1)) / (STRENGTH + len(codes))
        change, weights = np.abs(updated - weights).max(), updated
        if change < 1e-6:
            break
    kept = np.where(weights >= min(KEPT, weights.max()), weights, 0.0)
    return kept / kept.sum()


def log_loss(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Mean of minus the logarithm of the right class's probability."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(codes)), codes], TINY)).mean())


def sharpened(probabilities: np.ndarray, temperature: float | np.ndarray) -> np.ndarray:
    """Probabilities to the power 1 / temperature, brought to sum one.

    Examples
    --------
    >>> sharpened(np.array([[0.75, 0.25]]), 0.5).round(3).tolist()
    [[0.9, 0.1]]
    """
    return np.asarray(softmax(np.log(np.maximum(probabilities, TINY)) / temperature, axis=1))


def pool(
    answers: list[tuple[np.ndarray, np.ndarray]], prior: np.ndarray, n: int, temperature: float | np.ndarray
) -> np.ndarray:
    """Mean of probabilities (n objects x classes) by weights of the objects, sharpened; the prior without any weight.

    The temperature may be a column, one for each object.

    Examples
    --------
    >>> one, other = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> told = [(np.array([1.0, 0.0]), one), (np.array([1.0, 0.0]), other)]
    >>> pool(told, np.array([0.3, 0.7]), 2, 1.0).tolist()
    [[0.5, 0.5], [0.3, 0.7]]
    """
    total, share = np.zeros((n, len(prior))), np.zeros(n)
    for weights, probabilities in answers:
        total += weights[:, None] * probabilities
        share += weights
    known = sharpened(total / np.maximum(share, TINY)[:, None], temperature)
    return np.where(share[:, None] > 0, known, prior)
