"""What this package adds to GEM: the command ``gem gateway`` and the harnesses."""

from __future__ import annotations

__all__: list[str] = []
