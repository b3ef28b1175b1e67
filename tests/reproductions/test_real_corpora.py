"""Those of the real corpora that the data home holds have their published sizes, and their registered checksums."""

import gzip
import hashlib
import lzma
from collections.abc import Callable
from typing import Any, NamedTuple

import corpora
import numpy as np
import pytest
from corpora.files import locate
from scipy import sparse

pytestmark = pytest.mark.corpus


class Published(NamedTuple):
    folder: str
    load: Callable[[], Any]
    sizes: dict[str, tuple[int, int]]  # columns, and values that are not 0
    counts: list[int]  # objects by class


PUBLISHED = {
    # 5,429 citations by 2,222 citing papers
    "Cora": Published(
        "cora",
        lambda: corpora.load_cora(links="in"),
        {"words": (1433, 49_216), "links": (2708, 5429)},
        [298, 418, 818, 426, 217, 180, 351],
    ),
    "CiteSeer": Published(
        "citeseer",
        lambda: corpora.load_citeseer(links="out"),
        {"words": (3703, 105_165), "links": (3312, 4715)},
        [249, 596, 701, 508, 668, 590],
    ),
    "WebKB": Published(
        "webkb_linqs",
        lambda: corpora.load_webkb("all", "out", task="classes"),
        {"words": (1703, 79_365), "links": (877, 1608)},
        [218, 125, 80, 39, 415],  # course, faculty, project, staff, student
    ),
    "WebKB course": Published(
        "webkb_course", corpora.load_webkb_course, {"page": (3000, 70_039), "link": (1840, 4524)}, [821, 230]
    ),
    "Reuters, 1200": Published(
        "reuters_multilingual",
        corpora.load_reuters_multilingual,
        dict(
            zip(
                corpora.reuters_multilingual.LANGUAGES,
                [(2000, 42_018), (2000, 41_601), (2000, 40_769), (2000, 40_936), (2000, 40_534)],
            )
        ),
        [200] * 6,
    ),
    "Reuters, 600": Published(
        "reuters_multilingual",
        lambda: corpora.load_reuters_multilingual(600, negative="keep"),
        dict(
            zip(
                corpora.reuters_multilingual.LANGUAGES,
                [(21_531, 48_686), (24_893, 53_561), (34_279, 49_242), (11_547, 50_481), (15_506, 53_742)],
            )
        ),
        [100] * 6,
    ),
    "digits": Published(
        "mfeat",
        corpora.load_mfeat,
        {"fourier": (76, 152_000), "profile": (216, 429_649), "morphology": (6, 9560)},
        [200] * 10,
    ),
    "advertisements": Published(
        "internet_ads",
        lambda: corpora.load_internet_ads("all"),
        {"image_url": (457, 11_977), "base_url": (495, 11_727), "destination_url": (472, 12_233), "alt": (111, 2993)},
        [2820, 459],
    ),
    "Pubmed": Published("pubmed_diabetes", corpora.load_pubmed, {"words": (500, 988_031)}, [4103, 7739, 7875]),
    "Wikipedia, links": Published(
        "wikipedia_linqs_2405",
        corpora.load_wikipedia_linqs,
        {"words": (4973, 1_556_595), "links": (2405, 23_192)},
        [92, 406, 203, 103, 10, 361, 157, 53, 109, 11, 269, 179, 9, 30, 77, 228, 108],
    ),
    "Wikipedia, images": Published(
        "wikipedia_crossmodal",
        lambda: corpora.load_wikipedia_retrieval(image="counts"),
        {"topics": (10, 28_660), "image": (128, 175_070 + 55_690)},
        [172, 360, 340, 333, 267, 236, 237, 185, 285, 451],
    ),
    "leaves": Published(
        "leaves100",
        corpora.load_leaves,
        {"shape": (64, 102_400), "texture": (64, 64_569), "margin": (64, 77_374)},
        [16] * 100,
    ),
}
THERE = [name for name, corpus in PUBLISHED.items() if (corpora.data_home() / corpus.folder).is_dir()]
if not THERE:
    pytest.skip("COVIEW_DATA holds no corpus of a paper: their sizes are not checked", allow_module_level=True)


@pytest.mark.parametrize("name", THERE)
def test_sizes_are_those_that_were_published(name):
    found = PUBLISHED[name].load()
    sizes = {
        view: (part.shape[1], part.nnz if sparse.issparse(part) else np.count_nonzero(part))
        for view, part in found.views.items()
    }
    assert PUBLISHED[name].sizes.items() <= sizes.items()
    assert np.bincount(found.target).tolist() == PUBLISHED[name].counts


CHECKSUMS = {
    name: checksum
    for module in (corpora.linqs, corpora.webkb, corpora.mfeat, corpora.reuters_multilingual)
    for name, checksum in module._FILES.items()
    if (corpora.data_home() / name).parent.is_dir()
}


@pytest.mark.parametrize("name", CHECKSUMS)
def test_registered_checksums_are_those_of_the_plain_files(name):
    path = locate(name, None, "")
    content = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)(path.read_bytes())
    assert hashlib.sha256(content).hexdigest() == CHECKSUMS[name]
