"""Heat: temperatures by a simulation in small steps, the thermometer, and the rules of the table."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_lab.heat.env import HeatEnv
from gem_envs_lab.heat.world import COLDEST, LEVELS, WATER, Substance, draw_heat

SUBSTANCES = st.builds(
    lambda melting, span, *rest: Substance(melting, melting + span, *rest),
    st.integers(-75, -60),
    st.integers(3, 20),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(5, 30),
    st.integers(10, 40),
)


def test_a_reading_of_nothing_has_no_sign() -> None:
    """Just below zero the thermometer shows 0.0, and not -0.0."""
    env = gem.make("lab:Heat-v0").unwrapped
    assert isinstance(env, HeatEnv)
    env.reset(seed=0)
    room = env._world.substances["water"].condition(env._heat["water"])[1]
    env._world = env._world._replace(scale=1, offset=-room - 0.01)
    assert env._dish("water") == "Water is liquid, and the thermometer in it shows 0.0."


@given(substance=SUBSTANCES)
def test_temperatures_agree_with_heating_by_one_kilojoule_at_a_time(substance: Substance) -> None:
    """It warms, stands still while it melts, warms again, and stands still while it boils; in the cold, to be quick."""
    degrees, state, left = float(COLDEST), "solid", 0
    for heat in range(2000):
        shown, temperature = substance.condition(heat)
        assert abs(temperature - degrees) < 1e-6
        assert shown == state
        if state == "gone":
            break
        if state == "solid":
            degrees += 1 / substance.solid
            if degrees > substance.melting - 1e-9:
                state, left = "melting", substance.fusion
        elif state == "melting":
            left -= 1
            if left < 0:
                degrees, state = degrees + 1 / substance.liquid, "liquid"
                if degrees > substance.boiling - 1e-9:
                    state, left = "boiling", substance.vapour
        elif state == "liquid":
            degrees += 1 / substance.liquid
            if degrees > substance.boiling - 1e-9:
                state, left = "boiling", substance.vapour
        else:
            left -= 1
            if left == 0:
                state = "gone"
    assert state == "gone"


@given(key=st.integers(0, 2**32), name=st.sampled_from(tuple(LEVELS)))
def test_every_question_has_one_answer(key: int, name: str) -> None:
    """Melting points differ, labels are wrong, and no sample has boiled away before the experiment."""
    level = LEVELS[name]
    world = draw_heat(random.Random(key), level)
    samples = {one: its for one, its in world.substances.items() if one != WATER}
    points = sorted(its.melting for its in samples.values())
    assert all(later - earlier >= 4 for earlier, later in pairwise(points))
    assert all(abs(samples[one].melting - claim) >= 5 for one, claim in world.labels.items())
    for its in world.substances.values():
        state, degrees = its.condition(its.heat_at(world.room))
        assert state in ("solid", "liquid")
        assert degrees == world.room
    if world.question == "first melts":
        assert (samples[world.subject].melting, world.answer) == (points[0], samples[world.subject].boiling)
    if world.question == "last melts":
        assert (samples[world.subject].melting, world.answer) == (points[-1], samples[world.subject].boiling)


def table(level: str, seed: int = 2) -> HeatEnv:
    env = gem.make("lab:Heat-v0", level=level).unwrapped
    assert isinstance(env, HeatEnv)
    env.reset(seed=seed)
    return env


def says(env: HeatEnv, command: str) -> str:
    return env.step(command)[0].partition(". ")[2].partition("\nWhat do you do?")[0]


def test_portions_boil_away_and_end() -> None:
    """A fresh portion has the temperature of the room; with the last one the dish stays empty."""
    env = table("easy")
    (name,) = env._world.substances
    fresh = env._dish(name)
    shown = ""
    for left in (2, 1):
        while "boils away" not in shown:
            shown = says(env, f"heat {name} by 250")
        assert shown == f"All of it boils away. You fill the dish again; portions left, with this one: {left}. {fresh}"
        shown = ""
    env.max_turns = 100
    while "empty" not in shown:
        shown = says(env, f"heat {name} by 250")
    assert says(env, f"cool {name} by 50") == f"The dish of {name} is empty, and no portion is left."


def test_what_the_table_refuses() -> None:
    """Amounts beyond the burner, and samples that are not there."""
    env = table("medium")
    assert says(env, "heat water by 251") == "You can give or take 1 to 250 kJ at a time."
    assert says(env, "cool water by 0") == "You can give or take 1 to 250 kJ at a time."
    assert says(env, "heat gold by 5") == "There is no sample of gold here."


@pytest.mark.parametrize(("off", "reward"), [(0, 1.0), (1, 1.0), (-1, 1.0), (1.1, 0.0), (-1.1, 0.0)])
def test_an_answer_counts_within_one_degree(off: float, reward: float) -> None:
    """Once, and the message tells the truth."""
    env = table("hard")
    right = env._world.answer
    observation, paid, terminated, _, info = env.step(f"answer {right + off:.1f} °C")
    assert f"and the right answer is {right} °C." in observation
    assert (paid, terminated, info["success"]) == (reward, True, reward == 1.0)


@given(key=st.integers(0, 2**32))
def test_water_calibrates_the_thermometer(key: int) -> None:
    """Two readings in water, at 0 and at 100 degrees, give any temperature from its reading."""
    world = draw_heat(random.Random(key), LEVELS["hard"])
    zero, hundred = world.reading(0), world.reading(100)
    assert 100 * (world.reading(world.answer) - zero) / (hundred - zero) == pytest.approx(world.answer)
    assert abs(world.reading(world.answer) - world.answer) > 1 or world.scale != 1.0
