"""
Clustering several views
========================

`MultiViewPLSA` finds one clustering that explains all views of the objects. Each view has its own topics, and a
cluster is a mixture of the topics of every view. Here it clusters Python functions by the words of the docstring and
the names in the code, without knowing their subpackage.
"""

# %%
# The corpus is read from the packages installed alongside coview. Counts are used unchanged.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.model_selection import GroupShuffleSplit

from coview import (
    PLSA,
    ConcatenatedViews,
    ConsensusClustering,
    MultiViewPLSA,
    TfidfViews,
)
from coview.datasets import load_python_packages
from coview.metrics import normalized_mutual_info, view_agreement

corpus = load_python_packages()
X, y = corpus.views, corpus.target
K = len(corpus.target_names)
model = MultiViewPLSA(K, n_components=32, max_iter=100, n_jobs=1, random_state=0).fit(X)

# %%
# How well do the clusters match the subpackages (normalized mutual information), compared with simpler methods?
tfidf = TfidfViews().fit_transform(X)
k_means = KMeans(K, n_init=3, random_state=0)
found = {
    "MultiViewPLSA": model.labels_,
    "PLSA, side by side": PLSA(K, max_iter=100, n_jobs=1, random_state=0)
    .fit(X)
    .memberships_.argmax(axis=1),
    "k-means, side by side": ConcatenatedViews(k_means).fit(tfidf).labels_,
    "ConsensusClustering": ConsensusClustering(K, random_state=0).fit(tfidf).labels_,
}
for name in X.names:
    one = MultiViewPLSA(K, n_components=32, max_iter=100, n_jobs=1, random_state=0).fit(
        X.select(name)
    )
    found[f"MultiViewPLSA, {name} only"] = one.labels_
nmi = {name: normalized_mutual_info(y, labels) for name, labels in found.items()}

fig, axis = plt.subplots(figsize=(8, 3), layout="constrained")
bars = axis.barh(
    list(nmi), list(nmi.values()), color=["#3b6fb6"] + ["#c3c9d1"] * (len(nmi) - 1)
)
axis.bar_label(bars, fmt="%.2f", padding=3)
axis.invert_yaxis()
axis.set_xlim(0, 1)
axis.set_xlabel("normalized mutual information with the subpackages")
axis.spines[["top", "right"]].set_visible(False)

# %%
# Composition of each cluster: p(topic | cluster, view). A cluster is named after its most frequent subpackage. Rows
# with one dark cell are clusters with a single topic; a column with several dark cells is a topic shared by clusters.
share = np.zeros((K, K))
np.add.at(share, y, model.memberships_)
named = corpus.target_names[share.argmax(axis=0)]
rows = np.argsort(named, kind="stable")

fig, axes = plt.subplots(1, 2, figsize=(11, 5.6), sharey=True, layout="constrained")
for axis, (view, table) in zip(axes, model.cluster_topic_.items()):
    table = table[rows]
    columns = np.argsort(table.argmax(axis=0), kind="stable")
    image = axis.imshow(table[:, columns], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axis.set_title(f"view “{view}”", fontsize=11)
    axis.set_xlabel("topics of the view")
    axis.set_xticks([])
axes[0].set_yticks(range(K), named[rows], fontsize=9)
fig.colorbar(image, ax=axes, shrink=0.6, label="p(topic | cluster, view)")

# %%
# The strongest features of four clusters in both views.
purest = np.argsort(-(share / share.sum(axis=0)).max(axis=0))[:4]
fig, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
for row, view, color in zip(axes, X.names, ("#3b6fb6", "#d9822b")):
    tops = model.top_features(view, n=8, of="cluster")
    for axis, cluster in zip(row, purest):
        names, values = zip(*reversed(tops[cluster]))
        axis.barh(names, values, color=color)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
        axis.locator_params(axis="x", nbins=3)
        if view == "words":
            axis.set_title(named[cluster], fontsize=11)
    row[0].set_ylabel(f"view “{view}”", fontsize=11)
fig.supxlabel("p(feature | cluster, view)", fontsize=10)

# %%
# Left: the log-likelihood never decreases; starting from the consensus of the views converges faster than a random
# start. Right: do the views agree? A model fitted on two thirds of the source files predicts the others from one view
# alone.
other = MultiViewPLSA(
    K, n_components=32, init="random", max_iter=100, n_jobs=1, random_state=0
).fit(X)
seen, new = next(
    GroupShuffleSplit(1, test_size=0.33, random_state=0).split(X, groups=corpus.groups)
)
part = MultiViewPLSA(K, n_components=32, max_iter=100, n_jobs=1, random_state=0).fit(
    X[seen]
)
by_words, by_code = (part.predict(X[new].select(name)) for name in X.names)
table = np.zeros((K, K))
np.add.at(table, (by_words, by_code), 1)
table /= np.maximum(table.sum(axis=1, keepdims=True), 1)

fig, (left, axis) = plt.subplots(
    1, 2, figsize=(11, 5), width_ratios=[1, 1.15], layout="constrained"
)
for name, fit, color in (
    ("consensus (default)", model, "#3b6fb6"),
    ("random", other, "#9aa0a6"),
):
    left.plot(
        np.array(fit.history_["objective"][1:]) / 1e6,
        lw=2,
        color=color,
        label=f"init: {name}",
    )
left.set_xlabel("iteration")
left.set_ylabel("log-likelihood, millions")
left.legend(frameon=False, loc="lower right")
left.spines[["top", "right"]].set_visible(False)
image = axis.imshow(table, cmap="Blues", vmin=0, vmax=1)
axis.set(
    xlabel="cluster by code alone",
    ylabel="cluster by words alone",
    xticks=[],
    yticks=[],
)
axis.set_title(
    f"new objects: {view_agreement(by_words, by_code):.0%} in the same cluster by either view",
    fontsize=11,
)
fig.colorbar(image, ax=axis, shrink=0.7, label="share of the row")
plt.show()
