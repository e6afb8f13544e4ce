"""Generated houses and chores: splits, number, levels, and words."""

from __future__ import annotations

import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from math import factorial, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import StateError
from gem_envs_house.catalogue import ROOMS, THINGS, fits
from gem_envs_house.generator import ALFWORLD_KINDS, KINDS, LEVELS, SPLITS, draw_task, split_of
from gem_envs_house.household_policy import HouseholdPolicy, read_chores
from gem_envs_house.phrasing import WAYS, phrase, task_sentence

LEVEL_NAMES = ("easy", "medium", "hard")


@given(key=st.integers(0, 2**64 - 1), split=st.sampled_from(SPLITS), level=st.sampled_from(LEVEL_NAMES))
def test_a_task_belongs_to_the_split_that_it_was_drawn_for(key: int, split: str, level: str) -> None:
    """Its content alone decides the split, so that no task is in two of them, whatever the seeds."""
    task = draw_task(key, LEVELS[level], ALFWORLD_KINDS, 1, split)
    assert split_of(task.house, task.chores) == split


@pytest.mark.parametrize("level", ["easy", "medium"])
def test_no_house_of_valid_unseen_is_in_another_split(level: str) -> None:
    """Rooms and receptacles of these houses come up nowhere else, even where few different houses exist."""
    houses = {
        split: {
            (task.house.rooms, task.house.receptacles)
            for task in (draw_task(key, LEVELS[level], ALFWORLD_KINDS, 1, split) for key in range(60))
        }
        for split in SPLITS
    }
    assert not houses["valid_unseen"] & (houses["train"] | houses["valid_seen"])
    assert len(houses["valid_unseen"]) > 10


@pytest.mark.parametrize(
    ("level", "keys"), [("medium", 10), ("hard", 10), pytest.param("easy", 1500, marks=pytest.mark.nightly)]
)
def test_there_are_more_than_a_million_tasks(level: str, keys: int) -> None:
    """Already the first houses of a level, with their things in all the ways in which they can be drawn.

    Houses that differ in nothing else count once, and things of a kind are not told apart.
    """
    ways: dict[object, int] = {}
    for key in range(keys):
        house, chores, _ = draw_task(key, LEVELS[level], ALFWORLD_KINDS, 1, "train")
        count = 1
        for thing in house.things:
            places = [
                one
                for one in house.receptacles
                if one.kind in THINGS[thing.kind].usual
                and not any((chore.thing, chore.receptacle) == (thing.kind, one.kind) for chore in chores)
            ]
            count *= max(len(places), 1)
        kinds = Counter(thing.kind for thing in house.things)
        ways[house.receptacles, chores, tuple(sorted(kinds))] = count // prod(map(factorial, kinds.values()))
    # Of the ways to lie, one in five belongs to valid_seen.
    assert 0.8 * sum(ways.values()) > 1_000_000


@given(key=st.integers(0, 2**64 - 1), kind=st.sampled_from(KINDS), way=st.integers(0, WAYS - 1))
def test_a_chore_can_be_read_from_its_words(key: int, kind: str, way: int) -> None:
    """Each wording names the thing, its states, the number and the place, without another meaning."""
    (chore,) = draw_task(key, LEVELS["medium"], (kind,), 1, "train").chores
    assert read_chores(f"Your task is to: {phrase(chore, way)}.") == [chore]


def test_no_wording_dominates() -> None:
    """Each of the four ways to say a chore comes up as often as the others, within five standard errors."""
    (chore,) = draw_task(0, LEVELS["medium"], ("heat",), 1, "train").chores
    rng = random.Random(0)
    counts = Counter(task_sentence(rng, [chore]) for _ in range(4000))
    assert len(counts) == WAYS
    assert all(abs(count - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5 for count in counts.values())


def test_every_kind_of_thing_and_receptacle_comes_up() -> None:
    """Nothing in the catalogue is out of reach of the generator, and no thing is asked for in half of the tasks."""
    tasks = [draw_task(key, LEVELS["hard"], KINDS, 1, "train") for key in range(150)]
    assert {thing.kind for task in tasks for thing in task.house.things} == set(THINGS)
    receptacles = {kind for room in ROOMS.values() for kind in (*room.fixtures, *dict(room.extras))}
    assert {one.kind for task in tasks for one in task.house.receptacles} == receptacles
    assert Counter(task.chores[0].thing for task in tasks).most_common(1)[0][1] < 25


def test_usual_places_accept_what_is_usual_there() -> None:
    """The catalogue does not contradict itself."""
    assert all(fits(name, place) for name, kind in THINGS.items() for place in kind.usual)


def wins(env_id: str, budget: int, episodes: int = 30, policy: str = "reference") -> float:
    """The share of episodes that a policy wins within a number of turns."""
    env = gem.make(env_id, max_turns=budget)
    player = gem.make_policy(policy, env)
    total = 0.0
    for seed in range(episodes):
        observation, info = env.reset(seed=seed)
        player.reset(observation, info)
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step(player.act(observation, info))
            done = terminated or truncated
            total += reward
    return total / episodes


@pytest.mark.parametrize("name", ["house:Household-v0", "house:Composite-v0"])
def test_levels_grow_harder_for_the_reference_policy_under_one_budget(name: str) -> None:
    """With the same number of turns it wins less from level to level, and everything within the announced turns."""
    levels = (f"{name}-easy", name, f"{name}-hard")
    budget = 9 if "Household" in name else 24
    scores = [wins(level, budget) for level in levels]
    assert scores[0] > scores[1] + 0.1
    assert scores[1] > scores[2] + 0.1
    assert all(wins(level, gem.make(level).unwrapped.max_turns) == 1.0 for level in levels)


def test_chance_hardly_ever_wins() -> None:
    """Not even in the smallest houses, with commands that are possible."""
    assert wins("house:Household-v0-easy", 25, 40, "random") < 0.2


@pytest.mark.nightly
def test_levels_grow_harder_for_random_commands_under_one_budget() -> None:
    """In very many turns, chance wins fewer of the larger houses."""
    scores = [wins(f"house:Household-v0{level}", 1000, 200, "random") for level in ("-easy", "", "-hard")]
    assert scores[0] > scores[1] > scores[2]


def test_sixty_four_houses_in_threads_play_as_one_after_the_other() -> None:
    """Episodes in many threads at once are those of a single thread."""

    def episode(seed: int) -> list[object]:
        env, policy = gem.make("house:Household-v0"), HouseholdPolicy()
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        shown: list[object] = [observation]
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            done = terminated or truncated
            shown += [observation, reward]
        return shown

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(episode, range(64))) == [episode(seed) for seed in range(64)]


@given(key=st.integers(0, 2**64 - 1), steps=st.integers(0, 20), damage=st.data())
def test_a_damaged_state_raises_and_changes_nothing(key: int, steps: int, damage: st.DataObject) -> None:
    """Whatever is wrong with it: a thing in no place, two in one hand, a spot in another room, a missing field."""
    env = gem.make("house:Household-v0-hard")
    env.reset(seed=key)
    for _ in range(steps):
        env.step(env.sample_random_action())
    state = env.get_state()
    broken = json.loads(json.dumps(state))
    episode = broken["episode"]
    kind = damage.draw(st.sampled_from(["gone", "hands", "spot", "place", "mark", "short"]))
    if kind == "gone":
        del episode[damage.draw(st.sampled_from(sorted(episode)))]
    elif kind == "hands":
        episode["places"][:2] = [-1, -1]
    elif kind == "spot":
        episode["room"], episode["spot"] = (
            0,
            next(one.spot for one in env.unwrapped._task.house.receptacles if one.room != 0),
        )
    elif kind == "short":
        episode["opened"].pop()
    else:
        name, wrong = {"place": ("places", 99), "mark": ("marks", 32)}[kind]
        episode[name][0] = wrong
    with pytest.raises(StateError):
        env.set_state(broken)
    assert env.get_state() == state
