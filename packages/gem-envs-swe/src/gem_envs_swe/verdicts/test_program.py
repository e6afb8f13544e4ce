"""Runs chosen tests in a fresh container, and signs what it saw; started by :mod:`gem_envs_swe.verdicts.test_runs`.

It reads one line of JSON. The code under test runs in this very process; four things stand against its cheats:

- Each outcome is a line that is signed with a key which the code is not given; lines are numbered, and there is a last
  one. A process that ends early, or a report that somebody else writes, is no success.
- *Controls*, tests that must fail, stand among the tests of each file, under names that are drawn for this run. This
  process is not told which they are.
- The functions of pytest, unittest, pluggy and the tests, and the built-in ones, are compared with those before, after
  each test; hooks of pytest that the agent's files bring are noticed.
- Operands of the comparisons in assertions are asked whether they equal a fresh object, which only something that
  equals everything does.

It needs the standard library and pytest.
"""

from __future__ import annotations

import ast
import builtins
import hmac
import inspect
import json
import os
import sys
import unittest
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from _pytest.assertion import rewrite

_PROBE = "@gem_probe"
"""The name of the built-in function; no source can spell it."""
_DEEPEST = 3
_MOST_ITEMS = 64
_ORDINARY: tuple[object, ...] = (object.__eq__, int.__eq__, str.__eq__, float.__eq__, bytes.__eq__, type.__eq__)
_GUARDED = ("pytest", "_pytest", "pluggy", "unittest", "builtins")


class SignedReport:
    """A file of numbered lines, each with its signature.

    Args:
        path: of the file, which must not exist.
        key: of the signatures.
    """

    def __init__(self, path: str, key: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        new, write, dumps, count = hmac.new, os.write, json.dumps, 0

        def add(**said: object) -> None:
            nonlocal count
            text = dumps([count, said]).encode()
            write(descriptor, new(key, text, "sha256").hexdigest().encode() + b" " + text + b"\n")
            count += 1

        self.add = add


class TamperGuard:
    """What the code under test must not change, and what it must not return."""

    def __init__(self, changed_files: list[str]) -> None:
        self._changed = frozenset(changed_files)
        self._known: list[tuple[str, Mapping[str, object], str, object, object]] = []
        self._hooks: dict[int, object] = {}
        self._tests: list[tuple[str, FunctionType, object]] = []
        self._sentinel = object()
        self.found = ""
        """What was wrong first; empty for nothing."""

    def begin(self) -> None:
        """Remember the guarded functions as they are now."""
        self._known = list(_guarded())

    def check(self) -> None:
        """Note whether a guarded function is another one."""
        for where, namespace, name, value, code in self._known:
            now = namespace.get(name)
            function = getattr(now, "__func__", now)
            if now is not value or (code is not None and getattr(function, "__code__", None) is not code):
                self.found = self.found or f"{where} was replaced"

    def check_hooks(self, plugins: pytest.PytestPluginManager) -> None:
        """Note whether a hook of pytest comes from a changed file, or from none."""
        for caller in list(vars(plugins.hook).values()):
            for implementation in getattr(caller, "get_hookimpls", list)():
                if id(implementation) in self._hooks:
                    continue
                self._hooks[id(implementation)] = implementation
                if not self.found and self._is_changed(inspect.unwrap(implementation.function)):
                    self.found = f"the hook {caller.name} of pytest was added"

    def remember_tests(self, items: list[pytest.Item]) -> None:
        """Remember the functions of tests."""
        self._tests = [(item.nodeid, function, function.__code__) for item in items if (function := _function(item))]

    def check_tests(self) -> None:
        """Note whether the function of a test has another code."""
        for name, function, code in self._tests:
            if not self.found and function.__code__ is not code:
                self.found = f"the code of {name} was replaced"

    def probe(self, value: Any) -> Any:
        """Return a value, after a look at whether it equals everything."""
        if not self.found and self._equals_everything(value, 0):
            self.found = f"an object of the class {type(value).__name__} equals everything"
        return value

    def _equals_everything(self, value: Any, depth: int) -> bool:
        kind = type(value)
        if kind in (list, tuple, set, frozenset, dict):
            if depth >= _DEEPEST:
                return False
            items = chain(value, value.values()) if kind is dict else value
            return any(self._equals_everything(item, depth + 1) for item in islice(items, _MOST_ITEMS))
        if kind.__eq__ in _ORDINARY:
            return False
        try:
            equals = (value == self._sentinel) is True
        except Exception:
            return False
        # The package's own classes may be like that, and those of a library for tests, such as unittest.mock.ANY.
        module = sys.modules.get(kind.__module__)
        return equals and (getattr(module, "__file__", None) in self._changed or self._is_changed(kind.__eq__))

    def _is_changed(self, function: object) -> bool:
        """Return whether a function stands in a changed file, or was made without one."""
        code = getattr(function, "__code__", None)
        return code is not None and (code.co_filename in self._changed or not code.co_filename.startswith("/"))


def _guarded() -> Iterator[tuple[str, Mapping[str, object], str, object, object]]:
    """Yield the functions, methods and classes of the guarded modules: their place, namespace and name, themselves, and
    the code that they had.
    """
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] not in _GUARDED or module_name.startswith("unittest.mock"):
            continue
        for name, value in list(vars(module).items()):
            if isinstance(value, (FunctionType, type)) or (module_name == "builtins" and callable(value)):
                yield f"{module_name}.{name}", vars(module), name, value, getattr(value, "__code__", None)
            if isinstance(value, type) and value.__module__ == module_name:
                for inner, member in list(vars(value).items()):
                    function = getattr(member, "__func__", member)
                    if isinstance(function, FunctionType):
                        yield f"{module_name}.{name}.{inner}", vars(value), inner, member, function.__code__


def _function(item: pytest.Item) -> FunctionType | None:
    found: Any = getattr(item, "obj", None)
    function = inspect.unwrap(getattr(found, "__func__", found))
    return function if isinstance(function, FunctionType) else None


class _Probing(ast.NodeTransformer):
    """Wraps the operands of the comparisons in assertions."""

    def __init__(self) -> None:
        self._inside = False

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self._inside = True
        node.test = self.visit(node.test)
        self._inside = False
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if self._inside:
            node.left = self._wrapped(node.left)
            node.comparators = [self._wrapped(each) for each in node.comparators]
        return node

    @staticmethod
    def _wrapped(operand: ast.expr) -> ast.expr:
        if isinstance(operand, ast.Constant):
            return operand
        return ast.copy_location(ast.Call(ast.Name(_PROBE, ast.Load()), [operand], []), operand)


class TestSelection:
    """Selects the tests and reports outcomes; it is not told which of them must fail."""

    def __init__(self, request: dict[str, Any], report: SignedReport, guard: TamperGuard) -> None:
        self._wanted = frozenset(request["tests"])
        self._report, self._guard = report, guard
        self._outcomes: dict[str, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._wanted]
        # A configuration may collect other names than those of the controls.
        modules = {module.nodeid: module for item in items if (module := item.getparent(pytest.Module)) is not None}
        collected = {item.nodeid for item in items}
        for test in sorted(self._wanted - collected):
            file, _, name = test.partition("::")
            if file in modules and callable(found := getattr(modules[file].obj, name, None)):
                items.append(pytest.Function.from_parent(modules[file], name=name, callobj=found))
        self._guard.remember_tests(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self._outcomes.get(report.nodeid)
        if report.failed:
            self._outcomes[report.nodeid] = "failed"
        elif report.skipped and before != "failed":
            self._outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and before is None:
            self._outcomes[report.nodeid] = "passed"
        if report.when == "teardown":  # what fixtures replace is back now
            self._check()
            self._report.add(test=report.nodeid, outcome=self._outcomes.get(report.nodeid, "failed"))

    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        # After pytest's own plugins, some of which replace methods, and before the first file of the tree.
        self._plugins = early_config.pluginmanager
        self._guard.begin()

    def pytest_sessionfinish(self) -> None:
        self._check()

    def _check(self) -> None:
        self._guard.check()
        self._guard.check_hooks(self._plugins)
        self._guard.check_tests()


def _install_probe(guard: TamperGuard) -> None:
    setattr(builtins, _PROBE, guard.probe)
    original: Callable[..., None] = rewrite.rewrite_asserts

    def probing(module: ast.Module, *arguments: Any, **options: Any) -> None:
        ast.fix_missing_locations(_Probing().visit(module))
        original(module, *arguments, **options)

    setattr(rewrite, original.__name__, probing)
    for name in ("assertEqual", "assertIn", "assertIs", "assertListEqual", "assertAlmostEqual", "_baseAssertEqual"):
        _probe_method(unittest.TestCase, name, guard)


def _probe_method(kind: type, name: str, guard: TamperGuard) -> None:
    original = getattr(kind, name)

    def probing(self: Any, *arguments: Any, **options: Any) -> Any:
        return original(self, *map(guard.probe, arguments), **options)

    probing.__name__ = name
    setattr(kind, name, probing)


def main() -> None:
    """Run the tests of a request."""
    request = json.loads(sys.stdin.readline())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    report = SignedReport(request["report"], bytes.fromhex(request["key"]))
    sys.argv[1:] = []
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path.cwd()))
    guard = TamperGuard(request["changed"])
    _install_probe(guard)
    plugin = TestSelection(request, report, guard)
    arguments, files = request["arguments"], request["files"]
    request.clear()
    code = int(pytest.main([*arguments, *files], plugins=[plugin]))
    report.add(end=code, wrong=guard.found)


if __name__ == "__main__":
    main()
