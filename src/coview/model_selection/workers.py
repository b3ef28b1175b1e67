"""Workers: processes that do one job after the other, and are ended when a job takes longer than it may.

A thread of this process drives each worker. A job is a generator: what it yields arrives part by part, so that of a
job that runs over its budget the parts that were ready are kept. Workers are started as plain processes of the same
Python and not forked: a fork in the middle of threads can hang, and scripts without a `__main__` guard work too.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coview.exceptions import CoviewError

__all__ = ["Outcome", "one_sentence", "run_jobs", "serve", "worker_count"]

Work = Callable[[Any, Any], Iterator[Any]]  # (what all jobs share, the job) -> its parts
Watch = Callable[[int, "Outcome"], None]
LONGEST = 300  # characters of an error that are kept
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Outcome:
    """What became of a job."""

    status: str = "waiting"  # waiting, running, done, failed, over budget, stopped
    parts: list[Any] = field(default_factory=list)
    note: str = ""
    seconds: float = 0.0


def worker_count(n_jobs: int | None, n_tasks: int) -> int:
    """Return the number of workers: `n_jobs` as joblib counts it (None = all cores), never more than there are tasks.

    Examples
    --------
    >>> worker_count(3, 2)
    2
    """
    from joblib import cpu_count

    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use -1 for all cores.")
    cores = cpu_count()
    wanted = cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    return max(1, min(wanted, n_tasks))


def run_jobs(
    work: Work,
    shared: Any,
    jobs: Sequence[Any],
    *,
    n_jobs: int | None = None,
    budget: float | None = None,
    watch: Watch | None = None,
) -> list[Outcome]:
    """Do the jobs, and return what became of each, in their order; no job can end the others.

    With n_jobs=1 and no budget they are done in this process. Ctrl-C ends all workers; what is not done by then has
    the status "stopped".

    Examples
    --------
    >>> def count(shared, job):
    ...     yield from range(shared, job)
    >>> found = run_jobs(count, 1, [3, 4], n_jobs=1)
    >>> [(outcome.status, outcome.parts) for outcome in found]
    [('done', [1, 2]), ('done', [1, 2, 3])]
    """
    outcomes = [Outcome() for _ in jobs]
    tell: Watch = watch or (lambda position, outcome: None)
    workers = worker_count(n_jobs, len(jobs))
    try:
        if n_jobs == 1 and budget is None:
            for i, job in enumerate(jobs):
                _here(work, shared, job, i, outcomes[i], tell)
        elif jobs:
            _Crew(work, shared, jobs, outcomes, tell, budget, workers).run()
    except KeyboardInterrupt:
        for i, outcome in enumerate(outcomes):
            if outcome.status in ("waiting", "running"):
                outcome.status, outcome.note = "stopped", "Stopped by the user."
                tell(i, outcome)
    return outcomes


def one_sentence(error: BaseException) -> str:
    """Say an error in one line, its first paragraph; its kind comes first where the sentence is not coview's own.

    Examples
    --------
    >>> one_sentence(KeyError("words"))
    "KeyError: 'words'"
    """
    text = " ".join(str(error).strip().split("\n\n")[0].split()) or "no message"
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return text if isinstance(error, CoviewError) else f"{type(error).__name__}: {text}"


def _here(work: Work, shared: Any, job: Any, position: int, outcome: Outcome, tell: Watch) -> None:
    outcome.status = "running"
    tell(position, outcome)
    start = time.perf_counter()
    try:
        for part in work(shared, job):
            outcome.parts.append(part)
            tell(position, outcome)
        outcome.status = "done"
    except Exception as error:  # whatever a method raises belongs in its row of the table
        outcome.status, outcome.note = "failed", one_sentence(error)
    outcome.seconds = time.perf_counter() - start
    tell(position, outcome)


class _Crew:
    """Threads that drive a worker process each."""

    def __init__(
        self,
        work: Work,
        shared: Any,
        jobs: Sequence[Any],
        outcomes: list[Outcome],
        tell: Watch,
        budget: float | None,
        size: int,
    ) -> None:
        self.work, self.shared, self.jobs, self.outcomes, self.tell = work, shared, jobs, outcomes, tell
        self.budget, self.size = budget, size
        self.open: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self.workers: list[_Worker] = []
        self.trouble: list[BaseException] = []

    def run(self) -> None:
        for i in range(len(self.jobs)):
            self.open.put(i)
        with tempfile.TemporaryDirectory(prefix="coview-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "shared.pickle"
            path.write_bytes(_dumps((self.work, self.shared)))
            threads = [threading.Thread(target=self._drive, args=(path,), daemon=True) for _ in range(self.size)]
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():
                        thread.join(0.1)  # in short waits, so that Ctrl-C is heard
            finally:
                self.stopping.set()
                for worker in self.workers:
                    worker.kill()
                for thread in threads:
                    thread.join(5)
        if self.trouble:
            raise self.trouble[0]

    def _drive(self, path: Path) -> None:
        worker = _Worker(path, self.size)
        self.workers.append(worker)
        try:
            while not self.stopping.is_set():
                try:
                    position = self.open.get_nowait()
                except queue.Empty:
                    return
                self._one(worker, position)
        except BaseException as error:  # handed to the thread that called run_jobs
            self.trouble.append(error)
        finally:
            worker.end()

    def _one(self, worker: _Worker, position: int) -> None:
        outcome = self.outcomes[position]
        outcome.status = "running"
        self.tell(position, outcome)
        start = time.perf_counter()
        try:
            message = _dumps(self.jobs[position])
        except Exception as error:  # pickling calls code of the job, which may raise anything
            outcome.status, outcome.note = "failed", f"It cannot be sent to another process: {one_sentence(error)}"
            self.tell(position, outcome)
            return
        over = threading.Event()
        timer: threading.Timer | None = None
        try:
            worker.make_ready()  # it loads the data, which is no part of the job
            start = time.perf_counter()
            timer = self._clock(worker, over)
            worker.send(message)
            for word, value in worker.listen():
                if word == "begun":  # the method's module is loaded: what is timed starts here
                    start = time.perf_counter()
                elif word == "part":
                    outcome.parts.append(value)
                    self.tell(position, outcome)
                else:
                    outcome.status, outcome.note = word, value
        except EOFError:
            code = worker.end()
            if self.stopping.is_set():
                return
            outcome.status = "over budget" if over.is_set() else "failed"
            outcome.note = f"Stopped after {self.budget:g} s." if over.is_set() else _died(code, worker.log)
        except _Unreadable as error:
            worker.end()  # it may be in the middle of the job, and what it says next would count for another
            outcome.status, outcome.note = "failed", f"What it gave cannot be read: {error}"
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()  # a strike that has begun must not hit the next job
                if over.is_set():
                    worker.end()
        outcome.seconds = time.perf_counter() - start
        self.tell(position, outcome)

    def _clock(self, worker: _Worker, over: threading.Event) -> threading.Timer | None:
        if self.budget is None:
            return None
        process = worker.process

        def strike() -> None:
            if worker.process is process and worker.busy:
                over.set()
                worker.kill()

        timer = threading.Timer(self.budget, strike)
        timer.daemon = True
        timer.start()
        return timer


class _Unreadable(Exception):
    """What a worker sent cannot be unpickled here."""


class _Worker:
    """One process, started when first needed and again after it was ended."""

    def __init__(self, path: Path, n_workers: int) -> None:
        self.path, self.n_workers = path, n_workers
        self.log = path.with_name(f"worker-{id(self)}.log")
        self.process: subprocess.Popen[bytes] | None = None
        self.busy = False

    def make_ready(self) -> None:
        """Start the process where there is none, and wait until it can take a job."""
        if self.process is None or self.process.poll() is not None:
            self._start()
            self._hear()
        self.busy = True

    def send(self, message: bytes) -> None:
        try:
            pipe: Any = self.process.stdin if self.process else None
            pickle.dump(message, pipe)
            pipe.flush()
        except OSError:
            raise EOFError from None

    def listen(self) -> Iterator[tuple[str, Any]]:
        """Yield what the worker says until its job ends; EOFError if it ends itself."""
        while True:
            word, value = self._hear()
            if word in ("done", "failed"):
                self.busy = False
            yield word, value
            if not self.busy:
                return

    def _hear(self) -> tuple[str, Any]:
        pipe: Any = self.process.stdout if self.process else None
        try:
            return pickle.load(pipe)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise EOFError from None
        except Exception as error:  # unpickling runs code of what was sent
            raise _Unreadable(one_sentence(error)) from error

    def kill(self) -> None:
        """End the process and what it started, from any thread; who drives it then reads the end of its pipe."""
        process = self.process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it is gone already
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()

    def end(self) -> int | None:
        """End the process and return its exit code; only for the thread that drives it."""
        self.kill()
        process, self.process, self.busy = self.process, None, False
        if process is None:
            return None
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):  # what was not sent yet has no reader
                    pipe.close()
        return code

    def _start(self) -> None:
        from joblib import cpu_count

        threads = max(1, cpu_count() // self.n_workers)
        asked = {name: os.environ.get(name, "") for name in _LIMITS}  # a lower limit that is set already stays
        limits = {name: str(threads) for name, n in asked.items() if not (n.isdigit() and int(n) <= threads)}
        places = os.pathsep.join(place or os.getcwd() for place in sys.path)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-c",
                    "from coview.model_selection.workers import serve; serve()",
                    str(self.path),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **limits, "PYTHONPATH": places},
                start_new_session=True,
            )


def serve() -> None:
    """Be a worker: read jobs from standard input, write what they yield to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a method prints must not reach the pipe

    def say(word: str, value: Any = None) -> None:
        out.write(pickle.dumps((word, value)))  # whole or not at all: a value may turn out not to be picklable
        out.flush()

    with open(sys.argv[1], "rb") as stream:
        work, shared = pickle.load(stream)
    say("ready")
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            job = pickle.loads(message)
            say("begun")
            for part in work(shared, job):
                say("part", part)
        except Exception as error:  # whatever a method raises belongs in its row of the table
            say("failed", one_sentence(error))
        else:
            say("done", "")


def _dumps(value: Any) -> bytes:
    """Pickle a value; classes and functions that a script or a notebook defines travel along."""
    # joblib needs it: newer versions as a package of its own, older ones carry it along
    pickler: Any = import_module("cloudpickle" if find_spec("cloudpickle") else "joblib.externals.cloudpickle")
    return pickler.dumps(value)


def _died(code: int | None, log: Path) -> str:
    if code == -9:
        return "Its process was killed; it may have needed more memory than there is."
    if code is not None and code < 0:
        return f"Its process crashed ({signal.Signals(-code).name})."
    said = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
    last = next((line.strip() for line in reversed(said) if line.strip()), "")
    return f"Its process ended with exit code {code}{f' ({last[:200]})' if last else ''}."
