"""`EmbeddingViews`: texts or images become dense vectors by a function that the user brings."""

from __future__ import annotations

import copy
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import MissingPackageError, ParameterError, ViewsError
from coview.preprocessing.base import insert_absent
from coview.preprocessing.columns import RawTransformer, Table, check_column_name, read_columns
from coview.utils import fitted_state as rules
from coview.utils.messages import cut, did_you_mean, file_errors, listed
from coview.utils.parameters import (
    COLUMNS,
    FUNCTION,
    MAPPING,
    NONE,
    PATH,
    TEXT,
    integer,
    object_with,
    one_or_by_view,
)
from coview.utils.progress import progress, tell
from coview.views.arrays import from_tensor, is_tensor
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["EmbeddingViews"]


Encode = Callable[[list[Any]], Any]


class EmbeddingViews(RawTransformer):
    """Turn columns of texts or images into dense views, by an encoder that you bring.

    The encoder is any function from a list of texts (or images) to one vector each, as an array, a list, a tensor or a
    generator: a model of sentence-transformers or open_clip, a call of an HTTP endpoint, a fitted transformer's
    `transform`. It is called in batches; what occurs twice is computed once. An object whose text is missing (None or
    NaN) lacks the view.

    With `cache`, vectors are kept on disk by what the cells hold, under the name of the encoder, so that only what is
    new is computed: in the next fit, in cross-validation, and after a run that was interrupted. Where cells name files,
    the name counts, not what the file holds: a file that was replaced needs an empty folder or another `name`.

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
        "encoder": one_or_by_view(FUNCTION | TEXT | object_with("encode") | NONE),
        "columns": COLUMNS,
        "name": TEXT | MAPPING | NONE,
        "cache": PATH | NONE,
        "batch_size": integer(),
    }

    def __init__(
        self,
        encoder: Any = None,
        columns: Any = None,
        *,
        name: Any = None,
        cache: Any = None,
        batch_size: int = 64,
    ) -> None:
        self.encoder = encoder
        self.columns = columns
        self.name = name
        self.cache = cache
        self.batch_size = batch_size

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
        table = self._as_table(X, self.columns)
        columns = self._chosen_columns(table)
        self._check_names(columns)
        # lengths of a former fit would refuse vectors of another encoder
        self.columns_, self.dimensions_ = columns, {}
        views = self._views(table, columns)
        self.dimensions_ = views.n_features
        self.view_names_ = list(columns)
        return views

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        check_is_fitted(self)
        table = self._as_table(X, self.columns_)
        table.check_has_any(list(self.columns_.values()))
        with progress(type(self).__name__, owner=self):
            return self._views(table, {view: name for view, name in self.columns_.items() if name in table.sources})

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the texts from which each view is built; empty if an object has none.

        Parameters
        ----------
        X : table or list of texts
            What `transform` takes.
        """
        check_is_fitted(self)
        table = self._as_table(X, self.columns_)
        read = {view: table.cells(name) for view, name in self.columns_.items() if name in table.sources}
        return {view: [cell if isinstance(cell, str) else "" for cell in cells] for view, cells in read.items()}

    def text_columns(self) -> list[Any]:
        """Return the columns that are embedded."""
        check_is_fitted(self)
        return list(self.columns_.values())

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        return {view: ViewInput(view, width) for view, width in self.dimensions_.items()}

    # -- what is embedded, and by what

    def _chosen_columns(self, table: Table) -> dict[str, Any]:
        chosen = read_columns("columns", self.columns)
        if self.columns is None:  # a plain list is one column, of whatever it holds
            first = {name: next((cell for cell in table.cells(name) if cell is not None), "") for name in table.names}
            chosen = {str(name): name for name in first if len(first) == 1 or isinstance(first[name], str)}
        if not chosen:
            raise ViewsError(f"At least one column of text is needed; the columns are {listed(table.names)}.")
        for view, name in chosen.items():
            table.check_has([name], f" for view {view!r}")
        return chosen

    def _check_names(self, columns: dict[str, Any]) -> None:
        """Refuse views that are named in a parameter and are none."""
        named = {
            "encoder": self.encoder if isinstance(self.encoder, Mapping) else {},
            "name": self.name if isinstance(self.name, Mapping) else {},
        }
        for parameter, views in named.items():
            for view in views:
                if view not in columns:
                    raise ViewsError(
                        f"{parameter} names view {view!r}, but the views are {listed(columns)}."
                        f"{did_you_mean(view, columns)}"
                    )

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
            return _load_sentence_transformer(encoder)
        own = rules.find_attribute(encoder, "encode")  # a SentenceTransformer is a function too, but not from texts
        return encoder if own is None else own

    def _called(self, view: str) -> str:
        """What the encoder of a view is called in the cache."""
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
        return str(name)

    def _views(self, table: Table, columns: dict[str, Any]) -> Views:
        arrays, present = {}, {}
        for view, column in columns.items():
            cells = table.cells(column)
            have = np.array([cell is not None for cell in cells])
            matrix = self._embed(view, [cell for cell in cells if cell is not None])
            arrays[view] = insert_absent(matrix, have)
            present[view] = have
        return Views(arrays, ids=table.ids, present=present)

    def _embed(self, view: str, items: list[Any]) -> np.ndarray:
        """One vector for each item: those that the cache knows, the others by batches of the encoder."""
        width = self.dimensions_.get(view)
        if not items:
            if width is None:
                raise ViewsError(f"Column {self.columns_[view]!r} of view {view!r} has no value in any row.")
            return np.zeros((0, width), dtype=np.float32)
        keys = [_hash_content(item) for item in items]
        # what occurs several times is encoded once
        unique = dict(zip(keys, items))
        known = _read_cache(self.cache, self._called(view), list(unique)) if self.cache is not None else {}
        todo = [key for key in unique if key not in known]
        # no model is loaded where the cache knows all
        encode = self._encode(view) if todo else None
        for start in range(0, len(todo), self.batch_size):
            tell(f"view {view!r}, {start:,} of {len(todo):,}", start, len(todo))
            some = todo[start : start + self.batch_size]
            found = dict(zip(some, _answer(view, encode, [unique[key] for key in some])))
            known.update(found)
            if self.cache is not None:  # what was computed before an error is kept
                _write_cache(self.cache, self._called(view), found)
        width = width or len(known[keys[0]])
        other = next((len(vector) for vector in known.values() if len(vector) != width), None)
        if other is not None:
            raise ViewsError(
                f"The vectors of view {view!r} have {width} and {other} numbers. Use the encoder of the fit, with "
                "vectors of one length; a changed encoder needs another name in the cache."
            )
        return np.stack([known[key] for key in keys])


def _answer(view: str, encode: Any, batch: list[Any]) -> np.ndarray:
    """What the encoder says of a batch, checked."""
    try:
        answer: Any = encode(batch)
        answer = list(answer) if isinstance(answer, Iterator) else answer  # vectors that are made one by one
        answer = from_tensor(answer) if is_tensor(answer) else answer
        vectors = np.asarray(answer)
        vectors = vectors.astype(np.result_type(vectors.dtype, np.float32), copy=False)
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        why = f"{type(error).__name__}: {cut(str(error), 200)}"
        raise ViewsError(f"The encoder of view {view!r} failed for {len(batch)} items ({why}).") from error
    except Exception as error:  # of a network, say: whoever brought the encoder knows what to do about it
        error.add_note(f"While the encoder of view {view!r} was given {len(batch)} items.")
        raise
    if vectors.dtype.kind != "f" or vectors.ndim != 2 or len(vectors) != len(batch) or not vectors.shape[1]:
        raise ViewsError(
            f"The encoder of view {view!r} returned an array of shape {vectors.shape} and type {vectors.dtype} for "
            f"{len(batch)} items; it must return a vector of numbers each."
        )
    if not np.isfinite(vectors).all():
        raise ViewsError(f"The encoder of view {view!r} returned NaN or infinity.")
    return vectors


# -- vectors on disk, by the content that they were made of


def _hash_content(item: Any) -> str:
    """What tells an item from others."""
    if isinstance(item, str):
        return hashlib.sha256(item.encode(errors="surrogatepass")).hexdigest()
    return str(joblib.hash(item))


@contextmanager
def _open_cache(folder: Any) -> Iterator[sqlite3.Connection]:
    with file_errors(f"The cache {folder} cannot be used", "Name another folder."):
        Path(folder).mkdir(parents=True, exist_ok=True)
        opened = sqlite3.connect(Path(folder) / "vectors.sqlite", timeout=60)  # seconds to wait while others write
        with closing(opened), opened:
            opened.execute("CREATE TABLE IF NOT EXISTS vectors (encoder, item, vector, PRIMARY KEY (encoder, item))")
            yield opened


def _read_cache(folder: Any, encoder: str, keys: list[str]) -> dict[str, np.ndarray]:
    known = {}
    query = "SELECT vector FROM vectors WHERE encoder = ? AND item = ?"
    with _open_cache(folder) as cache:
        for key in keys:
            for (stored,) in cache.execute(query, (encoder, key)):
                # the first byte says how many bytes each number has
                known[key] = np.frombuffer(stored, dtype=f"<f{stored[0]}", offset=1)
    return known


def _write_cache(folder: Any, encoder: str, vectors: dict[str, np.ndarray]) -> None:
    rows = [(encoder, key, bytes([vector.itemsize]) + vector.tobytes()) for key, vector in vectors.items()]
    with _open_cache(folder) as cache:
        cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)


@lru_cache(maxsize=4)
def _load_sentence_transformer(name: str) -> Encode:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingPackageError(
            f"The encoder {name!r} is the name of a model of sentence-transformers, which is not installed. Run: pip "
            "install sentence-transformers, or pass a function."
        ) from None
    return partial(SentenceTransformer(name).encode, show_progress_bar=False, convert_to_numpy=True)
