"""An environment of another process, seen from this one: :class:`EnvStandIn`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError

__all__ = ["EnvStandIn"]

Call = Callable[..., Any]
"""Called with a name and the arguments of the method."""


class EnvStandIn(Env[Any, Any]):
    """Asks the environment for everything; each question is a message, and waits for calls that run in its process.

    Its vector environment resets and steps it. Any thread may use it.

    Args:
        call: calls a method of the environment by its name.
        look: returns whether an attribute is a method, and its value if it is none.
        spec: returns the spec of the environment.
    """

    def __init__(self, call: Call, look: Callable[[str], tuple[bool, Any]], spec: Callable[[], EnvSpec | None]) -> None:
        self._call = call
        self._look = look
        self._spec = spec

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # asked for once
        return self._spec()

    @property
    def rng(self) -> Any:
        return _ObjectStandIn(self._call, "rng")

    @property
    def action_rng(self) -> Any:
        return _ObjectStandIn(self._call, "action_rng")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        raise NotSupportedError("this environment belongs to a vector environment; use reset_at of that one")

    def step(self, action: Any) -> Any:
        raise NotSupportedError("this environment belongs to a vector environment; use step of that one")

    def sample_random_action(self) -> Any:
        return self._call("sample_random_action")

    def get_state(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._call("get_state"))

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._call("set_state", state)

    def generator_state(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._call("generator_state"))

    def set_generator_state(self, state: Mapping[str, Any]) -> None:
        self._call("set_generator_state", state)

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Any:
        raise NotSupportedError("an environment of another process spawns none here; gem.make(env.spec) makes another")

    def close(self) -> None:
        """Do nothing: the vector environment closes it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_call", "_look", "_spec"):
            raise AttributeError(name)
        is_method, value = self._look(name)
        return partial(self._call, name) if is_method else value

    def __repr__(self) -> str:
        spec = self.spec
        return "EnvStandIn()" if spec is None else f"EnvStandIn<{spec.id}>"


class _ObjectStandIn:
    """An object that an environment has; its methods run in the environment's process."""

    def __init__(self, call: Call, name: str) -> None:
        self._call = call
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._call(f"{self._name}.{name}", *args, **kwargs)
