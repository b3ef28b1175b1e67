"""20 Newsgroups in several views: objects glued from posts of different groups, or single posts by header and body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch, check_random_state

from corpora.posts import REMOVABLE, Post, clean, header_lines, read_posts
from coview.preprocessing.weighting import TfidfViews
from coview.validation import check_option, values_by_view
from coview.views.views import Views

__all__ = ["GLUED", "load_newsgroups_views"]

# view -> the group of each class
GLUED: dict[str, dict[str, tuple[str, ...]]] = {
    "v2": {
        "view1": ("comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
        "view2": ("talk.politics.mideast", "talk.politics.misc"),
    },
    "v4": {
        "view1": ("alt.atheism", "comp.graphics", "comp.os.ms-windows.misc"),
        "view2": ("comp.windows.x", "misc.forsale", "rec.autos"),
        "view3": ("rec.sport.hockey", "sci.crypt", "sci.electronics"),
        "view4": ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    },
}
_WEIGHTING: dict[str, Any] = {"counts": None, "tfidf": {"norm": None}, "l2": {"norm": "l2"}}

_ANY_WORD = re.compile(r"\w").search  # stop words and single letters count: the post says something
_GLUED_DESCR = """20 Newsgroups, combined: each object is one post per view, and all its posts belong to the same class.

{n} objects, {per_class} per class:
{table}

The construction is that of NewsGv{n_views} in Zhuang et al. (Multi-view learning via probabilistic latent semantic
analysis, 2012), after Long et al. (A general model for multiple view unsupervised learning, 2008): for each class and
view, {per_class} posts of a group are drawn at random, and the i-th posts of all views form an object. The paper states
500 posts per class, tf-idf and a document frequency of 5, and leaves open which parts of a post count, the stop words
and the draw. Here:

  texts      {kept}
  words      two or more letters, digits or underscores, in lower case, without scikit-learn's English stop words
  min_df     {min_df} posts of the view
  weighting  {weighting}

The paper's vocabularies are larger (NewsGv2: 3837, 7452; NewsGv4: 6783, 6307, 7717, 9336); it may have used the release
of 19,997 posts, whose headers are longer. This is the "bydate" release.
"""

_POSTS_DESCR = """20 Newsgroups, single posts: what the header says against what the body says.

{n} posts of {k} groups, "bydate" release ({halves}).

  header     words of the Subject and Organization lines
  body       words of the text, {kept}
  words      two or more letters, digits or underscores, in lower case, without scikit-learn's English stop words
  min_df     {min_df} posts of the view
  weighting  {weighting}

A post that has no word at all in a view lacks that view.

The target is the group. `hierarchy` maps each group to the first part of its name: alt, comp, misc, rec, sci, soc,
talk. `groups` tells the earlier posts of each group ("train") from the later ones ("test").
"""


def load_newsgroups_views(
    variant: str = "v2",
    subset: str = "all",
    data_home: str | Path | None = None,
    *,
    weighting: str = "counts",
    min_df: int | Mapping[str, int] = 5,
    remove: Sequence[str] | None = None,
    n_per_class: int = 500,
    random_state: Any = 0,
) -> Bunch:
    """Load 20 Newsgroups in several views.

    Parameters
    ----------
    variant : {"v2", "v4", "posts"}, default="v2"
        "v2" and "v4" glue posts of different groups into objects of 2 views and 2 classes, or 4 views and 3 classes
        (`corpora.newsgroups.GLUED` has the groups). In "posts" every object is one post: view "header" is its
        subject and organisation, view "body" its text, and the target is one of 20 groups.
    subset : {"all", "train", "test"}, default="all"
        Posts of both halves of the "bydate" release, of the earlier half (11,314), or of the later one (7,532).
    data_home : path, optional
        Folder that holds ``newsgroups20/20news-bydate.tar`` (.xz, .gz, .bz2 or plain), or the two folders of that
        archive in ``newsgroups20/``; see `corpora.data_home`. What is absent is downloaded.
    weighting : {"counts", "tfidf", "l2"}, default="counts"
        How often each word occurs; that times ``log((1 + n) / (1 + df)) + 1``; or the latter with rows of length 1.
    min_df : int or {view: int}, default=5
        Least number of posts of a view that a word must occur in.
    remove : list of "headers", "quotes" and "footers", optional
        What is cut from a text: the lines up to the first empty one, lines quoted from other posts, the signature.
        By default nothing for "v2" and "v4", and quotes and footers for "posts", whose bodies never have headers.
    n_per_class : int, default=500
        Objects per class of "v2" and "v4".
    random_state : int, RandomState or None, default=0
        Seed for drawing and combining the posts in "v2" and "v4".

    Returns
    -------
    Bunch
        ``views`` (sparse float64 with ids and the words as feature names), ``target`` (integers), ``target_names``,
        ``DESCR``. "v2" and "v4" add ``posts`` ({view: ids of the posts}); "posts" adds ``hierarchy`` ({group: first
        part of its name}) and ``groups`` ("train" or "test" for each post).

    Examples
    --------
    Two posts in a folder, as they are in the archive:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from corpora import load_newsgroups_views
    >>> folder = Path(tempfile.mkdtemp(), "newsgroups20", "20news-bydate-train", "sci.space")
    >>> folder.mkdir(parents=True)
    >>> _ = (folder / "1").write_text("Subject: Re: Moon base\\nOrganization: NASA\\n\\nWho pays?")
    >>> _ = (folder / "2").write_text("Subject: Orbits\\n\\nA low orbit pays.\\n--\\nKim")
    >>> corpus = load_newsgroups_views("posts", data_home=folder.parents[2], min_df=1)
    >>> corpus.views.feature_names["header"].tolist(), corpus.views.feature_names["body"].tolist()
    (['base', 'moon', 'nasa', 'orbits'], ['low', 'orbit', 'pays'])
    >>> corpus.hierarchy
    {'sci.space': 'sci'}
    """
    check_option("variant", variant, (*GLUED, "posts"))
    check_option("subset", subset, ("all", "train", "test"))
    check_option("weighting", weighting, tuple(_WEIGHTING))
    names = tuple(GLUED[variant]) if variant in GLUED else ("header", "body")
    floors = values_by_view("min_df", min_df, names)
    if remove is None:
        remove = () if variant in GLUED else ("quotes", "footers")
    for part in remove:
        check_option("remove", part, REMOVABLE)
    if variant in GLUED:
        return _glued(variant, subset, data_home, weighting, floors, tuple(remove), n_per_class, random_state)
    return _single(subset, data_home, weighting, floors, tuple(remove))


def _glued(
    variant: str,
    subset: str,
    data_home: str | Path | None,
    weighting: str,
    floors: dict[str, int],
    remove: tuple[str, ...],
    n_per_class: int,
    random_state: Any,
) -> Bunch:
    layout = GLUED[variant]
    posts: dict[str, list[Post]] = {group: [] for groups in layout.values() for group in groups}
    for post in read_posts(data_home, subset, posts):
        posts[post.group].append(post)
    fewest = min(posts, key=lambda group: len(posts[group]))
    if not isinstance(n_per_class, Integral) or not 1 <= n_per_class <= len(posts[fewest]):
        raise ValueError(
            f"n_per_class must be from 1 to {len(posts[fewest])}, the number of posts of {fewest!r} in "
            f"subset={subset!r}, got {n_per_class!r}."
        )
    random = check_random_state(random_state)
    drawn = {
        view: [posts[group][i] for group in groups for i in random.permutation(len(posts[group]))[:n_per_class]]
        for view, groups in layout.items()
    }
    n_classes = len(next(iter(layout.values())))
    texts = {view: [clean(post.text, remove) for post in chosen] for view, chosen in drawn.items()}
    ids = np.array([f"class{c + 1}-{i:03d}" for c in range(n_classes) for i in range(n_per_class)])
    rows = [f"  {view}: {', '.join(groups)}" for view, groups in layout.items()]
    return Bunch(
        views=_word_views(texts, ids, floors, weighting),
        target=np.repeat(np.arange(n_classes), n_per_class),
        target_names=np.array([f"class{c + 1}" for c in range(n_classes)]),
        posts={view: np.array([post.id for post in chosen]) for view, chosen in drawn.items()},
        DESCR=_GLUED_DESCR.format(
            n=len(ids),
            per_class=n_per_class,
            table="\n".join(rows),
            n_views=len(layout),
            kept=f"all of a post but {' and '.join(remove)}" if remove else "all of a post with its header lines",
            min_df=_one_or_all(floors),
            weighting=weighting,
        ),
    )


def _single(
    subset: str, data_home: str | Path | None, weighting: str, floors: dict[str, int], remove: tuple[str, ...]
) -> Bunch:
    ids, groups, halves = [], [], []
    texts: dict[str, list[str]] = {"header": [], "body": []}
    for post in read_posts(data_home, subset):
        ids.append(post.id)
        groups.append(post.group)
        halves.append(post.half)
        texts["header"].append(" ".join(header_lines(post.text, ("subject", "organization", "organisation"))))
        texts["body"].append(clean(post.text, ("headers", *remove)))
    target_names, target = np.unique(groups, return_inverse=True)
    return Bunch(
        views=_word_views(texts, np.array(ids), floors, weighting),
        target=target.astype(np.int64),
        target_names=target_names,
        hierarchy={str(group): str(group).partition(".")[0] for group in target_names},
        groups=np.array(halves),
        DESCR=_POSTS_DESCR.format(
            n=len(ids),
            k=len(target_names),
            halves=", ".join(f"{halves.count(half)} {half}" for half in dict.fromkeys(halves)),
            kept=f"without {' and '.join(remove)}" if remove else "whole",
            min_df=_one_or_all(floors),
            weighting=weighting,
        ),
    )


# -- from texts to views


def _word_views(texts: Mapping[str, list[str]], ids: np.ndarray, floors: Mapping[str, int], weighting: str) -> Views:
    matrices, names, present = {}, {}, {}
    for view, column in texts.items():
        vectorizer = CountVectorizer(stop_words="english", min_df=floors[view], dtype=np.float64)
        try:
            matrices[view] = sparse.csr_array(vectorizer.fit_transform(column))
        except ValueError:  # no word is left
            raise ValueError(
                f"No word is in {floors[view]} or more of the {len(column)} posts of view {view!r}. Lower min_df."
            ) from None
        names[view] = vectorizer.get_feature_names_out().astype(np.str_)
        present[view] = np.array([bool(_ANY_WORD(text)) for text in column])
    views = Views(matrices, ids=ids, present=present, feature_names=names)
    options = _WEIGHTING[weighting]
    return views if options is None else TfidfViews(**options).fit_transform(views)


def _one_or_all(floors: Mapping[str, int]) -> str:
    different = set(floors.values())
    if len(different) == 1:
        return str(different.pop())
    return " / ".join(f"{floor} ({view})" for view, floor in floors.items())
