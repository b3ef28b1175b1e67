"""The Dask engine: rows and their state live on the workers of a cluster, parameters go out, statistics come back.

Neighboring parts of the data (shards, chunks) form a group, about one for each thread of the workers. A group is loaded
by one worker, cut into blocks there and worked on with that worker's own engine: one task a sweep, which adds up the
statistics of all its blocks in one place. A sweep sends the shared parameters to all workers, adds the groups'
statistics up in a tree and brings a few sums home, past the scheduler where workers can be reached; row state stays
where it is.

A worker that is lost takes its parts' row state along. Dask makes it again, exactly, from its own graph: each state is
a future that depends on the one before and on the parameters of its sweep, and the scheduler remembers how released
results came about as long as something that depends on them is wanted. So everything that goes to the cluster is a
task, never scattered: scattered data that is lost cannot be made again. The scheduler keeps the parameters of each
sweep since the start.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from coview.engines.cpu import CpuEngine
from coview.engines.dask import work
from coview.engines.protocol import Extra, Gate, Holder, Steps, Tree, floating_type, row_bytes
from coview.exceptions import EngineError, MissingPackageError
from coview.views.lazy import LazyViews
from coview.views.sources import MemorySource

__all__ = ["DaskEngine", "DaskHolder", "default_client"]

_FAN_IN = 4  # statistics added up by one task
_PATIENCE = 600  # seconds to wait for a worker, which may have to be started elsewhere
_GLANCE = 15  # seconds between looks at a task that is waited for
_KNOCK = 5  # seconds in which a worker that can be reached answers

_own: dict[int, Any] = {}  # by process, since none survives a fork: the local cluster where there is no client
_starting = threading.Lock()


class DaskEngine(CpuEngine):
    """Fit on a Dask cluster, with the same result as on one machine up to rounding.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the current client, or starts a local cluster that lives as long as this process.
        Pickles leave it out.
    worker_engine : {"cpu", "cuda", "reference"}, default="cpu"
        What each worker computes its rows with.

    Examples
    --------
    >>> from coview import DaskEngine, PLSA
    >>> model = PLSA(8, engine=DaskEngine(worker_engine="cuda"))
    """

    name = "dask"

    def __init__(self, client: Any = None, worker_engine: str = "cpu") -> None:
        if worker_engine not in ("cpu", "cuda", "reference"):
            raise EngineError(f"worker_engine must be 'cpu', 'cuda' or 'reference', got {worker_engine!r}.")
        _load()
        super().__init__()  # what is small is done here; only a fit's rows are on the cluster
        self.client, self.worker_engine = client, worker_engine

    def __deepcopy__(self, memo: Any) -> DaskEngine:
        return self  # a client cannot be copied, and `clone` means this cluster

    def __copy__(self) -> DaskEngine:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # nor can it be pickled: the copy works on the cluster that is there when it is asked
        return type(self), (None, self.worker_engine)

    def make_holder(self, views: Any, width: int, extra: Extra, gate: Gate, most: int | None = None) -> DaskHolder:
        """Spread the rows over the workers."""
        client = self.client if self.client is not None else default_client()
        return DaskHolder(client, self, views, width, extra, gate, most)


def default_client() -> Any:
    """Return the current Dask client, or one of a local cluster that is started now and kept."""
    distributed = _load()
    try:
        return distributed.default_client()
    except ValueError:
        with _starting:
            client = _own.get(os.getpid())
            if client is None or client.status != "running":
                client = _own[os.getpid()] = _start_local_cluster(distributed)
            return client


def _start_local_cluster(distributed: Any) -> Any:
    # workers in this process: their kernels run without Python's lock, and a script needs no guard for them
    kept = {"worker_ttl": "3650 days"}  # without a sign of life, as while a laptop sleeps, none is taken for dead
    cluster = distributed.LocalCluster(
        threads_per_worker=1, processes=False, dashboard_address=None, scheduler_kwargs=kept
    )
    # what the caller computes with Dask besides goes on where it went before
    return distributed.Client(cluster, set_as_default=False)


def _load() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            "engine='dask' needs dask and distributed, which are not installed. Run: pip install \"coview[dask]\"."
        ) from None
    return distributed


class DaskHolder(Holder):
    """Rows of a fit that are on a cluster; a row state is a list of futures, one per group."""

    def __init__(
        self,
        client: Any,
        engine: DaskEngine,
        views: Any,
        width: int,
        extra: Extra,
        gate: Gate,
        most: int | None = None,
    ) -> None:
        self.client, self.ops, self.worker_engine = client, engine, engine.worker_engine
        self.sizes = width, floating_type(views).itemsize, row_bytes(views), most
        _wait_for_worker(client)
        threads = _count_threads(client)
        self.near = _is_near(client)
        if not isinstance(views, LazyViews):
            views = LazyViews.from_views(views, -(-len(views) // len(threads)))
        self.views, self.extra, self.gate = views, extra, gate
        ends = np.cumsum(views.lengths)
        self.cuts = [(int(end) - rows, int(end)) for end, rows in zip(ends, views.lengths)]
        self.groups = _neighbors(views.nbytes, len(threads))
        self.homes = [threads[g * len(threads) // len(self.groups)] for g in range(len(self.groups))]
        self.parts = [self._load_group(g) for g in range(len(self.groups))]

    @property
    def stops(self) -> list[int]:
        return [stop for _, stop in self.cuts]

    # -- what the loop asks

    def start(self, steps: Any, shared: Tree, seed: int, restart: int) -> list[Any]:
        more = {"shared": self._send(shared), "steps": steps, "seed": seed, "restart": restart}
        return self._finished(self._each(work.start, self.parts, engine=self.worker_engine, **more))

    def step(self, steps: Any, rows: list[Any], shared: Tree) -> tuple[list[Any], Tree]:
        done = self._pass(work.row_step, steps, rows, shared)
        states, stats = self._each(itemgetter(0), done), self._sum(self._each(itemgetter(1), done))
        return self._finished(states), stats

    def objective(self, steps: Steps, rows: list[Any], shared: Tree) -> float:
        return float(np.sum(self._gathered(self._pass(work.objective, steps, rows, shared))))

    def combine(self, function: Callable[..., Tree], *rows: list[Any]) -> list[Any]:
        return self._finished(self._each(work.combine_rows, *rows, function=function))

    def total(self, function: Callable[..., np.ndarray], *rows: list[Any]) -> np.ndarray:
        return np.sum(self._gathered(self._each(work.total, *rows, function=function)), axis=0)

    def pack(self, rows: list[Any], path: Path) -> Any:
        groups = self._gathered(self._each(work.to_host, rows, engine=self.worker_engine))
        return [part for group in groups for part in group]  # by part: the next cluster may have other groups

    def unpack(self, tree: Any, path: Path) -> list[Any]:
        groups = [[tree[i] for i in group] for group in self.groups]
        return self._finished(self._each(work.to_engine, groups, engine=self.worker_engine))

    def release(self) -> None:
        """Forget the data on the workers; row states stay until nobody asks for them."""
        self.parts = []

    def collect(self, rows: list[Any], name: str) -> Any:
        """Return a dask array over all rows: it stays on the cluster until it is computed.

        Of a cluster that was started here, which is in this process and nobody else's, an array in memory.
        """
        import dask
        import dask.array as da

        first = self._submit(0, work.get_shape, rows[0], name, self.worker_engine)
        ((shape, dtype),) = self._gathered([first])
        pick = dask.delayed(work.collect_rows)
        arrays = [
            da.from_delayed(pick(future, number, name, self.worker_engine), (self.views.lengths[i], *shape), dtype)
            for future, group in zip(rows, self.groups)
            for number, i in enumerate(group)
        ]
        whole = da.concatenate(arrays)
        return whole.compute(scheduler=self.client) if self.client is _own.get(os.getpid()) else whole

    # -- tasks

    def _submit(self, g: int, task: Callable[..., Any], /, *args: Any, **more: Any) -> Any:
        """Run something about group g, where that group is."""
        where = {"workers": [self.homes[g]], "allow_other_workers": True}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            return self.client.submit(task, *args, pure=False, **where, **more)

    def _each(self, task: Callable[..., Any], /, *columns: Sequence[Any], **more: Any) -> list[Any]:
        """Run something about every group: its entry in each of the columns, and what is the same for all."""
        return [self._submit(g, task, *entries, **more) for g, entries in enumerate(zip(*columns))]

    def _pass(self, task: Callable[..., Any], steps: Any, rows: list[Any], shared: Tree) -> list[Any]:
        more = {"shared": self._send(shared), "steps": steps, "engine": self.worker_engine}
        return self._each(task, self.parts, rows, **more)

    def _send(self, shared: Tree) -> Any:
        """Parameters as a task of their own: sent once, the workers get them from each other.

        Its future is released after the sweep; the scheduler remembers the task as long as row states depend on it.
        """
        return self._submit(0, work.same, shared)

    def _sum(self, parts: list[Any]) -> Tree:
        """Add up in a tree, always in the same order; the last few here, which saves workers one exchange."""
        while len(parts) > _FAN_IN:
            groups = [parts[i : i + _FAN_IN] for i in range(0, len(parts), _FAN_IN)]
            parts = [self.client.submit(work.add, *group, pure=False) for group in groups]
        return work.add(*self._gathered(parts, direct=self.near))

    def _gathered(self, futures: list[Any], direct: bool | None = None) -> list[Any]:
        """What tasks return, in this process; `direct`, from the workers themselves."""
        return self.client.gather(self._finished(futures), direct=direct)

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Wait for tasks; what went wrong in one is raised."""
        for future in futures:  # each asks its own client; distributed.wait asks the one that is the default
            while not future.done():  # a future whose worker was lost is not always told of its next result
                with suppress(TimeoutError):
                    future.exception(timeout=_GLANCE)
        for future in futures:
            if future.status != "finished":
                future.result()
        return futures

    def _load_group(self, g: int) -> Any:
        group = self.groups[g]
        offsets = [self.cuts[i][0] for i in group]
        extras = [
            {name: value if callable(value) else value[slice(*self.cuts[i])] for name, value in self.extra.items()}
            for i in group
        ]
        if self.views.is_dask:
            delayed = [self.views.delayed_parts()[i] for i in group]
            parts = self.client.compute(delayed, workers=[self.homes[g]], allow_other_workers=True)
        elif isinstance(self.views.source, MemorySource):
            parts = [self.views.part(i) for i in group]
        else:
            parts = work.PartsToRead(self.views, group)
        return self._submit(g, work.prepare, parts, offsets, extras, self.gate, self.worker_engine, *self.sizes)


def _wait_for_worker(client: Any) -> None:
    """Wait until the cluster has a worker, not for ever."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        address = client.scheduler.address
        raise EngineError(
            f"The Dask cluster at {address} had no worker for {_PATIENCE} seconds. Start workers "
            f"(dask worker {address}), or pass another client: engine=DaskEngine(client)."
        ) from None


def _is_near(client: Any) -> bool:
    """Tell whether this process can talk to the workers itself, so that what it asks for need not pass the scheduler.

    One worker of each machine is asked; who made the client may have said it before.
    """
    if client.direct_to_workers is not None:
        return bool(client.direct_to_workers)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    hosts = {worker["host"]: address for address, worker in workers.items()}

    async def knock(address: str) -> None:
        client.rpc.reuse(address, await asyncio.wait_for(client.rpc.connect(address), _KNOCK))

    async def knock_at_all() -> bool:
        answers = await asyncio.gather(*map(knock, hosts.values()), return_exceptions=True)
        return not any(isinstance(answer, BaseException) for answer in answers)

    return client.sync(knock_at_all)


def _count_threads(client: Any) -> list[str]:
    """Address of the worker of each thread of the cluster, those of one worker beside each other."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return [address for address in sorted(workers) for _ in range(workers[address]["nthreads"])]


def _neighbors(sizes: Sequence[int], count: int) -> list[range]:
    """Cut parts of these sizes into at most `count` runs of about the same size.

    Examples
    --------
    >>> _neighbors([5, 5, 5, 5, 1, 1, 9], 3)
    [range(0, 2), range(2, 5), range(5, 7)]
    >>> _neighbors([8, 1], 4)
    [range(0, 1), range(1, 2)]
    """
    ends = np.cumsum(np.maximum(sizes, 1), dtype=float)
    middles = ends - np.diff(ends, prepend=0.0) / 2
    runs = (middles * (count / ends[-1])).astype(int)
    edges = [0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(runs)]
    return [range(first, last) for first, last in itertools.pairwise(edges)]
