"""The HTTP face of a `Service`: a FastAPI application, with the explorer's page where it is asked for.

Needs the extra `web`. Wrong input is status 422 with one sentence, ``{"error": "..."}``. The service reads, and writes
nothing but edits, in the one file that was named when it was started.
"""

from __future__ import annotations

import hmac
import json
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi import Query as Asked
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field, ValidationError, model_validator
from starlette.background import BackgroundTask
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coview._version import __version__
from coview.exceptions import CoviewError
from coview.retrieval.queries import is_text
from coview.views.views import Views
from coview.web.batching import Batcher
from coview.web.editing import Editing
from coview.web.rows import RowError
from coview.web.service import MOST_HITS, Service, join, sorts

__all__ = ["is_loopback", "make_app"]

_log = logging.getLogger("uvicorn.error")
STATIC = Path(__file__).parent / "static"
LOCAL = ("localhost", "127.0.0.1", "[::1]")  # as requests name this machine
STEPS = (10, 100, MOST_HITS)  # numbers of hits that the model is asked for, so that different k go together
MOST_IN_ALL = 100_000  # hits of one answer
EXPLAINED = 50  # hits of a query that are explained
ROWS = (
    "{view: rows} or a list of {view: cell}. A cell is a list of numbers (all features), {feature: value}, raw text, "
    "a list of tokens, or null where the object lacks the view; rows are one cell or a list of cells."
)
EXAMPLES = {  # by field that a request must have
    "rows": '{"rows": [{"words": "some text"}]}',
    "q": "/search?q=some+text",
    "ids": '{"ids": ["p1", "p2"]}',
}

Text = Annotated[str, Field(max_length=1000)]
Group = Text | int  # number or name


class Rows(BaseModel):
    """Objects, in some or all of the views of the model."""

    rows: Any = Field(description=ROWS, examples=[{"words": ["two foxes at sea"]}])
    by_view: bool = Field(False, description="Also return what each view that the model uses predicts.")
    top: int = Field(0, ge=0, le=100, description="Also return this many groups that come first for each object.")
    unknown: Literal["refuse", "ignore"] = Field("refuse", description="What to do with unknown feature names.")


class Query(BaseModel):
    """One query, or several, in one view."""

    query: Any = Field(None, description="One cell: text, {feature: value} or numbers.", examples=["smooth a signal"])
    queries: list[Any] | None = Field(None, description="Several cells, in place of `query`.", max_length=1000)
    source: str | None = Field(None, description="View of the query; of a text by default all that read text.")
    target: str | None = Field(None, description="View to search in; for a text without source by default all.")
    k: int = Field(10, ge=1, le=MOST_HITS, description="Number of hits.")
    why: bool = Field(False, description="Explain the hits of one text.")

    @model_validator(mode="after")
    def _check(self) -> Query:
        if (self.queries is None) == (self.query is None):
            raise ValueError("Send either query, one cell, or queries, a list of cells (q is for GET)")
        if len(self.queries or ()) * self.k > MOST_IN_ALL:
            raise ValueError(f"An answer has at most {MOST_IN_ALL:,} hits, queries times k")
        if self.why and not isinstance(self.query, str):
            raise ValueError("Only the hits of one query that is a text are explained")
        return self


class Given(BaseModel):
    """Labels that a person gave, by identifier."""

    labels: dict[str, str] = Field(default_factory=dict, max_length=10_000)
    new_classes: list[str] = Field(
        default_factory=list, max_length=1000, description="Classes of these labels that the model does not have."
    )
    skipped: list[str] = Field(default_factory=list, max_length=1000, description="Identifiers that are not named.")
    n: int = Field(10, ge=1, le=100, description="Number of objects to label next.")

    def asked(self) -> tuple[Any, ...]:
        """Return what `Labeling` takes."""
        return self.labels, self.n, self.new_classes, self.skipped


class Edit(BaseModel):
    """An edit of groups, which are given by number or name."""

    edit: Literal["merge", "split", "rename", "drop", "noise", "reduce"]
    groups: list[Group] | None = Field(None, max_length=1000, description="Groups to merge.")
    group: Group | None = Field(None, description="The group to split, rename, drop or mark as noise.")
    name: str | None = Field(None, max_length=200, description="New name of a group.")
    n: int | None = Field(None, ge=1, le=1000, description="Number of parts, or of groups that stay.")

    def record(self) -> dict[str, Any]:
        """Return the edit as a log has it."""
        return self.model_dump(exclude_none=True)


class Keys(BaseModel):
    """Identifiers of objects."""

    ids: list[str | int] = Field(max_length=1000)


class Answer(Response):
    """JSON in ASCII, since half of a surrogate pair has no other encoding."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


class Gate:
    """ASGI middleware: the token, and the size of a request, which neither Starlette nor uvicorn limits.

    Parameters
    ----------
    app : ASGI application
        What answers.
    most_bytes : int
        Size of the body of a request.
    token : str or None
        The secret that ``Authorization: Bearer ...`` must carry; None asks for none.
    open_paths : tuple of str
        Paths that need no token, beside the files of the page, which hold no data.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, token: str | None, open_paths: tuple[str, ...]) -> None:
        self.app, self._most_bytes, self._open = app, most_bytes, open_paths
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def receive_some() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._most_bytes:
                raise HTTPException(413, large, {"Connection": "close"})  # the rest is not read
            return message

        large = f"A request may have at most {self._most_bytes} bytes. Send it in parts."
        if scope["type"] == "http":
            told = Headers(scope=scope).get("content-length", "")
            if told.isdecimal() and int(told) > self._most_bytes:
                return await _refuse(413, large, {"Connection": "close"})(scope, receive, send)
        if scope["type"] != "http" or self._may_ask(scope):
            return await self.app(scope, receive_some, send)
        sentence = "A token is required: send the header 'Authorization: Bearer TOKEN'."
        await _refuse(401, sentence, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _may_ask(self, scope: Scope) -> bool:
        if self._token is None or scope["path"] in self._open or scope["path"].startswith("/static/"):
            return True
        scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        # compared in full, so that the time taken tells nothing
        same = hmac.compare_digest(secret.strip().encode("latin-1"), self._token)
        return same and scheme.lower() == "bearer"


def make_app(
    service: Service,
    *,
    token: str | None = None,
    local: bool = True,
    most_bytes: int = 8 * 2**20,
    seconds: float = 30.0,
    wait: float = 0.002,
    together: int = 4096,
    page: bool = False,
    save_edits: Path | None = None,
) -> FastAPI:
    """Return the application of a service.

    Parameters
    ----------
    service : Service
        What answers.
    token : str or None, default=None
        Secret that clients must send.
    local : bool, default=True
        Answer only requests that were sent to this machine by name, so that no web page of elsewhere can reach the
        service through a name of its own (DNS rebinding).
    most_bytes : int, default=8388608
        Size of the body of a request.
    seconds : float, default=30.0
        Time for the model to answer a request.
    wait : float, default=0.002
        Seconds that a request waits for others to be answered together.
    together : int, default=4096
        Most rows that one model call answers.
    page : bool, default=False
        Serve the explorer too.
    save_edits : Path, optional
        Model file in which edits of the groups can be saved.
    """
    current = Editing(service, save_edits)  # an edit puts another service in place
    batcher = Batcher(_answer_together, wait=wait, most_rows=together, seconds=seconds)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        batcher.close()

    app = FastAPI(
        title=f"coview: {service.title}",
        version=__version__,
        description="Predictions, coordinates and hits of a fitted multi-view model.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        lifespan=life,
        default_response_class=Answer,
    )
    app.state.batcher = batcher
    open_paths = ("/health", "/") if page else ("/health",)
    app.add_middleware(Gate, most_bytes=most_bytes, token=token, open_paths=open_paths)
    if local:
        app.add_middleware(
            TrustedHostMiddleware, allowed_hosts=(*LOCAL, "[")
        )  # older Starlette cuts "[::1]:80" at its first colon
    _add_errors(app, seconds)
    app.include_router(_model_routes(current, batcher), tags=["model"])
    _add_search(app, current, batcher)
    if page:
        app.include_router(_explorer_routes(current), prefix="/api", tags=["explorer"])
        app.include_router(_editing_routes(current), prefix="/api/edits", tags=["explorer"])
        app.mount("/static", StaticFiles(directory=STATIC))
    app.include_router(_start_routes(service, page))
    return app


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host, by a name that requests are checked for.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("127.0.0.1.example.org")
    (True, False, False)
    """
    return host in (*LOCAL, "::1")


def _answer_together(key: tuple[Any, ...], questions: Sequence[Any]) -> list[Any]:
    """Answer questions of the kind (service, what, ...) by their service."""
    return key[0].answer(key[1:], questions)


# -- routes: those that are no coroutines are called in threads


def _start_routes(service: Service, page: bool) -> APIRouter:
    routes = APIRouter()

    @routes.get("/health", summary="Health check", tags=["service"])
    async def health() -> Response:
        return Answer({"status": "ok"})

    @routes.get("/", include_in_schema=False)
    async def start() -> Response:
        """The page, or what answers here, for those who open the printed address."""
        if page:
            return FileResponse(STATIC / "index.html")
        does = [name for name in ("predict", "transform", "search") if name in service.abilities]
        paths = ["/health", "/info", *(f"/{name}" for name in does), "/openapi.json"]
        return Answer({"title": service.title, "model": service.model.name, "paths": paths})

    return routes


def _model_routes(current: Editing, batcher: Batcher) -> APIRouter:
    """Routes that describe the model and ask it about rows."""
    routes = APIRouter()

    async def answer(sent: Rows, service: Service, what: str, *options: Any, **about: Any) -> Response:
        views: Views = await run_in_threadpool(service.read, sent.rows, sent.unknown)
        parts = await batcher.ask((service, what, views.names, *options), views)
        return await run_in_threadpool(lambda: Answer({**about, **join(parts)}))

    @routes.get("/info", summary="Description of the model and its input")
    def info() -> Response:
        return Answer(current.service.info())

    @routes.post("/predict", summary="Predict the labels of objects")
    async def predict(sent: Rows) -> Response:
        service = current.service  # one for the whole answer, also where an edit puts another in place meanwhile
        model = service.predictor
        about = {"model": model.name, "kind": model.kind, "classes": model.group_names if sorts(model) else None}
        return await answer(sent, service, "predict", sent.by_view, sent.top, **about)

    @routes.post("/transform", summary="Compute the coordinates of objects in the model's space")
    async def transform(sent: Rows) -> Response:
        service = current.service
        return await answer(sent, service, "transform", model=service.model.name)

    return routes


def _add_search(app: FastAPI, current: Editing, batcher: Batcher) -> None:
    """Add the search: hits name the groups of the retriever, which edits of the models beside it do not change."""

    @app.post("/search", summary="Search one view with a query in another", tags=["model"])
    async def search(sent: Query) -> Response:
        service, source, target, queries = current.service, sent.source, sent.target, sent.queries
        cells: Any = [sent.query] if queries is None else queries
        step = next(step for step in STEPS if sent.k <= step)
        if is_text(cells):  # raw: words count that the vocabulary of a view lacks
            if source is not None or target is not None:
                source, target = service.query_views(source, target)
            key: tuple[Any, ...] = ("search_texts", source, target, step)
        else:
            cells, target = await run_in_threadpool(service.read_query, cells, source, target)
            (source,) = cells.names
            key = ("search", cells.names, target, step)
        found = join(await batcher.ask((service, *key), cells))
        found["hits"] = [hits[: sent.k] for hits in found["hits"]]
        about = {"source": source, "target": target}
        if queries is not None:
            return await run_in_threadpool(Answer, {**about, **found})
        if sent.why:
            shown = found["hits"][0][:EXPLAINED]
            reasons = await run_in_threadpool(service.why, sent.query, source, target, [hit["id"] for hit in shown])
            for hit, why in zip(shown, reasons):
                hit["why"] = why
        return Answer({**about, **{name: rows[0] for name, rows in found.items()}})

    @app.get("/search", summary="Search with plain text", tags=["model"])
    async def search_text(
        q: str,
        source: str | None = None,
        target: str | None = None,
        k: int = Asked(10, ge=1, le=MOST_HITS),
        why: bool = False,
    ) -> Response:
        return await search(Query(query=q, queries=None, source=source, target=target, k=k, why=why))

    async def search_json(request: Request) -> Response:
        return await search(Query.model_validate_json(await request.body()))

    # answers in place of the first route, which describes it: by FastAPI's own way a third fewer searches are answered
    app.router.routes.insert(0, Route("/search", search_json, methods=["POST"]))


def _explorer_routes(current: Editing) -> APIRouter:
    """Routes that only the page asks."""
    routes = APIRouter()

    @routes.get("/about")
    def about() -> Response:
        return Answer(current.explorer.about())

    @routes.get("/describe/{at}/prevalence")
    def prevalence(at: int, by: str) -> Response:
        return Answer(current.explorer.prevalence(at, by))

    @routes.get("/describe/{at}/effects")
    def effects(at: int, formula: str, clusters: str = "") -> Response:
        return Answer(current.explorer.effects(at, formula, clusters))

    @routes.get("/describe/{at}/{section}")
    def section(at: int, section: str) -> Response:
        return Answer(current.explorer.section(at, section))

    @routes.get("/members/{at}")
    def members(at: int, key: str, start: int = Asked(0, ge=0), count: int = Asked(30, ge=1, le=200)) -> Response:
        return Answer(current.explorer.members(at, key, start, count))

    @routes.get("/objects")
    def objects(q: Text = "", start: int = Asked(0, ge=0)) -> Response:
        return Answer(current.explorer.objects(q, start))

    @routes.get("/object")
    def one(id: str) -> Response:
        return Answer(current.explorer.object(id))

    @routes.post("/known")
    def known(ask: Keys) -> Response:
        return Answer(current.explorer.known(ask.ids))

    @routes.post("/suggestions")
    def suggestions(ask: Given) -> Response:
        return Answer(current.explorer.labeling.suggestions(*ask.asked()))

    @routes.post("/refit")
    def refit(ask: Given) -> Response:
        return Answer(current.explorer.labeling.refit(*ask.asked()))

    @routes.get("/audit")
    def audit() -> Response:
        return Answer(current.explorer.labeling.audit())

    @routes.get("/known_labels")
    def known_labels() -> Response:
        return Answer(current.explorer.labeling.known())

    return routes


def _editing_routes(current: Editing) -> APIRouter:
    """Routes that edit groups: from the page of the explorer only, not from one of elsewhere."""
    routes = APIRouter(dependencies=[Depends(_check_own_page)])

    @routes.get("")
    def state() -> Response:
        return Answer(current.state())

    @routes.post("/preview")
    def preview(ask: Edit) -> Response:
        return Answer(current.preview(ask.record()))

    @routes.post("/apply")
    def apply(ask: Edit) -> Response:
        return Answer(current.apply(ask.record()))

    @routes.post("/undo")
    def undo() -> Response:
        return Answer(current.undo())

    @routes.post("/save")
    def save() -> Response:
        return Answer(current.save())

    @routes.post("/download")
    def download() -> Response:
        folder = tempfile.mkdtemp(prefix="coview-")
        remove = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / "model.coview"
        try:
            name = current.write(path)
        except BaseException:
            shutil.rmtree(folder)
            raise
        return FileResponse(path, media_type="application/octet-stream", filename=name, background=remove)

    return routes


def _check_own_page(request: Request) -> None:
    """Refuse what a page of another site sends through a browser, which tells where the page is from."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        raise HTTPException(403, "Edits are taken from the page of the explorer itself only.")


# -- errors


def _refuse(status: int, sentence: str, headers: Any = None) -> Response:
    """Say in one sentence why there is no other answer."""
    return Answer({"error": sentence}, status_code=status, headers=headers)


def _add_errors(app: FastAPI, seconds: float) -> None:
    @app.exception_handler(ValidationError)
    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: Any) -> Response:
        return _refuse(422, _first_problem(error))

    @app.exception_handler(StarletteHTTPException)
    async def known(request: Request, error: StarletteHTTPException) -> Response:
        if error.status_code == 400:  # a body that is no JSON at all
            return _refuse(422, "The body of the request is not valid JSON.")
        if error.status_code == 404:
            return _refuse(404, "Unknown path; GET /openapi.json lists all paths.")
        return _refuse(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(TimeoutError)
    async def late(request: Request, error: TimeoutError) -> Response:
        return _refuse(503, f"The request took longer than {seconds:g} seconds. Send less, or retry.")

    @app.exception_handler(CoviewError)
    async def refused(request: Request, error: CoviewError) -> Response:
        about = {"view": error.view} if isinstance(error, RowError) else {}
        return Answer({"error": first_line(error.worded("http")), **about}, status_code=422)

    @app.exception_handler(ValueError)
    async def wrong(request: Request, error: ValueError) -> Response:
        _log.warning("%s %s is refused", request.method, request.url.path, exc_info=error)  # it may be our own mistake
        return _refuse(422, first_line(str(error)))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return _refuse(500, "Internal server error; see the server log.")


def _first_problem(error: Any) -> str:
    """One sentence about the first thing that is wrong with a request."""
    problem: Any = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"] if part not in ("body", "query"))
    reason = problem["msg"].removeprefix("Value error, ").rstrip(".")
    if problem["type"] == "json_invalid":
        return "The body of the request is not valid JSON."
    if problem["type"] == "value_error":  # of a check above
        return f"{reason}."
    if not where:
        return f"The request must be a JSON object with Content-Type application/json: {reason}."[:300]
    if problem["type"] == "missing":
        example = f" Example: {EXAMPLES[where]}" if where in EXAMPLES else ""
        return f"The field {where[:80]!r} is missing.{example}"
    return f"The field {where[:80]!r} is wrong: {reason}."[:300]


def first_line(text: str, most: int = 300) -> str:
    """Return the first line of what an error says, of bounded length.

    Examples
    --------
    >>> first_line("Too wide.\\n\\nA long story follows.")
    'Too wide.'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "The request was rejected.")
    return line if len(line) <= most else f"{line[: most - 3]}..."
