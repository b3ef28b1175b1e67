"""Engines by name or as objects."""

import pytest

from coview.engines.cpu import CpuEngine
from coview.engines.loop import select_engine
from coview.engines.reference import ReferenceEngine
from coview.exceptions import EngineError


def test_names_and_objects():
    assert select_engine("auto").name == select_engine("cpu").name == "cpu"
    engine = ReferenceEngine()
    assert select_engine(engine) is engine


@pytest.mark.parametrize("bad", ["tpu", 3, None])
def test_anything_else_is_refused(bad):
    with pytest.raises(EngineError, match="engine must be"):
        select_engine(bad)


@pytest.mark.parametrize(
    ("n_rows", "columns", "itemsize", "expected"),
    [
        (0, 64, 4, 16_384),
        (0, 0, 4, 16_384),
        (18_846, 64, 4, 18_846),  # a small rest is shared out
        (100_000, 64, 4, 16_667),
        (65_536, 256, 4, 16_384),  # 16 MB of the row factor
        (65_536, 256, 8, 8192),
        (65_536, 4096, 4, 8192),
    ],
)
def test_blocks_of_the_cpu_fit_its_caches_and_leave_no_small_rest(n_rows, columns, itemsize, expected):
    engine = CpuEngine(1)
    size = engine.block_rows(columns, itemsize, n_rows, 1000.0)
    assert size == expected == engine.block_rows(columns, itemsize, n_rows, 1e6)  # as from disk, in other types
    assert n_rows <= size or -n_rows % size < size / 2
