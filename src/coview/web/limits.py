"""What stands before every request: who may ask, how much, how long, and what a browser may do with the answer.

Plain ASGI, so that nothing of a request is read before it is allowed.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

__all__ = ["POLICY", "Guard", "Limits", "is_loopback", "json_bytes", "new_token"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Respond = Callable[[int, str], Awaitable[None]]

log = logging.getLogger("coview.web")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


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


def new_token() -> str:
    """Return a secret that nobody guesses.

    Examples
    --------
    >>> len(new_token()) >= 32
    True
    """
    import secrets

    return secrets.token_urlsafe(24)


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
    open_paths : iterable of str, default=()
        Paths that need no token: the page itself, which holds no data.
    """

    def __init__(
        self, app: Any, limits: Limits, *, token: str | None = None, local: bool = True, open_paths: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._limits = limits
        self._token = None if token is None else token.encode()
        self._local = local
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1003})
        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        async def refuse(status: int, sentence: str) -> None:
            if not started:
                await _send_error(guarded_send, status, sentence)

        headers = dict(scope["headers"])  # of a repeated header the last counts
        if not await self._allowed(scope, headers, refuse):
            return
        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._body(headers, receive, refuse)
                if body is not None:
                    await self._app(scope, _replay(body, receive), guarded_send)
        except TimeoutError:
            await refuse(
                503, f"The request took longer than {self._limits.seconds:g} seconds. Send less, or try again."
            )
        except Exception:
            log.exception("A request to %s failed.", scope.get("path"))
            await refuse(500, "Something went wrong in the server; its log says what.")

    async def _allowed(self, scope: Message, headers: dict[bytes, bytes], refuse: Respond) -> bool:
        if self._local and not _names_this_machine(headers.get(b"host", b"")):
            await refuse(403, "This service answers only requests to localhost.")
            return False
        if self._token is None or scope["path"] in self._open:
            return True
        given = headers.get(b"authorization", b"")
        kind, _, secret = given.partition(b" ")
        # both always compared in full, so that the time taken tells nothing
        if hmac.compare_digest(secret.strip(), self._token) and kind.lower() == b"bearer":
            return True
        await refuse(401, "A token is needed: send the header 'Authorization: Bearer TOKEN'.")
        return False

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, refuse: Respond) -> bytes | None:
        """The whole body, or None where it was refused or its client went away."""
        most = self._limits.most_bytes
        too_large = f"A request may have {most} bytes. Send it in parts."
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            await refuse(413, too_large)
            return None
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                await refuse(413, too_large)
                return None
            if not message.get("more_body", False):
                return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body at once, then whatever the client does next."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _send_error(send: Send, status: int, sentence: str) -> None:
    body = json_bytes({"error": sentence})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@lru_cache(maxsize=256)
def _names_this_machine(host: bytes) -> bool:
    name = host.decode("latin-1").lower()
    name = name[1 : name.find("]")] if name.startswith("[") else name.rsplit(":", 1)[0]
    return is_loopback(name)
