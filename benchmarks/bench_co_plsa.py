"""How far below its optimum co-regularized PLSA leaves an object, by a general convex solver; and what a fit takes.

python benchmarks/bench_co_plsa.py [--quick]

The objects are those of the tests (`tests/plsa/co_plsa_oracle.py`), other ones and more of them: 1,000 per divergence.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, seconds, write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plsa"))

SEED = 2016  # the tests have another
BAR = 1e-4
REPEATS = 3


def measure(divergence: str, objects: int) -> dict[str, Any]:
    """Shortfalls of new objects, and seconds of 50 sweeps and of fold-in of 2,000 objects."""
    import co_plsa_oracle as oracle

    from coview import CoPLSA
    from coview.datasets import make_topic_views

    below = np.concatenate([oracle.shortfalls(case) for case in oracle.cases(divergence, objects, SEED)])
    X = make_topic_views(2000, {"words": 2000, "image": 500}, 20, length=100, mixing=0.5, random_state=0).views
    model = CoPLSA(30, divergence=divergence, coupling=0.1, random_state=0, max_iter=50, tol=0, n_jobs=1)
    CoPLSA(30, divergence=divergence, random_state=0, max_iter=1).fit(X[:20]).transform(X[:20])
    return {
        "objects": len(below),
        "short": int((below > BAR).sum()),
        "largest": float(below.max()),
        "fit": [seconds(lambda: model.fit(X), time.process_time) for _ in range(REPEATS)],
        "fold_in": [seconds(lambda: model.transform(X), time.process_time) for _ in range(REPEATS)],
    }


def main(quick: bool) -> None:
    rows: list[list[Any]] = []
    for divergence in ("skl", "l2", "l1"):
        found = in_process(str(Path(__file__)), divergence, "100" if quick else "1000")
        share = f"{100 * found['short'] / found['objects']:.2f} %"
        rows.append(
            [divergence, found["objects"], share, found["largest"], median(found["fit"]), median(found["fold_in"])]
        )
        print(rows[-1], flush=True)
    write(
        "co_plsa_quick" if quick else "co_plsa",
        "Co-regularized PLSA: new objects beside their optimum",
        ["divergence", "objects", f"more than {BAR:g} below", "farthest below", "fit, s", "fold-in, s"],
        rows,
        [
            "Objects with two or three views of 3 to 14 features, a quarter of the views missing; 2 to 6 topics at "
            "random, couplings from .03 to 3.",
            "The optimum is the best that SLSQP of scipy finds from an even mixture and from coview's own (L1 with a "
            "bound on each difference, which makes it smooth).",
            "Fit and fold-in: 2,000 objects, two views of 2,000 and 500 features, 100 tokens each, 30 topics, coupling "
            ".1; 50 sweeps; medians of three, one thread, seconds of the processor.",
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("skl", "l2", "l1"):
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main("--quick" in sys.argv)
