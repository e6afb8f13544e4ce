"""Several engines as one: :class:`FleetEngine`."""

from __future__ import annotations

from gem_terminal_remote.fleet.engine import FleetEngine

__all__ = ["FleetEngine"]
