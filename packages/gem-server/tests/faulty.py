"""Environments that fail in every way a server has to survive. Each test serves some of them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from gem.core import Env, Info

__all__ = ["CountingEnv", "FaultyEnv", "SlowEnv"]


class CountingEnv(Env[str, str]):
    """Counts its steps: a step that is lost or repeated shows in the observation."""

    def __init__(self, length: int = 10**9) -> None:
        self.length = length

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return f"begin {self.rng.random()}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        return f"{self.turn}: {action}", 1.0, self.turn >= self.length, False, {"pid": os.getpid()}

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn, **self.generator_state()}

    def set_state(self, state: Any) -> None:
        self.set_generator_state(state)
        self.turn = state["turn"]


class SlowEnv(CountingEnv):
    """Waits as many seconds as the action says, as a tool does, and ``making`` seconds when it is made.

    With ``NUMBER in FOLDER`` it leaves a file there and waits until there are so many.
    """

    def __init__(self, making: float = 0.0) -> None:
        super().__init__()
        time.sleep(making)

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        number, together, folder = action.partition(" in ")
        if together:
            Path(folder, uuid4().hex).touch()
            while len(list(Path(folder).iterdir())) < int(number):
                time.sleep(0.01)
        else:
            time.sleep(float(action))
        return super().step(action)


class FaultyEnv(CountingEnv):
    """Does what the action says: die, hang, raise, or return what no message can hold; dies in a reset that says so."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        if options == {"die": True}:
            os._exit(3)
        return super().reset(seed=seed)

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if action == "die":
            os._exit(3)
        if action == "hang":
            while True:
                pass
        if action == "raise":
            raise ValueError("as asked")
        if action == "object":
            return "x", 0.0, False, False, {"object": object()}
        return super().step(action)
