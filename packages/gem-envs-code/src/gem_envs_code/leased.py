"""The sandbox that all environments of this package share, as long as one of them needs it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem_tools.sandbox import Sandbox

__all__ = ["Lease"]

_lock = threading.Lock()
_users = 0
_sandbox: Sandbox | None = None


class Lease:
    """A user's hold on the sandbox.

    The first starts it, and the last to let go ends its processes, so that no environment leaves any behind.
    """

    def __init__(self) -> None:
        global _users, _sandbox
        from gem_tools.sandbox import Sandbox

        self._held = True
        with _lock:
            _users += 1
            if _sandbox is None:
                _sandbox = Sandbox()
            self.sandbox = _sandbox

    def close(self) -> None:
        """Let go. Doing so again does nothing."""
        global _users, _sandbox
        unused = None
        with _lock:
            if self._held:
                self._held = False
                _users -= 1
                if not _users:
                    unused, _sandbox = _sandbox, None
        if unused is not None:
            unused.close()
