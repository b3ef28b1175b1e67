"""One set of probabilities from those of several classifiers: each calibrated, then a convex combination of them.

Scores s of a classifier become p = softmax(s / T). The temperature T minimizes the log loss of objects whose labels
were held out; with few of them it stays near the one at which the classifier is as sure as it is right. The weights w
of the combination sum_c w_c p_c maximize its likelihood under a Dirichlet prior, whose counts stand for labels: with
three labels the prior decides, with three hundred the labels do. Both problems have one dimension or are concave, and
are solved by bisection and by EM.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

__all__ = ["combine", "fit_temperature", "fit_weights", "log_loss", "own_temperature", "pool"]

ROUNDS = 200  # of EM
FLAT = 1e-9  # scores that differ by less say nothing
LOG_T = -0.7  # at which the likeliest class is about twice as far ahead as it is by itself


def own_temperature(scores: np.ndarray) -> float:
    """Temperature of scores before any label: the likeliest class is then equally far ahead, whoever gives the scores.

    Examples
    --------
    >>> own_temperature(np.array([[4.0, 0.0]])) == 4 * own_temperature(np.array([[1.0, 0.0]]))
    True
    """
    return _scale(scores) * float(np.exp(LOG_T))


def fit_temperature(scores: np.ndarray, codes: np.ndarray, strength: float = 1.0) -> float:
    """Temperature of least log loss on held-out objects; `strength` objects' worth of belief that T is the scores' own.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> scores = np.log([[0.99, 0.01]] * 4)  # too sure: one of four is wrong
    >>> bool(softmax(scores / fit_temperature(scores, np.array([0, 0, 0, 1]), 0.0), axis=1)[0, 0].round(2) == 0.75)
    True
    """
    scale = _scale(scores)

    def loss(log_t: float) -> float:
        found = log_softmax(scores / (scale * np.exp(log_t)), axis=1)[np.arange(len(codes)), codes]
        return float(-found.sum() + strength * (log_t - LOG_T) ** 2 / 2)

    return float(scale * np.exp(minimize_scalar(loss, bounds=(-7.0, 4.0), method="bounded").x))


def _scale(scores: np.ndarray) -> float:
    """How far the likeliest class is ahead of the mean class; 1 where all are alike."""
    ahead = float(np.mean(scores.max(axis=1) - scores.mean(axis=1)))
    return ahead if ahead > FLAT else 1.0


def log_loss(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Mean of minus the logarithm of the right class's probability."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 1e-12)).mean())


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


def pool(answers: list[tuple[np.ndarray, np.ndarray]], prior: np.ndarray, n_objects: int) -> np.ndarray:
    """Mean of probabilities (objects x classes) by weights of each object; the prior where all of these are 0.

    Examples
    --------
    >>> one, other = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> pool([(np.array([1.0, 0.0]), one), (np.array([1.0, 0.0]), other)], np.array([0.3, 0.7]), 2).tolist()
    [[0.5, 0.5], [0.3, 0.7]]
    """
    total, share = np.zeros((n_objects, len(prior))), np.zeros(n_objects)
    for weights, probabilities in answers:
        total += weights[:, None] * probabilities
        share += weights
    return np.where(share[:, None] > 0, total / np.where(share > 0, share, 1.0)[:, None], prior)


def combine(probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean of probabilities (classifiers x objects x classes)."""
    return np.tensordot(weights / weights.sum(), probabilities, axes=1)
