"""Requests that arrive within a few milliseconds of each other are answered by one model call.

While the model works, what arrives waits and goes together as the next batch; an idle model waits a moment for company.
A batch that fails is asked again one by one, so that a request never fails for what another one sent. A request of many
rows is asked in parts, so that small ones come between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

__all__ = ["Batcher"]

Answer = Callable[[Any, Sequence[Any]], Sequence[Any]]
PART = 512  # rows of a large request that are asked at a time


class _Waiting(NamedTuple):
    key: Hashable
    question: Any
    answer: asyncio.Future[Any]


class Batcher:
    """Collects questions and hands those of one kind to a function together, in one thread.

    Parameters
    ----------
    answer : callable
        ``answer(key, questions)`` returns one answer for each question; a question is a sequence of rows.
    wait : float, default=0.002
        Seconds that an idle model waits for company.
    most_rows : int, default=4096
        Rows of one call.
    seconds : float, default=30.0
        Time after which a question is given up with `TimeoutError`.
    """

    def __init__(self, answer: Answer, *, wait: float = 0.002, most_rows: int = 4096, seconds: float = 30.0) -> None:
        self._answer, self._wait, self._most_rows, self._seconds = answer, wait, most_rows, seconds
        self._queue: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="coview-model")
        self._task: asyncio.Task[None] | None = None
        self.calls = 0  # of the model
        self.questions = 0

    async def ask(self, key: Hashable, question: Any) -> list[Any]:
        """Wait for the answers to the parts of a question; questions of equal keys may go together."""
        async with asyncio.timeout(self._seconds):
            if len(question) <= PART:
                return [await self._ask(key, question)]
            starts = range(0, len(question), PART)
            return [await self._ask(key, question[start : start + PART]) for start in starts]

    async def _ask(self, key: Hashable, question: Any) -> Any:
        waiting = _Waiting(key, question, asyncio.get_running_loop().create_future())
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
        self.calls += 1
        questions = [waiting.question for waiting in batch]
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._thread, self._answer, batch[0].key, questions)
        except Exception as error:
            if len(batch) > 1:
                for waiting in batch:
                    await self._answer_batch([waiting])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        for waiting, answer in zip(batch, answers):
            if not waiting.answer.done():  # its client went away, or waited too long
                waiting.answer.set_result(answer)

    def _next(self) -> list[_Waiting]:
        """The oldest question and those that may go with it; whoever gave up is forgotten."""
        queue = [waiting for waiting in self._queue if not waiting.answer.done()]
        batch: list[_Waiting] = []
        self._queue, rows = [], 0
        for waiting in queue:
            fits = not batch or rows + len(waiting.question) <= self._most_rows
            if fits and waiting.key == queue[0].key:
                batch.append(waiting)
                rows += len(waiting.question)
            else:
                self._queue.append(waiting)
        return batch
