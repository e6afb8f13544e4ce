"""Containers without a daemon: :class:`NamespaceEngine`."""

from __future__ import annotations

from gem_terminal.engines.namespace.engine import NamespaceEngine

__all__ = ["NamespaceEngine"]
