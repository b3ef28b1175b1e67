"""The cluster that the engine starts where there is none: kept for the next fit, and nobody else's."""

import pytest

dask = pytest.importorskip("dask", reason="dask is not installed: the Dask engine is not checked")
distributed = pytest.importorskip("distributed", reason="distributed is not installed: the Dask engine is not checked")

from coview import PLSA  # noqa: E402
from coview.datasets import make_topic_views  # noqa: E402
from coview.engines.dask.engine import default_client  # noqa: E402

X = make_topic_views(n_objects=60, random_state=0).views


def test_a_fit_leaves_the_scheduler_of_dask_as_it_was():
    before = dask.config.get("scheduler", None)
    PLSA(2, max_iter=2, engine="dask").fit(X)
    assert dask.config.get("scheduler", None) == before
    with pytest.raises(ValueError, match="No client"):
        distributed.default_client()


def test_the_cluster_is_kept_and_started_anew_when_it_was_closed():
    first = default_client()
    assert default_client() is first
    first.cluster.close()
    first.close()
    second = default_client()
    assert second is not first
    assert second.submit(sum, [1, 2]).result() == 3
