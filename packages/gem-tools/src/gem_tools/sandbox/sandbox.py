"""Sandboxes for the code of agents: :class:`Sandbox`."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from gem.arguments import choice, integer
from gem.cpus import usable_cpus
from gem.errors import ArgumentError, ArgumentTypeError
from gem_tools.sandbox.errors import InfrastructureError, SandboxError, SandboxWarning
from gem_tools.sandbox.execution import Execution
from gem_tools.sandbox.guarantees import describe_missing
from gem_tools.sandbox.jail_launcher import JailLauncher
from gem_tools.sandbox.launcher import Launcher
from gem_tools.sandbox.launchers import WarmLaunchers
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.plain_launcher import PlainLauncher
from gem_tools.sandbox.restricted_launcher import RestrictedLauncher
from gem_tools.sandbox.running import Running, program_file, text_file, watch
from gem_tools.sandbox.session import Session

__all__ = ["Sandbox", "default_sandbox"]

_DIED = (
    "the sandbox of this program was killed twice from outside, probably because the machine ran out of memory; this "
    "says nothing about the program"
)


class Sandbox:
    """Runs untrusted Python outside this process; any number of threads may use it at once.

    Processes start on first use, and their start does not count against the time of a program. A process that
    is forked from this one gets its own fork servers.

    Args:
        mode: ``"auto"``: in the strongest tier of :data:`~gem_tools.sandbox.guarantees.TIERS` that this machine
            allows, with one :class:`SandboxWarning` if that is not the jail. ``"required"``: only in a jail.
            ``"restricted"``: only with Landlock. ``"plain"``: in plain subprocesses, no warning.
        limits: the default limits of an execution.
        libraries: import names of the installed libraries that programs may import besides the standard library, such
            as ``["numpy"]``; what these depend on can be imported too. None for all that this process could import.

    Raises:
        ArgumentError: if one of the libraries is not installed.
    """

    def __init__(
        self, mode: str = "auto", limits: Limits | None = None, libraries: Sequence[str] | None = None
    ) -> None:
        self.mode = choice("mode", mode, ("auto", "required", "restricted", "plain"))
        self.limits = _checked_limits(limits, Limits())
        self.libraries = None if libraries is None else _library_names(libraries)
        self._jails = WarmLaunchers(JailLauncher, self.libraries)
        self._restricted = WarmLaunchers(RestrictedLauncher, self.libraries)
        self._without_jail = mode == "restricted"
        self._plain = PlainLauncher(self.libraries) if mode == "plain" else None
        self._closed = False
        self._lock = threading.Lock()

    @property
    def jailed(self) -> bool:
        """Whether programs run in a jail; checked on first use.

        Raises:
            SandboxError: with ``"required"``, if no jail is available.
        """
        return self.tier == "jail"

    @property
    def tier(self) -> str:
        """The tier of :data:`~gem_tools.sandbox.guarantees.TIERS` in which programs run; chosen on first use.

        Raises:
            SandboxError: if the mode requires a tier that is not available.
        """
        return self._launcher("").tier

    @property
    def memory_limited_by(self) -> str:
        """What limits the memory of an execution; chosen on first use.

        ``"cgroup"``: the kernel, for all processes together with its own memory for them; only in a jail, and where
        this user may make control groups of version 2. The watchdog continues beside it. ``"watchdog"``: measurements
        of all processes together, every 0.1 s. ``"process"``: the kernel, for each process alone.

        Raises:
            SandboxError: if the mode requires a tier that is not available.
        """
        return self._launcher("").memory_limited_by

    def run(self, code: str, *, stdin: str | bytes = "", limits: Limits | None = None, prelude: str = "") -> Execution:
        """Run a program as ``__main__`` and wait for its end.

        Args:
            code: the program.
            stdin: what it can read.
            limits: its limits; the sandbox's own by default.
            prelude: code that runs first in the same namespace and does not count for line numbers.

        Raises:
            SandboxError: if no sandbox is available; never because of the program.
            InfrastructureError: if the sandbox was killed twice; a program whose sandbox dies is run again, apart from
                all others.
        """
        executions = self._run([stdin], code, prelude, limits, 1, None)
        assert executions[0] is not None
        return executions[0]

    def run_many(
        self,
        code: str,
        stdins: Sequence[str | bytes],
        *,
        limits: Limits | None = None,
        parallel: int | None = None,
        until: Callable[[int, Execution], bool] | None = None,
        prelude: str = "",
    ) -> list[Execution | None]:
        """Run a program once for each input, in parallel, each in its own isolation.

        Args:
            code: the program.
            stdins: the standard input of each execution.
            limits: the limits of each execution.
            parallel: the number of parallel executions; the number of processors by default.
            until: called in this thread with the index of an input and its execution after each end; True
                stops the rest.
            prelude: see :meth:`run`.

        Returns:
            The executions in the order of the inputs; None for those that were stopped or never started.
        """
        at_once = usable_cpus() if parallel is None else integer("parallel", parallel, minimum=1)
        return self._run(list(stdins), code, prelude, limits, at_once, until)

    def session(self, limits: Limits | None = None) -> Session:
        """Return an interpreter that keeps its state between calls.

        Args:
            limits: the limits of each call; ``cpu_seconds``, ``memory``, ``disk`` and ``processes`` of all together.
        """
        return Session(self._launcher, _checked_limits(limits, self.limits))

    def warm_up(self, code: str = "") -> None:
        """Start the fork server of a program ahead, so that its first run does not wait."""
        self._launcher(code).check()

    def close(self) -> None:
        """Close the sandbox and end its executions. A second call does nothing; a later run is an error."""
        self._closed = True
        self._jails.close()
        self._restricted.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Sandbox:
        return self

    def __reduce__(self) -> tuple[Callable[..., Sandbox], tuple[object, ...]]:
        if _shared.get(self.mode) is self:
            return default_sandbox, (self.mode,)
        return Sandbox, (self.mode, self.limits, self.libraries)

    def __repr__(self) -> str:
        return f"Sandbox({self.mode!r}, {self.limits})"

    def _run(
        self,
        stdins: Sequence[str | bytes],
        code: str,
        prelude: str,
        limits: Limits | None,
        at_once: int,
        until: Callable[[int, Execution], bool] | None,
    ) -> list[Execution | None]:
        limits = _checked_limits(limits, self.limits)
        if not isinstance(code, str) or not isinstance(prelude, str):
            raise ArgumentTypeError(f"code and prelude must be str, got {type(code)} and {type(prelude)}")
        inputs = [_bytes(stdin) for stdin in stdins]
        launcher = self._launcher(prelude + code)
        launcher.check()
        generation = launcher.generation
        executions: list[Execution | None] = [None] * len(inputs)
        program = program_file(code, prelude)
        again: list[int] = []

        def done(number: int, execution: Execution | None, numbers: Sequence[int], last: bool) -> bool:
            index = numbers[number]
            if execution is None:
                if last:
                    raise InfrastructureError(_DIED)
                again.append(index)
                return False
            executions[index] = execution
            return until is not None and until(index, execution)

        def begin(numbers: Sequence[int], by: Launcher) -> Iterable[Callable[[], Running]]:
            return (partial(_start, by, limits, program, inputs[index]) for index in numbers)

        try:
            everything = range(len(inputs))
            first = begin(everything, launcher)
            watch(first, at_once, lambda number, execution: done(number, execution, everything, False))
            if again:
                # The reports of these executions were closed without an answer: their fork server has died. One of them
                # may have killed it, so that they get another one, which serves nobody else.
                launcher.discard(generation)
                rest = list(again)
                apart = launcher.twin()
                try:
                    watch(begin(rest, apart), 1, lambda number, execution: done(number, execution, rest, True))
                finally:
                    if apart is not launcher:
                        apart.close()
        finally:
            os.close(program)
        return executions

    def _launcher(self, code: str) -> Launcher:
        """The launcher of programs."""
        if self._closed:
            raise SandboxError("this sandbox is closed; create another one")
        if self._plain is not None:
            return self._plain
        if self._without_jail:
            try:
                self._restricted.check()
            except SandboxError as error:
                raise SandboxError(
                    f"no execution can be restricted here: {error}; Landlock needs Linux 5.13, and a container engine "
                    "whose filter of system calls allows it"
                ) from error
            return self._restricted.launcher_for(code)
        try:
            self._jails.check()
        except SandboxError as error:
            if self.mode == "required":
                raise SandboxError(
                    f"no jail is available for the code of agents: {error}; allow user namespaces to this user, run as "
                    "root outside of a container, or use mode='auto' to run it with less isolation"
                ) from error
            self._fall_back(str(error))
            return self._launcher(code)
        return self._jails.launcher_for(code)

    def _fall_back(self, reason: str) -> None:
        """Choose the strongest tier below the jail, and warn."""
        with self._lock:
            if self._without_jail or self._plain is not None:
                return
            try:
                self._restricted.check()
            except SandboxError as error:
                reason = f"{reason}; nor can it be restricted with Landlock: {error}"
                self._plain = PlainLauncher(self.libraries)
                tier = self._plain.tier
            else:
                self._without_jail = True
                tier = RestrictedLauncher.tier
        warnings.warn(
            _WARNINGS[tier].format(reason=reason, missing=describe_missing(tier)), SandboxWarning, stacklevel=6
        )


_WARNINGS = {
    "restricted": (
        "The code of agents runs restricted by Landlock and a filter of system calls, because no jail is available: "
        "{reason}. In contrast to a jail, it can {missing}. "
        "Pass sandbox='required' to raise an error instead, or mode='restricted' to run it so without this warning."
    ),
    "plain": (
        "The code of agents runs in plain subprocesses, because no jail is available: {reason}. Only the time, memory "
        "and output of each process are limited. The code can {missing}. Pass sandbox='required' to raise an error "
        "instead."
    ),
}


def _start(launcher: Launcher, limits: Limits, program: int, stdin: bytes) -> Running:
    given = text_file(stdin)
    try:
        return launcher.start(limits, (program, given))
    finally:
        os.close(given)


def _bytes(stdin: object) -> bytes:
    if isinstance(stdin, bytes):
        return stdin
    if not isinstance(stdin, str):
        raise ArgumentTypeError(f"stdin must be str or bytes, got {type(stdin).__name__}")
    return stdin.encode("utf-8", "surrogateescape") if _encodable(stdin) else stdin.encode("utf-8", "replace")


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _checked_limits(limits: object, otherwise: Limits) -> Limits:
    if limits is None:
        return otherwise
    if not isinstance(limits, Limits):
        raise ArgumentTypeError(f"limits must be Limits, got {type(limits).__name__}")
    return limits


def _library_names(libraries: object) -> tuple[str, ...]:
    if isinstance(libraries, str) or not isinstance(libraries, Sequence):
        raise ArgumentTypeError(f"libraries must be a list of import names, got {libraries!r:.80}")
    for name in libraries:
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"libraries must hold names of top-level modules, such as 'numpy', got {name!r:.80}")
    return tuple(sorted(set(libraries)))


_shared: dict[str, Sandbox] = {}
_shared_lock = threading.Lock()


def default_sandbox(mode: str = "auto") -> Sandbox:
    """Return the sandbox that all code in this process shares; it ends with the process.

    Args:
        mode: see :class:`Sandbox`; each mode has one sandbox, and all use the same fork servers.
    """
    choice("mode", mode, ("auto", "required"))
    with _shared_lock:
        if not _shared:
            _shared["auto"] = Sandbox("auto")
            _shared["required"] = Sandbox("required")
            _shared["required"]._jails = _shared["auto"]._jails
        return _shared[mode]
