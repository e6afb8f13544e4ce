"""Which template process a program is forked from: :class:`Templates`."""

from __future__ import annotations

import atexit
import re
import weakref

from gem.processes.fork_hooks import after_fork_in_child
from gem_tools.sandbox.warm import Warm

__all__ = ["Templates"]

# A program needs the last of these whose library it mentions. Each later one is dearer to start and to fork.
_WARM = (
    ("numpy", ("numpy",)),
    ("sympy", ("numpy", "sympy")),
    ("pandas", ("numpy", "pandas")),
    ("scipy", ("numpy", "scipy", "scipy.optimize", "scipy.stats")),
)
_MENTION = re.compile(r"\b(?:numpy|sympy|pandas|scipy)\b")


class Templates:
    """Template processes, each started when it is first needed.

    One is for programs that import the standard library alone; the others have a large library imported already.
    """

    def __init__(self) -> None:
        self._light = Warm()
        self._heavy = {name: Warm(modules) for name, modules in _WARM}
        _alive.add(self)

    @property
    def all(self) -> tuple[Warm, ...]:
        return self._light, *self._heavy.values()

    def of(self, code: str) -> Warm:
        """Return the template for a program."""
        mentioned = set(_MENTION.findall(code))
        for name, _ in reversed(_WARM):
            if name in mentioned:
                return self._heavy[name]
        return self._light

    def check(self) -> None:
        """Start the first of them if it does not run yet; raise ``SandboxError`` if it cannot be had."""
        self._light.check()

    def close(self) -> None:
        """End all of them."""
        for warm in self.all:
            warm.close()


_alive: weakref.WeakSet[Templates] = weakref.WeakSet()


@after_fork_in_child
def _forget_in_child() -> None:
    for templates in list(_alive):
        for warm in templates.all:
            warm.forget()


def _close_at_exit() -> None:
    for templates in list(_alive):
        templates.close()


atexit.register(_close_at_exit)
