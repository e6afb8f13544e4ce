"""The vectorization mode ``"ray"``: :class:`RayVectorEnv`."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import ray

from gem.arguments import integer, real, string
from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import VectorError
from gem.vector import AutoresetMode, VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import Maker
from gem_processes.process_mode.stand_in import EnvStandIn
from gem_ray.actor_env import ActorEnv, EnvCommand
from gem_ray.actor_link import ActorLink, ActorLostError
from gem_ray.cluster import connect
from gem_ray.packing import pack
from gem_ray.placement import place_environments

__all__ = ["RayVectorEnv"]

_CLOSE_TIMEOUT = 10.0  # seconds that actors have to close their environments
_MAX_ATTEMPTS = 3
"""Actors that may die one after the other before one has played a turn …"""

_MIN_SECONDS = 30.0
"""… in this time at least: Ray places actors on a dead node for 15 seconds, until it declares it dead."""
_LATE = 0.05  # seconds after the time limit of a start


class RayVectorEnv(VectorEnv):
    """Runs its environments in actors of a Ray cluster, many in each.

    A call of an actor costs as much as 50 to 100 steps of a quick game, so an actor holds up to 64 environments, and a
    call carries the actions of all that are ready for one. Inside the actor another mode runs them, threads by default,
    so environments that wait for a tool wait side by side.

    **Losses.** When an actor, its process or its node dies, another actor takes its place, wherever the cluster has
    room, now or when a node joins. The episodes that were in play there end truncated, with reward 0.0 and
    ``info["error"]``, like those of an environment that raised; the next ones have seeds that follow from the last
    given ones. No other episode is affected. ``incarnations`` counts the actors of each place and ``lost_episodes``
    the episodes.

    **The cluster.** A process that is connected to Ray already uses that connection. Otherwise ``ray.init(address)``
    connects it; see :func:`gem_ray.cluster.connect`. The packages of the environments must be installed on its nodes; a
    ``runtime_env`` in ``resources`` can bring them. Actors end with the driver, however it ends.

    Args:
        makers: one for each environment, picklable by cloudpickle.
        autoreset: what follows the end of an episode.
        seeds: for each environment, the seed of its first reset.
        step_timeout: time limit of a step or reset in seconds, enforced by the mode inside the actor. Native code that
            holds up the whole process ten seconds longer ends the actor.
        address: of the cluster, as in ``ray.init``.
        envs_per_actor: the most environments of one actor.
        resources: what the actors of each kind of environment need, by pattern of the id: options of a Ray actor, as in
            ``{"terminal:*": {"num_cpus": 1, "resources": {"docker": 1}}}``. The first pattern that matches counts;
            without one an actor needs one CPU.
        actor_mode: the vectorization mode inside the actors.
        max_calls: calls under way for one actor; what is sent beyond them waits and goes out in one batch.
        linger: seconds that an actor keeps a first result back for others to come along.
        start_timeout: seconds that the cluster has to start the actors, now and after a loss; None for no limit.

    Raises:
        VectorError: if the cluster cannot be reached, or has no room for the actors in time. After a loss, ``step`` and
            ``recv`` raise it; the results of other environments come with the next call.
        ArgumentError, ArgumentTypeError: for an impossible argument.
        Errors of the makers are passed on.
    """

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
        address: str | None = None,
        envs_per_actor: int = 64,
        resources: Mapping[str, Mapping[str, Any]] | None = None,
        actor_mode: str = "thread",
        max_calls: int = 2,
        linger: float = 0.005,
        start_timeout: float | None = 300.0,
    ) -> None:
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        placements = place_environments(self.specs, envs_per_actor, resources)
        string("actor_mode", actor_mode)
        integer("max_calls", max_calls, minimum=1)
        real("linger", linger, minimum=0.0)
        self._start_timeout = None if start_timeout is None else real("start_timeout", start_timeout, minimum=0.001)
        self._alarm: threading.Timer | None = None
        self.lost_episodes = 0
        """Episodes in play that were lost with their actors."""
        self._described: dict[int, tuple[Maker | None, Any]] = {}
        self._members = [
            ActorEnv(maker, self.autoreset, seed) for maker, seed in zip(self._makers, self._seeds, strict=True)
        ]
        connect(address)
        self._links = [
            ActorLink(
                placement.indices,
                placement.options,
                mode=actor_mode,
                autoreset=self.autoreset,
                step_timeout=self.step_timeout,
                max_calls=max_calls,
                linger=linger,
            )
            for placement in placements
        ]
        self._home = {index: link for link in self._links for index in link.indices}
        try:
            self._start()
        except BaseException:
            self.closed = True
            self._end_actors()
            raise

    @property
    def incarnations(self) -> tuple[int, ...]:
        """How many actors have held the environments of each place so far: ones, as long as none was lost."""
        return tuple(link.incarnation for link in self._links)

    @property
    def envs(self) -> tuple[Env[Any, Any], ...]:
        """Stand-ins of the environments: each question is a call of an actor."""
        return tuple(self.env_at(index) for index in range(self.num_envs))

    def env_at(self, index: int) -> Env[Any, Any]:
        self._check_open()
        return EnvStandIn(
            partial(self._call, index),
            lambda name: self._home[index].ask("look", index, name),
            lambda: self._describe(index)[0],
        )

    def _engine_access(self) -> EngineAccess[Any]:
        return RayEngineAccess(self)

    def _describe(self, index: int) -> tuple[EnvSpec | None, str, BaseException | None]:
        maker = self._members[index].maker
        known, description = self._described.get(index, (None, None))
        if known is not maker or description is None:
            description = self._home[index].ask("describe", index)
            if description[1] or description[2] is not None:  # otherwise it is not made yet
                self._described[index] = maker, description
        found: tuple[EnvSpec | None, str, BaseException | None] = description
        return found

    def _call(self, index: int, name: str, *args: Any, **kwargs: Any) -> Any:
        error, result = self._home[index].ask("call", index, name, pack((args, kwargs)))
        if error is not None:
            raise error
        return result

    def _start(self) -> None:
        for link in self._links:
            self._build(link)
        while any(link.down_since is not None for link in self._links):
            self._wait(0.5)
            for link, call in self._returned():
                try:
                    link.take(call)
                except ActorLostError as error:
                    self._check_attempts(link, error)
                    self._build(link)
                    continue
                link.finished(call)
            self._check_start()

    def _build(self, link: ActorLink) -> None:
        link.build([self._members[index] for index in link.indices])

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        self._submit(indices, [EnvCommand("step", action) for action in actions])

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        self._submit(indices, [EnvCommand("reset", given) for given in arguments])

    def _submit_make(self, index: int, maker: Maker) -> None:
        self._submit([index], [self._members[index].make(maker)])

    def _submit(self, indices: Sequence[int], commands: Sequence[EnvCommand]) -> None:
        touched = {}
        for index, command in zip(indices, commands, strict=True):
            link = self._home[index]
            link.put(index, command)
            touched[id(link)] = link
        for link in touched.values():
            self._flush(link)
        if len(self._arrived) and self._notify is not None:
            self._notify()

    def _watch(self) -> None:
        for link in self._links:
            link.watch(self._notify)

    def _collect(self, count: int, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            for link, call in self._returned():
                self._receive(link, call)
            left = None if deadline is None else deadline - time.monotonic()
            if len(self._arrived) >= count or (left is not None and left <= 0.0):
                if self._notify is not None:  # for an engine, which waits elsewhere
                    self._check_start()
                    self._set_alarm()
                return
            self._check_start()
            self._wait(1.0 if left is None else min(left, 1.0))

    def _receive(self, link: ActorLink, call: Any) -> None:
        try:
            outcomes, accounts = link.take(call)
        except ActorLostError as error:
            self._replace(link, error)
            return
        for index, account in accounts.items():
            self._members[index].account = account
        for index, result in outcomes:
            if link.sent(index) is not None:
                self._members[index].received(result)
                self._arrived[index] = result
                link.done(index)
        link.finished(call)
        self._flush(link)

    def _flush(self, link: ActorLink) -> None:
        for index, error in link.flush().items():
            self._arrived[index] = error

    def _replace(self, link: ActorLink, error: ActorLostError) -> None:
        """Put another actor in the place of a lost one, and end the episodes that were in play there."""
        message = f"ProcessCrashError: the Ray actor of this environment was lost ({error})"
        for index in link.indices if link.down_since is None else ():  # else nothing was sent to it yet
            member = self._members[index]
            self.lost_episodes += member.playing
            instead = member.lose(link.sent(index), message)
            link.done(index)
            if isinstance(instead, EnvCommand):
                link.put(index, instead)
            elif instead is not None:
                self._arrived[index] = instead
        self._check_attempts(link, error)
        self._build(link)

    def _returned(self) -> list[tuple[ActorLink, Any]]:
        """Return the calls that have returned."""
        owners = {call: link for link in self._links for call in link.calls}
        if not owners:
            return []
        ready, _ = ray.wait(list(owners), num_returns=len(owners), timeout=0, fetch_local=False)
        return [(owners[call], call) for call in ready]

    def _wait(self, seconds: float) -> None:
        """Wait until a call has returned."""
        calls = [call for link in self._links for call in link.calls]
        if calls:
            ray.wait(calls, timeout=seconds)
        else:
            time.sleep(min(seconds, 0.05))

    def _check_start(self) -> None:
        if self._start_timeout is None:
            return
        now = time.monotonic()
        late = [
            link for link in self._links if link.down_since is not None and now - link.down_since > self._start_timeout
        ]
        if late:
            environments = sum(len(link.indices) for link in late)
            for link in late:
                link.down_since = now  # a caller that goes on waits as long again
            raise VectorError(
                f"{len(late)} of {len(self._links)} Ray actors, with {environments} environments, did not start within "
                f"{self._start_timeout:g} s: {late[0].needs}; add nodes, or change resources=, envs_per_actor= or "
                "start_timeout= in mode_kwargs"
            )

    def _set_alarm(self) -> None:
        """Have the engine look here again when an actor should have started, as nothing else may happen till then."""
        down = [link.down_since for link in self._links if link.down_since is not None]
        if self._alarm is None and down and self._start_timeout is not None:
            left = min(down) + self._start_timeout - time.monotonic()
            self._alarm = threading.Timer(max(left, 0.0) + _LATE, self._ring)
            self._alarm.daemon = True
            self._alarm.start()

    def _ring(self) -> None:
        self._alarm = None
        notify = self._notify
        if notify is not None:
            notify()

    def _check_attempts(self, link: ActorLink, error: ActorLostError) -> None:
        down = 0.0 if link.down_since is None else time.monotonic() - link.down_since
        if link.attempts >= _MAX_ATTEMPTS and down > _MIN_SECONDS:
            link.attempts, link.down_since = 0, None
            self._build(link)  # a caller that goes on has it tried again
            raise VectorError(
                f"{_MAX_ATTEMPTS} Ray actors died one after the other before they played a turn; the last: {error}"
            )

    def _shut_down(self) -> None:
        alarm = self._alarm
        if alarm is not None:
            alarm.cancel()
        errors = self._end_actors()
        if errors:
            raise VectorError(f"the environments of {len(errors)} actors could not be closed; the first: {errors[0]}")

    def _end_actors(self) -> list[str]:
        """Close the environments and end the actors; return what went wrong."""
        if not ray.is_initialized():
            return []
        calls = [call for link in self._links if (call := link.close()) is not None and link.down_since is None]
        returned = ray.wait(calls, num_returns=len(calls), timeout=_CLOSE_TIMEOUT)[0] if calls else []
        errors = []
        for call in returned:
            with suppress(ray.exceptions.RayError):  # lost already
                error = ray.get(call)
                if error is not None:
                    errors.append(error)
        for link in self._links:
            link.drop()
        return errors


class RayEngineAccess(EngineAccess[RayVectorEnv]):
    """Asks the actors."""

    def class_name(self, index: int) -> str:
        return self.envs._describe(index)[1]

    def making_error(self, index: int) -> BaseException | None:
        return self.envs._describe(index)[2]
