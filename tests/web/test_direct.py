"""One text to search for: the same answers as by FastAPI, byte for byte, and everything else handed on."""

from __future__ import annotations

import asyncio
import json

import httpx
import numpy as np
import pytest

from coview.retrieval.hits import Hits
from coview.web.api import make_app
from coview.web.guard import Guard
from coview.web.limits import Limits
from coview.web.rendering import hit_texts, json_bytes
from coview.web.service import Service, _hits

TEXT = json.dumps({"query": "wordaa wordba zebra", "k": 4})


def asked(app, content: bytes, **headers: str) -> httpx.Response:
    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.post(
                "/search", content=content, headers={"Content-Type": "application/json", **headers}
            )

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        '{"query": "wordaa"}',
        '{"query": "wordaa", "source": "words"}',
        '{"query": "wordaa", "source": "words", "target": "image", "k": 60}',
        '{"query": "wordaa", "target": "words", "k": "7"}',
        '{"query": "wordaa \\u00fc \\ud83e\\udd8a"}',
        '{"query": "wordaa \\ud83e"}',
        '{"query": "zebra"}',
        '{"query": ""}',
        '{"query": "wordaa", "source": "nope"}',
        '{"query": "wordaa", "k": 0}',
        '{"query": "wordaa", "k": 2, "why": true}',
        '{"query": "wordaa", "queries": ["wordba"]}',
        '{"queries": ["wordaa", "wordba"]}',
        '{"query": {"wordaa": 1}, "source": "words"}',
        '{"query": NaN}',
        '{"query": "wordaa"',
        "[]",
        "",
    ],
)
def test_answers_are_those_of_fastapi(retriever, content):
    app = make_app(Service(retriever))
    direct = asked(app, content.encode())
    plain = asked(Guard(app.app.app, Limits()), content.encode())
    assert (direct.status_code, direct.content) == (plain.status_code, plain.content)
    assert sorted(direct.headers.items()) == sorted(plain.headers.items())


@pytest.mark.parametrize(
    ("content", "kind", "is_direct"),
    [
        (TEXT, "application/json", True),
        (TEXT, "application/json; charset=utf-8", False),
        (TEXT, "text/plain", False),
        (TEXT + " " * 2**14, "application/json", False),
        ('{"queries": ["wordaa"]}', "application/json", False),
        ('{"query": 3}', "application/json", False),
    ],
)
def test_only_one_short_text_is_answered_without_fastapi(retriever, content, kind, is_direct):
    app = make_app(Service(retriever))
    through, inner = [], app.app.app

    async def watched(scope, receive, send):
        through.append(scope["path"])
        await inner(scope, receive, send)

    watched.exception_handlers = inner.exception_handlers
    app.app.app = watched
    asked(app, content.encode(), **{"Content-Type": kind})
    assert (not through) == is_direct


def test_a_failure_inside_is_logged_and_says_nothing_of_the_inside(retriever, caplog):
    class Broken(Service):
        def answer(self, key, questions):
            raise RuntimeError("secret")

    answer = asked(make_app(Broken(retriever)), TEXT.encode())
    assert answer.status_code == 500 and "secret" not in answer.text
    assert any("secret" in str(record.exc_info) for record in caplog.records)


def test_texts_that_come_together_are_one_call(retriever):
    app = make_app(Service(retriever), wait=0.05)

    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            asks = [client.post("/search", json={"query": f"word{letter}a"}) for letter in "abcdefgh"]
            return await asyncio.gather(*asks)

    answers = asyncio.run(ask())
    assert app.app.state.batcher.calls == 1
    for letter, answer in zip("abcdefgh", answers):
        expected = retriever.search(f"word{letter}a")[0]
        assert [hit["id"] for hit in answer.json()["hits"]] == [key for key, _ in expected]


@pytest.mark.parametrize("ids", [np.array([[3, 1], [0, 2]]), np.array([['a"b', "ü"], ["\ud83e", "d\n"]])])
@pytest.mark.parametrize("grouped", [True, False])
def test_hits_are_written_as_json_writes_them(ids, grouped):
    groups = np.array([[1, -1], [0, 1]])
    names = np.array([['x"', None], ["y", 'x"']], dtype=object)
    scores = np.array([[1.0, 1e-7], [-0.1, 0.333333333]], dtype=np.float32)
    hits = Hits(ids, scores, *((groups, names) if grouped else (None, None)))
    written = "[" + ",".join(f"[{','.join(row)}]" for row in hit_texts(hits)) + "]"
    assert written.encode("ascii") == json_bytes(_hits(hits)["hits"])


def test_a_score_that_is_no_number_is_not_written():
    with pytest.raises(ValueError, match="finite"):
        hit_texts(Hits(np.array([[1]]), np.array([[np.nan]])))
