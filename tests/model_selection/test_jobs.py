"""Jobs in processes of their own: results arrive, overruns and crashes end one job only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from coview.exceptions import ViewsError
from coview.model_selection import jobs
from coview.model_selection.jobs import one_sentence, run_jobs, worker_count


def do(shared, step):
    if step == "sleep":
        time.sleep(60)
    elif step == "raise":
        raise ViewsError("Two views are needed.\nNot one.")
    elif step == "die":
        os._exit(3)
    elif step == "compile":
        from numba.core import event

        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):  # one kernel calls another
            time.sleep(2)
    elif step == "print":
        print("this goes nowhere", flush=True)
    return shared + step if isinstance(step, int) else step


def work(call, job):
    """A job is a list of what to do; each step gives a part."""
    for step in job:
        yield call(do, step)


@pytest.fixture(scope="module")
def outcomes():
    jobs = [[1, 2], [3, "sleep", 4], ["raise"], [5, "die"], ["print", 6], [7]]
    seen: list[tuple[int, str]] = []
    found = run_jobs(work, 10, jobs, n_jobs=2, budget=1.0, watch=lambda i, outcome: seen.append((i, outcome.status)))
    return found, seen


def test_parts_arrive_in_order(outcomes):
    assert (outcomes[0][0].status, outcomes[0][0].parts) == ("done", [11, 12])
    assert outcomes[0][5].parts == [17]


def test_an_overrun_is_ended_and_keeps_its_parts(outcomes):
    late = outcomes[0][1]
    assert (late.status, late.parts, late.note) == ("over budget", [13], "Stopped after 1 s.")
    assert late.seconds < 30


def test_an_error_is_one_sentence(outcomes):
    assert (outcomes[0][2].status, outcomes[0][2].note) == ("failed", "Two views are needed. Not one.")


def test_a_crash_ends_one_job_only(outcomes):
    assert (outcomes[0][3].status, outcomes[0][3].note) == ("failed", "Its process ended with exit code 3.")
    assert outcomes[0][3].parts == [15]


def test_what_a_job_prints_goes_nowhere(outcomes):
    assert outcomes[0][4].parts == ["print", 16]


def test_every_job_is_seen_running_and_ending(outcomes):
    for i, outcome in enumerate(outcomes[0]):
        mine = [status for place, status in outcomes[1] if place == i]
        assert mine[0] == "running" and mine[-1] == outcome.status


def test_one_job_at_a_time_without_budget_stays_here():
    def here(call, job):
        yield call(lambda shared: os.getpid())

    assert run_jobs(here, None, [0, 1], n_jobs=1)[1].parts == [os.getpid()]


def test_here_too_an_error_ends_one_job_only():
    found = run_jobs(work, 0, [["raise"], [1]], n_jobs=1)
    assert [outcome.status for outcome in found] == ["failed", "done"]


def test_ctrl_c_keeps_what_was_done():
    def stop(shared):
        raise KeyboardInterrupt

    def stopped(call, job):
        yield job
        if job == 1:
            call(stop)

    found = run_jobs(stopped, None, [0, 1, 2], n_jobs=1)
    assert [outcome.status for outcome in found] == ["done", "stopped", "stopped"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX are not known here: Ctrl-C is not checked")
def test_ctrl_c_ends_the_workers_and_keeps_what_was_done(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import signal, time\n"
        "from coview.model_selection.jobs import run_jobs\n"
        # what a shell starts in the background ignores Ctrl-C, and so would this
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def nap(shared, seconds):\n    time.sleep(seconds)\n    return seconds\n"
        "def work(call, job):\n    for seconds in job:\n        yield call(nap, seconds)\n"
        "watch = lambda i, outcome: print(i, outcome.status, len(outcome.parts), flush=True)\n"
        "found = run_jobs(work, None, [[0, 99], [0], [99], [1]], n_jobs=2, watch=watch)\n"
        "print('end', [(outcome.status, outcome.parts) for outcome in found])\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    waited_for = {"0 running 1\n", "2 running 0\n"}
    while waited_for:
        waited_for.discard(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    last = process.communicate(timeout=120)[0].splitlines()[-1]
    assert last == "end [('stopped', [0]), ('done', [0]), ('stopped', []), ('stopped', [])]"


def test_a_script_without_a_guard_works(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from coview.model_selection.jobs import run_jobs\n"
        "class Mine:\n    value = 5\n"
        "def add(shared, job):\n    return job.value + shared\n"
        "def work(call, job):\n    yield call(add, job)\n"
        "print('once', run_jobs(work, 1, [Mine()], n_jobs=2)[0].parts)\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert run.stdout == "once [6]\n", run.stderr


def test_what_cannot_travel_is_said():
    import threading

    (found,) = run_jobs(work, 0, [[threading.Lock()]], n_jobs=2)
    assert found.status == "failed" and found.note.startswith("It cannot be sent to another process")


class Unreadable:
    """Leaves its process without trouble, and fails on the way in."""

    def __init__(self, given):
        self.given = given

    def __reduce__(self):
        return int, (self.given,)


def give_unreadable(call, job):
    yield 1
    if job is not None:
        yield call(lambda shared: Unreadable(job))
    yield 2


@pytest.mark.parametrize(("given", "kind"), [([], "TypeError"), ("x", "ValueError")])
def test_a_part_that_cannot_be_read_ends_one_job_only(given, kind):
    first, second = run_jobs(give_unreadable, None, [given, None], n_jobs=1, budget=60)
    assert (first.status, first.parts) == ("failed", [1])
    assert first.note.startswith(f"Its result cannot be read: {kind}")
    assert (second.status, second.parts) == ("done", [1, 2])


def unsendable(shared):
    import threading

    return b"x" * 1_000_000, threading.Lock()  # so long that its start is written before its end is seen


def give_unsendable(call, job):
    yield 1
    if job:
        yield call(unsendable)


def test_a_part_that_cannot_be_sent_ends_one_job_only():
    first, second = run_jobs(give_unsendable, None, [True, False], n_jobs=1, budget=60)
    assert (first.status, first.parts) == ("failed", [1]) and "pickle" in first.note
    assert (second.status, second.parts) == ("done", [1])


class SlowToLoad:
    def __reduce__(self):
        return time.sleep, (60,)


def test_a_job_that_takes_long_to_load_is_over_budget():
    first, second = run_jobs(work, 10, [[SlowToLoad()], [1]], n_jobs=1, budget=2.0)
    assert (first.status, first.note) == ("over budget", "Stopped after 2 s.")
    assert (second.status, second.parts) == ("done", [11])


class SlowShared:
    def __reduce__(self):
        return time.sleep, (2.5,)


def test_the_time_that_a_worker_takes_to_start_is_not_the_jobs():
    (found,) = run_jobs(work, SlowShared(), [["print"]], n_jobs=1, budget=2.0)
    assert (found.status, found.parts) == ("done", ["print"])


def test_the_time_in_which_kernels_are_compiled_is_not_the_jobs():
    found = run_jobs(work, 10, [["compile", 1], ["compile", "sleep"]], n_jobs=2, budget=1.5)
    assert [outcome.status for outcome in found] == ["done", "over budget"]
    assert found[0].parts == ["compile", 11] and found[1].parts == ["compile"]


def test_numba_tells_when_it_compiles():
    (found,) = run_jobs(compile_one, None, [None], n_jobs=1, budget=60)
    assert found.parts == [1]


def compile_one(call, job):
    """Compile a small kernel in a worker, and give the number of compilations that its clock is told of."""

    def count(shared):
        import numba
        from numba.core import event

        with event.install_recorder("numba:compile") as told:
            numba.njit(lambda x: x + 1)(1)
        return sum(each.is_start for _, each in told.buffer)

    yield call(count)


def test_workers_are_never_more_than_tasks():
    assert worker_count(8, 3) == 3 and worker_count(-1, 1) == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        worker_count(0, 3)


def test_errors_of_others_say_their_kind():
    assert one_sentence(ValueError("no\n  more.\n\nAnd more.")) == "ValueError: no more."
    assert one_sentence(MemoryError()) == "MemoryError: no message"


@pytest.mark.parametrize("known", [signal.Signals.__members__, {"SIGTERM": 15}], ids=["Unix", "Windows"])
def test_the_death_of_a_process_is_told_on_every_system(monkeypatch, known):
    class Signals:
        __members__ = known

    monkeypatch.setattr(jobs.signal, "Signals", Signals)
    monkeypatch.delattr(jobs.signal, "SIGKILL", raising=False)
    assert jobs._death(3) == "Its process ended with exit code 3."
    assert jobs._death(-15) == "Its process crashed (SIGTERM)."
    killed = "Its process was killed; it may have needed more memory than there is."
    assert jobs._death(-9) == (killed if "SIGKILL" in known else "Its process ended with exit code -9.")
    assert jobs._death(-200) == "Its process ended with exit code -200."
