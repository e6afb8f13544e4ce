"""Verification that a root agent cannot forge: :func:`verify_pristine`.

The tests run in a fresh container of the task's image. Over it lie only those changes of the agent that
:class:`~gem_terminal.verdicts.carried_files.CarryRules` lets through: files under declared paths, of kinds that no
program executes or reads as configuration on its own. The shell, the interpreters, the libraries and their
configuration are the image's own, so replacing them, or planting what they read, has no effect. Processes are gone, and
with them whatever waits to write a reward.

Declared are the working folder, the home of the agent's user, some common folders, the paths that the instruction
names, and ``pristine_paths`` in ``[metadata]`` of the task. ``pristine_installs`` there names package managers whose
new files are kept: ``"apt"``, ``"npm"`` or ``"pip"``. Files of the image stay its own even then.

Tests that execute the agent's files with their own rights can still be deceived by them, as anywhere.
"""

from __future__ import annotations

import os
import re
import shlex
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from gem_terminal.copied_folders import copy_in
from gem_terminal.engines.base import Container, Engine, ExecResult
from gem_terminal.episodes.progress import showing
from gem_terminal.errors import ContentError, EngineError
from gem_terminal.task import Task
from gem_terminal.verdicts.carried_files import CarriedFiles, CarryRules
from gem_terminal.verdicts.carried_kinds import known_modules, protected_names
from gem_terminal.verdicts.declarations import COMMON_FOLDERS, declarations_of, home_of
from gem_terminal.verdicts.makefiles import FIND_RULES, targets_of
from gem_terminal.verdicts.verifier_result import VerifierResult
from gem_terminal.verdicts.verifier_scripts import landings_of

__all__ = ["ENVIRONMENT", "carry_rules", "existing_paths", "lay_over", "verify_pristine"]

ENVIRONMENT = {
    # Python takes no module from the working folder or from a home before its own.
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
    # A repository of the agent runs no command when the tests look at it.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
}
"""Variables of the tests; those of the task take precedence."""

_INSTALLS = {
    "apt": ("/usr", "/etc", "/opt", "/var/lib/dpkg"),
    "npm": ("/usr/local/lib/node_modules", "/usr/lib/node_modules", "/usr/local/bin"),
    "pip": ("/usr/local/lib", "/usr/lib/python3", "/usr/local/bin"),
}
"""Package manager → the folders in which its new files are kept."""
_INSTALLATIONS = (
    "pyvenv.cfg", "conda-meta", "lib/python[0-9]*/os.py", "src/runtime/proc.go", "lib/ruby/[0-9]*/set.rb",
    "lib/perl5/[0-9]*/strict.pm", "share/julia/base", "lib/R/library",
)  # fmt: skip
"""What an interpreter, compiler or environment has below the folder in which it is installed."""
_MOST_CARRIED = 512 << 20
"""Bytes of the changes."""
_LOOKS_IN = 60.0
_UNSAFE = re.compile(r"[\\\udc80-\udcff]")
_AT_ONCE = 64 << 10
"""Bytes of paths in one command."""

# The default folder, the search paths of programs and libraries, the users, the rules of makefiles, a file of each
# installation in the declared folders (virtual environments, Conda, Python, Go, Ruby, Perl, Julia, R), the modules of
# each Python's library with those beside it, and those in folders of tests, if these are no packages.
_LOOK = r"""
pwd; echo "$PATH:$LD_LIBRARY_PATH"; cat /etc/passwd; echo :
[ "$(pwd)" = / ] || set -- "$@" "$(pwd)"
RULES; echo; echo :
find "$@" -xdev -maxdepth 6 \( INSTALLED \) -prune -print 2>/dev/null; echo; echo :
find /usr/lib /usr/local/lib /opt /root "$@" -xdev -maxdepth 7 \( -path '*-packages/*' \
  -o -path '*/python[0-9]*/*' ! -name '*-packages' ! -name lib-dynload \) -prune -print 2>/dev/null
find "$@" -xdev -maxdepth 6 -type d \( -name test -o -name tests -o -name testing \) \
  ! -path '*-packages/*' -exec sh -c '
  for folder; do
    [ -e "$folder/__init__.py" ] && continue
    for found in "$folder"/*.py "$folder"/*/__init__.py; do [ -e "$found" ] && echo "${found%/__init__.py}"; done
  done' sh {} + 2>/dev/null; :""".replace("RULES", FIND_RULES).replace(
    "INSTALLED", " -o ".join(f"-path '*/{path}'" for path in _INSTALLATIONS)
)
# $1: the number of the paths that came before. A path with a backslash is written with escapes, since engines take no
# arguments that are not UTF-8.
_EACH = r"""number="$1"; shift
for path; do
  number=$((number + 1))
  case "$path" in *\\*) path="$(printf '%b.' "$path")"; path="${path%.}";; esac
  ACTION
done"""
_EXISTING = """
if [ -d "$path" ]; then printf 2; elif [ -e "$path" ] || [ -L "$path" ]; then printf 1; else printf 0; fi"""
_REMOVE = 'rm -rf -- "$path" || exit'
# A folder that comes back is not removed: it may be the one that commands begin in.
_EMPTY = """
if [ -d "$path" ] && ! [ -L "$path" ]; then find "$path" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} + || exit
else rm -rf -- "$path" || exit; fi"""
_NO_OTHERS = 'if [ -L "$path" ] || { [ -e "$path" ] && ! [ -d "$path" ]; }; then rm -f -- "$path" || exit; fi'
_NO_FOLDERS = 'if [ -d "$path" ] && ! [ -L "$path" ]; then rm -rf -- "$path" || exit; fi'
# Files of the image that the agent may not change stay where it has replaced the folder around them.
_SET_ASIDE = """
mkdir -p /.kept || exit
if [ -e "$path" ] || [ -L "$path" ]; then mv -- "$path" "/.kept/$number" || exit; fi"""
# $number: of the removed path. Tests of the image stay, whatever an agent does with the folder around them.
_SHELTER = """
if [ -d "$path" ] && ! [ -L "$path" ]; then
  find "$path" -xdev ! -type d \\( NAMES \\) -exec sh -c 'number="$1"; shift
    for path; do
      mkdir -p -- "/.sheltered/$number${path%/*}" && mv -- "$path" "/.sheltered/$number$path" || exit
    done' sh "$number" {} + || exit
fi"""
_BRING_HOME = """
if [ -d "/.sheltered/$number" ]; then
  cd "/.sheltered/$number" && find . ! -type d -exec sh -c '
    for path; do
      if [ -d "/$path" ] && ! [ -L "/$path" ]; then rm -rf -- "/$path" || exit; fi
      mkdir -p -- "/${path%/*}" && mv -f -- "$path" "/$path" || exit
    done' sh {} + || exit
fi"""
_INDEX = 'git index-pack -- "$path" > /dev/null || rm -f -- "$path"'
# Marks by which git does not look at a file of the work tree. An index that git cannot read shows tests nothing either.
_UNMARK = """
if git --git-dir="${path%/index}" --work-tree=/ ls-files -z > /.listed 2> /dev/null; then
  for mark in assume-unchanged skip-worktree; do
    git --git-dir="${path%/index}" --work-tree=/ update-index -z "--no-$mark" --stdin < /.listed
  done
fi
rm -f /.listed"""
_BRING_BACK = """
if [ -e "/.kept/$number" ] || [ -L "/.kept/$number" ]; then
  mkdir -p -- "${path%/*}" && mv -- "/.kept/$number" "$path" || exit
fi"""


def verify_pristine(
    task: Task, container: Container, engine: Engine, judge: Callable[[Task, Container], VerifierResult]
) -> VerifierResult:
    """Run the tests of a task in a fresh container with the agent's changes.

    Args:
        task: the task.
        container: the agent's container, in which no process of the agent runs any more.
        engine: starts the fresh container.
        judge: runs the tests of a task in a container.

    Raises:
        EngineError: if a container or the engine died, or the fresh container does not start.
    """
    with showing(f"image of {task.name}") as tell:
        reference = engine.prepare(task.image, tell)
    with engine.start(reference, task.limits, task.environment) as fresh:
        copy_in(fresh, task.folders, task.workdir)
        rules = carry_rules(task, fresh)
        try:
            changes = container.changes(rules.folders, most=_MOST_CARRIED)
            carried = rules.carried(changes, partial(existing_paths, fresh))
            del changes  # half of the memory that this takes
        except (ContentError, tarfile.TarError, EOFError, OverflowError, ValueError) as problem:
            return VerifierResult({}, error=f"the agent's files cannot be copied: {problem}")
        if error := lay_over(fresh, carried):
            return VerifierResult({}, error=error)
        environment = {**ENVIRONMENT, **task.tests.environment}
        result = judge(replace(task, tests=replace(task.tests, environment=environment)), fresh)
        return replace(result, hint=_hint(carried.undeclared)) if result.reward == 0.0 else result


def _hint(undeclared: Sequence[str]) -> str | None:
    if not undeclared:
        return None
    some = ", ".join(path.encode(errors="replace").decode()[:200] for path in undeclared[:5])
    more = f" and {len(undeclared) - 5} more" if len(undeclared) > 5 else ""
    return (
        f"the tests did not get {some}{more}, which the task does not declare; "
        "pristine_paths in its metadata lets them through"
    )


def carry_rules(task: Task, fresh: Container) -> CarryRules:
    """Return the rules for a task, given a fresh container of its image."""
    done = fresh.run(("sh", "-c", _LOOK, "sh", *COMMON_FOLDERS), seconds=_LOOKS_IN, workdir=task.workdir)
    if done.exit_code != 0:
        why = done.output[-200:].decode(errors="replace")
        raise EngineError(f"the image of {task.name} cannot be looked at: {why}")
    told, rules, environments, packages = done.output.decode(errors="replace").split("\n:\n", 3)
    workdir, search_path, *passwd = told.split("\n")
    homes = [home_of(passwd, task.user), home_of(passwd, task.tests.user)]
    author = declarations_of(task, homes[0])
    folders = [PurePosixPath(path) for path in (workdir, *COMMON_FOLDERS)]
    folders += [home for home in homes if home is not None]
    installs = task.metadata.get("pristine_installs")
    managers = map(str, installs) if isinstance(installs, list) else ()
    added = [folder for name in managers for folder in _INSTALLS.get(name, ())]
    modules = {PurePosixPath(path).name.partition(".")[0] for path in packages.split("\n")}
    modules |= {path.stem for source in task.tests.sources for path in source.glob("**/*.py")}
    return CarryRules(
        declared=tuple(dict.fromkeys(path for path in (*folders, *author.places) if path != PurePosixPath("/"))),
        author=author,
        tools=tuple(
            [PurePosixPath(folder) for folder in search_path.split(":") if folder.startswith("/")]
            + [place for place in map(_installed_at, filter(None, environments.split("\n"))) if place not in folders]
        ),
        added=tuple(map(PurePosixPath, added)),
        modules=known_modules() | modules - {""},
        targets=targets_of(rules),
        landings=landings_of(task, PurePosixPath(workdir)),
    )


def _installed_at(found: str) -> PurePosixPath:
    """Return the folder of an installation, given the path by which it was found."""
    path = PurePosixPath(found)
    return next(path.parents[pattern.count("/")] for pattern in _INSTALLATIONS if path.match(pattern))


def existing_paths(fresh: Container, paths: Sequence[str]) -> Mapping[str, bool]:
    """Return which paths exist in a fresh container, and whether they are folders."""
    found: dict[str, bool] = {}
    for some, done in _run_over(fresh, _EXISTING, paths):
        flags = done.output.decode()
        if done.exit_code != 0 or len(flags) != len(some):
            raise EngineError(f"a fresh container cannot be looked at: {flags[-200:]}")
        found.update((path, flag == "2") for path, flag in zip(some, flags, strict=True) if flag != "0")
    return found


def lay_over(fresh: Container, carried: CarriedFiles) -> str | None:
    """Write the carried files into a fresh container; return the reason of a failure, or None."""
    come_back = frozenset(carried.folders)
    emptied = [path for path in carried.removed if path in come_back]
    removed = [path for path in carried.removed if path not in come_back]
    names = " ".join(map(shlex.quote, protected_names()))
    before = (
        (_SET_ASIDE, carried.kept),
        (_SHELTER.replace("NAMES", names), carried.sheltered),
        (_REMOVE, removed),
        (_EMPTY, emptied),
        (_NO_OTHERS, carried.folders),
        (_NO_FOLDERS, carried.others),
    )
    failure = next(filter(None, (_failure(fresh, script, paths) for script, paths in before)), None)
    if failure is None:
        try:
            fresh.put(carried.archive, "/")
        except EngineError as error:
            failure = str(error)
        else:
            after = (
                (_INDEX, carried.packs),
                (_UNMARK, carried.indexes),
                (_BRING_HOME, carried.sheltered),
                (_BRING_BACK, carried.kept),
            )
            failure = next(filter(None, (_failure(fresh, script, paths) for script, paths in after)), None)
    return failure and f"the agent's files cannot be copied: {failure}"


def _failure(fresh: Container, action: str, paths: Sequence[str]) -> str | None:
    """Do something with paths; return why it failed, or None."""
    for _, done in _run_over(fresh, action, paths):
        if done.exit_code != 0:
            return done.output[-200:].decode(errors="replace").strip() or "it takes too long"
    return None


def _run_over(fresh: Container, action: str, paths: Sequence[str]) -> Iterator[tuple[list[str], ExecResult]]:
    """Run shell commands for each path, a portion at a time; yield the paths of each portion and its result."""
    before = 0
    for some in _portions(paths):
        command = ("sh", "-c", _EACH.replace("ACTION", action), "sh", str(before), *map(_escaped, some))
        yield some, fresh.run(command, seconds=_LOOKS_IN, user="root", workdir="/")
        before += len(some)


def _escaped(path: str) -> str:
    """Return a path as the shell reads it: bytes that are not UTF-8, and backslashes, as octal numbers."""
    return _UNSAFE.sub(lambda found: "".join(f"\\0{byte:03o}" for byte in os.fsencode(found[0])), path)


def _portions(paths: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    size = 0
    for path in paths:
        length = len(path.encode(errors="surrogateescape")) + 1
        if some and size + length > _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(path)
        size += length
    if some:
        yield some
