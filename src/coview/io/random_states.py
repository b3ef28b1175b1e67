"""Random generators of NumPy as plain trees for model files, and back, where the tree is a state that they can have.

NumPy takes a state as it is: a position outside of its buffer is followed into other memory at the first draw, and a
state of zeros draws zeros forever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.utils import fitted_state as rules

__all__ = ["pack_generator", "pack_random_state", "unpack_generator", "unpack_random_state"]

_BIT_GENERATORS = {
    cls.__name__: cls
    for cls in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}


def pack_random_state(random: np.random.RandomState) -> Any | None:
    """Return the state as a tree, None where the kind of generator is not known here."""
    state: Any = random.get_state(legacy=False)
    return state if state["bit_generator"] in _BIT_GENERATORS else None


def pack_generator(generator: np.random.Generator) -> Any | None:
    """Return the state as a tree, None where the kind of generator is not known here."""
    bits = generator.bit_generator
    if type(bits).__name__ not in _BIT_GENERATORS:
        return None
    seeds = bits.seed_seq
    # the seed sequence decides what spawn() gives next
    known = seeds.state if isinstance(seeds, np.random.SeedSequence) else None
    return {"state": bits.state, "seeds": known}


def unpack_random_state(tree: Any) -> np.random.RandomState:
    """Return what `pack_random_state` was given; rules.StateMismatch where no generator can have such a state."""
    state = np.random.RandomState(_checked(tree, _GAUSS)())
    state.set_state(tree)
    return state


def unpack_generator(tree: Any) -> np.random.Generator:
    """Return what `pack_generator` was given; rules.StateMismatch where no generator can have such a state."""
    rules.check_state({"seeds": _SEEDS}, tree)
    seeds = None if tree["seeds"] is None else np.random.SeedSequence(**tree["seeds"])
    bits = _checked(tree["state"], {})(seeds)
    bits.state = tree["state"]
    return np.random.Generator(bits)


def _checked(state: Any, more: Mapping[str, rules.Rule]) -> type[Any]:
    """Return the class of bit generator whose state this can be."""
    name = state["bit_generator"]
    described = rules.record(bit_generator=rules.text(), **_STATES[name], **more)
    rules.check_state({name: described}, {name: state})
    return _BIT_GENERATORS[name]


def _key(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(rules.integers(624, dtype=np.uint32), value, where)
    if not value[0] >> 31 and not value[1:].any():  # the other bits of the first are not used
        checker.refuse(where, "holds zeros only")


def _increment(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(_whole(128), value, where)
    if value % 2 == 0:
        checker.refuse(where, f"is {value}, but must be odd")


def _whole(bits: int) -> rules.Rule:
    return rules.count(high=(1 << bits) - 1)


def _words(count: int) -> rules.Rule:
    return rules.integers(count, dtype=np.uint64)


_HALF = {"has_uint32": rules.one_of(0, 1), "uinteger": _whole(32)}  # half of a number, kept for the next draw
_PCG = {"state": rules.record(state=_whole(128), inc=rules.custom(_increment)), **_HALF}
_STATES: dict[str, dict[str, rules.Rule]] = {
    "MT19937": {"state": rules.record(key=rules.custom(_key), pos=rules.count(high=624))},
    "PCG64": _PCG,
    "PCG64DXSM": _PCG,
    "Philox": {
        "state": rules.record(counter=_words(4), key=_words(2)),
        "buffer": _words(4),
        "buffer_pos": rules.count(high=4),
        **_HALF,
    },
    "SFC64": {"state": rules.record(state=_words(4)), **_HALF},
}
_GAUSS = {"has_gauss": rules.one_of(0, 1), "gauss": rules.number(-40.0, 40.0)}  # a normal number, kept likewise
_SEEDS = rules.or_none(
    rules.record(
        entropy=rules.plain(),
        spawn_key=rules.plain(),
        pool_size=rules.count(4, high=1 << 16),
        n_children_spawned=_whole(32),
    )
)
