"""Judging an agent's work: :func:`verify`.

**In the agent's container** (the shared mode of Harbor, and Terminal-Bench 1). Every process of the agent is killed
first, and that they are dead is confirmed from outside. ``/tests`` and ``/logs/verifier`` are removed, whatever they
have become, and made anew; the tests are copied in, and run with the environment of the image and of the task alone:
nothing that the agent exported, no profile, no ``.bashrc``. What they report is read from outside, without a program
of the container, and without following a link or opening what is no file.

What follows depends on who the agent was.

- *An ordinary user, with tests that run as root*: it cannot change the tests, what runs them, or the reward. What they
  make of its files is up to the tests, and there are three things that they must not do.

  - *Execute as root what belongs to it.* They do so where they import from, or look for programs in, a folder of the
    agent's: ``python3 -m unittest`` imports from the working directory, a ``PATH`` of the image may begin there, and
    ``git`` runs what the configuration of a repository says. What the agent has made is run as the agent.
  - *Follow its links as root.* A report that is a link to the answer, which only root can read, is right. The agent's
    files are read with the agent's rights, and bounded, in bytes and in time: a pipe or a link to ``/dev/zero`` may lie
    in their place.
  - *Let it read what they expect.* Every user can read ``/tests``, since the tests may run as any. A program of the
    agent's that the tests run finds the answers there, unless they close the folder first (``chmod 700 /tests``); and
    what an image brings for them belongs in a folder of mode 700.

  ``tests/test.sh`` of the bundled tasks gives its tests the agent's rights, and closes the folder; it can be copied.
- *The user that the tests run as, which in most tasks is root*: the agent may have changed anything that the tests
  execute. No process of its own is left, and planted tests, rewards and settings of a shell are gone; but a ``bash``,
  a ``python3``, a library, ``/etc/ld.so.preload``, ``sitecustomize.py``, a plug-in of pytest, or the ``rm`` that is to
  clean up, may be its own, and then the verdict is what it wants. Nothing done inside of that container can be relied
  on against it. Such an agent may also make a verdict impossible, by filling the disk or removing ``sh``; that is an
  error in the verdict, and no reward.

**In a container of their own** (the separate mode of Harbor) tests meet nothing of the agent's but what the task
declares: its artifacts, and ``/logs/artifacts``. They have the same paths there, what was at these paths before is
removed, and what is not there is passed over. Of them files, folders, and links within what is carried are kept; see
:func:`~gem_terminal.archive.carried`. Before that, while the agent's processes go on, the commands of
``[[verifier.collect]]`` run in its container, since they exist to write down what runs there.
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from gem_terminal.archive import archive_of, carried, files_in
from gem_terminal.engines.base import Container, Engine
from gem_terminal.errors import EngineError
from gem_terminal.progress import showing
from gem_terminal.task import Artifact, Separate, Task
from gem_terminal.verdict import FILES, Verdict, verdict_of_files, verdict_of_summary

__all__ = ["Verdict", "verify"]

_LOGS = "/logs/verifier"
_PATH = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
"""Where what prepares a container is looked for: not where an image lets its users put programs."""

# $1: the user that the tests run as. What an agent made a link or a file is no folder, so it is removed; and a pipe is
# removed where it would hold up whatever looks for the name of a user.
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
# $1: the user, then paths. The image of a verifier may bring tests, so they stay.
_PREPARE_SEPARATE = """
user="$1"; shift
mkdir -p /logs/verifier /logs/agent /logs/artifacts && rm -rf -- /logs/verifier/* "$@" &&
chmod 700 /logs/verifier && chown "$user" /logs/verifier
"""
_OWN = ("/tests", "/logs/verifier")
"""What no artifact brings, though a folder that is one may hold it."""
_DIES_IN = 10.0
"""Seconds that killed processes have to be gone."""
_PREPARES_IN = 30.0
_MOST_LOGS = 16 << 20
"""Bytes of ``/logs/verifier`` that are read at once; where there is more, files are read one by one."""
_MOST_CARRIED = 1 << 30
"""Bytes of all artifacts together."""


def verify(task: Task, container: Container, engine: Engine | None = None, *, keep_processes: bool = False) -> Verdict:
    """Run the tests of a task.

    Args:
        task: what was worked on.
        container: where.
        engine: starts the container of a separate verifier, for a task that has one.
        keep_processes: the agent's processes go on while the tests run. Terminal-Bench 1 and Harbor let them, and a
            task that has the agent start a server needs it. It costs the guarantees that follow from killing them:
            a process may change what the tests look at while they look, and one that runs as the tests' user may
            change the tests themselves, or write the reward. A separate verifier is safe from them all the same.

    Raises:
        EngineError: if the container or the engine has died, a process cannot be killed, the container of a separate
            verifier cannot be had, or no engine is given that could start it.
    """
    separate = task.tests.separate
    if separate is None:
        if not keep_processes:
            _kill(container)
        return _judged(task, container, task.workdir, _PREPARE)
    if engine is None:
        raise EngineError(f"the task {task.name} has a verifier of its own, and there is no engine to start it with")
    for hook in separate.collect:
        with suppress(EngineError):  # what it was to bring is missing then, as in Harbor; a dead container is seen next
            container.run(("/bin/sh", "-c", hook.command), seconds=hook.seconds, user=hook.user, workdir=task.workdir)
    if not keep_processes:
        _kill(container)
    try:
        archives = _collected(container, separate)
    except (tarfile.TarError, EOFError, OverflowError, ValueError) as problem:
        return Verdict({}, error=f"the artifacts cannot be carried over: {problem}")
    replaced = [source for source in archives if not any(own.startswith(f"{source}/") for own in _OWN)]
    with showing(f"verifier of {task.name}") as tell:
        image = engine.prepare(separate.image, tell)
    with engine.start(image, separate.limits, separate.environment) as verifier:
        error = _prepared(verifier, _PREPARE_SEPARATE, task.tests.user or "root", *replaced)
        for archive in archives.values():
            error = error or _put(verifier, archive)
        return Verdict({}, error=error) if error else _judged(task, verifier, separate.workdir, None)


def _kill(container: Container) -> None:
    """Kill the agent's processes, and see that they are dead."""
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


def _collected(container: Container, separate: Separate) -> dict[str, bytes]:
    """Return the path of each artifact that is there → an archive to unpack at the root.

    ``/logs/artifacts`` is always one, as in Harbor; where it is declared, that says what to leave out of it.
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
            archives[artifact.source] = carried(archive, artifact, artifacts, never=_OWN)
    return archives


def _judged(task: Task, container: Container, workdir: str | None, prepare: str | None) -> Verdict:
    tests = task.tests
    if prepare is not None and (error := _prepared(container, prepare, tests.user or "root")):
        return Verdict({}, error=error)
    if tests.sources and (error := _put(container, archive_of(tests.sources, "tests", readable=True))):
        return Verdict({}, error=error)
    done = container.run(
        ("/bin/bash", "--noprofile", "--norc", "-c", tests.command),
        seconds=tests.seconds,
        user=tests.user or "root",
        environment=tests.environment,
        workdir=workdir,
    )
    verdict = verdict_of_summary(done.output) if tests.reward == "pytest" else verdict_of_files(_written(container))
    if done.exit_code is None:
        return Verdict({}, error=f"the tests took longer than {tests.seconds:g} seconds", log=verdict.log)
    return verdict


def _prepared(container: Container, script: str, *arguments: str) -> str | None:
    """Make room for the tests; return why that fails, which is the agent's doing, or None."""
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


def _written(container: Container) -> Mapping[str, bytes | ValueError]:
    """Return what the tests have written that matters."""
    folder = PurePosixPath(_LOGS)
    try:
        archive = container.get(_LOGS, most=_MOST_LOGS)
    except EngineError:
        _check_alive(container)
    else:
        within = {f"{folder.name}/{name}": most for name, most in FILES.items()}
        found = files_in(archive, within) if archive is not None else {}
        return {PurePosixPath(name).name: content for name, content in found.items()}
    written: dict[str, bytes | ValueError] = {}
    for name, most in FILES.items():
        try:
            archive = container.get(f"{_LOGS}/{name}", most=most + (64 << 10))
        except EngineError as error:
            written[name] = ValueError(str(error))
        else:
            written.update(files_in(archive, {name: most}) if archive is not None else {})
    return written


def _check_alive(container: Container) -> None:
    """Raise EngineError if a container has died, so that what failed in it was not its own doing."""
    container.run(("/bin/sh", "-c", ":"), seconds=10.0, workdir="/")
