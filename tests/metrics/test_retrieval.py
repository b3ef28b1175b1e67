"""Average precision against scikit-learn and a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score

from coview.metrics import mean_average_precision


def by_hand(scores, relevant, at=None, cutoff="rank"):
    """Walk down the ranking of one query."""
    ranked = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    hits, total = 0, 0.0
    at = at or len(scores)
    for rank, item in enumerate(ranked, start=1):
        if relevant[item]:
            hits += 1
            if (rank if cutoff == "rank" else hits) <= at:
                total += hits / rank
    return total / min(hits, at) if hits else np.nan


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    relevant = rng.random((20, 30)) < 0.3
    relevant[:, 0] = True
    return rng.permutation(600).reshape(20, 30) / 600, relevant


def test_equals_scikit_learn_without_ties(case):
    scores, relevant = case
    assert mean_average_precision(scores, relevant) == pytest.approx(
        label_ranking_average_precision_score(relevant, scores)
    )
    expected = np.mean([average_precision_score(r, s) for r, s in zip(relevant, scores)])
    assert mean_average_precision(scores, relevant) == pytest.approx(expected)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 12), st.sampled_from([None, 1, 3, 10]), st.booleans())
def test_equals_a_walk_down_the_ranking(seed, n_queries, n_items, at, by_rank):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=(n_queries, n_items))  # many ties
    relevant = rng.random((n_queries, n_items)) < 0.4
    relevant[0, 0] = True
    cutoff = "rank" if by_rank else "relevant"
    expected = np.nanmean([by_hand(s, r, at, cutoff) for s, r in zip(scores, relevant)])
    assert mean_average_precision(scores, relevant, at=at, cutoff=cutoff) == pytest.approx(expected)


def test_labels_give_the_same_as_the_matrix():
    rng = np.random.default_rng(2)
    queries, items = rng.choice(["a", "b", "c"], size=15), rng.choice(["a", "b", "c"], size=40)
    scores = rng.random((15, 40))
    expected = mean_average_precision(scores, queries[:, None] == items, at=10)
    assert mean_average_precision(scores, query_labels=queries, item_labels=items, at=10) == pytest.approx(
        expected, rel=1e-12
    )


def test_unsigned_and_boolean_scores_are_ranked_downwards():
    for dtype in (np.uint8, bool):
        assert mean_average_precision(np.array([[0, 1]], dtype=dtype), [[0, 1]]) == 1.0


def test_minus_infinity_ranks_last():
    assert mean_average_precision([[-np.inf, -1e300]], [[0, 1]]) == 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"scores": [[1, 2]], "relevant": [[0, 1, 1]]}, r"\(1, 2\), but relevance is given for \(1, 3\)"),
        ({"scores": [[1, np.nan]], "relevant": [[0, 1]]}, "must not be NaN"),
        ({"scores": [[1, 2]], "relevant": [[0, 0]]}, "None of the 1 queries"),
        ({"scores": [[1, 2]], "relevant": [[0, 1]], "at": 0}, "at must be"),
        ({"scores": [[1, 2]], "relevant": [[0, 1]], "cutoff": "top"}, "cutoff must be"),
    ],
)
def test_bad_input_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        mean_average_precision(**arguments)
