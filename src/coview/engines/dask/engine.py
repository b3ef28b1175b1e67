"""The Dask engine: rows and their state live on the workers of a cluster, parameters go out, statistics come back.

Every part of the data (a shard, a chunk) is loaded by one worker, cut into blocks there and worked on with that
worker's own engine. A sweep sends the shared parameters to all workers, adds the parts' statistics up in a tree and
brings one sum home; row state stays where it is.

A worker that is lost takes its parts' row state along. It is made again, exactly: from the last copy (written every
`store_every` sweeps to `folder`, which all workers must see), or else from the start, by repeating the row steps with
the parameters of the sweeps since, which the client keeps on its disk. Parts on other workers are not touched.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from coview.engines.cpu import CpuEngine
from coview.engines.dask import work
from coview.engines.dask.recipes import Begin, Combined, Copy, Given, Recipe, Stepped, length
from coview.engines.disk import TreeStore
from coview.engines.protocol import Extra, Gate, Steps
from coview.engines.state import Tree
from coview.exceptions import EngineError
from coview.views import sources
from coview.views.lazy import LazyViews

__all__ = ["DaskEngine", "DaskHolder", "default_client"]

_FAN_IN = 4  # statistics added up by one task
_PATIENCE = 10  # times that a pass is tried again when workers are lost
_PAUSE = 0.3  # seconds before the next try, a little longer each time
_ALONE = 300  # seconds to wait for a worker when the last one is gone
_PARTS_PER_WORKER = 2  # of views that are in this process's memory

_own: list[Any] = []  # the local cluster that is started where there is no client


class DaskEngine:
    """Fit on a Dask cluster; the same model and result as on one machine, to rounding.

    Parameters
    ----------
    client : distributed.Client or None
        The cluster; None takes the current client, or starts a local cluster that lives as long as this process.
        Pickles leave it out.
    worker_engine : {"cpu", "cuda", "reference"}, default="cpu"
        What each worker computes its rows with.
    folder : path or None
        Folder that all workers see, for copies of the row state every `store_every` sweeps. Without one, lost rows are
        made again from the start of the fit.
    store_every : int, default=5
        Sweeps between two copies.
    """

    name = "dask"

    def __init__(
        self, client: Any = None, worker_engine: str = "cpu", folder: str | Path | None = None, store_every: int = 5
    ) -> None:
        if worker_engine not in ("cpu", "cuda", "reference"):
            raise EngineError(f"worker_engine must be 'cpu', 'cuda' or 'reference', got {worker_engine!r}.")
        if store_every < 1:
            raise EngineError(f"store_every must be at least 1, got {store_every}.")
        _load()
        self.client, self.worker_engine, self.folder, self.store_every = client, worker_engine, folder, store_every
        self.local = CpuEngine()

    def __getattr__(self, name: str) -> Any:
        # what is small is done here; only a fit's rows are on the cluster
        if name == "local":
            raise AttributeError(name)
        return getattr(self.local, name)

    def __deepcopy__(self, memo: Any) -> DaskEngine:
        return self  # a client cannot be copied, and `clone` means this cluster

    def __copy__(self) -> DaskEngine:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # nor can it be pickled: the copy works on the cluster that is there when it is asked
        return type(self), (None, self.worker_engine, self.folder, self.store_every)

    def hold(self, views: Any, width: int, extra: Extra, gate: Gate, row_bytes: float) -> DaskHolder:
        """SpreadRows the rows over the workers."""
        client = self.client if self.client is not None else default_client()
        return DaskHolder(client, self, views, width, extra, gate, row_bytes)


def default_client() -> Any:
    """Return the current Dask client, or one of a local cluster that is started now and kept."""
    distributed = _load()
    try:
        return distributed.default_client()
    except ValueError:
        if not _own:
            # workers in this process: their kernels run without Python's lock, and a script needs no guard for them
            cluster = distributed.LocalCluster(threads_per_worker=1, processes=False, dashboard_address=None)
            _own.append(distributed.Client(cluster))
        return _own[0]


def _load() -> Any:
    try:
        import distributed
    except ImportError:
        raise EngineError(
            "engine='dask' needs dask and distributed, which are not installed. Run: pip install \"coview[dask]\"."
        ) from None
    return distributed


@dataclass
class SpreadRows:
    """Row state on the cluster: one future per part, and how it came about."""

    futures: list[Any]
    recipe: Recipe


class DaskHolder:
    """Holds a fit whose rows are on a cluster."""

    def __init__(
        self, client: Any, engine: DaskEngine, views: Any, width: int, extra: Extra, gate: Gate, row_bytes: float
    ) -> None:
        self.client, self.engine, self.ops = client, engine, engine.local
        client.wait_for_workers(1)
        if not isinstance(views, LazyViews):
            rows = -(-len(views) // (_PARTS_PER_WORKER * len(self._workers())))
            views = LazyViews.from_views(views, rows)
        self.views, self.width, self.extra, self.gate, self.row_bytes = views, width, extra, gate, row_bytes
        ends = np.cumsum(views.lengths)
        self.cuts = [(int(end) - rows, int(end)) for end, rows in zip(ends, views.lengths)]
        self.store = TreeStore()
        self.name, self.copies = uuid.uuid4().hex[:12], itertools.count()
        self.steps: Any = None  # of the model; known from the first pass on
        self.homes: list[str] = [""] * len(self.cuts)
        self.parts: list[Any] = [None] * len(self.cuts)
        self._load_parts(range(len(self.cuts)))

    @property
    def stops(self) -> list[int]:
        return [stop for _, stop in self.cuts]

    # -- what the loop asks

    def start(self, steps: Steps, shared: Tree, seed: int, restart: int) -> SpreadRows:
        self.steps = steps
        rows = SpreadRows([None] * len(self.parts), Begin(self.store.put(shared), seed, restart))
        self._insist([rows], lambda: None)
        return rows

    def step(self, steps: Steps, rows: SpreadRows, shared: Tree) -> tuple[SpreadRows, Tree]:
        self.steps = steps

        def attempt() -> tuple[list[Any], Tree]:
            sent = self._send(shared)
            done = self._each(work.row_step, rows, sent, steps, self.engine.worker_engine)
            new = [self._submit(i, itemgetter(0), pair) for i, pair in enumerate(done)]
            stats = self._sum([self._submit(i, itemgetter(1), pair) for i, pair in enumerate(done)])
            _finish(new)
            return new, stats

        new, stats = self._insist([rows], attempt)
        return self._maybe_copied(SpreadRows(new, Stepped(rows.recipe, self.store.put(shared)))), stats

    def objective(self, steps: Steps, rows: SpreadRows, shared: Tree) -> float:
        self.steps = steps

        def attempt() -> float:
            parts = self._each(work.objective, rows, self._send(shared), steps, self.engine.worker_engine)
            return float(np.sum(self.client.gather(parts)))

        return self._insist([rows], attempt)

    def combine(self, function: Callable[..., Tree], *rows: SpreadRows) -> SpreadRows:
        def attempt() -> list[Any]:
            new = [
                self._submit(i, work.combine, function, *states)
                for i, states in enumerate(zip(*(part.futures for part in rows)))
            ]
            _finish(new)
            return new

        new = self._insist(list(rows), attempt)
        return self._maybe_copied(SpreadRows(new, Combined(function, tuple(part.recipe for part in rows))), now=True)

    def total(self, function: Callable[..., np.ndarray], *rows: SpreadRows) -> np.ndarray:
        def attempt() -> np.ndarray:
            parts = [
                self._submit(i, work.total, function, *states)
                for i, states in enumerate(zip(*(part.futures for part in rows)))
            ]
            return np.sum(self.client.gather(parts), axis=0)

        return self._insist(list(rows), attempt)

    def pack(self, rows: SpreadRows, path: Path) -> Any:
        def attempt() -> Any:
            names = self.engine.worker_engine
            return self.client.gather([self._submit(i, work.to_host, f, names) for i, f in enumerate(rows.futures)])

        return self._insist([rows], attempt)

    def unpack(self, tree: Any, path: Path) -> SpreadRows:
        given = Given(tuple(self.store.put({"blocks": part}) for part in tree))
        rows = SpreadRows([None] * len(self.parts), given)
        self._insist([rows], lambda: None)
        return rows

    def release(self) -> None:
        """Forget the data on the workers; row states stay until nobody asks for them."""
        self.parts = []

    def collect(self, rows: SpreadRows, name: str) -> Any:
        """Return a dask array over all rows: it stays on the cluster until it is computed."""
        import dask
        import dask.array as da

        engine = self.engine.worker_engine
        shape, dtype = self.client.submit(work.shape_of, rows.futures[0], name, engine, pure=False).result()
        pick = dask.delayed(work.pick)
        arrays = [
            da.from_delayed(pick(future, name, engine), (stop - start, *shape), dtype=dtype)
            for future, (start, stop) in zip(rows.futures, self.cuts)
        ]
        return da.concatenate(arrays)

    # -- passes

    def _submit(self, i: int, function: Callable[..., Any], *args: Any) -> Any:
        """Run something about part i, where that part is."""
        return self.client.submit(function, *args, pure=False, workers=[self.homes[i]], allow_other_workers=True)

    def _each(self, function: Callable[..., Any], rows: SpreadRows, *args: Any) -> list[Any]:
        return [
            self._submit(i, function, part, state, *args)
            for i, (part, state) in enumerate(zip(self.parts, rows.futures))
        ]

    def _send(self, shared: Tree) -> Any:
        # to one worker; the others get it from each other, which survives the loss of one where a broadcast would wait
        # for it. In a list: of a dict, every value would be sent under its own key, the same in every sweep.
        return self.client.scatter([shared], hash=False)[0]

    def _sum(self, parts: list[Any]) -> Tree:
        """Add up in a tree, always in the same order."""
        while len(parts) > 1:
            groups = [parts[i : i + _FAN_IN] for i in range(0, len(parts), _FAN_IN)]
            parts = [self.client.submit(work.added, *group, pure=False) for group in groups]
        return parts[0].result()

    # -- data, and what is lost

    def _workers(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"]) or [""]

    def _load_parts(self, which: Any) -> None:
        workers = self._workers()
        for number, i in enumerate(which):
            self.homes[i] = workers[number % len(workers)]
            self.parts[i] = self._load_part(i)

    def _load_part(self, i: int) -> Any:
        start, stop = self.cuts[i]
        carried = {name: value if callable(value) else value[start:stop] for name, value in self.extra.items()}
        if self.views.is_dask:
            part = self.client.compute(self.views.delayed_parts()[i], workers=[self.homes[i]], allow_other_workers=True)
        elif isinstance(self.views.source, sources.MemorySource):
            part = self.client.scatter([self.views.part(i)], workers=[self.homes[i]], hash=False)[0]
        else:
            part = self._submit(i, work.read_part, self.views, i)
        engine = self.engine.worker_engine
        return self._submit(i, work.prepare, part, start, carried, self.gate, engine, self.width, self.row_bytes)

    def _insist(self, states: list[SpreadRows], attempt: Callable[[], Any]) -> Any:
        """Do a pass; where workers were lost, make again what they held and do it once more."""
        lost = _lost_errors()
        for trial in range(_PATIENCE):
            try:
                self._mend(states)
                return attempt()
            except lost:
                time.sleep(_PAUSE * (trial + 1))  # the scheduler needs a moment to notice, a new worker to come
                self.client.wait_for_workers(1, timeout=_ALONE)
        raise EngineError(f"Workers were lost {_PATIENCE} times in one pass over the rows; the cluster is not stable.")

    def _mend(self, states: list[SpreadRows]) -> None:
        """Make again what is nowhere on the cluster any more, data first."""
        futures = [*self.parts, *(future for state in states for future in state.futures if future is not None)]
        done = [future for future in futures if future.status == "finished"]
        holders = self.client.who_has(done) if done else {}
        here = {key for key, workers in holders.items() if workers}
        for part in self.parts:
            if part.status == "error" and not isinstance(part.exception(), _lost_errors()):
                part.result()  # bad data: said in the reader's own words
        self._load_parts([i for i, part in enumerate(self.parts) if part.status != "pending" and part.key not in here])
        for state in states:
            sent: dict[int, Any] = {}
            again = [i for i, future in enumerate(state.futures) if future is None or future.key not in here]
            for i in again:
                state.futures[i] = self._made(state.recipe, i, sent, {})
            _finish([state.futures[i] for i in again])

    def _made(self, recipe: Recipe, i: int, sent: dict[int, Any], made: dict[int, Any]) -> Any:
        """Row state of part i by its recipe; what was sent or made on the way is not sent or made again."""
        chain: list[Stepped] = []
        while isinstance(recipe, Stepped) and id(recipe) not in made:
            chain.append(recipe)
            recipe = recipe.before
        engine = self.engine.worker_engine

        def parameters(stored: Any) -> Any:
            if id(stored) not in sent:
                sent[id(stored)] = self._send(stored.get())
            return sent[id(stored)]

        if id(recipe) in made:
            state = made[id(recipe)]
        elif isinstance(recipe, Begin):
            shared = parameters(recipe.shared)
            state = self._submit(i, work.start, self.parts[i], shared, self.steps, recipe.seed, recipe.restart, engine)
        elif isinstance(recipe, Copy):
            state = self._submit(i, work.read_copy, recipe.paths[i], engine)
        elif isinstance(recipe, Given):
            state = self._submit(i, work.to_engine, recipe.parts[i].get()["blocks"], engine)
        else:
            before = [self._made(part, i, sent, made) for part in recipe.before]  # type: ignore[union-attr]
            state = self._submit(i, work.combine, recipe.function, *before)  # type: ignore[union-attr]
        made[id(recipe)] = state
        for step in reversed(chain):
            shared = parameters(step.shared)
            state = self._submit(i, work.row_state, self.parts[i], state, shared, self.steps, engine)
            made[id(step)] = state
        return state

    def _maybe_copied(self, rows: SpreadRows, *, now: bool = False) -> SpreadRows:
        """Have the workers write a copy, if there is a folder and it is time."""
        if self.engine.folder is None or not (now or length(rows.recipe) >= self.engine.store_every):
            return rows
        stem = Path(self.engine.folder).resolve() / f"{self.name}-{next(self.copies)}"
        copy = Copy([f"{stem}-{i}.rows" for i in range(len(self.parts))])

        def attempt() -> None:
            names = self.engine.worker_engine
            _finish([self._submit(i, work.write_copy, f, copy.paths[i], names) for i, f in enumerate(rows.futures)])

        self._insist([rows], attempt)
        return SpreadRows(rows.futures, copy)


def _finish(futures: list[Any]) -> None:
    """Wait for tasks; what went wrong in one is raised."""
    from distributed import wait

    wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()


def _lost_errors() -> tuple[type[BaseException], ...]:
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    return (KilledWorker, CancelledError, CommClosedError)
