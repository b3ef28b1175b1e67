"""Internet Advertisements (UCI): images of web pages, advertisements or not, by the addresses and words around them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from corpora.files import DAMAGED, damaged, locate
from coview.validation import check_option
from coview.views.views import Views

__all__ = ["load_internet_ads"]

_ARCHIVE = "internet_ads/ad-dataset.zip"
_SOURCE = "https://archive.ics.uci.edu/dataset/51 (the archive with ad.data and ad.names)"

# parts of the names file by the beginning of a column's name; the geometry comes first, in four columns
PARTS = {"image_url": "url", "base_url": "origurl", "destination_url": "ancurl", "alt": "alt", "caption": "caption"}
GEOMETRY = ("height", "width", "aratio", "local")
PAPER = {"image_destination": ("image_url", "destination_url"), "base_alt": ("base_url", "alt")}

_DESCR = """Internet Advertisements: {n} images on web pages, {ads} of them advertisements.

Nearly every column says whether a phrase occurs (1) or not (0):
{columns}.
The view "geometry" holds height, width, their ratio, and whether the image lies on the page's own server; an image of
which one of these is unknown ("?" in the file) lacks the view. The text that comes with the file counts 458 and 2821.

{twice} rows have the columns of an earlier one, {same} of them its label too: `groups` numbers the distinct rows, so
that a split can keep them together.

views="paper" are the two views of Nguyen, Chang and Hui (Two-view online learning, 2012): addresses of the image and
of its destination (929 columns), and the address of the page with the alternative text (606; the paper prints 602).

Reference: Kushmerick, Learning to remove Internet advertisements, Autonomous Agents 1999. UCI, CC BY 4.0.
"""


def load_internet_ads(views: str = "paper", data_home: str | Path | None = None) -> Bunch:
    """Load Internet Advertisements: 3,279 images on web pages, advertisements or not, in two or six views.

    Parameters
    ----------
    views : {"paper", "all"}, default="paper"
        "image_destination" and "base_alt" as in the two-view paper of 2012, or every part of the data by itself:
        "image_url", "base_url", "destination_url", "alt", "caption" and "geometry".
    data_home : path, optional
        Folder that holds ``internet_ads/ad-dataset.zip``; see `corpora.data_home`.

    Returns
    -------
    Bunch
        ``views`` (0 or 1 in float64, sparse; the geometry dense), ``target`` (1: advertisement), ``target_names``,
        ``groups`` (equal for rows that are the same throughout), ``DESCR``.

    Examples
    --------
    An archive of two images, with four columns of geometry and one of each other part:

    >>> import tempfile, zipfile
    >>> from pathlib import Path
    >>> from corpora import load_internet_ads
    >>> folder = Path(tempfile.mkdtemp()) / "internet_ads"
    >>> folder.mkdir()
    >>> names = ["height: continuous.", "width: continuous.", "aratio: continuous.", "local: 0,1."]
    >>> names += [f"{part}*a: 0,1." for part in ("url", "origurl", "ancurl", "alt", "caption")]
    >>> with zipfile.ZipFile(folder / "ad-dataset.zip", "w") as archive:
    ...     archive.writestr("ad.names", "| made up\\n\\nad, nonad | classes.\\n" + "\\n".join(names))
    ...     archive.writestr("ad.data", " 60, 468, 7.8,1,1,0,1,0,0,ad.\\n   ?,   ?,   ?,1,0,1,0,1,0,nonad.\\n")
    >>> ads = load_internet_ads("all", data_home=folder.parent)
    >>> ads.target.tolist(), ads.views["geometry"][0].tolist(), ads.views.present[:, 5].tolist()
    ([1, 0], [60.0, 468.0, 7.8, 1.0], [True, False])
    """
    check_option("views", views, ("paper", "all"))
    path = locate(_ARCHIVE, data_home, _SOURCE)
    columns, lines = _read(path)
    geometry, flags, target = _parse(path, lines, len(columns))
    parts = {name: _columns_of(path, columns, prefix) for name, prefix in PARTS.items()}
    chosen = PAPER if views == "paper" else {name: (name,) for name in parts}
    places = {name: np.concatenate([parts[part] for part in of]) for name, of in chosen.items()}
    matrices = {name: sparse.csr_array(flags[:, at - 4].astype(np.float64)) for name, at in places.items()}
    names = {name: columns[at] for name, at in places.items()}
    present: dict[str, np.ndarray] = {}
    if views == "all":
        known = ~np.isnan(geometry).any(axis=1)
        matrices["geometry"] = np.where(known[:, None], geometry, 0.0)
        names["geometry"] = np.array(GEOMETRY)
        present["geometry"] = known
    groups = np.unique(np.column_stack([np.nan_to_num(geometry, nan=-1.0), flags]), axis=0, return_inverse=True)[1]
    listed = ", ".join(f"{name} {len(at)}" for name, at in parts.items())
    return Bunch(
        views=Views(matrices, present=present, feature_names=names),
        target=target,
        target_names=np.array(["nonad", "ad"]),
        groups=groups.ravel(),
        DESCR=_DESCR.format(
            n=len(target),
            ads=int(target.sum()),
            columns=listed,
            twice=len(target) - len(np.unique(groups)),
            same=len(target) - len(np.unique(2 * groups.ravel() + target)),
        ),
    )


def _read(path: Path) -> tuple[np.ndarray, list[bytes]]:
    """Names of the columns, and the lines of the data."""
    try:
        with zipfile.ZipFile(path) as archive:
            names, data = archive.read("ad.names"), archive.read("ad.data")
    except (*DAMAGED, zipfile.BadZipFile, KeyError) as error:
        raise damaged(path, f"is not the archive with ad.names and ad.data ({error})") from error
    lines = names.decode("latin-1").splitlines()
    described = [line for line in lines if ":" in line and not line.startswith("|")]
    columns = np.array([line.rpartition(":")[0].strip() for line in described])
    return columns, [line.replace(b" ", b"") for line in data.splitlines() if line.strip()]


def _parse(path: Path, lines: list[bytes], width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Geometry (NaN where unknown), the other columns (0 or 1), and the target."""
    geometry = np.empty((len(lines), 4))
    flags = np.empty((len(lines), width - 4), dtype=np.uint8)
    target = np.empty(len(lines), dtype=np.int64)
    for i, line in enumerate(lines):
        *first, rest = line.split(b",", 4)
        bits, _, label = rest.rpartition(b",")
        row = np.frombuffer(bits.replace(b",", b""), dtype=np.uint8) - ord("0")
        if len(first) != 4 or len(row) != width - 4 or (row > 1).any() or label not in (b"ad.", b"nonad."):
            raise damaged(path, f"has a broken line {i + 1} in ad.data")
        geometry[i] = [np.nan if cell == b"?" else float(cell) for cell in first]
        flags[i], target[i] = row, label == b"ad."
    return geometry, flags, target


def _columns_of(path: Path, columns: np.ndarray, prefix: str) -> np.ndarray:
    positions = np.flatnonzero(np.strings.startswith(columns, f"{prefix}*"))
    if not len(positions):
        raise damaged(path, f"has no column {prefix}*... in ad.names")
    return positions
