"""Topics of the State of the Union addresses, decade by decade: which were born, split, merged, drifted or died.

    python benchmarks/update_speeches.py [folder of figures]

A model of the passages up to 1900 is updated with each later decade; passages of the decade before are the reference.
The effects of party and date on the shares of the topics of all passages follow, with errors by speech.
"""

from __future__ import annotations

import csv
import lzma
import sys
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, TableViews, inspect, name_groups, update
from coview.utils.loading import load_matplotlib

sys.path.insert(0, str(Path(__file__).parents[1] / "reproductions"))
from corpora import data_home

matplotlib.use("Agg")
FIRST, WINDOW = 1900, 10


def read() -> dict[str, list[str]]:
    with lzma.open(data_home() / "sotu" / "sotu.csv.xz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def take(table, mask):
    return {name: [cell for cell, keep in zip(column, mask) if keep] for name, column in table.items()}


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "results"
    table = read()
    years = np.array([int(date[:4]) for date in table["date"]])
    front = TableViews({"words": "text"}).fit(table)  # words of all decades: a model knows no word that it has not met
    topics = LinkPLSA(20, n_init=2, random_state=0).fit(front.transform(take(table, years < FIRST)))
    before = front.transform(take(table, (years >= FIRST - WINDOW) & (years < FIRST)))
    for start in range(FIRST, int(years.max()) + 1, WINDOW):
        now = front.transform(take(table, (years >= start) & (years < start + WINDOW)))
        if len(now) < 100:
            continue
        found = update(topics, now, reference=before, strength=2000)
        topics, before = found.model, now
        print(f"\n{start}s: {found.title}")
        for key, name, event, share, p in zip(*(found[c] for c in ("group", "name", "event", "now", "p_value"))):
            if event != "kept":
                print(f"  {event:8s} {key:>3s} {name[:60]:60s} {share:6.1%}  p = {p:.3f}")
    found.plot().figure_.savefig(place / "update_speeches.svg")
    known = {"party": table["party"], "date": table["date"], "speech": table["date"]}
    model = make_pipeline(front, LinkPLSA(20, n_init=2, random_state=0)).fit(table)
    name_groups(model, table)
    effects = inspect(model).effects(table, "~ party + spline(date)", clusters="date")
    print(effects)
    figure, panels = load_matplotlib("pyplot").subplots(2, 1, figsize=(9, 8), layout="constrained")
    effects.plot("date", n_groups=6, ax=panels[0])
    effects.plot("party", n_groups=6, ax=panels[1])
    figure.savefig(place / "effects_speeches.svg")
