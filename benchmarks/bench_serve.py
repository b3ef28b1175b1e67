"""`/search` over HTTP: 64 clients, 100,000 indexed objects, with and without micro-batching.

python benchmarks/bench_serve.py [--quick]

The clients run on the same machine as the service, so that both share its cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from common import write
from scipy import sparse

CLIENTS, DIMENSIONS, FEATURES, SUBJECTS = 64, 100, 20_000, 200
TAUGHT = 5_000  # objects that the model learns from; the others are only indexed
RATES = (200.0, 500.0)


def corpus(n: int, seed: int) -> Any:
    """Two views of objects of a subject each: half of the features by Zipf's law, half of the subject."""
    from coview import Views

    rng = np.random.default_rng(seed)
    zipf = np.cumsum(1.0 / np.arange(1, FEATURES + 1))
    zipf /= zipf[-1]
    own = np.random.default_rng(1).integers(0, FEATURES, size=(2, SUBJECTS, 100))
    subject = rng.integers(0, SUBJECTS, n)
    found = {}
    for v, (name, length) in enumerate((("words", 40), ("code", 30))):
        rows = np.repeat(np.arange(n), length)
        frequent = np.searchsorted(zipf, rng.random(n * length))
        special = own[v][np.repeat(subject, length), rng.integers(0, 100, n * length)]
        columns = np.where(rng.random(n * length) < 0.5, frequent, special)
        ones = np.ones(len(rows), dtype=np.float32)
        found[name] = sparse.csr_array((ones, (rows, columns)), shape=(n, FEATURES))
        found[name].sum_duplicates()
    names = {name: [f"{name[0]}{j}" for j in range(FEATURES)] for name in found}
    return Views(found, feature_names=names)


def serve(n: int, together: int) -> None:
    """Index the objects and answer until the parent ends this process."""
    from coview import CrossModalRetriever, MultiViewCCA
    from coview.web.api import make_app
    from coview.web.run import bound_socket, serve_app
    from coview.web.service import Service

    retriever = CrossModalRetriever(MultiViewCCA(DIMENSIONS, rank=150, random_state=0))
    retriever.fit(corpus(TAUGHT, 0))
    for start in range(TAUGHT, n, 5_000):
        retriever.add(corpus(min(5_000, n - start), start))
    opened = bound_socket("127.0.0.1", 0)
    port = opened.getsockname()[1]
    app = make_app(Service(retriever), together=together)
    serve_app(app, opened, lambda: print(f"PORT {port} {len(retriever.indexed_ids())}", flush=True))


# -- clients


def requests(port: int, n: int) -> list[bytes]:
    """Different queries of eight words each, as HTTP."""
    words = corpus(n, 99)["words"]
    made = []
    for i in range(n):
        columns = words.indices[words.indptr[i] : words.indptr[i + 1]][:8]
        query = " ".join(f"w{j}" for j in columns)
        body = json.dumps({"query": query, "source": "words", "target": "code", "k": 10}).encode()
        head = f"POST /search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        made.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return made


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bool:
    """Send one request; tell whether ten hits came back."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    body = await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and body.count(b'"score"') == 10


async def client(
    port: int, asked: list[bytes], first: int, until: float, rate: float | None
) -> tuple[list[float], int]:
    """Ask until the time is over, one after the other, or at fixed times; latencies count from when it was due."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken: list[float] = []
    lost, due, i = 0, time.perf_counter() + (first / CLIENTS) * (CLIENTS / rate if rate else 0), first
    while due < until:
        if rate:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        else:
            due = time.perf_counter()
        try:
            lost += not await ask(reader, writer, asked[i % len(asked)])
        except (OSError, asyncio.IncompleteReadError):
            lost += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        taken.append(time.perf_counter() - due)
        due += CLIENTS / rate if rate else 0.0
        i += CLIENTS
        if not rate and time.perf_counter() >= until:
            break
    writer.close()
    return taken, lost


def load(port: int, asked: list[bytes], seconds: float, rate: float | None) -> dict[str, float]:
    """Put 64 clients to work and return what they saw."""

    async def main() -> list[tuple[list[float], int]]:
        until = time.perf_counter() + seconds
        return await asyncio.gather(*(client(port, asked, i, until, rate) for i in range(CLIENTS)))

    begun = time.perf_counter()
    found = asyncio.run(main())
    elapsed = time.perf_counter() - begun
    taken = np.array([one for part, _ in found for one in part])
    return {
        "requests": len(taken),
        "rate": len(taken) / elapsed,
        "p50": 1000 * float(np.percentile(taken, 50)),
        "p99": 1000 * float(np.percentile(taken, 99)),
        "lost": sum(lost for _, lost in found),
    }


def processor_seconds(pid: int) -> float:
    """Time that a process has had on all cores (Linux): what a request costs, whatever else the machine does."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(n: int, together: int, seconds: float, rates: tuple[float | None, ...]) -> list[dict[str, float]]:
    """Start a service of its own and put it under each load."""
    env = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    command = [sys.executable, __file__, "serve", str(n), str(together)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().split()
        if line[:1] != ["PORT"] or int(line[2]) != n:
            raise RuntimeError("The service did not start.")
        port = int(line[1])
        asked = requests(port, 2_000)
        load(port, asked, 2.0, 100.0)  # warm
        found = []
        for rate in rates:
            before, own = processor_seconds(process.pid), time.process_time()
            one = load(port, asked, seconds, rate)
            one["cost"] = 1000 * (processor_seconds(process.pid) - before) / one["requests"]
            one["clients"] = 1000 * (time.process_time() - own) / one["requests"]
            found.append(one)
        return found
    finally:
        process.terminate()
        process.wait(timeout=20)


def main(quick: bool) -> None:
    busy = os.getloadavg()[0]
    n, seconds = (10_000, 3.0) if quick else (100_000, 10.0)
    batched = measure(n, 4096, seconds, (*RATES, None))
    alone = measure(n, 1, seconds, (RATES[0], None))
    labels = [(True, f"{rate:g} a second offered") for rate in RATES] + [(True, "as fast as answers come")]
    labels += [(False, f"{RATES[0]:g} a second offered"), (False, "as fast as answers come")]
    rows = [
        [
            "micro-batched" if together else "one call a request",
            what,
            round(one["rate"]),
            round(one["p50"], 1),
            round(one["p99"], 1),
            round(one["cost"], 2),
            round(one["clients"], 2),
            one["lost"],
            one["requests"],
        ]
        for (together, what), one in zip(labels, [*batched, *alone])
    ]
    after = os.getloadavg()[0]
    fast = [name for name in ("uvloop", "httptools") if find_spec(name)]
    notes = [
        f"{n} objects, {DIMENSIONS} dimensions, exact index; queries of 8 words in a view of {FEATURES} features, the "
        f"10 best of the other view. {CLIENTS} clients with a connection each, {seconds:g} seconds each.",
        "The clients are one process on the same machine: service and clients share its cores. Latencies of offered "
        "loads count from when a request was due, so that a slow answer counts against those behind it.",
        f"Load average of the machine before: {busy:.1f}, after: {after:.1f}, of {os.cpu_count()} cores. What else "
        "runs on them takes from the rates and adds to the latencies.",
        "The service has one thread for the model (BLAS too) and one for HTTP.",
        f"uvicorn with {' and '.join(fast) or 'neither uvloop nor httptools'}.",
    ]
    head = [
        "service",
        "load of 64 clients",
        "requests a second",
        "p50, ms",
        "p99, ms",
        "service CPU ms a request",
        "clients' CPU ms a request",
        "lost",
        "requests",
    ]
    write("serve_quick" if quick else "serve", "Search over HTTP", head, rows, notes)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "serve":
        serve(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main("--quick" in sys.argv)
