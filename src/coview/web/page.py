"""The explorer's page and the addresses it asks; its files are read once and served from memory."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, Field

from coview.web.explorer import Explorer
from coview.web.service import Service

__all__ = ["add_page"]

STATIC = Path(__file__).parent / "static"
InThread = Callable[..., Awaitable[Response]]


class Labels(BaseModel):
    """A set of labels to try, for an object or for none."""

    labels: list[str] = Field(max_length=1000)
    row: int | None = None


class Keys(BaseModel):
    """Identifiers of objects."""

    ids: list[str | int] = Field(max_length=1000)


def add_page(app: FastAPI, service: Service, in_thread: InThread) -> list[str]:
    """Add the page and its addresses; return the paths of its files, which hold no data."""
    _add_addresses(app, Explorer(service), in_thread)
    return _add_files(app)


def _add_addresses(app: FastAPI, explorer: Explorer, in_thread: InThread) -> None:
    @app.get("/api/groups", tags=["explorer"])
    async def groups() -> Response:
        return await in_thread(explorer.groups.all)

    @app.get("/api/groups/{kind}/{index}", tags=["explorer"])
    async def members(kind: str, index: int, start: int = 0, count: int = 30) -> Response:
        return await in_thread(explorer.groups.members, kind, index, max(start, 0), min(max(count, 1), 200))

    @app.get("/api/objects", tags=["explorer"])
    async def objects(q: str = "", start: int = 0) -> Response:
        return await in_thread(explorer.objects, q, start)

    @app.get("/api/objects/{row}", tags=["explorer"])
    async def one(row: int) -> Response:
        return await in_thread(explorer.object, row)

    @app.post("/api/known", tags=["explorer"])
    async def known(ask: Keys) -> Response:
        return await in_thread(explorer.known, ask.ids)

    @app.get("/api/why", tags=["explorer"])
    async def why(q: str, id: str, source: str | None = None, target: str | None = None) -> Response:
        return await in_thread(explorer.why, q, source, target, id)

    @app.get("/api/disagreement", tags=["explorer"])
    async def disagreement(start: int = 0, first: str | None = None, second: str | None = None) -> Response:
        pair = None if first is None or second is None else (first, second)
        return await in_thread(explorer.disagreement, max(start, 0), pair)

    @app.get("/api/ontology", tags=["explorer"])
    async def ontology() -> Response:
        return await in_thread(explorer.ontology)

    @app.post("/api/labels", tags=["explorer"])
    async def labels(ask: Labels) -> Response:
        return await in_thread(explorer.try_labels, ask.labels, ask.row)


def _add_files(app: FastAPI) -> list[str]:
    files: dict[str, tuple[bytes, str, str]] = {}
    for path in sorted(STATIC.iterdir()):
        if not path.is_file() or path.name.startswith("."):
            continue
        content = path.read_bytes()
        kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
        address = "/" if path.name == "index.html" else f"/static/{path.name}"
        files[address] = (content, kind or "application/octet-stream", hashlib.sha256(content).hexdigest()[:16])
    for address in files:
        app.add_api_route(address, _file_answer(files[address]), methods=["GET", "HEAD"], include_in_schema=False)
    return list(files)


def _file_answer(file: tuple[bytes, str, str]) -> Any:
    content, kind, mark = file
    headers = {"ETag": f'"{mark}"', "Cache-Control": "no-cache"}

    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        body = b"" if request.method == "HEAD" else content
        return Response(body, media_type=kind, headers=headers)

    return answer
