"""What tests of the command line share."""

import sys

import pytest

from coview.cli import main as cli


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command as it is typed; gives its exit code, and what it printed on standard output and error."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["coview", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return end.value.code or 0, printed.out, printed.err

    return call
