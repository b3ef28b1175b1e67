"""Every command of the command line, with words that are nonsense in place of some, left out, repeated or added.

A command must end with an answer or with one sentence of coview's, and a refused one must leave no file behind.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import typer
from scipy import sparse

from coview import LinkPLSA, MultiViewNaiveBayes, SphericalKMeans, save
from coview.cli import app
from coview.datasets import make_topic_views
from fuzz._cases import command_line, described, is_ours, search

SECONDS = 30  # of the processor, that a case may take
MEMORY = 4 * 2**30  # bytes beyond what the process has at the start, that a case may ask for
ROWS = 40
OPTIONS = [
    *("--view", "--text", "--tokens", "--columns", "--id"),
    *("--labels", "--clusters", "--seeds", "--set", "--step", "--seed"),
    *("--json", "--proba", "--by", "--count", "--folds", "--share"),
    *("--merge", "--split", "--rename", "--drop", "--noise", "--together", "--apart", "--every"),
    *("--out", "-o", "-k", "--source", "--target", "--no-such-option", "--help"),
]
WORDS = [
    *("", " ", "=", "a=", "=b", "a=b=c", ",", ":", ";", "words=", "words=body", "words=nothing", "=,=", "--", "-"),
    *("nan", "inf", "-inf", "-1", "0", "1", "2", "0.5", "1e400", "9" * 30, "0x10", "1_000", "true", "null", "[]", "{}"),
    *("n_clusters=0", "n_clusters=x", "n_clusters=1e30", "max_iter=-1", "random_state=-3", "tol=nan", "engine=gpu"),
    *("0,1", "0,0", "0,99", "0=a", "99=a", "0=", "a,b", "é=ü", "\u202eabc", "\x1b[31mred", "a\x00b"),
    *("\udcff", "x" * 5000, "/dev/null", "/dev/full", "/dev/zero"),
    *("table.csv", "views", "topics.coview", "classes.coview", "empty.csv", "ragged.csv", "junk.bin", "one.csv"),
    *("labels.csv", "words.npz", "none.csv", "none/none.csv", ".", "..", "deep.json", "body"),
    *("key", "kind", "price", "when", "tags", "auto", "MultiViewPLSA", "AutoClustering", "PLSA", "NoSuchModel", "pca"),
    *("TfidfViews", "StandardScaler", "words=words.npz", "words=table.csv", "words=views", "links=links.npz", "en"),
]  # fmt: skip


@cache
def folder() -> Path:
    """Write a table, views and models that are fine, and some files that are not; return where they are."""
    place = Path(tempfile.mkdtemp(prefix="coview-fuzz-commands-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    made = make_topic_views(n_objects=ROWS, n_clusters=3, random_state=0)
    X, y = made.views, made.target
    few = np.array([f"class {label}" if i < 12 else None for i, label in enumerate(y.tolist())], dtype=object)
    words = {0: "ship sail harbor wind", 1: "bread oven flour yeast", 2: "chess rook pawn board"}
    lines = ["key,body,tags,price,when,kind"]
    for i, label in enumerate(y.tolist()):
        text = " ".join(random.Random(i).choices(words[label].split(), k=6))
        lines.append(f"k{i},{text},{text.split()[0]};{label},{i + 0.5},2020-01-{i % 28 + 1:02d},{few[i] or ''}")
    (place / "table.csv").write_text("\n".join(lines) + "\n")
    (place / "labels.csv").write_text("\n".join(str(each or "") for each in few) + "\n")
    (place / "empty.csv").write_text("")
    (place / "one.csv").write_text("key,body\nk1,ship\n")
    (place / "ragged.csv").write_text('a,b\n1,2,3\n"open\n')
    (place / "junk.bin").write_bytes(bytes(range(256)) * 8)
    (place / "deep.json").write_text("[" * 100_000)
    (place / "seeds.json").write_text('{"sea": ["ship", "sail"]}')
    (place / "mail.jsonl").write_text("".join(f'{{"kind": "{y[i]}", "body": "{words[y[i]]}"}}\n' for i in range(ROWS)))
    for name in X.names:
        sparse.save_npz(place / f"{name}.npz", sparse.csr_matrix(X[name]))
    named = {"words": X[X.names[0]]}
    sparse.save_npz(place / "words.npz", sparse.csr_matrix(named["words"]))
    save(LinkPLSA(3, max_iter=5, random_state=0).fit(named), place / "topics.coview")
    save(SphericalKMeans(3, random_state=0).fit(named), place / "clusters.coview")
    save(MultiViewNaiveBayes().fit(named, y), place / "classes.coview")
    for line in (
        "fit LinkPLSA table.csv --id key --text words=body --set n_components=3 -o raw.coview",
        "fit MultiViewNaiveBayes table.csv --id key --text words=body --labels kind -o kinds.coview",
    ):
        code, wrong, printed = typed(line.split(), place)
        assert code == 0 and not wrong, f"{line}: {wrong or printed}"
    return place


LINES = [
    "fit SphericalKMeans --view words=words.npz --clusters 3 -o new.coview",
    "fit LinkPLSA table.csv --id key --text words=body --set n_components=3 --set max_iter=5 -o new.coview",
    "fit LinkPLSA table.csv --text words=body --tokens tags=tags --seeds seeds.json -o new.coview",
    "fit MultiViewNaiveBayes table.csv --id key --text words=body --columns p=price --labels kind -o n.coview",
    "fit MultiViewNaiveBayes --view words=words.npz --labels labels.csv --step TfidfViews --seed 1 -o new.coview",
    "predict topics.coview --view words=words.npz --proba -o new.csv",
    "predict kinds.coview table.csv -o new.json",
    "predict topics.coview --view words=words.npz --coordinates -o new.csv",
    "label kinds.coview table.csv --labels kind --count 3 -o new.csv",
    "edit topics.coview --merge 0,1 --rename 2=a -o new.coview",
    "edit raw.coview table.csv --noise 1 -o new.coview",
    "edit raw.coview table.csv --name --rename 0=mine -o new.coview",
    "predict raw.coview table.csv --outliers -o new.csv",
    "compare --view words=words.npz --labels labels.csv --methods MultiViewNaiveBayes --folds 2",
    "report raw.coview table.csv --by when,kind --no-held-out -o new.html",
    "report classes.coview --view words=words.npz --no-held-out -o new.html",
    "stream mail.jsonl --labels kind --every 10 --save new.coview",
    "info topics.coview --json",
    "fit SphericalKMeans table.csv --clusters 2 -o new.coview",
]  # fmt: skip


def make_case(seed: int, number: int) -> list[str]:
    """Return the words of a command; the same for the same seed and number."""
    rng = random.Random(f"{seed} {number}")
    words = LINES[number % len(LINES)].split()
    for _ in range(rng.choice([1, 1, 1, 2])):
        at = rng.randrange(1, len(words)) if len(words) > 1 else 1
        kind = rng.randrange(6)
        if kind <= 2 and len(words) > 1:
            words[at] = rng.choice(WORDS)
        elif kind == 3 and len(words) > 1:
            del words[at]
        elif kind == 4:
            words += [rng.choice(OPTIONS), rng.choice(WORDS)]
        else:
            words += words[at : at + 2]
    return words


def typed(words: list[str], place: Path) -> tuple[int, str, str]:
    """Run a command in a folder, as the entry point does; its exit code, what is wrong with it, and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(place),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            code = app.make_commands()(words, standalone_mode=False)
        except (app._Refused, typer.Exit, typer.Abort):
            return 2, "", err.getvalue()
        except SystemExit as end:
            return int(end.code or 0), "", err.getvalue()
        except Exception as error:
            told = isinstance(error, OSError) and error.filename is not None  # "No such file or directory: 'x'"
            return 2, "" if is_ours(error) or told else described(error), str(error)
    return code if isinstance(code, int) else 0, "", out.getvalue()


def run_case(words: list[str]) -> str:
    """Run a command among copies of the files; return what is wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="coview-fuzz-") as name:
        place = Path(name) / "here"
        shutil.copytree(folder(), place)
        before = _contents(place)
        code, wrong, _ = typed(words, place)
        after = _contents(place)
        if wrong:
            return wrong
        if any(path.endswith(".part") for path in after):
            return "it leaves a .part file behind"
        if code and after != before:
            changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
            return f"it ends with code {code}, and has changed {changed[0]}"
    return ""


def _contents(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def main(seed: int = 0, count: int | None = None, seconds: float | None = None) -> list[str]:
    """Run cases until there are so many or so much time is spent; return failures, one sentence each."""
    folder()
    limits = SECONDS, MEMORY
    return search("commands", make_case, run_case, _shown, seed=seed, count=count, seconds=seconds, limits=limits)


def _shown(words: list[str]) -> str:
    return f"coview {' '.join(word if word.isprintable() and word else repr(word) for word in words)[:200]}"


def show(seed: int, number: int) -> None:
    """Run one case here, and show its traceback."""
    words = make_case(seed, number)
    print(words)
    os.chdir(folder())
    try:
        app.make_commands()(words, standalone_mode=False)
    except Exception:
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(command_line("commands", __doc__, main, show))
