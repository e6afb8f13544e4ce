"""TimeLimit and WallClockLimit: limits unknown to the agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError, EpisodeFinishedError, ResetNeededError, StateError
from gem.wrappers.limits import TimeLimit, WallClockLimit
from gem.wrappers.tracking import EpisodeTracking


class Endless(Env[str, str]):
    """Ends only on the words ``win`` and ``cut``; refuses to be stepped before the first reset."""

    turn = -1

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.turn = 0
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if self.turn < 0:
            raise ResetNeededError("call reset() first")
        self.turn += 1
        return f"turn {self.turn}", 1.0, action == "win", action == "cut", {}

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn}

    def set_state(self, state: Any) -> None:
        self.turn = state["turn"]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def length(env: Env[Any, Any]) -> int:
    """Reset, and return how many turns the episode has."""
    env.reset()
    for turn in range(1, 100):
        _, _, terminated, truncated, _ = env.step("go on")
        if terminated or truncated:
            return turn
    raise AssertionError("no end")


class TestTimeLimit:
    """A budget of steps."""

    def test_the_last_turn_is_truncated_alone(self) -> None:
        """The task is not decided by a limit that the agent does not know of."""
        env = TimeLimit(Endless(), max_episode_steps=2)
        env.reset()
        assert env.step("go on") == ("turn 1", 1.0, False, False, {})
        assert env.step("go on") == ("turn 2", 1.0, False, True, {})

    @pytest.mark.parametrize(("action", "flags"), [("win", (True, False)), ("cut", (False, True))])
    def test_an_end_of_the_environments_own_stays_what_it_is(self, action: str, flags: tuple[bool, bool]) -> None:
        """Also on the last turn of the limit, and before."""
        for limit in (1, 2):
            env = TimeLimit(Endless(), max_episode_steps=limit)
            env.reset()
            assert env.step(action)[2:4] == flags
            with pytest.raises(EpisodeFinishedError, match=r"reset\(\)"):
                env.step("go on")

    def test_a_truncated_episode_cannot_be_stepped(self) -> None:
        """Until the next reset, although the environment inside would go on."""
        env = TimeLimit(Endless(), max_episode_steps=1)
        with pytest.raises(ResetNeededError):
            env.step("go on")
        assert length(env) == 1
        with pytest.raises(EpisodeFinishedError):
            env.step("go on")
        assert length(env) == 1

    def test_a_new_limit_holds_from_the_next_reset(self) -> None:
        """The episode that is going on keeps the limit that it began with."""
        env = EpisodeTracking(TimeLimit(Endless(), max_episode_steps=2))
        env.reset()
        env.set_limit(3)
        assert [env.step("go on")[3] for _ in range(2)] == [False, True]
        assert length(env) == 3

    def test_a_schedule_gives_each_episode_its_limit(self) -> None:
        """It is called with the number of episodes that were begun before."""
        env = TimeLimit(Endless(), max_episode_steps=lambda episodes: 1 + episodes // 2)
        assert [length(env) for _ in range(5)] == [1, 1, 2, 2, 3]
        env.set_limit(lambda episodes: episodes)
        assert length(env) == 5

    def test_a_state_carries_limit_and_schedule_position(self) -> None:
        """A set limit comes along; a schedule must be there already."""

        def schedule(episodes: int) -> int:
            return 2 + episodes

        env, twin = TimeLimit(Endless(), schedule), TimeLimit(Endless(), schedule)
        length(env)
        env.reset()
        env.step("go on")
        twin.set_state(json.loads(json.dumps(env.get_state())))
        assert [twin.step("go on")[3] for _ in range(2)] == [False, True]
        assert length(twin) == 4
        fixed = TimeLimit(Endless(), 7)
        with pytest.raises(StateError, match="schedule"):
            fixed.set_state(env.get_state())
        fixed.set_limit(5)
        twin.set_state(fixed.get_state())
        assert length(twin) == 5

    @pytest.mark.parametrize(
        ("limit", "error"),
        [(0, ArgumentError), (-3, ArgumentError), (True, ArgumentTypeError), ("9", ArgumentTypeError)],
    )
    def test_a_limit_is_a_positive_int(self, limit: Any, error: type[Exception]) -> None:
        """Given directly, later, or by a schedule."""
        with pytest.raises(error, match="max_episode_steps"):
            TimeLimit(Endless(), limit)
        env = TimeLimit(Endless(), 3)
        with pytest.raises(error, match="max_episode_steps"):
            env.set_limit(limit)
        assert length(env) == 3
        with pytest.raises(error, match="max_episode_steps"):
            TimeLimit(Endless(), lambda episodes: limit).reset()


class TestWallClockLimit:
    """A budget of time."""

    def played(self, clock: Callable[[], float], seconds: float = 10) -> WallClockLimit:
        env: WallClockLimit = WallClockLimit(Endless(), seconds, clock=clock)
        env.reset()
        return env

    def test_the_first_step_that_returns_too_late_is_truncated_alone(self) -> None:
        """Time is counted from reset on, at the end of each step."""
        clock = Clock()
        env = self.played(clock)
        clock.now += 9.9
        assert env.step("go on")[2:4] == (False, False)
        clock.now += 0.2
        assert env.step("go on")[2:4] == (False, True)
        with pytest.raises(EpisodeFinishedError):
            env.step("go on")

    def test_the_step_that_returns_at_the_limit_is_the_last(self) -> None:
        """The limit itself belongs to the end, a moment before it does not."""
        clock = Clock()
        env = self.played(clock)
        clock.now += 9.999
        assert env.step("go on")[3] is False
        clock.now = 1010.0
        assert env.step("go on")[2:4] == (False, True)

    def test_a_task_that_is_decided_too_late_is_decided(self) -> None:
        """Only terminated, then."""
        clock = Clock()
        env = self.played(clock)
        clock.now += 11
        assert env.step("win")[2:4] == (True, False)

    def test_each_episode_has_the_whole_time(self) -> None:
        """The clock begins anew with each reset."""
        clock = Clock()
        env = self.played(clock)
        for _ in range(3):
            clock.now += 9
            assert env.step("go on")[3] is False
            env.reset()

    def test_a_state_carries_the_time_that_has_passed(self) -> None:
        """Between taking and setting it, no time passes."""
        clock, later = Clock(), Clock()
        later.now += 5000
        env, twin = self.played(clock), self.played(later)
        clock.now += 7
        twin.set_state(json.loads(json.dumps(env.get_state())))
        later.now += 2.9
        assert twin.step("go on")[3] is False
        later.now += 0.2
        assert twin.step("go on")[3] is True

    def test_the_clock_is_the_monotonic_one_unless_given(self) -> None:
        """No time at all is over at once, and a year is not."""
        for seconds, over in ((0, True), (3e7, False)):
            env: WallClockLimit = WallClockLimit(Endless(), seconds)
            env.reset()
            assert env.step("go on")[3] is over

    @pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "9", None])
    def test_a_time_is_a_finite_number_of_seconds(self, seconds: Any) -> None:
        """Anything else is refused when the wrapper is made."""
        with pytest.raises((ArgumentError, ArgumentTypeError), match="seconds"):
            WallClockLimit(Endless(), seconds)
        with pytest.raises(ArgumentTypeError, match="clock"):
            WallClockLimit(Endless(), 1, clock=3)  # type: ignore[arg-type]
