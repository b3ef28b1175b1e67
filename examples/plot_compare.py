"""
Which method for my data?
=========================

No method is best everywhere. `compare` tries every one that fits, and the baselines that it must beat, on your own
data: the same folds for all, a time budget for each, failures listed and not fatal. Here: functions of Python packages,
by the words of their docstrings and by the names in their code.
"""

# %%
# Functions of one source file resemble each other, so that a file is never in training and test at once (`groups`). To
# be quick, this takes 300 functions of six subpackages, and some of the methods; leave `methods` out to try them all.
import numpy as np

from coview import compare, select_clusters
from coview.datasets import load_python_packages, make_topic_views

corpus = load_python_packages()
some = np.flatnonzero(corpus.target < 6)
some = np.sort(np.random.default_rng(0).choice(some, min(300, len(some)), replace=False))
X, y, files = corpus.views[some], corpus.target[some], np.asarray(corpus.groups)[some]
methods = [
    "MultiViewNaiveBayes",
    "MultiViewPassive*",
    "SeededKMeansClassifier",
    "concatenated *",
    "words *",
    "code *",
]
quick = {"time_budget": None, "n_jobs": 1, "random_state": 0}  # in this process; by default one process per core
result = compare(X, y, groups=files, methods=methods, cv=3, **quick)
print(result)

# %%
# Columns such as ``accuracy[code]`` tell what the fitted method says from that view alone. Grey bars are baselines.
import matplotlib.pyplot as plt

fig, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
result.plot(axis=axis)

# %%
# The best is at hand, not fitted. `result.frame` is the table for pandas, `result.to_json("table.json")` a file.
model = result.best_estimator().fit(X, y)
print(result.best_, model.predict(X[:3]))

# %%
# Few labels: ``label_share`` keeps one label in ten, shows all objects to every method, and asks for the rest.
few = compare(X, y, methods=methods, label_share=0.1, n_repeats=3, **quick)
print(few)

# %%
# How many clusters?
# ------------------
# Without labels, `select_clusters` asks two questions of every number: do the clusters foretell objects that were held
# out, and are they found again in another sample? These objects were made of four clusters.
data = make_topic_views(160, n_clusters=4, n_features=60, random_state=1)
choice = select_clusters(data.views, n_clusters=range(2, 7), n_repeats=2, n_jobs=1, random_state=0)
print(choice)

# %%
# Two clusters are found again just as well but foretell less; more than four foretell no more, and are not found again.
fig = plt.figure(figsize=(8.4, 3.2), layout="constrained")
choice.plot(fig)
plt.show()
