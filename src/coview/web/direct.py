"""The question that is asked most, one text to search for, answered without FastAPI's way from a request to an answer.

FastAPI declares and describes `POST /search` as all else, and answers every other form of it: several queries, rows of
numbers, explanations, what is malformed. Its machinery takes longer than the search itself. Answers are the same, byte
for byte; they are written straight from the arrays of hits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

__all__ = ["Direct"]

_LONGEST = 2**14  # bytes of a request; what is longer is no short text
_JSON = b"application/json"
AnswerText = Callable[[Any], Awaitable[bytes | None]]


class Direct:
    """ASGI application: short requests for one path, and all others to FastAPI.

    Parameters
    ----------
    app : FastAPI
        Answers what is not answered here, and says how errors are.
    path : str
        Path of the requests, which are sent by POST.
    kind : type of pydantic model
        What a request is read as; what cannot be is handed on.
    answer : callable
        ``await answer(sent)`` returns the JSON of the answer, or None for a request that is to be handed on.
    """

    def __init__(self, app: FastAPI, path: str, kind: type[BaseModel], answer: AnswerText) -> None:
        self.app, self.state = app, app.state
        self._path, self._kind, self._answer = path, kind, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path or scope["method"] != "POST" or not _is_short(scope):
            return await self.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return await self.app(scope, _after(message, receive), send)
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            content = await self._answer(self._kind.model_validate_json(body))
        except ValidationError:
            content = None
        except Exception as error:
            known = self.app.exception_handlers
            handle = next((known[cls] for cls in type(error).__mro__ if cls in known and cls is not Exception), None)
            if handle is None:
                raise
            refusal: Any = await handle(Request(scope), error)  # type: ignore[misc]
            return await refusal(scope, receive, send)
        if content is None:
            return await self.app(scope, _after({"type": "http.request", "body": body}, receive), send)
        headers = [(b"content-length", b"%d" % len(content)), (b"content-type", _JSON)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _is_short(scope: Scope) -> bool:
    """Whether a request is JSON of few bytes, and tells so."""
    length, kind = b"", b""
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = value
        elif name == b"content-type":
            kind = value
    return kind == _JSON and length.isdigit() and len(length) < 9 and int(length) <= _LONGEST


def _after(message: Message, receive: Receive) -> Receive:
    """What receives a message again that was received already, and then the next ones."""
    first: list[Message] = [message]

    async def received() -> Message:
        return first.pop() if first else await receive()

    return received
