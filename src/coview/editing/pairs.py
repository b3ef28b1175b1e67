"""Objects that belong together or apart, and the groups that they go to.

With m_oz the membership of an object o in group z, and 1 more where it is in z already, objects go to the groups of

    max sum_o m_o,z(o)     such that z(a) = z(b) where a and b belong together, z(a) != z(b) where they belong apart

a small integer program, x_oz in {0, 1}, sum_z x_oz = 1, x_az - x_bz = 0 or x_az + x_bz <= 1 for all z, solved exactly:
all pairs hold, and as few objects move as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

from coview.exceptions import ParameterError
from coview.utils.messages import short

__all__ = ["place_objects"]


def place_objects(records: Iterable[Mapping[str, Any]], rows: Mapping[Any, int], values: np.ndarray) -> dict[Any, int]:
    """Return the group (column of `values`) of each object that edits want together or apart.

    Parameters
    ----------
    records : iterable of dict
        Edits; those that are not "together" or "apart" are passed over.
    rows : mapping
        Row of each object.
    values : ndarray (n_objects, n_groups)
        How well each object goes with each group.

    Examples
    --------
    >>> records = [{"edit": "together", "objects": ["a", "b"]}, {"edit": "apart", "objects": ["b", "c"]}]
    >>> values = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> place_objects(records, {"a": 0, "b": 1, "c": 2}, values)
    {'a': 0, 'b': 0, 'c': 1}
    """
    wanted = [record for record in records if "objects" in record]
    objects = list(dict.fromkeys(each for record in wanted for each in record["objects"]))
    if not objects:
        return {}
    for each in objects:
        if each not in rows:
            raise ParameterError(f"There is no object {short(each)} among those of the fit.")
    at, pairs = {each: i for i, each in enumerate(objects)}, []
    for record in wanted:
        apart = record["edit"] == "apart"
        several = combinations(record["objects"], 2) if apart else pairwise(record["objects"])
        pairs += [(at[one], at[other], apart) for one, other in several]
    own = np.asarray(values[[rows[each] for each in objects]], dtype=np.float64)
    places = _solve(own.tobytes(), own.shape[1], tuple(pairs))
    if places is None:
        one, other = map(short, wanted[-1]["objects"][:2])
        raise ParameterError(
            f"{one} and {other} cannot be {wanted[-1]['edit']}: other pairs do not allow it, or too few groups."
        )
    return dict(zip(objects, places))


@lru_cache(maxsize=16)  # each prediction asks for the same
def _solve(values: bytes, width: int, pairs: tuple[tuple[int, int, bool], ...]) -> list[int] | None:
    """Return the group of each object, of which groups are worth so much; None where no groups will do."""
    own = np.frombuffer(values).reshape(-1, width)
    one, other, apart = np.array(pairs).T
    sides, ends = np.arange(len(pairs)).repeat(2), np.stack([one, other], axis=1).ravel()
    signs = np.stack([np.ones_like(apart), 2 * apart - 1], axis=1).ravel()
    joined = sparse.csr_array((signs, (sides, ends)), (len(pairs), len(own)))
    each = sparse.kron(sparse.eye_array(len(own)), np.ones((1, width)))
    rules = sparse.vstack([each, sparse.kron(joined, sparse.eye_array(width))]).tocsr()
    ones, upper = np.ones(len(own)), apart.repeat(width)
    rule = LinearConstraint(rules, np.append(ones, 0 * upper), np.append(ones, upper))
    found = milp(-own.ravel(), constraints=rule, integrality=1, bounds=(0, 1)).x
    return None if found is None else found.reshape(own.shape).argmax(axis=1).tolist()
