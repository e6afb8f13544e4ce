"""Choosing an action and playing it in one call: :class:`PlannedTurn`.

A policy whose ``act`` is a plain function runs in a thread, and so does the environment. Two trips to a thread for each
turn would cost a scripted policy more than everything else, so the thread that steps the environment asks the policy
first.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

from gem.core import Env, Wrapper
from gem.env_spec import EnvSpec
from gem.policies import Act
from gem_rollout.step_pace import StepPace

__all__ = ["AskingEnv", "PlannedTurn"]


class PlannedTurn:
    """Takes the place of an action in ``step``, and knows afterwards what the policy did.

    Args:
        choose: returns the action or act.
    """

    __slots__ = ("act", "act_seconds", "acted", "awaits", "choose", "error", "played")

    def __init__(self, choose: Callable[[], Any]) -> None:
        self.choose = choose
        self.act: Any = None
        self.error: BaseException | None = None
        """What the policy raised."""
        self.act_seconds = 0.0
        self.acted = 0.0
        """When the policy had acted, by ``time.perf_counter()``."""
        self.played = False
        """Whether the environment was stepped: only with text, as other actions need a closer look."""
        self.awaits = False
        """Whether the policy returned an awaitable."""

    def action(self) -> Any:
        """Ask the policy, and return the bare action; ``played`` says whether there is one."""
        begin = time.perf_counter()
        try:
            self.act = act = self.choose()
            self.played = type(act) is str or (type(act) is Act and type(act.action) is str)
            self.awaits = not self.played and inspect.isawaitable(act)
        except BaseException as error:
            self.error = error
        self.acted = time.perf_counter()
        self.act_seconds = self.acted - begin
        return self.act.action if isinstance(self.act, Act) else self.act


class AskingEnv(Wrapper[Any, Any]):
    """Plays planned turns, and notes how long steps take. The environment inside sees bare actions.

    It is no part of the spec.

    Args:
        env: the environment.
        pace: of its steps.
    """

    def __init__(self, env: Env[Any, Any], pace: StepPace) -> None:
        super().__init__(env)
        self._pace = pace

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # as in Wrapper
        return self.env.spec

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a turn; one that has no action yet leaves the environment as it is."""
        if type(action) is PlannedTurn:
            turn, action = action, action.action()
            if not turn.played:
                return "", 0.0, False, False, {}
        begin = time.perf_counter()
        try:
            return self.env.step(action)
        finally:
            self._pace.note(time.perf_counter() - begin)
