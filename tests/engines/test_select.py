"""Engines by name or as objects."""

import pytest

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
