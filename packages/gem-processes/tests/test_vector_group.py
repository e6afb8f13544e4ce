"""The environments of one process in batches, and results as bytes."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem.core import Env
from gem.errors import ArgumentError, EpisodeFinishedError, LostEnvironmentError, VectorError
from gem.vector.env_runner import AutoresetMode, EnvRunner
from gem.vector.sync import SyncVectorEnv
from gem_processes.process_mode.packing import pack, pack_batch, portable, unpack, unpack_batch
from gem_processes.process_mode.runner_group import RunnerGroup


class Walk(Env[str, Any]):
    """A random walk of at most four steps; ``raise`` fails, other actions that are no str become the observation."""

    def __init__(self) -> None:
        self.closed = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            raise ArgumentError("no options")
        self.turn = 0
        return f"begin {self.rng.random()}", {}

    def step(self, action: Any) -> Any:
        if action == "raise":
            raise KeyError("on fire")
        self.turn += 1
        shown = f"{action} {self.rng.random()}" if isinstance(action, str) else action
        return shown, self.rng.random(), self.turn == 4, False, {"turn": self.turn}

    def close(self) -> None:
        self.closed += 1

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn}


SCRIPT = ["a", "raise", "b", "c", "d", "e", "f", "raise", "raise", "g"]


@pytest.mark.parametrize("autoreset", [mode.value for mode in AutoresetMode])
def test_a_group_gives_the_results_of_sync_mode(autoreset: str) -> None:
    """Seeds, episodes, infos and faults agree, whatever numbers the environments have."""
    numbers = [7, 3, 12]
    group = RunnerGroup(autoreset)
    for position, number in enumerate(numbers):
        group.add(number, Walk, 20 + position)
    with SyncVectorEnv([Walk] * 3, autoreset=autoreset, seeds=[20, 21, 22]) as envs:
        expected = envs.reset()
        results: list[Any] = group.reset(numbers, [{"seed": None}] * 3)
        assert ([result[0] for result in results], [result[4] for result in results]) == expected
        for action in SCRIPT:
            results = group.step(numbers, [action] * 3)
            try:
                observations, rewards, _, truncations, infos = envs.step([action] * 3)
            except VectorError:
                assert all(isinstance(result, EpisodeFinishedError) for result in results)
                envs.reset_at([0, 1, 2])
                group.reset(numbers, [{"seed": None}] * 3)
                continue
            assert [result[0] for result in results] == observations
            assert [result[1] for result in results] == rewards.tolist()
            assert [result[3] for result in results] == truncations.tolist()
            assert [result[4] for result in results] == infos
    assert group.close() == []


def test_calls_reach_methods_and_attributes() -> None:
    """Also attributes of attributes; without an environment the error says why."""
    group = RunnerGroup("disabled")
    assert group.make(1, Walk) == ("", 0.0, False, False, {})
    group.reset([1], [{"seed": 3}])
    assert group.call(1, "get_state") == group.call(1, "unwrapped.get_state") == {"turn": 0}
    assert group.call(1, "closed") == 0
    with pytest.raises(ArgumentError, match="no method"):
        group.call(1, "closed", 1)
    with pytest.raises(ArgumentError, match="environment 2 was never made"):
        group.call(2, "closed")
    group.step([1], ["raise"])
    with pytest.raises(LostEnvironmentError, match="not built again yet: KeyError"):
        group.call(1, "closed")


def test_arguments_that_an_environment_refuses_are_exceptions_in_place_of_results() -> None:
    """They belong to the caller; the neighbours have their results."""
    group = RunnerGroup("same_step")
    for number in range(2):
        group.add(number, Walk)
    refused, sound = group.reset([0, 1], [{"options": {"size": 1}}, {}])
    assert isinstance(refused, ArgumentError)
    assert isinstance(sound, tuple)


@pytest.mark.parametrize("autoreset", [mode.value for mode in AutoresetMode])
@pytest.mark.parametrize("died", range(1, 6))
def test_a_revived_runner_reports_its_loss_once_and_plays_on(autoreset: str, died: int) -> None:
    """An episode that was going on ends truncated in the next step, and the seeds go on as after any fault."""
    mode = AutoresetMode(autoreset)
    runner = EnvRunner(Walk, mode, 5)
    last = runner.reset({"seed": 5})
    for _ in range(died):
        if not (mode is AutoresetMode.DISABLED and last[2]):
            last = runner.step("a")
    was_over = last[2] and mode is not AutoresetMode.SAME_STEP
    account = runner.account.after_loss()
    other = EnvRunner.revived(Walk, mode, account, "ProcessCrashError: gone", last[0])
    results = [other.reset({}) if was_over and mode is AutoresetMode.DISABLED else other.step("a")]
    observation, reward, terminated, truncated, info = results[0]
    assert (reward, terminated, truncated, "error" in info) == (0.0, False, not was_over, not was_over)
    if not was_over and mode is AutoresetMode.SAME_STEP:
        assert info["final_observation"] == last[0]
        assert info["final_info"]["error"] == "ProcessCrashError: gone"
        assert observation.startswith("begin")
    elif not was_over:
        assert observation == last[0]
        _, _, _, truncated, info = other.reset({}) if mode is AutoresetMode.DISABLED else other.step("a")
        assert (truncated, "error" in info) == (False, False)
    # A fault inside the process would have brought the same next episode.
    faulty = EnvRunner(Walk, mode, 5)
    faulty.reset({"seed": 5})
    assert other.account[1] == 1


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_reset_that_is_lost_with_its_process_is_all_there_is_to_report(mode: AutoresetMode) -> None:
    """It has ended what was in play, so the next step begins an episode instead of ending that one again."""
    runner = EnvRunner(Walk, mode, 5)
    last = runner.reset({"seed": 5})
    account = runner.account.after_loss()
    other = EnvRunner.revived(Walk, mode, account, "ProcessCrashError: gone", last[0])
    assert runner.account.is_playing
    assert not other.account.is_playing
    assert other.failed_reset() == ("", 0.0, False, True, {"error": "ProcessCrashError: gone"})
    assert other.account.after_loss()[:2] == (5, 2)
    if mode is AutoresetMode.NEXT_STEP:
        assert other.step("a")[2:4] == (False, False)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=9)
    | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner)
    ),
    max_leaves=4,
)


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(values, st.floats(allow_nan=False), st.booleans(), st.booleans(), st.dictionaries(st.text(), values))
    )
)
def test_results_of_builtins_survive_unchanged(results: list[Any]) -> None:
    """Lone surrogates, tuples and bytes included."""

    def never(position: int, error: Exception) -> Any:
        raise AssertionError((position, error))

    head, back, errors = unpack_batch(pack_batch(("head", 1), results, never))
    assert (head, back, errors) == (("head", 1), results, {})
    assert repr(back) == repr(results)


class Text(str):
    """A str of another class."""


class OnlyHere:
    """Can be packed, and not unpacked."""

    def __reduce__(self) -> Any:
        return _raise, ()


def _raise() -> Any:
    raise ImportError("exists only at the other end")


def test_one_hostile_result_harms_no_other() -> None:
    """What cannot be packed is replaced; what cannot be unpacked is reported by its position; types are kept."""
    array = bytearray(b"buffer")
    refused: dict[int, Exception] = {}

    def replacement(position: int, error: Exception) -> Any:
        refused[position] = error
        return "replaced"

    results = [("sound",), (threading.Lock(),), (Text("text"), array), (OnlyHere(),), EpisodeFinishedError("over")]
    _, back, errors = unpack_batch(pack_batch(None, results, replacement))
    assert (back[0], back[1]) == (("sound",), "replaced")
    assert (type(back[2][0]), type(back[2][1])) == (Text, bytearray)
    assert list(refused) == [1]
    assert list(errors) == [3]
    assert isinstance(back[4], EpisodeFinishedError)


class TwoArgumentsError(Exception):
    """Cannot be unpacked from its one argument."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)


def test_exceptions_arrive_with_their_type_or_at_least_their_text() -> None:
    """An exception that pickle cannot restore becomes a VectorError with type and message."""
    known = ArgumentError("a value")
    assert portable(known) is known
    error = unpack(pack(portable(TwoArgumentsError("broken", "x"))))
    assert (type(error), str(error)) == (VectorError, "TwoArgumentsError: broken")


def test_a_result_that_cannot_be_sent_is_a_fault_of_its_environment() -> None:
    """The group gives the environment up, and the next episode begins as after any other fault."""
    group = RunnerGroup("same_step")
    group.add(0, Walk, 5)
    group.reset([0], [{}])
    env = group.env(0)
    group.step([0], [threading.Lock()])
    observation, reward, terminated, truncated, info = group.refuse(0, "TypeError: cannot pickle", in_step=True)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["final_observation"], info["error"]) == ("", "TypeError: cannot pickle")
    assert observation.startswith("begin")
    assert env.closed == 1  # type: ignore[attr-defined]
    assert group.refuse(0, "again", in_step=False) == ("", 0.0, False, True, {"error": "again"})
