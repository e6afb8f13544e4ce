"""An environment that pays a reward of choice: :class:`TransformReward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import choice
from gem.core import Env, Info, Wrapper
from gem.errors import NotSupportedError
from gem.faults import is_fault
from gem_questions.rewards.make import RewardLike, make_reward
from gem_questions.rewards.reward import Reward, Score
from gem_questions.rewards.scoring import close_reward, score_episode, score_turns
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder

__all__ = ["TransformReward"]


class TransformReward(Wrapper[Any, Any]):
    """Pays a :class:`gem_questions.rewards.Reward` in place of, or beside, the environment's own reward.

    At the end of an episode the reward scores the whole episode, and the last step pays the value times the reward's
    weight. With ``when="turn"`` it rewards each turn as it is played (:meth:`gem_questions.rewards.Reward.per_turn`).

    The info of a step that pays has ``env_reward``, the environment's own, and at the end ``scores``: the reward's
    label → :meth:`gem_questions.rewards.Score.to_dict`. An unreadable score pays 0.0, and info then has ``grade``
    (``"unreadable"``). An async reward runs to completion within the step, on an event loop in a thread of its own, so
    the step may be called with or without a running event loop; other environments go on only if they have threads
    of their own.

    Put it outside the wrappers that change observations if the reward must see what the agent saw, and outside those
    that end episodes: an end that another wrapper or the caller imposes outside this one is not seen.

    Args:
        env: the environment.
        reward: a name, a dict of name and arguments, or a reward, which the caller closes.
        mode: ``"replace"`` the environment's reward, or ``"add"`` to it.
        when: ``"end"`` of the episode, or every ``"turn"``.
    """

    def __init__(self, env: Env[Any, Any], reward: RewardLike, *, mode: str = "replace", when: str = "end") -> None:
        super().__init__(env)
        self.reward = make_reward(reward)
        self.mode = choice("mode", mode, ("replace", "add"))
        self.when = choice("when", when, ("end", "turn"))
        if when == "turn" and not self.reward.rewards_turns:
            raise NotSupportedError(f"{self.reward!r} does not reward turns (no per_turn); use when='end'")
        self._closes_reward = not isinstance(reward, Reward)
        self._episode: TrajectoryBuilder | None = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        self._episode = TrajectoryBuilder(self.env.spec, seed)
        self._episode.begin(observation, info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        episode = self._episode
        if episode is None:  # an environment that plays without a reset is not for a reward to report
            return observation, reward, terminated, truncated, info
        episode.add(action, observation, reward, terminated, truncated, info)
        over = bool(terminated or truncated)
        own = reward if self.mode == "add" else 0.0
        if is_fault(terminated, truncated, info) or not (over or self.when == "turn"):
            return observation, own, terminated, truncated, info
        value, told = self._value(episode, over)
        return (
            observation,
            own + value * self.reward.weight,
            terminated,
            truncated,
            {**info, "env_reward": reward, **told},
        )

    def close(self) -> None:
        if self._closes_reward:
            close_reward(self.reward)
        super().close()

    def _value(self, episode: TrajectoryBuilder, over: bool) -> tuple[float, Info]:
        """Return the value of this step, and what info says about it."""
        trajectory = episode.trajectory
        if episode.failure is not None:
            score = Score.unreadable(f"the episode cannot be recorded: {episode.failure.message}", "invalid_result")
        elif self.when == "end":
            score = score_episode(self.reward, trajectory)
        else:
            values = score_turns(self.reward, trajectory, len(trajectory) - 1)
            score = values if isinstance(values, Score) else Score(values[0])
        told: Info = {}
        if not score.readable:
            told = {"grade": "unreadable", "grader_fault": " ".join(score.reasons) or "the reward could not tell"}
        if over and self.when == "end":
            told["scores"] = {self.reward.recorded_as: score.to_dict()}
        return score.value, told

    def _own_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # By its configuration where that is complete, so that a record can apply it again.
        args, kwargs = super()._own_arguments()
        if "'repr': " in repr(self.reward.config):
            return args, kwargs
        if args:
            return (self.reward.config, *args[1:]), kwargs
        return args, {**kwargs, "reward": self.reward.config}

    def _own_state(self) -> Info:
        if self._episode is None:
            return {"episode": None}
        # Without the time of the day, on which no reward may depend: equal episodes have equal states.
        return {"episode": {**self._episode.trajectory.to_dict(), "started_at": None}}

    def _set_own_state(self, state: Mapping[str, Any]) -> None:
        record = state["episode"]
        self._episode = None if record is None else _resumed(Trajectory.from_dict(record))


def _resumed(trajectory: Trajectory) -> TrajectoryBuilder:
    """Return a builder that has recorded the turns of an episode, and goes on."""
    builder = TrajectoryBuilder(trajectory.spec, trajectory.seed)
    turns = trajectory.transitions
    observations = [*(turn.observation for turn in turns), trajectory.final_observation]
    builder.begin(observations[0], trajectory.reset_info)
    for turn, following in zip(turns, observations[1:], strict=True):
        builder.add(turn.action, following, turn.reward, turn.terminated, turn.truncated, turn.info)
    return builder
