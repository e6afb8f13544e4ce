"""Whether the tests notice small defects: mutants of the code, made by Cosmic Ray in a copy of the tree.

Cosmic Ray finds the places and changes the code. Its own runner is not used: it runs one command for every mutant, in
the working tree. Here each mutant meets the tests of its package, the nearest first, until one fails, and at last those
of other packages. A test that fails without the mutant too is left out.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from devtools.shell import ROOT, environment, fail, output_of, run, say
from devtools.workspace import package_folders

OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Mod_FloorDiv", "BitOr_BitAnd", "BitAnd_BitOr")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "Gt_LtE")),
    *(f"ReplaceUnaryOperator_{pair}" for pair in ("USub_UAdd", "Delete_Not")),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer", "RemoveDecorator"),
    "ZeroIterationForLoop",
)  # fmt: skip
"""The operators of Cosmic Ray whose mutants resemble human mistakes; the others mostly raise TypeError."""

PASSED = "passed"
TIME_LIMIT = "time limit"
NO_TEST = "no test could run"
"""How tests end, beside the name of one that fails."""

MINIMUM = 6
"""A module with fewer places for mutants has little to test."""


@dataclass(frozen=True)
class Place:
    """A place at which an operator can change a module."""

    operator: str
    occurrence: int
    line: int


@dataclass(frozen=True)
class Mutant:
    """A change of a module, and the tests' verdict on it.

    Attributes:
        module: the file, relative to the root.
        line: the line of the change.
        operator: Cosmic Ray's name of the change.
        diff: the change.
        caught_by: the tests that were run and how they ended: the name of one that fails only with the mutant, or
            that it took too long; None if the mutant survived.
        seconds: duration of the tests.
    """

    module: str
    line: int
    operator: str
    diff: str
    caught_by: str | None
    seconds: float


def main(arguments: list[str]) -> int:
    """Make mutants and test them; return 1 if a test failed without any mutant."""
    parser = argparse.ArgumentParser("dev.py mutants", description="Count the small defects that the tests notice.")
    parser.add_argument("--seed", type=int, default=0, help="chooses modules and mutants (default: 0)")
    parser.add_argument("--modules", type=int, default=20, help="number of modules (default: 20)")
    parser.add_argument("--each", type=int, default=3, help="mutants of each module (default: 3)")
    parser.add_argument("--only", default="", help="a regular expression that the modules' paths contain")
    parser.add_argument("--limit", type=float, default=900, help="seconds for each run of tests (default: 900)")
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    modules = choose_modules(ROOT, options.modules, options.only, chance)
    chosen = [(module, place) for module in modules for place in choose_places(ROOT / module, options.each, chance)]
    say(f"{len(modules)} modules, {options.each} mutants each, seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="gem-mutants-", ignore_cleanup_errors=True) as scratch:
        tree = Tree(Path(scratch) / "tree", options.limit)
        mutants: list[Mutant] = []
        for module, place in chosen:
            mutants.append(tree.test(module, place))
            say(_line(mutants[-1]))
            if options.out:
                options.out.write_text(report(options.seed, mutants, tree.left_out), encoding="utf-8")
    survivors = [mutant for mutant in mutants if mutant.caught_by is None]
    for mutant in survivors:
        print(f"\nSurvived: {_line(mutant)}\n{mutant.diff}")
    slow = sum((mutant.caught_by or "").endswith(TIME_LIMIT) for mutant in mutants)
    caught = len(mutants) - len(survivors)
    print(f"\n{caught} of {len(mutants)} mutants in {len(modules)} modules were caught, {slow} by the time limit.")
    return 1 if tree.left_out else 0


def report(seed: int, mutants: list[Mutant], left_out: list[str]) -> str:
    """Return the results as JSON."""
    caught = sum(mutant.caught_by is not None for mutant in mutants)
    figures = {"seed": seed, "mutants": len(mutants), "caught": caught, "tests_left_out": left_out}
    return json.dumps({**figures, "results": [asdict(mutant) for mutant in mutants]}, indent=1)


def _line(mutant: Mutant) -> str:
    fate = "survived" if mutant.caught_by is None else f"caught, {mutant.caught_by}"
    return f"{mutant.module}:{mutant.line} {mutant.operator}: {fate} ({mutant.seconds:.0f} s)"


def choose_modules(root: Path, count: int, only: str, chance: random.Random) -> list[str]:
    """Return modules of the workspace, from each package in turn so that none is left out."""
    packages = []
    for folder in package_folders(root).values():
        found = [path for path in sorted(folder.glob("src/**/*.py")) if "tasks" not in path.relative_to(folder).parts]
        names = [path.relative_to(root).as_posix() for path in found]
        names = [name for name in names if re.search(only, name)]
        packages.append(chance.sample(names, len(names)))
    chance.shuffle(packages)
    chosen: list[str] = []
    while len(chosen) < count and any(packages):
        for names in packages:
            while names and len(chosen) < count:
                module = names.pop()
                if len({place.line for place in places(root / module)}) >= MINIMUM:
                    chosen.append(module)
                    break
    return chosen


def choose_places(module: Path, count: int, chance: random.Random) -> list[Place]:
    """Return places on different lines of a module."""
    lines: dict[int, list[Place]] = {}
    for place in places(module):
        lines.setdefault(place.line, []).append(place)
    chosen = chance.sample(sorted(lines), min(count, len(lines)))
    return [chance.choice(lines[line]) for line in chosen]


def places(module: Path) -> Iterator[Place]:
    """Yield the places of a module at which an operator makes a mutant that behaves differently."""
    source = module.read_text(encoding="utf-8")
    inert = _inert_lines(ast.parse(source))
    nodes = list(ast_nodes(get_ast(source)))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        positions = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, ((line, _), _) in enumerate(positions):
            if line not in inert:
                yield Place(name, occurrence, line)


def _inert_lines(tree: ast.Module) -> set[int]:
    """Return the lines whose change no test can notice: annotations, and code for type checkers alone."""
    inert: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.arg) or (isinstance(node, ast.AnnAssign) and node.value is None):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts = [node]
        for part in parts:
            if isinstance(part, ast.expr | ast.stmt):
                inert.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return inert


class Tree:
    """A copy of the working tree with an environment of its own, in which mutants are tested."""

    def __init__(self, folder: Path, limit: float) -> None:
        self._folder = folder
        self._limit = limit
        self._log = folder.with_suffix(".log")
        self._cache = folder.with_suffix(".cache")
        self.left_out: list[str] = []
        """The tests that fail without a mutant."""
        files = output_of("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        if files is None:
            fail("the working tree is not a git checkout")
        for name in filter(None, files.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        say(f"making an environment in {folder}")
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
        venv = folder / ".venv"
        run(uv, "venv", "--quiet", "--python", sys.executable, venv)
        packages = [part for path in package_folders(folder).values() for part in ("--editable", path)]
        group = f"{folder / 'pyproject.toml'}:workspace"
        # The tests write no compiled files, and would compile the libraries anew in every process.
        options = ("--quiet", "--compile-bytecode", "--python", venv / "bin" / "python")
        run(uv, "pip", "install", *options, "--group", group, *packages)
        self._python = venv / "bin" / "python"
        # A mutant may spoil what it caches, so each run of tests has folders of its own, but for downloads.
        home = str(self._cache / "home")
        downloads = (output_of(uv, "cache", "dir") or "").strip()
        own = {"XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home, "UV_CACHE_DIR": downloads}
        # Python would use the previous mutant's compiled file if size and second of the change are the same.
        self._variables = environment({**own, "PYTHONDONTWRITEBYTECODE": "1"})

    def test(self, module: str, place: Place) -> Mutant:
        """Change the module at a place and run its tests until one notices."""
        path = self._folder / module
        before = path.read_text(encoding="utf-8")
        after = mutate_code(before, get_operator(f"core/{place.operator}")(), place.occurrence)
        assert after is not None, place
        started = time.monotonic()
        runs = ((name, self._compare(path, before, after, arguments)) for name, arguments in self._stages(module))
        caught_by = next((f"{name}: {end}" for name, end in runs if end != PASSED), None)
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), module, module, lineterm="", n=2)
        return Mutant(module, place.line, place.operator, "\n".join(lines), caught_by, time.monotonic() - started)

    def _compare(self, path: Path, before: str, after: str, arguments: list[str]) -> str:
        """Return how tests end with a mutant, without regard to those that fail without it."""
        while True:
            path.write_text(after, encoding="utf-8")
            end = self._run(arguments)
            path.write_text(before, encoding="utf-8")
            if end in (PASSED, TIME_LIMIT):
                return end
            if self._run(arguments if end == NO_TEST else ["--tier", "main", end]) == PASSED:
                return end
            words = "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
            if end == NO_TEST or end in self.left_out:
                fail(f"without a mutant, {end}:\n{words}")
            say(f"{end} fails without a mutant, so it is left out:\n{words}")
            self.left_out.append(end)

    def _stages(self, module: str) -> Iterator[tuple[str, list[str]]]:
        """Yield the tests of a module, from the nearest to those of other packages: their name, pytest's arguments."""
        folders = package_folders(self._folder).values()
        package = next(path for path in folders if (self._folder / module).is_relative_to(path))
        tests = package / "tests"
        dotted = ".".join((self._folder / module).relative_to(package / "src").with_suffix("").parts)
        parent, _, stem = dotted.rpartition(".")
        mention = re.compile(rf"\b{re.escape(dotted)}\b|from {re.escape(parent)} import .*\b{stem}\b")
        near = [
            str(path)
            for path in sorted(tests.rglob("test_*.py"))
            if path.stem.startswith(f"test_{stem}") or mention.search(path.read_text(encoding="utf-8"))
        ]
        if near:
            yield "the tests of the module", ["--tier", "main", *near]
        parallel = ["-n", "auto", "--dist", "loadgroup"]
        yield "the quick tests of the package", ["--tier", "quick", *parallel, str(tests)]
        yield "the tests of the package", ["--tier", "main", *parallel, str(tests)]
        elsewhere = [
            str(path)
            for folder in (*(other / "tests" for other in folders if other != package), self._folder / "tests")
            for path in sorted(folder.rglob("test_*.py"))
            if re.search(rf"\b{re.escape(parent)}\b", path.read_text(encoding="utf-8"))
        ]
        if elsewhere:
            yield "the tests of other packages", ["--tier", "main", *parallel, *elsewhere]

    def _run(self, arguments: list[str]) -> str:
        """Run tests until the first that fails; return how they ended."""
        options = ["-x", "-q", "--timeout", "120", "--override-ini", f"cache_dir={self._cache}"]
        options += [part for name in self.left_out for part in ("--deselect", name)]
        command = [str(self._python), "-m", "pytest", *options, *arguments]
        if os.name == "posix" and os.geteuid() == 0 and shutil.which("unshare"):
            # A mutant's processes end with its tests, and it cannot end the processes of others.
            command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *command]
        settings: dict[str, Any] = {"cwd": self._folder, "env": self._variables, "start_new_session": True}
        shutil.rmtree(self._cache, ignore_errors=True)
        with (
            self._log.open("w", encoding="utf-8") as log,
            subprocess.Popen(command, stdout=log, stderr=log, **settings) as process,
        ):
            try:
                code = process.wait(self._limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return TIME_LIMIT
        # 5: no test was left to run, as in a package without quick ones.
        if code in (0, 5):
            return PASSED
        if "from pytest-timeout" in self._log.read_text(encoding="utf-8", errors="replace"):
            return TIME_LIMIT
        failures = self._cache / "v" / "cache" / "lastfailed"
        if not failures.exists():
            return NO_TEST
        # pytest-xdist appends the name of a test's group.
        return re.sub(r"@[^\]]*$", "", next(iter(json.loads(failures.read_text(encoding="utf-8")))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
