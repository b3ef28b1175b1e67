"""Files in the data home are used as they are; the rest is downloaded whole and checked, or refused in a sentence."""

import bz2
import gzip
import hashlib
import lzma
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from corpora.files import data_home, fetch, locate, read_lines

from coview.exceptions import DataFileError

CONTENT = b"35\t0\t1\tGenetic_Algorithms\n" * 5000
SHA = hashlib.sha256(CONTENT).hexdigest()
NAME = "cora/cora.content"
NOWHERE = "http://127.0.0.1:1/corpora"  # nothing listens on port 1


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder; `/cut/...` promises more bytes than it sends."""

    def do_GET(self):
        if not self.path.startswith("/cut/"):
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:1000])

    def log_message(self, format, *args):
        self.server.asked.append(self.path)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")  # whatever this machine's way to the web is


@pytest.fixture
def server(tmp_path):
    """A web server on this machine with one good and one altered copy of the file; its `asked` lists the requests."""
    for folder, content in (("good", CONTENT), ("altered", CONTENT[:-1] + b"!")):
        (tmp_path / "web" / folder).mkdir(parents=True)
        (tmp_path / "web" / folder / "cora.content").write_bytes(content)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(tmp_path / "web"))) as httpd:
        httpd.asked = []
        httpd.url = f"http://127.0.0.1:{httpd.server_port}"
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield httpd
        httpd.shutdown()
        thread.join(5)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("value", [None, ""])
def test_data_home_is_the_argument_the_environment_or_the_users_cache(monkeypatch, value, tmp_path):
    from platformdirs import user_cache_dir

    monkeypatch.setenv("COVIEW_DATA", str(tmp_path / "environment"))
    assert data_home(str(tmp_path / "argument")) == tmp_path / "argument"
    assert data_home("~/corpora") == Path.home() / "corpora"
    assert data_home() == tmp_path / "environment" and list(tmp_path.iterdir()) == []
    if value is None:
        monkeypatch.delenv("COVIEW_DATA", raising=False)
    else:
        monkeypatch.setenv("COVIEW_DATA", value)
    assert data_home() == Path(user_cache_dir("coview", appauthor=False))


def test_download_lands_in_its_place_and_nothing_else_stays(server, home):
    path = fetch(NAME, {NAME: SHA}, f"{server.url}/good/", home)
    assert path == home / NAME
    assert path.read_bytes() == CONTENT
    assert files_in(home) == [NAME]
    fetch(NAME, {NAME: SHA}, f"{server.url}/good", home)  # from its place
    assert server.asked == ["/good/cora.content"]


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("altered", "its SHA-256 is not the registered one"),
        ("cut", "could not be downloaded"),
        ("absent", r"absent/cora\.content \(HTTP status 404\)"),
    ],
)
def test_what_is_not_the_registered_file_is_refused_and_leaves_nothing(server, home, place, sentence):
    with pytest.raises(DataFileError, match=sentence):
        fetch(NAME, {NAME: SHA}, f"{server.url}/{place}", home, timeout=5)
    assert not home.exists() or files_in(home) == []


def test_next_mirror_is_asked_when_one_fails(server, home):
    mirrors = [NOWHERE, f"{server.url}/absent", f"{server.url}/altered", f"{server.url}/good"]
    assert fetch(NAME, {NAME: SHA}, mirrors, home).read_bytes() == CONTENT


# -- found plain or compressed, and read

TEXT = b"  one\t1\r\n\r\ntwo\t2"
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def find(folder, name="corpus/a.txt", files=None):
    return locate(name, folder, "https://example.org/a.tgz", files, NOWHERE)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus").mkdir()
    return tmp_path


@pytest.mark.parametrize("suffix", PACK)
def test_lines_are_the_same_however_the_file_is_packed(folder, suffix):
    (folder / f"corpus/a.txt{suffix}").write_bytes(PACK[suffix](TEXT))
    assert list(read_lines(find(folder))) == [b"one\t1", b"two\t2"]


def test_an_absent_file_without_a_checksum_is_never_downloaded(folder):
    with pytest.raises(DataFileError, match=r"Get it from https://example\.org/a\.tgz and put it at .*a\.txt"):
        find(folder)
