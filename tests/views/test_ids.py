"""What all views have in common: ids."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from coview import LazyViews, Views, read_views, write_views
from coview.exceptions import ViewsError

TEXT_IDS = {"list": ["gimp", "gparted"], "array": np.array(["gimp", "gparted"]), "index": pd.Index(["gimp", "gparted"])}


@pytest.mark.parametrize("ids", TEXT_IDS.values(), ids=TEXT_IDS)
def test_ids_that_are_texts_are_plain_str(ids, tmp_path):
    """Not numpy.str_, which shows as such and is no str for who looks at the type; files hold what they held."""
    X = Views(x=np.eye(2), ids=ids)
    write_views(X, tmp_path / "v", rows_per_shard=1)
    forms = [X, X[[1, 0]], X.select("x"), X.loc[["gparted"]], Views.concat([X, X]), pickle.loads(pickle.dumps(X))]
    forms += [Views.align({"x": (ids, np.eye(2))}), LazyViews.from_views(X, 1), read_views(tmp_path / "v")]
    for form in forms:
        assert {type(key) for key in form.ids} == {str}, form
    assert repr(X.ids[0]) == "'gimp'"
    assert np.load(tmp_path / "v" / "00000-ids.npy", allow_pickle=False).dtype.kind == "U"
    assert read_views(tmp_path / "v").collect() == X
    assert not X.ids.flags.writeable


def test_an_id_that_is_not_there_is_guessed():
    X = Views(x=np.eye(3), ids=["gimp", "gparted", "inkscape"])
    for meant in ("gpartd", "Gparted"):
        with pytest.raises(ViewsError, match=f"There is no object with the id '{meant}'. Did you mean 'gparted'"):
            X.loc[meant]
