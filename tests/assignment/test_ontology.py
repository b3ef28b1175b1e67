"""Ontologies: every form they are made of, every error with its sentence, closures and breaches against plain sets."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.assignment.constraint_graph import list_candidate_sets
from coview.assignment.levels import LEAVES, read_levels
from coview.assignment.ontology import Ontology
from coview.exceptions import DataFileError

TREE = {"Animal": {"Mammal": ["Dog", "Cat"], "Reptile": {}}, "Plant": ["Oak"]}
LABELS = ("Animal", "Mammal", "Dog", "Cat", "Reptile", "Plant", "Oak")
SUBSET = {("Mammal", "Animal"), ("Dog", "Mammal"), ("Cat", "Mammal"), ("Reptile", "Animal"), ("Oak", "Plant")}
MUTEX = {("Animal", "Plant"), ("Mammal", "Reptile"), ("Dog", "Cat")}


@pytest.fixture
def tree() -> Ontology:
    return Ontology.from_tree(TREE)


def test_a_tree_gives_direct_subset_pairs_and_exclusive_siblings(tree):
    assert tree.labels == LABELS
    assert set(tree.subset) == SUBSET and set(tree.mutex) == MUTEX


def test_edges_give_the_same_as_the_tree(tree):
    found = Ontology.from_edges(tree.subset)
    assert set(found.subset) == SUBSET and {frozenset(p) for p in found.mutex} == {frozenset(p) for p in MUTEX}


def test_labels_with_a_common_child_do_not_exclude_each_other():
    found = Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier"), ("Bird", "Flier")])
    assert set(found.mutex) == {("Bat", "Bird")}


def test_labels_may_be_numbers_of_numpy():
    found = Ontology(np.array([3, 5]), subset=[(np.int64(3), 5)])
    assert found.labels == (3, 5) and np.int64(5) in found and found.index(np.int64(5)) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["a"], [("a", "b")]), "Unknown label 'b'. The ontology has 'a'"),
        ((["a", "a"],), "must be unique and not empty, got 'a'"),
        (([],), "at least one label"),
        ((["a", ""],), "must be unique and not empty, got ''"),
        ((["a"], [("a", "a")]), r"must be two labels, \(child, parent\) for a subset, got \('a', 'a'\)"),
        ((["a"], ["a"]), r"must be two labels, \(child, parent\) for a subset, got 'a'"),
        (
            (["Animal", "Dog"], [("Dog", "Animal"), ("Animal", "Dog")]),
            "Ontology has a cycle: Animal > Dog > Animal. Subset relations must form a directed acyclic graph.",
        ),
        ((["a", "b", "c"], [("a", "b"), ("b", "c")], [("a", "c")]), "'a' is a subset of 'a' and of 'c', which exclude"),
        (
            (["a", "b", "c"], [("a", "b"), ("a", "c")], [("b", "c")]),
            "'a' is a subset of 'b' and of 'c', which exclude each other",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Ontology(*arguments)


def test_a_cycle_below_other_labels_is_found():
    with pytest.raises(ValueError, match=r"has a cycle: b > c > d > b|has a cycle: c > d > b > c|d > b > c > d"):
        Ontology("abcde", [("b", "a"), ("c", "b"), ("d", "c"), ("b", "d"), ("e", "d")])


def test_above_and_below(tree):
    assert tree.parents("Dog") == ("Mammal",) and tree.children("Mammal") == ("Dog", "Cat")
    assert tree.leaves == ("Dog", "Cat", "Reptile", "Oak")
    assert tree.depth.tolist() == [0, 1, 2, 2, 1, 0, 1]


def test_depth_is_the_longest_way_up():
    assert Ontology("abc", [("a", "b"), ("b", "c"), ("a", "c")]).depth.tolist() == [2, 1, 0]


def test_unknown_labels_are_named(tree):
    with pytest.raises(ValueError, match=r"Unknown label 'Fish'. The ontology has 'Animal'"):
        tree.parents("Fish")


def test_closing_and_breaking(tree):
    assert tree.close("Dog") == {"Dog", "Mammal", "Animal"} and tree.close(set()) == set()
    assert not tree.broken({"Dog", "Mammal", "Animal"}) and not tree.broken(set())
    assert tree.broken({"Dog", "Mammal"}) == [("subset", "Mammal", "Animal")]
    assert ("mutex", "Animal", "Plant") in tree.broken({"Animal", "Plant"})


def test_indicators_take_labels_sets_and_gaps(tree):
    found = tree.indicators(["Oak", {"Dog"}, None, -1, float("nan"), [], ("Reptile", "Animal")])
    on = [{LABELS[j] for j in np.flatnonzero(row)} for row in found]
    assert on == [{"Oak", "Plant"}, {"Dog", "Mammal", "Animal"}, set(), set(), set(), set(), {"Reptile", "Animal"}]


def test_labels_that_exclude_each_other_are_refused(tree):
    with pytest.raises(ValueError, match="Object 1 has the labels 'Animal' and 'Plant'"):
        tree.indicators(["Dog", {"Dog", "Oak"}])


def test_most_specific_labels_have_nothing_below_them(tree):
    found = tree.most_specific(tree.indicators(["Dog", "Mammal", None]))
    assert [np.flatnonzero(row).tolist() for row in found] == [[2], [1], []]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.data())
def test_closure_and_breaches_are_those_of_plain_sets(n, data):
    """Random acyclic graphs: everything again with Python sets."""
    pairs = [(i, j) for i in range(n) for j in range(i)]
    subset = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10))
    found = Ontology.from_edges(subset, labels=range(n))
    above = {i: {i} for i in range(n)}
    for i in range(n):
        for child, parent in subset:
            if child == i:
                above[i] |= above[parent]
    row = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    on = set(np.flatnonzero(row).tolist())
    broken = [p for p in found.subset if p[0] in on and p[1] not in on] + [p for p in found.mutex if set(p) <= on]
    assert sum(found.count_broken(row)) == len(broken) == len(found.broken(on))
    assert found.close(on) == set().union(*(above[i] for i in on))
    closed = np.array([[label in above[i] for label in range(n)] for i in range(n)])
    assert not np.any(found.count_broken(closed))


def test_the_text_tree_shows_second_parents_with_a_star():
    found = Ontology.from_edges([("Bat", "Mammal"), ("Pup", "Bat"), ("Bat", "Flier")])
    assert str(found).endswith("\n  Mammal\n    Bat\n      Pup\n  Flier\n    Bat *")


# -- files


def test_a_written_file_is_read_back(tree, tmp_path):
    tree.write(tmp_path / "animals.json")
    assert Ontology.read(tmp_path / "animals.json") == tree


def test_json_may_be_a_tree_or_lack_exclusions(tree, tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps(TREE))
    (tmp_path / "pairs.json").write_text(json.dumps({"labels": LABELS, "subset": sorted(SUBSET)}))
    assert Ontology.read(tmp_path / "tree.json") == tree
    assert set(Ontology.read(tmp_path / "pairs.json").mutex) == MUTEX


@pytest.mark.parametrize("row", ["a,b,c", ",b"])
def test_a_row_of_edges_is_a_child_and_its_parent(tmp_path, row):
    path = tmp_path / "edges.csv"
    path.write_text(f"child,parent\ncat,animal\n{row}\n")
    with pytest.raises(DataFileError, match=f"a row must be child,parent, got '{row}'"):
        Ontology.read(path)


def test_candidate_sets_are_listed_once():
    sets, _ = list_candidate_sets(Ontology.from_tree(TREE), 0.6, 0.4, 1.0, 1.0)
    assert len(sets) > 1 and len(np.unique(sets, axis=0)) == len(sets)


# -- Labels by level: what a set of labels says, and sets that no class can stand for

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
