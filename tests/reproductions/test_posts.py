"""Posts of 20 Newsgroups: archives and folders in every form, and the parts of a post."""

from __future__ import annotations

import io
import tarfile

import pytest
from corpora.posts import clean, header_lines, read_posts, split_header

from coview.exceptions import DataFileError

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


@pytest.mark.parametrize("suffix", ["xz", ""])
def test_a_cut_archive_is_refused(tmp_path, suffix):
    noise = {f"20news-bydate-train/sci.space/{i}": bytes((i * j) % 251 for j in range(4000)) for i in range(30)}
    path = write_archive(tmp_path, noise, suffix)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataFileError, match="is truncated or damaged"):
        read_posts(tmp_path)


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
