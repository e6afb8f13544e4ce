"""``gem terminal build``."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from gem.errors import GemError
from gem_cli.output import Table, json_option, print_json
from gem_terminal.cli.options import engine_option, selection_options, targets_argument
from gem_terminal.cli.task_targets import Selection, tasks_of
from gem_terminal.engines import Engine
from gem_terminal.engines.base import ProgressStage
from gem_terminal.engines.exclusive import PLACES
from gem_terminal.task import Image, Task
from gem_terminal.task_set import TaskFolder

__all__ = ["build_command"]


@click.command("build")
@targets_argument
@engine_option
@selection_options
@click.option("--jobs", "-j", type=click.IntRange(1), default=PLACES, show_default=True, help="Images at a time.")
@json_option
def build_command(targets: tuple[str, ...], engine_name: str, selection: Selection, jobs: int, as_json: bool) -> None:
    """Fetch or build the images of tasks ahead of their first episodes.

    A prebuilt image (docker_image) comes first; where it cannot be had, its Dockerfile is built. A digest of the folder
    identifies an image, so existing images are not built again. The exit code is 1 if a build fails; the other images
    are still built.

    \b
    Examples:
      gem terminal build
      gem terminal build my-tasks --engine namespace
    """
    from gem_terminal.engines import engine_by_name

    found = tasks_of(targets, selection)
    engine = engine_by_name(engine_name)
    with ThreadPoolExecutor(jobs) as threads:
        tasks = threads.map(lambda each: _made(engine, each[1], each[0], len(found)), enumerate(found, 1))
        rows = [row for task in tasks for row in task]
    if as_json:
        print_json(rows)
    else:
        table = Table(("task", "image", "made", "seconds"), right=("seconds",))
        for row in rows:
            made = "failed" if row["error"] else "now" if row["made"] else "before"
            table.add_row(row["task"], row["image"] or "", made, f"{row['seconds']:.1f}")
        table.show()
        for row in rows:
            if row["error"]:
                click.secho(f"{row['task']}: {row['error']}", fg="red", err=True)
    if any(row["error"] for row in rows):
        raise click.exceptions.Exit(1)


def _made(engine: Engine, one: TaskFolder, number: int, total: int) -> list[dict[str, Any]]:
    if one.task is None:
        return [_row(one.name, None, made=False, seconds=0.0, error=one.error)]
    return [_prepared(engine, one.task, image, f"{number} of {total}: {one.name}") for image in _images(one.task)]


def _images(task: Task) -> list[Image]:
    """Return the image of the agent, those of its side-cars, and that of a separate verifier."""
    images = [task.image, *(one.image for one in task.side_cars)]
    return images if task.tests.separate is None else [*images, task.tests.separate.image]


def _prepared(engine: Engine, task: Task, image: Image, title: str) -> dict[str, Any]:
    from gem_terminal.episodes.progress import showing

    begin = time.monotonic()
    reference, error = None, None
    stages: list[ProgressStage] = []
    with showing(title) as tell:

        def heard(stage: ProgressStage) -> None:
            stages[:] = [stage]
            tell(stage)

        try:
            reference = engine.prepare(image, heard)
        except GemError as raised:
            error = str(raised)
    return _row(task.name, reference, made=bool(stages), seconds=time.monotonic() - begin, error=error)


def _row(task: str, image: str | None, *, made: bool, seconds: float, error: str | None) -> dict[str, Any]:
    return {"task": task, "image": image, "made": made, "seconds": round(seconds, 3), "error": error}
