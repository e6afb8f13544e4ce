"""The folder of a training run: a checkpoint, metrics, and episodes that ``gem view`` shows."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from gem import __version__ as gem_version
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_rl.training.curves import curves
from gem_rl.training.recipe import Recipe
from gem_rollout.trajectory import Trajectory, TrajectoryWriter, read_trajectories

__all__ = ["TrainingFolder"]

_RUN_SCHEMA = 1
"""Of ``run.json``, as gem-eval writes and reads it."""


class TrainingFolder:
    """What a run has on disk.

    ``checkpoint.pt`` is replaced as a whole. Lines of ``metrics.jsonl`` and ``episodes.jsonl`` that a killed trainer
    wrote after its last checkpoint are dropped when it resumes, so that each update is in them once.

    Args:
        path: the folder; made if necessary.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The figures of each update so far."""
        return self._lines("metrics.jsonl")

    def _lines(self, name: str) -> list[dict[str, Any]]:
        try:
            text = (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        # The last line may be cut off, and a run tracker may have written lines of its own.
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        return [line for line in lines if "update" in line]

    def begin(self, recipe: Recipe, seed: int, specs: Mapping[str, EnvSpec]) -> None:
        """Write ``run.json``: settings, environments with digests of their code, seed, versions, start."""
        environments = [
            {
                "label": name,
                "id": name,
                "spec": spec.to_dict(),
                "digest": spec.source_digest,
                "episodes": 0,  # as many as are recorded: some of each update
                "group": recipe.group,
                "seed": seed,
                "kwargs": dict(recipe.kwargs),
            }
            for name, spec in specs.items()
        ]
        record = {
            "schema": _RUN_SCHEMA,
            "name": self.path.name,
            "agent": f"gem train ({recipe.algorithm})",
            "environments": environments,
            "group": recipe.group,
            "seed": seed,
            "training": recipe.to_dict(),
            "packages": {"gem-core": gem_version, "torch": torch.__version__},
            "python": platform.python_version(),
            "platform": platform.platform(),
            "started_at": time.time(),
        }
        self._replace("run.json", lambda path: path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8"))

    def record(self, figures: Mapping[str, Any], episodes: Iterable[Trajectory]) -> None:
        """Append the figures of an update and some of its episodes."""
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")
        with TrajectoryWriter(self.path / "episodes.jsonl") as writer:
            for episode in episodes:
                writer.write(episode)

    def record_evaluation(self, update: int, achieved: Sequence[bool | None]) -> None:
        """Append which tasks an evaluation achieved after an update, in the order of their seeds; None if unknown."""
        with (self.path / "evaluations.jsonl").open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"update": update, "achieved": [None if one is None else int(one) for one in achieved]})
                + "\n"
            )

    def achieved(self, update: int) -> list[int | None] | None:
        """Return which tasks were achieved after an update, each 0, 1 or, where that is not known, None.

        None for all if that was not evaluated.
        """
        found = [line for line in self._lines("evaluations.jsonl") if line["update"] == update]
        return found[-1]["achieved"] if found else None

    def draw(self, title: str) -> Path:
        """Draw the curves of the run so far into ``curves.svg``, and return its path."""
        picture = curves(self.metrics, title)
        self._replace("curves.svg", lambda path: path.write_text(picture + "\n", encoding="utf-8"))
        return self.path / "curves.svg"

    def save(self, content: Mapping[str, Any]) -> None:
        """Write a checkpoint in place of the one before."""
        self._replace("checkpoint.pt", lambda path: torch.save(dict(content), path))

    def checkpoint(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last checkpoint, and drop the lines of later updates; None in a new folder.

        Args:
            settings: what must be as it was when the run began, by name.

        Raises:
            ArgumentError: if one of the settings is another.
        """
        path = self.path / "checkpoint.pt"
        if not path.exists():
            return None
        found: dict[str, Any] = torch.load(path, weights_only=False, map_location="cpu")
        found["recipe"] = Recipe.from_dict(found["recipe"]).to_dict()  # an earlier version knew fewer settings
        for name, value in settings.items():
            if found[name] != value:
                raise ArgumentError(
                    f"{path} was trained with {name} = {found[name]!r}, and now it is {value!r}; take another folder, "
                    "or the same settings"
                )
        self._drop_after(found["update"])
        return found

    def _drop_after(self, update: int) -> None:
        kept = [line for line in self.metrics if line["update"] <= update]
        text = "".join(json.dumps(line) + "\n" for line in kept)
        self._replace("metrics.jsonl", lambda path: path.write_text(text, encoding="utf-8"))
        episodes = self.path / "episodes.jsonl"
        if episodes.exists():
            done = [one for one in read_trajectories(episodes) if one.metadata["update"] <= update]

            def write(path: Path) -> None:
                with TrajectoryWriter(path) as writer:
                    for one in done:
                        writer.write(one)

            self._replace("episodes.jsonl", write)

    def _replace(self, name: str, write: Callable[[Path], Any]) -> None:
        temporary = self.path / f"{name}.new"
        temporary.unlink(missing_ok=True)
        write(temporary)
        temporary.replace(self.path / name)
