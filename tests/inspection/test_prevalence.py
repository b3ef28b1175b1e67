"""Prevalence of groups: means by pandas, intervals by scipy and by coverage, bins of dates, numbers and categories."""

import datetime as dt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import bootstrap
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, TableViews, edit, inspect, make_report
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.inspection.prevalence import group_prevalence, make_bins

DATA = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
MODEL = LinkPLSA(3, random_state=0).fit(DATA.views)
VENUES = np.array(["north", "south", "east"])[DATA.target]


def test_shares_are_means_of_memberships():
    pandas = pytest.importorskip("pandas")
    memberships = MODEL.transform(DATA.views)
    table = inspect(MODEL).prevalence(DATA.views, by=VENUES)
    expected = pandas.DataFrame(memberships).groupby(VENUES).mean()
    for b, venue in enumerate(table.bins.labels):
        assert_allclose(table.shares[b], expected.loc[venue])
    assert table["n_objects"][::3] == [int((label == VENUES).sum()) for label in table.bins.labels]
    assert_allclose(table.shares.sum(axis=1), 1.0)


def test_intervals_are_scipys():
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 80)
    table = group_prevalence([0, 1, 2], ["a", "b", "c"], rows, ["x"] * 80)
    more = np.vstack([rows, np.zeros(3), np.ones(3)])
    theirs = bootstrap((more,), np.mean, method="percentile", n_resamples=5000, random_state=0).confidence_interval
    assert_allclose(table.low[0], theirs.low, atol=0.01)
    assert_allclose(table.high[0], theirs.high, atol=0.01)


@pytest.mark.parametrize(
    ("days", "labels"),
    [
        (1, ["2023-12-30", "2023-12-31", "2024-01-01", "2024-01-02"]),
        (30, ["2023-12", "2024-01", "2024-02", "2024-03", "2024-04"]),
        (366, ["2023", "2024", "2025", "2026", "2027"]),
        (7305, ["2020s", "2030s", "2040s", "2050s", "2060s", "2070s", "2080s", "2090s", "2100s"]),
    ],
)
def test_time_is_cut_into_the_shortest_periods_that_have_enough_objects(days, labels):
    first = dt.date(2023, 12, 30)
    dates = [first + dt.timedelta(days=days * (i % 80) // 20) for i in range(80)]
    bins = make_bins(dates)
    assert bins.kind == "time"
    assert bins.labels == labels
    assert (bins.codes >= 0).all()
    assert (np.diff(bins.places) > 0).all()


def test_numbers_are_cut_at_quantiles_and_few_numbers_are_kept():
    values = np.random.default_rng(0).lognormal(size=800)
    bins = make_bins(values, n_bins=5)
    assert np.bincount(bins.codes).tolist() == [160] * 5
    assert make_bins([1, 2, 2, 7]).labels == ["1", "2", "7"]
    assert make_bins([3.0] * 50).labels == ["3"]
    assert make_bins(list(range(10)) * 3, n_bins=2).labels == ["0 to 4", "5 to 9"]


def test_a_frequent_number_is_a_bin_and_labels_differ():
    bins = make_bins([0] * 190 + list(range(1, 14)))
    assert bins.labels[0] == "0"
    assert len(bins.labels) > 2
    assert (bins.codes == 0).sum() == 190
    close = make_bins(np.arange(20200101, 20200131))
    assert len(set(close.labels)) == len(close.labels) == 8
    assert make_bins([1600000001, 1600000002]).labels == ["1600000001", "1600000002"]
    with pytest.raises(ViewsError, match="finite"):
        make_bins([1.0, np.inf])


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["2020-05", "2021-06"], ["2020-05", "2021-06"]),
        (["2020", "2019"], ["2019", "2020"]),
        (["1971-01-01", "1970-01-01"], ["1970", "1971"]),
    ],
)
def test_months_and_years_as_texts_are_dates(texts, labels):
    bins = make_bins([*texts * 30, None])
    assert bins.kind == "time"
    assert bins.labels == labels


def test_rare_categories_are_one_and_gaps_are_left_out():
    values = ["a"] * 5 + ["b"] * 4 + ["c", "d", None, float("nan")]
    bins = make_bins(values, n_bins=3)
    assert bins.labels == ["a", "b", "2 others"]
    assert bins.codes.tolist() == [0] * 5 + [1] * 4 + [2, 2, -1, -1]


def test_columns_of_a_table_are_named():
    table = {"words": ["red fox", "blue sea", "red den", "sea wave"] * 10, "venue": ["a", "b", "a", "b"] * 10}
    from sklearn.pipeline import make_pipeline

    from coview import TextViews

    model = make_pipeline(TextViews("words", min_df=1), LinkPLSA(2, random_state=0)).fit(table)
    found = inspect(model).prevalence(table, by="venue")
    assert found.by == "venue"
    assert np.abs(found.shares[0] - found.shares[1]).max() > 0.5
    assert make_report(model, table, by="venue").summary["prevalence"][0]["values"] == ["a", "b"]
    series = pytest.importorskip("pandas").Series(table["venue"], name="place")
    assert inspect(model).prevalence(table, by=series).by == "place"
    with pytest.raises(ViewsError, match=r"no column 'venu' for by.*Did you mean 'venue'"):
        inspect(model).prevalence(table, by="venu")


def test_a_bad_date_is_left_out_and_texts_are_no_categories():
    dates = [f"2024-{1 + i % 12:02d}-01" for i in range(100)] + ["unknown"]
    with pytest.warns(UserWarning, match="1 of 101 values of 'date' are no dates, such as 'unknown'"):
        bins = make_bins(dates, "date")
    assert (bins.kind, bins.codes[-1]) == ("time", -1)
    with pytest.warns(UserWarning, match="'when' has 100 different values"):
        make_bins([f"{i % 28 + 1}/{i}/2024" for i in range(100)], "when")


@pytest.mark.parametrize(
    ("n_months", "n_bins", "labels"),
    [
        (12, 4, ["2025 Q1", "2025 Q2", "2025 Q3", "2025 Q4"]),
        (24, 3, ["2025", "2026"]),
        (5, 2, ["2025 Q1", "2025 Q2"]),
        (3, 2, ["2025-01", "2025-02", "2025-03"]),
        (36, 4, ["2025", "2026", "2027"]),
    ],
)
def test_few_bins_of_dates_are_two_at_least(n_months, n_bins, labels):
    days = [
        f"{2025 + i // 12 % (n_months // 12 or 1)}-{1 + i % min(n_months, 12):02d}-{1 + i % 28:02d}" for i in range(720)
    ]
    assert make_bins(days, n_bins=n_bins).labels == labels


def test_an_object_with_several_values_counts_for_each_once():
    rows = np.eye(2)[[0, 1, 1, 0]]
    table = group_prevalence([0, 1], ["a", "b"], rows, [["x", "y"], ["y", "y"], ("x",), "y"])
    assert table.bins.labels == ["y", "x"] and table.counts.tolist() == [3, 2]
    assert_allclose(table.shares, [[2 / 3, 1 / 3], [0.5, 0.5]])
    assert (table.n_objects, table.n_missing) == (4, 0)
    with pytest.raises(ViewsError, match="4 objects, got 2 values"):
        group_prevalence([0, 1], ["a", "b"], rows, [["x", "y"], ["y", "y"]])


@pytest.mark.parametrize("values", [["x", None, " ", "x"], [["x"], [], None, ["x", ""]]])
def test_objects_without_a_value_are_counted_and_told_of(values):
    with pytest.warns(UserWarning, match="2 of 4 objects have no value of 'venue', and are left out") as told:
        table = group_prevalence([0, 1], ["a", "b"], np.eye(2)[[0, 1, 1, 0]], values, by="venue")
    assert len(told) == 1 and table.n_missing == 2 and table.counts.tolist() == [2]
    assert "2 more without a value" in repr(table)


def test_a_column_that_the_model_reads_as_lists_is_split_as_the_model_does():
    table = {
        "body": ["red fox den", "blue sea wave"] * 20,
        "tags": ["red; old (>= 2)", "blue; old"] * 20,
        "kind": ["a; b"] * 40,
    }
    front = TableViews({"words": "body"}, tokens={"tags": "tags"}, min_df=1, max_df=1.0)
    model = make_pipeline(front, LinkPLSA(2, random_state=0)).fit(table)
    expected = [["red", "old"], ["blue", "old"]] * 20
    for each in (model, edit(model)):
        found = inspect(each).prevalence(table, by="tags")
        assert found.bins.labels == inspect(each).prevalence(table, by=expected).bins.labels == ["old", "blue", "red"]
        assert inspect(each).prevalence(table, by="kind").bins.labels == ["a; b"]  # the model knows nothing of it
    (part,) = make_report(model, table, by="tags", held_out=False, map_method="pca").summary["prevalence"]
    assert part["values"] == ["old", "blue", "red"]
