"""The log of edits: plain records, and the ledger of what became of every number that a group ever had.

A record is a dict that JSON knows:

    {"edit": "merge", "groups": [3, 7], "name": "engines"}   3 holds both, 7 is gone; the name may be None
    {"edit": "split", "group": 4, "into": [10, 4]}           its parts have these numbers; the largest one keeps 4
    {"edit": "rename", "group": 2, "name": "steam engines"}
    {"edit": "names", "names": {"2": "coal, steam"}}         as found in objects or by a function, by number
    {"edit": "drop", "group": 5}                             its objects go to their next best group
    {"edit": "noise", "group": 1}                            its objects belong to no group
    {"edit": "reduce", "n": 10, "groups": [[0, 8], [3, 9]]}  each list is merged, as the tree of the groups was cut

A number is given once: that of a merged group is the lowest, parts of a split get new ones, others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.exceptions import ParameterError
from coview.utils.messages import did_you_mean, listed, printable, quantity, short

__all__ = ["EDITS", "Ledger", "Record", "checked_record", "describe_record"]

Record = dict[str, Any]

EDITS: dict[str, tuple[str, ...]] = {  # what each edit says beside its name
    "merge": ("groups", "name"),
    "split": ("group", "into"),
    "rename": ("group", "name"),
    "names": ("names",),
    "drop": ("group",),
    "noise": ("group",),
    "reduce": ("n", "groups"),
}
LARGEST = 10**9  # number of a group
LONGEST = 200  # letters of a name


@dataclass
class Ledger:
    """The groups after some edits: their numbers, names and marks, and what became of the others.

    Attributes
    ----------
    numbers : list of int
        Numbers of the groups that there are, noise among them, in ascending order.
    names : dict of str
        Names that people gave, by number; a merged group keeps one of them.
    found : dict of str
        Names that were found for groups as they are now: those of merged and split ones are forgotten.
    noise : set of int
        Groups that are marked as noise.
    searched : bool
        Whether names were looked for; those that the model itself has are no longer asked for then.
    changed : set of int
        Groups that others were merged into or that were split.
    gone : dict of str
        Of each number that is no longer one of a group, what became of it.

    Examples
    --------
    >>> ledger = Ledger.of([0, 1, 2], [{"edit": "merge", "groups": [0, 2], "name": "pets"}])
    >>> ledger.numbers, ledger.names, ledger.gone
    ([0, 1], {0: 'pets'}, {2: 'merged into 0'})
    """

    numbers: list[int]
    names: dict[int, str] = field(default_factory=dict)
    found: dict[int, str] = field(default_factory=dict)
    searched: bool = False
    changed: set[int] = field(default_factory=set)
    noise: set[int] = field(default_factory=set)
    gone: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, numbers: Iterable[int], records: Iterable[Record] = ()) -> Ledger:
        """Return the ledger of a model whose groups have these numbers, after some edits."""
        ledger = cls(sorted(int(number) for number in numbers))
        for record in records:
            ledger.apply(record)
        return ledger

    @property
    def shown(self) -> list[int]:
        """Numbers of the groups that are no noise."""
        return [number for number in self.numbers if number not in self.noise]

    @property
    def positions(self) -> np.ndarray:
        """Their positions among all numbers."""
        return np.searchsorted(self.numbers, self.shown)

    @property
    def called(self) -> dict[int, str]:
        """Names by number; those that people gave come before those that were found."""
        taken = set(self.names.values())
        return {**{number: name for number, name in self.found.items() if name not in taken}, **self.names}

    @property
    def next_number(self) -> int:
        """The lowest number that no group ever had."""
        return max([*self.numbers, *self.gone], default=-1) + 1

    def whereabouts(self) -> dict[int, str]:
        """Return what each number that a group ever had is now."""
        now = {number: "noise" if number in self.noise else "a group" for number in self.numbers}
        named = {number: f"{now[number]}, {name!r}" for number, name in self.called.items()}
        return dict(sorted({**self.gone, **now, **named}.items()))

    def check(self, number: int) -> int:
        """Return the number of a group; one that is none is refused with what became of it."""
        if number in self.gone:
            raise ParameterError(f"There is no group {number}: it was {self.gone[number]}.")
        if number not in self.numbers:
            raise ParameterError(f"There is no group {short(number)}, only {listed(self.numbers)}.")
        return number

    def apply(self, record: Record) -> None:
        """Take one edit in, or refuse it in a sentence and stay as it is."""
        record = checked_record(record)
        named: dict[str, Any] = {
            "merge": self._merge,
            "split": self._split,
            "rename": self._rename,
            "names": self._find,
        }
        apply = {**named, "drop": self._drop, "noise": self._noise, "reduce": self._reduce}[record["edit"]]
        apply(**{key: value for key, value in record.items() if key != "edit"})

    def _merge(self, groups: list[int], name: str | None) -> None:
        for number in groups:
            self.check(number)
        marked = [number for number in groups if number in self.noise]
        if marked and len(marked) < len(groups):
            raise ParameterError(f"Group {marked[0]} is marked as noise: merge it with other noise only, or undo that.")
        if name is not None:
            self._check_name(name, groups)
        kept, *others = sorted(groups)
        given = name or next((self.names[number] for number in sorted(groups) if number in self.names), None)
        for number in others:
            self._remove(number, f"merged into {kept}")
        if given is not None:
            self.names[kept] = given
        self._change(kept)

    def _split(self, group: int, into: list[int]) -> None:
        self.check(group)
        if group in self.noise:
            raise ParameterError(f"Group {group} is marked as noise: undo that to split it.")
        new = [number for number in into if number != group]
        taken = [number for number in new if number in self.numbers or number in self.gone]
        if len(new) != len(into) - 1 or taken:
            raise ParameterError(f"A split of group {group} keeps that number, and gives new ones: got {into}.")
        self.numbers = sorted([*self.numbers, *new])
        self._change(group)

    def _change(self, number: int) -> None:
        self.changed.add(number)
        self.found.pop(number, None)

    def _rename(self, group: int, name: str) -> None:
        self.check(group)
        self._check_name(name, [group])
        self.names[group] = name

    def _find(self, names: dict[str, str]) -> None:
        found = {self.check(int(number)): name for number, name in names.items()}
        if len(set(found.values())) < len(found):
            raise ParameterError("Names of groups must differ.")
        self.found, self.searched = found, True

    def _drop(self, group: int) -> None:
        self.check(group)
        self._check_left([group])
        self._remove(group, "dropped")

    def _noise(self, group: int) -> None:
        self.check(group)
        if group in self.noise:
            raise ParameterError(f"Group {group} is marked as noise already.")
        self._check_left([group])
        self.noise.add(group)

    def _reduce(self, n: int, groups: list[list[int]]) -> None:
        parts = [number for part in groups for number in part]
        for number in parts:
            if self.check(number) in self.noise:
                raise ParameterError(f"Group {number} is marked as noise: a reduction leaves it alone.")
        if len(set(parts)) < len(parts):
            raise ParameterError("A reduction merges no group twice.")
        left = len(self.shown) - len(parts) + len(groups)
        if left != n:
            raise ParameterError(f"A reduction to {quantity(n, 'group')} cannot leave {left} of them.")
        for part in groups:
            self._merge(part, None)

    def _check_left(self, groups: list[int]) -> None:
        if not set(self.shown) - set(groups):
            raise ParameterError(f"Group {groups[0]} is the last one: a model needs a group that is no noise.")

    def _check_name(self, name: str, groups: Sequence[int]) -> None:
        other = next((number for number, known in self.names.items() if known == name and number not in groups), None)
        if other is not None:
            raise ParameterError(f"Group {other} is called {short(name)} already: choose another name.")

    def _remove(self, number: int, why: str) -> None:
        self.numbers.remove(number)
        self.names.pop(number, None)
        self.found.pop(number, None)
        self.noise.discard(number)
        self.gone[number] = why


def checked_record(record: Any) -> Record:
    """Return a record with plain numbers and texts; one that is no edit is refused in a sentence.

    Examples
    --------
    >>> checked_record({"edit": "merge", "groups": (np.int64(3), 7)})
    {'edit': 'merge', 'groups': [3, 7], 'name': None}
    >>> checked_record({"edit": "merg", "groups": [3, 7]})
    Traceback (most recent call last):
    coview.exceptions.ParameterError: There is no edit 'merg'. Did you mean 'merge'?
    """
    kind = record.get("edit") if isinstance(record, Mapping) else None
    if kind is None:
        raise ParameterError(f"An edit must be a dict with the key 'edit', got {short(record)}.")
    if not isinstance(kind, str) or kind not in EDITS:
        hint = did_you_mean(kind, EDITS) or f" Use one of {listed(EDITS)}."
        raise ParameterError(f"There is no edit {short(kind)}.{hint}")
    unknown = [key for key in record if key != "edit" and key not in EDITS[kind]]
    absent = [key for key in EDITS[kind] if key not in record and not (kind == "merge" and key == "name")]
    if unknown or absent:
        raise ParameterError(f"The edit {kind!r} takes {listed(EDITS[kind])}, got {listed(k for k in record)}.")
    checked: Record = {"edit": kind}
    for key in EDITS[kind]:
        value = record.get(key)
        if key == "groups" and kind == "reduce":
            checked[key] = (
                [_numbers(kind, part) for part in value] if isinstance(value, (list, tuple)) else [_bad(value)]
            )
        elif key in ("groups", "into"):
            checked[key] = _numbers(kind, value)
        elif key == "names":
            checked[key] = _by_number(value)
        elif key == "name":
            checked[key] = None if value is None and kind == "merge" else _name(value)
        else:
            checked[key] = _number(value)
    return checked


def _number(value: Any) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return int(value) if whole and 0 <= value < LARGEST else _bad(value)


def _bad(value: Any) -> Any:
    raise ParameterError(f"A group must have a whole number from 0 on, got {short(value)}.")


def _numbers(kind: str, value: Any) -> list[int]:
    numbers = [_number(part) for part in value] if isinstance(value, (list, tuple)) else [_bad(value)]
    if len(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise ParameterError(f"The edit {kind!r} needs two different groups at least, got {short(numbers)}.")
    return numbers


def _name(value: Any) -> str:
    whole = isinstance(value, str) and bool(value.strip())
    if not whole or len(value) > LONGEST or printable(value) != value:
        raise ParameterError(f"A name must be a text of 1 to {LONGEST} letters on one line, got {short(value)}.")
    return str(value).strip()


def _by_number(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"Names must be a dict by the number of the group, got {short(value)}.")
    keys = [
        str(key) if isinstance(key, (str, int, np.integer)) and str(key).isdecimal() else _bad(key) for key in value
    ]
    return {str(_number(int(key[:12]))): _name(name) for key, name in zip(keys, value.values())}


def describe_record(record: Record) -> str:
    """Return an edit as a sentence without a full stop.

    Examples
    --------
    >>> describe_record({"edit": "merge", "groups": [7, 3], "name": "engines"})
    "merge 3 and 7 into 3, 'engines'"
    """
    kind = record["edit"]
    if kind == "merge":
        name = f", {record['name']!r}" if record["name"] else ""
        return f"merge {_and(sorted(record['groups']))} into {min(record['groups'])}{name}"
    if kind == "split":
        return f"split {record['group']} into {_and(sorted(record['into']))}"
    if kind == "rename":
        return f"rename {record['group']} to {record['name']!r}"
    if kind == "names":
        return f"name {quantity(len(record['names']), 'group')} as found"
    if kind == "reduce":
        parts = ", ".join(f"{_and(sorted(part))} into {min(part)}" for part in record["groups"])
        return f"reduce to {record['n']}: {parts}" if parts else f"reduce to {record['n']}"
    return f"drop {record['group']}" if kind == "drop" else f"mark {record['group']} as noise"


def _and(numbers: Sequence[int]) -> str:
    return " and ".join(filter(None, (", ".join(map(str, numbers[:-1])), str(numbers[-1]))))
