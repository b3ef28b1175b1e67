"""Parts of sentences: values and lists cut short, names that were meant, files that are broken, data safe to print."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coview.exceptions import CoviewError, DataFileError

__all__ = [
    "cut",
    "did_you_mean",
    "file_errors",
    "find_close_names",
    "listed",
    "make_text_error",
    "printable",
    "quantity",
    "short",
]

_MOST_NAMES = 20  # of a list; a table may have thousands of columns
# what a terminal obeys (escape sequences, backspaces), what turns the direction of a line, and halves of characters
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def short(value: Any, most: int = 40) -> str:
    """Return a value as it stands in an error: its repr on one line, cut where it is long.

    Examples
    --------
    >>> short("fox"), short("A long text about a fox " * 100), short(list(range(100)))
    ("'fox'", "'A long text about a fox A long text abou...'", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1...')
    >>> import numpy as np
    >>> short(np.int64(3)), short(np.str_("fox"))
    ('3', "'fox'")
    """
    import numpy as np  # here: the help of the command line needs no numbers

    if isinstance(value, np.generic):  # 3, not np.int64(3)
        value = value.item()
    if isinstance(value, str):
        return repr(str(value) if len(value) <= most else f"{value[:most]}...")
    return cut(repr(value), most)


def cut(text: str, most: int = 80) -> str:
    """Return a text on one line, cut where it is long: the words of another library may quote a whole value.

    Examples
    --------
    >>> cut("could not convert string to float: 'A long text about a fox'", 40)
    "could not convert string to float: 'A lo..."
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."


def listed(names: Iterable[Any]) -> str:
    """Return names as they stand in an error: quoted, with commas, the first of them where there are many.

    Examples
    --------
    >>> listed(["words", "links"]), listed(range(1000))[-21:]
    ("'words', 'links'", '18, 19 and 980 others')
    """
    items = list(names)
    more = f" and {len(items) - _MOST_NAMES} others" if len(items) > _MOST_NAMES + 1 else ""
    return ", ".join(short(name) for name in (items[:_MOST_NAMES] if more else items)) + more


def find_close_names(name: Any, known: Iterable[Any], most: int = 1) -> list[str]:
    """Return the known names that are nearly the one that was given, the closest first.

    Capitals do not matter, and numbers are not compared. Of many names only those are looked at that begin or end with
    the same two letters.

    Examples
    --------
    >>> find_close_names("gpartd", ["parted", "GParted", "gimp", 7], most=2)
    ['GParted', 'parted']
    """
    spelled = {each.lower(): each for each in known if isinstance(each, str)}
    asked = str(name).lower()[:200]
    likely = list(spelled)
    if len(likely) > 2000:  # comparing more takes long
        likely = [each for each in likely if each[:2] == asked[:2] or each[-2:] == asked[-2:]][:2000]
    # of several names all are to be close, not the best of them alone
    cutoff = 0.6 if most == 1 else 0.65
    return [spelled[each] for each in difflib.get_close_matches(asked, likely, n=most, cutoff=cutoff)]


def quantity(n: int, noun: str) -> str:
    """Return how many there are of something, in words that agree.

    Examples
    --------
    >>> quantity(1, "edit"), quantity(2_000, "object"), quantity(0, "class")
    ('1 edit', '2,000 objects', '0 classes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def did_you_mean(name: Any, known: Iterable[Any], most: int = 1) -> str:
    """Return a question about known names that are nearly the one that was given, to end an error; empty if none is.

    The names are those of `find_close_names`. The question begins with a space.

    Examples
    --------
    >>> "There is no view 'wrods'." + did_you_mean("wrods", ["words", "links"])
    "There is no view 'wrods'. Did you mean 'words'?"
    >>> did_you_mean("image", ["words", "links"])
    ''
    """
    near = find_close_names(name, known, most)
    return f" Did you mean {' or '.join(map(short, near))}?" if near else ""


def make_text_error(path: str | Path, error: UnicodeDecodeError) -> DataFileError:
    """Return the error for a file of text that is in another encoding, or no text at all.

    Examples
    --------
    >>> try:
    ...     b"caf\\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     print(make_text_error("menu.csv", error))
    menu.csv is not text in UTF-8 (it has the byte 0xe9). Save the file as UTF-8.
    """
    byte = error.object[error.start]
    return DataFileError(f"{path} is not text in UTF-8 (it has the byte 0x{byte:02x}). Save the file as UTF-8.")


def printable(text: Any, *, lines: bool = False) -> str:
    """Return a text from data as a terminal can show it: control characters are written out, not obeyed.

    Parameters
    ----------
    text : object
        What to print.
    lines : bool, default=False
        Keep the ends of lines and tabs.

    Examples
    --------
    >>> print(printable("red \\x1b[31mfox\\n"))
    red \\x1b[31mfox\\n
    """

    def written(match: re.Match[str]) -> str:
        sign = match[0]
        return sign if lines and sign in "\n\t" else sign.encode("unicode_escape").decode()

    return _CONTROLS.sub(written, str(text))


@contextmanager
def file_errors(problem: str, advice: str = "Write it again.") -> Iterator[None]:
    """Turn the errors of each format's library into one of ours: all mean the same to the reader."""
    try:
        yield
    except CoviewError:
        raise
    except MemoryError as error:
        raise DataFileError(f"{problem} (it needs more memory than there is). {advice}") from error
    except BaseException as error:
        # polars' panics are no Exception to Python
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = cut(str(error), 200).rstrip(". ") or type(error).__name__
        raise DataFileError(f"{problem} ({why}). {advice}") from error
