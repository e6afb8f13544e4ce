"""Containers of a Docker engine: :class:`DockerEngine`."""

from __future__ import annotations

from gem_terminal.engines.docker.engine import DockerEngine

__all__ = ["DockerEngine"]
