"""The form: clicks and texts, the dialog, and what counts as filled."""

from __future__ import annotations

from typing import Any, cast

import pytest

import gem
from gem.errors import StateError
from gem_envs_visual.form import BUTTONS, CONTROL, ScreenFormEnv
from gem_envs_visual.form_policy import ScreenFormPolicy


def begun(level: str = "easy", seed: int = 0) -> ScreenFormEnv:
    """Return a form that has begun."""
    env = ScreenFormEnv(level=level)
    env.reset(seed=seed)
    return env


def place_of(env: ScreenFormEnv, kind: str) -> int:
    """Return the first field of a kind."""
    return next(number for number, one in enumerate(env._task.fields) if one.kind == kind)


def click(env: ScreenFormEnv, x: int, y: int) -> tuple[Any, ...]:
    """Click a pixel."""
    return cast("tuple[Any, ...]", env.step(f"\\boxed{{click {x} {y}}}"))


def button(env: ScreenFormEnv, name: str) -> tuple[int, int]:
    """Return the centre of a button."""
    return 90 + 130 * env._task.buttons.index(name), BUTTONS


def moves_of_the_reference(level: str, seed: int) -> list[str]:
    """Return what the reference policy does in a form."""
    env = ScreenFormEnv(level=level)
    observation, info = env.reset(seed=seed)
    moves: list[str] = []
    over, reward = False, 0.0
    while not over:
        moves.append(ScreenFormPolicy().act(observation, info))
        observation, reward, terminated, truncated, info = env.step(moves[-1])
        over = terminated or truncated
    assert reward == 1.0
    return moves


def test_typing_needs_a_cursor() -> None:
    """A text goes into the field that was clicked, in capitals and in place of what it holds, and else nowhere."""
    env = begun()
    place = place_of(env, "text")
    env.step("\\boxed{type lost}")
    assert "LOST" not in env.values
    click(env, CONTROL + 100, env._task.field_y(place))
    env.step("\\boxed{type first}")
    env.step("\\boxed{type Second}")
    assert env.values[place] == "SECOND"


def test_a_tick_comes_and_goes() -> None:
    """A second click takes the tick away; a click beside the square does nothing."""
    env = begun()
    place = place_of(env, "tick")
    y = env._task.field_y(place)
    seen = []
    for x in (CONTROL, CONTROL + 19, CONTROL + 10, CONTROL + 20, CONTROL - 1):
        click(env, x, y)
        seen.append(env.values[place])
    assert seen == ["YES", "NO", "YES", "YES", "YES"]


def test_one_option_is_chosen() -> None:
    """A click on the ring or the name of an option takes the place of the choice before."""
    env = begun()
    place = place_of(env, "choice")
    options, y = env._task.fields[place].options, env._task.field_y(place)
    for number, x in enumerate((CONTROL + 10, CONTROL + 70 + 30, CONTROL + 140 + 50)):
        click(env, x, y)
        assert env.values[place] == options[number]


def test_clear_empties_the_form() -> None:
    """All fields are empty and all ticks gone, and the form can still be filled and sent."""
    env = begun("hard", 4)
    click(env, *button(env, "CLEAR"))
    assert all(value in ("", "NO") for value in env.values)
    assert [value for value, one in zip(env.values, env._task.fields, strict=True) if one.kind == "tick"] == [
        "NO",
        "NO",
    ]


def test_sending_a_form_that_differs_fails() -> None:
    """The form as it begins is not what the note says, and sending ends the episode."""
    env = begun()
    _, reward, terminated, _, info = click(env, *button(env, "SEND"))
    assert (reward, terminated, info["success"]) == (0.0, True, False)


@pytest.mark.nightly
def test_every_step_of_the_reference_is_needed() -> None:
    """With one of its moves left out, the same moves earn nothing, in 5 forms of each of two levels."""
    for level in ("easy", "medium"):
        for seed in range(5):
            moves = moves_of_the_reference(level, seed)
            for left_out in range(len(moves)):
                env = begun(level, seed)
                for number, move in enumerate(moves):
                    if number != left_out:
                        _, reward, terminated, truncated, _ = env.step(move)
                        assert reward == 0.0
                        if terminated or truncated:
                            break


def test_a_dialog_stops_everything_until_its_button_is_clicked() -> None:
    """While it is up, fields and buttons do nothing; its other button does nothing either."""
    env = begun("hard", 2)
    task = env._task
    while not env.dialog:
        click(env, CONTROL + 40, task.field_y(place_of(env, "text")))
    before = env.values, env.cursor
    env.step("\\boxed{type lost}")
    first = CONTROL + 10, task.field_y(0)  # above the dialog
    click(env, *first)
    _, _, terminated, _, _ = click(env, *button(env, "SEND"))
    assert (env.values, env.cursor, terminated, env.dialog) == (*before, False, True)
    right = task.dialog[1:].index(task.dialog[0])
    shown = []
    for number in (1 - right, right):
        click(env, 60 + 58 + 104 * number, 130 + 66)
        shown.append(env.dialog)
    assert shown == [True, False]
    click(env, *first)
    assert (env.values, env.cursor) != before


@pytest.mark.parametrize("action", ["click 480 3", "click 3 400", "click 9999 9999"])
def test_there_is_nothing_outside_the_screen(action: str) -> None:
    """A click outside the picture is illegal and costs a turn."""
    _, reward, terminated, _, info = begun().step(f"\\boxed{{{action}}}")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")


@pytest.mark.parametrize(
    "action",
    [
        "",
        "\\boxed{}",
        "\\boxed{click}",
        "\\boxed{click -1 5}",
        "\\boxed{type }",
        "\\boxed{type ¤}",
        "\\boxed{type " + "A" * 99 + "}",
    ],
)
def test_no_move_costs_a_turn(action: str) -> None:
    """What is neither a click nor a text leaves the form as it is."""
    env = begun()
    before = env.values
    assert env.step(action)[1:3] == (0.0, False)
    assert env.values == before


@pytest.mark.parametrize(
    "change", [{"values": []}, {"values": ["A"] * 9}, {"cursor": 3}, {"cursor": -2}, {"dialog": 1}]
)
def test_an_impossible_form_is_no_state(change: dict[str, Any]) -> None:
    """A state must have a value for each field, and the cursor in one of them."""
    env = begun()
    state = env.get_state()
    state["episode"].update(change)
    with pytest.raises(StateError):
        env.set_state(state)


@pytest.mark.nightly
@pytest.mark.parametrize("level", ["-easy", "", "-hard"])
def test_the_reference_fills_every_form_and_chance_none(level: str) -> None:
    """Of 40 forms, who reads the picture fills all and who clicks and types by chance none."""
    assert gem.spec(f"visual:Form-v0{level}").thoughtless_share == 0.0
    with gem.make(f"visual:Form-v0{level}") as env:
        for agent, expected in (("reference", 40.0), ("random", 0.0)):
            policy, total = gem.make_policy(agent, env), 0.0
            for seed in range(40):
                observation, info = env.reset(seed=seed)
                policy.reset(observation, info)
                over = False
                while not over:
                    observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                    total, over = total + reward, terminated or truncated
            assert total == expected
