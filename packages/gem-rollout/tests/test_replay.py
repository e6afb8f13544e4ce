"""Playing recorded episodes again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec, WrapperSpec
from gem.errors import ArgumentError, GemError
from gem.multiagent import MultiAgentEnv
from gem.policies import RandomPolicy, ScriptedPolicy
from gem.wrappers import wrapper
from gem.wrappers.limits import TimeLimit, WallClockLimit
from gem_rollout import play_episode, rollout
from gem_rollout.cli.replay import replay_command
from gem_rollout.replay import FIELDS, Difference, compare, replay, replay_all
from gem_rollout.trajectory import (
    Failure,
    Trajectory,
    TrajectoryBuilder,
    TrajectoryWriter,
    Transition,
    read_trajectories,
)

CHANGES: dict[str, Any] = {}
"""How the environment under test is not what it was when the episode was recorded."""


class Dice(Env[str, str]):
    """Four throws; a class whose behaviour the tests change between recording and replay."""

    def __init__(self, sides: int = 6) -> None:
        if "constructor" in CHANGES:
            raise RuntimeError(CHANGES["constructor"])
        self.sides = sides
        self.closed = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        if CHANGES.get("fails on reset"):
            raise CHANGES.get("error", RuntimeError)("no table")
        self.turn = 0
        return f"Throw a die. {self.rng.random()}", {"turn": 0, "odds": (1, self.sides)}

    def step(self, action: str) -> tuple[Any, float, bool, bool, Info]:
        self.turn += 1
        thrown = self.rng.randint(1, self.sides)
        if self.turn == CHANGES.get("fails in turn"):
            raise CHANGES.get("error", RuntimeError)("the die is lost")
        last = self.turn >= CHANGES.get("turns", 4)
        observation: Any = f"turn {self.turn}, after {action!r}: " + CHANGES.get("padding", "") + f"{thrown} thrown"
        info: Info = {"turn": self.turn, "thrown": [thrown], "elapsed": CHANGES.get("clock", 0.0)}
        if self.turn == 3:
            return (
                CHANGES.get("observation", observation),
                CHANGES.get("reward", float(thrown)),
                CHANGES.get("terminated", last),
                CHANGES.get("truncated", False),
                {**info, **CHANGES.get("info", {})},
            )
        return observation, float(thrown), last, False, info

    def sample_random_action(self) -> str:
        return f"throw {self.action_rng.random()}"

    def close(self) -> None:
        self.closed = True
        if CHANGES.get("fails on close"):
            raise RuntimeError("stuck")


DICE = EnvSpec(id="test:Dice-v0", entry_point=Dice)


@pytest.fixture(autouse=True)
def _unchanged() -> Iterator[None]:
    CHANGES.clear()
    yield
    CHANGES.clear()


def recorded(seed: int | None = 7, **arguments: Any) -> Trajectory:
    """An episode of random actions as a file would give it back."""
    env = gem.make(DICE, **arguments)
    return reread(play_episode(env, RandomPolicy(env), seed))


def reread(trajectory: Trajectory) -> Trajectory:
    back = Trajectory.from_dict(json.loads(trajectory.to_json()))
    # A class of this test module cannot be imported by name; the spec keeps the class itself.
    return replace(back, spec=None if back.spec is None else replace(back.spec, entry_point=Dice))


@given(st.integers(min_value=0), st.integers(1, 20))
def test_an_unchanged_environment_shows_the_same(seed: int, sides: int) -> None:
    """Any episode of a deterministic environment comes out the same, tuples in infos and all."""
    outcome = replay(recorded(seed, sides=sides))
    assert (outcome.result, outcome.difference, outcome.problem, outcome.notes) == ("same", None, None, ())
    assert outcome.now is not None
    assert outcome.now.episode_return == outcome.recorded.episode_return


@pytest.mark.parametrize(
    ("changes", "turn", "field", "was", "now"),
    [
        ({"observation": "nothing"}, 3, "observation", None, "nothing"),
        ({"reward": 99.5}, 3, "reward", None, 99.5),
        ({"terminated": True}, 3, "terminated", False, True),
        ({"truncated": True}, 3, "truncated", False, True),
        ({"info": {"turn": 4}}, 3, "info['turn']", 3, 4),
        ({"info": {"turn": True}}, 3, "info['turn']", 3, True),
        ({"info": {"thrown": []}}, 3, "info['thrown'][0]", None, None),
        ({"info": {"new": None}}, 3, "info['new']", None, None),
        ({"turns": 2}, 2, "terminated", False, True),
        ({"turns": 9}, 4, "terminated", True, False),
        ({"fails in turn": 2}, 2, "error", None, "RuntimeError: the die is lost"),
        ({"fails on reset": True}, 0, "error", None, "RuntimeError: no table"),
    ],
)
def test_the_first_difference_is_found(changes: dict[str, Any], turn: int, field: str, was: Any, now: Any) -> None:
    """Each part of each turn is compared, and the first that differs is named with its turn and both values."""
    trajectory = recorded()
    CHANGES.update(changes)
    outcome = replay(trajectory)
    assert outcome.result == "differs"
    found = outcome.difference
    assert found is not None
    assert (found.turn, found.field) == (turn, field)
    record = json.loads(json.dumps(found.to_dict()))
    if was is not None:
        assert record["recorded"] == was
    assert record["now"] == now
    assert record["message"] == str(found)
    assert f"turn {turn}: {field}" in str(found) or field == "error"


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_compared_in_two_records(field: str) -> None:
    """A change of any field in any turn is found, and is not where the field is ignored."""
    trajectory = recorded()
    for turn in range(len(trajectory)):
        changed = reread(trajectory)
        value = getattr(changed.transitions[turn], field)
        other: Any = not value if isinstance(value, bool) else {"x": 1} if field == "info" else 123.0
        setattr(changed.transitions[turn], field, other)
        found = compare(trajectory, changed)
        assert found is not None
        # What the agent saw before it acted is what the turn before returned.
        assert found.turn == (turn if field == "observation" else turn + 1)
        assert found.field.startswith(field)
        assert compare(trajectory, changed, ignore=[field]) is None


def test_a_long_text_is_shown_where_it_parts() -> None:
    """The sentence gives the first different character and what stands around it, not megabytes."""
    CHANGES["padding"] = "x" * 1_000_000
    trajectory = recorded()
    CHANGES["padding"] = "x" * 700_000 + "y" + "x" * 299_999
    sentence = str(replay(trajectory).difference)
    begins = trajectory.transitions[1].observation.index("xxx")
    assert f"turn 1: observation from character {begins + 700_000} on was '…xxx" in sentence
    assert "xyx" in sentence
    assert len(sentence) < 400


def test_messages_and_content_parts_are_compared_within() -> None:
    """In an observation of chat messages, the place of the text that differs is named."""
    trajectory = recorded(wrappers="messages")
    assert isinstance(trajectory.transitions[1].observation, list)
    assert replay(trajectory).result == "same"
    CHANGES["observation"] = "nothing"
    assert str(replay(trajectory).difference).startswith("turn 3: observation[6]['content'] ")


def test_recorded_wrappers_are_applied_again() -> None:
    """The spec's wrappers are part of the environment; without them the observations are others."""
    trajectory = recorded(
        wrappers=["concat_with_action", wrapper("time_limit", max_episode_steps=2), "episode_tracking"]
    )
    assert len(trajectory) == 2
    assert trajectory.transitions[-1].truncated
    assert replay(trajectory).result == "same"
    assert trajectory.spec is not None
    bare = replace(trajectory, spec=replace(trajectory.spec, wrappers=()))
    difference = replay(bare).difference
    assert difference is not None
    assert (difference.turn, difference.field) == (0, "observation")


def test_what_was_counted_over_earlier_episodes_is_not_compared() -> None:
    """prev_ep_ counters of the fifth episode of a run are not known to a replay of it alone."""
    env = gem.make(DICE, wrappers="episode_tracking")
    *_, fifth = [play_episode(env, RandomPolicy(env), seed) for seed in range(5)]
    assert fifth.reset_info["prev_ep_step_counter"] == 4
    assert replay(reread(fifth)).result == "same"


def test_a_time_limit_is_left_out() -> None:
    """How far an episode gets in a time is no fact about the environment: a note says so."""
    now = iter([0.0, 1.0, 2.0, 3.0, 4.0])
    env = WallClockLimit(gem.make(DICE), 3.0, clock=lambda: next(now))
    trajectory = reread(play_episode(env, RandomPolicy(env), 7))
    assert len(trajectory) == 3
    outcome = replay(trajectory)
    assert outcome.result == "same"
    assert "WallClockLimit" in outcome.notes[0]


def test_wrappers_that_a_record_cannot_hold_are_a_problem() -> None:
    """An argument that is only described cannot be given again; the replay says so and raises nothing."""
    env = TimeLimit(gem.make(DICE), lambda episodes: 3)
    trajectory = reread(play_episode(env, RandomPolicy(env), 7))
    outcome = replay(trajectory)
    assert outcome.result == "not reproducible"
    assert outcome.now is None
    assert "test:Dice-v0 cannot be made: StateError" in str(outcome.problem)
    assert "by hand" in str(outcome.problem)
    assert replay(trajectory, env=TimeLimit(gem.make(DICE), 3)).result == "same"


def test_keys_of_info_can_be_ignored() -> None:
    """A clock in the info makes no episode differ where it is ignored."""
    trajectory = recorded()
    CHANGES["clock"] = 5.0
    assert replay(trajectory).difference == Difference(1, "info['elapsed']", 0.0, 5.0)
    assert replay(trajectory, ignore=["info.elapsed"]).result == "same"
    assert replay(trajectory, ignore=["info"]).result == "same"
    assert replay(trajectory, ignore={"info.turn"}).result == "differs"


def test_ignoring_flags_does_not_hide_another_length() -> None:
    """An episode that ends earlier differs in its length where nothing else is left to compare."""
    trajectory = recorded()
    CHANGES["turns"] = 2
    outcome = replay(trajectory, ignore=FIELDS)
    assert outcome.difference == Difference(2, "turns", 4, 2)
    assert str(outcome.difference) == "the episode had 4 turns and now has 2"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("rewards", "did you mean 'reward'?"),
        ("zzz", "action, observation, reward, terminated, truncated, info and info.KEY"),
        ("infos.x", "did you mean 'info'?"),
    ],
)
def test_an_unknown_name_to_ignore_is_refused(name: str, advice: str) -> None:
    """A typing mistake must not leave a comparison in place unnoticed, nor take one away."""
    with pytest.raises(ArgumentError, match="nothing called") as caught:
        replay(recorded(), ignore=[name])
    assert advice in str(caught.value)


def test_without_a_seed_a_difference_says_nothing() -> None:
    """An episode without a seed that comes out otherwise is not reproducible, which is no verdict."""
    outcome = replay(recorded(seed=None))
    assert outcome.result == "not reproducible"
    assert outcome.difference is None
    assert "without a seed" in str(outcome.problem)
    assert "after reset: observation from character" in str(outcome.problem) or "was 'Throw" in str(outcome.problem)


def test_without_a_seed_and_without_chance_the_same_is_the_same() -> None:
    """An environment without chance is reproduced with no seed."""

    class Fixed(Dice):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
            return super().reset(seed=1 if seed is None else seed)

    env = gem.make(EnvSpec(id="test:Fixed-v0", entry_point=Fixed))
    assert replay(play_episode(env, RandomPolicy(env))).result == "same"


def test_a_run_without_further_seeds_is_reproduced_in_its_order() -> None:
    """Episodes that a person played on without a seed follow from the first one's seed, if none is missing."""
    env = gem.make(DICE)
    run = [reread(play_episode(env, ScriptedPolicy(["a", "b", "c", "d"]), seed)) for seed in (7, None, None)]
    assert [outcome.result for outcome in replay_all(run)] == ["same", "same", "same"]
    # As with /new in 'gem play': an episode was begun and given up, and is not in the file.
    assert [outcome.result for outcome in replay_all([run[0], run[2]])] == ["same", "not reproducible"]
    assert [outcome.result for outcome in replay_all(run[1:])] == ["not reproducible"] * 2


def test_a_given_environment_goes_on_and_stays_open() -> None:
    """With env, an episode without a seed goes on from its generator, and the environment is not closed."""
    env = gem.make(DICE)
    first, second = (play_episode(env, ScriptedPolicy("abcd"), seed) for seed in (7, None))
    other = gem.make(DICE)
    assert isinstance(other, Dice)
    assert [replay(episode, env=other).result for episode in (first, second)] == ["same", "same"]
    assert not other.closed


def test_environments_are_shared_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes of one spec share an instance until one differs; every instance is closed, also if that fails."""
    made: list[Dice] = []

    def counted(**kwargs: Any) -> Dice:
        made.append(Dice(**kwargs))
        return made[-1]

    spec = replace(DICE, entry_point=counted)
    episodes = [replace(recorded(seed), spec=spec) for seed in range(4)]
    episodes[1].transitions[0].reward = -1.0
    CHANGES["fails on close"] = True
    assert [outcome.result for outcome in replay_all(episodes)] == ["same", "differs", "same", "same"]
    assert len(made) == 2
    assert all(env.closed for env in made)
    del made[:]
    assert next(iter(replay_all(episodes))).result == "same"
    assert made[0].closed


def test_each_spec_gets_an_environment_of_its_own() -> None:
    """Episodes of one id with other arguments are played in another environment."""
    episodes = [recorded(seed, sides=sides) for seed, sides in enumerate((2, 6, 6, 100))]
    assert [outcome.result for outcome in replay_all(episodes)] == ["same"] * 4


def test_an_unfinished_record_is_compared_as_far_as_it_goes() -> None:
    """A record that was broken off has no flags; the environment going on is no difference."""
    env = gem.make(DICE)
    trajectory = reread(play_episode(env, RandomPolicy(env), 7, max_turns=2))
    assert not trajectory.transitions[-1].terminated
    assert replay(trajectory).result == "same"
    assert replay(replace(trajectory, final_observation=None)).result == "same"
    assert replay(replace(trajectory, final_observation="?")).result == "differs"


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError])
@pytest.mark.parametrize(("fault", "turn"), [({"fails in turn": 3}, 3), ({"fails on reset": True}, 0)])
def test_recorded_faults(fault: dict[str, Any], turn: int, error: type[BaseException]) -> None:
    """A fault that happens again is the same; one that does not is noted; another one differs."""
    fault = {**fault, "error": error}
    CHANGES.update(fault)
    (faulty,) = rollout(DICE, RandomPolicy, episodes=1, seed=7)
    assert faulty.error is not None
    again = replay(reread(faulty))
    assert (again.result, again.notes) == ("same", ())
    CHANGES.clear()
    now = replay(reread(faulty))
    assert now.result == "same"
    assert now.notes == (f"the environment failed when it was recorded and not now: {faulty.error}",)
    other = reread(faulty)
    (other.transitions[-1].info if other.transitions else other.reset_info)["error"] = "TimeoutError: too slow"
    CHANGES.update(fault)
    found = replay(other).difference
    assert found is not None
    assert (found.turn, found.field, found.recorded) == (turn, "error", "TimeoutError: too slow")
    assert "failed with 'TimeoutError: too slow' and now fails with" in str(found)
    assert replay(other, ignore=["info.error"]).result == "same"


def test_an_environment_that_is_not_there_is_a_problem() -> None:
    """What was recorded with a package that is not installed says which version to install."""
    spec = EnvSpec(
        id="gone:Thing-v0", entry_point="gone_away:Thing", distribution="gone-away", version="1.2", recorded_digest="0"
    )
    outcome = replay(Trajectory(spec, 7))
    assert outcome.result == "not reproducible"
    assert "gone:Thing-v0 cannot be made: EntryPointError" in str(outcome.problem)
    assert str(outcome.problem).endswith("gone-away is not installed, run: pip install gone-away==1.2")


def test_a_constructor_that_raises_is_a_problem() -> None:
    """Whatever making the environment raises is reported, not raised."""
    trajectory = recorded()
    CHANGES["constructor"] = "out of dice"
    assert "cannot be made: RuntimeError: out of dice" in str(replay(trajectory).problem)


def test_a_record_without_a_spec_needs_an_environment() -> None:
    """An episode of an environment that was constructed by hand can only be replayed in one that is given."""
    env = Dice()
    trajectory = reread(play_episode(env, RandomPolicy(env), 7))
    assert trajectory.spec is None
    assert "env=" in str(replay(trajectory).problem)
    assert replay(trajectory, env=Dice()).result == "same"


def test_other_code_is_noted(site: Any) -> None:
    """The digest and version of the recording are compared with what is installed; either is a note, no failure."""
    site.add(
        "dice-envs",
        {"dice": "dice_envs"},
        {
            "dice_envs/__init__.py": "from gem import Env\nclass Coin(Env):\n"
            "    def reset(self, seed=None):\n        super().reset(seed=seed)\n        return 'Heads?', {}\n"
            "    def step(self, action):\n        return '', 1.0, True, False, {}\n",
            "dice_envs/environments.toml": 'schema = 1\n[[environment]]\nid = "dice:Coin-v0"\n'
            'entry_point = "dice_envs:Coin"\ndescription = "A coin."\n',
        },
    )
    env = gem.make("dice:Coin-v0")
    line = play_episode(env, ScriptedPolicy(["yes"]), 7).to_json()
    trajectory = Trajectory.from_dict(json.loads(line))
    assert replay(trajectory).notes == ()
    assert trajectory.spec is not None
    other = replace(trajectory.spec, recorded_digest="0" * 64)
    outcome = replay(replace(trajectory, spec=other))
    assert (outcome.result, outcome.notes) == ("same", ("the code of dice-envs has changed since the recording",))
    older = replace(other, version="0.9")
    assert replay(replace(trajectory, spec=older)).notes == ("recorded with dice-envs 0.9; 1.0 is installed now",)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values)
@example(1, True)
@example(0.0, False)
@example(1, 1.0)
@example(float("nan"), float("nan"))
@example(None, "None")
def test_compare_agrees_with_json(old: Any, new: Any) -> None:
    """Two infos differ exactly where their values as JSON do; NaN equals itself, and numbers equal across types."""
    found = compare(*(Trajectory(None, None, reset_info={"value": value}) for value in (old, new)))
    texts = [json.dumps(_with_floats(value), sort_keys=True) for value in (old, new)]
    assert (found is None) == (texts[0] == texts[1])
    assert compare(*(Trajectory(None, None, reset_info={"value": old}) for _ in range(2))) is None
    if found is not None:
        json.dumps(found.to_dict())


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {("tuple",): 1}, complex(1, 2)])
def test_values_that_json_cannot_hold_are_compared_by_repr(value: Any) -> None:
    """Records in memory may hold anything; comparing them raises nothing."""
    here = Trajectory(None, None, [Transition("", value, 0.0, True, False, {"value": value})], {"value": value})
    assert compare(here, here) is None
    assert compare(here, Trajectory(None, None, [Transition("", "", 0.0, True, False)])) is not None


def test_a_value_that_holds_itself_is_compared() -> None:
    """A circular info is no endless loop."""
    circular: dict[str, Any] = {}
    circular["self"] = circular
    here = Trajectory(None, None, reset_info=circular)
    assert compare(here, here) is None


def test_deep_values_are_compared() -> None:
    """Nesting as deep as JSON can be read, which a model may write and an info repeat, ends no comparison."""
    deep = json.loads("[" * 900 + "1" + "]" * 900)
    here, there = (Trajectory(None, None, reset_info={"arguments": value}) for value in (deep, [deep]))
    assert compare(here, here) is None
    assert compare(here, there) is not None


def test_the_record_is_not_changed() -> None:
    """An environment that changes an action that it was given changes its copy."""

    class Rude(Dice):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
            action["content"] = "changed"
            return super().step("")

    message = {"role": "assistant", "content": "throw"}
    trajectory = Trajectory(
        replace(DICE, entry_point=Rude), 7, [Transition("", message, 0.0, False, False)], final_observation=""
    )
    replay(trajectory)
    assert message["content"] == "throw"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(replay_command, list(arguments), catch_exceptions=False)


COIN = """
import gem

class Coin(gem.Env):
    def reset(self, seed=None):
        super().reset(seed=seed)
        self.left = 3
        return f"Heads? {self.rng.random()}", {}

    def step(self, action):
        self.left -= 1
        return f"{self.rng.random()}", 1.0, not self.left, False, {}
"""


@pytest.fixture
def file(site: Any, tmp_path: Path) -> Path:
    """A file of six episodes, the seeds from 0 on, of an environment that can be imported."""
    site.add("coin-envs", "", {"coin_envs.py": COIN})
    env = gem.make(EnvSpec(id="coin:Coin-v0", entry_point="coin_envs:Coin"))
    path = tmp_path / "episodes.jsonl"
    with TrajectoryWriter(path) as writer:
        for seed in range(6):
            writer.write(play_episode(env, ScriptedPolicy("abc"), seed))
    return path


def tamper(path: Path, episode: int) -> None:
    lines = path.read_text().splitlines(keepends=True)
    lines[episode] = lines[episode].replace('"reward":1.0', '"reward":0.5', 1)
    path.write_text("".join(lines))


def test_the_command_says_that_all_is_the_same(file: Path) -> None:
    """A row for each episode, a count, exit code 0."""
    result = invoke(str(file))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["episode", "environment", "seed", "turns", "result"]
    assert lines[4].split() == ["3", "coin:Coin-v0", "3", "3", "same"]
    assert lines[-1] == "6 same"


def test_the_command_reports_a_difference(file: Path) -> None:
    """The first difference is a sentence of its own, and the exit code 1."""
    tamper(file, 4)
    result = invoke(str(file))
    assert result.exit_code == 1
    assert "episode 4: turn 1: reward was 0.5 and is now 1.0" in result.stdout
    assert result.stdout.splitlines()[-1] == "5 same, 1 differs"
    assert invoke(str(file), "--ignore", "reward").exit_code == 0
    assert invoke(str(file), "0", "5").exit_code == 0
    assert invoke(str(file), "5", "4").exit_code == 1


def test_the_command_prints_json(file: Path) -> None:
    """--json gives result and difference of the chosen episodes in the file's order."""
    tamper(file, 4)
    result = invoke(str(file), "4", "1", "4", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["file"], report["broken_lines"]) == (str(file), 0)
    assert [(item["episode"], item["result"]) for item in report["episodes"]] == [(1, "same"), (4, "differs")]
    assert report["episodes"][1]["difference"]["field"] == "reward"
    assert report["episodes"][1]["seed"] == 4


def test_what_is_not_reproducible_is_no_success(file: Path) -> None:
    """A file of which nothing could be checked must not look checked."""
    text = file.read_text().splitlines()[2].replace('"seed":2', '"seed":null')
    file.write_text(f"{text}\n")
    result = invoke(str(file))
    assert result.exit_code == 1
    assert "episode 0: recorded without a seed" in result.stdout
    assert "1 not reproducible" in result.stdout


def test_broken_lines_are_reported(file: Path) -> None:
    """A line that a crash cut off is left out with a warning, and the others are played."""
    file.write_bytes(file.read_bytes()[:-100])
    result = invoke(str(file))
    assert result.exit_code == 0
    assert "a line is no JSON" in result.stderr
    assert "5 same" in result.stdout
    assert json.loads(CliRunner().invoke(replay_command, [str(file), "--json"]).stdout)["broken_lines"] == 1


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", (), "holds no trajectory"),
        ("not json\n", (), "holds no trajectory"),
        ('{"schema": 99}\n', (), "line 1: trajectory schema 99 is not known"),
        (None, ("6",), "has no episode 6; 'gem show"),
        (None, ("--ignore", "rewards"), "did you mean 'reward'?"),
    ],
)
def test_wrong_input_is_one_sentence(file: Path, content: str | None, arguments: tuple[str, ...], message: str) -> None:
    """Files and arguments that make no sense are errors that say what is wrong."""
    if content is not None:
        file.write_text(content)
    with pytest.raises(GemError) as caught:
        invoke(str(file), *arguments)
    assert message in str(caught.value)


def test_notes_are_printed_once(file: Path) -> None:
    """A note that holds for every episode is one line."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line["spec"]["recorded_digest"] = "0" * 64
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert invoke(str(file)).stdout.count("the code of coin:Coin-v0 has changed since the recording") == 1


def test_replayed_records_are_files_again(file: Path, tmp_path: Path) -> None:
    """What came out now is a whole trajectory, written and replayed as any other."""
    with TrajectoryWriter(tmp_path / "again.jsonl") as writer:
        for outcome in replay_all(read_trajectories(file)):
            assert outcome.now is not None
            writer.write(outcome.now)
    assert invoke(str(tmp_path / "again.jsonl")).exit_code == 0


def test_a_wrapper_of_a_strange_class_is_a_problem() -> None:
    """A wrapper that is not installed here is named."""
    trajectory = recorded()
    assert trajectory.spec is not None
    spec = replace(trajectory.spec, wrappers=(WrapperSpec("nowhere:Wrapper"),))
    assert "nowhere" in str(replay(replace(trajectory, spec=spec)).problem)


@pytest.mark.parametrize("reward", [float("nan"), "much"])
def test_a_result_that_cannot_be_recorded_is_the_same_failure_again(reward: Any) -> None:
    """A record that ends with an invalid result replays to it; once it is repaired, a note says so."""
    CHANGES["reward"] = reward
    trajectory = recorded()
    assert trajectory.failure is not None
    assert trajectory.failure.kind == "invalid_result"
    assert replay(trajectory).result == "same"
    CHANGES.clear()
    outcome = replay(trajectory)
    assert outcome.result == "same"
    assert "the environment failed when it was recorded and not now" in outcome.notes[-1]


def test_a_failure_of_the_model_is_none_of_the_environment() -> None:
    """An episode that an endpoint ended is compared up to there, without a note."""
    trajectory = recorded()
    del trajectory.transitions[2:]
    trajectory.final_observation = None
    trajectory.failure = Failure("endpoint", "unreachable", "no answer", 2)
    outcome = replay(trajectory)
    assert (outcome.result, outcome.notes) == ("same", ())


class Bidding(MultiAgentEnv):
    """Two agents name numbers, one after the other or at once, and the higher one wins."""

    def __init__(self, mode: Any = "parallel") -> None:
        super().__init__(["ann", "bob"], mode=mode)

    def _begin(self) -> None:
        self.bids: dict[str, int] = {}
        self.round = 0
        self.limit = self.rng.randint(10, 99)

    def observe(self, agent: str) -> str:
        return f"Name a number up to {self.limit}. " + " ".join(f"{who}: {bid}" for who, bid in self.bids.items())

    def _process_actions(self, actions: dict[str, Any]) -> Any:
        if "fails" in CHANGES:
            raise RuntimeError("nobody bids")
        self.bids |= {agent: int(action) + CHANGES.get("more", 0) for agent, action in actions.items()}
        self.round += 1
        over = self.round == 4
        rewards = {agent: float(over and bid == max(self.bids.values())) for agent, bid in self.bids.items()}
        return {}, rewards, dict.fromkeys(self.agents, over), {}, {"ann": {"round": self.round}}


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_an_episode_of_several_agents_is_played_again(mode: str) -> None:
    """All actions of a step are played at once; a changed environment is found out, and a failing one."""
    spec = EnvSpec(id="test:Bidding-v0", entry_point=Bidding, kwargs={"mode": mode})
    env = gem.make(spec)
    assert isinstance(env, Bidding)
    builder = TrajectoryBuilder(spec, 3)
    builder.begin(*env.reset(seed=3))
    while not builder.over:
        actions: dict[str, Any] = {agent: str(7 + builder.turns) for agent in env.active_agents}
        builder.add_step(actions, *env.step(actions), over=not env.agents)
    trajectory = builder.finish()
    assert replay(trajectory).result == "same"
    CHANGES["more"] = 1
    difference = replay(trajectory).difference
    assert difference is not None
    assert difference.field == "observation"
    CHANGES["fails"] = True
    difference = replay(trajectory).difference
    assert difference is not None
    assert (difference.turn, difference.field) == (1, "error")
