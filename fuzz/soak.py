"""The HTTP service for half an hour among clients that do harm: `python -m fuzz.soak --minutes 30`.

64 good clients ask small questions and compare each answer with the first one of its kind. Around them others never
read a large answer, send bodies of the largest size and beyond, ask for the largest answers, and go away in the middle.
None of the good answers may be lost, late or wrong, and memory must stay flat: what the server holds at the end is
about what it held in the middle. Prints requests, losses, and memory at start, middle and end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx

GOOD = 64
BAD = {"never_reads": 8, "huge_body": 6, "large_answer": 4, "goes_away": 6}
PATIENCE = 30.0  # seconds for a good answer
MEGABYTE = 2**20
QUESTIONS: list[tuple[str, str, Any]] = [
    ("GET", "/health", None),
    ("GET", "/search?q=wordaa&source=words&k=5", None),
    ("POST", "/search", {"query": "wordba wordca", "k": 3}),
    ("POST", "/predict", {"rows": {"words": ["wordaa", "wordca wordda"]}}),
    ("POST", "/transform", {"rows": {"image": [{"f1": 1}, {"f3": 2}]}}),
]
# an answer of some 450,000 values, ten megabytes
LARGE = {"rows": {"words": ["wordaa wordba"] * 10_000, "image": [{"f1": 1}] * 10_000}, "top": 3, "by_view": True}


def main(minutes: float = 30.0, seed: int = 0) -> dict[str, Any]:
    """Run the soak and return its figures."""
    command = [sys.executable, "-m", "fuzz.soak", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            return asyncio.run(_soak(server.pid, port, 60 * minutes, seed))
        finally:
            server.terminate()


async def _soak(pid: int, port: int, seconds: float, seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    losses: list[str] = []
    slowest = 0.0
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, limits=httpx.Limits(max_connections=GOOD)) as client:
        expected = [(await _asked(client, question)).content for question in QUESTIONS]
        until = time.monotonic() + seconds

        async def good(own: random.Random) -> None:
            nonlocal slowest
            while time.monotonic() < until:
                which = own.randrange(len(QUESTIONS))
                clock = time.monotonic()
                try:
                    answer = await _asked(client, QUESTIONS[which])
                    if answer.status_code != 200 or answer.content != expected[which]:
                        losses.append(f"{QUESTIONS[which][1]}: status {answer.status_code}: {answer.text[:200]}")
                except httpx.HTTPError as error:
                    losses.append(f"{QUESTIONS[which][1]}: {type(error).__name__} {error}")
                slowest = max(slowest, time.monotonic() - clock)
                counts["good"] += 1
                await asyncio.sleep(own.uniform(0.05, 0.4))

        async def bad(kind: str, own: random.Random) -> None:
            while time.monotonic() < until:
                try:
                    async with asyncio.timeout(60):
                        await _HARM[kind](port, own)
                except (OSError, TimeoutError, asyncio.IncompleteReadError):  # as it should be
                    pass
                counts[kind] += 1
                await asyncio.sleep(own.uniform(0.0, 0.5))

        memory: list[float] = []

        async def watch() -> None:
            while time.monotonic() < until:
                memory.append(resident(pid))
                await asyncio.sleep(0.5)

        work: list[Coroutine[Any, Any, None]] = [good(random.Random(rng.random())) for _ in range(GOOD)]
        work += [bad(kind, random.Random(rng.random())) for kind, number in BAD.items() for _ in range(number)]
        await asyncio.gather(watch(), *work)
    return {"requests": dict(counts), "losses": losses, "slowest": slowest, "memory": memory}


async def _asked(client: httpx.AsyncClient, question: tuple[str, str, Any]) -> httpx.Response:
    method, path, body = question
    return await client.request(method, path, json=body) if body is not None else await client.request(method, path)


# -- clients that do harm


async def _never_reads(port: int, rng: random.Random) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1000)
    try:
        body = json.dumps(LARGE).encode()
        writer.write(_header("/predict", len(body)) + body)
        await reader.read(100)
        await asyncio.sleep(rng.uniform(5, 45))
    finally:
        writer.transport.abort()


async def _huge_body(port: int, rng: random.Random) -> None:
    size = rng.choice([8 * MEGABYTE, 8 * MEGABYTE, 9 * MEGABYTE])
    body = rng.choice(
        [
            b'{"rows":{"words":["' + b"wordaa " * (size // 7),
            b'{"rows":{"words":[' + b"[]," * (size // 3),
            b'{"rows":' + b"[" * size,
            b'{"rows":{"words":[' + b'"wordaa",' * (size // 9),
        ]
    )
    ends = rng.choice([b"", b'"]}}', b"[]]}}", b'"x"]}}'])
    content = (body[: size - len(ends)] + ends).ljust(size)
    await _read_all(port, _header("/predict", size) + content)


async def _large_answer(port: int, rng: random.Random) -> None:
    body = json.dumps(LARGE).encode()
    await _read_all(port, _header("/predict", len(body)) + body)


async def _goes_away(port: int, rng: random.Random) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(LARGE).encode()
    writer.write(_header("/predict", len(body)) + body)
    await asyncio.sleep(rng.uniform(0, 2))
    writer.transport.abort()


def _header(path: str, size: int) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {size}"]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


async def _read_all(port: int, content: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(content.replace(b"Host:", b"Connection: close\r\nHost:", 1))
        while await reader.read(MEGABYTE):
            pass
    finally:
        writer.transport.abort()


_HARM: dict[str, Callable[[int, random.Random], Coroutine[Any, Any, None]]] = {
    "never_reads": _never_reads,
    "huge_body": _huge_body,
    "large_answer": _large_answer,
    "goes_away": _goes_away,
}


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds; on Linux."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def is_flat(memory: list[float]) -> bool:
    """Whether the last quarter needs at most a tenth and 20 MB more than the second one."""
    quarter = max(len(memory) // 4, 1)
    return max(memory[-quarter:]) <= 1.1 * max(memory[quarter : 2 * quarter]) + 20


def serve() -> None:
    """Serve a small retriever on a free port, which is printed."""
    from coview.web.api import make_app
    from coview.web.run import bound_socket, serve_app
    from fuzz.http import small_service

    opened = bound_socket("127.0.0.1", 0)
    port = opened.getsockname()[1]
    serve_app(make_app(small_service()), opened, lambda: print(port, flush=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("MINUTES", 30)))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help="be the server")
    options = parser.parse_args()
    if options.serve:
        serve()
        sys.exit()
    figures = main(options.minutes, options.seed)
    used = figures["memory"]
    total = sum(figures["requests"].values())
    print(f"{total:,} requests: {figures['requests']}")
    print(f"{len(figures['losses'])} of the good ones lost; the slowest took {figures['slowest']:.2f} s")
    print(*figures["losses"][:10], sep="\n")
    start, middle, end = used[0], used[len(used) // 2], used[-1]
    print(f"memory: start {start:.0f} MB, middle {middle:.0f} MB, end {end:.0f} MB, most {max(used):.0f} MB")
    if not is_flat(used):
        print("memory is not flat")
    sys.exit(bool(figures["losses"]) or not is_flat(used))
