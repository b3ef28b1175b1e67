"""Requests that arrive within a few milliseconds of each other are answered by one model call.

While the model works, what arrives waits and goes together as the next batch; an idle model waits a moment for company.
A batch that fails is asked again one by one, so that a request never fails for what another one sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Batcher", "Busy"]

Answer = Callable[[Any, Sequence[Any]], Sequence[Any]]


class Busy(Exception):
    """More is waiting than should."""


@dataclass
class _Waiting:
    key: Hashable
    question: Any
    rows: int
    answer: asyncio.Future[Any] = field(repr=False)


class Batcher:
    """Collects questions and hands those of one kind to a function together, in one thread.

    Parameters
    ----------
    answer : callable
        ``answer(key, questions)`` returns one answer for each question.
    wait : float, default=0.002
        Seconds that an idle model waits for company.
    most_rows : int, default=4096
        Rows of one call.
    most_waiting : int, default=2000
        Questions that may wait; more are refused with `Busy`.
    """

    def __init__(self, answer: Answer, *, wait: float = 0.002, most_rows: int = 4096, most_waiting: int = 2000) -> None:
        self._answer = answer
        self._wait, self._most_rows, self._most_waiting = wait, most_rows, most_waiting
        self._queue: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="coview-model")
        self._task: asyncio.Task[None] | None = None
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
            loop = asyncio.get_running_loop()
            answers = await loop.run_in_executor(self._thread, self._call, batch[0].key, questions)
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

    def _next(self) -> list[_Waiting]:
        """The oldest question and those that may go with it; whoever gave up is forgotten."""
        self._queue = [waiting for waiting in self._queue if not waiting.answer.done()]
        if not self._queue:
            return []
        key, rows = self._queue[0].key, 0
        batch: list[_Waiting] = []
        rest: list[_Waiting] = []
        for waiting in self._queue:
            if waiting.key == key and (not batch or rows + waiting.rows <= self._most_rows):
                batch.append(waiting)
                rows += waiting.rows
            else:
                rest.append(waiting)
        self._queue = rest
        return batch


def _tell(waiting: _Waiting, answer: Any = None, error: BaseException | None = None) -> None:
    if waiting.answer.done():  # its client went away, or waited too long
        return
    if error is None:
        waiting.answer.set_result(answer)
    else:
        # a future cannot hold StopIteration
        waiting.answer.set_exception(RuntimeError(str(error)) if isinstance(error, StopIteration) else error)
