"""The log of edits: plain records, and what they make of the groups of a fitted model.

A record is a dict that JSON knows:

    {"edit": "merge", "groups": [3, 7], "name": "engines"}   3 holds both, 7 is gone; the name may be None
    {"edit": "split", "group": 4, "into": [10, 4]}           its parts have these numbers; the largest one keeps 4
    {"edit": "rename", "group": 2, "name": "steam engines"}
    {"edit": "names", "names": {"2": "coal, steam"}, "by_hand": False}    all names that there are then, by number
    {"edit": "drop", "group": 5}                             its objects go to their next best group
    {"edit": "noise", "group": 1}                            its objects belong to no group
    {"edit": "reduce", "n": 10, "groups": [[0, 8], [3, 9]]}  each list is merged, as the tree of the groups was cut

A number is given once: that of a merged group is the lowest, parts of a split get new ones, others stay as they are.

Models are numbered: 0 is the one inside, s > 0 the one of the s-th split, S_s its shares of the parts. A group is a set
of columns (s, j); with M the memberships of the model inside and the sizes n the sums over the objects,

    membership of (0, j)    M_j
    membership of (s, j)    S_sj times that of the group that was split
    group                   the sum over its columns; features are means by n, and by p(view | group) where a group is
                            one distribution over all views

A merge puts the columns of several groups in one (all parts of a split are the group again), a split has a column of
the new model for each part, and the columns of a dropped group are gone from their models, which are asked again as if
they never had them. Noise is taken out at the end, so that no other object moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coview.exceptions import ParameterError
from coview.utils.messages import did_you_mean, listed, printable, quantity, short

__all__ = ["EDITS", "LARGEST", "EditedGroups", "Record", "check_record", "describe_record"]

Record = dict[str, Any]
Column = tuple[int, int]  # of a model: 0 is the one inside, those of splits follow

EDITS: dict[str, tuple[str, ...]] = {  # what each edit says beside its name
    "merge": ("groups", "name"),
    "split": ("group", "into"),
    "rename": ("group", "name"),
    "names": ("names", "by_hand"),
    "drop": ("group",),
    "noise": ("group",),
    "reduce": ("n", "groups"),
}
LARGEST = 10**9  # number of a group: a file must not ask for more


class EditedGroups:
    """The groups after some edits.

    Parameters
    ----------
    numbers : iterable of int
        Numbers of the groups of the model inside, in its order.
    records : iterable of dict
        The edits, first to last. One that cannot be is refused in a sentence.

    Attributes
    ----------
    columns : dict of lists
        Columns of each group, by its number, noise among them, in ascending order.
    divided, widths, dropped : lists
        By model: the columns of the group that was split (none for the model inside), the number of its columns, and
        the columns that are gone.
    names : dict of str
        Names by number; `by_hand` has the numbers of those that people gave, the others were found.
    searched : bool
        Whether names were looked for; those that the model itself has are no longer asked for then.
    changed, noise : sets of int
        Groups that others were merged into or that were split, and groups that are marked as noise.
    gone : dict of str
        Of each number that is no longer one of a group, what became of it.

    Examples
    --------
    >>> groups = EditedGroups([0, 1, 2], [{"edit": "merge", "groups": [0, 2], "name": "pets"}])
    >>> groups.columns, groups.names, groups.gone
    ({0: [(0, 0), (0, 2)], 1: [(0, 1)]}, {0: 'pets'}, {2: 'merged into 0'})
    >>> memberships = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    >>> groups.memberships([memberships]).tolist()
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    >>> groups.rows([np.array([[4.0], [1.0], [0.0]])], groups.sizes([memberships])).tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, numbers: Iterable[int], records: Iterable[Record] = ()) -> None:
        self.columns: dict[int, list[Column]] = {number: [(0, j)] for j, number in enumerate(numbers)}
        self.widths = [len(self.columns)]
        self.divided: list[list[Column]] = [[]]
        self.dropped: list[set[int]] = [set()]
        self.names: dict[int, str] = {}
        self.by_hand: set[int] = set()
        self.changed: set[int] = set()
        self.noise: set[int] = set()
        self.gone: dict[int, str] = {}
        self.searched = False
        for record in records:
            options = {key: value for key, value in record.items() if key != "edit"}
            getattr(self, f"_{record['edit']}")(**options)
        self.columns = dict(sorted(self.columns.items()))

    @property
    def shown(self) -> list[int]:
        """Numbers of the groups that are no noise."""
        return [number for number in sorted(self.columns) if number not in self.noise]

    @property
    def next_number(self) -> int:
        """The lowest number that no group ever had."""
        return max([*self.columns, *self.gone], default=-1) + 1

    @property
    def whole(self) -> bool:
        """Whether all groups are those of the model inside, as they were."""
        return not self.noise and list(self.columns.values()) == [[(0, j)] for j in range(self.widths[0])]

    def whereabouts(self) -> dict[int, str]:
        """Return what each number that a group ever had is now."""
        now = {number: "noise" if number in self.noise else "a group" for number in self.columns}
        named = {number: f"{now[number]}, {name!r}" for number, name in self.names.items()}
        return dict(sorted({**self.gone, **now, **named}.items()))

    def check(self, number: int) -> int:
        """Return the number of a group; one that is none is refused with what became of it."""
        if number in self.gone:
            raise ParameterError(f"There is no group {number}: it was {self.gone[number]}.")
        if number not in self.columns:
            raise ParameterError(f"There is no group {short(number)}, only {listed(sorted(self.columns))}.")
        return number

    # -- the edits

    def _merge(self, groups: list[int], name: str | None) -> None:
        noise = self.noise & {self.check(number) for number in groups}
        if noise and len(noise) < len(groups):
            raise ParameterError(
                f"Group {min(noise)} is marked as noise: merge it with other noise only, or undo that."
            )
        kept, *others = sorted(groups)
        given = name or next((self.names[number] for number in sorted(groups) if number in self.by_hand), None)
        columns = [column for number in sorted(groups) for column in self.columns[number]]
        for number in others:
            self._remove(number, f"merged into {kept}")
        self.columns[kept] = columns
        self._change(kept, given)
        self._join_parts()

    def _join_parts(self) -> None:
        """Make a group that holds all parts of a split the one that was split."""
        for model in range(len(self.divided) - 1, 0, -1):
            left = {(model, j) for j in range(self.widths[model]) if j not in self.dropped[model]}
            for number, columns in self.columns.items():
                if left <= set(columns):
                    self.columns[number] = [column for column in columns if column not in left] + self.divided[model]

    def _split(self, group: int, into: list[int]) -> None:
        if self.check(group) in self.noise:
            raise ParameterError(f"Group {group} is marked as noise: undo that to split it.")
        if group not in into or any(number in self.columns or number in self.gone for number in {*into} - {group}):
            raise ParameterError(f"A split of group {group} keeps that number, and gives new ones: got {into}.")
        self.divided.append(self.columns[group])
        self.widths.append(len(into))
        self.dropped.append(set())
        self.columns.update({number: [(len(self.divided) - 1, j)] for j, number in enumerate(into)})
        self._change(group, self.names[group] if group in self.by_hand else None)

    def _rename(self, group: int, name: str) -> None:
        self.names[self.check(group)] = name
        self.by_hand.add(group)

    def _names(self, names: dict[str, str], by_hand: bool) -> None:
        found = {int(number): name for number, name in names.items() if int(number) in self.columns}
        same = {number for number, name in found.items() if self.names.get(number) == name}
        self.by_hand = (self.by_hand & same) | (found.keys() - same if by_hand else set())
        self.names, self.searched = found, True

    def _drop(self, group: int) -> None:
        self._check_left(group)
        for column in self.columns[group]:
            self._drop_column(*column)
        self._remove(group, "dropped")
        self._join_parts()

    def _drop_column(self, model: int, j: int) -> None:
        if model and len(self.dropped[model]) == self.widths[model] - 1:  # the last part: of the group nothing is left
            for column in self.divided[model]:
                self._drop_column(*column)
        else:
            self.dropped[model].add(j)

    def _noise(self, group: int) -> None:
        self._check_left(group)
        self.noise.add(group)

    def _reduce(self, n: int, groups: list[list[int]]) -> None:
        for part in groups:
            self._merge(part, None)

    def _check_left(self, group: int) -> None:
        self.check(group)
        if not set(self.shown) - {group}:
            raise ParameterError(f"Group {group} is the last one: a model needs a group that is no noise.")

    def _change(self, number: int, name: str | None) -> None:
        """Another group has the number now: a name that was found for it is forgotten."""
        self.changed.add(number)
        self.names.pop(number, None)
        if name is not None:
            self._rename(number, name)

    def _remove(self, number: int, why: str) -> None:
        del self.columns[number]
        self.names.pop(number, None)
        self.by_hand.discard(number)
        self.noise.discard(number)
        self.gone[number] = why

    # -- on numbers

    def memberships(self, answers: Sequence[Any]) -> np.ndarray:
        """Return objects x groups by what each model says, objects x columns, which is 0 in those that are dropped."""
        return np.column_stack([self._together(columns, answers) for columns in self.columns.values()])

    def _together(self, columns: Sequence[Column], answers: Sequence[Any]) -> np.ndarray:
        total = answers[0][:, [j for model, j in columns if model == 0]].sum(axis=1)
        for model in sorted({model for model, _ in columns if model}):
            whole = self._together(self.divided[model], answers)
            for j in [j for other, j in columns if other == model]:
                total = total + whole * answers[model][:, j]
        return total

    def sizes(self, answers: Sequence[Any] | None) -> list[np.ndarray]:
        """Return the sizes of the columns of each model; even ones where nothing is known."""
        if answers is None:
            answers = [np.full((1, width), 1 / width) for width in self.widths]
        return [
            np.array([self._together([(model, j)], answers).sum(dtype=np.float64) for j in range(width)])
            for model, width in enumerate(self.widths)
        ]

    def rows(self, values: Sequence[Any], sizes: Sequence[np.ndarray]) -> np.ndarray:
        """Return groups x anything, by the rows of each model (columns x anything): means, weighted by sizes."""
        rows = []
        for columns in self.columns.values():
            own = [np.asarray(values[model])[j] for model, j in columns]
            weights = np.array([sizes[model][j] for model, j in columns])
            weights = weights if weights.sum() > 0 else np.ones(len(columns))
            rows.append(own[0] if len(own) == 1 else np.average(own, axis=0, weights=weights))
        return np.stack(rows).astype(np.asarray(values[0]).dtype, copy=False)


def check_record(record: Any) -> Record:
    """Return a record with plain numbers and texts; one that is no edit is refused in a sentence.

    Examples
    --------
    >>> check_record({"edit": "merge", "groups": (np.int64(3), 7)})
    {'edit': 'merge', 'groups': [3, 7], 'name': None}
    >>> check_record({"edit": "merg", "groups": [3, 7]})
    Traceback (most recent call last):
    coview.exceptions.ParameterError: There is no edit 'merg'. Did you mean 'merge'?
    """
    kind = record.get("edit") if isinstance(record, Mapping) else record
    if not isinstance(kind, str) or kind not in EDITS:
        hint = did_you_mean(kind, EDITS) or f" Use one of {listed(EDITS)}."
        raise ParameterError(f"There is no edit {short(kind)}.{hint}")
    given: Record = dict(record) if isinstance(record, Mapping) else {}
    if kind == "merge":
        given.setdefault("name", None)
    if set(given) != {"edit", *EDITS[kind]}:
        raise ParameterError(f"The edit {kind!r} takes {listed(EDITS[kind])}, got {listed(map(str, given))}.")
    checked: Record = {"edit": kind}
    for key in EDITS[kind]:
        value = given[key]
        if key == "groups" and kind == "reduce":
            checked[key] = (
                [_check_numbers(part) for part in value] if isinstance(value, list) else _check_numbers(value)
            )
        elif key in ("groups", "into"):
            checked[key] = _check_numbers(value)
        elif key == "names":
            named = value if isinstance(value, Mapping) else {"": ""}
            numbers = [int(key) if str(key).isdecimal() and len(str(key)) < 10 else -1 for key in named]
            checked[key] = {str(_check_number(n)): _check_name(name) for n, name in zip(numbers, named.values())}
        elif key == "by_hand":
            checked[key] = bool(value)
        elif key == "name":
            checked[key] = None if value is None and kind == "merge" else _check_name(value)
        else:
            checked[key] = _check_number(value)
    return checked


def _check_number(value: Any) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 0 <= value < LARGEST:
        raise ParameterError(f"A group must have a whole number from 0 on, got {short(value)}.")
    return int(value)


def _check_numbers(value: Any) -> list[int]:
    numbers = [_check_number(part) for part in value] if isinstance(value, (list, tuple)) else []
    if len(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise ParameterError(f"Groups must be a list of two or more, such as [3, 4], got {short(value)}.")
    return numbers


def _check_name(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= 200 or printable(value) != value:
        raise ParameterError(f"A name must be a text of 1 to 200 letters on one line, got {short(value)}.")
    return value.strip()


def describe_record(record: Record) -> str:
    """Return an edit as a sentence without a full stop.

    Examples
    --------
    >>> describe_record({"edit": "merge", "groups": [7, 3], "name": "engines"})
    "merge 3 and 7 into 3, 'engines'"
    """
    kind = record["edit"]
    if kind == "merge":
        return _say_merge(record["groups"]) + (f", {record['name']!r}" if record["name"] else "")
    if kind == "split":
        return f"split {record['group']} into {_and(record['into'])}"
    if kind == "rename":
        return f"rename {record['group']} to {record['name']!r}"
    if kind == "names":
        return f"name {quantity(len(record['names']), 'group')} {'by hand' if record['by_hand'] else 'as found'}"
    if kind == "reduce":
        parts = ", ".join(_say_merge(part).removeprefix("merge ") for part in record["groups"])
        return f"reduce to {record['n']}: {parts}" if parts else f"reduce to {record['n']}"
    return f"drop {record['group']}" if kind == "drop" else f"mark {record['group']} as noise"


def _say_merge(groups: Sequence[int]) -> str:
    return f"merge {_and(groups)} into {min(groups)}"


def _and(numbers: Sequence[int]) -> str:
    *first, last = map(str, sorted(numbers))
    return f"{', '.join(first)} and {last}"
