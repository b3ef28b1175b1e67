"""The page in a real browser: what a reader clicks, and what a hostile name must not do."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from coview import MultiViewNaiveBayes, Views, make_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = '"><script>window.hit=1</script><img src=x onerror="window.hit=1">'

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: the page is not checked in a browser"
)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: the page is not checked in a browser"
    )
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


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


def test_a_legend_hides_and_shows_its_points(page):
    circles = page.locator("svg.map circle.g0")
    key = page.locator('[data-toggle="g0"]')
    assert circles.first.is_visible()
    key.click()
    assert not circles.first.is_visible() and key.get_attribute("aria-pressed") == "false"
    key.click()
    assert circles.first.is_visible()


def test_the_map_is_colored_by_label_when_asked(page):
    fill = "element => getComputedStyle(element).fill"
    page.get_by_role("button", name="Color by label").click()
    assert page.locator("svg.map.by-l").count() == 1
    assert page.locator("svg.map circle.l1").first.evaluate(fill) != page.locator("svg.map circle.l0").first.evaluate(
        fill
    )


def test_a_tip_says_what_a_point_is(page):
    page.locator("svg.map circle").first.hover(force=True)
    assert page.locator("#tip").inner_text().startswith("object ")


def test_the_theme_changes_and_stays(page):
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.locator(".theme").click()
    dark = page.evaluate(background)
    assert dark != light and page.locator(".theme").inner_text() == "Light"
    page.reload()
    assert page.evaluate(background) == dark


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_fits_every_width(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_notebook_s_frame_works_without_an_origin(browser, make, data):
    opened = browser.new_page()
    trouble = []
    opened.on("console", lambda message: trouble.append(message.text))
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.set_content(make("MultiViewPLSA").report(*data)._repr_html_())
    frame = opened.frame_locator("iframe")
    frame.locator(".theme").click()
    assert frame.locator("html[data-theme]").count() == 1
    frame.locator('nav a[href="#map"]').click()
    assert frame.locator("#map h2").is_visible()
    frame.locator('[data-toggle="g0"]').click()
    assert frame.locator("circle.g0.off").count() > 0
    opened.close()
    assert trouble == []
