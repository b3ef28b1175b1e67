"""Debian packages: the descriptions, titles and dependencies that every Debian or Ubuntu machine already has.

Nothing is downloaded: `apt-cache dumpavail` prints the packages that the machine knows, and apt's own translation files
hold their long descriptions. The corpus is a raw table of texts and lists, as people have them, not matrices.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch, check_random_state

from coview.exceptions import DataFileError

__all__ = ["load_debian_packages"]

_HELPER = Path("/usr/lib/apt/apt-helper")  # reads what apt has compressed, whatever it is compressed with
_VERSION = re.compile(r"\s*(\([^)]*\)|:[a-z0-9-]+)")  # the version or architecture of a dependency
_UPDATE = "Run `apt-get -o Acquire::Languages=en update` as root"

_DESCR = """Debian packages, as known to apt on this machine: a raw table of texts and lists.

The columns are "name", "title" (one line), "description" (some sentences), "depends" (names of packages, separated by
commas) and "section". The target is the section without its area, such as "games" or "python". A package without
a long description or without a section is left out, and of several versions the first counts.
"""


def load_debian_packages(
    n_objects: int | None = None, *, lists: str | Path = "/var/lib/apt/lists", random_state: int | None = 0
) -> Bunch:
    """Load the packages that apt knows on a Debian or Ubuntu machine, as a table of raw texts.

    About 60,000 objects on a machine whose package lists are complete. The lists change from machine to machine and
    from day to day; their number is part of what the loader returns.

    Parameters
    ----------
    n_objects : int or None, default=None
        Number of packages, drawn at random; all by default.
    lists : path, default="/var/lib/apt/lists"
        Folder of apt's lists, where the long descriptions are.
    random_state : int or None, default=0
        Which packages are drawn.

    Returns
    -------
    Bunch
        ``table`` (dict of columns "name", "title", "description", "depends", "section": lists of texts), ``target``
        (integers) and ``target_names`` (sections), ``DESCR``.

    Examples
    --------
    >>> from coview import TableViews
    >>> from corpora import load_debian_packages
    >>> corpus = load_debian_packages(3000)  # doctest: +SKIP
    >>> TableViews({"words": "description", "title": "title"}, id="name").fit_transform(corpus.table)  # doctest: +SKIP
    """
    if shutil.which("apt-cache") is None or not _HELPER.is_file():
        raise DataFileError("load_debian_packages needs the command apt-cache, which only Debian and its kin have.")
    translations = sorted(Path(lists).glob("*_i18n_Translation-en*"))
    if not translations:
        raise DataFileError(f"{lists} has no English descriptions (files *_i18n_Translation-en). {_UPDATE}.")
    long = read_descriptions(line for path in translations for line in _lines(str(_HELPER), "cat-file", str(path)))
    table = read_packages(_lines("apt-cache", "dumpavail"), long)
    if not table["name"]:
        raise DataFileError(f"apt-cache knows no package with a long description in {lists}. {_UPDATE}.")
    if n_objects is not None:
        if not 1 <= n_objects <= len(table["name"]):
            raise ValueError(f"n_objects must be between 1 and {len(table['name'])}, got {n_objects!r}.")
        rows = np.sort(check_random_state(random_state).permutation(len(table["name"]))[:n_objects])
        table = {column: [values[row] for row in rows] for column, values in table.items()}
    names, target = np.unique(table["section"], return_inverse=True)
    return Bunch(table=table, target=target, target_names=names.tolist(), DESCR=_DESCR)


def read_descriptions(lines: Iterable[str]) -> dict[str, str]:
    """Return the long description of each package, by the checksum that apt names it by."""
    return {
        fields["Description-md5"]: _body(fields["Description-en"])
        for fields in _stanzas(lines)
        if "Description-md5" in fields and "Description-en" in fields
    }


def read_packages(lines: Iterable[str], descriptions: dict[str, str]) -> dict[str, list[str]]:
    """Return the table of the packages that have a section and a long description; the first of each name counts."""
    table: dict[str, list[str]] = {name: [] for name in ("name", "title", "description", "depends", "section")}
    seen = set()
    for fields in _stanzas(lines):
        name, section = fields.get("Package", ""), fields.get("Section", "").rpartition("/")[2]
        description = descriptions.get(fields.get("Description-md5", ""), "")
        if not section or not description or name in seen:
            continue
        seen.add(name)
        depends = re.split(r"[,|]", fields.get("Depends", ""))
        title = fields.get("Description", fields.get("Description-en", "")).split("\n")[0]
        row = (name, title, description, ", ".join(_VERSION.sub("", one).strip() for one in depends), section)
        for column, value in zip(table.values(), row):
            column.append(value)
    return table


def _lines(*command: str) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace") as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode:
        raise DataFileError(f"`{' '.join(command)}` failed with exit status {process.returncode}.")


def _stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Split control data into paragraphs of fields; a line that starts with a space continues the field before it."""
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        line = line.rstrip("\n")
        if not line:
            if fields:
                yield fields
            fields, name = {}, ""
        elif line[0] == " " and name:
            fields[name] += "\n" + line[1:]
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if fields:
        yield fields


def _body(description: str) -> str:
    """Return a description without its first line, the title; a lone dot is an empty line."""
    return "\n".join("" if line == "." else line.strip() for line in description.split("\n")[1:]).strip()
