"""From what a model takes, raw tables or views, to what its estimator itself takes, by the steps in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.inspection.captions import caption_rows
from coview.inspection.known import objects_by_view, rows_with_values, takes_counts
from coview.preprocessing.columns import RawTransformer, Table, as_table
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.utils.docs import shared_parameters
from coview.views.arrays import for_sklearn
from coview.views.coerce import as_views
from coview.views.inputs import ViewInput, order_as_fitted
from coview.views.lazy import LazyViews
from coview.views.views import PLAIN, Views, is_plain

__all__ = ["Preparation"]

_ROWS_AT_A_TIME = 4096  # of lazy views


@shared_parameters
@dataclass(frozen=True, eq=False)
class Preparation:
    """What a model takes, and the steps before its estimator.

    Parameters
    ----------
    estimator : object
        The model itself: what is left without pipeline and search.
    views : dict of ViewInput
        What the estimator takes, by view.
    inputs : dict of ViewInput
        What the model takes, by view: as `views`, but for steps before the estimator.
    front : object or None
        The step that makes views of raw tables or texts.
    steps : tuple
        Steps between the front and the estimator.
    model : object
        What `inspect` was asked about.
    unused_views : tuple of str
        Views that the estimator leaves out, or gives the weight 0.
    takes_lazy : bool
        Whether the estimator accepts lazy views.
    takes_matrix : bool
        Whether the estimator takes a single matrix, as scikit-learn's estimators do.
    """

    estimator: Any
    views: dict[str, ViewInput] = field(default_factory=dict)
    inputs: dict[str, ViewInput] = field(default_factory=dict)
    front: Any = None
    steps: tuple[Any, ...] = ()
    model: Any = None
    unused_views: tuple[str, ...] = ()
    takes_lazy: bool = False
    takes_matrix: bool = False

    @property
    def unused_inputs(self) -> tuple[str, ...]:
        """The `unused_views` by the names of what the model takes; none where a step before makes other views."""
        return self.unused_views if set(self.views) == set(self.inputs) else ()

    @property
    def id_column(self) -> str | None:
        """Column of a raw table that holds the ids of the objects."""
        return self.front.id if isinstance(self.front, TableViews) else None

    @property
    def list_columns(self) -> dict[Any, Callable[[str], list[str]]]:
        """Columns of a raw table that are lists, each with the function that splits its texts into items."""
        return self.front.list_columns() if isinstance(self.front, RawTransformer) else {}

    @property
    def text_columns(self) -> list[Any]:
        """Columns of a raw table whose texts are read as words, or by an encoder."""
        return self.front.text_columns() if isinstance(self.front, RawTransformer) else []

    def raw_table(self, X: Any) -> Table | None:
        """Return what the model makes views of as a table; None where it takes views.

        Parameters
        ----------
        <shared: inspected>
        """
        if isinstance(X, (Views, LazyViews)) or not isinstance(self.front, RawTransformer):
            return None
        return as_table(X, bare=next(iter(self.text_columns), None))

    def captions(self, X: Any, rows: Iterable[int] | None = None) -> list[str] | None:
        """Return a line on each object of a raw table; None where X is none, and where no column tells objects.

        Parameters
        ----------
        <shared: inspected>
        rows : iterable of int, optional
            The objects; all by default.
        """
        table = self.raw_table(X)
        if table is None:
            return None
        ids = table.cells(self.id_column) if self.id_column in table.names else range(table.n_rows)
        return caption_rows(table, ids, self.text_columns, self.list_columns, rows)

    def raw_texts(self, table: Any) -> dict[str, list[str]]:
        """Return the texts of a raw table from which views are built, by view.

        Parameters
        ----------
        table : DataFrame, or dict of columns
            The raw table.
        """
        return self.front.raw_texts(table) if isinstance(self.front, (TableViews, TextViews, EmbeddingViews)) else {}

    def prepare(self, X: Any, *, lazy: bool = False) -> Any:
        """Convert raw tables, views or one matrix to the views that the estimator itself takes.

        Parameters
        ----------
        <shared: inspected>
        lazy : bool, default=False
            Keep lazy views lazy, for an estimator that accepts them.
        """
        if isinstance(X, LazyViews):
            if lazy and self.takes_lazy and not self.steps:
                return X
            X = X.collect()
        *_, X = self._stages(X)
        return self._as_taken(X)

    def prepare_known(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return the results of `prepare` and `known` with one pass through the steps before the estimator.

        Parameters
        ----------
        <shared: inspected>
        """
        if isinstance(X, LazyViews):
            return self.prepare(X, lazy=True), self.known(X)
        stages = list(self._stages(X))
        objects = self._as_taken(stages[-1])
        return objects, self._known_rows(stages, objects)

    def _known_rows(self, stages: list[Any], objects: Any) -> np.ndarray:
        """Which objects the estimator knows something of; none that has lost or lacked all features before."""
        if isinstance(objects, Views):
            known = np.any(list(self.described_objects(objects).values()), axis=0)
        else:
            filled = rows_with_values(objects, takes_counts(self.estimator))
            known = np.ones(len(objects), dtype=bool) if filled is None else filled  # sparse ones have no length
        for stage in stages[:-1]:
            if isinstance(stage, Views):
                known = known & np.any(list(objects_by_view(stage).values()), axis=0)
            elif (filled := rows_with_values(stage)) is not None:
                known = known & filled
        return known

    def described_objects(self, views: Views) -> dict[str, np.ndarray]:
        """Return by view a mask of the objects with a feature known to the model in that view; none in an unused one.

        Parameters
        ----------
        views : Views
            The objects, as `prepare_views` gives them.
        """
        names = {view: taken.feature_names for view, taken in self.views.items() if not taken.hashed}
        return objects_by_view(views, takes_counts(self.estimator), names, self.unused_views)

    def _as_taken(self, X: Any) -> Any:
        """What the last step before the estimator gives, as the estimator takes it."""
        if self.takes_matrix:
            return for_sklearn(X[X.names[0]] if isinstance(X, Views) else X)
        if is_plain(X) and len(self.views) == 1:
            X = {next(iter(self.views)): X}
        views = as_views(X)
        return views.collect() if isinstance(views, LazyViews) else views

    def prepare_views(self, X: Any) -> Views:
        """Return the same as in-memory views, named columns in the order of the fit.

        The matrix of a scikit-learn estimator becomes one view.

        Parameters
        ----------
        <shared: inspected>
        """
        objects = self.prepare(X)
        if not isinstance(objects, Views):
            return Views({PLAIN: objects})
        return order_as_fitted(type(self.estimator).__name__, objects, self.views)

    def as_taken(self, X: Any, prepared: bool, *, lazy: bool = False) -> Any:
        """Return objects as the estimator itself takes them.

        Parameters
        ----------
        <shared: inspected, prepared>
        lazy : bool, default=False
            Keep lazy views lazy, for an estimator that accepts them.
        """
        if not prepared:
            return self.prepare(X, lazy=lazy)
        return for_sklearn(X[PLAIN]) if self.takes_matrix and isinstance(X, Views) else X

    def _stages(self, X: Any) -> Iterator[Any]:
        """Yield objects as they come in, and after each step before the estimator."""
        raw = self.front is not None and not isinstance(X, Views)
        if isinstance(X, Views) and self.takes_matrix and list(self.inputs) == [PLAIN]:
            X = for_sklearn(X[X.names[0]])
        yield X
        for step in (*((self.front,) if raw else ()), *self.steps):
            X = step.transform(X)
            yield X

    def known(self, X: Any) -> np.ndarray:
        """Return a mask of the objects with at least one feature known to the model.

        See `Inspection.known`.

        Parameters
        ----------
        <shared: inspected>
        """
        if isinstance(X, LazyViews):
            parts = [X[start : start + _ROWS_AT_A_TIME] for start in range(0, len(X), _ROWS_AT_A_TIME)]
            return np.concatenate([self.known(part) for part in parts])
        return self.prepare_known(X)[1]
