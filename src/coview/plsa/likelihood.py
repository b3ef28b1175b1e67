"""Which likelihood a view has: counts are multinomial, vectors and measurements Gaussian.

| values of a view | likelihood |
|---|---|
| whole numbers of at least 0: counts, 0/1, one-hot categories | multinomial |
| sparse, or of at least 0 and for the most part zeros: weighted counts such as tf-idf | multinomial |
| other numbers in a dense matrix: embeddings, measurements, histograms | Gaussian |
| a single column of a dense matrix, whole numbers too: of one feature, every share is 1 | Gaussian |

Objects that lack the view, whose rows hold zeros, are not looked at.

A multinomial view says what share of an object is which feature; only its non-zeros are looked at, and none may be
negative. A Gaussian view is a point (`gaussian.py`), in which 0 is a value like others; it may be sparse where a
parameter says so. Rows that are read when needed are judged by a sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.engines.passes import sample_rows
from coview.exceptions import ParameterError
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, listed
from coview.utils.parameters import by_view, one_of
from coview.views.arrays import holds_measurements
from coview.views.lazy import LazyViews
from coview.views.views import n_present

__all__ = [
    "GAUSSIAN",
    "LIKELIHOOD",
    "LIKELIHOODS",
    "MULTINOMIAL",
    "batch_rule",
    "choose_likelihoods",
    "explained_rule",
    "group_means_rule",
    "likelihood_of",
    "noise_rule",
    "topic_rule",
]

MULTINOMIAL, GAUSSIAN = "multinomial", "gaussian"
LIKELIHOODS = (MULTINOMIAL, GAUSSIAN)
LIKELIHOOD = by_view(one_of("auto", *LIKELIHOODS))
SAMPLE = 2000  # lazy rows that are looked at


def likelihood_of(matrix: Any, n_present: int | None = None) -> str:
    """Likelihood that suits the values of a matrix of which `n_present` rows have the view (all); others are zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> likelihood_of(np.array([[3.0, 0.0], [1.0, 2.0]])), likelihood_of(np.array([[0.3, 0.7], [0.5, 0.1]]))
    ('multinomial', 'gaussian')
    >>> likelihood_of(sparse.csr_array([[0.3, 0.0]])), likelihood_of(np.array([[3, -1]]))
    ('multinomial', 'gaussian')
    >>> likelihood_of(np.array([[31], [54], [17]]))
    'gaussian'
    """
    alone = matrix.shape[1] == 1 and not sparse.issparse(matrix) and matrix.size > 0 and bool(np.ptp(matrix) > 0)
    return GAUSSIAN if alone or holds_measurements(matrix, n_present) else MULTINOMIAL


def choose_likelihoods(likelihood: Any, views: Any) -> dict[str, str]:
    """Likelihood of each view by a parameter: "auto", the name of one, or a dict of such by view.

    Views that a dict does not name are chosen for, as by "auto".

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> X = Views(words=np.array([[3, 0], [0, 2]]), vector=np.array([[0.3, -0.7], [0.5, 0.1]]))
    >>> choose_likelihoods("auto", X)
    {'words': 'multinomial', 'vector': 'gaussian'}
    """
    given = likelihood if isinstance(likelihood, Mapping) else dict.fromkeys(views.names, likelihood)
    for name in given:
        if name not in views.names:
            raise ParameterError(
                f"names view {name!r}, but the views are {listed(views.names)}.{did_you_mean(name, views.names)}",
                parameter="likelihood",
            )
    chosen = {name: given.get(name, "auto") for name in views.names}
    if "auto" in chosen.values():
        some = sample_rows(views, SAMPLE) if isinstance(views, LazyViews) else views
        have = n_present(some)
        chosen = {name: likelihood_of(some[name], have[name]) if one == "auto" else one for name, one in chosen.items()}
    return chosen


def topic_rule(*shape: str) -> rules.Rule:
    """What the fitted topics of a view must look like: distributions, or of a Gaussian view means."""
    distributions, means = rules.shares(*shape), rules.floats(*shape, low=-1e60, high=1e60)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(means if checker.view in vectors_of(checker) else distributions, value, where)

    return rules.custom(visit)


def vectors_of(checker: rules.Checker) -> set[Any]:
    """Gaussian views of the model under check."""
    chosen = checker.state.get("likelihood_")
    return {name for name, one in chosen.items() if one == GAUSSIAN} if isinstance(chosen, dict) else set()


def noise_rule() -> rules.Rule:
    """What noise variances must look like: a positive number for each Gaussian view."""
    inside = rules.by_view(rules.number(1e-60, 1e120), some=True)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if set(value) != vectors_of(checker):
            checker.refuse(where, "has other views than those that are Gaussian")

    return rules.custom(visit)


def explained_rule(groups: str) -> rules.Rule:
    """What shares of variance must look like: a number for each group, of each Gaussian view."""
    inside = rules.by_view(rules.floats(groups), some=True)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if set(value) != vectors_of(checker):
            checker.refuse(where, "has other views than those that are Gaussian")

    return rules.optional(rules.custom(visit), needed=lambda state: "likelihood_" in state)


def group_means_rule(groups: str) -> rules.Rule:
    """What mean vectors of the groups' objects must look like, of each Gaussian view; models before them have none."""
    return rules.optional(rules.by_view(rules.floats(groups, "features of {view}"), some=True))


def batch_rule(groups: str, **counts: rules.Rule) -> rules.Rule:
    """What the running sums of minibatches must look like: `counts` by view, and moments of Gaussian views."""
    moments = rules.record(
        gram=rules.floats(groups, groups),
        cross=rules.floats(groups, "features of {view}"),
        squares=rules.floats(1, low=0),
        count=rules.floats(1, low=0),
    )
    parts = {name: rules.by_view(rule, some=True) for name, rule in counts.items()}
    inside = rules.record(**parts, moments=rules.optional(rules.by_view(moments, some=True)))

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        vectors, names = vectors_of(checker), checker.state.get("view_names_", [])
        for name, part in {"moments": {}, **value}.items():
            wanted = vectors if name == "moments" else {view for view in names if view not in vectors}
            if set(part) != wanted:
                checker.refuse(f"{where}[{name!r}]", "has other views than the model")

    return rules.optional(rules.custom(visit), needed=lambda state: "n_batches_" in state)
