"""``gem terminal list``."""

from __future__ import annotations

import re
from typing import Any

import click

from gem_cli.output import Table, json_option, print_json
from gem_terminal.cli.options import selection_options, targets_argument
from gem_terminal.cli.task_targets import Selection, tasks_of
from gem_terminal.task import Image
from gem_terminal.task_set import TaskFolder
from gem_terminal.verdicts.verdict_worth import verdict_worth

__all__ = ["list_command"]

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.IGNORECASE | re.MULTILINE)


@click.command("list")
@targets_argument
@selection_options
@json_option
def list_command(targets: tuple[str, ...], selection: Selection, as_json: bool) -> None:
    """List the tasks of folders, or the bundled tasks.

    A folder is a task or contains tasks. A malformed or unsupported task is listed with the reason and does not affect
    the others. The command needs no engine. The exit code is 1 if no task can be used.

    \b
    Examples:
      gem terminal list
      gem terminal list ~/terminal-bench-2
      gem terminal list my-tasks --filter "difficulty=easy and not tag:git" --json
    """
    found = tasks_of(targets, selection)
    if as_json:
        print_json([_described(one) for one in found])
    else:
        _show(found)
    if all(one.task is None for one in found):
        raise click.exceptions.Exit(1)


def _show(found: list[TaskFolder]) -> None:
    rows = Table(("task", "format", "difficulty", "image", "network", "time", "solution", "verdict"), right=("time",))
    for one in found:
        row = _described(one)
        if one.task is not None:
            rows.add_row(
                row["name"],
                row["format"],
                row["difficulty"] or "",
                row["image"],
                "yes" if row["network"] else "no",
                "" if row["seconds"] is None else f"{row['seconds']:g} s",
                "yes" if row["solution"] else "no",
                row["verdict"],
            )
    if rows.rows:
        rows.show()
    wrong = [one for one in found if one.task is None]
    for one in wrong:
        click.secho(f"{one.name}: {one.error}", fg="yellow")
    usable = len(found) - len(wrong)
    count = f"{usable} {'task' if usable == 1 else 'tasks'}"
    click.secho(f"{count}, and {len(wrong)} that cannot be used" if wrong else count, dim=True)


def _described(one: TaskFolder) -> dict[str, Any]:
    task = one.task
    if task is None:
        return {"name": one.name, "folder": str(one.folder), "error": one.error}
    difficulty = task.metadata.get("difficulty")  # metadata may hold values of any type
    return {
        "name": task.name,
        "folder": str(task.folder),
        "error": None,
        "format": task.format,
        "difficulty": None if difficulty is None else str(difficulty),
        "image": _image(task.image),
        "network": task.limits.network,
        "seconds": task.seconds,
        "solution": task.solution is not None,
        "verifier": "separate" if task.tests.separate else "pristine" if task.pristine else "shared",
        "verdict": verdict_worth(task).level,
        "verdict_reason": verdict_worth(task).reason,
        "cpus": task.limits.cpus,
        "memory": task.limits.memory,
        "disk": task.limits.disk,
        "keep_processes": task.keep_processes,
    }


def _image(image: Image) -> str:
    """Return the name of an image, or the base image of a Dockerfile."""
    if image.folder is None:
        return str(image.name)
    try:
        bases = _FROM.findall((image.folder / image.dockerfile).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        bases = []
    return f"built on {bases[-1]}" if bases else "built"
