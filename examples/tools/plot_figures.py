"""
Figures of a fitted model
=========================

Figures of what a model found, in the style of scikit-learn's displays. The page that ``make_report(model, X, y)`` makes has the
same, and more.
"""

# %%
# Functions and classes of installed Python packages, by the words of their documentation and the names in their code.
import matplotlib.pyplot as plt
import numpy as np

from coview import MultiViewPLSA, make_report
from coview.datasets import load_python_packages
from coview.plot import ObjectMapDisplay, TopicsDisplay

corpus = load_python_packages()
names = np.array(corpus.target_names)[corpus.target]
kept = np.isin(
    names, ["scipy.linalg", "scipy.signal", "scipy.stats", "email", "sklearn.cluster"]
)
X, y = corpus.views[kept], names[kept]
model = MultiViewPLSA(n_clusters=5, n_components=12, random_state=0).fit(X)
print(X)

# %%
# The fit: the log-likelihood never decreases.
plt.plot(model.history_["objective"])

# %%
# The features that distinguish each cluster, in the words and in the code.
TopicsDisplay.from_estimator(model, n_features=6)

# %%
# A map in which objects that are similar to the model are close to each other, colored by package.
ObjectMapDisplay.from_estimator(model, X, y)

# %%
# All of this, and more, is on one page that you can share: ``make_report(model, X, y).save("report.html")``.
summary = make_report(model, X, y).summary
for row in summary["views"]["rows"]:
    print(f"{row['name']:6s} alone: {summary['views']['measure']} {row['alone']:.2f}")
print(f"both         {summary['views']['measure']} {summary['views']['whole']:.2f}")
