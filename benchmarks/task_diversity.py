"""States how diverse the tasks of environments are, and what policies without thought earn.

    python benchmarks/task_diversity.py [--seeds N] [--episodes N] ID…

For each package of the ids it prints two tables in Markdown. The first counts over the seeds 0 … N - 1 (10,000 unless
said otherwise), by the first observations:

* tasks: different ones, when each name is replaced by the number of its first appearance. A name is a capitalised word
  that is no English word of the texts of all seeds in lower case, and does not occur in more than a tenth of the tasks;
* forms: different ones, when names and numbers are blanks, and the share of the commonest;
* words: different ones in lower case, names aside;
* plan: the number of steps of the reference policy (5th percentile, median, 95th) over 100 seeds.

The second has the mean return of ten lazy policies. In environments with several agents, one lazy player, whose seat
changes from game to game, is among reference policies, and the return is its own.

Where the agent sees a picture, none is drawn for this, as no lazy policy looks at it. The tasks of ``web:Screen-v0``
are counted by the words on the first page, those of ``visual:*`` by question and structure, in which nothing has a
name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby
from statistics import fmean
from typing import Any

import gem
from gem.env_spec import EnvSpec
from gem.multiagent import MultiAgentEnv
from gem.text import action_text
from gem.text_env import TextEnv
from gem_envs_visual.env import PictureEnv
from gem_envs_web.screen.env import ScreenSiteEnv
from gem_rollout.seating import make_agent_policy

SEEDS, EPISODES, PLANS = 10_000, 50, 100
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CAPITALS = re.compile(r"\b[A-Z]{3,}\b")
_WORD = re.compile(r"[a-z']+")
_EXAMPLE = re.compile(r"\\boxed\{[^{}]*\}|<(\w+)>[^<>]*</\1>")
_COMMON = 0.1
"""The share of tasks from which a capitalised word is no name."""


def first_text(env: Any, seed: int) -> str:
    """Return the first observation of a seed as text; of all agents, where there are several."""
    observation, _ = begun(env, seed)
    if isinstance(env.unwrapped, ScreenSiteEnv):
        return env.unwrapped.in_words()
    if isinstance(env.unwrapped, PictureEnv):
        question = _CAPITALS.sub("NAME", observation)
        return f"{question}\n{json.dumps(env.unwrapped._task.structure())}"
    if isinstance(env.unwrapped, MultiAgentEnv):
        return "\n\n".join(str(observation[agent]) for agent in env.unwrapped.possible_agents)
    return action_text(observation) or str(observation)


def begun(env: Any, seed: int) -> tuple[Any, Any]:
    """Begin an episode, without its picture where there is one."""
    inner = env.unwrapped
    return TextEnv.reset(inner, seed) if isinstance(inner, (ScreenSiteEnv, PictureEnv)) else env.reset(seed=seed)


def stepped(env: Any, action: Any) -> tuple[Any, float, bool, bool, Any]:
    """Carry out an action, without the picture that it leads to."""
    inner = env.unwrapped
    return TextEnv.step(inner, action) if isinstance(inner, (ScreenSiteEnv, PictureEnv)) else env.step(action)


class Diversity:
    """The counts of a set of first observations."""

    def __init__(self, texts: Iterable[str]) -> None:
        texts = list(texts)
        plain = Counter(word for text in texts for word in set(_WORD.findall(text)))
        capitalised = Counter(word for text in texts for word in set(_NAME.findall(text)))
        names = {
            word
            for word, count in capitalised.items()
            if word.lower() not in plain and count < max(2, _COMMON * len(texts))
        }
        tasks, forms = set[int](), Counter[int]()
        for text in texts:
            tasks.add(hash(_numbered(text, names)))
            blank = _NAME.sub(lambda word: "_" if word[0] in names else word[0], text)
            forms[hash(_NUMBER.sub("#", blank))] += 1
        lower = {name.lower() for name in names}
        self.tasks, self.forms = len(tasks), len(forms)
        self.commonest = forms.most_common(1)[0][1] / len(texts)
        self.words = len({word for text in texts for word in _WORD.findall(text.lower())} - lower)


def _numbered(text: str, names: set[str]) -> str:
    order: dict[str, str] = {}

    def number(word: re.Match[str]) -> str:
        return order.setdefault(word[0], f"@{len(order)}") if word[0] in names else word[0]

    return _NAME.sub(number, text)


def _in_forms(answer: str) -> str:
    return f"\\boxed{{{answer}}} <answer>{answer}</answer>"


def _example(which: int) -> Callable[[str, str], str]:
    """Return a policy that repeats the first or the last example of the instructions."""

    def act(first: str, now: str) -> str:
        found = [match[0] for match in _EXAMPLE.finditer(first)]
        return found[which] if found else ""

    return act


def _number(which: int) -> Callable[[str, str], str]:
    def act(first: str, now: str) -> str:
        found = _NUMBER.findall(now)
        return _in_forms(found[which]) if found else ""

    return act


def _commonest_word(first: str, now: str) -> str:
    words = Counter(word for word in _WORD.findall(now.lower()) if len(word) > 4)
    return _in_forms(words.most_common(1)[0][0]) if words else ""


LAZY: dict[str, Callable[[str, str], str] | None] = {
    "silence": lambda first, now: "",
    "a copy of what it sees": lambda first, now: now,
    "a copy in a box": lambda first, now: _in_forms(now.replace("{", "(").replace("}", ")")),
    "first example": _example(0),
    "last example": _example(-1),
    "first number": _number(0),
    "last number": _number(-1),
    "commonest word": _commonest_word,
    "no idea": lambda first, now: _in_forms("I do not know"),
    "at random": None,
}
"""What a policy answers to the first observation and the present one; None for random actions."""


def play(env: Any, policy: Callable[[str, str], str] | None, seed: int) -> float:
    """Return the return of a lazy policy in an episode."""
    if isinstance(env.unwrapped, MultiAgentEnv):
        return _play_seat(env, policy, seed)
    observation, _ = begun(env, seed)
    first = now = action_text(observation) or str(observation)
    total, over = 0.0, False
    while not over:
        action = env.sample_random_action() if policy is None else policy(first, now)
        observation, reward, terminated, truncated, _ = stepped(env, action)
        total, over = total + reward, terminated or truncated
        now = action_text(observation) or str(observation)
    return total


def _play_seat(env: Any, policy: Callable[[str, str], str] | None, seed: int) -> float:
    agents = env.unwrapped.possible_agents
    own = agents[seed % len(agents)]
    others = {agent: make_agent_policy("reference", env, agent) for agent in agents if agent != own}
    observations, infos = env.reset(seed=seed)
    for agent, other in others.items():
        other.reset(observations[agent], infos[agent])
    first = observations[own]
    while env.unwrapped.agents:
        actions = {}
        for agent in env.unwrapped.active_agents:
            if agent != own:
                actions[agent] = others[agent].act(observations[agent], {})
            elif policy is None:
                actions[agent] = env.sample_random_action()[agent]
            else:
                actions[agent] = policy(first, observations[agent])
        observations = {**observations, **env.step(actions)[0]}
    return float(env.unwrapped.cumulative_rewards[own])


def plan_lengths(spec: EnvSpec) -> list[int]:
    """Return the steps of the reference policy over some seeds, sorted; none where there is no such policy."""
    if spec.reference_policy is None:
        return []
    lengths = []
    with gem.make(spec) as env:
        policy = gem.make_policy("reference", env)
        for seed in range(PLANS):
            observation, info = env.reset(seed=seed)
            policy.reset(observation, info)
            steps, over = 0, False
            while not over:
                observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
                several = isinstance(terminated, dict)
                over = not env.unwrapped.agents if several else terminated or truncated  # type: ignore[attr-defined]
                steps += 1
            lengths.append(steps)
    return sorted(lengths)


def diversity_row(spec: EnvSpec, seeds: int) -> str:
    """Return a line of the first table."""
    with gem.make(spec) as env:
        found = Diversity(first_text(env, seed) for seed in range(seeds))
    lengths = plan_lengths(spec)
    plan = f"{lengths[len(lengths) // 20]}, {lengths[len(lengths) // 2]}, {lengths[-1 - len(lengths) // 20]}"
    share = f"{100 * found.commonest:.0f}" if found.commonest >= 0.1 else f"{100 * found.commonest:.2g}"
    counts = f"{found.tasks:,} | {found.forms:,} | {share} % | {found.words:,}"
    return f"| `{spec.id}` | {counts} | {plan if lengths else '–'} |"


def lazy_row(spec: EnvSpec, episodes: int) -> str:
    """Return a line of the second table."""
    cells = []
    with gem.make(spec) as env:
        for policy in LAZY.values():
            mean = fmean(play(env, policy, seed) for seed in range(episodes))
            cells.append(f"{mean + 0.0:.2f}".replace("-", "−"))
    return f"| `{spec.id}` | {' | '.join(cells)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    options = parser.parse_args()
    specs = sorted(map(gem.spec, options.ids), key=lambda spec: str(spec.distribution))
    for _, group in groupby(specs, key=lambda spec: spec.distribution):
        members = list(group)
        print(
            f"\n| id | tasks of {options.seeds:,} | forms | the commonest | words | plan |\n|---|---|---|---|---|---|"
        )
        for spec in members:
            print(diversity_row(spec, options.seeds))
            sys.stdout.flush()
        print(f"\n| id | {' | '.join(LAZY)} |\n|{'---|' * (len(LAZY) + 1)}")
        for spec in members:
            print(lazy_row(spec, options.episodes))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
