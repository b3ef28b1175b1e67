"""Connections that neither send nor read are dropped, so that slow clients cannot keep the others out.

uvicorn's `timeout_keep_alive` covers a connection between two requests only: one that sends half of a header, or never
reads its answer, would be kept for good. Requests are parsed by httptools where it is installed, else by h11, which
takes several times as long; both keep the same limits.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from coview.web.guard import PROTECTING
from coview.web.limits import Limits
from coview.web.rendering import json_bytes

try:  # compiled; not on every platform
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    HttpToolsProtocol = None  # type: ignore[misc, assignment]

__all__ = ["TimedH11", "TimedHttpTools", "TimedProtocol"]

_MOST_HEADER = 2**16  # bytes of a header, or of what follows the last chunk of a body; as in uvicorn with h11
_LAST_CALL = 0.2  # seconds in which requests are still read once the service is to stop
_TOO_SLOW = "The header of the request did not arrive in time."
_TOO_LONG = "The header of the request is too long."
_MALFORMED = "The request is not valid HTTP/1.1."


class _Timed:
    """HTTP/1.1 with a limit of time on headers and on answers that are not read; the service limits the rest.

    Before a protocol of uvicorn among the bases of a class.

    Parameters
    ----------
    limits : Limits
        The limits.
    **given
        What uvicorn hands to a protocol.
    """

    # of uvicorn's protocols
    cycle: Any
    flow: Any
    loop: Any
    transport: Any

    def __init__(self, *, limits: Limits, **given: Any) -> None:
        super().__init__(**given)
        self.limits = limits
        self._watch: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None  # for a header
        self._stuck_since: float | None = None  # with an answer
        self._reading_since: tuple[float, int] | None = None  # an answer that waits, and the bytes read before it
        self._unread = 0  # bytes of the answer when last looked at

    def connection_made(self, transport: Any) -> None:
        self._counted = _Counted(transport)
        counted: Any = self._counted
        super().connection_made(counted)  # type: ignore[misc]
        self._waiting_since = self.loop.time()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)  # type: ignore[misc]
        if self._at_work():
            self._waiting_since = None
        elif self._waiting_since is None:  # the first bytes of the next header, or the rest of a refused body
            self._waiting_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)  # type: ignore[misc]

    def shutdown(self) -> None:
        """End the connection; of one that seems idle, a request may have come that was not read yet."""
        if self._at_work():
            super().shutdown()  # type: ignore[misc]
        else:
            self.loop.call_later(_LAST_CALL, self._end)

    def _end(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()  # type: ignore[misc]

    def _at_work(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _look_later(self) -> None:
        interval = min(1.0, self.limits.header_seconds / 4, self.limits.stall_seconds / 4)
        self._watch = self.loop.call_later(interval, self._look)

    def _look(self) -> None:
        now = self.loop.time()
        unread = self.transport.get_write_buffer_size()
        if self.flow.read_paused and self._is_broken():
            self.transport.abort()
            return
        if unread == 0 or unread != self._unread:
            self._stuck_since = None
        elif self._stuck_since is None:
            self._stuck_since = now
        self._unread = unread
        stuck = self._stuck_since is not None and now - self._stuck_since > self.limits.stall_seconds
        if stuck or self._is_too_slow(now, self._counted.written - unread, waits=unread > 0):
            self.transport.abort()  # closing would wait until all is read
            return
        if self._waiting_since is not None and now - self._waiting_since > self.limits.header_seconds:
            self._waiting_since = None
            self._refuse()
        self._look_later()

    def _is_too_slow(self, now: float, read: int, *, waits: bool) -> bool:
        """Whether a client takes an answer in pieces so small that it would never end."""
        if not waits:
            self._reading_since = None
            return False
        if self._reading_since is None:
            self._reading_since = now, read
        since, before = self._reading_since
        return now - since > self.limits.stall_seconds + (read - before) / self.limits.slowest_read

    def _is_broken(self) -> bool:
        """Whether the client has gone; nobody else notices while nothing is read from the connection."""
        return bool(self.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def _refuse(self) -> None:
        """Close a connection; a client that has begun a header is told why."""
        if self.transport.is_closing():
            return
        self._close(b"408 Request Timeout", _TOO_SLOW if self._has_begun_header() else None)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request; uvicorn would send plain text without the headers for browsers."""
        self._close(b"400 Bad Request", _TOO_LONG if msg == _TOO_LONG else _MALFORMED)

    def _close(self, status: bytes, sentence: str | None) -> None:
        """Close the connection, with a last answer where there is something to say."""
        if sentence is not None:
            content = json_bytes({"error": sentence})
            own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
            headers = [*own, (b"connection", b"close"), *PROTECTING]
            head = b"".join(b"%b: %b\r\n" % header for header in headers)
            self.transport.write(b"HTTP/1.1 %b\r\n%b\r\n%b" % (status, head, content))
        self.transport.close()

    def _has_begun_header(self) -> bool:
        raise NotImplementedError


class TimedH11(_Timed, H11Protocol):
    """The limits of time, with h11."""

    def _has_begun_header(self) -> bool:
        return self.conn.our_state is h11.IDLE and bool(self.conn.trailing_data[0])


if HttpToolsProtocol is None:
    TimedHttpTools: Any = None
else:

    class TimedHttpTools(_Timed, HttpToolsProtocol):  # type: ignore[no-redef]
        """The limits of time, with httptools, and a limit of size on headers, which it has not."""

        _in_header = _advanced = False
        _pending = 0  # bytes since a header was complete or some of a body came

        def data_received(self, data: bytes) -> None:
            self._advanced = False
            super().data_received(data)
            self._pending = 0 if self._advanced else self._pending + len(data)
            if self._pending > _MOST_HEADER and not self.transport.is_closing():
                self.send_400_response(_TOO_LONG)

        def on_message_begin(self) -> None:
            self._in_header = True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_header, self._advanced = False, True
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._advanced = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._advanced = True
            super().on_message_complete()

        def _has_begun_header(self) -> bool:
            return self._in_header


TimedProtocol: Any = TimedHttpTools or TimedH11


class _Counted:
    """A transport that counts the bytes that were written to it, and takes no more once it is to close."""

    def __init__(self, transport: Any) -> None:
        self._transport, self.written = transport, 0

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():  # a request that was refused as malformed has had its answer
            return
        self.written += len(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
