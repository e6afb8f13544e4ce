"""The grammar of commands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_house.commands import Command, CommandForm
from gem_envs_house.generator import ALFWORLD_KINDS, LEVELS, draw_task
from gem_envs_house.situation import Situation

read = CommandForm().read


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("go to fridge 1", ("go", "fridge 1")),
        ("go to kitchen", ("go", "kitchen")),
        ("take apple 1 from shelf 2", ("take", "apple 1", "shelf 2")),
        ("move apple 1 to shelf 2", ("move", "apple 1", "shelf 2")),
        ("put apple 1 in/on shelf 2", ("move", "apple 1", "shelf 2")),
        ("put apple 1 on shelf 2", ("move", "apple 1", "shelf 2")),
        ("heat apple 1 with microwave 1", ("heat", "apple 1", "microwave 1")),
        ("cool apple 1 using fridge 1", ("cool", "apple 1", "fridge 1")),
        ("clean apple 1 with sinkbasin 1", ("clean", "apple 1", "sinkbasin 1")),
        ("slice apple 1 with knife 1", ("slice", "apple 1", "knife 1")),
        ("use desklamp 1", ("use", "desklamp 1")),
        ("toggle desklamp 1", ("use", "desklamp 1")),
        ("inventory", ("inventory",)),
        ("Take the Apple 1  from the shelf 2.", ("take", "apple 1", "shelf 2")),
        ("> look", ("look",)),
        ("Action: open drawer 3", ("open", "drawer 3")),
        ("Thought: it may be cold.\nAction: > open fridge 1\n\n", ("open", "fridge 1")),
        ("<think>go to bed 1</think><action>open fridge 1</action> and wait", ("open", "fridge 1")),
        ("<action>look</action>\n<action> go to bed 1 </action>", ("go", "bed 1")),
    ],
)
def test_a_command_is_read(text: str, command: tuple[str, ...]) -> None:
    """In ALFWorld's wording of either age, in tags, in the last line, with the prefixes that agents use."""
    assert read(text) == Command(*command)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fridge 1",
        "go fridge 1",
        "go to fridge 1 and open it",
        "go to fridge 1\nI hope that helps",
        "take apple 1",
        "heat apple 1",
        "look look",
        "go to fridge 123456",
        "go to fridge ١",
        "<action>dance</action>\nlook",
        pytest.param("look\n" + "x" * 300, id="long line"),
        pytest.param("go to " + "a" * 10**6, id="endless"),
    ],
)
def test_anything_else_is_no_command(text: str) -> None:
    """Half a command, two in a line, another alphabet's digits, an endless line."""
    assert read(text) is None


@given(key=st.integers(0, 2**64 - 1), kind=st.sampled_from(ALFWORLD_KINDS), walk=st.randoms(use_true_random=False))
def test_every_possible_command_is_read_back(key: int, kind: str, walk) -> None:
    """The text of a command, as it is listed, is a command."""
    situation = Situation(draw_task(key, LEVELS["hard"], (kind,), 1, "train").house)
    for _ in range(20):
        commands = situation.possible()
        assert [read(str(command)) for command in commands] == commands
        situation.do(walk.choice(commands))


@given(st.text() | st.text("<action>/ lok\n", max_size=60))
def test_any_text_is_survived(text: str) -> None:
    """The form returns a command or None."""
    assert read(text) is None or isinstance(read(text), Command)


@pytest.mark.parametrize("unit", ["<action>", "</action>", "> ", "Action: ", "go to ", "the ", "look\n", " ", "- "])
def test_reading_takes_linear_time(unit: str) -> None:
    """Sixteen times the text costs no more than about sixteen times the time, not its square."""

    def seconds(text: str) -> float:
        begin = time.thread_time()
        read(text)
        return time.thread_time() - begin

    short, long = unit * 4_000, unit * 64_000
    limit = 100 * max(min(seconds(short) for _ in range(5)), 1e-5)
    assert any(seconds(long) < limit for _ in range(5))
