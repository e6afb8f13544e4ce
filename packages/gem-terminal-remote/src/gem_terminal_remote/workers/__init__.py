"""Engines of other machines, over a socket: :class:`WorkerEngine`, and :class:`EngineWorker` at the other end."""

from __future__ import annotations

from gem_terminal_remote.workers.engine import WorkerEngine
from gem_terminal_remote.workers.worker import EngineWorker

__all__ = ["EngineWorker", "WorkerEngine"]
