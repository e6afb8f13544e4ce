"""Golden episodes: files that a test holds an environment to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, TrajectoryError
from gem.policies import RandomPolicy, ScriptedPolicy
from gem_rollout import play_episode, rollout
from gem_rollout.trajectory import Trajectory, TrajectoryWriter, read_trajectories
from gem_testing import Violation
from gem_testing.agents import NullPolicy
from gem_testing.golden import Golden, assert_golden

WORDS = {"greeting": "Throw."}
CLOCK = iter(range(1_000_000))


class Dice(Env[str, str]):
    """Three throws; says what ``WORDS`` holds."""

    def __init__(self, sides: int = 6) -> None:
        self.sides = sides
        self.closed = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return f"{WORDS['greeting']} {self.rng.random()}", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        thrown = self.rng.randint(1, self.sides)
        return f"{thrown}", float(thrown), self.turn == 3, False, {"turn": self.turn, "tick": next(CLOCK)}

    def sample_random_action(self) -> str:
        return f"throw {self.action_rng.random()}"

    def close(self) -> None:
        self.closed = True


class Silent(NullPolicy):
    """The reference policy."""


DICE = EnvSpec(id="test:Dice-v0", entry_point=Dice, description="Dice.", version="1.0")


@pytest.fixture(autouse=True)
def _words() -> Iterator[None]:
    yield
    WORDS["greeting"] = "Throw."


def golden(tmp_path: Path, update: bool = False, written: list[Path] | None = None) -> Golden:
    note = [] if written is None else written
    return Golden(tmp_path / "golden", update=update, advice="run it with --update", written=note.append)


def hold(file: Golden, name: str = "dice", environment: Any = DICE, **arguments: Any) -> None:
    file(name, environment, **{"policy": "random", "ignore": ["info.tick"], **arguments})


def test_a_file_is_written_once_and_then_held_to(tmp_path: Path) -> None:
    """Written where it is missing or differs, byte for byte the same from then on, and compared otherwise."""
    written: list[Path] = []
    path = tmp_path / "golden" / "dice.jsonl"
    hold(golden(tmp_path, update=True, written=written))
    assert written == [path]
    content, time = path.read_bytes(), path.stat().st_mtime_ns
    hold(golden(tmp_path, update=True, written=written))
    assert written == [path]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, time)
    hold(golden(tmp_path))
    assert [(t.seed, len(t), t.agent) for t in read_trajectories(path, strict=True)] == [
        (seed, 3, "random") for seed in range(3)
    ]


def test_a_missing_file_fails_with_what_makes_it(tmp_path: Path) -> None:
    """The failure names the file and the way to write it, and writes nothing."""
    with pytest.raises(Violation, match=r"dice\.jsonl does not exist; to write it, run it with --update$"):
        hold(golden(tmp_path))
    assert not (tmp_path / "golden").exists()


def test_a_change_fails_with_the_first_difference(tmp_path: Path) -> None:
    """The failure is an AssertionError with environment, seed, file, place and both values."""
    hold(golden(tmp_path, update=True))
    WORDS["greeting"] = "Roll!"
    with pytest.raises(AssertionError) as caught:
        hold(golden(tmp_path))
    message = str(caught.value)
    assert message.startswith(f"test:Dice-v0 with seed 0 differs from {tmp_path / 'golden' / 'dice.jsonl'}, episode 0")
    assert "after reset: observation was 'Throw. 0.8444218515250481' and is now 'Roll! 0.844" in message
    assert message.endswith("; if that is intended, run it with --update")
    hold(golden(tmp_path, update=True))
    hold(golden(tmp_path))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"seeds": range(2)}, "holds 3 episode(s), and 2 were played"),
        ({"seeds": range(4)}, "holds 3 episode(s), and more were played"),
        ({"seeds": [0, 1, 5]}, "episode 2, is test:Dice-v0 with seed 2, not test:Dice-v0 with seed 5"),
        ({"environment": replace(DICE, id="test:Other-v0")}, "is test:Dice-v0 with seed 0, not test:Other-v0"),
        ({"policy": NullPolicy()}, "turn 1: action was 'throw"),
        ({"environment": replace(DICE, kwargs={"sides": 100})}, "turn 1: observation was '4' and is now"),
        ({"wrappers": "concat"}, "after reset: observation"),
        ({"max_turns": 2}, "the episode had 3 turns and now has 2"),
        ({"ignore": ()}, "info['tick'] was missing"),
    ],
)
def test_other_episodes_are_not_taken_for_the_recorded(tmp_path: Path, other: dict[str, Any], message: str) -> None:
    """Another number, seed, environment, agent, wrapper or length fails with what is other."""
    hold(golden(tmp_path, update=True))
    with pytest.raises(Violation) as caught:
        hold(golden(tmp_path), **other)
    assert message in str(caught.value)


def test_times_versions_and_descriptions_are_not_in_the_file(tmp_path: Path) -> None:
    """What changes while the behaviour stays the same makes no other file."""
    path = tmp_path / "dice.jsonl"

    def batch(spec: EnvSpec) -> Any:
        return lambda: sorted(rollout(spec, RandomPolicy, episodes=4), key=lambda t: t.seed or 0)

    assert assert_golden(path, batch(DICE), update=True, ignore=["info.tick"])
    other = replace(DICE, version="2.0", description="More dice.", tags=("dice",), recorded_digest="0" * 64)
    assert not assert_golden(path, batch(other), update=True, ignore=["info.tick"])
    record = json.loads(path.read_text().splitlines()[0])
    assert record["spec"] == {"id": "test:Dice-v0", "entry_point": f"{__name__}:Dice"}
    assert "step_seconds" not in path.read_text()
    assert "tick" not in path.read_text()


def test_the_order_of_keys_is_no_difference(tmp_path: Path) -> None:
    """A file does not change with the order in which an environment fills its infos."""
    path = tmp_path / "a.jsonl"
    for number, info in enumerate(({"a": 1, "b": 2}, {"b": 2, "a": 1})):
        record = Trajectory(None, 1, reset_info=info, final_observation="x")
        assert assert_golden(path, lambda record=record: [record], update=True) is (number == 0)


def test_the_environment_is_closed_unless_it_was_given(tmp_path: Path) -> None:
    """An environment that the fixture made is closed; one that it got is its owner's."""
    made: list[Dice] = []

    def counted() -> Dice:
        made.append(Dice())
        return made[-1]

    spec = replace(DICE, entry_point=counted)
    hold(golden(tmp_path, update=True), environment=spec)
    WORDS["greeting"] = "Roll!"
    with pytest.raises(Violation) as caught:
        hold(golden(tmp_path), environment=spec)
    assert caught.tb is not None  # a traceback that is kept keeps nothing open
    assert [env.closed for env in made] == [True, True]
    own = Dice()
    hold(golden(tmp_path, update=True), "own", own)
    assert not own.closed
    hold(golden(tmp_path), "own", Dice())


def test_policies_of_every_kind(tmp_path: Path) -> None:
    """A name, a policy, a class and a function from the environment are policies; anything else is refused."""
    spec = replace(DICE, reference_policy=f"{__name__}:Silent")
    file = golden(tmp_path, update=True)
    for policy in ("random", "reference", NullPolicy(), RandomPolicy, lambda env: NullPolicy()):
        hold(file, environment=spec, policy=policy)
    with pytest.raises(ArgumentError, match=r"must return a gem\.Policy"):
        hold(file, policy=lambda env: "left")
    with pytest.raises(ArgumentError, match="agent must be 'random', 'reference', 'null' or"):
        hold(file, policy="oracle")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    """Golden files stay in their folder."""
    with pytest.raises(ArgumentError, match="must be a file name"):
        hold(golden(tmp_path, update=True), name)
    assert not (tmp_path / "golden").exists()


def test_a_broken_file_is_an_error(tmp_path: Path) -> None:
    """A golden file with a merge conflict in it names the line, instead of counting fewer episodes."""
    hold(golden(tmp_path, update=True))
    path = tmp_path / "golden" / "dice.jsonl"
    path.write_text("<<<<<<< HEAD\n" + path.read_text())
    with pytest.raises(TrajectoryError, match="line 1"):
        hold(golden(tmp_path))


def test_an_episode_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    """What cannot be written leaves no file."""
    record = Trajectory(None, 1, reset_info={"value": float("nan")})
    with pytest.raises(TrajectoryError, match=r"without a spec with seed 1: .* reset_info\['value'\] is nan"):
        assert_golden(tmp_path / "a.jsonl", lambda: [record], update=True)
    assert not (tmp_path / "a.jsonl").exists()


COIN = """
import gem

class Coin(gem.Env):
    def reset(self, seed=None):
        super().reset(seed=seed)
        self.left = 2
        return f"{side} {{self.rng.random()}}", {{}}

    def step(self, action):
        self.left -= 1
        return f"{{action}} {{self.rng.random()}}", 1.0, not self.left, False, {{}}
"""


def test_a_recorded_file_alone_is_replayed(tmp_path: Path, site: Any) -> None:
    """Without an environment the file's own actions are played, and update keeps them and writes what is new."""
    site.add("coin-envs", "", {"coin_a.py": COIN.format(side="Heads"), "coin_b.py": COIN.format(side="Tails")})
    path = tmp_path / "golden" / "coin.jsonl"
    env = gem.make(EnvSpec(id="coin:Coin-v0", entry_point="coin_a:Coin"))
    with TrajectoryWriter(path) as writer:
        for seed in (7, None):  # as a person who plays two episodes
            writer.write(play_episode(env, ScriptedPolicy(["left", "right"]), seed, agent="human"))
    golden(tmp_path)("coin")
    path.write_text(path.read_text().replace("coin_a", "coin_b"))
    with pytest.raises(Violation, match=r"episode 0: after reset: observation was 'Heads [\d.]+' and is now 'Tails"):
        golden(tmp_path)("coin")
    written: list[Path] = []
    with pytest.raises(Violation, match="cannot be replayed: recorded without a seed"):
        golden(tmp_path, update=True, written=written)("coin")
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    golden(tmp_path, update=True, written=written)("coin")
    assert written == [path]
    (record,) = read_trajectories(path)
    assert (record.agent, [turn.action for turn in record.transitions]) == ("human", ["left", "right"])
    assert record.transitions[0].observation.startswith("Tails")
    golden(tmp_path)("coin")


def test_a_recorded_file_that_is_missing_says_how_to_record(tmp_path: Path) -> None:
    """There is nothing to replay, so update cannot help; playing can."""
    for update in (False, True):
        with pytest.raises(Violation, match=r"does not exist; record it with: gem play ID --out .*coin\.jsonl"):
            golden(tmp_path, update=update)("coin")
