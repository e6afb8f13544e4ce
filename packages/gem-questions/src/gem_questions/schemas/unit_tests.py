"""Modules of tests for pytest or unittest, as KodCode and BigCodeBench have them, taken apart into cases.

A case runs apart from the program under test and sees of it what its functions return and raise, and, if it asks for
it, the files, the environment, the input and the output that both share; a module that would share anything else with
the program is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.content import row_name

__all__ = ["cases_of", "parsed"]


def cases_of(row: Mapping[str, Any], source: str) -> list[str]:
    """Return one source for each test function and test method of a module of tests for pytest or unittest.

    Such tests run apart from the program and see of it what functions return and raise. Those that use files, the
    environment, input or output, ``tmp_path``, ``monkeypatch`` or ``capsys`` say with ``share_with_program()`` that
    they share them. A test that relies on anything else that both would share, such as patches of functions, other
    processes or other fixtures of pytest, would judge right programs wrong. Fixtures of the module that return or
    yield a value are called before the test.

    Raises:
        DatasetError: if there are no tests, or some rely on more.
    """
    tree = parsed(row, source)
    shared = sorted(_shared_with_program(tree))
    if shared:
        raise DatasetError(
            f"{row_name(row)} has tests that share more with the program than its results: {', '.join(shared)}; they "
            "cannot be judged apart from it, so remove the row"
        )
    cases, fixtures = [], _value_fixtures(tree)
    if _uses_the_world(tree):
        source = f"{source}\n\nshare_with_program()"

    def called(test: ast.FunctionDef, function: str) -> str:
        lines: dict[str, str] = {}
        given = _passed(test, fixtures, lines)
        return "\n".join([source, "", *lines.values(), f"{function}({given})"])

    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            cases.append(called(node, node.name))
        elif isinstance(node, ast.ClassDef):
            methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
            tests = [method for method in methods if method.name.startswith("test")]
            if any(ast.unparse(base).endswith("TestCase") for base in node.bases):
                cases += [f"{source}\n\nrun_unittest({node.name}, {test.name!r})" for test in tests]
            else:
                cases += [called(test, f"{node.name}().{test.name}") for test in tests]
    if not cases:
        raise DatasetError(f"{row_name(row)} has no tests: its 'test' is {source!r:.60}; remove the row")
    return cases


def parsed(row: Mapping[str, Any], source: str) -> ast.Module:
    """Return the tree of a row's tests; DatasetError if they are no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DatasetError(f"{row_name(row)} has tests that are no Python: {error}; remove the row") from error


def _shared_with_program(tree: ast.Module) -> set[str]:
    """Return what a module of tests uses that both processes would have to share."""
    found: set[str] = set()
    values = _value_fixtures(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.partition(".")[0] not in _MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "."
            if module.partition(".")[0] not in _MODULES or module in ("unittest.mock", "sys"):
                found.add(module)
            if module.partition(".")[0] in _WORLD_MODULES:
                found.update(alias.name for alias in node.names if alias.name in _SHARING_ATTRIBUTES)
            found.update(alias.name for alias in node.names if alias.name in ("mock", "patch", "Mock", "MagicMock"))
        elif isinstance(node, ast.Name) and node.id in _SHARING_NAMES:
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            if node.attr in _SHARING_ATTRIBUTES or (_is(node.value, "sys") and node.attr not in _STREAMS):
                found.add(node.attr)
        elif isinstance(node, ast.Call) and _is(node.func, "monkeypatch.setattr"):
            found.update(() if _patches_a_stream(node) else ("setattr",))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(_OUTSIDE):
            found.add(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.update(_fixtures(node) - values.keys() - _WORLD_FIXTURES)
        elif isinstance(node, ast.FunctionDef) and node is not values.get(node.name) and _fixture_mark(node):
            found.add(f"the fixture {node.name}")
    for fixture in values.values():
        found.update({argument.arg for argument in fixture.args.args} - values.keys() - _WORLD_FIXTURES)
    return found


def _is(node: ast.expr, name: str) -> bool:
    return ast.unparse(node) == name


def _patches_a_stream(call: ast.Call) -> bool:
    """Whether a call of monkeypatch replaces standard input or output, or the function that asks for input."""
    given = [argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument) for argument in call.args]
    name = ".".join(str(part) for part in (given[:1] if len(given) == 2 else given[:2]))
    return name in ("sys.stdin", "sys.stdout", "sys.stderr", "builtins.input")


def _uses_the_world(tree: ast.Module) -> bool:
    """Whether tests use files, the environment, input or output."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").partition(".")[0], *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Name):
            names = [node.id]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        if not _WORLD.isdisjoint(names):
            return True
    return False


def _fixture_mark(function: ast.FunctionDef) -> ast.expr | None:
    """Return the decorator that makes a function a fixture."""
    for decorator in function.decorator_list:
        mark = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(mark) in ("pytest.fixture", "fixture"):
            return decorator
    return None


def _value_fixtures(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the fixtures of a module that only make a value: without parameters, and for those who ask for them."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (mark := _fixture_mark(node)) is not None:
            told = mark.keywords if isinstance(mark, ast.Call) else []
            if len(node.decorator_list) == 1 and all(keyword.arg == "scope" for keyword in told):
                found[node.name] = node
    return found


def _passed(test: ast.FunctionDef, fixtures: Mapping[str, ast.FunctionDef], lines: dict[str, str]) -> str:
    """Return the arguments of a call with fixtures; ``lines`` gets what makes their values, one of each."""
    names = [argument.arg for argument in test.args.args if argument.arg in fixtures or argument.arg in _WORLD_FIXTURES]
    for name in names:
        if name not in fixtures:
            lines[name] = f"value_of_{name} = pytest_fixture({name!r})"
        elif name not in lines:
            fixture = fixtures[name]
            lines[name] = ""  # one that asks for itself gets nothing
            call = f"{name}({_passed(fixture, fixtures, lines)})"
            yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(fixture))
            del lines[name]
            lines[name] = f"value_of_{name} = {f'next({call})' if yields else call}"
    return ", ".join(f"{name}=value_of_{name}" for name in names)


def _fixtures(test: ast.FunctionDef) -> set[str]:
    """Return the arguments of a test that no parametrization gives: fixtures, whose names say what they share."""
    given = {"self"}
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize") and decorator.args:
            with suppress(ValueError):
                names = ast.literal_eval(decorator.args[0])
                listed = names.split(",") if isinstance(names, str) else names
                given.update(str(name).strip() for name in listed)
        elif not (
            isinstance(decorator, (ast.Attribute, ast.Call)) and ast.unparse(decorator).startswith("pytest.mark.")
        ):
            return {ast.unparse(decorator)}
    return {argument.arg for argument in test.args.args} - given


_VALUE_MODULES = frozenset((
    "solution", "pytest", "unittest", "__future__", "typing", "math", "cmath", "re", "string", "json", "copy",
    "operator", "itertools", "functools", "collections", "dataclasses", "enum", "datetime", "calendar", "decimal",
    "fractions", "statistics", "numbers", "heapq", "bisect", "random", "textwrap", "base64", "hashlib", "binascii",
    "struct", "unicodedata", "contextlib", "types", "abc", "time",
))  # fmt: skip
"""Modules of tests that change nothing outside their own process; ``random`` unless it is seeded."""
_WORLD_MODULES = frozenset((
    "os", "io", "tempfile", "shutil", "pathlib", "glob", "csv", "configparser", "zipfile", "tarfile", "gzip",
))  # fmt: skip
"""Modules for files and the environment. Of those that run what a file has, such as ``pickle``, there is none: the
program writes such files."""
_MODULES = _VALUE_MODULES | _WORLD_MODULES | {"sys", "builtins"}
_WORLD_FIXTURES = frozenset(("tmp_path", "monkeypatch", "capsys"))
_STREAMS = frozenset(("stdin", "stdout", "stderr", "maxsize", "float_info", "version_info"))
_WORLD = _WORLD_MODULES | _WORLD_FIXTURES | {"open", "sys", "redirect_stdout", "redirect_stderr"}
_OUTSIDE = ("/tmp", "~")  # noqa: S108 – beginnings of paths that are not shared
_SHARING_NAMES = frozenset(("input", "exec", "eval", "globals", "patch", "__import__", "__file__"))
_SHARING_ATTRIBUTES = frozenset((
    "seed", "mock", "patch", "expanduser", "home",
    # What goes beyond the content of files, or beyond the process.
    "system", "popen", "fork", "_exit", "kill", "getpid", "symlink", "symlink_to", "link", "utime", "getmtime",
    "getctime", "getatime", "st_mtime", "st_ctime", "st_atime", "st_ino", "mkfifo", "pipe", "chown",
))  # fmt: skip
