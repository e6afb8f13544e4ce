"""Scores of the desks at the lowest and the highest level, by policy; and speed.

Run with gem-envs-desk installed; the number of episodes is optional::

    python benchmarks/desk_scores.py 300
"""

from __future__ import annotations

import sys
import time

from score_tables import mean_and_turns

import gem
from gem_envs_desk.domain import carried_out
from gem_envs_desk.env import DeskEnv

POLICIES = ("reference", "gem_envs_desk.reference:ObedientPolicy", "random")
DESKS = ("desk:Retail-v0", "desk:Airline-v0", "desk:Telecom-v0")
WORLDS = ("desk:Mailbox-v0", "desk:Calendar-v0", "desk:Tickets-v0")


def mean_return(env_id: str, policy_name: str, episodes: int) -> float:
    """Return the mean return of a policy over the seeds 0 …."""
    env = gem.make(env_id)
    mean, _ = mean_and_turns(env, gem.make_policy(policy_name, env), episodes)
    env.close()
    return mean


def speeds(env_id: str, episodes: int) -> tuple[float, float]:
    """Return milliseconds of CPU of a reset with a task never seen, and of a gold call."""
    env = gem.make(env_id).unwrapped
    assert isinstance(env, DeskEnv)
    start = time.process_time()
    for seed in range(episodes):
        env.reset(seed=10**6 + seed)
    reset_ms = (time.process_time() - start) / episodes * 1000
    calls, spent = 0, 0.0
    for seed in range(episodes):
        env.reset(seed=10**6 + seed)
        world = env.world
        start = time.process_time()
        for call in env.current.gold:
            carried_out(world, call)
        spent += time.process_time() - start
        calls += len(env.current.gold)
    return reset_ms, spent / calls * 1000


def main() -> None:
    """Print the table."""
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for suffix in ("", "-level3"):
        for name in (*DESKS, *WORLDS):
            means = [f"{mean_return(name + suffix, policy, episodes):.2f}" for policy in POLICIES]
            reset_ms, call_ms = speeds(name + suffix, episodes)
            print(f"| `{name}{suffix}` | {' | '.join(means)} | {reset_ms:.1f} | {call_ms:.2f} |", flush=True)


if __name__ == "__main__":
    main()
