"""`coview serve` and `coview explore` as a process, and what they refuse before they start."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest
from sklearn.pipeline import make_pipeline

from coview import MultiViewNaiveBayes, TextViews, save, write_views
from coview.cli import serve as commands
from coview.exceptions import ViewsError
from coview.web.service import load_service


@contextmanager
def started(name: str, *words: str, **env: str):
    """Run a command on a free port; gives its address and what it printed so far."""
    command = [sys.executable, "-m", "coview", name, *words, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
    said = ""
    try:
        for line in process.stderr:
            said += line
            found = re.search(r"at (http://\S+)", line)
            if found:
                yield found[1], said
                break
        else:
            raise AssertionError(f"The command ended: {said}")
    finally:
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert (process.wait(timeout=20), said.endswith("Stopped.\n")) == (0, True), said
        process.stderr.close()


def ask(url: str, **given):
    """GET, patiently: the address is printed just before the service listens, and the machine may be busy."""
    with httpx.Client(transport=httpx.HTTPTransport(retries=8), timeout=60) as client:
        return client.get(url, **given)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, retriever, small):
    folder = tmp_path_factory.mktemp("serve")
    save(retriever, folder / "r.coview")
    write_views(small[0], folder / "data")
    return folder


def test_serve_answers_until_it_is_stopped(saved):
    with started("serve", str(saved / "r.coview"), str(saved / "data")) as (url, _):
        found = ask(f"{url}search", params={"q": "wordaa", "source": "words", "k": 3}).json()
        assert len(found["hits"]) == 3
        root = ask(url).json()  # no page
        assert root["model"] == "CrossModalRetriever" and {"/info", "/search"} <= set(root["paths"])
        assert all(ask(f"{url[:-1]}{path}").status_code != 404 for path in root["paths"])


def test_explore_beyond_this_machine_prints_a_token(saved):
    with started("explore", str(saved / "r.coview"), "--host", "0.0.0.0", "--no-browser") as (url, said):
        token = re.search(r"Token .*: (\S+)", said)[1]
        address = url.split("/#")[0].replace("0.0.0.0", "127.0.0.1")
        assert url.endswith(f"#token={token}") and len(token) >= 32
        assert "<title>coview explorer" in ask(f"{address}/").text
        assert ask(f"{address}/info").status_code == 401
        assert ask(f"{address}/info", headers={"Authorization": f"Bearer {token}"}).json()["objects"] == 60


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'pip install "coview\[web\]"'):
        commands.serve(model=None)


def test_a_raw_table_is_shown_with_its_texts(tmp_path):
    table = {"title": ["red fox", "blue sea", "red fox runs", "sea"], "body": ["a fox", "sea is blue", "fox", "salt"]}
    model = make_pipeline(TextViews(), MultiViewNaiveBayes()).fit(table, ["land", "sea", "land", "sea"])
    save(model, tmp_path / "m.coview")
    (tmp_path / "new.csv").write_text("title,body\nred sea,salt\na fox,\n")
    service = load_service(tmp_path / "m.coview", tmp_path / "new.csv")
    assert len(service.data) == 2 and service.texts["title"][0] == "red sea"
    from coview.web.explorer import Explorer

    shown = Explorer(service).object(0)
    assert shown["views"][0]["text"] == "red sea" and shown["columns"] == [["title", "red sea"], ["body", "salt"]]
    save(
        make_pipeline(TextViews(min_df=2), MultiViewNaiveBayes()).fit(table, ["land", "sea", "land", "sea"]),
        tmp_path / "o",
    )
    with pytest.raises(ViewsError, match=r"do not have the same features in view .title."):
        load_service(tmp_path / "m.coview", tmp_path / "new.csv", [tmp_path / "o"])
