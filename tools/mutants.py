"""Do the tests notice when the code is wrong? Changes some lines of some rooms, one at a time, and runs their tests.

python tools/mutants.py [--count=64] [--seed=0] [--jobs=2] [--kept=FILE] [room ...]

A mutant is one change: another comparison, operator or number, a condition turned around, an assignment left out. It is
killed if a test of its room or of the multi-view contract fails, or does not end in time; the survivors are printed.
With --kept=FILE the mutants are those of an earlier run, found by file, line of text and change, so that two states of
the tests can be compared.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("plsa", "assignment", "auto", "views")
SECONDS = 200  # for the tests of one mutant
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutate(node: ast.AST) -> str | None:
    """Change a node in place; return what was done, or None where nothing can be."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        node.ops[0] = SWAPS[type(node.ops[0])]()
        return f"comparison becomes {type(node.ops[0]).__name__}"
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        node.op = SWAPS[type(node.op)]()
        return f"operator becomes {type(node.op).__name__}"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
        return f"becomes {node.value}"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value = node.value * 2 + 1
        return f"number becomes {node.value}"
    if isinstance(node, ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return "condition is turned around"
    if isinstance(node, ast.Return) and node.value is not None:
        node.value = ast.Constant(None)
        return "returns None"
    return None


def bodies(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run when a function does, without annotations, texts of messages and what raises them."""
    inside = [
        node
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef)
        for part in each.body
        for node in ast.walk(part)
    ]
    seen = {id(node): node for node in inside if not isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef)}
    yield from seen.values()


def find_mutants(room: str, count: int, seed: int) -> list[dict[str, Any]]:
    places = []
    for path in sorted((ROOT / "src" / "coview" / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for at, node in enumerate(bodies(ast.parse(text))):
            change = mutate(node)
            if change is not None:
                line = text.splitlines()[node.lineno - 1].strip()  # type: ignore[attr-defined]
                places.append({"room": room, "file": str(path.relative_to(ROOT)), "line": line, "change": change})
                places[-1]["at"] = at
    return random.Random(f"{room} {seed}").sample(places, min(count, len(places)))


def mutated(mutant: dict[str, Any]) -> str | None:
    """Source with the change; None where the line is no longer there."""
    text = (ROOT / mutant["file"]).read_text(encoding="utf-8")
    lines = text.splitlines()
    same_line = [
        at
        for at, node in enumerate(bodies(ast.parse(text)))
        if getattr(node, "lineno", 0) and lines[node.lineno - 1].strip() == mutant["line"]  # type: ignore[attr-defined]
    ]
    for at in sorted(same_line, key=lambda at: abs(at - mutant["at"])):
        tree = ast.parse(text)
        if mutate(next(node for i, node in enumerate(bodies(tree)) if i == at)) == mutant["change"]:
            return ast.unparse(tree)
    return None


def run(mutant: dict[str, Any]) -> dict[str, Any]:
    """Say whether the tests notice: "killed", "survived", or "gone" where the line has changed."""
    try:
        source = mutated(mutant)
    except (OSError, SyntaxError):
        source = None
    if source is None:
        return {**mutant, "end": "gone"}
    found = failure(mutant["room"], {mutant["file"]: source})
    return {**mutant, "end": "survived" if found is None else "killed", "by": found or ""}


def failure(room: str, changed: dict[str, str]) -> str | None:
    """Return what fails of the tests of a room where files are changed, or None."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for file, source in changed.items():
            (Path(folder) / file).write_text(source, encoding="utf-8")
        tests = [f"tests/{room}", "tests/test_multiview_contract.py"]
        path = os.pathsep.join([f"{folder}/src", os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
        env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "time"
        failed = [line for line in ended.stdout.decode().splitlines() if line.startswith(("FAILED", "ERROR"))]
        return (failed or ["no test ran"])[0] if ended.returncode else None


def main(words: list[str]) -> None:
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    rooms = [word for word in words if not word.startswith("--")] or list(ROOMS)
    count = int(options.get("count", 64)) // len(rooms)
    kept = Path(options["kept"]) if "kept" in options else None
    if kept and kept.exists():
        mutants = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    else:
        mutants = [each for room in rooms for each in find_mutants(room, count, int(options.get("seed", 0)))]
    ends: dict[str, int] = {}
    with ThreadPoolExecutor(int(options.get("jobs", 2))) as pool:
        rooms = sorted({mutant["room"] for mutant in mutants})
        for room, found in zip(rooms, pool.map(lambda room: failure(room, {}), rooms)):
            if found:  # or every mutant would look as if it were killed
                print(f"{room}: its tests fail without any change, so its mutants say nothing: {found}", flush=True)
                mutants = [mutant for mutant in mutants if mutant["room"] != room]
        for mutant in pool.map(run, mutants):
            ends[mutant["end"]] = ends.get(mutant["end"], 0) + 1
            if mutant["end"] == "survived":
                print(f"survived: {mutant['file']}: {mutant['line']}: {mutant['change']}", flush=True)
            if "out" in options:
                with open(options["out"], "a", encoding="utf-8") as file:
                    file.write(json.dumps(mutant) + "\n")
    print(", ".join(f"{end} {n}" for end, n in sorted(ends.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
