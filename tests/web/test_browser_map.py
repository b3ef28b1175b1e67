"""The map in a real browser: points with WebGL and without, names, moving, search and colors, by mouse and by keys."""

from __future__ import annotations

import re
from unittest.mock import patch

import numpy as np
import pytest

from coview import MultiViewNaiveBayes, Views
from coview.inspection.objects import place
from coview.web import object_map
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service

N, GROUPS = 240, 12
HANDLE = "document.querySelector('.map').handle"
CONTEXT = """
const own = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind) { return kind === "webgl2" ? WEBGL : own.call(this, kind); };
"""
NO_WEBGL = CONTEXT.replace("WEBGL", "null")
SLOW_WEBGL = CONTEXT.replace("WEBGL", "own.call(this, kind, { antialias: false })")  # also one without a graphics card
COLORS = f"""() => {{
  const canvas = document.querySelector(".map canvas"), copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  {HANDLE}.draw();
  copy.getContext("2d").drawImage(canvas, 0, 0);
  const ratio = canvas.width / canvas.clientWidth;
  return [...Array({N}).keys()].map((i) => {{
    const [x, y] = {HANDLE}.onScreen(i);
    return [...copy.getContext("2d").getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data];
  }});
}}"""


@pytest.fixture(scope="module")
def kinds():
    return np.arange(N) % GROUPS


@pytest.fixture(scope="module")
def address(kinds):
    rng = np.random.default_rng(0)
    rates = np.where(np.arange(4 * GROUPS) // 4 == kinds[:, None], 2.0, 0.3)
    words = [f"{chr(97 + j // 4)}word{j}" for j in range(4 * GROUPS)]
    X = Views(
        words=rng.poisson(rates).astype(float),
        more=rng.poisson(rates).astype(float),
        feature_names={"words": words},
        ids=[f"<b>object</b> {i}" for i in range(N)],
    )
    table = {
        "venue": [f"<i>venue</i> {i % 3}" for i in range(N)],
        "year": (2000 + np.arange(N) // 24).astype(float),
        "title": [f"the story of number {i}" for i in range(N)],
    }
    names = np.array([f"a group with number {k}" for k in range(GROUPS)])
    service = Service(MultiViewNaiveBayes().fit(X, names[kinds]), X, table=table)
    # these tests are of the drawing: each group is one disc, which takes no time to place
    by_components = patch.object(object_map, "place", lambda parts, views, method: place(parts, views, "pca"))
    with by_components, running(make_app(service, page=True)) as url:
        yield url


@pytest.fixture
def page(browser, address):
    """A fresh page; what it says on its console, or asks of other hosts, fails the test."""
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1200, "height": 900})
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    found.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(address) else None)
    found.set_default_timeout(20_000)
    yield found
    context.close()
    assert wrong == []


def open_map(page, address, query=""):
    page.goto(f"{address}/#/map{query}")
    page.locator(".map .frame").wait_for()
    page.wait_for_function(f"{HANDLE}.onScreen(0)[0] !== 0")


def view(page):
    return page.evaluate(f"() => ({{...{HANDLE}.view}})")


@pytest.mark.parametrize("kind", ["webgl", "canvas"])
def test_points_have_the_color_of_their_legend(page, address, kinds, kind):
    page.add_init_script(NO_WEBGL if kind == "canvas" else SLOW_WEBGL)
    open_map(page, address)
    assert page.evaluate(f"{HANDLE}.kind()") == kind
    page.evaluate(f"{HANDLE}.setView({{x: 0.5, y: 0.5, zoom: 1}})")
    drawn = np.array(page.evaluate(COLORS))
    assert (drawn[:, 3] > 0).all()  # where an object is, there is a point
    dots = page.locator(".legend .dot").evaluate_all("all => all.map(el => getComputedStyle(el).backgroundColor)")
    legend = np.array([[int(part) for part in dot[4:-1].split(",")] for dot in dots])
    names = page.locator(".legend .name").all_inner_texts()
    own = np.array([legend[names.index(f"a group with number {k}")] for k in kinds])
    alone = drawn[:, 3] <= (255 if kind == "canvas" else 200)  # in WebGL, where no other point lies on it
    near = np.abs(drawn[:, :3] - own).max(axis=1) <= 12
    assert near[alone].mean() > (
        0.75 if kind == "canvas" else 0.9
    )  # on a canvas, the last of several covers the others


def test_names_are_on_the_map_without_overlap_and_more_of_them_nearer(page, address):
    open_map(page, address)
    page.locator(".names .name:visible").first.wait_for()
    counted = {}
    for zoom in (0.8, 12):
        page.evaluate(f"{HANDLE}.setView({{x: 0.5, y: 0.5, zoom: {zoom}}}); {HANDLE}.draw()")
        boxes = page.locator(".names .name:visible").evaluate_all(
            "all => all.map(el => el.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])"
        )
        for i, (left, top, right, bottom) in enumerate(boxes):
            assert all(a >= right or c <= left or b >= bottom or d <= top for a, b, c, d in boxes[i + 1 :])
        counted[zoom] = page.evaluate(
            """() => { const h = document.querySelector(".map").handle, steps = [...Array(30).keys()].map(k => k / 29);
            for (const x of steps) for (const y of steps) {
              h.setView({x, y, zoom: h.view.zoom}); h.draw();
              document.querySelectorAll(".names .name:not([hidden])").forEach((el) => { el.seen = true; });
            }
            return [...document.querySelectorAll(".names .name")].filter((el) => el.seen).length; }"""
        )
    assert counted[0.8] < counted[12] == GROUPS


def test_keys_move_zoom_and_open(page, address):
    open_map(page, address)
    page.locator(".frame").focus()
    before = view(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    after = view(page)
    assert after["zoom"] > 1.5 * before["zoom"] and after["x"] > before["x"] and after["y"] > before["y"]
    page.keyboard.press("-")
    assert view(page)["zoom"] < after["zoom"]
    page.keyboard.press("0")
    assert view(page) == {"x": 0.5, "y": 0.5, "zoom": 1}
    page.locator("figcaption .id", has_text="<b>object</b>").wait_for()  # the object in the middle, as text
    name = page.locator("figcaption .id").inner_text()
    assert page.locator(".ring").is_visible()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=name, exact=True).wait_for()
    page.keyboard.press("Escape")


def test_tab_goes_through_the_names_and_enter_comes_nearer(page, address):
    open_map(page, address)
    page.locator(".names .name:visible").first.wait_for()
    page.locator(".frame").focus()
    page.keyboard.press("Tab")
    page.wait_for_function("document.activeElement.className === 'name'")
    name = page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    page.locator("figcaption", has_text=re.compile(rf"^{name}: \d+ objects\. ")).wait_for()
    assert view(page)["zoom"] > 1 and page.evaluate("document.activeElement.innerText") == name
    page.get_by_role("link", name="Open the class").click()
    page.get_by_role("heading", name=name, exact=True).wait_for()


def test_wheel_and_drag_keep_what_is_under_the_pointer(page, address):
    open_map(page, address)
    page.evaluate(f"{HANDLE}.setView({{x: 0.5, y: 0.5, zoom: 4}})")
    box = page.locator(".frame").bounding_box()
    x, y = page.evaluate(f"{HANDLE}.onScreen(0)")
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.evaluate(f"{HANDLE}.setView({{x: 0.4, y: 0.5, zoom: 4}})")
    at = page.evaluate(f"{HANDLE}.onScreen(5)")
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 230, steps=8)
    page.mouse.up()
    assert page.evaluate(f"{HANDLE}.onScreen(5)") == pytest.approx([at[0] + 50, at[1] + 30], abs=6)
    assert "#/map" in page.url  # a drag opens nothing
    x, y = page.evaluate(f"{HANDLE}.show(5, 4)")
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"{HANDLE}.view.zoom > 5")
    assert page.evaluate(f"{HANDLE}.onScreen(5)") == pytest.approx([x, y], abs=1)


def test_pointing_tells_and_clicking_opens(page, address):
    open_map(page, address)
    x, y = page.evaluate(f"{HANDLE}.show(31, 40)")
    box = page.locator(".frame").bounding_box()
    page.mouse.move(box["x"] + x + 2, box["y"] + y)
    page.locator(".tip", has_text="<b>object</b> 31: the story of number 31").wait_for()
    assert page.locator(".tip").inner_text().endswith("a group with number 7")
    page.mouse.click(box["x"] + x + 2, box["y"] + y)
    page.get_by_role("heading", name="<b>object</b> 31", exact=True).wait_for()


def test_a_search_marks_names_and_is_in_the_address(page, address):
    page.add_init_script(SLOW_WEBGL)
    open_map(page, address)
    plain = np.array(page.evaluate(COLORS))
    page.keyboard.press("/")
    page.keyboard.type("number 77")
    page.get_by_text("1 object found").wait_for()
    drawn = np.array(page.evaluate(COLORS))
    assert drawn[77, 3] == 255 and np.median(drawn[:, 3]) < np.median(plain[:, 3]) / 2  # the others step back
    page.keyboard.press("Enter")
    page.wait_for_function(f"{HANDLE}.view.zoom > 10")
    assert page.url.endswith("#/map?q=number+77")
    page.reload()
    page.locator(".found .id", has_text="<b>object</b> 77").click()
    page.get_by_role("heading", name="<b>object</b> 77", exact=True).wait_for()
    open_map(page, address, "?q=zebra")
    page.get_by_text("Nothing found").wait_for()


def test_colors_by_category_and_by_number(page, address):
    page.add_init_script(SLOW_WEBGL)
    open_map(page, address)
    page.get_by_label("Color by").select_option("venue")
    page.locator(".legend .name", has_text="<i>venue</i> 2").wait_for()
    assert page.url.endswith("#/map?color=venue")
    first = page.locator(".legend button", has_text="<i>venue</i> 0")
    first.click()
    assert first.get_attribute("aria-pressed") == "true"
    drawn = np.array(page.evaluate(COLORS))
    assert np.median(drawn[::3, 3]) > 2 * np.median(drawn[1::3, 3])
    page.get_by_label("Color by").select_option("year")
    page.get_by_text("year, from low to high").wait_for()
    assert page.locator(".legend .name").all_inner_texts() == [str(2000 + k) for k in range(10)]
    for theme in ("light", "dark"):  # a ramp: each step is lighter, or each is darker
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.wait_for_timeout(50)
        dots = page.locator(".legend .dot").evaluate_all("all => all.map(el => getComputedStyle(el).backgroundColor)")
        light = [sum(w * int(c) for w, c in zip((0.3, 0.59, 0.11), dot[4:-1].split(","))) for dot in dots]
        assert light == sorted(light, reverse=theme == "light")


def test_a_lost_graphics_card_leaves_a_map(page, address):
    page.add_init_script(SLOW_WEBGL)
    open_map(page, address)
    page.evaluate(
        "document.querySelector('.map canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    )
    page.wait_for_function(f"{HANDLE}.kind() === 'canvas'")
    assert (np.array(page.evaluate(COLORS))[:, 3] > 0).mean() > 0.95


def test_fingers_drag_pinch_and_open(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(20_000)
    open_map(page, address)
    assert page.locator("html").evaluate("root => root.scrollWidth") <= 390
    box = page.locator(".frame").bounding_box()
    touch = context.new_cdp_session(page)

    def send(kind, *points):
        spots = [{"x": box["x"] + x, "y": box["y"] + y, "id": k} for k, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    send("touchStart", (100, 150), (200, 150))
    send("touchMove", (80, 150), (220, 150))
    send("touchMove", (50, 150), (250, 150))
    send("touchEnd")
    page.wait_for_function(f"{HANDLE}.view.zoom > 1.6")
    before = page.evaluate(f"{HANDLE}.onScreen(3)")
    send("touchStart", (100, 150))
    send("touchMove", (120, 150))
    send("touchMove", (140, 150))
    send("touchEnd")
    page.wait_for_function(f"{HANDLE}.onScreen(3)[0] > {before[0] + 15}")
    x, y = page.evaluate(f"{HANDLE}.show(31, 60)")
    page.touchscreen.tap(box["x"] + x, box["y"] + y)
    page.locator(".tip", has_text="object</b> 31").wait_for()  # the first touch tells
    page.touchscreen.tap(box["x"] + x, box["y"] + y)
    page.get_by_role("heading", name="<b>object</b> 31", exact=True).wait_for()
    context.close()
