"""How well views are clustered: coview beside scikit-learn, mvlearn, polyview, imml and cca-zoo.

python benchmarks/bench_field.py [--minutes=N] [--only=WORD,...] [--peers=FOLDER]    measures what is missing yet
python benchmarks/bench_field.py whole [--minutes=N] [--peers=FOLDER]                measures peers on whole sets
python benchmarks/bench_field.py table                                               writes the tables of what there is

FOLDER holds what of the peers installs without their requirements (`pip install --no-deps --target FOLDER mvlearn
polyview imml cca-zoo tensorly control cvxpy networkx h5py`). A cell is one fit: a data set, a method, a seed. Finished
cells are kept in the folder that the variable COVIEW_BENCH names, by default one for temporary files; a run stops
after N minutes and the next one goes on. --only keeps cells that have all of the words in their names. The data sets
and the methods are in `field_methods.py`. Where the cells are gone, the table that is stored stays.

Whole sets, beside published figures, are in `field_whole.py`; what is measured on them is stored with the results.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import field_whole
import numpy as np
from common import RESULTS, median, part, write_parts
from field_methods import AUTO, DATA, METHODS, MOST_COLUMNS, MOST_ROWS, load

LIMIT, SEEDS = 60, 3
SLOW = 3  # seconds of a fit from which one seed must do
ONCE = {"Agglomerative"}  # no seed changes it
SYNTHETIC = (
    "Synthetic sets are drawn by coview's own generators: they show that the methods work, not who is ahead, and are "
    "not counted below."
)
PEERS = [library for library in METHODS if library != "coview"]


def scores(y: np.ndarray, labels: np.ndarray) -> list[float]:
    from coview.metrics import clustering_accuracy, normalized_mutual_info

    return [float(normalized_mutual_info(y, labels)), float(clustering_accuracy(y, labels))]


def one(data: str, method: Callable[..., Any], seed: int, *, whole: bool = False) -> dict[str, Any]:
    """Fit, at most for LIMIT seconds of the processor; why not, where it fails."""
    given, ready, y = field_whole.load(data) if whole else load(data)[:3]

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {LIMIT} s")

    signal.signal(signal.SIGPROF, late)
    clock = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method(given, ready, int(y.max()) + 1, seed)
    except Exception as error:  # whatever a peer raises is what the cell says
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"failed": f"{type(error).__name__}: {error}"[:200]}
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"scores": scores(y, found), "seconds": round(time.process_time() - clock, 2)}


def measure(minutes: float, only: list[str]) -> bool:
    """Fit what is missing, cheap data first; False where time was up. What failed is not asked for again."""
    known, until = cells(), time.time() + 60 * minutes
    for data in DATA:
        if not all(word in data for word in only if word in " ".join(DATA)):
            continue
        names = list(load(data)[0])
        for library, methods in METHODS.items():
            try:
                todo = list(methods(names))
            except ImportError as error:
                print(library, "is not at hand:", error, flush=True)
                continue
            for name, method in todo:
                for seed in range(1 if name.split(" of ")[0] in ONCE else SEEDS):
                    key = f"{data} | {library} | {name} | {seed}"
                    before = [known.get(f"{data} | {library} | {name} | {s}", {}) for s in range(seed)]
                    gave_up = any("failed" in cell or cell.get("seconds", 0) > SLOW for cell in before)
                    if key in known or gave_up or not all(word in key for word in only):
                        continue
                    if time.time() > until:
                        print("stopped for now; call again to go on", flush=True)
                        return False
                    known[key] = one(data, method, seed)
                    with _stored().open("a") as file:
                        file.write(json.dumps({"key": key, **known[key]}) + "\n")
                    print(key, known[key], flush=True)
    print("complete", flush=True)
    return True


def cells() -> dict[str, dict[str, Any]]:
    if not _stored().exists():
        return {}
    return {cell.pop("key"): cell for cell in map(json.loads, _stored().read_text().splitlines())}


def _stored() -> Path:
    folder = Path(os.environ.get("COVIEW_BENCH", Path(tempfile.gettempdir()) / "coview_bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "field_cells.jsonl"


# -- table


def medians(known: dict[str, dict[str, Any]], data: str, library: str) -> dict[str, tuple[float, float]]:
    """Median NMI and ACC over the seeds of each method that never failed."""
    seen: dict[str, list[Any]] = {}
    for key, cell in known.items():
        where, whose, name, _ = key.split(" | ")
        if (where, whose) == (data, library):
            seen.setdefault(name, []).append(cell.get("scores"))
    return {
        name: (median([s[0] for s in found]), median([s[1] for s in found]))
        for name, found in seen.items()
        if all(found)
    }


def best(found: dict[str, tuple[float, float]], by: int) -> tuple[str, float]:
    name = max(found, key=lambda name: found[name][by], default="")
    return name, found[name][by] if name else float("nan")


def line(known: dict[str, dict[str, Any]], data: str) -> dict[str, Any]:
    """What the table says about one data set."""
    found = {library: medians(known, data, library) for library in METHODS}
    auto = found["coview"].get(AUTO, (float("nan"), float("nan")))
    return {
        "nmi": {library: best(part, 0) for library, part in found.items()},
        "acc": {library: best(part, 1) for library, part in found.items()},
        "auto": auto,
    }


def table(quick: bool) -> None:
    known = {key: cell for key, cell in cells().items() if not quick or key.startswith("wine |")}
    ends = (AUTO, "SphericalKMeans")  # coview comes last: where these are there, the others are
    whole = [data for data in DATA if all(f"{data} | coview | {name} | 0" in known for name in ends)]
    lines = {data: line(known, data) for data in whole}
    rows: list[list[Any]] = []
    for data, said in lines.items():
        _, _, y, n = load(data)
        size = f"{len(y)}" if n == len(y) else f"{len(y)} of {n}"
        shown = [_shown(said, library) for library in (*PEERS, "coview")]
        auto = f"{said['auto'][0]:.3f} / {said['auto'][1]:.3f}"
        rows.append([data, size, int(y.max()) + 1, *shown, auto])
    head = ["data", "objects", "classes", *PEERS, "coview, best", "coview, auto"]
    name = "field_quick" if quick else "field"
    if rows:
        first = part("Clustering: how well, beside the field", head, rows, _notes(known, lines))
    else:
        first = {
            key: value for key, value in json.loads((RESULTS / f"{name}.json").read_text()).items() if key != "more"
        }
    write_parts(name, [first, *([] if quick else field_whole.parts())])


def _shown(said: dict[str, Any], library: str) -> str:
    name, nmi = said["nmi"][library]
    accurate, acc = said["acc"][library]
    if not name:
        return ""
    return f"{nmi:.3f} / {acc:.3f} ({name}{'' if accurate == name else '; ' + accurate})"


def _count(lines: dict[str, Any], ours: Callable[[Any], float], theirs: Callable[[Any], float]) -> str:
    """How often ours is ahead, level (within .005) and behind, and where it is behind."""
    gaps = {data: ours(said) - theirs(said) for data, said in lines.items() if "synthetic" not in data}
    ahead = sum(gap > 0.005 for gap in gaps.values())
    behind = [f"{data} by {-gap:.3f}" for data, gap in gaps.items() if gap < -0.005]
    level = len(gaps) - ahead - len(behind)
    where = f" ({'; '.join(behind)})" if behind else ""
    return f"ahead on {ahead}, level within .005 on {level}, behind on {len(behind)} of {len(gaps)}{where}"


def _notes(known: dict[str, dict[str, Any]], lines: dict[str, Any]) -> list[str]:
    def field(by: str) -> Callable[[Any], float]:
        return lambda said: float(np.nanmax([said[by][library][1] for library in PEERS]))

    failed: dict[str, set[str]] = {}
    for key, cell in known.items():
        if "failed" in cell:
            data, library, name, _ = key.split(" | ")
            failed.setdefault(
                f"{library} {name.split(' of ')[0]}: {cell['failed'].splitlines()[0].split('(')[0][:90]}", set()
            ).add(data)
    reasons = "; ".join(f"{what} ({len(where)} sets)" for what, where in sorted(failed.items()))
    return [
        f"NMI / ACC (best matching of clusters and classes); medians of {SEEDS} seeds (one for most fits of more than "
        f"{SLOW} s), k = number of classes, at most {LIMIT} s of the processor a fit. The method with the best NMI is "
        "named, and the one with the best ACC after it where it is another. At most "
        f"{MOST_ROWS} objects, drawn at random, and the {MOST_COLUMNS} most frequent columns of a view, for all.",
        "'Best' is picked with the labels, for every library alike, and so it is better than what anybody gets who has "
        "none; a library with more methods has more to pick from. 'auto' is one method, which uses no labels; it is "
        "among those that coview's best is picked from. All methods have fixed settings, mostly defaults.",
        *([SYNTHETIC] if any("synthetic" in data for data in lines) else []),
        f"Best of coview against the best of all others, NMI: {_count(lines, _best('nmi'), field('nmi'))}.",
        f"The same, ACC: {_count(lines, _best('acc'), field('acc'))}.",
        "coview's auto, without labels, against the best of all others, with labels, NMI: "
        f"{_count(lines, lambda said: said['auto'][0], field('nmi'))}.",
        f"Left out where they failed: {reasons or 'none'}.",
        "Not compared: of imml what runs in Octave or R only, deep networks, MLMF (its Python form ended in NaN on the "
        "first three sets), MONET (no number of clusters) and SUMO (a minute for 178 objects); of mvlearn what is "
        "not its clustering. cca-zoo has no clusterer: its scores are averaged over the views and go to k-means.",
    ]


def _best(by: str) -> Callable[[Any], float]:
    return lambda said: said[by]["coview"][1]


if __name__ == "__main__":
    options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
    words = [word for word in options.get("only", "").split(",") if word]
    quick = "--quick" in sys.argv
    if "peers" in options:
        sys.path.append(options["peers"])
    minutes = float(options.get("minutes", "600"))
    if "whole" in sys.argv:
        complete = field_whole.measure(partial(one, whole=True), minutes, words)
    else:
        complete = "table" in sys.argv or measure(minutes, ["wine"] if quick else words)
    if complete and not words:
        table(quick)
