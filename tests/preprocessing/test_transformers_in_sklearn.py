"""Scikit-learn's own checks over the transformers of views.

Those checks compare arrays, so each class is checked as it is but for the last step: the one view of a plain matrix is
taken out of the `Views` that `transform` returns.
"""

import numpy as np
import pytest
from sklearn.base import TransformerMixin
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from coview import EmbeddingViews, Views
from coview.preprocessing.scaling import ScaledViews
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.preprocessing.weighting import TfidfViews, UnitRows


class Unwrapped:
    def transform(self, X):
        views = super().transform(X)
        assert isinstance(views, Views)
        return views["x"]

    fit_transform = TransformerMixin.fit_transform  # ours looks at the views before it hands them on


class PlainTfidf(Unwrapped, TfidfViews):
    pass


class PlainUnitRows(Unwrapped, UnitRows):
    pass


class PlainScaledViews(Unwrapped, ScaledViews):
    pass


def checks() -> pytest.MarkDecorator:
    """Those of scikit-learn, without those of array-API input, which skip themselves."""
    made = parametrize_with_checks([PlainTfidf(), PlainUnitRows(), PlainScaledViews()])
    names, cases = made.args
    return pytest.mark.parametrize(names, [c for c in cases if "check_array_api" not in str(c)], **made.kwargs)


@checks()
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def encode(items):
    return np.array([[len(str(item)), 1.0] for item in items])


@pytest.mark.parametrize(
    "estimator", [TextViews(), TableViews("text"), EmbeddingViews(encode)], ids=lambda e: type(e).__name__
)
@pytest.mark.filterwarnings("ignore:.*Can't test estimator")
def test_those_that_take_tables_pass_the_checks_that_need_no_matrix(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
