"""
Which objects to label next
===========================

Labels are expensive, so label what helps most. ``suggest_labels`` looks at what a fitted classifier is uncertain of,
where its views disagree, and which of these objects stand for many others. Here it is compared with random choice and
with the most uncertain objects.
"""

# %%
# Texts of eight subjects in two views. Half of them can be labeled, one of each subject is; the other half is for
# testing.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from coview import ConcatenatedViews, TfidfViews, suggest_labels
from coview.datasets import make_topic_views

data = make_topic_views(n_objects=600, n_clusters=8, quality=0.35, random_state=0)
X, y = data.views, data.target
pool, test = np.arange(300), np.arange(300, 600)
classifier = ConcatenatedViews(LogisticRegression(C=10), unlabeled="drop")
model = make_pipeline(TfidfViews(), classifier)

# %%
# Three ways to choose eight objects. Unlabeled objects are NaN.


def at_random(model, few, rng):
    return rng.permutation(np.flatnonzero(np.isnan(few)))[:8]


def by_margin(model, few, rng):
    free = np.flatnonzero(np.isnan(few))
    best = np.sort(model.predict_proba(X[free]), axis=1)
    return free[np.argsort(best[:, -1] - best[:, -2])[:8]]


def by_suggestion(model, few, rng):
    return suggest_labels(model, X[pool], 8, y=few).indices


# %%
# Five rounds: choose, label, fit again. The figure shows means of three draws of the first labels.
curves = {}
for name, choose in {
    "random": at_random,
    "most uncertain": by_margin,
    "suggest_labels": by_suggestion,
}.items():
    for draw in range(3):
        rng = np.random.default_rng(draw)
        few = np.full(len(pool), np.nan)
        for k in np.unique(y):
            few[rng.choice(np.flatnonzero(y[pool] == k))] = k
        scores = []
        for _ in range(6):
            model.fit(X[pool], few)
            scores.append(np.mean(model.predict(X[test]) == y[test]))
            rows = choose(model, few, rng)
            few[rows] = y[rows]
        curves.setdefault(name, []).append(scores)

fig, axis = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for name, scores in curves.items():
    axis.plot(8 * np.arange(1, 7), np.mean(scores, axis=0), marker="o", label=name)
axis.set(xlabel="labels", ylabel="accuracy on other objects")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)

# %%
# The answer is a table that says why: each figure is from 0 to 1.
few = np.full(len(pool), np.nan)
few[[np.flatnonzero(y[pool] == k)[0] for k in np.unique(y)]] = np.unique(y)
print(suggest_labels(model.fit(X[pool], few), X[pool], 5, y=few))
