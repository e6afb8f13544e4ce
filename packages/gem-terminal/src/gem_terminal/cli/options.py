"""Options and arguments of several commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from gem_terminal.cli.task_targets import Selection
from gem_terminal.engines import NAMES, is_engine_name
from gem_terminal.engines.third_party import refuse_missing
from gem_terminal.task_options import TaskOptions

__all__ = ["EngineChoice", "engine_option", "selection_options", "targets_argument"]

F = TypeVar("F", bound=Callable[..., Any])


class EngineChoice(click.Choice):  # type: ignore[type-arg, unused-ignore]  # generic since click 8.2
    """One of our engines, or another name that :func:`~gem_terminal.engines.engine_by_name` knows."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; looks at installed packages only for names of others."""
        if isinstance(value, str) and value not in self.choices:
            if is_engine_name(value):
                return value
            refuse_missing(value)
        return super().convert(value, param, ctx)


def engine_option(command: F) -> F:
    """Add ``--engine``, passed on as ``engine_name``."""
    return click.option(
        "--engine",
        "engine_name",
        type=EngineChoice(["auto", *NAMES]),
        default="auto",
        show_default=True,
        help="The container engine; auto is the one in GEM_TERMINAL_ENGINE, or the first that works.",
    )(command)


def targets_argument(command: F) -> F:
    """Add any number of folders and names of tasks, passed on as ``targets``."""
    return click.argument("targets", metavar="[PATH|NAME]...", nargs=-1)(command)


def selection_options(command: F) -> F:
    """Add the options that select tasks and override what they say, passed on as one ``selection``."""

    @wraps(command)
    def selecting(
        *args: Any,
        tasks: tuple[str, ...],
        condition: str | None,
        split: str | None,
        strict: bool,
        network: bool | None,
        host_network: bool,
        limits: tuple[str, ...],
        keep_processes: bool | None,
        verifier: str | None,
        **kwargs: Any,
    ) -> Any:
        options = TaskOptions.checked(
            strict, "host" if host_network else network, dict(map(_limit, limits)), keep_processes, verifier
        )
        return command(*args, selection=Selection(list(tasks) or None, condition, split, options), **kwargs)

    for option in reversed(_SELECTION):
        selecting = option(selecting)
    return cast(F, selecting)


_SELECTION = (
    click.option("--task", "tasks", metavar="NAME", multiple=True, help="Only this task; repeat it for several."),
    click.option(
        "--filter", "condition", metavar="CONDITION", help="Only these tasks, such as 'difficulty=easy and tag:git'."
    ),
    click.option("--split", metavar="NAME", help="Only this subfolder, or tasks with this split in their metadata."),
    click.option(
        "--strict", is_flag=True, help="A network only for tasks that ask; kill processes; --verifier pristine."
    ),
    click.option(
        "--verifier", type=click.Choice(["task", "pristine"]), default=None,
        help="Run the tests as the task says, or in a fresh container with the agent's changes.",
    ),
    click.option("--network/--no-network", default=None, help="Give every task a network, or none."),
    click.option(
        "--host-network", is_flag=True, help="Give every task the network of this machine, with its local services."
    ),
    click.option(
        "--limit", "limits", metavar="NAME=VALUE", multiple=True,
        help="Override a limit of the tasks: cpus, memory, processes or disk, such as memory=4G.",
    ),
    click.option(
        "--keep-processes/--kill-processes", default=None,
        help="Let the agent's processes, such as a server, continue during the tests, or kill them.",
    ),
)  # fmt: skip


def _limit(text: str) -> tuple[str, object]:
    name, found, value = text.partition("=")
    if not found:
        raise click.BadParameter(f"{text!r} must be a name and a value, such as memory=4G", param_hint="--limit")
    if name == "cpus":
        try:
            return name, float(value)
        except ValueError:
            return name, value
    return name, int(value) if value.isdecimal() else value
