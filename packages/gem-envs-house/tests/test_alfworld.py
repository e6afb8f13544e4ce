"""ALFWorld's games, played here as ALFWorld plays them.

``alfworld_data`` has the form of ALFWorld's data. Its games were generated here, since ALFWorld's own could not be had.
``episodes.json`` holds episodes of these games in the real ALFWorld (package ``alfworld`` 0.4.2), as
``tools/record_alfworld.py`` recorded them: commands, answers, whether the game was won, and a digest of the admissible
commands.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, NotSupportedError, StateError
from gem_envs_house.alfworld import TASKS
from gem_envs_house.alfworld_game import read_game
from gem_envs_house.commands import CommandForm
from gem_envs_house.situation import Situation
from gem_testing import EnvConformance

DATA = Path(__file__).with_name("alfworld_data")
EPISODES = json.loads((DATA / "episodes.json").read_text(encoding="utf-8"))
PREAMBLE = "-= Welcome to TextWorld, ALFRED! =-\n\n"


class TestConformance(EnvConformance):
    """The adapter keeps every clause of the contract; its reference policy plays the walkthroughs."""

    environments = gem.spec("house:ALFWorld-v0").with_kwargs({"data": str(DATA)})


@pytest.mark.parametrize("number", range(len(EPISODES)))
def test_an_episode_is_the_same_as_in_alfworld(number: int) -> None:
    """Texts, admissible commands and success agree at every step, also where receptacles share a location."""
    episode = EPISODES[number]
    game = read_game(DATA / episode["game"])
    situation = Situation(game.house, explain=False, as_alfworld=True)
    assert episode["opening"] == f"{PREAMBLE}{situation.overview()}\n\nYour task is to: {game.sentence}"
    for text, answer, won, admissible in episode["steps"]:
        command = CommandForm().read(text)
        assert (situation.do(command)[0] if command else "Nothing happens.") == answer, text
        assert situation.holds(game.chore) is won
        if not won:  # ALFWorld lists none after the end
            possible = sorted(map(str, situation.possible()))
            assert zlib.crc32("\n".join(possible).encode()) == admissible, possible


def test_the_recording_has_what_it_should_prove() -> None:
    """All kinds of tasks were won, and every kind of command was carried out.

    Two games, in which receptacles share a location, stop the reference policy; they are marked as not solvable.
    """
    won = {episode["game"] for episode in EPISODES if episode["steps"][-1][2]}
    assert {game.split("/")[2].partition("-")[0] for game in won} == set(TASKS)
    done = {text.split()[0] for episode in EPISODES for text, answer, *_ in episode["steps"] if "Nothing" not in answer}
    assert done >= {"go", "open", "close", "take", "move", "heat", "cool", "clean", "slice", "use", "examine", "look"}


def test_walkthroughs_win_through_the_environment() -> None:
    """A game of the folder comes up at each reset, states its task, and pays 1.0 once."""
    for split in ("train", "valid_seen"):
        env = gem.make("house:ALFWorld-v0", data=str(DATA), split=split)
        policy = gem.make_policy("reference", env)
        tasks = set()
        for seed in range(20):
            observation, info = env.reset(seed=seed)
            tasks.add(observation[observation.index("Your task is to") :])
            policy.reset(observation, info)
            rewards = []
            while not rewards or rewards[-1] == 0.0:
                *_, info = step = env.step(policy.act(observation, info))
                rewards.append(step[1])
            assert step[2]
            assert info["success"]
        assert len(tasks) > 3


def test_a_missing_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says where the games were looked for and how to get them; the variable is read as ALFWorld does."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "n ï"))
    with pytest.raises(ArgumentError, match=r"n ï.json_2\.1\.1.train; set data.*alfworld-download"):
        gem.make("house:ALFWorld-v0")
    monkeypatch.setenv("ALFWORLD_DATA", str(DATA))
    assert "Your task is to" in gem.make("house:ALFWorld-v0", split="valid_seen", tasks=TASKS[-1:]).reset(seed=0)[0]


def game_with(folder: Path, **changes: Any) -> str:
    (source, *_) = sorted(DATA.glob("json_2.1.1/train/*/*/game.tw-pddl"))
    content = {**json.loads(source.read_text(encoding="utf-8")), **changes}
    path = folder / "json_2.1.1/train/pick_and_place_simple-x/trial/game.tw-pddl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pddl_problem": "(define"}, "no game of ALFWorld"),
        ({"pddl_problem": None}, "no game of ALFWorld"),
        ({"grammar": "{}"}, "no sentence of the task"),
        ({"pddl_problem": "(:init (atlocation agent1 l)) (:goal (and (flies ?o)))"}, "its goal uses flies"),
        ({"solvable": False}, "marked as solvable"),
    ],
)
def test_a_broken_game_is_an_error_with_its_path(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    """No traceback of a parser, and no game that cannot be won."""
    env = gem.make("house:ALFWorld-v0", data=game_with(tmp_path, **changes))
    with pytest.raises(ArgumentError, match=reason):
        env.reset(seed=0)


def test_a_game_without_a_walkthrough_has_no_reference(tmp_path: Path) -> None:
    """It can be played all the same."""
    env = gem.make("house:ALFWorld-v0", data=game_with(tmp_path, walkthrough=None))
    observation, info = env.reset(seed=0)
    with pytest.raises(NotSupportedError, match="no walkthrough"):
        gem.make_policy("reference", env).reset(observation, info)


def test_a_state_of_another_folder_is_refused() -> None:
    """Its game is named."""
    env = gem.make("house:ALFWorld-v0", data=str(DATA))
    env.reset(seed=0)
    state = env.get_state()
    state["episode"]["game"] = "../../../etc/passwd"
    with pytest.raises(StateError, match="is not among"):
        env.set_state(state)


@pytest.mark.parametrize("part", ["Sliced", "movable"])
def test_games_that_alfworld_leaves_out_are_not_played(tmp_path: Path, part: str) -> None:
    """Goals with a slice or with a movable receptacle; a folder of such games alone has none."""
    game_with(tmp_path, walkthrough=["look"])
    train = tmp_path / "json_2.1.1/train"
    (train / f"pick_and_place_simple-Apple{part}-None").mkdir()
    (train / "pick_and_place_simple-x/trial").rename(train / f"pick_and_place_simple-Apple{part}-None/trial")
    with pytest.raises(ArgumentError, match="no games of ALFWorld"):
        gem.make("house:ALFWorld-v0", data=str(tmp_path))
    game_with(tmp_path)
    env: Any = gem.make("house:ALFWorld-v0", data=str(tmp_path))
    assert {env.reset(seed=seed) and env.unwrapped._name for seed in range(9)} == {
        "pick_and_place_simple-x/trial/game.tw-pddl"
    }
