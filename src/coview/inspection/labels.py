"""Labels of an ontology as a tree, with the number of objects of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.inspection.contract import Inspection
from coview.inspection.reading import predict_label_sets
from coview.views.views import Views

__all__ = ["label_tree"]


def label_tree(inspection: Inspection, views: Views | None = None) -> dict[str, Any] | None:
    """Return the labels of a model's ontology from top to bottom, with counts of objects; None without an ontology.

    Objects are those of the fit, or `views` as the estimator itself takes them.

    Returns
    -------
    dict
        With "lines" (of "label", "level", "count", "again"), "n_objects", "n_exclusive" (pairs of labels) and
        "n_broken" (constraints that single views broke in the fit).

    Examples
    --------
    >>> from coview import Ontology, SeededKMeansClassifier, inspect
    >>> X = Views(words=np.array([[3, 0, 0], [0, 3, 1], [2, 1, 0], [0, 0, 2]]))
    >>> tree = Ontology.from_tree({"animal": ["cat", "dog"]})
    >>> model = SeededKMeansClassifier(ontology=tree).fit(X, ["cat", "dog", None, None])
    >>> [(line["label"], line["level"], line["count"]) for line in label_tree(inspect(model), X)["lines"]]
    [('animal', 0, 4), ('cat', 1, 2), ('dog', 1, 2)]
    """
    ontology = inspection.structure.ontology
    if ontology is None:
        return None
    sets: Any = (
        inspection.training.label_sets if views is None else predict_label_sets(inspection, views, prepared=True)
    )
    counts = dict(zip(map(str, ontology.labels), np.asarray(sets)[:, : len(ontology)].sum(axis=0).tolist()))
    return {
        "lines": [
            {"label": str(label), "level": level, "count": counts[str(label)], "again": again}
            for label, level, again in ontology.walk()
        ],
        "n_objects": len(sets),
        "n_exclusive": len(ontology.mutex),
        "n_broken": inspection.training.n_violations,
    }
