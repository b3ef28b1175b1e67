"""One set of probabilities from those of several classifiers: each calibrated, then their mean and their product.

Scores s of a classifier become p = softmax(s / T). The temperature T minimizes the log loss of held-out labels; with
few of them it stays near one at which the classifier is as sure as it is right. The weights w of the combination
sum_c w_c p_c maximize its likelihood under a Dirichlet prior, whose counts stand for labels: with three labels the
prior decides, with three hundred the labels do. Temperatures are found by a search in one dimension, weights by EM.

Averaged probabilities are under-confident, since their parts err on different objects. So the combination has a
temperature too: p to the power 1 / T, brought to sum one. Where no label can be held out, the combination is as sure as
its parts agree with it.

The mean forgives a classifier that is sure and wrong, the product prod_c p_c ^ e_c adds up what several half know. So
with few labels the mean is better, by far, and with many the product. The exponents have least log loss, near the
weights, and the answer is a mean of the two: with n labels the product of k classifiers counts
n / (n + STRENGTH k), since each of its exponents wants to be learned.

How good the whole is, held-out labels can say only if they have no part in it: temperatures and weights are settled
once more for each fold, by the labels of the others (`nested`). Nobody is fitted again for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from coview.utils.sampling import each_fold

__all__ = [
    "STRENGTH",
    "TINY",
    "Answer",
    "Pool",
    "fit_exponents",
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


# what a classifier says: weight and exponent of each object, and probabilities (objects x classes)
Answer = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Pool:
    """How scores of several classifiers become one set of probabilities.

    Each has a temperature, a weight in the mean, 0 if it adds nothing to the others, and an exponent in the product.
    The mean has a temperature, and the product a share of the answer.
    """

    temperatures: np.ndarray
    weights: np.ndarray
    exponents: np.ndarray
    temperature: float
    trust: float

    @classmethod
    def fit(cls, scores: np.ndarray, codes: np.ndarray, prior: np.ndarray) -> Pool:
        """Settle a pool by scores of held-out objects (classifiers x objects x classes), their codes and a prior.

        The last objects may have no codes: then only the scale of their scores is looked at.
        """
        temperatures = np.array([fit_temperature(part, codes) for part in scores])
        probabilities = softmax(scores / temperatures[:, None, None], axis=2)
        weights = fit_weights(probabilities, codes, prior)
        kept, exponents, n = np.flatnonzero(weights), weights.copy(), len(codes)
        if len(kept) == 1:  # calibrated already
            return cls(temperatures, weights, exponents, 1.0, 0.0)
        mean = np.tensordot(weights, probabilities, axes=1)
        logarithms = np.log(np.maximum(probabilities[kept, :n], TINY))
        exponents[kept] = fit_exponents(logarithms, codes, weights[kept])
        trust = n / (n + STRENGTH * len(kept))
        return cls(temperatures, weights, exponents, fit_pool_temperature(mean, codes), trust)

    def combine(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (objects x classes) by scores of all classifiers (classifiers x objects x classes)."""
        every, kept = np.ones(scores.shape[1]), np.flatnonzero(self.weights)
        told = (softmax(scores[i] / self.temperatures[i], axis=1) for i in kept)
        answers = [(every * self.weights[i], every * self.exponents[i], part) for i, part in zip(kept, told)]
        return pool(answers, np.zeros(scores.shape[2]), self.temperature, self.exponents.sum(), self.trust)

    @classmethod
    def nested(cls, scores: np.ndarray, codes: np.ndarray, prior: np.ndarray, folds: np.ndarray) -> np.ndarray:
        """Probabilities of held-out objects by the pool as it is settled without the labels of their fold, or fifth."""
        combined = np.empty(scores.shape[1:])
        for here in each_fold(folds):
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


def fit_exponents(logarithms: np.ndarray, codes: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Exponents of probabilities in their product (logarithms: classifiers x objects x classes), near a prior.

    Examples
    --------
    >>> sure, blind = np.log([[0.8, 0.2]] * 400), np.log([[0.5, 0.5]] * 400)
    >>> codes = np.repeat([0, 1], [320, 80])
    >>> fit_exponents(np.array([sure, blind]), codes, np.array([2.0, 0.5])).round(1)
    array([1.1, 0.5])
    """
    if not len(codes):
        return prior
    picked = logarithms[:, np.arange(len(codes)), codes].sum(axis=1)

    def loss(exponents: np.ndarray) -> tuple[float, np.ndarray]:
        total = log_softmax(np.tensordot(exponents, logarithms, axes=1), axis=1)
        expected = (np.exp(total) * logarithms).sum(axis=(1, 2))
        value = -total[np.arange(len(codes)), codes].sum() + STRENGTH * ((exponents - prior) ** 2).sum() / 2
        return float(value), expected - picked + STRENGTH * (exponents - prior)

    return np.asarray(minimize(loss, prior, jac=True, bounds=[(0.0, None)] * len(prior), method="L-BFGS-B").x)


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
    answers: list[Answer], prior: np.ndarray, temperature: float, power: float, trust: float, last: float = 1.0
) -> np.ndarray:
    """Mean of probabilities, sharpened, and as far as it is trusted their geometric mean to some power; sharpened too.

    An object of which nobody says anything has the prior.

    Examples
    --------
    >>> one, other = np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([[0.2, 0.8], [0.2, 0.8]])
    >>> had = np.array([1.0, 0.0])
    >>> pool([(had, had, one), (had, 0 * had, other)], np.array([0.3, 0.7]), 1.0, 1.0, 0.0).tolist()
    [[0.5, 0.5], [0.3, 0.7]]
    >>> pool([(had, had, one), (had, 0 * had, other)], np.array([0.3, 0.7]), 1.0, 1.0, 1.0).round(1).tolist()
    [[0.8, 0.2], [0.3, 0.7]]
    """
    weights, exponents = (np.sum([each[i] for each in answers], axis=0) for i in (0, 1))
    mean = sum(weight[:, None] * part for weight, _, part in answers) / np.maximum(weights, TINY)[:, None]
    logarithms = sum(exponent[:, None] * np.log(np.maximum(part, TINY)) for _, exponent, part in answers)
    product = softmax(power * logarithms / np.maximum(exponents, TINY)[:, None], axis=1)
    known = sharpened((1 - trust) * sharpened(mean, temperature) + trust * product, last)
    return np.where(weights[:, None] > 0, known, prior)
