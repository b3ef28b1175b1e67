"""The page: well formed, self-contained, and safe whatever the data is called."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from coview import (
    AutoClassifier,
    CrossModalRetriever,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    Ontology,
    SeededKMeansClassifier,
    SphericalKMeans,
    Views,
    inspect,
    make_report,
)
from coview.datasets import make_topic_views
from coview.plot.style import PALETTE
from coview.report.charts import HEIGHT, LINE, WIDTH, _moved_apart
from coview.report.render import _breakable, render_page

VOID = {"meta", "input", "br", "wbr", "circle", "line", "path", "rect"}
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


class Checker(HTMLParser):
    """Follows the nesting of elements, and keeps what could load or run something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.scripts = 0
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.scripts += tag == "script"
        named = dict(attrs)
        if len(named) < len(attrs):
            self.wrong.append(f"<{tag}> says an attribute twice")
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "srcset", "action"):
                self.wrong.append(f"<{tag} {name}={value!r}>")
            if name == "href":
                self.anchors.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")


def checked(text: str) -> Checker:
    found = Checker()
    found.feed(text)
    found.close()
    return found


def test_it_is_well_formed_and_loads_nothing(report):
    text = report.html
    found = checked(text)
    assert not found.open and not found.wrong
    assert found.scripts == 1
    assert all(anchor.startswith("#") and anchor[1:] in found.ids for anchor in found.anchors)
    assert len(set(found.ids)) == len(found.ids)
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", text)


def hostile_report() -> str:
    rng = np.random.default_rng(0)
    counts = rng.poisson(2, size=(30, 6)).astype(float)
    X = Views(
        {HOSTILE: counts, "b": counts[:, ::-1].copy()},
        ids=[f"{HOSTILE}{i}" for i in range(30)],
        feature_names={HOSTILE: [f"{HOSTILE}{j}" for j in range(6)]},
    )
    y = np.array([f"{HOSTILE}{i % 2}" for i in range(30)])
    return make_report(
        MultiViewNaiveBayes().fit(X, y), X, y, title=HOSTILE, made_from={"data": HOSTILE, HOSTILE: HOSTILE}
    ).html


def test_names_out_of_the_data_stay_text():
    text = hostile_report()
    found = checked(text)
    assert not found.open and not found.wrong
    assert found.scripts == 1 and "img" not in found.tags
    assert "<script>alert" not in text and "onerror=alert(2)&gt;" in text


def test_only_its_own_script_may_run():
    text = make_report(MultiViewPLSA(2, 2, max_iter=2, random_state=0).fit(Views(a=np.eye(6), b=np.eye(6)))).html
    script = text.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text and "default-src 'none'" in text


def test_a_summary_that_went_through_json_gives_the_same_page(make, data):
    found = make_report(make("MultiViewPLSA"), *data).summary
    assert render_page(json.loads(json.dumps(found))) == render_page(found)


def test_sections_that_do_not_apply_are_absent(make, data):
    X, y = data
    bare = checked(make_report(make("MultiViewCCA")).html).ids
    assert "views" not in bare and "examples" not in bare and "model" in bare
    agreed = make_report(make("MultiViewPLSA"), X).html
    assert 'id="examples"' in agreed and "None: no two views predict different clusters of the same object" in agreed
    assert {"scores", "groups", "views", "map"} <= set(checked(make_report(make("PLSA"), X, y).html).ids)


def test_an_ontology_is_shown_with_counts(data):
    X, y = data
    tree = Ontology.from_tree({"animal": {"insect": ["ant", "bee"], "mammal": ["cat"]}})
    text = make_report(SeededKMeansClassifier(ontology=tree).fit(X, y), X, y).html
    assert 'id="ontology"' in text
    assert re.search(r'insect</span><span class="bar">.*?<span class="num">40</span>', text)


@pytest.fixture(scope="module")
def many():
    """22 clusters of objects with names, features with names, and 30 labels."""
    rng = np.random.default_rng(0)
    y = np.arange(440) % 22
    words, links = (rng.gamma(0.2, size=(22, width)) for width in (90, 60))
    X = Views(
        words=rng.poisson(9 * words[y]).astype(float),
        links=rng.poisson(6 * links[y]).astype(float),
        ids=[f"package-{i}" for i in range(440)],
        feature_names={"words": [f"word{j}" for j in range(90)], "links": [f"link{j}" for j in range(60)]},
    )
    labels = np.array([f"section {k + 22 * (i % 9 == 0 and k < 8)}" for i, k in enumerate(y.tolist())])
    model = MultiViewPLSA(22, 6, max_iter=10, random_state=0).fit(X)
    return model, X, labels, make_report(model, X, labels, map_method="pca")


def test_groups_are_folded_and_named(many):
    model, _, _, report = many
    assert report.html.count('<article class="group"') == 22 and "<details open" not in report.html
    for key, name in zip(inspect(model).groups, inspect(model).group_names):
        assert f'<span class="number">{key}</span> {name}' in report.html
    for group in report.summary["examples"]["typical"]:
        assert all(f"<b>{thing['id']}</b>" in report.html for thing in group["objects"])


def test_what_a_claim_is_worth_stands_beside_it(many):
    model, X, labels, report = many
    page = report.html
    views = page.split('<section id="views">')[1].split("</section>")[0]
    assert (
        "Predicted for 110 held-out objects by a copy of the model that was fitted with the other 330 objects." in views
    )
    assert "predicted from this view alone" in views and ">predicted from it alone<" in views
    assert "On 110 held-out objects, NMI is" in views and "With 22 clusters for 30 labels, accuracy cannot" in page
    unmeasured = make_report(model, X, labels, held_out=False, map_method="pca").html
    assert "On these objects, which the model may have learned from, NMI is" in unmeasured
    assert "every view looks better than it is" in unmeasured


def test_an_accuracy_that_is_not_known_is_said_to_be_so(data):
    X, y = data
    lone = np.where(np.arange(len(y)) < 3, y.astype(object), None)
    auto = AutoClassifier(random_state=0).fit(X, lone)
    page = make_report(auto, X, lone).html
    assert page.count("not known: too few labels to hold out.") >= 3  # at the top, measures, labels hidden


def test_labels_on_the_map_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    middles, widths = rng.uniform(200, 500, size=(24, 2)), rng.uniform(40, 150, size=24)
    places = _moved_apart(middles, widths)
    for i in range(24):
        for j in range(i):
            apart = np.abs(places[i] - places[j])
            assert apart[0] >= (widths[i] + widths[j]) / 2 - 1e-6 or apart[1] >= LINE - 1e-6
    assert (places > 0).all() and (places < [WIDTH, HEIGHT]).all()


def test_a_group_has_the_color_of_its_number_in_report_explorer_and_figures(many):
    report, explorer = (
        re.findall(r"--[cg]\d+: (#\w{6})", (files("coview") / path).read_text())
        for path in ("report/assets/report.css", "web/static/style.css")
    )
    assert report == explorer and report[:12] == list(PALETTE) and report[12:24] == report[24:]
    assert f"const COLORS = {len(PALETTE)};" in (files("coview") / "web/static/map.js").read_text()
    model, _, _, page = many
    groups, chart = inspect(model).groups, page.summary["map"]
    assert all(item["index"] == groups.index(item["name"]) for item in page.summary["groups"]["items"])
    assert chart["names"] == groups
    where = dict(zip(chart["ids"], chart["group"]))
    codes = dict(zip(many[1].ids.tolist(), model.predict(many[1]).tolist()))
    assert where == {key: codes[key] for key in where}


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>&\"'$/;{}script= ._\\"), max_size=40))
def test_breaks_leave_the_text(text):
    seen: list[str] = []
    parser = HTMLParser(convert_charrefs=True)
    parser.handle_data = seen.append
    parser.handle_starttag = lambda tag, attrs: seen.append("" if tag == "wbr" else f"<{tag}>")
    parser.feed(_breakable(text))
    parser.close()
    assert "".join(seen) == text


# -- The section of a report on the tree of topics or clusters

DATA = make_topic_views(n_objects=120, n_clusters=4, random_state=0)
MODEL = LinkPLSA(4, random_state=0).fit(DATA.views)
QUICK = {"held_out": False, "map_method": "pca"}


def test_nodes_are_those_of_the_tree_that_inspect_finds():
    page = make_report(MODEL, DATA.views, **QUICK)
    tree, shown = inspect(MODEL).hierarchy(DATA.views), page.summary["hierarchy"]
    assert len(shown["lines"]) == 7 and shown["lines"][0]["size"] == 120
    for (node, level), line in zip(tree.walk(), shown["lines"]):
        assert line["level"] == level and line["groups"] == [tree.keys[g] for g in sorted(node.pre_order())]
        if node.id >= 4:
            assert line["distance"] == pytest.approx(tree.linkage[node.id - 4, 2])
            assert f"joined at {line['distance']:.2f}" in page.html


def test_many_groups_are_shown_in_parts():
    X = Views(words=np.random.default_rng(0).poisson(1.0, size=(200, 30)) + 1.0)
    page = make_report(LinkPLSA(80, max_iter=2, random_state=0).fit(X), X, **QUICK)
    lines = page.summary["hierarchy"]["lines"]
    assert len(lines) == 119 and "The 80 topics are shown in 60 parts." in page.html
    below = [line for line, after in zip(lines, [*lines[1:], lines[0]]) if after["level"] <= line["level"]]
    assert sorted(int(key) for line in below for key in line["groups"]) == list(range(80))


# -- The section of a report on objects that no group explains


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


# -- Reports of pipelines, searches, retrievers and estimators of scikit-learn; the catalog is in the fixtures


def checked_of_every_model(report):
    json.dumps(report.summary, allow_nan=False)
    assert report.html.startswith("<!DOCTYPE html>")
    return report.summary


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, n_init=1, random_state=0),
        DBSCAN(eps=5.0),
        PCA(3),
        NMF(3, init="nndsvda", max_iter=500, tol=1e-2),
        LogisticRegression(max_iter=1000),
        SVC(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("given", ["nothing", "labels"])
def test_estimators_of_scikit_learn_are_reported(model, given, data):
    X, labels = data[0]["words"].toarray(), data[1]
    model.fit(X, labels)
    found = checked_of_every_model(make_report(model, *{"nothing": (), "labels": (X, labels)}[given]))
    assert found["model"]["name"] == type(model).__name__
    assert [view["name"] for view in found["data"]["views"]] == ["x"]
    assert ("scores" in found) == (given == "labels" and not isinstance(model, (PCA, NMF)))  # which have no groups


def test_a_retriever_is_reported_with_its_searches(data):
    X, y = data
    found = checked_of_every_model(
        make_report(CrossModalRetriever(LinkPLSA(3, max_iter=5, random_state=0)).fit(X), X, y)
    )
    assert {(pair["source"], pair["target"]) for pair in found["search"]["pairs"]} == {
        ("words", "links"),
        ("links", "words"),
    }
