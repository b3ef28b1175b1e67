"""Editing groups in a real browser: choose, see what moves, edit, undo and save, by mouse and by keys alone."""

from importlib.util import find_spec
from shutil import which

import pytest

from coview import LinkPLSA, MultiViewNaiveBayes, edit, load
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
if find_spec("playwright") is None or not any(map(which, CHROMIUM)):
    pytest.skip("playwright or chromium is not installed: groups are not edited in a browser", allow_module_level=True)


@pytest.fixture(scope="module")
def model(small):
    return LinkPLSA(5, random_state=0, max_iter=20).fit(small[0])


@pytest.fixture
def address(small, model, tmp_path):
    with running(make_app(Service(model, small[0]), page=True, save_edits=tmp_path / "edited.coview")) as url:
        yield url


@pytest.fixture
def page(browser):
    """A fresh page; what it says on its console fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    found.set_default_timeout(20_000)
    yield found
    context.close()
    assert wrong == []


def choose(page, model, *numbers):
    """Choose groups by the numbers beside their names."""
    for number in numbers:
        page.locator(".card.group", has_text=f"topic {number}").get_by_role("checkbox").check()


def test_groups_are_merged_with_what_moves_shown_first(page, address, small, model, tmp_path):
    X, _ = small
    page.goto(f"{address}/#/groups")
    page.get_by_text("Choose topics").wait_for()
    assert page.get_by_role("button", name="Merge").is_disabled()
    assert page.get_by_role("button", name="Undo").is_disabled()
    assert page.get_by_role("button", name="Save").is_disabled()
    assert page.get_by_text("Nothing is saved in edited.coview yet.").is_visible()
    choose(page, model, 1, 3)
    page.get_by_text("2 topics chosen").wait_for()
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("Name (may be left out)").fill("<b>bold</b> topics")
    page.get_by_role("button", name="Show what moves").click()
    moves = edit(model).preview({"edit": "merge", "groups": [1, 3], "name": "<b>bold</b> topics"}, X)
    page.get_by_text(f"{len(moves['row'])} of 60 objects move.").wait_for()
    assert page.locator(".flows li").count() == len(moves.counts["n_objects"])
    assert page.locator(".card.group").count() == 5  # nothing has changed yet
    page.get_by_role("button", name="Make this edit").click()
    page.get_by_text("Done: merge 1 and 3 into 1").wait_for()
    page.locator("h3", has_text="<b>bold</b> topics").wait_for()
    assert page.locator(".card.group").count() == 4
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved in edited.coview.", exact=True).wait_for()
    assert load(tmp_path / "edited.coview").numbers_ == [0, 1, 2, 4]
    assert page.get_by_role("button", name="Save").is_disabled()
    assert page.get_by_text("edited.coview holds the model as it is here.").is_visible()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("The last edit is undone.").wait_for()
    assert page.locator(".card.group").count() == 5 and page.get_by_role("button", name="Save").is_enabled()
    assert page.get_by_text("edited.coview does not hold the edits as they are here: save again.").is_visible()
    page.goto(f"{address}/#/")  # other pages have forgotten the edit too
    page.locator("article.group").first.wait_for()
    assert page.locator("article.group").count() == 5


def test_a_rename_is_one_click_and_a_download_needs_no_file(page, small, model, tmp_path):
    with running(make_app(Service(model, small[0], title="topics.coview"), page=True)) as url:
        page.goto(f"{url}/#/groups/0/2")
        page.get_by_role("button", name="Rename").click()
        page.keyboard.type("steam engines")  # the field has the focus
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="steam engines").wait_for()
        page.get_by_text("Done: rename 2 to 'steam engines'").wait_for()
        page.get_by_text("Edits end with the explorer: download the edited model to keep them.").wait_for()
        with page.expect_download() as downloaded:
            page.get_by_role("button", name="Download model").click()
        downloaded.value.save_as(tmp_path / "downloaded.coview")
        assert load(tmp_path / "downloaded.coview").log() == ["rename 2 to 'steam engines'"]
        page.get_by_role("button", name="Drop").click()
        page.get_by_role("button", name="Make this edit").wait_for()
        page.keyboard.press("Escape")  # closes the question, not the page
        page.get_by_role("button", name="Make this edit").wait_for(state="detached")
        page.get_by_role("button", name="Drop").click()
        page.get_by_role("button", name="Make this edit").click()
        page.get_by_text("Done: drop 2").wait_for()  # and the page of the group is no more
        assert page.url.endswith("#/groups/0") and page.locator(".card.group").count() == 4


def test_a_refusal_stands_beside_the_field(browser, address):
    page = browser.new_page()  # the console says that the answer was a refusal
    for group in (0, 1):
        page.goto(f"{address}/#/groups/0/{group}")
        page.get_by_role("button", name="Rename").click()
        page.get_by_label("New name").fill("twins")
        page.keyboard.press("Enter")
        if group == 0:
            page.get_by_text("Done: rename").wait_for()
    page.locator(".heading .wrong", has_text="twins").wait_for()
    assert page.get_by_label("New name").input_value() == "twins"
    page.close()


def test_editing_fits_a_phone(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/#/groups")
    page.locator(".card.group input").first.check()
    page.get_by_role("button", name="Drop").click()
    page.get_by_role("button", name="Make this edit").wait_for()
    assert page.locator("html").evaluate("root => root.scrollWidth") <= 390
    page.close()


def test_labels_are_checked_in_parts_and_decisions_are_of_these_labels(page, small):
    X, y = small
    one = {"doubt": 0.9, "reason": "words say b", "label": "a", "suggested": "b"}
    answer = {"labels": 90, "doubted": 70, "objects": [{"id": str(i), **one} for i in range(52)]}
    mark = ["x"]  # of the labels
    page.route("**/api/about", lambda route: route.fulfill(json={**route.fetch().json(), "fingerprint": mark[0]}))
    page.route("**/api/audit", lambda route: route.fulfill(json=answer))
    change = page.get_by_role("button", name="Change to b")
    with running(make_app(Service(MultiViewNaiveBayes().fit(X, y), X, labels=y), page=True)) as url:
        page.goto(f"{url}/#/check")
        page.get_by_text("the first 50 of 52 left").wait_for()
        assert change.count() == 50
        for _ in range(52):
            change.first.click()
        page.get_by_text("The first 52 are checked").wait_for()
        assert page.get_by_text("18 more are doubted").is_visible()
        page.reload()
        page.get_by_text("The first 52 are checked").wait_for()
        mark[0] = "y"
        page.reload()
        page.get_by_text("the first 50 of 52 left").wait_for()
