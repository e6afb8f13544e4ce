"""The values of an episode that tools use: :class:`EpisodeValues`, and :class:`FromEpisode` for function tools."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gem.errors import ArgumentTypeError, ToolError

if TYPE_CHECKING:
    from gem.core import Env
    from gem.tools.base import Tool

__all__ = ["EpisodeValues", "FromEpisode", "MissingValueError", "begin_episode", "knows_episode"]

_OWN = ("dir", "seed")


class MissingValueError(ToolError, KeyError):
    """An episode does not have a value that a tool needs."""

    __str__ = Exception.__str__  # that of KeyError shows the repr of the message


@dataclass(frozen=True)
class FromEpisode:
    """Marks a parameter of a function tool that the episode fills, and that the agent does not see.

    ::

        @tool
        def query(sql: str, db: Annotated[str, FromEpisode()]) -> list[tuple]: ...

    fills ``db`` with ``env.episode_values["db"]``.
    """

    name: str | None = None
    """The name of the value; None for the name of the parameter."""


class EpisodeValues(Mapping[str, Any]):
    """The values of the current episode by name, read when they are used.

    An environment offers values by an attribute ``episode_values``, a mapping; it may be a property. Two more names
    exist in every environment:

    * ``dir``: the path of an empty folder, which exists until the end of the episode. The first use creates it.
    * ``seed``: an int below 2³¹ that the state of the environment's generator determines, without a change of that
      state. Episodes with the same seed have the same value.

    Args:
        env: the environment.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        self._env = env
        self._folder: str | None = None
        self._remove: Callable[[], object] | None = None

    def __getitem__(self, name: str) -> Any:
        offered = self._offered()
        if name in offered:
            return offered[name]
        if name == "dir":
            return self._own_folder()
        if name == "seed":
            return _seed(self._env)
        raise MissingValueError(f"the episode has no value {name!r}; it has {', '.join(self)}")

    def __contains__(self, name: object) -> bool:
        return name in _OWN or name in self._offered()

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._offered(), *_OWN))

    def __len__(self) -> int:
        return len({*self._offered(), *_OWN})

    def end(self) -> None:
        """Remove the folder of the episode. The next use creates another one."""
        remove, self._remove, self._folder = self._remove, None, None
        if remove is not None:
            remove()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._env,)  # a copy has a folder of its own

    def _offered(self) -> Mapping[str, Any]:
        offered = getattr(self._env, "episode_values", {})
        if not isinstance(offered, Mapping):
            raise ArgumentTypeError(f"episode_values must be a mapping, got {type(offered).__name__}")
        return offered

    def _own_folder(self) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.mkdtemp(prefix="gem-episode-")
            self._remove = weakref.finalize(self, _remove_folder, self._folder, os.getpid())
        return self._folder


def knows_episode(tool: Tool) -> bool:
    """Return whether a reset of the tool takes the environment and its info."""
    from gem.tools.base import Tool

    return type(tool).reset is not Tool.reset and _takes_episode(type(tool).reset)


def begin_episode(tool: Tool, env: Env[Any, Any], info: Mapping[str, Any]) -> None:
    """Reset a tool, with what it takes: the environment and its info, or nothing."""
    if knows_episode(tool):
        tool.reset(env, info)
    else:
        tool.reset()


@lru_cache(maxsize=1024)
def _takes_episode(reset: Callable[..., object]) -> bool:
    import inspect

    try:
        inspect.signature(reset).bind(None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _seed(env: Env[Any, Any]) -> int:
    import hashlib

    state = repr(env.unwrapped.rng.getstate()).encode()
    return int.from_bytes(hashlib.sha256(b"tools " + state).digest()[:4], "little") >> 1


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves the folder to its parent
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
