"""Makes levels of BabyAI from minigrid, which is imported here and not before; nothing is printed."""

from __future__ import annotations

import os
import types
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

from gem.discovery.official import install_line
from gem.errors import ArgumentError, NotSupportedError

__all__ = ["bot_of", "make_level"]

_IMPORTING = Lock()
_NO_GREETING = "PYGAME_HIDE_SUPPORT_PROMPT"


def make_level(name: str) -> Any:
    """Return a new level, such as ``"GoToRedBall"``: a ``minigrid.minigrid_env.MiniGridEnv``.

    Raises:
        ArgumentError: if minigrid has no such level.
        NotSupportedError: if minigrid is not installed.
    """
    quiet, kwargs = _level_class(name)
    return quiet(**kwargs)


def bot_of(level: Any) -> Any:
    """Return minigrid's bot for a level that has begun."""
    return import_module("minigrid.utils.baby_ai_bot").BabyAIBot(level)


@lru_cache(maxsize=256)
def _level_class(name: str) -> tuple[type, dict[str, Any]]:
    with _IMPORTING:
        before = os.environ.get(_NO_GREETING)
        os.environ[_NO_GREETING] = "1"  # pygame prints at its first import
        try:
            import_module("minigrid")
            rooms = import_module("minigrid.envs.babyai.core.roomgrid_level")
            registry = import_module("gymnasium").registry
        except ModuleNotFoundError as error:
            line = install_line("'gem-envs-grid[babyai]'")
            raise NotSupportedError(f"BabyAI needs minigrid, and with it Python 3.11 or newer; run: {line}") from error
        finally:
            if before is None:
                del os.environ[_NO_GREETING]
            else:
                os.environ[_NO_GREETING] = before
    spec = registry.get(f"BabyAI-{name}-v0") or registry.get(f"BabyAI-{name}-v1")
    if spec is None:
        known = sorted(key[len("BabyAI-") : -len("-v0")] for key in registry if key.startswith("BabyAI-"))
        raise ArgumentError(f"level must be one of {', '.join(known)}, got {name!r:.60}")
    module, _, attribute = spec.entry_point.partition(":")
    level_class = getattr(import_module(module), attribute)
    # The library's own method with a print that says nothing: it reports each rejected sample to standard output.
    loud = rooms.RoomGridLevel._gen_grid
    silent = types.FunctionType(
        loud.__code__, {**loud.__globals__, "print": _say_nothing}, loud.__name__, loud.__defaults__, loud.__closure__
    )
    return type(level_class.__name__, (level_class,), {"_gen_grid": silent}), dict(spec.kwargs)


def _say_nothing(*_: object) -> None:
    pass
