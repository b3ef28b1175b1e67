"""Quality, prevalence and tree of the explorer: the numbers of `inspect`, worked out once; and their pages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from coview import (
    PLSA,
    CrossModalRetriever,
    LinkPLSA,
    MultiViewCCA,
    MultiViewNaiveBayes,
    TableViews,
    TextViews,
    Views,
    inspect,
    save,
)
from coview.cli import serve as commands
from coview.exceptions import ViewsError
from coview.inspection.hierarchy import GroupHierarchy
from coview.web import insights
from coview.web.api import make_app
from coview.web.explorer import Explorer
from coview.web.run import running
from coview.web.service import Service

N = 60


@pytest.fixture(scope="module")
def table():
    return {
        "title": [f"The {i}th story" for i in range(N)],
        "date": [f"20{10 + i % 10}-03-01" for i in range(N)],
        "venue": [None if i == 5 else f"<i>venue</i> {i % 3}" for i in range(N)],
    }


@pytest.fixture(scope="module")
def model(small):
    return LinkPLSA(5, random_state=0, max_iter=20).fit(small[0])


@pytest.fixture(scope="module")
def explorer(small, model, table):
    return Explorer(Service(model, small[0], table=table))


def test_quality_is_that_of_inspect(explorer, small, model):
    expected = inspect(model).quality(small[0])
    answer = explorer.insights.quality("topic")
    for view in ("words", "image"):
        means = next(part for part in answer["views"] if part["name"] == view)
        for name in ("npmi", "c_v", "exclusivity"):
            rows = [group["views"][view][name] for group in answer["groups"]]
            own = [value for value, each in zip(expected[name], expected["view"]) if each == view]
            np.testing.assert_allclose(rows, own, rtol=1e-3)
            assert means[name] == pytest.approx(np.mean(own), rel=1e-3)
        assert means["diversity"] == pytest.approx(expected.means[view]["diversity"])


def test_prevalence_is_that_of_inspect(explorer, small, model, table):
    expected = inspect(model).prevalence(small[0], by=table["venue"])
    answer = explorer.insights.prevalence("topic", "venue")
    assert answer["values"] == expected.bins.labels and answer["without"] == 1 and not answer["ordered"]
    for name, part in {"share": expected.shares, "low": expected.low, "high": expected.high}.items():
        np.testing.assert_allclose([group[name] for group in answer["groups"]], part.T, rtol=1e-3)
    assert explorer.insights.prevalence("topic")["by"] == "date" and explorer.insights.prevalence("topic")["ordered"]


def test_the_tree_is_that_of_inspect(explorer, small, model):
    answer, expected = explorer.insights.tree("topic"), inspect(model).hierarchy(small[0])
    np.testing.assert_allclose(answer["joins"], expected.linkage[:, :3], atol=1e-4)
    assert answer["order"] == expected.order and sum(group["size"] for group in answer["groups"]) == N


def test_nothing_is_worked_out_twice(explorer, monkeypatch):
    asked = [
        lambda: explorer.insights.quality("topic"),
        lambda: explorer.insights.prevalence("topic", "venue"),
        lambda: explorer.insights.tree("topic"),
    ]
    first = [ask() for ask in asked]
    for name in ("group_quality", "group_prevalence", "group_hierarchy"):
        monkeypatch.setattr(insights, name, None)
    assert all(ask() is one for ask, one in zip(asked, first))


def test_columns_are_those_that_were_asked_for(small, model, table):
    chosen = Explorer(Service(model, small[0], table=table, by=["venue"]))
    assert chosen.insights.columns == ["venue"] and chosen.insights.prevalence("topic")["by"] == "venue"
    with pytest.raises(ViewsError, match="Prevalence is shown by the columns 'venue', not by 'date'"):
        chosen.insights.prevalence("topic", "date")
    with pytest.raises(ViewsError, match=r"no column 'venu' for by.*Did you mean 'venue'"):
        Service(model, small[0], table=table, by=["venu"])
    with pytest.raises(ViewsError, match="by names columns of a raw table, 'venue', but the objects come from none"):
        Service(model, small[0], by=["venue"])


@pytest.mark.parametrize("by", [(), ("tags",)])
def test_lists_of_the_model_are_columns_of_items(by):
    rows = {"body": ["red fox den", "blue sea wave"] * 20, "tags": [f"{'ab'[i % 2]};t{i}" for i in range(40)]}
    front = TableViews({"words": "body"}, tokens={"tags": "tags"}, min_df=1, max_df=1.0).fit(rows)
    model = make_pipeline(front, LinkPLSA(2, random_state=0)).fit(rows)
    explorer = Explorer(Service(model, front.transform(rows), table=rows, by=by))
    assert "tags" in explorer.insights.columns
    assert {"a", "b"} <= set(explorer.insights.prevalence("topic", "tags")["values"])


def test_what_cannot_be_said_is_refused(small, model):
    bare = Explorer(Service(model)).insights
    with pytest.raises(ViewsError, match="Start the explorer with data"):
        bare.quality("topic")
    with pytest.raises(ViewsError, match="or there is no table"):
        bare.prevalence("topic")
    assert len(bare.tree("topic")["joins"]) == 4  # the model says what its topics are made of
    for kind in ("component", "nonsense"):
        with pytest.raises(ViewsError, match="not sorted into groups of kind"):
            Explorer(Service(MultiViewCCA(2, random_state=0).fit(small[0]))).insights.tree(kind)


def test_groups_of_every_model_beside_the_first_have_numbers(small, model):
    X, y = small
    both = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, also=[model])).insights
    assert both.kinds() == ["class", "topic"] and len(both.quality("topic")["groups"]) == 5
    for page in (both.quality, both.tree):  # classes are judged by accuracy
        with pytest.raises(ViewsError, match="has no such page"):
            page("class")


def test_views_of_vectors_have_no_quality():
    vectors = Views(a=np.random.default_rng(0).normal(size=(N, 4)), b=np.random.default_rng(1).normal(size=(N, 5)))
    retriever = CrossModalRetriever(MultiViewCCA(2, random_state=0)).fit(vectors)
    service = Service(LinkPLSA(3, random_state=0, max_iter=5).fit(vectors), vectors, also=[retriever])
    answer = Explorer(service).insights.quality("topic")
    assert answer["views"] == [] and [group["views"] for group in answer["groups"]] == [{}, {}, {}]


def test_by_needs_a_table_on_the_command_line(tmp_path):
    with pytest.raises(ValueError, match="--by names columns of a raw table"):
        commands.explore(model=tmp_path / "model.coview", by=["date"])


def test_columns_of_the_command_line_are_shown(tmp_path, table, monkeypatch):
    words = ["red fox runs", "blue sea waves", "green tree leaf"]
    rows = {**table, "body": [words[i % 3] for i in range(N)], "Where, roughly": ["here", "there"] * (N // 2)}
    model = make_pipeline(TextViews(columns=["body"], min_df=1), PLSA(2, random_state=0, max_iter=5)).fit(rows)
    save(model, tmp_path / "model.coview")
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    shown = []
    monkeypatch.setattr(commands, "_run", lambda service, *args, **kwargs: shown.append(service))
    for by, columns in (
        (["venue, date"], ["venue", "date"]),
        (["date", "Where, roughly", "venue"], ["date", "Where, roughly", "venue"]),
    ):
        commands.explore(model=tmp_path / "model.coview", data=tmp_path / "rows.csv", by=by)
        assert Explorer(shown.pop()).insights.columns == columns


# -- pages


@pytest.fixture(scope="module")
def address(explorer):
    with running(make_app(explorer.service, page=True)) as url:
        yield url


@pytest.fixture
def page(browser, address):
    """A fresh page; what it says on its console fails the test."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    found.set_default_timeout(20_000)
    yield found
    assert found.locator("html").evaluate("root => root.scrollWidth") <= 390
    context.close()
    assert wrong == []


def test_quality_has_a_page(page, address, explorer):
    page.goto(f"{address}/#/quality")
    page.get_by_text("Each topic").wait_for()
    rows = page.locator("table", has_text="Each topic").locator("tbody tr")
    shown = [row.split("\t")[1].replace("\u2212", "-") for row in rows.all_inner_texts()]
    own = {group["name"]: group["views"]["words"]["npmi"] for group in explorer.insights.quality("topic")["groups"]}
    names = rows.locator("th").all_inner_texts()
    assert shown == [f"{own[name]:.2f}" for name in names]
    page.get_by_label("Order").select_option("")
    assert rows.locator("th").all_inner_texts() == list(own)


def test_prevalence_has_a_page_for_time_and_for_categories(page, address, explorer):
    page.goto(f"{address}/#/prevalence")
    page.locator(".prevalence svg").first.wait_for()
    assert page.locator(".prevalence svg").count() == 5
    assert "by date:" in page.locator(".prevalence svg").first.get_attribute("aria-label")
    page.get_by_label("By", exact=True).select_option("venue")
    page.locator(".bars .name", has_text="<i>venue</i> 2").first.wait_for()
    page.get_by_text("1 object without a value of venue").wait_for()
    answer = explorer.insights.prevalence("topic", "venue")
    largest = max(answer["groups"], key=lambda group: group["mean"])
    first = page.locator(".card.prevalence").first
    assert largest["name"] in first.inner_text() and page.url.endswith("by=venue")
    low, high = largest["low"][0], largest["high"][0]
    whisker = first.locator(".whisker").first.evaluate("el => [parseFloat(el.style.left), parseFloat(el.style.width)]")
    assert whisker[1] / whisker[0] == pytest.approx((high - low) / low, rel=0.01)


def test_the_tree_is_cut_by_keys_as_python_cuts_it(page, address, explorer):
    page.goto(f"{address}/#/tree")
    page.get_by_label("Cut into").wait_for()
    page.get_by_label("Cut into").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    page.get_by_text("1 part of 5 topics").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_text("2 parts of 5 topics").wait_for()
    assert "#/tree?parts=2" in page.url and page.locator(".part").count() == 2
    answer = explorer.insights.tree("topic")
    keys = [str(k) for k in range(5)]
    tree = GroupHierarchy(inspect(explorer.service.model.model).hierarchy(explorer.service.data).linkage, keys, keys)
    for n in range(1, 6):
        script = "([answer, n]) => import('/static/insights.js').then((module) => module.cut(answer, n))"
        assert page.evaluate(script, [answer, n]) == tree.cut(n).tolist()
