"""The section of a report on objects that no group explains."""

from __future__ import annotations

from coview import LinkPLSA, SphericalKMeans, Views, make_report
from coview.datasets import make_topic_views


def test_the_section_lists_what_no_topic_explains():
    X = make_topic_views(200, n_clusters=3, random_state=0).views
    strange = X[:3].map(lambda matrix: matrix[:, ::-1])
    both = Views.concat([X, strange])
    both = Views(dict(both.items()), ids=[f"p{i}" for i in range(203)])
    page = make_report(LinkPLSA(3, random_state=0).fit(X), both, held_out=False, map_method="pca")
    found = page.summary["outliers"]
    assert {thing["id"] for thing in found["objects"][:3]} == {"p200", "p201", "p202"}
    assert found["count"] >= 3 and found["judged"] == 203
    assert f"{found['count']} outliers among 203 objects" in page.html and "p201" in page.html


def test_no_more_outliers_than_by_chance_are_not_listed():
    X = make_topic_views(400, n_clusters=3, random_state=0).views
    model = LinkPLSA(3, random_state=0).fit(X[:200])
    page = make_report(model, X[200:], held_out=False, map_method="pca")
    assert page.summary["outliers"]["objects"] == []
    assert "No more outliers than by chance" in page.html and "The clearest" not in page.html


def test_there_is_none_of_few_objects_or_without_a_likelihood():
    X = make_topic_views(60, n_clusters=3, random_state=0).views
    options = {"held_out": False, "map_method": "pca"}
    assert "outliers" not in make_report(LinkPLSA(3, random_state=0).fit(X), X[:20], **options).summary
    assert "outliers" not in make_report(SphericalKMeans(3, random_state=0).fit(X), X, **options).summary
