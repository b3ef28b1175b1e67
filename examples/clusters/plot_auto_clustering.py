"""
A reliable default for clustering
=================================

No single clustering works well everywhere: one view may be noise, clusters may have any shape, and a graph of few
neighbors sees other things than one of many. ``AutoClustering`` clusters graphs at several scales many times and lets
the clusterings vote. It uses no labels; here we have labels and can check what it found.
"""

# %%
# Three data sets: texts in two views; digits as pixels, spectrum and gradients; and measurements in which one view is
# noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from coview import AutoClustering, SphericalKMeans, Views, inspect
from coview.datasets import make_topic_views
from coview.metrics import normalized_mutual_info


def digits(n: int) -> tuple[Views, np.ndarray]:
    images, y = load_digits().images[:n], load_digits().target[:n]
    spectrum = np.abs(np.fft.fft2(images))[:, :, :5].reshape(n, -1)
    gradient = np.hstack([np.diff(images, axis=axis).reshape(n, -1) for axis in (1, 2)])
    return Views(pixels=images.reshape(n, -1), spectrum=spectrum, gradient=gradient), y


def half_noise(n: int, seed: int) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    return Views(
        good=2.2 * np.eye(4)[y] + rng.normal(size=(n, 4)), noise=rng.normal(size=(n, 6))
    ), y


texts = make_topic_views(
    n_objects=300, n_clusters=4, length=40, overlap=0.4, random_state=2
)
data = {
    "texts": (texts.views, texts.target),
    "digits": digits(500),
    "half noise": half_noise(300, 0),
}

# %%
# Fit, and compare with k-means of the same views by mutual information with the classes. What is printed last says how
# many clusterings voted, and how sure they are.
models, scores = {}, {}
for name, (X, y) in data.items():
    models[name] = AutoClustering(len(np.unique(y)), random_state=0).fit(X)
    plain = SphericalKMeans(len(np.unique(y)), random_state=0).fit(X)
    found = {"AutoClustering": models[name].labels_, "SphericalKMeans": plain.labels_}
    scores[name] = {
        way: round(float(normalized_mutual_info(y, labels)), 2)
        for way, labels in found.items()
    }
    print(name, scores[name])
    print(inspect(models[name]))

# %%
# The share of the votes says where to look: objects in the wrong cluster have fewer.
X, y = data["digits"]
model = models["digits"]
share = model.memberships_.max(axis=1)
main = np.array(
    [np.bincount(y[model.labels_ == z]).argmax() for z in range(model.n_clusters_)]
)
right = main[model.labels_] == y
fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.hist(
    [share[right], share[~right]],
    bins=20,
    stacked=True,
    label=["in the cluster of its digit", "in another"],
)
axis.set(xlabel="share of the votes", ylabel="objects")
axis.legend()
axis.spines[["top", "right"]].set_visible(False)

# %%
# New objects are placed by the same graphs, from any of the views.
new, classes = half_noise(200, 1)
model = models["half noise"]
print(
    f"new objects, by both views: {normalized_mutual_info(classes, model.predict(new)):.2f}"
)
print(
    f"new objects, by one view:   {normalized_mutual_info(classes, model.predict(new.select('good'))):.2f}"
)

# %%
# Without a number of clusters that is chosen too: the one whose clusters tell most that comes back on other objects.
model = AutoClustering(random_state=0).fit(data["texts"][0])
table = model.n_clusters_evidence_
fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(table["n_clusters"], table["information"], "o-")
axis.axvline(model.n_clusters_, color="0.6", linestyle="--")
axis.set(xlabel="number of clusters", ylabel="information that comes back (nats)")
plt.show()
