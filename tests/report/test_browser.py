"""The page in a real browser: what a reader clicks, and what a hostile name must not do."""

from importlib.util import find_spec
from shutil import which

import numpy as np
import pytest

from coview import MultiViewNaiveBayes, MultiViewPLSA, Views, make_report

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
if find_spec("playwright") is None or not any(map(which, CHROMIUM)):
    pytest.skip("playwright or chromium is not installed: the report is not read in a browser", allow_module_level=True)

HOSTILE = '"><script>window.hit=1</script><img src=x onerror="window.hit=1">'


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    counts = rng.poisson(2, size=(60, 12)).astype(float)
    y = np.arange(60) % 3
    counts[np.arange(60), y] += 8
    X = Views(
        {HOSTILE: counts, "links": counts[:, ::-1].copy()},
        ids=[f"{HOSTILE}{i}" for i in range(60)],
        feature_names={HOSTILE: [f"{HOSTILE}{j}" for j in range(12)]},
    )
    labels = np.array([f"{HOSTILE}{k}" for k in y])
    report = make_report(MultiViewNaiveBayes().fit(X, labels), X, labels, title=HOSTILE)
    return report.save(tmp_path_factory.mktemp("browser") / "report.html")


@pytest.fixture
def page(browser, path):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    opened.trouble = []
    opened.on("console", lambda message: opened.trouble.append(message.text))
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.on("request", lambda sent: None if sent.url.startswith("file:") else opened.trouble.append(sent.url))
    opened.goto(path.as_uri())
    yield opened
    assert opened.trouble == []
    context.close()


def test_nothing_out_of_the_data_runs(page):
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE


def test_a_click_on_a_head_sorts_the_table(page):
    table = page.locator("#data table")
    table.locator("th button", has_text="features").first.click()
    assert table.locator("th[aria-sort=descending]").count() == 1
    values = [float(cell.get_attribute("data-v")) for cell in table.locator("tbody td:nth-child(2)").all()]
    assert values == sorted(values, reverse=True)


def test_the_map_is_colored_by_label_when_asked(page):
    fill = "element => getComputedStyle(element).fill"
    page.get_by_role("button", name="Color by label").click()
    assert page.locator("svg.map.by-l").count() == 1
    assert page.locator("svg.map circle.l1").first.evaluate(fill) != page.locator("svg.map circle.l0").first.evaluate(
        fill
    )


def test_the_theme_changes_and_stays(page):
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.locator(".theme").click()
    dark = page.evaluate(background)
    assert dark != light and page.locator(".theme").inner_text() == "Light"
    for _ in range(20):  # the browser writes the choice to its store a moment later
        page.reload()
        if page.evaluate(background) == dark:
            break
        page.wait_for_timeout(100)
    assert page.evaluate(background) == dark


# elements whose content is wider than they are, and which cut it off or let it stick out; wide tables scroll
CUT = """[...document.querySelectorAll("main *, header *")]
  .filter((e) => e.clientWidth && !e.classList.contains("scroll") && e.scrollWidth > e.clientWidth + 1)
  .filter((e) => getComputedStyle(e).display !== "inline")
  .map((e) => e.tagName + "." + e.className + " in " + (e.closest("section") || {}).id)"""


@pytest.fixture(scope="module")
def corpus_path(tmp_path_factory):
    """22 clusters of 330 objects with long names, in three views, and 40 labels."""
    rng = np.random.default_rng(0)
    y = np.arange(330) % 22
    X, names = {}, {}
    for view, width in (("words", 120), ("title", 80), ("depends", 60)):
        X[view] = rng.poisson(8 * rng.gamma(0.15, size=(22, width))[y]).astype(float)
        names[view] = [f"{view[:3]}{j}{'-interface-4.15.1' if j % 4 == 0 else ''}" for j in range(width)]
    views = Views(X, ids=[f"golang-github-somebody-package-{i}-dev" for i in range(330)], feature_names=names)
    labels = np.array([f"section-{k + 22 * (i % 7 == 0 and k < 18)}" for i, k in enumerate(y.tolist())])
    model = MultiViewPLSA(22, 8, max_iter=5, random_state=0).fit(views)
    return make_report(model, views, labels, held_out=False, map_method="pca").save(
        tmp_path_factory.mktemp("corpus") / "report.html"
    )


@pytest.fixture
def corpus(browser, corpus_path):
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    opened = context.new_page()
    opened.goto(corpus_path.as_uri())
    yield opened
    context.close()


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("unfolded", [False, True])
def test_nothing_is_cut_off(corpus, width, unfolded):
    corpus.set_viewport_size({"width": width, "height": 900})
    if unfolded:
        corpus.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert corpus.evaluate("document.documentElement.scrollWidth") <= width
    assert corpus.evaluate(CUT) == []


def test_no_text_stands_in_a_column_of_letters_on_a_phone(corpus):
    corpus.set_viewport_size({"width": 390, "height": 900})
    corpus.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    thin = """(query) => [...document.querySelectorAll(query)].filter((e) => {
        const style = getComputedStyle(e);
        const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        return e.textContent.trim().length > 12 && room < 70;
    }).map((e) => e.textContent)"""
    for query in (".tree .label", "table.sort td > div", "table.heat tbody th", ".group .title", ".facts dd"):
        assert corpus.evaluate(thin, query) == [], query


def test_a_notebook_s_frame_works_without_an_origin(browser, make, data):
    opened = browser.new_page()
    trouble = []
    opened.on("console", lambda message: trouble.append(message.text))
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.set_content(make_report(make("MultiViewPLSA"), *data)._repr_html_())
    frame = opened.frame_locator("iframe")
    frame.locator(".theme").click()
    assert frame.locator("html[data-theme]").count() == 1
    frame.locator('nav a[href="#views"]').click()
    assert frame.locator("#views h2").is_visible()
    frame.locator('article[data-of="g0"]').hover()
    assert frame.locator("circle.g0.lit").count() > 0
    opened.close()
    assert trouble == []
