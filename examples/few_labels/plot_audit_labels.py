"""
Which labels are wrong
======================

Some labels of a data set are always wrong. ``audit_labels`` holds each label out, asks every view for the class of the
object, and sorts the labels by how likely they are wrong. Here it is compared with one classifier of all views.
"""

# %%
# Objects of six classes in two views, and a third one that is noise. A tenth of the labels are flipped, and half of
# these mistakes are the same: class 0 in place of class 1.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from coview import ConcatenatedViews, TfidfViews, Views, audit_labels
from coview.datasets import make_topic_views

data = make_topic_views(n_objects=600, n_clusters=6, quality=0.4, random_state=0)
rng = np.random.default_rng(0)
X = Views(**data.views, noise=rng.poisson(0.5, size=(600, 50)) + 0.0)
y = data.target.copy()
anywhere = rng.choice(600, 30, replace=False)
y[anywhere] = (y[anywhere] + rng.integers(1, 6, 30)) % 6
y[rng.permutation(np.flatnonzero(y == 1))[:30]] = 0
wrong = y != data.target

# %%
# The answer is a table, the most doubtful labels first; "reason" is what each view says.
audit = audit_labels(None, X, y)
print(audit)

# %%
# Beside it, what is common: a classifier of the views side by side, cross-validated, and its probability of the given
# label. Of the labels that one looks at, from the most doubtful on, more are wrong by the audit.
classifier = make_pipeline(TfidfViews(), ConcatenatedViews(LogisticRegression()))
shares = cross_val_predict(
    classifier, X, y, cv=StratifiedKFold(5), method="predict_proba"
)
order = np.argsort(audit.indices)
fig, axis = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for name, doubt in {
    "audit_labels": np.array(audit.columns["doubt"])[order],
    "one classifier": 1 - shares[np.arange(600), y],
}.items():
    precision, recall, _ = precision_recall_curve(wrong, doubt)
    axis.plot(recall, precision, label=name)
axis.set(
    xlabel="share of the wrong labels that are found",
    ylabel="share of those shown that are wrong",
)
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
