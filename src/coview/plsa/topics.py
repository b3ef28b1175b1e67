"""What every topic model can show: the features that matter most in each topic."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.inspection import Features
from coview.inspection.features import rank_features

__all__ = ["TopicsMixin", "feature_labels", "only_view", "strongest"]


class TopicsMixin:
    """Adds `top_features` to models with `topic_feature_`, by view."""

    topic_feature_: dict[str, np.ndarray]
    feature_names_by_view_: dict[str, np.ndarray]
    view_names_: list[str]

    def top_features(self, view: str | None = None, n: int = 10) -> list[list[tuple[str, float]]]:
        """For each topic the `n` most probable features of a view, with their probabilities.

        Parameters
        ----------
        view : str, optional
            Name of the view; not needed where there is only one.
        n : int, default=10
            How many features per topic.

        Returns
        -------
        list of lists of (feature, probability)
            Features are named where names are known, else "f0", "f1", ...
        """
        check_is_fitted(self, "topic_feature_")
        view = only_view(view, self.view_names_)
        topics = self.topic_feature_[view]
        return strongest(topics, feature_labels(self, view, topics.shape[1]), n)


def strongest(weights: np.ndarray, labels: np.ndarray, n: int) -> list[list[tuple[str, float]]]:
    """The n largest entries of each row with their labels, largest first; ties go to the lower index."""
    best = rank_features(Features(weights), n, by="weight", above=-np.inf)
    return [[(str(labels[j]), float(row[j])) for j in order] for row, order in zip(weights, best)]


def feature_labels(model: Any, view: str, width: int) -> np.ndarray:
    """Names of a view's features, or f0, f1, ..."""
    names = model.feature_names_by_view_.get(view)
    return np.array([f"f{j}" for j in range(width)]) if names is None else names


def only_view(view: str | None, names: list[str]) -> str:
    if view is None and len(names) == 1:
        return names[0]
    if view not in names:
        listed = ", ".join(map(repr, names))
        raise ViewsError(f"Name a view to show: there is {listed}, got {view!r}.")
    return view
