"""Answers as JSON, in short pieces: `json.dumps` of a large one would keep every other thread waiting until its end.

A large answer is computed in parts of some rows each. Each part is rendered as soon as it is there, and what is kept of
it are its bytes: `rendered` and `joined`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from coview.retrieval.hits import Hits
from coview.utils.messages import short

__all__ = ["count_values", "hit_texts", "joined", "json_bytes", "rendered"]

_PIECE = 4096  # values that are rendered at a time
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON; in ASCII, since half of a surrogate pair has no other encoding.

    Examples
    --------
    >>> json_bytes({"error": "Zürich"})
    b'{"error":"Z\\\\u00fcrich"}'
    """
    return "".join(_pieces(value)).encode("ascii")


def count_values(value: Any) -> int:
    """Return how many numbers, texts and gaps a value holds.

    Examples
    --------
    >>> count_values({"labels": ["a", "b"], "probabilities": [[0.1, 0.9], [0.5, 0.5]]})
    6
    """
    if isinstance(value, Mapping):
        return sum(map(count_values, value.values()))
    return sum(map(count_values, value)) if isinstance(value, list) else 1


def rendered(answer: Any) -> Any:
    """Return an answer of some rows with the JSON of its rows in place of them, to be joined with that of others.

    Examples
    --------
    >>> joined([rendered({"labels": ["a", "b"], "by_view": {"words": {"labels": [1]}}}),
    ...         rendered({"labels": ["c"], "by_view": {"words": {"labels": [2]}}})])
    b'{"labels":["a","b","c"],"by_view":{"words":{"labels":[1,2]}}}'
    """
    if isinstance(answer, Mapping):
        return {key: rendered(part) for key, part in answer.items()}
    if not isinstance(answer, (list, tuple)):
        raise TypeError(f"An answer of some rows is a list, or lists by name, got {short(answer)}.")
    return json_bytes(answer)[1:-1]


def joined(parts: Sequence[Any], **others: Any) -> bytes:
    """Return rendered answers of some rows each as one answer, after further entries.

    Examples
    --------
    >>> joined([{"labels": b"1,2"}, {"labels": b"3"}], model="PLSA")
    b'{"model":"PLSA","labels":[1,2,3]}'
    """
    first = parts[0]
    if not isinstance(first, Mapping):
        return b"[" + b",".join(part for part in parts if part) + b"]"
    entries = [_key(key) + json_bytes(value) for key, value in others.items()]
    entries += [_key(key) + joined([part[key] for part in parts]) for key in first]
    return b"{" + b",".join(entries) + b"}"


def hit_texts(hits: Hits) -> list[list[str]]:
    """Return the JSON of each hit of each query, straight from the arrays.

    Examples
    --------
    >>> import numpy as np
    >>> hit_texts(Hits(np.array([["b", "a"]]), np.array([[0.9, 0.4]], dtype=np.float32)))
    [['{"id":"b","score":0.9}', '{"id":"a","score":0.4}']]
    """
    if not np.isfinite(hits.scores).all():
        raise ValueError("A score is no finite number.")
    name: Any = str if hits.ids.dtype.kind in "iu" else _encode
    rows = [
        [f'{{"id":{name(key)},"score":{round(score, 6)!r}' for key, score in zip(*row)]
        for row in zip(hits.ids.tolist(), hits.scores.tolist())
    ]
    if hits.groups is None or hits.group_names is None:
        return [[f"{hit}}}" for hit in row] for row in rows]
    ends = [
        [_group_end(group, label) for group, label in zip(*row)]
        for row in zip(hits.groups.tolist(), hits.group_names.tolist())
    ]
    return [[hit + end for hit, end in zip(*row)] for row in zip(rows, ends)]


@lru_cache(maxsize=10_000)
def _group_end(group: int, name: str | None) -> str:
    """The end of a hit: its group, or that it has none."""
    return f',"group":{group},"group_name":{_encode(name)}}}' if group >= 0 else ',"group":null,"group_name":null}'


def _key(key: Any) -> bytes:
    return _encode(str(key)).encode("ascii") + b":"


def _pieces(value: Any) -> Iterator[str]:
    """The JSON of a value in pieces of bounded size."""
    if isinstance(value, dict):
        between = "{"
        for key, part in value.items():
            yield between + _encode({key: 0})[1:-2]  # as json writes keys that are no texts
            yield from _pieces(part)
            between = ","
        yield "}" if value else "{}"
    elif isinstance(value, (list, tuple)) and _size(value) > _PIECE:
        group: list[Any] = []
        between, size = "[", 0
        for item in value:
            own = _size(item)
            if group and size + own > _PIECE:
                yield between + _encode(group)[1:-1]
                between, group, size = ",", [], 0
            if own > _PIECE:
                yield between
                yield from _pieces(item)
                between = ","
            else:
                group.append(item)
                size += own
        yield (between + _encode(group)[1:-1] if group else "") + "]"
    else:
        yield _encode(value)


def _size(value: Any) -> int:
    """How many values there are, counted until there are too many for a piece."""
    if not isinstance(value, (list, tuple, dict)):
        return 1
    total = 1 + len(value)
    for part in value.values() if isinstance(value, dict) else value:
        if total > _PIECE:
            break
        if isinstance(part, (list, tuple, dict)):
            total += _size(part)
    return total
