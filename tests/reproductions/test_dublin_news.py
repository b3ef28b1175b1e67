"""3sources and the BBC's segments: small files in their format, with what can be wrong in them."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import load_3sources, load_bbc_segments

from coview.exceptions import DataFileError

HEAD = "%%MatrixMarket matrix coordinate real general\n"


def view(folder, name, documents, terms, entries):
    """Entries are (term, document, count), both counted from 1."""
    lines = [f"{len(terms)} {len(documents)} {len(entries)}", *(f"{t} {d} {c}" for t, d, c in entries)]
    (folder / f"{name}.mtx").write_text(HEAD + "\n".join(lines) + "\n")
    (folder / f"{name}.terms").write_text("\n".join(terms) + "\n")
    (folder / f"{name}.docs").write_text("\n".join(documents) + "\n")


@pytest.fixture
def stories(tmp_path):
    """Story 7 ran in all papers, 3 and 9 in one each; every paper has an order of its own."""
    folder = tmp_path / "3sources"
    folder.mkdir()
    view(folder, "3sources_bbc", ["7", "3"], ["goal", "bank"], [(1, 1, 2.0), (2, 2, 5.0), (1, 2, 1.0)])
    view(folder, "3sources_guardian", ["9", "7"], ["goal"], [(1, 2, 4.0)])
    view(folder, "3sources_reuters", ["7"], ["bank", "goal", "loan"], [(2, 1, 3.0)])
    (folder / "3sources.disjoint.clist").write_text("business: 3,9\nsport: 7\n")
    return folder


def test_stories_are_joined_by_their_numbers(stories):
    found = load_3sources(stories.parent, complete=False)
    at = {str(name): row for row, name in enumerate(found.views.ids)}
    assert found.views["bbc"].toarray()[at["3"]].tolist() == [1, 5]
    assert found.views["guardian"].toarray()[[at["7"], at["9"]]].tolist() == [[4], [0]]
    assert found.views.present[at["9"]].tolist() == [False, True, False]
    assert found.target_names[found.target[[at["3"], at["9"], at["7"]]]].tolist() == ["business", "business", "sport"]
    assert "2 of these stories" in found.DESCR


def test_by_default_only_stories_that_all_papers_ran(stories):
    found = load_3sources(stories.parent)
    assert found.views.ids.tolist() == ["7"] and found.views.present.all()
    assert found.views["reuters"].toarray().tolist() == [[0, 3, 0]]
    assert found.views.feature_names["reuters"].tolist() == ["bank", "goal", "loan"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("3sources.disjoint.clist", "sport: 1\n", r"names no class for document '7' \(1 in all\)"),
        ("3sources.disjoint.clist", "sport: 7\nhealth: 7\n", "names two classes for document '7'"),
        ("3sources.disjoint.clist", "sport 7\n", "Line 1 .* has no colon"),
        ("3sources_bbc.docs", "7\n", "has 2 terms and 2 documents, but there are 2 and 1 names"),
        ("3sources_bbc.mtx", "2 2\n1 1 2.0\n", "is not in the Matrix Market format"),
        ("3sources_reuters.docs", "8\n", "has all views. Load them with complete=False"),
    ],
)
def test_files_that_do_not_fit_are_refused_by_name(stories, file, text, message):
    (stories / file).write_text(text)
    with pytest.raises(DataFileError, match=message):
        load_3sources(stories.parent)


def test_segments_of_an_article_are_its_views(tmp_path):
    folder = tmp_path / "bbcsport"
    folder.mkdir()
    view(folder, "bbcsport_seg1of2", ["tennis_002", "rugby_001"], ["ball", "set"], [(1, 2, 1.0), (2, 1, 6.0)])
    view(folder, "bbcsport_seg2of2", ["rugby_001", "tennis_002", "rugby_003"], ["try"], [(1, 1, 2.0)])
    (folder / "bbcsport.clist").write_text("rugby: rugby_001, rugby_003\ntennis: tennis_002\n")
    found = load_bbc_segments("bbcsport", 2, tmp_path)
    assert found.views.names == ("segment1", "segment2")
    order = np.argsort(found.views.ids)
    assert found.views.ids[order].tolist() == ["rugby_001", "tennis_002"]
    assert found.views["segment1"].toarray()[order].tolist() == [[1, 0], [0, 6]]
    assert found.target[order].tolist() == [0, 1] and found.target_names.tolist() == ["rugby", "tennis"]
    assert len(load_bbc_segments("bbcsport", 2, tmp_path, complete=False).target) == 3
