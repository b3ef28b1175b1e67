"""Engines by name or as objects."""

import pytest

from coview.engines.cpu import CpuEngine
from coview.engines.reference import ReferenceEngine
from coview.engines.select import select_engine
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
    ("n_rows", "expected"), [(0, 8192), (100, 8192), (8192, 8192), (18_846, 9423), (24_576, 8192), (16_383, 16_383)]
)
def test_blocks_of_the_cpu_leave_no_small_rest(n_rows, expected):
    size = CpuEngine(1).block_rows(64, 4, n_rows, 1000.0)
    assert size == expected
    assert n_rows % size == 0 or n_rows < 8192
