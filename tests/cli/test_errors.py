"""What the command line says when it refuses names options, not arguments of Python."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from coview import MultiViewNaiveBayes, Views, save, write_views
from coview.cli import app
from coview.datasets import make_topic_views
from coview.exceptions import ParameterError, ViewsError

FIT = ["fit", "PLSA", "--set", "n_components=2", "--out", "m.coview"]
COMMANDS = {
    "no labels": (["fit", "SeededKMeansClassifier", "views", "--labels", "none.txt"], "--labels has no label"),
    "too many clusters": (["fit", "CCAClustering", "views", "--set", "n_clusters=99"], "Choose fewer clusters."),
    "most clusters": (["fit", "MultiViewPLSA", "views", "--set", "n_clusters=99"], "Choose fewer clusters."),
    "no suggestion": (["label", "m.coview", "--count", "0"], "Invalid value for '--count'"),
    "different rows": ([*FIT, "--view", "a=a.npy", "--view", "b=b.npy"], "Add an id column"),
    "negative values": ([*FIT, "--view", "a=negative.npy", "--set", "likelihood=multinomial"], "Take another model"),
    "no number": ([*FIT, "--view", "a=nan.npy"], "leave all cells of a row empty"),
    "two views in a file": ([*FIT, "--view", "a=two.npz"], "Give it alone, without --view"),
    "text in a matrix": ([*FIT, "--view", "a=text.csv"], "has column 'body' of type String"),
    "no such column": (
        [*FIT, "text.csv", "--text", "w=bdy"],
        "The table has no column 'bdy' for view 'w'; its columns are 'id', 'body', 'year'. Did you mean 'body'?",
    ),
    "no such column of lists": (
        [*FIT, "text.csv", "--text", "w=body", "--tokens", "t=yaer"],
        "The table has no column 'yaer' for view 't'; its columns are 'id', 'body', 'year'. Did you mean 'year'?",
    ),
    "none of columns": (
        ["compare", "text.csv", "--columns", "w=year,yer"],
        "The table has no column 'yer' for view 'w'",
    ),
    "no such column of ids": (
        ["stream", "text.csv", "--text", "w=body", "--id", "ids", "--labels", "year"],
        "The table has no column 'ids' to name the objects; its columns are 'id', 'body', 'year'. Did you mean 'id'?",
    ),
    "no such column of labels": (
        ["compare", "text.csv", "--text", "w=body", "--labels", "yeer"],
        "--labels 'yeer' is neither a file nor a column of the table, which has 'id', 'body', 'year'. Did you mean",
    ),
    "no such column of objects": (
        [*FIT, "rows.jsonl", "--text", "w=wrds"],
        "The table has no column 'wrds' for view 'w'; its columns are 'words', 'kind'. Did you mean 'words'?",
    ),
    "numbers for text": ([*FIT, "text.csv", "--text", "w=year"], "use --columns in place of --text"),
    "one class": (
        ["fit", "auto", "text.csv", "--text", "w=body", "--labels", "one.txt", "-o", "m.coview"],
        "--labels holds one class only, 'x'",
    ),
    "no model of search": (["search", "fox", "--model", "model.coview"], "model.coview holds MultiViewNaiveBayes"),
    "no data": (["fit", "auto"], "Pass the data: a table, a folder of views"),
    "no folder": ([*FIT[:-1], "none/m.coview", "views"], "There is no folder none. Make it, or write to another one."),
    "a number to undo": (["edit", "model.coview", "--undo", "1"], "--undo takes no number; repeat it"),
    "seeds in a list": (["fit", "topics", "text.csv", "--seeds", "seeds.json"], '{"sport": ["game", "team"]}'),
    "column before path": (["fit", "PLSA", "text.csv", "--text", "w=bdy"], "Did you mean 'body'?"),  # text.coview
    "labels to compare": (["compare", "views", "--task", "few_labels"], "Give --labels"),
    "label of a stream": (["stream", "rows.jsonl", "--labels", "x"], '--labels, or pass --labels ""'),
    "update of a stream": (
        ["stream", "rows.jsonl", "--labels", "kind", "--set", "update=paper"],
        "Use --set update=exact",
    ),
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make_topic_views(20, {"words": 9, "links": 6}, n_clusters=2, random_state=0).views
    write_views(Views({"words": made["words"], "links": made["links"]}), "views")
    np.save("a.npy", np.ones((3, 2)))
    np.save("b.npy", np.ones((2, 2)))
    np.save("negative.npy", -np.ones((3, 2)))
    np.save("nan.npy", np.full((3, 2), np.nan))
    np.savez("two.npz", a=np.ones((3, 2)), b=np.ones((3, 2)))
    (tmp_path / "seeds.json").write_text('["sport"]')
    (tmp_path / "text.coview").touch()
    (tmp_path / "none.txt").write_text("-1\n" * 20)
    (tmp_path / "one.txt").write_text("x\n" * 2)
    save(MultiViewNaiveBayes().fit(made, np.arange(20) % 2), "model.coview")
    (tmp_path / "text.csv").write_text("id,body,year\na,red fox,1\nb,blue sea,2\n")
    (tmp_path / "rows.jsonl").write_text('{"words": "a b", "kind": "x"}\n{"words": "b c", "kind": "y"}\n')


@pytest.mark.parametrize(("words", "said"), COMMANDS.values(), ids=COMMANDS)
def test_a_refusal_names_the_option(words, said, files, run):
    code, _, error = run(*words)
    assert code == 2 and said in error, error


def test_an_error_is_worded_by_each_front_and_survives_a_process():
    error = ParameterError("has no label.", parameter="y", use={"n_clusters": 3}, python="See fit.", cli="See --help.")
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(each) == "y has no label. Use n_clusters=3. See fit."
        assert app._worded(each, "fit") == "--labels has no label. Use --set n_clusters=3. See --help."
        assert app._worded(each, "compare") == "--labels has no label. Use --clusters 3. See --help."
        assert isinstance(each, ValueError)
    assert str(ViewsError("View 'y' has 3 features.")) == app._worded(ViewsError("View 'y' has 3 features."), "fit")


@pytest.mark.skipif(sys.platform == "win32", reason="limits of time and memory are of Unix")
def test_commands_with_nonsense_end_in_one_sentence_and_leave_nothing():
    from fuzz import commands

    for line in commands.LINES:
        assert commands.typed(line.split(), commands.folder())[:2] == (0, ""), line
    assert commands.main(seed=0, count=15) == []


@pytest.mark.skipif(sys.platform == "win32", reason="devices of Unix")
def test_devices_are_no_labels(run, tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    words = ["fit", "MultiViewNaiveBayes", "--view", f"a={tmp_path / 'a.npy'}", "-o", tmp_path / "m.coview"]
    code, _, err = run(*words, "--labels", "/dev/zero")
    assert code == 2 and "/dev/zero is a device. Pass the path of an existing file" in err


def test_files_that_are_read_are_not_written_over(files, run, tmp_path):
    assert run("fit", "SphericalKMeans", "views", "--clusters", "2", "-o", "m.coview")[0] == 0
    os.symlink("text.csv", "link.csv")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for words in (
        ["fit", "auto", "text.csv", "-o", "text.csv"],
        ["fit", "PLSA", "--view", "a=a.npy", "-o", "a.npy"],
        ["fit", "PLSA", "views", "--labels", "none.txt", "-o", "none.txt"],
        ["predict", "m.coview", "text.csv", "-o", "link.csv"],
        ["report", "m.coview", "views", "-o", "m.coview"],
        ["compare", "text.csv", "-o", "text.csv"],
        ["stream", "rows.jsonl", "--labels", "kind", "--save", "rows.jsonl"],
        ["explore", "m.coview", "text.csv", "--save-edits", "text.csv"],
    ):
        code, _, error = run(*words)
        assert code == 2 and f"{words[-1]} is a file that coview {words[0]} reads here." in " ".join(error.split())
    for words in (["edit", "m.coview", "--merge", "0,1"], ["report", "m.coview"]):
        code, _, error = run(*words, "-o", "new.csv")
        assert code == 2 and "new.csv has the extension of a table; pass the name of a " in " ".join(error.split())
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert run("edit", "m.coview", "--rename", "0=a", "-o", "m.coview")[0] == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_disk_is_one_sentence():
    for words in ([], ["info"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([sys.executable, "-m", "coview", *words], stdout=full, stderr=-1, text=True)
        assert done.returncode == 2 and done.stderr.startswith("coview: ") and done.stderr.count("\n") == 1


def test_a_shell_can_complete_words():
    asked = {**os.environ, "_COVIEW_COMPLETE": "complete_bash", "COMP_WORDS": "coview pre", "COMP_CWORD": "1"}
    called = "import sys; sys.argv = ['coview']; from coview.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", called], env=asked, capture_output=True, text=True)
    assert done.stdout.split() == ["predict"], done.stderr
