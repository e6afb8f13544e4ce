"""What an episode earns for a task's solution, and for nothing: :func:`check_verdicts`."""

from __future__ import annotations

from dataclasses import replace

from gem_envs_swe.making.proving import RejectedCandidate
from gem_envs_swe.task_set import REPOSITORY
from gem_envs_swe.verdicts.verdict import VerdictOptions, judge
from gem_envs_swe.workplace.tasks import SweTask
from gem_terminal.copied_folders import copy_in
from gem_terminal.engines import Engine
from gem_terminal.episodes.side_cars import start_with_side_cars
from gem_terminal.episodes.task_session import TaskSession
from gem_terminal.task import CopiedFolder

__all__ = ["check_verdicts"]

_OPTIONS = VerdictOptions(log=False)
"""Those of an episode that names none, whose log nobody reads."""


def check_verdicts(task: SweTask, engine: Engine) -> None:
    """Judge the tree that the agent begins with, and its solution, as at the end of an episode.

    Raises:
        RejectedCandidate: unless the solution solves the task, and doing nothing does not.
        EngineError: if a container or the engine died.
    """
    container, _ = start_with_side_cars(engine, task.container_task)
    try:
        session = TaskSession(
            task.container_task, container, engine=engine, output=0, command_seconds=60.0, seconds=None
        )
    except BaseException:
        container.remove()
        raise
    try:
        # The tests to mend decide this, and the sample of the others does not matter.
        if judge(task, container, engine, replace(_OPTIONS, sample=0)).solved:
            raise RejectedCandidate("the verdict pays for nothing")
        copy_in(container, (CopiedFolder(None, REPOSITORY, task.files(task.solved)),), REPOSITORY)
        if not judge(task, container, engine, _OPTIONS).solved:
            raise RejectedCandidate("the verdict does not pay its solution")
    finally:
        session.close()
