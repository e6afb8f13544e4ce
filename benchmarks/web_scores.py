"""Plays every level of web:Form-v0 and web:Forum-v0 with simple agents, and writes the table in the package's README.

    python benchmarks/web_scores.py
    python benchmarks/web_scores.py --episodes 1000 web:Form-v0-hard
    python benchmarks/web_scores.py --speed
    python benchmarks/web_scores.py --browser

With ids, prints only their rows. Episode n has the seed n, and agents draw only from seeded generators, so the table is
the same on any machine. ``--speed`` prints steps of the random policy per CPU second, resets apart, and the CPU time of
a reset with a new task, for the shop too, both as :mod:`gem_rollout.speed` measures them.
``--browser`` prints the mean return of the reference policy in a real browser, and its mean number of turns.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import Any

import score_tables
from score_tables import ScoreTable

import gem
from gem.env_spec import EnvSpec
from gem.policies import NullPolicy, Policy, RandomPolicy
from gem_envs_web.form.env import FormEnv
from gem_envs_web.form.policy import FormPolicy
from gem_envs_web.forum.env import ForumEnv, ForumPolicy
from gem_rollout.speed import measure

EPISODES = 200
FIXED_TURNS = 12
SECONDS = 0.3  # of CPU, for each figure
IDS = tuple(f"web:{world}-v0{level}" for world in ("Form", "Forum") for level in ("-easy", "", "-hard"))
TABLE = ScoreTable(
    "packages/gem-envs-web/README.md",
    "web_scores.py",
    "| id | silence | random | without the skill | reference | its turns "
    f"| random in {FIXED_TURNS} turns | reference in {FIXED_TURNS} turns |\n"
    "|---|---|---|---|---|---|---|---|\n",
)


def player(name: str, env: gem.Env[Any, Any]) -> Policy[Any, Any]:
    """Return the null policy, the random one, the one without the skill, or the reference."""
    if name == "null":
        return NullPolicy()
    if name == "random":
        return RandomPolicy(env)
    world = env.unwrapped
    if isinstance(world, FormEnv):
        return FormPolicy(world, first=name == "unskilled")
    assert isinstance(world, ForumEnv)
    return ForumPolicy(world, hasty=name == "unskilled")


def mean_and_turns(spec: EnvSpec, policy: str, episodes: int) -> tuple[float, float]:
    """Return the mean return of a policy and its mean number of turns."""
    env = gem.make(spec)
    agent = player(policy, env)
    return score_tables.mean_and_turns(env, agent, episodes)


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table."""
    own = [mean_and_turns(spec, policy, episodes)[0] for policy in ("null", "random", "unskilled")]
    reference, turns = mean_and_turns(spec, "reference", episodes)
    cells = [f"`{spec.id}`", *(f"{mean:.3f}" for mean in (*own, reference)), f"{turns:.1f}"]
    fixed = spec.with_kwargs({"max_turns": FIXED_TURNS})
    cells += [f"{mean_and_turns(fixed, policy, episodes)[0]:.3f}" for policy in ("random", "reference")]
    return f"| {' | '.join(cells)} |\n"


def speed(env_id: str, repetitions: int = 5) -> str:
    """Return a line with medians and ranges of steps per CPU second and of milliseconds of CPU a reset."""
    figures = [measure(gem.spec(env_id), SECONDS, seed) for seed in range(repetitions)]
    rates = [figure.steps_per_cpu_second for figure in figures]
    resets = [1000 / figure.resets_per_cpu_second for figure in figures]
    return (
        f"| {env_id} | {median(rates):,.0f} ({min(rates):,.0f} … {max(rates):,.0f}) "
        f"| {median(resets):.2f} ({min(resets):.2f} … {max(resets):.2f}) |\n"
    )


def browser_row(spec: EnvSpec, episodes: int = 5) -> str:
    """Return a line with the scores of silence and of the reference policy in a browser."""
    with gem.make(spec) as env:
        null = score_tables.mean_and_turns(env, NullPolicy(), 1)[0]
        mean, turns = score_tables.mean_and_turns(env, gem.make_policy("reference", env), episodes)
    return f"| `{spec.id}` | {episodes} | {null:.3f} | {mean:.3f} | {turns:.1f} |\n"


def main() -> None:
    """Write the table, or print some rows of it, or the speeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    if options.browser:
        for spec in gem.registry.all_specs("web"):
            if spec.id.startswith("web:Browser-v0"):
                sys.stdout.write(browser_row(spec))
        return
    if options.speed:
        for env_id in options.ids or (*(f"web:Shop-v0{level}" for level in ("-easy", "", "-hard")), *IDS):
            sys.stdout.write(speed(env_id))
        return
    rows = []
    for env_id in options.ids or IDS:
        rows.append(row(gem.spec(env_id), options.episodes))
        sys.stdout.write(rows[-1])
    if not options.ids:
        TABLE.write(rows)


if __name__ == "__main__":
    main()
