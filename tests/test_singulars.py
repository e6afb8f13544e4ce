"""No observation counts one thing in the plural, whatever the environment."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from typing import Any

import pytest

import gem
from gem.counts import counted
from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem.policies import make_policy

NAMESPACES = ("bandit", "craft", "db", "desk", "duel", "game", "grid", "house", "kg", "lab", "logic", "qa", "web")
_COUNT = re.compile(r"(?<![\w.,#+-])1 ([a-z]+s)\b")
SINGULARS = {"bus", "glass", "has", "holds", "is", "was"}
"""Words with an s that may follow the number one: nouns in the singular, and verbs after "drawer 1"."""
INVENTED = re.compile(r".*(?:oss|iss)$")
"""Ends of the invented words that name things to craft."""
EPISODES, TURNS = 3, 30


def specs() -> list[EnvSpec]:
    """Return the specs of the worlds that need neither a browser nor data."""
    return [
        spec
        for namespace in NAMESPACES
        for spec in gem.all_specs(namespace)
        if not spec.requires and find_spec(name_of(spec.entry_point).partition(":")[0].partition(".")[0]) is not None
    ]


def wrong_counts(observation: Any) -> list[str]:
    """Return the counts of one with a noun in the plural."""
    text = json.dumps(observation, default=str).replace("\\n", " ")  # the texts of all players, or of all parts
    return [found[0] for found in _COUNT.finditer(text) if found[1] not in SINGULARS and not INVENTED.match(found[1])]


def play(spec: EnvSpec, agent: str, episodes: int, turns: int) -> list[str]:
    """Return the wrong counts of some episodes, of two turns at least where the agent has one for all."""
    found: list[str] = []
    with gem.make(spec) as env:
        policy = make_policy(agent, env)
        for seed in range(episodes):
            observation, info = env.reset(seed=seed)
            policy.reset(observation, info)
            found += wrong_counts(observation)
            for _ in range(turns):
                observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
                found += wrong_counts(observation)
                if any(_flags(terminated)) or any(_flags(truncated)):
                    break
    return found


def _flags(ended: Any) -> list[bool]:
    """Return the flags of all agents."""
    return list(ended.values()) if isinstance(ended, dict) else [ended]


def first_of_each() -> list[EnvSpec]:
    """Return one spec for each class of environments."""
    return list({name_of(spec.entry_point): spec for spec in reversed(specs())}.values())


@pytest.mark.sampled(20)
@pytest.mark.slow(reason="environments play")
@pytest.mark.parametrize("spec", first_of_each(), ids=lambda spec: spec.id)
def test_an_observation_counts_one_thing_in_the_singular(spec: EnvSpec) -> None:
    """Under random actions and, where there is one, under the reference policy."""
    for agent in ("random", "reference") if spec.reference_policy else ("random",):
        assert play(spec, agent, EPISODES, TURNS) == []


@pytest.mark.nightly
@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.id)
def test_every_variant_counts_one_thing_in_the_singular(spec: EnvSpec) -> None:
    """In more episodes of each variant."""
    for agent in ("random", "reference") if spec.reference_policy else ("random",):
        assert play(spec, agent, 10, 60) == []


def test_a_number_and_its_noun_agree() -> None:
    """One is singular, all else plural; the test of the observations finds what does not agree."""
    assert [counted(number, "turn") for number in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]
    assert counted(3, "entity", "entities") == "3 entities"
    assert wrong_counts("Worth 1 hats, 2 hats and 1 hat") == ["1 hats"]
    assert wrong_counts("craft 1 dreistiss hook; the drawer 1 is closed; 1.1 points; +1 points; #1 wins") == []
    for env_id in ("house:Household-v0", "lab:Heat-v0", "db:SQL-v0", "kg:Graph-v0", "craft:Recipes-v0", "web:Form-v0"):
        assert wrong_counts(gem.make(env_id, max_turns=1).reset(seed=0)[0]) == []
