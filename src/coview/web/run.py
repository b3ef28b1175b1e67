"""Start the web service: in this process until Ctrl-C, or in a thread for as long as a block runs."""

from __future__ import annotations

import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn

from coview.web.connections import TimedProtocol
from coview.web.guard import Guard

__all__ = ["bound_socket", "running", "serve_app"]


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound already, so that its port is known (0 takes a free one) and nobody else's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named, since asyncio sends small answers at once (TCP_NODELAY) only where the protocol says TCP
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise OSError(f"Cannot listen on {host} port {port}: {error.strerror}. Choose another host or port.") from error
    return opened


def serve_app(app: Guard, opened: socket.socket, on_start: Callable[[], object] | None = None) -> None:
    """Answer requests on a bound socket until Ctrl-C, and then those that have come; a second Ctrl-C leaves them."""
    server = _server(app)
    sys.setswitchinterval(0.001)  # small requests get their turn five times as soon beside large ones
    if on_start is not None:
        threading.Thread(target=_when_started, args=(server, on_start), daemon=True).start()
    server.run(sockets=[opened])


@contextmanager
def running(app: Guard, host: str = "127.0.0.1") -> Iterator[str]:
    """Run a service in a thread and give its address; it ends with the block."""
    opened = bound_socket(host, 0)
    server = _server(app)
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        _wait(server, thread)
        yield f"http://{host}:{opened.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=app.limits.seconds + 10)
        opened.close()


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.tasks:
            print("Answering the last requests (press Ctrl-C again to stop at once) ...", file=sys.stderr)
        await super().shutdown(sockets)


def _server(app: Guard) -> Any:
    protocol: Any = partial(TimedProtocol, limits=app.limits)
    config = uvicorn.Config(
        app,
        http=protocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody asks who a client is
        timeout_keep_alive=15,
        timeout_graceful_shutdown=math.ceil(app.limits.seconds) + 1,  # whatever has come is answered
        limit_concurrency=1000,
        backlog=1024,
        ws="none",
    )
    return _Server(config)


def _wait(server: Any, thread: threading.Thread) -> None:
    deadline = time.monotonic() + 20
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("The web service did not start; see its log.")
        time.sleep(0.01)


def _when_started(server: Any, call: Callable[[], object]) -> None:
    while not server.started and not server.should_exit:
        time.sleep(0.02)
    if server.started:
        call()
