"""The environments of an engine: a vector environment whose results are awaited on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.faults import INTERRUPTS, is_fault
from gem.multiagent import MultiAgentEnv
from gem.plugins import lookup
from gem.vector import AutoresetMode, EnvMaker, VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import StepResult, describe
from gem.wrappers import WrapperLike
from gem_rollout.faults import environment_fault
from gem_rollout.joint_env import JointEnv, JointMaker
from gem_rollout.planned_turn import AskingEnv, PlannedTurn
from gem_rollout.policy_calls import PolicyCaller
from gem_rollout.step_pace import StepPace

__all__ = ["EnvironmentPool", "PooledEnvironment"]

_MOST_SPARE = 32  # environments that a mixture may keep besides those that are playing


class PooledEnvironment:
    """A place in the vector environment, and the environment that is in it now."""

    __slots__ = ("env", "index", "joint", "lent", "pace", "policies", "spec", "waiting", "wanted")

    def __init__(self, index: int) -> None:
        self.index = index
        self.wanted: EnvSpec | None = None
        """The spec that the environment was made from; None for an empty place."""
        self.env: Env[Any, Any] | None = None
        self.spec: EnvSpec | None = None
        """The environment's own spec, with its wrappers."""
        self.joint = False
        """Whether several agents act in the environment."""
        self.policies: dict[tuple[str | None, str | None], PolicyCaller] = {}
        """What acts in the environment, by agent where it has several, and by name where policies change seats; made
        when it is first asked."""
        self.lent = False
        """Whether an episode has it."""
        self.waiting: asyncio.Future[Any] | None = None
        """The result of the pending call."""
        self.pace = StepPace()
        """How long the steps of environments of this id take."""


class _ObservedMaker:
    """Makes an environment in this process, and remembers the exception."""

    def __init__(self, spec: EnvSpec, wrappers: tuple[WrapperLike, ...], pace: StepPace) -> None:
        self.spec = spec
        self.pace = pace
        self.error: BaseException | None = None
        self._make = EnvMaker(spec, wrappers)

    def __call__(self) -> Env[Any, Any]:
        try:
            env = self._make()
            inner = env.unwrapped
            return JointEnv(env, inner) if isinstance(inner, MultiAgentEnv) else AskingEnv(env, self.pace)
        except BaseException as error:
            self.error = error
            raise


class EnvironmentPool:
    """Lends environments to episodes, and steps them in a vector environment.

    Environments whose steps have all been quick are stepped on the loop; :mod:`gem_rollout.step_pace` says when.

    Environments are made when an episode needs one, where steps run. An environment is used again for the next episode
    of its spec. With several specs a few idle ones wait; the one that has waited longest makes room for another spec.

    All methods belong to the thread of the event loop. Calls that become due in the same iteration of the loop enter
    the vector environment together.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        wrappers: tuple[WrapperLike, ...],
        mode: str,
        step_timeout: float | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Make the vector environment, empty.

        Raises:
            MissingPluginError: if no installed package brings the mode.
        """
        size = concurrency + min(concurrency, _MOST_SPARE)
        backend = lookup("gem_vector_backends", mode, "vectorization mode")
        self._envs: VectorEnv = backend([None] * size, autoreset=AutoresetMode.DISABLED, step_timeout=step_timeout)
        self._access = EngineAccess.of(self._envs)
        # One that has a time limit can only be left behind in a thread.
        self._steps_here = self.run_in_threads and step_timeout is None
        self._paces: dict[str, StepPace] = {}  # by id of the spec
        self._loop = loop
        self._wrappers = wrappers
        self._empty = [PooledEnvironment(index) for index in reversed(range(size))]
        self._idle: dict[str, list[PooledEnvironment]] = {}  # by id of the spec, the least recently used first
        self._places: list[PooledEnvironment | None] = [None] * size  # those with a pending call
        self._steps: dict[int, Any] = {}
        self._resets: dict[int, int | None] = {}
        self._due = False
        self._closed = False
        self._access.notify(self._wake)

    @property
    def run_in_threads(self) -> bool:
        """Whether each environment may wait in a thread of this process, and so may a policy that it asks."""
        return self._access.runs_in_threads

    def take(self, spec: EnvSpec) -> PooledEnvironment:
        """Return a place for an episode: one with an idle environment of this spec if there is one."""
        place = self._free(spec)
        place.lent = True
        return place

    def give_back(self, place: PooledEnvironment) -> None:
        """Take back a place after an episode; if a call is pending, once it has returned."""
        place.lent = False
        if place.waiting is None:
            self._keep(place)

    def _free(self, spec: EnvSpec) -> PooledEnvironment:
        idle = self._idle.get(spec.id, [])
        for position in reversed(range(len(idle))):
            if idle[position].wanted is spec or idle[position].wanted == spec:
                return idle.pop(position)
        if self._empty:
            return self._empty.pop()
        # Places outnumber the episodes, so one is idle; dicts keep their order, so ids used long ago come first.
        oldest = next(env_id for env_id, places in self._idle.items() if places)
        return self._idle[oldest].pop(0)

    def _keep(self, place: PooledEnvironment) -> None:
        if place.wanted is None:
            self._empty.append(place)
            return
        env_id = place.wanted.id
        idle = self._idle.pop(env_id, [])
        idle.append(place)
        self._idle[env_id] = idle

    async def make(self, place: PooledEnvironment, spec: EnvSpec) -> None:
        """Put an environment of this spec into a place.

        Raises:
            EpisodeFailedError: if it cannot be made.
        """
        self.forget_policies(place)
        place.wanted, place.env, place.spec = None, None, None
        waiting = self._expect(place)
        place.pace = self._paces.setdefault(spec.id, StepPace())
        observed = _ObservedMaker(spec, self._wrappers, place.pace)
        self._envs.send_make(place.index, observed if self._access.is_local else JointMaker(spec, self._wrappers))
        info = _checked(await waiting)[4]
        if "error" in info:
            fault = environment_fault(str(info["error"]))
            fault.kind = "not_made" if fault.kind == "exception" else fault.kind
            raise fault from observed.error or self._access.making_error(place.index)
        place.wanted = spec
        self._look_at(place)

    async def reset(self, place: PooledEnvironment, seed: int | None) -> tuple[Any, Info]:
        """Begin an episode.

        Raises:
            EpisodeFailedError: if the environment fails.
        """
        self._resets[place.index] = seed
        observation, _, _, truncated, info = _checked(await self._call(place))
        if truncated:
            self._give_up(place)
            raise environment_fault(str(info.get("error")))
        if not place.policies:
            self._look_at(place)
        return observation, info

    async def step(self, place: PooledEnvironment, action: Any) -> StepResult:
        """Play a turn; the result of a turn in which the environment failed has ``info["error"]``."""
        if self._steps_here and place.pace.trusted and not place.joint and type(action) is not PlannedTurn:
            result = self._step_here(place, action)
        else:
            self._steps[place.index] = action
            result = _checked(await self._call(place))
        if is_fault(*result[2:]):
            self._give_up(place)
        return result

    def _step_here(self, place: PooledEnvironment, action: Any) -> StepResult:
        """Play a turn on the event loop."""
        begin = time.perf_counter()
        try:
            return self._access.step_here(place.index, action)
        except INTERRUPTS:
            raise
        except BaseException as error:  # a cancellation too: nothing is awaited here, so it is the environment's own
            raise environment_fault(describe(error)) from error
        finally:
            place.pace.note_on_loop(time.perf_counter() - begin)

    def forget_policies(self, place: PooledEnvironment) -> None:
        """Drop the policies of a place: one has failed, or the environment is replaced."""
        for policy in place.policies.values():
            policy.drop()
        place.policies = {}

    def stop(self) -> None:
        """Take no further results."""
        self._closed = True

    def close(self) -> None:
        """Close all environments; exceptions are dropped. Any thread may call it, after ``stop``."""
        with suppress(Exception):  # the episodes are over, and environments that do not close change no result
            self._envs.close()

    def _give_up(self, place: PooledEnvironment) -> None:
        """Have the environment made anew: a vector environment refuses to rebuild one that has hung several times."""
        self.forget_policies(place)
        place.wanted = None

    def _look_at(self, place: PooledEnvironment) -> None:
        env = self._envs.env_at(place.index)
        place.env = env.env if isinstance(env, (AskingEnv, JointEnv)) else env
        place.joint = self._access.class_name(place.index) == JointEnv.__name__
        place.spec = place.env.spec or place.wanted

    def _expect(self, place: PooledEnvironment) -> asyncio.Future[Any]:
        place.waiting = waiting = self._loop.create_future()
        self._places[place.index] = place
        return waiting

    def _call(self, place: PooledEnvironment) -> asyncio.Future[Any]:
        if not self._due:
            self._due = True
            self._loop.call_soon(self._send)
        return self._expect(place)

    def _send(self) -> None:
        self._due = False
        if self._closed:
            return
        steps, self._steps = self._steps, {}
        resets, self._resets = self._resets, {}
        if steps:
            self._envs.send(steps)
        if resets:
            self._envs.send_reset(resets)

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._receive)

    def _receive(self) -> None:
        if self._closed:
            return
        try:
            ready = self._access.take_ready()
        except Exception as error:  # of the vector environment itself, such as a cluster without a node
            for index, place in enumerate(self._places):
                if place is not None and place.waiting is not None and not place.waiting.done():
                    self._places[index] = None
                    place.waiting.set_exception(error)
            return
        for index, result in ready:
            place = self._places[index]
            assert place is not None
            assert place.waiting is not None
            waiting, place.waiting, self._places[index] = place.waiting, None, None
            if not waiting.done():
                waiting.set_result(result)
            elif not place.lent:  # otherwise its episode was stopped, and is about to give it back
                self._keep(place)


def _checked(result: StepResult | BaseException) -> StepResult:
    if isinstance(result, tuple):
        return result
    raise environment_fault(describe(result))


def as_tuple(wrappers: WrapperLike | Iterable[WrapperLike]) -> tuple[WrapperLike, ...]:
    """Return wrappers as ``gem.make`` takes them as a tuple."""
    return (wrappers,) if isinstance(wrappers, str) or callable(wrappers) else tuple(wrappers)
