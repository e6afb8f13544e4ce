"""Runs that end in the middle, for tests of what goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from gem_rl.training.agents import SampledAgent
from gem_rl.training.folder import TrainingFolder
from gem_rl.training.program_model import ProgramModel
from gem_rl.training.recipe import Recipe
from gem_rl.training.trainer import Trainer
from gem_rollout.trajectory import Trajectory, TrajectoryWriter, read_trajectories
from gem_rollout.turn_journal import TurnJournal

__all__ = ["Asked", "KilledRun", "end_of", "killed_runs", "resumed_run"]

TIMED = "rollout_cpu_seconds", "update_cpu_seconds"
"""Figures of an update that no two runs share."""
OF_THE_PROCESS = "started_at", "seconds", "act_seconds", "step_seconds", "recalled_turns"
"""Parts of a record that say when and by which process it was played."""


class StoppedError(Exception):
    """Stands for the end of a process."""


def resumed_run(recipe: Recipe, folder: Path) -> Trainer:
    """Return a new trainer in the folder of a run that was stopped after its first update."""

    def stop(figures: dict[str, Any]) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Trainer(recipe, 0, folder).train(stop)
    return Trainer(recipe, 0, folder)


@dataclass
class KilledRun:
    """The folder of a run as it was right after something was written into it."""

    folder: Path
    written: Path
    """The file that the last write went to."""
    size: int
    """Bytes of the line that it added; 0 for a file that is replaced as a whole."""


def killed_runs(recipe: Recipe, folder: Path, kept: Path) -> tuple[Trainer, list[KilledRun]]:
    """Train, and keep the folder as it was after each line of episodes or turns and after each checkpoint.

    Args:
        recipe: the settings.
        folder: of the run.
        kept: where its copies go.
    """
    trainer = Trainer(recipe, 0, folder)
    found: list[KilledRun] = []

    def keeping(write: Callable[..., None], file: Callable[[Any], Path]) -> Callable[..., None]:
        def written(owner: Any, *arguments: Any) -> None:
            path = file(owner)
            before = path.stat().st_size if path.exists() else 0
            write(owner, *arguments)
            copy = kept / str(len(found))
            shutil.copytree(folder, copy)
            found.append(
                KilledRun(copy, copy / path.name, path.stat().st_size - before if path.suffix == ".jsonl" else 0)
            )

        return written

    with (
        mock.patch.object(TurnJournal, "_append", keeping(TurnJournal._append, lambda one: one.path)),
        mock.patch.object(TrajectoryWriter, "write", keeping(TrajectoryWriter.write, lambda one: one.path)),
        mock.patch.object(TrainingFolder, "save", keeping(TrainingFolder.save, lambda one: one.path / "checkpoint.pt")),
    ):
        trainer.train()
    return trainer, found


class Asked:
    """Counts the turns that a model in this process is asked for; a context manager."""

    def __init__(self) -> None:
        self.turns = 0

    def __enter__(self) -> Asked:
        act, call = SampledAgent.act, ProgramModel.__call__

        async def counted_act(agent: SampledAgent, *arguments: Any) -> Any:
            self.turns += 1
            return await act(agent, *arguments)

        async def counted_call(model: ProgramModel, *arguments: Any) -> Any:
            self.turns += 1
            return await call(model, *arguments)

        self._patches = (
            mock.patch.object(SampledAgent, "act", counted_act),
            mock.patch.object(ProgramModel, "__call__", counted_call),
        )
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()


def without(value: Any, names: tuple[str, ...]) -> Any:
    """Return a JSON value without these keys, at any depth."""
    if isinstance(value, dict):
        return {name: without(one, names) for name, one in value.items() if name not in names}
    return [without(one, names) for one in value] if isinstance(value, list) else value


def end_of(folder: Path) -> dict[str, Any]:
    """Return all that a run leaves behind, but for times and for what tells of its interruption."""
    checkpoint = torch.load(folder / "checkpoint.pt", weights_only=False)
    tensors = {**checkpoint.pop("model"), "sampling": checkpoint.pop("sampling")}
    moments = checkpoint.pop("optimizer")["state"]
    tensors.update((f"{place} {name}", one) for place, state in moments.items() for name, one in state.items())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    episodes: list[Trajectory] = list(read_trajectories(folder / "episodes.jsonl"))
    return {
        "bytes": {name: tensor.numpy().tobytes() for name, tensor in tensors.items()},
        "update": checkpoint["update"],
        "shuffling": checkpoint["shuffling"],
        "metrics": without(lines, TIMED),
        "episodes": [without(one.to_dict(), OF_THE_PROCESS) for one in episodes],
        "files": sorted(path.name for path in folder.iterdir()),
    }
