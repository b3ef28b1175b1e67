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

from coview.cli.files import check_input, named_paths, read_target, split_columns, with_vectors
from coview.cli.options import Objects
from coview.utils.messages import printable
from coview.utils.progress import progress

__all__ = ["explore", "serve"]

TOKEN = "COVIEW_TOKEN"  # environment variable that may hold the token
_SHORTEST_TOKEN = 8

Data = Annotated[Path | None, typer.Argument(help="Objects to show and search: views, or a raw table.")]
Vectors = Annotated[
    list[str] | None,
    typer.Option(
        "--view", help="Vectors of the rows of a table, as in coview fit: meaning=meaning.npy; can be repeated."
    ),
]
Also = Annotated[list[Path] | None, typer.Option("--also", help="Another model of the same views; can be repeated.")]
Host = Annotated[str, typer.Option(help="Address to listen on; other than 127.0.0.1 needs a token.")]
Token = Annotated[
    str | None, typer.Option(envvar=TOKEN, show_envvar=True, help="Secret that clients must send as a bearer token.")
]
MostMegabytes = Annotated[float, typer.Option("--max-megabytes", min=0.001, help="Largest request, in megabytes.")]
Seconds = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds after which a request is abandoned.")]


def serve(
    model: Annotated[Path, typer.Argument(help="A model file that coview.save wrote.")],
    data: Data = None,
    view: Vectors = None,
    also: Also = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    token: Token = None,
    megabytes: MostMegabytes = 8.0,
    timeout: Seconds = 30.0,
    wait: Annotated[
        float, typer.Option(min=0, help="Milliseconds to wait for requests that can be answered together.")
    ] = 2.0,
) -> None:
    """Answer /predict, /transform, /search and /info over HTTP from a model file, which is only read.

    /predict needs a model with classes, clusters or topics; /search needs a saved CrossModalRetriever, here or --also.
    """
    _check_web()
    _run(
        _loaded("serve", model, data, view, also),
        host,
        port,
        token,
        {"most_bytes": int(megabytes * 2**20), "seconds": timeout},
        wait,
        page=False,
        browser=False,
    )


def explore(
    model: Annotated[Path | None, typer.Argument(help="A model file that coview.save wrote.")] = None,
    data: Data = None,
    view: Vectors = None,
    also: Also = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="Labels, as in coview fit: for a classifier those of the fit, which can be added to.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Columns of the table, such as date,venue: how prevalent the groups are by each; can be repeated.",
        ),
    ] = None,
    save_edits: Annotated[
        Path | None,
        typer.Option("--save-edits", help="Model file to save the model in, with the edits of its topics or clusters."),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Explore the Python packages on this machine.")] = False,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 0,
    token: Token = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    timeout: Seconds = 120.0,
) -> None:
    """Open a page to browse a model: topics, clusters, objects, search, and what to label next."""
    _check_web()
    if demo == (model is not None):
        raise ValueError("Pass either a model file or --demo. Example: coview explore --demo.")
    if demo:
        from coview.web.demo import demo_service

        service = demo_service()
    else:
        assert model is not None
        if labels is not None and data is None:
            raise ValueError("--labels requires the objects: coview explore model.coview DATA --labels ...")
        if by and data is None:
            raise ValueError("--by names columns of a raw table: coview explore model.coview TABLE --by date,venue")
        service = _loaded("explore", model, data, view, also, labels, by)
    _run(service, host, port, token, {"seconds": timeout}, 2.0, page=True, browser=browser, save_edits=save_edits)


def _loaded(
    command: str,
    model: Path,
    data: Path | None,
    view: list[str] | None,
    also: list[Path] | None,
    labels: str | None = None,
    by: list[str] | None = None,
) -> Any:
    """Service of a model file and objects, with the vectors that are kept beside their table."""
    from coview.web.service import load_service

    if view and data is None:
        raise ValueError(f"--view requires a table: coview {command} model.coview TABLE --view NAME=FILE.npy")
    if view:
        check_input(Objects(view=view, table=data))
    read = None if labels is None else partial(read_target, labels)
    add = partial(with_vectors, views=named_paths(view)) if view else None
    with progress("reading the model and its objects"):
        return load_service(model, data, also or (), read, add, _columns(by or [], data))


def _columns(by: list[str], data: Path | None) -> list[str]:
    """Return the columns that are named, with commas between them; a name may have some itself."""
    from coview.io.tables import has_table_extension, read_header

    has_header = data is not None and data.is_file() and has_table_extension(data)
    known = (read_header(data) or []) if has_header and data is not None and any("," in each for each in by) else []
    return list(dict.fromkeys(name for each in by for name in split_columns(each, known)))


def _check_web() -> None:
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ValueError(f'This needs {" and ".join(missing)}. Run: pip install "coview[web]".')


def _run(
    service: Any,
    host: str,
    port: int,
    token: str | None,
    limits: dict[str, Any],
    wait: float,
    *,
    page: bool,
    browser: bool,
    save_edits: Path | None = None,
) -> None:
    from coview.web.api import is_loopback, make_app
    from coview.web.run import bound_socket, serve_app

    local = is_loopback(host)
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise ValueError(f"A token needs at least {_SHORTEST_TOKEN} characters, got {len(token)}.")
    new_token = token is None and not local
    token = secrets.token_urlsafe(24) if new_token else token
    app = make_app(service, **limits, token=token, local=local, wait=wait / 1000, page=page, save_edits=save_edits)
    opened = bound_socket(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{opened.getsockname()[1]}/"
    if new_token:
        print(f"Token (send it as 'Authorization: Bearer ...'): {token}", file=sys.stderr)
    if page:
        link = address if token is None else f"{address}#token={token}"
        print(f"Exploring {printable(service.title)} at {link}  (press Ctrl-C to stop)", file=sys.stderr)
    else:
        print(f"Serving {printable(service.title)} at {address}  (press Ctrl-C to stop)", file=sys.stderr)
    sys.stderr.flush()
    opens = page and browser and sys.stdin.isatty() and "COVIEW_NO_BROWSER" not in os.environ
    try:
        serve_app(app, opened, partial(webbrowser.open, link) if opens else None)
    except KeyboardInterrupt:  # how it is meant to end
        print("Stopped.", file=sys.stderr)
