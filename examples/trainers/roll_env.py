"""ROLL: GEM environments under its agentic pipeline.

ROLL's environment managers call ``gem.make(env_id=…)`` themselves, so any id of an installed package works as
``env_type``. This file adds what they do not know: figures of the episode for ROLL's metrics, and a model's special
tokens, which ROLL leaves in the action. Name its manager in the configuration::

    env_manager_cls: roll_env.GemEnvManager
    custom_envs:
      guess:
        env_type: gem_text
        max_steps: 10
        env_config: {env: "game:GuessTheNumber-v0-easy"}
        agent_system_template: ""
        agent_template: "{observation}"

What was run (``packages/gem-rl/tests/test_trainer_examples.py``): ``RollEnv`` with the calls of ROLL's
``TrajEnvManager``, in their order. What was not run: ROLL itself, which needs Ray and a GPU. Read: alibaba/ROLL, commit
8eb27cc.
"""

from __future__ import annotations

import re
from typing import Any

from roll.pipeline.agentic.env_manager.traj_env_manager import TrajEnvManager

import gem
from gem.core import Info, Wrapper
from gem_rollout.trajectory.outcome import episode_outcome, success_of

_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>|</?s>")


class RollEnv(Wrapper[Any, Any]):
    """An environment with ROLL's keys in its info.

    Args:
        env: its id; ROLL's own argument ``env_id`` is the name of this class.
        seed: of the first episode that brings none.
        **kwargs: of the environment.
    """

    def __init__(self, env: str, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(gem.make(env, seed=seed, **kwargs))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        # ROLL joins the info with its own record of a turn, whose keys these are.
        return observation, {key: value for key, value in info.items() if key not in ("observation", "messages")}

    def step(self, action: str) -> tuple[Any, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = super().step(_SPECIAL.sub("", action).strip())
        status = info.get("action_status", "legal")
        figures = {"malformed": float(status == "malformed"), "illegal": float(status == "illegal")}
        if terminated or truncated:
            outcome = episode_outcome(None, terminated, truncated, info)
            # Who reaches a limit has not succeeded; what ends without a word says nothing.
            success = False if outcome == "untold" and truncated else success_of(outcome)
            if success is not None:
                figures["success"] = float(success)
        modes = {name: "last" if name == "success" else "mean" for name in figures}
        # ROLL ends an episode only where it is terminated.
        return (
            observation,
            reward,
            terminated or truncated,
            truncated,
            info
            | {
                "metrics": figures,
                "metrics_agg_mode": modes,
            },
        )


class GemEnvManager(TrajEnvManager):
    """ROLL's manager of whole trajectories, in a process where ``gem_text`` is known."""


gem.register("gem_text", entry_point=RollEnv, replace=True)
