"""The graph of an ontology: every label, a line for each subset pair, a bracket for each group of exclusive labels."""

from __future__ import annotations

import pytest

from coview import Ontology
from coview.plot import OntologyGraphDisplay

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: figures are not checked")
matplotlib.use("Agg")


def test_the_figure_names_every_label():
    tree = Ontology.from_tree({"Animal": {"Mammal": ["Dog", "Cat"], "Reptile": []}, "Plant": ["Oak"]})
    axes = OntologyGraphDisplay(tree).plot().ax_
    assert {text.get_text() for text in axes.texts} == set(tree.labels)
    assert len(axes.lines) == len(tree.subset) + len(tree.mutex)  # all groups of exclusive labels are of two
    assert len(OntologyGraphDisplay(Ontology.from_tree(list("abcd"))).plot().ax_.lines) == 1
