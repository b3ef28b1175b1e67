"""Editing groups in a real browser: choose, see what moves, edit, undo and save, by mouse and by keys alone."""

from __future__ import annotations

import pytest

from coview import LinkPLSA, edit, load
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service


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
    page.goto(f"{address}/#/groups/topic")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_text("Choose topics").wait_for()
    assert page.get_by_role("button", name="Merge").is_disabled()
    assert page.get_by_role("button", name="Undo").is_disabled()
    assert page.get_by_role("button", name="Download model").is_disabled()
    page.get_by_label("Order").select_option("index")
    boxes = page.locator(".choose input")
    boxes.nth(1).check()
    boxes.nth(3).check()
    page.get_by_text("2 topics chosen").wait_for()
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("Name (may be left out)").fill("<b>bold</b> topics")
    page.get_by_role("button", name="Show what moves").click()
    moves = edit(model).preview({"edit": "merge", "groups": [1, 3], "name": "<b>bold</b> topics"}, X)
    page.get_by_text(f"{len(moves['row'])} of 60 objects move.").wait_for()
    assert page.locator(".edit .id").first.inner_text() == X.ids[moves["row"][0]]
    assert page.locator(".card.group").count() == 5  # nothing has changed yet
    page.get_by_role("button", name="Make this edit").click()
    page.get_by_text("Done: merge 1 and 3 into 1").wait_for()
    page.locator("h3", has_text="<b>bold</b> topics").wait_for()
    assert page.locator(".card.group").count() == 4
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Download model").click()
    assert downloaded.value.suggested_filename == "edited.coview"
    downloaded.value.save_as(tmp_path / "downloaded.coview")
    assert load(tmp_path / "downloaded.coview").numbers_ == [0, 1, 2, 4]
    page.get_by_text("Downloaded as edited.coview.").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved in edited.coview.", exact=True).wait_for()
    assert load(tmp_path / "edited.coview").numbers_ == [0, 1, 2, 4]
    assert page.get_by_role("button", name="Save").is_disabled()
    assert page.get_by_text("edited.coview holds the model as it is here.").is_visible()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("The last edit is undone.").wait_for()
    assert page.locator(".card.group").count() == 5 and page.get_by_role("button", name="Save").is_enabled()
    assert page.get_by_text("edited.coview does not hold the edits as they are here: save again.").is_visible()
    page.goto(f"{address}/#/map")  # other pages have forgotten the edit too
    page.locator(".legend li").first.wait_for()
    assert page.locator(".legend li").count() == len(set(edit(model).predict(X).tolist()))


def test_keys_alone_rename_a_group(page, address):
    page.goto(f"{address}/#/groups/topic?edit=1")
    page.locator(".choose input").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Space")
    page.get_by_text("1 topic chosen").wait_for()
    page.get_by_role("button", name="Rename").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'edit-value'")
    page.keyboard.type("steam engines")
    page.keyboard.press("Enter")
    page.get_by_text("No object moves.").wait_for()
    page.wait_for_function("document.activeElement.innerText === 'Make this edit'")
    page.keyboard.press("Enter")
    page.locator("h3", has_text="steam engines").wait_for()
    page.wait_for_function("document.activeElement.getAttribute('role') === 'status'")
    assert page.locator(":focus").inner_text().startswith("Done: rename ")
    page.keyboard.press("j")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Drop").press("Enter")
    page.get_by_role("button", name="Make this edit").wait_for()
    page.wait_for_function("document.activeElement.innerText === 'Make this edit'")
    page.keyboard.press("Escape")  # closes the question, not the page
    page.get_by_role("button", name="Make this edit").wait_for(state="detached")
    assert page.url.endswith("#/groups/topic?edit=1") and page.locator(".card.group").count() == 5


@pytest.mark.parametrize(
    ("title", "numbers", "record"),
    [
        ("Split", [2], {"edit": "split", "group": 2, "n": 2}),
        ("Drop", [2], {"edit": "drop", "group": 2}),
        ("Mark as noise", [2], {"edit": "noise", "group": 2}),
        ("Reduce", [], {"edit": "reduce", "n": 3}),
    ],
)
def test_groups_are_split_dropped_marked_and_reduced(page, address, small, model, title, numbers, record):
    page.goto(f"{address}/#/groups/topic?edit=1")
    page.locator(".choose input").first.wait_for()
    choose(page, model, *numbers)
    page.get_by_role("button", name=title, exact=True).click()
    if title in ("Split", "Reduce"):
        page.get_by_role("button", name="Show what moves").click()
    page.get_by_role("button", name="Make this edit").click()
    page.get_by_text("Done: ").wait_for()
    expected = edit(model).apply(record, small[0])
    assert page.locator(".card.group").count() == len(expected.numbers_)
    assert page.get_by_text("Nothing is saved in edited.coview yet.").is_visible()
    page.goto(f"{address}/#/objects")
    page.locator(".entry").first.wait_for()
    assert page.locator(".entry .badge").count() == int((expected.predict(small[0][:50]) >= 0).sum())


def test_a_refusal_is_told(browser, address):
    page = browser.new_page()  # the console says that the answer was a refusal
    page.goto(f"{address}/#/groups/topic?edit=1")
    for _ in range(2):
        page.locator(".choose input").first.wait_for()
        page.locator(".choose input").nth(_).check()
        page.get_by_role("button", name="Rename").click()
        page.get_by_label("New name").fill("twins")
        page.get_by_role("button", name="Show what moves").click()
        if not _:
            page.get_by_role("button", name="Make this edit").click()
            page.get_by_text("Done: rename").wait_for()
    page.get_by_role("alert").wait_for()
    assert "twins" in page.get_by_role("alert").inner_text()
    page.close()


def test_editing_fits_a_phone(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/#/groups/topic?edit=1")
    page.locator(".choose input").first.check()
    page.get_by_role("button", name="Drop").click()
    page.get_by_role("button", name="Make this edit").wait_for()
    assert page.locator("html").evaluate("root => root.scrollWidth") <= 390
    page.close()
