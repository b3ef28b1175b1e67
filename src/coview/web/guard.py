"""What stands before every request: who may ask, how much, how long, and what a browser may do with the answer.

Plain ASGI around the application, so that nothing of a request is read before it is allowed: dependencies of FastAPI
are asked after it has read the body. Starlette has no limit of size or time and no security headers.

Large requests and large answers take turns, a few at a time, so that they cannot fill the memory together; small ones
never wait for them.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Iterator
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from fastapi.security import HTTPBearer
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coview.utils.messages import printable
from coview.web.rendering import json_bytes

__all__ = ["IS_LARGE", "POLICY", "Answers", "Budget", "Guard", "Limits", "Turn", "is_loopback", "refuse"]

log = logging.getLogger("coview.web")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # ask each time whether a copy is still the same
}
_STATIC = "/static/"
_BEARER = HTTPBearer(auto_error=False)  # reads the header
IS_LARGE: ContextVar[bool] = ContextVar("coview_large_request", default=False)  # whether this request is
FAILED = "Internal server error; see the server log."
_SLOW_BODY = "The body of the request did not arrive in time. Send it again, in parts where the connection is slow."
_CLOSE = {"Connection": "close"}  # the rest of the body is not read


_LARGE_BODY = 2**18  # bytes, from which a request takes turns with others
_LONG_BODY = 2**15  # bytes, from which the work for a request is done in a thread of its own
_TURNS = 4  # large requests that are read and answered at a time, and large answers
_RECEIVED = 2**26  # bytes of large requests that are received at a time
_GRACE = 3.0  # seconds that a large body may pause
_SLOWEST = 2**17  # bytes of it a second
_SLICE = 2**16  # bytes of an answer that are handed over at a time


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for, and how long it may keep the server waiting.

    Attributes
    ----------
    most_bytes : int
        Size of its body.
    seconds : float
        Time until its answer.
    most_values : int
        Rows x columns of its answer.
    header_seconds : float
        Time for its whole header.
    stall_seconds : float
        Time in which a client must read some of an answer that waits for it.
    """

    most_bytes: int = 8 * 2**20
    seconds: float = 30.0
    most_values: int = 1_000_000
    header_seconds: float = 15.0
    stall_seconds: float = 30.0


class Answers(Response):
    """JSON that any client can read."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else json_bytes(content)


class Guard:
    """ASGI middleware: token, host, size, time, security headers, and never a traceback to the client.

    Parameters
    ----------
    app : ASGI application
        What answers.
    limits : Limits
        Size and time.
    token : str or None, default=None
        The secret that `Authorization: Bearer ...` must carry; None asks for none.
    local : bool, default=True
        Answer only requests that were sent to this machine by name, so that no web page of elsewhere can reach the
        service through a name of its own (DNS rebinding).
    open_paths : tuple of str, default=()
        Paths that need no token, beside the files of the page, which hold no data.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        *,
        token: str | None = None,
        local: bool = True,
        open_paths: tuple[str, ...] = (),
    ) -> None:
        self.app = app
        self.limits = limits
        self._token = None if token is None else token.encode()
        self._local = local
        self._open = open_paths
        self._budget = Budget(_RECEIVED)
        self._bodies, self._answers = asyncio.Semaphore(_TURNS), asyncio.Semaphore(_TURNS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1003})
        started = False

        async def send_all(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            for part in _sliced(message):  # each waits until the client has read most of those before
                await send(part)

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                deadline.reschedule(None)  # from here on it is the client who takes the time
            await send_all(message)

        refusal = await self._refusal(Request(scope))
        async with AsyncExitStack() as turn:
            body = _Body(receive, self.limits, self._budget, Turn(self._bodies, turn, receive), turn)
            scope["coview.turn"] = Turn(self._answers, turn, receive)
            try:
                async with asyncio.timeout(self.limits.seconds) as deadline:
                    await (refusal or self.app)(scope, body.receive, send_guarded)
            except TimeoutError:
                refusal = refuse(
                    503, f"The request took longer than {self.limits.seconds:g} seconds. Send less, or retry."
                )
                if body.begun and not body.complete:
                    refusal = refuse(408, _SLOW_BODY, **_CLOSE)
            except Exception:
                log.exception("A request to %s failed.", printable(str(scope.get("path"))))
                refusal = refuse(500, FAILED)
            if refusal is not None and not started:
                await refusal(scope, receive, send_all)

    async def _refusal(self, request: Request) -> Answers | None:
        """The answer to a request that may not be asked, or None."""
        headers, path = request.headers, request.scope["path"]
        if self._local and not _names_this_machine(headers.get("host", "")):
            return refuse(403, "This service answers only requests to localhost.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self.limits.most_bytes:
            return refuse(413, too_large(self.limits), **_CLOSE)
        if self._token is None or path in self._open or path.startswith(_STATIC):
            return None
        bearer = await _BEARER(request)
        # always compared in full, so that the time taken tells nothing
        if bearer is not None and hmac.compare_digest(bearer.credentials.strip().encode(), self._token):
            return None
        sentence = "A token is required: send the header 'Authorization: Bearer TOKEN'."
        return refuse(401, sentence, **{"WWW-Authenticate": "Bearer"})


class Turn:
    """The place of one request among large ones; it is left when the request is answered.

    Parameters
    ----------
    places : asyncio.Semaphore
        How many are worked on at a time.
    until : AsyncExitStack
        Ends with the request.
    receive : callable
        Says when the client goes away; all else of the request has been received.
    """

    def __init__(self, places: asyncio.Semaphore, until: AsyncExitStack, receive: Receive) -> None:
        self._places, self._until, self._receive = places, until, receive
        self._taken = False

    async def take(self) -> None:
        """Wait for a place, once; a client that goes away leaves the queue."""
        if self._taken:
            return
        self._taken = True
        entered = asyncio.ensure_future(self._places.acquire())
        gone = asyncio.ensure_future(self._leaves())
        try:
            await asyncio.wait({entered, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if entered.done() or not entered.cancel():
                self._until.callback(self._places.release)
        if not entered.done():
            raise HTTPException(408, "The client went away.", _CLOSE)

    async def _leaves(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Budget:
    """Bytes of large requests that are being received; whoever would exceed it waits, and so does its client.

    Parameters
    ----------
    most : int
        How many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most, self._total = most, 0
        self._changed = asyncio.Condition()

    async def take(self, size: int) -> None:
        """Wait until there is room for some bytes; one request alone may always go on."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._total == 0 or self._total + size <= self._most)
            self._total += size

    async def give_back(self, size: int) -> None:
        """Make room for others."""
        async with self._changed:
            self._total -= size
            self._changed.notify_all()


class _Body:
    """The body of a request as it arrives: not too large, not too slow, and large ones few at a time."""

    def __init__(self, receive: Receive, limits: Limits, budget: Budget, turn: Turn, until: AsyncExitStack) -> None:
        self._receive, self._limits, self._budget, self._turn = receive, limits, budget, turn
        self._size = self._held = 0
        self._waited = 0.0  # seconds, for what is beyond the size of a small one
        self.begun = self.complete = False
        until.push_async_callback(self._give_back)

    async def receive(self) -> Message:
        """Receive the next part."""
        self.begun = True
        if self.complete:
            return await self._receive()
        message = await (self._receive_in_time() if self._size > _LARGE_BODY else self._receive())
        size = len(message.get("body", b""))
        self._size += size
        if self._size > _LONG_BODY:
            IS_LARGE.set(True)
        self.complete = not message.get("more_body", False)
        if self._size > self._limits.most_bytes:
            raise HTTPException(413, too_large(self._limits), _CLOSE)
        if self._size > _LARGE_BODY:
            await self._budget.take(size)
            self._held += size
            if self.complete:
                await self._turn.take()
        return message

    async def _receive_in_time(self) -> Message:
        clock = asyncio.get_running_loop().time
        allowed, since = _GRACE + (self._size - _LARGE_BODY) / _SLOWEST - self._waited, clock()
        try:
            async with asyncio.timeout(max(allowed, 0.0)):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, _SLOW_BODY, _CLOSE) from None
        self._waited += clock() - since
        return message

    async def _give_back(self) -> None:
        if self._held:
            await self._budget.give_back(self._held)


def too_large(limits: Limits) -> str:
    """Return the sentence on a request of too many bytes."""
    return f"A request may have at most {limits.most_bytes} bytes. Send it in parts."


def _sliced(message: Message) -> Iterator[Message]:
    """A part of an answer in slices of some kilobytes."""
    body = message.get("body", b"")
    if len(body) <= _SLICE:
        yield message
        return
    for start in range(0, len(body), _SLICE):
        more = start + _SLICE < len(body) or message.get("more_body", False)
        yield {"type": message["type"], "body": body[start : start + _SLICE], "more_body": more}


def refuse(status: int, sentence: str, **headers: str) -> Answers:
    """Return an answer that says in one sentence why there is no other."""
    return Answers({"error": sentence}, status_code=status, headers=headers)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("127.0.0.1.example.org")
    (True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


@lru_cache(maxsize=256)
def _names_this_machine(host: str) -> bool:
    # Starlette's TrustedHostMiddleware knows neither [::1] nor all of 127.0.0.0/8, and refuses in plain text
    name = host.lower()
    name = name[1 : name.find("]")] if name.startswith("[") else name.rsplit(":", 1)[0]
    return is_loopback(name)
