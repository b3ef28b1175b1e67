"""The HTTP service under malformed, mutated and hostile requests: `python -m fuzz http --minutes 1`.

Bodies, paths, queries and headers are nearly right, wrong, or bytes that are no HTTP at all. A failure is an answer of
status 500 or above, no answer in time, a traceback in an answer or in the log, an error that is not one sentence, and
markup of a client that comes back as HTML. `python -m fuzz.http --seed 3 --count 500` runs so many of them again.
"""

from __future__ import annotations

import json
import logging
import random
import socket
import string
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import numpy as np

from fuzz._cases import case_numbers, how_many, options_of, tell

MARKUP = "<img src=x onerror=alert(1)>"
PATIENCE = 20.0  # seconds, after which a request counts as hanging
POSTS = ["/predict", "/transform", "/search", "/api/labels", "/api/known", "/api/edits/preview", "/api/edits/save"]
GETS = [
    *("/", "/info", "/health", "/openapi.json", "/search", "/static/app.js", "/api/about", "/api/describe/0/groups"),
    *("/api/describe/7/map", "/api/describe/0/nothing", "/api/describe/0/prevalence", "/api/members/0"),
    *("/api/objects", "/api/object", "/api/edits", "/api/known_labels"),
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
QUERIES = ["q", "k", "start", "count", "source", "target", "id", "first", "second", "a", "b", "why"]
VALUES: list[Any] = [
    *(None, True, 0, -1, 10**30, 10**400, 1e308, 5e-324, -0.0, 0.5),
    *("", "words", "image", "wordaa", "topic", "\ud800", "\x00", "é" * 50, "a" * 5000, "[]", MARKUP, "\x1b[2J", "=1+2"),
    *("../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "%00", "\u202e", "object 3"),
    *([], {}, [[]], [None], [[1, 2], [3]], [0.1] * 30, [-1.0] * 30, ["wordaa"], [["a"]], {"": 1}),
    {"words": {"wordaa": 1}},
    {"words": [[0] * 30]},
    {"words": [[1e308] * 30]},
    {"words": [[1] * 30], "image": [[1] * 20] * 2},
    {"words": ["wordaa"] * 3, "image": [None, {"f1": 1}, None]},
    [{"words": "wordaa"}, {"image": {"f2": 1}}],
    [{"words": "wordaa"}, {}],
    {"words": ["wordaa"] * 3000},
    {"image": {"f3": 2}},
    {"words": {"wordaa": "red"}},
    {"words": {"f0": {"a": 1}}},
    {"words": {MARKUP: 1}},
    {"words": "wordaa " * 300},
]
NEARLY: list[tuple[str, dict[str, Any]]] = [  # requests that are right, before something in them is changed
    ("/predict", {"rows": {"words": ["wordaa", "wordba"], "image": [None, {"f1": 1}]}, "by_view": True, "top": 2}),
    ("/transform", {"rows": [{"words": {"wordaa": 1}}, {"image": [1] * 20}], "unknown": "ignore"}),
    ("/search", {"query": "wordaa", "source": "words", "target": "image", "k": 5, "why": True}),
    ("/search", {"queries": ["wordaa", "wordba wordca"], "k": 3}),
    ("/api/known", {"ids": ["object 1", MARKUP]}),
    ("/api/labels", {"labels": ["a"], "id": "object 1"}),
]
BODIES = [
    *(
        b"[" * 20_000,
        b'{"rows":' * 5_000,
        b"NaN",
        b"-Infinity",
        b'{"k":' + b"9" * 5000 + b"}",
        b'"\\ud800"',
        b"",
        b"null",
    ),
    *(
        b'{"rows": 1e999}',
        b'{"rows": {"words": [1e999]}}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b"{" * 100,
        b"\x00" * 999,
    ),
    *(
        b'{"a":1,' * 2000,
        b'{"rows":{"words":[' + b"[]," * 50_000 + b"[]]}}",
        b'{"queries":[' + b'"wordaa",' * 999 + b'"x"],"k":1000}',
    ),
]
HEADERS = [
    *(
        ("content-type", kind)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "*")
    ),
    *(("content-encoding", "gzip"), ("accept-encoding", "br"), ("range", "bytes=0-1,5-2"), ("if-none-match", '"x"')),
    *(("range", "bytes=99999999999999999999-"), ("if-modified-since", "never"), ("host", "evil.example"), ("host", "")),
    *(
        ("authorization", "Bearer " + "x" * 5000),
        ("cookie", MARKUP),
        ("x-forwarded-for", MARKUP),
        ("expect", "100-continue"),
    ),
    *(
        ("origin", "http://evil.example"),
        ("upgrade", "websocket"),
        ("x-forwarded-proto", "\x1b[2J"),
        ("te", "trailers"),
    ),
]
# requests that are no requests, or that two readers would read differently
RAW = [
    *(
        b"",
        b"\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100,
    ),
    *(
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://localhost/info HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
    ),
    *(
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/..%2f..%2fapi.py HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    b"GET /%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 2000 + b"\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2, 3\r\n\r\n{}",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\n{}GET / ",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20,
]


def main(seed: int = 0, count: int | None = None, seconds: float | None = None) -> list[str]:
    """Send requests until so many are sent or so much time is over; return the failures, a sentence each."""
    rng = random.Random(seed)
    failures: list[str] = []
    with _logged() as logged, _served() as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        number = 0
        for number in case_numbers(1000 if count is None and seconds is None else count, seconds):
            where = f"seed {seed}, request {number}"
            if rng.random() < 0.2:
                sent: Any = raw_request(rng)
                problem = _problem_raw(url, sent)
            else:
                sent = request(rng)
                problem = _problem(client, sent)
            if problem is None and logged:
                problem = f"the log says {logged[0]!r}"
            logged.clear()
            if problem is not None:
                failures.append(f"{where}: {problem}. It was {_cut(repr(sent))}")
        problem = _problem(client, {"method": "GET", "url": "/health"}, status=200)
        if problem is not None:
            failures.append(f"seed {seed}: after request {number} the service does not answer: {problem}")
    return failures


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value, more often one that is nearly right."""
    if depth > 3 or rng.random() < 0.6:
        return rng.choice(VALUES)
    if rng.random() < 0.5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice([*KEYS, "words", "image"]): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def request(rng: random.Random) -> dict[str, Any]:
    """One request in well-formed HTTP that is wrong in some way, or nearly right."""
    kind = rng.randrange(9)
    headers = {"content-type": "application/json"}
    for name, content in rng.sample(HEADERS, rng.choice([0, 0, 0, 1, 2])):
        headers[name] = content
    if kind == 0:
        params = {rng.choice(QUERIES): _text(rng) for _ in range(rng.randrange(4))}
        return {"method": "GET", "url": rng.choice(GETS), "params": params, "headers": headers}
    if kind == 1:
        path = "/" + "".join(rng.choice(string.ascii_letters + "/.%-_~\\<>\"'") for _ in range(rng.randrange(40)))
        path = rng.choice([quote(path), rng.choice(GETS) + "/" + quote(_text(rng)), quote("/" + MARKUP)])
        method = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "X"])
        return {"method": method, "url": path, "headers": headers}
    if kind == 2:
        body = bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
        return {"method": "POST", "url": rng.choice(POSTS), "content": body, "headers": headers}
    path, body = rng.choice(POSTS), {key: value(rng) for key in rng.sample(KEYS, rng.randrange(1, 6))}
    if kind > 5:
        path, body = rng.choice(NEARLY)
        if rng.random() < 0.6:
            body = {**body, rng.choice([*body, *KEYS]): value(rng)}
    whole = json.dumps(body).encode()
    if kind == 3:  # cut, or with bytes changed
        broken = bytearray(whole[: rng.randrange(len(whole) + 1)])
        for _ in range(rng.randrange(4) if broken else 0):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        whole = bytes(broken)
    elif kind == 4:
        whole = rng.choice(BODIES)
    return {"method": "POST", "url": path, "content": whole, "headers": headers}


def raw_request(rng: random.Random) -> bytes:
    """Bytes for a connection, mostly with some of them changed, taken out or repeated."""
    content = bytearray(rng.choice(RAW))
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        at = rng.randrange(len(content) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(content):
            content[at] = rng.randrange(256)
        elif kind == 1:
            del content[at : at + rng.randrange(1, 20)]
        elif kind == 2:
            content[at:at] = rng.choice([b"\r\n", b"\x00", b"\n", b":", b" ", b"\r\n\r\n", b"GET / HTTP/1.1\r\n"])
        else:
            content[at:at] = content[at : at + 50]
    return bytes(content)


def _text(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return "".join(rng.choice(string.printable) for _ in range(rng.randrange(60)))
    chosen = rng.choice([part for part in VALUES if isinstance(part, (str, int, float))])
    return (
        str(chosen if not isinstance(chosen, int) or chosen < 10**40 else "9" * 400).encode("utf-8", "replace").decode()
    )


def _problem(client: httpx.Client, sent: dict[str, Any], status: int | None = None) -> str | None:
    """What is wrong with the answer to a request, or None."""
    try:
        answer = client.request(**sent)
    except httpx.TimeoutException:
        return f"no answer in {PATIENCE:g} s"
    except (httpx.LocalProtocolError, UnicodeEncodeError, httpx.InvalidURL):  # not even sent
        return None
    except httpx.TransportError as error:
        return f"the connection ended with {type(error).__name__}: {error}"
    kind = answer.headers.get("content-type", "")
    if answer.status_code >= 500 or (status is not None and answer.status_code != status):
        return f"status {answer.status_code}: {_cut(answer.text)}"
    if "Traceback" in answer.text or 'File "' in answer.text:
        return "a traceback in the answer"
    if "html" in kind and MARKUP in answer.text:
        return "markup of a client in a page"
    if answer.headers.get("x-content-type-options") != "nosniff" or "content-security-policy" not in answer.headers:
        return "an answer without the headers that protect browsers"
    if answer.status_code >= 400 and kind == "application/json" and answer.content:
        try:
            error = answer.json()
        except ValueError:
            return f"an error that is no JSON: {_cut(answer.text)}"
        if list(error) != ["error"] or "\n" in error["error"] or len(error["error"]) > 400:
            return f"an error that is not one sentence: {_cut(answer.text)}"
    return None


def _problem_raw(url: str, content: bytes) -> str | None:
    """What is wrong with the answer to bytes on a connection, or None; what the answer is does not matter."""
    parts = urlsplit(url)
    answer = b""
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
        except TimeoutError:
            return f"no answer and no end in {PATIENCE:g} s"
        except OSError:  # closed before all was sent
            pass
    if b"Traceback" in answer or b"HTTP/1.1 5" in answer:
        return f"the answer {_cut(repr(answer))}"
    return None


def _cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Collect the failures that the service, the server or the event loop logs."""
    lines: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info or record.levelno >= logging.ERROR:
                lines.append(_cut(record.getMessage()))

    handler, loggers = Collector(), [logging.getLogger(name) for name in ("asyncio", "uvicorn.error")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield lines
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


@contextmanager
def _served() -> Iterator[str]:
    """Serve a small retriever, its topics and clusters, of objects whose names are markup."""
    from coview.web.api import make_app
    from coview.web.run import running

    with running(make_app(small_service(), page=True)) as url:
        yield url


def small_service(n_objects: int = 60) -> Any:
    """Return the service of a small retriever with words and image features, and of clusters of the same objects."""
    from coview import CrossModalRetriever, LinkPLSA, MultiViewPLSA, Views
    from coview.datasets import make_topic_views
    from coview.web.service import Service

    data = make_topic_views(n_objects, {"words": 30, "image": 20}, n_clusters=3, random_state=0)
    names = {"words": [f"word{chr(97 + j % 26)}{chr(97 + j // 26)}" for j in range(29)] + [MARKUP]}
    ids = np.array([f"object {i}" for i in range(n_objects - 1)] + [MARKUP])
    X = Views(dict(data.views.items()), feature_names=names, ids=ids)
    retriever = CrossModalRetriever(LinkPLSA(3, random_state=0, max_iter=20)).fit(X)
    clusters = MultiViewPLSA(3, 4, random_state=0, n_init=1, max_iter=20).fit(X)
    return Service(retriever, X, also=[clusters])


if __name__ == "__main__":
    chosen = options_of("http", __doc__).parse_args()
    sys.exit(tell(main(chosen.seed, how_many(chosen), chosen.seconds)))
