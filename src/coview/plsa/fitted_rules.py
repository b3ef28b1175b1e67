"""What the fitted attributes of the PLSA family must look like, for `load` to check before a model is used.

Compiled code trusts the shapes that it is given, so that a damaged file must be refused here, and not in a kernel.
"""

from __future__ import annotations

from typing import Any

from coview.plsa.dense import MULTINOMIAL
from coview.utils import fitted_state as rules

__all__ = ["background_rule", "batch_rule", "topic_rules", "vectors_rule"]


def topic_rules(groups: str, topics: str) -> dict[str, rules.Rule | None]:
    """Return what fitted attributes must look like where there are these groups, of these topics."""
    return {
        "topic_feature_": rules.by_view(topic_rule(topics, "features of {view}")),
        "memberships_": rules.shares("objects", groups),
        "variance_explained_": vectors_rule(rules.floats(groups)),
        "group_means_": vectors_rule(rules.floats(groups, "features of {view}")),
    }


def topic_rule(*shape: str) -> rules.Rule:
    """What the fitted topics of a view must look like: distributions, or of a Gaussian view means."""
    # as large as values of a view may be (`views/arrays.py`): squares of more would overflow
    distributions, means = rules.shares(*shape), rules.floats(*shape, low=-1e60, high=1e60)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(means if checker.view in find_vector_views(checker) else distributions, value, where)

    return rules.custom(visit)


def find_vector_views(checker: rules.Checker) -> set[Any]:
    """Views of vectors of the model under check."""
    # what is checked may hold anything: `likelihood_` itself may come later, or be no dict
    chosen = checker.state.get("likelihood_")
    return {name for name, one in chosen.items() if one != MULTINOMIAL} if isinstance(chosen, dict) else set()


def vectors_rule(inside: rules.Rule) -> rules.Rule:
    """What a fitted attribute of the Gaussian views must look like, and of no others."""
    known = rules.by_view(inside, some=True)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(known, value, where)
        if set(value) != find_vector_views(checker):
            checker.refuse(where, "has other views than those that are Gaussian")

    return rules.optional(rules.custom(visit), needed=lambda state: "likelihood_" in state)


def batch_rule() -> rules.Rule:
    """What the running sums of minibatches must look like: counts by view, and moments of Gaussian views."""
    counts = rules.by_view(rules.floats("features of {view}", "topics", low=0), some=True)
    moments = rules.record(
        gram=rules.floats("topics", "topics"),
        cross=rules.floats("topics", "features of {view}"),
        squares=rules.floats(1, low=0),
        count=rules.floats(1, low=0),
    )
    more = rules.optional(rules.by_view(moments, some=True))

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        # of topics over a background, or of profiles
        known = "topics" if checker.state.get("background_") else "profiles"
        checker.check(rules.record(**{known: counts}, moments=more), value, where)
        vectors, names = find_vector_views(checker), checker.state.get("view_names_", [])
        for name, part in {"moments": {}, **value}.items():
            # a view is counts or vectors: sums of the wrong kind would meet arrays of another shape in `partial_fit`
            wanted = vectors if name == "moments" else {view for view in names if view not in vectors}
            if set(part) != wanted:
                checker.refuse(f"{where}[{name!r}]", "has other views than the model")

    return rules.optional(rules.custom(visit), needed=lambda state: "n_batches_" in state)


def background_rule(*, joint: bool) -> rules.Rule:
    """What a background must look like: shares of the features of each view of counts that add up to less than 1."""
    inside = rules.by_view(rules.floats("features of {view}", low=0, high=1), some=True)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if not value:  # fitted without a background
            return
        if set(value) != set(checker.state.get("view_names_", [])) - find_vector_views(checker):
            checker.refuse(where, "has other views than those of counts")
        # a share of 1 would leave nothing to the topics, and divide by zero where they are taken out again
        sums = [float(part.sum()) for part in value.values()]
        if not all(0 < total < 1 for total in ([sum(sums)] if joint else sums)):
            checker.refuse(where, "has shares that do not add up to a number between 0 and 1")

    return rules.optional(rules.custom(visit))
