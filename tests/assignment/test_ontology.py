"""Ontologies: every form they are made of, every error with its sentence, closures and breaches against plain sets."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.assignment.ontology import Ontology
from coview.exceptions import DataFileError
from coview.metrics import hierarchical_f1

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


def test_edges_paths_and_graphs_give_the_same_as_the_tree(tree):
    nx = pytest.importorskip("networkx", reason="networkx is not installed: its graphs are no oracle here")
    paths = ["Animal/Mammal/Dog", "Animal/Mammal/Cat", "Animal / Reptile", "Plant/Oak"]
    graph = nx.DiGraph([(parent, child) for child, parent in tree.subset])
    made = [Ontology.from_edges(tree.subset), Ontology.from_paths(paths), Ontology.from_networkx(graph)]
    for found in made:
        assert set(found.subset) == SUBSET and {frozenset(p) for p in found.mutex} == {frozenset(p) for p in MUTEX}


def test_paths_and_edges_need_no_networkx(tree):
    assert set(Ontology.from_paths(["Plant.Oak"], separator=".").subset) == {("Oak", "Plant")}


def test_a_graph_may_state_exclusions():
    class Graph:
        nodes = ("a", "b", "c")

        def is_directed(self):
            return True

        def edges(self, data):
            return [("a", "b", {}), ("b", "c", {"relation": "mutex"})]

    found = Ontology.from_networkx(Graph(), exclusive=None)
    assert found.subset == (("b", "a"),) and found.mutex == (("b", "c"),)


def test_the_root_is_left_out():
    found = Ontology.from_tree({"Everything": TREE}, root="Everything")
    assert found == Ontology.from_tree(TREE)


def test_siblings_need_not_exclude_each_other():
    assert Ontology.from_tree(TREE, exclusive=None).mutex == ()


def test_labels_with_a_common_child_do_not_exclude_each_other():
    found = Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier"), ("Bird", "Flier")])
    assert set(found.mutex) == {("Bat", "Bird")}


def test_labels_may_be_numbers_of_numpy():
    found = Ontology(np.array([3, 5]), subset=[(np.int64(3), 5)])
    assert found.labels == (3, 5) and np.int64(5) in found and found.index(np.int64(5)) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["a"], [("a", "b")]), r"subset pair \('a', 'b'\) has an unknown label 'b'"),
        ((["a", "a"],), "'a' more than once"),
        (([],), "at least one label"),
        ((["a", ""],), "must not be empty"),
        ((["a"], [("a", "a")]), "the same label twice"),
        ((["a"], ["a"]), r"must be \(child, parent\), got 'a'"),
        (
            (["Animal", "Dog"], [("Dog", "Animal"), ("Animal", "Dog")]),
            "Ontology has a cycle: Animal > Dog > Animal. Subset relations must form a directed acyclic graph.",
        ),
        ((["a", "b"], [("a", "b")], [("b", "a")]), "'a' is a subset of 'b' and excludes it"),
        ((["a", "b", "c"], [("a", "b"), ("b", "c")], [("a", "c")]), "'a' is a subset of 'c' and excludes it"),
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


def test_a_tree_with_a_label_twice_is_refused():
    with pytest.raises(ValueError, match="'Dog' more than once"):
        Ontology.from_tree({"a": ["Dog"], "b": ["Dog"]})


def test_above_and_below(tree):
    assert tree.ancestors("Dog") == {"Mammal", "Animal"} and tree.descendants("Animal") == set(LABELS[1:5])
    assert tree.parents("Dog") == ("Mammal",) and tree.children("Mammal") == ("Dog", "Cat")
    assert tree.roots == ("Animal", "Plant") and tree.leaves == ("Dog", "Cat", "Reptile", "Oak")
    assert tree.depth.tolist() == [0, 1, 2, 2, 1, 0, 1]


def test_depth_is_the_longest_way_up():
    assert Ontology("abc", [("a", "b"), ("b", "c"), ("a", "c")]).depth.tolist() == [2, 1, 0]


def test_unknown_labels_are_named(tree):
    with pytest.raises(ValueError, match=r"Unknown label 'Fish'. The ontology has 'Animal'"):
        tree.ancestors("Fish")


def test_closing_and_breaking(tree):
    assert tree.close("Dog") == {"Dog", "Mammal", "Animal"} and tree.close(set()) == set()
    assert tree.is_consistent({"Dog", "Mammal", "Animal"}) and tree.is_consistent(set())
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
    assert found.n_broken(row) == len(broken) == len(found.broken(on))
    assert found.close(on) == set().union(*(above[i] for i in on))
    assert found.n_broken(np.array([[label in above[i] for label in range(n)] for i in range(n)])).sum() == 0


def test_measures_take_an_ontology(tree):
    assert hierarchical_f1(["Dog"], ["Cat"], tree) == pytest.approx(2 / 3)


def test_the_text_tree_shows_second_parents_with_a_star():
    found = Ontology.from_edges([("Bat", "Mammal"), ("Pup", "Bat"), ("Bat", "Flier")])
    assert found.text() == "Mammal\n  Bat\n    Pup\nFlier\n  Bat *"


# -- files


def test_a_written_file_is_read_back(tree, tmp_path):
    tree.write(tmp_path / "animals.json")
    assert Ontology.read(tmp_path / "animals.json") == tree


def test_json_may_be_a_tree_or_lack_exclusions(tree, tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps(TREE))
    (tmp_path / "pairs.json").write_text(json.dumps({"labels": LABELS, "subset": sorted(SUBSET)}))
    assert Ontology.read(tmp_path / "tree.json") == tree
    assert set(Ontology.read(tmp_path / "pairs.json").mutex) == MUTEX
    assert Ontology.read(tmp_path / "pairs.json", exclusive=None).mutex == ()


RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
 xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">{}</rdf:RDF>"""


def test_owl_classes_are_read_with_their_labels_and_exclusions(tmp_path):
    text = """<owl:Ontology rdf:about="http://x"/>
    <owl:Class rdf:about="http://x#A"><rdfs:label>Animal</rdfs:label>
      <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/></owl:Class>
    <owl:Class rdf:about="http://x#Dog"><rdfs:subClassOf rdf:resource="http://x#A"/>
      <rdfs:subClassOf><owl:Restriction/></rdfs:subClassOf></owl:Class>
    <owl:Class rdf:about="http://x#Cat"><rdfs:subClassOf rdf:resource="http://x#A"/>
      <owl:disjointWith rdf:resource="http://x#Dog"/></owl:Class>"""
    (tmp_path / "a.owl").write_text(RDF.format(text))
    found = Ontology.read(tmp_path / "a.owl")
    assert found.labels == ("Animal", "Dog", "Cat")
    assert set(found.subset) == {("Dog", "Animal"), ("Cat", "Animal")} and found.mutex == (("Dog", "Cat"),)


def test_skos_concepts_are_read_in_both_directions(tmp_path):
    text = """<skos:Concept rdf:about="http://x/1"><skos:prefLabel xml:lang="en">Animal</skos:prefLabel>
      <skos:narrower rdf:resource="http://x/2"/></skos:Concept>
    <skos:Concept rdf:about="http://x/2"><skos:prefLabel>Dog</skos:prefLabel></skos:Concept>
    <rdf:Description rdf:about="http://x/3"><rdf:type rdf:resource="http://www.w3.org/2004/02/skos/core#Concept"/>
      <skos:prefLabel>Cat</skos:prefLabel><skos:broader rdf:resource="http://x/1"/></rdf:Description>"""
    (tmp_path / "a.rdf").write_text(RDF.format(text))
    found = Ontology.read(tmp_path / "a.rdf")
    assert set(found.subset) == {("Dog", "Animal"), ("Cat", "Animal")} and found.mutex == (("Dog", "Cat"),)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", "{", "is not valid JSON"),
        ("a.json", "3", "nested tree"),
        ("a.json", '{"labels": ["a"], "parents": []}', "unknown entry 'parents'"),
        ("a.json", '{"labels": ["a"], "mutex": [["a", "b"]]}', "'a.json' holds no ontology .*unknown label 'b'"),
        ("a.json", '{"labels": ["a"], "mutex": 5}', "'a.json' holds no ontology"),
        ("a.json", "[" * 100_000, "is not valid JSON .its lists and objects are nested too deeply"),
        ("a.owl", '<?xml version="1.0" encoding="klingon"?><a/>', "is not valid XML"),
        ("a.owl", "<a>", "is not valid XML"),
        ("a.owl", "<a/>", "no owl:Class"),
        ("a.ttl", "", "must end in .json"),
    ],
)
def test_files_that_hold_something_else_are_refused(tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataFileError, match=sentence):
        Ontology.read(tmp_path / name)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(DataFileError, match="File not found"):
        Ontology.read(tmp_path / "none.json")
