"""Labels that pandas knows to be in another order than the objects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClassifier,
    MultiViewNaiveBayes,
    MultiViewPassiveAggressiveClassifier,
    MultiViewPLSAClassifier,
    TableViews,
    Views,
    compare,
    make_report,
    suggest_labels,
)
from coview.exceptions import ViewsError
from coview.views.views import check_same_order

IDS = [f"p{i}" for i in range(24)]
RNG = np.random.default_rng(0)
WORDS = pd.DataFrame(RNG.poisson(1.0, (24, 6)), index=IDS).add_prefix("w")
LINKS = pd.DataFrame(RNG.poisson(1.0, (24, 4)), index=IDS).add_prefix("l")
Y = pd.Series(["a", "b"] * 12, index=IDS)
SHUFFLED = Y.sample(frac=1, random_state=0)

TWO = Views(w=WORDS, l=LINKS)

HELD = {
    "frame": WORDS,
    "mapping": {"w": WORDS, "l": LINKS},
    "counted": {"n": LINKS.to_numpy(), "w": WORDS},
    "list": [WORDS, LINKS],
    "views": TWO,
}


@pytest.mark.parametrize("X", HELD.values(), ids=HELD)
def test_a_series_in_another_order_is_refused_whatever_holds_the_rows(X):
    with pytest.raises(ViewsError, match="The rows of y are in another order than those of X"):
        check_same_order(X, SHUFFLED, "y")
    with pytest.raises(ViewsError, match="in another order"):
        check_same_order(X, SHUFFLED.to_frame(), "y")
    for values in (
        Y,
        Y.to_frame(),
        SHUFFLED.to_numpy(),
        SHUFFLED.reset_index(drop=True),
        SHUFFLED.add_prefix("other "),
        None,
    ):
        check_same_order(X, values, "y")


def test_numbers_of_a_column_of_ids_are_not_taken_for_the_index_of_a_table():
    rows = pd.DataFrame({"id": RNG.permutation(24), "text": ["ship sail", "bread oven"] * 12, "y": ["a", "b"] * 12})
    rows = rows.sample(frac=1, random_state=1)
    model = make_pipeline(TableViews(text="text", id="id", min_df=1), MultiViewNaiveBayes()).fit(rows, rows["y"])
    assert model.predict(rows).tolist() == rows["y"].tolist()
    with pytest.raises(ViewsError, match="in another order"):
        model.fit(rows, rows["y"].sample(frac=1, random_state=2))


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (MultiViewNaiveBayes(), {"w": WORDS, "l": LINKS}),
        (MultiViewPLSAClassifier(max_iter=2, random_state=0), WORDS),
        (AutoClassifier(cv=2, random_state=0), TWO),
    ],
    ids=["dict", "frame", "Views"],
)
def test_a_fit_refuses_them(model, X):
    for fit in (lambda: model.fit(X, SHUFFLED), lambda: model.fit(X, y=SHUFFLED)):
        with pytest.raises(ViewsError, match="in another order"):
            fit()
    model.fit(X, Y)
    model.fit(X, SHUFFLED.to_numpy())


def test_so_do_batches_reports_comparisons_and_suggestions():
    X = {"w": WORDS, "l": LINKS}
    model = MultiViewNaiveBayes().fit(X, Y)
    for ask in (
        lambda: MultiViewPassiveAggressiveClassifier().partial_fit(X, SHUFFLED),
        lambda: make_report(model, X, SHUFFLED),
        lambda: make_report(model, X, Y, y_fit=SHUFFLED),
        lambda: make_report(model, X, by={"kind": SHUFFLED}),
        lambda: compare(X, SHUFFLED),
        lambda: suggest_labels(model, X, y=SHUFFLED),
    ):
        with pytest.raises(ViewsError, match="in another order"):
            ask()
