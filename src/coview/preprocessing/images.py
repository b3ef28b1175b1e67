"""`SiftWords`: images become counts of visual words.

`SiftWords` is a scikit-learn transformer from images to a sparse matrix of counts (images x features), which is a view,
or the vectorizer of one: ``TextViews({"words": "caption", "image": "file"}, {"image": SiftWords()})``. An
image is the path of a file, or an array (rows x columns, or rows x columns x 3 or 4) of bytes or of numbers from 0 to
1. Needs scikit-image: ``pip install "coview[image]"``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import DataFileError, ViewsError
from coview.preprocessing.columns import RawTransformer
from coview.utils import fitted_state as rules
from coview.utils.loading import load_extra
from coview.utils.parameters import NONE, integer
from coview.validation import check_count

__all__ = ["SiftWords", "read_image"]


class SiftWords(RawTransformer):
    """Count visual words: SIFT descriptors, each assigned to the nearest learned center.

    Parameters
    ----------
    n_words : int, default=256
        Number of centers.
    max_descriptors : int, default=100_000
        Descriptors from which the centers are learned, drawn evenly over the images.
    max_side : int or None, default=256
        Larger images are made smaller before looking for key points; None leaves them.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw and of the search for centers.

    Attributes
    ----------
    centers_ : ndarray (n_words, 128)
        The visual words.
    n_features_out_ : int
        Number of features of an image.

    Examples
    --------
    >>> import numpy as np
    >>> from importlib.util import find_spec
    >>> noise = [np.kron(np.random.default_rng(i).random((12, 12)), np.ones((6, 6))) for i in range(4)]
    >>> if find_spec("skimage"):
    ...     assert SiftWords(n_words=5, random_state=0).fit_transform(noise).shape == (4, 5)
    """

    _fitted_state = {
        "centers_": rules.floats("features", 128),
        "n_features_out_": rules.count(1, size="features"),
        "n_words": rules.count(1, size="features"),
    }
    _parameters = {
        "n_words": integer(2),
        "max_descriptors": integer(2),
        "max_side": integer(8) | NONE,
    }
    _input_tags = ("string",)

    def __init__(
        self,
        n_words: int = 256,
        max_descriptors: int = 100_000,
        max_side: int | None = 256,
        random_state: Any = None,
    ) -> None:
        self.n_words = n_words
        self.max_descriptors = max_descriptors
        self.max_side = max_side
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SiftWords:
        """Learn the visual words of images."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sparse.csr_array:
        """Learn the visual words of images and count them; each image is read once."""
        return _stack([self._assigned(part) for part in self._learn(X)])

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the counts of each image (images x words)."""
        check_is_fitted(self, "n_features_out_")
        return _stack([self._assigned(self._described(image)) for image in self._images(X)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features."""
        check_is_fitted(self, "n_features_out_")
        return np.array([f"visual{k}" for k in range(self.n_words)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        return replace(super().__sklearn_tags__(), no_validation=True)

    def _images(self, X: Any) -> Iterator[np.ndarray]:
        one = isinstance(X, (str, os.PathLike)) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim < 3)
        if one or not isinstance(X, Iterable):
            raise ViewsError(f"SiftWords needs a list of images, got one of type {type(X).__name__}.")
        for i, image in enumerate(X):
            yield _shrink(read_image(image, where=f"Image {i}"), self.max_side)

    def _learn(self, X: Any) -> list[np.ndarray]:
        check_count("max_descriptors", self.max_descriptors, self.n_words)
        random = check_random_state(self.random_state)
        # all descriptors are held: finding key points again for the counts would double the time
        described = [self._described(image) for image in self._images(X)]
        total = sum(map(len, described))
        if total < self.n_words:
            raise ViewsError(
                f"SiftWords found {total} descriptors in {len(described)} images, fewer than n_words={self.n_words}. "
                "Give more or larger images, or ask for fewer words."
            )
        share = min(1.0, self.max_descriptors / total)
        # the same share of each image, or those with many key points would make the words alone
        drawn = [part[random.permutation(len(part))[: int(np.ceil(share * len(part)))]] for part in described]
        # in small batches: 100,000 descriptors and hundreds of centers would take minutes otherwise
        search = MiniBatchKMeans(self.n_words, n_init=3, random_state=random.randint(2**31 - 1)).fit(np.vstack(drawn))
        self.centers_ = search.cluster_centers_
        self.n_features_out_ = self.n_words
        return described

    def _described(self, image: np.ndarray) -> np.ndarray:
        finder = _import_skimage("feature").SIFT()
        try:
            # SIFT knows no colors
            finder.detect_and_extract(_import_skimage("color").rgb2gray(image))
        except (RuntimeError, IndexError):  # scikit-image's words for an image without key points, or of one pixel
            return np.empty((0, 128))
        return finder.descriptors.astype(np.float64)

    def _assigned(self, descriptors: np.ndarray) -> np.ndarray:
        if not len(descriptors):
            return np.zeros(self.n_words)
        # the nearest center: |d|^2 is the same for all of them
        away = (self.centers_**2).sum(axis=1) - 2 * descriptors @ self.centers_.T
        return np.bincount(away.argmin(axis=1), minlength=self.n_words)


def _stack(rows: list[np.ndarray]) -> sparse.csr_array:
    if not rows:
        raise ViewsError("X has 0 images. Pass at least one image.")
    return sparse.csr_array(np.vstack(rows).astype(np.float64))


def read_image(image: Any, where: str = "The image") -> np.ndarray:
    """Return an image, given by path or as an array, as numbers from 0 to 1 (rows x columns x 3)."""
    if isinstance(image, (str, os.PathLike)):
        path = os.fspath(image)
        if not os.path.isfile(path):
            raise DataFileError(f"{where}: file not found: {path!r}.")
        reader = _import_skimage("io")
        try:
            values = np.asarray(reader.imread(path))
        except (OSError, ValueError, SyntaxError) as error:
            raise DataFileError(f"{where}: {path!r} cannot be read as an image ({error}).") from error
    else:
        values = np.asarray(image)
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] not in (1, 3, 4)) or 0 in values.shape:
        raise ViewsError(f"{where} must be rows x columns, or rows x columns x 3 colors, got shape {values.shape}.")
    if values.dtype.kind not in "buif":
        raise ViewsError(f"{where} must hold numbers, got dtype {values.dtype}.")
    # bytes, or two bytes, per color
    if values.dtype.kind in "ui":
        values = values / np.iinfo(values.dtype).max
    values = values.astype(np.float64)
    if not (values.min() >= 0 and values.max() <= 1):
        raise ViewsError(
            f"{where} must hold bytes, or numbers from 0 to 1, got {values.min():.3g} to {values.max():.3g}."
        )
    if values.ndim == 2 or values.shape[2] == 1:
        # gray images are given three equal colors, so that all that follows has one shape to deal with
        return np.repeat(values.reshape(*values.shape[:2], 1), 3, axis=2)
    return values[..., :3]


def _shrink(image: np.ndarray, max_side: int | None) -> np.ndarray:
    longest = max(image.shape[:2])
    if max_side is None or longest <= max_side:
        return image
    shape = [max(1, round(side * max_side / longest)) for side in image.shape[:2]]
    # anti-aliasing blurs first: patterns finer than the new pixels would come out as other patterns
    return np.clip(_import_skimage("transform").resize(image, (*shape, 3), anti_aliasing=True), 0, 1)


def _import_skimage(part: str) -> Any:
    return load_extra(f"skimage.{part}", "Reading images and their patterns needs scikit-image", "image")
