"""What a file states is refused where it is out of proportion to its size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coview import Views, write_views
from coview.exceptions import ViewsError
from coview.utils.limits import exceeds, text_array


def test_small_things_are_free_and_large_files_may_ask_for_more():
    assert not exceeds(2**26, 0) and exceeds(2**26 + 1, 0)
    assert not exceeds(200 * 10**8, 10**8) and exceeds(200 * 10**8 + 1, 10**8)


@pytest.mark.parametrize(
    "values", [["a", "bcd"], np.array(["a", "bcd"]), np.array(["a", "bcd"], dtype=object), [1, 2.5]]
)
def test_texts_become_the_array_that_numpy_makes(values):
    array = text_array(values, "ids")
    np.testing.assert_array_equal(array, np.asarray(list(values), dtype=str), strict=True)


def test_one_long_text_among_many_is_refused_before_it_costs_memory(tmp_path):
    texts = [f"r{i}" for i in range(10_000)]
    texts[7] = "x" * 150_000
    for make in (
        lambda: write_views(Views(x=np.ones((10_000, 1)), ids=texts), tmp_path / "v"),
        lambda: Views(x=np.ones((1, 10_000)), feature_names={"x": texts}),
        lambda: Views(x=pd.DataFrame(np.ones((1, 10_000)), columns=texts)),
    ):
        with pytest.raises(
            ViewsError, match=r"would take 6 GB of memory, because one of the 10000 has 150000 characters"
        ):
            make()
