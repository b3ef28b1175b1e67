"""The cluster that the engine starts where there is none: kept for the next fit, and nobody else's."""

import subprocess
import sys

import pytest

pytest.importorskip("distributed", reason="distributed is not installed: the Dask engine is not checked")

ALONE = """
import dask, distributed
from concurrent.futures import ThreadPoolExecutor
from coview import PLSA
from coview.datasets import make_topic_views
from coview.engines.dask.engine import DaskEngine, default_client
from coview.exceptions import EngineError
import coview.engines.dask.engine as engine

X = make_topic_views(n_objects=60, random_state=0).views
fitted = PLSA(2, max_iter=2, engine="dask").fit(X)
print("in memory", type(fitted.memberships_).__name__, fitted.memberships_.shape)
print("scheduler", dask.config.get("scheduler", None))
try:
    distributed.default_client()
except ValueError:
    print("no default")

first = default_client()
print("kept", default_client() is first)
print("never taken for dead", first.cluster.scheduler.worker_ttl > 1e8)
with ThreadPoolExecutor(3) as threads:
    same = list(threads.map(lambda _: default_client(), range(3)))
print("one for all threads", all(client is first for client in same))
first.cluster.close()
first.close()
with ThreadPoolExecutor(3) as threads:
    second, *others = threads.map(lambda _: default_client(), range(3))
print("anew", second is not first, all(client is second for client in others), second.submit(sum, [1, 2]).result())

engine._PATIENCE = 0.2
with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
    with distributed.Client(cluster, set_as_default=False) as client:
        try:
            PLSA(2, engine=DaskEngine(client)).fit(X)
        except EngineError as error:
            print(str(error).replace(client.scheduler.address, "ADDRESS"))
"""


def test_the_local_cluster_is_kept_renewed_and_nobodys_default():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines() == [
        *("in memory ndarray (60, 2)", "scheduler None", "no default", "kept True", "never taken for dead True"),
        *("one for all threads True", "anew True True 3"),
        "The Dask cluster at ADDRESS had no worker for 0.2 seconds. Start workers (dask worker ADDRESS), or pass "
        "another client: engine=DaskEngine(client).",
    ]
