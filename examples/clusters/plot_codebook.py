"""
Embeddings to counts with Codebook
==================================

Count models need non-negative values, but embeddings have negative ones. `Codebook` learns centers and distributes
each object over the nearest ones, like visual words. The result is a sparse view of soft counts.
"""

# %%
# Scanned digits in two views: the pixels, and a dense embedding of them. PCA stands in for a vision model here.
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from coview import PLSA, Codebook, Views
from coview.metrics import clustering_accuracy

digits = load_digits()
pca = PCA(n_components=20, random_state=0).fit(digits.data)
X = Views(pixels=digits.data, embedding=pca.transform(digits.data))
print(X)

# %%
# As counts, `PLSA` rejects the embedding, and the error says what to do. (Without `likelihood` it takes the embedding
# for vectors with Gaussian noise.)
try:
    PLSA(10, likelihood="multinomial").fit(X)
except ValueError as error:
    print(error)

# %%
# ``views`` names the view to transform; the pixels pass through. ``total`` is the sum of each new row, which gives the
# embedding the same weight as the pixels.
mass = digits.data.sum(axis=1).mean()
codebook = Codebook(n_words=100, views="embedding", total=mass, random_state=0).fit(X)
both = codebook.transform(X)
print(both)


# %%
# Cluster the digits by their strongest topic: from the pixels, from the soft counts, and from both. The embedding is
# computed from the pixels here, so both together contain no more information than the better one.
def accuracy(views):
    model = PLSA(10, max_iter=60, n_init=3, random_state=0).fit(views)
    return clustering_accuracy(digits.target, model.memberships_.argmax(axis=1))


for names in (("pixels",), ("embedding",), ("pixels", "embedding")):
    print(f"{' + '.join(names):20s} {accuracy(both.select(*names)):.3f}")

# %%
# ``softness`` controls how far an object is spread beyond its nearest center. Topic models learn from co-occurrence:
# with a small softness each object has a single word, and there is little to learn.
softness = [0.1, 0.3, 0.5, 1.0, 1.5, 3.0]
found = [
    accuracy(codebook.set_params(softness=value).transform(X).select("embedding"))
    for value in softness
]

# %%
# Left: the centers, mapped back to pixels, are prototypes of digits. Top right: one digit and its centers. Bottom
# right: the effect of softness.
import matplotlib.pyplot as plt
import numpy as np

centers = pca.inverse_transform(codebook.centers_["embedding"]).reshape(-1, 8, 8)
row = (both["embedding"][[4]] / mass).tocoo()
strongest = np.argsort(-row.data)[:5]

fig = plt.figure(figsize=(10, 4.6), layout="constrained")
left, right = fig.subfigures(1, 2, width_ratios=[1, 1.15])
left.suptitle("48 of the 100 learned centers", fontsize=11)
for axis, center in zip(left.subplots(6, 8).flat, centers):
    axis.imshow(center, cmap="gray_r", vmin=0, vmax=16)
    axis.axis("off")

top, bottom = right.subfigures(2, 1, height_ratios=[1, 1.7])
top.suptitle("one digit, and its largest shares", fontsize=11)
axes = top.subplots(1, 6)
axes[0].imshow(digits.images[4], cmap="gray_r", vmin=0, vmax=16)
axes[0].set_title("digit", fontsize=10)
for axis, at in zip(axes[1:], strongest):
    axis.imshow(centers[row.coords[1][at]], cmap="gray_r", vmin=0, vmax=16)
    axis.set_title(f"{row.data[at]:.2f}", fontsize=10)
for axis in axes:
    axis.axis("off")

axis = bottom.subplots()
axis.plot(
    softness, found, "o-", color="#d9822b", lw=2, label="soft counts of the embedding"
)
axis.axhline(
    accuracy(both.select("pixels")),
    color="#3b6fb6",
    ls="--",
    lw=1.5,
    label="pixels alone",
)
axis.set_xscale("log")
axis.set_xticks(softness, softness)
axis.minorticks_off()
axis.set_ylim(0, 1)
axis.set_xlabel("softness")
axis.set_ylabel("clustering accuracy")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="lower right")
plt.show()
