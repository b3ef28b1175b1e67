"""Start the web service: in this process until Ctrl-C, or in a thread for as long as a block runs.

uvicorn reads HTTP, limits the number of connections, and ends those that are idle after an answer. What listens to more
than this machine belongs behind a proxy, which adds TLS, limits for each client and the size of headers.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

__all__ = ["bound_socket", "running", "serve_app"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [  # what a browser may do with an answer
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-cache"),  # ask each time whether a copy is still the same
]


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


def serve_app(app: Any, opened: socket.socket, on_start: Callable[[], object] | None = None) -> None:
    """Answer requests on a bound socket until Ctrl-C, and then those that have come; a second Ctrl-C leaves them."""
    sys.setswitchinterval(0.001)  # small requests get their turn five times as soon beside large ones
    _Server(_config(app), on_start).run(sockets=[opened])


@contextmanager
def running(app: Any, host: str = "127.0.0.1") -> Iterator[str]:
    """Run a service in a thread and give its address; it ends with the block."""
    opened, started = bound_socket(host, 0), threading.Event()
    server = _Server(_config(app), started.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        if not started.wait(20):
            raise RuntimeError("The web service did not start; see its log.")
        yield f"http://{host}:{opened.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=40)
        opened.close()


class _Server(uvicorn.Server):
    """A server that tells when it answers."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], object] | None) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_start is not None:
            self._on_start()


def _config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody asks who a client is
        headers=HEADERS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=30,
        limit_concurrency=1000,
        ws="none",
    )
