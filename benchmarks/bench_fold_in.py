"""Mixtures of new objects: `PLSA.transform` against scikit-learn's NMF (mu, KL) and LDA, of the same rows.

python benchmarks/bench_fold_in.py            table under results/
python benchmarks/bench_fold_in.py one K DIR  one measurement as JSON (called by the above in its own process)

All three have fitted 4,000 other rows. PLSA stops an object once no share moves by more than 1e-5, NMF and LDA by
their own defaults, so that the time is that of what a user gets, and the likelihood of the rows stands beside it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from typing import Any

import numpy as np
from common import in_process, median, seconds, stored, write

FITTED, NEW, SINGLES, REPEATS = 4000, 2000, 20, 3


def one(X: Any, k: int) -> dict[str, Any]:
    """Processor seconds of 2,000 rows, and of a row alone, by each of the three; bits per token of the rows."""
    from sklearn.decomposition import NMF, LatentDirichletAllocation

    from coview import PLSA

    warnings.simplefilter("ignore")
    X = X.astype(np.float32)
    old, new = X[:FITTED], X[FITTED : FITTED + NEW]
    models = {
        "PLSA": PLSA(k, random_state=0, n_jobs=1, max_iter=30).fit(old),
        "NMF mu/KL": NMF(k, solver="mu", beta_loss="kullback-leibler", init="nndsvda", max_iter=30, random_state=0),
        "LDA": LatentDirichletAllocation(k, learning_method="batch", max_iter=5, random_state=0),
    }
    found: dict[str, Any] = {}
    for name, model in models.items():
        if name != "PLSA":
            model.fit(old)
            model.set_params(max_iter=200)
        model.transform(new[:10])
        rows = [new[[i]] for i in range(SINGLES)]
        found[name] = {
            "all": [seconds(lambda m=model: m.transform(new), time.process_time) for _ in range(REPEATS)],
            "single": [seconds(lambda m=model, r=row: m.transform(r), time.process_time) for row in rows],
            "bits": _bits(new, np.asarray(model.transform(new)), model),
        }
    return found


def _bits(new: Any, mixtures: np.ndarray, model: Any) -> float:
    """Bits per token, by shares of the topics and of the words in them."""
    topics = model.topic_feature_ if hasattr(model, "topic_feature_") else model.components_
    topics = np.asarray(next(iter(topics.values())) if isinstance(topics, dict) else topics, dtype=np.float64)
    mass = topics.sum(axis=1)
    shares = (
        mixtures * mass if not np.allclose(mass, 1, atol=1e-3) and not hasattr(model, "doc_topic_prior") else mixtures
    )
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-30)
    topics = topics / mass[:, None]
    total = 0.0
    for i in range(new.shape[0]):
        columns = new.indices[new.indptr[i] : new.indptr[i + 1]]
        values = new.data[new.indptr[i] : new.indptr[i + 1]]
        total -= float(values @ np.log2(np.maximum(shares[i] @ topics[:, columns], 1e-12)))
    return total / float(new.sum())


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        stored("newsgroups", folder)
        for k in (10, 20, 64):
            found = in_process(__file__, "one", str(k), folder)
            ours = found["PLSA"]
            for peer in ("NMF mu/KL", "LDA"):
                theirs = found[peer]
                for what, label in (("all", f"{NEW:,} rows"), ("single", "one row")):
                    mine, other = median(ours[what]), median(theirs[what])
                    rows.append([label, k, peer, 1000 * mine, 1000 * other, other / mine, ours["bits"], theirs["bits"]])
    head = ["new objects", "K", "peer", "ms", "peer's ms", "ratio", "bits per token", "peer's bits"]
    notes = [
        "Text-like rows of 190 tokens over 60,000 features, float32, one thread, processor time; medians of 3, of 20 "
        "for one row. Models of 4,000 other rows.",
        "Bits per token of the new rows by their mixtures, each with its own topics: lower is better.",
    ]
    write("fold_in", "Mixtures of new objects beside scikit-learn", head, rows, notes)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "one":
        print(json.dumps(one(stored("newsgroups", sys.argv[3]), int(sys.argv[2]))))
    else:
        main()
