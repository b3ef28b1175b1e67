"""What stands before every request: who may ask, and what a browser may do with the answer; `limits` says how much.

Plain ASGI around the application, so that nothing of a request is read before it is allowed: dependencies of FastAPI
are asked after it has read the body. Starlette has no limit of size or time and no security headers.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from ipaddress import ip_address
from typing import Any

from fastapi.security import HTTPBearer
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coview.utils.messages import printable
from coview.web.limits import CLOSE, SLOW_BODY, Body, Limits, Places, Turn, too_large
from coview.web.rendering import json_bytes

__all__ = ["FAILED", "POLICY", "PROTECTING", "Answers", "Guard", "is_loopback", "refuse"]

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
PROTECTING = [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in _HEADERS.items()]
_NAMES = frozenset(name for name, _ in PROTECTING)
_STATIC = "/static/"
_BEARER = HTTPBearer(auto_error=False)  # reads the header
FAILED = "Internal server error; see the server log."
# in full: Starlette's TrustedHostMiddleware took what stands before the first colon for the host until 2026, and knows
# not all of 127.0.0.0/8
_THIS_MACHINE = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_SLICE = 2**16  # bytes of an answer that are handed over at a time


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
        self._places = Places()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1003})
        started = False

        async def send_all(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [header for header in message.get("headers", ()) if header[0].lower() not in _NAMES]
                message = {**message, "headers": [*own, *PROTECTING]}
            for part in _sliced(message):  # each waits until the client has read most of those before
                try:
                    await send(part)
                except Exception as error:
                    raise _UnsentError from error

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                deadline.reschedule(None)  # from here on it is the client who takes the time
            await send_all(message)

        request = Request(scope)
        refusal = await self._refusal(request)
        async with AsyncExitStack() as until:
            body = Body(request, receive, self.limits, self._places, until)
            scope["coview.turn"] = Turn(self._places.answers, until, receive)
            try:
                async with asyncio.timeout(self.limits.seconds) as deadline:
                    scope["coview.deadline"] = deadline
                    await (refusal or self.app)(scope, body.receive, send_guarded)
            except TimeoutError:
                refusal = refuse(
                    503, f"The request took longer than {self.limits.seconds:g} seconds. Send less, or retry."
                )
                if body.is_late:
                    refusal = refuse(408, SLOW_BODY, **CLOSE)
            except _UnsentError:  # the server has ended this connection, as after a body that is none
                return
            except Exception:
                log.exception("A request to %s failed.", printable(str(scope.get("path"))))
                refusal = refuse(500, FAILED)
            if refusal is not None and not started:
                await refusal(scope, receive, send_all)

    async def _refusal(self, request: Request) -> Answers | None:
        """The answer to a request that may not be asked, or None."""
        headers, path = request.headers, request.scope["path"]
        if self._local and not _THIS_MACHINE.fullmatch(headers.get("host", "")):
            return refuse(403, "This service answers only requests to localhost.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self.limits.most_bytes:
            return refuse(413, too_large(self.limits), **CLOSE)
        if self._token is None or path in self._open or path.startswith(_STATIC):
            return None
        bearer = await _BEARER(request)
        # always compared in full, so that the time taken tells nothing
        if bearer is not None and hmac.compare_digest(bearer.credentials.strip().encode(), self._token):
            return None
        sentence = "A token is required: send the header 'Authorization: Bearer TOKEN'."
        return refuse(401, sentence, **{"WWW-Authenticate": "Bearer"})


class _UnsentError(Exception):
    """An answer could not be sent."""


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
