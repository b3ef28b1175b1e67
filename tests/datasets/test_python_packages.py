"""The demo corpus: parsing small sources by hand-made examples, then laws of the corpus of the installed packages."""

import ast
import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from coview.datasets import python_packages as corpus_module
from coview.datasets.python_packages import (
    SUBPACKAGES,
    SourceObject,
    build_corpus,
    choose,
    load_python_packages,
    read_source_objects,
    split_code,
    split_docstring,
    split_name,
)

WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima"]
WORDS += ["mike", "november", "oscar"]  # fifteen
CODE = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis"]  # nine: with the object's own name, ten


def function(name: str, n_words: int = 15, names: list[str] = CODE, words: list[str] = WORDS) -> str:
    return f'def {name}():\n    """{" ".join(words[:n_words])}"""\n    return {", ".join(names)}\n'


def write(root: Path, path: str, source: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(source, encoding="utf-8")


def found(root: Path, folder: str = "pack") -> list[str]:
    return [o.name for o in read_source_objects(root, folder)]


def tokens_of(source: str) -> set[str]:
    return set(split_code(ast.parse(textwrap.dedent(source)).body[0]))


def obj(name: str, words: str = "", code: str = "") -> SourceObject:
    return SourceObject(name, "f.py", (words or f"words of {name}",), (code or f"code of {name}",))


@pytest.mark.parametrize("header", ["See Also", "Examples::", "References"])
def test_docstring_is_cut_at_the_closing_sections(header):
    docstring = f"Solve systems.\n\nParameters\n----------\nmatrix : array\n\n    {header}\n--------\nforbidden\n"
    assert split_docstring(docstring) == ("solve", "systems", "parameters", "matrix", "array")
    assert split_docstring("The X_train of examples, é: Über") == ("train", "examples", "über")


# -- names in the code


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        *(("fit_transform", ("fit", "transform")), ("LogisticRegressionCV", ("logistic", "regression", "cv"))),
        *(("__init__", ("init",)), ("getURLNow", ("get", "url", "now")), ("X_", ()), ("log1p", ("log",))),
    ],
)
def test_names_are_split_on_underscores_and_camel_case(name, parts):
    assert split_name(name) == parts


def test_code_holds_every_kind_of_name_and_no_text():
    source = '''
    @decorated
    def own_name(first_arg, *rest, key=preset):
        """docstring words"""
        local = module.attribute(keyword=value, **mapping)
        async def inner(): "text"
        class Nested(Base): pass
        return "string", 3
    '''
    expected = "own name first arg rest key preset local module attribute keyword value mapping inner nested base"
    assert tokens_of(source) == set(expected.split())


# -- files and objects


def test_functions_classes_and_methods_are_objects_and_inner_functions_are_not(tmp_path):
    source = (
        f"class Tree:\n    '''{' '.join(WORDS)}'''\n"
        + textwrap.indent(function("grow"), "    ")
        + "if fast:\n"
        + textwrap.indent(function("chosen"), "    ")
        + "try:\n    pass\nexcept ImportError:\n"
        + textwrap.indent(function("fallback"), "    ")
        + "async "
        + function("waiting")
        + function("outer").replace("    return", textwrap.indent(function("inner"), "    ") + "    return")
    )
    write(tmp_path, "pack/mod.py", source)
    expected = ["Tree", "Tree.grow", "chosen", "fallback", "waiting", "outer"]
    assert found(tmp_path) == [f"pack.mod.{name}" for name in expected]


def test_tests_vendored_code_and_what_says_too_little_are_left_out(tmp_path):
    for path in ("sub/tests/a", "_vendor/a", "externals/a", "_lib/a", "test_a", "conftest", "testutils", ".hidden/a"):
        write(tmp_path / "tests", f"pack/{path}.py", function("dropped"))
    little = [function("short", 14), function("nine", names=[*CODE[:8], "ant_bee"]), f"def bare(): {', '.join(CODE)}\n"]
    write(tmp_path / "tests", "pack/__init__.py", "x = '\\d'\n" + "".join(little) + function("kept"))
    (only,) = read_source_objects(tmp_path / "tests", "pack")
    assert (only.name, only.file) == ("pack.kept", "pack/__init__.py")


# -- choosing


def test_each_label_keeps_at_most_so_many_chosen_by_name_alone():
    objects = {"many": [obj(f"p.{i}") for i in range(50)], "few": [obj(f"q.{i}") for i in range(3)]}
    chosen = choose(objects, per_label=10)
    assert [label for label, _ in chosen] == ["many"] * 10 + ["few"] * 3
    # the choice of 10 out of 50 stays the same when 40 others are away, and is not just the first ten
    again = choose({"many": [o for label, o in chosen if label == "many"], "few": []}, per_label=10)
    assert [o for _, o in again] == [o for label, o in chosen if label == "many"]
    assert [o.name for _, o in again] != sorted(f"p.{i}" for i in range(50))[:10]


def test_views_count_the_tokens_that_are_neither_rare_nor_common(tmp_path):
    write(tmp_path, "one/m.py", function("aaa") + function("bbb", words=[*WORDS, "papa", "papa"], n_words=17))
    write(tmp_path, "two/m.py", function("ccc_bbb", words=[*WORDS, "papa", "quebec"], n_words=17))
    arrays = build_corpus({"y": ["two"], "x": ["one"]}, {"one": tmp_path, "two": tmp_path}, min_df=2, max_df=0.7)
    assert arrays["words.features"].tolist() == ["papa"]  # the others are in one object, or in all
    assert arrays["words.data"].tolist() == [2, 1]
    assert arrays["words.indptr"].tolist() == [0, 0, 1, 2]
    assert arrays["words.data"].dtype == np.float32
    assert arrays["code.features"].tolist() == ["bbb"]


# -- the corpus of the installed packages

EXTRACT = """
import json, socket, sys
from coview.datasets.python_packages import load_python_packages
before = set(sys.modules)
def refuse(*args, **kwargs): raise OSError("no network in this test")
socket.socket.connect = socket.getaddrinfo = refuse
corpus = load_python_packages(sys.argv[1])
new = sorted(set(sys.modules) - before)
print(json.dumps({"hash": corpus.content_hash, "imported": new}))
"""


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The corpus, made in another process without network; returns its home and what that process says."""
    home = tmp_path_factory.mktemp("first")
    run = subprocess.run([sys.executable, "-c", EXTRACT, str(home)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return home, json.loads(run.stdout)


@pytest.fixture(scope="module")
def corpus(first):
    """The corpus out of the first one's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "build_corpus", lambda *_: pytest.fail("the sources were read again"))
        made = load_python_packages(first[0])
    assert made.content_hash == first[1]["hash"]
    return made


def test_making_the_corpus_imports_none_of_its_packages(first):
    packages = tuple(f"{folder.split('/')[0]}." for folders in SUBPACKAGES.values() for folder in folders)
    assert [name for name in first[1]["imported"] if f"{name}.".startswith(packages)] == []


def test_corpus_has_the_promised_size(corpus):
    assert 1000 <= len(corpus.views) <= 2500
    assert corpus.target_names.tolist() == sorted(SUBPACKAGES)
    assert len(SUBPACKAGES) == 22
    sizes = np.bincount(corpus.target)
    assert sizes.min() >= 20
    assert sizes.max() == 100
    assert np.array_equal(corpus.views.ids, corpus.names) and corpus.names.tolist() == sorted({*corpus.names.tolist()})
    for name, matrix in corpus.views.items():
        assert matrix.dtype == np.float32 and len(corpus.views.feature_names[name]) == matrix.shape[1]
        assert 3 <= np.bincount(matrix.indices).min() <= np.bincount(matrix.indices).max() <= 0.5 * len(corpus.views)


# -- the cache


def labeled(label: str, name: str) -> str:
    """A function whose words and names are those of its label, and one of its own."""
    words, names = ([f"{label}{word}" for word in source] for source in (WORDS, CODE))
    return function(f"{label}_{name}", words=[*words, name], n_words=16, names=names)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Make a corpus of two small packages the subject; returns their root."""
    for label in ("one", "two"):
        write(tmp_path, f"src/{label}/m.py", "".join(labeled(label, word) for word in CODE))
    monkeypatch.setattr(corpus_module, "SUBPACKAGES", {"one": ("one",), "two": ("two",)})
    monkeypatch.setattr(corpus_module, "find_package_root", lambda package: tmp_path / "src")
    return tmp_path / "src"


def test_refresh_reads_the_sources_again(small, tmp_path):
    before = load_python_packages(tmp_path / "home")
    (small / "one" / "m.py").unlink()
    write(small, "one/n.py", "".join(labeled("one", word) for word in CODE))
    assert load_python_packages(tmp_path / "home").content_hash == before.content_hash
    after = load_python_packages(tmp_path / "home", refresh=True)
    assert set(after.groups) == {"one/n.py", "two/m.py"}
    assert after.content_hash != before.content_hash


@pytest.mark.parametrize("harm", ["empty", "altered", "pickle", "foreign", "folder"])
def test_harmed_cache_is_rebuilt_silently(small, tmp_path, harm, recwarn):
    expected = load_python_packages(tmp_path / "home")
    (cache,) = (tmp_path / "home").rglob("*.safetensors")
    content = cache.read_bytes()
    cache.unlink()
    half = len(content) // 2
    if harm == "folder":
        cache.mkdir()
    elif harm == "foreign":
        save_file({"something": np.arange(3)}, cache)
    elif harm == "pickle":
        cache.write_bytes(pickle.dumps({"names": np.array([{"a": 1}], dtype=object)}))
    else:
        altered = content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
        cache.write_bytes({"empty": b"", "altered": altered}[harm])
    again = load_python_packages(tmp_path / "home")
    assert again.content_hash == expected.content_hash
    assert again.views == expected.views
    assert not recwarn.list
    if harm != "folder":
        assert cache.read_bytes() == content  # whole again
