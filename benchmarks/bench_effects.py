"""Coverage of the intervals of effects, by simulation: shares that depend on a number and a category.

    python benchmarks/bench_effects.py [number of simulations]

The topics are known, the words of each object are drawn; clusters are ten objects whose mean shares are drawn, with
covariates of the cluster. "draws" is what the guide compares with: least squares on draws from a Dirichlet around the
fold-in, composed. "noise" is how often a curve is found at .05 where there is none.
"""

from __future__ import annotations

import sys

import numpy as np

from coview import PLSA, inspect
from coview.inspection.effects import LeastSquares, estimate_effects

K, WIDTH, SIZE = 6, 300, 10
SETTINGS = [  # objects, words of each, concentration of the shares, clusters, concentration of the topics
    (300, 30, 2, False, 0.2),
    (1000, 15, 2, False, 0.2),
    (2000, 30, 2, False, 0.5),
    (600, 60, 1, False, 0.2),
    (600, 30, 4, True, 0.2),
    (300, 30, 4, True, 0.2),
]
TRUTH = np.zeros((4, K))
TRUTH[0] = 1 / K
TRUTH[1, :2], TRUTH[2, 1:3], TRUTH[3, 2:4] = (0.08, -0.08), (-0.06, 0.06), (0.05, -0.05)


def simulate(rng, n, length, concentration, clustered, overlap):
    """Return counts, covariates, topics and clusters."""
    each = SIZE if clustered else 1
    side, x = rng.choice(["a", "b", "c"], n // each), rng.uniform(-1, 1, n // each)
    mean = np.column_stack([np.ones(len(x)), side == "b", side == "c", x]) @ TRUTH
    if clustered:
        mean = np.array([rng.dirichlet(6 * row) for row in mean])
    mean, side, x = (part.repeat(each, axis=0) for part in (mean, side, x))
    theta = np.array([rng.dirichlet(concentration * row + 1e-4) for row in mean])
    topics = rng.dirichlet(np.full(WIDTH, overlap), K)
    lengths = 1 + rng.poisson(length, n)
    counts = np.array([rng.multinomial(m, row) for m, row in zip(lengths, theta @ topics)])
    return counts, {"side": side, "x": x}, topics, np.arange(n) // each


def compose(rng, model, X, known, codes, n_draws=20):
    """Return intervals from draws of the shares around the fold-in."""
    theta = model.transform(X)
    design = np.column_stack([np.ones(len(X)), known["side"] == "b", known["side"] == "c", known["x"]])
    parts = []
    for _ in range(n_draws):
        drawn = rng.standard_gamma(theta * X.sum(axis=1, keepdims=True) + 1 / K)
        parts.append(LeastSquares(design, drawn / drawn.sum(axis=1, keepdims=True), codes))
    means = np.array([part.coefficients for part in parts])
    within = np.mean([np.einsum("gpp->pg", part.covariances) for part in parts], axis=0)
    wide = 1.96 * np.sqrt(within + (1 + 1 / n_draws) * means.var(axis=0, ddof=1))
    return means.mean(axis=0)[1:] - wide[1:], means.mean(axis=0)[1:] + wide[1:]


def find_noise(n_simulations, n_clusters, within):
    """Return how often `spline(x)` is found in noise, and has no p-value: 200 normal x, within clusters or not."""
    rng, found = np.random.default_rng(0), []
    for _ in range(n_simulations):
        x, y, codes = rng.normal(size=200), rng.normal(size=(200, 2)), None
        if n_clusters:
            codes = np.arange(200) % n_clusters
            x, y = rng.normal(size=n_clusters)[codes] + within * x, y + rng.normal(size=(n_clusters, 2))[codes]
        found += estimate_effects(["0", "1"], ["a", "b"], y, "~ spline(x)", {"x": x}, codes)["p_value"]
    return np.mean(np.array(found) < 0.05), np.isnan(found).mean()


if __name__ == "__main__":
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for setting in SETTINGS:
        hits, errors, composed = [], [], []
        for seed in range(n_simulations):
            rng = np.random.default_rng(seed)
            X, known, topics, codes = simulate(rng, *setting)
            model = PLSA(K, max_iter=1, random_state=0).fit(X[:20])
            model.topic_feature_ = {"x": topics}
            found = inspect(model).effects(X, "~ side + x", known, clusters=codes if setting[3] else None)
            low, high = (np.array(found[name]).reshape(3, K) for name in ("low", "high"))
            hits.append((low <= TRUTH[1:]) & (TRUTH[1:] <= high))
            errors.append(((found.coefficients - TRUTH)[1:] * np.sign(TRUTH[1:]))[TRUTH[1:] != 0])
            if seed < 30:
                low, high = compose(rng, model, X, known, codes)
                composed.append((low <= TRUTH[1:]) & (TRUTH[1:] <= high))
        print(
            f"{setting}: coverage {np.mean(hits):.3f}, bias {np.mean(errors):+.4f}, draws {np.mean(composed):.3f}",
            flush=True,
        )
    for n_clusters, within in [(0, 1), (10, 1), (20, 1), (40, 1), (20, 0), (40, 0)]:
        share, without = find_noise(10 * n_simulations, n_clusters, within)
        print(f"noise, {n_clusters} clusters, within {within}: {share:.4f} found, {without:.3f} without", flush=True)
