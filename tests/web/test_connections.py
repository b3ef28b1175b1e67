"""Connections over real sockets: slow ones are dropped, small answers leave at once, the last requests are answered."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from coview.web import connections, limits, run
from coview.web.api import make_app
from coview.web.connections import TimedH11, TimedHttpTools
from coview.web.guard import Guard
from coview.web.limits import Limits
from coview.web.run import running
from coview.web.service import Service

HEADER = b"POST /transform HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def rest(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    content = b""
    try:
        while piece := connection.recv(2**20):
            content += piece
    except ConnectionResetError:
        pass
    return content


def trickle(connection: socket.socket, piece: bytes, seconds: float) -> None:
    """Send a piece now and then, until it is no longer wanted."""
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            connection.sendall(piece)
            time.sleep(0.05)
    except OSError:
        pass


@pytest.fixture(scope="module", params=[TimedH11, TimedHttpTools], ids=["h11", "httptools"])
def protocol(request):
    """Each of the parsers; services of the test have it."""
    if request.param is None:
        pytest.skip("httptools is not installed: connections are checked with h11 alone")
    patched = pytest.MonkeyPatch()
    patched.setattr(run, "TimedProtocol", request.param)
    yield request.param
    patched.undo()


@pytest.fixture(scope="module")
def hasty(retriever, protocol):
    """A service that waits about a second for everything."""
    short = Limits(seconds=1.5, header_seconds=0.7, stall_seconds=0.7)
    with running(make_app(Service(retriever), limits=short)) as url:
        yield url


def test_half_a_header_is_dropped_however_it_trickles(hasty):
    with connected(hasty) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        threading.Thread(target=trickle, args=(connection, b"X: a\r\n", 3), daemon=True).start()
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"did not arrive in time" in answer


def test_a_connection_that_says_nothing_is_closed(hasty):
    with connected(hasty) as connection:
        assert rest(connection) == b""


def test_half_a_header_after_an_answer_is_dropped_too(hasty):
    with connected(hasty) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(10_000).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        assert b"HTTP/1.1 408 " in rest(connection)


def test_a_body_that_does_not_arrive_is_refused(hasty):
    with connected(hasty) as connection:
        connection.sendall(HEADER % 1000 + b"{")
        threading.Thread(target=trickle, args=(connection, b" ", 3), daemon=True).start()
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"body of the request did not arrive" in answer


def test_a_large_body_that_pauses_makes_room(retriever, protocol, monkeypatch):
    monkeypatch.setattr(limits, "_GRACE", 0.3)
    monkeypatch.setattr(limits, "_LARGE_BODY", 1000)
    monkeypatch.setattr(limits, "_RECEIVED", 3000)
    with running(make_app(Service(retriever))) as url, connected(url) as slow, connected(url) as other:
        slow.sendall(HEADER % 5000 + b" " * 2000)
        time.sleep(0.1)
        body = b'{"rows": {"words": "wordaa"}}'.ljust(5000)
        other.sendall(HEADER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") % 5000 + body)
        assert rest(other).startswith(b"HTTP/1.1 200 ")  # once the other one is dropped
        assert rest(slow).startswith(b"HTTP/1.1 408 ")


def test_whoever_goes_away_leaves_the_queue():
    async def disconnect():
        await asyncio.sleep(0.05)
        return {"type": "http.disconnect"}

    async def stay():
        await asyncio.sleep(60)

    async def main():
        places = asyncio.Semaphore(1)
        async with AsyncExitStack() as first, AsyncExitStack() as second, AsyncExitStack() as third:
            await limits.Turn(places, first, stay).take()
            waiting = asyncio.create_task(limits.Turn(places, third, stay).take())
            with pytest.raises(limits.HTTPException, match="went away"):
                await limits.Turn(places, second, disconnect).take()
            await second.aclose()
            assert places.locked() and not waiting.done()
            await first.aclose()
            await asyncio.wait_for(waiting, 5)
            late = asyncio.create_task(limits.Turn(places, second, stay).take())
            await asyncio.sleep(0.01)
            late.cancel()
            with pytest.raises(asyncio.CancelledError):
                await late
        assert not places.locked()

    asyncio.run(main())


def test_bytes_wait_until_there_is_room():
    async def main():
        budget = limits.Budget(100)
        await budget.take(500)  # alone
        waiting = [asyncio.create_task(budget.take(size)) for size in (60, 60, 40)]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in waiting)
        budget.give_back(500)
        await asyncio.sleep(0.01)
        assert [task.done() for task in waiting] == [True, False, False]  # the last would fit, but came later
        waiting[1].cancel()
        await asyncio.sleep(0.01)
        assert waiting[2].done()

    asyncio.run(main())


@pytest.mark.parametrize("length_is_told", [True, False])
@pytest.mark.parametrize(("clients", "size"), [(20, 7_000), (1, 50_000)])
def test_large_requests_do_not_wait_for_each_other_for_ever(clients, size, length_is_told, monkeypatch):
    """Each is larger than its share of the room, all together are much larger, and one alone may be."""
    monkeypatch.setattr(limits, "_LARGE_BODY", 1000)
    monkeypatch.setattr(limits, "_RECEIVED", 16_000)
    statuses, held, most = [], 0, 0

    async def answer(scope, receive, send):
        nonlocal held, most
        total = 0
        while (message := await receive())["more_body"]:
            total += len(message["body"])
            if total > 2000:
                held += len(message["body"])
                most = max(most, held)
        held -= max(total - 2000, 0)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def ask(service):
        pieces = iter([b" " * 1000] * (size // 1000))

        async def receive():
            await asyncio.sleep(0)  # the others send, too
            piece = next(pieces, None)
            return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

        async def send(message):
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        length = [(b"content-length", b"%d" % size)] if length_is_told else []
        headers = [(b"host", b"localhost"), *length]
        await service({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send)

    async def main():
        service = Guard(answer, Limits(most_bytes=60_000, seconds=10.0))
        await asyncio.gather(*(ask(service) for _ in range(clients)))

    asyncio.run(main())
    assert statuses == [200] * clients
    assert 0 < most <= max(16_000, size)


def test_a_client_that_is_gone_is_noticed_while_its_body_waits(retriever, protocol, monkeypatch):
    monkeypatch.setattr(limits, "_LARGE_BODY", 1000)
    monkeypatch.setattr(limits, "_RECEIVED", 2000)
    monkeypatch.setattr(limits, "_GRACE", 25.0)
    lost = threading.Event()

    class Watched(protocol):
        def connection_lost(self, exc):
            super().connection_lost(exc)
            lost.set()

    monkeypatch.setattr(run, "TimedProtocol", Watched)
    with running(make_app(Service(retriever), limits=Limits(header_seconds=1.0))) as url, connected(url) as slow:
        slow.sendall(HEADER % 5000 + b" " * 2000)
        time.sleep(0.2)
        gone = connected(url)
        gone.sendall(HEADER % 2**20 + b" " * 500_000)  # more than is read before there is room
        time.sleep(0.2)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()
        assert lost.wait(15)  # before the slow one is dropped


def test_an_answer_that_nobody_reads_is_dropped(retriever, protocol):
    class Wide(Service):
        def answer(self, key, questions):
            return [{"coordinates": [[0.123456789] * 20_000] * len(views)} for views in questions]

    short = Limits(stall_seconds=0.4)
    with running(make_app(Wide(retriever), limits=short)) as url, connected(url) as connection:
        body = json.dumps({"rows": {"words": ["wordaa"] * 50}}).encode()
        connection.sendall(HEADER % len(body) + body)
        head = connection.recv(1000)
        time.sleep(1.5)
        content = head + rest(connection)
    size = int(content.split(b"content-length: ")[1].split(b"\r\n")[0])
    assert size > 10_000_000 and len(content) < size


def test_an_answer_that_is_read_in_small_pieces_is_dropped(retriever, protocol):
    class Wide(Service):
        def answer(self, key, questions):
            return [{"coordinates": [[0.123456789] * 20_000] * len(views)} for views in questions]

    short = Limits(stall_seconds=0.8, slowest_read=10e6)
    with running(make_app(Wide(retriever), limits=short)) as url, connected(url) as connection:
        body = json.dumps({"rows": {"words": ["wordaa"] * 50}}).encode()
        connection.sendall(HEADER % len(body) + body)
        content = connection.recv(1000)
        for _ in range(60):  # never stuck, but slow
            content += connection.recv(50_000)
            time.sleep(0.05)
        content += rest(connection)
    size = int(content.split(b"content-length: ")[1].split(b"\r\n")[0])
    assert len(content) < size


def test_small_answers_leave_at_once(retriever, protocol, monkeypatch):
    seen = []
    made = protocol.connection_made

    def watched(self, transport):
        accepted = transport.get_extra_info("socket")
        made(self, transport)
        seen.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(protocol, "connection_made", watched)
    with running(make_app(Service(retriever))) as url:
        assert httpx.get(f"{url}/health", timeout=60).status_code == 200
    assert seen and all(seen)


def test_requests_in_flight_are_answered_at_the_end(retriever, protocol):
    begun = threading.Event()
    answers = []

    class Slow(Service):
        def answer(self, key, questions):
            begun.set()
            time.sleep(3.3)
            return super().answer(key, questions)

    def ask(url):
        answers.append(httpx.post(f"{url}/transform", json={"rows": {"words": "wordaa"}}, timeout=30))

    with running(make_app(Slow(retriever))) as url:
        asking = threading.Thread(target=ask, args=(url,))
        asking.start()
        begun.wait(10)
    asking.join(20)
    assert [answer.status_code for answer in answers] == [200]
    assert len(answers[0].json()["coordinates"]) == 1


def test_a_request_that_comes_with_the_end_is_answered(retriever, protocol, monkeypatch):
    monkeypatch.setattr(connections, "_LAST_CALL", 2.0)
    ending = threading.Event()
    shutdown = protocol.shutdown

    def watched(self):
        shutdown(self)
        ending.set()

    monkeypatch.setattr(protocol, "shutdown", watched)
    answers = []

    def ask(connection):
        ending.wait(10)
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers.append(rest(connection))

    with running(make_app(Service(retriever))) as url:
        connection = connected(url)
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = b""
        while b'{"status":"ok"}' not in first:
            first += connection.recv(10_000)
        asking = threading.Thread(target=ask, args=(connection,))
        asking.start()
    asking.join(20)
    connection.close()
    assert answers and answers[0].startswith(b"HTTP/1.1 200 ")


def test_a_body_in_bad_chunks_is_answered_once_and_logged_as_no_fault(hasty, caplog):
    with connected(hasty) as connection:
        connection.sendall(
            b"POST /predict HTTP/1.1\r\nHost: loca\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"
        )
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nx-content-type-options: nosniff\r\n" in answer and answer.endswith(
        b'{"error":"The request is not valid HTTP/1.1."}'
    )
    assert not [record for record in caplog.records if record.name.startswith("coview")]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: ",
    ],
    ids=["header", "trailer"],
)
def test_a_header_without_end_is_refused(retriever, protocol, sent):
    with running(make_app(Service(retriever))) as url, connected(url) as connection:
        connection.sendall(sent)
        total = 0
        try:
            while total < 2**23:
                connection.sendall(b"a" * 2**16)
                total += 2**16
        except OSError:
            pass
        assert total < 2**23 and rest(connection)[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 431 ", b"")


def test_requests_that_are_sent_at_once_are_answered_in_turn(hasty):
    with connected(hasty) as connection:
        ask = b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
        connection.sendall(ask % (b"/health", b"") * 3 + ask % (b"/nowhere", b"Connection: close\r\n"))
        content = rest(connection)
    assert [part[:3] for part in content.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"200", b"404"]
