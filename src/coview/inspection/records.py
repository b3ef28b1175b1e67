"""Plain records that an inspection is made of: what is known of the fit, of the choice of a model, and of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Reading", "Selection", "Structure", "Topics", "Training"]


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics below the groups of a model, by view: p(feature | topic) and p(topic | group)."""

    features: dict[str, np.ndarray]  # topics x features
    shares: dict[str, np.ndarray]  # groups x topics


@dataclass(frozen=True, eq=False)
class Training:
    """What a model remembers of its fit and of the objects that it was fitted on; None where it keeps nothing."""

    memberships: np.ndarray | None = None  # objects x groups
    memberships_by_view: dict[str, np.ndarray] = field(default_factory=dict)
    codes: np.ndarray | None = None  # position of each object's group; -1 for none
    ids: np.ndarray | None = None
    label_sets: np.ndarray | None = None  # objects x labels, under an ontology
    history: dict[str, Any] = field(default_factory=dict)  # curves: "objective", ...; "correlations" by component
    n_objects: int | None = None
    n_iter: int | None = None
    n_rounds: int | None = None  # of an online learner
    n_labels: int | None = None  # that a classifier was fitted with
    n_violations: int = 0  # constraints of the ontology that single views broke

    def __post_init__(self) -> None:
        known = next((part for part in (self.codes, self.memberships) if part is not None), None)
        if self.n_objects is None and isinstance(known, np.ndarray):
            object.__setattr__(self, "n_objects", len(known))


@dataclass(frozen=True, eq=False)
class Selection:
    """How a model was chosen; parts are empty where there was no choice.

    Parameters
    ----------
    candidates : dict of lists
        What the model was chosen from, with the evidence.
    held_out : dict of float
        What the fit itself measured on labels that it hid: "accuracy", NaN where it is not known, "low" and "high", its
        interval at 95 %, "n_labels", their number, "largest_class", the share of all labels that the most frequent
        class has, and "calibration_error", NaN where they are too few.
    accuracy_by_view : dict of float
        Share of the held-out labels that are found from each view alone.
    votes : dict
        Of clusters that clusterings voted for: "clusterings" (how many), "share" (of the votes that an object's cluster
        has in the mean) and "by_cluster" (the same in each cluster).
    numbers : dict of lists
        The evidence for each number of groups that was tried.
    relations : dict of lists
        What each view shares with the others, where the model looked: "view" and "verdict" at least.
    """

    candidates: dict[str, list[Any]] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    accuracy_by_view: dict[str, float] = field(default_factory=dict)
    votes: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, list[Any]] = field(default_factory=dict)
    relations: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Structure:
    """What a model is made of; parts are empty where it has none.

    Parameters
    ----------
    topics : Topics or None
        Topics below the groups.
    likelihoods : dict of str
        What the model took each view for, "multinomial" (counts) or "gaussian" (vectors).
    scalings : dict of str
        How the columns of each view were made comparable, "tf-idf", "unit length", "standard", "pareto" or "centered".
    variance_explained : dict of ndarray (n_groups,)
        Share of the variance of each view of vectors that each group explains.
    projections : dict of ndarray (n_features, n_components)
        By view, the components of the space that the model places objects in.
    ontology : Ontology or None
        Constraints among the labels.
    retriever : object or None
        The estimator itself where it searches objects.
    probabilities : bool
        Whether memberships are probabilities, and not a way to rank groups only.
    given_names : dict of str
        Names that people gave to groups, by key; they stand in `group_names` in place of those made of features.
    updates : list of dict
        What became of the groups in each `update`: "n_objects" and, but for groups that were kept, the "events".
    edits : list of dict
        What people changed in the groups after the fit, as in `EditedModel.edits_`.
    """

    topics: Topics | None = None
    likelihoods: dict[str, str] = field(default_factory=dict)
    scalings: dict[str, str] = field(default_factory=dict)
    variance_explained: dict[str, np.ndarray] = field(default_factory=dict)
    projections: dict[str, np.ndarray] = field(default_factory=dict)
    ontology: Any = None
    retriever: Any = None
    probabilities: bool = False
    given_names: dict[str, str] = field(default_factory=dict)
    updates: list[dict[str, Any]] = field(default_factory=list)
    edits: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
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
