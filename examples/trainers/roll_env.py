"""ROLL: GEM environments under its agentic pipeline.

ROLL's environment managers call ``gem.make(env_id=…)`` themselves, so any id of an installed package works as
``env_type``. This file adds what they do not know: figures of the episode for ROLL's metrics, a model's special
tokens, which ROLL leaves in the action, and episodes without an outcome. Name its classes in the configuration::

    train_env_manager:
      group_filter_cls: roll_env.GemGroupFilter
    custom_envs:
      guess:
        env_manager_cls: roll_env.GemEnvManager
        env_type: gem_text
        max_steps: 10
        env_config: {env: "game:GuessTheNumber-v0-easy"}
        agent_system_template: ""
        agent_template: "{observation}"

An outage or a fault of the environment ends its episode, and no other. The manager empties its ``response_mask``, by
which ROLL multiplies advantages and losses; the filter gives it the mean score of its group, so that the baseline is
that of the others, and leaves out a group of which no outcome is known, in place of which ROLL plays another.

What was run (``packages/gem-rl/tests/test_trainer_examples.py``): ``RollEnv`` with the calls of ROLL's
``TrajEnvManager``, in their order, and the other two with its rollouts; and by hand with ROLL's own ``DataProto`` and
``agg_loss``, whose gradient for a masked row is zero in its three modes per sequence. What was not run: ROLL's
pipeline, which needs Ray and a GPU. Read: alibaba/ROLL, commit 8eb27cc.
"""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np
from roll.pipeline.agentic.env_manager.traj_env_manager import TrajEnvManager

import gem
from gem.core import Info, Wrapper
from gem.errors import ArgumentError, NotSupportedError
from gem_rollout.trajectory.outcome import episode_outcome, success_of

logger = logging.getLogger(__name__)

UNKNOWN = "outcome_unknown"
"""The key of a turn's info, and of a rollout's data, that says that an episode has no outcome."""

_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>|</?s>")
_WRONG_FOR_ALL = (ArgumentError, NotSupportedError)
"""What was configured is wrong, for every episode."""


class RollEnv(Wrapper[Any, Any]):
    """An environment with ROLL's keys in its info.

    Args:
        env: its id; ROLL's own argument ``env_id`` is the name of this class.
        seed: of the first episode that brings none.
        **kwargs: of the environment.
    """

    def __init__(self, env: str, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(gem.make(env, seed=seed, **kwargs))
        self._failed_to_begin: Exception | None = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self._failed_to_begin = None
        try:
            observation, info = super().reset(seed=seed, options=options)
        except Exception as error:
            if isinstance(error, _WRONG_FOR_ALL):
                raise
            self._failed_to_begin = error  # ROLL has no place for it before the first turn
            return "The environment is not available.", {}
        # ROLL joins the info with its own record of a turn, whose keys these are.
        return observation, {key: value for key, value in info.items() if key not in ("observation", "messages")}

    def step(self, action: str) -> tuple[Any, float, bool, bool, Info]:
        if self._failed_to_begin is not None:
            return self._ended_by(self._failed_to_begin)
        try:
            observation, reward, terminated, truncated, info = super().step(_SPECIAL.sub("", action).strip())
        except Exception as error:
            if isinstance(error, _WRONG_FOR_ALL):
                raise
            return self._ended_by(error)
        status = info.get("action_status", "legal")
        figures = {"malformed": float(status == "malformed"), "illegal": float(status == "illegal")}
        added: Info = {}
        if terminated or truncated:
            outcome = episode_outcome(None, terminated, truncated, info)
            added[UNKNOWN] = outcome == "unknown"
            # Who reaches a limit has not succeeded; what ends without a word says nothing.
            success = False if outcome == "untold" and truncated else success_of(outcome)
            if success is not None:
                figures["success"] = float(success)
        modes = {name: "last" if name == "success" else "mean" for name in figures}
        added |= {"metrics": figures, "metrics_agg_mode": modes}
        # ROLL ends an episode only where it is terminated.
        return observation, reward, terminated or truncated, truncated, info | added

    def _ended_by(self, error: Exception) -> tuple[Any, float, bool, bool, Info]:
        logger.warning("an episode is masked: %s: %s", type(error).__name__, error)
        return "", 0.0, True, True, {UNKNOWN: True, "metrics": {}, "metrics_agg_mode": {}}


class GemEnvManager(TrajEnvManager):
    """ROLL's manager of whole trajectories, which masks those without an outcome."""

    def formulate_rollouts(self, rollout_cache: Any) -> Any:
        """Return the row of an episode; no token of it is trained on if its outcome is unknown."""
        rollout = super().formulate_rollouts(rollout_cache)
        unknown = bool(rollout_cache.history[-1].get(UNKNOWN))
        if unknown:
            rollout.batch["response_mask"] = rollout.batch["response_mask"] & False
        rollout.non_tensor_batch[UNKNOWN] = np.array([unknown], dtype=object)
        return rollout


class GemGroupFilter:
    """ROLL's ``group_filter_cls``: the score of an episode without an outcome is the mean of the others of its group.

    Args:
        config: of the pipeline; ROLL gives it, like the next two.
        env_manager_config: of the managers.
        mode: ``train`` or ``val``.
    """

    def __init__(self, config: Any, env_manager_config: Any, mode: str) -> None:
        self.mode = mode

    def filter(self, group_id: int, episode_id: int, group: list[Any]) -> bool:
        """Return whether ROLL leaves a group out, which it does if no outcome in it is known."""
        rollouts = [rollout.non_tensor_batch for rollout in group if rollout is not None]
        known = [data["episode_scores"][0] for data in rollouts if not data[UNKNOWN][0]]
        if not known:
            return bool(rollouts)
        mean = float(np.mean(known))
        for rollout in group:
            if rollout is not None and rollout.non_tensor_batch[UNKNOWN][0]:
                scores = rollout.batch["scores"] * 0
                scores[:, -1] = mean  # ROLL sums the scores of a row
                rollout.batch["scores"] = scores
                rollout.non_tensor_batch["episode_scores"] = np.array([mean], dtype=object)
        return False


gem.register("gem_text", entry_point=RollEnv, replace=True)
