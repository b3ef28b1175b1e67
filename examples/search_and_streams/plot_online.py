"""
Learning from a stream with partial_fit
=======================================

`PLSA.partial_fit` takes one minibatch at a time: it folds the batch in and moves the topics toward it. Only one batch
is held in memory, however long the stream is.
"""

# %%
# A stream of 3,000 objects in batches of 100, and 300 held-out objects.
from coview import PLSA
from coview.datasets import make_topic_views

made = make_topic_views(
    3300, {"words": 500, "links": 200}, n_clusters=5, length=30, random_state=0
)
stream, held_out = made.views[:3000], made.views[3000:]

# %%
# ``learning_decay`` sets the weight of batch t: ``(10 + t) ** -learning_decay``. A small decay
# forgets the past sooner, a large one retains more of it.
decays = (0.5, 0.7, 0.9)
curves = {decay: ([], []) for decay in decays}
for decay in decays:
    online = PLSA(10, learning_decay=decay, random_state=0)
    for start in range(0, len(stream), 100):
        online.partial_fit(stream[start : start + 100])
        if (start // 100) % 3 == 0:
            curves[decay][0].append(start + 100)
            curves[decay][1].append(online.perplexity(held_out))
    print(
        f"decay {decay}: held-out perplexity {online.perplexity(held_out):.1f} after {online.n_batches_} batches"
    )

# %%
# The same model, fitted to the whole stream at once.
batch = PLSA(10, random_state=0).fit(stream)
best = batch.perplexity(held_out)
print(f"batch: {best:.1f} after {batch.n_iter_} iterations over all objects")

# %%
# One pass over minibatches comes close to many iterations over the whole data.
import matplotlib.pyplot as plt

fig, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for (decay, (seen, values)), color in zip(
    curves.items(), ("#d9822b", "#3b6fb6", "#9aa0a6")
):
    axis.plot(
        seen,
        values,
        "-",
        lw=2,
        color=color,
        label=f"partial_fit, learning_decay={decay}",
    )
axis.axhline(
    best, color="black", lw=1, ls="--", label=f"fit, {batch.n_iter_} iterations"
)
axis.set_xlabel("objects seen")
axis.set_ylabel("perplexity of held-out objects")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
plt.show()
