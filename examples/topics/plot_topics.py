"""
Topics of Python packages
=========================

`PLSA` on the demo corpus: functions and classes of installed packages, in two views. "words" are the words of the
docstring, "code" are the parts of the names in the code. Each topic is a distribution over both.
"""

# %%
# The corpus is read from the packages installed alongside coview. Nothing is downloaded.
from coview import PLSA
from coview.datasets import load_python_packages

corpus = load_python_packages()
print(corpus.views)

# %%
# Fit twenty topics. Momentum speeds EM up (``algorithm="fast"``, the default).
settings = {"n_components": 20, "max_iter": 80, "tol": 0, "random_state": 0}
model = PLSA(**settings).fit(corpus.views)
print(f"{model.n_iter_} iterations, perplexity {model.perplexity(corpus.views):.0f}")

# %%
# The strongest features of four topics, in both views. A topic is named after the subpackage with the largest share;
# the model itself does not see these labels.
import matplotlib.pyplot as plt
import numpy as np

share = np.zeros((len(corpus.target_names), settings["n_components"]))
np.add.at(share, corpus.target, model.memberships_)
share /= share.sum(axis=0)
purest = np.argsort(-share.max(axis=0))[:4]

colors = {"words": "#3b6fb6", "code": "#d9822b"}
fig, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
for row, view in zip(axes, corpus.views.names):
    topics = model.top_features(view, n=8)
    for axis, topic in zip(row, purest):
        names, values = zip(*reversed(topics[topic]))
        axis.barh(names, values, color=colors[view])
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
        axis.locator_params(axis="x", nbins=3)
        if view == "words":
            axis.set_title(corpus.target_names[share[:, topic].argmax()], fontsize=11)
    row[0].set_ylabel(f"view “{view}”", fontsize=11)
fig.supxlabel("p(feature | topic, view)", fontsize=10)

# %%
# Words such as "default" or "optional" are in many topics: every topic has to explain all words of its objects. With a
# background, the mean of all objects explains most of each, and topics are left with the words that set them apart.
# Whether a word occurs is enough for that.
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from coview import EachView
from coview.metrics import topic_coherence, topic_diversity

readable = make_pipeline(
    EachView(Binarizer()), PLSA(20, background=0.9, random_state=0)
).fit(corpus.views)[-1]
for name, one in (("without", model), ("background=0.9", readable)):
    topics = one.topic_feature_["words"]
    coherence = topic_coherence(topics, corpus.views["words"]).mean()
    print(
        f"{name}: coherence (NPMI) {coherence:.2f}, diversity {topic_diversity(topics):.2f}"
    )
for topic in readable.top_features("words", n=6)[:4]:
    print(", ".join(word for word, _ in topic))

# %%
# Progress of the fit. ``history_["objective"]`` is the log-likelihood, entry 0 is the initial state. It never
# decreases, with either algorithm.
runs = {
    "published": PLSA(**settings, algorithm="published").fit(corpus.views),
    "fast (default)": model,
}
tokens = sum(float(matrix.sum()) for matrix in corpus.views.values())

fig, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, run), color in zip(runs.items(), ("#9aa0a6", "#3b6fb6")):
    axis.plot(
        np.array(run.history_["objective"][2:]) / tokens, label=name, color=color, lw=2
    )
axis.set_xlabel("iteration")
axis.set_ylabel("log-likelihood per token")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
plt.show()
