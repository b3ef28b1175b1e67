"""Posts of 20 Newsgroups: the files of the "bydate" release, and the parts of a post."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from corpora.files import data_home as find_data_home
from corpora.files import locate, read_tar
from coview.exceptions import DataFileError
from coview.validation import check_option

__all__ = ["HALVES", "REMOVABLE", "Post", "clean", "header_lines", "read_posts", "split_header"]

HALVES = {"20news-bydate-train": "train", "20news-bydate-test": "test"}  # folder -> half
REMOVABLE = ("headers", "quotes", "footers")

_FOLDER, _ARCHIVE = "newsgroups20", "20news-bydate.tar"
_FILES = {f"{_FOLDER}/{_ARCHIVE}.gz": "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610"}
_URLS = ("http://qwone.com/~jason/20Newsgroups", "https://people.csail.mit.edu/jrennie/20Newsgroups")

_QUOTED = re.compile(r"[ \t]*(?:\w{0,4}>|[|:}\]])|In article\b").match
_CONTINUED = re.compile(r"[ \t]*\n[ \t]+")  # a header line that begins with white space belongs to the one above
_ATTRIBUTION = ("writes", "wrote", "says", "said")
_SIGNATURE_LINES = 12  # a rule of dashes with more lines below it is part of the text


class Post(NamedTuple):
    """A post: "train" or "test", its newsgroup, the number that is its file's name, and the text of the file.

    Examples
    --------
    >>> Post("test", "sci.space", "61", "Subject: Orbits").id
    'sci.space/61'
    """

    half: str
    group: str
    number: str
    text: str

    @property
    def id(self) -> str:
        """Newsgroup and number, which name a post of either half."""
        return f"{self.group}/{self.number}"


def read_posts(
    data_home: str | Path | None = None, subset: str = "all", groups: Collection[str] | None = None
) -> list[Post]:
    """Return the posts of the "bydate" release: the earlier half first, by group, by number.

    Parameters
    ----------
    data_home : path, optional
        See `load_newsgroups_views`.
    subset : {"all", "train", "test"}, default="all"
        Which half.
    groups : sequence of str, optional
        Only these groups, every one of which must be there; all by default.
    """
    check_option("subset", subset, ("all", *HALVES.values()))
    halves = tuple(HALVES.values()) if subset == "all" else (subset,)

    def wanted(name: str) -> bool:
        half, group, number = _place_of(name)
        return HALVES.get(half) in halves and not number.startswith(".") and (groups is None or group in groups)

    source = _find_source(find_data_home(data_home))
    posts = []
    for name, text in _read_folder(source, wanted) if source.is_dir() else read_tar(source, wanted):
        half, group, number = _place_of(name)
        posts.append(Post(HALVES[half], group, number, text.decode("latin-1")))
    lacking = sorted(set(groups or ()) - {post.group for post in posts})
    if lacking or not posts:
        what = f"of {', '.join(map(repr, lacking))} " if lacking else ""
        raise DataFileError(f"{str(source)!r} has no posts {what}in subset={subset!r}. Download the archive again.")
    # numbers of different length sort as numbers when the shorter come first
    posts.sort(key=lambda post: (halves.index(post.half), post.group, len(post.number), post.number))
    return posts


def _find_source(home: Path) -> Path:
    folder = home / _FOLDER
    if any((folder / half).is_dir() for half in HALVES):
        return folder
    return locate(f"{_FOLDER}/{_ARCHIVE}", home, _URLS[0], _FILES, _URLS)


def _read_folder(folder: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    for path in folder.glob("*/*/*"):
        if wanted(path.as_posix()) and path.is_file():
            yield path.as_posix(), path.read_bytes()


def _place_of(name: str) -> list[str]:
    """Half, group and number of a file; empty of one that is not in two folders."""
    return ["", "", *name.split("/")][-3:]


# -- parts of a post


def clean(text: str, remove: Sequence[str]) -> str:
    """Cut headers, quotes or footers from a post."""
    if "headers" in remove:
        text = split_header(text)[1]
    if "footers" not in remove and "quotes" not in remove:
        return text
    lines = text.rstrip().split("\n")  # not splitlines: form feeds and the like are in texts, and break no line
    if "footers" in remove:
        lines = lines[: _start_of_footer(lines)]
    if "quotes" in remove:
        lines = [line for line in lines if not (_QUOTED(line) or _is_attribution(line))]
    return "\n".join(lines)


def split_header(text: str) -> tuple[str, str]:
    """Part a post at its first empty line; a post without one is all header."""
    header, _, body = text.replace("\r\n", "\n").partition("\n\n")
    return header, body


def header_lines(text: str, names: Sequence[str]) -> list[str]:
    """Contents of the named header lines of a post, with the lines that continue them."""
    header = _CONTINUED.sub(" ", split_header(text)[0])
    lines = (line.partition(":") for line in header.split("\n"))
    return [content.strip() for name, _, content in lines if name.rstrip().lower() in names]


def _start_of_footer(lines: list[str]) -> int:
    """Where the signature begins: at the first rule of dashes among the last lines that has text above it."""
    for i in range(max(1, len(lines) - 1 - _SIGNATURE_LINES), len(lines)):
        if _is_rule(lines[i]) and any(line.strip() for line in lines[:i]):
            return i
    return len(lines)


def _is_rule(line: str) -> bool:
    line = line.strip()
    return len(line) > 1 and not line.strip("-_=")


def _is_attribution(line: str) -> bool:
    line = line.rstrip()
    return line.endswith(":") and line[-12:].rstrip(": ").lower().endswith(_ATTRIBUTION)
