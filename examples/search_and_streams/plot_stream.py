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

from coview import (
    MultiViewPassiveAggressiveClassifier,
    UnitRows,
    Views,
    evaluate_stream,
)
from coview.datasets import make_topic_views

n = 8000
made = make_topic_views(
    n,
    {"words": 300, "links": 300},
    n_clusters=2,
    length=12,
    overlap=0.6,
    random_state=0,
)
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
X = UnitRows().fit_transform(
    Views(words=made.views["words"][rows["words"]], links=links, present=present)
)
print(X)

# %%
# `evaluate_stream` predicts, learns and records a row for every 250 objects: with views that may differ, and with views
# that are held together.
models = {
    "coupling 0.05": MultiViewPassiveAggressiveClassifier(C=0.5, coupling=0.05),
    "coupling 0.5": MultiViewPassiveAggressiveClassifier(C=0.5, coupling=0.5),
}
results = {}
for name, model in models.items():
    results[name] = evaluate_stream(model, X, y, every=250, batch_size=250)
    print(
        f"{name}: {results[name].final['accuracy']:.3f} of the objects were predicted right"
    )

# %%
# Accuracy so far, loss, and the difference between the views over time.
import matplotlib.pyplot as plt

from coview.plot import StreamDisplay

StreamDisplay.from_results(results, measures=["accuracy", "loss", "view_difference"])
plt.show()

# %%
# To read from a file of any length, one batch of lines at a time: ``evaluate_stream(model,
# read_stream("mail.jsonl"))``, or on the command line ``coview stream mail.jsonl``.
