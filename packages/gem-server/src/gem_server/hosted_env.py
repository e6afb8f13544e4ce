"""Environments in a worker process by key: :class:`HostedEnvs` applies operations and encodes results as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gem.arguments import takes_seed
from gem.core import Env
from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.errors import GemError, NotSupportedError, StateError
from gem.faults import suppress_faults
from gem.vector.env_runner import AutoresetMode, EnvRunner, StepResult, check_single_agent, describe
from gem.vector.make import EnvMaker
from gem.vector.runner_account import RunnerAccount, RunnerPhase
from gem_server.operations import (
    ABANDON,
    ABANDONED,
    CLOSE,
    CONTINUES,
    ENDED,
    FAILED,
    GET_STATE,
    MAKE,
    REFUSED,
    RESET,
    SAMPLE,
    SET_STATE,
    STEP,
)

__all__ = ["HostedEnvs", "HostedRunner", "Result", "refusal"]

_encode = json.JSONEncoder(separators=(",", ":")).encode
Result = tuple[int, int, bytes, tuple[int | None, ...] | None]
"""Key, kind of the result, the elements of a JSON array without its first bracket (``…]``), and if it has changed the
:class:`gem.vector.runner_account.RunnerAccount` of the runner, which another worker needs to take its place."""


class HostedRunner(EnvRunner):
    """An environment runner whose environment can be put into a state, or be left behind in a step that hangs."""

    def lost_step(self) -> StepResult:
        """Return the result of a step whose environment is gone, after autoreset if there is one."""
        same_step = self._autoreset is AutoresetMode.SAME_STEP
        return self._next_after_fault() if same_step else self.failed_step()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; the environment itself knows whether its episode is over."""
        if self.env is None:
            raise StateError(f"the environment has failed, and no state can be set: {self.error}")
        self.env.set_state(state)
        self._phase = RunnerPhase.PLAYING


class HostedEnvs:
    """Many environments by key. Calls for different keys may come from different threads."""

    def __init__(self) -> None:
        self._runners: dict[int, EnvRunner] = {}
        self._changed: set[int] = set()  # keys of runners whose account has changed since it was last sent
        self._specs: dict[str, EnvSpec] = {}
        self._others: dict[int, Callable[[int, Any], Result]] = {
            MAKE: self._make,
            CLOSE: self._close,
            GET_STATE: self._get_state,
            SET_STATE: self._set_state,
            SAMPLE: self._sample,
            ABANDON: self._abandon,
        }

    def apply(self, key: int, operation: int, argument: Any) -> Result | None:
        """Apply one operation; None if the environment was abandoned meanwhile, so that nobody waits for the result."""
        runner = self._runners.get(key)
        try:
            if operation == STEP and runner is not None:
                result = runner.step(argument)
            elif operation == RESET and runner is not None:
                result = runner.reset(argument)
            elif runner is None and operation != MAKE:
                return refusal(key, StateError("the environment is closed"))
            else:
                return self._others[operation](key, argument)
        except (Exception, SystemExit) as error:
            return refusal(key, error)
        if self._runners.get(key) is not runner:
            with suppress_faults():
                runner.close()
            return None
        return self._encoded(key, runner, result, operation == STEP)

    def _encoded(self, key: int, runner: EnvRunner, result: StepResult, in_step: bool = True) -> Result:
        try:
            text = _encode(result)
        except (TypeError, ValueError, RecursionError) as error:
            cause = f"InvalidResultError: the observation or info is not JSON-serialisable: {error}"
            result = self._replaced(key, cause, close=True, in_step=in_step)
            try:
                text = _encode(result)
            except (TypeError, ValueError, RecursionError):  # that of the next episode is no better
                result = ("", 0.0, False, True, {"error": cause})
                text = _encode(result)
            runner = self._runners[key]
        _, _, terminated, truncated, info = result
        kind = CONTINUES if not (terminated or truncated) else FAILED if _has_failed(terminated, info) else ENDED
        account = None
        if key in self._changed:
            self._changed.discard(key)
            account = runner.account.plain()
        return key, kind, text[1:].encode(), account

    def _make(self, key: int, asked: Any) -> Result:
        spec = self._specs.get(asked["spec"])
        if spec is None:
            spec = self._specs[asked["spec"]] = EnvSpec.from_json(asked["spec"])
        kwargs, seed = dict(asked["kwargs"]), asked["seed"]
        if seed is not None and "seed" not in kwargs and takes_seed(load(spec.entry_point)):
            kwargs["seed"] = seed  # as make_vec does
        maker = EnvMaker(spec.with_kwargs(kwargs), tuple(asked["wrappers"]))
        autoreset = AutoresetMode(asked["autoreset"])
        if asked["lost"]:
            account, error, observation = asked["lost"]
            runner = HostedRunner.revived(maker, autoreset, RunnerAccount(*account).after_loss(), error, observation)
            self._put(key, runner)
            if asked["answer"] is not None:
                step = asked["answer"] == STEP
                return self._encoded(key, runner, runner.step("") if step else runner.failed_reset())
            return key, CONTINUES, b"{}]", runner.account.plain()
        runner = HostedRunner(maker, autoreset, seed)
        assert runner.env is not None
        check_single_agent(runner.env)
        self._put(key, runner)
        about = {"follows_order": runner.env.unwrapped.follows_order}
        return key, CONTINUES, _encode([about])[1:].encode(), runner.account.plain()

    def _put(self, key: int, runner: EnvRunner) -> None:
        self._runners[key] = runner
        runner.on_change = partial(self._changed.add, key)

    def _close(self, key: int, _argument: Any) -> Result:
        runner = self._runners.pop(key)
        self._changed.discard(key)
        runner.close()
        return key, CONTINUES, b"true]", None

    def _env(self, key: int) -> Env[Any, Any]:
        runner = self._runners[key]
        if runner.env is None:
            raise StateError(f"the environment has failed and is not built again yet: {runner.error}")
        return runner.env

    def _get_state(self, key: int, _argument: Any) -> Result:
        return key, CONTINUES, _encode([self._env(key).get_state()])[1:].encode(), None

    def _set_state(self, key: int, state: Any) -> Result:
        if not isinstance(state, dict):
            raise StateError(f"a state is a JSON object, got {type(state).__name__}")
        runner = self._runners[key]
        assert isinstance(runner, HostedRunner)
        runner.set_state(state)
        return key, CONTINUES, b"true]", runner.account.plain()

    def _sample(self, key: int, _argument: Any) -> Result:
        return key, CONTINUES, _encode([self._env(key).sample_random_action()])[1:].encode(), None

    def _abandon(self, key: int, asked: Any) -> Result:
        """Replace a runner that another thread is inside of, and answer in its place."""
        error, was_step = asked
        result = self._replaced(key, error, close=False, in_step=was_step)
        key, kind, text, _ = self._encoded(key, self._runners[key], result)
        return key, kind | ABANDONED, text, self._runners[key].account.plain()

    def _replaced(self, key: int, error: str, *, close: bool, in_step: bool) -> StepResult:
        """Put a new runner in the place of one whose environment is given up, and return the result in its place."""
        old = self._runners[key]
        old.on_change = None
        runner = old.replacement(error)
        runner.forget_observation()
        if close:
            with suppress_faults():  # it is given up anyway
                old.close()
        assert isinstance(runner, HostedRunner)
        self._put(key, runner)
        return runner.lost_step() if in_step else runner.failed_reset()


def _has_failed(terminated: bool, info: Mapping[str, Any]) -> bool:
    return not terminated and ("error" in info or "error" in info.get("final_info", ()))


def refusal(key: int, error: BaseException) -> Result:
    """Return the result of a call that was refused: the kind of the error, which a client may know, and its message."""
    known = isinstance(error, (GemError, TypeError, ValueError, NotSupportedError))
    kind = type(error).__name__ if known else "EnvironmentFailure"
    message = str(error) if isinstance(error, GemError) else describe(error)
    return key, REFUSED, _encode(["error", kind, message[:2000]])[1:].encode(), None
