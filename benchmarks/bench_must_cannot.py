"""What ten pairs of objects, said to belong together or apart, do for the clusters of `AutoClustering`.

    python benchmarks/bench_must_cannot.py [set ...]

The pairs are the most disputed ones (`disputed_pairs_`), answered by the classes. "kept": pairs are kept, and nothing
else is changed (`edit(model)`). "ten", "thirty": votes are weighed by so many pairs, as a refit does. "parts": as a
bound, twice as many parts, each put where most of its objects belong. Normalized mutual information, means of three
seeds; how votes are weighed was settled on Cora, emoji and speeches.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from auto_check import emoji, passages
from bench_auto import of, some
from corpora import (
    load_citeseer,
    load_cora,
    load_mfeat,
    load_newsgroups_views,
    load_reuters_multilingual,
    load_webkb,
    load_wikipedia_retrieval,
)

from coview import AutoClustering, edit
from coview.assignment.pairs import weigh_votes
from coview.auto import clustering
from coview.clustering.vote_counting import count_votes
from coview.metrics import normalized_mutual_info

SETS = {
    "Cora": lambda: of(load_cora()),
    "emoji in five languages": lambda: emoji(0),
    "passages of speeches": lambda: passages(0),
    "CiteSeer": lambda: of(load_citeseer()),
    "Wikipedia, text and image": lambda: of(load_wikipedia_retrieval()),
    "20 Newsgroups": lambda: some(load_newsgroups_views("posts"), 1500),
    "mfeat": lambda: of(load_mfeat()),
    "WebKB": lambda: of(load_webkb("cornell", task="classes")),
    "Reuters": lambda: of(load_reuters_multilingual()),
}
N_OBJECTS, SEEDS = 1500, 3


def catch_votes(model, X):
    """Return the fitted model and the clusterings that it counted last."""
    votes, count = [], clustering.count_votes
    clustering.count_votes = lambda *args: (votes.append(args[0]), count(*args))[1]
    try:
        return model.fit(X), votes[-1]
    finally:
        clustering.count_votes = count


def measure(X, y, seed):
    """Return the figures of one seed."""
    k = int(y.max() + 1)
    model, votes = catch_votes(AutoClustering(k, random_state=seed), X)
    pairs = model.disputed_pairs_
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    edited = edit(model)
    for pair, same in zip(pairs[:10], together):
        edited.apply("together" if same else "apart", objects=pair if X.ids is None else X.ids[pair])
    own = count_votes(votes, 2 * k, seed).argmax(axis=1)
    most = np.array([np.bincount(y[own == part], minlength=k).argmax() for part in range(2 * k)])
    weighed = [count_votes(weigh_votes(votes, pairs[:n], together[:n]), k, seed).argmax(axis=1) for n in (10, 30)]
    return [float(normalized_mutual_info(y, each)) for each in (model.labels_, edited.labels_, *weighed, most[own])]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("| data | clusters | kept | ten | thirty | parts |\n|---|---|---|---|---|---|")
    for name in sys.argv[1:] or SETS:
        X, y = SETS[name]()
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:N_OBJECTS])
        X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
        found = np.mean([measure(X, y, seed) for seed in range(SEEDS)], axis=0)
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in found)} |", flush=True)
