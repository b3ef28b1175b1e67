"""What the fuzzers share: cases by number until there are enough, limits on each of them, what counts as coview's own
sentence, and a command line.
"""

from __future__ import annotations

import argparse
import linecache
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import coview
from coview.exceptions import CoviewError

__all__ = [
    "TooLongError",
    "again",
    "case_numbers",
    "command_line",
    "deadline",
    "described",
    "goes_on",
    "how_many",
    "is_ours",
    "limit_memory",
    "limited",
    "options_of",
    "search",
    "tell",
]

Case = TypeVar("Case")
HOME = str(Path(coview.__file__).parent)


# -- which cases


def deadline(seconds: float | None) -> float:
    """Return when the search ends, by the clock that only runs forward."""
    return time.monotonic() + (float("inf") if seconds is None else seconds)


def goes_on(tried: int, count: int | None, ends: float) -> bool:
    """Tell whether there is to be another case."""
    return (count is None or tried < count) and time.monotonic() < ends


def case_numbers(count: int | None, seconds: float | None, first: int = 0) -> Iterator[int]:
    """Number cases until there are so many or so much time is spent, and say how many there were."""
    ends, number = deadline(seconds), first
    while goes_on(number - first, count, ends):
        yield number
        number += 1
    print(f"{number - first} cases were tried", file=sys.stderr)


def search(
    fuzzer: str,
    make: Callable[[int, int], Case],
    run: Callable[[Case], str],
    shown: Callable[[Case], str],
    *,
    seed: int,
    count: int | None,
    seconds: float | None,
    limits: tuple[float, int | None],
) -> list[str]:
    """Run cases one after the other, in this process; return failures, one sentence each.

    `make` gives the case of a seed and a number, `run` says what is wrong with it, and `shown` what it is. `limits` are
    seconds of the processor and bytes of memory that a case may take.
    """
    failures = []
    for number in case_numbers(count, seconds):
        case = make(seed, number)
        try:
            with limited(*limits):
                wrong = run(case)
        except TooLongError:
            wrong = f"it takes more than {limits[0]} s"
        if wrong:
            failures.append(f"{shown(case)}: {wrong}{again(fuzzer, seed, number)}")
    return failures


def again(fuzzer: str, seed: int, number: int) -> str:
    """Say how a case is run again, at the end of the sentence about it."""
    return f" (python -m fuzz.{fuzzer} --seed {seed} --case {number})"


# -- limits


class TooLongError(BaseException):
    """A case takes too long; none of the errors that code goes on after."""


def _end(number: int, frame: Any) -> None:
    raise TooLongError


@contextmanager
def limited(seconds: float, memory: int | None = None) -> Iterator[None]:
    """Limit the time of the processor, with a `TooLongError` when it is over, and the memory beyond what is taken."""
    signal.signal(signal.SIGPROF, _end)
    before = resource.getrlimit(resource.RLIMIT_AS)
    if memory is not None:
        limit_memory(memory)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def limit_memory(more: int) -> None:
    """Let the process have so many bytes more than it has, where the system tells how many these are."""
    taken = Path("/proc/self/statm")
    if taken.exists():
        limit = int(taken.read_text().split()[0]) * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


# -- errors


def is_ours(error: BaseException) -> bool:
    """Tell whether an error is a sentence of coview's."""
    if isinstance(error, CoviewError):
        return True
    if not isinstance(error, (ValueError, TypeError)):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    return last.filename.startswith(HOME) and "raise" in line


def described(error: BaseException) -> str:
    """Return the error of a case on one line, with the place in coview that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(HOME)]
    place = f" from {Path(ours[-1].filename).relative_to(HOME)}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{place}: {' '.join(str(error).split())[:160]}"


# -- the command line


def options_of(fuzzer: str, about: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that all fuzzers have."""
    parser = argparse.ArgumentParser(prog=f"python -m fuzz.{fuzzer}", description=(about or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, help="number of cases; 1,000, or as many as there are seconds for")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time")
    return parser


def how_many(options: argparse.Namespace) -> int | None:
    """Return how many cases are asked for; None is as many as there is time for."""
    return 1000 if options.count is None and options.seconds is None else options.count


def tell(failures: Sequence[Any]) -> int:
    """Print failures and how many there are; return the exit code."""
    print(*failures, f"{len(failures)} failures", sep="\n")
    return int(bool(failures))


def command_line(
    fuzzer: str,
    about: str | None,
    main: Callable[[int, int | None, float | None], list[str]],
    show: Callable[[int, int], None],
) -> int:
    """Run cases, or show one of them; return the exit code."""
    parser = options_of(fuzzer, about)
    parser.add_argument("--case", type=int, default=None, help="run this case alone, here, and show its traceback")
    options = parser.parse_args()
    if options.case is not None:
        show(options.seed, options.case)
        return 0
    return tell(main(options.seed, how_many(options), options.seconds))
