"""The choice of a fork server for a program: :class:`WarmLaunchers`."""

from __future__ import annotations

import atexit
import re
import weakref

from gem.fork_hooks import after_fork_in_child
from gem_tools.sandbox.jail_launcher import JailLauncher
from gem_tools.sandbox.system import allowed_modules

__all__ = ["WarmLaunchers"]

# A program needs the last entry whose library it mentions. Later entries take longer to start and to fork.
_WARM = (
    ("numpy", ("numpy",)),
    ("sympy", ("numpy", "sympy")),
    ("pandas", ("numpy", "pandas")),
    ("scipy", ("numpy", "scipy", "scipy.optimize", "scipy.stats")),
)
_MENTION = re.compile(r"\b(?:numpy|sympy|pandas|scipy)\b")


class WarmLaunchers:
    """Launchers with warm fork servers, each started on first use.

    One serves programs that import only the standard library; each of the others has imported a large library.

    Args:
        kind: the launcher of the tier.
        libraries: the installed libraries that programs may import; None for all.
    """

    def __init__(self, kind: type[JailLauncher] = JailLauncher, libraries: tuple[str, ...] | None = None) -> None:
        allowed = None if libraries is None else allowed_modules(libraries)["names"]
        self._light = kind((), libraries)
        self._heavy = {name: kind(modules, libraries) for name, modules in _WARM if allowed is None or name in allowed}
        _alive.add(self)
        after_fork_in_child(self._disown)

    def launcher_for(self, code: str) -> JailLauncher:
        """Return the launcher for a program."""
        mentioned = set(_MENTION.findall(code))
        for name, launcher in reversed(self._heavy.items()):
            if name in mentioned:
                return launcher
        return self._light

    def check(self) -> None:
        """Start the first fork server, unless it runs.

        Raises:
            SandboxError: if it cannot start.
        """
        self._light.check()

    def close(self) -> None:
        """End all fork servers."""
        for launcher in (self._light, *self._heavy.values()):
            launcher.close()

    def _disown(self) -> None:
        for launcher in (self._light, *self._heavy.values()):
            launcher.disown()


_alive: weakref.WeakSet[WarmLaunchers] = weakref.WeakSet()


def _close_at_exit() -> None:
    for launchers in list(_alive):
        launchers.close()


atexit.register(_close_at_exit)
