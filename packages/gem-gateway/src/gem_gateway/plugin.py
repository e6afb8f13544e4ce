"""What this package adds to GEM: the command ``gem gateway`` and the harnesses."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__: list[str] = []
