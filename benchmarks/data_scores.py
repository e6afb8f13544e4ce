"""Scores of gem-envs-data by level: random play, constants, the reference under budgets of turns; speed.

Run with gem-envs-data installed::

    python benchmarks/data_scores.py
"""

from __future__ import annotations

import sys
from collections import Counter

from score_tables import mean_and_turns

import gem
from gem_envs_data.sql.answers import is_right
from gem_rollout.speed import measure

EPISODES = 300
BUDGETS = (2, 3, 5, 7, 9, 15)


def mean_return(env_id: str, policy_name: str, episodes: int, **kwargs: object) -> float:
    """Return the mean return of a policy over the seeds 0 …."""
    env = gem.make(env_id, **kwargs)
    mean, _ = mean_and_turns(env, gem.make_policy(policy_name, env), episodes)
    env.close()
    return mean


def best_constant(level: int) -> float:
    """Return the share of the questions that have the most frequent answer of the other half of the questions."""
    env = gem.make("db:SQL-v0", level=level, tasks="questions")
    answers = []
    for seed in range(2 * EPISODES):
        env.reset(seed=seed)
        answers.append(env.unwrapped.current)
    common = Counter("\n".join(map(str, task.answer)) for task in answers[:EPISODES]).most_common(1)[0][0]
    return sum(is_right(common, task.answer, task.is_ordered) for task in answers[EPISODES:]) / EPISODES


def main() -> None:
    """Print the table."""
    for name in ("db:SQL-v0", "kg:Graph-v0"):
        for suffix in ("", "-level2", "-level3"):
            env_id = name + suffix
            budgets = [f"{mean_return(env_id, 'reference', EPISODES // 2, max_turns=turns):.2f}" for turns in BUDGETS]
            speed = measure(gem.spec(env_id), 1.0, 0)
            steps, reset_ms = speed.steps_per_cpu_second, 1000 / speed.resets_per_cpu_second
            constant = f"{best_constant(int(suffix[-1:] or 1)):.3f}" if name.startswith("db") else "none"
            rand = mean_return(env_id, "random", 4 * EPISODES)
            print(f"| `{env_id}` | {rand:.3f} | {constant} | {' | '.join(budgets)} | {steps:,.0f} | {reset_ms:.1f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
