"""Requests that arrive within a few milliseconds of each other are answered by one model call.

While the model works, what arrives waits and goes together as the next batch; an idle model waits a moment for company.
A batch that fails is asked again one by one, so that a request never fails for what another one sent. A call takes as
many rows as the model answers in a tenth of a second: a request of many rows is asked in parts, with others between.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Batcher", "Busy"]

Answer = Callable[[Any, Sequence[Any]], Sequence[Any]]
_CALL = 0.1  # seconds that a call of the model should take
_FIRST = 8  # rows of the first part of a request; each next one may have twice as many


class Busy(Exception):
    """More is waiting than should."""


@dataclass
class _Waiting:
    key: Hashable
    question: Any
    rows: int
    answer: asyncio.Future[Any] = field(repr=False)


class _Pace:
    """How long the model takes: for any call at least, and for each row beyond that."""

    def __init__(self) -> None:
        self.least, self.each = math.inf, 0.0

    def note(self, rows: int, seconds: float) -> None:
        """Learn from a call; one of few rows tells little about each of them."""
        self.least = min(self.least, seconds)
        if rows >= _FIRST:
            each = (seconds - self.least) / rows
            self.each = (self.each + each) / 2 if self.each else each

    def room(self, most: int) -> int:
        """Return how many rows make a call that is not long, or not twice as long as the shortest one."""
        seconds = max(_CALL, self.least)
        return max(1, int(seconds / self.each)) if self.each * most > seconds else most


class Batcher:
    """Collects questions and hands those of one kind to a function together, in one thread.

    Parameters
    ----------
    answer : callable
        ``answer(key, questions)`` returns one answer for each question.
    wait : float, default=0.002
        Seconds that an idle model waits for company.
    most_rows : int, default=4096
        Rows of one call, where they take no longer than they should.
    most_waiting : int, default=2000
        Questions that may wait; more are refused with `Busy`.
    """

    def __init__(self, answer: Answer, *, wait: float = 0.002, most_rows: int = 4096, most_waiting: int = 2000) -> None:
        self._answer = answer
        self._wait, self._most_rows, self._most_waiting = wait, most_rows, most_waiting
        self._queue: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="coview-model")
        self._task: asyncio.Task[None] | None = None
        self._paces: dict[Any, _Pace] = {}  # by what is asked
        self.calls = 0  # of the model
        self.questions = 0

    async def ask(self, key: Hashable, question: Any, rows: int = 1) -> Any:
        """Wait for the answer to a question; questions of equal keys may go together."""
        if len(self._queue) >= self._most_waiting:
            raise Busy(f"{len(self._queue)} requests are already waiting. Try again in a moment.")
        waiting = _Waiting(key, question, rows, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self.questions += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await waiting.answer

    async def ask_parts(self, key: tuple[Any, ...], question: Any, rows: int) -> AsyncIterator[tuple[int, Any]]:
        """Yield the answers to the rows of a question, some at a time, with the number of rows so far."""
        start, size = 0, _FIRST
        while start < rows:
            stop = min(rows, start + min(size, self._pace(key).room(self._most_rows)))
            part = question if stop - start == rows else question[start:stop]
            yield stop, await self.ask(key, part, stop - start)
            start, size = stop, 2 * size

    def close(self) -> None:
        """Let go of the thread; what waits is not answered."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        await asyncio.sleep(self._wait)
        while batch := self._next():
            await self._answer_batch(batch)

    async def _answer_batch(self, batch: list[_Waiting]) -> None:
        questions = [waiting.question for waiting in batch]
        try:
            loop, clock = asyncio.get_running_loop(), time.perf_counter()
            answers = await loop.run_in_executor(self._thread, self._call, batch[0].key, questions)
            self._pace(batch[0].key).note(sum(waiting.rows for waiting in batch), time.perf_counter() - clock)
        except Exception as error:
            if len(batch) == 1:
                return _tell(batch[0], error=error)
            for waiting in batch:
                if not waiting.answer.done():
                    await self._answer_batch([waiting])
        else:
            for waiting, answer in zip(batch, answers):
                _tell(waiting, answer)

    def _call(self, key: Any, questions: Sequence[Any]) -> Sequence[Any]:
        self.calls += 1
        return self._answer(key, questions)

    def _pace(self, key: Any) -> _Pace:
        return self._paces.setdefault(_kind(key), _Pace())

    def _next(self) -> list[_Waiting]:
        """The oldest question and those that may go with it; whoever gave up is forgotten."""
        self._queue = [waiting for waiting in self._queue if not waiting.answer.done()]
        if not self._queue:
            return []
        key, rows = self._queue[0].key, 0
        room = self._pace(key).room(self._most_rows)
        batch: list[_Waiting] = []
        rest: list[_Waiting] = []
        for waiting in self._queue:
            if waiting.key == key and (not batch or rows + waiting.rows <= room):
                batch.append(waiting)
                rows += waiting.rows
            else:
                rest.append(waiting)
        self._queue = rest
        return batch


def _kind(key: Any) -> Any:
    """What is asked, with its numbers only: of names, clients may send any that come to their mind."""
    return (key[0], *(part for part in key[1:] if isinstance(part, int))) if isinstance(key, tuple) else key


def _tell(waiting: _Waiting, answer: Any = None, error: BaseException | None = None) -> None:
    if waiting.answer.done():  # its client went away, or waited too long
        return
    if error is None:
        waiting.answer.set_result(answer)
    else:
        # a future cannot hold StopIteration
        waiting.answer.set_exception(RuntimeError(str(error)) if isinstance(error, StopIteration) else error)
