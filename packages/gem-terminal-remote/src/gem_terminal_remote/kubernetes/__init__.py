"""Pods of a cluster: :class:`KubernetesEngine`."""

from __future__ import annotations

from gem_terminal_remote.kubernetes.engine import KubernetesEngine

__all__ = ["KubernetesEngine"]
