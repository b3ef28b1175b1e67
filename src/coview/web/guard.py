"""What stands before every request: who may ask, how much, how long, and what a browser may do with the answer.

Plain ASGI around the application, so that nothing of a request is read before it is allowed: dependencies of FastAPI
are asked after it has read the body. Starlette has no limit of size or time and no security headers.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
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

__all__ = ["POLICY", "Answers", "Guard", "Limits", "is_loopback", "json_bytes", "refuse"]

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
FAILED = "Internal server error; see the server log."


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for.

    Attributes
    ----------
    most_bytes : int
        Size of its body.
    seconds : float
        Time until its answer.
    """

    most_bytes: int = 8 * 2**20
    seconds: float = 30.0


class Answers(Response):
    """JSON that any client can read."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json_bytes(content)


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON; in ASCII, since half of a surrogate pair has no other encoding.

    Examples
    --------
    >>> json_bytes({"error": "Zürich"})
    b'{"error":"Z\\\\u00fcrich"}'
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


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
        self._limits = limits
        self._token = None if token is None else token.encode()
        self._local = local
        self._open = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1003})
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = await self._refusal(Request(scope))
        try:
            async with asyncio.timeout(self._limits.seconds):
                await (refusal or self.app)(scope, self._limited(receive), send_guarded)
        except TimeoutError:
            sentence = f"The request took longer than {self._limits.seconds:g} seconds. Send less, or retry."
            refusal = refuse(503, sentence)
        except Exception:
            log.exception("A request to %s failed.", scope.get("path"))
            refusal = refuse(500, FAILED)
        if refusal is not None and not started:
            await refusal(scope, receive, send_guarded)

    async def _refusal(self, request: Request) -> Answers | None:
        """The answer to a request that may not be asked, or None."""
        headers, path = request.headers, request.scope["path"]
        if self._local and not _names_this_machine(headers.get("host", "")):
            return refuse(403, "This service answers only requests to localhost.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limits.most_bytes:
            return refuse(413, self._too_large(), Connection="close")  # the rest of the body is not read
        if self._token is None or path in self._open or path.startswith(_STATIC):
            return None
        bearer = await _BEARER(request)
        # always compared in full, so that the time taken tells nothing
        if bearer is not None and hmac.compare_digest(bearer.credentials.strip().encode(), self._token):
            return None
        sentence = "A token is required: send the header 'Authorization: Bearer TOKEN'."
        return refuse(401, sentence, **{"WWW-Authenticate": "Bearer"})

    def _too_large(self) -> str:
        return f"A request may have at most {self._limits.most_bytes} bytes. Send it in parts."

    def _limited(self, receive: Receive) -> Receive:
        """Receive a body of unknown length until it is too large."""
        size = 0

        async def receive_limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limits.most_bytes:
                raise HTTPException(413, self._too_large(), {"Connection": "close"})
            return message

        return receive_limited


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
