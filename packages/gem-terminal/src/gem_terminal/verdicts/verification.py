"""Verification of an agent's work: :func:`verify`.

**In the agent's container** (the shared mode of Harbor, and Terminal-Bench 1). Unless the task keeps the agent's
processes, the verifier first kills all of them and confirms their deaths from outside. It removes ``/tests`` and
``/logs/verifier``, in whatever form it finds them, and creates both again. It copies the tests in and runs them with
the environment of the image and the task only: no variables of the agent, no profile, no ``.bashrc``. It reads the
reports from outside, without running a program of the container, following a link, or opening anything but regular
files.

The guarantees depend on the user that the agent works as.

- *An ordinary user, with tests that run as root*: the agent cannot change the tests, the programs that run them, or
  the reward. The tests themselves handle its files, and must not do three things.

  - *Execute the agent's files as root.* Tests do so if they import modules from a folder of the agent or search it
    for programs: ``python3 -m unittest`` imports from the working directory, the ``PATH`` of an image may begin there,
    and ``git`` runs commands from the configuration of a repository. Run the agent's programs as the agent.
  - *Follow the agent's links as root.* A report that is a link to the answer, which only root can read, would be
    right. Read the agent's files with the agent's rights, with a limit on bytes and on time: a pipe or a link to
    ``/dev/zero`` may replace them.
  - *Let the agent read the expected answers.* Every user can read ``/tests``, because the tests may run as any user. A
    program of the agent that the tests run finds the answers there, unless the tests close the folder first
    (``chmod 700 /tests``). The image must keep expected answers in a folder of mode 700.

  ``tests/test.sh`` of the bundled tasks runs its tests with the agent's rights and closes the folder. Copy it.
- *The user that the tests run as, in most tasks root*: the agent may have changed every program that the tests
  execute. Its processes, planted tests, planted rewards and shell settings are gone. But ``bash``, ``python3``, a
  library, ``/etc/ld.so.preload``, ``sitecustomize.py``, a plug-in of pytest, or the ``rm`` that cleans up may be the
  agent's, and then the agent chooses the reward. Nothing done inside that container can prevent this. Such an agent
  may also prevent verification, for example by filling the disk or removing ``sh``. That is an error in the result and
  earns no reward.

**In a fresh container** (``verifier="pristine"``, or ``strict``), with the agent's changes under declared paths; see
:mod:`gem_terminal.verdicts.pristine`.

**In a separate container** (the separate mode of Harbor) the tests receive only the files that the task declares: its
artifacts, and ``/logs/artifacts``. They keep their paths and replace the files that the image has there; missing
artifacts are skipped. Files, folders, and links that stay within the artifacts are kept; see
:func:`~gem_terminal.archive.sanitize_artifact`. Before that, while the agent's processes are alive, the commands of
``[[verifier.collect]]`` run in the agent's container to record the state of its processes.
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath

from gem_terminal.archive import archive_of, files_in, has_open_modes, sanitize_artifact
from gem_terminal.engines.base import Container, Engine
from gem_terminal.episodes.progress import showing
from gem_terminal.errors import EngineError
from gem_terminal.network.connection_hints import connection_hint
from gem_terminal.task import Artifact, SeparateVerifier, Task
from gem_terminal.verdicts.pristine import verify_pristine
from gem_terminal.verdicts.verdict_worth import verdict_worth
from gem_terminal.verdicts.verifier_result import FILES, REWARDS, VerifierResult, result_of_files, result_of_summary
from gem_terminal.verdicts.verifier_scripts import unparsable_tests

__all__ = ["VerifierResult", "kill_processes", "verify"]

_LOGS = "/logs/verifier"
_PATH = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
"""The search path of the preparing programs: no folder in which an image lets its users put programs."""

# $1: the user that the tests run as. The agent may have replaced a folder by a link or a file, which is removed. A pipe
# in place of a user database is removed too, because it would block every lookup of a user's name.
_PREPARE = """
rm -rf /tests /logs/verifier || exit
for file in /etc/passwd /etc/group /etc/nsswitch.conf; do
  if [ -e "$file" ] && [ ! -f "$file" ]; then rm -rf "$file"; fi
done
for folder in /logs /logs/agent /logs/artifacts; do
  if [ -L "$folder" ] || [ ! -d "$folder" ]; then rm -rf "$folder" || exit; fi
done
mkdir -p /logs/verifier /logs/agent /logs/artifacts && chmod 755 /logs && chmod 700 /logs/verifier &&
chown "$1" /logs/verifier
"""
# $1: the user, then paths. Tests that the verifier's image brings are kept; Harbor makes their script executable, too.
_PREPARE_SEPARATE = """
user="$1"; shift
if [ -f /tests/test.sh ]; then chmod a+rx /tests/test.sh || exit; fi
mkdir -p /logs/verifier /logs/agent /logs/artifacts && rm -rf -- /logs/verifier/* "$@" &&
chmod 700 /logs/verifier && chown "$user" /logs/verifier
"""
_OWN = ("/tests", "/logs/verifier")
"""Paths that no artifact may contain, even inside a folder that is an artifact."""
_DIES_IN = 10.0
"""Seconds within which killed processes must be gone."""
_PREPARES_IN = 30.0
_MOST_LOGS = 16 << 20
"""Bytes of ``/logs/verifier`` that are read in one archive; a larger folder is read file by file."""
_MOST_CARRIED = 1 << 30
"""Bytes of all artifacts together."""


def verify(
    task: Task, container: Container, engine: Engine | None = None, *, keep_processes: bool | None = None
) -> VerifierResult:
    """Run the tests of a task.

    Args:
        task: the task.
        container: the agent's container.
        engine: starts the container of a separate verifier; other tasks need none.
        keep_processes: whether the agent's processes continue during the tests, as in Terminal-Bench 1 and Harbor;
            None for the rule of the task. A task in which the agent starts a server needs this. It gives up the
            guarantees of killing them: a process may change files while the tests read them, and a process of the
            tests' user may change the tests or write the reward. A separate verifier is safe from both.

    Raises:
        EngineError: if the container or the engine died, a process survives, the container of a separate verifier
            does not start, or the task needs a separate verifier and no engine is given.
    """
    keep = task.keep_processes if keep_processes is None else keep_processes
    result = _verified(task, container, engine, keep)
    hint = connection_hint(result, has_network=_tests_have_network(task), kept=keep)
    doubts = result.doubts
    if result.reward == 0.0 and unparsable_tests(task):
        doubts = (*doubts, "tests-do-not-parse")
    return replace(result, hint=hint or result.hint, worth=verdict_worth(task).level, doubts=doubts)


def _tests_have_network(task: Task) -> bool:
    separate = task.tests.separate
    return (task if separate is None else separate).limits.network


def _verified(task: Task, container: Container, engine: Engine | None, keep_processes: bool) -> VerifierResult:
    separate = task.tests.separate
    if separate is None and task.pristine:
        if engine is None:
            raise EngineError(f"the pristine verifier of {task.name} needs the engine that starts its container")
        kill_processes(container)
        return verify_pristine(task, container, engine, _judged_in_shared)
    if separate is None:
        if not keep_processes:
            kill_processes(container)
        return _judged_in_shared(task, container)
    if engine is None:
        raise EngineError(f"the task {task.name} has a separate verifier; pass the engine that starts its container")
    for hook in separate.collect:
        with suppress(EngineError):  # its files are then missing, as in Harbor; a dead container fails below
            container.run(("/bin/sh", "-c", hook.command), seconds=hook.seconds, user=hook.user, workdir=task.workdir)
    if not keep_processes:
        kill_processes(container)
    try:
        archives = _collected(container, separate)
    except (tarfile.TarError, EOFError, OverflowError, ValueError) as problem:
        return VerifierResult({}, error=f"the artifacts cannot be copied: {problem}")
    replaced = [source for source in archives if not any(own.startswith(f"{source}/") for own in _OWN)]
    with showing(f"verifier of {task.name}") as tell:
        image = engine.prepare(separate.image, tell)
    with engine.start(image, separate.limits, separate.environment) as verifier:
        error = _prepared(verifier, _PREPARE_SEPARATE, task.tests.user or "root", *replaced)
        for archive in archives.values():
            error = error or _put(verifier, archive)
        return VerifierResult({}, error=error) if error else _judged(task, verifier, separate.workdir, None)


def _judged_in_shared(task: Task, container: Container) -> VerifierResult:
    return _judged(task, container, task.workdir, _PREPARE)


def kill_processes(container: Container) -> None:
    """Kill the agent's processes and wait until they are dead; raises EngineError if one survives."""
    deadline, pause = time.monotonic() + _DIES_IN, 0.001
    while True:
        container.kill_all()
        again = time.monotonic() + _DIES_IN / 10
        while count := container.survivors():
            if time.monotonic() > deadline:
                raise EngineError(f"{count} processes in container {container.id[:12]} cannot be killed")
            if time.monotonic() > again:
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        else:
            return


def _collected(container: Container, separate: SeparateVerifier) -> dict[str, bytes]:
    """Return the path of each existing artifact → an archive to unpack at the root.

    ``/logs/artifacts`` is always an artifact, as in Harbor; a task declares it only to exclude parts.
    """
    artifacts = separate.artifacts
    if not any(artifact.source == "/logs/artifacts" for artifact in artifacts):
        artifacts = (Artifact("/logs/artifacts"), *artifacts)
    archives: dict[str, bytes] = {}
    left = _MOST_CARRIED
    for artifact in artifacts:
        try:
            archive = container.get(artifact.source, most=left)
        except EngineError as error:
            _check_alive(container)
            raise ValueError(str(error)) from error
        if archive is not None:
            left -= len(archive)
            archives[artifact.source] = sanitize_artifact(archive, artifact, artifacts, never=_OWN)
    return archives


def _judged(task: Task, container: Container, workdir: str | None, prepare: str | None) -> VerifierResult:
    tests = task.tests
    if prepare is not None and (error := _prepared(container, prepare, tests.user or "root")):
        return VerifierResult({}, error=error)
    if tests.sources and (error := _put(container, archive_of(tests.sources, "tests", readable=True, renewed=True))):
        return VerifierResult({}, error=error)
    done = container.run(
        ("/bin/bash", "--noprofile", "--norc", "-c", tests.command),
        seconds=tests.seconds,
        user=tests.user or "root",
        environment=tests.environment,
        workdir=workdir,
    )
    if tests.reward == "pytest":
        result = result_of_summary(done.output)
    else:
        written, is_open = _written(container)
        result = result_of_files(written)
        if is_open:
            result = replace(result, doubts=(*result.doubts, "writable-reward"))
    if done.exit_code is None:
        return VerifierResult({}, error=f"the tests took longer than {tests.seconds:g} seconds", log=result.log)
    return result


def _prepared(container: Container, script: str, *arguments: str) -> str | None:
    """Make room for the tests. Returns None, or the reason of a failure that the agent caused."""
    done = container.run(
        ("/bin/sh", "-c", script, "sh", *arguments),
        seconds=_PREPARES_IN,
        user="root",
        environment=_PATH,
        workdir="/",
    )
    if done.exit_code == 0:
        return None
    if done.exit_code is None:
        return f"the container was not ready for the tests after {_PREPARES_IN:g} seconds"
    _check_alive(container)
    said = done.output[-200:].decode(errors="replace").strip()
    return f"the container cannot be prepared for the tests: {said or f'exit code {done.exit_code}'}"


def _put(container: Container, archive: bytes) -> str | None:
    try:
        container.put(archive, "/")
    except EngineError as error:
        _check_alive(container)
        return f"the container has no room for the tests: {error}"
    return None


def _written(container: Container) -> tuple[Mapping[str, bytes | ValueError], bool]:
    """Return the reports of the tests, and whether others than their user could write the reward, as far as known."""
    folder = PurePosixPath(_LOGS)
    try:
        archive = container.get(_LOGS, most=_MOST_LOGS)
    except EngineError:
        _check_alive(container)
    else:
        within = {f"{folder.name}/{name}": most for name, most in FILES.items()}
        found = files_in(archive, within) if archive is not None else {}
        is_open = archive is not None and has_open_modes(
            archive, (folder.name, *(f"{folder.name}/{name}" for name in REWARDS))
        )
        return {PurePosixPath(name).name: content for name, content in found.items()}, is_open
    written: dict[str, bytes | ValueError] = {}
    for name, most in FILES.items():
        try:
            archive = container.get(f"{_LOGS}/{name}", most=most + (64 << 10))
        except EngineError as error:
            written[name] = ValueError(str(error))
        else:
            written.update(files_in(archive, {name: most}) if archive is not None else {})
    return written, False


def _check_alive(container: Container) -> None:
    """Raise EngineError if the container died, which means that the agent did not cause the failure."""
    container.run(("/bin/sh", "-c", ":"), seconds=10.0, workdir="/")
