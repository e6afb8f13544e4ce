"""Engines of other machines, over a socket: :class:`WorkerEngine`, and :class:`EngineWorker` at the other end."""

from __future__ import annotations

from gem_terminal.engines.remote.engine import WorkerEngine
from gem_terminal.engines.remote.worker import EngineWorker

__all__ = ["EngineWorker", "WorkerEngine"]
