"""What the fuzzers share: failures and cases that take too long are told with how to see them again."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("resource", reason="limits of time and memory are of Unix")
cases = pytest.importorskip("fuzz._cases", reason="fuzz/ is not here")


def run(case: int) -> str:
    while case % 7 == 3:
        pass
    if case % 7 == 5:
        return f"it is {len(bytearray(8 << 30))} bytes large"
    return "it is wrong" if case % 7 == 4 else ""


def search(seed, count, seconds=None, memory=None):
    return cases.search(
        "names", lambda seed, number: seed + number, run, str, seed=seed, count=count, seconds=seconds,
        limits=(0.2, memory),
    )  # fmt: skip


def test_failures_say_how_to_see_them_again(capsys):
    told = search(2, 3)
    assert told == [
        "3: it takes more than 0.2 s (python -m fuzz.names --seed 2 --case 1)",
        "4: it is wrong (python -m fuzz.names --seed 2 --case 2)",
    ]
    assert "3 cases were tried" in capsys.readouterr().err
    assert search(4, 1) == ["4: it is wrong (python -m fuzz.names --seed 4 --case 0)"]  # no time is left of the last


def test_a_search_ends_in_time(capsys):
    assert search(6, None, seconds=0.0) == [] and "0 cases were tried" in capsys.readouterr().err
    assert list(cases.case_numbers(3, 60.0, first=5)) == [5, 6, 7]


@pytest.mark.skipif(sys.platform != "linux", reason="the memory that is taken is read from /proc")
def test_memory_has_a_limit_during_a_case_alone():
    with pytest.raises(MemoryError):
        search(5, 1, memory=1 << 28)
    assert len(bytearray(1 << 29)) == 1 << 29
