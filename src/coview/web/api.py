"""The HTTP face of a `Service`: a FastAPI application, with the explorer's page where it is asked for.

Needs the extra `web`. Wrong input is 422 with one sentence, ``{"error": "..."}``; the service reads, and writes
nothing but edits, in the one file that was named when it was started.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi import Query as Asked
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from coview._version import __version__
from coview.exceptions import CoviewError
from coview.retrieval.queries import is_text
from coview.views.views import Views
from coview.web.batching import Batcher, Busy
from coview.web.direct import Direct
from coview.web.editing import Editing
from coview.web.guard import FAILED, Answers, Guard, refuse
from coview.web.kinds import sorts
from coview.web.limits import IS_LARGE, Limits
from coview.web.rendering import count_values, joined, json_bytes, rendered
from coview.web.service import MOST_HITS, Service

__all__ = ["make_app"]

STATIC = Path(__file__).parent / "static"
_STEPS = (10, 100, MOST_HITS)  # numbers of hits that the model is asked for, so that different k go together
_READERS = 4  # threads that read requests and render answers; large ones share one, and wait for each other only
_MOST_PARTS = 200_000  # lists and objects in a request; it takes a second to parse two million
_EXPLAINED = 50  # hits of a query that are explained
_OF_HIT, _REASONS = 4, 20  # values of a hit, and of its explanation, about
_OF_PLACE = 3  # values of an object on the map
_LONGEST_QUERY = 1000  # letters of a search on the map
_LARGE_ANSWER = 50_000  # values, from which answers take turns
InThread = Callable[..., Awaitable[Any]]  # (function, *args) -> what it returns
_ROWS = (
    "{view: rows} or a list of {view: cell}. A cell is a list of numbers (all features), {feature: value}, raw text, "
    "or null where the object lacks the view; rows are one cell or a list of cells."
)
_EXAMPLES = {  # by field that a request must have
    "rows": '{"rows": [{"words": "some text"}]}',
    "q": "/search?q=some+text",
    "labels": '{"labels": ["animal", "dog"]}',
    "ids": '{"ids": ["p1", "p2"]}',
}


_Group = Annotated[str, Field(max_length=1000)] | int  # number or name


class Rows(BaseModel):
    """Objects, in some or all of the views of the model."""

    rows: Any = Field(description=_ROWS, examples=[{"words": ["two foxes at sea"]}])
    by_view: bool = Field(False, description="Also return what each view that the model uses predicts.")
    top: int = Field(0, ge=0, le=100, description="Also return this many groups that come first for each object.")
    unknown: str = Field("refuse", description='What to do with unknown feature names: "refuse" or "ignore".')


class Query(BaseModel):
    """One query, or several, in one view."""

    query: Any = Field(None, description="One cell: text, {feature: value} or numbers.", examples=["smooth a signal"])
    queries: list[Any] | None = Field(None, description="Several cells, in place of `query`.", max_length=1000)
    source: str | None = Field(None, description="View of the query; of a text by default all that read text.")
    target: str | None = Field(None, description="View to search in; for a text without source by default all.")
    k: int = Field(10, ge=1, le=MOST_HITS, description="Number of hits.")
    why: bool = Field(False, description="Explain each hit.")


class Labels(BaseModel):
    """A set of labels to try, for an object or for none."""

    labels: list[str] = Field(max_length=1000)
    id: str | int | None = None


class Given(BaseModel):
    """Labels that a person gave, by identifier."""

    labels: dict[str, str] = Field(default_factory=dict, max_length=10_000)
    new_classes: list[str] = Field(
        default_factory=list, max_length=1000, description="Classes of these labels that the model does not have."
    )
    skipped: list[str] = Field(default_factory=list, max_length=1000, description="Identifiers that are not named.")
    n: int = Field(10, ge=1, le=100, description="Number of objects to label next.")


class Edit(BaseModel):
    """An edit of groups, which are given by number or name."""

    edit: Literal["merge", "split", "rename", "drop", "noise", "reduce"]
    groups: list[_Group] | None = Field(None, max_length=1000, description="Groups to merge.")
    group: _Group | None = Field(None, description="The group to split, rename, drop or mark as noise.")
    name: str | None = Field(None, max_length=200, description="New name of a group.")
    n: int | None = Field(None, ge=1, le=1000, description="Number of parts, or of groups that stay.")

    def record(self) -> dict[str, Any]:
        """Return the edit as a log has it."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


class Keys(BaseModel):
    """Identifiers of objects."""

    ids: list[str | int] = Field(max_length=1000)


class _CheckedRequest(Request):
    async def json(self) -> Any:
        """Return the body, unless it would take long to parse: nothing else is done meanwhile."""
        body = await self.body()
        if body.count(b"[") + body.count(b"{") > _MOST_PARTS:
            raise HTTPException(413, f"A request may have at most {_MOST_PARTS:,} lists and objects. Send it in parts.")
        return await super().json()


class _CheckedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_checked(request: Request) -> Response:
            return await handle(_CheckedRequest(request.scope, request.receive))

        return handle_checked


def make_app(
    service: Service,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    local: bool = True,
    wait: float = 0.002,
    together: int = 4096,
    page: bool = False,
    save_edits: Path | None = None,
) -> Guard:
    """Return the ASGI application of a service.

    Parameters
    ----------
    service : Service
        What answers.
    limits : Limits, optional
        Size and time of a request.
    token : str or None, default=None
        Secret that clients must send.
    local : bool, default=True
        Answer only requests to this machine by name.
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
    batcher = Batcher(_answers, wait=wait, most_rows=together)
    readers = ThreadPoolExecutor(_READERS, thread_name_prefix="coview-read")
    large = ThreadPoolExecutor(1, thread_name_prefix="coview-read-large")

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        batcher.close()
        readers.shutdown(wait=False, cancel_futures=True)
        large.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title=f"coview: {service.title}",
        version=__version__,
        description="Predictions, coordinates and hits of a fitted multi-view model.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        lifespan=life,
        default_response_class=Answers,
    )
    app.router.route_class = _CheckedRoute
    _add_errors(app)

    async def in_thread(call: Callable[..., Any], *args: Any) -> Any:
        """Call in a thread: many rows or texts must not keep other requests waiting."""
        threads = large if IS_LARGE.get() else readers

        def answer() -> Any:
            try:
                return call(*args)
            except StopIteration as error:  # a future cannot hold it: the request would wait for ever
                raise RuntimeError("an iterator ended early") from error

        return await asyncio.get_running_loop().run_in_executor(threads, answer)

    limits = limits or Limits()
    _add_questions(app, current, batcher, in_thread, limits.most_values)
    _add_search(app, service, batcher, in_thread, limits.most_values)
    if page:
        _add_explorer(app, current, in_thread, limits.most_values)
        _add_editing(app, current, in_thread)
        _add_page(app)
    else:
        _add_root(app, service)
    app.state.batcher = batcher
    open_paths = ("/health", "/") if page else ("/health",)
    direct = Direct(app, "/search", Query, _text_search(service, batcher, limits.most_values))
    return Guard(direct, limits, token=token, local=local, open_paths=open_paths)


def _answers(key: tuple[Any, ...], questions: Sequence[Any]) -> list[Any]:
    """Answer questions of the kind (what, service, ...) by their service."""
    what, service, *rest = key
    return service.answer((what, *rest), questions)


def _add_questions(app: FastAPI, current: Editing, batcher: Batcher, in_thread: InThread, most_values: int) -> None:
    """Add the routes that describe the model and ask it about rows."""

    async def answer(request: Request, key: tuple[Any, ...], views: Views, **about: Any) -> Answers:
        """Answer rows, some at a time; once the first are there, it is known how large the answer will be."""
        parts: list[Any] = []
        async for so_far, part in batcher.ask_parts(key, views, len(views)):
            if not parts:
                await _admit(request, len(views), count_values(part) // so_far, most_values)
            parts.append(await in_thread(rendered, part))
            if so_far < len(views) and await request.is_disconnected():  # nobody waits for the rest
                return Answers({})
        return Answers(await in_thread(partial(joined, parts, **about)))

    @app.get("/health", summary="Health check", tags=["service"])
    async def health() -> Answers:
        return Answers({"status": "ok"})

    @app.get("/info", summary="Description of the model and its input", tags=["service"])
    async def info() -> Answers:
        return await in_thread(_rendered, current.service.info)

    @app.post("/predict", summary="Predict the labels of objects", tags=["model"])
    async def predict(request: Request, sent: Rows) -> Answers:
        service = current.service  # one for the whole answer, also where an edit puts another in place meanwhile
        views = await in_thread(service.read, sent.rows, sent.unknown)
        model = service.predictor
        classes = model.group_names if sorts(model) else None
        about = {"model": model.name, "kind": model.kind, "classes": classes}
        return await answer(request, ("predict", service, views.names, sent.by_view, sent.top), views, **about)

    @app.post("/transform", summary="Compute the coordinates of objects in the model's space", tags=["model"])
    async def transform(request: Request, sent: Rows) -> Answers:
        service = current.service
        views = await in_thread(service.read, sent.rows, sent.unknown)
        return await answer(request, ("transform", service, views.names), views, model=service.model.name)


def _add_search(app: FastAPI, service: Service, batcher: Batcher, in_thread: InThread, most_values: int) -> None:
    """Add the routes that search."""

    @app.post("/search", summary="Search one view with a query in another", tags=["model"])
    async def search(request: Request, sent: Query) -> Answers:
        many = sent.queries is not None
        if many == (sent.query is not None):
            raise CoviewError("Send either query, one cell, or queries, a list of cells (q is for GET).")
        queries: Any = sent.queries if many else sent.query
        explained = min(sent.k, _EXPLAINED) if sent.why else 0
        await _admit(request, len(sent.queries or [0]), _OF_HIT * sent.k + _REASONS * explained, most_values)
        step = _rounded_up(sent.k)
        source, target = sent.source, sent.target
        texts = ([queries] if isinstance(queries, str) else queries) if is_text(queries) else None
        if texts is not None:  # raw: words count that the vocabulary of a view lacks
            if source is not None or target is not None:
                source, target = service.query_views(source, target)
            key: tuple[Any, ...] = ("search_texts", service, source, target, step)
        else:
            views, target = await in_thread(service.read_query, queries, source, target)
            (source,) = views.names
            key = ("search", service, views.names, target, step)
        questions, parts, start = views if texts is None else texts, [], 0
        async for stop, part in batcher.ask_parts(key, questions, len(questions)):
            part = {**part, "hits": [row[: sent.k] for row in part["hits"]]}
            for i, row in enumerate(part["hits"] if explained else [], start):
                keys = [hit["id"] for hit in row[:explained]]
                if texts is not None:
                    reasons = await in_thread(service.why_text, texts[i], source, target, keys)
                else:
                    reasons = await in_thread(service.why, views[[i]], target, keys)
                for hit, why in zip(row, reasons):
                    hit["why"] = why
            parts.append(await in_thread(rendered, part) if many else part)
            start = stop
        if many:
            return Answers(await in_thread(partial(joined, parts, source=source, target=target)))
        alone = {name: rows[0] for name, rows in parts[0].items()}
        return await in_thread(_rendered, lambda: {"source": source, "target": target, **alone})

    @app.get("/search", summary="Search with plain text", tags=["model"])
    async def search_text(
        request: Request,
        q: str,
        source: str | None = None,
        target: str | None = None,
        k: int = Asked(10, ge=1, le=MOST_HITS),
        why: bool = False,
    ) -> Answers:
        return await search(request, Query(query=q, queries=None, source=source, target=target, k=k, why=why))


def _text_search(service: Service, batcher: Batcher, most_values: int) -> Callable[[Any], Awaitable[bytes | None]]:
    """Return what answers one text to search for, and nothing else."""

    async def answer(sent: Query) -> bytes | None:
        source, target = sent.source, sent.target
        if not isinstance(sent.query, str) or sent.queries is not None or sent.why or _OF_HIT * sent.k > most_values:
            return None
        if source is not None or target is not None:
            source, target = service.query_views(source, target)
        key = ("search_texts_json", service, source, target, _rounded_up(sent.k))
        ((hits, ignored),) = await batcher.ask(key, [sent.query])
        views = json_bytes({"source": source, "target": target})[:-1].decode("ascii")
        text = f'{views},"hits":[{",".join(hits[: sent.k])}],"ignored":{_encoded(ignored)}}}'
        return text.encode("ascii")

    return answer


def _encoded(words: list[str]) -> str:
    return json_bytes(words).decode("ascii") if words else "[]"


def _rounded_up(k: int) -> int:
    """Number of hits that the model is asked for, so that requests for 5 and for 10 hits are one call."""
    return next(step for step in _STEPS if k <= step)


async def _admit(request: Request, rows: int, columns: int, most: int) -> None:
    """Refuse an answer that is too large, and let a large one wait until it is its turn."""
    values = rows * columns
    if values > most:
        fitting = most // columns
        parts = f"Send at most {fitting:,} rows at a time" if fitting else "Ask for less of each row"
        raise HTTPException(
            413,
            f"The answer would have {rows:,} rows x {columns:,} columns = {values:,} values, and at most {most:,} are "
            f"allowed. {parts}.",
        )
    if values > _LARGE_ANSWER:
        IS_LARGE.set(True)
        await request.scope["coview.turn"].take()


def _rendered(call: Callable[..., Any], *args: Any) -> Answers:
    """Call and render what is returned, both in the same thread."""
    return Answers(call(*args))


def _add_explorer(app: FastAPI, current: Editing, in_thread: InThread, most_values: int) -> None:
    """Add the routes that only the page asks."""

    @app.get("/api/groups", tags=["explorer"])
    async def groups() -> Answers:
        return await in_thread(_rendered, current.explorer.groups.all)

    @app.get("/api/groups/{kind}/{index}", tags=["explorer"])
    async def members(kind: str, index: int, start: int = 0, count: int = 30) -> Answers:
        return await in_thread(
            _rendered, current.explorer.groups.members, kind, index, max(start, 0), min(max(count, 1), 200)
        )

    @app.get("/api/objects", tags=["explorer"])
    async def objects(q: str = "", start: int = 0) -> Answers:
        return await in_thread(_rendered, current.explorer.objects, q, start)

    @app.get("/api/object", tags=["explorer"])
    async def one(id: str) -> Answers:
        return await in_thread(_rendered, current.explorer.object, id)

    @app.get("/api/map", tags=["explorer"])
    async def placed(request: Request, method: str = "pca") -> Answers:
        await _admit(request, len(current.explorer.map.rows), _OF_PLACE, most_values)
        return await in_thread(_rendered, current.explorer.map.answer, method)

    @app.get("/api/map/column", tags=["explorer"])
    async def colored(request: Request, name: str) -> Answers:
        await _admit(request, len(current.explorer.map.rows), 1, most_values)
        return await in_thread(_rendered, current.explorer.map.column, name)

    @app.get("/api/map/search", tags=["explorer"])
    async def found(request: Request, q: str = "") -> Answers:
        await _admit(request, len(current.explorer.map.rows), 1, most_values)
        return await in_thread(_rendered, current.explorer.map.search, q[:_LONGEST_QUERY])

    @app.get("/api/map/objects", tags=["explorer"])
    async def pointed(at: Annotated[list[int], Asked(max_length=1000)]) -> Answers:
        return await in_thread(_rendered, current.explorer.map.objects, at)

    @app.get("/api/quality/{kind}", tags=["explorer"])
    async def quality(kind: str) -> Answers:
        return await in_thread(_rendered, current.explorer.insights.quality, kind)

    @app.get("/api/prevalence/{kind}", tags=["explorer"])
    async def prevalence(kind: str, by: str | None = None) -> Answers:
        return await in_thread(_rendered, current.explorer.insights.prevalence, kind, by)

    @app.get("/api/tree/{kind}", tags=["explorer"])
    async def tree(kind: str, classes: str | None = None) -> Answers:
        return await in_thread(_rendered, current.explorer.insights.tree, kind, classes)

    @app.post("/api/known", tags=["explorer"])
    async def known(ask: Keys) -> Answers:
        return await in_thread(_rendered, current.explorer.known, ask.ids)

    @app.get("/api/why", tags=["explorer"])
    async def why(q: str, id: str, source: str | None = None, target: str | None = None) -> Answers:
        return await in_thread(_rendered, current.explorer.why, q, source, target, id)

    @app.get("/api/disagreement", tags=["explorer"])
    async def disagreement(
        start: int = 0, a: str | None = None, b: str | None = None, first: int = -1, second: int = -1
    ) -> Answers:
        pair = None if a is None or b is None else (a, b, first, second)
        return await in_thread(_rendered, current.explorer.disagreement, max(start, 0), pair)

    @app.post("/api/suggestions", tags=["explorer"])
    async def suggestions(ask: Given) -> Answers:
        call = current.explorer.labeling.suggestions
        return await in_thread(_rendered, call, ask.labels, ask.n, ask.new_classes, ask.skipped)

    @app.post("/api/refit", tags=["explorer"])
    async def refit(ask: Given) -> Answers:
        call = current.explorer.labeling.refit
        return await in_thread(_rendered, call, ask.labels, ask.n, ask.new_classes, ask.skipped)

    @app.get("/api/known_labels", tags=["explorer"])
    async def known_labels() -> Answers:
        return await in_thread(_rendered, current.explorer.labeling.known)

    @app.get("/api/ontology", tags=["explorer"])
    async def ontology() -> Answers:
        return await in_thread(_rendered, current.explorer.ontology)

    @app.post("/api/labels", tags=["explorer"])
    async def labels(ask: Labels) -> Answers:
        return await in_thread(_rendered, current.explorer.try_labels, ask.labels, ask.id)


def _add_editing(app: FastAPI, current: Editing, in_thread: InThread) -> None:
    """Add the routes that edit groups: from the page of the explorer only, not from one of elsewhere."""

    @app.get("/api/edits", tags=["explorer"])
    async def edits() -> Answers:
        return await in_thread(_rendered, current.state)

    @app.post("/api/edits/preview", tags=["explorer"], dependencies=[Depends(_check_own_page)])
    async def preview(ask: Edit) -> Answers:
        return await in_thread(_rendered, current.preview, ask.record())

    @app.post("/api/edits/apply", tags=["explorer"], dependencies=[Depends(_check_own_page)])
    async def apply(ask: Edit) -> Answers:
        return await in_thread(_rendered, current.apply, ask.record())

    @app.post("/api/edits/undo", tags=["explorer"], dependencies=[Depends(_check_own_page)])
    async def undo() -> Answers:
        return await in_thread(_rendered, current.undo)

    @app.post("/api/edits/save", tags=["explorer"], dependencies=[Depends(_check_own_page)])
    async def save() -> Answers:
        return await in_thread(_rendered, current.save)

    @app.post("/api/edits/download", tags=["explorer"], dependencies=[Depends(_check_own_page)])
    async def download(request: Request) -> Response:
        await request.scope["coview.turn"].take()  # before there is a file, so that there are few of them
        request.scope["coview.deadline"].reschedule(None)  # a large model takes its time, and no other edit meanwhile
        folder = Path(tempfile.mkdtemp(prefix="coview-"))
        try:
            name = await in_thread(current.write, folder / "model.coview")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return _PassingFile(folder / "model.coview", media_type="application/octet-stream", filename=name)


class _PassingFile(FileResponse):
    """A file that is read as it is sent, and then removed with its folder, also where the client goes away."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            shutil.rmtree(Path(self.path).parent, ignore_errors=True)


def _check_own_page(request: Request) -> None:
    """Refuse what a page of another site could send through a browser: it cannot send JSON without being asked."""
    headers = request.headers
    origin = headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    if foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "Edits are taken from the page of the explorer itself only.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "An edit must be sent with Content-Type application/json.")


def _add_page(app: FastAPI) -> None:
    """Serve the page and its files."""

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC))


def _add_root(app: FastAPI, service: Service) -> None:
    """Say at the root what answers here, for those who open the printed address."""

    @app.get("/", summary="Name of the model and the paths that answer", tags=["service"])
    async def root() -> Answers:
        does = [name for name in ("predict", "transform", "search") if name in service.abilities]
        paths = ["/health", "/info", *(f"/{name}" for name in does), "/openapi.json"]
        return Answers({"title": service.title, "model": service.model.name, "paths": paths})


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Answers:
        return refuse(422, _first_problem(error))

    @app.exception_handler(HTTPException)
    async def known(request: Request, error: HTTPException) -> Answers:
        if error.status_code == 400:  # a body that is no JSON at all
            return refuse(422, "The body of the request is not valid JSON.")
        if error.status_code == 404:
            return refuse(404, "Unknown path; GET /openapi.json lists all paths.")
        return refuse(error.status_code, str(error.detail), **(error.headers or {}))

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> Answers:
        return refuse(503, str(error), **{"Retry-After": "1"})

    @app.exception_handler(CoviewError)
    async def refused(request: Request, error: CoviewError) -> Answers:
        return refuse(422, sentence(error.worded("http")))

    @app.exception_handler(ValueError)
    async def wrong(request: Request, error: ValueError) -> Answers:
        return refuse(422, sentence(str(error)))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Answers:
        return refuse(500, FAILED)


def _first_problem(error: RequestValidationError) -> str:
    """One sentence about the first thing that is wrong with a request."""
    problem: Any = next(iter(error.errors()), {})
    if problem.get("type") == "json_invalid":
        return "The body of the request is not valid JSON."
    where = ".".join(str(part) for part in problem.get("loc", ()) if part not in ("body", "query"))
    reason = str(problem.get("msg", "invalid value")).rstrip(".")
    if not where:
        return f"The request must be a JSON object with Content-Type application/json: {reason}."[:300]
    if problem.get("type") == "missing":
        example = f" Example: {_EXAMPLES[where]}" if where in _EXAMPLES else ""
        return f"The field {where[:80]!r} is missing.{example}"
    return f"The field {where[:80]!r} is wrong: {reason}."[:300]


def sentence(text: str, most: int = 300) -> str:
    """Return the first line of what an error says, of bounded length.

    Examples
    --------
    >>> sentence("Too wide.\\n\\nA long story follows.")
    'Too wide.'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = lines[0] if lines else "The request was rejected."
    return line if len(line) <= most else f"{line[: most - 3]}..."
