"""What views in memory and lazy views have in common: names, choosing among them, immutability, and how they show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.utils.messages import did_you_mean, listed

__all__ = ["NamedViews", "RowsById"]


class RowsById:
    """Rows of views by the ids of the objects: ``X.loc["gimp"]``, ``X.loc[["gimp", "inkscape"]]``."""

    __slots__ = ("_views",)

    def __init__(self, views: NamedViews) -> None:
        self._views = views

    def __getitem__(self, ids: Any) -> Any:
        own = self._views.ids
        if own is None:
            raise ViewsError("These views have no ids to look up. Pass Views(..., ids=...), or TableViews(id=COLUMN).")
        wanted = np.atleast_1d(np.asarray(ids)).tolist()
        rows: dict[Any, list[int]] = {key: [] for key in wanted}
        for row, key in enumerate(own.tolist()):
            if key in rows:
                rows[key].append(row)
        for key, places in rows.items():
            if not places:
                raise ViewsError(f"There is no object with the id {key!r}.{did_you_mean(key, own.tolist())}")
        return self._views[[row for key in wanted for row in rows[key]]]


class NamedViews(ABC):
    """Several views of the same objects, by name; `Views` and `LazyViews` say where the rows are."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the views, in order."""

    @property
    @abstractmethod
    def n_features(self) -> dict[str, int]:
        """Number of features of each view."""

    @property
    @abstractmethod
    def feature_names(self) -> dict[str, np.ndarray]:
        """Feature names, for the views that have them."""

    @property
    @abstractmethod
    def ids(self) -> np.ndarray | None:
        """Ids of the objects, or None."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, key: Any) -> Any: ...

    @abstractmethod
    def _select(self, names: tuple[str, ...]) -> Any: ...

    @property
    def shape(self) -> tuple[int, int]:
        """Number of objects, and of features over all views."""
        return len(self), sum(self.n_features.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def keys(self) -> tuple[str, ...]:
        """Names of the views, so that ``dict(X)`` works for views in memory."""
        return self.names

    @property
    def loc(self) -> RowsById:
        """Rows by the ids of their objects: ``X.loc[["gimp", "inkscape"]]``; of an id in several rows all of them."""
        return RowsById(self)

    # -- choosing among the views

    def select(self, *names: str) -> Any:
        """Keep these views, in this order."""
        if len(names) == 1 and not isinstance(names[0], str):
            names = tuple(names[0])
        if not names:
            raise ViewsError(f"select needs at least one view; the views are {listed(self.names)}.")
        self._check_names(names)
        _check_different(names)
        return self._select(names)

    def drop(self, *names: str) -> Any:
        """Keep all views but these."""
        self._check_names(names)
        return self.select(*(name for name in self.names if name not in names))

    def _renaming(self, mapping: Mapping[str, str] | None, named: Mapping[str, str]) -> dict[str, str]:
        """Return ``{old name: new name}``, refusing unknown views and names that would be there twice."""
        new = {**(mapping or {}), **named}
        self._check_names(tuple(new))
        _check_different(tuple(new.get(name, name) for name in self.names))
        return new

    def _check_names(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.names:
                raise ViewsError(
                    f"There is no view {name!r}; the views are {listed(self.names)}.{did_you_mean(name, self.names)}"
                )

    def _row_key(self, key: Any) -> Any:
        """Return the rows of an index; scikit-learn asks for X[rows, ...]."""
        if not isinstance(key, tuple):
            return key
        if len(key) != 2 or not (key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))):
            raise TypeError(f"{type(self).__name__} are indexed by rows. For several views use X.select(...).")
        return key[0]

    # -- immutability

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} are immutable. Create new ones with select, drop, rename or map.")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"{type(self).__name__} are immutable. Create new ones with select, drop, rename or map.")


def _check_different(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise ViewsError(f"View names must be unique, got {listed(names)}.")
