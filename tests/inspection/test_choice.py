"""What a model was chosen from, in a sentence."""

from __future__ import annotations

import math

from coview.inspection.choice import describe_candidates, describe_choice

TABLE = {"name": ["graphs", "sphere", "topics"], "weight": [0.0, 1.0, 0.0], "accuracy": [0.9, 0.8, math.nan]}


def test_one_that_was_chosen_is_told_with_its_evidence():
    assert describe_choice(TABLE) == ("Of 3 methods the answer is made by sphere (weight 1.00, accuracy 80 %).")


def test_several_are_told_with_their_weights_the_heaviest_first():
    text = describe_choice({**TABLE, "weight": [0.5, 1.0, 0.0]})
    assert text.index("sphere (weight 1.00") < text.index("graphs (weight 0.50") and "others" not in text


def test_votes_and_what_the_views_share_are_told():
    votes = {"by_views": 20, "by_tokens": 0, "share": 0.9, "by_cluster": [0.9, 0.9]}
    text = describe_choice({}, None, {"view": ["a", "b"], "verdict": ["shares", "noise"]}, votes=votes)
    assert text.startswith("20 clusterings of the objects voted: ")
    assert "90 % of them agree on the cluster of an object. No clear structure was found in 'b'" in text


def test_no_evidence_and_no_choice_are_not_made_up():
    bare = {"name": ["a", "b"], "weight": [1.0, 0.0], "accuracy": [None, None]}
    assert describe_choice(bare) == "Of 2 methods the answer is made by a (weight 1.00)."
    assert describe_choice({}) == ""


def test_the_line_of_candidates_names_those_with_a_weight_and_counts_the_others():
    assert describe_candidates({**TABLE, "weight": [0.25, 0.75, 0.0]}) == "sphere 0.75, graphs 0.25; 1 without weight"
    assert describe_candidates({"name": ["a\n"], "weight": [1.0]}) == "a\\n 1.00"
    many = describe_candidates({"name": list(map(str, range(20))), "weight": [0.05] * 20})
    assert many.startswith("0 0.05, 1 0.05") and many.endswith("9 0.05, ...")
