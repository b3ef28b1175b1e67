"""
Choosing a method for your data
===============================

No method is best everywhere. `compare` runs every applicable method, and the baselines it must beat, on your own data:
the same folds for all, a time budget for each, and failures are listed rather than fatal. Here the objects are
functions of Python packages, with the words of their docstrings and the names in their code as views.
"""

# %%
# Functions in the same source file resemble each other, so a file is never in training and test at once (`groups`). To
# be quick, this uses 300 functions from six subpackages and some of the methods; leave out `methods` to try them all.
import numpy as np

from coview import compare, select_clusters
from coview.datasets import load_python_packages, make_topic_views

corpus = load_python_packages()
some = np.flatnonzero(corpus.target < 6)
some = np.sort(
    np.random.default_rng(0).choice(some, min(300, len(some)), replace=False)
)
X, y, files = corpus.views[some], corpus.target[some], np.asarray(corpus.groups)[some]
methods = [
    "MultiViewNaiveBayes",
    "MultiViewPassive*",
    "SeededKMeansClassifier",
    "concatenated *",
    "words *",
    "code *",
]
quick = {
    "time_budget": None,
    "n_jobs": 1,
    "random_state": 0,
}  # in this process; by default one process per core
result = compare(X, y, groups=files, methods=methods, cv=3, **quick)
result

# %%
# Gray bars are baselines.
import matplotlib.pyplot as plt

fig, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
result.plot(axis=axis)

# %%
# `best_estimator` returns the best method, unfitted. `result.frame` is a data frame; `result.to_json("table.json")`
# writes a file.
model = result.best_estimator().fit(X, y)
print(result.best_, model.predict(X[:3]))

# %%
# Few labels: ``label_share`` keeps one label in ten; every method sees all objects and predicts the rest.
few = compare(X, y, methods=methods, label_share=0.1, n_repeats=3, **quick)
few

# %%
# How many clusters?
# ------------------
# Without labels, `select_clusters` asks two questions about every number: do the clusters predict held-out objects, and
# are they reproduced in another sample? These objects were generated from four clusters.
data = make_topic_views(160, n_clusters=4, n_features=60, random_state=1)
choice = select_clusters(
    data.views, n_clusters=range(2, 7), n_repeats=2, n_jobs=1, random_state=0
)
print(choice)

# %%
# Two clusters are just as reproducible but predict less; more than four predict no better and are not reproduced.
fig = plt.figure(figsize=(8.4, 3.2), layout="constrained")
choice.plot(fig)
plt.show()
