"""
Topics that live
================

New rows come in: a fitted topic model is updated, and says which topics were kept, drifted, were born or died.
"""

# %%
# A stream of three batches with known topics: the second one has a new topic in 3 % of its rows, of the third one topic
# is gone. Each topic is a distribution over 300 words.
import matplotlib.pyplot as plt
import numpy as np

from coview import LinkPLSA, Views, edit, inspect, update

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(300, 0.1), 6)
names = {"words": [f"word{j}" for j in range(300)]}


def draw(shares):
    """Rows of 40 words or so from some of the topics."""
    mixtures = np.array([rng.dirichlet(0.2 * np.array(row) + 1e-9) for row in shares])
    lengths = 20 + rng.poisson(20, len(mixtures))
    words = [rng.multinomial(n, row) for n, row in zip(lengths, mixtures @ topics)]
    return Views({"words": np.array(words, dtype=float)}, feature_names=names)


usual, planted, fewer = [1] * 5 + [0], [0] * 5 + [20], [1] * 4 + [0, 0]
first = draw([usual] * 1000)
second = draw([planted] * 18 + [usual] * 582)
third = draw([fewer] * 600)

# %%
# The model of the first batch, with a name and a merge by hand.
model = edit(LinkPLSA(5, n_init=3, random_state=0).fit(first))
model.rename(0, "our favorite").merge([1, 2])

# %%
# The second batch: one topic was born. It has the next free number; names, numbers and edits stay.
found = update(model, second)
print(found)
print(inspect(found.model).group_names)

# %%
# The third batch: one topic has died. It stays in the model, should it come back.
later = update(found.model, third)
print(later)

# %%
# Shares before and now. The topic that was born is drawn from zero.
figure, axes = plt.subplots(2, 1, figsize=(8, 6), layout="constrained")
found.plot(axes[0])
later.plot(axes[1])
plt.show()
