"""What a worker must know: :class:`WorkerShare`, and the checks for what cannot travel to one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from gem.entry_points import name_of
from gem_eval.runs.agents import in_this_process
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.runs.evaluation_config import EvaluationConfig, EvaluationEnvironment
from gem_eval.runs.resolution import wrapped_specs
from gem_eval.runs.run_config import RunConfig

__all__ = ["WorkerShare", "check_importable", "check_travels", "divided"]

_OF_THE_EVALUATION: dict[str, Any] = {"rewards": (), "judge": {}, "track": (), "prices": None, "workers": 1}
"""Settings that concern the process that writes the run."""
_TUPLES = ("wrappers", "rewards", "track")
_RATES = ("requests_per_minute", "tokens_per_minute")


@dataclass(frozen=True)
class WorkerShare:
    """The part of an evaluation that is one worker's."""

    config: EvaluationConfig
    """With the worker's share of the concurrency and of the limits of the model's server."""
    run: RunConfig
    unfinished: str
    """The journal of the run, from which episodes are taken over."""
    journal: str
    """The worker's own."""

    @classmethod
    def share(cls, number: int, workers: int, config: EvaluationConfig, run: RunConfig, **paths: str) -> WorkerShare:
        """Return the settings of one worker.

        Args:
            number: of the worker, from 0.
            workers: how many there are.
            config: of the evaluation.
            run: the same.
            paths: ``unfinished`` and ``journal``.
        """
        model = config.model if config.base_url is None else run.model
        own = config.with_settings(
            concurrency=divided(config.concurrency, workers)[number],
            client=_shared(config.client, number, workers),
            players={
                name: {**settings, "client": _shared(settings.get("client", {}), number, workers)}
                for name, settings in config.players.items()
            },
            model=model,
            **_OF_THE_EVALUATION,
        )
        return cls(own, run, **paths)

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON. They may hold what is secret, and so are for the process alone."""
        config = {item.name: getattr(self.config, item.name) for item in fields(self.config)}
        config["environments"] = [asdict(item) for item in self.config.environments]
        return {"config": config, "run": self.run.to_dict(), "unfinished": self.unfinished, "journal": self.journal}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> WorkerShare:
        """Undo :meth:`to_dict`."""
        values = dict(record["config"])
        values["environments"] = tuple(EvaluationEnvironment(**item) for item in values["environments"])
        for name in _TUPLES:
            values[name] = None if values[name] is None else tuple(values[name])
        run = RunConfig.from_dict(record["run"])
        return cls(EvaluationConfig(**values), run, record["unfinished"], record["journal"])


def divided(total: int, parts: int) -> list[int]:
    """Return a number in parts that differ by at most one, the larger ones first."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def check_travels(config: EvaluationConfig, *, has_client: bool) -> None:
    """Raise if what plays is there in this process alone, so that no worker can have it.

    Raises:
        EvaluationConfigError: with what it is, and what to do.
    """
    if os.name != "posix":
        raise EvaluationConfigError(f"workers need a POSIX system, and this one is {os.name!r}; leave out --workers")
    if has_client:
        raise EvaluationConfigError("a client that the caller brings stays in its process; leave out client or workers")
    for url in (config.base_url, *(settings.get("base_url") for settings in config.players.values())):
        if in_this_process(url):
            raise EvaluationConfigError(
                f"{url} is a model in this process, of which each worker would hold a copy; serve it, and name its "
                "address with --base-url, or leave out --workers"
            )


def check_importable(config: EvaluationConfig, run: RunConfig) -> None:
    """Raise if a class of the run has no name by which a worker can import it.

    Raises:
        EvaluationConfigError: with its name here.
    """
    for name in _names(config, run):
        if name.startswith("__main__:") or "<" in name:
            raise EvaluationConfigError(
                f"{name} is known in this process alone; move it into a module that can be imported, or leave out "
                "--workers"
            )


def _names(config: EvaluationConfig, run: RunConfig) -> Iterator[str]:
    """Yield the names of all classes that a worker must load."""
    yield config.agent or ""
    for settings in config.players.values():
        yield str(settings.get("agent") or "")
    for spec in wrapped_specs(run.environments).values():
        yield name_of(spec.entry_point)
        yield from (name_of(item.entry_point) for item in spec.wrappers)


def _shared(client: Mapping[str, Any], number: int, workers: int) -> dict[str, Any]:
    """Return the settings of a client with one worker's share of the limits of a server."""
    shared = dict(client)
    for name in _RATES:
        if isinstance(shared.get(name), int | float):
            shared[name] = shared[name] / workers
    if isinstance(shared.get("concurrency"), int):
        shared["concurrency"] = max(1, divided(shared["concurrency"], workers)[number])
    return shared
