"""The base class of the everyday environment: order of calls, flags, options, actions and state."""

from __future__ import annotations

import copy
import json
import pickle
from abc import ABC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.action_forms import BoxedChoice, BoxedNumber, BoxedNumbers, BoxedText
from gem.arguments import integer
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    EpisodeFinishedError,
    GemError,
    IncompleteEnvError,
    NotSupportedError,
    ResetNeededError,
    StateError,
    UnknownArgumentError,
)
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, failure, fault, illegal, legal, malformed, success


class NimEnv(gem.TextEnv[int]):
    r"""Take 1, 2 or 3 stones with ``\boxed{2}``; the house answers at random, and the last stone wins."""

    form = BoxedNumber(1, 3)
    saved = StateFields(stones=int)
    request = "How many do you take?"

    def __init__(self, most: int = 30, max_turns: int = 10) -> None:
        super().__init__(max_turns)
        self.most = integer("most", most, minimum=5, maximum=1000)

    def _begin(self) -> None:
        self.stones = self.rng.randint(5, self.most)

    def _instructions(self) -> str:
        return f"Take the last stone within {self.max_turns} turns. For example, take 2 stones with \\boxed{{2}}."

    def _board(self) -> str:
        return f"Stones left: {self.stones}."

    def _play(self, taken: int) -> MoveResult:
        if taken > self.stones:
            return illegal(f"You cannot take {taken} stones.")
        self.stones -= taken
        if not self.stones:
            return success(f"You take {taken}.")
        answer = min(self.rng.randint(1, 3), self.stones)
        self.stones -= answer
        message = f"You take {taken}, the house takes {answer}."
        return legal(message) if self.stones else failure(message)


class ScriptedEnv(gem.TextEnv[str]):
    """Does what the action says: each word names a result."""

    form = BoxedChoice("legal", "illegal", "malformed", "mild", "success", "failure", "fault", "double")
    saved = StateFields(request=str, max_turns=int)

    def _begin(self, request: str | None = None, *, turns: int = 3) -> None:
        self.request = "Next?" if request is None else request
        self.max_turns = turns

    def _instructions(self) -> str:
        return "Say a word."

    def _play(self, move: str) -> MoveResult:
        if move == "double":
            self._turn = min(self._turn + 1, self.max_turns)
        results = {
            "legal": legal("A move.", 0.25),
            "illegal": illegal("Not allowed.", -0.5),
            "malformed": malformed("Not a move.", -1.0),
            "mild": malformed("Not a move.", ends=False),
            "success": success("Done."),
            "failure": failure("Not done.", 0.5),
            "fault": fault("No answer.", "the server is down"),
            "double": legal("Two turns."),
        }
        return results[move]


class HoardEnv(gem.TextEnv[tuple[int, ...]]):
    """Keeps values of many types."""

    form = BoxedNumbers((0, 9), (-9, -1))
    saved = StateFields(
        visited=set[tuple[int, int]],
        counts=dict[int, list[str]],
        best=float | None,
        notes=dict[str, bool],
        max_turns=int,
    )

    def _begin(self) -> None:
        self.max_turns = self.rng.randint(3, 6)
        self.visited: set[tuple[int, int]] = set()
        self.counts: dict[int, list[str]] = {}
        self.best: float | None = None
        self.notes: dict[str, bool] = {}

    def _instructions(self) -> str:
        return f"You have {self.max_turns} turns. Say \\boxed{{1 -1}}."

    def _board(self) -> str:
        return f"{sorted(self.visited)} {self.counts} {self.best} {self.notes}"

    def _play(self, move: tuple[int, ...]) -> MoveResult:
        first, second = move
        self.visited.add((first, second))
        self.counts.setdefault(first, []).append(str(second))
        self.best = max(self.best or 0.0, first / 3)
        self.notes[str(first)] = first > 4
        return legal(f"Noted {first} with {self.rng.random():.3f}.")


ENVIRONMENTS = [NimEnv, ScriptedEnv, HoardEnv]

texts = st.one_of(
    st.text(max_size=30),
    st.text(max_size=10).map(lambda inner: f"\\boxed{{{inner}}}"),
    st.integers(-12, 12).map(lambda n: f"\\boxed{{{n}}}"),
    st.sampled_from(ScriptedEnv.form.words).map(lambda word: f"\\boxed{{{word}}}"),
    st.sampled_from(["\\boxed{1" + "0" * 5000 + "}", "\\boxed{" * 300, "\ud800\\boxed{1}", "\\boxed{٣}"]),
)
actions = st.one_of(
    texts,
    st.none(),
    st.binary(max_size=5),
    st.floats(),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": st.one_of(texts, st.none(), st.lists(st.none()))}),
    st.just([]),
)
moves = st.one_of(actions, st.just("sampled"))
"""Any action, or one to sample."""

hostile_values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=3)
)


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    back: dict[str, Any] = json.loads(json.dumps(state, allow_nan=False))
    assert back == state
    return back


def play(env: gem.Env[str, str], chosen: list[Any]) -> list[Any]:
    """Everything that the moves show; an episode that ends is followed by the next."""
    shown: list[Any] = []
    for move in chosen:
        result = env.step(env.sample_random_action() if move == "sampled" else move)
        shown.append(result)
        if result[2] or result[3]:
            shown.append(env.reset())
    return shown


@pytest.mark.parametrize("env_class", ENVIRONMENTS)
def test_calls_before_the_first_reset_are_refused(env_class: type[gem.TextEnv[Any]]) -> None:
    """Both step and sample_random_action need an episode, and the error names reset()."""
    env = env_class()
    for call in (lambda: env.step("\\boxed{1}"), env.sample_random_action):
        with pytest.raises(ResetNeededError, match=r"has not begun; call reset\(\)") as caught:
            call()
        assert not isinstance(caught.value, EpisodeFinishedError)


@pytest.mark.parametrize("word", ["success", "failure", "fault", "malformed"])
def test_a_step_after_the_end_is_refused(word: str) -> None:
    """Whatever ended the episode; sampling still works, and a reset begins another episode."""
    env = ScriptedEnv()
    env.reset(seed=1)
    env.step(f"\\boxed{{{word}}}")
    with pytest.raises(EpisodeFinishedError, match=r"has ended; call reset\(\)"):
        env.step("\\boxed{legal}")
    assert env.sample_random_action()
    env.reset()
    assert env.step("\\boxed{legal}")[4]["turn"] == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("legal", (0.25, False, False, {"action_status": "legal"})),
        ("illegal", (-0.5, False, False, {"action_status": "illegal"})),
        ("mild", (-0.1, False, False, {"action_status": "malformed"})),
        ("malformed", (-1.0, True, False, {"action_status": "malformed", "success": False})),
        ("success", (1.0, True, False, {"action_status": "legal", "success": True})),
        ("failure", (0.5, True, False, {"action_status": "legal", "success": False})),
        ("fault", (0.0, False, True, {"action_status": "legal", "success": False, "error": "the server is down"})),
    ],
)
def test_each_result_has_its_flags_and_info(word: str, expected: tuple[Any, ...]) -> None:
    """As the table in gem.text_env says."""
    env = ScriptedEnv()
    env.reset(seed=1)
    _, *result, info = env.step(f"\\boxed{{{word}}}")
    assert (*result, info) == (*expected[:3], {"turn": 1, **expected[3]})


@pytest.mark.parametrize(
    ("word", "flags"),
    [
        ("legal", (True, True)),
        ("illegal", (True, True)),
        ("mild", (True, True)),
        ("malformed", (True, True)),
        ("success", (True, False)),
        ("failure", (True, False)),
        ("fault", (False, True)),
    ],
)
def test_flags_in_the_last_turn(word: str, flags: tuple[bool, bool]) -> None:
    """Using up the announced turns terminates and truncates; a decided task is not truncated."""
    env = ScriptedEnv()
    env.reset(options={"turns": 2})
    assert env.step("\\boxed{legal}")[2:4] == (False, False)
    _, _, *last, info = env.step(f"\\boxed{{{word}}}")
    assert tuple(last) == flags
    assert info["success"] is (word == "success")
    assert info["turn"] == 2


def test_a_move_may_cost_two_turns() -> None:
    """The limit counts turns, not steps."""
    env = ScriptedEnv()
    env.reset(options={"turns": 2})
    *_, terminated, truncated, info = env.step("\\boxed{double}")
    assert (terminated, truncated, info["turn"]) == (True, True, 2)


def test_a_move_may_cost_more_turns_than_are_left() -> None:
    """The episode is over then, and its state is a state."""

    class Leap(NimEnv):
        def _play(self, taken: int) -> MoveResult:
            self._turn += taken
            return legal("You leap.")

    env = Leap(max_turns=2)
    env.reset(seed=1)
    *_, terminated, truncated, info = env.step("\\boxed{3}")
    assert (terminated, truncated, info["turn"]) == (True, True, 4)
    twin = env.spawn(same_state=True)
    assert twin.get_state() == env.get_state()


def test_observations_hold_turn_message_board_and_request() -> None:
    """The first one the instructions, the last one a closing line; without a board there is no empty line."""
    env = NimEnv(most=5)
    assert env.reset(seed=1) == (
        "Take the last stone within 10 turns. For example, take 2 stones with \\boxed{2}.\n\n"
        "Stones left: 5.\nHow many do you take?",
        {"turn": 0},
    )
    observation, *_ = env.step("\\boxed{1}")
    assert observation.startswith("Turn 1 of 10. You take 1, the house takes ")
    assert observation.endswith(f".\nStones left: {env.stones}.\nHow many do you take?")
    env.set_state({**env.get_state(), "episode": {"stones": 2}})
    assert env.step("\\boxed{2}")[0] == "Turn 2 of 10. You take 2.\nStones left: 0.\nThe task is done."
    scripted = ScriptedEnv()
    assert scripted.reset()[0] == "Say a word.\n\nNext?"
    assert scripted.step("\\boxed{legal}")[0] == "Turn 1 of 3. A move.\nNext?"
    assert scripted.step("\\boxed{fault}")[0] == "Turn 2 of 3. No answer.\nThe episode is broken off."
    assert scripted.reset(options={"request": ""})[0] == "Say a word."
    scripted.form_note = "Any other word is ignored."
    assert scripted.reset()[0] == "Say a word. Any other word is ignored.\n\nNext?"


def test_a_malformed_action_ends_the_episode_for_the_documented_reward() -> None:
    """-0.1, terminated, and truncated too only in the last turn."""
    env = NimEnv()
    env.reset(seed=3)
    observation, *result = env.step("I take two.")
    assert result == [-0.1, True, False, {"turn": 1, "action_status": "malformed", "success": False}]
    assert observation.startswith("Turn 1 of 10. No move in the required format was found.\nStones left: ")
    short = NimEnv(max_turns=1)
    short.reset(seed=3)
    assert short.step("I take two.")[2:4] == (True, True)


class PartsEnv(gem.TextEnv[int]):
    """Shows each part of its first observation as the options of the reset say."""

    form = BoxedNumber(1, 3)
    saved = StateFields(rules=str, form_note=str, board=str, request=str, max_turns=int)

    def _begin(self, rules: str = "R", note: str = "N", board: str = "B", request: str = "Q", turns: int = 3) -> None:
        self.rules, self.form_note, self.board, self.request, self.max_turns = rules, note, board, request, turns

    def _instructions(self) -> str:
        return self.rules

    def _board(self) -> str:
        return self.board

    def _play(self, move: int) -> MoveResult:
        return legal("Well.")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"rules": "r"}, "r N\n\nB\nQ"),
        ({"note": ""}, "R\n\nB\nQ"),
        ({"board": ""}, "R N\n\nQ"),
        ({"request": ""}, "R N\n\nB"),
        ({"board": "", "request": ""}, "R N"),
    ],
)
def test_a_first_observation_follows_its_parts_from_reset_to_reset(option: dict[str, str], expected: str) -> None:
    """One changed part changes the text, and going back to it gives the first text again."""
    env = PartsEnv()
    first = env.reset()[0]
    assert first == "R N\n\nB\nQ"
    assert env.reset(options=option)[0] == expected
    assert env.reset()[0] == first
    assert env.reset()[0] == first


def test_the_announced_turns_follow_the_reset_and_the_state() -> None:
    """A number of turns that a reset or a state brings is in the next observations, whatever was there before."""
    env, other = PartsEnv(), PartsEnv()
    other.reset(options={"turns": 7})
    env.reset()
    assert env.step("\\boxed{1}")[0].startswith("Turn 1 of 3. ")
    env.set_state(other.get_state())
    assert env.step("\\boxed{1}")[0].startswith("Turn 1 of 7. ")
    env.reset()
    assert env.step("\\boxed{1}")[0].startswith("Turn 1 of 3. ")
    env.reset(options={"turns": 4})
    assert env.step("\\boxed{1}")[0].startswith("Turn 1 of 4. ")


def test_options_are_the_arguments_of_begin() -> None:
    """Declared ones reach it; an unknown one is refused with the nearest name."""
    env = ScriptedEnv()
    env.reset(options={"request": "Say it.", "turns": 1})
    assert (env.request, env.max_turns) == ("Say it.", 1)
    with pytest.raises(UnknownArgumentError, match="reset of ScriptedEnv has no argument 'turn'; did you mean 'turns'"):
        env.reset(options={"turn": 1})
    for options in ({1: 2}, [1], 5, "turns"):
        with pytest.raises(GemError):
            env.reset(options=options)  # type: ignore[arg-type]
    assert env.reset(options={})
    for options in ([], "", 0, False):
        with pytest.raises(ArgumentTypeError, match="must be a dict"):
            env.reset(options=options)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"NimEnv has no reset options, got \['seed'\]"):
        NimEnv().reset(options={"seed": 1})


def test_begin_may_take_any_option() -> None:
    """Where ``_begin`` has ``**options``, or a decorator that hides its arguments, Python itself checks them."""

    class Open(NimEnv):
        def _begin(self, **options: int) -> None:
            super()._begin()
            self.stones = options.get("stones", self.stones)

    env = Open()
    env.reset(options={"stones": 3})
    assert env.stones == 3


def test_a_reset_that_fails_leaves_no_episode_in_play() -> None:
    """An episode that was half set up cannot be stepped."""
    env = ScriptedEnv()
    env.reset(seed=1)
    with pytest.raises(UnknownArgumentError):
        env.reset(options={"unknown": 1})
    with pytest.raises(ResetNeededError):
        env.step("\\boxed{legal}")


@pytest.mark.parametrize("value", [0, -1, MAX_TURNS + 1, True, 2.0, "3", None])
def test_max_turns_is_validated(value: Any) -> None:
    """It is an int from 1 to a billion."""
    with pytest.raises((ArgumentError, ArgumentTypeError), match="max_turns must be"):
        NimEnv(max_turns=value)


@pytest.mark.parametrize("env_class", ENVIRONMENTS)
@given(seed=st.integers(0, 2**70), chosen=st.lists(moves, max_size=12))
def test_no_action_raises(env_class: type[gem.TextEnv[Any]], seed: int, chosen: list[Any]) -> None:
    """Any action is answered with a text, a finite reward, two flags and a JSON info, and the limit holds."""
    env = env_class()
    env.reset(seed=seed)
    for move in chosen:
        limit = env.max_turns  # the next episode may have another
        observation, reward, terminated, truncated, info = play(env, [move])[0]
        assert type(observation) is str
        assert type(reward) is float
        assert type(terminated) is type(truncated) is bool
        assert json.loads(json.dumps(info)) == info
        assert info["turn"] <= limit
        assert ("success" in info) is (terminated or truncated)


@pytest.mark.parametrize("env_class", ENVIRONMENTS)
@given(seed=st.integers(0, 2**70), before=st.lists(moves, max_size=6), after=st.lists(moves, max_size=6))
def test_a_state_continues_identically(
    env_class: type[gem.TextEnv[Any]], seed: int, before: list[Any], after: list[Any]
) -> None:
    """After a trip through JSON, after pickling and after spawn, in this episode and all that follow."""
    env = env_class()
    env.reset(seed=seed)
    play(env, before)
    twin = env_class()
    twin.reset(seed=7)
    state = env.get_state()
    twin.set_state(through_json(state))
    others = [twin, pickle.loads(pickle.dumps(env)), copy.deepcopy(env), env.spawn(same_state=True)]
    expected = play(env, [*after, "sampled"])
    assert [play(other, [*after, "sampled"]) for other in others] == [expected] * 4
    assert twin.get_state() == env.get_state()


@pytest.mark.parametrize("env_class", ENVIRONMENTS)
def test_the_state_before_the_first_reset_and_after_the_end_is_a_state(env_class: type[gem.TextEnv[Any]]) -> None:
    """An instance that takes it over is not begun, or over, as well."""
    env = env_class()
    begun = env_class()
    begun.reset(seed=1)
    begun.set_state(env.get_state())
    with pytest.raises(ResetNeededError):
        begun.step("\\boxed{1}")
    env.reset(seed=1)
    env.step("no move")
    begun.set_state(env.get_state())
    with pytest.raises(EpisodeFinishedError):
        begun.step("\\boxed{1}")


def test_states_share_nothing_with_the_environment() -> None:
    """Playing on changes no state that was taken, and changing a state changes no environment."""
    env = HoardEnv()
    env.reset(seed=1)
    env.step("\\boxed{1 -1}")
    state = env.get_state()
    kept = copy.deepcopy(state)
    env.step("\\boxed{1 -2}")
    assert state == kept
    env.set_state(state)
    state["episode"]["visited"].append([5, -5])
    state["episode"]["counts"][0][1].append("x")
    assert env.get_state() == kept


@pytest.mark.parametrize("env_class", ENVIRONMENTS)
@given(data=st.data())
def test_a_damaged_state_changes_nothing(env_class: type[gem.TextEnv[Any]], data: st.DataObject) -> None:
    """set_state raises StateError and leaves the environment as it was, or takes a state of the declared types."""
    env = env_class()
    env.reset(seed=1)
    env.step(env.sample_random_action())
    state = env.get_state()
    damaged = through_json(state)
    target = data.draw(st.sampled_from([damaged, damaged["episode"]] if damaged["episode"] else [damaged]))
    key = data.draw(st.sampled_from(sorted(target)))
    if data.draw(st.booleans()):
        del target[key]
    else:
        target[key] = data.draw(hostile_values)
    try:
        env.set_state(damaged)
    except StateError:
        assert env.get_state() == state
    else:
        assert through_json(env.get_state()) == {
            **damaged,
            "episode": damaged["episode"] and env.get_state()["episode"],
        }


@pytest.mark.parametrize(
    ("phase", "turn", "stones"),
    [("playing", 11, 5), ("playing", 2, -1), ("asked", 2, 5), ("playing", 10, 5), ("over", -1, 0), (0, 2, 5)],
)
def test_a_state_out_of_bounds_is_refused(phase: Any, turn: int, stones: int) -> None:
    """An unknown phase, play after the last announced turn, and what a subclass checks in ``_load``."""

    class Checked(NimEnv):
        def _load(self, episode: dict[str, Any]) -> None:
            super()._load(episode)
            integer("stones", self.stones, minimum=0, maximum=self.most)

    env = Checked()
    env.reset(seed=1)
    state = env.get_state()
    with pytest.raises(StateError):
        env.set_state({**state, "phase": phase, "turn": turn, "episode": {"stones": stones}})
    assert env.get_state() == state


@pytest.mark.parametrize("state", [None, [], {}, "state", 7, {"environment": "NimEnv"}, {"environment": "OtherEnv"}])
def test_anything_else_is_no_state(state: Any) -> None:
    """The state of another class included."""
    with pytest.raises(StateError, match="not a state of NimEnv"):
        NimEnv().set_state(state)


def test_a_state_nested_too_deeply_is_refused() -> None:
    """As a StateError, like any other damage."""

    class Notes(NimEnv):
        saved = StateFields(stones=int, notes=Any)
        notes: Any = None

    env = Notes()
    env.reset(seed=1)
    state = env.get_state()
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(StateError, match="not a state of Notes"):
        env.set_state({**state, "episode": {"stones": 5, "notes": deep}})
    assert env.get_state() == state


def test_an_attribute_that_is_missing_or_of_another_type_is_named() -> None:
    """get_state says which attribute does not hold what ``saved`` declares."""
    env = NimEnv()
    env.reset(seed=1)
    env.stones = "many"  # type: ignore[assignment]
    with pytest.raises(
        StateError, match=r"NimEnv\.stones, declared as <class 'int'>, cannot be saved: it must be an int"
    ):
        env.get_state()
    del env.stones
    with pytest.raises(StateError, match=r"NimEnv\.stones, declared"):
        env.get_state()


def test_a_class_without_rules_or_moves_cannot_be_defined() -> None:
    """It says which part is missing, unless it leaves the part to its subclasses, and then it cannot be made."""
    with pytest.raises(IncompleteEnvError, match="TextEnv is abstract: it does not define _instructions or _play"):
        gem.TextEnv()
    with pytest.raises(IncompleteEnvError, match="Talk does not define _instructions or _play"):

        class Talk(gem.TextEnv[str]):
            form = BoxedText()

    class Rules(gem.TextEnv[str], ABC):
        form = BoxedText()

        def _instructions(self) -> str:
            return "Say something."

    with pytest.raises(IncompleteEnvError, match="Rules is abstract: it does not define _play"):
        Rules()

    class Whole(Rules):
        def _play(self, move: str) -> MoveResult:
            return success(f"You say {move}.")

    env = Whole()
    env.reset()
    with pytest.raises(NotSupportedError, match="has no examples"):
        env.sample_random_action()
    assert env.step("\\boxed{yes}")[1] == 1.0
