"""The explorer in a real browser: from opening the page to finding code with words, by mouse and by keys."""

from importlib.util import find_spec
from shutil import which

import numpy as np
import pytest

from coview import (
    CrossModalRetriever,
    LinkPLSA,
    MultiViewCCA,
    MultiViewNaiveBayes,
    Ontology,
    SeededKMeansClassifier,
    Views,
)
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
if find_spec("playwright") is None or not any(map(which, CHROMIUM)):
    pytest.skip("playwright or chromium is not installed: the explorer is not walked through", allow_module_level=True)

SUBJECTS = {
    "io": ("read write file path open close", "fopen read write path handle close"),
    "math": ("matrix eigenvalue sparse solve vector norm", "matvec eig csr solve dot norm"),
    "net": ("server request socket send wait task", "sock request send await task loop"),
}


def library(n: int = 60) -> tuple[Views, list[str]]:
    """Functions of three subjects by the words of their documentation and by the names in their code."""
    rng = np.random.default_rng(0)
    words, code = (sorted({word for pair in SUBJECTS.values() for word in pair[v].split()}) for v in (0, 1))
    kinds = [list(SUBJECTS)[i % 3] for i in range(n)]
    matrices = []
    for v, names in enumerate((words, code)):
        rates = np.array([[3.0 if name in SUBJECTS[kind][v].split() else 0.1 for name in names] for kind in kinds])
        matrices.append(rng.poisson(rates).astype(float))
    ids = [f"{kind}.function_{i}" for i, kind in enumerate(kinds)]
    return Views(words=matrices[0], code=matrices[1], feature_names={"words": words, "code": code}, ids=ids), kinds


@pytest.fixture(scope="module")
def address():
    X, kinds = library()
    sorter = SeededKMeansClassifier(ontology=Ontology.from_tree({"library": list(SUBJECTS)})).fit(X, kinds)
    retriever = CrossModalRetriever(MultiViewCCA(4, random_state=0)).fit(X)
    topics = LinkPLSA(3, random_state=0, max_iter=20).fit(X)
    with running(make_app(Service(sorter, X, also=[topics, retriever], title="A small library"), page=True)) as url:
        yield url


@pytest.fixture
def page(browser, address):
    """A fresh page; what it says on its console, or asks of other hosts, fails the test."""
    context = browser.new_context()
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    found.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(address) else None)
    found.set_default_timeout(20_000)
    yield found
    context.close()
    assert wrong == []


def test_a_person_finds_code_with_words(page, address):
    page.goto(address)
    page.get_by_role("heading", name="A small library").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("eigenvalue of a sparse matrix")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Nearest to these words").wait_for()
    first = page.locator(".list li", has=page.locator(".why")).first
    assert "math." in first.inner_text()
    first.get_by_text("Why it matched").click()
    first.locator(".parts .name", has_text="eigenvalue").wait_for()
    first.locator(".entry").click()
    page.get_by_role("heading", name="SeededKMeansClassifier predicts the class").wait_for()
    assert page.locator(".card .view", has_text="code").count() > 0
    assert "#/object/math.function_" in page.url


def test_keys_move_through_entries_and_pages(page, address):
    page.goto(f"{address}/#/objects?q=socket+server")
    page.locator(".why").first.wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.keyboard.press("j")
    name = page.locator(".entry .id").first.inner_text()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=name, exact=True).wait_for()
    page.keyboard.press("2")
    page.get_by_role("heading", name="Classes").wait_for()
    page.locator(".card.group").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_text("The typical ones first").wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Classes").wait_for()
    assert page.url.endswith("#/groups/0")


def test_every_page_of_the_menu_opens_by_its_link(page, address):
    page.goto(address)
    page.locator("nav a").first.wait_for()
    links = page.locator("nav a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert links == ["#/", "#/groups", "#/objects", "#/views", "#/label", "#/try", "#/model"]
    for link in [*links, "#/groups/1", "#/groups/1/0"]:
        page.goto(f"{address}/{link}")
        page.reload()  # a deep link, as if it had been sent by mail
        page.locator("main h1").wait_for()
        page.locator(".spin").first.wait_for(state="detached")
        assert page.locator(".state.error").count() == 0


def test_an_object_that_is_not_there_is_told_with_those_that_are_like_it(browser, address):
    page = browser.new_page()  # the console says that the answer was a refusal
    page.goto(f"{address}/#/object/math.functoin_1")
    page.get_by_text("There is no such object").wait_for()
    page.get_by_text("Did you mean").wait_for()
    assert page.locator(".state.error").count() == 0 and page.get_by_text("Try again").count() == 0
    page.close()


def test_labels_are_given_and_the_model_is_refitted(browser):
    X, kinds = library()
    y = np.array([kind if i < 6 else None for i, kind in enumerate(kinds)], dtype=object)
    service = Service(MultiViewNaiveBayes().fit(X, y), X, labels=y)
    with running(make_app(service, page=True)) as url:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(f"{url}/#/label")
        first = page.locator(".labeling select").first
        first.wait_for()
        named = first.get_attribute("aria-label")
        first.select_option("net")
        page.reload()  # labels are kept in this tab
        page.get_by_role("button", name="Refit with 1 new label").click()
        page.get_by_text("What changed").wait_for()
        page.get_by_text("7 objects labeled, 53 without a label").wait_for()
        assert page.get_by_label(named, exact=True).count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save all labels").click()
        lines = saved.value.path().read_text().splitlines()
        assert len(lines) == 8 and lines[-1] == f"{named.removeprefix('Label of ')},net"
        page.close()


def test_something_new_is_tried(page, address):
    page.goto(f"{address}/#/try")
    page.get_by_label("words").fill("open the file and read")
    page.get_by_role("button", name="Predict").click()
    page.locator(".large", has_text="io").first.wait_for()
    assert page.locator(".state.error").count() == 0
    assert page.get_by_text("nothing that the model knows").count() == 0
    page.get_by_label("words").fill("zebra")
    page.get_by_role("button", name="Predict").click()
    page.get_by_text("nothing that the model knows").first.wait_for()


@pytest.mark.parametrize(
    ("text", "view", "cell"),
    [
        ("4.5", {"features": 1, "takes": ["numbers"]}, [4.5]),
        ("4,", {"features": 1, "takes": ["numbers"]}, [4]),
        ("1, -2e3,", {"features": 2, "takes": ["numbers", "text"]}, [1, -2000]),
        ("4", {"features": 1, "takes": ["numbers", "text"]}, "4"),
        ("red, 4", {"features": 2, "takes": ["text"]}, "red, 4"),
        ('{"rating": 4.5}', {"features": 1, "takes": ["names"]}, {"rating": 4.5}),
    ],
)
def test_numbers_are_read_with_commas_or_alone(page, address, text, view, cell):
    page.goto(f"{address}/#/try")
    read = 'async ([text, view]) => (await import("/static/attempt.js")).read(text, view)'
    assert page.evaluate(read, [text, view]) == cell


def test_what_is_wrong_stands_beside_its_field(browser, address):
    page = browser.new_page()  # the console says that the answer was a refusal
    page.goto(f"{address}/#/try")
    page.get_by_label("code").fill("1, 2, 3")
    page.get_by_role("button", name="Predict").click()
    page.locator(".card", has=page.get_by_label("code")).get_by_text("got a row of 3").wait_for()
    page.get_by_label("words").fill("{not json")
    page.get_by_role("button", name="Predict").click()
    page.locator(".card", has=page.get_by_label("words")).get_by_text("is not valid").wait_for()
    assert page.locator(".state.error").count() == 0
    page.close()


def test_the_overview_begins_with_what_is_in_the_data(page, address):
    page.goto(address)
    page.locator(".map circle").first.wait_for()
    page.locator("article.group .typical li").first.wait_for()
    groups = page.locator("article.group")
    assert [groups.nth(i).locator("h3 a").inner_text() for i in range(3)] == ["io", "math", "net"]
    assert all("20 · 33 %" in groups.nth(i).inner_text() for i in range(3))
    assert [groups.nth(i).locator(".typical li").count() for i in range(3)] == [2, 2, 2]
    assert page.locator("main h2").last.inner_text() == "How it was made"
    assert page.locator(".tag").all_inner_texts() == ["io", "math", "net"]
    point = page.locator('.map circle[data-id="math.function_7"]')
    point.dispatch_event("pointerover")
    page.get_by_text("math.function_7 (math").wait_for()
    point.dispatch_event("click")
    page.get_by_role("heading", name="math.function_7", exact=True).wait_for()
    page.reload()  # by its id, not by its row
    page.get_by_role("heading", name="math.function_7", exact=True).wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="net.function_8", exact=True).wait_for()


@pytest.fixture(scope="module")
def wide():
    """Objects of four views whose fourth disagrees, with many features and a table."""
    rng = np.random.default_rng(0)
    kinds = np.arange(40) % 2
    words = [f"word{j:02}" for j in range(60)]
    matrix = rng.poisson(np.where((np.arange(60) % 2)[None] == kinds[:, None], 3.0, 0.2)) + 1.0
    parts = {"a": matrix, "b": matrix, "c": matrix, "d": matrix[:, ::-1]}
    ids = [f"lib{i}-2.{i}/x" for i in range(40)]
    trained = Views({**parts, "d": matrix}, feature_names=dict.fromkeys(parts, words), ids=ids)
    X = Views(parts, feature_names=dict.fromkeys(parts, words), ids=ids)
    model = MultiViewNaiveBayes().fit(trained, np.array(["even", "odd"])[kinds])
    titles = [f"the title of library number {i}, which says a lot of it in one line" for i in range(40)]
    table = {"name": ids, "year": np.arange(40) + 1980, "title": titles, "notes": ["long words " * 200] * 40}
    with running(make_app(Service(model, X, table=table), page=True)) as url:
        yield url


@pytest.mark.parametrize("width", [1400, 390])
def test_cards_fill_their_rows_for_any_number_of_views(browser, wide, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    for link, cards in (("#/object/lib3-2.3%2Fx", ".cards > .card"), ("#/try", ".cards > .card")):
        page.goto(f"{wide}/{link}")
        page.locator(cards).first.wait_for()
        right = page.locator("main .page").evaluate("el => el.getBoundingClientRect().right")
        boxes = page.locator(cards).evaluate_all(
            "all => all.map(el => el.getBoundingClientRect()).map(b => [b.top, b.right])"
        )
        ends: dict[float, float] = {}
        for top, end in boxes:
            ends[top] = max(ends.get(top, 0), end)
        assert all(abs(end - right) < 2 for end in ends.values())
        assert page.locator("html").evaluate("root => root.scrollWidth") <= width
    page.close()


def test_nothing_found_says_so(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/#/objects?q=zebra")
    page.get_by_text("Nothing in the query 'zebra' is known").wait_for()
    page.get_by_text("No object has all of these words or such a name.").wait_for()
    page.goto(f"{address}/#/no/such/page")
    page.get_by_text("There is no such page").wait_for()
    page.goto(f"{address}/#/objects?q=socket+zebra+server+quokka")
    page.get_by_text("No object has “zebra” or “quokka”.").wait_for()
    page.goto(f"{address}/#/object/math.funtcion_1")
    page.get_by_text("There is no object 'math.funtcion_1'. Did you mean 'math.function_").wait_for()
    page.goto(f"{address}/#/object/50%")
    page.get_by_text("There is no object '50%'").wait_for()
    page.goto(f"{address}/#/objects?q=math.funtcion_1")
    page.get_by_role("link", name="math.function_1", exact=True).click()
    page.get_by_role("heading", name="math.function_1", exact=True).wait_for()
    page.close()


def test_it_fits_a_phone_and_the_dark(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page = context.new_page()
    links = ("", "#/objects?q=socket", "#/groups", "#/groups/1/0", "#/object/math.function_1", "#/views", "#/model")
    for link in links:
        page.goto(f"{address}/{link}")
        page.locator("main h1").wait_for()
        page.locator(".spin").first.wait_for(state="detached")
        assert page.locator("html").evaluate("root => root.scrollWidth") <= 390
    assert page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") == "rgb(19, 19, 24)"
    style = "el => [getComputedStyle(el).borderTopColor, getComputedStyle(el).backgroundColor]"
    colors = page.locator(".card").first.evaluate(style)
    line, card = ([int(part) for part in color[4:-1].split(",")] for color in colors)
    assert min(np.subtract(line, card)) >= 35  # a line that can be seen
    context.close()
