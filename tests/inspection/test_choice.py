"""What a model was chosen from, in lines."""

from __future__ import annotations

from coview.inspection import Selection
from coview.inspection.choice import describe_selection


def test_votes_and_what_the_views_share_are_told():
    votes = {"by_views": 20, "by_tokens": 0, "share": 0.9, "by_cluster": [0.9, 0.9]}
    relations = {"view": ["a", "b"], "verdict": ["shares", "noise"]}
    votes_line, views_line = describe_selection(Selection(votes=votes, relations=relations))
    assert votes_line.startswith("20 clusterings of the objects voted: ") and "90 % of them agree" in votes_line
    assert views_line.startswith("No clear structure was found in 'b'")
    assert describe_selection(Selection()) == []


def test_candidates_are_named_by_weight_and_those_without_are_counted():
    def told(*names, weights):
        (line,) = describe_selection(Selection(candidates={"name": list(names), "weight": weights}))
        return line.removeprefix("candidates by weight: ")

    assert told("graphs", "sphere", "c", weights=[0.25, 0.75, 0.0]) == "sphere 0.75, graphs 0.25; 1 without weight"
    assert told("a\n", "level 1: b", weights=[1.0, 1.0]) == "a\\n 1.00"
    many = told(*map(str, range(20)), weights=[0.05] * 20)
    assert many.startswith("0 0.05, 1 0.05") and many.endswith("9 0.05, ...")
