"""Results from a run folder: one for each environment of the run, with the lines of its episodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import PurePath
from typing import NamedTuple

from gem.ids import normalized_distribution, parse_id
from gem_eval.hub_results.figures import episode_of, summary_of
from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.run_config import RunConfig, RunEnvironment
from gem_hub_client.results.record import SCRIPTED_HARNESS, ResultError, ResultRecord

__all__ = ["PublishedWheel", "RunResult", "results_of_run"]

HARNESS = "gem-eval"


class PublishedWheel(NamedTuple):
    """The file from which a package is installed; both empty for a package without a release."""

    filename: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class RunResult:
    """One environment of a run, ready to be signed."""

    record: ResultRecord
    """Without ``wheel``, ``publisher`` and ``key``, which :meth:`published` adds."""
    raw: bytes
    """The lines of its episodes, in the record's order."""

    def published(self, wheel: PublishedWheel, publisher: str, key: str) -> ResultRecord:
        """Return the record with what its publisher adds."""
        return replace(self.record, filename=wheel.filename, wheel=wheel.sha256, publisher=publisher, key=key)


def results_of_run(folder: RunFolder, *, harness: str = "", raw_url: str = "") -> list[RunResult]:
    """Return the results of a run.

    Args:
        folder: a finished run.
        harness: what ran the agent; by default the agent program, the class that drives the model, or the loop of
            gem-eval.
        raw_url: where the lines of the episodes will lie, if not in the hub.

    Raises:
        ResultError: if the run goes on, episodes are missing, or a return is no finite number.
    """
    if folder.running:
        raise ResultError(f"{folder.path}: the run goes on; publish it when it has ended")
    rows = folder.rows()
    return [_result(folder, item, rows, harness, raw_url) for item in folder.config.environments]


def _result(
    folder: RunFolder, item: RunEnvironment, rows: Iterable[EpisodeRow], harness: str, raw_url: str
) -> RunResult:
    played = sorted((row for row in rows if row.env == item.label), key=lambda row: (row.seed, row.repetition))
    if len(played) != item.episodes:
        raise ResultError(
            f"{item.label}: {len(played)} of {item.episodes} episodes were played; a result has all of them. Go on "
            f"with: gem eval --resume {folder.path}"
        )
    endless = next((row for row in played if not math.isfinite(row.episode_return)), None)
    if endless is not None:
        raise ResultError(f"{item.label}: the return of seed {endless.seed} is no finite number")
    if item.digest is None or not item.spec.distribution:
        raise ResultError(f"{item.label}: is of no installed package, so nobody else could check its result")
    lines = [folder.raw(row) for row in played]
    raw = b"".join(lines)
    config = folder.config
    distribution = normalized_distribution(item.spec.distribution)
    version = config.packages.get(item.spec.distribution) or item.spec.version
    model = "" if config.model is None else config.served_model or config.model
    record = ResultRecord(
        package=distribution,
        version=str(version),
        filename="",
        wheel="",
        code=item.digest,
        environment=parse_id(item.spec.id).unowned,
        kwargs=dict(item.kwargs),
        wrappers=[name if isinstance(name, str) else dict(name) for name in item.wrappers],
        limits=dict(config.limits),
        publisher="",
        key="",
        created=datetime.fromtimestamp(int(config.started_at or 0), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        agent=_agent(config),
        model=model,
        harness=harness or _harness(config),
        sampling=dict(config.sampling),
        prompt=sha256(config.system.encode()).hexdigest() if config.system else "",
        software=dict(_software(config)),
        seed=item.seed,
        group=item.group,
        planned=item.episodes,
        episodes=tuple(episode_of(row, sha256(line).hexdigest()) for row, line in zip(played, lines, strict=True)),
        summary=summary_of([replace(row, env=parse_id(item.spec.id).unowned) for row in played]),
        raw_sha256=sha256(raw).hexdigest(),
        raw_size=len(raw),
        raw_url=raw_url,
    )
    return RunResult(record, raw)


def _agent(config: RunConfig) -> str:
    """Return what acted; a class that drives a model is its harness, and the agent is the model."""
    return "model" if config.model is not None else config.agent


def _harness(config: RunConfig) -> str:
    if config.harness is not None:
        return _program(config.harness)
    if config.model is None:
        return SCRIPTED_HARNESS
    return config.agent if ":" in config.agent and config.agent != config.model else HARNESS


def _program(harness: str) -> str:
    """Return an agent program without its arguments and without the folder that it lies in on this machine."""
    kind, colon, what = harness.partition(" ")[0].partition(":")
    return f"{kind}{colon}{PurePath(what).name if kind == 'command' else what}"


def _software(config: RunConfig) -> Iterator[tuple[str, str]]:
    for name, version in list(config.packages.items())[:60]:
        yield normalized_distribution(name), version
