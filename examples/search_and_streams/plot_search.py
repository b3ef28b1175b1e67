"""
Search one view with another
============================

Which function does what I describe? The words of a query are one view of a function, its code is the other.
`CrossModalRetriever` embeds both in a common space and searches for neighbors.
"""

# %%
# Documented functions and classes of the installed Python packages, by the words of the docstring and by the names in
# the code. Half of the source files are used for training; the other half is searched.
import numpy as np
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, LinkPLSA, MultiViewCCA, TfidfViews
from coview.datasets import load_python_packages
from coview.metrics import mean_average_precision

corpus = load_python_packages()
X, target, groups = corpus.views, corpus.target, corpus.groups
splitter = StratifiedGroupKFold(2, shuffle=True, random_state=0)
train, test = next(splitter.split(X, target, groups))
print(X)


# %%
# Any model that embeds objects from a single view will do, here canonical correlation analysis. Queries can be raw
# words, because the features have names.
def weighed(model):
    return make_pipeline(TfidfViews(sublinear_tf=True), model)


retriever = CrossModalRetriever(
    weighed(MultiViewCCA(100, random_state=0)), lexical=0
).fit(X[train])
retriever.clear().add(X[test])
question = "wait until a task is cancelled"
hits = retriever.search(question, source="words", target="code", k=5)
print(hits)

# %%
# Why is it the first hit? The contributions sum to its score.
print(retriever.explain(question, hits.ids[0, 0], source="words", target="code"))

# %%
# Topic models offer more: a mixture of topics for every object, and words that go with code.
topics = LinkPLSA(50, max_iter=30, random_state=0)
single = CrossModalRetriever(weighed(topics), lexical=0).fit(X[train])
for found in single.tags(X[test[:3]].select("code"), 6, target="words"):
    print(", ".join(word for word, _ in found))

# %%
# How good is it? Each held-out docstring searches for code. A relevant hit is in the same subpackage but in *another
# file* (average precision at 10); and is the function's own code among the first 10? The topics of a single start
# depend on luck: a list of models averages over several, and `lexical` adds the words that both views share.
cca = weighed(MultiViewCCA(100, random_state=0))
starts = [weighed(LinkPLSA(50, max_iter=30, random_state=seed)) for seed in range(3)]
ways = {
    "shared words": CrossModalRetriever(cca, lexical=1.0),
    "LinkPLSA": single,
    "LinkPLSA, 3 starts": CrossModalRetriever(starts, lexical=0),
    "CCA": retriever,
    "CCA + LinkPLSA\n+ shared words": CrossModalRetriever([cca, *starts], lexical=0.3),
}
same_file = groups[test][:, None] == groups[test]
relevant = (target[test][:, None] == target[test]) & ~same_file
precision, recall = [], []
for searcher in ways.values():
    if not hasattr(searcher, "index_"):
        searcher.fit(X[train])
    searcher.clear().add(X[test])
    scores = searcher.similarities(X[test], "words", "code")
    precision.append(
        mean_average_precision(np.where(same_file, -np.inf, scores), relevant, at=10)
    )
    own = searcher.search(X[test], "words", "code", k=10).ids == X.ids[test][:, None]
    recall.append(own.any(axis=1).mean())
for way, *values in zip(ways, precision, recall):
    print(
        f"{' '.join(way.split()):30s} MAP@10 {values[0]:.2f}, own code in the first 10: {values[1]:.2f}"
    )

# %%
import matplotlib.pyplot as plt

fig, axis = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
places = np.arange(len(ways))
for shift, values, color, name in (
    (-0.2, precision, "#3b6fb6", "same subpackage, other file: MAP@10"),
    (0.2, recall, "#9aa0a6", "its own code in the first 10"),
):
    bars = axis.bar(places + shift, values, 0.38, color=color, label=name)
    axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=9)
axis.set_xticks(places, ways)
axis.set_ylim(0, 1.15)
axis.set_title("Finding code with words, files held out", fontsize=11)
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="upper left", ncols=2)
plt.show()
