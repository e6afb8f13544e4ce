"""What holds for every experiment: splits, number of tasks, levels, commands, states, and play in many threads."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_lab.experiment import SPLITS, ExperimentEnv, drawn_world, split_of

FAMILIES = ("lab:Mixtures-v0", "lab:Circuits-v0", "lab:Heat-v0", "lab:Growth-v0")
LEVELS = ("easy", "medium", "hard")
SMALL_BUDGET = {"lab:Mixtures-v0": 20, "lab:Circuits-v0": 12, "lab:Heat-v0": 9, "lab:Growth-v0": 7}
"""Turns that are enough for most episodes of the easiest level."""


def experiment(name: str, **kwargs: Any) -> ExperimentEnv[Any, Any]:
    """The environment itself."""
    env = gem.make(name, **kwargs).unwrapped
    assert isinstance(env, ExperimentEnv)
    return env


def played(name: str, seeds: range, policy: str = "reference", **kwargs: Any) -> tuple[float, float]:
    """The mean return and the mean number of turns of a policy."""
    env = gem.make(name, **kwargs)
    player = gem.make_policy(policy, env)
    total = turns = 0.0
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        player.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(player.act(observation, info))
            total, turns, over = total + reward, turns + 1, terminated or truncated
    return total / len(seeds), turns / len(seeds)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_commands_of_the_instructions_can_be_given(name: str, level: str) -> None:
    """They name what is there, but for a flask that is still to be filled."""
    env = experiment(name, level=level)
    for seed in range(5):
        lines = env.reset(seed=seed)[0].splitlines()
        explained = lines[
            lines.index("The commands:") + 1 : next(n for n, line in enumerate(lines) if "turns, and" in line)
        ]
        commands = [line.partition(":")[0] for line in explained]
        if commands[0].startswith("heat "):
            commands[:1] = commands[0].split(", ")
        for command in commands:
            env.reset(seed=seed)
            observation, *_, info = env.step(command)
            assert info["action_status"] == "legal" or "There is no flask 1" in observation, (command, observation)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
@given(key=st.integers(0, 2**64 - 1), split=st.sampled_from(SPLITS))
def test_a_world_belongs_to_the_split_that_it_was_drawn_for(name: str, level: str, key: int, split: str) -> None:
    """Its content alone decides the split, so that no world is in both, whatever the seeds."""
    assert split_of(drawn_world(experiment(name, level=level)._draw, key, split)) == split


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "level", [pytest.param("easy"), *(pytest.param(level, marks=pytest.mark.nightly) for level in LEVELS[1:])]
)
def test_there_are_more_than_a_million_tasks(name: str, level: str) -> None:
    """Of 4,500 drawn worlds no two are alike but for their names; among 10⁶ equally likely ones 10 pairs would be."""
    draw = experiment(name, level=level)._draw
    assert len({repr(draw(random.Random(key)).structure()) for key in range(4500)}) == 4500


@pytest.mark.parametrize("name", FAMILIES)
def test_levels_grow_harder_for_the_reference_policy_under_one_budget(name: str) -> None:
    """It wins all episodes in the announced turns, and fewer from level to level in a fixed number of them."""
    seeds = range(10)
    wins = [played(name, seeds, level=level, max_turns=SMALL_BUDGET[name])[0] for level in LEVELS]
    assert wins == sorted(wins, reverse=True)
    assert wins[0] > wins[2]
    free = [played(name, seeds, level=level) for level in LEVELS]
    assert [share for share, _ in free] == [1.0, 1.0, 1.0]
    turns = [mean for _, mean in free]
    assert turns == sorted(turns)


@pytest.mark.parametrize("name", FAMILIES)
def test_chance_hardly_ever_wins(name: str) -> None:
    """Random commands earn less than 0.2 on the easiest level, and silence nothing."""
    assert played(name, range(60), "random", level="easy")[0] < 0.2
    assert played(name, range(3), "null", level="easy")[0] == 0.0


@pytest.mark.parametrize("name", FAMILIES)
def test_an_episode_continues_from_its_state_in_another_instance(name: str) -> None:
    """After every step, through JSON."""
    env, other = experiment(name), experiment(name)
    env.reset(seed=4)
    over = False
    while not over:
        other.set_state(json.loads(json.dumps(env.get_state())))
        action = env.sample_random_action()
        result = env.step(action)
        assert other.step(action) == result
        over = result[2] or result[3]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("key", [-1, 2**64, "1", None])
def test_a_state_with_an_impossible_key_is_refused(name: str, key: object) -> None:
    """StateError, and the experiment stays as it was."""
    env = experiment(name)
    env.reset(seed=1)
    before = env.get_state()
    damaged = json.loads(json.dumps(before))
    damaged["episode"]["_key"] = key
    with pytest.raises(StateError):
        env.set_state(damaged)
    assert env.get_state() == before


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kwargs", [{"level": "d1"}, {"split": "dev"}, {"max_turns": 0}, {"max_turns": True}])
def test_impossible_arguments_are_refused(name: str, kwargs: dict[str, Any]) -> None:
    """Each has its range."""
    with pytest.raises((ArgumentError, TypeError)):
        gem.make(name, **kwargs)


@pytest.mark.parametrize("name", FAMILIES)
@given(text=st.text(alphabet=st.sampled_from("handi mxfskotwler0123456789\n,.'\ud800é")))
def test_any_text_is_survived(name: str, text: str) -> None:
    """And earns nothing."""
    env = experiment(name)
    for action in (text, f"hand in {text}", f"mix {text} with {text}", f"heat {text}", f"cross {text} with {text}"):
        env.reset(seed=0)
        assert env.step(action)[1] == 0.0


@pytest.mark.parametrize("name", FAMILIES)
def test_thoughts_around_a_command_do_not_matter(name: str) -> None:
    """The last line that is a command counts, also with the marks that models add."""
    env = experiment(name)
    env.reset(seed=0)
    action = env.sample_random_action()
    begun = env.get_state()
    plain = env.step(action)
    for text in (
        f"I think.\n\nAction: {action}",
        f"  {action.upper()}.",
        f"**{action}**\nThat is all.\n",
        f"`{action}`",
    ):
        env.set_state(begun)
        assert env.step(text) == plain


@pytest.mark.parametrize("name", FAMILIES)
def test_threads_play_what_one_thread_plays(name: str) -> None:
    """64 environments at once give the observations of one after the other."""

    def episode(seed: int) -> list[str]:
        env = gem.make(name)
        shown = [env.reset(seed=seed)[0]]
        over = False
        while not over:
            observation, _, terminated, truncated, _ = env.step(env.sample_random_action())
            shown.append(observation)
            over = terminated or truncated
        return shown

    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(episode, range(64)))
    assert together == [episode(seed) for seed in range(64)]
