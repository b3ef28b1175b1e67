"""Views of 20 Newsgroups: glued and single posts on a small archive, then the real one."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import load_newsgroups_views
from corpora.newsgroups import GLUED, _word_views
from corpora.posts import HALVES, read_posts
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

GROUPS = sorted({group for layout in GLUED.values() for groups in layout.values() for group in groups})
N = 6  # posts of a group, every third of them in the later half


def text_of(group, i):
    topic = group.replace(".", "").replace("-", "")
    return (
        f"From: author{i}@b\nSubject: Re: {topic} question\nOrganization: college{i % 2}\n\n"
        f"> quoted words\nabout {topic} and {topic} number{i}\n--\nsignature{i}\n"
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    train, test = HALVES
    for group in GROUPS:
        for i in range(N):
            folder = home / "newsgroups20" / (test if i % 3 == 2 else train) / group
            folder.mkdir(parents=True, exist_ok=True)
            (folder / str(i)).write_text(text_of(group, i), encoding="latin-1")
    return home


def glued(home, variant="v2", **options):
    return load_newsgroups_views(variant, data_home=home, **{"min_df": 1, "n_per_class": 4, **options})


def single(home, **options):
    return load_newsgroups_views("posts", data_home=home, **{"min_df": 1, **options})


# -- words


def test_counts_are_canonical_float64_and_texts_of_stop_words_are_present():
    texts = {"body": ["the", "", " ?!\n", "orbit Orbit"]}
    views = _word_views(texts, np.arange(4), {"body": 1}, "counts")
    counts = views["body"]
    assert isinstance(counts, sparse.csr_array) and counts.has_canonical_format and counts.dtype == np.float64
    assert counts.toarray().tolist() == [[0], [0], [0], [2]]
    assert views.present[:, 0].tolist() == [True, False, False, True]


# -- glued posts


@pytest.mark.parametrize(("variant", "n_views", "n_classes"), [("v2", 2, 2), ("v4", 4, 3)])
def test_every_class_has_as_many_objects_and_every_view_its_groups(home, variant, n_views, n_classes):
    corpus = glued(home, variant)
    assert corpus.views.names == tuple(f"view{v + 1}" for v in range(n_views))
    assert corpus.target.tolist() == np.repeat(range(n_classes), 4).tolist()
    assert corpus.target_names.tolist() == [f"class{c + 1}" for c in range(n_classes)]
    for view, ids in corpus.posts.items():
        found = [GLUED[variant][view].index(post.rpartition("/")[0]) for post in ids]
        assert found == corpus.target.tolist()
        assert len(set(ids.tolist())) == len(ids)  # drawn without replacement


def test_a_row_counts_the_words_of_its_posts(home):
    corpus = glued(home)
    texts = {post.id: post.text for post in read_posts(home)}
    for view in corpus.views.names:
        vocabulary = corpus.views.feature_names[view]
        oracle = CountVectorizer(vocabulary=vocabulary).transform([texts[post] for post in corpus.posts[view]])
        assert np.array_equal(corpus.views[view].toarray(), oracle.toarray())


# -- single posts


def test_header_and_body_share_no_lines(home):
    names = single(home).views.feature_names
    assert {"college0", "question"} <= set(names["header"]) and {"subject", "organization"}.isdisjoint(names["header"])
    assert {"number0", "altatheism"} <= set(names["body"])
    assert set(names["body"]).isdisjoint({"college0", "question", "author0", "quoted", "signature0"})


# -- options


@pytest.mark.parametrize("norm", [None, "l2"])
def test_weighting_is_that_of_scikit_learn(home, norm):
    counts, weighed = single(home).views, single(home, weighting="l2" if norm else "tfidf").views
    for name in counts:
        expected = TfidfTransformer(norm=norm).fit_transform(counts[name])
        assert np.allclose(weighed[name].toarray(), expected.toarray(), rtol=1e-12)
