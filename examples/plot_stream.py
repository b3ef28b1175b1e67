"""
Online learning from several views
==================================

`MultiViewPassiveAggressiveClassifier` learns from one object at a time: it changes its weights as little as a correct
vote requires and keeps the views in agreement. Every object is predicted before it is learned from, so the whole
stream is a test set.
"""

# %%
# A stream in which the views swap roles: in the first half most links belong to another object, in the second half most
# words do. Every tenth object has no links.
import numpy as np

from coview import MultiViewPassiveAggressiveClassifier, UnitRows, Views, evaluate_stream
from coview.datasets import make_topic_views

n = 8000
made = make_topic_views(n, {"words": 300, "links": 300}, n_clusters=2, length=12, overlap=0.6, random_state=0)
y = made.target
rng = np.random.default_rng(0)
rows = {name: np.arange(n) for name in made.views.names}
for name, half in (("links", np.arange(n // 2)), ("words", np.arange(n // 2, n))):
    mixed = half[rng.random(len(half)) < 0.9]
    rows[name][mixed] = rng.permutation(mixed)
present = np.ones((n, 2), dtype=bool)
present[::10, 1] = False
links = made.views["links"][rows["links"]].toarray()
links[::10] = 0
X = UnitRows().fit_transform(Views(words=made.views["words"][rows["words"]], links=links, present=present))
print(X)

# %%
# `evaluate_stream` predicts, learns and records a row for every 250 objects. With ``view_weighting="adaptive"`` the
# view with fewer errors gets a larger share of the vote, and can lose it again.
models = {
    "equal votes": MultiViewPassiveAggressiveClassifier(C=0.5, coupling=0.05),
    "adaptive votes": MultiViewPassiveAggressiveClassifier(C=0.5, coupling=0.05, view_weighting="adaptive"),
}
metrics = ["window_accuracy", "loss", "view_difference", "cumulative_view_difference"]
results = {}
shares = []
for name, model in models.items():
    watch = None
    if name == "adaptive votes":
        watch = lambda line: shares.append(models["adaptive votes"].view_weights_["words"])  # noqa: E731
    results[name] = evaluate_stream(model, X, y, metrics, every=250, batch_size=250, watch=watch)
    print(f"{name}: {np.mean(results[name].table['window_accuracy']):.3f} of the objects were predicted right")

# %%
# Accuracy over time, and the share of each view in the vote.
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(13, 3.2), layout="constrained")
for name, result in results.items():
    result.plot(["window_accuracy", "loss", "view_difference"], label=name, figure=figure)

fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(results["adaptive votes"].table["rounds"], shares, color="#3b6fb6", lw=2)
axis.axvline(n // 2, color="black", lw=1, ls="--")
axis.set_xlabel("rounds")
axis.set_ylabel("share of the words in the vote")
axis.set_ylim(0, 1)
axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# To read from a file of any length, one batch of lines at a time: ``evaluate_stream(model,
# read_stream("mail.jsonl"))``, or on the command line ``coview stream mail.jsonl``. For single objects with named
# features, use `to_river`.
from coview import to_river

online = to_river(MultiViewPassiveAggressiveClassifier(C=1.0), views=["words", "links"])
online.learn_one({"words": {"win": 2, "cash": 1}, "links": {"a.com": 1}}, "spam")
online.learn_one({"words": {"see": 1, "you": 1}}, "ham")
online.learn_one({"words": {"win": 1}, "links": {"a.com": 1}}, "spam")
print(online.predict_one({"words": {"hello": 1}, "links": {"a.com": 1}}))
