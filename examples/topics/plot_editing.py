"""
Editing topics
==============

Topics of Python packages, edited by hand: what moves is shown first, and the log of edits stays with the model.
"""

# %%
# The corpus is read from the packages installed alongside coview. Nothing is downloaded.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from coview import LinkPLSA, edit, inspect, load, save
from coview.datasets import load_python_packages

corpus = load_python_packages()
model = edit(LinkPLSA(12, max_iter=60, random_state=0).fit(corpus.views))
for key, name in zip(inspect(model).groups, inspect(model).group_names):
    print(f"{key}: {name}")

# %%
# The tree of the topics says which are most alike. Look at what a merge of the first two would move, then merge them.
# An object may come from a third topic: one that both together explain better.
tree = inspect(model).hierarchy()
alike = sorted(tree.linkage[0, :2].astype(int).tolist())
print(model.preview("merge", groups=alike))
model.merge(alike, name="merged by hand")

# %%
# Split the largest topic, mark the least certain one as noise, and take that back.
numbers, sizes = np.unique(model.labels_, return_counts=True)
largest = int(numbers[sizes.argmax()])
model.split(largest, corpus.views)
certainty = [
    model.memberships_[model.labels_ == number].max(axis=1).mean()
    for number in model.numbers_
]
model.mark_noise(model.numbers_[int(np.argmin(np.nan_to_num(certainty, nan=1.0)))])
print(f"{(model.labels_ == -1).sum()} objects are noise")
model.undo()
model.reduce(8)
print(*model.log(), sep="\n")

# %%
# The edited model is a model like any other: saved, loaded, and asked about new objects, from one view alone.
with tempfile.TemporaryDirectory() as folder:
    save(model, Path(folder) / "edited.coview")
    again = load(Path(folder) / "edited.coview")
print(
    (again.predict(corpus.views.select("words")) == model.predict(corpus.views))
    .mean()
    .round(2)
)

# %%
# A fit with another seed finds other topics in another order; those that share most objects get the old numbers, and
# the edits are made again.
other = edit(model).set_params(estimator__random_state=1).fit(corpus.views)
print(len(other.edits_), "edits made again,", len(other.lost_edits_), "lost")

# %%
# How many objects each topic has before and after the edits.
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True)
for axis, shown, title in zip(
    axes, (edit(model.estimator_), model), ("as fitted", "edited")
):
    names = [
        f"{key}: {name}"[:38]
        for key, name in zip(inspect(shown).groups, inspect(shown).group_names)
    ]
    counts = [(shown.labels_ == number).sum() for number in shown.numbers_]
    axis.barh(names[::-1], counts[::-1], color="#3b6fb6")
    axis.set_title(title, fontsize=11)
    axis.tick_params(axis="y", length=0, labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
fig.supxlabel("objects", fontsize=10)
plt.show()
