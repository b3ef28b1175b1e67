"""Wikipedia featured articles: sections of text with one image each, the classic corpus of cross-modal retrieval."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

from corpora.files import locate, open_mat, read_lines, read_tar
from coview.exceptions import DataFileError
from coview.utils.messages import short
from coview.validation import check_option
from coview.views.views import Views

__all__ = ["load_wikipedia_retrieval"]

IMAGES = ("shares", "counts")
MIN_DF, MAX_DF = 5, 0.5

_FOLDER = "wikipedia_crossmodal"
_SOURCE = (
    "http://www.svcl.ucsd.edu/projects/crossmodal (raw_features.mat, the lists and the texts; the texts packed as "
    "texts.tar with a folder texts/)"
)
_DOCUMENT = re.compile(r"<document\b[^>]*\bid=\"([^\"]+)\"[^>]*>(.*)", re.DOTALL)
_TEXT = re.compile(r"<text>(.*?)</text>", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{2,}")

_DESCR = """Wikipedia featured articles for cross-modal retrieval: {n} sections of text, each with one image.

{n_train} for training and {n_test} for testing, of {n_classes} categories: {counts}.

The view "words" counts the words of the text: lower-case runs of at least two letters that are not in the stop list
that comes with the corpus, are in at least {min_df} training texts and in at most {max_df:.0%} of them; {n_words}
words, no stemming. The view "topics" is given: the shares of 10 topics (latent Dirichlet allocation). The view "image"
is given: a histogram of {n_bins} visual words (SIFT descriptors); image="counts" has the numbers of descriptors, found
again exactly from the shares. The images themselves are not part of the corpus.

`split` is the published one, by sections. Articles have several sections: {n_shared} of the {n_test} test sections are
of an article that has training sections too (`groups` names the article), so a test text often has a near neighbor
among the training texts.

Reference: Rasiwasia et al., A new approach to cross-modal multimedia retrieval, ACM Multimedia 2010.
"""


class _Listed(NamedTuple):
    """One line of a list file."""

    text: str
    image: str
    category: int
    split: str


def load_wikipedia_retrieval(
    data_home: str | Path | None = None, *, image: str = "shares", min_df: int = MIN_DF, max_df: float = MAX_DF
) -> Bunch:
    """Load 2,866 sections of Wikipedia articles with words, 10 given topics and an image.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``wikipedia_crossmodal/`` with ``raw_features.mat``, the lists and ``texts.tar`` (plain or
        compressed: .gz, .xz, .bz2); see `corpora.data_home`.
    image : {"shares", "counts"}, default="shares"
        The histogram of visual words as it is given, with rows that sum to one, or as numbers of descriptors.
    min_df : int, default=5
        Words of fewer training texts are left out.
    max_df : float, default=0.5
        Words of a larger share of the training texts are left out.

    Returns
    -------
    Bunch
        ``views`` (`Views` "words", "topics" and "image" in float64, ids of the texts as ids), ``target`` (integers) and
        ``target_names``, ``split`` ("train" or "test" of each section), ``groups`` (article), ``image_ids``, ``texts``
        (as they are written), ``DESCR``.

    Examples
    --------
    The files of a corpus of two sections:

    >>> import io, tarfile, tempfile
    >>> from pathlib import Path
    >>> from scipy.io import savemat
    >>> from corpora import load_wikipedia_retrieval
    >>> folder = Path(tempfile.mkdtemp()) / "wikipedia_crossmodal"
    >>> folder.mkdir()
    >>> for name, line in [("train", "a-1 p1 1"), ("test", "b-1 p2 2")]:
    ...     _ = (folder / f"{name}set_txt_img_cat.list").write_text(line)
    >>> _ = (folder / "categories.list").write_text("art\\nmusic")
    >>> _ = (folder / "stopwords.txt").write_text("the")
    >>> T, I = [[0.5, 0.5]], [[0.25, 0.75]]
    >>> savemat(folder / "raw_features.mat", {"T_tr": T, "T_te": T, "I_tr": I, "I_te": I})
    >>> with tarfile.open(folder / "texts.tar", "w") as archive:
    ...     for name, text in [("a-1", "The old red house"), ("b-1", "A red drum")]:
    ...         data = f'<document id="{name}"><text>{text}</text></document>'.encode()
    ...         entry = tarfile.TarInfo(f"texts/{name}.xml")
    ...         entry.size = len(data)
    ...         archive.addfile(entry, io.BytesIO(data))
    >>> corpus = load_wikipedia_retrieval(folder.parent, image="counts", min_df=1, max_df=1.0)
    >>> corpus.views.feature_names["words"].tolist(), corpus.views["words"].toarray().tolist()
    (['house', 'old', 'red'], [[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> corpus.views["image"].tolist(), corpus.split.tolist()
    ([[1.0, 3.0], [1.0, 3.0]], ['train', 'test'])
    """
    check_option("image", image, IMAGES)
    listed = [*_read_list("train", data_home), *_read_list("test", data_home)]
    names = [line.decode() for line in read_lines(_find("categories.list", data_home))]
    stop = [line.decode("utf-8", "replace") for line in read_lines(_find("stopwords.txt", data_home))]
    texts = _read_texts(_find("texts.tar", data_home), [row.text for row in listed])
    topics, histogram = _read_features(_find("raw_features.mat", data_home), listed)
    is_train = np.array([row.split == "train" for row in listed])
    words, vocabulary = _count_words(texts, is_train, stop, min_df, max_df)
    target = np.array([row.category - 1 for row in listed], dtype=np.int64)
    if target.min() < 0 or target.max() >= len(names):
        raise DataFileError(f"The lists name category {target.max() + 1}, but categories.list has {len(names)} lines.")
    groups = np.array([row.text.rpartition("-")[0] for row in listed])
    features = {"words": vocabulary, "topics": [f"topic{k}" for k in range(topics.shape[1])]}
    counts = ", ".join(f"{name} {count}" for name, count in zip(names, np.bincount(target, minlength=len(names))))
    return Bunch(
        views=Views(
            {"words": words, "topics": topics, "image": counts_of(histogram) if image == "counts" else histogram},
            ids=[row.text for row in listed],
            feature_names={**features, "image": [f"visual{k}" for k in range(histogram.shape[1])]},
        ),
        target=target,
        target_names=np.array(names),
        split=np.array([row.split for row in listed]),
        groups=groups,
        image_ids=np.array([row.image for row in listed]),
        texts=texts,
        DESCR=_DESCR.format(
            n=len(listed),
            n_train=int(is_train.sum()),
            n_test=int((~is_train).sum()),
            n_classes=len(names),
            counts=counts,
            min_df=min_df,
            max_df=max_df,
            n_words=len(vocabulary),
            n_bins=histogram.shape[1],
            n_shared=int(np.isin(groups[~is_train], groups[is_train]).sum()),
        ),
    )


def counts_of(shares: np.ndarray) -> np.ndarray:
    """Whole numbers that have the given shares in each row: the smallest ones that fit to rounding."""
    counts = np.zeros_like(shares, dtype=np.float64)
    for i, row in enumerate(shares):
        least = row[row > 0].min(initial=np.inf)
        for smallest in range(1, 64):  # the rarest visual word was seen so often
            total = round(smallest / least)
            scaled = row * total
            whole = np.rint(scaled)
            if total == 0 or (np.abs(scaled - whole).max() < 1e-2 and whole.sum() == total):
                counts[i] = whole
                break
        else:
            raise DataFileError(f"Row {i} of the histograms holds no shares of whole numbers; use image='shares'.")
    return counts


# -- the files


def _find(name: str, data_home: str | Path | None) -> Path:
    return locate(f"{_FOLDER}/{name}", data_home, _SOURCE)


def _read_list(split: str, data_home: str | Path | None) -> list[_Listed]:
    path = _find(f"{split}set_txt_img_cat.list", data_home)
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.decode().split()
        if len(parts) != 3 or not parts[2].isdigit():
            raise DataFileError(
                f"Line {number} of {str(path)!r} must be a text, an image and the number of a category, got "
                f"{short(line.decode())}."
            )
        rows.append(_Listed(parts[0], parts[1], int(parts[2]), split))
    return rows


def _read_texts(path: Path, wanted: Sequence[str]) -> list[str]:
    """Texts in the order of the wanted ids."""
    files = read_tar(path, lambda name: name.endswith(".xml"))
    texts = dict(parse_document(text.decode("utf-8", "replace"), name) for name, text in files)
    absent = [name for name in wanted if name not in texts]
    if absent:
        raise DataFileError(f"{len(absent)} texts of the lists are not in {str(path)!r}; the first is {absent[0]!r}.")
    return [texts[name] for name in wanted]


def parse_document(document: str, where: str) -> tuple[str, str]:
    """Return the id and the text of a document. Not by an XML parser: a third of the files are not well-formed."""
    head = _DOCUMENT.search(document)
    text = _TEXT.search(head.group(2)) if head else None
    if head is None or text is None:
        raise DataFileError(f"{where!r} holds no <document id=...> with a <text>. Download the texts again.")
    return head.group(1), html.unescape(text.group(1)).strip()


def _read_features(path: Path, listed: Sequence[_Listed]) -> tuple[np.ndarray, np.ndarray]:
    with open_mat(path, "is no MATLAB file with T_tr, T_te, I_tr and I_te") as stored:
        parts = {name: np.asarray(stored[name], dtype=np.float64) for name in ("T_tr", "T_te", "I_tr", "I_te")}
    expected = Counter(row.split for row in listed)
    for name, part in parts.items():
        rows = expected["train" if name.endswith("tr") else "test"]
        if len(part) != rows:
            raise DataFileError(f"{name} of {str(path)!r} has {len(part)} rows, but its list has {rows} lines.")
    return np.vstack([parts["T_tr"], parts["T_te"]]), np.vstack([parts["I_tr"], parts["I_te"]])


def _count_words(
    texts: Sequence[str], is_train: np.ndarray, stop: Iterable[str], min_df: int, max_df: float
) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts of all texts over the words that the training texts have."""
    unwanted = frozenset(stop)

    def words_of(text: str) -> list[str]:
        return [word for word in _WORD.findall(text.lower()) if word not in unwanted]

    counter = CountVectorizer(analyzer=words_of, min_df=min_df, max_df=max_df, dtype=np.float64)
    counter.fit([text for text, train in zip(texts, is_train) if train])
    counts = sparse.csr_array(counter.transform(texts))
    counts.sort_indices()
    return counts, counter.get_feature_names_out().astype(np.str_)
