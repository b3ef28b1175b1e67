"""What a release needs to agree on; `make release-check` does the rest."""

import re
import tomllib
from pathlib import Path

import pytest

import coview

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FLOOR = re.compile(r"^([A-Za-z0-9_-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def test_one_version_everywhere():
    assert f"version: {coview.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {coview.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_lowest_versions_are_those_of_the_project():
    """Each floor of a dependency of users is tried, on some Python."""
    extras = PROJECT["optional-dependencies"]
    asked = PROJECT["dependencies"] + [
        line for name, lines in extras.items() if name not in ("dev", "docs", "gpu") for line in lines
    ]
    tried = dict(re.findall(r"^([A-Za-z0-9_-]+)==([0-9.]+)", (ROOT / "constraints-lowest.txt").read_text(), re.M)[::-1])
    for line in asked:
        name, floor = FLOOR.match(line).groups()
        if name.startswith("coview"):
            continue
        assert name in tried, f"constraints-lowest.txt lacks {name}"
        assert tried[name].removesuffix(".0") == floor.removesuffix(".0") or tried[name].startswith(floor + "."), line


def test_no_dependency_has_an_upper_limit():
    extras = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    versions = [line.partition(";")[0] for line in PROJECT["dependencies"] + extras]
    assert not [line for line in versions if "<" in line or "==" in line or "~=" in line]


def test_workflows_use_targets_that_exist():
    targets = set(re.findall(r"^([a-z0-9.-]+)(?: [a-z0-9.-]+)*:", (ROOT / "Makefile").read_text(), re.M))
    targets |= {"test-lowest", "test-3.11", "test-3.12", "test-3.13", "test-3.14"}
    workflows = list((ROOT / ".github" / "workflows").glob("*.yml"))
    if not workflows:
        pytest.skip("there are no workflows here: not a checkout")
    used = {name for file in workflows for name in re.findall(r"run: make ([a-z0-9.-]+)", file.read_text())}
    assert used and used <= targets


def test_the_recipe_of_conda_has_the_dependencies_and_the_version():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text()
    asked = {line.partition(";")[0].strip().replace(">=", " >=") for line in PROJECT["dependencies"]}
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    assert {line.removeprefix("    - ") for line in run.splitlines() if "python" not in line} >= asked - {""}
    assert f'version: "{coview.__version__}"' in recipe


def test_every_action_is_pinned_to_a_commit():
    used = [
        name
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for name in re.findall(r"uses: ([^\n]+)", file.read_text())
    ]
    assert not [name for name in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", name)]
