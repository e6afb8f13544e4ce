"""What this package adds to GEM: vectorization modes."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_vector_backends"]


@hookimpl
def gem_vector_backends() -> Named:
    """Return the vectorization modes by name."""
    return {
        "auto": "gem_processes.auto_mode.auto:auto_vector_env",
        "process": "gem_processes.process_mode.vector_env:ProcessVectorEnv",
    }
