"""What a report says of views of vectors: likelihoods, variance explained, nearest objects; never columns as words."""

import html
import re

import numpy as np
import pytest

from coview import AutoClassifier, LinkPLSA, Report, Views, inspect, make_report
from coview.datasets import make_topic_views
from coview.inspection.reading import read_groups
from coview.inspection.vectors import nearest_in_groups
from coview.report.words import number

N, K = 60, 3
DATA = make_topic_views(N, {"words": 30}, n_clusters=K, n_components=K, random_state=0)
CODES = np.unique(DATA.target, return_inverse=True)[1]
_RNG = np.random.default_rng(0)
X = Views(
    {
        "words": DATA.views["words"],
        "vector": _RNG.normal(size=(K, 5))[CODES] + 0.2 * _RNG.normal(size=(N, 5)),
        "person": np.column_stack([20.5 + 30 * (CODES == 0), 5000.5 + 900 * (CODES == 1)]) + _RNG.normal(size=(N, 2)),
    },
    ids=[f"o{i}" for i in range(N)],
    feature_names={"words": [f"word{j}" for j in range(30)], "person": ["age", "price"]},
)
MODEL = LinkPLSA(K, max_iter=20, random_state=0).fit(X)
COLUMN = re.compile(r"\bf\d+\b")


@pytest.fixture(scope="module")
def report():
    return make_report(MODEL, X)


def text_of(report) -> str:
    page = re.sub(r"<style.*?</style>|<script.*?</script>", "", report.html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_columns_of_vectors_are_no_words(report):
    assert not COLUMN.search(text_of(report))
    for item in report.summary["groups"]["items"]:
        assert set(item["features"]) == {"words", "person"}
    things = [thing for group in report.summary["examples"]["typical"] for thing in group["objects"]]
    assert all("vector" not in thing["words"] for thing in things)


def test_groups_have_the_objects_nearest_to_their_mean_vectors(report):
    inspection = inspect(MODEL)
    found = nearest_in_groups(inspection, X, read_groups(inspection, X).codes, "vector", 3)
    shown = report.summary["examples"]["nearest"]["vector"]
    assert {key: [thing["id"] for thing in things] for key, things in shown.items()} == {
        key: [X.ids[row] for row in rows] for key, rows in zip(inspection.groups, found)
    }
    assert "vector, nearest objects" in text_of(report)


def test_measurements_say_how_far_they_lie_from_the_mean(report):
    groups = report.summary["groups"]
    assert groups["deviations"] == {"words": False, "person": True}
    for item in groups["items"]:
        wanted = dict(MODEL.top_features("person")[int(item["name"])])
        assert {name: value for name, value, _ in item["features"]["person"]} == pytest.approx(wanted)
    assert re.search(r"age [+−]\d\.\d", text_of(report)) and "standard deviations" in report.html


@pytest.mark.parametrize("with_objects", [True, False])
def test_likelihoods_and_variance_are_told(report, with_objects):
    told = report if with_objects else make_report(MODEL)
    views = {view["name"]: view["likelihood"] for view in told.summary["data"]["views"]}
    assert views == {"words": "multinomial", "vector": "gaussian", "person": "gaussian"}
    for view in told.summary["variance"]["views"]:
        assert view["shares"] == pytest.approx(MODEL.variance_explained_[view["name"]].tolist())
        assert view["total"] == pytest.approx(MODEL.variance_explained_[view["name"]].sum())
    text = text_of(told)
    assert "Gaussian (vectors)" in text and "multinomial (counts)" in text and "Variance explained" in text


@pytest.mark.parametrize("n_labels", [45, 12])
def test_calibration_of_labels_hidden_in_the_fit_is_told(n_labels):
    y = [str(code) if i < n_labels else None for i, code in enumerate(CODES)]
    model = AutoClassifier(random_state=0).fit(X.select("words"), y)
    report = make_report(model)
    told, text = report.summary["model"]["held_out"], text_of(report)
    assert told["n_labels"] == model.n_held_out_ and told["accuracy"] == pytest.approx(model.accuracy_)
    if np.isnan(model.calibration_error_):
        assert told["calibration_error"] is None and "too few to tell whether probabilities are right" in text
    else:
        assert told["calibration_error"] == pytest.approx(model.calibration_error_)
        assert f"calibration error {number(model.calibration_error_)}" in text


# -- The object that a notebook shows, and the method of every estimator


def test_a_notebook_shows_it_in_a_frame_of_its_own(make):
    report = make_report(make("PLSA"))
    shown = report._repr_html_()
    inside = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^>]*></iframe>', shown)
    assert inside and html.unescape(inside.group(1)) == report.html


def test_as_text_it_says_what_is_on_the_page_and_how_to_get_it(make, data):
    report = make_report(make("PLSA"), *data, title="Pages\x1b")
    head, title, sections, how = str(report).split("\n")
    assert head.startswith("Report of PLSA: ") and head.endswith("objects, 2 views")
    assert title == "  title: Pages\\x1b" and 'save("report.html")' in how
    links = re.findall('<li><a href="#[a-z]+">([^<]+)</a>', report.html)
    assert sections == f"  sections: {', '.join(links)}" and "Scores" in links


def test_it_is_written_to_the_path(make, data, tmp_path):
    report = make_report(make("PLSA"), *data)
    report.save(tmp_path / "deep" / "report.html")
    assert (tmp_path / "deep" / "report.html").read_text(encoding="utf-8") == report.html


def test_a_failed_save_leaves_the_old_file(make, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")
    report = make_report(make("PLSA"))

    def broken(self):
        raise RuntimeError("no page")

    monkeypatch.setattr(Report, "html", property(broken))
    with pytest.raises(RuntimeError):
        report.save(target)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
