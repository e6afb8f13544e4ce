"""An environment whose module imports a library that its package does not depend on."""

from __future__ import annotations

from typing import Any

from planted_envs.healthy import Sums

from gem.core import Info


class Undeclared(Sums):
    """Its module imports a library that the package does not declare."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        import jinja2  # noqa: F401  # installed for another's sake

        return super().reset(seed=seed, options=options)
