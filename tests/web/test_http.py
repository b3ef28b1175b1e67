"""The service over real HTTP: answers, refusals, limits, and many clients at once."""

import asyncio
import logging
import threading
import time

import httpx
import pytest

from coview import MultiViewNaiveBayes
from coview.web import batching
from coview.web.api import make_app
from coview.web.batching import PART, Batcher
from coview.web.run import running
from coview.web.service import Service


def test_the_addresses_answer(client):
    assert client.get("/health").json() == {"status": "ok"}
    info = client.get("/info").json()
    assert info["model"] == "CrossModalRetriever" and info["indexed"] == 60
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/predict", "/transform", "/search", "/info", "/health"} <= set(paths)
    rows = {"rows": {"words": {"wordaa": 1}}}
    assert len(client.post("/predict", json=rows).json()["labels"]) == 1
    assert len(client.post("/transform", json=rows).json()["coordinates"][0]) == 3


def test_search_by_text_names_and_numbers_is_the_same(client):
    asked = ["wordaa wordba", {"wordaa": 1, "wordba": 1}, [1, 1] + [0] * 28]
    # feature names run aa, ba, ca, ...
    found = [client.post("/search", json={"query": query, "source": "words", "k": 5}).json() for query in asked]
    assert found[0]["hits"] == found[1]["hits"] == found[2]["hits"] and found[0]["target"] == "image"
    by_get = client.get("/search", params={"q": asked[0], "source": "words", "k": 5}).json()
    assert by_get == found[0]
    many = client.post("/search", json={"queries": asked[:1] * 2, "source": "words", "k": 5}).json()
    assert many["hits"] == [found[0]["hits"]] * 2


def test_words_that_nothing_knows_are_named(client):
    for views in ({}, {"source": "words"}):
        assert client.post("/search", json={"query": "wordaa zebra", **views}).json()["ignored"] == ["zebra"]
        many = client.post("/search", json={"queries": ["wordaa zebra", "wordba"], **views}).json()
        assert many["ignored"] == [["zebra"], []]
    assert client.post("/search", json={"query": {"wordaa": 1}, "source": "words"}).json()["ignored"] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/search", {"query": "zebra", "source": "words"}, 422, "Nothing in the query 'zebra'"),
        ("/search", {"query": {"wordaa": 1}}, 422, "Specify the view of the query"),
        ("/search", {"query": "zebra"}, 422, "zebra"),
        ("/search", {"query": "wordaa", "source": "nope"}, 422, "has no view 'nope'"),
        ("/search", {"query": "wordaa", "source": "words", "k": 0}, 422, "The field 'k' is wrong"),
        ("/search", {}, 422, "Send either query"),
        ("/predict", {}, 422, 'The field \'rows\' is missing. Example: {"rows": [{"words": "some text"}]}'),
        ("/predict", {"rows": {"words": [[1]]}}, 422, "has 30 features, got a row of 1"),
        ("/predict", {"rows": {"words": [[-1] * 30]}}, 422, "negative"),
        ("/predict", [1, 2], 422, "must be a JSON object"),
        ("/nowhere", {}, 404, "Unknown path"),
    ],
)
def test_wrong_input_is_one_sentence(client, path, body, status, sentence):
    answer = client.post(path, json=body)
    assert answer.status_code == status and set(answer.json()) <= {"error", "view"}
    assert answer.json().get("view") == ("words" if "30 features" in sentence else None)  # beside whose field it stands
    assert sentence in answer.json()["error"] and "\n" not in answer.json()["error"]


def test_a_text_without_views_is_searched_for_in_all_of_them(client, retriever):
    answer = client.post("/search", json={"query": "wordaa wordba", "k": 4, "why": True}).json()
    expected = retriever.search("wordaa wordba", k=4)[0]
    assert [hit["id"] for hit in answer["hits"]] == [key for key, _ in expected]
    whole, without = retriever.similarities(["wordaa wordba", "wordba"], ids=[answer["hits"][0]["id"]])[:, 0]
    worth = {part["name"]: part["adds"] for part in answer["hits"][0]["why"]}
    assert answer["source"] is None and worth["wordaa"] == pytest.approx(whole - without, abs=1e-5)
    many = client.post("/search", json={"queries": ["wordaa wordba"] * 2, "k": 4}).json()["hits"]
    assert [[hit["id"] for hit in row] for row in many] == [[key for key, _ in expected]] * 2


def test_a_value_error_is_in_the_log(retriever, caplog):
    class Wrong(Service):
        def read(self, rows, unknown="refuse"):
            raise ValueError("our own mistake")

    with running(make_app(Wrong(retriever))) as url:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        answer = httpx.post(f"{url}/predict", json={"rows": {"words": "a"}})
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert answer.status_code == 422 and answer.json() == {"error": "our own mistake"}
    (record,) = [record for record in caplog.records if "/predict" in record.getMessage()]
    assert "our own mistake" in str(record.exc_info[1])


def test_only_requests_to_this_machine_are_answered(client):
    for host, status in (
        ("evil.example", 400),
        ("localhost:1", 200),
        ("[::1]:80", 200),
        ("127.0.0.1.evil.example", 400),
    ):
        assert client.get("/info", headers={"host": host}).status_code == status


def test_a_token_is_needed_where_one_is_set(retriever):
    app = make_app(Service(retriever), token="secret-token", local=False)
    with running(app) as url:
        assert httpx.get(f"{url}/health").status_code == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic secret-token"}):
            answer = httpx.get(f"{url}/info", headers=headers)
            assert answer.status_code == 401 and "token" in answer.json()["error"]
        assert httpx.get(f"{url}/info", headers={"authorization": "Bearer secret-token"}).status_code == 200


def test_the_files_of_the_page_need_no_token(retriever):
    app = make_app(Service(retriever), token="secret-token", local=False, page=True)
    with running(app) as url:
        for path in ("/", "/static/app.js", "/static/style.css", "/static/icon.svg"):
            assert httpx.get(f"{url}{path}").status_code == 200
        for path in ("/info", "/healthy", "/statics", "/static/../info"):
            assert httpx.get(f"{url}{path}").status_code in (401, 404)


def test_large_and_slow_requests_are_refused(retriever):
    class Slow(Service):
        def answer(self, key, questions):
            time.sleep(1)
            return super().answer(key, questions)

    app = make_app(Slow(retriever), most_bytes=2000, seconds=0.3)
    with running(app) as url:
        assert httpx.post(f"{url}/predict", content=b"x" * 3000).status_code == 413
        parts = httpx.post(f"{url}/predict", content=(b"x" * 500 for _ in range(10)))  # without a stated length
        assert parts.status_code == 413 and "2000 bytes" in parts.json()["error"]
        slow = httpx.post(f"{url}/search", json={"query": "wordaa", "source": "words"})
        assert slow.status_code == 503 and "longer than 0.3 seconds" in slow.json()["error"]
        assert httpx.get(f"{url}/health").status_code == 200


def test_a_failure_inside_says_nothing_of_the_inside(retriever, caplog):
    class Broken(Service):
        def answer(self, key, questions):
            raise KeyError("secret detail")

    with running(make_app(Broken(retriever))) as url:
        answer = httpx.post(f"{url}/search", json={"query": "wordaa", "source": "words"})
    assert answer.status_code == 500 and "secret" not in answer.text and "Traceback" not in answer.text


def test_64_clients_at_once_lose_nothing(retriever):
    service = Service(retriever)
    app = make_app(service)
    asked = [" ".join(f"word{chr(97 + (i + j) % 26)}a" for j in range(3)) for i in range(64)]
    alone = {}
    for text in asked:
        views, target = service.read_query(text, "words", "image")
        alone[text] = service.search(views, target, 5)["hits"][0]

    async def one(client, text):
        found = []
        for _ in range(2):
            answer = await client.post("/search", json={"query": text, "source": "words", "k": 5})
            found.append((answer.status_code, answer.json()["hits"]))
        return text, found

    async def main(url):
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
            return await asyncio.gather(*(one(client, text) for text in asked))

    with running(app) as url:
        answers = asyncio.run(main(url))
    batcher = app.state.batcher
    assert batcher.questions == 128 and batcher.calls < 128
    for text, found in answers:
        for status, hits in found:
            assert status == 200 and [hit["id"] for hit in hits] == [hit["id"] for hit in alone[text]]


# -- Large requests and answers: limited, and worked out in parts with others between


def test_answers_in_parts_are_those_of_the_whole(retriever, small, monkeypatch):
    monkeypatch.setattr(batching, "PART", 3)
    X, y = small
    service = Service(MultiViewNaiveBayes().fit(X, y), X, also=[retriever])
    # no row of the first parts has an image
    rows = {
        "words": [{"wordaa": i % 3, "wordca": 1} for i in range(20)],
        "image": [None] * 12 + [{"f1": 1, "f2": 2}] * 8,
    }
    expected = service.predict(service.read(rows), by_view=True, top=2)
    queries = ["wordaa", "wordba wordca", "wordda", "wordea wordaa", "wordfa"]
    with running(make_app(service, together=7)) as url:
        answer = httpx.post(f"{url}/predict", json={"rows": rows, "by_view": True, "top": 2}, timeout=60).json()
        for source in (None, "words"):
            body = {"queries": queries, "k": 4, "source": source}
            found = httpx.post(f"{url}/search", json=body, timeout=60).json()["hits"]
            target = None if source is None else "image"
            hits = service.search_texts(queries, source, target, 4)["hits"]
            assert [[hit["id"] for hit in row] for row in found] == [[hit["id"] for hit in row] for row in hits]
    assert answer["labels"] == expected["labels"] and answer["top"] == expected["top"]
    assert answer["by_view"]["image"]["labels"] == expected["by_view"]["image"]["labels"]
    assert answer["by_view"]["image"]["labels"][:12] == [None] * 12


# -- Questions that come together go together, and nobody suffers from what another asked


def ask_one(answer):
    """Answer numbers, one to a question."""
    return lambda key, questions: answer(key, [number for (number,) in questions])


def asked(answer, questions, **settings):
    """Ask all at once; return the answers or errors, and the batcher."""

    async def main():
        batcher = Batcher(ask_one(answer), **settings)
        try:
            calls = (batcher.ask(key, [number]) for key, number in questions)
            found = await asyncio.gather(*calls, return_exceptions=True)
            return [one if isinstance(one, Exception) else one[0] for one in found], batcher
        finally:
            batcher.close()

    return asyncio.run(main())


def test_questions_that_come_together_are_one_call():
    found, batcher = asked(lambda key, numbers: [n + 1 for n in numbers], [("a", i) for i in range(100)])
    assert found == list(range(1, 101)) and batcher.calls == 1


def test_what_comes_while_the_model_works_is_the_next_call():
    sizes = []

    def slow(key, numbers):
        sizes.append(len(numbers))
        time.sleep(0.1)
        return numbers

    async def main():
        batcher = Batcher(ask_one(slow), wait=0)
        first = asyncio.create_task(batcher.ask("a", [0]))
        await asyncio.sleep(0.05)
        rest = await asyncio.gather(*(batcher.ask("a", [i]) for i in range(1, 9)))
        batcher.close()
        return *await first, [part for parts in rest for part in parts]

    assert asyncio.run(main()) == (0, list(range(1, 9))) and sizes == [1, 8]


def test_one_bad_question_fails_alone():
    def picky(key, numbers):
        if 3 in numbers:
            raise ValueError("no threes")
        return [n * 2 for n in numbers]

    found, _ = asked(picky, [("a", i) for i in range(6)])
    assert isinstance(found[3], ValueError) and [n for n in found if not isinstance(n, ValueError)] == [0, 2, 4, 8, 10]


def test_a_long_question_is_asked_in_parts_with_others_between():
    sizes = []

    async def main():
        batcher = Batcher(lambda key, questions: sizes.append(len(questions[0])) or questions, wait=0)
        many, _ = await asyncio.gather(batcher.ask("a", list(range(3 * PART - 1))), batcher.ask("b", [1]))
        batcher.close()
        return [number for part in many for number in part]

    assert asyncio.run(main()) == list(range(3 * PART - 1)) and sizes == [PART, 1, PART, PART - 1]


def test_who_gives_up_costs_the_others_nothing():
    gate = threading.Event()

    def slow(key, numbers):
        gate.wait(2)
        return numbers

    async def main():
        batcher = Batcher(ask_one(slow), wait=0)
        first = asyncio.create_task(batcher.ask("a", [0]))
        await asyncio.sleep(0.02)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(batcher.ask("a", [1]), 0.02)
        later = asyncio.create_task(batcher.ask("a", [2]))
        gate.set()
        found = *await first, *await later
        batcher.close()
        return found

    assert asyncio.run(main()) == (0, 2)
