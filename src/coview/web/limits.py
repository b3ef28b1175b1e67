"""How much of the server one request may take, and all of them together: size, time, and turns of the large ones.

Large requests and large answers take turns, a few at a time, so that they cannot fill the memory together; small ones
never wait for them. A large request has room for all of its bytes before more than the first of them are read: if it
took room piece by piece, many of them would wait for each other.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

__all__ = ["CLOSE", "IS_LARGE", "SLOW_BODY", "Body", "Budget", "Limits", "Places", "Turn", "too_large"]

IS_LARGE: ContextVar[bool] = ContextVar("coview_large_request", default=False)  # whether this request is
SLOW_BODY = "The body of the request did not arrive in time. Send it again, in parts where the connection is slow."
CLOSE = {"Connection": "close"}  # the rest of the body is not read

_LARGE_BODY = 2**18  # bytes, from which a request takes turns with others
_LONG_BODY = 2**15  # bytes, from which the work for a request is done in a thread of its own
_TURNS = 4  # large requests that are read and answered at a time, and large answers
_RECEIVED = 2**26  # bytes of large requests that are received at a time
_GRACE = 3.0  # seconds that a large body may pause
_SLOWEST = 2**17  # bytes of it a second


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
    slowest_read : float
        Bytes a second that it must read of such an answer, once `stall_seconds` are over.
    """

    most_bytes: int = 8 * 2**20
    seconds: float = 30.0
    most_values: int = 1_000_000
    header_seconds: float = 15.0
    stall_seconds: float = 30.0
    slowest_read: float = 2**14


class Places:
    """What the large requests of one service share: room for their bytes, and turns to be worked on."""

    def __init__(self) -> None:
        self.room = Budget(_RECEIVED)
        self.bodies, self.answers = asyncio.Semaphore(_TURNS), asyncio.Semaphore(_TURNS)


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
            raise HTTPException(408, "The client went away.", CLOSE)

    async def _leaves(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Budget:
    """Room for the bytes of large requests that are being received and answered; first come, first served.

    Parameters
    ----------
    most : int
        How many bytes there may be.
    """

    def __init__(self, most: int) -> None:
        self._most, self._total = most, 0
        self._line, self._freed = asyncio.Lock(), asyncio.Event()

    async def take(self, size: int) -> None:
        """Wait until there is room for all the bytes of a request; one alone always has room."""
        async with self._line:
            while self._total and self._total + size > self._most:
                self._freed.clear()
                await self._freed.wait()
            self._total += size

    def give_back(self, size: int) -> None:
        """Make room for others."""
        self._total -= size
        self._freed.set()


class Body:
    """The body of a request as it arrives: not too large, not too slow, and large ones few at a time.

    Parameters
    ----------
    request : Request
        Says how many bytes are to come, where the client told.
    receive : callable
        Gives them.
    limits : Limits
        How many there may be.
    places : Places
        What large requests share.
    until : AsyncExitStack
        Ends with the request.
    """

    def __init__(
        self, request: Request, receive: Receive, limits: Limits, places: Places, until: AsyncExitStack
    ) -> None:
        self._receive, self._limits, self._until = receive, limits, until
        self._room, self._turn = places.room, Turn(places.bodies, until, receive)
        length = request.headers.get("content-length", "")
        self._expected = int(length) if length.isdecimal() and len(length) <= 18 else limits.most_bytes
        self._size = 0
        self._waited = 0.0  # seconds, for what is beyond the size of a small one
        self._has_room = self._complete = False
        self.is_late = False  # whether the client is waited for

    async def receive(self) -> Message:
        """Receive the next part."""
        if self._complete:
            return await self._receive()
        self.is_late = True
        message = await (self._receive_in_time() if self._has_room else self._receive())
        self.is_late = False
        self._size += len(message.get("body", b""))
        if self._size > _LONG_BODY:
            IS_LARGE.set(True)
        self._complete = not message.get("more_body", False)
        if self._size > self._limits.most_bytes:
            raise HTTPException(413, too_large(self._limits), CLOSE)
        if self._size > _LARGE_BODY:
            await self._take_room()
            if self._complete:
                await self._turn.take()
        return message

    async def _take_room(self) -> None:
        """Wait, once, for room for the whole body; the client waits too."""
        if not self._has_room:
            await self._room.take(self._expected)
            self._until.callback(self._room.give_back, self._expected)
            self._has_room = True

    async def _receive_in_time(self) -> Message:
        clock = asyncio.get_running_loop().time
        allowed, since = _GRACE + (self._size - _LARGE_BODY) / _SLOWEST - self._waited, clock()
        try:
            async with asyncio.timeout(max(allowed, 0.0)):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, SLOW_BODY, CLOSE) from None
        self._waited += clock() - since
        return message


def too_large(limits: Limits) -> str:
    """Return the sentence on a request of too many bytes."""
    return f"A request may have at most {limits.most_bytes} bytes. Send it in parts."
