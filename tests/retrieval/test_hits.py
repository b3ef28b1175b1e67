"""What a search gives back reads well."""

from __future__ import annotations

import numpy as np

from coview.retrieval.hits import Hits, Match


def test_hits_are_lists_of_pairs_by_query_without_those_that_share_nothing():
    hits = Hits(np.array([[3, 1], [2, 0]]), np.array([[0.5, 0.25], [1.0, 0.0]]))
    assert len(hits) == 2 and list(hits) == [[(3, 0.5), (1, 0.25)], [(2, 1.0)]]


def test_many_queries_are_shown_in_part():
    text = repr(Hits(np.zeros((9, 1), dtype=int), np.ones((9, 1))))
    assert text.startswith("Hits of 9 queries, 1 each") and text.endswith("... and 6 more queries")


def test_small_contributions_are_shown_as_one():
    parts = {f"topic {k}": 0.1 for k in range(12)}
    assert repr(Match(1.2, parts)).endswith("+0.700  7 others together")
