"""
Cluster many objects with anchor graphs
=======================================

Graphs of neighbors compare all objects with each other, which takes too long for many of them. `AnchorGraphClustering`
joins each object to the nearest of a few hundred anchors instead. One such graph is poor; several, each with anchors of
its own, are strong together.
"""

import matplotlib.pyplot as plt

from coview import AnchorGraphClustering, TfidfViews
from coview.datasets import make_topic_views
from coview.metrics import normalized_mutual_info

# %%
# Fifteen hundred pages of 12 kinds, with few words and fewer links each.
corpus = make_topic_views(
    1500, {"words": 800, "links": 400}, n_clusters=12, length=[40, 20], quality=0.45, random_state=0
)
views = TfidfViews().fit_transform(corpus.views)
print(views)

# %%
# More repeats make the clusters better and steadier: three seeds each.
repeats = (1, 2, 4, 8)
scores = [
    [
        normalized_mutual_info(
            corpus.target, AnchorGraphClustering(12, n_repeats=count, random_state=seed).fit_predict(views)
        )
        for seed in range(3)
    ]
    for count in repeats
]
for count, found in zip(repeats, scores):
    print(count, *(f"{score:.2f}" for score in found))

# %%
# New objects are placed by the same formula, from any of the views.
model = AnchorGraphClustering(12, random_state=0).fit(views[:1200])
for names in (("words", "links"), ("words",), ("links",)):
    found = model.predict(views[1200:].select(*names))
    print(*names, f"{normalized_mutual_info(corpus.target[1200:], found):.2f}")

# %%
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(repeats, scores, "o", color="0.6")
axis.plot(repeats, [sum(found) / len(found) for found in scores], linewidth=3)
axis.set_xlabel("repeats")
axis.set_ylabel("normalized mutual information")
axis.set_xticks(repeats)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
