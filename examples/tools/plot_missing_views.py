"""
Objects that lack a view
========================

Sources rarely contain the same objects. `Views.align` joins them by id; ``present`` records which object has which
view. This example joins two sources, learns topics and computes the topic mixture of every object.
"""

# %%
# Two sources with their own ids and their own order. Some objects are in only one of them.
import numpy as np

from coview import PLSA, Views
from coview.datasets import make_topic_views

made = make_topic_views(
    600,
    {"words": 400, "links": 150},
    n_clusters=4,
    n_components=4,
    length=20,
    quality=0.5,
    random_state=0,
)
rng = np.random.default_rng(0)
ids = np.array([f"page{i:03d}" for i in range(600)])
in_words, in_links = rng.permutation(600)[:450], rng.permutation(600)[:400]

X = Views.align(
    {
        "words": (ids[in_words], made.views["words"][in_words]),
        "links": (ids[in_links], made.views["links"][in_links]),
    },
    how="outer",
)
print(X)

# %%
# ``how="outer"`` keeps every object, "inner" those that are in both sources, "left" those of the first source.
has_words, has_links = X.present.T
complete = has_words & has_links
kinds = {
    "both views": complete,
    "words only": has_words & ~has_links,
    "links only": has_links & ~has_words,
}
print({name: int(rows.sum()) for name, rows in kinds.items()})

# %%
# `PLSA` concatenates views. It can be fitted on all objects, but then some topics encode "has no links" rather than a
# theme: ``topic_view_`` shows topics that are confined to one view.
everyone = PLSA(4, n_init=5, random_state=0).fit(X)
print(everyone.topic_view_.round(2))

# %%
# With plain PLSA it is better to learn topics from the complete objects and fold in the others with ``transform``:
# topics stay fixed, and each object is described by the views it has.
learned = PLSA(4, n_init=5, random_state=0).fit(X[complete])
print(learned.topic_view_.round(2))

# %%
# New objects may also have only some of the fitted views.
print(learned.transform(X[kinds["links only"]].select("links")[:3]).round(2))

# %%
# How many objects are in the topic of their cluster? Topics are matched to clusters one to one.
from scipy.optimize import linear_sum_assignment

cluster = dict(zip(ids, made.target))
y = np.array([cluster[key] for key in X.ids])


def hits(mixtures):
    labels = mixtures.argmax(axis=1)
    table = np.zeros((4, 4))
    np.add.at(table, (labels, y), 1)
    return linear_sum_assignment(-table)[1][labels] == y


ways = {
    "fit on all": hits(everyone.memberships_),
    "fit on complete, then transform": hits(learned.transform(X)),
}
for way, right in ways.items():
    print(
        f"{way:32s}",
        {name: round(float(right[rows].mean()), 2) for name, rows in kinds.items()},
    )

# %%
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap

fig, (left, axis) = plt.subplots(
    1, 2, figsize=(10, 3.8), width_ratios=[1, 1.3], layout="constrained"
)
order = np.lexsort((~has_links, ~has_words))
left.imshow(
    X.present[order].T,
    aspect="auto",
    interpolation="nearest",
    cmap=ListedColormap(["#e8eaed", "#3b6fb6"]),
)
left.set_yticks([0, 1], X.names)
left.set_xlabel("objects, sorted by what they have")
left.set_title("present (blue) and missing (gray)", fontsize=11)

places = np.arange(len(kinds))
for shift, (way, right), color in zip(
    (-0.2, 0.2), ways.items(), ("#9aa0a6", "#3a8f5c")
):
    bars = axis.bar(
        places + shift,
        [right[rows].mean() for rows in kinds.values()],
        0.38,
        color=color,
        label=way,
    )
    axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=9)
axis.set_xticks(places, kinds)
axis.set_ylim(0, 1.3)
axis.set_yticks([0, 0.5, 1])
axis.set_title("objects in the topic of their cluster", fontsize=11)
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="upper center", ncols=2)
plt.show()
