"""Measures what policies earn in the office, and the processor time of resets and calls.

    python benchmarks/office_scores.py [--episodes N] [ID …]

Plays each id with the seeds 0 to N - 1 (50 unless said otherwise): the reference policy, random calls, the plan without
its last writing call, and the reading calls alone. Two bounded agents show which level is harder: one makes 60 calls at
most, the other overlooks 2 % of the writing calls of its plan. Times are of the reference policy's episodes, in
milliseconds of the processor: of a reset with the first call, which makes the state, their mean and the worst; and the
mean of the other steps, which have one call each. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import gem
from gem_envs_office.env import FINISH, OfficeEnv, call_text
from gem_envs_office.reference import OfficePolicy
from gem_envs_office.task import OfficeCall
from gem_envs_office.tools import office_tools

FEW_CALLS, OVERLOOKED = 60, 0.02
IDS = tuple(
    f"office:{family}-v0{level}"
    for family in ("Refund", "Onboarding", "Incident", "MonthEnd", "Replan", "Mixed")
    for level in ("", "-level2", "-level3")
)


class _Shortened(OfficePolicy):
    """Plays a part of the golden plan."""

    def __init__(self, env: gem.Env[Any, Any], keep: Callable[[list[OfficeCall]], list[OfficeCall]]) -> None:
        super().__init__(env)
        self.keep = keep

    def reset(self, observation: str, info: dict[str, Any]) -> None:
        super().reset(observation, info)
        self._left = self.keep(self._left[::-1])[::-1]


class _Random(gem.Policy[str, str]):
    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return str(self.env.sample_random_action())


def _changes(call: OfficeCall) -> bool:
    return office_tools()[call.tool].changes


def _without_last(plan: list[OfficeCall]) -> list[OfficeCall]:
    last = max(place for place, call in enumerate(plan) if _changes(call))
    return [*plan[:last], *plan[last + 1 :]]


def _with_few_calls(plan: list[OfficeCall]) -> list[OfficeCall]:
    return plan[:FEW_CALLS]


def _overlooking() -> Callable[[list[OfficeCall]], list[OfficeCall]]:
    rng = random.Random(0)
    return lambda plan: [call for call in plan if not _changes(call) or rng.random() >= OVERLOOKED]


def episode(env: OfficeEnv, policy: gem.Policy[str, str], seed: int) -> tuple[float, list[float]]:
    """Return the reward of an episode, and the seconds of the processor of its reset and of each step."""
    began = time.process_time()
    observation, info = env.reset(seed=seed)
    env.step(call_text("list_queues", {}))
    times = [time.process_time() - began]
    policy.reset(observation, info)
    while True:
        action = policy.act(observation, info)
        began = time.process_time()
        observation, reward, terminated, truncated, info = env.step(action)
        if action != call_text(FINISH, {}):
            times.append(time.process_time() - began)
        if terminated or truncated:
            return reward, times


def row(env_id: str, episodes: int) -> str:
    """Return a line of the table."""
    with gem.make(env_id) as env:
        inner = env.unwrapped
        assert isinstance(inner, OfficeEnv)
        policies = (
            OfficePolicy(inner),
            _Random(inner),
            _Shortened(inner, _without_last),
            _Shortened(inner, lambda plan: [call for call in plan if not _changes(call)]),
            _Shortened(inner, _with_few_calls),
            _Shortened(inner, _overlooking()),
        )
        earned = []
        resets, steps = list[float](), list[float]()
        for policy in policies:
            rewards = []
            for seed in range(episodes):
                reward, (reset, *rest) = episode(inner, policy, seed)
                rewards.append(reward)
                if policy is policies[0]:
                    resets.append(reset)
                    steps += rest
            earned.append(f"{sum(rewards) / episodes:.2f}")
    times = (sum(resets) / len(resets), max(resets), sum(steps) / len(steps))
    return f"| `{env_id}` | {' | '.join(earned)} | {' | '.join(f'{1000 * seconds:.2f}' for seconds in times)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--episodes", type=int, default=50)
    options = parser.parse_args()
    agents = "reference | random | without one call | reading alone | 60 calls | overlooks 2 %"
    print(f"| id | {agents} | reset, ms | worst | call, ms |")
    print(f"|{'---|' * 10}")
    for env_id in options.ids or IDS:
        print(row(env_id, options.episodes), flush=True)


if __name__ == "__main__":
    main()
