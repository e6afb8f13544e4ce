"""How far the verdict on a task can be trusted: :func:`verdict_worth`."""

from __future__ import annotations

import re
from typing import NamedTuple

from gem_terminal.task import Image, Task

__all__ = ["VerdictWorth", "user_of_image", "verdict_worth"]

_USER = re.compile(r"^\s*USER\s+([\w.-]+)", re.IGNORECASE | re.MULTILINE)
_FROM = re.compile(r"^\s*FROM\s", re.IGNORECASE | re.MULTILINE)


class VerdictWorth(NamedTuple):
    """How far a verdict can be trusted."""

    level: str
    """``"separate"``, ``"pristine"``, ``"guarded"`` or ``"forgeable"``."""
    reason: str

    @property
    def is_forgeable(self) -> bool:
        """Whether an agent can choose its reward, however its tests are written."""
        return self.level == "forgeable"


def verdict_worth(task: Task) -> VerdictWorth:
    """Return how far the verdict on a task can be trusted, from its files and options alone.

    Whatever the level, tests that execute the agent's files with their own rights can be deceived by them.
    """
    if task.tests.separate is not None:
        return VerdictWorth("separate", "the tests run in a container of their own, with the declared artifacts only")
    if task.pristine:
        if task.metadata.get("pristine_installs"):
            return VerdictWorth("pristine", "the tests run in a fresh container, with new packages of the agent")
        return VerdictWorth(
            "pristine", "the tests run in a fresh container, with the agent's changes in declared paths"
        )
    agent, tests = task.user or user_of_image(task.image), task.tests.user or "root"
    if agent in ("root", "0", None):
        who = "root" if agent is not None else "the user of its image, probably root"
        return VerdictWorth("forgeable", f"the agent works as {who}, in the container of the tests")
    if agent == tests:
        return VerdictWorth("forgeable", f"agent and tests work as the same user, {agent}, in one container")
    return VerdictWorth("guarded", f"the agent works as {agent}, the tests as {tests}, in one container")


def user_of_image(image: Image) -> str | None:
    """Return the user that the Dockerfile sets last, ``"root"`` if it sets none, or None if there is no Dockerfile."""
    if image.folder is None:
        return None
    try:
        text = (image.folder / image.dockerfile).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    last = [found.end() for found in _FROM.finditer(text)]
    users = _USER.findall(text, last[-1] if last else 0)
    return users[-1] if users else "root"
