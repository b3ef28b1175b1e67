"""One-hundred plant species leaves (UCI): each leaf by its shape, texture and margin.

A file per view, a line per leaf: the species, then 64 numbers. The species come in another order in the file of shapes,
so leaves are joined by species and place within it; one texture is missing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from corpora.files import locate, read_numbers
from coview.views.views import Views

__all__ = ["load_leaves"]

_FILES = {"shape": "data_Sha_64.txt", "texture": "data_Tex_64.txt", "margin": "data_Mar_64.txt"}
_SOURCE = "https://archive.ics.uci.edu/dataset/241"
_SHORT = "Acer Campestre"  # its 15 textures are those of the second to the sixteenth leaf

_DESCR = """One-hundred plant species leaves (UCI): {n} leaves of {k} species, in three views of 64 numbers.

  shape      distance of the contour from the center, all around
  texture    histogram of the texture
  margin     histogram of the margin

{missing} lack(s) a view: the texture of the first leaf of Acer Campestre is not in UCI's file.

Reference: Mallah, Cope and Orwell, Plant leaf classification using probabilistic integration of shape, texture and
margin features, 2013.
"""


def load_leaves(data_home: str | Path | None = None) -> Bunch:
    """Load the leaves of 100 plant species: 1,600 leaves by shape, texture and margin.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``leaves100/data_Sha_64.txt``, ``data_Tex_64.txt`` and ``data_Mar_64.txt``, plain or
        compressed; see `corpora.data_home`. There is no download: where they are absent, the error says where
        to get them.

    Returns
    -------
    Bunch
        ``views`` (`Views` "shape", "texture" and "margin" in float64), ``target`` (integers), ``target_names`` (the
        species), ``DESCR``.

    Examples
    --------
    Two species in another order:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_leaves
    >>> folder = Path(tempfile.mkdtemp()) / "leaves100"
    >>> folder.mkdir()
    >>> _ = (folder / "data_Sha_64.txt").write_text("Tilia,0.1\\nAcer,0.2\\n")
    >>> for name in ("data_Tex_64.txt", "data_Mar_64.txt"):
    ...     _ = (folder / name).write_text("Acer,0.5\\nTilia,0.7\\n")
    >>> leaves = load_leaves(folder.parent)
    >>> leaves.views["shape"].ravel().tolist(), leaves.target_names.tolist()
    ([0.2, 0.1], ['Acer', 'Tilia'])
    """
    paths = {view: locate(f"leaves100/{name}", data_home, _SOURCE) for view, name in _FILES.items()}
    joined = Views.align({view: _read(path, view) for view, path in paths.items()})
    assert joined.ids is not None
    order = np.argsort(joined.ids, kind="stable")
    views = joined[order]
    species = np.array([str(key).rpartition("/")[0] for key in joined.ids[order]])
    names, target = np.unique(species, return_inverse=True)
    missing = int((~views.present.all(axis=1)).sum())
    return Bunch(
        views=views,
        target=target.astype(np.int64),
        target_names=names,
        DESCR=_DESCR.format(n=len(target), k=len(names), missing=missing),
    )


def _read(path: Path, view: str) -> tuple[list[str], np.ndarray]:
    """Ids (species / place) and numbers of one view."""
    species, rows = read_numbers(path, ",", labeled=True)
    count: dict[str, int] = {}
    ids: list[str] = []
    for name in species:
        count[name] = count.get(name, 0) + 1
        ids.append(f"{name}/{count[name]:02d}")
    largest = max(count.values())
    if view == "texture" and count.get(_SHORT, largest) == largest - 1:
        ids = [f"{_SHORT}/{int(key[-2:]) + 1:02d}" if key.startswith(f"{_SHORT}/") else key for key in ids]
    return ids, rows
