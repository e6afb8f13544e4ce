"""Circuits: currents by Kirchhoff's laws, the rules of the bench, fuses, and the messages."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_lab.circuits.env import CircuitsEnv
from gem_envs_lab.circuits.world import BELL, FUSE, LAMP, LEVELS, Branch, CircuitWorld, draw_circuits

WORLD = CircuitWorld(
    {"cell 1": 6.0, "cell 2": -2.0},
    {"red": 100.0, "blue": 300.0, "dead": None, LAMP: 50.0, BELL: 25.0},
    -1,
    {},
    20.0,
    0,
)


@pytest.mark.parametrize("level", LEVELS)
def test_the_instructions_speak_of_the_bell_where_there_is_one(level: str) -> None:
    """Of several cells, and of directions, as well."""
    instructions = gem.make("lab:Circuits-v0", level=level).reset(seed=4)[0]
    assert ("bell" in instructions) == LEVELS[level].bell
    assert ("bench with cells" in instructions) == ("not its direction" in instructions) == (LEVELS[level].cells > 1)


def loop(text: str) -> list[Branch]:
    """The places of a loop that is written as in a command."""
    branches = []
    for place in text.split(", "):
        name, _, beside = place.removesuffix(" turned").partition(" beside ")
        branches.append(Branch(name, beside, place.endswith(" turned")))
    return branches


@pytest.mark.parametrize(
    ("text", "milliamperes"),
    [
        ("cell 1, lamp", 120.0),
        ("cell 1 turned, lamp", 120.0),
        ("cell 1, red, lamp", 40.0),
        ("cell 1, cell 2, lamp, red, lamp", 20.0),
        ("cell 1, cell 2 turned, red, lamp", 8000 / 150),
        ("cell 1, red beside blue, red", 6000 / 175),
        ("cell 1, red beside dead", 60.0),
        ("cell 1, dead, lamp", 0.0),
        ("red, lamp", 0.0),
        ("cell 1, bell, lamp", 0.0),
        ("cell 1, bell turned, lamp", 80.0),
        ("cell 1 turned, bell, lamp", 80.0),
        ("cell 1", float("inf")),
    ],
)
def test_the_current_of_a_loop(text: str, milliamperes: float) -> None:
    """Computed by hand: voltages add up, resistances add up, conductances beside each other add up."""
    assert WORLD.current(loop(text)) == pytest.approx(milliamperes)


@given(key=st.integers(0, 2**32), name=st.sampled_from(tuple(LEVELS)))
def test_some_loop_has_the_wanted_current(key: int, name: str) -> None:
    """And no fuse blows in it; found here by trying the chains of whole parts, in exact numbers."""
    world = draw_circuits(random.Random(key), LEVELS[name])
    assert 8.0 <= world.wanted <= 0.8 * FUSE
    whole = {part: Fraction(int(ohms)) for part, ohms in world.parts.items() if ohms and part not in (LAMP, BELL)}
    fixed = sum(Fraction(int(world.parts[part] or 0)) for part in (LAMP, BELL) if part in world.parts)
    drives = {Fraction(0)}
    for volts in world.cells.values():
        drives |= {drive + sign * Fraction(volts) for drive in drives for sign in (1, -1)}
    sums = {fixed}
    if LEVELS[name].beside:
        pairs = {
            (one, other): 1 / (1 / whole[one] + 1 / whole[other]) for one in whole for other in whole if one < other
        }
    else:
        pairs = {("", ""): Fraction(0)}
    for pair, ohms in pairs.items():
        chains = {fixed + ohms}
        for part, more in whole.items():
            if part not in pair:
                chains |= {chain + more for chain in chains}
        sums |= chains
    assert any(world.is_wanted(float(1000 * drive / ohms)) for drive in drives if drive > 0 for ohms in sums)


def bench(level: str, seed: int = 1) -> CircuitsEnv:
    env = gem.make("lab:Circuits-v0", level=level).unwrapped
    assert isinstance(env, CircuitsEnv)
    env.reset(seed=seed)
    return env


def says(env: CircuitsEnv, command: str) -> str:
    return env.step(command)[0].partition(". ")[2].partition("\n")[0]


def test_what_the_bench_refuses() -> None:
    """Each refusal names the thing, and nothing is measured."""
    env = bench("hard")
    part, other, *_ = env._world.parts
    assert says(env, "connect cell 9, lamp") == "There is no cell 9 here."
    assert says(env, "connect cell 1,, lamp") == "There is no part without a name here."
    assert says(env, f"connect cell 1, {part}, {part}") == f"There is one {part} only."
    assert says(env, f"connect cell 1, {part} beside lamp").startswith(
        "Only parts can stand beside each other, and lamp"
    )
    assert says(env, f"connect cell 1, {part} turned, lamp").startswith(f"Turning makes no difference to {part}")
    assert says(env, f"install cell 1, {part}, {other}") == "The lamp is not in that loop; nothing is installed."
    assert says(env, "install cell 1, lamp") == "The bell is not in that loop; nothing is installed."


def test_the_last_fuse_ends_the_experiment() -> None:
    """A short circuit blows one after the other."""
    env = bench("medium")
    assert says(env, "look").endswith("Fuses left: 2.")
    assert says(env, "connect cell 1") == "A fuse blows. Fuses left: 1."
    observation, reward, terminated, truncated, info = env.step("connect cell 2")
    assert observation.splitlines()[0].endswith("The last fuse blows.")
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)


def test_a_current_within_one_percent_is_right_and_another_is_wrong() -> None:
    """The installed loop decides, once."""
    for seed in range(8):
        env = bench("easy", seed)
        world = env._world
        (cell,) = world.cells
        command = f"install {cell}, {', '.join(world.parts)}"
        current = world.current([Branch(name) for name in (cell, *world.parts)])
        _, reward, terminated, _, info = env.step(command)
        right = abs(current - world.wanted) <= 0.01 * world.wanted
        assert (reward, terminated, info["success"]) == (float(right), True, right)


def test_the_words_at_the_end_say_what_has_happened() -> None:
    """A blown fuse was no result that is wrong, and a wrong loop blew no fuse."""
    env = gem.make("lab:Circuits-v0-hard")
    env.reset(seed=3)
    assert "The last fuse blows.\nThe experiment has failed." in env.step("connect cell 1")[0]
    env.reset(seed=3)
    observation = env.step("install cell 1, lamp, bell")[0]
    assert "mA flow. That is wrong.\nThe experiment has failed." in observation
