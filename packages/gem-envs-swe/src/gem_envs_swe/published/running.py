"""Runs the tests of a published row in a container, with a log as SWE-bench's harness has it: :func:`log_of_tests`."""

from __future__ import annotations

import re
import shlex

from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import REPOSITORY
from gem_terminal.archive import files_archive
from gem_terminal.engines import Container

__all__ = ["log_of_tests"]

_FILE = re.compile(r"^diff --git a/.* b/(.*)$", re.MULTILINE)
_NO_TESTS = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
"""Endings of files that hold no tests, as swebench has them (``NON_TEST_EXTS``)."""


def log_of_tests(
    container: Container,
    row: SweRow,
    change: str,
    test_command: str,
    *,
    workdir: str = REPOSITORY,
    seconds: float = 1800.0,
) -> str:
    """Apply a change and the hidden tests in a container, run the test files, and return the log.

    The log has the marks of SWE-bench around the output of the tests, and the exit code of their runner behind it, so
    that its harness reads it as well as :func:`gem_envs_swe.published.grading.grade_log`.

    Args:
        container: a container in which nothing was done to the repository yet.
        row: the row.
        change: the change to judge, as a unified diff; empty for none.
        test_command: runs tests; the files of the hidden tests follow it.
        workdir: the repository's folder.
        seconds: the time limit.
    """
    files = [name for name in dict.fromkeys(_FILE.findall(row.test_patch)) if not name.endswith(_NO_TESTS)]
    command = f"{test_command} {shlex.join(files)}".strip()
    patches = {"change.diff": (_text(change), 0o644), "tests.diff": (_text(row.test_patch), 0o644)}
    container.put(files_archive(patches, ""), "/tmp")  # noqa: S108
    script = f"""cd {shlex.quote(workdir)}
if [ -s /tmp/change.diff ] && ! git apply --whitespace=nowarn /tmp/change.diff; then
  echo '>>>>> Patch Apply Failed'; exit 1
fi
echo '>>>>> Applied Patch'
git checkout -q -- {shlex.join(files)} 2>/dev/null
git apply --whitespace=nowarn /tmp/tests.diff || exit 1
echo '>>>>> Start Test Output'
{command}
code=$?
echo '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $code"
"""
    done = container.run(("bash", "-c", script), seconds=seconds, workdir=workdir)
    log = done.output.decode(errors="replace")
    return log if done.exit_code is not None else f"{log}\n>>>>> Tests Timed Out\n"


def _text(patch: str) -> bytes:
    return (patch if patch.endswith("\n") or not patch else f"{patch}\n").encode("utf-8", "surrogatepass")
