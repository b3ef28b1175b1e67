"""Multiple features (UCI): handwritten numerals by six sets of features.

A file per view, a line per numeral, white space between the numbers, no labels: the first 200 lines are zeros, the next
200 ones, and so on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from corpora.files import locate, read_numbers
from coview.exceptions import DataFileError
from coview.views.views import Views

__all__ = ["load_mfeat"]

VIEWS = {
    "fourier": "mfeat-fou",
    "profile": "mfeat-fac",
    "karhunen": "mfeat-kar",
    "pixel": "mfeat-pix",
    "zernike": "mfeat-zer",
    "morphology": "mfeat-mor",
}
_FILES = {
    "mfeat/mfeat-fac": "83be9bc9fd50c6dd0b0532f6b6101956f1cf51c71b33f22d3f0cd2b5befb31b5",
    "mfeat/mfeat-fou": "d2bed48a4d302efe77bd80d52e16a211e99efe6fee9baf1c28dcc199c43c50ad",
    "mfeat/mfeat-kar": "db832668544497d0c06a2c1d1bfa0e17ba672812b7cfa6ed19f0941e19e1d7fa",
    "mfeat/mfeat-mor": "8767b326d874f096de06d525a2df4e610f4e9dfe91e29c250d8a3054907e3b61",
    "mfeat/mfeat-pix": "70a1cd033add46614464a8740ddc23c3693765985bde52ccb6b702bff23b64f1",
    "mfeat/mfeat-zer": "d4a0e302f2f61e823b906f78818c7c0ef078c0bbc23022affd6607d60ecfe4f3",
}
_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/mfeat"
_SOURCE = "https://archive.ics.uci.edu/dataset/72"
_DIGITS = 10

_DESCR = """Multiple features (UCI): {n} handwritten numerals, {each} of each of the ten digits, in six views.

  fourier       76 Fourier coefficients of the shape
  profile       216 profile correlations
  karhunen      64 Karhunen-Loeve coefficients (some are negative)
  pixel         240 averages of 2 x 3 pixels, from 0 to 6
  zernike       47 Zernike moments
  morphology    6 morphological features

The scales of the columns differ by far, those of "morphology" most. Counts, as PLSA wants them, are "pixel" and
"profile" as they are; the others are vectors.

Reference: van Breukelen, Duin, Tax and den Hartog, Handwritten digit recognition by combined classifiers, 1998. UCI,
CC BY 4.0.
"""


def load_mfeat(data_home: str | Path | None = None) -> Bunch:
    """Load 2,000 handwritten numerals in six views: Fourier, profile, Karhunen-Loeve, pixel, Zernike, morphology.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``mfeat/mfeat-fou`` and the other five files, plain or compressed (.gz, .xz, .bz2); see
        `corpora.data_home`. Where they are absent they are downloaded from UCI.

    Returns
    -------
    Bunch
        ``views`` (`Views` "fourier", "profile", "karhunen", "pixel", "zernike" and "morphology" in float64), ``target``
        (the digit), ``target_names``, ``DESCR``.

    Examples
    --------
    Ten numerals, one feature in each view:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_mfeat
    >>> folder = Path(tempfile.mkdtemp()) / "mfeat"
    >>> folder.mkdir()
    >>> for part in ("fou", "fac", "kar", "pix", "zer", "mor"):
    ...     _ = (folder / f"mfeat-{part}").write_text("".join(f"  {i}.5\\n" for i in range(10)))
    >>> digits = load_mfeat(folder.parent)
    >>> digits.views["pixel"][3].tolist(), digits.target.tolist()
    ([3.5], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    paths = {view: locate(f"mfeat/{name}", data_home, _SOURCE, _FILES, _URL) for view, name in VIEWS.items()}
    matrices = {view: read_numbers(path)[1] for view, path in paths.items()}
    lengths = {view: len(matrix) for view, matrix in matrices.items()}
    n = lengths["fourier"]
    if len(set(lengths.values())) > 1 or n % _DIGITS:
        listed = ", ".join(f"{view} {length}" for view, length in lengths.items())
        raise DataFileError(
            f"The files of mfeat must have the same number of lines, a multiple of ten; they have {listed}. Get them "
            "again."
        )
    return Bunch(
        views=Views(matrices),
        target=np.repeat(np.arange(_DIGITS), n // _DIGITS),
        target_names=np.array([str(digit) for digit in range(_DIGITS)]),
        DESCR=_DESCR.format(n=n, each=n // _DIGITS),
    )
