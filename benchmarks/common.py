"""What every benchmark shares: text-like data, timing by differences, peak memory, tables and plots."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

sys.path.append(str(Path(__file__).parents[1] / "reproductions"))  # `corpora` is there: import this module before it

RESULTS = Path(__file__).parent / "results"
SIZES = {  # objects, features, tokens per object
    "newsgroups": (18_846, 60_000, 190),
    "large": (200_000, 100_000, 185),
    "gpu": (200_000, 100_000, 157),  # 25.8 million non-zeros
    "disk": (1_000_000, 50_000, 185),  # 145 million non-zeros, 1.2 GB
}


def text_like(size: str, dtype: Any = np.float32, seed: int = 0) -> sparse.csr_array:
    """Counts as of text: word frequencies by Zipf's law, half of each object's words from one of 64 subjects."""
    X = sparse.vstack(list(text_parts(size, dtype, seed)), format="csr")
    X.sum_duplicates()
    return X


def text_parts(size: str, dtype: Any = np.float32, seed: int = 0) -> Iterator[sparse.csr_array]:
    """The same, 20,000 rows at a time."""
    n, m, length = SIZES[size]
    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(1.0 / np.arange(1, m + 1))
    cumulated /= cumulated[-1]
    subjects = np.array([rng.permutation(m) for _ in range(64)], dtype=np.int32)
    common = rng.permutation(m).astype(np.int32)
    for start in range(0, n, 20_000):
        rows = min(20_000, n - start)
        rank = np.searchsorted(cumulated, rng.random(rows * length)).astype(np.int32)
        own = np.repeat(rng.integers(0, 64, rows), length)
        word = np.where(rng.random(rows * length) < 0.5, common[rank], subjects[own, rank])
        of = np.repeat(np.arange(rows, dtype=np.int32), length)
        part = sparse.csr_array((np.ones(len(word), dtype=dtype), (of, word)), shape=(rows, m))
        part.sum_duplicates()
        yield part


def stored(size: str, folder: str) -> sparse.csr_array:
    """`text_like` data, made once per folder and read back: who reads it holds no leftovers of the making."""
    path = Path(folder) / f"{size}.npz"
    if not path.exists():
        sparse.save_npz(path, text_like(size), compressed=False)
    return sparse.load_npz(path)


def start(X: Any, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One random start for every method: mixtures (objects x topics) and topics (topics x features)."""
    rng = np.random.default_rng(seed)
    doc, topics = rng.random((X.shape[0], k), dtype=np.float32), rng.random((k, X.shape[1]), dtype=np.float32)
    return doc / doc.sum(axis=1, keepdims=True), topics / topics.sum(axis=1, keepdims=True)


Clock = Callable[[], float]


def seconds(call: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    begun = clock()
    call()
    return clock() - begun


def per_sweep(fit: Callable[[int], Any], sweeps: int, repeats: int, clock: Clock = time.process_time) -> list[float]:
    """Seconds per sweep: the difference between fits of 1 + sweeps and of 1 sweep, so that set-up cancels.

    By default those of the processor, which other programs change little; for one thread only.
    """
    return [(seconds(lambda: fit(1 + sweeps), clock) - seconds(lambda: fit(1), clock)) / sweeps for _ in range(repeats)]


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(call: Callable[[], Any]) -> int:
    """Bytes by which resident memory rose above where it stood before the call, at the highest point (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise OSError(f"{name} is not in /proc/self/status; peak memory is measured on Linux only.")


def in_process(script: str, *words: str, threads: int = 1) -> dict[str, Any]:
    """Run `python script words...` on its own with so many threads; its last line is JSON."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = {**os.environ, **dict.fromkeys(names, str(threads))}
    run = subprocess.run([sys.executable, script, *words], env=env, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{script} {' '.join(words)} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def machine() -> dict[str, Any]:
    import numba
    import scipy
    import sklearn

    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    return {
        "date": date.today().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
    }


def median(values: list[float]) -> float:
    return float(statistics.median(values))


def write(name: str, title: str, head: list[str], rows: list[list[Any]], notes: list[str]) -> None:
    """Write results/name.json and a Markdown table beside it."""
    write_parts(name, [part(title, head, rows, notes)])


def part(
    title: str, head: list[str], rows: list[list[Any]], notes: list[str], about: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A table as it is stored, measured here and now or as `about` says (empty: nothing was measured)."""
    told = {"machine": machine() if about is None else about} if about != {} else {}
    return {"title": title, **told, "columns": head, "rows": rows, "notes": notes}


def write_parts(name: str, parts: list[dict[str, Any]]) -> None:
    """Write several tables to results/name.json, the others under "more" of the first, and Markdown beside it."""
    RESULTS.mkdir(exist_ok=True)
    first, *more = parts
    stored = {**first, "more": more} if more else first
    (RESULTS / f"{name}.json").write_text(json.dumps(stored, indent=1) + "\n")
    lines: list[str] = []
    for level, table in zip(["#", *["##"] * len(more)], parts):
        lines += [f"{level} {table['title']}", ""]
        if "machine" in table:
            where = ", ".join(f"{key} {value}" for key, value in table["machine"].items())
            lines += [f"Measured: {where}.", ""]
        lines += ["| " + " | ".join(table["columns"]) + " |", "|" + "---|" * len(table["columns"])]
        lines += ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in table["rows"]]
        lines += ["", *(f"- {note}" for note in table["notes"]), ""]
    (RESULTS / f"{name}.md").write_text("\n".join(lines))
    print("\n".join(lines))


def _shown(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
