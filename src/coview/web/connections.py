"""Connections that neither send nor read are dropped, so that slow clients cannot keep the others out.

uvicorn's `timeout_keep_alive` covers a connection between two requests only: one that sends half of a header, or never
reads its answer, would be kept for good.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from coview.web.limits import Limits

__all__ = ["TimedProtocol"]

_LAST_CALL = 0.2  # seconds in which requests are still read once the service is to stop
_TOO_SLOW = b"The header of the request did not arrive in time."


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with a limit of time on headers and on answers that are not read; the service limits the rest.

    Parameters
    ----------
    limits : Limits
        The limits.
    **given
        What uvicorn hands to a protocol.
    """

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
        super().connection_made(counted)
        self._waiting_since = self.loop.time()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._at_work():
            self._waiting_since = None
        elif self._waiting_since is None:  # the first bytes of the next header, or the rest of a refused body
            self._waiting_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection; of one that seems idle, a request may have come that was not read yet."""
        if self._at_work():
            super().shutdown()
        else:
            self.loop.call_later(_LAST_CALL, self._end)

    def _end(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

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
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            headers.append(("content-length", str(len(_TOO_SLOW))))
            answer = h11.Response(status_code=408, headers=headers, reason=b"Request Timeout")
            for event in (answer, h11.Data(data=_TOO_SLOW), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _Counted:
    """A transport that counts the bytes that were written to it."""

    def __init__(self, transport: Any) -> None:
        self._transport, self.written = transport, 0

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
