"""Jobs in processes of their own: results arrive, overruns and crashes end one job only."""

import os
import signal
import subprocess
import sys
import time

import pytest

from coview.exceptions import ViewsError
from coview.model_selection.jobs import format_error, run_jobs


def do(shared, step):
    if step == "sleep":
        time.sleep(60)
    elif step == "raise":
        raise ViewsError("Two views are needed.\nNot one.")
    elif step == "die":
        os._exit(3)
    return shared + step if isinstance(step, int) else step


def work(call, job):
    """A job is a list of what to do; each step gives a part."""
    for step in job:
        yield call(do, step)


@pytest.fixture(scope="module")
def outcomes():
    jobs = [[1, 2], [3, "sleep", 4], ["raise"], [5, "die"], [6], [7]]
    seen: list[tuple[int, str]] = []
    found = run_jobs(work, 10, jobs, n_jobs=2, budget=3.0, watch=lambda i, outcome: seen.append((i, outcome.status)))
    return found, seen


def test_parts_arrive_in_order(outcomes):
    assert (outcomes[0][0].status, outcomes[0][0].parts) == ("done", [11, 12])
    assert outcomes[0][5].parts == [17]


def test_an_overrun_is_ended_and_keeps_its_parts(outcomes):
    late = outcomes[0][1]
    assert (late.status, late.parts, late.note) == ("over budget", [13], "Stopped by the time budget.")
    assert late.seconds < 30


def test_an_error_is_one_sentence(outcomes):
    assert (outcomes[0][2].status, outcomes[0][2].note) == ("failed", "Two views are needed. Not one.")


def test_a_crash_ends_one_job_only(outcomes):
    assert outcomes[0][3].status == "failed" and "exit code 3" in outcomes[0][3].note
    assert outcomes[0][3].parts == [15]


def test_every_job_is_seen_running_and_ending(outcomes):
    for i, outcome in enumerate(outcomes[0]):
        mine = [status for place, status in outcomes[1] if place == i]
        assert mine[0] == "running" and mine[-1] == outcome.status


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


def test_errors_of_others_say_their_kind():
    assert format_error(ValueError("no\n  more.")) == "ValueError: no more."
    assert format_error(MemoryError()) == "MemoryError: no message"
