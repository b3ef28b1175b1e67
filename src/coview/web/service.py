"""What a loaded model answers to other programs: info, predictions, coordinates, hits. No web library in here.

Every question comes as `Views`, so that questions that arrive together are stacked and answered by one model call;
answers are dicts of lists with one entry for each row, which `cut` takes apart again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from coview._version import __version__
from coview.exceptions import ViewsError
from coview.inspection import NAMED_BY_FEATURES, Inspection, inspect
from coview.inspection.captions import caption_rows
from coview.inspection.features import is_measured
from coview.inspection.known import objects_by_view
from coview.inspection.memberships import dense, label_codes
from coview.inspection.prevalence import named_columns
from coview.inspection.reading import can_predict, can_transform, predict_label_sets, transform_objects
from coview.io.models import load
from coview.io.tables import has_table_extension, read_table
from coview.io.views_folder import read_views
from coview.preprocessing.columns import as_table
from coview.utils.jsonable import to_jsonable
from coview.utils.messages import did_you_mean, listed, quantity
from coview.utils.warn import warn_user
from coview.views.inputs import order_as_fitted
from coview.views.lazy import LazyViews, stack_views
from coview.views.views import Views
from coview.web.rows import CellReader, rows_to_views

__all__ = ["Service", "cut", "join", "known_views", "largest_shares", "load_service", "sorts"]

MOST_HITS = 1000


class Service:
    """Answers of one model, and of others beside it for what the first does not do.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview or scikit-learn, or a pipeline.
    data : Views or None, default=None
        Objects to show and to search, with the views that the model was fitted on.
    also : sequence of estimators, default=()
        Further models of the same views: the first of all that can do a thing does it.
    title : str, default=""
        What the service calls itself, such as the name of the model file.
    texts : mapping or None, default=None
        The raw text of the objects by view, to be shown.
    table : data frame, mapping of columns or None, default=None
        The table that the objects come from, to be shown.
    labels : array-like or None, default=None
        Labels, one per object: those that a classifier was fitted with, so that new ones can be added and the model
        fitted again; of a topic model or clusterer, what its groups are compared with.
    by : sequence of str, default=()
        Columns of the table by which the prevalence of groups is shown; by default all that hold dates, numbers or
        categories.
    """

    def __init__(
        self,
        model: Any,
        data: Views | None = None,
        *,
        also: Sequence[Any] = (),
        title: str = "",
        texts: Any = None,
        table: Any = None,
        labels: Any = None,
        by: Sequence[str] = (),
    ) -> None:
        self.given = (model, *also)
        self.models = [inspect(each) for each in self.given]
        for each in self.models:
            _check_reads_no_files(each)
            _check_vocabulary(self.models[0], each)
        self.model = self.models[0]
        self.searcher = next((each for each in self.models if each.structure.retriever is not None), None)
        if self.searcher is not None:
            self.searcher.structure.retriever.index_.prepare()
        for each in [
            one for one in self.models if one.structure.retriever is not None
        ]:  # its models have topics of their own
            self.models += [inspect(inner) for inner in each.structure.retriever.models_]
        self.sorter = next((each for each in self.models if sorts(each)), None)
        # a model that only places objects leaves predictions to the next
        self.predictor = next((each for each in self.models if sorts(each) or can_predict(each)), self.model)
        self.title = title or self.model.name
        self.data = data if data is None else order_as_fitted(self.model.name, data, self.model.preparation.inputs)
        self.labels = labels
        self.texts = dict(texts or {})
        self._cells: dict[Any, list[Any]] = {}  # columns of the table that were asked for
        self.table = None if table is None else as_table(table)
        self.by = tuple(map(str, by))
        if self.by and self.table is None:
            raise ViewsError(f"by names columns of a raw table, {listed(self.by)}, but the objects come from none.")
        if self.by:
            named_columns(self.table, self.by)  # refuses what is not there
        self.readers = self._read_cells_of(self.model)
        self._query_readers = {} if self.searcher is None else self._read_cells_of(self.searcher)

    def _read_cells_of(self, model: Inspection) -> dict[str, CellReader]:
        measured = {
            view for view in model.preparation.inputs if view in model.views and is_measured(model, view, self.data)
        }
        return {
            view: CellReader(part, view in measured)
            for view, part in model.preparation.inputs.items()
            if part.n_features
        }

    def with_model(self, at: int, model: Any) -> Service:
        """Return a service of the same objects, with another model in place of one of those that were given.

        Parameters
        ----------
        at : int
            Position of the model that goes.
        model : estimator
            The one that comes.
        """
        models = [*self.given[:at], model, *self.given[at + 1 :]]
        shown = {"texts": self.texts, "table": self.table, "labels": self.labels}
        other = Service(models[0], self.data, also=models[1:], title=self.title, by=self.by, **shown)
        other._cells = self._cells
        return other

    # -- what there is

    @cached_property
    def ids(self) -> list[Any]:
        """Identifiers of the objects that can be shown: those of the data, else what the model files carry."""
        if self.data is not None:
            return list(range(len(self.data))) if self.data.ids is None else self.data.ids.tolist()
        if self.searcher is not None:
            return self.searcher.structure.retriever.indexed_ids().tolist()
        for each in self.models:
            known = [part for part in (each.training.memberships, each.training.codes) if part is not None]
            if known:
                return list(range(len(known[0]))) if each.training.ids is None else each.training.ids.tolist()
        return []

    def cells(self, name: Any) -> list[Any]:
        """Return the values of a column of the table, None where there is none."""
        if name not in self._cells:
            assert self.table is not None
            self._cells[name] = to_jsonable(self.table.cells(name))
        return self._cells[name]

    def column(self, name: str, lists: Any = None) -> Any:
        """Return a column of the table by its name as text, with cells of several items where lists are named."""
        assert self.table is not None
        own = next(each for each in self.table.names if str(each) == name)
        return named_columns(self.table, [own], lists=lists)[name]

    @cached_property
    def lists(self) -> dict[Any, Callable[[str], list[str]]]:
        """Columns of the table that a model reads as lists, each with the function that splits its texts into items."""
        known = [] if self.table is None else self.table.names
        found = {name: split for each in reversed(self.models) for name, split in each.preparation.list_columns.items()}
        return {name: split for name, split in found.items() if name in known}

    def caption(self, row: int) -> str | None:
        """Return a line on an object, such as its title; None where the table has none."""
        line = "" if self.captions is None else self.captions[row]
        return line if line and line != str(self.ids[row]) else None

    def line(self, row: int) -> dict[str, Any]:
        """Return what tells an object in a list."""
        return {"id": self.ids[row], "about": self.caption(row)}

    @cached_property
    def captions(self) -> list[str] | None:
        """A line on each object of the table; None where no column tells them."""
        texts = [name for each in self.models for name in each.preparation.text_columns]
        return None if self.table is None else caption_rows(self.table, self.ids, texts, self.lists)

    @cached_property
    def abilities(self) -> list[str]:
        """What other programs can ask for."""
        predicts = sorts(self.predictor) or can_predict(self.predictor)
        there = {"predict": predicts, "transform": can_transform(self.model), "search": self.searcher is not None}
        return [name for name, can in there.items() if can]

    def info(self) -> dict[str, Any]:
        """Return what the model is and what it takes."""
        model = self.model
        return {
            "title": self.title,
            "model": model.name,
            "models": [each.name for each in self.models],
            "coview": __version__,
            "views": [
                {
                    "name": view,
                    "features": reader.width,
                    "takes": reader.kinds,
                    "named": reader.named,
                    "likelihood": model.structure.likelihoods.get(view),
                    "unused": view in model.preparation.unused_inputs,
                }
                for view, reader in self.readers.items()
            ],
            "classes": to_jsonable(model.labels) if sorts(model) and model.kind == "class" else None,
            "objects": len(self.ids),
            "indexed": 0 if self.searcher is None else len(self.searcher.structure.retriever.indexed_ids()),
            "searched": [{"name": view, "takes": reader.kinds} for view, reader in self._query_readers.items()],
            "can": self.abilities,
        }

    # -- questions

    def read(self, rows: Any, unknown: str = "refuse") -> Views:
        """Rows of JSON as views of the model."""
        if not self.readers:
            raise ViewsError(f"{self.model.name} accepts no rows: the features it was fitted on are unknown.")
        return rows_to_views(rows, self.readers, unknown=unknown)

    def predict(self, views: Views, *, by_view: bool = False, top: int = 0) -> dict[str, Any]:
        """Labels (and probabilities) of objects; with `by_view` also what each view says alone.

        With `top`, "top" has the groups that come first for each object, as [name, position, share]: shares are
        probabilities where the model has any, and else a way to rank groups. "known" is false for an object without
        anything that the model knows: it gets what the model says of nothing. A view alone says nothing of an object
        without anything in it: the label there is None. A view that the model does not use has no answer.
        """
        answer = self._labels(views, top)
        if by_view and len(views.names) > 1:
            model = self.predictor
            described = (
                objects_by_view(views) if model.preparation.steps else model.preparation.described_objects(views)
            )
            answer["by_view"] = {
                view: self._alone(views.select(view), described[view], top, list(answer))
                for view in views.names
                if view not in model.preparation.unused_inputs
            }
        return answer

    def _alone(self, view: Views, described: np.ndarray, top: int, keys: Sequence[str]) -> dict[str, Any]:
        """What one view says of objects that have a feature in it; of others None, and that nothing is known.

        Gaps where no object has one: answers to other rows, with which this one is joined, have some.
        """
        here, unknown = np.flatnonzero(described), view.present[:, 0] & ~described
        alone = self._labels(view[here], top) if len(here) else {key: [] for key in keys if key != "by_view"}
        answer = {key: _spread(part, here, len(view)) for key, part in alone.items()}
        return {**answer, "known": [False if bare else told for bare, told in zip(unknown, answer["known"])]}

    def _labels(self, views: Views, top: int = 0) -> dict[str, Any]:
        model = self.predictor
        if not (can_predict(model) or model.kind == "topic"):
            raise ViewsError(f"{model.name} has no predict. Use /transform for the coordinates of objects.")
        prepared, known = model.preparation.prepare_known(views)
        answer: dict[str, Any] = {"known": to_jsonable(known)}
        ranked = top > 0 and sorts(model)
        memberships = model.memberships(prepared, prepared=True) if model.structure.probabilities or ranked else None
        if memberships is not None and model.structure.probabilities:
            answer["probabilities"] = to_jsonable(memberships)
        if memberships is not None and ranked:
            answer["top"] = [largest_shares(row, model.group_names, top, -1.0) for row in memberships]
        if model.kind == "topic" and memberships is not None:
            labels = np.asarray(model.labels)[memberships.argmax(axis=1)]
        else:
            labels = np.asarray(model.predict(prepared, prepared=True))
        answer["labels"] = to_jsonable(labels)
        if model.kind in NAMED_BY_FEATURES:
            called = [*model.group_names, None]  # -1 is the last
            answer["names"] = [called[code] for code in label_codes(labels, model.labels)]
        sets = predict_label_sets(model, prepared, prepared=True)
        if sets is not None:
            answer["label_sets"] = [[model.groups[j] for j in np.flatnonzero(row)] for row in sets]
        return answer

    def transform(self, views: Views) -> dict[str, Any]:
        """Coordinates of objects in the model's space."""
        coordinates = transform_objects(self.model, views)
        if coordinates is None:
            raise ViewsError(f"{self.model.name} has no transform. Use /predict.")
        return {"coordinates": to_jsonable(dense(coordinates))}

    def query_views(self, source: str | None, target: str | None) -> tuple[str, str]:
        """Names of the view of a query and of the view to search in, where at least one of them is named."""
        self._retriever()
        readers = self._query_readers
        names = tuple(readers)
        for view in (source, target):
            if view is not None and view not in readers:
                raise ViewsError(
                    f"The model has no view {view!r:.60}; its views are {listed(names)}.{did_you_mean(view, names)}"
                )
        if source is None:
            source = _other(names, target) or _only_text(readers)
        if source is None:
            raise ViewsError(f"Specify the view of the query: source must be one of {listed(names)}.")
        if target is None:
            target = _other(names, source)
        if target is None:
            raise ViewsError(f"Specify the view to search in: target must be one of {listed(names)}.")
        return source, target

    def read_query(self, query: Any, source: str | None, target: str | None) -> tuple[Views, str]:
        """A query as views, and the view to search in."""
        source, target = self.query_views(source, target)
        views = self.read_cells(query, source)
        # not by the sum, which is 0 for +1 and -1 too
        empty = np.flatnonzero(np.asarray((views[source] != 0).sum(axis=1)).ravel() == 0)
        if len(empty) and (isinstance(query, (str, dict)) or len(empty) == len(views)):
            shown = repr(query) if len(repr(query)) <= 60 else "sent"
            raise ViewsError(f"Nothing in the query {shown} is known to view {source!r}. Use other features.")
        return views, target

    def read_cells(self, cells: Any, source: str) -> Views:
        """Cells of one view as views of the retriever; what is unknown in them is left out."""
        return rows_to_views({source: cells}, {source: self._query_readers[source]}, unknown="ignore")

    def search_texts(self, texts: Sequence[str], source: str | None, target: str | None, k: int) -> dict[str, Any]:
        """The k best objects of each text; without views, by all that read text and in all."""
        self._check_takes_text(source)
        return _hits(self._retriever().search(list(texts), source, target, min(k, MOST_HITS)))

    def why(self, text: str, source: str | None, target: str | None, hits: Sequence[Any]) -> list[list[dict[str, Any]]]:
        """What made each hit match a text: by how much the score drops without each of its words."""
        self._check_takes_text(source)
        worth = self._retriever().explain_words(text, hits, source, target)
        return [[{"name": name, "adds": round(float(value), 6)} for name, value in words.items()] for words in worth]

    def _check_takes_text(self, source: str | None) -> None:
        """Refuse texts for a view of images: a retriever would open them as files."""
        searcher = self.searcher
        if source is None or searcher is None or searcher.preparation.front is None:
            return
        if searcher.preparation.inputs[source].vectorizer is None:
            raise ViewsError(f"View {source!r} takes no text. Send numbers, or features by name.")

    def _retriever(self) -> Any:
        if self.searcher is None:
            raise ViewsError(
                f"{self.model.name} cannot search: that needs a CrossModalRetriever, which takes any model that places "
                "objects by one view. Save one, and serve it alone or with --also."
            )
        return self.searcher.structure.retriever

    def search(self, views: Views, target: str, k: int) -> dict[str, Any]:
        """The k best objects of each query."""
        assert self.searcher is not None
        hits = self.searcher.structure.retriever.search(views, target=target, k=min(k, MOST_HITS))
        return _hits(hits)

    # -- questions that came together

    def answer(self, key: tuple[Any, ...], questions: Sequence[Any]) -> list[Any]:
        """Answer several questions of one kind with one model call.

        `key` is ("predict", names of the views, by_view, top), ("transform", names) or ("search", names, target, k),
        and a question is `Views`; or ("search_texts", source, target, k), and a question is a list of texts.
        """
        what, *options = key
        if what == "search_texts":
            answers = self.search_texts([text for texts in questions for text in texts], *options)
        elif what == "predict":
            answers = self.predict(stack_views(questions), by_view=options[1], top=options[2])
        elif what == "transform":
            answers = self.transform(stack_views(questions))
        else:
            answers = self.search(stack_views(questions), *options[1:])
        starts = np.cumsum([0, *map(len, questions)]).tolist()
        return [cut(answers, start, stop) for start, stop in pairwise(starts)]


def known_views(model: Inspection, data: Views) -> Views:
    """Return the views of the data that a model knows."""
    return data.select(*(view for view in data.names if view in model.preparation.inputs))


def sorts(model: Inspection) -> bool:
    """Tell whether a model sorts objects into classes, clusters or topics."""
    return model.structure.retriever is None and bool(model.groups) and model.kind not in ("component", "value")


def largest_shares(shares: np.ndarray, names: Sequence[str], n: int = 5, least: float = 0.005) -> list[list[Any]]:
    """Return the groups with the largest shares of an object, those above `least`, as [name, position, share].

    Examples
    --------
    >>> largest_shares(np.array([0.2, 0.7, 0.1]), ["cat", "dog", "eel"], 2)
    [['dog', 1, 0.7], ['cat', 0, 0.2]]
    """
    order = np.argsort(-shares, kind="stable")[:n]
    return [[names[k], int(k), round(float(shares[k]), 6)] for k in order if shares[k] > least and k < len(names)]


def cut(answer: Any, start: int, stop: int) -> Any:
    """Return some rows of an answer.

    Examples
    --------
    >>> cut({"labels": ["a", "b", "c"], "by_view": {"words": {"labels": [0, 1, 0]}}}, 1, 3)
    {'labels': ['b', 'c'], 'by_view': {'words': {'labels': [1, 0]}}}
    """
    if isinstance(answer, dict):
        return {key: cut(part, start, stop) for key, part in answer.items()}
    return answer[start:stop]


def join(parts: Sequence[Any]) -> Any:
    """Return the answers to some rows each as one; the inverse of `cut`.

    Examples
    --------
    >>> join([{"labels": ["a", "b"]}, {"labels": ["c"]}])
    {'labels': ['a', 'b', 'c']}
    """
    if isinstance(parts[0], dict):
        return {key: join([part[key] for part in parts]) for key in parts[0]}
    return [row for part in parts for row in part]


def _hits(hits: Any) -> dict[str, Any]:
    """Hits as they are sent."""
    rows = [[{"id": key, "score": round(score, 6)} for key, score in row] for row in hits]
    if hits.groups is not None:
        for row, groups, names in zip(rows, hits.groups.tolist(), hits.group_names.tolist()):
            for hit, group, name in zip(row, groups, names):
                hit.update({"group": group, "group_name": name} if group >= 0 else {"group": None, "group_name": None})
    return {"hits": rows, "ignored": hits.ignored or [[] for _ in rows]}


def _check_reads_no_files(model: Inspection) -> None:
    """Refuse a model with a vectorizer that would open the texts of clients as files."""
    vectorizers = [part.vectorizer for part in model.preparation.inputs.values() if part.vectorizer is not None]
    for part in (model.preparation.model, *vectorizers):
        for name, source in part.get_params().items():
            if name.rpartition("__")[2] == "input" and source in ("filename", "file"):
                raise ViewsError(
                    f"A vectorizer with input={source!r} would open the texts of clients as files. Set "
                    "input='content', so that clients send the texts themselves, and save the model again."
                )


def _spread(values: list[Any], rows: np.ndarray, n_rows: int) -> list[Any]:
    """Values at their rows, None elsewhere."""
    spread: list[Any] = [None] * n_rows
    for row, value in zip(rows.tolist(), values):
        spread[row] = value
    return spread


def _other(names: tuple[str, ...], one: str | None) -> str | None:
    """The other of two views; of a single view, itself."""
    if len(names) == 1:
        return names[0]
    if one is None or len(names) != 2:
        return None
    return names[1 - names.index(one)]


def _only_text(readers: dict[str, CellReader]) -> str | None:
    """The one view that has a vectorizer of text, if there is one only."""
    views = [name for name, reader in readers.items() if reader.vectorizer is not None]
    return views[0] if len(views) == 1 else None


# -- models and objects from files


def load_service(
    model: Path,
    data: Path | None = None,
    also: Sequence[Path] = (),
    read_labels: Callable[[Any, str | None], Any] | None = None,
    add_vectors: Callable[[Any, Path], Any] | None = None,
    by: Sequence[str] = (),
) -> Service:
    """Return a service of model files and objects; nothing in a file is executed.

    Parameters
    ----------
    model : Path
        A model file.
    data : Path, optional
        Objects: what `read_views` reads, or a raw table where the model makes views of tables.
    also : sequence of Path, default=()
        Further model files.
    read_labels : function of the objects and the table's column of ids, optional
        Returns the labels of the fit, one per object.
    add_vectors : function of a table and its path, optional
        Returns the table with further columns, of vectors that are kept beside it.
    by : sequence of str, default=()
        Columns of the table by which the prevalence of groups is shown.
    """
    paths = [model, *also]
    loaded = [load(path) for path in paths]
    models = [_inspected(path, estimator) for path, estimator in zip(paths, loaded)]
    if data is None:
        return Service(loaded[0], also=loaded[1:], title=model.name)
    reader = next((each for each in models if each.preparation.front is not None), None)
    texts: dict[str, list[str]] = {}
    table = None
    if reader is not None and data.is_file() and has_table_extension(data):
        table = read_table(data)
        whole = table if add_vectors is None else add_vectors(table, data)
        views: Any = reader.preparation.front.transform(whole)
        texts = reader.preparation.raw_texts(table)
    elif add_vectors is not None:
        raise ViewsError(
            f"Vectors can be given beside a table only, and to a model that makes views of tables: {data} is no table, "
            f"or {model} does not."
        )
    else:
        views = read_views(data)
    if isinstance(views, LazyViews):
        views = views.collect()
    _check_views(data, views, models[0])
    labels = None
    if read_labels is not None:
        labels = (
            read_labels(views, None)
            if table is None or reader is None
            else read_labels(table, reader.preparation.id_column)
        )
    for each in models:
        if each.structure.retriever is not None and not len(each.structure.retriever.indexed_ids()):
            each.structure.retriever.add(
                views if table is None or each.preparation.front is None else whole
            )  # the file stays as it is
    about = {"texts": texts, "table": table, "labels": labels}
    return Service(loaded[0], views, also=loaded[1:], title=model.name, by=by, **about)


def _check_vocabulary(first: Inspection, other: Inspection) -> None:
    """Refuse a model that does not take the same features as the first in the views that they share."""
    ours, theirs = first.preparation.inputs, other.preparation.inputs
    shared = [view for view in theirs if view in ours]
    if ours and theirs and not shared:
        raise ViewsError(
            f"{first.name} and {other.name} have no view in common: {listed(tuple(ours))}, and "
            f"{listed(tuple(theirs))}. Explore them one at a time."
        )
    for view in shared:
        names, others = ours[view].feature_names, theirs[view].feature_names
        widths = {n for n in (ours[view].n_features, theirs[view].n_features) if n}
        if len(widths) > 1 or (names is not None and others is not None and not np.array_equal(names, others)):
            raise ViewsError(
                f"{first.name} and {other.name} do not have the same features in view {view!r}. Fit both on the same "
                "table with the same settings of its views, or explore them one at a time."
            )


def _inspected(path: Path, model: Any) -> Inspection:
    try:
        return inspect(model)
    except NotFittedError:
        raise ValueError(
            f"{path} holds a {type(model).__name__} that was never fitted. Fit it before saving."
        ) from None


def _check_views(path: Path, views: Views, model: Inspection) -> None:
    known = [name for name in views.names if name in model.preparation.inputs]
    if not known:
        expected = listed(tuple(model.preparation.inputs))
        raise ViewsError(f"{path} has the views {listed(views.names)}, but {model.name} was fitted on {expected}.")
    for name in known:
        width, n_features = model.preparation.inputs[name].n_features, views[name].shape[1]
        if n_features != width:
            raise ViewsError(
                f"View {name!r} of {path} has {quantity(n_features, 'feature')}, "
                f"but {model.name} was fitted with {width}."
            )
    absent = [
        name
        for name in model.preparation.inputs
        if name not in known or not views.present[:, views.names.index(name)].any()
    ]
    if absent:
        warn_user(
            f"{path} has no view {listed(absent)}, on which {model.name} was fitted too: objects are shown without.",
            UserWarning,
        )
