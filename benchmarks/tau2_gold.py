"""Replays the published solutions of tau2-bench through ``desk:Tau2-v0``, beside tau2's own evaluator.

    python benchmarks/tau2_gold.py CHECKOUT PYTHON [DOMAIN …]

For each domain of a checkout, plays the gold actions of each task of the split "base", the agent's by the reference
policy and the user's by ``user="gold"``. Where an episode does not earn 1, tau2's own code grades the same actions
without GEM. Prints a table in Markdown with how many tasks tau2 and the replay reward with 1, and in how many the two
differ, which are named on standard error. PYTHON is an interpreter that has what tau2 needs. CHECKOUT is a
clone, whose commit the table names.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from gem_envs_desk.adapters.tau2_env import Tau2Env, Tau2Policy

DOMAINS = ("telecom", "retail", "mock", "airline", "banking_knowledge:bm25_grep")
"""Those that need no account. The default retrieval of banking_knowledge would need a key for an embedding service."""
_OWN = Path(__file__).parents[1] / "packages" / "gem-envs-desk" / "tests" / "tau2_rewards.py"


def replayed(env: Tau2Env) -> dict[str, float]:
    """Return task → the reward of its gold actions; -1 where the episode was broken off."""
    rewards: dict[str, float] = {}
    policy = Tau2Policy(env)
    for place in range(len(env.task_ids)):
        observation, info = env.reset(seed=0, options={"task": place})
        policy.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        rewards[env.task_id] = -1.0 if "error" in info else reward
    return rewards


def graded(path: str, python: str, domain: str, tasks: list[str]) -> dict[str, float]:
    """Return task → the reward that tau2's own evaluator gives for its gold actions; -1 where it raises."""
    command = [python, str(_OWN), path, domain, "gold", *tasks]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(zip(tasks, json.loads(done.stdout), strict=True))


def version_of(checkout: Path) -> str:
    """Return the version of tau2 and the commit of the checkout."""
    page = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.+)"$', page, re.MULTILINE)
    command = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return f"{version} ({commit})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("python")
    parser.add_argument("domains", nargs="*")
    options = parser.parse_args()
    print(f"| domain of tau2-bench {version_of(Path(options.path))} | tasks | 1 by tau2 | 1 by replay | differ |")
    print("|---|---|---|---|---|", flush=True)
    for name in options.domains or DOMAINS:
        domain, _, retrieval = name.partition(":")
        arguments = {"domain": domain, "retrieval": retrieval or None}
        with Tau2Env(path=options.path, python=options.python, user="gold", **arguments) as env:
            env.reset(seed=0)
            found = replayed(env)
        # The episode's reward is tau2's evaluator's; where it is not 1, the actions alone show whose fault that is.
        failed = [task for task, reward in found.items() if reward != 1.0]
        own = graded(options.path, options.python, name, failed) if failed else {}
        differ = [task for task in failed if found[task] != own[task]]
        solvable = len(found) - sum(reward != 1.0 for reward in own.values())
        print(f"| {name} | {len(found)} | {solvable} | {len(found) - len(failed)} | {len(differ)} |", flush=True)
        for task in differ:
            print(f"{name} {task}: {found[task]} by replay, {own[task]} by tau2", file=sys.stderr)


if __name__ == "__main__":
    main()
