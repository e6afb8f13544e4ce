"""Environments that go on in another vector environment, after the process of the first has been lost."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from gem.errors import NotSupportedError
from gem.vector import AutoresetMode, VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import EnvRunner
from gem.vector.runner_account import RunnerAccount
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem_processes.process_mode.vector_env import ProcessVectorEnv

_found = spec_from_file_location("hostile_envs", Path(__file__).with_name("hostile_envs.py"))
assert _found is not None
assert _found.loader is not None
envs_module: Any = module_from_spec(_found)
sys.modules.setdefault("hostile_envs", envs_module)
_found.loader.exec_module(envs_module)
Walk = sys.modules["hostile_envs"].Walk
ERROR = "ProcessCrashError: gone"


@pytest.mark.parametrize("mode", [SyncVectorEnv, ThreadVectorEnv, ProcessVectorEnv])
@pytest.mark.parametrize("autoreset", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_an_environment_goes_on_elsewhere(mode: type[Any], autoreset: AutoresetMode) -> None:
    """Its account is that of its runner, and with it another one reports the loss once and has the next seed."""
    alone = EnvRunner(Walk, autoreset, 5)
    last = alone.reset({})
    envs = mode([Walk, Walk], autoreset=autoreset, seeds=[5, 6])
    try:
        assert EngineAccess.of(envs).account(1) == RunnerAccount.first(6)
        envs.reset()
        for action in ("a", "raise", "b", "a"):
            last = alone.step(action)
            envs.step({0: action})
            assert EngineAccess.of(envs).account(0) == alone.account
        assert EngineAccess.of(envs).account(0).is_playing
    finally:
        envs.close()
    account = alone.account.after_loss()
    other = mode([None, None], autoreset=autoreset)
    try:
        for index in (0, 1):
            EngineAccess.of(other).revive(index, Walk, account, ERROR, last[0])
        expected = EnvRunner.revived(Walk, autoreset, account, ERROR, last[0])
        for action in ("a", "b", "raise", "c"):
            observation, _, _, truncated, info = expected.step(action)
            observations, _, _, truncations, infos = other.step([action, action])
            assert observations == [observation] * 2
            assert truncations.tolist() == [truncated] * 2
            assert infos == [info] * 2
        assert EngineAccess.of(other).account(0) == expected.account
    finally:
        other.close()


def test_other_modes_say_that_they_cannot() -> None:
    """A backend of another package need not be able to."""
    envs = VectorEnv([Walk])
    with pytest.raises(NotSupportedError, match="keeps no accounts"):
        EngineAccess.of(envs).account(0)
    with pytest.raises(NotSupportedError, match="revives no environments"):
        EngineAccess.of(envs).revive(0, Walk, RunnerAccount.first(1), ERROR, "")
