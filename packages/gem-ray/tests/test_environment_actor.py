"""The actor's side, in this process: batches of commands, and results that come when they are ready."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, InvalidResultError
from gem.vector import AutoresetMode
from gem.vector.env_runner import EnvRunner
from gem_ray.environment_actor import EnvironmentActor
from gem_ray.packing import pack, unpack

GATE = threading.Event()


class Gated(gem.Env[str, str]):
    """Answers at once, but waits for a gate where the action says so."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            raise ArgumentError(f"no such option: {options}")
        return "ready", {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == "wait":
            assert GATE.wait(60)
        if action == "lock":
            return "a lock cannot be sent", 0.0, False, False, {"lock": threading.Lock()}
        if action == "odd":
            raise gem.errors.ResetNeededError("odd")
        return f"did {action}", 1.0, False, False, {"tuple": (1, 2)}


class Unmakeable(Gated):
    """Refuses to be constructed, with an exception that takes two arguments, and so does not survive pickling."""

    def __init__(self) -> None:
        class TwoError(Exception):
            def __init__(self, one: int, two: int) -> None:
                super().__init__(f"{one} and {two}")

        raise TwoError(1, 2)


@pytest.fixture
def actor() -> EnvironmentActor:
    """An actor with four environments, reset with seeds 0 to 3."""
    GATE.clear()
    actor = EnvironmentActor()
    assert build(actor, [Gated] * 4) is None
    assert len(exchange(actor, [("reset", number, {"seed": number}) for number in range(4)], 60.0)) == 4
    return actor


def build(
    actor: EnvironmentActor, makers: Sequence[Any], mode: str = "thread", autoreset: AutoresetMode | None = None
) -> BaseException | None:
    """Make environments; return the exception of the first that cannot be made."""
    members = [(maker, None, None) for maker in makers]
    found: BaseException | None = unpack(actor.build(pack(members), mode, autoreset or AutoresetMode.SAME_STEP, None))
    return found


def exchange(actor: EnvironmentActor, commands: list[tuple[str, int, Any]], linger: float) -> dict[int, Any]:
    """Return the results by number of the environment."""
    numbers, results, accounts = unpack(actor.exchange(pack(commands), linger))
    assert set(accounts) <= set(numbers)
    assert len(set(numbers)) == len(numbers)
    return dict(zip(numbers, results, strict=True))


class Growing(gem.Env[str, str]):
    """Shows all that was said, after a preface of 400 characters; a lock in its info where the action says so."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.said = "preface " * 50
        return self.said, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.said += action
        return self.said, 0.0, False, False, {"lock": threading.Lock()} if action == "lock" else {}


def test_a_history_crosses_the_network_as_what_was_added() -> None:
    """After a result that could not be sent the text comes whole, for the driver has not seen what it would add to."""
    actor = EnvironmentActor()
    assert build(actor, [Growing]) is None
    assert exchange(actor, [("reset", 0, {"seed": 1})], 60.0)[0][0] == "preface " * 50
    assert exchange(actor, [("step", 0, "one")], 60.0)[0] == ("one", 0.0, False, False, {}, 400)
    assert isinstance(exchange(actor, [("step", 0, "lock")], 60.0)[0], InvalidResultError)
    assert exchange(actor, [("step", 0, "two")], 60.0)[0] == ("preface " * 50 + "onelocktwo", 0.0, False, False, {})
    assert exchange(actor, [("step", 0, "three")], 60.0)[0] == ("three", 0.0, False, False, {}, 410)


def test_one_call_brings_the_results_of_all(actor: EnvironmentActor) -> None:
    """Where nothing is slow, a call returns when all its commands are done, and tuples stay tuples."""
    found = exchange(actor, [("step", number, str(number)) for number in range(4)], 60.0)
    assert {number: result[0] for number, result in found.items()} == {i: f"did {i}" for i in range(4)}
    assert found[0][4] == {"tuple": (1, 2)}


def test_a_slow_environment_holds_up_no_other(actor: EnvironmentActor) -> None:
    """Quick results come without the slow one, commands of a second call are run meanwhile, and nothing is lost."""
    first = exchange(actor, [("step", 0, "wait"), ("step", 1, "a"), ("step", 2, "b")], 0.001)
    while len(first) < 2:
        first |= exchange(actor, [], 0.001)
    assert set(first) == {1, 2}
    late: dict[int, Any] = {}
    waiting = threading.Thread(target=lambda: late.update(exchange(actor, [], 0.001)))
    waiting.start()
    found = exchange(actor, [("step", 3, "c"), ("step", 1, "d")], 0.001)
    GATE.set()
    waiting.join()
    while len(found) + len(late) < 3:
        found |= exchange(actor, [], 0.001)
    assert not set(found) & set(late)
    assert {**found, **late}[0][0] == "did wait"
    assert {**found, **late}[1][0] == "did d"


def test_a_result_that_cannot_be_sent_harms_no_other(actor: EnvironmentActor) -> None:
    """An info with a lock in it becomes an error that says so; the results beside it arrive."""
    found = exchange(actor, [("step", 0, "lock"), ("step", 1, "x"), ("step", 2, "odd")], 60.0)
    assert isinstance(found[0], InvalidResultError)
    assert "lock" in str(found[0])
    assert found[1][0] == "did x"
    assert isinstance(found[2], gem.errors.ResetNeededError)


def test_wrong_options_are_an_exception(actor: EnvironmentActor) -> None:
    """As in the other modes, options that an environment refuses raise in the caller, each with its own arguments."""
    found = exchange(actor, [("reset", 0, {"seed": 1, "options": {"x": 1}}), ("reset", 1, {"seed": 1})], 60.0)
    assert isinstance(found[0], ArgumentError)
    assert found[1][0] == "ready"


def test_what_cannot_be_made_is_reported_with_its_exception() -> None:
    """An exception that cannot be sent is described; a command that cannot make its environment harms no other."""
    assert "TwoError: 1 and 2" in str(build(EnvironmentActor(), [Gated, Unmakeable]))
    actor = EnvironmentActor()
    assert build(actor, [Gated, None]) is None
    assert exchange(actor, [("make", 1, Unmakeable)], 60.0)[1][3]
    assert "TwoError: 1 and 2" in str(unpack(actor.describe(1))[2])
    assert unpack(actor.describe(0)) == (None, "Gated", None)
    assert exchange(actor, [("reset", 0, {"seed": 1})], 60.0)[0][0] == "ready"


def test_several_agents_are_refused() -> None:
    """An environment of several agents is refused where it is made, as in the other modes."""

    class Several(Gated):
        active_agents = ()

    actor = EnvironmentActor()
    assert isinstance(build(actor, [Several], "sync"), ArgumentError)
    assert build(actor, [None], "sync") is None
    assert exchange(actor, [("make", 0, Several)], 60.0)[0][3]
    assert isinstance(unpack(actor.describe(0))[2], ArgumentError)


@pytest.mark.parametrize("mode", ["sync", "thread"])
def test_environments_without_makers_wait_for_one(mode: str) -> None:
    """The rollout engine fills places as episodes need them."""
    actor = EnvironmentActor()
    build(actor, [None, None], mode, AutoresetMode.DISABLED)
    assert exchange(actor, [("make", 1, Gated)], 60.0)[1] == ("", 0.0, False, False, {})
    runner = EnvRunner(Gated, AutoresetMode.DISABLED)
    assert exchange(actor, [("reset", 1, {"seed": 4})], 60.0)[1] == runner.reset({"seed": 4})
    assert exchange(actor, [("step", 1, "x")], 60.0)[1] == runner.step("x")


class Unclosable(Gated):
    """Fails to close."""

    def close(self) -> None:
        raise OSError("stuck")


def test_a_close_that_fails_is_described() -> None:
    """The driver learns of it, and closing again does nothing."""
    actor = EnvironmentActor()
    build(actor, [Gated, Unclosable])
    assert "OSError: stuck" in str(actor.close())
    assert actor.close() is None
    assert unpack(actor.exchange(pack([]), 60.0)) == ([], [], {})  # a call that was under way returns
