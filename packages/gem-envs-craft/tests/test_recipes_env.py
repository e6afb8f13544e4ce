"""The rules of crafting: commands, inventory, rewards, arguments and states."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, StateError
from gem_envs_craft.commands import CommandLine, CraftCommand, GetCommand, InventoryCommand
from gem_envs_craft.env import RecipesEnv
from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

RECIPES = [
    ["tavun cord", 4, [[2, "brel husk"]]],
    ["tavun plate", 1, [[3, "tavun cord"], [1, "brel husk"]]],
    ["tavun plate", 1, [[2, "sorv dust"]]],
    ["brel pin", 1, [[1, "tavun plate"]]],
]


def begun(goal: str = "tavun plate", **kwargs: Any) -> RecipesEnv:
    """A world in progress whose recipes are known."""
    env = RecipesEnv(max_turns=20, **kwargs)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(_shown=RECIPES, goal=goal)
    env.set_state(json.loads(json.dumps(state)))
    return env


def said(env: RecipesEnv, command: str) -> tuple[str, float, str]:
    """The message, the reward and the status of a command."""
    observation, reward, *_, info = env.step(command)
    return observation.splitlines()[0].partition(". ")[2], reward, info["action_status"]


def test_an_episode_goes_as_in_textcraft() -> None:
    """The messages are TextCraft's, items are used up, and only the goal is rewarded."""
    env = begun()
    assert said(env, "inventory") == ("Inventory: You are not carrying anything.", 0.0, "legal")
    assert said(env, "get 4 brel husk") == ("Got 4 brel husk.", 0.0, "legal")
    assert said(env, "craft 4 tavun cord using 2 brel husk") == ("Crafted 4 tavun cord.", 0.0, "legal")
    assert said(env, "inventory") == ("Inventory: [brel husk] (2) [tavun cord] (4)", 0.0, "legal")
    observation, reward, terminated, truncated, info = env.step("craft 1 tavun plate using 1 brel husk, 3 tavun cord")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {"turn": 5, "action_status": "legal", "success": True}
    assert observation == "Turn 5 of 20. Crafted 1 tavun plate.\nYou have crafted the goal."


def test_what_is_used_up_is_not_listed() -> None:
    """An item of which nothing is left is not carried."""
    env = begun()
    for command in ("get 2 brel husk", "craft 4 tavun cord using 2 brel husk"):
        env.step(command)
    assert said(env, "inventory") == ("Inventory: [tavun cord] (4)", 0.0, "legal")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("get 1 tavun cord", "Could not find tavun cord."),
        ("get 1 unheard of", "Could not find unheard of."),
        ("get 65 brel husk", "Could not get 65 at a time; the most is 64."),
        ("craft 4 tavun cord using 2 brel husk", "Could not find enough items to craft tavun cord."),
        ("craft 8 tavun cord using 2 brel husk", "Could not find a valid recipe for tavun cord."),
        ("craft 4 tavun cord using 3 brel husk", "Could not find a valid recipe for tavun cord."),
        ("craft 4 tavun cord using 2 brel husk, 1 sorv dust", "Could not find a valid recipe for tavun cord."),
        ("craft 1 brel husk using 1 tavun cord", "Could not find a valid recipe for brel husk."),
        ("get 1 " + "x" * 500, f"Could not find {'x' * 60}…."),
    ],
)
def test_what_cannot_be_done_changes_nothing(command: str, message: str) -> None:
    """It costs a turn and earns nothing, and what the agent carries stays as it is."""
    env = begun()
    assert said(env, command) == (message, 0.0, "illegal")
    assert said(env, "inventory")[0] == "Inventory: You are not carrying anything."
    assert env.get_state()["turn"] == 2


def test_text_without_a_command_costs_a_turn_and_nothing_else() -> None:
    """The episode goes on, so silence earns 0."""
    env = begun()
    for text in (
        "",
        "I should get some husks.",
        "craft tavun cord",
        "get husk",
        "get 0 brel husk",
        "get 9999999 brel husk",
    ):
        assert said(env, text) == ("No line of your answer is a command.", 0.0, "malformed")


def test_a_wrong_number_of_pieces_passes_by_argument_alone() -> None:
    """With any_count, as in TextCraft, the recipe counts and not what the command says that it makes."""
    for any_count, status in ((False, "illegal"), (True, "legal")):
        env = begun(any_count=any_count)
        env.step("get 2 brel husk")
        assert said(env, "craft 8 tavun cord using 2 brel husk")[2] == status


def test_the_goal_counts_however_it_is_made() -> None:
    """Another recipe for the goal earns the same."""
    env = begun()
    env.step("get 2 sorv dust")
    assert env.step("craft tavun plate using 2 sorv dust")[1] == 1.0


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("get 3 oak log", GetCommand(3, "oak log")),
        ("  Get  3   Oak log ", GetCommand(3, "oak log")),
        ("Thought: wood.\n\nAction:\nget 3 oak log", GetCommand(3, "oak log")),
        ("Action: get 3 oak log", GetCommand(3, "oak log")),
        ("`get 3 oak log`.", GetCommand(3, "oak log")),
        ("**inventory**", InventoryCommand()),
        ("get 1 a\nget 2 b\nThat is all.", GetCommand(2, "b")),
        ("I get 3 oak log", None),
        ("get -3 oak log", None),
        ("get ٣ oak log", None),
        ("inventory please", None),
        ("craft 4 plank using 1 log", CraftCommand("plank", 4, {"log": 1})),
        ("craft plank using 1 log, 2 log", CraftCommand("plank", None, {"log": 3})),
        ("craft plank using log", None),
        ("craft plank using 1 log, ", None),
        ("craft plank", None),
    ],
)
def test_commands_are_read_from_the_last_line_that_has_one(text: str, command: object) -> None:
    """Thoughts around it, capitals and the marks of Markdown make no difference."""
    assert CommandLine().read(text) == command


WORLD = begun()


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    """Also behind the words of a command."""
    env = WORLD.spawn(same_state=True)
    for action in (text, f"get {text}", f"get 1 {text}", f"craft {text} using {text}", f"craft 1 a using 1 {text}"):
        assert env.step(action)[1] == 0.0


@pytest.mark.parametrize(
    "kwargs",
    [
        {"depth": 0},
        {"depth": 7},
        {"depth": "deep"},
        {"distractors": -1},
        {"loops": 11},
        {"max_turns": 0},
        {"max_turns": "loose"},
        {"split": "dev"},
        {"most_per_get": 59},
        {"any_count": 1},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Each has its range."""
    with pytest.raises((ArgumentError, TypeError)):
        RecipesEnv(**kwargs)


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "brel husk"},
        {"goal": "unheard of"},
        {"_inventory": {"unheard of": 1}},
        {"_inventory": {"brel husk": 0}},
        {"_shown": []},
        {"_shown": [["tavun plate", 0, [[1, "brel husk"]]]]},
        {"_shown": [["tavun plate", 1, []]]},
        {"max_turns": 0},
    ],
)
def test_impossible_states_are_refused(change: dict[str, Any]) -> None:
    """StateError, and the world stays as it was."""
    env = begun()
    before = env.get_state()
    damaged = json.loads(json.dumps(before))
    damaged["episode"].update(change)
    with pytest.raises(StateError):
        env.set_state(damaged)
    assert env.get_state() == before


def test_tight_turns_are_the_shortest_plan_and_two() -> None:
    """The instructions announce them."""
    env = RecipesEnv(max_turns="tight", split="test", depth=2)
    loose = RecipesEnv(max_turns=15, split="test", depth=2)
    for seed in range(10):
        tight, same = env.reset(seed=seed)[0], loose.reset(seed=seed)[0]
        assert f"You have {env.max_turns} turns" in tight
        assert tight.partition("turns,")[2] == same.partition("turns,")[2]
        assert 2 + 3 <= env.max_turns <= 2 + 11


def test_a_group_stands_for_any_one_of_its_items() -> None:
    """Of one kind for each place, and never for the group's own name."""
    recipes = [
        CraftingRecipe("stick", 4, ((2, "planks"),)),
        CraftingRecipe("sign", 1, ((2, "planks"), (1, "wool"), (2, "oak planks"))),
    ]
    book = RecipeBook(recipes, {"planks": frozenset({"oak planks", "birch planks"})})
    assert book.find("stick", {"oak planks": 2}) == recipes[0]
    assert book.find("stick", {"oak planks": 1, "birch planks": 1}) is None
    assert book.find("sign", {"oak planks": 2, "birch planks": 2, "wool": 1}) == recipes[1]
    assert book.find("sign", {"birch planks": 2, "wool": 1}) is None
    assert book.base == {"oak planks", "birch planks", "wool"}
