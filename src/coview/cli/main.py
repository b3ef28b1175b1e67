"""The command line: what coview can do with files, one command each.

Bad input ends with exit code 2 and one sentence on standard error, anything else that fails with code 1; `--debug`
shows where. `--json` prints what a machine can read.
"""

from __future__ import annotations

import os
import sys

from coview._version import __version__
from coview.cli.help import COMMANDS, START

__all__ = ["main"]

_HELP = """Usage: coview COMMAND ...

{start}
Commands (coview COMMAND --help says more):

{commands}

--version shows the version. Anywhere: --quiet shows no progress, --debug the traceback of a failure."""


def main() -> None:
    """Run the command line; what is refused or fails becomes one sentence and an exit code."""
    words = [word for word in sys.argv[1:] if word not in ("--debug", "--quiet")]  # may stand anywhere
    completing = "_COVIEW_COMPLETE" in os.environ  # the shell asks which words may follow
    if words in ([], ["--help"], ["--version"]) and not completing:
        _print_at_once(__version__ if words == ["--version"] else _make_help())
        sys.exit()
    from coview.cli.app import run_command

    run_command(words, quiet="--quiet" in sys.argv, debug="--debug" in sys.argv)


def _make_help() -> str:
    lines = (f"  {name:<9}{about}" for name, (about, _) in COMMANDS.items())
    return _HELP.format(start=START, commands="\n".join(lines))


def _print_at_once(text: str) -> None:
    """Print without the libraries of the commands, which take longer to load than all of the rest."""
    try:
        print(text, flush=True)
    except OSError as error:  # a full disk
        sys.stdout = sys.stderr  # Python would write what is left at its end, and fail again
        print(f"coview: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
