"""SkyRL: GEM environments as a ``BaseTextEnv``.

Register it where the trainer starts, in the driver and in its workers, and name it in the configuration
(``environment.env_class=gem``)::

    import skyrl_env
    skyrl_env.register()

The rows of the data set have ``env_id`` and ``seed``, which SkyRL hands on as ``extras``; see :func:`rows`.

An episode without an outcome (a fault of the environment, the grader or a simulated user) raises an error: its reward
would count as that of a failure. Where a version of SkyRL has ``generator.skip_failed_rollouts=true``, that masks the
episode; else the error ends the step.

What was run, with skyrl-gym 0.4.0 (``packages/gem-rl/tests/test_trainer_packages.py``): whole episodes through
``skyrl_gym.make``. What was not run: a training run, which needs a GPU.
"""

from __future__ import annotations

from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from gem_rl.adapters import TextEpisode, rows_of_tasks


def rows(env_ids: str | list[str], tasks: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return a data set of initial states; ``gem_rl.to_rows_dataset(rows(…)).to_parquet(path)`` writes it."""
    return [
        {**row, "env_class": "gem", "data_source": row["env_id"]} for row in rows_of_tasks(env_ids, tasks, seed=seed)
    ]


class GemTextEnv(BaseTextEnv):
    """One episode.

    Args:
        env_config: arguments of ``TextEpisode``, such as ``wrappers``.
        extras: the row of the data set, and ``max_turns``.
    """

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._row = dict(extras or {})
        self.max_turns = self._row.get("max_turns", 100)
        self._episode = TextEpisode(self._row["env_id"], max_turns=self.max_turns, **dict(env_config or {}))

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the system messages of the prompt and the environment's own first observation."""
        system = [message for message in prompt if message["role"] == "system"]
        return [*system, *self._episode.begin(int(self._row["seed"]))], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Play a turn."""
        self.turns += 1
        turn = self._episode.step(action)
        if turn.done and not self._episode.gradable:
            record = self._episode.trajectory
            raise RuntimeError(f"the episode {record.key} has no outcome: {record.error or 'it could not be graded'}")
        if turn.added is None and not turn.done:
            raise ValueError("SkyRL appends to a conversation, and a wrapper has rewritten it; use 'messages'")
        return BaseTextEnvStepOutput(
            observations=[] if turn.done else turn.added, reward=turn.reward, done=turn.done, metadata={}
        )

    def get_metrics(self) -> dict[str, float]:
        """Return figures of the episode."""
        return self._episode.metrics()

    def close(self) -> None:
        """Close the environment."""
        self._episode.close()


def register() -> None:
    """Make ``gem`` known to SkyRL."""
    if "gem" not in skyrl_gym.envs.registration.registry:
        skyrl_gym.register(id="gem", entry_point="skyrl_env:GemTextEnv")
