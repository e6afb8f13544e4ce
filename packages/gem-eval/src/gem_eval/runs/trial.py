"""Environments and policies made once before a run folder exists, so that what can never work leaves no run behind."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gem import make
from gem.core import Env
from gem.errors import GemError
from gem.faults import INTERRUPTS
from gem.multiagent import MultiAgentEnv
from gem_eval.runs.agents import EvaluatedAgent
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.run_config import RunEnvironment

__all__ = ["try_out"]

_CHATS = ("messages",)
"""Wrappers whose observations are lists of messages."""


async def try_out(config: EvaluationConfig, environments: Iterable[RunEnvironment], agent: EvaluatedAgent) -> None:
    """Make each environment of a run once, and its policy, and close them.

    What an environment's own code raises is left to the episodes, which record it. In processes nothing is made: there
    an environment may take its process down.

    Raises:
        EvaluationConfigError: for arguments that an environment does not take, an agent that makes no policy, and a
            protocol that does not fit a wrapper.
        GemError: whatever else making raises on purpose, as for a data set that is not there.
    """
    for item in environments:
        _check_protocol(config, item)
        if config.mode == "process":
            continue
        env = _made(item)
        if env is None:
            continue
        try:
            if agent.client is None and not isinstance(env.unwrapped, MultiAgentEnv):
                await _check_policy(config, agent, env)
        finally:
            with suppress(Exception):
                env.close()


def _made(item: RunEnvironment) -> Env[Any, Any] | None:
    try:
        return make(item.spec)
    except (GemError, *INTERRUPTS):
        raise
    except BaseException:
        return None


async def _check_policy(config: EvaluationConfig, agent: EvaluatedAgent, env: Env[Any, Any]) -> None:
    try:
        policy = agent.make_policy(env)
    except (GemError, *INTERRUPTS):
        raise
    except BaseException:
        return
    if not any(callable(getattr(policy, name, None)) for name in ("act", "act_many")):
        raise EvaluationConfigError(
            f"--agent {config.agent} makes an object of type {type(policy).__name__}, which has no method act"
        )
    close = getattr(policy, "close", None)
    if callable(close):
        with suppress(Exception):
            closed = close()
            if inspect.isawaitable(closed):
                await closed


def _check_protocol(config: EvaluationConfig, item: RunEnvironment) -> None:
    protocol = config.client.get("protocol")
    names = [one if isinstance(one, str) else one.get("name") for one in item.wrappers]
    if protocol in ("completions", "generate") and names and names[-1] in _CHATS:
        raise EvaluationConfigError(
            f"{item.label}: the protocol {protocol!r} continues text, and the wrapper {names[-1]!r} makes a list of "
            "messages; use --wrappers concat_chat, or the protocol 'chat'"
        )
