"""The vectorization mode ``server``: :class:`ServerVectorEnv`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gem.arguments import integer
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, VectorError
from gem.vector.base import VectorEnv
from gem.vector.env_runner import AutoresetMode, Maker
from gem.vector.make import EnvMaker
from gem_server.client.address import token_from_surroundings
from gem_server.client.remote_env import RemoteEnv
from gem_server.client.session_client import SessionClient

__all__ = ["ServerVectorEnv"]

_OPENS_IN = 600.0  # seconds for making all environments


class ServerVectorEnv(VectorEnv):
    """Environments on one or many servers.

    The actions of one ``step`` or ``send`` leave in one message for each connection. Autoreset, seeds and faults are
    the server's, where the same code runs as in every other mode. Nothing runs in the background but attempts to
    connect again, and a thread that watches for results where an engine asks for it.

    A lost connection is made again, and neither loses nor repeats a step; so is one on which a server says nothing any
    more. A server that has lost its sessions (it was restarted) or stays away for ``reconnect_timeout`` ends their
    episodes as faults, truncated and with ``info["error"]``; they then go on there, or on another of the servers.

    Args:
        makers: of :class:`gem_server.RemoteEnv`, as ``make_vec`` makes them from addresses. Wrappers must be names,
            which the server applies.
        autoreset: what follows the end of an episode.
        seeds: for each environment, the seed of its first reset.
        step_timeout: time limit of a step or reset in seconds, which the server enforces.
        connections: connections to each server. One is right for almost all uses; more shorten the messages.
        token: bearer token, or one for each server by its address; default: ``GEM_SERVER_TOKEN``.
        reconnect_timeout: seconds to keep trying to reach a server that is gone or silent.
    """

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
        connections: int = 1,
        token: str | Mapping[str, str] | None = None,
        reconnect_timeout: float = 30.0,
    ) -> None:
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        integer("connections", connections, minimum=1)
        self._client = SessionClient(connections, token or token_from_surroundings(), reconnect_timeout)
        self._specs = [getattr(maker, "spec", None) for maker in makers]
        self._arrived = self._client.arrived
        self._armed = threading.Event()
        self._watcher: threading.Thread | None = None
        try:
            opened = [index for index, maker in enumerate(self._makers) if maker is not None]
            asked = {index: _asked(maker, self._fields(seed)) for index, maker, seed in self._given(opened)}
            self._client.connect(url for url, _ in asked.values())
            for index, (url, fields) in asked.items():
                self._client.add(index, url, fields)
            self._client.collect(len(opened), _OPENS_IN)
            failed = [result for result in self._arrived.values() if isinstance(result, Exception)]
            if failed:
                raise failed[0]
            if len(self._arrived) < len(opened):
                raise VectorError(f"{len(opened) - len(self._arrived)} environments were not made in {_OPENS_IN:.0f} s")
            self._arrived.clear()
        except BaseException:
            self.closed = True
            self._client.close()
            raise

    def _given(self, indices: Sequence[int]) -> list[tuple[int, Maker, int | None]]:
        return [(index, maker, self._seeds[index]) for index in indices if (maker := self._makers[index]) is not None]

    def _fields(self, seed: int | None) -> dict[str, Any]:
        fields: dict[str, Any] = {"autoreset": self.autoreset.value}
        if seed is not None:
            fields["seed"] = seed
        if self.step_timeout is not None:
            fields["step_timeout"] = self.step_timeout
        return fields

    @property
    def specs(self) -> tuple[EnvSpec | None, ...]:
        """The spec of each environment, whose id is its address."""
        return tuple(self._specs)

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        self._client.submit(indices, "step", actions)
        self._note_waiting()

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        self._client.submit(indices, "reset", arguments)
        self._note_waiting()

    def _submit_make(self, index: int, maker: Maker) -> None:
        url, fields = _asked(maker, self._fields(None))
        self._specs[index] = getattr(maker, "spec", None)
        self._client.add(index, url, fields)
        self._note_waiting()

    def _collect(self, count: int, timeout: float | None) -> None:
        self._client.collect(count, timeout)

    def _note_waiting(self) -> None:
        # What came while something was sent makes no descriptor readable any more.
        if self._notify is not None and self._arrived:
            self._notify()

    def _watch(self) -> None:
        if self._notify is None:
            return
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch_links, daemon=True)
            self._watcher.start()
        self._armed.set()

    def _watch_links(self) -> None:
        while True:
            self._armed.wait()
            if self.closed:
                return
            if self._client.wait_readable():
                self._armed.clear()
                callback = self._notify
                if callback is not None and not self.closed:
                    callback()

    def _shut_down(self) -> None:
        self._armed.set()
        if self._watcher is not None:
            self._client.wake()
            self._watcher.join()
        with suppress(OSError):
            self._client.close()


def _asked(maker: Maker, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the address behind a maker, and the fields that open its session."""
    spec = getattr(maker, "spec", None)
    if spec is None or spec.entry_point not in (RemoteEnv, f"{RemoteEnv.__module__}:{RemoteEnv.__qualname__}"):
        raise ArgumentError(
            "mode 'server' takes addresses such as http://localhost:8080/game:Sudoku-v0, "
            f"got {getattr(spec, 'id', maker)!r}"
        )
    if not isinstance(maker, EnvMaker):
        raise ArgumentError(
            f"mode 'server' is for make_vec; rollouts and evaluations play {spec.id!r} on its server in every other "
            "mode, such as 'thread'"
        )
    names = [name for name in maker.wrappers if isinstance(name, str)]
    if len(names) < len(maker.wrappers):
        raise ArgumentError("in mode 'server' wrappers are names, which the server applies; a callable stays here")
    if "reconnect_timeout" in spec.kwargs:
        raise ArgumentError("in mode 'server' reconnect_timeout holds for all environments: it belongs in mode_kwargs")
    arguments = {name: value for name, value in spec.kwargs.items() if name != "url"}
    asked = {**fields, "wrappers": names} if names else dict(fields)
    if arguments:
        asked["arguments"] = arguments
    return str(spec.kwargs["url"]), asked
