"""Large answers: limited, worked out in parts with others between, and rendered in pieces beside the event loop."""

from __future__ import annotations

import json
import threading
import time

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview import MultiViewNaiveBayes
from coview.web import api, batching, guard, limits, rendering
from coview.web.api import make_app
from coview.web.limits import Limits
from coview.web.rendering import count_values, joined, json_bytes, rendered
from coview.web.run import running
from coview.web.service import Service

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def dumped(value) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


@given(VALUES)
@settings(max_examples=50, deadline=None)
def test_pieces_make_the_same_json(value):
    size, rendering._PIECE = rendering._PIECE, 3
    try:
        assert json_bytes(value) == dumped(value)
    finally:
        rendering._PIECE = size


def test_wide_and_long_lists_are_rendered_in_pieces_of_bounded_size():
    rows = [[0.1 * j for j in range(9000)] for _ in range(3)]
    for value in (rows, {"a": {"b": rows}}, [{"a": 1}] * 9000, list(range(30_000)), [[], rows, [1], {"x": rows[0]}]):
        assert json_bytes(value) == dumped(value)
        assert max(map(len, rendering._pieces(value))) < 30 * rendering._PIECE


@given(st.lists(st.integers(), min_size=1), st.integers(1, 5))
def test_parts_of_an_answer_are_joined_to_the_whole(numbers, size):
    def answer(part):
        return {"labels": part, "by_view": {"words": {"labels": [[n, None] for n in part]}}}

    parts = [rendered(answer(numbers[start : start + size])) for start in range(0, len(numbers), size)]
    assert joined(parts, model="x") == dumped({"model": "x", **answer(numbers)})
    assert count_values(answer(numbers)) == 3 * len(numbers)


@pytest.mark.parametrize("value", [None, "text", 5, b"[1]"])
def test_an_answer_that_is_no_list_is_no_part(value):
    with pytest.raises(TypeError, match="An answer of some rows is a list, or lists by name, got"):
        rendered({"labels": value})


def test_an_answer_beyond_the_limit_is_refused_with_advice(retriever):
    with running(make_app(Service(retriever), limits=Limits(most_values=300))) as url:
        rows = {"rows": {"words": ["wordaa"] * 200}}
        for path, body, columns in (
            ("/transform", rows, 3),
            ("/search", {"queries": ["wordaa"] * 20, "k": 10}, 40),
            ("/search", {"queries": ["wordaa"] * 20, "k": 10, "source": "words"}, 40),
        ):
            answer = httpx.post(url + path, json=body, timeout=60)
            assert answer.status_code == 413, path
            assert f"x {columns} columns = " in answer.json()["error"]
            assert f"at most 300 are allowed. Send at most {300 // columns} rows at a time." in answer.json()["error"]
        rows["rows"]["words"] = rows["rows"]["words"][:100]
        assert httpx.post(f"{url}/transform", json=rows, timeout=60).status_code == 200


@pytest.mark.parametrize("explained", [False, True])
def test_answers_in_parts_are_those_of_the_whole(retriever, small, monkeypatch, explained):
    monkeypatch.setattr(batching, "_FIRST", 3)
    X, y = small
    model = MultiViewNaiveBayes().fit(X, y)
    service = Service(model, X, also=[retriever])
    # no row of the first parts has an image
    rows = {
        "words": [{"wordaa": i % 3, "wordca": 1} for i in range(20)],
        "image": [None] * 12 + [{"f1": 1, "f2": 2}] * 8,
    }
    expected = service.predict(service.read(rows), by_view=True, top=2)
    queries = ["wordaa", "wordba wordca", "wordda", "wordea wordaa", "wordfa"]
    with running(make_app(service, together=7)) as url:
        answer = httpx.post(f"{url}/predict", json={"rows": rows, "by_view": True, "top": 2}, timeout=60).json()
        found = {
            source: httpx.post(
                f"{url}/search", json={"queries": queries, "k": 4, "source": source, "why": explained}, timeout=60
            ).json()["hits"]
            for source in (None, "words")
        }
        alone = [
            httpx.post(
                f"{url}/search", json={"query": query, "k": 4, "source": "words", "why": explained}, timeout=60
            ).json()["hits"]
            for query in queries
        ]
    assert {key: answer[key] for key in expected} == json.loads(json_bytes(expected))
    assert answer["by_view"]["image"]["labels"][:12] == [None] * 12
    assert found["words"] == alone and all(("why" in hit) == explained for row in alone for hit in row)
    expected = service.search_texts(queries, None, None, 4)["hits"]
    assert [[hit["id"] for hit in row] for row in found[None]] == [[hit["id"] for hit in row] for row in expected]


def test_a_small_request_comes_between_the_parts_of_a_large_one(retriever):
    order = []

    class Slow(Service):
        def answer(self, key, questions):
            time.sleep(0.004 * sum(map(len, questions)))
            return super().answer(key, questions)

    def ask(url, name, n_rows):
        answer = httpx.post(f"{url}/transform", json={"rows": {"words": ["wordaa"] * n_rows}}, timeout=30)
        order.append((name, answer.status_code, len(answer.json()["coordinates"])))

    with running(make_app(Slow(retriever))) as url:
        large = threading.Thread(target=ask, args=(url, "large", 400))
        large.start()
        time.sleep(0.2)
        ask(url, "small", 1)
        large.join()
    assert order == [("small", 200, 1), ("large", 200, 400)]


def test_answers_are_rendered_beside_the_event_loop(retriever, small, monkeypatch):
    seen = []

    def watched(call):
        def rendered_there(*args):
            seen.append(threading.current_thread().name)
            return call(*args)

        return rendered_there

    monkeypatch.setattr(api, "rendered", watched(rendered))
    monkeypatch.setattr(api, "_rendered", watched(api._rendered))
    with running(make_app(Service(retriever, small[0]), page=True)) as url:
        for path in ("info", "api/map", "api/groups", "search?q=wordaa"):
            assert httpx.get(f"{url}/{path}", timeout=60).status_code == 200
        assert httpx.post(f"{url}/transform", json={"rows": {"words": "wordaa"}}, timeout=60).status_code == 200
    assert len(seen) == 5 and all(name.startswith("coview-read") for name in seen)


def test_few_large_answers_are_worked_out_at_a_time(retriever, monkeypatch):
    monkeypatch.setattr(api, "_LARGE_ANSWER", 10)
    monkeypatch.setattr(limits, "_TURNS", 2)
    take, active, most, done = limits.Turn.take, set(), [], []

    async def watched(self):
        await take(self)
        active.add(self)
        most.append(len(active))

    class Left(guard.AsyncExitStack):
        async def __aexit__(self, *reason):
            for turn in [each for each in active if each._until is self]:
                active.discard(turn)
            return await super().__aexit__(*reason)

    monkeypatch.setattr(limits.Turn, "take", watched)
    monkeypatch.setattr(guard, "AsyncExitStack", Left)

    def ask(url, i):
        answer = httpx.post(f"{url}/transform", json={"rows": {"words": ["wordaa"] * (40 + i)}}, timeout=30)
        done.append((i, answer.status_code, len(answer.json()["coordinates"])))

    with running(make_app(Service(retriever))) as url:
        threads = [threading.Thread(target=ask, args=(url, i)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(done) == [(i, 200, 40 + i) for i in range(8)]
    assert len(most) == 8 and max(most) <= 2


def test_values_of_any_kind_are_counted():
    assert count_values({"a": [1, [2, "x", None]], "b": {"c": [[]]}}) == 4


def test_large_requests_have_a_thread_of_their_own(retriever):
    seen = []

    class Watched(Service):
        def read(self, rows, unknown="refuse"):
            seen.append(threading.current_thread().name)
            return super().read(rows, unknown)

    with running(make_app(Watched(retriever))) as url:
        for n_rows in (1, 5000):
            rows = {"words": ["wordaa"] * n_rows}
            assert httpx.post(f"{url}/transform", json={"rows": rows}, timeout=60).status_code == 200
    assert [name.startswith("coview-read-large") for name in seen] == [False, True]


def test_a_request_of_too_many_lists_is_refused_before_it_is_parsed(client):
    body = b'{"rows": {"words": [' + b"[]," * 300_000 + b"[]]}}"
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.json()["error"] == "A request may have at most 200,000 lists and objects. Send it in parts."
