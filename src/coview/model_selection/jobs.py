"""Jobs with a time budget, several at a time: each job's steps run in worker processes that can be ended.

A job is a generator that hands its steps to `call`, which runs them in a worker of pebble's pool, within what is left
of the job's budget. What a job has yielded before it fails or runs out of time is kept. Workers are started in loky's
way: not forked (a fork amid threads can hang), and without running the main script again, so that scripts need no
`__main__` guard.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, TimeoutError, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coview.exceptions import CoviewError
from coview.utils.messages import cut
from coview.utils.progress import print_line, progress, tell

__all__ = ["JobOutcome", "run_jobs", "show_jobs"]

Call = Callable[..., Any]  # call(function, *args) returns function(shared, *args), from a worker
Work = Callable[[Call, Any], Iterator[Any]]  # (call, job) -> the job's parts
Watch = Callable[[int, "JobOutcome"], None]


@dataclass
class JobOutcome:
    """What became of a job."""

    status: str = "waiting"  # waiting, running, done, failed, over budget, stopped
    parts: list[Any] = field(default_factory=list)
    note: str = ""
    seconds: float = 0.0


def run_jobs(
    work: Work,
    shared: Any,
    jobs: Sequence[Any],
    *,
    n_jobs: int | None = None,
    budget: float | None = None,
    watch: Watch | None = None,
) -> list[JobOutcome]:
    """Do the jobs, and return what became of each, in their order; no job can end the others.

    With n_jobs=1 and no budget they are done in this process. Ctrl-C ends all workers; what is not done by then has
    the status "stopped".
    """
    outcomes = [JobOutcome() for _ in jobs]
    watch = watch or (lambda position, outcome: None)
    try:
        if n_jobs == 1 and budget is None:
            for i, job in enumerate(jobs):
                _do(work, lambda function, *args: function(shared, *args), job, i, outcomes[i], watch)
        elif jobs:
            _run_in_workers(work, shared, jobs, outcomes, watch, budget, n_jobs)
    except KeyboardInterrupt:
        for i, outcome in enumerate(outcomes):
            if outcome.status in ("waiting", "running"):
                outcome.status, outcome.note = "stopped", "Stopped by the user."
                watch(i, outcome)
    return outcomes


def format_error(error: BaseException) -> str:
    """Say an error in one line; its kind comes first where the sentence is not coview's own."""
    text = cut(str(error), 300) or "no message"
    return text if isinstance(error, CoviewError) else f"{type(error).__name__}: {text}"


class _StepError(CoviewError):
    """A step failed in a worker; the message says why."""


def _do(work: Work, call: Call, job: Any, position: int, outcome: JobOutcome, watch: Watch) -> None:
    outcome.status = "running"
    watch(position, outcome)
    start = time.monotonic()
    try:
        for part in work(call, job):
            outcome.parts.append(part)
            watch(position, outcome)
        outcome.status = "done"
    except CancelledError:  # Ctrl-C: who waits for all jobs says so
        return
    except TimeoutError:
        outcome.status, outcome.note = "over budget", "Stopped by the time budget."
    except Exception as error:  # whatever a method raises belongs in its row of the table
        outcome.status, outcome.note = "failed", format_error(error)
    outcome.seconds = time.monotonic() - start
    watch(position, outcome)


# -- the workers


def _run_in_workers(
    work: Work,
    shared: Any,
    jobs: Sequence[Any],
    outcomes: list[JobOutcome],
    watch: Watch,
    budget: float | None,
    n_jobs: int | None,
) -> None:
    import cloudpickle
    from joblib import cpu_count, effective_n_jobs
    from joblib.externals.loky.backend import get_context
    from pebble import ProcessExpired, ProcessPool

    n_workers = min(effective_n_jobs(-1 if n_jobs is None else n_jobs), len(jobs))
    with tempfile.TemporaryDirectory(prefix="coview-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "shared.pickle"
        path.write_bytes(cloudpickle.dumps(shared))
        settings = (str(path), max(1, cpu_count() // n_workers))
        pool = ProcessPool(n_workers, initializer=_load, initargs=settings, context=get_context("loky"))
        threads, stopping = ThreadPoolExecutor(n_workers), threading.Event()

        def drive(i: int) -> None:
            left = budget

            def call(function: Callable[..., Any], *args: Any) -> Any:
                nonlocal left
                # classes and functions that a script or a notebook defines travel along
                future = pool.schedule(_answer, args=(cloudpickle.dumps((function, args)),), timeout=left)
                while not wait([future], timeout=0.1).done:
                    if stopping.is_set():
                        raise CancelledError
                try:
                    value, problem, seconds = future.result()
                except ProcessExpired as error:
                    problem = f"Its process ended with exit code {error.exitcode}. It may have needed more memory."
                    raise _StepError(problem) from error
                if problem:
                    raise _StepError(problem)
                left = None if left is None else max(left - seconds, 0.001)
                return value

            _do(work, call, jobs[i], i, outcomes[i], watch)

        try:
            driven = [threads.submit(drive, i) for i in range(len(jobs))]
            while wait(driven, timeout=0.1).not_done:  # in short waits, so that Ctrl-C is heard
                pass
            for future in driven:
                future.result()
        finally:
            stopping.set()
            threads.shutdown(cancel_futures=True)
            pool.stop()
            pool.join()


_shared: Any = None  # of a worker: what all jobs share


def _load(path: str, n_threads: int) -> None:
    """Make a worker ready: read what all jobs share; cores are shared out among the workers."""
    import numba
    from threadpoolctl import threadpool_limits

    global _shared
    threadpool_limits(n_threads)
    numba.set_num_threads(min(n_threads, numba.get_num_threads()))
    _shared = pickle.loads(Path(path).read_bytes())


def _answer(message: bytes) -> tuple[Any, str, float]:
    """Run one step in a worker; return its value, or its error in a sentence, and the seconds that it took."""
    function, args = pickle.loads(message)
    start = time.monotonic()
    value, problem = None, ""
    try:
        value = function(_shared, *args)
    except Exception as error:  # in words: not every error can be sent to another process
        problem = format_error(error)
    return value, problem, time.monotonic() - start


# -- what is seen of them


@contextmanager
def show_jobs(names: list[str], total: int, score: str) -> Iterator[Watch]:
    """Give a watch of `run_jobs` that prints a line for each job that is over, and one for those at work."""
    running: dict[int, int] = {}  # parts that are done, of the jobs at work
    ended: list[int] = []

    def show(position: int, outcome: JobOutcome) -> None:
        if outcome.status == "running":
            running[position] = len(outcome.parts)
        else:
            running.pop(position, None)
            ended.append(position)
            values = [part[score] for part in outcome.parts if score in part]
            figure = outcome.note or (f"{score} {sum(values) / len(values):.3f}" if values else "")
            print_line(f"{names[position]}: {outcome.status} {figure}")
        at_work = ", ".join(f"{names[job]} {done}/{total}" for job, done in running.items())
        tell(f"{len(ended)} of {len(names)} done, running {at_work or 'none'}", len(ended), len(names))

    with progress("", verbose=1):
        context = copy_context()
        yield lambda position, outcome: context.copy().run(show, position, outcome)  # jobs report from their threads
