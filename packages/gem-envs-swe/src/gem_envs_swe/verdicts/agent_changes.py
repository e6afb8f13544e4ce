"""What an agent has changed in its tree: :func:`diff_of_agent`, and the part that counts, :func:`countable_changes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.task_set import REPOSITORY
from gem_envs_swe.workplace.tasks import SweTask
from gem_terminal.engines.base import Engine, FileChanges
from gem_terminal.task import Image, Task, Tests
from gem_terminal.verdicts.carried_files import CarriedFiles, CarryRules
from gem_terminal.verdicts.carried_kinds import is_reserved, is_test_source
from gem_terminal.verdicts.changed_entries import entries_of
from gem_terminal.verdicts.declarations import Declarations
from gem_terminal.verdicts.pristine import carry_rules

__all__ = ["MOST_DIFF", "countable_changes", "diff_of_agent"]

MOST_DIFF = 200_000
"""Characters of a diff that are kept."""
_ROOT = PurePosixPath(REPOSITORY)
_NOT_SOURCE = (".git", "__pycache__", ".pytest_cache")


def diff_of_agent(task: SweTask, changes: FileChanges) -> str:
    """Return the agent's tree as a diff against the tree that it began with, cut off after :data:`MOST_DIFF`.

    Files that are no text in UTF-8, and links, are named and not shown.

    Raises:
        tarfile.TarError, EOFError, OverflowError, ValueError: if an archive is none.
    """
    before, after, others = dict[str, str](), dict[str, str](), list[str]()
    there: set[str] = set()
    for path, member, content in entries_of(changes):
        if _ROOT not in path.parents or not _is_shown(path):
            continue
        name = str(path.relative_to(_ROOT))
        there.add(name)
        if member.issym():
            others.append(f"Link {name} -> {member.linkname}")
        elif member.isreg() or member.islnk():
            old = task.text(name)
            new = _text(bytes(content))
            if new is None:
                if old is None or old.encode(errors="surrogateescape") != bytes(content):
                    others.append(f"Binary file {name}, {len(content)} bytes")
            elif old != new:
                after[name] = new
                if old is not None:
                    before[name] = old
    for gone in _removed_files(task, changes.removed):
        if gone not in there and (old := task.text(gone)) is not None:
            before[gone] = old
    diff = diff_of(before, after) + "".join(f"{each}\n" for each in sorted(others))
    diff = diff.encode(errors="replace").decode()
    if len(diff) <= MOST_DIFF:
        return diff
    return f"{diff[:MOST_DIFF]}\n[{len(diff) - MOST_DIFF} more characters]\n"


def countable_changes(task: SweTask, changes: FileChanges, engine: Engine, reference: str) -> CarriedFiles:
    """Return the changes that count for the verdict: sources of the package, no tests, nothing that configures tests.

    The rules are those of :mod:`gem_terminal.verdicts.pristine`; the files that the solution changes count whatever
    their names are.

    Raises:
        EngineError: if the image cannot be looked at.
        tarfile.TarError, EOFError, OverflowError, ValueError: if an archive is none.
    """
    rules = replace(
        _rules_of_image(engine, reference),
        declared=(_ROOT,),
        author=Declarations(stated=tuple(_ROOT / name for name in sorted(task.solved))),
    )
    carried = rules.carried(changes, lambda paths: _existing(task, paths))
    return carried._replace(removed=tuple(path for path in carried.removed if not _holds_tests(task, path)))


@lru_cache(maxsize=64)
def _rules_of_image(engine: Engine, reference: str) -> CarryRules:
    bare = Task(reference, "", Image(), Tests((), ""), Path(), "swe", workdir=REPOSITORY)
    with engine.start(reference, bare.limits) as fresh:
        return carry_rules(bare, fresh)


def _existing(task: SweTask, paths: Sequence[str]) -> Mapping[str, bool]:
    """Return which paths exist in the tree that the agent began with, and whether they are folders.

    What lies outside the tree counts as missing: links to it are left behind.
    """
    found = {}
    for path in paths:
        place = PurePosixPath(path)
        if place == _ROOT or _ROOT in place.parents:
            name = str(place.relative_to(_ROOT))
            is_folder = task.tree.is_folder(name)
            if is_folder is None and task.text(name) is not None:
                is_folder = False
            if is_folder is not None:
                found[path] = is_folder
    return found


def _removed_files(task: SweTask, removed: Iterable[str]) -> Iterable[str]:
    for path in removed:
        place = PurePosixPath(path)
        if place == _ROOT or _ROOT in place.parents:
            for name in task.tree.below(str(place.relative_to(_ROOT))):
                if _is_shown(_ROOT / name):
                    yield name


def _holds_tests(task: SweTask, path: str) -> bool:
    """Return whether a path is a test, something that configures tests, or a folder with one."""
    place = PurePosixPath(path)
    if _ROOT not in place.parents:
        return True
    name = str(place.relative_to(_ROOT))
    tests = frozenset(task.described.test_files)
    return any(
        each in tests or is_reserved(PurePosixPath(each).parts) or is_test_source(PurePosixPath(each))
        for each in (name, *task.tree.below(name))
        if each not in task.solved
    )


def _is_shown(path: PurePosixPath) -> bool:
    parts = path.relative_to(_ROOT).parts
    return not any(part in _NOT_SOURCE or part.endswith(".egg-info") for part in parts)


def _text(content: bytes) -> str | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
