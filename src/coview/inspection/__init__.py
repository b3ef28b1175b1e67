"""What a fitted model says, of itself (`contract`) and of objects.

    adapters    `inspect`: one answer for every kind of model; adapters for scikit-learn's estimators
    contract    what the answer holds
    records     the plain records inside: of the fit, of the choice, of the model's parts
    preparation from what a model takes to what its estimator takes
    reading     memberships, positions and sets of labels of objects
    known       objects that a model knows nothing of
    memberships memberships made of labels, scores and distances, for estimators that answer
    features    which features make a group
    vectors     views of vectors, explained by objects and by the other views
    names       clusters and topics by a few of them
    phrases     the words and phrases that tell groups apart in objects
    naming      names that stay with a model: found, asked of a function, or given by hand
    captions    objects of a raw table in a line each
    hierarchy   the groups as a tree
    prevalence  groups over time, by numbers and by categories
    effects     shares of groups regressed on covariates
    quality     coherence of groups, and how different they are
    by_view     the same objects read from all views, from each alone, and without each
    outliers    objects that no group explains
    objects     a map of objects, the typical and the disputed ones, what is in them
    measures    readings against labels; curves of a fit
    choice      what a model was chosen or combined from, in a sentence
    labels      labels of an ontology as a tree, with counts

Displays, reports and the explorer are made of these.
"""

from __future__ import annotations

from coview.inspection.adapters import conventional_weights, describe_estimator, inspect
from coview.inspection.contract import KINDS, Inspection, numbered
from coview.inspection.features import Features, described_features
from coview.inspection.memberships import SHARPNESS, both_sides, near_centers, one_hot, shares_of, softmax
from coview.inspection.names import NAMED_BY_FEATURES
from coview.inspection.preparation import Preparation
from coview.inspection.records import Reading, Selection, Structure, Topics, Training

__all__ = [
    "KINDS",
    "NAMED_BY_FEATURES",
    "SHARPNESS",
    "Features",
    "Inspection",
    "Preparation",
    "Reading",
    "Selection",
    "Structure",
    "Topics",
    "Training",
    "both_sides",
    "conventional_weights",
    "describe_estimator",
    "described_features",
    "inspect",
    "near_centers",
    "numbered",
    "one_hot",
    "shares_of",
    "softmax",
]
