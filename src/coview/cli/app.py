"""The commands as typer runs them, and the sentences that errors end with."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer

from coview.cli.help import COMMANDS, START
from coview.cli.start import quicken_sklearn
from coview.exceptions import CoviewError
from coview.utils.messages import make_text_error, printable
from coview.utils.progress import print_line, show_progress

__all__ = ["make_commands", "run_command"]

# typer brings its own copy of click in some versions: the class that ours derive from is the one to catch
_Refused: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


def make_commands(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command line with some of its commands; the modules of others are not loaded."""
    app = typer.Typer(help=START, pretty_exceptions_enable=False, rich_markup_mode="rich")
    app.callback()(lambda: None)  # so that a command is called by its name though it be the only one
    for name in names:
        command = getattr(import_module(f"coview.cli.{'serve' if name == 'explore' else name}"), name)
        app.command(epilog=f"Example: {COMMANDS[name][1]}")(command)
    return app


def run_command(words: list[str], quiet: bool, debug: bool) -> None:
    """Run a command; what is refused or fails becomes one sentence and an exit code."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    quicken_sklearn()
    app = make_commands([name for name in words[:1] if name in COMMANDS] or COMMANDS)
    try:
        with show_progress(not quiet):
            code = app(words, standalone_mode=False)
    except _Refused as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "coview")
        _end(f"{error.format_message().rstrip('.')}. See: {command} --help", 2, debug)
    except UnicodeDecodeError as error:
        _end(make_text_error("What was given", error), 2, debug)
    except CoviewError as error:
        _end(_worded(error, words[0]), 2, debug)
    except (ValueError, OSError) as error:
        _end(error, 2, debug)
    except (KeyboardInterrupt, typer.Abort) as error:
        _end(str(error) or "stopped; nothing was written.", 1, debug)
    except Exception as error:
        _end(f"{type(error).__name__}: {error}", 1, debug)
    else:
        if code == 130:  # stopped by Ctrl-C
            _end("stopped; nothing was written.", 1, debug)
        sys.exit(code if isinstance(code, int) else 0)


def _show_warning(message: Warning | str, *_: Any) -> None:
    """Print a warning as one sentence, without the line of code that it comes from."""
    print_line(f"coview: {' '.join(str(message).split())}")


# what commands call the parameters of Python's functions
_OPTIONS = {
    "fit": {"y": "--labels"},
    "compare": {"y": "--labels", "cv": "--folds", "n_clusters": "--clusters", "label_share": "--share"},
    "label": {"y": "--labels", "n": "--count"},
    "report": {"y": "--labels", "formula": "--effects"},
    "edit": {"X": "DATA", "names": "--rename"},
}


def _worded(error: CoviewError, command: str) -> str:
    """What an error says, with options in place of Python's arguments."""
    options = _OPTIONS.get(command, {})

    def setting(name: str, value: Any) -> str:
        if command in ("fit", "stream"):
            return f"--set {name}={value}"
        return f"{options.get(name, '--' + name.replace('_', '-'))} {value}"

    return error.worded("cli", lambda name: options.get(name, name), setting)


def _end(sentence: Any, code: int, debug: bool) -> None:
    from rich.console import Console

    if debug:
        Console(stderr=True).print_exception()
    one_line = " ".join(str(sentence).split())
    Console(stderr=True, soft_wrap=True).print(
        f"coview: {printable(one_line)}", style="red", highlight=False, markup=False
    )
    sys.exit(code)
