"""Tables and texts of the page: whatever a text is, it stays text."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from coview.report.markup import TableColumn, breakable, table
from coview.report.words import number

TEXT = st.text(alphabet=st.one_of(st.sampled_from("<>&\"'$/;{}script= \n"), st.characters(codec="utf-8")), max_size=40)


class Seen(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


@settings(max_examples=40, deadline=None)
@given(TEXT, TEXT)
def test_cells_hold_no_markup_of_their_own(first, second):
    columns = [
        TableColumn(first, "text", [first]),
        TableColumn("n", "num", [(1, second)]),
        TableColumn("w", "wide", [second]),
    ]
    seen = Seen(table(second, columns))
    assert set(seen.tags) <= {"div", "table", "thead", "tbody", "tr", "th", "td", "button", "wbr"}
    assert {name for name, _ in seen.attributes} <= {"class", "scope", "type", "aria-label", "data-v", "data-label"}


@settings(max_examples=40, deadline=None)
@given(TEXT)
def test_breaks_leave_the_text(text):
    seen = Seen(breakable(text))
    assert set(seen.tags) <= {"wbr"} and "".join(seen.texts).replace("\r", "\n") == text.replace("\r", "\n")


def test_numbers_keep_their_size():
    assert [number(x) for x in (0.0, 12345.6, -0.25, 1e-9)] == ["0.000", "12,346", "−0.250", "1.00e−09"]
