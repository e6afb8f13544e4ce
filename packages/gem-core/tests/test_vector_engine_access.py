"""What an engine may ask of a vector environment is no part of the interface for users."""

from __future__ import annotations

from typing import Any

import pytest

from gem.core import Env
from gem.errors import NotSupportedError, VectorError
from gem.vector import VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.runner_account import RunnerAccount, RunnerPhase
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv


class Counter(Env[int, int]):
    """Counts its steps; the observation is their number, and an action of 0 is a fault."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = (options or {}).get("start", 0)
        return self.count, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.count += 1 // action
        return self.count, 1.0, False, False, {}


@pytest.mark.parametrize("mode", [VectorEnv, SyncVectorEnv, ThreadVectorEnv])
def test_the_interface_for_users_has_no_methods_for_engines(mode: type[VectorEnv]) -> None:
    """Of the methods of an engine's access a vector environment has none, under these or under their old names."""
    for_engines = {name for name in vars(EngineAccess) if not name.startswith("_")}
    old = {"revive_at", "account_at", "kind_at", "error_at", "step_here"}
    assert {"notify", "take_ready", "revive", "account"} <= for_engines
    assert not (for_engines | old) & set(dir(mode))


def test_a_backend_without_an_access_of_its_own_says_what_it_cannot() -> None:
    """A backend that defines only the four required methods still has an access, and each refusal names it."""
    access = EngineAccess.of(VectorEnv([Counter]))
    account = RunnerAccount.first(None)
    assert not access.is_local
    assert not access.runs_in_threads
    assert access.making_error(0) is None
    for refused in (
        lambda: access.notify(None),
        lambda: access.step_here(0, 1),
        lambda: access.account(0),
        lambda: access.revive(0, Counter, account, "gone", ""),
        lambda: access.class_name(0),
    ):
        with pytest.raises(NotSupportedError, match="VectorEnv"):
            refused()


@pytest.mark.parametrize("mode", [SyncVectorEnv, ThreadVectorEnv])
def test_resets_have_arguments_of_their_own(mode: Any) -> None:
    """``send_resets`` gives each environment its own options, where ``send_reset`` has the same for all."""
    with mode([Counter] * 3, autoreset="disabled") as envs:
        access = EngineAccess.of(envs)
        access.send_resets({2: {"options": {"start": 7}}, 0: {"options": {"start": 5}}})
        found = envs.recv(min_ready=2)
        assert dict(zip(found.indices, found.observations, strict=True)) == {2: 7, 0: 5}
        with pytest.raises(VectorError, match="environment 1 has no episode"):
            envs.send({1: 1})


def test_a_step_here_is_the_step_of_the_runner() -> None:
    """It counts like any other, and a fault is in the result."""
    with ThreadVectorEnv([Counter], autoreset="disabled") as envs:
        access = EngineAccess.of(envs)
        assert access.runs_in_threads
        assert access.class_name(0) == "Counter"
        envs.reset()
        assert access.step_here(0, 1)[:2] == (1, 1.0)
        assert "ZeroDivisionError" in access.step_here(0, 0)[4]["error"]
        assert access.account(0).is_lost


@pytest.mark.parametrize("phase", RunnerPhase)
def test_an_account_is_the_same_after_it_has_travelled(phase: RunnerPhase) -> None:
    """``plain`` has only built-in objects, as ``marshal`` needs them, and makes an equal account elsewhere."""
    account = RunnerAccount(5, 1, 2, None, phase)
    assert [type(value) for value in account.plain()] == [int, int, int, type(None), int]
    assert RunnerAccount(*account.plain()) == account
    assert type(account.plain()) is tuple


@pytest.mark.parametrize(
    ("phase", "episodes", "expected"),
    [
        (RunnerPhase.PLAYING, 1, (2, RunnerPhase.UNREPORTED)),
        (RunnerPhase.UNREPORTED, 1, (2, RunnerPhase.UNREPORTED)),
        (RunnerPhase.LOST, 0, (2, RunnerPhase.LOST)),
        (RunnerPhase.OVER, 1, (2, RunnerPhase.LOST)),
        (RunnerPhase.OVER, 0, (1, RunnerPhase.LOST)),
    ],
)
def test_a_loss_is_a_fault_unless_nothing_was_lost(
    phase: RunnerPhase, episodes: int, expected: tuple[int, RunnerPhase]
) -> None:
    """Only an environment that was never reset is lost without a fault; only an episode in play is to be reported."""
    after = RunnerAccount(5, 1, episodes, None, phase).after_loss()
    assert (after.faults, after.phase) == expected
    assert after.is_lost
    assert not after.is_playing
