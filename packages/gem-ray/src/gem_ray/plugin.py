"""What this package adds to GEM: the vectorization mode ``"ray"``."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_vector_backends"]


@hookimpl
def gem_vector_backends() -> Named:
    """Return the mode."""
    return {"ray": "gem_ray.vector_env:RayVectorEnv"}
