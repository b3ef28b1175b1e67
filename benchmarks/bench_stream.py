"""Online learning: examples per second against scikit-learn and river, and a long file in constant memory.

python benchmarks/bench_stream.py [--quick]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, seconds, write
from scipy import sparse

REPEATS = 5
FEATURES, PER_ROW = 20_000, 50
SIZES = {"quick": (100_000, 1_000_000), "full": (1_000_000, 10_000_000)}  # rows in memory, rows in the file


def make_view(n: int, labels: np.ndarray, own: float, seed: int) -> sparse.csr_array:
    """Fifty features a row: a share `own` of them from the half of the columns that belongs to its class."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, FEATURES, (n, PER_ROW), dtype=np.int32)
    half = FEATURES // 2
    moved = rng.random((n, PER_ROW)) < own
    columns = np.where(moved, columns % half + half * labels[:, None].astype(np.int32), columns)
    matrix = sparse.csr_array(
        (np.full(n * PER_ROW, PER_ROW**-0.5), columns.ravel(), np.arange(n + 1, dtype=np.int32) * PER_ROW),
        shape=(n, FEATURES),
    )
    matrix.sum_duplicates()
    return matrix


def make_stream(n: int, own: float) -> tuple[Any, np.ndarray]:
    from coview import Views

    labels = np.random.default_rng(0).integers(0, 2, n)
    return Views(a=make_view(n, labels, own, 1), b=make_view(n, labels, own, 2)), labels


def fit(n: int, own: float) -> dict[str, Any]:
    """Seconds of one pass over n rows, rows as they come and shuffled."""
    from coview import MultiViewPassiveAggressiveClassifier as Model

    X, y = make_stream(n, own)
    Model().fit(X[:100], y[:100])
    found: dict[str, Any] = {"plain": [], "shuffled": []}
    for _ in range(REPEATS):
        found["plain"].append(seconds(lambda: Model(shuffle=False).fit(X, y)))
        found["shuffled"].append(seconds(lambda: Model(random_state=0).fit(X, y)))
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

    settings = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 0.1, "fit_intercept": False}
    pairs = [
        (seconds(lambda: run(Model(), ours)), seconds(lambda: run(SGDClassifier(**settings), theirs))) for _ in range(3)
    ]
    return {"ours": [a for a, _ in pairs], "theirs": [b for _, b in pairs], "rows": len(y)}


def one_by_one(n: int, own: float) -> dict[str, Any]:
    """Seconds for 2,000 rows: by river's PAClassifier, by our adapter, and by the kernel that learns row after row."""
    from coview import MultiViewPassiveAggressiveClassifier as Model
    from coview import to_river

    X, y = make_stream(2000, own)
    views = [
        {
            name: {f"{name}{c}": v for c, v in zip(m[[i]].indices.tolist(), m[[i]].data.tolist())}
            for name, m in X.items()
        }
        for i in range(2000)
    ]
    flat = [{feature: value for part in row.values() for feature, value in part.items()} for row in views]
    labels = [bool(label) for label in y]
    Model().predict_then_learn(X[:10], y[:10])
    found: dict[str, Any] = {"kernel": [], "adapter": [], "river": []}

    def run(model: Any, rows: Any) -> None:
        for row, label in zip(rows, labels):
            model.predict_one(row)
            model.learn_one(row, label)

    try:
        from river.linear_model import PAClassifier
    except ImportError:
        PAClassifier = None
    for _ in range(3):
        found["kernel"].append(seconds(lambda: Model().predict_then_learn(X, y, classes=[0, 1])))
        found["adapter"].append(seconds(lambda: run(to_river(Model(), views=["a", "b"]), views)))
        if PAClassifier is not None:
            found["river"].append(seconds(lambda: run(PAClassifier(C=0.1, mode=1), flat)))
    return found


def file(n: int, own: float) -> dict[str, Any]:
    """Stream a file of n short rows (two views of five features) and watch the memory."""
    from coview import MultiViewPassiveAggressiveClassifier as Model
    from coview import evaluate_stream, read_stream

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.svmlight"
        with open(path, "w") as out:
            for start in range(0, n, 100_000):
                rows = min(100_000, n - start)
                labels = rng.integers(0, 2, rows)
                columns = np.sort(rng.integers(0, 500, (rows, 10)) + 500 * (np.arange(10) >= 5), axis=1)
                columns[:, [0, 5]] = np.column_stack([labels, 500 + labels])
                columns.sort(axis=1)
                for label, row in zip(labels.tolist(), columns.tolist()):
                    out.write(f"{label} " + " ".join(f"{c}:1" for c in sorted(set(row))) + "\n")
        size = path.stat().st_size
        memory: list[int] = []

        def watch(line: dict[str, float]) -> None:
            memory.append(_resident())

        clock = time.perf_counter()
        batches = read_stream(path, views={"a": 500, "b": 500}, batch_size=10_000)
        result = evaluate_stream(Model(), batches, every=max(n // 20, 1), watch=watch)
        spent = time.perf_counter() - clock
    return {
        "seconds": spent,
        "rows": int(result.final["rounds"]),
        "bytes": size,
        "first": memory[0],
        "last": memory[-1],
        "accuracy": result.final["accuracy"],
    }


def _resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise OSError("VmRSS is not in /proc/self/status; memory is measured on Linux only.")


def main(quick: bool) -> None:
    here = str(Path(__file__))
    n, long = SIZES["quick" if quick else "full"]
    rows: list[list[Any]] = []
    for name, own in (("easy", "0.6"), ("hard", "0.0")):
        found = in_process(here, "fit", str(n), own)
        for order in ("plain", "shuffled"):
            rate = n / median(found[order])
            what = f"fit, {name} ({100 * found['moved']:.0f} % of rounds move weights), rows {order}"
            rows.append([what, f"{rate / 1e6:.2f} million/s", "-", "-", "-"])
        found = in_process(here, "batches", str(n), own)
        ours, theirs = (found["rows"] / median(found[key]) for key in ("ours", "theirs"))
        rows.append(
            [
                f"partial_fit, batches of 1,000, {name}",
                f"{ours / 1e6:.2f} million/s",
                "SGDClassifier, learning_rate='pa1'",
                f"{theirs / 1e6:.3f} million/s",
                ours / theirs,
            ]
        )
        found = in_process(here, "one_by_one", str(n), own)
        for key, what in (("kernel", "predict_then_learn, one batch"), ("adapter", "to_river, object by object")):
            ours = 2000 / median(found[key])
            theirs = 2000 / median(found["river"]) if found["river"] else None
            peer = f"{theirs:,.0f}/s" if theirs else "not installed"
            rows.append(
                [f"{what}, {name}", f"{ours:,.0f}/s", "river PAClassifier", peer, ours / theirs if theirs else "-"]
            )
        print(rows[-5:], flush=True)
    found = in_process(here, "file", str(long), "0")
    what = f"a file of {found['rows']:,} rows ({found['bytes'] / 1e6:.0f} MB), predicted and learned"
    rows.append([what, f"{found['rows'] / found['seconds']:,.0f} rows/s", "-", "-", "-"])
    grown = f"{found['first'] / 1e6:.0f} MB after 5 %, {found['last'] / 1e6:.0f} MB at the end"
    rows.append(["resident memory on the way", grown, "-", "-", "-"])
    notes = [
        f"Two views of {FEATURES:,} features, {PER_ROW} non-zeros a row, two classes, float64, one thread; medians.",
        "river learns single objects of named features; predict_then_learn does the same to rows of a matrix, and "
        "to_river to named features.",
    ]
    name = "stream_quick" if quick else "stream"
    write(name, "Online learning from streams", ["what", "coview", "peer", "peer's", "coview / peer"], rows, notes)


if __name__ == "__main__":
    jobs = {"fit": fit, "batches": batches, "one_by_one": one_by_one, "file": file}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](int(sys.argv[2]), float(sys.argv[3]))))
    else:
        main("--quick" in sys.argv)
