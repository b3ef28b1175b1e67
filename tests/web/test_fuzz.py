"""Mutated model files: refused with a sentence, nothing crashes, nothing is executed."""

from __future__ import annotations

import os
import random

import pytest

from coview import LinkPLSA, load, save
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError
from coview.web.service import load_service

N_FILES = int(os.environ.get("COVIEW_FUZZ_FILES", 100))
SEED = int(os.environ.get("COVIEW_FUZZ_SEED", 0))


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A model file with bytes changed, taken out, put in, cut, or moved."""
    broken = bytearray(content)
    kind = rng.randrange(5)
    if kind == 0:
        for _ in range(rng.choice([1, 1, 2, 8])):
            broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del broken[rng.randrange(len(broken)) :]
    elif kind == 2:
        at = rng.randrange(len(broken))
        broken[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 40)))
    elif kind == 3:
        start = rng.randrange(len(broken))
        del broken[start : start + rng.randrange(1, 200)]
    else:  # the description, where names of classes and attributes are
        words = [b"LinkPLSA", b"topic_feature_", b"estimator", b"float64", b"view_names_", b"sha256", b"params"]
        found = [word for word in words if word in content]
        word = rng.choice(found)
        at = content.index(word)
        broken[at : at + len(word)] = rng.choice(
            [b"os.system", b"Pipeline", b"__class__", b"__reduce__", word[::-1], b""]
        )
    return bytes(broken)


def test_mutated_model_files_are_refused(tmp_path):
    X = make_topic_views(20, {"words": 8, "links": 6}, n_clusters=2, random_state=0).views
    save(LinkPLSA(2, random_state=0, max_iter=5).fit(X), tmp_path / "good.coview")
    content = (tmp_path / "good.coview").read_bytes()
    rng = random.Random(SEED)
    path = tmp_path / "bad.coview"
    refused = many_lines = 0
    for _ in range(N_FILES):
        wrong = mutated(content, rng)
        path.write_bytes(wrong)
        if wrong == content:
            continue
        try:
            found = load(path)
        except ModelFileError as error:
            refused += 1
            many_lines += "\n" in str(error)
        else:  # a change that leaves every value and checksum as it was, such as of padding
            assert found.transform(X).tobytes() == load(tmp_path / "good.coview").transform(X).tobytes()
    print(f"{N_FILES} files: {refused} refused")
    assert refused > 0.95 * N_FILES and many_lines == 0
    path.write_bytes(content[:100])
    with pytest.raises(ModelFileError):
        load_service(path)
