"""A second model of the household's rules agrees with the first, command by command.

The second model has sets of facts, with conditions and effects, as in a planning domain. It knows neither the
environment's classes nor its texts: it gets the facts of the start and the agent's commands.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_house.commands import Command
from gem_envs_house.generator import KINDS, LEVELS, SPLITS, HouseholdTask, draw_task
from gem_envs_house.house import CLEAN, COOL, HELD, HOT, ON, SLICED, Chore
from gem_envs_house.household_policy import HouseholdPolicy
from gem_envs_house.situation import Situation

Fact = tuple[str, ...]
UNDONE_BY = {"hot": "cool", "cool": "hot"}
TOOLS = {
    "heat": ("heatable", "microwave", "hot"),
    "cool": ("coolable", "fridge", "cool"),
    "clean": ("cleanable", "sinkbasin", "clean"),
}


class FactModel:
    """The facts that hold, and how commands change them."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = set(facts)

    def __contains__(self, fact: Fact) -> bool:
        return fact in self.facts

    def second(self, predicate: str, first: str) -> list[str]:
        """Return all x with (predicate, first, x)."""
        return [fact[2] for fact in self.facts if fact[:2] == (predicate, first)]

    def hand_is_empty(self) -> bool:
        """Return whether nothing is carried."""
        return not any(fact[0] == "holds" for fact in self.facts)

    def lies_open(self, receptacle: str) -> bool:
        """Return whether hands can reach into a receptacle."""
        return ("openable", receptacle) not in self or ("opened", receptacle) in self

    def apply(self, command: str) -> bool:
        """Change the facts by a command; return whether its conditions held."""
        for pattern, rule in RULES:
            if match := re.fullmatch(pattern, command):
                changes = rule(self, *match.groups())
                if changes is None:
                    return False
                added, removed = changes
                self.facts = (self.facts - set(removed)) | set(added)
                return True
        raise AssertionError(command)


def go(model: FactModel, target: str):
    old = [fact for fact in model.facts if fact[0] in ("at", "in room")]
    room = next(fact[1] for fact in old if fact[0] == "in room")
    if ("room", target) in model:
        return None if target == room else ([("in room", target)], old)
    if ("room of", target, room) not in model or ("at", target) in model:
        return None
    return [("at", target)], [fact for fact in old if fact[0] == "at"]


def open_(model: FactModel, target: str):
    possible = ("at", target) in model and ("openable", target) in model and ("opened", target) not in model
    return ([("opened", target)], []) if possible else None


def close(model: FactModel, target: str):
    return ([], [("opened", target)]) if ("at", target) in model and ("opened", target) in model else None


def take(model: FactModel, thing: str, source: str):
    possible = (
        model.hand_is_empty()
        and ("in", thing, source) in model
        and ("at", source) in model
        and ("portable", thing) in model
        and model.lies_open(source)
    )
    return ([("holds", thing)], [("in", thing, source)]) if possible else None


def move(model: FactModel, thing: str, target: str):
    kinds = model.second("kind", thing) + model.second("kind", target)
    possible = (
        ("holds", thing) in model
        and ("at", target) in model
        and model.lies_open(target)
        and ("accepts", *kinds) in model
    )
    return ([("in", thing, target)], [("holds", thing)]) if possible else None


def treat(model: FactModel, verb: str, thing: str, tool: str):
    ability, kind, state = TOOLS[verb]
    possible = (
        ("holds", thing) in model
        and ("at", tool) in model
        and ("kind", tool, kind) in model
        and (ability, thing) in model
    )
    return ([(state, thing)], [(UNDONE_BY.get(state, ""), thing)]) if possible else None


def slice_(model: FactModel, thing: str, blade: str):
    places = model.second("in", thing)
    possible = (
        ("holds", blade) in model
        and ("blade", blade) in model
        and ("sliceable", thing) in model
        and ("sliced", thing) not in model
        and any(("at", place) in model and model.lies_open(place) for place in places)
    )
    return ([("sliced", thing)], []) if possible else None


def use(model: FactModel, lamp: str):
    if ("lamp", lamp) not in model or not any(("at", place) in model for place in model.second("in", lamp)):
        return None
    return ([], [("on", lamp)]) if ("on", lamp) in model else ([("on", lamp)], [])


def examine(model: FactModel, name: str):
    seen = any(("at", place) in model and model.lies_open(place) for place in model.second("in", name))
    return ([], []) if ("at", name) in model or ("holds", name) in model or seen else None


RULES = (
    (r"go to (.+)", go),
    (r"open (.+)", open_),
    (r"close (.+)", close),
    (r"take (.+) from (.+)", take),
    (r"move (.+) to (.+)", move),
    (r"(heat|cool|clean) (.+) with (.+)", treat),
    (r"slice (.+) with (.+)", slice_),
    (r"use (.+)", use),
    (r"examine (.+)", examine),
    (r"look|inventory", lambda model: ([], [])),
)


def is_done(model: FactModel, thing: str, receptacle: str, states: Iterable[str], number: int, in_light: bool) -> bool:
    """Return whether a chore is done."""
    things = [fact[1] for fact in model.facts if fact[0] == "kind" and fact[2] == thing]
    if in_light:
        lit = any(
            ("on", lamp) in model and any(("at", place) in model for place in model.second("in", lamp))
            for lamp in (fact[1] for fact in model.facts if fact[0] == "kind" and fact[2] == receptacle)
        )
        return lit and any(("holds", name) in model for name in things)
    places = [fact[1] for fact in model.facts if fact[0] == "kind" and fact[2] == receptacle]
    return any(
        sum(("in", name, place) in model and all((state, name) in model for state in states) for name in things)
        >= number
        for place in places
    )


STATES = {HOT: "hot", COOL: "cool", CLEAN: "clean", SLICED: "sliced"}


def facts_of(task: HouseholdTask) -> set[Fact]:
    """The start of a task as facts."""
    house = task.house
    facts: set[Fact] = {("in room", house.rooms[house.start])}
    facts |= {("room", name) for name in house.rooms}
    facts |= {("accepts", *pair) for pair in house.accepted}
    for receptacle in house.receptacles:
        facts |= {
            ("kind", receptacle.name, receptacle.kind),
            ("room of", receptacle.name, house.rooms[receptacle.room]),
        }
        facts |= {("openable", receptacle.name)} if receptacle.openable else set()
    for thing in house.things:
        facts |= {("kind", thing.name, thing.kind), ("in", thing.name, house.receptacles[thing.place].name)}
        facts |= {(ability, thing.name) for ability in thing.abilities}
    return facts


def chore_is_done(model: FactModel, chore: Chore) -> bool:
    states = [state for mark, state in STATES.items() if chore.marks & mark]
    return is_done(model, chore.thing, chore.receptacle, states, chore.number, chore.in_light)


def agree(model: FactModel, situation: Situation) -> None:
    """Compare every place and mark of the two models."""
    house = situation.house
    for number, thing in enumerate(house.things):
        place = situation.places[number]
        where = ("holds", thing.name) if place == HELD else ("in", thing.name, house.receptacles[place].name)
        assert where in model
        for mark, state in (*STATES.items(), (ON, "on")):
            assert ((state, thing.name) in model) is bool(situation.marks[number] & mark)
    for number, receptacle in enumerate(house.receptacles):
        assert (("opened", receptacle.name) in model) is situation.opened[number]


@pytest.mark.parametrize(
    ("env_id", "seeds"),
    [
        ("house:Household-v0-easy", 20),
        ("house:Household-v0", 30),
        ("house:Household-v0-hard", 15),
        ("house:Composite-v0-hard", 15),
    ],
)
def test_plans_of_the_reference_policy_succeed_in_a_second_model(env_id: str, seeds: int) -> None:
    """Replayed there, every command is possible, and all chores are done after the last one and not before."""
    env = gem.make(env_id)
    policy = HouseholdPolicy()
    for seed in range(seeds):
        observation, info = env.reset(seed=seed)
        task = env.unwrapped._task
        model = FactModel(facts_of(task))
        policy.reset(observation, info)
        done = False
        while not done:
            assert not all(chore_is_done(model, chore) for chore in task.chores)
            action = policy.act(observation, info)
            assert model.apply(action), action
            observation, reward, done, *_ = env.step(action)
        assert reward == 1.0
        assert all(chore_is_done(model, chore) for chore in task.chores)


@given(key=st.integers(0, 2**64 - 1), kind=st.sampled_from(KINDS), level=st.sampled_from(["easy", "medium", "hard"]))
def test_a_second_model_agrees_with_every_possible_and_impossible_command(key: int, kind: str, level: str) -> None:
    """Under random commands, possible ones and others, both allow the same and come to the same facts."""
    task = draw_task(key, LEVELS[level], (kind,), 1, "train")
    situation, model = Situation(task.house), FactModel(facts_of(task))
    rng = random.Random(key)
    names = [*task.house.rooms, *(one.name for one in (*task.house.receptacles, *task.house.things)), "unicorn 1"]
    for _ in range(60):
        possible = situation.possible()
        if rng.random() < 0.6:
            command = rng.choice([one for one in possible if one.second] or possible)
        elif rng.random() < 0.5:
            command = rng.choice(possible)
        else:
            command = rng.choice(
                [Command(verb, rng.choice(names)) for verb in ("go", "open", "close", "use", "examine")]
                + [
                    Command(verb, rng.choice(names), rng.choice(names))
                    for verb in ("take", "move", "heat", "cool", "clean", "slice")
                ]
            )
        allowed = model.apply(str(command))
        assert situation.do(command)[1] is allowed, command
        assert not (command in possible and not allowed), command
        assert command in possible or not allowed, command
        agree(model, situation)
        assert all(situation.holds(chore) is chore_is_done(model, chore) for chore in task.chores)


@given(key=st.integers(0, 2**64 - 1), split=st.sampled_from(SPLITS), kind=st.sampled_from(KINDS))
def test_a_task_has_what_it_needs_and_is_not_done_at_the_start(key: int, split: str, kind: str) -> None:
    """Nothing of the wanted kind lies at its destination, so that the task cannot be done by waiting."""
    task = draw_task(key, LEVELS["medium"], (kind,), 1, split)
    (chore,) = task.chores
    house = task.house
    wanted = [thing for thing in house.things if thing.kind == chore.thing]
    assert len(wanted) >= chore.number
    assert all(house.receptacles[thing.place].kind != chore.receptacle for thing in wanted)
    assert all((thing.kind, house.receptacles[thing.place].kind) in house.accepted for thing in house.things)
    assert not Situation(house).holds(chore)
