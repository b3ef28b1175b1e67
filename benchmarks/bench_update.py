"""Events of updates in simulated streams: false ones where nothing changes, and births of a topic of 2 % of the rows.

    python benchmarks/bench_update.py [number of streams]

Old rows and new rows are mixtures of six topics over two views (50 words and 6 tags of an object); of a planted topic
the first 2 % of the new rows have 85 %. Streams of real text are halves of 20 Newsgroups, with and without old rows as
a reference. Counts are streams with at least one such event.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from coview import PLSA, LinkPLSA, MultiViewPLSA, Views, update

WIDTHS, LENGTHS, N_TOPICS = {"words": 400, "tags": 60}, {"words": 50, "tags": 6}, 6
MODELS = {
    "LinkPLSA": LinkPLSA(N_TOPICS, n_init=5, max_iter=80, random_state=0),
    "PLSA": PLSA(N_TOPICS, n_init=5, max_iter=80, random_state=0),
    "MultiViewPLSA": MultiViewPLSA(N_TOPICS, 12, max_iter=60, random_state=0),
}


def draw(rng, n, topics, planted=None, share=0.0, bursty=False):
    """Return rows of the topics; of the planted one in the first rows."""
    mixtures, n_planted = rng.dirichlet(np.full(N_TOPICS, 0.2), n), round(share * n)
    views = {}
    for name, F in topics.items():
        p = mixtures @ F.T
        if planted is not None:
            p[:n_planted] = 0.85 * planted[name] + 0.15 * p[:n_planted]
        lengths = 1 + rng.poisson(LENGTHS[name], n)
        counts = np.array([rng.multinomial(m, row) for m, row in zip(lengths, p)], dtype=float)
        views[name] = counts + (rng.poisson(1.0, counts.shape) * (counts > 0) if bursty else 0)
    return Views(views)


def simulate(model, n_streams, share, bursty=False, n_new=600):
    """Return how many streams have each event."""
    events = Counter()
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        topics = {name: rng.dirichlet(np.full(width, 0.1), N_TOPICS).T for name, width in WIDTHS.items()}
        planted = {name: rng.dirichlet(np.full(width, 0.1)) for name, width in WIDTHS.items()}
        old = draw(rng, 1500, topics, bursty=bursty)
        new = draw(rng, n_new, topics, planted if share else None, share, bursty)
        events.update(set(update(model.fit(old), new, random_state=seed)["event"]) - {"kept"})
    return dict(events)


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for name, model in MODELS.items():
        for share in (0.0, 0.02):
            for bursty in (False, True):
                found = simulate(model, n, share, bursty)
                print(
                    f"{name}, planted {share:.0%}, {'bursty' if bursty else 'plain'}: {n} streams, {found}", flush=True
                )
