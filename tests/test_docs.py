"""The docs say what is true: snippets run and print what they show, commands run, every public name has a place.

Examples are run by `make docs`, whole.
"""

import ast
import contextlib
import doctest
import io
import re
import shlex
import shutil
import textwrap
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import coview
from coview import Views, inspect
from coview.catalog import ESTIMATORS, Entry
from coview.cli.app import make_commands
from coview.model_selection.jobs import run_jobs

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
SERVING = ("explore", "serve")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(not EXAMPLES, reason="needs a checkout: docs and examples are not in the package"),
]


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """Methods are compared here, which is quicker; `tests/model_selection` has the workers."""
    here = {"n_jobs": 1, "budget": None}
    monkeypatch.setattr(
        "coview.model_selection.compare.run_jobs", lambda *parts, **how: run_jobs(*parts, **{**how, **here})
    )


def fences(text: str, language: str) -> list[str]:
    """Fenced blocks of one language in a Markdown text."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def listed_names(page: str) -> set[str]:
    """Names that an API page documents: the entries of its autosummary tables, and data."""
    entries = re.findall(r"^   (\w[\w.]*)$", page, flags=re.MULTILINE)
    return {*entries, *re.findall(r"^\.\. py:data:: (\w+)$", page, flags=re.MULTILINE)}


def test_the_api_page_has_every_public_name_and_no_other():
    listed = listed_names((ROOT / "docs" / "api.rst").read_text(encoding="utf-8"))
    public = set(coview.__all__)
    for module in ("datasets", "exceptions", "metrics", "plot"):
        public.update(f"{module}.{name}" for name in getattr(coview, module).__all__)
    assert public - listed == set()
    for name in listed:
        module, _, attribute = f"coview.{name}".rpartition(".")
        found = coview if module == "coview" else __import__(module, fromlist=[attribute])
        assert hasattr(found, attribute), name


def test_the_catalog_line_of_contributing_is_the_catalogs():
    text = re.search(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (shown,) = eval(f"({textwrap.dedent(text[1])})", {"Entry": Entry})
    assert shown == ESTIMATORS[shown.name]


def test_the_stage_of_development_is_one_everywhere():
    stage = re.search(r"Development Status :: \d - (\w+)", (ROOT / "pyproject.toml").read_text())[1].lower()
    for page in ("README.md", "docs/index.md"):
        assert re.search(r"coview is young \(\S+ (\w+)\)", (ROOT / page).read_text())[1] == stage


def prints_the_same(shown: str, found: str) -> bool:
    """Whether two texts differ in nothing but blanks and the last digits of scores, which depend on the processor."""
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (shown, found)]
    same = NUMBER.sub("#", shown).split() == NUMBER.sub("#", found).split()
    return same and numbers[1] == pytest.approx(numbers[0], abs=0.05, rel=0.05)


class Checker(doctest.OutputChecker):
    """Allows for differences in the last digits of scores."""

    def check_output(self, want, got, optionflags):
        return super().check_output(want, got, optionflags) or prints_the_same(want, got)


class Runner(doctest.DocTestRunner):
    """Counts what raises an error, beside what prints something else."""

    errors = 0

    def report_unexpected_exception(self, *args):
        self.errors += 1
        super().report_unexpected_exception(*args)


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150


def readme_snippets() -> list[tuple[str, str]]:
    """Snippets of the README, each with the output that is shown below it."""
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return list(zip(fences(text, "python"), fences(text, "text"), strict=True))


@pytest.mark.parametrize(("code", "shown"), readme_snippets(), ids=["clusters"])
def test_the_readme_prints_what_it_shows(code, shown, tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "tickets.csv", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)  # snippets write files
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert prints_the_same(shown, printed.getvalue())


def commands_of(page: Path) -> list[list[str]]:
    """Commands of a page on the table of the checkout, or on what they made of it; those that serve are left out."""
    lines = "\n".join(fences(page.read_text(encoding="utf-8"), "console")).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line, comments=True)[2:] for line in lines if line.startswith("$ coview ")]
    return [command for command in commands if command[0] not in SERVING and "tickets" in " ".join(command)]


@pytest.fixture(scope="module")
def done() -> dict[tuple[object, ...], bytes]:
    """What commands wrote, by their words and the model that they read: several pages have the same ones."""
    return {}


@pytest.mark.parametrize("page", [page for page in (README, *PAGES) if commands_of(page)], ids=lambda path: path.stem)
def test_commands_run(page, done, tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "tickets.csv", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for command in commands_of(page):
        file = Path(command[command.index("-o") + 1] if "-o" in command else "tickets.coview")
        read = [Path(word).read_bytes() for word in command[1:2] if word.endswith(".coview")]
        work = (*(word for word in command if word not in ("-o", file.name)), *read)
        if work not in done:
            ran = CliRunner().invoke(make_commands(), command)
            assert ran.exit_code == 0, ran.output
            done[work] = file.read_bytes() if file.exists() else b""
        elif done[work]:
            file.write_bytes(done[work])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_pages_print_what_they_show(page, monkeypatch):
    monkeypatch.chdir(ROOT)  # pages read examples/tickets.csv
    blocks = [block for block in fences(page.read_text(encoding="utf-8"), "python") if ">>>" in block]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    report = io.StringIO()
    runner = Runner(Checker(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=report.write, clear_globs=False)
    # another Python, or other packages, are another corpus: about that, pages are run alone
    start = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
    other = "corpus" in test.globs and f"Views of {len(test.globs['corpus'].views)} rows" not in start
    assert (runner.errors if other else runner.failures) == 0, report.getvalue()


def test_the_guide_is_short():
    names = re.findall(r"^(\w+)$", (ROOT / "docs" / "guide" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    pages = [(ROOT / "docs" / "guide" / f"{name}.md").read_text(encoding="utf-8") for name in names]
    assert len(pages) <= 16
    assert sum(len(page.split()) for page in pages) <= 20_000


def test_links_between_pages_lead_somewhere():
    for page in [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PAGES]:
        for target in re.findall(r"\]\((?!https?:|#|/)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short_and_say_what_they_show(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 170  # of 88 columns
    title, line = (ast.get_docstring(ast.parse(source)) or "\n").splitlines()[:2]
    assert title
    assert set(line) == {"="}
    assert len(line) >= len(title)


def rows_of_guide(start: str) -> set[str]:
    """Models that a row of the table of the guide on embeddings names."""
    text = (ROOT / "docs" / "guide" / "embeddings.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {start}.*? \| (.*?) \|$", text, flags=re.MULTILINE)
    return set(re.findall(r"`(\w+)`", row))


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_models_take_vectors_where_the_guide_says_so(name):
    rng, classes = np.random.default_rng(0), np.arange(36) % 3
    words = rng.poisson(0.3, (36, 8)) + 4 * np.eye(8, dtype=int)[classes]
    X = Views(words=words, vector=rng.normal(size=(3, 5))[classes] + 0.3 * rng.normal(size=(36, 5)))
    known = signature(getattr(coview, name)).parameters
    settings = {"random_state": 0, "n_clusters": 3, "n_components": 3, "max_iter": 3}
    model = getattr(coview, name)(**{key: value for key, value in settings.items() if key in known})
    takes = rows_of_guide("take them, with a likelihood") | rows_of_guide("take them as points")
    wraps, refuses = rows_of_guide("take what the estimator inside takes"), rows_of_guide("refuse negative numbers")
    assert (name in takes) + (name in wraps) + (name in refuses) == 1
    if name in takes:
        model.fit(X, classes)
        by_likelihood = name in rows_of_guide("take them, with a likelihood")
        assert inspect(model).structure.likelihoods == (
            {"words": "multinomial", "vector": "gaussian"} if by_likelihood else {}
        )
        return
    with pytest.raises(ValueError, match=r"[Nn]egative values"):
        model.fit(X, classes)
    if name in wraps:
        type(model)(LogisticRegression()).fit(X, classes)
