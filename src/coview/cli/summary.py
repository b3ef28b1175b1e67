"""What a fitted model is, in lines for a terminal: `coview fit` and `coview info` print the same."""

from __future__ import annotations

from typing import Any

from coview.utils.messages import printable, quantity

__all__ = ["summarize_fit"]

_SHOWN = 10  # groups


def summarize_fit(fitted: Any) -> list[str]:
    """Return lines on a model that was inspected: its views, what it was chosen by, and the names of its groups."""
    from coview.inspection import NAMED_BY_FEATURES
    from coview.inspection.choice import describe_links

    lines = repr(fitted).split("\n")
    if fitted.name in ("AutoClassifier", "AutoClustering") and fitted.estimator.links_ is not None:
        lines.append(f"  links: {describe_links(fitted.estimator.links_)}")
    if held := fitted.selection.held_out:
        worse = ": always naming it is right more often" if held["largest_class"] > held["accuracy"] else ""
        lines.append(f"  the largest class has {100 * held['largest_class']:.0f} % of the labels{worse}")
    if fitted.kind in NAMED_BY_FEATURES and fitted.structure.retriever is None:
        sizes = fitted.group_sizes or [None] * len(fitted.groups)
        named = [
            f"  {key}: {name}" + ("" if size is None else f" ({size:,})")
            for key, name, size in zip(fitted.groups, fitted.group_names, sizes)
        ]
        more = [f"  ... {len(named) - _SHOWN} more"] if len(named) > _SHOWN else []
        lines += [f"{fitted.kind}s:", *named[:_SHOWN], *more]
        if empty := sizes.count(0):
            own = "has no object of its own" if empty == 1 else "have no objects of their own"
            lines.append(f"{quantity(empty, fitted.kind)} {own}.")
    return list(map(printable, lines))
