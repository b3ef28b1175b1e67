"""What a fitted model says: one contract for estimators of coview, pipelines, searches and scikit-learn's estimators.

    kind               "topic", "cluster", "class", "component" or "value"
    groups             keys of the topics, clusters, classes or components, in order: numbers, or the classes' own names
    group_names        names that tell people what a cluster or topic is about
    features(view)     groups x features: what makes a group in that view, or None
    memberships(X)     objects x groups, from any subset of the views; memberships_by_view(X) likewise, one per view
    unused_views       views that have no opinion of objects: the model leaves them out, or gives them the weight 0
    training           memberships, codes and ids of the training objects, where the model keeps them
    views              names, widths and feature names of the views that the estimator sees
    inputs             the same of what the whole model takes, and how raw text becomes a row of a view

An estimator of coview answers by `MultiViewEstimator._inspect`, which each family overrides; an estimator of
scikit-learn is adapted (`adapters`) by what scikit-learn's own conventions say of it. Reports, the explorer, the
server, `compare`, the retriever, the command line and the displays ask nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.inspection.choice import (
    describe_accuracy,
    describe_candidates,
    describe_number,
    describe_scaling,
    describe_votes,
    of_lowest_level,
    views_that,
)
from coview.inspection.features import Features, holds_categories
from coview.inspection.hierarchy import GroupHierarchy, group_hierarchy
from coview.inspection.known import objects_by_view, rows_with_values, takes_counts
from coview.inspection.memberships import dense, label_codes, one_hot, shares_of
from coview.inspection.names import NAMED_BY_FEATURES, characteristic_names, keyed_name, measured_names, own_names
from coview.inspection.outliers import find_outliers
from coview.inspection.prevalence import group_prevalence, named_columns
from coview.inspection.quality import group_quality
from coview.inspection.vectors import GroupExplanation, explain_groups
from coview.preprocessing.columns import RawTransformer
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.utils.docs import shared_parameters
from coview.utils.messages import did_you_mean, listed, printable, quantity, short
from coview.utils.tables import ResultTable, format_html_table
from coview.utils.warn import unwarned
from coview.validation import base_seed, check_count, check_number
from coview.views.arrays import for_sklearn
from coview.views.coerce import as_views
from coview.views.inputs import ViewInput, order_as_fitted
from coview.views.lazy import LazyViews
from coview.views.views import PLAIN, Views, check_same_order, is_plain

__all__ = [
    "KINDS",
    "NAMED_BY_FEATURES",
    "Features",
    "GroupExplanation",
    "Inspection",
    "Reading",
    "Topics",
    "Training",
    "answers",
    "numbered",
]

KINDS = ("topic", "cluster", "class", "component", "value")
GROUP_NOUNS = {
    "topic": "topics",
    "cluster": "clusters",
    "class": "classes",
    "component": "components",
    "value": "value",
}
_SHOWN_GROUPS = 10
_ROWS_AT_A_TIME = 4096  # of lazy views


@dataclass(frozen=True)
class Topics:
    """Topics below the groups of a model, by view: p(feature | topic) and p(topic | group)."""

    features: dict[str, np.ndarray]  # topics x features
    shares: dict[str, np.ndarray]  # groups x topics


@dataclass(frozen=True)
class Training:
    """What a model remembers of the objects that it was fitted on; None where it keeps nothing."""

    memberships: np.ndarray | None = None  # objects x groups
    memberships_by_view: dict[str, np.ndarray] = field(default_factory=dict)
    codes: np.ndarray | None = None  # position of each object's group; -1 for none
    ids: np.ndarray | None = None
    label_sets: np.ndarray | None = None  # objects x labels, under an ontology


@dataclass(frozen=True)
class Reading:
    """What a model says of some objects: memberships and the position of each object's group (-1 for none)."""

    memberships: np.ndarray | None
    codes: np.ndarray | None

    def take(self, rows: np.ndarray) -> Reading:
        """Return the reading of some of the objects.

        Parameters
        ----------
        rows : ndarray
            Their positions, or a mask.
        """
        memberships, codes = (None if part is None else part[rows] for part in (self.memberships, self.codes))
        return Reading(memberships, codes)

    def only(self, some: np.ndarray) -> Reading:
        """Return the reading of these objects; of the others nothing is said: memberships 0, no group.

        Parameters
        ----------
        some : ndarray of bool
            A mask of the objects.
        """
        if some.all() or self.codes is None:  # positions in a space are no opinions
            return self
        memberships = None if self.memberships is None else np.where(some[:, None], self.memberships, 0)
        return Reading(memberships, np.where(some, self.codes, -1))

    @property
    def graded(self) -> bool:
        """Whether memberships tell more than the group alone."""
        return self.memberships is not None and not np.isin(self.memberships, (0.0, 1.0)).all()

    def margins(self) -> np.ndarray | None:
        """How far the largest membership is ahead of the second, for each object; None where only groups are known."""
        if self.memberships is None or self.codes is None or self.memberships.shape[1] < 2 or not self.graded:
            return None
        best = np.partition(self.memberships, -2, axis=1)
        return best[:, -1] - best[:, -2]


Answer = Callable[[Any], np.ndarray]


@shared_parameters
@dataclass(frozen=True, repr=False)
class Inspection:
    """Uniform description of a fitted model, returned by `inspect`.

    Estimators fill in the fields; callers use the fields without an underscore and the methods.

    Parameters
    ----------
    estimator : object
        The model itself: what is left without pipeline and search.
    kind : {"topic", "cluster", "class", "component", "value"}
        What objects are sorted into or placed by.
    groups : list of str
        Keys of the groups, in order: classes by name, others by number. `group_names` has names for people.
    labels : list
        What `predict` calls each group.
    views : dict of ViewInput
        What the estimator itself takes, by view.
    training : Training
        What it remembers of the training objects.
    topics : Topics or None
        Topics below the groups.
    view_weights : dict of float
        What the model itself says that each view is worth; empty where it says nothing.
    likelihoods : dict of str
        What the model took each view for, "multinomial" (counts) or "gaussian" (vectors); empty where it does not say.
    scalings : dict of str
        How the columns of each view were made comparable, "tf-idf", "unit length", "standard", "pareto" or "centered"
        (`describe_scaling` has words for them); empty where the model does not say.
    variance_explained : dict of ndarray (n_groups,)
        Share of the variance of each view of vectors that each group explains; empty where the model has none, and
        where groups were split or dropped after the fit.
    notes : list of str
        What to know of the numbers that the model has fitted.
    history : dict of lists
        Curves of the fit: "objective", "seconds" and others; "correlations" by component; empty where there are none.
    candidates : dict of lists
        What the model was chosen from, with the evidence; empty where there was no choice.
    held_out : dict of float
        What the fit itself measured on labels that it hid: "accuracy", NaN where it is not known, "low" and "high", its
        interval at 95 %, "n_labels", their number, "largest_class", the share of all labels that the most frequent
        class has, and "calibration_error", NaN where they are too few; empty where it hides none.
    accuracy_by_view : dict of float
        Share of the held-out labels that are found from each view alone; empty where none were held out.
    votes : dict
        Of clusters that clusterings voted for: "by_views" and "by_tokens" (how many clusterings count every view alike,
        and every token), "share" (of the votes that an object's cluster has in the mean) and "by_cluster" (the same in
        each cluster); empty of others.
    numbers : dict of lists
        The evidence for each number of groups that was tried; empty where the number was given.
    relations : dict of lists
        What each view shares with the others, where the model looked: "view" and "verdict" at least.
    ontology : Ontology or None
        Constraints among the labels.
    retriever : object or None
        The estimator itself where it searches objects.
    n_objects : int or None
        Number of training objects, where it is known.
    n_rounds : int or None
        Number of rounds of an online learner.
    n_labels : int or None
        Number of labels that a classifier was fitted with, where it is known.
    n_violations : int
        Number of constraints of the ontology that single views broke in the fit.
    probabilities : bool
        Whether memberships are probabilities, and not a way to rank groups only.
    projections : dict of ndarray (n_features, n_components)
        By view, the components of the space that the model places objects in; empty where there is none.
    given_names : dict of str
        Names that people gave to groups, by key; they stand in `group_names` in place of those made of features.
    edits : list of dict
        What people changed in the groups after the fit, as in `EditedModel.edits_`; empty where nothing.
    _name_inside : str
        Class of the model that was edited; empty where the estimator is no `EditedModel`.
    _features : function of a view
        Returns `Features`, or None.
    _memberships : function of X or None
        Returns objects x groups; here and below X is what the estimator itself takes.
    _memberships_by_view : function of X or None
        Returns the same by each view alone; by default the model is asked with one view at a time.
    _predict : function of X or None
        Returns labels, or values; None where the group is that of the largest membership.
    _embed : function of X or None
        Returns positions of objects in a space, where they are not memberships.
    _keeping : function of positions of groups, or None
        Returns the inspection of the same model with these groups alone.
    _profiles : function or None
        Returns features x groups by view, of a mixture.
    _log_likelihood : function of X or None
        Returns the mean over objects, of a density.
    _label_sets : function of X or None
        Returns objects x labels, under an ontology.
    _takes_matrix : bool or None
        Whether the functions above take one matrix; by default those of an estimator that does not answer itself.
    _transform : function of X or None
        The estimator's `transform`; `inspect` fills in this and what follows.
    takes_lazy : bool
        Whether the estimator accepts lazy views.
    unused_views : tuple of str
        Views that the model leaves out, or gives the weight 0: they have no opinion anywhere.
    n_iter : int or None
        Number of iterations of the fit.
    model : object
        What `inspect` was asked about.
    inputs : dict of ViewInput
        What the model takes, by view: as `views`, but for steps before the estimator.
    front : object or None
        The step that makes views of raw tables or texts.
    steps : tuple
        Steps between the front and the estimator.

    Examples
    --------
    >>> from coview import PLSA, inspect
    >>> model = inspect(PLSA(2, random_state=0).fit(np.array([[3, 0], [0, 2], [1, 2]])))
    >>> model
    PLSA: 2 topics (0, 1)
      view 'x': 2 features, multinomial
      fitted on 3 objects (0: 2, 1: 1)
    >>> model.kind, model.groups
    ('topic', ['0', '1'])
    """

    estimator: Any
    kind: str
    groups: list[str] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    views: dict[str, ViewInput] = field(default_factory=dict)
    training: Training = field(default_factory=Training)
    topics: Topics | None = None
    view_weights: dict[str, float] = field(default_factory=dict)
    likelihoods: dict[str, str] = field(default_factory=dict)
    scalings: dict[str, str] = field(default_factory=dict)
    variance_explained: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    history: dict[str, Any] = field(default_factory=dict)
    candidates: dict[str, list[Any]] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    accuracy_by_view: dict[str, float] = field(default_factory=dict)
    votes: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, list[Any]] = field(default_factory=dict)
    relations: dict[str, list[Any]] = field(default_factory=dict)
    ontology: Any = None
    retriever: Any = None
    n_objects: int | None = None
    n_rounds: int | None = None
    n_labels: int | None = None
    n_violations: int = 0
    probabilities: bool = False
    projections: dict[str, np.ndarray] = field(default_factory=dict)
    given_names: dict[str, str] = field(default_factory=dict)
    edits: list[dict[str, Any]] = field(default_factory=list)

    _name_inside: str = ""
    _features: Callable[[str], Features | None] = lambda view: None
    _memberships: Answer | None = None
    _memberships_by_view: Callable[[Any], dict[str, np.ndarray]] | None = None
    _predict: Answer | None = None
    _embed: Answer | None = None
    _keeping: Callable[[np.ndarray], Inspection] | None = None
    _profiles: Callable[[], dict[str, np.ndarray]] | None = None
    _log_likelihood: Callable[[Any], float] | None = None
    _label_sets: Answer | None = None

    _takes_matrix: bool | None = None
    _transform: Answer | None = None
    takes_lazy: bool = False
    unused_views: tuple[str, ...] = ()
    n_iter: int | None = None
    model: Any = None
    inputs: dict[str, ViewInput] = field(default_factory=dict)
    front: Any = None
    steps: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        known = next((part for part in (self.training.codes, self.training.memberships) if part is not None), None)
        if self.n_objects is None and isinstance(known, np.ndarray):
            object.__setattr__(self, "n_objects", len(known))

    def _title(self) -> str:
        more = ", ..." if len(self.groups) > _SHOWN_GROUPS else ""
        shown = printable(", ".join(self.groups[:_SHOWN_GROUPS])) + more
        return f"{self.title}: {len(self.groups)} {GROUP_NOUNS[self.kind]} ({shown})" if self.groups else self.title

    def _repr_html_(self) -> str:
        objects = [] if self.training.codes is None else [self._fitted_on()]
        columns: dict[str, list[str]] = {
            "view": list(self.views),
            "features": [str(expected.n_features) for expected in self.views.values()],
        }
        for head, taken in (("likelihood", self.likelihoods), ("treated as", self._scaled())):
            if taken:
                columns[head] = [taken.get(view, "") for view in self.views]
        title = "; ".join([", ".join([self._title(), *objects]), *self._chosen()])
        return format_html_table(title, tuple(columns), list(zip(*columns.values())))

    def _scaled(self) -> dict[str, str]:
        return {view: describe_scaling(scaling) for view, scaling in self.scalings.items()}

    def __repr__(self) -> str:
        lines, scaled = [self._title()], self._scaled()
        for view, expected in self.views.items():
            taken = "".join(f", {part[view]}" for part in (self.likelihoods, scaled) if view in part)
            taken += ", not used" if view in self.unused_views else ""
            lines.append(f"  view {view!r}: {quantity(expected.n_features, 'feature')}{taken}")
        if self.training.codes is not None:
            lines.append(f"  {self._fitted_on()}")
        lines += [f"  {line}" for line in self._chosen()]
        if self.edits:
            lines.append(f"  edited by hand: {quantity(len(self.edits), 'edit')}")
        return "\n".join(lines)

    def _chosen(self) -> list[str]:
        """Lines about numbers, the candidates and their weights, and what the fit measured on labels that it hid."""
        lines = list(self.notes)
        if self.votes:
            lines.append(describe_votes(self.votes))
        if self.numbers.get("n_clusters"):
            lines.append(describe_number(self.numbers))
        if self.candidates and self.ontology is None:
            lines.append(f"candidates by weight: {describe_candidates(self.candidates)}")
        elif self.candidates:
            lines.append(
                f"candidates of the lowest level by weight: {describe_candidates(of_lowest_level(self.candidates))}"
            )
        if self.held_out:
            lines.append(f"accuracy: {describe_accuracy(self.held_out)}")
        return lines

    def _fitted_on(self) -> str:
        assert self.training.codes is not None
        sizes, objects = self.group_sizes, f"fitted on {quantity(len(self.training.codes), 'object')}"
        if not sizes:
            return objects
        most = sorted(zip(self.groups, sizes), key=lambda each: -each[1])[:_SHOWN_GROUPS]
        more = ", ..." if len(self.groups) > _SHOWN_GROUPS else ""
        return f"{objects} ({', '.join(f'{printable(key)}: {size:,}' for key, size in most)}{more})"

    @property
    def group_sizes(self) -> list[int]:
        """Number of training objects of each group, by their largest membership; empty where they are not kept."""
        codes, memberships = self.training.codes, self.training.memberships
        if codes is None and isinstance(memberships, np.ndarray) and memberships.ndim == 2:
            codes = memberships.argmax(axis=1)
        if not isinstance(codes, np.ndarray) or self.kind not in ("topic", "cluster", "class") or not self.groups:
            return []
        return np.bincount(codes[codes >= 0], minlength=len(self.groups)).tolist()

    @property
    def name(self) -> str:
        """Name of the estimator's class."""
        return type(self.estimator).__name__

    @property
    def title(self) -> str:
        """What headlines call the model: its name, of an `EditedModel` that of the one inside, "Edited LinkPLSA"."""
        inside = self._name_inside or self.name
        return f"Edited {inside}" if self._name_inside and self.edits else inside

    @property
    def predicts(self) -> bool:
        """Whether the model predicts a class, a cluster or a value for new objects."""
        answered = self._predict is not None or self._memberships is not None
        return answered and self.kind in ("class", "cluster", "value")

    @property
    def transforms(self) -> bool:
        """Whether the model has a `transform`."""
        return self._transform is not None

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

    def raw_texts(self, table: Any) -> dict[str, list[str]]:
        """Return the texts of a raw table from which views are built, by view.

        Parameters
        ----------
        table : DataFrame, or dict of columns
            The raw table.
        """
        return self.front.raw_texts(table) if isinstance(self.front, (TableViews, TextViews, EmbeddingViews)) else {}

    # -- of objects

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
        return (
            order_as_fitted(self.name, objects, self.views) if isinstance(objects, Views) else Views({PLAIN: objects})
        )

    def _prepared(self, X: Any, prepared: bool, *, lazy: bool = False) -> Any:
        """Objects as the estimator itself takes them."""
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

    @property
    def takes_matrix(self) -> bool:
        """Whether the estimator takes a single matrix, as scikit-learn's estimators do."""
        if self._takes_matrix is not None:
            return self._takes_matrix
        return list(self.views) == [PLAIN] and not answers(self.estimator)

    @staticmethod
    def _answered(answer: Answer, objects: Any) -> Any:
        """What the estimator says; who asks here is told of unknown objects by `known`."""
        with unwarned():
            return answer(objects)

    def memberships(self, X: Any, *, prepared: bool = False) -> np.ndarray | None:
        """Return objects x groups from some or all of the views: probabilities, or coordinates of components.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        if self._memberships is not None:
            answer = dense(self._memberships(self._prepared(X, prepared, lazy=True)))
            return (
                np.nan_to_num(answer) if np.isnan(answer).any() else answer
            )  # of LabelSpreading, far from all objects
        if self._predict is None or not self.groups or self.kind == "value":
            return None
        codes = self.codes(self._answered(self._predict, self._prepared(X, prepared)))
        return one_hot(codes, len(self.groups))

    def memberships_by_view(self, X: Any, *, prepared: bool = False) -> dict[str, np.ndarray]:
        """Return objects x groups from each view alone; rows of objects that have no feature in a view are zero.

        Views that the model does not use (`unused_views`) have no key.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        views = self._prepared(X, prepared)
        if not isinstance(views, Views):
            whole = self.memberships(views, prepared=True)
            return {} if whole is None else {PLAIN: whole}
        described = self.described_objects(views)
        if self._memberships_by_view is not None:
            parts = {view: dense(part) for view, part in self._memberships_by_view(views).items()}
            return {view: np.where(described[view][:, None], part, 0) for view, part in parts.items()}
        answers_by_view = {}
        for view in views.names:
            here = np.flatnonzero(described[view])
            part = self.memberships(views[here].select(view), prepared=True) if len(here) else None
            if part is not None:
                answers_by_view[view] = np.zeros((len(views), part.shape[1]))
                answers_by_view[view][here] = part
        return answers_by_view

    def without(self, groups: Collection[int]) -> Inspection:
        """Return the answers of the model as if it never had some of its groups: their columns are 0.

        Objects are asked about again: mixtures are folded in with the other topics alone, and a cluster is the nearest
        of the others. Of a model that cannot tell, the other memberships are brought to a sum of one.

        Parameters
        ----------
        groups : collection of int
            Positions of the groups to leave out.
        """
        if not groups:
            return self
        kept = np.setdiff1d(np.arange(len(self.groups)), list(groups))
        smaller = None if self._keeping is None else self._keeping(kept)

        def wide(part: Any) -> np.ndarray:
            part = part if smaller is not None else shares_of(part[:, kept])
            whole = np.zeros((len(part), len(self.groups)), part.dtype)
            whole[:, kept] = part
            return whole

        asked = self if smaller is None else smaller
        return replace(
            self,
            _memberships=lambda X: wide(asked.memberships(X, prepared=True)),
            _memberships_by_view=lambda X: {
                view: wide(part) for view, part in asked.memberships_by_view(X, prepared=True).items()
            },
            _predict=None,
        )

    def read(self, X: Any, *, prepared: bool = False) -> Reading:
        """Return memberships and groups of objects in one pass.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        objects = self._prepared(X, prepared)
        memberships = self.memberships(objects, prepared=True)
        if self.kind in ("component", "value"):
            return Reading(memberships, None)
        if self._memberships is not None and self._predict is not None:
            return Reading(memberships, self.codes(self._answered(self._predict, objects)))
        return Reading(memberships, None if memberships is None else memberships.argmax(axis=1))

    def expected(self, X: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the expected features of each view under a mixture model; empty for other models.

        Parameters
        ----------
        <shared: inspected>

        Returns
        -------
        dict of (mixture, profiles)
            Objects x groups and groups x features; their product is proportional to p(feature | object) in the view.
        """
        if self._profiles is None:
            return {}
        views = self.prepare(X)
        own = {} if self._memberships_by_view is None else self._memberships_by_view(views)
        shared = None if own else self.memberships(views, prepared=True)
        mixtures: dict[str, Any] = {view: dense(part) for view, part in own.items()} or dict.fromkeys(
            self.views, shared
        )
        return {view: (mixtures[view], part.T) for view, part in self._profiles().items() if view in mixtures}

    def log_likelihood(self, X: Any) -> float | None:
        """Return the mean log-likelihood of objects under a density model, or None for other models.

        Parameters
        ----------
        <shared: inspected>
        """
        return None if self._log_likelihood is None else float(self._log_likelihood(self.prepare(X)))

    def predict(self, X: Any, *, prepared: bool = False) -> Any:
        """Return the label of each object, or the value of a regressor.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        objects = self._prepared(X, prepared, lazy=True)
        if self._predict is not None:
            return self._answered(self._predict, objects)
        reading = self.read(objects, prepared=True)
        return None if reading.codes is None else np.asarray(self.labels)[reading.codes]

    def embed(self, X: Any, *, prepared: bool = False) -> np.ndarray | None:
        """Return the positions of objects in the model's space; memberships if it has no other space.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        objects = self._prepared(X, prepared)
        return self.memberships(objects, prepared=True) if self._embed is None else dense(self._embed(objects))

    def transform(self, X: Any, *, prepared: bool = False) -> Any:
        """Return the result of the model's own `transform`, a matrix or views; None if it has none.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        if self._transform is None:
            return None
        return self._transform(self._prepared(X, prepared, lazy=True))

    def output_names(self, width: int) -> list[str]:
        """Return the names of the output columns of `transform`, or t0, t1, ...

        Parameters
        ----------
        width : int
            Number of columns.
        """
        asked = getattr(self.estimator, "get_feature_names_out", None)
        names = [] if asked is None else [str(name) for name in asked()]
        return names if len(names) == width else [f"t{j}" for j in range(width)]

    def label_sets(self, X: Any, *, prepared: bool = False) -> np.ndarray | None:
        """Return the set of labels of each object (objects x labels); None for a model without an ontology.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        return None if self._label_sets is None else self._label_sets(self._prepared(X, prepared))

    def training_reading(self) -> Reading:
        """Return the stored memberships and groups of the training objects."""
        return Reading(self.training.memberships, self.training.codes)

    def codes(self, labels: Any) -> np.ndarray:
        """Return the positions of labels among the groups; -1 for labels that are not groups.

        Parameters
        ----------
        labels : array-like
            Labels, as `predict` gives them.
        """
        return label_codes(labels, self.labels)

    def known(self, X: Any) -> np.ndarray:
        """Return a mask of the objects with at least one feature known to the model.

        An object is unknown where all values of all its views are 0, as they come in or after a step before the model:
        a vectorizer leaves out words that it has not seen, and a model the columns that it was not fitted with. Dense
        matrices are judged for models of counts only: 0 in a column of measurements is a value like others.

        Parameters
        ----------
        <shared: inspected>
        """
        if isinstance(X, LazyViews):
            parts = [X[start : start + _ROWS_AT_A_TIME] for start in range(0, len(X), _ROWS_AT_A_TIME)]
            return np.concatenate([self.known(part) for part in parts])
        return self.prepare_known(X)[1]

    # -- of features

    @cached_property
    def group_names(self) -> list[str]:
        """Names of the groups: of clusters and topics their most characteristic features, of others as in `groups`.

        A cluster that no named feature tells from the others is called by its number, "cluster 3". Names that people
        gave (`given_names`) come before all others.
        """
        views = self.views if self.kind in NAMED_BY_FEATURES else ()
        features = {view: self.described_features(view) for view in views}
        return self.names_from_features({view: part for view, part in features.items() if part is not None})

    @property
    def keyed_names(self) -> list[str]:
        """Groups by key and name, "3: photo, image, raw"; by the key alone where they have no other name."""
        own = own_names(self.groups, self.group_names, self.kind)
        return [keyed_name(key, own) for key in self.groups]

    def names_from_features(self, features: dict[str, Features]) -> list[str]:
        """Return names of the groups by features that others worked out, such as means of the objects of each group.

        Views in which the model found no structure name no group, where there are others. A group that was given a
        name keeps it.

        Parameters
        ----------
        features : dict of Features
            By view, the weight of each feature in each group.
        """
        taken = set(self.given_names.values())
        names = zip(self.groups, self._names_by_features(features))
        return [self.given_names.get(key, f"{name} ({key})" if name in taken else name) for key, name in names]

    def _names_by_features(self, features: dict[str, Features]) -> list[str]:
        if self.kind not in NAMED_BY_FEATURES:
            return self.groups if self.kind != "component" else [f"component {name}" for name in self.groups]
        features = {view: part for view, part in features.items() if self.views[view].feature_names is not None}
        words = {view: part for view, part in features.items() if part.deviations is None}
        features = words or features
        noise = views_that(self.relations, "noise")
        told = {view: part for view, part in features.items() if view not in noise}
        features = told or features  # a view of noise has words that go with a group by chance alone
        named = {view: self.feature_names(view) for view in features}
        fallback = [f"{self.kind} {key}" for key in self.groups]
        if features and not words:
            return measured_names({view: part.strengths for view, part in features.items()}, named, fallback)
        for view, part in features.items():
            if len(self.views) > 1 and holds_categories(part):  # "no" alone does not say of what
                named[view] = [f"{view}: {name}" for name in named[view]]
        reading = self.training
        sizes = None if reading.memberships is None else reading.memberships.sum(axis=0)
        if sizes is None and reading.codes is not None:
            sizes = np.bincount(reading.codes[reading.codes >= 0], minlength=len(self.groups))
        weights = {view: part.strengths for view, part in features.items()}
        frequencies = {view: part.frequencies for view, part in features.items() if part.frequencies is not None}
        return characteristic_names(weights, named, fallback, sizes, frequencies)

    def topic_names(self, view: str) -> list[str]:
        """Return names of the topics below the groups in a view, by their most characteristic features.

        Parameters
        ----------
        view : str
            The view.
        """
        if self.topics is None:
            return []
        named = {} if self.views[view].feature_names is None else {view: self.feature_names(view)}
        weights = self.topics.features[view]
        return characteristic_names({view: weights}, named, [f"topic {k}" for k in range(len(weights))])

    def features(self, view: str) -> np.ndarray | None:
        """Return groups x features: the weight of each feature in each group, or None if the model has none.

        Parameters
        ----------
        view : str
            The view.
        """
        features = self.described_features(view)
        return None if features is None else features.weights

    def described_features(self, view: str) -> Features | None:
        """Return the feature weights together with a description of the weights.

        Parameters
        ----------
        view : str
            The view.
        """
        self._check_view(view)
        return self._features(view)

    def explain(self, X: Any = None, *, n_features: int = 10, n_objects: int = 5) -> list[GroupExplanation]:
        """Explain each group view by view: by its features, and by its nearest objects where a view holds vectors.

        The columns of an embedding have no meaning of their own: a group is seen there from the objects nearest to
        its mean vector, and from the words of the other views. Columns of measurements that have names are ranked by
        how far the mean of the group lies from that of all objects, in standard deviations.

        Parameters
        ----------
        X : what the model takes, optional
            Objects, such as those of the fit. Without them there are no nearest objects, and models that say nothing
            of features have none. A clusterer without `predict` takes none: it would not know which objects these are.
        n_features : int, default=10
            Most features of a group in a view.
        n_objects : int, default=5
            Most nearest objects of a group in a view of vectors.

        Returns
        -------
        list of GroupExplanation
            With "key", "name", "features" and "nearest", in the order of `groups`.

        Examples
        --------
        >>> from coview import LinkPLSA, Views, inspect
        >>> words, vectors = np.array([[3, 0], [4, 1], [0, 5]]), np.array([[0.9, 0.1], [0.8, -0.1], [-0.9, 0.2]])
        >>> X = Views(words=words, vector=vectors, ids=["a", "b", "c"], feature_names={"words": ["fox", "sea"]})
        >>> for group in inspect(LinkPLSA(2, random_state=0).fit(X)).explain(X, n_features=1):
        ...     print(group.name, group.features["words"][0][0], sorted(group.nearest["vector"]))
        fox fox ['a', 'b']
        sea sea ['c']
        """
        check_count("n_features", n_features, 0)
        check_count("n_objects", n_objects, 0)
        if X is None:
            return explain_groups(self, None, None, n_features, n_objects)
        views = self.prepare_views(X)
        return explain_groups(self, views, self._codes_of(views), n_features, n_objects)

    def quality(self, X: Any, *, n_features: int = 10) -> ResultTable:
        """Compute how good each group is to read, view by view: the coherence and exclusivity of its first features.

        Features are ranked by their weight, as other libraries do, so that numbers can be compared. Views of vectors
        and of measurements have no features that occur together, and are left out.

        Parameters
        ----------
        X : what the model takes
            Objects in which features may occur together, such as those of the fit. If there are more than 100,000, a
            sample of 100,000 is used.
        n_features : int, default=10
            How many features of each group count.

        Returns
        -------
        ResultTable
            A dict of lists, "group", "name", "view", "npmi", "c_v" and "exclusivity", that prints as a table; `means`
            has the mean of each number by view, with the "diversity". See `coview.metrics.topic_coherence`.

        Examples
        --------
        >>> from coview import LinkPLSA, inspect
        >>> from coview.datasets import make_topic_views
        >>> X = make_topic_views(n_objects=100, n_clusters=3, random_state=0).views
        >>> table = inspect(LinkPLSA(3, random_state=0).fit(X)).quality(X)
        >>> list(table), len(table["npmi"])
        (['group', 'name', 'view', 'npmi', 'c_v', 'exclusivity'], 6)
        """
        check_count("n_features", n_features, 2)
        self._check_groups()
        views = self.prepare_views(X)
        needs = any(self.described_features(view) is None for view in self.views)
        return group_quality(self, views, self._codes_of(views, as_fitted=True) if needs else None, n_features)

    def hierarchy(self, X: Any = None) -> GroupHierarchy:
        """Join the groups into a tree by how alike their features are, in all views.

        Parameters
        ----------
        X : what the model takes, optional
            Objects, for models that say nothing of features: then the means of their groups count. For a clusterer
            without `predict` they must be those of the fit, in the same order.

        Returns
        -------
        GroupHierarchy
            With `cut(n_parts)`, the part that each group is in; `join(memberships, n_parts)`; `order`; and `linkage`,
            as scipy's.

        Examples
        --------
        >>> from coview import LinkPLSA, inspect
        >>> from coview.datasets import make_topic_views
        >>> X = make_topic_views(n_objects=100, n_clusters=4, random_state=0).views
        >>> tree = inspect(LinkPLSA(4, random_state=0).fit(X)).hierarchy()
        >>> tree.cut(2).shape, sorted(tree.order)
        ((4,), [0, 1, 2, 3])
        """
        self._check_groups()
        if X is None:
            return group_hierarchy(self)
        views = self.prepare_views(X)
        return group_hierarchy(self, views, self._codes_of(views, as_fitted=True))

    def prevalence(self, X: Any, by: Any, *, n_bins: int | None = None) -> ResultTable:
        """Compute how prevalent each group is over time, by a number or by a category, with intervals.

        Parameters
        ----------
        X : what the model takes
            The objects.
        by : array-like (n_objects,), or str
            A date, a number or a category of each object; or, where X is a raw table, the name of the column. An
            object with a list of values counts for each of them. Missing and blank values are left out, with a warning.
        n_bins : int, optional
            Most bins: by default 24 periods of time (days, months, quarters, years, ... as it takes), 8 bins of
            numbers with equally many objects, or 30 categories, the rare ones together. Different dates are in two
            periods at least.

        Returns
        -------
        ResultTable
            A dict of lists that prints as a table: "value" (the bin), "group", "name", "share" (mean membership),
            "low" and "high" (its interval at 95 %) and "n_objects". With the `bins` (`kind`, `labels` and `places` on
            an axis), `shares`, `low` and `high` (bins x groups), the `counts` of objects in each bin, `n_objects` and
            `n_missing`, those that have no value.

        Examples
        --------
        >>> from coview import LinkPLSA, inspect
        >>> from coview.datasets import make_topic_views
        >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
        >>> model = LinkPLSA(3, random_state=0).fit(data.views)
        >>> years = [f"{2020 + c}-05-01" for c in data.target]
        >>> table = inspect(model).prevalence(data.views, by=years)
        >>> table.bins.labels, table.shares.shape
        (['2020-05-01', '2021-05-01', '2022-05-01'], (3, 3))
        """
        if n_bins is not None:
            check_count("n_bins", n_bins, 2)
        check_same_order(X, by, "by")
        name, values = "value", by
        if isinstance(by, str):
            name, values = by, named_columns(X, [by], lists=self.list_columns)[by]
        self._check_groups()
        memberships = self.memberships(X)
        if memberships is None:
            raise ViewsError(f"{self.name} cannot tell which groups these objects belong to: it has no predict.")
        return group_prevalence(self.groups, self.group_names, memberships, values, by=name, n_bins=n_bins)

    def _check_view(self, view: Any) -> None:
        if not isinstance(view, str) or view not in self.views:
            raise ViewsError(
                f"{self.name} has no view {short(view)}; its views are {listed(self.views)}."
                f"{did_you_mean(view, self.views)}"
            )

    def outliers(
        self, X: Any, *, reference: Any = None, false_alarm: float = 0.01, random_state: Any = 0
    ) -> ResultTable:
        """Find the objects that no group explains: the likelihood of one half of an object, predicted from the other.

        Each object is compared with others of its length, and with objects of that length that the model makes itself
        (`coview.inspection.outliers`). Objects of a group that was marked as noise (`edit`) are left out. Fewer than 10
        objects cannot say what is usual: pass a reference. Some usual objects are always called outliers by chance:
        ``inspect(model).outliers(X).exceeds_chance`` says whether there are more than that.

        Parameters
        ----------
        X : what the model takes
            The objects, new ones or those of the fit.
        reference : what the model takes, optional
            Objects that are no outliers, and that the model was not fitted on. By default, what is usual among the
            objects of X themselves.
        false_alarm : float, default=0.01
            Share of usual objects that are called outliers by chance, at most.
        random_state : int, RandomState or None, default=0
            Seed of the halves.

        Returns
        -------
        ResultTable
            A dict of lists, the clearest outlier first, that prints as a table: "row", "id", "score", "p_value",
            "group" and "name" of the group that is nearest, and the score by view. With the `scores` and `p_values` of
            all objects (NaN where too little is known), the `threshold`, `exceeds_chance`, `about`, a sentence on
            that, and `n_noise`, the number of objects in groups that were marked as noise.

        Examples
        --------
        >>> from coview import LinkPLSA, Views, inspect
        >>> from coview.datasets import make_topic_views
        >>> X = make_topic_views(n_objects=200, n_clusters=3, random_state=0).views
        >>> model = LinkPLSA(3, random_state=0).fit(X)
        >>> strange = X[:2].map({"view0": lambda words: words[:, ::-1]})  # other words, as often
        >>> sorted(inspect(model).outliers(Views.concat([X, strange]), false_alarm=0.001)["row"])
        [200, 201]
        """
        check_number("false_alarm", false_alarm, positive=True, most=0.5)
        self._check_groups()
        views = self.prepare_views(X)
        others = None if reference is None else self.prepare_views(reference)
        if others is not None and set(others.names) != set(views.names):
            raise ViewsError(f"reference must have the views of X, {listed(views.names)}, got {listed(others.names)}.")
        return find_outliers(self, views, others, float(false_alarm), base_seed(random_state))

    def _check_groups(self) -> None:
        """Refuse a model that sorts no objects into topics, clusters or classes."""
        if not self.groups or self.kind not in ("topic", "cluster", "class"):
            raise ViewsError(f"{self.name} has no topics, clusters or classes; it gives a {self.kind} of each object.")

    def _codes_of(self, views: Views, as_fitted: bool = False) -> np.ndarray | None:
        """Positions of the groups of objects; None for a model without groups.

        With `as_fitted`, as many objects as at the fit of a clusterer without `predict` are taken to be the same.
        """
        codes = self.read(views, prepared=True).codes
        if codes is None and self.training.codes is not None:
            if as_fitted and len(self.training.codes) == len(views):
                return self.training.codes
            raise ViewsError(
                f"{self.name} has no predict, and knows the clusters of the objects of its fit only by their order: it "
                "cannot tell which clusters these objects are in. Pass no objects, or use a clusterer with predict."
            )
        return codes

    def feature_names(self, view: str) -> list[str]:
        """Return the names of a view's features, or f0, f1, ...

        Parameters
        ----------
        view : str
            The view.
        """
        self._check_view(view)
        expected = self.views[view]
        if expected.feature_names is None:
            return [f"f{j}" for j in range(expected.n_features)]
        return [str(name) for name in expected.feature_names]


def numbered(count: int) -> dict[str, Any]:
    """Return the `groups` and `labels` of an inspection whose groups have numbers for names."""
    return {"groups": [str(k) for k in range(count)], "labels": list(range(count))}


def answers(estimator: Any) -> bool:
    """Tell whether an estimator answers `inspect` itself, as those of coview do."""
    return hasattr(estimator, "_inspect")
