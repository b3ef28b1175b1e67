"""News collected at University College Dublin: 3sources, and the segments of BBC and BBCSport.

A view is three files: ``NAME.mtx`` counts words in the Matrix Market format, terms x documents; ``NAME.terms`` and
``NAME.docs`` name its rows and columns, a line each. ``COLLECTION.clist`` has a line per class: its name, a colon, and
its documents, separated by commas. A view holds the documents that have it, in an order of its own.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import mmread
from sklearn.utils import Bunch

from corpora.files import damaged, locate, read_lines
from coview.exceptions import DataFileError
from coview.validation import check_option
from coview.views.views import Views

__all__ = ["load_3sources", "load_bbc_segments"]

_SITE = "http://mlg.ucd.ie/datasets"
_PAPERS = ("bbc", "guardian", "reuters")

_SOURCES = """3sources: {n} news stories of {k} topics, each as told by up to three papers in 2009.

BBC, The Guardian and Reuters: a view counts the words of the story in that paper ({words}), where it ran.
{missing} of these stories lack(s) a view. The target is the story's main topic.

Reference: Greene and Cunningham, A matrix factorization approach for integrating multiple data views, ECML PKDD 2009.
"""

_SEGMENTS = """{name}: {n} articles of {k} classes, cut into {v} segments of consecutive paragraphs, a view each.

A view counts the words of a segment ({words}). {missing} of these articles lack(s) a view: a segment has at
least 200 characters, and short articles have fewer segments.

Reference: Greene and Cunningham, Practical solutions to the problem of diagonal dominance in kernel document
clustering, ICML 2006.
"""


def load_3sources(data_home: str | Path | None = None, *, complete: bool = True) -> Bunch:
    """Load 3sources: news stories as told by the BBC, The Guardian and Reuters.

    Of 416 stories 169 ran in all three papers; these are what papers on multi-view clustering use.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``3sources/3sources_bbc.mtx``, ``.terms`` and ``.docs``, the same for "guardian" and
        "reuters", and ``3sources/3sources.disjoint.clist``, plain or compressed; see `corpora.data_home`. There
        is no download: where they are absent, the error says where to get them.
    complete : bool, default=True
        Leave out stories that lack a view.

    Returns
    -------
    Bunch
        ``views`` (`Views` "bbc", "guardian" and "reuters", sparse counts, with ids and words), ``target`` (integers),
        ``target_names`` (the topics), ``DESCR``.

    Examples
    --------
    Two stories, of which one ran everywhere:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_3sources
    >>> folder = Path(tempfile.mkdtemp()) / "3sources"
    >>> folder.mkdir()
    >>> _ = (folder / "3sources.disjoint.clist").write_text("sport: 2\\nhealth: 1\\n")
    >>> for paper, stories in {"bbc": "1\\n2\\n", "guardian": "2\\n", "reuters": "2\\n"}.items():
    ...     n = len(stories.split())
    ...     counts = f"%%MatrixMarket matrix coordinate real general\\n1 {n} 1\\n1 {n} 3\\n"
    ...     for ending, text in {"mtx": counts, "terms": "win\\n", "docs": stories}.items():
    ...         _ = (folder / f"3sources_{paper}.{ending}").write_text(text)
    >>> corpus = load_3sources(folder.parent)
    >>> corpus.views.ids.tolist(), corpus.target_names[corpus.target].tolist()
    (['2'], ['sport'])
    >>> load_3sources(folder.parent, complete=False).views.present.tolist()
    [[True, False, False], [True, True, True]]
    """
    names = {paper: f"3sources/3sources_{paper}" for paper in _PAPERS}
    return _load(names, "3sources/3sources.disjoint.clist", f"{_SITE}/3sources.html", complete, data_home, _SOURCES)


def load_bbc_segments(
    collection: str = "bbcsport", n_segments: int = 2, data_home: str | Path | None = None, *, complete: bool = True
) -> Bunch:
    """Load articles of the BBC, news or sport, cut into two, three or four segments.

    Parameters
    ----------
    collection : {"bbcsport", "bbc"}, default="bbcsport"
        737 articles on five kinds of sport, or 2,225 on business, entertainment, politics, sport and technology.
    n_segments : {2, 3, 4}, default=2
        Number of views.
    data_home : path, optional
        Folder that holds ``bbcsport/bbcsport_seg1of2.mtx``, ``.terms`` and ``.docs``, the same for the other segments,
        and ``bbcsport/bbcsport.clist`` (or "bbc" for "bbcsport"), plain or compressed; see
        `corpora.data_home`. There is no download: where they are absent, the error says where to get them.
    complete : bool, default=True
        Leave out articles that lack a view.

    Returns
    -------
    Bunch
        ``views`` (`Views` "segment1", "segment2", ..., sparse counts, with ids and words), ``target`` (integers),
        ``target_names`` (the classes), ``DESCR``.

    Examples
    --------
    >>> from corpora import load_bbc_segments
    >>> corpus = load_bbc_segments("bbc", 4)  # doctest: +SKIP
    >>> corpus.views.names, len(corpus.target)  # doctest: +SKIP
    (('segment1', 'segment2', 'segment3', 'segment4'), 685)
    """
    check_option("collection", collection, ("bbcsport", "bbc"))
    if n_segments not in (2, 3, 4) or isinstance(n_segments, bool):
        raise ValueError(f"n_segments must be 2, 3 or 4, got {n_segments!r}.")
    parts = range(1, n_segments + 1)
    names = {f"segment{part}": f"{collection}/{collection}_seg{part}of{n_segments}" for part in parts}
    clist = f"{collection}/{collection}.clist"
    return _load(names, clist, f"{_SITE}/segment.html", complete, data_home, _SEGMENTS, name=collection)


def _load(
    names: Mapping[str, str],
    clist: str,
    source: str,
    complete: bool,
    data_home: str | Path | None,
    described: str,
    **about: str,
) -> Bunch:
    classes = _classes(locate(clist, data_home, source))
    parts, words = {}, {}
    for view, name in names.items():
        paths = {ending: locate(f"{name}.{ending}", data_home, source) for ending in ("mtx", "terms", "docs")}
        parts[view], words[view] = _view(paths)
    if complete and not set.intersection(*(set(documents) for documents, _ in parts.values())):
        raise DataFileError(f"No document of {clist!r} has all views. Load them with complete=False.")
    joined = Views.align(parts, how="inner" if complete else "outer")
    assert joined.ids is not None
    unknown = [document for document in joined.ids if document not in classes]
    if unknown:
        raise DataFileError(f"{clist!r} names no class for document {str(unknown[0])!r} ({len(unknown)} in all).")
    target_names, target = np.unique([classes[document] for document in joined.ids], return_inverse=True)
    views = Views(joined, feature_names=words)
    return Bunch(
        views=views,
        target=target.astype(np.int64),
        target_names=target_names,
        DESCR=described.format(
            n=len(target),
            k=len(target_names),
            v=len(names),
            missing=int((~views.present.all(axis=1)).sum()),
            words=", ".join(f"{view} {len(terms)}" for view, terms in words.items()),
            **about,
        ),
    )


def _classes(path: Path) -> dict[str, str]:
    """The class of each document."""
    found: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name, colon, documents = line.decode("latin-1").partition(":")
        if not colon:
            raise DataFileError(f"Line {number} of {str(path)!r} has no colon after the name of a class.")
        for document in filter(None, map(str.strip, documents.split(","))):
            if document in found:
                raise DataFileError(f"{str(path)!r} names two classes for document {document!r}.")
            found[document] = name.strip()
    if not found:
        raise damaged(path, "has no documents")
    return found


def _view(paths: Mapping[str, Path]) -> tuple[tuple[list[str], sparse.csr_array], np.ndarray]:
    """Ids and counts of one view, documents x terms, and the terms."""
    terms, documents = ([line.decode("latin-1") for line in read_lines(paths[name])] for name in ("terms", "docs"))
    try:
        counts = sparse.csr_array(mmread(io.BytesIO(b"\n".join(read_lines(paths["mtx"])))).T, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(paths["mtx"], f"is not in the Matrix Market format ({error})") from error
    if counts.shape != (len(documents), len(terms)):
        raise damaged(
            paths["mtx"],
            f"has {counts.shape[1]} terms and {counts.shape[0]} documents, but there are {len(terms)} and "
            f"{len(documents)} names",
        )
    return (documents, counts), np.array(terms)
