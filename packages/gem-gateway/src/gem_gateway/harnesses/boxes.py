"""Which agent programs run in a box, and with which environments: :func:`obstacle_to_box`."""

from __future__ import annotations

import platform
import sys
from typing import Any, Literal

from gem.core import Env
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.own_box import obstacle_to_own_box

__all__ = ["HarnessBox", "has_container", "obstacle_to_box"]

HarnessBox = Literal["auto", "always", "never"]
"""``auto``: in a box where program and machine allow it; ``always``: nowhere else; ``never``."""


def obstacle_to_box(harness: Harness, env: Env[Any, Any], *, asked: bool) -> str | None:
    """Return why a program cannot run in the box of an environment; None if nothing is known to stand against it.

    Args:
        harness: how the program is run.
        env: what it plays. One with a container has a method ``agent_box``, such as :class:`gem_terminal.TerminalEnv`;
            for any other there may be a box of its own.
        asked: whether nothing but a box will do. A command then means a program of the box, and otherwise one of this
            machine.
    """
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return "programs are brought into a box with the C library of this machine, which must be Linux with glibc"
    if harness.name == "python":
        return "a function of this process's Python cannot be brought into a box"
    if harness.installer is None and not asked:
        return f"{harness.command[0]} is a program of this machine; --harness-box always takes it as one of the box"
    return None if has_container(env) else obstacle_to_own_box()


def has_container(env: Env[Any, Any]) -> bool:
    """Return whether an environment has a container in which its agent's program can run."""
    return hasattr(env.unwrapped, "agent_box")
