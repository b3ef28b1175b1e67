"""Large requests and answers: limited, and worked out in parts with others between."""

from __future__ import annotations

import httpx

from coview import MultiViewNaiveBayes
from coview.web import batching
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service


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
