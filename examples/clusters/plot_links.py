"""
Clusters with links among the objects
=====================================

Papers cite papers on the same matter, so their citations help to find the matters. On a university's pages links lead
from courses to teachers and from these to students: they join unlike pages, and would mislead. Nobody has labels to
tell which kind of links it is. `AutoClustering` asks the other views: are linked objects more alike in their words than
objects joined at random?
"""

# %%
# Words that tell four groups poorly, and two networks on the same objects. In the first most links stay within a group;
# in the second an object of group k links to group k + 1.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from coview import AutoClustering, NeighborViews, SphericalKMeans, Views
from coview.metrics import normalized_mutual_info

rng = np.random.default_rng(0)
n, n_groups = 600, 4
target = np.arange(n) % n_groups
topics = rng.gamma(0.3, size=(n_groups, 200))
topics = 0.4 * topics / topics.sum(axis=1, keepdims=True) + 0.6 / 200
words = sparse.csr_array(rng.poisson(20 * topics[target]).astype(float))


def network(shift, share=0.8, n_links=3):
    """Symmetric links: of each object to some of the group that is `shift` further, else to anybody."""
    ends = np.where(
        rng.random((n, n_links)) < share,
        rng.integers(0, n // n_groups, (n, n_links)) * n_groups
        + ((target + shift) % n_groups)[:, None],
        rng.integers(0, n, (n, n_links)),
    )
    links = sparse.coo_array(
        (np.ones(ends.size), (np.repeat(np.arange(n), n_links), ends.ravel())),
        shape=(n, n),
    )
    return sparse.csr_array(((links + links.T) > 0).astype(float))


networks = {
    "links join alike objects": network(0),
    "links join unlike objects": network(1),
}

# %%
# The view of links is found by its form: square, with a link back for every link; ``links="name"`` names it.
# `links_` says what was found of it. Where the links join alike objects, words smoothed over the links stand beside the
# other views; else it says why they do not.
models = {
    name: AutoClustering(n_groups, random_state=0).fit(Views(words=words, links=links))
    for name, links in networks.items()
}
for name, model in models.items():
    print(f"{name}: used={model.links_['used']}, {model.links_['why']}")

# %%
# Beside them, what k-means finds in the words alone, and in the words smoothed over the links whatever they join.
# Groups whose links lead to the same third group become one by that.
plain = SphericalKMeans(n_groups, random_state=0)
scores = {}
for name, links in networks.items():
    X = Views(words=words, links=links)
    near = NeighborViews("links", 3, self_weight="mean", keep=False).fit_transform(X)
    found = {
        "words": plain.fit_predict(X.select("words")),
        "words smoothed": plain.fit_predict(near),
        "AutoClustering": models[name].labels_,
    }
    scores[name] = {
        way: normalized_mutual_info(target, labels) for way, labels in found.items()
    }

fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, (name, found) in zip(axes, scores.items()):
    ax.bar(list(found), list(found.values()), color=["0.7", "0.5", "C0"])
    ax.set(title=name, ylim=(0, 1))
axes[0].set_ylabel("normalized mutual information")
plt.show()
