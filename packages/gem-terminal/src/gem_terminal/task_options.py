"""Options that override what tasks say: :class:`TaskOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gem.arguments import boolean, check_names, choice, integer, real, string
from gem.errors import ArgumentError, ArgumentTypeError
from gem_terminal.formats.fields import bytes_of_size
from gem_terminal.task import ResourceLimits, Task, Tests

__all__ = ["TaskOptions"]

_VERIFIERS = ("task", "pristine")
_LIMITS = ("cpus", "memory", "processes", "disk")
_LEAST_MEMORY = 16 << 20
"""Bytes; a shell needs some."""


@dataclass(frozen=True)
class TaskOptions:
    """Network, limits and processes of tasks, where they shall differ from the rules of the tasks' format.

    By default a task behaves as its format says. In Harbor and Terminal-Bench 1, a task that does not mention the
    network has one, and the agent's processes continue during the tests. With ``strict``, the default for training
    on tasks of one's own, a network must be asked for, and the tests run in a fresh container with the agent's changes.

    Args:
        strict: whether a task has a network only if its files ask for one, the agent's processes are killed before the
            tests, and the verifier is ``"pristine"``. Terminal-Bench 1 has no word for the network; its tasks keep it.
        network: gives every task a network, or none; ``"host"`` gives it the network of this machine.
        limits: ``cpus``, ``memory``, ``processes`` and ``disk`` of every container, in place of the task's own;
            memory and disk in bytes or as ``"4G"``.
        keep_processes: whether the agent's processes continue during the tests of every task.
        verifier: ``"task"`` for the verifier of the task's format, or ``"pristine"`` for a fresh container with the
            agent's changes; see :mod:`gem_terminal.verdicts.pristine`. A separate container of the tests stays as
            it is, and tasks with several containers keep the verifier of their format.
    """

    strict: bool = False
    network: bool | str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    keep_processes: bool | None = None
    verifier: str | None = None

    @classmethod
    def checked(
        cls,
        strict: object = False,
        network: object = None,
        limits: Mapping[str, Any] | None = None,
        keep_processes: object = None,
        verifier: object = None,
    ) -> TaskOptions:
        """Return the options for arguments of any type.

        Raises:
            ArgumentError: if a limit is unknown, malformed or impossible.
            ArgumentTypeError: if an argument has the wrong type.
        """
        return cls(
            boolean("strict", strict),
            network if network is None or network == "host" else boolean("network", network),
            {} if limits is None else _limits(limits),
            None if keep_processes is None else boolean("keep_processes", keep_processes),
            None if verifier is None else choice("verifier", string("verifier", verifier), _VERIFIERS),
        )

    def arguments(self) -> dict[str, Any]:
        """Return the options as arguments of :class:`~gem_terminal.TerminalEnv`."""
        return {
            "strict": self.strict,
            "network": self.network,
            "limits": self.limits,
            "keep_processes": self.keep_processes,
            "verifier": self.verifier,
        }

    def applied(self, task: Task) -> Task:
        """Return a task with these options."""
        if self == TaskOptions():
            return task
        keep = task.keep_processes and not self.strict if self.keep_processes is None else self.keep_processes
        pristine = self.strict if self.verifier is None else self.verifier == "pristine"
        pristine = pristine and not task.side_cars  # a fresh container could not reach them
        steps = tuple(replace(step, tests=self._tests(step.tests)) for step in task.steps)
        return replace(
            task,
            tests=self._tests(task.tests),
            steps=steps,
            limits=self._adapted(task.limits, task.network_is_stated),
            keep_processes=keep,
            pristine=pristine,
        )

    def _tests(self, tests: Tests) -> Tests:
        separate = tests.separate
        if separate is None:
            return tests
        limits = self._adapted(separate.limits, separate.network_is_stated)
        return replace(tests, separate=replace(separate, limits=limits))

    def _adapted(self, limits: ResourceLimits, network_is_stated: bool) -> ResourceLimits:
        if self.network is None:
            network = limits.network and (network_is_stated or not self.strict)
        else:
            network = bool(self.network)
        given: dict[str, Any] = dict(self.limits)
        return replace(limits, network=network, host_network=network and self.network == "host", **given)


def _limits(limits: object) -> dict[str, float]:
    if not isinstance(limits, Mapping):
        raise ArgumentTypeError(f"limits must be a table such as {{'memory': '4G'}}, got {limits!r:.80}")
    check_names("limits", map(str, limits), _LIMITS)
    return {str(name): _limit(str(name), value) for name, value in limits.items()}


def _limit(name: str, value: object) -> float:
    if name == "cpus":
        return real("limits: cpus", value, minimum=0.01, maximum=1024)
    if name == "processes":
        return integer("limits: processes", value, minimum=8, maximum=1 << 22)
    if isinstance(value, str):
        try:
            value = bytes_of_size(value)
        except ValueError as error:
            raise ArgumentError(f"limits: {name}: {error}, got {value!r}") from error
    return integer(f"limits: {name}", value, minimum=_LEAST_MEMORY if name == "memory" else 1 << 20, maximum=1 << 50)
