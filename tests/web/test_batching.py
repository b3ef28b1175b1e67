"""Questions that come together go together, and nobody suffers from what another asked."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from coview.web.batching import PART, Batcher


def ask_one(answer):
    """Answer numbers, one to a question."""
    return lambda key, questions: answer(key, [number for (number,) in questions])


def asked(answer, questions, **settings):
    """Ask all at once; return the answers or errors, and the batcher."""

    async def main():
        batcher = Batcher(ask_one(answer), **settings)
        try:
            calls = (batcher.ask(key, [number]) for key, number in questions)
            found = await asyncio.gather(*calls, return_exceptions=True)
            return [one if isinstance(one, Exception) else one[0] for one in found], batcher
        finally:
            batcher.close()

    return asyncio.run(main())


def test_questions_that_come_together_are_one_call():
    found, batcher = asked(lambda key, numbers: [n + 1 for n in numbers], [("a", i) for i in range(100)])
    assert found == list(range(1, 101)) and batcher.calls == 1


def test_kinds_are_not_mixed():
    questions = [("abc"[i % 3], i) for i in range(30)]
    found, batcher = asked(lambda key, numbers: [(key, n) for n in numbers], questions)
    assert found == questions and batcher.calls == 3


def test_what_comes_while_the_model_works_is_the_next_call():
    sizes = []

    def slow(key, numbers):
        sizes.append(len(numbers))
        time.sleep(0.1)
        return numbers

    async def main():
        batcher = Batcher(ask_one(slow), wait=0)
        first = asyncio.create_task(batcher.ask("a", [0]))
        await asyncio.sleep(0.05)
        rest = await asyncio.gather(*(batcher.ask("a", [i]) for i in range(1, 9)))
        batcher.close()
        return *await first, [part for parts in rest for part in parts]

    assert asyncio.run(main()) == (0, list(range(1, 9))) and sizes == [1, 8]


def test_one_bad_question_fails_alone():
    def picky(key, numbers):
        if 3 in numbers:
            raise ValueError("no threes")
        return [n * 2 for n in numbers]

    found, _ = asked(picky, [("a", i) for i in range(6)])
    assert isinstance(found[3], ValueError) and [n for n in found if not isinstance(n, ValueError)] == [0, 2, 4, 8, 10]


def test_large_batches_are_cut():
    sizes = []
    asked(lambda key, numbers: sizes.append(len(numbers)) or numbers, [("a", i) for i in range(10)], most_rows=4)
    assert sizes == [4, 4, 2]


def test_a_long_question_is_asked_in_parts_with_others_between():
    sizes = []

    async def main():
        batcher = Batcher(lambda key, questions: sizes.append(len(questions[0])) or questions, wait=0)
        many, _ = await asyncio.gather(batcher.ask("a", list(range(3 * PART - 1))), batcher.ask("b", [1]))
        batcher.close()
        return [number for part in many for number in part]

    assert asyncio.run(main()) == list(range(3 * PART - 1)) and sizes == [PART, 1, PART, PART - 1]


def test_who_gives_up_costs_the_others_nothing():
    gate = threading.Event()

    def slow(key, numbers):
        gate.wait(2)
        return numbers

    async def main():
        batcher = Batcher(ask_one(slow), wait=0)
        first = asyncio.create_task(batcher.ask("a", [0]))
        await asyncio.sleep(0.02)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(batcher.ask("a", [1]), 0.02)
        later = asyncio.create_task(batcher.ask("a", [2]))
        gate.set()
        found = *await first, *await later
        batcher.close()
        return found

    assert asyncio.run(main()) == (0, 2)
