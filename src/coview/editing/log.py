"""The log of edits: plain records, and what they make of the groups of a fitted model.

A record is a dict that JSON knows:

    {"edit": "merge", "groups": [3, 7], "name": "engines"}   3 holds both, 7 is gone; the name may be None
    {"edit": "split", "group": 4, "into": [10, 4]}           its parts have these numbers; the largest one keeps 4
    {"edit": "rename", "group": 2, "name": "coal", "found": False}   found: by `name_groups`; None takes a name back
    {"edit": "drop", "group": 5}                             its objects go to their next best group
    {"edit": "noise", "group": 1}                            its objects belong to no group
    {"edit": "reduce", "n": 10, "groups": [[0, 8], [3, 9]]}  each list is merged, as the tree of the groups was cut
    {"edit": "together", "objects": ["a", 12]}               objects, by id or row, that are in one group in the end
    {"edit": "apart", "objects": ["a", "b"]}                 objects each of which is in another group (`pairs.py`)

A number is given once: that of a merged group is the lowest, parts of a split get new ones, others stay as they are.

Models are numbered: 0 is the one inside, s > 0 the one of the s-th split, S_s its shares of the parts. A group is a set
of columns (s, j); with M the memberships of the model inside and the sizes n the sums over the objects,

    membership of (0, j)    M_j
    membership of (s, j)    S_sj times that of the group that was split
    group                   the sum over its columns; features are means by n, and by p(view | group) where a group is
                            one distribution over all views

A merge puts the columns of several groups in one, a split has a column of the new model for each part, and the columns
of a dropped group are gone from their models, which are asked again as if they never had them. Noise is taken out at
the end, so that no other object moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coview.exceptions import ParameterError
from coview.utils.messages import cut, did_you_mean, listed, printable, short

__all__ = ["EDITS", "LARGEST", "EditedGroups", "Record", "check_record", "describe_record"]

Record = dict[str, Any]
Column = tuple[int, int]  # of a model: 0 is the one inside, those of splits follow

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
    names : dict of str or None
        Names by number, None for one that was taken back; `by_hand` has the numbers of those that people gave.
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
        self.names: dict[int, str | None] = {}
        self.by_hand: set[int] = set()
        self.changed: set[int] = set()
        self.noise: set[int] = set()
        self.gone: dict[int, str] = {}
        for record in records:  # checked by `check_record`, so that every kind has its method below
            options = {key: value for key, value in record.items() if key != "edit"}
            if "objects" not in options:  # those move objects, and change no group
                getattr(self, f"_{record['edit']}")(**options)
        self.columns = dict(sorted(self.columns.items()))  # by number: the order of the columns of `transform`

    @property
    def shown(self) -> list[int]:
        """Numbers of the groups that are no noise."""
        return [number for number in sorted(self.columns) if number not in self.noise]

    @property
    def sorted_numbers(self) -> np.ndarray:
        """Number of each column, -1 of noise."""
        return np.array([-1 if number in self.noise else number for number in self.columns])

    @property
    def next_number(self) -> int:
        """The lowest number that no group ever had."""
        return max([*self.columns, *self.gone]) + 1

    @property
    def whole(self) -> bool:
        """Whether all groups are those of the model inside, as they were."""
        return not self.noise and list(self.columns.values()) == [[(0, j)] for j in range(self.widths[0])]

    def roots(self, columns: Iterable[Column]) -> set[int]:
        """Return the groups of the model inside that some columns are parts of, by position."""
        return set().union(*({j} if not model else self.roots(self.divided[model]) for model, j in columns))

    def check(self, number: int) -> int:
        """Return the number of a group; one that is none is refused with what became of it."""
        if number in self.gone:
            raise ParameterError(f"There is no group {number}: it was {self.gone[number]}.")
        if number not in self.columns:
            raise ParameterError(f"There is no group {short(number)}, only {listed(sorted(self.columns))}.")
        return number

    # -- the edits

    def _merge(self, groups: list[int], name: str | None) -> None:
        # a group that is half noise would be neither: its objects could not be said to belong to it or to nothing
        noise = self.noise & {self.check(number) for number in groups}
        if noise and len(noise) < len(groups):
            raise ParameterError(
                f"Group {min(noise)} is marked as noise: merge it with other noise only, or undo that."
            )
        kept, *others = sorted(groups)
        # what people wrote outlives a merge; a name that was made of features does not hold for the union
        given = name or next((self.names[number] for number in sorted(groups) if number in self.by_hand), None)
        columns = [column for number in sorted(groups) for column in self.columns[number]]
        for number in others:
            self._remove(number, f"merged into {kept}")
        self.columns[kept] = columns
        self._change(kept, given)

    def _split(self, group: int, into: list[int]) -> None:
        if self.check(group) in self.noise:
            raise ParameterError(f"Group {group} is marked as noise: undo that to split it.")
        if group not in into or any(number in self.columns or number in self.gone for number in {*into} - {group}):
            raise ParameterError(f"A split of group {group} keeps that number, and gives new ones: got {into}.")
        # the group that was split is kept as columns: it may itself be merged of others, or a part of another split
        self.divided.append(self.columns[group])
        self.widths.append(len(into))
        self.dropped.append(set())
        self.columns.update({number: [(len(self.divided) - 1, j)] for j, number in enumerate(into)})
        self._change(group, self.names[group] if group in self.by_hand else None)

    def _rename(self, group: int, name: str | None, found: bool = False) -> None:
        self.names[self.check(group)] = name
        (self.by_hand.discard if found else self.by_hand.add)(group)  # `name_groups` replaces what it has found

    def _drop(self, group: int) -> None:
        self._check_left(group)
        for column in self.columns[group]:
            self._drop_column(*column)
        self._remove(group, "dropped")

    def _drop_column(self, model: int, j: int) -> None:
        # a model cannot be asked without any of its groups: with its last part the group that was split goes
        if model and len(self.dropped[model]) == self.widths[model] - 1:
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
            # the parts share what the group had, which may come from an earlier split: hence the recursion
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
            weights = weights if weights.sum() > 0 else np.ones(len(columns))  # groups that no object is in
            # a group that no edit has touched keeps its row to the bit, which a mean of one would not promise
            rows.append(own[0] if len(own) == 1 else np.average(own, axis=0, weights=weights))
        return np.stack(rows).astype(np.asarray(values[0]).dtype, copy=False)


def _check_number(value: Any) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)  # True is an int of Python
    if not whole or not 0 <= value < LARGEST:
        raise ParameterError(f"A group must have a whole number from 0 on, got {short(value)}.")
    return int(value)


def _check_numbers(value: Any) -> list[int]:
    numbers = [_check_number(part) for part in value] if isinstance(value, (list, tuple)) else []
    if len(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise ParameterError(f"Groups must be a list of two or more, such as [3, 4], got {short(value)}.")
    return numbers


def _check_parts(value: Any) -> list[list[int]]:
    if not isinstance(value, list):
        raise ParameterError(f"Groups must be a list of lists, such as [[3, 4], [5, 6]], got {short(value)}.")
    return [_check_numbers(part) for part in value]


def _check_objects(value: Any) -> list[Any]:
    objects = list(value) if isinstance(value, (list, tuple, np.ndarray)) else []
    plain = [each.item() if isinstance(each, np.generic) else each for each in objects]
    if not all(type(each) in (str, int) for each in plain) or len({*plain}) < max(len(plain), 2):
        raise ParameterError(f"Objects must be a list of two ids or rows, or more, got {short(value)}.")
    return plain


def _check_name(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value.strip()) <= 200 or printable(value) != value:
        raise ParameterError(f"A name must be a text of 1 to 200 letters on one line, got {short(value)}.")
    return value.strip()


EDITS: dict[str, dict[str, Callable[[Any], Any]]] = {  # what each edit says beside its name
    "merge": {"groups": _check_numbers, "name": _check_name},
    "split": {"group": _check_number, "into": _check_numbers},
    "rename": {"group": _check_number, "name": _check_name, "found": bool},
    "drop": {"group": _check_number},
    "noise": {"group": _check_number},
    "reduce": {"n": _check_number, "groups": _check_parts},
    "together": {"objects": _check_objects},
    "apart": {"objects": _check_objects},
}
OPTIONAL: dict[str, Record] = {"merge": {"name": None}, "rename": {"found": False}}  # what need not be said


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
    given: Record = {**OPTIONAL.get(kind, {}), **(record if isinstance(record, Mapping) else {})}
    if set(given) != {"edit", *EDITS[kind]}:
        raise ParameterError(f"The edit {kind!r} takes {listed(EDITS[kind])}, got {listed(map(str, given))}.")
    return {"edit": kind, **{key: check(given[key]) for key, check in EDITS[kind].items()}}


def describe_record(record: Record) -> str:
    """Return an edit as a sentence without a full stop.

    Examples
    --------
    >>> describe_record({"edit": "merge", "groups": [7, 3], "name": "engines"})
    "merge 3 and 7 into 3, 'engines'"
    """
    kind, group, name = record["edit"], record.get("group"), record.get("name")
    if "objects" in record:
        return f"keep {cut(', '.join(map(str, record['objects'])), 100)} {kind}"
    if kind == "merge":
        return f"merge {_describe_merge(record['groups'])}" + (f", {name!r}" if name else "")
    if kind == "split":
        return f"split {group} into {_enumerate(record['into'])}"
    if kind == "rename":
        return f"take back the name of {group}" if name is None else f"rename {group} to {name!r}"
    if kind == "reduce":
        merges = ", ".join(map(_describe_merge, record["groups"]))
        return f"reduce to {record['n']}" + (f": {merges}" if merges else "")
    return f"drop {group}" if kind == "drop" else f"mark {group} as noise"


def _describe_merge(groups: Sequence[int]) -> str:
    return f"{_enumerate(groups)} into {min(groups)}"


def _enumerate(numbers: Sequence[int]) -> str:
    *first, last = map(str, sorted(numbers))
    return f"{', '.join(first)} and {last}"
