"""
Views that agree only in part
=============================

A picture and its caption share their subject, but not every nuance. `CoPLSA` gives each view of an object its own
topic mixture and pulls the mixtures together; ``coupling`` sets how strongly.
"""

# %%
# Synthetic objects with two views, "words" and "image". For one object in seven the views are about different things.
import numpy as np

from coview import CoPLSA, LinkPLSA
from coview.datasets import make_topic_views

made = make_topic_views(
    800,
    {"words": 300, "image": 120},
    10,
    length={"words": 60, "image": 25},
    agreement=0.85,
    mixing=0.5,
    random_state=0,
)
train, test = made.views[:500], made.views[500:]
print(train)

# %%
# Fit with each of the three divergences. The objective, the likelihood of both views minus their weighted divergence,
# never decreases.
settings = {"n_components": 20, "max_iter": 50, "tol": 0, "random_state": 0}
models = {
    kind: CoPLSA(divergence=kind, **settings).fit(train) for kind in ("skl", "l2", "l1")
}
for kind, model in models.items():
    climb = np.diff(model.history_["objective"])
    print(
        f"{kind:4s} objective {model.history_['objective'][-1]:9.1f}, smallest step {climb.min():.1e}"
    )

# %%
# With "l1" most entries of the two mixtures are bit-identical. With "l2" only those that are nearly zero in both views
# are, with "skl" none.
for kind, model in models.items():
    same = model.memberships_by_view_["words"] == model.memberships_by_view_["image"]
    print(f"{kind:4s} share of equal entries {same.mean():.2f}")

# %%
# Each view of a new object is folded in separately, which allows search across views: how high does an image's own text
# rank among 300 texts by the centered correlation of topic mixtures? Without coupling, the topics of the two views have
# nothing in common, and the rank is no better than chance.


def centered(mixtures):
    rows = mixtures - mixtures.mean(axis=1, keepdims=True)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def mean_rank(model):
    image, words = (
        centered(model.transform(test.select(view))) for view in ("image", "words")
    )
    scores = image @ words.T
    return float((scores > np.diag(scores)[:, None]).sum(axis=1).mean() + 1)


couplings = [0.0, 0.1, 0.3, 1.0, 3.0]
fewer = {**settings, "max_iter": 20}
ranks = {
    kind: [
        mean_rank(CoPLSA(divergence=kind, coupling=coupling, **fewer).fit(train))
        for coupling in couplings
    ]
    for kind in models
}
linked = mean_rank(LinkPLSA(**fewer).fit(train))
print(
    f"link-PLSA {linked:.0f};",
    {kind: [round(rank) for rank in found] for kind, found in ranks.items()},
)

# %%
# What words go with an image? ``impute`` computes the expected features of a missing view.
expected = models["skl"].impute(test[:1].select("image"), "words")[0]
there = test["words"][[0]].toarray()[0] > 0
likeliest = np.argsort(-expected)[:10]
print(
    f"of the 10 likeliest words {there[likeliest].sum()} are in the text; of 10 at random {10 * there.mean():.1f}"
)

# %%
import matplotlib.pyplot as plt

colors = {"skl": "#3b6fb6", "l2": "#d9822b", "l1": "#3a8f5c"}
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for kind, model in models.items():
    left.plot(model.history_["objective"], color=colors[kind], label=kind)
    right.plot(range(len(couplings)), ranks[kind], "o-", color=colors[kind], label=kind)
left.set_xlabel("iteration")
left.set_title("objective", fontsize=11)
left.legend(frameon=False)
right.axhline(linked, color="#9aa0a6", linestyle="--", label="link-PLSA")
right.set_xticks(range(len(couplings)), couplings)
right.set_xlabel("coupling")
right.set_title("mean rank of an image's own text among 300", fontsize=11)
right.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
