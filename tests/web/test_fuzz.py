"""Malformed requests and mutated model files: refused with a sentence, nothing crashes, nothing is executed.

More of them: COVIEW_FUZZ=10000 pytest tests/web/test_fuzz.py -k requests
"""

from __future__ import annotations

import json
import os
import random
import string

import httpx
import pytest

from coview import LinkPLSA, load, save
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service, load_service

N_REQUESTS = int(os.environ.get("COVIEW_FUZZ", 200))
N_FILES = int(os.environ.get("COVIEW_FUZZ_FILES", 100))
SEED = int(os.environ.get("COVIEW_FUZZ_SEED", 0))
PATHS = ["/predict", "/transform", "/search", "/api/labels", "/api/known"]
GETS = [
    "/search",
    "/api/groups/topic/0",
    "/api/objects",
    "/api/object",
    "/api/map",
    "/api/disagreement",
    "/api/why",
    "/info",
]
KEYS = [
    "rows",
    "query",
    "queries",
    "source",
    "target",
    "k",
    "why",
    "by_view",
    "unknown",
    "labels",
    "id",
    "ids",
    "top",
    "x",
]
VALUES = [
    *(None, True, 0, -1, 10**30, 10**400, 1e308, 0.5),
    *("", "words", "image", "wordaa", "topic", "\ud800", "\x00", "é" * 50, "a" * 5000, "[]"),
    *([], {}, [[]], [None], [[1, 2], [3]], [0.1] * 30, [-1.0] * 30, ["wordaa"], [["a"]], {"": 1}),
    {"words": {"wordaa": 1}},
    {"words": [[0] * 30]},
    {"words": [[1e308] * 30]},
    {"words": [[1] * 30], "image": [[1] * 20] * 2},
    {"image": {"f3": 2}},
    {"words": {"wordaa": "red"}},
    {"words": {"f0": {"a": 1}}},
    {"words": "wordaa " * 300},
]


def value(rng: random.Random, depth: int = 0):
    """Any JSON value, more often one that is nearly right."""
    if depth > 3 or rng.random() < 0.6:
        return rng.choice(VALUES)
    if rng.random() < 0.5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice([*KEYS, "words", "image"]): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def malformed(rng: random.Random) -> dict:
    """One request that is wrong in some way, or nearly right."""
    kind = rng.randrange(6)
    headers = {
        "content-type": rng.choice(["application/json"] * 4 + ["text/plain", "application/x-www-form-urlencoded"])
    }
    if kind == 0:
        text = "".join(rng.choice(string.printable) for _ in range(rng.randrange(60)))
        params = {
            rng.choice(["q", "k", "start", "count", "source", "target", "id", "first", "second"]): text
            for _ in range(3)
        }
        return {"method": "GET", "url": rng.choice(GETS), "params": params}
    if kind == 1:
        path = "/" + "".join(rng.choice(string.ascii_letters + "/.%-_~") for _ in range(rng.randrange(40)))
        return {
            "method": rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
            "url": path.replace("%", "%25"),
        }
    if kind == 2:
        body = bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
        return {"method": "POST", "url": rng.choice(PATHS), "content": body, "headers": headers}
    whole = json.dumps({key: value(rng) for key in rng.sample(KEYS, rng.randrange(1, 6))}).encode()
    if kind == 3:  # cut, or with bytes changed
        broken = bytearray(whole[: rng.randrange(len(whole) + 1)])
        for _ in range(rng.randrange(4) if broken else 0):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        whole = bytes(broken)
    elif kind == 4:
        whole = rng.choice(
            [b"[" * 20_000, b'{"rows":' * 5_000, b"NaN", b"-Infinity", b'{"k":' + b"9" * 5000 + b"}", b'"\\ud800"']
        )
    return {"method": "POST", "url": rng.choice(PATHS), "content": whole, "headers": headers}


def test_malformed_requests_are_refused_with_a_sentence(retriever, small):
    rng = random.Random(SEED)
    seen: dict[int, int] = {}
    slowest = 0.0
    with (
        running(make_app(Service(retriever, small[0]), page=True)) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        for _ in range(N_REQUESTS):
            asked = malformed(rng)
            answer = client.request(**asked)
            slowest = max(slowest, answer.elapsed.total_seconds())
            seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
            assert answer.status_code < 500, (asked, answer.text)
            assert "Traceback" not in answer.text and 'File "' not in answer.text
            if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
                assert list(answer.json()) == ["error"] and answer.json()["error"].count("\n") == 0
        assert client.get("/health").status_code == 200
        good = client.post("/search", json={"query": "wordaa", "source": "words"})
        assert good.status_code == 200 and len(good.json()["hits"]) == 10
    print(f"{N_REQUESTS} requests: {dict(sorted(seen.items()))}, the slowest {slowest:.2f} s")
    assert seen[422] > N_REQUESTS / 5


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
