"""Where long work stands: a line on standard error, redrawn on terminals and in notebooks, else printed now and then.

Work that may take long runs inside ``with progress("MultiViewPLSA")``. What it calls, however deep, says where it
stands by `tell`, and work inside other work adds to the same line. Nothing is shown of work that is over in a moment,
nor in a script that did not ask: notebooks and the command line show progress by themselves.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from coview.utils.messages import printable

__all__ = ["counted", "in_notebook", "is_shown", "on_terminal", "print_line", "progress", "show_progress", "tell"]

PATIENCE = 2.0  # seconds of work before anything is shown that was not asked for
INTERVAL = 5.0  # seconds between two printed lines; a tenth of the time so far where that is more
REDRAWN = 0.5  # seconds between two drawings of a line in place

Item = TypeVar("Item")


class _Work:
    """One piece of work: its name, and where it stands."""

    def __init__(self, title: str, owner: Any) -> None:
        self.title, self.owner = title, owner
        self.state: tuple[str, float | None, float | None] = ("", None, None)

    def __str__(self) -> str:
        return ", ".join(part for part in (self.title, self.state[0]) if part)


class _Line:
    """What is shown of work, and of the work inside it; a thread looks after it, so that silence has an end."""

    def __init__(self, asked: bool) -> None:
        self.stack: list[_Work] = []
        self.asked, self.began, self.in_place = asked, time.monotonic(), on_terminal() or in_notebook()
        self.drawn: str | None = None  # what was last shown
        self.over = threading.Event()
        # a thread of its own: compiled code and other libraries say nothing for minutes, and the clock must go on
        self.thread = threading.Thread(target=self._look_after, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *reason: object) -> None:
        self.over.set()
        self.thread.join()
        if self.drawn is None and not self.asked:
            return
        if self.in_place:
            self.draw("\n")
        elif self.drawn != self.text:  # the last state is not printed twice
            self.draw()

    def _look_after(self) -> None:
        # unless progress was asked for, short work prints no line
        wait = REDRAWN if self.asked else PATIENCE
        while not self.over.wait(wait):
            self.draw()
            wait = REDRAWN if self.in_place else max(INTERVAL, self.seconds / 10)

    def draw(self, end: str = "") -> None:
        """Write the line over itself, or print one more."""
        text = f"{self.text} ({self.seconds:.0f} s)"
        if not self.in_place:
            self.drawn = self.text
            print_line(text)
            return
        done = text if self.share is None else f"{text} {self.share:.0%}"
        done = done[: shutil.get_terminal_size().columns - 1]  # a line that wraps cannot be written over
        print("\r" + done.ljust(len(self.drawn or "")), end=end, file=sys.stderr, flush=True)
        self.drawn = done

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def text(self) -> str:
        return ": ".join(printable(text) for text in map(str, self.stack) if text) or "starting"

    @property
    def share(self) -> float | None:
        """How much of the innermost counted work is done."""
        # the outer work may not know how much there is to do: a search does not know the sweeps of its fits
        for work in reversed(self.stack):
            _, done, total = work.state
            if done is not None and total:
                return done / total
        return None


class _Silent(_Line):
    """Shows nothing, of what is inside neither."""

    def __init__(self) -> None:
        self.stack, self.in_place, self.drawn = [], False, None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *reason: object) -> None:
        pass


_line: ContextVar[_Line | None] = ContextVar("coview_progress_line", default=None)
_wanted: ContextVar[bool | None] = ContextVar("coview_progress_wanted", default=None)  # None: in notebooks


def on_terminal() -> bool:
    """Whether a line can be drawn in place."""
    return not in_notebook() and sys.stderr is not None and sys.stderr.isatty()


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__module__.startswith(("ipykernel.", "google.colab."))


def is_shown(verbose: int | None) -> bool:
    """Whether the progress of work is to be shown: where it is asked for, and by default where somebody looks on."""
    if verbose is not None:
        return verbose > 0
    if _line.get() is not None:
        return not isinstance(_line.get(), _Silent)
    # workers of a search would all draw into the same line
    if threading.current_thread() is not threading.main_thread():
        return False
    wanted = _wanted.get()
    return in_notebook() if wanted is None else wanted


@contextmanager
def show_progress(wanted: bool) -> Iterator[None]:
    """Show the progress of long work inside, or none, where its own `verbose` does not say."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


@contextmanager
def progress(title: str = "", verbose: int | None = None, owner: Any = None) -> Iterator[None]:
    """Show where the work inside stands.

    Parameters
    ----------
    title : str
        What is at work.
    verbose : int or None
        1 shows it at once and 0 not at all; None where somebody looks on, once it takes more than a moment.
    owner : object, optional
        Who works: a method that calls another one of the same object is one piece of work.

    Examples
    --------
    >>> with progress("k-means", verbose=0):
    ...     tell("start 1/5", 0, 5)
    """
    line = _line.get()
    # `fit_predict` calls `fit`: one name in the line, not two
    same = line is not None and owner is not None and line.stack[-1].owner is owner
    if same or (line is None and verbose is None and not is_shown(None)):
        yield
    elif line is not None and is_shown(verbose):
        line.stack.append(_Work(title, owner))
        try:
            yield
        finally:
            line.stack.pop()
    else:
        line = _Line(verbose is not None) if is_shown(verbose) else _Silent()
        line.stack.append(_Work(title, owner))
        token = _line.set(line)
        try:
            with line:
                yield
        finally:
            _line.reset(token)


def tell(text: str, done: float | None = None, total: float | None = None) -> None:
    """Say where the innermost work stands, and how much of it is done where that is known."""
    line = _line.get()
    if line is not None and line.stack:
        line.stack[-1].state = (text, done, total)


def counted(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Yield items that take long to make, telling which one is at work.

    Examples
    --------
    >>> list(counted((i * i for i in range(3)), "start", 3))
    [0, 1, 4]
    """
    steps = iter(items)
    for number in range(1, total + 1):
        tell(f"{what} {number}/{total}", number - 1, total)
        try:
            yield next(steps)
        except StopIteration:
            return
    # more than was announced is no error of the work itself
    yield from steps


def print_line(text: str) -> None:
    """Print a line that stays, above the one that is redrawn."""
    line = _line.get()
    width = len(line.drawn or "") if line is not None and line.in_place else 0
    text = printable(text, lines=True)
    print("\r" + text.ljust(width) if width or in_notebook() else text, file=sys.stderr, flush=True)
