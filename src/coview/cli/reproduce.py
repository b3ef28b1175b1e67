"""`coview reproduce`: the tables of the papers, ours beside the published figures; from a copy of the repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from coview.utils.messages import did_you_mean

__all__ = ["reproduce"]


def reproduce(
    paper: Annotated[str | None, typer.Argument(help="Name of the paper; without it, the papers are listed.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Number of runs; by default as many as the paper's.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only two runs of each experiment, in a separate folder.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Discard stored results and compute everything again.")
    ] = False,
) -> None:
    """Run the experiments of a paper and write its table beside the published figures."""
    folder = _folder()
    known = sorted(each.parent.name for each in folder.glob("*/paper.toml"))
    if paper is None:
        for name in known:
            print(name)
        return
    if paper not in known:
        hint = did_you_mean(paper, known)
        raise ValueError(f"There is no reproduction {paper!r}; available: {', '.join(known)}.{hint}")
    command = [sys.executable, str(folder / "run.py"), paper]
    command += ["--runs", str(runs)] if runs is not None else []
    command += ["--quick"] if quick else []
    command += ["--fresh"] if fresh else []
    code = subprocess.run(command, check=False).returncode
    if code:
        raise RuntimeError(f"the reproduction of {paper} ended with exit code {code}.")


def _folder() -> Path:
    for base in (Path.cwd(), *Path(__file__).resolve().parents):
        if (base / "reproductions" / "run.py").is_file():
            return base / "reproductions"
    raise ValueError(
        "The reproductions are in coview's repository, not in the installed package. Run this inside a clone of it."
    )
