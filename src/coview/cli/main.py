"""The command line: what coview can do with files, one command each.

Bad input ends with exit code 2 and one sentence on standard error, anything else that fails with code 1; `--debug`
shows where. `--json` prints what a machine can read.
"""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console

from coview.cli.compare import compare
from coview.cli.demo import demo
from coview.cli.edit import edit
from coview.cli.fit import fit
from coview.cli.info import info
from coview.cli.label import label
from coview.cli.predict import predict
from coview.cli.report import report
from coview.cli.search import search
from coview.cli.serve import explore, serve
from coview.cli.stream import stream
from coview.exceptions import CoviewError
from coview.utils.messages import make_text_error, printable
from coview.utils.progress import print_line, show_progress

__all__ = ["app", "main"]

# the one path that a newcomer takes, at most 78 columns wide
START = """Multi-view learning: several feature sets per object.

[bold]Start with your own table[/bold]: cluster its rows, write a report, browse the result.

\b
  coview fit auto tickets.csv
  coview report tickets.coview tickets.csv -o report.html
  coview explore tickets.coview tickets.csv

If a column holds classes for some of the rows, fill in the others.

\b
  coview fit auto tickets.csv --labels product -o products.coview
  coview predict products.coview tickets.csv -o products.csv
  coview label products.coview tickets.csv -o labels.csv
"""

app = typer.Typer(
    help=START,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

# typer brings its own copy of click in some versions: the class that ours derive from is the one to catch
_Refused: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

EXAMPLES: dict[Any, str] = {
    fit: "coview fit LinkPLSA tickets.csv --id id --text words=text --topics 6 -o topics.coview",
    predict: "coview predict topics.coview tickets.csv --proba -o topics.csv",
    report: "coview report topics.coview tickets.csv --by date -o report.html",
    explore: "coview explore topics.coview tickets.csv",
    serve: "coview serve topics.coview --port 8000",
    search: 'coview search "largest eigenvalues of a sparse matrix" -k 5',
    compare: "coview compare tickets.csv --labels product --share 0.1",
    edit: "coview edit topics.coview --merge 0,5=payment --rename 1=battery -o edited.coview",
    label: "coview label products.coview tickets.csv --count 20 -o labels.csv",
    stream: "coview stream tickets.csv --text text=text --labels product --save stream.coview",
    info: "coview info topics.coview",
    demo: "coview demo --out coview-demo",
}


@app.callback()
def _common(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show no progress; like --debug, it may stand anywhere.")
    ] = False,
) -> None:
    if version:
        from coview._version import __version__

        print(__version__)
        raise typer.Exit
    ctx.with_resource(show_progress(not quiet))


def main() -> None:
    """Run the command line; what is refused or fails becomes one sentence and an exit code."""
    debug = "--debug" in sys.argv
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    words = [word for word in sys.argv[1:] if word not in ("--debug", "--quiet")] or ["--help"]  # may stand anywhere
    try:
        code = app(["--quiet", *words] if "--quiet" in sys.argv else words, standalone_mode=False)
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
    "report": {"y": "--labels"},
    "edit": {"n": "--reduce", "X": "DATA", "names": "--rename"},
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
    if debug:
        Console(stderr=True).print_exception()
    one_line = " ".join(str(sentence).split())
    Console(stderr=True, soft_wrap=True).print(
        f"coview: {printable(one_line)}", style="red", highlight=False, markup=False
    )
    sys.exit(code)


for _command, _example in EXAMPLES.items():
    app.command(epilog=f"Example: {_example}")(_command)


if __name__ == "__main__":
    main()
