"""
Fit data that does not fit into memory
======================================

The same topic model is fitted three times: with all rows in memory, from a folder of shards that is read one block at
a time, and on the two workers of a small Dask cluster. All three follow the same curve.
"""

import tempfile

import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

from coview import PLSA, DaskEngine, read_views, write_views
from coview.datasets import make_topic_views

# %%
# Pages arrive in batches. Each batch is written as it arrives; the whole data set is never held in memory.
views = make_topic_views(
    2000, {"words": 800, "links": 300}, n_clusters=6, random_state=0
).views
folder = tempfile.mkdtemp() + "/pages"
write_views((views[i : i + 400] for i in range(0, 2000, 400)), folder)
pages = read_views(folder)
print(pages)

# %%
# In memory, from disk, on a cluster. ``processes=False`` keeps this example short; leave it out in production.
settings = {"n_components": 12, "max_iter": 40, "tol": 0, "random_state": 0}
fits = {
    "in memory": PLSA(**settings).fit(views),
    "from disk": PLSA(**settings).fit(pages),
}
with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster,
    Client(cluster) as client,
):
    fits["on a cluster"] = PLSA(engine=DaskEngine(client), **settings).fit(pages)
    print(
        "row state stays there until asked for:",
        type(fits["on a cluster"].memberships_).__name__,
    )

# %%
# The three curves coincide.
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, model), style in zip(fits.items(), ("-", "--", ":")):
    axis.plot(model.history_["objective"], style, linewidth=3, label=name)
axis.set_xlabel("iteration")
axis.set_ylabel("log-likelihood")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
plt.show()
