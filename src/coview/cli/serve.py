"""`coview serve`: a model for other programs, over HTTP; `coview explore`: the same with a page for people."""

from __future__ import annotations

import os
import secrets
import sys
import webbrowser
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import check_input, check_there, named_paths, split_columns, with_vectors
from coview.cli.labels import read_target
from coview.cli.options import By, Labels, Model, Objects
from coview.cli.taking import take_options
from coview.utils.messages import printable
from coview.utils.progress import progress

__all__ = ["explore", "serve"]

TOKEN = "COVIEW_TOKEN"  # environment variable that may hold the token
_SHORTEST_TOKEN = 8

Also = Annotated[list[Path] | None, typer.Option("--also", help="Another model of the same views; can be repeated.")]
Host = Annotated[str, typer.Option(help="Address to listen on; other than 127.0.0.1 needs a token.")]
Token = Annotated[
    str | None, typer.Option(envvar=TOKEN, show_envvar=True, help="Secret that clients must send as a bearer token.")
]


@take_options
def serve(
    *,
    model: Model,
    objects: Objects,
    also: Also = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    token: Token = None,
) -> None:
    """Answer /predict, /transform, /search and /info over HTTP from a model file, which is only read.

    /predict needs a model with classes, clusters or topics; /search needs a saved CrossModalRetriever, here or --also.
    """
    _check_web()
    _run(_load_service(model, objects, also), host, port, token)


@take_options
def explore(
    *,
    model: Model,
    objects: Objects,
    also: Also = None,
    labels: Labels = None,
    by: By = None,
    save_edits: Annotated[
        Path | None,
        typer.Option("--save-edits", help="Model file to save the model in, with the edits of its topics or clusters."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 0,
    token: Token = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Open a page to browse a model: topics, clusters, objects, search, and what to label next."""
    _check_web()
    if labels is not None and objects.data is None:
        raise ValueError("--labels requires the objects: coview explore model.coview DATA --labels ...")
    if by and objects.table is None:
        raise ValueError("--by names columns of a raw table: coview explore model.coview TABLE --by date,venue")
    service = _load_service(model, objects, also, labels, by)
    opens = browser and sys.stdin.isatty() and "COVIEW_NO_BROWSER" not in os.environ
    _run(service, host, port, token, opens=opens, seconds=120.0, page=True, save_edits=save_edits)


def _load_service(
    model: Path,
    objects: Objects,
    also: list[Path] | None,
    labels: str | None = None,
    by: list[str] | None = None,
) -> Any:
    """Service of a model file and objects, with the vectors that are given with their table."""
    check_there(model)
    if objects.view and objects.table is None:
        raise ValueError("--view requires a table: coview explore model.coview TABLE --view NAME=FILE.npy")
    if objects.given:
        check_input(objects)

    from coview.io.tables import read_header
    from coview.web.service import load_service

    read = None if labels is None else partial(read_target, labels)
    add = partial(with_vectors, views=named_paths(objects.view)) if objects.view else None
    known = [] if objects.table is None or not by else read_header(objects.table) or []
    columns = [name for each in by or [] for name in split_columns(each, known)]
    with progress("reading the model and its objects"):
        return load_service(model, objects.data, also or (), read, add, columns)


def _check_web() -> None:
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ValueError(f'This needs {" and ".join(missing)}. Run: pip install "coview[web]".')


def _run(service: Any, host: str, port: int, token: str | None, *, opens: bool = False, **settings: Any) -> None:
    from coview.web.api import is_loopback, make_app
    from coview.web.run import bound_socket, serve_app

    local = is_loopback(host)
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise ValueError(f"A token needs at least {_SHORTEST_TOKEN} characters, got {len(token)}.")
    if token is None and not local:
        token = secrets.token_urlsafe(24)
        print(f"Token (send it as 'Authorization: Bearer ...'): {token}", file=sys.stderr)
    app = make_app(service, token=token, local=local, **settings)
    opened = bound_socket(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{opened.getsockname()[1]}/"
    page = "page" in settings
    link = f"{address}#token={token}" if page and token is not None else address
    what = f"{'Exploring' if page else 'Serving'} {printable(service.title)}"
    print(f"{what} at {link}  (press Ctrl-C to stop)", file=sys.stderr, flush=True)
    try:
        serve_app(app, opened, partial(webbrowser.open, link) if opens else None)
    except KeyboardInterrupt:  # how it is meant to end
        print("Stopped.", file=sys.stderr)
