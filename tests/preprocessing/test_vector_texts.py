"""Vectors that a CSV file holds as texts: refused, since each would be a category of its own."""

from __future__ import annotations

import numpy as np
import pytest

from coview import ColumnViews, CoTrainingClassifier, Views
from coview.exceptions import ViewsError


@pytest.mark.parametrize("vector", ["[0.5, -1e-3]", "[ 1 2 3 ]", "[0.25,0.5,]"])
def test_vectors_written_as_texts_are_refused(vector):
    with pytest.raises(ViewsError, match=r"'vec' of view 'v' holds vectors written as texts, such as '"):
        ColumnViews({"v": ["vec"]}).fit({"vec": [vector, None, vector]})


@pytest.mark.parametrize("text", ["[red]", "[1]", "0.5, 1.0", "[]"])
def test_other_texts_in_brackets_are_categories(text):
    assert ColumnViews({"v": ["kind"]}).fit_transform({"kind": [text, "b", text]})["v"].shape == (3, 2)


def test_co_training_names_the_view_that_holds_no_counts():
    X = Views(words=np.eye(6), vector=-np.eye(6))
    with pytest.raises(ViewsError, match="View 'vector' has negative values"):
        CoTrainingClassifier().fit(X, np.arange(6) % 2)
