"""The Task API of openenv 0.10 for our environments: a task is a seed, and a split a range of seeds.

A client lists splits and tasks by HTTP and passes ``split`` and ``index`` to its reset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gem.arguments import choice, integer
from gem.errors import ArgumentError, ArgumentTypeError
from gem_server.connection import HttpAnswer, PlainRequest

__all__ = ["SPLITS", "TASK_ROUTES", "seed_of_task", "task_answer"]

SPLITS: Mapping[str, range] = {"train": range(1000), "test": range(1000, 2000)}
"""Name of a split → the seeds of its tasks."""

TASK_ROUTES = ("splits", "tasks", "num_tasks", "task", "task_range")
"""The last parts of the paths, after the name of the environment."""


def seed_of_task(split: object, index: object) -> int:
    """Return the seed of a task.

    Raises:
        ArgumentError, ArgumentTypeError: if there is no such task.
    """
    seeds = _seeds(split)
    return seeds[integer("index", index, minimum=0, maximum=len(seeds) - 1)]


def task_answer(env_id: str, what: str, request: PlainRequest) -> HttpAnswer:
    """Return the answer to a request for a path that ends with one of :data:`TASK_ROUTES`; 400 for a wrong one."""
    if what == "splits":
        return HttpAnswer.of([{"name": name, "type": name} for name in SPLITS])
    try:
        body = json.loads(request.body)
        if not isinstance(body, dict):
            raise ArgumentError(f"the body must be an object with a split, got {body!r:.60}")
        seeds = _seeds(body.get("split"))
        if what == "task":
            return HttpAnswer.of({"task": _task(env_id, seed_of_task(body.get("split"), body.get("index")))})
        if what == "num_tasks":
            return HttpAnswer.of({"num_tasks": len(seeds)})
        bounds = (body.get("start"), body.get("stop")) if what == "task_range" else (None, None)
        for name, bound in zip(("start", "stop"), bounds, strict=True):
            if bound is not None:
                integer(name, bound)
        tasks = [_task(env_id, seed) for seed in seeds[slice(*bounds)]]
        return HttpAnswer.of({"tasks": tasks, **({"env_name": env_id} if what == "tasks" else {})})
    except (ValueError, RecursionError, ArgumentError, ArgumentTypeError) as error:
        return HttpAnswer.of({"detail": str(error)[:300]}, 400)


def _seeds(split: object) -> range:
    return SPLITS[str(choice("split", split, SPLITS))]


def _task(env_id: str, seed: int) -> dict[str, Any]:
    return {"id": f"{env_id}#{seed}", "seed": seed}
