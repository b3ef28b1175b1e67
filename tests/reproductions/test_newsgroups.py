"""Views of 20 Newsgroups: glued and single posts on a small archive, then the real one."""

import io
import tarfile

import numpy as np
import pytest
from corpora import load_newsgroups_views
from corpora.newsgroups import GLUED, _word_views
from corpora.posts import HALVES, clean, header_lines, read_posts, split_header
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

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


def test_header_and_body_share_no_lines(home):
    names = single(home).views.feature_names
    assert {"college0", "question"} <= set(names["header"]) and {"subject", "organization"}.isdisjoint(names["header"])
    assert {"number0", "altatheism"} <= set(names["body"])
    assert set(names["body"]).isdisjoint({"college0", "question", "author0", "quoted", "signature0"})


# -- Posts of 20 Newsgroups: archives and folders in every form, and the parts of a post

FILES = {
    "20news-bydate-test/sci.space/61": b"Subject: late\n\nx",
    "20news-bydate-train/sci.space/100": b"Subject: hundred\n\nx",
    "20news-bydate-train/sci.space/99": b"Subject: ninety-nine\n\nx",
    "20news-bydate-train/alt.atheism/7": b"Subject: caf\xe9\n\nna\xefve",
}
IDS = ["alt.atheism/7", "sci.space/99", "sci.space/100", "sci.space/61"]


def write_archive(home, files, suffix="xz", prefix=""):
    """Pack files as the release is packed: folders are members of their own."""
    path = home / "newsgroups20" / ("20news-bydate.tar" + (f".{suffix}" if suffix else ""))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, f"w:{suffix}") as archive:
        for name in sorted({name.rpartition("/")[0] for name in files}):
            folder = tarfile.TarInfo(prefix + name)
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def write_folders(home, files):
    for name, content in files.items():
        path = home / "newsgroups20" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


# -- files


@pytest.mark.parametrize(("suffix", "prefix"), [("xz", ""), ("gz", "./"), ("bz2", ""), ("", "./")])
def test_any_archive_gives_the_same_posts(tmp_path, suffix, prefix):
    write_archive(tmp_path, FILES, suffix, prefix)
    assert [post.id for post in read_posts(tmp_path)] == IDS


def test_folders_give_what_the_archive_gives(tmp_path):
    write_archive(tmp_path / "a", dict(reversed(FILES.items())))
    write_folders(tmp_path / "b", FILES)
    assert read_posts(tmp_path / "b") == read_posts(tmp_path / "a")
    assert read_posts(tmp_path / "a")[0].text == "Subject: café\n\nnaïve"


def test_halves_are_told_apart_and_selected(tmp_path):
    write_archive(tmp_path, FILES)
    assert [post.half for post in read_posts(tmp_path)] == ["train"] * 3 + ["test"]
    assert [post.id for post in read_posts(tmp_path, "test")] == ["sci.space/61"]
    assert [post.id for post in read_posts(tmp_path, "train")] == IDS[:3]


# -- parts of a post


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Subject: a\n\nbody\n\nmore", ("Subject: a", "body\n\nmore")),
        ("Subject: a\r\n\r\nbody", ("Subject: a", "body")),
        ("Subject: a", ("Subject: a", "")),
        ("", ("", "")),
    ],
)
def test_the_header_ends_at_the_first_empty_line(text, parts):
    assert split_header(text) == parts


@pytest.mark.parametrize("line", ["> quoted", "KM> by initials", "| by bars", "In article <1993@b> a@b (Kim) writes:"])
def test_quotations_and_signatures_are_cut_and_ordinary_lines_kept(line):
    assert clean(f"before\n{line}\nafter", ["quotes"]) == "before\nafter"
    assert clean("If x > y then\nwhat she said", ["quotes"]) == "If x > y then\nwhat she said"
    assert clean("text\n-----\nKim\n-----\n", ["footers"]) == "text"
    far = "text\n-----\n" + "\n".join(["more"] * 20)
    assert clean(far, ["footers"]) == far


def test_header_lines_are_found_in_any_case_and_continue():
    text = (
        "From: a@b\nORGANIZATION: University of\n\tSomewhere\nReply-To: x\n y\nSubject: Re: orbit: low\n\nSubject: no"
    )
    assert header_lines(text, ["organization", "subject"]) == ["University of Somewhere", "Re: orbit: low"]
