"""Internet Advertisements: a made-up archive, then the sizes of the real one."""

from __future__ import annotations

import zipfile

import pytest
from corpora import load_internet_ads

from coview.exceptions import DataFileError

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


def write(home, names=NAMES, data=DATA):
    (home / "internet_ads").mkdir()
    with zipfile.ZipFile(home / "internet_ads" / "ad-dataset.zip", "w") as archive:
        archive.writestr("ad.names", names.encode("latin-1"))
        archive.writestr("ad.data", data)
    return home


def test_the_two_views_of_the_paper(tmp_path):
    corpus = load_internet_ads(data_home=write(tmp_path))
    assert corpus.views["image_destination"].toarray().tolist() == [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0] * 4]
    assert corpus.views["base_alt"].toarray().tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]
    names = corpus.views.feature_names["image_destination"].tolist()
    assert names == ["url*http://a", "url*b\xe9", "ancurl*d", "ancurl*e"]
    assert corpus.target.tolist() == [1, 0, 0, 0]


def test_all_parts_by_themselves_and_unknown_geometry(tmp_path):
    corpus = load_internet_ads("all", data_home=write(tmp_path))
    sizes = {"image_url": 2, "base_url": 1, "destination_url": 2, "alt": 1, "caption": 1, "geometry": 4}
    assert corpus.views.n_features == sizes
    assert corpus.views.present[:, -1].tolist() == [True, False, True, False]
    assert corpus.views["geometry"][0].tolist() == [60, 468, 7.8, 1]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (DATA.replace("nonad.", "maybe."), NAMES),
        (DATA.replace(",1,0,1,0,1,1,0,ad.", ",1,0,1,0,1,1,ad."), NAMES),
        (DATA.replace("1,0,1,0,1,1,0,ad.", "2,0,1,0,1,1,0,ad."), NAMES),
        (DATA, NAMES.replace("caption*", "word*")),
    ],
)
def test_what_is_broken_is_told(tmp_path, data, names):
    with pytest.raises(DataFileError, match="Download it again"):
        load_internet_ads(data_home=write(tmp_path, names, data))
