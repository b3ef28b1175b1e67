"""Labels by level: what a set of labels says, and sets that no class can stand for."""

import pytest

from coview.assignment.levels import LEAVES, read_levels
from coview.assignment.ontology import Ontology

DAG = Ontology.from_edges([("bat", "mammal"), ("bat", "flier"), ("cat", "mammal"), ("wasp", "flier")])


def test_a_set_of_labels_says_what_is_below_all_of_them():
    y = [{"mammal", "flier"}, "bat", "cat", "wasp", "mammal"]
    levels = read_levels(y, 5, DAG)
    codes, classes = levels.codes(LEAVES)
    assert [DAG.labels[classes[code]] if code >= 0 else None for code in codes] == ["bat", "bat", "cat", "wasp", None]
    assert list(levels.levels) == [LEAVES]  # the bat has two labels of the level above


def test_two_lowest_labels_of_one_object_are_refused():
    free = Ontology.from_tree(["cat", "dog"], exclusive=False)
    with pytest.raises(ValueError, match=r"Object 1 has the labels 'cat' and 'dog'.*SeededKMeansClassifier"):
        read_levels(["cat", {"cat", "dog"}, "dog"], 3, free)
