"""Ontologies in files: JSON of coview, and RDF/XML of OWL classes or SKOS concepts.

JSON is ``{"labels": [...], "subset": [[child, parent], ...], "mutex": [[a, b], ...]}`` or a nested tree. Of RDF/XML,
these are read: ``owl:Class`` with ``rdfs:subClassOf`` and ``owl:disjointWith``, ``owl:AllDisjointClasses``,
``skos:Concept`` with ``skos:broader`` and ``skos:narrower``; names are ``rdfs:label`` or ``skos:prefLabel`` where there
is one, else the end of the address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from coview.exceptions import DataFileError
from coview.utils.atomic import atomic_path
from coview.utils.messages import one_sentence
from coview.utils.text_files import parse_json

__all__ = ["OntologyContent", "read_ontology", "write_ontology"]

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_RDFS = "{http://www.w3.org/2000/01/rdf-schema#}"
_OWL = "{http://www.w3.org/2002/07/owl#}"
_SKOS = "{http://www.w3.org/2004/02/skos/core#}"
_XML = (".owl", ".rdf", ".xml", ".skos")
_THING = "http://www.w3.org/2002/07/owl#Thing"


class OntologyContent(NamedTuple):
    """What a file states: labels with pairs, or a nested tree; `mutex` is None where it states no exclusions."""

    labels: Sequence[Any] = ()
    subset: Sequence[Any] = ()
    mutex: Sequence[Any] | None = None
    tree: Any = None


def read_ontology(path: str | Path) -> OntologyContent:
    """Read the content of a JSON or RDF/XML file; the suffix tells which."""
    path = Path(path)
    if not path.is_file():
        raise DataFileError(f"File not found: {str(path)!r}.")
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _from_json(path)
    if suffix in _XML:
        return _from_xml(path)
    raise DataFileError(
        f"The file name {path.name!r} must end in .json, or in {', '.join(_XML)} for RDF/XML. Convert other formats, "
        "such as Turtle, to RDF/XML first."
    )


def write_ontology(path: str | Path, labels: Sequence[Any], subset: Sequence[Any], mutex: Sequence[Any]) -> None:
    """Write labels and pairs as JSON."""
    for label in labels:
        if not isinstance(label, (str, int, float)):
            raise TypeError(f"Only strings and numbers can be written as labels, got {label!r}.")
    parts = {"labels": labels, "subset": subset, "mutex": mutex}
    with atomic_path(Path(path)) as beside:
        Path(beside).write_text(json.dumps(parts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _from_json(path: Path) -> OntologyContent:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataFileError(f"{path.name!r} is not valid JSON ({error}).") from None
    if not isinstance(content, (dict, list)) or not content:
        raise DataFileError(f"{path.name!r} must hold labels with subset and mutex pairs, or a nested tree of labels.")
    if isinstance(content, dict) and "labels" in content and isinstance(content["labels"], list):
        strange = sorted(set(content) - {"labels", "subset", "mutex"})
        if strange:
            raise DataFileError(f"{path.name!r} has an unknown entry {strange[0]!r} beside labels, subset and mutex.")
        return OntologyContent(content["labels"], content.get("subset", ()), content.get("mutex"))
    return OntologyContent(tree=content)


def _from_xml(path: Path) -> OntologyContent:
    with one_sentence(f"{path.name!r} is not valid XML"):
        root = ElementTree.parse(path).getroot()
    addresses: dict[str, None] = {}
    names: dict[str, str] = {}
    below: list[tuple[str, str]] = []
    apart: list[tuple[str, str]] = []
    for node in root:
        if node.tag == f"{_OWL}AllDisjointClasses":
            members = [_address(part) for part in node.iter() if part.tag in (f"{_RDF}Description", f"{_OWL}Class")]
            apart += combinations([member for member in members if member], 2)
            continue
        here = _address(node)
        if here is None or not _is_class(node):
            continue
        addresses[here] = None
        for part in node:
            if part.tag in (f"{_RDFS}label", f"{_SKOS}prefLabel") and part.text and here not in names:
                names[here] = part.text.strip()
            for kind, other in _relations(part):
                addresses[other] = None
                pair = (other, here) if kind == "narrower" else (here, other)
                (apart if kind == "disjoint" else below).append(pair)
    addresses.pop(_THING, None)
    if not addresses:
        raise DataFileError(f"{path.name!r} has no owl:Class and no skos:Concept.")
    named = _unique_names(addresses, names)
    subset = [(named[a], named[b]) for a, b in below if _THING not in (a, b)]
    mutex = [(named[a], named[b]) for a, b in apart if a in named and b in named]
    return OntologyContent(list(named.values()), subset, mutex or None)


def _address(node: ElementTree.Element) -> str | None:
    about = node.get(f"{_RDF}about") or node.get(f"{_RDF}ID")
    return about.removeprefix("#") if about else None


def _is_class(node: ElementTree.Element) -> bool:
    kinds = (f"{_OWL}Class", f"{_RDFS}Class", f"{_SKOS}Concept")
    if node.tag in kinds:
        return True
    named = [kind.strip("{").replace("}", "") for kind in kinds]
    return any(part.tag == f"{_RDF}type" and part.get(f"{_RDF}resource") in named for part in node)


def _relations(part: ElementTree.Element) -> Iterator[tuple[str, str]]:
    kinds = {
        f"{_RDFS}subClassOf": "broader",
        f"{_SKOS}broader": "broader",
        f"{_SKOS}narrower": "narrower",
        f"{_OWL}disjointWith": "disjoint",
    }
    if part.tag not in kinds:
        return
    # a restriction, which says something else than a subset, has no address
    resource = part.get(f"{_RDF}resource")
    others: list[Any] = [resource.removeprefix("#")] if resource else [_address(child) for child in part]
    for other in others:
        if other:
            yield kinds[part.tag], other


def _unique_names(addresses: dict[str, None], names: dict[str, str]) -> dict[str, str]:
    """Name of each address; where two share a name, the addresses stay."""
    short = {at: names.get(at) or at.rstrip("/#").rpartition("#")[2].rpartition("/")[2] for at in addresses}
    found = list(short.values())
    return {at: name if found.count(name) == 1 else at for at, name in short.items()}
