"""Writes the skill and the section of ``AGENTS.md`` into a project."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gem.errors import ArgumentError
from gem_testing.skill.managed_text import is_unedited, managed, with_section

__all__ = ["AGENTS_FILE", "SKILL_FILE", "install", "section_text", "skill_text"]

SKILL_FILE = ".claude/skills/gem/SKILL.md"
"""Where Claude Code and the agents that follow it look for a project's skills."""

AGENTS_FILE = "AGENTS.md"
"""What Codex, OpenCode, Qwen Code and others read at the start (https://agents.md)."""

_HERE = Path(__file__).parent


def skill_text() -> str:
    """Return the skill, Markdown after a YAML header with ``name`` and ``description``."""
    return (_HERE / "SKILL.md").read_text(encoding="utf-8")


def section_text() -> str:
    """Return the section of ``AGENTS.md``, without the lines around it."""
    return (_HERE / "agents_section.md").read_text(encoding="utf-8")


def install(folder: Path) -> dict[str, str]:
    """Write :data:`SKILL_FILE` and the section of :data:`AGENTS_FILE`; return what became of each file.

    That is ``"written"``, ``"updated"`` or ``"unchanged"``. Nothing is written if one of the two cannot be.

    Raises:
        ArgumentError: if the folder does not exist, if a file leads out of it or is not UTF-8, or if the text that
            would be replaced is not an unedited one of an earlier call.
        OSError: if a file cannot be read or written.
    """
    if not folder.is_dir():
        raise ArgumentError(f"there is no folder {str(folder)!r}; name that of your project with --dir")
    root = folder.resolve()
    skill, agents = _inside(root, SKILL_FILE), _inside(root, AGENTS_FILE)
    before = {skill: _read(skill), agents: _read(agents)}
    present = before[skill]
    if present is not None and not is_unedited(present):
        raise ArgumentError(
            f"{SKILL_FILE} is not as 'gem skill install' wrote it; rename its folder to keep your changes, and run the "
            "command again"
        )
    after = {
        skill: managed(skill_text()),
        agents: with_section(before[agents] or "", section_text(), AGENTS_FILE),
    }
    done = {}
    for path, name in ((skill, SKILL_FILE), (agents, AGENTS_FILE)):
        done[name] = "written" if before[path] is None else "unchanged" if before[path] == after[path] else "updated"
        if done[name] != "unchanged":
            _replace(path, after[path])
    return done


def _inside(root: Path, name: str) -> Path:
    """Return a file's path without links, as a replaced link would no longer lead to the user's file."""
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise ArgumentError(f"{name} is a link out of the folder, to {str(path)!r}; replace the link by a file")
    return path


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"{str(path)!r} is not UTF-8: {error.reason} at byte {error.start}; convert it first"
        ) from error


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all; an existing one keeps its mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.gem-{os.getpid()}")
    try:
        with scratch.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, scratch)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
