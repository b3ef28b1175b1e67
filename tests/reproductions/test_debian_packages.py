"""Debian packages: apt's control data as a table."""

import pytest
from corpora import debian_packages
from corpora.debian_packages import load_debian_packages, read_descriptions, read_packages

from coview.exceptions import DataFileError

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


def test_a_machine_without_apt_is_told_so(monkeypatch):
    monkeypatch.setattr(debian_packages.shutil, "which", lambda name: None)
    with pytest.raises(DataFileError, match="needs the command apt-cache"):
        load_debian_packages()
