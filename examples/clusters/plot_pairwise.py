"""
Views with consistent similarities
==================================

Two views of the same objects need not have the same topics. `PairwiseCoPLSA` requires less: two objects that are
similar in one view should be similar in the other. ``coupling`` sets how strongly.
"""

# %%
# Synthetic objects with two short views, about 15 words and 15 links each, some of which belong to other clusters.
import numpy as np

from coview import PairwiseCoPLSA, VotingPLSA
from coview.datasets import make_topic_views
from coview.metrics import clustering_accuracy

made = make_topic_views(
    900,
    {"words": 300, "links": 200},
    5,
    length=15,
    mixing=0.3,
    overlap=0.3,
    random_state=0,
)
X, y, new = made.views[:600], made.target[:600], made.views[600:]
print(X)

# %%
# One topic per cluster in each view. Pairs are a sample: 5 % of all, drawn once per fit. Coupling 0 is one PLSA per
# view; with stronger coupling the clusters of each view improve by learning from the other view. The consensus of the
# views gains less. `VotingPLSA` learns from the objects on which both views agree, without any coupling.
couplings = [0.0, 0.06, 0.2, 0.6, 2.0]
starts = range(3)
found = {
    coupling: [
        PairwiseCoPLSA(5, coupling=coupling, max_iter=60, random_state=s).fit(X)
        for s in starts
    ]
    for coupling in couplings
}


def share_right(labels_of):
    """Mean accuracy over the starts, by coupling."""
    return [
        np.mean([clustering_accuracy(y, labels_of(model)) for model in found[coupling]])
        for coupling in couplings
    ]


lines = {
    "words": share_right(lambda model: model.labels_by_view_["words"]),
    "links": share_right(lambda model: model.labels_by_view_["links"]),
    "consensus": share_right(lambda model: model.labels_),
}
votes = np.mean(
    [
        clustering_accuracy(
            y, VotingPLSA(5, max_iter=100, random_state=s).fit(X).labels_
        )
        for s in starts
    ]
)
for name, values in lines.items():
    print(f"{name:10s}", " ".join(f"{value:.3f}" for value in values))
print(f"voting     {votes:.3f}")

# %%
# The views become more consistent: how often do the two views of an object choose the same topic? New objects have no
# pairs, and each of their views is folded in separately, so they gain nothing.


def same(words, links):
    return float((words == links).mean())


agreed = {
    "fitted": [
        np.mean([same(*model.labels_by_view_.values()) for model in found[coupling]])
        for coupling in couplings
    ],
    "new": [
        np.mean(
            [
                same(*(model.predict(new.select(view)) for view in ("words", "links")))
                for model in found[coupling]
            ]
        )
        for coupling in couplings
    ],
}
for name, values in agreed.items():
    print(f"{name:10s}", " ".join(f"{value:.3f}" for value in values))

# %%
# The published step is a fixed-point step that may leave the simplex and lower the objective. The safeguarded step is
# the same if it improves the objective, and shorter otherwise.
settings = {"coupling": 6.0, "max_iter": 60, "tol": 0, "random_state": 0}
climbs = {
    name: PairwiseCoPLSA(5, algorithm=name, **settings).fit(X).history_["objective"]
    for name in ("fast", "published")
}
for name, values in climbs.items():
    print(
        f"{name:12s} ends at {values[-1]:10.0f}, deepest fall {min(np.diff(values).min(), 0):8.0f}"
    )

# %%
import matplotlib.pyplot as plt

colors = {"words": "#3b6fb6", "links": "#d9822b", "consensus": "#3a8f5c"}
fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for name, values in lines.items():
    left.plot(range(len(couplings)), values, "o-", color=colors[name], label=name)
left.axhline(votes, color="#9aa0a6", linestyle="--", label="VotingPLSA")
left.set_title("clustering accuracy", fontsize=11)
left.legend(frameon=False)
for (name, values), color in zip(agreed.items(), ("#7d5ba6", "#9aa0a6")):
    middle.plot(range(len(couplings)), values, "o-", color=color, label=name)
middle.set_title("objects whose views agree", fontsize=11)
middle.legend(frameon=False)
for axis in (left, middle):
    axis.set_xticks(range(len(couplings)), couplings)
    axis.set_xlabel("coupling")
for name, values in climbs.items():
    right.plot(values, label=name)
right.set_xlabel("iteration")
right.set_title("objective, coupling 6", fontsize=11)
right.legend(frameon=False)
for axis in (left, middle, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
