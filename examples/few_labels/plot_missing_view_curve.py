"""
The cost of missing views
=========================

In real collections some objects lack a view: a page without links, a photo without a caption, a function without a
docstring. This example removes views from more and more objects, in training and in testing, and measures the accuracy
of several classifiers.
"""

# %%
# Functions of installed packages, by the words of the docstring and by the names in the code. One function in ten of
# two thirds of the source files has a label; accuracy is measured on the other files.
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from coview import (
    ConcatenatedViews,
    CoTrainingClassifier,
    MultiViewNaiveBayes,
    MultiViewPLSAClassifier,
    TfidfViews,
    Views,
)
from coview.datasets import load_python_packages

corpus = load_python_packages()
X, y = corpus.views, corpus.target
train, test = next(
    StratifiedGroupKFold(3, shuffle=True, random_state=0).split(X, y, corpus.groups)
)
rng = np.random.default_rng(0)
labels = np.full(len(y), np.nan)
for k in np.unique(y):
    mine = rng.permutation(train[y[train] == k])
    labels[mine[: int(np.ceil(0.1 * len(mine)))]] = k

# %%
# Remove one view at random, words or code, from a share of the objects. ``present`` distinguishes an object that
# *lacks* a view from one whose view is empty. The same objects stay incomplete as the share grows.
turn, which = rng.random(len(y)), rng.integers(0, 2, len(y))


def without(share):
    """The views, one of the two gone from a share of the objects."""
    present = np.ones((len(y), 2), dtype=bool)
    present[np.arange(len(y)), which] = turn >= share
    kept = {
        name: sparse.diags_array(present[:, v].astype(np.float32)) @ X[name]
        for v, name in enumerate(X.names)
    }
    return Views(kept, present=present, feature_names=X.feature_names)


print(without(0.5).present.mean(axis=0).round(2))

# %%
# All methods accept such objects. The model, co-training and naive Bayes use the views that are present; concatenation
# sees zeros.
methods = {
    "MultiViewPLSAClassifier": MultiViewPLSAClassifier(n_jobs=1, random_state=0),
    "CoTrainingClassifier (naive Bayes)": CoTrainingClassifier(
        n_per_class=2, pool_size=None, max_iter=20, random_state=0
    ),
    "MultiViewNaiveBayes": MultiViewNaiveBayes(alpha=0.01),
    "ConcatenatedViews (logistic regression)": ConcatenatedViews(
        LogisticRegression(C=10)
    ),
}
on_counts = {"CoTrainingClassifier (naive Bayes)"}
shares = [0.0, 0.25, 0.5, 0.75, 1.0]
curves = {name: [] for name in methods}
by_kind = {}
for share in shares:
    counts = without(share)
    tfidf = TfidfViews().fit_transform(counts)
    for name, model in methods.items():
        given = counts if name in on_counts else tfidf
        right = model.fit(given, labels).predict(given[test]) == y[test]
        curves[name].append(right.mean())
        if share == 0.5:
            has = given[test].present
            kinds = {
                "both views": has.all(axis=1),
                "words only": ~has[:, 1],
                "code only": ~has[:, 0],
            }
            by_kind[name] = {kind: right[rows].mean() for kind, rows in kinds.items()}
for name, curve in curves.items():
    print(f"{name:40s}", np.round(curve, 2))

# %%
# Accuracy drops slowly as long as some objects have both views and connect them. If none has (100 %), only the labels
# connect the views. Co-training, which also learns from unlabeled objects, is about as good here.
import matplotlib.pyplot as plt

colors = dict(zip(curves, ("#3b6fb6", "#d9822b", "#3a8f5c", "#8e6bb0")))
fig, (left, axis) = plt.subplots(
    1, 2, figsize=(11, 4.4), width_ratios=[1.2, 1], layout="constrained"
)
for name, curve in curves.items():
    strong = name.startswith("MultiViewPLSA")
    left.plot(
        shares,
        curve,
        "o-",
        color=colors[name],
        lw=3 if strong else 1.8,
        ms=7 if strong else 5,
        label=name,
    )
left.set_xticks(shares, [f"{share:.0%}" for share in shares])
left.set_xlabel("objects that lack one of the two views")
left.set_ylabel("accuracy, 22 classes")
left.set_title("a missing view costs accuracy gracefully", fontsize=11)

places = np.arange(3)
for i, (name, found) in enumerate(by_kind.items()):
    axis.bar(places + 0.2 * (i - 1.5), list(found.values()), 0.18, color=colors[name])
axis.set_xticks(places, list(by_kind["MultiViewNaiveBayes"]))
axis.set_title(
    "half of the objects incomplete: accuracy by what they have", fontsize=11
)
for panel in (left, axis):
    panel.set_ylim(0, 1)
    panel.grid(axis="y", color="#e8eaed")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
fig.legend(
    *left.get_legend_handles_labels(),
    loc="outside lower center",
    ncols=2,
    frameon=False,
)
plt.show()
