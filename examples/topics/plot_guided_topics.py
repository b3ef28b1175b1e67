"""
Topics about what you look for, their names, and what no topic explains
=======================================================================

Functions of the installed Python packages, in two views: the words of the docstring and the names used in the code.
Three topics are guided by a few seed words, the others find what is left; they are named, by words of both views; and
functions that no topic explains are listed.
"""

# %%
# Seeds say what topics are to be about. A seeded topic keeps its number and its name.
import matplotlib.pyplot as plt
import numpy as np

from coview import LinkPLSA, inspect, name_groups, set_group_names
from coview.datasets import load_python_packages

corpus = load_python_packages()
X = corpus.views
seeds = {
    "Files": ["file", "path", "directory"],
    "Statistics": ["variance", "distribution"],
    "Images": ["image", "pixel"],
}
model = LinkPLSA(12, seeds=seeds, max_iter=60, random_state=0).fit(X)
for name, words in zip(seeds, model.top_features("words", n=6)):
    print(name, [word for word, _ in words])

# %%
# The other topics are named by what their functions contain more often than others (weighted log-odds). Names by hand
# come last, and all of them stay with the model: in its file, in reports and in tables.
given = inspect(model).structure.given_names
name_groups(model, X)
set_group_names(model, given)
for number, name in enumerate(inspect(model).group_names):
    print(number, name)

# %%
# `namer` asks any function instead, such as one that sends ``card.prompt()`` to a language model. It is given what all
# views say of a topic.
cards = []
name_groups(model, X, namer=lambda card: cards.append(card) or card.name)
set_group_names(model, given)
print(cards[3].prompt())

# %%
# Which functions does no topic explain? One half of each is predicted from the other half, and the likelihood is
# compared with that of functions of the same length.
table = inspect(model).outliers(X, false_alarm=0.01)
print(table)

# %%
# Fifty functions whose names and words belong to other functions are no outliers by their length, but by what is in
# them: half of the counts of one function says nothing of the other half.
rng = np.random.default_rng(0)
chosen = rng.choice(len(X), 50, replace=False)
strange = X[chosen].map(lambda matrix: matrix[:, rng.permutation(matrix.shape[1])])
reference = inspect(model).outliers(X)
odd = inspect(model).outliers(strange, reference=X)

fig, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
bins = np.linspace(-12, 4, 60)
axis.hist(
    reference.scores.clip(-12),
    bins=bins,
    density=True,
    color="#3b6fb6",
    label="functions",
)
axis.hist(
    odd.scores.clip(-12),
    bins=bins,
    density=True,
    color="#d9822b",
    alpha=0.8,
    label="with other words, as often",
)
axis.axvline(
    odd.threshold, color="#5f6368", linestyle="--", label="threshold: 1 % false alarms"
)
axis.spines[["top", "right"]].set_visible(False)
axis.set(xlabel="score, in standard deviations from what is usual", ylabel="density")
axis.legend(frameon=False)
plt.show()
