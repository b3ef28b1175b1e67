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
    ("n_rows", "columns", "row_bytes", "expected"),
    [
        (0, 64, 1000.0, 32_768),
        (18_846, 64, 1000.0, 32_768),
        (65_535, 64, 1000.0, 65_535),  # a small rest is shared out
        (100_000, 64, 1000.0, 33_334),
        (65_536, 256, 1000.0, 16_384),  # 16 MB of the row factor
        (65_536, 4096, 1000.0, 8192),
        (65_536, 64, 4096.0, 16_384),  # 64 MB of data
        (65_536, 64, 1e6, 8192),
    ],
)
def test_blocks_of_the_cpu_fit_its_caches_and_leave_no_small_rest(n_rows, columns, row_bytes, expected):
    size = CpuEngine(1).block_rows(columns, 4, n_rows, row_bytes)
    assert size == expected
    assert n_rows <= size or -n_rows % size < size / 2
