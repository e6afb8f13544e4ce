"""The side-cars of an episode: the containers beside the agent's. :class:`SideCarGroup`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Thread

from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.copied_folders import copy_in
from gem_terminal.engines.base import Container, ContainerSpec, Engine, Progress
from gem_terminal.episodes.healthcheck import await_health
from gem_terminal.errors import EngineError
from gem_terminal.task import ResourceLimits, SideCar, Task

__all__ = ["SideCarGroup", "start_with_side_cars"]

_COMPLETES_IN = 600.0
"""Seconds for a side-car that others wait for to complete."""
_ENDS_IN = 10.0
_AGAIN = 'while :; do "$@"; sleep 1; done'


def start_with_side_cars(
    engine: Engine, task: Task, progress: Progress | None = None
) -> tuple[Container, SideCarGroup | None]:
    """Start the container of a task and its side-cars, and wait until they are what the task expects of them.

    Raises:
        EngineError: if an image cannot be prepared, a container does not start, or a side-car fails.
    """
    reference = engine.prepare(task.image, progress)
    if not task.side_cars:
        container = engine.start(reference, task.limits, task.environment)
        try:
            copy_in(container, task.folders, task.workdir)
        except BaseException:
            container.remove()
            raise
        return container, None
    engine.check_side_cars(task.side_cars)
    references = {each.image: engine.prepare(each.image, progress) for each in task.side_cars}
    names = [task.main_name, *(name for each in task.side_cars for name in (each.name, *each.aliases))]
    specs = {
        each.name: ContainerSpec(
            references[each.image], _limits(each, task), each.environment, (each.name, *each.aliases)
        )
        for each in task.side_cars
    }
    first = ContainerSpec(reference, task.limits, task.environment, (task.main_name,))
    container = engine.start_first(first, names, tuple(specs.values()))
    group = SideCarGroup(engine, container)
    try:
        copy_in(container, task.folders, task.workdir)
        for side_car in task.side_cars:
            group.start(side_car, specs[side_car.name], names)
        group.await_conditions(task.waits_for)
    except BaseException:
        group.remove()
        container.remove()
        raise
    return container, group


def _limits(side_car: SideCar, task: Task) -> ResourceLimits:
    own = task.limits
    return replace(side_car.limits, network=own.network, host_network=own.host_network, allowed_hosts=own.allowed_hosts)


class SideCarGroup:
    """The running side-cars of one episode.

    Args:
        engine: starts them.
        first: the agent's container, whose network they join.
    """

    def __init__(self, engine: Engine, first: Container) -> None:
        self._engine = engine
        self._first = first
        self._running: dict[str, _RunningSideCar] = {}

    def start(self, side_car: SideCar, spec: ContainerSpec, names: list[str]) -> None:
        """Start a side-car after the others are what it waits for.

        Raises:
            EngineError: if one of them fails, or the side-car does not start.
        """
        self.await_conditions(side_car.waits_for)
        container = self._engine.start_beside(self._first, spec, names)
        try:
            copy_in(container, side_car.folders, side_car.workdir)
            self._running[side_car.name] = _RunningSideCar(side_car, container, self._engine, spec.reference)
        except BaseException:
            container.remove()
            raise

    def await_conditions(self, conditions: Mapping[str, str]) -> None:
        """Wait until side-cars are started, healthy, or have completed.

        Raises:
            EngineError: if one fails; the message names it, with its last output.
        """
        for name, condition in conditions.items():
            self._running[name].wait(condition)

    def remove(self) -> None:
        """Remove the containers. A second call does nothing."""
        running, self._running = self._running, {}
        for each in reversed(running.values()):
            each.remove()


class _RunningSideCar:
    """The container of a side-car, its process, and a thread that reads the output, or else the process would block."""

    def __init__(self, side_car: SideCar, container: Container, engine: Engine, reference: str) -> None:
        self._side_car = side_car
        self._container = container
        self._kept = BoundedOutput(4096)
        entry, command, user, workdir = engine.image_process(reference)
        if side_car.entrypoint is not None:
            entry, command = side_car.entrypoint, ()  # a new entry point drops the command of the image, as in Compose
        words = (*entry, *(command if side_car.command is None else side_car.command))
        if not words:
            known = f"its image names none that the {engine.name} engine knows"
            raise EngineError(f"the service {side_car.name} has no command, and {known}")
        if side_car.restarts:
            words = ("/bin/sh", "-c", _AGAIN, "sh", *words)
        self._channel = container.open(words, user=side_car.user or user, workdir=side_car.workdir or workdir)
        self._reader = Thread(target=self._read, name="gem-terminal side-car", daemon=True)
        self._reader.start()

    def wait(self, condition: str) -> None:
        """Wait for a condition; raises EngineError if the side-car fails."""
        name, check = self._side_car.name, self._side_car.healthcheck
        if condition == "healthy" and check is not None:
            try:
                await_health(self._container, check)
            except EngineError as error:
                raise EngineError(f"the service {name} failed: {error}; its output: {self._said()}") from error
        elif condition == "completed_successfully":
            self._reader.join(_COMPLETES_IN)
            code = self._channel.exit_code(_ENDS_IN) if not self._reader.is_alive() else None
            if code != 0:
                why = (
                    f"ended with exit code {code}" if code is not None else f"did not end in {_COMPLETES_IN:g} seconds"
                )
                raise EngineError(f"the service {name} {why}; its output: {self._said()}")

    def remove(self) -> None:
        self._container.remove()
        self._reader.join(_ENDS_IN)
        self._channel.close()

    def _read(self) -> None:
        with suppress(EngineError, OSError):
            while (data := self._channel.read(60.0)) is not None:
                self._kept.add(data)

    def _said(self) -> str:
        return repr(self._kept.text().strip()[-500:])
