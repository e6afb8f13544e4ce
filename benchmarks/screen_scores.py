"""Plays the shop and the forms on a screen with simple and with bounded agents.

    python benchmarks/screen_scores.py [--episodes N] [ID …]

Prints a table in Markdown with mean returns over the seeds 0 … N - 1 (100 unless said otherwise). The careless agent is
the reference policy that confirms nothing and heeds no correction. Two agents are bounded, and show which level is
harder. One has few turns: 12 in the shop, 24 in a form, fewer than the reference needs in the middle level. The other
has little memory: of a wish it keeps the kind, the price and three conditions, of a letter what the first page of the
form asks for; afterwards it is careless. No picture is drawn, as none of these agents looks at one.
"""

from __future__ import annotations

import argparse
import sys
from statistics import fmean
from typing import Any

from task_diversity import begun, stepped

import gem
from gem.core import Info, Observation
from gem.env_spec import EnvSpec
from gem.policies import NullPolicy, Policy, RandomPolicy
from gem_envs_web.form.env import FormEnv
from gem_envs_web.form.policy import FormPolicy
from gem_envs_web.screen.env import ScreenSiteEnv
from gem_envs_web.screen.policy import ScreenPolicy
from gem_envs_web.shop.policy import ShopPolicy, read_wish
from gem_envs_web.shop.shopping import ShoppingEnv

EPISODES = 100
KEPT = 3
"""Conditions of a wish that the agent of little memory keeps."""
FEW_TURNS = {"web:Screen-v0": 12, "web:Screen-v0-form": 24}
IDS = {f"{base}{level}": turns for base, turns in FEW_TURNS.items() for level in ("-easy", "", "-hard")}


class _ForgetfulShopper(ShopPolicy):
    """Knows the kind, the price and the first conditions of a wish."""

    def __init__(self, world: ShoppingEnv) -> None:
        super().__init__()
        self._world = world

    def reset(self, observation: str, info: Info) -> None:
        super().reset(observation, info)
        wish = read_wish(self._world.wish.instruction)
        attributes = wish.attributes[:KEPT]
        options = dict([*wish.options.items()][: KEPT - len(attributes)])
        self._wish = wish._replace(attributes=attributes, options=options)


class _ForgetfulWriter(FormPolicy):
    """Knows what a letter says about the first page of a form."""

    def __init__(self, world: FormEnv) -> None:
        super().__init__(world)
        self._world = world

    def act(self, observation: str, info: Info) -> str:
        self._first = "page 1 " not in f"{self._world.page.title} "
        return super().act(observation, info)


class ForgetfulPolicy(ScreenPolicy):
    """The reference policy with little memory."""

    def reset(self, observation: Observation, info: Info) -> None:
        super().reset(observation, info)
        world = self._env.world
        self._policy = _ForgetfulWriter(world) if isinstance(world, FormEnv) else _ForgetfulShopper(world)
        self._policy.reset(self._seen(info), {})


def mean_and_turns(spec: EnvSpec, agent: str, episodes: int) -> tuple[float, float]:
    """Return the mean return of an agent, and its mean number of turns."""
    returns, turns = [], 0
    with gem.make(spec) as env:
        inner = env.unwrapped
        assert isinstance(inner, ScreenSiteEnv)
        policies: dict[str, Policy[Any, Any]] = {
            "silence": NullPolicy(),
            "random": RandomPolicy(env),
            "careless": ScreenPolicy(inner, careful=False),
            "reference": ScreenPolicy(inner),
            "forgetful": ForgetfulPolicy(inner),
        }
        policy = policies[agent]
        for seed in range(episodes):
            observation, info = begun(env, seed)
            policy.reset(observation, info)
            over, reward = False, 0.0
            while not over:
                observation, reward, terminated, truncated, info = stepped(env, policy.act(observation, info))
                turns, over = turns + 1, terminated or truncated
            returns.append(reward)
    return fmean(returns), turns / episodes


def row(env_id: str, episodes: int) -> str:
    """Return a line of the table."""
    spec = gem.spec(env_id)
    means = [mean_and_turns(spec, agent, episodes) for agent in ("silence", "random", "careless", "reference")]
    few = mean_and_turns(spec.with_kwargs({"max_turns": IDS[env_id]}), "reference", episodes)
    cells = [f"{mean:.2f}" for mean, _ in means]
    forgetful = mean_and_turns(spec, "forgetful", episodes)
    cells += [f"{means[-1][1]:.1f}", f"{few[0]:.2f}", f"{forgetful[0]:.2f}"]
    return f"| `{env_id}` | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", choices=[*IDS, []], metavar="ID")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    options = parser.parse_args()
    print("| id | silence | random | careless | reference | its turns | few turns | little memory |")
    print("|---|---|---|---|---|---|---|---|")
    for env_id in options.ids or IDS:
        print(row(env_id, options.episodes))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
