"""What a model is and how it was made."""

from __future__ import annotations

import json

from coview import (
    AutoClassifier,
    AutoClustering,
    SphericalKMeans,
    inspect,
    make_report,
)
from coview.auto.votes import N_CLUSTERINGS, SCALES
from coview.report.model import describe_model, written


def test_versions_are_those_here(make):
    import numpy
    import sklearn

    found = describe_model(inspect(make("PLSA")))["versions"]
    assert found["numpy"] == numpy.__version__ and found["scikit-learn"] == sklearn.__version__
    json.dumps(found)


def test_the_candidates_of_a_classifier_are_named(data):
    X, y = data
    model = AutoClassifier(random_state=0, cv=2).fit(X, y)
    assert describe_model(inspect(model))["candidates"] == model.candidates_
    page = make_report(model).html
    assert 'aria-label="Candidates"' in page
    assert all(name.replace("_", " ") in page for name in model.candidates_)
    assert describe_model(inspect(SphericalKMeans(3, random_state=0).fit(X)))["candidates"] == {}


def test_clusterings_that_voted_are_told_of(data):
    model = AutoClustering(3, random_state=0).fit(data[0])
    page = make_report(model).html
    assert (
        f"{len(SCALES) * N_CLUSTERINGS} clusterings of the objects voted: on average, " in page
        and "Objective" not in page
    )


def test_functions_are_written_by_name():
    assert written(len) == "<built-in function len>" and written(make_report) == "make_report"
    assert written(lambda text: text) == "..." and written({"a": object()}) == "{'a': ...}"
