"""`EmbeddingViews`: texts or images become dense vectors by a function that the user brings."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import DataFileError, EngineError, ParameterError, ViewsError
from coview.preprocessing.raw_columns import (
    Column,
    RawTransformer,
    Table,
    as_table,
    check_column_name,
    columns_by_view,
)
from coview.preprocessing.vector_cache import VectorCache, content_key
from coview.utils import fitted_state as rules
from coview.utils.messages import cut, did_you_mean, listed, short
from coview.utils.parameters import COLUMNS, FUNCTION, MAPPING, NONE, PATH, TEXT, TEXTS, by_view, integer, object_with
from coview.utils.progress import progress, tell
from coview.views.arrays import from_tensor, is_tensor, scatter_rows
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["EmbeddingViews"]

_BARE = "text"  # the column, and so the view, that a plain list becomes
_OFTEN = 10.0  # seconds of work that a process that is killed may lose
_MANY = 4096  # vectors that are written at once, at most

Encode = Callable[[list[Any]], Any]


class EmbeddingViews(RawTransformer):
    """Turn columns of texts or images into dense views, by an encoder that you bring.

    The encoder is any function from a list of texts (or images) to one vector each, as an array, a list, a tensor or a
    generator: a model of sentence-transformers or open_clip, a call of an HTTP endpoint, a fitted transformer's
    `transform`. It is called in batches; what occurs twice is computed once. An object whose text is missing (None or
    NaN) lacks the view.

    With `cache`, vectors are kept on disk by content, under the name of the encoder, so that only what is new is
    computed: in the next fit, in cross-validation, and after a run that was interrupted.

    Parameters
    ----------
    encoder : function, object with `encode`, model name, mapping of view to any of these, or None, default=None
        What makes vectors of a list. A text is the name of a model of sentence-transformers, which must be installed.
        None is for a model that was loaded from a file: set it before the model is used. Clones share it.
    columns : mapping of view to column, column, list of columns, or None, default=None
        Which column makes which view. By default every column of text is a view of the same name; a plain list is one
        view named "text".
    name : str, mapping of view to str, or None, default=None
        What the encoder is called in the cache. Give another name to another encoder: their vectors are then kept
        apart. Model names are their own.
    cache : str, Path or None, default=None
        Folder in which vectors are kept; None keeps none.
    batch_size : int, default=64
        Texts or images that the encoder is given at once.
    files : str, list of str or None, default=None
        Views whose column has names of files, such as images. The encoder is given Paths, and the cache goes by what is
        in the files.
    verbose : int or None, default=None
        1 shows progress, 0 does not; None does in notebooks and on the command line.

    Attributes
    ----------
    columns_ : dict
        The column of each view.
    dimensions_ : dict
        The length of the vectors of each view.
    view_names_ : list of str
        Names of the views.

    See Also
    --------
    TextViews : Count words instead.
    TableViews : Columns of vectors, words and numbers in one model, and these embeddings beside them.

    Notes
    -----
    A model file holds neither functions nor names of models, since nothing in a file decides what is run. A loaded
    model asks for its encoder again: ``model.set_params(embeddingviews__encoder=encode)``.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import EmbeddingViews
    >>> def encode(texts):
    ...     return np.array([[len(text), text.count("e")] for text in texts], dtype=np.float32)
    >>> X = EmbeddingViews(encode, {"meaning": "body"}).fit_transform({"body": ["red fox", None, "the sea"]})
    >>> X
    Views of 3 rows
      meaning  3 x 2  dense float32  66.7 % non-zero  present in 66.7 % of rows
    >>> X["meaning"].tolist()
    [[7.0, 1.0], [0.0, 0.0], [7.0, 2.0]]
    """

    _input_tags = ("string", "one_d_array")

    _fitted_state = {
        "view_names_": rules.view_names(),
        "columns_": rules.by_view(rules.custom(check_column_name)),
        "dimensions_": rules.by_view(rules.count(1, high=1 << 20)),
    }
    _parameters = {
        "encoder": by_view(FUNCTION | TEXT | object_with("encode") | NONE),
        "columns": COLUMNS,
        "name": TEXT | MAPPING | NONE,
        "cache": PATH | NONE,
        "batch_size": integer(),
        "files": TEXT | TEXTS | NONE,
    }

    def __init__(
        self,
        encoder: Any = None,
        columns: Any = None,
        *,
        name: Any = None,
        cache: Any = None,
        batch_size: int = 64,
        files: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.encoder = encoder
        self.columns = columns
        self.name = name
        self.cache = cache
        self.batch_size = batch_size
        self.files = files
        self.verbose = verbose

    def __sklearn_clone__(self) -> EmbeddingViews:
        """Clones share the encoder: a copy of a model would fill a GPU twice, a client of a network has no copy."""
        bare = copy.copy(self)
        bare.encoder = None
        made = super(EmbeddingViews, bare).__sklearn_clone__()
        made.encoder = self.encoder
        return made

    def fit(self, X: Any, y: Any = None) -> EmbeddingViews:
        """Learn the columns and the length of their vectors."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Learn the columns and return the views."""
        table = as_table(X, type(self).__name__, bare=self._bare(self.columns))
        columns = self._chosen_columns(table)
        self._check_names(columns)
        vectors = {view: self._embedded(table, view, column, None) for view, column in columns.items()}
        for view, (matrix, _) in vectors.items():
            if not len(matrix):
                raise ViewsError(f"Column {columns[view]!r} of view {view!r} has no value in any row.")
        self.columns_ = columns
        self.dimensions_ = {view: matrix.shape[1] for view, (matrix, _) in vectors.items()}
        self.view_names_ = list(columns)
        return self._views(table, vectors)

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        check_is_fitted(self)
        table = as_table(X, type(self).__name__, bare=self._bare(self.columns_))
        columns = {view: name for view, name in self.columns_.items() if name in table.sources}
        if not columns:
            table.check_has_any(list(self.columns_.values()))
        if table is not X:  # else TableViews, which knows all columns, has looked
            self._warn_of_renamed(table)
        with progress(type(self).__name__, self.verbose, owner=self):
            vectors = {
                view: self._embedded(table, view, column, self.dimensions_[view]) for view, column in columns.items()
            }
        return self._views(table, vectors)

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the texts from which each view is built; empty if an object has none.

        Parameters
        ----------
        X : table or list of texts
            What `transform` takes.
        """
        check_is_fitted(self)
        table = as_table(X, type(self).__name__, bare=self._bare(self.columns_))
        read = {view: table.column(name) for view, name in self.columns_.items() if name in table.sources}
        return {view: [v if isinstance(v, str) else "" for v in column.values] for view, column in read.items()}

    def text_columns(self) -> list[Any]:
        """Return the columns that are embedded."""
        check_is_fitted(self)
        return list(self.columns_.values())

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        return {view: ViewInput(view, width) for view, width in self.dimensions_.items()}

    # -- what is embedded, and by what

    def _bare(self, columns: Any) -> Any:
        one = isinstance(columns, Mapping) and len(columns) == 1
        return next(iter(columns.values())) if one else _BARE

    def _chosen_columns(self, table: Table) -> dict[str, Any]:
        if self.columns is None:
            names = table.names  # a plain list is one column, of whatever it holds
            chosen = {str(name): name for name in names if len(names) == 1 or table.column(name).kind == "text"}
            if not chosen:
                raise ViewsError(f"{table.who} found no column of text; the columns are {listed(names)}.")
            return chosen
        chosen = columns_by_view("columns", self.columns)
        if not chosen:
            raise ViewsError(f"{table.who} needs at least one column, got none.")
        for view, name in chosen.items():
            table.check_has([name], f" for view {view!r}")
        return chosen

    def _check_names(self, columns: dict[str, Any]) -> None:
        """Refuse views that are named in a parameter and are none."""
        named = {
            "encoder": self.encoder if isinstance(self.encoder, Mapping) else {},
            "name": self.name if isinstance(self.name, Mapping) else {},
            "files": self._file_views(),
        }
        for parameter, views in named.items():
            for view in views:
                if view not in columns:
                    raise ViewsError(
                        f"{parameter} names view {view!r}, but the views are {listed(columns)}."
                        f"{did_you_mean(view, columns)}"
                    )

    def _file_views(self) -> list[str]:
        return [] if self.files is None else [self.files] if isinstance(self.files, str) else list(self.files)

    def _encode(self, view: str) -> Encode:
        """The function of a view."""
        encoder = self.encoder.get(view) if isinstance(self.encoder, Mapping) else self.encoder
        if encoder is None:
            raise ParameterError(
                f"is not set for view {view!r}: pass a function from a list of texts to vectors, or the name of a "
                "model of sentence-transformers. A model from a file does not hold it: set it again with set_params.",
                parameter="encoder",
            )
        if isinstance(encoder, str):
            return _sentence_transformer(encoder)
        own = rules.ask(encoder, "encode")  # a SentenceTransformer is a function too, but not from texts
        return encoder if own is None else own

    def _cache(self, view: str) -> VectorCache | None:
        if self.cache is None:
            return None
        name = self.name.get(view) if isinstance(self.name, Mapping) else self.name
        if name is None:
            encoder = self.encoder.get(view) if isinstance(self.encoder, Mapping) else self.encoder
            name = encoder if isinstance(encoder, str) else None
        if name is None:
            raise ParameterError(
                f"must be given where there is a cache: it keeps the vectors of view {view!r} apart from those of "
                "other functions. Use a new name when the function changes, such as name='letters-2'.",
                parameter="name",
            )
        return VectorCache(self.cache, str(name))

    def _embedded(self, table: Table, view: str, column: Any, width: int | None) -> tuple[Any, np.ndarray]:
        """Vectors of the rows that have a value, and a mask of those that have none."""
        read = _items(table, column, view if view in self._file_views() else None)
        there = [value for value, gap in zip(read.values, read.missing) if not gap]
        if not there:
            return np.zeros((0, width or 1), dtype=np.float32), read.missing
        keys = [_key(view, column, value, self.cache is not None) for value in there]
        position = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        first = dict(zip(reversed(keys), reversed(there)))
        items = [first[key] for key in position]
        work = _Embedding(view, self._encode(view), self._cache(view), self.batch_size, width)
        unique = work.run(items, list(position))
        rows = np.fromiter((position[key] for key in keys), dtype=np.intp, count=len(keys))
        return unique if len(items) == len(keys) else unique[rows], read.missing

    def _views(self, table: Table, vectors: dict[str, tuple[Any, np.ndarray]]) -> Views:
        arrays, present = {}, {}
        for view, (matrix, missing) in vectors.items():
            present[view] = ~missing
            if missing.any():
                matrix = scatter_rows(matrix, np.where(missing, -1, np.cumsum(~missing) - 1))
            arrays[view] = matrix
        return Views(arrays, ids=table.ids, present=present)


class _Embedding:
    """Different items become vectors: those that the cache knows, the others by batches of the encoder."""

    def __init__(
        self, view: str, encode: Encode, cache: VectorCache | None, batch_size: int, width: int | None
    ) -> None:
        self.view, self.encode, self.cache, self.batch_size, self.width = view, encode, cache, batch_size, width
        self.matrix: Any = None

    def run(self, items: list[Any], keys: list[Any]) -> np.ndarray:
        known = np.zeros(len(items), dtype=bool)
        for at, vectors in self.cache.find(keys) if self.cache is not None else ():
            self._check_width(vectors.shape[1], "the cache has vectors")
            self._put(at, vectors, len(items))
            known[at] = True
        todo = np.flatnonzero(~known)
        unsaved, since = [], time.monotonic()
        try:
            for start in range(0, len(todo), self.batch_size):
                tell(f"view {self.view!r}, {start:,} of {len(todo):,}", start, len(todo))
                rows = todo[start : start + self.batch_size]
                self._put(rows, self._answer([items[i] for i in rows]), len(items))
                unsaved.append(rows)
                if sum(map(len, unsaved)) >= _MANY or time.monotonic() - since > _OFTEN:
                    self._save(unsaved, keys)
                    unsaved, since = [], time.monotonic()
        finally:  # what was computed before an error is kept
            self._save(unsaved, keys)
        return self.matrix

    def _save(self, parts: list[np.ndarray], keys: list[Any]) -> None:
        if self.cache is not None and parts:
            rows = np.concatenate(parts)
            self.cache.add([keys[i] for i in rows], self.matrix[rows])

    def _put(self, rows: np.ndarray, vectors: np.ndarray, n_items: int) -> None:
        if self.matrix is None:
            self.matrix = np.zeros((n_items, vectors.shape[1]), dtype=vectors.dtype)
        self.matrix = self.matrix.astype(np.result_type(self.matrix, vectors), copy=False)
        self.matrix[rows] = vectors

    def _answer(self, batch: list[Any]) -> np.ndarray:
        """What the encoder says of a batch, checked."""
        try:
            answer = self.encode(batch)
            answer = list(answer) if isinstance(answer, Iterator) else answer  # vectors that are made one by one
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
            why = f"{type(error).__name__}: {cut(str(error), 200)}"
            raise ViewsError(f"The encoder of view {self.view!r} failed for {len(batch)} items ({why}).") from error
        except Exception as error:  # of a network, say: whoever brought the encoder knows what to do about it
            error.add_note(f"While the encoder of view {self.view!r} was given {len(batch)} items.")
            raise
        if sparse.issparse(answer):
            raise self._wrong("a sparse matrix; make views of it with TextViews(vectorizer=...) instead")
        try:
            vectors = np.asarray(from_tensor(answer) if is_tensor(answer) else answer)
        except (TypeError, ValueError) as error:
            raise self._wrong(f"what is no array of numbers ({cut(str(error))})") from error
        if vectors.dtype == object and not vectors.ndim:
            raise self._wrong(f"{short(answer)}, which is no array of vectors")
        if vectors.dtype.kind not in "biuf":
            raise self._wrong(f"values of dtype {vectors.dtype}, which are no numbers")
        if vectors.ndim != 2 or len(vectors) != len(batch) or not vectors.shape[1]:
            raise self._wrong(f"an array of shape {vectors.shape} for {len(batch)} items; it must return a vector each")
        vectors = vectors.astype(np.result_type(vectors.dtype, np.float32), copy=False)
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if bad.size:
            raise self._wrong(f"NaN or infinity for {short(batch[bad[0]])}")
        self._check_width(vectors.shape[1], "it returned vectors")
        return vectors

    def _wrong(self, what: str) -> ViewsError:
        return ViewsError(f"The encoder of view {self.view!r} returned {what}.")

    def _check_width(self, width: int, said: str) -> None:
        if self.width is None:
            self.width = width
        if width != self.width:
            name = "" if self.cache is None else f" A changed encoder needs another name than {self.cache.name!r}."
            raise ViewsError(
                f"The vectors of view {self.view!r} have {self.width} numbers, but {said} of {width}. Use the encoder "
                f"of the fit, with vectors of one length.{name}"
            )


def _items(table: Table, name: Any, file_view: str | None) -> Column:
    """Texts, images or paths of a column."""
    if table.has_vectors(name):
        raise ViewsError(
            f"Column {name!r} holds vectors already. Make a view of them with TableViews(columns={{{str(name)!r}: "
            f"{name!r}}})."
        )
    column = table.column(name)
    if file_view is None:
        return column
    values = column.values.copy()
    for row in np.flatnonzero(~column.missing).tolist():
        path = Path(values[row]) if isinstance(values[row], (str, Path)) else None
        if path is None or not path.is_file():
            raise DataFileError(
                f"Column {name!r} of view {file_view!r} must name files, but in row {row} (counting from 0) there is "
                f"none: {short(values[row])}."
            )
        values[row] = path
    return Column(name, "other", "files", values, column.missing)


def _key(view: str, column: Any, value: Any, needed: bool) -> Any:
    """What tells an item from others: its content, or where that is unknown the object itself."""
    key = content_key(value)
    if key is None and needed:
        raise ViewsError(
            f"The cache knows texts, bytes, arrays, images of Pillow and Paths by their content, but column {column!r} "
            f"of view {view!r} holds {type(value).__name__}. Leave out cache, or turn it into one of these."
        )
    return id(value) if key is None else key


@lru_cache(maxsize=4)
def _sentence_transformer(name: str) -> Encode:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise EngineError(
            f"The encoder {name!r} is the name of a model of sentence-transformers, which is not installed. Run: pip "
            "install sentence-transformers, or pass a function."
        ) from None
    return partial(SentenceTransformer(name).encode, show_progress_bar=False, convert_to_numpy=True)
