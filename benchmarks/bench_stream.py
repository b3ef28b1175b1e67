"""Online learning: examples per second against scikit-learn and river, and a long file in constant memory.

python benchmarks/bench_stream.py [speed | file | parse] [--quick]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import _status, in_process, median, write
from scipy import sparse

REPEATS = 5
SINGLES = 4000
FEATURES, PER_ROW = 20_000, 50
SIZES = {"quick": (100_000, 1_000_000), "full": (100_000, 10_000_000)}  # rows in memory, rows in the file
PEER = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 0.1, "fit_intercept": False}


def seconds(call: Callable[[], Any]) -> float:
    """Seconds of the processor: all that is measured here has one thread."""
    clock = time.process_time()
    call()
    return time.process_time() - clock


def make_view(n: int, labels: np.ndarray, own: float, seed: int, dtype: Any = np.float64) -> sparse.csr_array:
    """Fifty features a row: a share `own` of them from the half of the columns that belongs to its class."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, FEATURES, (n, PER_ROW), dtype=np.int32)
    half = FEATURES // 2
    moved = rng.random((n, PER_ROW)) < own
    columns = np.where(moved, columns % half + half * labels[:, None].astype(np.int32), columns)
    matrix = sparse.csr_array(
        (np.full(n * PER_ROW, PER_ROW**-0.5, dtype=dtype), columns.ravel(), np.arange(n + 1, dtype=np.int32) * PER_ROW),
        shape=(n, FEATURES),
    )
    matrix.sum_duplicates()
    return matrix


def make_stream(n: int, own: float, dtype: Any = np.float64) -> tuple[Any, np.ndarray]:
    from coview import Views

    labels = np.random.default_rng(0).integers(0, 2, n)
    return Views(a=make_view(n, labels, own, 1, dtype), b=make_view(n, labels, own, 2, dtype)), labels


def fit(n: int, own: float) -> dict[str, Any]:
    """Seconds of one pass over n rows, in turn: ours and scikit-learn's on the columns of both views."""
    from sklearn.linear_model import SGDClassifier

    from coview import MultiViewPassiveAggressiveClassifier as Model

    warnings.simplefilter("ignore")
    X, y = make_stream(n, own)
    single = X.map(lambda matrix: matrix.astype(np.float32))
    glued = sparse.csr_matrix(X.hstack())
    Model().fit(X[:100], y[:100])
    Model().fit(single[:100], y[:100])
    found: dict[str, Any] = {"plain": [], "shuffled": [], "single": [], "peer plain": [], "peer shuffled": []}
    for _ in range(REPEATS):
        for name, shuffle in (("plain", False), ("shuffled", True)):
            found[name].append(seconds(lambda s=shuffle: Model(shuffle=s, random_state=0).fit(X, y)))
            peer = SGDClassifier(**PEER, max_iter=1, tol=None, shuffle=shuffle, random_state=0)
            found[f"peer {name}"].append(seconds(lambda p=peer: p.fit(glued, y)))
        found["single"].append(seconds(lambda: Model(random_state=0).fit(single, y)))
    found["moved"] = Model(shuffle=False).fit(X, y).history_["updates"][1]
    return found


def batches(n: int, own: float) -> dict[str, Any]:
    """Seconds of partial_fit in batches of 1,000, ours and scikit-learn's on the columns of both views."""
    from sklearn.linear_model import SGDClassifier

    from coview import MultiViewPassiveAggressiveClassifier as Model

    warnings.simplefilter("ignore")
    X, y = make_stream(min(n, 100_000), own)
    glued, classes = sparse.csr_matrix(X.hstack()), np.array([0, 1])
    cuts = range(0, len(y), 1000)
    ours = [(X[i : i + 1000], y[i : i + 1000]) for i in cuts]
    theirs = [(glued[i : i + 1000], y[i : i + 1000]) for i in cuts]
    Model().partial_fit(*ours[0], classes=classes)

    def run(model: Any, parts: Any) -> None:
        for part, labels in parts:
            model.partial_fit(part, labels, classes=classes)

    pairs = [
        (seconds(lambda: run(Model(), ours)), seconds(lambda: run(SGDClassifier(**PEER), theirs)))
        for _ in range(REPEATS)
    ]
    return {"ours": [a for a, _ in pairs], "theirs": [b for _, b in pairs], "rows": len(y)}


def one_by_one(n: int, own: float) -> dict[str, Any]:
    """Seconds for SINGLES rows: by river's PAClassifier, and by the kernel that learns row after row."""
    from coview import MultiViewPassiveAggressiveClassifier as Model

    X, y = make_stream(SINGLES, own)
    parts = {name: (m.indptr.tolist(), m.indices.tolist(), m.data.tolist()) for name, m in X.items()}
    flat = [
        {
            f"{name}{c}": v
            for name, (ends, columns, values) in parts.items()
            for c, v in zip(columns[ends[i] : ends[i + 1]], values[ends[i] : ends[i + 1]])
        }
        for i in range(SINGLES)
    ]
    labels = [bool(label) for label in y]
    Model().predict_then_learn(X[:10], y[:10])
    found: dict[str, Any] = {"kernel": [], "river": []}

    def run(model: Any) -> None:
        for row, label in zip(flat, labels):
            model.predict_one(row)
            model.learn_one(row, label)

    try:
        from river.linear_model import PAClassifier
    except ImportError:
        PAClassifier = None
    for _ in range(3):
        found["kernel"].append(seconds(lambda: Model().predict_then_learn(X, y, classes=[0, 1])))
        if PAClassifier is not None:
            found["river"].append(seconds(lambda: run(PAClassifier(C=0.1, mode=1))))
    return found


BLOCK = 100_000  # rows that a long file repeats


def write_rows(path: Path, n: int) -> None:
    """n short rows of svmlight, two views of at most five features: a block of rows again and again."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, BLOCK)
    columns = rng.integers(0, 500, (BLOCK, 10)) + 500 * (np.arange(10) >= 5)
    columns[:, [0, 5]] = np.column_stack([labels, 500 + labels])
    lines = (
        f"{label} " + " ".join(f"{c}:1" for c in sorted(set(row))) + "\n"
        for label, row in zip(labels.tolist(), columns.tolist())
    )
    block = "".join(lines).encode()
    with open(path, "wb") as out:
        for _ in range(n // BLOCK):
            out.write(block)


def long_file(n: int, own: float) -> dict[str, Any]:
    """Stream a file of n short rows; rows, peak memory and seconds, after each tenth of it."""
    from coview import MultiViewPassiveAggressiveClassifier as Model
    from coview import evaluate_stream, read_stream

    marks: list[tuple[int, int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.svmlight"
        write_rows(path, n)
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the writing
        clock = time.process_time()
        result = evaluate_stream(
            Model(),
            read_stream(path, views={"a": 500, "b": 500}, batch_size=10_000),
            every=n // 10,
            watch=lambda line: marks.append((int(line["rounds"]), _status("VmHWM"), time.process_time() - clock)),
        )
        size = path.stat().st_size
    return {"bytes": size, "marks": marks, "accuracy": result.final["accuracy"]}


def parse_rows(n: int, own: float) -> dict[str, Any]:
    """Seconds to parse n rows of svmlight: by the kernel, and by scikit-learn."""
    import io

    from sklearn.datasets import load_svmlight_file

    from coview.online.readers import _parse_lines

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svmlight"
        write_rows(path, n)
        text = path.read_bytes()
    _parse_lines(text)  # compiled before
    pairs = [
        (seconds(lambda: _parse_lines(text)), seconds(lambda: load_svmlight_file(io.BytesIO(text), zero_based=True)))
        for _ in range(REPEATS)
    ]
    return {"ours": [a for a, _ in pairs], "theirs": [b for _, b in pairs]}


def main_parse(quick: bool) -> None:
    """Rows of svmlight a second: why a kernel parses them."""
    found = in_process(str(Path(__file__)), "parse_rows", str(BLOCK), "0")
    rows = [_compared("svmlight, ten non-zeros a row", BLOCK, found["ours"], "load_svmlight_file", found["theirs"])]
    notes = [f"{BLOCK:,} rows from memory; medians of {REPEATS} of the processor's time, in turn."]
    head = ["what", "coview", "peer", "peer's", "coview / peer"]
    write("stream_parse", "Parsing svmlight", head, rows, notes)


def main_speed(quick: bool) -> None:
    """Examples a second, beside those of peers."""
    here = str(Path(__file__))
    n = SIZES["quick" if quick else "full"][0]
    rows: list[list[Any]] = []
    for name, own in (("easy", "0.6"), ("hard", "0.0")):
        found = in_process(here, "fit", str(n), own)
        moves = f"{name} ({100 * found['moved']:.0f} % of rounds move weights)"
        for key, what in (("plain", "rows as they come"), ("shuffled", "shuffled"), ("single", "shuffled, float32")):
            peer = found["peer plain" if key == "plain" else "peer shuffled"]
            rows.append(_compared(f"fit, {moves}, {what}", n, found[key], "SGDClassifier, pa1, one pass", peer))
        found = in_process(here, "batches", str(n), own)
        what = f"partial_fit, batches of 1,000, {name}"
        rows.append(_compared(what, found["rows"], found["ours"], "SGDClassifier, pa1, partial_fit", found["theirs"]))
        found = in_process(here, "one_by_one", str(n), own)
        what = f"predict_then_learn, rows one by one, {name}"
        rows.append(_compared(what, SINGLES, found["kernel"], "river PAClassifier", found["river"]))
        print(*rows[-5:], sep="\n", flush=True)
    notes = [
        f"Two views of {FEATURES:,} features, {PER_ROW} non-zeros a row, {n:,} rows, two classes, one thread, float64 "
        f"if not said; medians of {REPEATS} (one by one: of 3) of the processor's time, ours and the peer's in turn. "
        "SGDClassifier has float64 and the columns of both views.",
        "river learns single objects of named features; predict_then_learn does the same to rows of a matrix.",
    ]
    head = ["what", "coview", "peer", "peer's", "coview / peer"]
    write("stream_quick" if quick else "stream", "Online learning from streams", head, rows, notes)


def main_file(quick: bool) -> None:
    """A long file: rows a second and memory."""
    n = SIZES["quick" if quick else "full"][1]
    found = in_process(str(Path(__file__)), "long_file", str(n), "0")
    rows: list[list[Any]] = [
        [f"{rounds:,}", f"{peak / 2**20:.1f}", f"{rounds / spent:,.0f}"] for rounds, peak, spent in found["marks"]
    ]
    notes = [
        f"svmlight, {found['bytes'] / 1e6:,.0f} MB, two views of 500 columns, up to ten non-zeros a row, {BLOCK:,} "
        "different rows repeated; read_stream in batches of 10,000, evaluate_stream predicts each row, then learns it. "
        f"Accuracy {found['accuracy']:.4f}.",
        "Peak memory is that of the whole process, libraries included; seconds are those of the processor.",
    ]
    title = "A long file in constant memory"
    write(f"stream_file{'_quick' * quick}", title, ["rows so far", "peak memory, MiB", "rows/s so far"], rows, notes)


def _compared(what: str, n: int, ours: list[float], peer: str, theirs: list[float]) -> list[Any]:
    if not theirs:
        return [what, f"{n / median(ours):,.0f}/s", peer, "not installed", "-"]
    ratio = median([b / a for a, b in zip(ours, theirs)])
    return [what, f"{n / median(ours):,.0f}/s", peer, f"{n / median(theirs):,.0f}/s", ratio]


if __name__ == "__main__":
    jobs = {"fit": fit, "batches": batches, "one_by_one": one_by_one, "long_file": long_file, "parse_rows": parse_rows}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](int(sys.argv[2]), float(sys.argv[3]))))
    else:
        asked = [part for part in ("file", "parse", "speed") if part in sys.argv] or ["file", "parse", "speed"]
        for part in asked:
            {"speed": main_speed, "file": main_file, "parse": main_parse}[part]("--quick" in sys.argv)
