"""The object that a notebook shows, and the method of every estimator."""

from __future__ import annotations

import html
import re

import pytest

from coview import Report, make_report


def test_a_notebook_shows_it_in_a_frame_of_its_own(make):
    report = make("PLSA").report()
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
    report = make("PLSA").report(*data, path=tmp_path / "deep" / "report.html")
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
