"""Counts of images that the tests draw: colors, patterns, visual words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from coview import TextViews
from coview.exceptions import DataFileError
from coview.preprocessing.images import ColorHistogram, LocalBinaryPatterns, SiftWords, read_image


@pytest.fixture(scope="module")
def skimage():
    return pytest.importorskip("skimage", reason="scikit-image is not installed: words of images are not checked")


def plain(color: tuple[int, int, int], shape: tuple[int, int] = (12, 10)) -> np.ndarray:
    return np.broadcast_to(np.array(color, dtype=np.uint8), (*shape, 3)).copy()


def stripes(horizontal: bool, side: int = 32) -> np.ndarray:
    rows = np.tile([[0.0], [1.0]], (side // 2, side))
    return rows if horizontal else rows.T


def blobs(seed: int, side: int = 96) -> np.ndarray:
    """Discs of random places and sizes: something for SIFT to find."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    image = np.zeros((side, side))
    for _ in range(12):
        cy, cx, radius = rng.uniform(8, side - 8), rng.uniform(8, side - 8), rng.uniform(3, 8)
        image[(y - cy) ** 2 + (x - cx) ** 2 < radius**2] = rng.uniform(0.4, 1)
    return image


# -- colors


def test_every_pixel_counts_in_the_bin_of_its_color():
    image = plain((255, 0, 0))
    image[:3] = (10, 250, 130)
    counts = ColorHistogram().fit_transform([image]).toarray()[0]
    names = ColorHistogram().fit([image]).get_feature_names_out()
    assert counts.sum() == 120
    assert {names[j]: int(counts[j]) for j in np.flatnonzero(counts)} == {"r5g0b0": 90, "r0g5b3": 30}


def test_the_histogram_is_that_of_numpy():
    image = np.random.default_rng(0).random((40, 30, 3))
    expected, _ = np.histogramdd(image.reshape(-1, 3), bins=6, range=[(0, 1)] * 3)
    assert np.array_equal(ColorHistogram().fit_transform([image]).toarray()[0], expected.ravel())


def test_bytes_and_shares_grey_and_transparent_images_count_alike():
    red = plain((255, 0, 0))
    forms = [red, red / 255.0, np.dstack([red, np.full((12, 10), 255, dtype=np.uint8)])]
    counts = ColorHistogram().fit_transform(forms).toarray()
    assert (counts == counts[0]).all()
    gray = ColorHistogram().fit_transform([np.full((4, 4), 0.5), np.full((4, 4, 3), 0.5)]).toarray()
    assert (gray[0] == gray[1]).all()


def test_large_images_are_made_smaller(skimage):
    counts = ColorHistogram(max_side=32).fit_transform([plain((255, 0, 0), (128, 64))]).toarray()[0]
    assert counts.sum() == 32 * 16 and counts.max() == counts.sum()


# -- patterns


def test_patterns_do_not_change_when_the_image_is_turned(skimage):
    image = blobs(0)
    counts = LocalBinaryPatterns().fit_transform([image, np.rot90(image)]).toarray()
    inner = np.abs(counts[0] - counts[1]).sum() / counts[0].sum()
    assert counts.shape == (2, 10) and inner < 0.02  # the border differs, where neighbors are missing


def test_a_flat_image_has_one_pattern_inside_and_stripes_have_others(skimage):
    counts = LocalBinaryPatterns().fit_transform([np.full((32, 32), 0.4), stripes(True)]).toarray()
    assert counts.sum(axis=1).tolist() == [1024, 1024]
    assert counts[0, 8] >= 30 * 30  # all neighbors as bright as the pixel
    assert np.abs(counts[0] - counts[1]).sum() > 500


def test_cells_of_the_grid_are_counted_apart(skimage):
    image = np.hstack([np.full((32, 16), 0.4), stripes(True)[:, :16]])
    model = LocalBinaryPatterns(grid=2).fit([image])
    counts = model.transform([image]).toarray().reshape(4, 10)
    assert counts.sum(axis=1).tolist() == [256] * 4
    assert len(model.get_feature_names_out()) == 40 and model.get_feature_names_out()[10] == "cell01_pattern0"
    np.testing.assert_array_equal(counts.sum(axis=0), LocalBinaryPatterns().fit_transform([image]).toarray()[0])


# -- visual words


def test_visual_words_count_every_descriptor_once(skimage):
    from skimage.feature import SIFT

    images = [blobs(seed) for seed in range(5)]
    model = SiftWords(n_words=8, random_state=0)
    counts = model.fit_transform(images)
    for image, row in zip(images, counts.toarray()):
        finder = SIFT()
        finder.detect_and_extract(read_image(image) @ [0.2125, 0.7154, 0.0721])
        nearest = ((finder.descriptors[:, None, :].astype(float) - model.centers_) ** 2).sum(axis=2).argmin(axis=1)
        assert np.array_equal(row, np.bincount(nearest, minlength=8))
    assert np.array_equal(model.transform(images).toarray(), counts.toarray())


def test_visual_words_follow_the_seed(skimage):
    images = [blobs(seed) for seed in range(4)]
    first, second = (SiftWords(n_words=6, random_state=3).fit(images).centers_ for _ in range(2))
    assert np.array_equal(first, second)


def test_an_image_without_key_points_has_no_words(skimage):
    model = SiftWords(n_words=4, random_state=0).fit([blobs(0), blobs(1)])
    assert model.transform([np.full((64, 64), 0.5)]).sum() == 0


def test_too_few_descriptors_are_refused(skimage):
    with pytest.raises(ValueError, match="fewer than n_words=500"):
        SiftWords(n_words=500).fit([blobs(0)])


# -- files, and use as a vectorizer


def test_one_pixel_has_no_descriptors(skimage):
    with pytest.raises(ValueError, match="SiftWords found 0 descriptors in 1 images"):
        SiftWords(n_words=2).fit([np.zeros((1, 1))])


def test_files_count_like_arrays(skimage, tmp_path):
    from skimage.io import imsave

    image = plain((200, 30, 60))
    imsave(tmp_path / "a.png", image, check_contrast=False)
    paths = [tmp_path / "a.png", str(tmp_path / "a.png")]
    counts = ColorHistogram().fit_transform([image, *paths]).toarray()
    assert (counts == counts[0]).all()


def test_they_are_vectorizers_of_text_views_that_hold_paths(skimage, tmp_path):
    from skimage.io import imsave

    for name, color in (("r", (255, 0, 0)), ("b", (0, 0, 255))):
        imsave(tmp_path / f"{name}.png", plain(color), check_contrast=False)
    table = {"caption": ["a red wall", "a blue sea"], "file": [str(tmp_path / f"{name}.png") for name in "rb"]}
    columns = {"words": "caption", "colors": "file"}
    model = TextViews(columns, {"colors": ColorHistogram(bins=2)})
    views = model.fit_transform(table)
    assert views.n_features["colors"] == 8 and sparse.issparse(views["colors"])
    assert views.feature_names["colors"][views["colors"].toarray().argmax(axis=1)].tolist() == ["r1g0b0", "r0g0b1"]
    without = model.transform({"caption": ["a red sea"], "file": [None]})
    assert without.present.tolist() == [[True, False]] and without["colors"].shape == (1, 8)
    assert without["colors"].count_nonzero() == 0


def test_what_is_no_image_is_refused(skimage, tmp_path):
    model = ColorHistogram().fit([])
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(DataFileError, match="Image 0: file not found"):
        model.transform(["absent.png"])
    with pytest.raises(DataFileError, match="cannot be read as an image"):
        model.transform([tmp_path / "a.png"])
    with pytest.raises(ValueError, match="Image 1 must be rows x columns"):
        model.transform([plain((1, 2, 3)), np.zeros(5)])
    with pytest.raises(ValueError, match="numbers from 0 to 1, got 0 to 300"):
        model.transform([np.array([[0.0, 300.0]])])
    with pytest.raises(ValueError, match="needs a list of images"):
        model.transform("a.png")
    with pytest.raises(ValueError, match="needs a list of images, got one of type NoneType"):
        model.transform(None)
    with pytest.raises(ValueError, match="0 images"):
        model.transform([])


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (ColorHistogram(bins=1), "bins must be an integer from 2 to 256, got 1"),
        (ColorHistogram(max_side=2), "max_side"),
        (LocalBinaryPatterns(radius=0), "radius must be a positive number"),
        (LocalBinaryPatterns(grid=0), "grid"),
        (SiftWords(n_words=1), "n_words"),
        (SiftWords(n_words=10, max_descriptors=5), "max_descriptors"),
    ],
)
def test_parameters_out_of_range_are_refused(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit([np.zeros((9, 9))])
