"""What follows the death of a worker: :func:`revivals` and the texts of the errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.vector.runner_account import RunnerAccount
from gem_processes.process_mode.packing import pack
from gem_processes.process_mode.timed_group import overdue_error
from gem_processes.process_mode.worker_pool import WorkerHandle

__all__ = ["Revival", "death_errors", "last_observation", "revive"]

Revival = tuple[int, RunnerAccount, str, bytes, str | None]
"""Number, account after the loss, error, last observation (packed), kind of the result that the caller waits for."""

_NEIGHBOUR = "NeighbourCrashError"
"""The type of the error of an environment that was lost through no fault of its own; :mod:`gem_rollout` plays its
episode again."""


def death_errors(worker: WorkerHandle, how: str, step_timeout: float | None, command: str) -> tuple[str, str]:
    """Return the error of the environment whose call was running when a worker died, and that of its neighbours.

    Args:
        worker: the dead one.
        how: how its process ended, such as ``"was killed by SIGSEGV"``.
        step_timeout: the time limit of calls.
        command: the command that was running: step, reset or make.
    """
    running = worker.page.running
    if worker.hung is not None and step_timeout is not None:
        own = overdue_error(command, step_timeout)
        return own, (
            f"{_NEIGHBOUR}: its process was ended because environment {worker.hung}, which shares it, did not return "
            f"from {command} within {step_timeout} s"
        )
    own = f"ProcessCrashError: its process {how}"
    if running < 0:
        return own, own
    return own, f"{_NEIGHBOUR}: its process {how} during a call of environment {running}, which shares it"


def revive(
    number: int,
    account: RunnerAccount,
    error: str,
    observation: bytes,
    pending: str | None,
    *,
    was_running: bool,
) -> tuple[Revival, RunnerAccount]:
    """Return what the next worker must know of an environment, and its account from now on.

    Args:
        number: of the environment.
        account: as of the last message.
        error: the reason of its loss.
        observation: the last one, packed.
        pending: the command whose result the caller waits for; None if it waits for none.
        was_running: whether that command was running when the worker died.
    """
    answer: str | None = None
    if pending == "step":
        # The environment may have died while it was built again: one attempt per call is enough.
        answer = "failed step" if was_running and account.is_lost else "step"
    elif pending is not None and was_running:
        answer = "failed reset"
    account = account.after_loss()
    return (number, account, error, observation, answer), account


def last_observation(results: Mapping[int, Any], number: int) -> bytes:
    """Return the observation of an environment's last result, packed; an empty one if there is none."""
    last = results.get(number)
    try:
        return pack(last[0] if type(last) is tuple else "")
    except Exception:  # it came from another process, but goes to none
        return pack("")
