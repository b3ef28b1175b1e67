"""What a fitted model says: one contract for estimators of coview, pipelines, searches and scikit-learn's estimators.

    kind               "topic", "cluster", "class", "component" or "value"
    groups             keys of the topics, clusters, classes or components, in order: numbers, or the classes' own names
    group_names        names that tell people what a cluster or topic is about
    features(view)     groups x features: what makes a group in that view, or None
    memberships(X)     objects x groups, from any subset of the views; memberships_by_view(X) likewise, one per view
    unused_views       views that have no opinion of objects: the model leaves them out, or gives them the weight 0
    views              names, widths and feature names of the views that the estimator sees
    training           memberships, codes and ids of the training objects, where the model keeps them; curves of the fit
    selection          what the model was chosen from and by what, where there was a choice (`records`)
    structure          topics below the groups, likelihoods, ontology, ... where the model has them (`records`)
    preparation        what the whole model takes, and the steps from there to the estimator (`preparation`)

What only the library's own rooms ask are functions of an inspection in `reading`, `features` and others.

An estimator of coview answers by `MultiViewEstimator._inspect`, which each family overrides; an estimator of
scikit-learn is adapted (`adapters`) by what scikit-learn's own conventions say of it. Reports, the explorer, the
server, `compare`, the retriever, the command line and the displays ask nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.inspection.choice import describe_scaling, describe_selection
from coview.inspection.effects import Effects, estimate_effects, measure_shares, read_formula
from coview.inspection.features import Features, described_features, name_by_features
from coview.inspection.hierarchy import GroupHierarchy, group_hierarchy
from coview.inspection.memberships import dense, label_codes, one_hot
from coview.inspection.names import NAMED_BY_FEATURES
from coview.inspection.preparation import Preparation
from coview.inspection.prevalence import group_prevalence, named_columns
from coview.inspection.quality import group_quality
from coview.inspection.reading import read_groups
from coview.inspection.records import Selection, Structure, Training
from coview.utils.docs import shared_parameters
from coview.utils.messages import did_you_mean, listed, printable, quantity, short
from coview.utils.tables import ResultTable
from coview.utils.warn import unwarned
from coview.validation import base_seed, check_count, check_number
from coview.views.inputs import ViewInput
from coview.views.views import PLAIN, Views, check_same_order

__all__ = ["GROUP_NOUNS", "KINDS", "Inspection", "answers", "numbered"]

KINDS = ("topic", "cluster", "class", "component", "value")
GROUP_NOUNS = {
    "topic": "topics",
    "cluster": "clusters",
    "class": "classes",
    "component": "components",
    "value": "value",
}
_SHOWN_GROUPS = 10


Answer = Callable[[Any], np.ndarray]


@shared_parameters
@dataclass(frozen=True, repr=False, eq=False)
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
        What it remembers of the fit and of the training objects.
    selection : Selection
        How it was chosen; empty where there was no choice.
    structure : Structure
        Topics, likelihoods, projections, an ontology, names given by hand, ... where it has them.
    preparation : Preparation
        From what the model takes to what the estimator takes; `inspect` completes it.
    _view_weights : dict of float
        What the model itself says that each view is worth; empty where it says nothing.
    unused_views : tuple of str
        Views that the model leaves out, or gives the weight 0: they have no opinion anywhere.
    _name : str
        What headlines call the model; by default the class of the estimator.
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
    _kept_names : function
        Returns names that groups keep though others were edited, by key.
    _profiles : function or None
        Returns features x groups by view, of a mixture.
    _label_sets : function of X or None
        Returns objects x labels, under an ontology.
    _transform : function of X or None
        The estimator's `transform`, which `inspect` fills in.
    _edits : tuple or None
        Of an edited model, the inspection of the one inside and a function from its memberships to those after the
        edits, where edits are sums of groups.

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
    selection: Selection = field(default_factory=Selection)
    structure: Structure = field(default_factory=Structure)
    preparation: Preparation = None  # type: ignore[assignment]
    _view_weights: dict[str, float] = field(default_factory=dict)
    unused_views: tuple[str, ...] = ()

    _name: str = ""
    _features: Callable[[str], Features | None] = lambda view: None
    _memberships: Answer | None = None
    _memberships_by_view: Callable[[Any], dict[str, np.ndarray]] | None = None
    _predict: Answer | None = None
    _embed: Answer | None = None
    _keeping: Callable[[np.ndarray], Inspection] | None = None
    _kept_names: Callable[[], Mapping[str, str]] = dict
    _profiles: Callable[[], dict[str, np.ndarray]] | None = None
    _label_sets: Answer | None = None
    _transform: Answer | None = None
    _edits: tuple[Inspection, Answer] | None = None

    def __post_init__(self) -> None:
        if self.preparation is None:
            matrix = list(self.views) == [PLAIN] and not answers(self.estimator)
            object.__setattr__(self, "preparation", Preparation(self.estimator, self.views, takes_matrix=matrix))

    def __repr__(self) -> str:
        more = ", ..." if len(self.groups) > _SHOWN_GROUPS else ""
        shown = printable(", ".join(self.groups[:_SHOWN_GROUPS])) + more
        groups = f": {len(self.groups)} {GROUP_NOUNS[self.kind]} ({shown})" if self.groups else ""
        lines = [f"{self.name}{groups}"]
        scaled = {view: describe_scaling(scaling) for view, scaling in self.structure.scalings.items()}
        for view, expected in self.views.items():
            taken = "".join(f", {part[view]}" for part in (self.structure.likelihoods, scaled) if view in part)
            taken += ", not used" if view in self.unused_views else ""
            lines.append(f"  view {view!r}: {quantity(expected.n_features, 'feature')}{taken}")
        if self.training.codes is not None:
            lines.append(f"  {self._fitted_on()}")
        width = sum(view.n_features for view in self.views.values())
        lines += [f"  {line}" for line in describe_selection(self.selection, width)]
        if self.structure.edits:
            lines.append(f"  edited by hand: {quantity(len(self.structure.edits), 'edit')}")
        return "\n".join(lines)

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
        """What headlines call the model: the class of its estimator; "Edited LinkPLSA" after edits."""
        return self._name or type(self.estimator).__name__

    # -- of objects

    def memberships(self, X: Any, *, prepared: bool = False) -> np.ndarray | None:
        """Return objects x groups from some or all of the views: probabilities, or coordinates of components.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        if self._memberships is not None:
            answer = dense(self._memberships(self.preparation.as_taken(X, prepared, lazy=True)))
            # NaN of LabelSpreading, far from all objects
            return np.nan_to_num(answer) if np.isnan(answer).any() else answer
        if self._predict is None or not self.groups or self.kind == "value":
            return None
        labels = self.predict(self.preparation.as_taken(X, prepared), prepared=True)
        return one_hot(label_codes(labels, self.labels), len(self.groups))

    def memberships_by_view(self, X: Any, *, prepared: bool = False) -> dict[str, np.ndarray]:
        """Return objects x groups from each view alone; rows of objects that have no feature in a view are zero.

        Views that the model does not use (`unused_views`) have no key.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        views = self.preparation.as_taken(X, prepared)
        if not isinstance(views, Views):
            whole = self.memberships(views, prepared=True)
            return {} if whole is None else {PLAIN: whole}
        described = self.preparation.described_objects(views)
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

    def predict(self, X: Any, *, prepared: bool = False) -> Any:
        """Return the label of each object, or the value of a regressor.

        Parameters
        ----------
        <shared: inspected, prepared>
        """
        objects = self.preparation.as_taken(X, prepared, lazy=True)
        if self._predict is not None:
            with unwarned():  # who asks here is told of unknown objects by `known`
                return self._predict(objects)
        reading = read_groups(self, objects, prepared=True)
        return None if reading.codes is None else np.asarray(self.labels)[reading.codes]

    def known(self, X: Any) -> np.ndarray:
        """Return a mask of the objects with at least one feature known to the model.

        An object is unknown where all values of all its views are 0, as they come in or after a step before the model:
        a vectorizer leaves out words that it has not seen, and a model the columns that it was not fitted with. Dense
        matrices are judged for models of counts only: 0 in a column of measurements is a value like others.

        Parameters
        ----------
        <shared: inspected>
        """
        return self.preparation.known(X)

    # -- of features

    @property
    def group_names(self) -> list[str]:
        """Names of the groups: of clusters and topics their most characteristic features, of others as in `groups`.

        A cluster that no named feature tells from the others is called by its number, "cluster 3". Names that people
        gave (`structure.given_names`) come before all others.
        """
        return list(self._group_names)

    @cached_property
    def _group_names(self) -> list[str]:
        views = self.views if self.kind in NAMED_BY_FEATURES else ()
        features = {view: described_features(self, view) for view in views}
        known = {view: part for view, part in features.items() if part is not None}
        return name_by_features(self, known, self._kept_names())

    def features(self, view: str) -> np.ndarray | None:
        """Return groups x features: the weight of each feature in each group, or None if the model has none.

        Parameters
        ----------
        view : str
            The view.
        """
        features = described_features(self, view)
        return None if features is None else features.weights

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
        views = self.preparation.prepare_views(X)
        needs = any(described_features(self, view) is None for view in self.views)
        return group_quality(self, views, self._codes_of(views) if needs else None, n_features)

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
            With `cut(n_parts)`, the part that each group is in, and `linkage`, as scipy's.

        Examples
        --------
        >>> from coview import LinkPLSA, inspect
        >>> from coview.datasets import make_topic_views
        >>> X = make_topic_views(n_objects=100, n_clusters=4, random_state=0).views
        >>> tree = inspect(LinkPLSA(4, random_state=0).fit(X)).hierarchy()
        >>> tree.cut(2).shape, tree.linkage.shape
        ((4,), (3, 4))
        """
        self._check_groups()
        views = None if X is None else self.preparation.prepare_views(X)
        return group_hierarchy(self, views, self._codes_of(views))

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
        name, values = str(getattr(by, "name", None) or "value"), by  # that of a pandas or polars series
        if isinstance(by, str):
            name, values = by, named_columns(X, [by], lists=self.preparation.list_columns)[by]
        self._check_groups()
        memberships = self.memberships(X)
        if memberships is None:
            raise ViewsError(f"{self.name} cannot tell which groups these objects belong to: it has no predict.")
        return group_prevalence(self.groups, self.group_names, memberships, values, by=name, n_bins=n_bins)

    def effects(self, X: Any, formula: str, covariates: Any = None, *, clusters: Any = None) -> Effects:
        """Estimate how the share of each group depends on what is known of the objects, with intervals.

        Shares of all objects are regressed on the covariates by least squares. Of topic models of counts they are
        measured without the bias that `transform` has for short objects, so that the intervals count what the words of
        an object leave open; of other models they are the memberships, taken as they are. Errors are robust to unequal
        variances, and within clusters. That the topics themselves were estimated is not counted.

        Parameters
        ----------
        X : what the model takes
            The objects.
        formula : str
            The covariates, such as "~ party + spline(date)": numbers and dates are lines, or curves with
            ``spline(column)`` or ``spline(column, 4)`` (degrees of freedom); texts are categories, compared with the
            first one of the alphabet. Names with other signs stand in back quotes.
        covariates : table or mapping, optional
            What has the columns of the formula; by default X, where it is a raw table.
        clusters : array-like (n_objects,) or str, optional
            What objects belong together, such as the speech of a paragraph, or the column that tells it.

        Returns
        -------
        Effects
            A dict of lists that prints as a table; `predict(term)` has the expected shares, `plot(term)` draws them.

        Examples
        --------
        >>> from coview import LinkPLSA, inspect
        >>> from coview.datasets import make_topic_views
        >>> data = make_topic_views(n_objects=200, n_clusters=3, random_state=0)
        >>> model = LinkPLSA(3, random_state=0).fit(data.views)
        >>> known = {"year": 2000 + np.arange(200) % 20, "label": ["abc"[label] for label in data.target]}
        >>> effects = inspect(model).effects(data.views, "~ label + spline(year)", known)
        >>> effects["term"][::3]
        ['label b', 'label c', 'year, 2000 to 2019']
        """
        self._check_groups()
        for values, name in ((covariates, "covariates"), (clusters, "clusters")):
            check_same_order(X, values, name)
        source = X if covariates is None else covariates
        columns = named_columns(source, [name for name, _ in read_formula(formula)], parameter="formula")
        own = (
            named_columns(source, [clusters], parameter="clusters")[clusters] if isinstance(clusters, str) else clusters
        )
        objects = self.preparation.prepare(X)
        shares = measure_shares(self, objects)
        if shares is None:
            raise ViewsError(f"{self.name} cannot tell which groups these objects belong to: it has no predict.")
        return estimate_effects(self.groups, self.group_names, shares, formula, columns, own)

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
        views = self.preparation.prepare_views(X)
        others = None if reference is None else self.preparation.prepare_views(reference)
        if others is not None and set(others.names) != set(views.names):
            raise ViewsError(f"reference must have the views of X, {listed(views.names)}, got {listed(others.names)}.")
        from coview.inspection.outliers import find_outliers

        return find_outliers(self, views, others, float(false_alarm), base_seed(random_state))

    def _check_groups(self) -> None:
        """Refuse a model that sorts no objects into topics, clusters or classes."""
        if not self.groups or self.kind not in ("topic", "cluster", "class"):
            raise ViewsError(f"{self.name} has no topics, clusters or classes; it gives a {self.kind} of each object.")

    def _codes_of(self, views: Views | None) -> np.ndarray | None:
        """Positions of the groups of objects; None for a model without groups, and without objects.

        As many objects as at the fit of a clusterer without `predict` are taken to be the same.
        """
        if views is None:
            return None
        codes = read_groups(self, views, prepared=True).codes
        if codes is None and self.training.codes is not None:
            if len(self.training.codes) == len(views):
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
