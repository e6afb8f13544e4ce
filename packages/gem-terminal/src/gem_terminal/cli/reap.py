"""``gem terminal reap``."""

from __future__ import annotations

from typing import Any

import click

from gem_cli.output import json_option, print_json
from gem_terminal.cli.options import targets_argument
from gem_terminal.cli.task_targets import readable, tasks_of
from gem_terminal.engines import NAMES, Engine
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

__all__ = ["reap_command"]


@click.command("reap")
@targets_argument
@click.option("--engine", "engine_name", type=click.Choice(NAMES), help="Only this engine.  [default: all that work]")
@click.option("--images", is_flag=True, help="Also remove images, except those of the bundled tasks and of PATH.")
@json_option
def reap_command(targets: tuple[str, ...], engine_name: str | None, images: bool, as_json: bool) -> None:
    """Remove the containers of processes that have ended.

    Containers of running processes stay. Every process also does this before its first episode. --images also removes
    images, but never base images; use it while nothing runs.

    \b
    Examples:
      gem terminal reap
      gem terminal reap --images my-tasks       keeps the images of the bundled tasks and of my-tasks
    """
    if targets and not images:
        raise click.UsageError("PATH names the tasks whose images are kept; it needs --images")
    keep = _images((*targets,)) if images else []
    rows = [_reaped(engine, keep if images else None) for engine in _engines(engine_name)]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        removed = f"{row['containers']} containers"
        if row["images"] is not None:
            removed += f" and {row['images']} images"
        click.echo(f"{row['engine']}: removed {removed}")
    if not rows:
        click.echo("No engine works here, so there is nothing to remove; see: gem terminal engines")


def _images(targets: tuple[str, ...]) -> list[Image]:
    tasks = readable([*tasks_of(()), *(tasks_of(targets) if targets else ())])
    separate = [task.tests.separate.image for task in tasks if task.tests.separate is not None]
    return [task.image for task in tasks] + separate


def _engines(name: str | None) -> list[Engine]:
    from gem_terminal.engines import engine_by_name

    if name is not None:
        return [engine_by_name(name)]
    found = []
    for each in NAMES:
        try:
            found.append(engine_by_name(each))
        except EngineError:  # an engine that does not work has nothing to remove
            continue
    return found


def _reaped(engine: Engine, keep: list[Image] | None) -> dict[str, Any]:
    containers = engine.reap()
    return {
        "engine": engine.name,
        "containers": containers,
        "images": None if keep is None else engine.discard_images(keep),
    }
