"""Visual words of images that the tests draw."""

import numpy as np
import pytest
from scipy import sparse

from coview import TextViews
from coview.exceptions import DataFileError
from coview.preprocessing.images import SiftWords, read_image


@pytest.fixture(scope="module")
def skimage():
    return pytest.importorskip("skimage", reason="scikit-image is not installed: words of images are not checked")


def plain(color: tuple[int, int, int], shape: tuple[int, int] = (12, 10)) -> np.ndarray:
    return np.broadcast_to(np.array(color, dtype=np.uint8), (*shape, 3)).copy()


def blobs(seed: int, side: int = 96) -> np.ndarray:
    """Discs of random places and sizes: something for SIFT to find."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    image = np.zeros((side, side))
    for _ in range(12):
        cy, cx, radius = rng.uniform(8, side - 8), rng.uniform(8, side - 8), rng.uniform(3, 8)
        image[(y - cy) ** 2 + (x - cx) ** 2 < radius**2] = rng.uniform(0.4, 1)
    return image


def test_visual_words_count_every_descriptor_once(skimage):
    from skimage.feature import SIFT

    images = [blobs(seed) for seed in range(5)]
    model = SiftWords(n_words=8, random_state=0)
    counts = model.fit_transform(images)
    assert np.array_equal(SiftWords(n_words=8, random_state=0).fit(images).centers_, model.centers_)
    for image, row in zip(images, counts.toarray()):
        finder = SIFT()
        finder.detect_and_extract(read_image(image) @ [0.2125, 0.7154, 0.0721])
        nearest = ((finder.descriptors[:, None, :].astype(float) - model.centers_) ** 2).sum(axis=2).argmin(axis=1)
        assert np.array_equal(row, np.bincount(nearest, minlength=8))
    assert np.array_equal(model.transform(images).toarray(), counts.toarray())


# -- files, and use as a vectorizer


def test_bytes_shares_gray_and_transparent_images_are_read_alike():
    red = plain((255, 0, 0))
    forms = [red, red / 255.0, np.dstack([red, np.full((12, 10), 255, dtype=np.uint8)])]
    assert all(np.array_equal(read_image(form), read_image(red)) for form in forms)
    assert np.array_equal(read_image(np.full((4, 4), 0.5)), np.full((4, 4, 3), 0.5))


def test_files_count_like_arrays_and_large_images_are_made_smaller(skimage, tmp_path):
    from skimage.io import imsave

    image = (255 * blobs(0)).astype(np.uint8)
    imsave(tmp_path / "a.png", image, check_contrast=False)
    model = SiftWords(n_words=4, random_state=0).fit([image, (255 * blobs(1)).astype(np.uint8)])
    counts = model.transform([image, tmp_path / "a.png", str(tmp_path / "a.png")]).toarray()
    assert (counts == counts[0]).all() and counts.sum() > 0
    small = model.set_params(max_side=32).transform([image]).toarray()
    assert 0 < small.sum() < counts[0].sum()


def test_they_are_vectorizers_of_text_views_that_hold_paths(skimage, tmp_path):
    from skimage.io import imsave

    for name, seed in (("r", 0), ("b", 1)):
        imsave(tmp_path / f"{name}.png", (255 * blobs(seed)).astype(np.uint8), check_contrast=False)
    table = {"caption": ["a red wall", "a blue sea"], "file": [str(tmp_path / f"{name}.png") for name in "rb"]}
    model = TextViews({"words": "caption", "image": "file"}, {"image": SiftWords(n_words=8, random_state=0)})
    views = model.fit_transform(table)
    assert views.n_features["image"] == 8 and sparse.issparse(views["image"])
    assert views.feature_names["image"].tolist() == [f"visual{k}" for k in range(8)]
    without = model.transform({"caption": ["a red sea"], "file": [None]})
    assert without.present.tolist() == [[True, False]] and without["image"].shape == (1, 8)
    assert without["image"].count_nonzero() == 0


def test_what_is_no_image_is_refused(skimage, tmp_path):
    model = SiftWords(n_words=4, random_state=0).fit([blobs(0), blobs(1)])
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(ValueError, match="fewer than n_words=500"):
        SiftWords(n_words=500).fit([blobs(0)])
    with pytest.raises(DataFileError, match="Image 0: file not found"):
        model.transform(["absent.png"])
    with pytest.raises(DataFileError, match="cannot be read as an image"):
        model.transform([tmp_path / "a.png"])
    with pytest.raises(ValueError, match="Image 1 must be rows x columns"):
        model.transform([plain((1, 2, 3)), np.zeros(5)])
    with pytest.raises(ValueError, match="needs a list of images, got one of type NoneType"):
        model.transform(None)
