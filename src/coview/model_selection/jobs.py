"""Jobs with a time budget, several at a time: each job's steps run in worker processes that can be ended.

A job is a generator that runs in a thread of this process and hands its steps to `call`, which runs them in a worker of
pebble's pool, within what is left of the job's budget. What a job has yielded before it fails or runs out of time is
kept. Time in which a worker compiles kernels does not count: that happens once on a machine, to whoever comes first.
Workers are started in loky's way: not forked (a fork amid threads can hang), and without running the main script again,
so that scripts need no `__main__` guard.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import ExitStack
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coview.exceptions import CoviewError
from coview.utils.messages import printable
from coview.utils.progress import on_terminal, print_line, progress, tell

__all__ = ["JobOutcome", "JobProgress", "one_sentence", "run_jobs", "worker_count"]

Call = Callable[..., Any]  # call(function, *args) returns function(shared, *args), from a worker
Work = Callable[[Call, Any], Iterator[Any]]  # (call, job) -> the job's parts
Watch = Callable[[int, "JobOutcome"], None]
LONGEST = 300  # characters of an error that are kept
_RECORD = struct.Struct("3d")  # of a clock: when the step began, seconds of compiling, since when it compiles (or 0)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class JobOutcome:
    """What became of a job."""

    status: str = "waiting"  # waiting, running, done, failed, over budget, stopped
    parts: list[Any] = field(default_factory=list)
    note: str = ""
    seconds: float = 0.0


def worker_count(n_jobs: int | None, n_tasks: int) -> int:
    """Return the number of workers: `n_jobs` as joblib counts it (None = all cores), never more than tasks."""
    from joblib import effective_n_jobs

    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use -1 for all cores.")
    return max(1, min(effective_n_jobs(-1 if n_jobs is None else n_jobs), n_tasks))


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
    tell: Watch = watch or (lambda position, outcome: None)
    workers = worker_count(n_jobs, len(jobs))
    try:
        if n_jobs == 1 and budget is None:
            for i, job in enumerate(jobs):
                _do(work, _Here(shared), job, i, outcomes[i], tell)
        elif jobs:
            _run_in_workers(work, shared, jobs, outcomes, tell, budget, workers)
    except KeyboardInterrupt:
        for i, outcome in enumerate(outcomes):
            if outcome.status in ("waiting", "running"):
                outcome.status, outcome.note = "stopped", "Stopped by the user."
                tell(i, outcome)
    return outcomes


def one_sentence(error: BaseException) -> str:
    """Say an error in one line, its first paragraph; its kind comes first where the sentence is not coview's own."""
    text = " ".join(str(error).strip().split("\n\n")[0].split()) or "no message"
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return text if isinstance(error, CoviewError) else f"{type(error).__name__}: {text}"


# -- one job


class _Here:
    """Calls steps in this process."""

    def __init__(self, shared: Any) -> None:
        self.shared, self.seconds = shared, 0.0

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(self.shared, *args)
        finally:
            self.seconds += time.perf_counter() - start


class _InWorker:
    """Calls steps in a worker, all of them within one budget."""

    def __init__(self, pool: Any, budget: float | None, stopping: threading.Event, clock: Path) -> None:
        self.pool, self.budget, self.stopping, self.clock, self.seconds = pool, budget, stopping, clock, 0.0

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        import cloudpickle
        from pebble import ProcessExpired

        try:  # classes and functions that a script or a notebook defines travel along
            message = cloudpickle.dumps((function, args))
        except Exception as error:  # pickling calls code of the arguments, which may raise anything
            raise _JobError("failed", f"It cannot be sent to another process: {one_sentence(error)}") from error
        self.clock.unlink(missing_ok=True)
        self._check_budget(self.seconds)
        future = self.pool.schedule(_answer, args=(message, "" if self.budget is None else str(self.clock)))
        while not wait([future], timeout=0.1).done:
            if self.stopping.is_set():
                raise CancelledError
            try:
                self._check_budget(self.seconds + _seconds_taken(self.clock))
            except _JobError:
                future.cancel()  # ends the worker
                raise
        try:
            answer = future.result()
        except ProcessExpired as error:
            raise _JobError("failed", _death(error.exitcode)) from error
        value, error_text, seconds = pickle.loads(answer)
        self.seconds += seconds
        if error_text:
            raise _JobError("failed", error_text)
        try:
            return pickle.loads(value)
        except Exception as error:  # unpickling runs code of what was sent
            raise _JobError("failed", f"Its result cannot be read: {one_sentence(error)}") from error

    def _check_budget(self, seconds: float) -> None:
        if self.budget is not None and seconds >= self.budget:
            self.seconds = self.budget
            raise _JobError("over budget", f"Stopped after {self.budget:g} s.")


class _JobError(Exception):
    """How a job ended before its time: status and note."""


def _do(work: Work, call: _Here | _InWorker, job: Any, position: int, outcome: JobOutcome, tell: Watch) -> None:
    outcome.status = "running"
    tell(position, outcome)
    try:
        for part in work(call, job):
            outcome.parts.append(part)
            tell(position, outcome)
        outcome.status = "done"
    except CancelledError:  # Ctrl-C: who waits for all jobs says so
        return
    except _JobError as error:
        outcome.status, outcome.note = error.args
    except Exception as error:  # whatever a method raises belongs in its row of the table
        outcome.status, outcome.note = "failed", one_sentence(error)
    outcome.seconds = call.seconds
    tell(position, outcome)


def _death(code: int | None) -> str:
    signals = {-number: name for name, number in signal.Signals.__members__.items()}  # Windows has few, and no SIGKILL
    name = signals.get(code or 0)
    if name == "SIGKILL":
        return "Its process was killed; it may have needed more memory than there is."
    if name is not None:
        return f"Its process crashed ({name})."
    return f"Its process ended with exit code {code}."


# -- the workers


def _run_in_workers(
    work: Work,
    shared: Any,
    jobs: Sequence[Any],
    outcomes: list[JobOutcome],
    tell: Watch,
    budget: float | None,
    n_workers: int,
) -> None:
    import cloudpickle
    from pebble import ProcessPool

    with tempfile.TemporaryDirectory(prefix="coview-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "shared.pickle"
        path.write_bytes(cloudpickle.dumps(shared))
        pool = ProcessPool(n_workers, initializer=_load, initargs=(str(path),), context=_context(n_workers))
        threads, stopping = ThreadPoolExecutor(n_workers), threading.Event()
        try:
            calls = [_InWorker(pool, budget, stopping, path.with_name(f"clock{i}")) for i in range(len(jobs))]
            driven = [
                threads.submit(_do, work, call, job, i, outcomes[i], tell)
                for i, (call, job) in enumerate(zip(calls, jobs))
            ]
            while wait(driven, timeout=0.1).not_done:  # in short waits, so that Ctrl-C is heard
                pass
            for future in driven:
                future.result()
        finally:
            stopping.set()
            threads.shutdown(cancel_futures=True)
            pool.stop()
            pool.join()


def _context(n_workers: int) -> Any:
    """Loky's way to start a process, with threads of the numerical libraries shared out among the workers."""
    from joblib import cpu_count
    from joblib.externals.loky.backend.context import LokyContext
    from joblib.externals.loky.backend.process import LokyProcess

    threads = max(1, cpu_count() // n_workers)
    wanted = {name: os.environ.get(name, "") for name in _THREADS}  # a lower limit that is set already stays
    limits = {name: str(threads) for name, n in wanted.items() if not (n.isdigit() and int(n) <= threads)}

    class Context(LokyContext):
        @staticmethod
        def Process(*args: Any, **options: Any) -> Any:
            return LokyProcess(*args, **options, env=limits)

    return Context()


_shared: Any = None  # of a worker: what all jobs share


def _load(path: str) -> None:
    """Make a worker ready: read what all jobs share; what jobs print goes nowhere."""
    global _shared
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    _shared = pickle.loads(Path(path).read_bytes())


def _answer(message: bytes, clock_path: str) -> bytes:
    """Run one step in a worker; the value is pickled by itself, so that no value can disturb the pool."""
    clock, value, error_text = _StepClock(Path(clock_path) if clock_path else None), b"", ""
    try:
        with clock:
            function, args = pickle.loads(message)
            clock.begin()  # anew, since the method's modules are loaded
            value = pickle.dumps(function(_shared, *args))
    except Exception as error:
        error_text = one_sentence(error)
    return pickle.dumps((value, error_text, clock.seconds))


class _StepClock:
    """Seconds that a step has taken, without those in which kernels were compiled; kept in a file for the parent.

    Without a file nobody limits them, and all count.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.seconds = path, 0.0
        self.compiling_since, self.depth = 0.0, 0
        self.listener: Any = None

    def begin(self) -> None:
        """Count from now on."""
        self.began, self.compiled = time.monotonic(), 0.0  # the same clock in every process
        self._write()

    def __enter__(self) -> None:
        if self.path is not None:
            from numba.core import event

            clock = self

            class Compilations(event.Listener):
                def on_start(self, event: Any) -> None:
                    clock._compile(1)

                def on_end(self, event: Any) -> None:
                    clock._compile(-1)

            self.listener = Compilations()
            event.register("numba:compile", self.listener)
        self.begin()

    def __exit__(self, *reason: object) -> None:
        self.seconds = time.monotonic() - self.began - self.compiled
        if self.listener is not None:
            from numba.core import event

            event.unregister("numba:compile", self.listener)

    def _compile(self, change: int) -> None:
        """Take note of a kernel whose compilation starts or ends; one may be compiled for the sake of another."""
        self.depth += change
        if self.depth == 1 and change == 1:
            self.compiling_since = time.monotonic()
        elif self.depth == 0:
            self.compiled += time.monotonic() - self.compiling_since
            self.compiling_since = 0.0
        self._write()

    def _write(self) -> None:
        if self.path is not None:
            self.path.write_bytes(_RECORD.pack(self.began, self.compiled, self.compiling_since))


def _seconds_taken(path: Path) -> float:
    """Seconds that the step has taken whose worker keeps its clock in this file; 0 before it begins."""
    try:
        began, compiled, compiling_since = _RECORD.unpack(path.read_bytes())
    except (FileNotFoundError, struct.error):  # not there yet, or being written
        return 0.0
    return (compiling_since or time.monotonic()) - began - compiled


# -- what is seen of them


_STYLES = {"done": "green", "failed": "red", "over budget": "yellow", "stopped": "yellow", "running": "bold"}


class JobProgress:
    """A watch of `run_jobs` that shows on standard error where every job stands; use it as a context manager.

    A terminal has one line per job, redrawn in place. Elsewhere a job that is over has a line, and those at work share
    one that is printed now and then.
    """

    def __init__(self, names: list[str], total: int, show: str) -> None:
        self._names, self._total, self._show = names, total, show
        self._stack = ExitStack()
        self._table: Any = None
        self._running: dict[int, int] = {}  # splits that are done, of the jobs at work
        self._ended = 0
        self._context = Context()

    def __enter__(self) -> JobProgress:
        on_screen = on_terminal()
        self._stack.enter_context(progress("", verbose=0 if on_screen else 1))
        if on_screen:
            self._table = self._stack.enter_context(_JobTable(self._names, self._total))
        self._context = copy_context()
        return self

    def __exit__(self, *reason: object) -> None:
        self._stack.close()

    def __call__(self, position: int, outcome: JobOutcome) -> None:
        if self._table is not None:
            self._table.update(position, outcome, self._figure(outcome))
        else:
            self._context.copy().run(self._print, position, outcome)  # jobs report from threads of their own

    def _print(self, position: int, outcome: JobOutcome) -> None:
        if outcome.status in ("waiting", "running"):
            if outcome.status == "running":
                self._running[position] = len(outcome.parts)
        else:
            self._running.pop(position, None)
            self._ended += 1
            figure = self._figure(outcome)
            print_line(f"{self._names[position]}: {outcome.status}{', ' if figure else ''}{figure}")
        at_work = [f"{self._names[job]} {done}/{self._total}" for job, done in self._running.items()]
        running = f", running {', '.join(at_work)}" if at_work else ""
        tell(f"{self._ended} of {len(self._names)} done{running}", self._ended, len(self._names))

    def _figure(self, outcome: JobOutcome) -> str:
        if outcome.note:
            return outcome.note[:100]
        values = [part[self._show] for part in outcome.parts if self._show in part]
        return f"{self._show} {sum(values) / len(values):.3f}" if values else ""


class _JobTable:
    """One line per job, redrawn in place."""

    def __init__(self, names: list[str], total: int) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        wide = max(map(len, names), default=0)
        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, min_width=min(wide, 40))),
            BarColumn(bar_width=8),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[status]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            console=Console(stderr=True),
            expand=True,
        )
        self._tasks: list[Any] = [
            self._progress.add_task(escape(printable(name)), total=total, start=False, status="[dim]waiting[/dim]")
            for name in names
        ]

    def __enter__(self) -> _JobTable:
        self._progress.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._progress.stop()

    def update(self, position: int, outcome: JobOutcome, figure: str) -> None:
        from rich.markup import escape

        task = self._tasks[position]
        if outcome.status == "running" and not outcome.parts:
            self._progress.start_task(task)
        style = _STYLES.get(outcome.status, "")
        status = f"[{style}]{outcome.status}[/{style}] {escape(printable(figure))}"
        self._progress.update(task, completed=len(outcome.parts), status=status)
        if outcome.status not in ("waiting", "running"):
            self._progress.stop_task(task)
