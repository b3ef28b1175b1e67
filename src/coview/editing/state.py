"""What the fitted attributes of an `EditedModel` look like: a file with a log that cannot be is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.editing.log import LARGEST, Ledger, checked_record
from coview.exceptions import ParameterError
from coview.inspection import NAMED_BY_FEATURES, Inspection, inspect
from coview.plsa.link import LinkPLSA
from coview.utils import fitted_state as rules
from coview.utils.messages import short

__all__ = [
    "drop_rule",
    "has_groups",
    "inner_rule",
    "log_rule",
    "n_training",
    "numbers_rule",
    "records_rule",
    "splits_rule",
    "view_rules",
]


def has_groups(inner: Inspection) -> bool:
    """Tell whether a model has topics or clusters of its own, which edits are about."""
    return inner.kind in NAMED_BY_FEATURES and bool(inner.groups) and inner.retriever is None


def n_training(inner: Inspection) -> int | None:
    """How many training objects the model knows the groups of; None where it keeps nothing of them."""
    known = inner.training.codes if inner.training.memberships is None else inner.training.memberships
    return None if known is None else len(known)


def inner_rule() -> rules.Rule:
    """What the fitted model inside is: one of topics or clusters, of the class of the parameter `estimator`."""
    any_estimator = rules.estimator()

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(any_estimator, value, where)
        asked = checker.state.get("estimator")
        wanted = LinkPLSA if asked is None else type(asked)
        if type(value) is not wanted:
            checker.refuse(where, f"is a {type(value).__name__}, but the parameter estimator is a {wanted.__name__}")
        inner = _asked(checker, value, where)
        checker.size("groups of the model inside", len(inner.groups), where)
        if (n_objects := n_training(inner)) is not None:
            checker.size("objects", n_objects, where)
        known = checker.state.get("view_names_")
        if known is not None and list(known) != list(inner.views):
            checker.refuse("view_names_", f"is {short(known)}, but {where} has other views")
        for view, each in inner.views.items() if known is not None else ():
            checker.view = view
            checker.size("features of {view}", each.n_features, where)

    return rules.custom(visit)


def _asked(checker: rules.Checker, model: Any, where: str) -> Inspection:
    """The inspection of a model in a file, which was checked by itself."""
    try:
        inner = inspect(model)
    except Exception:  # whatever a model does that is not whole
        checker.refuse(where, f"is a {type(model).__name__} that cannot be inspected")
        raise
    if not has_groups(inner):
        checker.refuse(where, f"is a {type(model).__name__}, which has no topics or clusters")
    return inner


def log_rule() -> rules.Rule:
    """A list of edits, each of which the groups that there are allow."""

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        _check_records(checker, value, where)

        def look() -> None:
            numbers = np.asarray(checker.state["inner_numbers_"]).tolist()
            try:
                ledger = Ledger.of(numbers)
                for record in value:
                    ledger.apply(record)
            except ParameterError as error:
                checker.refuse(where, f"has an edit that cannot be: {str(error).rstrip('.')}")
            parts = [record["into"] for record in value if record["edit"] == "split"]
            splits = checker.state["splits_"]
            if len(parts) != len(splits):
                checker.refuse("splits_", f"has {len(splits)} models, but {where} has {len(parts)} splits")
            inner = inspect(checker.state["estimator_"])
            _check_drop(checker, value, [len(inner.groups), *map(len, parts)])
            for i, (into, split) in enumerate(zip(parts, splits)):
                found = _asked(checker, split["model"], f"splits_[{i}]['model']")
                if type(found.estimator) is not type(inner.estimator):
                    checker.refuse(f"splits_[{i}]['model']", "is of another class than the model inside")
                widths = [{view: each.n_features for view, each in one.views.items()} for one in (found, inner)]
                shares = split["shares"]
                if widths[0] != widths[1] or len(found.groups) != len(into):
                    checker.refuse(f"splits_[{i}]['model']", "has other views or groups than the split needs")
                if (shares is None) != (n_training(inner) is None):
                    checker.refuse(f"splits_[{i}]['shares']", "does not go with what the model inside has kept")
                if shares is not None and shares.shape[1] != len(into):
                    checker.refuse(f"splits_[{i}]['shares']", f"has {shares.shape[1]} parts in place of {len(into)}")

        checker.later.append(look)

    return rules.custom(visit)


def _check_drop(checker: rules.Checker, records: list[Any], widths: list[int]) -> None:
    """After the last drop, the answers of the model inside and of the splits before it."""
    kinds, kept = [record["edit"] for record in records], checker.state["after_drop_"]
    wanted = [widths[: 1 + kinds[:at].count("split")] for at, kind in enumerate(kinds) if kind == "drop"]
    if kept is not None and [[part.shape[1] for part in kept]] != wanted[-1:]:
        checker.refuse("after_drop_", "does not hold what the last drop of edits_ needs")


def _check_records(checker: rules.Checker, value: Any, where: str) -> None:
    if not isinstance(value, list):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be a list")
    for i, record in enumerate(value):
        try:
            whole = checked_record(record) == record and type(record) is dict
        except ParameterError as error:
            checker.refuse(f"{where}[{i}]", f"is no edit: {str(error).rstrip('.')}")
        if not whole:
            checker.refuse(f"{where}[{i}]", f"is {short(record)}, which is not how an edit is written")


def numbers_rule() -> rules.Rule:
    inside = rules.integers("groups of the model inside", low=0, below=LARGEST)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if len(np.unique(value)) < len(value):
            checker.refuse(where, "has a number twice")

    return rules.custom(visit)


def view_rules() -> dict[str, rules.Rule]:
    """What is known of the views: all or nothing, as of a pipeline that makes them itself."""
    whole = {name: rule for name, rule in rules.FITTED_VIEWS.items() if rule is not None}
    return {
        name: rules.optional(rule, needed=(lambda state: "view_names_" in state) if rule.required else None)
        for name, rule in whole.items()
    }


def records_rule() -> rules.Rule:
    """A list of edits, whatever groups there are."""
    return rules.custom(_check_records)


def drop_rule() -> rules.Rule:
    """What the models say of the training objects after the last drop, where it is known."""
    return rules.or_none(rules.sequence(rules.floats("objects", None, low=0.0, high=1.001)))


def splits_rule() -> rules.Rule:
    """For each split of the log a model, and its shares of the training objects where these are known."""
    shares = rules.or_none(rules.floats("objects", None, low=0.0, high=1.001))
    return rules.sequence(rules.record(model=rules.estimator(), shares=shares))
