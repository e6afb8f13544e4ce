"""CPython's own tests inside the jail: ordinary programs of its authors behave there as outside."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gem_tools.sandbox import Limits, Sandbox, SandboxError

LIMITS = Limits(seconds=300.0, processes=64, output=1 << 20)

REFUSED: dict[str, set[str]] = {
    "fork1": set(),
    "mmap": set(),
    "selectors": set(),
    "signal": set(),
    # Other users, which its namespace does not have, and bigger pipes, which are a quota of the trainer's user.
    "subprocess": {
        "POSIXProcessTestCase.test_user",
        "ProcessTestCase.test_pipesizes",
        "ProcessTestCaseNoPoll.test_pipesizes",
    },
    "tempfile": set(),
    "threading": set(),
    "wait4": set(),
}
"""Modules of CPython's tests → tests that fail in the jail on purpose."""

PROGRAM = """
import io, json, unittest
from test import support
support.verbose = 0
suite = unittest.defaultTestLoader.loadTestsFromName("test.test_{module}")
result = unittest.TextTestRunner(io.StringIO(), verbosity=0).run(suite)
failed = [[test.id().partition(".test_{module}.")[2].split(" ")[0] or test.id(), why]
          for test, why in result.failures + result.errors]
print("\\n" + json.dumps([result.testsRun, len(result.skipped), failed]))
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("required", LIMITS) as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        yield sandbox


@pytest.mark.parametrize(
    "module",
    [pytest.param(module, marks=() if module == "tempfile" else pytest.mark.nightly) for module in REFUSED],
)
def test_cpythons_tests_pass_inside(sandbox: Sandbox, module: str) -> None:
    """What fails inside and not outside is refused on purpose, and listed; most tests run."""
    if importlib.util.find_spec("test") is None or importlib.util.find_spec(f"test.test_{module}") is None:
        pytest.skip(f"NOT TESTED: this interpreter came without test_{module}")
    program = PROGRAM.replace("{module}", module)
    done = sandbox.run(program)
    assert done.ok, done
    ran, skipped, failed = json.loads(done.stdout.splitlines()[-1])
    assert ran > skipped
    inside = {name: why for name, why in failed if name not in REFUSED[module]}
    if inside:
        outside = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for name, _ in json.loads(outside.stdout.splitlines()[-1])[2]:
            inside.pop(name, None)
    assert inside == {}
