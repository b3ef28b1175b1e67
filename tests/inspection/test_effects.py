"""Effects of covariates: errors by matrices written out, shares without bias, coverage, formulas."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.linalg import sqrtm
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from coview import PLSA, LinkPLSA, TableViews, Views, edit, inspect, make_report, save
from coview.cli.app import make_commands
from coview.datasets import make_topic_views
from coview.exceptions import ParameterError, ViewsError
from coview.inspection.effects import LeastSquares, estimate_effects, measure_shares, read_formula
from coview.web.explorer import Explorer
from coview.web.service import load_service

DATA = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
MODEL = LinkPLSA(3, random_state=0).fit(DATA.views)
KNOWN = {"label": np.array(["a", "b", "c"])[DATA.target], "year": 2000 + np.arange(120) % 20}


@pytest.mark.parametrize("size", [1, 4])
def test_errors_are_those_of_bell_and_mccaffrey(size):
    rng = np.random.default_rng(0)
    design, outcome = np.column_stack([np.ones(40), rng.normal(size=(40, 2))]), rng.normal(size=(40, 2))
    codes = rng.permutation(np.arange(40) // size)
    fit = LeastSquares(design, outcome, codes)
    inverse = np.linalg.inv(design.T @ design)
    assert_allclose(fit.coefficients, np.linalg.lstsq(design, outcome, rcond=None)[0])
    residuals, hat = outcome - design @ fit.coefficients, design @ inverse @ design.T
    for g in range(2):
        middle, parts = np.zeros((3, 3)), []
        for code in range(codes.max() + 1):
            rows = np.flatnonzero(codes == code)
            root = np.linalg.inv(sqrtm(np.eye(len(rows)) - hat[np.ix_(rows, rows)]))
            parts.append(inverse @ design[rows].T @ root @ (np.eye(40) - hat)[rows])
            score = design[rows].T @ root @ residuals[rows, g]
            middle += np.outer(score, score)
        assert_allclose(fit.covariances[g], inverse @ middle @ inverse)
        # degrees of freedom from the covariances of all pairs of clusters, as Pustejovsky and Tipton write them
        half = np.linalg.inv(sqrtm(inverse[1:, 1:]))
        both = [half @ part[1:] for part in parts]
        pairs = [a @ b.T for a in both for b in both]
        freedom = 6 / sum(np.trace(pair) ** 2 + np.trace(pair @ pair) for pair in pairs)
        wald = fit.coefficients[1:, g] @ np.linalg.solve(fit.covariances[g][1:, 1:], fit.coefficients[1:, g])
        p_value = stats.f.sf((freedom - 1) / (2 * freedom) * wald, 2, freedom - 1)
        assert_allclose(fit.test(np.eye(3)[1:])[g], p_value)
        line = np.array([0.0, 1.0, -2.0])
        rows = np.array([line @ part for part in parts])
        freedom = (line @ inverse @ line) ** 2 / np.sum((rows @ rows.T) ** 2)
        error = np.sqrt(line @ fit.covariances[g] @ line)
        effect, wide, p_value = (part[0, g] for part in fit.compare(line[None]))
        assert_allclose(wide, stats.t.ppf(0.975, freedom) * error)
        assert_allclose(p_value, 2 * stats.t.sf(abs(effect) / error, freedom))


@pytest.mark.parametrize("n_clusters", [None, 20])
def test_a_curve_of_noise_is_rarely_found(n_clusters):
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        x, y, codes = rng.normal(size=200), rng.normal(size=(200, 1)), None
        if n_clusters:
            codes = np.arange(200) % n_clusters
            x, y = (part + rng.normal(size=(n_clusters, *part.shape[1:]))[codes] for part in (x, y))
        found += estimate_effects(["0"], ["a"], y, "~ spline(x)", {"x": x}, codes)["p_value"]
    # 15 of 300 are expected, and hardly ever more than 26; the test with clusters rejects less
    assert (0 if n_clusters else 6) <= np.sum(np.array(found) < 0.05) <= 26
    assert np.isfinite(found).all()


def test_a_curve_with_fewer_clusters_than_it_needs_has_no_p_value():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.normal(size=(200, 1))
    assert np.isnan(estimate_effects(["0"], ["a"], y, "~ spline(x)", {"x": x}, np.arange(200) % 6)["p_value"]).all()


@pytest.mark.parametrize("clustered", [False, True])
def test_what_one_object_or_cluster_meets_exactly_has_no_interval(clustered):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 12 if clustered else np.arange(60)
    side = np.where(codes == 5, "c", np.where(codes % 2, "b", "a"))
    found = estimate_effects(
        ["0"], ["s"], rng.normal(size=(60, 1)), "~ side + x", {"side": side, "x": rng.normal(size=60)}, codes
    )
    assert found["term"] == ["side b", "side c", "x"]
    for name in ("low", "high", "p_value"):
        assert np.isnan(found[name]).tolist() == [False, True, False]
    assert np.isfinite(found["effect"]).all()
    assert np.isnan(found.predict("side").low[:, 0]).tolist() == [False, False, True]


@pytest.mark.parametrize(("factor", "shift"), [(1e13, 0.0), (1e9, 1.7e12), (1.0, 1e9), (1e-9, 0.0)])
@pytest.mark.parametrize("formula", ["~ x + z", "~ spline(x) + z"])
def test_units_of_a_covariate_do_not_matter(formula, factor, shift):
    rng = np.random.default_rng(0)
    x, z, y = rng.normal(size=80), rng.normal(size=80), rng.normal(size=(80, 1))
    plain = estimate_effects(["0"], ["a"], y, formula, {"x": x, "z": z})
    other = estimate_effects(["0"], ["a"], y, formula, {"x": factor * x + shift, "z": z})
    assert_allclose(other["p_value"], plain["p_value"], rtol=1e-5)
    for name in ("share", "low"):
        assert_allclose(getattr(other.predict("x"), name), getattr(plain.predict("x"), name), atol=1e-5)


def test_objects_without_a_cluster_or_a_covariate_are_left_out():
    rng = np.random.default_rng(0)
    x, codes = list(rng.normal(size=40)), [i % 10 for i in range(40)]
    x[0], x[1], codes[2], codes[3], codes[4] = np.float32("nan"), np.datetime64("NaT"), None, float("nan"), " "
    with pytest.warns(UserWarning, match="5 objects of 40 without a value of 'x' and a cluster"):
        found = estimate_effects(["0"], ["a"], rng.normal(size=(40, 1)), "~ x", {"x": x}, codes)
    assert (found.n_objects, found.n_missing, found.n_clusters) == (35, 5, 10)


def test_covariates_in_another_order_than_the_views_are_refused():
    ids = [f"d{i}" for i in range(120)]
    views = Views({name: DATA.views[name] for name in DATA.views.names}, ids=ids)
    frame = pd.DataFrame(KNOWN, index=ids)
    assert inspect(MODEL).effects(views, "~ label", frame).n_objects == 120
    with pytest.raises(ViewsError, match="rows of covariates are in another order"):
        inspect(MODEL).effects(views, "~ label", frame[::-1])


@pytest.mark.parametrize("model", [LinkPLSA(3, background=0.2, random_state=0), PLSA(3, random_state=0)])
def test_shares_of_expected_counts_are_exact(model):
    model.fit(DATA.views)
    theta = np.random.default_rng(0).dirichlet([0.3] * 3, 30)
    theta[:3] = np.eye(3)
    profiles = model._profiles(model.view_names_)
    lengths = {name: np.full(30, 40.0) if isinstance(model, PLSA) else np.arange(30) + 1.0 for name in profiles}
    X = Views({name: lengths[name][:, None] * (theta @ part.T) for name, part in profiles.items()})
    found = measure_shares(inspect(model), X)
    assert_allclose(found, theta, atol=2e-4)
    assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    some = measure_shares(inspect(model), X.select("view1"))
    if isinstance(model, LinkPLSA):
        assert_allclose(some, theta, atol=2e-4)


def test_an_empty_object_is_left_out_and_said():
    words = np.vstack([DATA.views["view0"].toarray(), np.zeros((2, DATA.views["view0"].shape[1]))])
    X = Views({"view0": words})
    with pytest.warns(UserWarning, match="3 objects of 122"):
        found = inspect(MODEL).effects(X, "~ x", {"x": [None, *range(121)]})
    assert (found.n_objects, found.n_missing) == (119, 3)


@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_cover_the_truth(clustered):
    rng = np.random.default_rng(1)
    hits, slope = [], np.array([0.1, -0.06, -0.04, 0.0])
    for _ in range(150):
        x = rng.uniform(-1, 1, 40 if clustered else 200)
        mean = 0.25 + x[:, None] * slope
        if clustered:
            mean, x = np.array([rng.dirichlet(6 * row) for row in mean]).repeat(5, axis=0), x.repeat(5)
        theta = np.array([rng.dirichlet(2 * row + 1e-6) for row in mean])
        topics = rng.dirichlet(np.full(60, 0.2), 4)
        X = np.array([rng.multinomial(n + 1, row) for n, row in zip(rng.poisson(15, len(x)), theta @ topics)])
        model = PLSA(4, max_iter=1, random_state=0).fit(X)
        model.topic_feature_ = {"x": topics}
        codes = np.arange(200) // 5
        found = inspect(model).effects(X, "~ x", {"x": x}, clusters=codes if clustered else None)
        hits.append((np.array(found["low"]) <= slope) & (slope <= np.array(found["high"])))
    assert 0.93 <= np.mean(hits) <= 0.97


def test_dates_numbers_and_categories_are_what_they_say():
    shares = np.column_stack([np.linspace(0.2, 0.8, 9), np.linspace(0.8, 0.2, 9)])
    dates = [f"{2001 + i}-01-01" for i in range(9)]
    by_date, by_year = (
        estimate_effects(["0", "1"], ["a", "b"], shares, "~ x", {"x": each}) for each in (dates, list(range(9)))
    )
    assert_allclose(by_date["effect"], by_year["effect"], rtol=0.01)
    assert_allclose(by_year["effect"], [0.075, -0.075])
    curve = estimate_effects(["0", "1"], ["a", "b"], shares, "~ spline(x, 3)", {"x": dates})
    assert_allclose(curve["effect"], [0.6, -0.6], atol=1e-3)
    assert_allclose(curve.predict("x").share[[0, -1], 0], [0.2, 0.8], atol=1e-3)
    side = ["left", "right"] * 4 + ["left"]
    table = estimate_effects(["0", "1"], ["a", "b"], shares, "~ side", {"side": side})
    assert table["effect"][0] == pytest.approx(shares[1::2, 0].mean() - shares[::2, 0].mean())
    assert table.predict().share[0, 0] == pytest.approx(shares[::2, 0].mean())


def test_merged_groups_have_the_sum_of_the_effects():
    before = inspect(MODEL).effects(DATA.views, "~ label", KNOWN)
    after = inspect(edit(MODEL).merge([0, 2])).effects(DATA.views, "~ label", KNOWN)
    assert_allclose(after.coefficients[:, 0], before.coefficients[:, [0, 2]].sum(axis=1))


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        *(("~ label +", "such as '~ party"), ("~ spline(year", "such as '~ party")),
        *(("~ label:year", "has 'label:year'.*no products"), ("~ label * year", "no products")),
        *(("~ label - 1", "no products"), ("~ 1 + label", "has '1'.*intercepts")),
        *(("~ labels", "no column 'labels' for formula"), ("~ labels", "Did you mean 'label'")),
        *(("~ spline(label)", "holds texts such as '"), ("~ spline(year, 2)", "3 or more")),
        *(("~ spline(year, 30)", "20 different values"), ("~ year + year", "says nothing beside 'year'")),
        (3, "such as '~ party"),
    ],
)
def test_a_formula_that_cannot_be_is_refused_in_a_sentence(formula, says):
    with pytest.raises((ParameterError, ViewsError), match=says):
        inspect(MODEL).effects(DATA.views, formula, KNOWN)


def test_names_in_back_quotes_hold_any_sign():
    assert read_formula("`a + b` + spline(`c (d)`, 4)+e") == [("a + b", 0), ("c (d)", 4), ("e", 0)]


def test_a_report_shows_effects_of_columns_of_its_table():
    table = {"words": ["red fox", "blue sea", "red red fox", "blue sea sea", "red sea"] * 8, "side": ["l", "r"] * 20}
    model = TableViews({"words": "words"})
    pipeline = make_pipeline(model, PLSA(2, random_state=0)).fit(table)
    report = make_report(pipeline, table, effects="~ side", held_out=False)
    found = inspect(pipeline).effects(table, "~ side")
    assert report.summary["effects"]["terms"][0]["effect"] == pytest.approx(found["effect"])
    assert "Effects on the topics" in report.html
    alone = make_report(pipeline, {**table, "side": ["a", *"lr" * 19, "l"]}, effects="~ side", held_out=False)
    assert alone.summary["effects"]["terms"][0]["low"][0] is None
    assert "nan" not in alone.html.split("Effects on the topics")[1]
    with pytest.raises(ParameterError, match="clusters is only for effects"):
        make_report(pipeline, table, clusters="side", held_out=False)


def test_the_command_and_the_explorer_say_the_same(tmp_path):
    texts = ["red fox", "blue sea", "red red fox", "blue sea sea", "red sea"] * 8
    lines = [f"{text},{'lr'[i % 2]},{i / 1000},c{i % 5}" for i, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("words,side,size,row\n" + "\n".join(lines), encoding="utf-8")
    table = {"words": texts, "side": ["l", "r"] * 20}
    pipeline = make_pipeline(TableViews({"words": "words"}), PLSA(2, random_state=0)).fit(table)
    save(pipeline, tmp_path / "m.coview")
    found = inspect(pipeline).effects(table, "~ side")["effect"]
    words = ["report", str(tmp_path / "m.coview"), str(tmp_path / "t.csv"), "--effects", "~ side", "--json"]
    ran = CliRunner().invoke(make_commands(["report"]), words)
    assert json.loads(ran.stdout)["effects"]["terms"][0]["effect"] == pytest.approx(found)
    explorer = Explorer(load_service(tmp_path / "m.coview", tmp_path / "t.csv"))
    assert explorer.effects(0, "~ side")["terms"][0]["effect"] == pytest.approx(found)
    assert explorer.effects(0, "~ side")["terms"][0]["label"] == "side r, not l"
    assert explorer.effects(0, "~ side", "row")["n_clusters"] == 5
    assert explorer.effects(0, "~ size")["terms"][0]["label"] == "size, 0 to 0.039"  # of its range: of 1 it is nonsense
    assert np.abs(explorer.effects(0, "~ size")["terms"][0]["effect"]).max() <= 1
    # a change per unit of a large number still has digits
    assert "-0.000" not in str(inspect(pipeline).effects(table, "~ size", {"size": [1e6 * i for i in range(40)]}))
    with pytest.raises(ViewsError, match="no column 'sides' for the formula"):
        explorer.effects(0, "~ sides")
