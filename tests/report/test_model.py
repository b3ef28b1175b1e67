"""What a model is and how it was made."""

from __future__ import annotations

import json

from coview import (
    AutoClassifier,
    SphericalKMeans,
    inspect,
    make_report,
)
from coview.report.model import describe_model


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
