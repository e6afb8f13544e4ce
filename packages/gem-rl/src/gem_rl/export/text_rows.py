"""Rows of chat messages: what a model is to say, to prefer, or to foresee."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from gem_rl.export.conversation import conversation
from gem_rl.turn_batch import is_gradable
from gem_rollout.trajectory.record import Trajectory

__all__ = ["preference_rows", "sft_rows", "world_model_rows"]

Row = dict[str, Any]


def _won(trajectory: Trajectory) -> bool:
    return bool(trajectory.success)


def sft_rows(trajectories: Iterable[Trajectory], keep: Callable[[Trajectory], bool] = _won) -> Iterator[Row]:
    """Yield a row for supervised fine-tuning for each episode that is kept: ``messages``, and where it comes from.

    Args:
        trajectories: episodes of one agent each.
        keep: which episodes to imitate; those whose task was achieved by default. Failed ones are never kept.
    """
    for trajectory in trajectories:
        if trajectory.error is None and trajectory.transitions and keep(trajectory):
            yield {"messages": conversation(trajectory), **_origin(trajectory)}


def preference_rows(trajectories: Iterable[Trajectory], margin: float = 0.0) -> Iterator[Row]:
    """Yield pairs of episodes of one initial state: ``prompt``, ``chosen`` and ``rejected`` messages, and returns.

    Of each group of rollouts, the best is paired with the worst, the second best with the second worst, and so on. The
    prompt is what both share; ``chosen`` and ``rejected`` begin with the agent's first action.

    Args:
        trajectories: episodes of one agent each, in any order.
        margin: pairs whose returns differ by no more than this are left out.
    """
    usable = [one for one in trajectories if one.transitions and is_gradable(one)]
    usable.sort(key=lambda one: (one.key.env, one.key.seed, one.episode_return, one.key.repetition))
    for _, rollouts in groupby(usable, key=lambda one: (one.key.env, one.key.seed)):
        group = list(rollouts)
        for place in range(len(group) // 2):
            rejected, chosen = group[place], group[-1 - place]
            better, worse = conversation(chosen), conversation(rejected)
            start = _first_action(better)
            if chosen.episode_return - rejected.episode_return <= margin or better[:start] != worse[:start]:
                continue
            yield {
                "prompt": better[:start],
                "chosen": better[start:],
                "rejected": worse[start:],
                "chosen_return": chosen.episode_return,
                "rejected_return": rejected.episode_return,
                "env_id": chosen.key.env,
                "seed": str(chosen.key.seed),
            }


def world_model_rows(trajectories: Iterable[Trajectory]) -> Iterator[Row]:
    """Yield a row for each turn whose answer is known: ``prompt``, up to the action, and the ``completion`` after it.

    A model that learns to complete them predicts the environment (Echo; PaW). Reward and end of the turn come along.
    """
    for trajectory in trajectories:
        if trajectory.error is not None:
            continue
        messages = conversation(trajectory, final=True)
        ends = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
        # A history that was rewritten has fewer actions than the episode had turns; the last ones are there.
        turns = trajectory.transitions[len(trajectory.transitions) - len(ends) :]
        for end, following, turn in zip(ends, [*ends[1:], len(messages)], turns, strict=True):
            if messages[end + 1 : following]:
                yield {
                    "prompt": messages[: end + 1],
                    "completion": messages[end + 1 : following],
                    "reward": turn.reward,
                    "terminated": turn.terminated,
                    **_origin(trajectory),
                }


def _first_action(messages: list[Row]) -> int:
    return next(place for place, message in enumerate(messages) if message["role"] == "assistant")


def _origin(trajectory: Trajectory) -> Row:
    key = trajectory.key
    return {
        "env_id": key.env,
        "seed": str(key.seed),  # seeds can exceed 64 bits
        "repetition": key.repetition,
        "return": trajectory.episode_return,
        "agent": trajectory.agent,
    }
