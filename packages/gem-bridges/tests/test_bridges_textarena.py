"""TextArena's games as environments, with the installed library on the other side."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, ArgumentTypeError, StateError
from gem_bridges.textarena.game import random_move
from gem_testing import EnvConformance

# The library takes a second to import; no worker that only collects these tests does so.
pytestmark = pytest.mark.skipif(find_spec("textarena") is None, reason="gem-bridges[textarena] brings it")

GUESS, DUEL = "textarena:GuessTheNumber-v0", "textarena:TicTacToe-v0"

EVERY_GAME = """
import hashlib, json, sys
import gem
from gem.errors import ArgumentError
from textarena.envs.registration import ENV_REGISTRY

def play(env, seed):
    record = [env.reset(seed=seed)[0]]
    for _ in range(25):
        action = env.sample_random_action()
        record.append((action, *env.step(action)))
        if record[-1][3] or record[-1][4]:
            break
    return record

games = {}
for name, entry in ENV_REGISTRY.items():
    games.setdefault(entry.entry_point, name)
for name in games.values():
    if name.startswith("RushHour"):  # its generator takes up to minutes
        continue
    try:
        env = gem.make(f"textarena:{name}")
    except ArgumentError:
        continue
    record = play(env, 5)
    assert record == play(gem.make(f"textarena:{name}"), 5), name
    assert record == play(env, 5), name
    print(name, hashlib.sha256(json.dumps(record).encode()).hexdigest())
"""


class CentrePolicy(gem.Policy[str, str]):
    """Takes the first free cell of those that it likes; for TicTacToe."""

    def act(self, observation: str, info: dict[str, Any]) -> str:
        board = observation.rpartition("Available Moves:")[2]
        return next(f"[{cell}]" for cell in (4, 0, 8, 2, 6, 1, 3, 5, 7) if f"'[{cell}]'" in board)


def played(env: Any, seed: int, turns: int = 12) -> list[Any]:
    """Return an episode of random moves."""
    record: list[Any] = [env.reset(seed=seed)]
    for _ in range(turns):
        action = env.sample_random_action()
        record.append((action, env.step(action)))
        if record[-1][1][2] or record[-1][1][3]:
            break
    return record


@pytest.mark.nightly
class TestConformance(EnvConformance):
    """TextArena's games keep the contract: two for one player, and a seat of one for two.

    Some games pay for nothing, such as 2048 for its first tile; that is TextArena's.
    """

    environments = (
        gem.spec(GUESS),
        gem.spec("textarena:Mastermind-v0-train"),
        gem.spec("textarena:KuhnPoker-v0"),
    )


@pytest.mark.nightly
class TestConformanceOfBothSeats(EnvConformance):
    """Both seats of a game keep it too; their id, with its number of players, could be in no manifest."""

    environments = gem.spec("textarena:TicTacToe-v0#2")
    clauses = ("contract", "determinism", "hostile", "info", "residue", "reward", "state")


@pytest.mark.parametrize("name", ["GuessTheNumber-v0", "Mastermind-v0-train", "Minesweeper-v0", "FrozenLake-v0-random"])
def test_an_episode_is_textarenas(name: str) -> None:
    """Same observations, rewards and end as the game itself with that seed."""
    import textarena

    env = gem.make(f"textarena:{name}")
    observation, _ = env.reset(seed=3)
    theirs = textarena.make(name)
    theirs.reset(num_players=1, seed=env.get_state()["episode_seed"])
    reward, done = 0.0, False
    for turn in range(30):
        shown = theirs.get_observation()[1].strip()
        assert observation.startswith(shown)
        assert observation == shown or done
        if done:
            assert reward == theirs.close()[0][0]
            break
        action = f"I try [{3 * turn % 20 + 1}]" if turn % 2 else env.sample_random_action()
        observation, reward, terminated, truncated, _ = env.step(action)
        done = theirs.step(action)[0]
        assert (terminated, truncated) == (done, False)
    assert done


def test_games_in_threads_follow_from_their_seeds() -> None:
    """And the generator of the process stays untouched, though the games draw from it in TextArena."""
    names = ["2048-v0", "Blackjack-v0", "FrozenLake-v0-random", "Minesweeper-v0", "KuhnPoker-v0", "PigDice-v0"]
    alone = [played(gem.make(f"textarena:{name}"), 7) for name in names]
    before = random.getstate()
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(lambda name: [played(gem.make(f"textarena:{name}"), 7) for _ in range(3)], names))
    assert together == [[record] * 3 for record in alone]
    assert random.getstate() == before


def test_textarena_by_itself_draws_from_the_process_generator() -> None:
    """Outside the bridge, its modules see Python's own random."""
    gem.make("textarena:Bandit-v0")
    module = sys.modules["textarena.envs.Bandit.env"]
    random.seed(5)
    expected = random.Random(5).random()
    assert module.random.random() == expected


def test_moves_against_the_rules() -> None:
    """The first is allowed once more, the second ends the game with the game's own penalty."""
    env = gem.make(GUESS)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step("ten")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    assert env.step("[20]")[4]["action_status"] == "legal"
    assert env.step("[21]")[2:] == (False, False, {"turn": 3, "action_status": "illegal"})
    observation, reward, terminated, truncated, info = env.step("[21]")
    assert (terminated, truncated, info["action_status"], info["success"]) == (True, False, "illegal", False)
    assert 0 < reward < 1
    assert observation.endswith("guessed a number outside the range specified.")


@pytest.mark.parametrize("action", [None, b"[3]", "\ud800", "[" * 2**20 + "[", {"content": None}])
def test_what_is_no_text_is_not_played(action: object) -> None:
    """It costs a turn of the limit alone, and the game goes on."""
    env = gem.make(GUESS, max_turns=2)
    env.reset(seed=0)
    assert env.step(action)[1:] == (0.0, False, False, {"turn": 1, "action_status": "malformed"})
    assert env.step("[1]")[1:4] == (0.0, False, True)


def test_an_opponent_plays_the_other_seat() -> None:
    """A given policy, in either seat, as a class's name or an object; both sides' rewards add up to none."""
    name = f"{CentrePolicy.__module__}:{CentrePolicy.__qualname__}"
    sys.modules.setdefault(CentrePolicy.__module__, sys.modules[__name__])
    for seat, first in ((0, ""), (1, "(O) in cell 4")):
        env = gem.make(DUEL, opponent=name if seat else CentrePolicy(), seat=seat)
        observation, info = env.reset(seed=0)
        assert info["seat"] == seat
        assert first in observation
        assert ("You are Player 0" in observation) == (seat == 0)
        for cell in (1, 3, 5) if seat == 0 else (1, 3, 2):
            observation, reward, terminated, _, info = env.step(f"[{cell}]")
            if terminated:
                break
        assert (reward, terminated, info["success"]) == (-1, True, False)
        assert observation.count("has won!") == 1


def test_an_opponent_that_fails_ends_the_episode() -> None:
    """Truncated, with the reason: CentrePolicy finds no board in Nim."""
    env = gem.make("textarena:Nim-v0", opponent=CentrePolicy())
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step("[0 1]")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert "the opponent failed with StopIteration" in info["error"]
    assert env.reset(seed=0)[1]["turn"] == 0


def test_a_game_that_fails_ends_the_episode() -> None:
    """CharacterConclave calls a function of TextArena without an argument that it needs (0.7.4)."""
    env = gem.make("textarena:CharacterConclave-v0")
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step("Hello")
    assert (terminated, truncated) == (False, True)
    assert info["error"].startswith("BridgeError: the game failed with TypeError")


def test_a_reward_in_the_reasons_place_is_found() -> None:
    """Countdown passes them in the wrong order where a move is against the rules (0.7.4)."""
    env = gem.make("textarena:Countdown-v0")
    env.reset(seed=0)
    env.step("no move")
    _, reward, terminated, _, info = env.step("no move")
    assert terminated
    assert 0 < reward < 1
    assert "error" not in info


@pytest.mark.parametrize("name", [GUESS, DUEL, "textarena:2048-v0-raw", "textarena:TicTacToe-v0#2"])
def test_a_state_plays_the_episode_again(name: str) -> None:
    """In another instance, after JSON or pickling; both then go on alike, in this episode and the next."""
    env, twin = gem.make(name), gem.make(name)
    env.reset(seed=11)
    for _ in range(2):
        env.step(env.sample_random_action())
    twin.set_state(json.loads(json.dumps(env.get_state())))
    copy = pickle.loads(pickle.dumps(env))
    for _ in range(30):
        actions = [one.sample_random_action() for one in (env, twin, copy)]
        assert actions == actions[:1] * 3
        results = [one.step(actions[0]) for one in (env, twin, copy)]
        assert results == results[:1] * 3
        if env.get_state()["phase"] == "over":
            break
    assert env.reset() == twin.reset() == copy.reset()
    with pytest.raises(StateError):
        twin.set_state({**env.get_state(), "environment": "textarena:Other-v0"})


def test_agents_in_all_seats() -> None:
    """The game says who acts, and each gets its own reward."""
    env = gem.make("textarena:TicTacToe-v0#2")
    observations, _ = env.reset(seed=0)
    assert env.active_agents == ["player_0"]
    assert "you will be 'O'" in observations["player_0"]
    policy = CentrePolicy()
    acted = []
    while env.agents:
        (agent,) = env.active_agents
        acted.append(agent)
        action = "[4]" if len(acted) == 2 else policy.act(env.observe(agent), {})
        _, rewards, terminations, _, infos = env.step({agent: action})
        if len(acted) == 2:
            assert infos["player_1"]["action_status"] == "illegal"
    assert acted[:4] == ["player_0", "player_1", "player_1", "player_0"]
    assert sorted(rewards.values()) in ([-1, 1], [0, 0])
    assert terminations == {"player_0": True, "player_1": True}


def test_no_action_stops_a_game_of_several() -> None:
    """What is no text is played as an empty one, and forfeits as in the game."""
    env = gem.make("textarena:TicTacToe-v0#2")
    env.reset(seed=0)
    assert env.step({"player_0": None})[4]["player_0"]["action_status"] == "malformed"
    assert env.step({"player_0": b""})[1] == {"player_0": -1, "player_1": 1}


def test_what_cannot_be_made_is_refused() -> None:
    """With the nearest name, TextArena's own reason, or the form of the id."""
    with pytest.raises(ArgumentError, match="did you mean textarena:GuessTheNumber-v0"):
        gem.make("textarena:GuessTheNumbers-v0")
    with pytest.raises(ArgumentError, match="with 3 players: AssertionError: The number of players has to be 2"):
        gem.make(DUEL, players=3)
    with pytest.raises(ArgumentError, match=r"cannot be made: TypeError: .*colour"):
        gem.make(DUEL, kwargs={"colour": "red"})
    with pytest.raises(ArgumentError, match="number of players, at least 2"):
        gem.make("textarena:TicTacToe-v0#one")
    with pytest.raises(ArgumentError, match="opponent must be"):
        gem.make(DUEL, opponent="reference")
    with pytest.raises(ArgumentTypeError, match=r"gem\.Policy"):
        gem.make(DUEL, opponent=3)
    with pytest.raises(ArgumentError, match="seat must be at most 1"):
        gem.make(DUEL, seat=2)


def test_an_id_is_resolved_without_textarena() -> None:
    """The spec needs no import; making one without the library gives the line that installs it."""
    script = (
        "import sys, gem\nprint(gem.spec('textarena:Nim-v0').id, 'textarena' in sys.modules)\n"
        "sys.modules['textarena'] = None\n"
        "try:\n    gem.make('textarena:Nim-v0')\nexcept gem.errors.NotSupportedError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "textarena:Nim-v0 False"
    assert "needs TextArena; run: pip install 'gem-bridges[textarena]'" in second


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_every_game_repeats() -> None:
    """In a used instance, another one, and another process with other hashes of strings; or it is refused."""
    digests = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", EVERY_GAME],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.append(done.stdout)
    assert digests[0] == digests[1]
    assert len(digests[0].splitlines()) >= 60


def test_a_form_is_no_random_move() -> None:
    """Beside an example of as many words with numbers; other words are moves."""
    rng = random.Random(0)
    assert {random_move("e.g. [pile quantity] or [0 3]", rng).count(" ") for _ in range(20)} == {1}
    assert not any("pile" in random_move("e.g. [pile quantity] or [0 3]", rng) for _ in range(20))
    moves = {random_move("[check], [bet now] or [4]", rng) for _ in range(60)}
    assert {"[check]", "[bet now]", "[4]"} <= moves
