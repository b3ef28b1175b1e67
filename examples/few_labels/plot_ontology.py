"""
Classification under an ontology
================================

A function of ``scipy.linalg`` is also a function of ``scipy``, and of no other package. `SeededKMeansClassifier` takes
such constraints into account, with few labels and several views, and computes the optimal consistent label set of
every object.
"""

# %%
# Functions of 22 subpackages by the words of their docstrings and the names in their code. Two levels: the package, and
# the subpackage. Labels of one level exclude each other.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedGroupKFold

from coview import (
    AutoClassifier,
    Ontology,
    SeededKMeansClassifier,
    TfidfViews,
    solve_labels,
)
from coview.datasets import load_python_packages
from coview.metrics import hierarchical_f1, view_agreement

corpus = load_python_packages()
names = corpus.target_names.astype(str)
top = {
    name: name.partition(".")[0] if "." in name else "standard library"
    for name in names
}
ontology = Ontology.from_edges(top.items())
print(ontology)

# %%
# Labels come from two thirds of the source files, one in twenty of their functions; the functions of the other files
# are the test set. `y` holds the most specific label; the package is implied.
X = TfidfViews(sublinear_tf=True).fit_transform(corpus.views)
train, test = next(
    StratifiedGroupKFold(3, shuffle=True, random_state=0).split(
        X, corpus.target, corpus.groups
    )
)
rng, y = np.random.default_rng(0), np.full(len(X), None)
for k, name in enumerate(names):
    rows = rng.permutation(train[corpus.target[train] == k])
    y[rows[: int(np.ceil(0.05 * len(rows)))]] = name

# %%
# The views' scores (cosines with the centroids) are combined by their sum, their product, or by maximal agreement of
# the label sets of the views; without the ontology and with it.
truth, rows = names[corpus.target][test], []
for combine in ("sum", "product", "max_agree"):
    for levels in (None, ontology):
        model = SeededKMeansClassifier(combine, levels, n_jobs=1).fit(X, y)
        found = model.transduction_[test].astype(str)
        scores = (
            f1_score(truth, found, average="macro", labels=names),
            hierarchical_f1(truth, found, ontology),
        )
        rows.append((combine, levels is not None, *scores, model.history_["flips"]))
        print(
            f"{combine:10s} {'ontology' if levels else 'flat':9s} leaf F1 {scores[0]:.3f}, hierarchical {scores[1]:.3f}"
        )

fig, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), width_ratios=[1.4, 1], layout="constrained"
)
for shift, (combine, levels, leaf, whole, flips) in enumerate(rows):
    place = shift // 2 + (0.22 if levels else -0.22)
    color = "#3b6fb6" if levels else "#9aa0a6"
    left.bar(place - 0.1, leaf, 0.18, color=color)
    left.bar(place + 0.1, whole, 0.18, color=color, alpha=0.55)
    style = {"sum": "-", "product": ":", "max_agree": "--"}[combine]
    right.plot(
        range(1, len(flips)),
        flips[1:],
        style,
        color=color,
        label=f"{combine}, {'ontology' if levels else 'flat'}",
    )
left.set_xticks(range(3), ["sum", "product", "max_agree"])
left.set(
    ylim=(0, 1),
    title="leaf macro F1 (dark) and hierarchical F1 (light)\ngrey: flat, blue: with the ontology",
)
right.set(yscale="symlog", xlabel="iteration", title="bits of labels that still change")
right.legend(frameon=False, fontsize=8)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)

# %%
# Predictions by view: `predict_labels` returns the consistent set of an object, `predict_labels_by_view` the set of
# each view; `n_violations_` counts the soft constraints that were violated in the fit.
by_view = model.predict_labels_by_view(X[test])
print(f"views with the same set: {view_agreement(*by_view.values()):.2f}")
first = X[test[:1]]
print(
    {
        view: [str(ontology.labels[j]) for j in np.flatnonzero(on[0])]
        for view, on in by_view.items()
    }
)
print(
    "consistent set:",
    [str(ontology.labels[j]) for j in np.flatnonzero(model.predict_labels(first)[0])],
)
print("broken constraints in the fit:", model.n_violations_)

# %%
# `AutoClassifier` takes the ontology too. Its calibrated probabilities of both levels are multiplied. With
# `confidence`, uncertain functions are given the package alone: fewer answers name a subpackage, and more of the
# answers are right.
flat = AutoClassifier(random_state=0).fit(X, y)
auto = AutoClassifier(ontology=ontology, random_state=0).fit(X, y)
for title, found in {
    "flat": flat.transduction_[test],
    "ontology": auto.transduction_[test],
}.items():
    leaf = f1_score(truth, found.astype(str), average="macro", labels=names)
    print(
        f"{title:9s} leaf F1 {leaf:.3f}, hierarchical {hierarchical_f1(truth, found, ontology):.3f}"
    )
for confidence in (0.0, 0.5, 0.8):
    found = auto.set_params(confidence=confidence).predict(X[test])
    named = np.array([label is not None for label in found])
    right = [
        label in ontology.close(own) for label, own in zip(found[named], truth[named])
    ]
    print(
        f"confidence {confidence}: {np.isin(found, names).mean():.0%} at a subpackage, {np.mean(right):.0%} right"
    )

# %%
# `solve_labels` solves the same program for any scores of objects, views and labels.
scores = np.stack(list(model.decision_function_by_view(X[test]).values()), axis=1)
labels, objective = solve_labels(scores, ontology=ontology)
print(labels.shape, objective[:3].round(3))
plt.show()
