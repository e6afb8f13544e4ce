"""One environment behind a server: :class:`RemoteEnv`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import real
from gem.core import Env, Info
from gem.errors import EpisodeFinishedError, StateError
from gem_server.client.address import token_from_surroundings
from gem_server.client.session_client import SessionClient
from gem_server.errors import ServiceError

__all__ = ["RemoteEnv"]

_OPENS_IN = 600.0  # seconds for making the environment


class RemoteEnv(Env[Any, Any]):
    """An environment that lives on a server; ``gem.make("http://localhost:8080/game:Sudoku-v0")`` makes one.

    A step that fails on the server (the environment raises, or its process or server is lost) is truncated, with
    ``info["error"]``, and the next ``reset`` begins in a new environment. ``gem.make_vec(…, mode="server")`` drives
    many environments at the cost of one message.

    Args:
        url: address of the server and the environment.
        reconnect_timeout: seconds to keep trying to reach a server that is gone or silent, before a call fails.
        **arguments: constructor arguments, for a server that takes them (``gem serve --allow-arguments``).

    Raises:
        ServiceUnavailableError: if the server cannot be reached.
        AccessDeniedError: if the token in ``GEM_SERVER_TOKEN`` is not what the server wants.
        GemError: what the server says about the environment.
    """

    vector_mode = "server"
    """The mode that ``make_vec(…, mode="auto")`` takes for addresses."""

    def __init__(self, url: str, *, reconnect_timeout: float = 30.0, **arguments: Any) -> None:
        self.url = url
        self._client = SessionClient(
            token=token_from_surroundings(), reconnect_timeout=real("reconnect_timeout", reconnect_timeout, minimum=0.0)
        )
        self._closed = False
        fields: dict[str, Any] = {"autoreset": "disabled"}
        if arguments:
            fields["arguments"] = arguments
        try:
            self._client.connect([url])
            self._client.add(0, url, fields)
            self._result(_OPENS_IN)
        except BaseException:
            self.close()
            raise
        self.follows_order = self._client.follows_order(0)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        arguments: dict[str, Any] = {"seed": seed}
        if options is not None:
            arguments["options"] = options
        observation, _, _, _, info = self._call("reset", arguments)
        if "error" in info:
            raise ServiceError(f"{self.url} could not begin an episode: {info['error']}")
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        result: tuple[Any, float, bool, bool, Info] = self._call("step", action)
        return result

    def sample_random_action(self) -> Any:
        return self._call("sample")

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._call("get_state")
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        if not isinstance(state, Mapping):
            raise StateError(f"a state is a dict, got {type(state).__name__}")
        self._call("set_state", dict(state))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.close()

    def _call(self, name: str, argument: Any = None) -> Any:
        if self._closed:
            raise EpisodeFinishedError(f"{self!r} is closed; make another one")
        self._client.submit([0], name, [argument])
        return self._result(None)

    def _result(self, timeout: float | None) -> Any:
        arrived = self._client.arrived
        self._client.collect(1, timeout)
        if 0 not in arrived:
            raise ServiceError(f"{self.url} gave no answer within {timeout:.0f} s")
        result = arrived.pop(0)
        if isinstance(result, Exception):
            raise result
        return result
