"""
Views through scikit-learn
==========================

`Views` are row-indexable, so scikit-learn's own splitters, pipelines and searches accept them directly. Here a
pipeline of `PLSA` and a linear classifier predicts the subpackage of a function. Are two views better than one?
"""

# %%
# ``groups`` is the source file of each object: folds keep files apart, because functions in the same file are similar
# and would flatter every method.
import numpy as np

from coview import PLSA
from coview.datasets import load_python_packages

corpus = load_python_packages()
X, y, groups = corpus.views, corpus.target, corpus.groups
print(X)

# %%
# ``cross_validate`` on each view alone and on both. ``X.select`` keeps some of the views.
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, cross_validate
from sklearn.pipeline import make_pipeline

folds = StratifiedGroupKFold(3, shuffle=True, random_state=0)
pipeline = make_pipeline(
    PLSA(n_components=40, max_iter=30, random_state=0),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
)
scores = {
    " + ".join(names): cross_validate(
        pipeline, X.select(*names), y, groups=groups, cv=folds
    )["test_score"]
    for names in (("words",), ("code",), ("words", "code"))
}
for name, found in scores.items():
    print(f"{name:14s} {found.mean():.3f}")

# %%
# ``GridSearchCV`` over the number of topics. ``n_jobs`` works too, and pays off on larger data.
search = GridSearchCV(pipeline, {"plsa__n_components": [5, 10, 20, 40]}, cv=folds)
search.fit(X, y, groups=groups)
print(search.best_params_, round(search.best_score_, 3))

# %%
# Left: each line is a fold, the bar is the mean. Right: accuracy by the number of topics, with a band of one standard
# deviation over the folds.
import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.8), sharey=True, layout="constrained"
)
left.plot(
    range(len(scores)),
    np.array(list(scores.values())),
    "o-",
    color="#c3c7cc",
    ms=4,
    lw=1,
)
for place, (found, color) in enumerate(
    zip(scores.values(), ("#3b6fb6", "#d9822b", "#3a8f5c"))
):
    left.hlines(found.mean(), place - 0.25, place + 0.25, color=color, lw=4, zorder=3)
    left.annotate(
        f"{found.mean():.2f}", (place + 0.28, found.mean()), va="center", color=color
    )
left.set_xticks(range(len(scores)), scores)
left.set_xlim(-0.5, len(scores) - 0.4)
left.set_ylabel("accuracy (22 classes)")
left.set_title("views, 40 topics", fontsize=11)

topics = [setting["plsa__n_components"] for setting in search.cv_results_["params"]]
mean, spread = (search.cv_results_[f"{part}_test_score"] for part in ("mean", "std"))
right.plot(topics, mean, "o-", color="#3a8f5c", lw=2)
right.fill_between(
    topics, mean - spread, mean + spread, color="#3a8f5c", alpha=0.15, lw=0
)
right.set_xscale("log", base=2)
right.set_xticks(topics, topics)
right.set_xlabel("topics")
right.set_title("number of topics, both views", fontsize=11)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
plt.show()
