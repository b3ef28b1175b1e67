"""
A reliable default for clustering
=================================

No clustering method works well everywhere: neighbor graphs win on images and fail on some texts, topics behave the
other way round, and one view may be noise. ``AutoClustering`` fits several candidates and weights or drops each of
them by evidence. It uses no labels; here we have labels and can check its choices.
"""

# %%
# Three data sets: texts in two views; digits as pixels, spectrum and gradients; and measurements in which one view is
# noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from coview import AutoClustering, Views
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
    return Views(good=2.2 * np.eye(4)[y] + rng.normal(size=(n, 4)), noise=rng.normal(size=(n, 6))), y


texts = make_topic_views(n_objects=300, n_clusters=4, length=40, overlap=0.4, random_state=2)
data = {"texts": (texts.views, texts.target), "digits": digits(500), "half noise": half_noise(300, 0)}

# %%
# Fit, and evaluate every candidate and the consensus by mutual information with the classes.
scores, tables = {}, {}
for name, (X, y) in data.items():
    model = AutoClustering(len(np.unique(y)), random_state=0).fit(X)
    found = {"consensus": model.labels_, **model.labels_by_candidate_}
    scores[name] = {candidate: normalized_mutual_info(y, labels) for candidate, labels in found.items()}
    tables[name] = model.candidates_
    print(name, {candidate: round(score, 2) for candidate, score in scores[name].items()})

# %%
# The consensus is near its best candidate in all three. Candidates that were kept are blue.
fig, axes = plt.subplots(1, len(data), figsize=(11, 3.4), layout="constrained")
for axis, (name, score) in zip(axes, scores.items()):
    weight = dict(zip(tables[name]["name"], tables[name]["weight"]))
    colors = ["#b6503b"] + ["#3b6fb6" if weight[candidate] > 0 else "#c3c9d1" for candidate in list(score)[1:]]
    bars = axis.barh(list(score), list(score.values()), color=colors)
    axis.bar_label(bars, fmt="%.2f", padding=3)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.15)
    axis.set_title(name)
    axis.spines[["top", "right"]].set_visible(False)
fig.supxlabel("normalized mutual information with the classes")

# %%
# `candidates_` shows how well the clusters of each candidate can be predicted from the views, whether they are
# reproduced when a fifth of the objects is left out, and how far the candidates agree.
table = tables["half noise"]
print(f"{'candidate':16} {'weight':>7} {'reliability':>12} {'stability':>10} {'agreement':>10}")
for line in zip(*(table[key] for key in ("name", "weight", "reliability", "stability", "agreement"))):
    print("{:16} {:7.2f} {:12.2f} {:10.2f} {:10.2f}".format(*line))

# %%
# New objects are assigned to clusters by the candidates that were kept, from any of the views.
X, y = data["half noise"]
new, classes = half_noise(200, 1)
model = AutoClustering(4, random_state=0).fit(X)
print(f"new objects, by both views: {normalized_mutual_info(classes, model.predict(new)):.2f}")
print(f"new objects, by one view:   {normalized_mutual_info(classes, model.predict(new.select('good'))):.2f}")

# %%
# The evidence behind a choice is a figure of its own: how well each method's clusters are predicted from the views, how
# stable they are, and its weight. Without a number of clusters that is chosen too, and a second panel shows why.
from coview.plot import CandidatesDisplay

model = AutoClustering(None, random_state=0).fit(data["texts"][0])
print(model.n_clusters_, "clusters")
CandidatesDisplay.from_estimator(model)
plt.show()
