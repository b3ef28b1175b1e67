"""
Classification with few labels
==============================

Labels are expensive, objects are cheap. `MultiViewPLSAClassifier` learns from labeled and unlabeled objects: labeled
objects keep their class, the classes of the others are inferred, and the topics of every view are learned from all of
them. Which subpackage does a Python function belong to, given its docstring, its code, and one label in a hundred?
"""

# %%
# The corpus is read from the packages installed alongside coview. Rows are tf-idf weights of unit length, so a long
# docstring does not outweigh a short body.
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.naive_bayes import MultinomialNB

from coview import (
    BestView,
    ConcatenatedViews,
    CoTrainingClassifier,
    MultiViewNaiveBayes,
    MultiViewPLSAClassifier,
    TfidfViews,
)
from coview.datasets import load_python_packages
from coview.metrics import view_agreement

warnings.simplefilter(
    "ignore", UserWarning
)  # scikit-learn wonders at one label per class
corpus = load_python_packages()
y, counts = corpus.target, corpus.views
tfidf = TfidfViews().fit_transform(counts)
print(counts)

# %%
# Functions in the same source file resemble each other. Labels therefore come from two thirds of the files, and
# accuracy is measured on the functions of the other files. All functions may be used without their label.
folds = (StratifiedGroupKFold(3, shuffle=True, random_state=seed) for seed in range(2))
splits = [next(fold.split(counts, y, corpus.groups)) for fold in folds]


def hide(rows, share, seed):
    """Labels of a share of the rows of each class, at least one; NaN for every other object."""
    rng, labels = np.random.default_rng(seed), np.full(len(y), np.nan)
    for k in np.unique(y):
        mine = rng.permutation(rows[y[rows] == k])
        labels[mine[: int(np.ceil(share * len(mine)))]] = k
    return labels


# %%
# Each method uses the weighting that works best for it on this corpus. The last three ignore unlabeled objects.
logistic = LogisticRegression(C=10)
methods = {
    "MultiViewPLSAClassifier": (
        tfidf,
        lambda seed: MultiViewPLSAClassifier(max_iter=100, n_jobs=1, random_state=seed),
    ),
    "CoTrainingClassifier (naive Bayes)": (
        counts,
        lambda seed: CoTrainingClassifier(
            n_per_class=2, pool_size=None, max_iter=20, random_state=seed
        ),
    ),
    "MultiViewNaiveBayes": (tfidf, lambda seed: MultiViewNaiveBayes(alpha=0.01)),
    "ConcatenatedViews (logistic regression)": (
        tfidf,
        lambda seed: ConcatenatedViews(logistic),
    ),
    "BestView (naive Bayes)": (tfidf, lambda seed: BestView(MultinomialNB(alpha=0.01))),
}
shares = [0.01, 0.03, 0.1, 0.3]
curves = {}
for name, (X, make) in methods.items():
    found = np.empty((len(shares), len(splits)))
    for s, (train, test) in enumerate(splits):
        for i, share in enumerate(shares):
            model = make(s).fit(X, hide(train, share, s))
            found[i, s] = np.mean(model.predict(X[test]) == y[test])
    curves[name] = found.mean(axis=1)
    print(f"{name:40s}", curves[name].round(2))

# %%
# The fewer labels, the more the unlabeled objects help: with 1 % of the labels the model is far ahead of naive Bayes,
# from which it starts. With many labels the methods converge.
import matplotlib.pyplot as plt

colors = dict(zip(curves, ("#3b6fb6", "#d9822b", "#3a8f5c", "#8e6bb0", "#9aa0a6")))
fig, axis = plt.subplots(figsize=(9, 4.4), layout="constrained")
for name, curve in curves.items():
    strong = name.startswith("MultiViewPLSA")
    axis.plot(
        shares,
        curve,
        "o-",
        color=colors[name],
        lw=3 if strong else 1.8,
        ms=7 if strong else 5,
        label=name,
    )
axis.set_xscale("log")
axis.set_xticks(shares, [f"{share:.0%}" for share in shares])
axis.minorticks_off()
axis.set(
    ylim=(0, 1),
    xlabel="share of the labeled files' objects that have a label",
    ylabel="accuracy, 22 classes",
)
axis.grid(axis="y", color="#e8eaed")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))

# %%
# Do the views agree? `predict` accepts any subset of the fitted views. Use *new* objects: on training objects both
# views reproduce the joint prediction. On new objects the views often differ, and both together are better than either.
train, test = splits[0]
model = MultiViewPLSAClassifier(max_iter=100, n_jobs=1, random_state=0).fit(
    tfidf[train], hide(train, 0.1, 0)[train]
)
new = tfidf[test]
said = {name: model.predict(new.select(name)) for name in new.names} | {
    "both": model.predict(new)
}
right = {name: labels == y[test] for name, labels in said.items()}
print(f"agreement of words and code: {view_agreement(said['words'], said['code']):.2f}")

words, code, both = right.values()
cases = {
    "both": words & code,
    "words only": words & ~code,
    "code only": code & ~words,
    "neither": ~words & ~code,
}
fig, (left, axis) = plt.subplots(
    1, 2, figsize=(10, 3.4), width_ratios=[1, 1.7], layout="constrained"
)
bars = left.bar(
    list(right),
    [r.mean() for r in right.values()],
    0.6,
    color=["#d9822b", "#3a8f5c", "#3b6fb6"],
)
left.bar_label(bars, fmt="%.2f", padding=2)
left.set(title="accuracy by the views given", ylim=(0, 1))
for place, rows in enumerate(cases.values()):
    axis.barh(place, rows.mean(), 0.6, color="#dfe3e8")
    axis.barh(place, (rows & both).mean(), 0.6, color="#3b6fb6")
    axis.text(
        rows.mean() + 0.01,
        place,
        f"{both[rows].mean():.0%} right together",
        va="center",
        fontsize=9,
    )
axis.set_yticks(range(len(cases)), cases)
axis.invert_yaxis()
axis.set(
    xlim=(0, 0.85),
    title="which view alone is right; blue: right with both",
    xlabel="share of the new objects",
)
for panel in (left, axis):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
