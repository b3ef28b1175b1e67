"""Answers that are computed once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from coview.web.once import Once


def test_one_answer_does_not_wait_for_another():
    once, go = Once(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(once.get, "slow", lambda: go.wait(30))
        try:
            assert once.get("quick", lambda: 1) == 1 and not slow.done()
        finally:
            go.set()
        assert slow.result() is True


def test_two_who_ask_the_same_have_one_answer():
    once, go, made = Once(), threading.Event(), []

    def make():
        go.wait(30)
        made.append(1)
        return object()

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(once.get, "a", make) for _ in range(4)]
        go.set()
        assert len({id(each.result()) for each in asked}) == 1 == len(made)


def test_errors_are_not_kept():
    once = Once()
    with pytest.raises(ZeroDivisionError):
        once.get("a", lambda: 1 / 0)
    assert not once._locks and once.get("a", lambda: 2) == 2
