"""Files of every format that coview reads, damaged at random: a reader gives views, or one of coview's sentences.

    python -m fuzz.readers --seed 1 --count 2000
    python -m fuzz.readers --seed 1 --first 1234 --count 1 --keep broken    # one case again, its file kept

Each case is read in a process of its own, with a limit of time and memory. It fails if the process dies or takes too
long, if the error is not one of coview's or takes more than one line, or if what was read holds values that a model
must never meet. Case `i` of a seed is the same whatever cases come before it.
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from coview import Ontology, Views, read_stream, read_table, read_views, write_views
from coview.exceptions import CoviewError
from coview.io.shards import _compute_digest, compute_checksum
from fuzz._cases import case_numbers, how_many, limit_memory, options_of, tell

try:
    import mudata
except ImportError:
    mudata = None

SECONDS = 20  # that one case may take
MEMORY = 4_000_000_000  # bytes beyond which a case is to fail, not to bring down others
LONGEST = 1000  # signs of a sentence


@dataclass(frozen=True)
class Failure:
    """What went wrong, and how to see it again."""

    reader: str
    seed: int
    case: int
    what: str

    def __str__(self) -> str:
        return f"{self.reader}, --seed {self.seed} --first {self.case} --count 1: {self.what}"


# -- valid files, each small and with all that its format can hold


def _words() -> sparse.csr_array:
    return sparse.random_array((12, 9), density=0.4, format="csr", rng=np.random.default_rng(0))


def _table() -> dict[str, list[Any]]:
    rng = random.Random(0)
    return {
        "id": [f"row {i}" for i in range(12)],
        "label": [rng.choice(["ham", "spam"]) for _ in range(12)],
        "words:fox": [rng.randint(0, 9) for _ in range(12)],
        "words:sea": [rng.random() for _ in range(12)],
        "title": [rng.choice(["red fox, running", "blue sea"]) for _ in range(12)],
    }


def _numbers() -> dict[str, list[Any]]:
    return {"id": [f"r{i}" for i in range(12)], "a": list(range(12)), "b": [i / 7 for i in range(12)]}


def _csv(columns: dict[str, list[Any]], sign: str = ",") -> str:
    rows = [list(columns), *map(list, zip(*columns.values()))]
    cells = [[f'"{cell}"' if sign in str(cell) else str(cell) for cell in row] for row in rows]
    return "".join(sign.join(row) + "\n" for row in cells)


def _rows_of_json() -> list[dict[str, Any]]:
    return [
        {"id": f"r{i}", "label": i % 2, "text": "red fox", "words": {"fox": i, "kind": "a"}, "dense": [0.5, i], "n": 3}
        for i in range(12)
    ]


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _write_h5mu(path: Path) -> None:
    import anndata
    import pandas as pd

    def part(matrix: Any, names: list[str]) -> Any:
        index = pd.Index([f"r{i}" for i in range(12)])
        return anndata.AnnData(X=matrix, obs=pd.DataFrame(index=index), var=pd.DataFrame(index=pd.Index(names)))

    words, links = part(_words(), list("abcdefghi")), part(np.eye(12)[:, :3], list("xyz"))
    mudata.MuData({"words": words, "links": links}).write(path)


def _views() -> Views:
    present = np.ones((12, 2), dtype=bool)
    present[3, 1] = False
    links = np.arange(24.0).reshape(12, 2)
    links[3] = 0
    return Views(words=_words(), links=links, ids=[f"r{i}" for i in range(12)], present=present)


def _sign(folder: Path) -> None:
    """Give a damaged folder checksums that fit, which would hide all that is behind them otherwise."""
    try:
        content = json.loads((folder / "views.json").read_bytes())
        content.pop("sha256", None)
        for shard in content["shards"]:
            here = (file for file in shard["sha256"] if (folder / file).is_file())
            shard["sha256"].update({file: compute_checksum(folder / file) for file in here})
        content["sha256"] = _compute_digest(content)
        (folder / "views.json").write_text(json.dumps(content))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return  # it is too damaged to be signed


_ONTOLOGY = {"labels": ["animal", "fox", "sea"], "subset": [["fox", "animal"]], "mutex": [["fox", "sea"]]}


# -- what is done with a file


def _use_views(path: Path) -> None:
    X = read_views(path)
    _check_views(X if isinstance(X, Views) else X.collect())


def _use_stream(path: Path) -> None:
    for batch in read_stream(path, batch_size=5, n_features=64):
        _check_views(batch.views)
        assert len(batch.labels) == len(batch.views), "labels are lost"
        hash(tuple(batch.labels))


def _use_lines(path: Path) -> None:
    """As from standard input."""
    kind = path.suffix[1:]
    content = path.read_bytes()
    source = io.BytesIO(content) if kind == "svmlight" else io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    for batch in read_stream(source, format=kind, views={"words": 32, "x": 32} if kind == "svmlight" else None):
        _check_views(batch.views)


def _use_table(path: Path) -> None:
    table = read_table(path)
    lengths = {len(table[name]) for name in (table if isinstance(table, dict) else table.columns)}
    assert len(lengths) <= 1, "columns differ in length"


def _use_ontology(path: Path) -> None:
    Ontology.read(path)


def _check_views(X: Views) -> None:
    for name, matrix in X.items():
        values = matrix.data if sparse.issparse(matrix) else matrix
        assert matrix.shape[0] == len(X), f"view {name} has other rows"
        assert matrix.dtype.kind in "biuf", f"view {name} is of {matrix.dtype}"
        assert np.isfinite(values).all(), f"view {name} is not finite"
        if sparse.issparse(matrix):
            matrix.check_format(full_check=True)
    assert X.present.shape == (len(X), len(X.names)), "the mask has another shape"


# -- all of it


def _valid_files(folder: Path) -> dict[str, tuple[Path, Callable[[Path], None]]]:
    """Write a file of each format; return it by name with what is done with it."""
    files: dict[str, tuple[Path, Callable[[Path], None]]] = {}

    def add(name: str, file: str, use: Callable[[Path], None], write: Callable[[Path], Any]) -> None:
        path = folder / name / file
        path.parent.mkdir()
        write(path)
        files[name] = path, use

    words, dense = _words(), _words().toarray()
    add("npz of scipy", "v.npz", _use_views, lambda path: sparse.save_npz(path, words))
    add("npz of coo", "v.npz", _use_views, lambda path: sparse.save_npz(path, words.tocoo(), compressed=False))
    add("npz of arrays", "v.npz", _use_views, lambda path: np.savez(path, a=dense, b=dense[:, :2]))
    add("npy", "v.npy", _use_views, lambda path: np.save(path, dense))
    add("mtx", "v.mtx", _use_views, lambda path: scipy_io.mmwrite(path, words.tocoo()))
    add("mtx of an array", "v.mtx", _use_views, lambda path: scipy_io.mmwrite(path, dense))
    add("svmlight", "v.svmlight", _use_views, lambda path: dump_svmlight_file(words, np.arange(12) % 2, str(path)))
    add("csv", "v.csv", _use_views, lambda path: path.write_text(_csv(_numbers())))
    add("tsv", "v.tsv", _use_views, lambda path: path.write_text(_csv(_numbers(), "\t")))
    add("parquet", "v.parquet", _use_views, lambda path: pl.DataFrame(_numbers()).write_parquet(path))
    counts = [{"id": i, "fox": i, "sea": i / 3} for i in range(12)]
    add("jsonl", "v.jsonl", _use_views, lambda path: path.write_text(_lines(counts)))
    if mudata is not None:
        add("h5mu", "v.h5mu", _use_views, _write_h5mu)
    for kind in ("folder", "folder with checksums that fit"):
        add(kind, "v", _use_views, lambda path: write_views(_views(), path, rows_per_shard=7))
    table = _table()
    records = [dict(zip(table, row)) for row in zip(*table.values())]
    add("table csv", "v.csv", _use_table, lambda path: path.write_text(_csv(table)))
    add("table jsonl", "v.jsonl", _use_table, lambda path: path.write_text(_lines(records)))
    add("table json", "v.json", _use_table, lambda path: path.write_text(json.dumps(records)))
    add("table parquet", "v.parquet", _use_table, lambda path: pl.DataFrame(table).write_parquet(path))
    add("stream jsonl", "v.jsonl", _use_stream, lambda path: path.write_text(_lines(_rows_of_json())))
    labels = np.arange(12) % 2
    add("stream svmlight", "v.svmlight", _use_stream, lambda path: dump_svmlight_file(words, labels, str(path)))
    add("lines of jsonl", "v.jsonl", _use_lines, lambda path: path.write_text(_lines(_rows_of_json())))
    add("lines of svmlight", "v.svmlight", _use_lines, lambda path: dump_svmlight_file(words, labels, str(path)))
    add("ontology json", "v.json", _use_ontology, lambda path: path.write_text(json.dumps(_ONTOLOGY)))
    return files


# -- damage

_TEXTS = [
    *(b"-1", b"0", b"2000000000", b"600000000", b"99999999999999999999", b"1" * 5000, b"1e999", b"-1e-999", b"nan"),
    *(b"inf", b"1_000", b"NaN", b"null", b"true", b"[]", b"{}", b'""', b"[" * 50_000, b'{"a":' * 50_000, b"\xff\xfe"),
    *(b"\0", b"\n", b"\r", b'"', b",", b"\t", b":", b"|O", b"<U500000000", b"\xe2\x80\xae", b"x" * 100_000),
]


def _damage(content: bytes, rng: random.Random) -> bytes:
    """Change a few places of a file, or one of its numbers."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice([1, 1, 2, 4, 8, 64, 1024]))
        kind = rng.randrange(9)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:to] = rng.randbytes(to - at)
        elif kind == 2:
            del data[at:to]
        elif kind == 3:
            data[at:at] = data[at:to] * rng.choice([1, 2, 100])
        elif kind == 4:
            data[at:at] = rng.choice(_TEXTS)
        elif kind == 5:
            del data[at:]
        elif kind == 6:
            data[at:to] = rng.choice([b"\x00", b"\xff", b"\x7f"]) * (to - at)
        elif kind == 7:
            _replace_number(data, rng)
        else:
            lines = bytes(data).splitlines(keepends=True)
            rng.shuffle(lines)
            data = bytearray(b"".join(lines))
    return bytes(data)


def _replace_number(data: bytearray, rng: random.Random) -> None:
    digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        start = end = rng.choice(digits)
        while end < len(data) and 48 <= data[end] <= 57:
            end += 1
        data[start:end] = rng.choice(_TEXTS)


def _make_case(source: Path, target: Path, rng: random.Random) -> None:
    """Copy a valid file or folder and damage it; of a folder one file is damaged, lost, or put in another's place."""
    if source.is_file():
        target.write_bytes(_damage(source.read_bytes(), rng))
        return
    shutil.copytree(source, target)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    file, kind = rng.choice(files), rng.randrange(8)
    if rng.random() < 0.3:
        file = target / "views.json"
    if kind == 0:
        file.unlink()
    elif kind == 1:
        file.write_bytes(rng.choice(files).read_bytes())
    else:
        file.write_bytes(_damage(file.read_bytes(), rng))
    if "that fit" in source.parent.name:
        _sign(target)


# -- a case in a process of its own


def _answer(path: Path, use: Callable[[Path], None]) -> str:
    """Return an empty text if the reader did its work, else what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path)
    except CoviewError as error:
        text = str(error)
        if "\n" in text or len(text) > LONGEST or not text.endswith((".", "?")):
            return f"the sentence is none: {text[:300]!r}"
        return ""
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)
        places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(where[-4:]))
        return f"{type(error).__name__}: {str(error)[:200]!r} at {places}"
    return ""


def _run(path: Path, use: Callable[[Path], None]) -> str:
    """Read a file in a child; return an empty text if all is well, else what is wrong."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            limit_memory(MEMORY)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)  # libraries print there before they die
            os.write(writing, _answer(path, use).encode(errors="replace")[:4000] + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    until = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            return f"takes more than {SECONDS} s"
        time.sleep(0.002)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read().decode()
    if os.WIFSIGNALED(status):
        return f"dies of {signal.Signals(os.WTERMSIG(status)).name}"
    if not answer:
        return "gives no answer"
    return answer.strip()


def _write_corpus(folder: Path) -> None:
    """Write the valid files in a child: threads that a library starts do not survive a fork."""
    child = os.fork()
    if child == 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name, (path, use) in _valid_files(folder).items():
                    answer = _answer(path, use)
                    if answer:
                        print(f"the valid file of {name} is not read: {answer}", file=sys.stderr)
                        os._exit(1)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("The valid files could not be written and read.")


def main(
    seed: int = 0,
    count: int | None = 1000,
    seconds: float | None = None,
    *,
    first: int = 0,
    only: str = "",
    keep: Path | None = None,
) -> list[Failure]:
    """Run `count` cases, or as many of them as `seconds` allow; return those that failed.

    A new process does it: where libraries have started threads, as they may have in this one, children would hang.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_search, seed, count, seconds, first, only, keep).result()


def _search(
    seed: int, count: int | None, seconds: float | None, first: int, only: str, keep: Path | None
) -> list[Failure]:
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="coview-fuzz-") as name:
        folder = Path(name)
        (folder / "valid").mkdir()
        _write_corpus(folder / "valid")
        readers = {
            reader: (path, use) for reader, (path, use) in _planned(folder / "valid").items() if reader.startswith(only)
        }
        for case in case_numbers(count, seconds, first):
            rng = random.Random(f"{seed} {case}")
            reader = rng.choice(sorted(readers))
            source, use = readers[reader]
            target = folder / "case" / source.name
            target.parent.mkdir()
            _make_case(source, target, rng)
            what = _run(target, use)
            if what:
                failures.append(Failure(reader, seed, case, what))
                if keep is not None:
                    _keep(target, keep / f"{seed}-{case}-{source.name}")
            shutil.rmtree(target.parent)
    return failures


def _planned(folder: Path) -> dict[str, tuple[Path, Callable[[Path], None]]]:
    """The valid files as they were written, without writing them again."""
    files = {}
    for path in sorted(folder.iterdir()):
        (file,) = path.iterdir()
        kind = path.name.split()[0]
        uses = {"table": _use_table, "stream": _use_stream, "lines": _use_lines, "ontology": _use_ontology}
        files[path.name] = file, uses.get(kind, _use_views)
    return files


def _keep(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


if __name__ == "__main__":
    parser = options_of("readers", __doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", default="", help="readers whose names begin so")
    parser.add_argument("--keep", type=Path, help="a folder for the files that fail")
    chosen = parser.parse_args()
    sys.exit(tell(_search(chosen.seed, how_many(chosen), chosen.seconds, chosen.first, chosen.only, chosen.keep)))
