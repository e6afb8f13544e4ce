"""Environments for the tests of process mode; workers import this file, so it imports little."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from gem.core import Env
from gem.errors import ArgumentError


class Walk(Env[Any, Any]):
    """A random walk; an action that is a key of ``DEEDS`` does what stands there."""

    def __init__(self, turns: int = 5, size: int = 0, born: str = "") -> None:
        self.turns = turns
        self.size = size
        if born:
            DEEDS[born]()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            if "deed" not in options:
                raise ArgumentError(f"no such option: {options}")
            DEEDS[options["deed"]]()
        self.turn = 0
        return f"begin {self.rng.random()}" + "x" * self.size, {}

    def step(self, action: Any) -> Any:
        self.turn += 1
        observation: Any = f"{action} {self.rng.random()}" + "y" * self.size
        if isinstance(action, Path):
            while not action.exists():
                time.sleep(0.005)
        if isinstance(action, str) and action in DEEDS:
            done = DEEDS[action]()
            observation = observation if done is None else done
        return observation, self.rng.random(), self.turn >= self.turns, False, {"turn": self.turn}

    def sample_random_action(self) -> str:
        return str(self.action_rng.random())

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn, **self.generator_state()}

    def set_state(self, state: Any) -> None:
        self.set_generator_state(state)
        self.turn = state["turn"]

    def add(self, one: int, two: int) -> int:
        return one + two


class CannotClose(Walk):
    """Raises when it is closed."""

    def close(self) -> None:
        raise OSError("stuck")


class Text(str):
    """A str of another class."""


class OnlyInWorkers:
    """Can be packed, and unpacked only in the process that made it."""

    made_in = os.getpid()

    def __reduce__(self) -> Any:
        return _only_in, (os.getpid(),)


def _only_in(process: int) -> str:
    if process != os.getpid():
        raise ImportError("exists only there")
    return "there"


class Growing(Env[str, str]):
    """Each observation of a process is longer than all before; some infos cannot be packed, or not be unpacked."""

    length = 1000

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return self._longer(), {}

    def step(self, action: str) -> Any:
        infos: dict[str, Any] = {"unreadable": OnlyInWorkers(), "unsendable": lambda: None}
        return self._longer(), 0.0, False, False, {"thing": infos.get(action)}

    @classmethod
    def _longer(cls) -> str:
        cls.length += 300
        return "y" * cls.length


def loop() -> None:
    while True:
        time.sleep(0.01)  # leaves the processors to other tests


def stubborn_loop() -> None:
    while True:
        with suppress(BaseException):
            time.sleep(0.01)


def fail() -> None:
    raise KeyError("on fire")


DEEDS: dict[str, Any] = {
    "exit": lambda: os._exit(7),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda: ctypes.string_at(0),
    "raise": fail,
    "system exit": lambda: exit(3),
    "loop": loop,
    "sleep": lambda: time.sleep(60),
    "nap": lambda: time.sleep(0.01),
    "stubborn": stubborn_loop,
    "surrogate": lambda: "\ud800 \U0001f600",
    "text": lambda: Text("of another class"),
    "bytes": lambda: (b"\x00", bytearray(b"buffer"), 1 + 2j, frozenset({1})),
    "parts": lambda: [
        {"type": "image_url", "image_url": {"url": "data:" + "A" * 300_000}},
        {"type": "text", "text": "?"},
    ],
    "large": lambda: "é" * 2_500_000,
    "lock": threading.Lock,
    "only in workers": OnlyInWorkers,
}
