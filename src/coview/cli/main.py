"""The command line: what coview can do with files, one command each.

Bad input ends with exit code 2 and one sentence on standard error, anything else that fails with code 1; `--debug`
shows where. `--json` prints what a machine can read.
"""

from __future__ import annotations

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
    if words in ([], ["--help"]):  # at once: the libraries of the commands take longer than all of the rest
        lines = (f"  {name:<9}{about}" for name, (about, _) in COMMANDS.items())
        print(_HELP.format(start=START, commands="\n".join(lines)))
        sys.exit()
    if words == ["--version"]:
        print(__version__)
        sys.exit()
    from coview.cli.app import run_command

    run_command(words, quiet="--quiet" in sys.argv, debug="--debug" in sys.argv)


if __name__ == "__main__":
    main()
