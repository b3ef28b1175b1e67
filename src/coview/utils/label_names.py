"""Names of classes that look like mistakes: two spellings of one, markers of missing cells, ids in place of classes.

What is said is a warning: labels stay as they are given. Two names are two spellings of one class where they differ in
capitals or blanks alone, or where a rare one is nearly a frequent one: one letter more, less or swapped, another letter
in names from six letters on, two such slips from eight on. Names with digits ("cat1", "cat2") and those that begin
differently ("normal", "abnormal") are never such, nor are those that end with another letter or Roman numeral of their
own ("grade A", "grade B"; "level I", "level II"; "classA", "classB").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from coview.utils.messages import short

__all__ = ["MISSING_CELLS", "describe_doubtful"]

# as pandas reads the cells of a file
MISSING_CELLS = frozenset(
    ["", "NaN", "nan", "-NaN", "-nan", "N/A", "n/a", "NA", "null", "NULL", "None", "<NA>", "#N/A", "#NA", "#N/A N/A"]
)
_NEVER_CLASSES = frozenset(["nan", "<na>", "n/a", "#n/a", "nat"])  # whatever they are called, nobody chose these names
_NO_LABEL = _NEVER_CLASSES | {"", "-", "--", "?", "na", "null", "none", "unknown", "unlabeled", "unlabelled", "missing"}
MOST_CLASSES = 500  # whose names are compared
MOST_TOLD = 5
RARE = 5  # times as frequent is the class that a rare one may be a misspelling of
FEW, RARER = 5, 20  # objects of a misspelling; with more, the other must be this many times as frequent
# a letter or a Roman numeral at the end, after a blank or a sign, or as a capital after a small letter
_MARK = re.compile(r"(?:[\W_]([^\W\d_]|[ivxIVX]+)|(?<=[^\W\d_A-Z])([A-Z]|[IVX]+))([+-]?)\)?$")
LEAST_LETTERS, LEAST_FOR_OTHER, LEAST_FOR_TWO = 5, 6, 8
MANY_CLASSES = 20  # from which on most of them should have more than one object
PER_CLASS = 2  # objects of a class, at most, on average: where most objects have a label, these are no classes


def describe_doubtful(
    classes: Sequence[Any], counts: Sequence[int], n_objects: int | None = None, *, batch: bool = False
) -> list[str]:
    """Return sentences about classes that look like mistakes; none mostly.

    Parameters
    ----------
    classes : sequence
        The classes.
    counts : sequence of int
        Objects of each.
    n_objects : int, optional
        Number of objects with a label and without; by default all have one.
    batch : bool, default=False
        Whether these are some of the objects, so that others may share the classes that are rare here.

    Examples
    --------
    >>> describe_doubtful(["Billing", "billing", "shiping", "shipping"], [2, 38, 2, 16])[0][:68]
    "Classes 'Billing' (2 objects) and 'billing' (38) differ only in case"
    >>> describe_doubtful(["cat1", "cat2", "female", "male"], [1, 90, 2, 60])
    []
    """
    sentences = [] if batch else _ids_not_classes(classes, counts, n_objects)
    texts = [(name, int(count)) for name, count in zip(classes, counts) if isinstance(name, str)]
    if not texts or len(texts) > MOST_CLASSES:
        return sentences
    most = max(count for _, count in texts)
    for name, count in texts:
        asked = name.strip().casefold()
        if asked in _NEVER_CLASSES or (asked in _NO_LABEL and count == most and len(texts) > 1):
            sentences.append(
                f"Class {short(name)} ({count:,} objects) looks like a mark of missing labels; if it is, leave it "
                "empty (None)."
            )
    doubts = _other_spellings(texts) + _misspellings(texts)
    if doubts:
        more = f"; {len(doubts) - MOST_TOLD} more pairs too" if len(doubts) > MOST_TOLD else ""
        told = "; ".join(doubts[:MOST_TOLD])
        sentences.append(f"Classes {told}{more}. If they are one class, give them one label.")
    return sentences


def _ids_not_classes(classes: Sequence[Any], counts: Sequence[int], n_objects: int | None) -> list[str]:
    """A sentence about labels that hardly any two objects share; few labels, of which there may be one each, have none.

    Examples
    --------
    >>> print(*_ids_not_classes([f"customer {i}" for i in range(40)], [2] * 40, 90))
    80 objects have 40 different labels ('customer 0', ...): these look like ids, dates or amounts, not classes.
    """
    single, n_labels = sum(count == 1 for count in counts), sum(counts)
    looks = f"({short(classes[0])}, ...): these look like ids, dates or amounts, not classes." if classes else ""
    if len(classes) < MANY_CLASSES or 2 * n_labels <= (n_objects or n_labels):
        return []
    if 2 * single > len(classes):
        return [f"{single:,} of {len(classes):,} classes have a single object {looks}"]
    if n_labels <= PER_CLASS * len(classes):
        return [f"{n_labels:,} objects have {len(classes):,} different labels {looks}"]
    return []


def _other_spellings(texts: list[tuple[str, int]]) -> list[str]:
    """Pairs of classes that differ in capitals or blanks."""
    doubts = []
    for _, group in groupby(sorted(texts, key=lambda each: _plain(each[0])), key=lambda each: _plain(each[0])):
        same = sorted(group, key=lambda each: each[1])
        for name, count in same[:-1]:
            usual, most = same[-1]
            case = name.casefold() == usual.casefold()
            blanks = "blanks" if _unblanked(name) == _unblanked(usual) else "case and blanks"
            objects = "object" if count == 1 else "objects"
            how = "case" if case else blanks
            doubts.append(f"{short(name)} ({count:,} {objects}) and {short(usual)} ({most:,}) differ only in {how}")
    return doubts


def _misspellings(texts: list[tuple[str, int]]) -> list[str]:
    """Rare classes that are nearly a frequent one."""
    doubts = []
    for name, count in texts:
        likely = [
            (other, more)
            for other, more in texts
            if more >= RARE * count
            and (count <= FEW or more >= RARER * count)
            and _is_slip(_plain(name), _plain(other))
            and not _marked_apart(_unblanked(name), _unblanked(other))
        ]
        if likely:
            other, more = max(likely, key=lambda each: each[1])
            objects = "object" if count == 1 else "objects"
            doubts.append(f"{short(name)} ({count:,} {objects}) and {short(other)} ({more:,}) look alike")
    return doubts


def _plain(name: str) -> str:
    return _unblanked(name).casefold()


def _unblanked(name: str) -> str:
    return " ".join(name.split())


def _is_slip(name: str, meant: str) -> bool:
    """Tell whether a name is another one with a slip or two.

    Examples
    --------
    >>> _is_slip("shiping", "shipping"), _is_slip("abnormal", "normal"), _is_slip("horse", "house")
    (True, False, False)
    """
    shortest = min(len(name), len(meant))
    if name == meant or shortest < LEAST_LETTERS or name[0] != meant[0] or abs(len(name) - len(meant)) > 2:
        return False
    if any(letter.isdigit() for letter in name + meant):
        return False
    slips = _slips(name, meant)
    if slips == 1:
        return shortest >= LEAST_FOR_OTHER or len(name) != len(meant) or sorted(name) == sorted(meant)
    return slips == 2 and shortest >= LEAST_FOR_TWO


def _marked_apart(name: str, other: str) -> bool:
    """Tell whether names end with different letters or Roman numerals of their own, as those of a series do.

    Examples
    --------
    >>> [_marked_apart(*pair) for pair in (("grade A", "grade B"), ("level I", "level IV"), ("classA", "classB"))]
    [True, True, True]
    >>> _marked_apart("shipin", "shipig"), _marked_apart("shiping A", "shipping A")
    (False, False)
    """
    one, two = _MARK.search(name), _MARK.search(other)
    return one is not None and two is not None and _mark(one) != _mark(two)


def _mark(found: re.Match[str]) -> str:
    return "".join(part or "" for part in found.groups()).casefold()


def _slips(name: str, meant: str) -> int:
    """Letters more, less, other or swapped with the next one (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(meant) + 1))
    for i, letter in enumerate(name, 1):
        row = [i]
        for j, other in enumerate(meant, 1):
            least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and name[i - 2] == other:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]
