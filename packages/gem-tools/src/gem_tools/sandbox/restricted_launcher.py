"""Executions where no jail can be had: a :class:`RestrictedLauncher` confines them with Landlock instead."""

from __future__ import annotations

import tempfile

from gem_tools.sandbox.errors import SandboxError
from gem_tools.sandbox.jail_launcher import JailLauncher

__all__ = ["NEWEST_LANDLOCK", "RestrictedLauncher"]

NEWEST_LANDLOCK = 7
"""The newest version of Landlock that is used."""


class RestrictedLauncher(JailLauncher):
    """Forks executions from a server without namespaces of its own; see :mod:`gem_tools.sandbox.inside.restricted`."""

    tier = "restricted"
    module = "gem_tools.sandbox.inside.restricted"
    may_use_cgroups = False

    def more_arguments(self) -> dict[str, object]:
        try:
            return {"scratch": tempfile.gettempdir(), "version": NEWEST_LANDLOCK}
        except FileNotFoundError as error:  # a container without a writable folder
            raise SandboxError(f"there is no place for scratch folders: {error.strerror}; set TMPDIR") from None
