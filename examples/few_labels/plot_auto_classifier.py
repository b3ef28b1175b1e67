"""
A reliable default for few labels
=================================

Which classifier is best depends on the data and on the number of labels: topics win on short texts with a handful of
labels, linear models with many, centers on measurements. ``AutoClassifier`` asks several pipelines for labels that it
has hidden from them, weighs them by the answers, and calibrates the probabilities.
"""

# %%
# Two data sets: texts in two views of unequal quality, and digits as pixels and gradients.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from coview import AutoClassifier, Views
from coview.datasets import make_topic_views


def digits(n: int) -> tuple[Views, np.ndarray]:
    images, y = load_digits().images[:n], load_digits().target[:n]
    gradient = np.hstack([np.diff(images, axis=axis).reshape(n, -1) for axis in (1, 2)])
    return Views(pixels=images.reshape(n, -1), gradient=gradient), y


texts = make_topic_views(
    n_objects=300, n_clusters=4, quality=[0.4, 0.1], length=40, random_state=2
)
data = {"texts": (texts.views, texts.target), "digits": digits(500)}

# %%
# Label five objects of each class, fit, and look up the rest.
models = {}
for name, (X, y) in data.items():
    few = np.full(len(y), -1)
    for k in np.unique(y):
        few[np.flatnonzero(y == k)[:5]] = k
    models[name] = model = AutoClassifier(random_state=0).fit(X, few)
    hidden, (low, high) = few < 0, model.accuracy_interval_
    found = np.mean(model.transduction_[hidden] == y[hidden])
    print(
        f"{name}: accuracy {found:.2f}, estimated {model.accuracy_:.2f} ({low:.2f} to {high:.2f} at 95 %)"
    )

# %%
# The candidates, by accuracy on held-out labels; those that are combined are blue.
fig, axes = plt.subplots(1, len(models), figsize=(10, 3.6), layout="constrained")
for axis, (name, model) in zip(axes, models.items()):
    table = model.candidates_
    colors = ["tab:blue" if weight > 0 else "lightgray" for weight in table["weight"]]
    axis.barh(table["name"], table["accuracy"], color=colors)
    axis.set(title=name, xlabel="accuracy on held-out labels")
