"""From what is asked for to what will run: specs, versions and digests, as ``run.json`` records them."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from gem.arguments import check_names
from gem.entry_points import load, name_of, source_digest
from gem.env_spec import EnvSpec, WrapperSpec
from gem.errors import ArgumentError, ArgumentTypeError
from gem.registry import spec as find_spec
from gem.wrappers import wrapper
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.runs.evaluation_config import EvaluationConfig, EvaluationEnvironment
from gem_eval.runs.run_config import RunConfig, RunEnvironment, without_credentials
from gem_rollout import EpisodeLimits, EpisodeRequest
from gem_rollout.trajectory import EpisodeKey

__all__ = ["episode_limits", "plan", "requests_at_most", "resolve", "settings_of", "wrapped_specs"]

MODEL_WRAPPERS = ("messages",)
"""What a model gets in an environment of several turns, unless the configuration names wrappers."""


def resolve(
    config: EvaluationConfig, *, served_model: str | None = None, rewards: Iterable[Mapping[str, Any]] = ()
) -> RunConfig:
    """Return the run that a configuration describes, with the versions and sources that are installed.

    Args:
        config: what to evaluate.
        served_model: the model as its server names it.
        rewards: the rewards as they describe themselves, without what may be secret.

    Raises:
        EvaluationConfigError: for impossible limits or arguments. Errors of ``gem.spec`` are passed on.
    """
    episode_limits(config)
    environments = tuple(_environment(config, item) for item in config.environments)
    return RunConfig(
        environments=environments,
        agent=config.agent or _played_by(config, config.model or served_model or "model"),
        name=config.name,
        model=config.model or served_model,
        served_model=served_model,
        base_url=without_credentials(config.base_url),
        harness=config.harness,
        harness_options=dict(config.harness_options),
        players={name: dict(settings) for name, settings in config.players.items()},
        opponents={name: dict(settings) for name, settings in config.opponents.items()},
        system=config.system,
        tools=config.tools,
        exact_tokens=config.exact_tokens,
        sampling=dict(config.sampling),
        wrappers=config.wrappers,
        episodes=config.episodes,
        group=config.group,
        seed=config.seed,
        limits={name: value for name, value in config.limits.items() if value is not None},
        retries=config.retries,
        concurrency=config.concurrency,
        workers=config.workers,
        mode=config.mode,
        track=config.track,
        give_up_after=config.give_up_after,
        api_key_env=config.api_key_env,
        rewards=tuple(rewards),
        judge=dict(config.judge),
        client=dict(config.client),
        prices=config.prices,
        started_at=time.time(),
        packages=dict(_versions(environments, config)),
        sources=_sources(config),
        python=platform.python_version(),
        platform=platform.platform(),
    )


def _played_by(config: EvaluationConfig, model: str) -> str:
    return model if config.harness is None else f"{config.harness.partition(' ')[0]} with {model}"


def _keeps_no_history(config: EvaluationConfig) -> bool:
    """Return whether a bare model plays, which a wrapper must show the earlier turns."""
    return config.agent is None and config.harness is None


def episode_limits(config: EvaluationConfig) -> EpisodeLimits:
    """Return the limits of each episode.

    Raises:
        EvaluationConfigError: for an unknown limit, or one out of range.
    """
    try:
        check_names("limits", config.limits, [item.name for item in fields(EpisodeLimits)])
        return EpisodeLimits(**config.limits)  # type: ignore[arg-type]  # checks its arguments itself
    except (ArgumentError, ArgumentTypeError) as error:
        raise EvaluationConfigError(str(error)) from error


def plan(environments: Sequence[RunEnvironment]) -> Iterator[EpisodeRequest]:
    """Yield the episodes of a run, the environments in turn, each with its wrappers.

    Raises:
        MissingPluginError: if nothing installed brings one of the wrappers.
    """
    specs = wrapped_specs(environments)
    for number in range(max((item.episodes for item in environments), default=0)):
        for item in environments:
            if number < item.episodes:
                key = EpisodeKey(item.label, item.seed + number // item.group, number % item.group)
                yield EpisodeRequest(specs[item.label], key)


def wrapped_specs(environments: Iterable[RunEnvironment]) -> dict[str, EnvSpec]:
    """Return the environments of a run by label, each with its wrappers.

    Raises:
        MissingPluginError: if nothing installed brings one of the wrappers.
    """
    return {item.label: replace(item.spec, wrappers=tuple(map(_wrapper_spec, item.wrappers))) for item in environments}


def _wrapper_spec(item: str | Mapping[str, Any]) -> WrapperSpec:
    arguments = {"name": item} if isinstance(item, str) else dict(item)
    name = arguments.pop("name", None)
    if not isinstance(name, str):
        raise EvaluationConfigError(f"a wrapper is a name, or a table with a 'name', got {item!r:.80}")
    entry_point = name_of(wrapper(name))
    if load(entry_point) is not wrapper(name):
        raise EvaluationConfigError(f"the wrapper {name!r} has no importable name, as an evaluation needs")
    return WrapperSpec(entry_point, (), arguments)


def requests_at_most(item: RunEnvironment, run: RunConfig) -> int | None:
    """Return how many actions the episodes of an environment can take; None if nothing bounds them."""
    limits = [
        run.limits.get("max_turns"),
        item.spec.kwargs.get("max_turns"),
        1 if item.spec.turns == "single" else None,
    ]
    # A tool wrapper adds turns to those of the environment, which then does not bound them.
    bounds = [limit for limit in limits if isinstance(limit, int)]
    return item.episodes * min(bounds) if bounds else None


def settings_of(run: RunConfig) -> EvaluationConfig:
    """Return the configuration that began a run, so that it can be resumed."""
    return EvaluationConfig(
        environments=tuple(
            EvaluationEnvironment(
                id=item.id,
                label=item.label if item.label != item.spec.id else None,
                episodes=item.episodes,
                group=item.group,
                seed=item.seed,
                wrappers=item.wrappers,
                kwargs=item.kwargs,
            )
            for item in run.environments
        ),
        name=run.name,
        agent=None if run.harness is not None or run.agent == run.model else run.agent,
        model=run.model,
        base_url=run.base_url,
        harness=run.harness,
        harness_options=run.harness_options,
        players={name: dict(settings) for name, settings in run.players.items()},
        opponents={name: dict(settings) for name, settings in run.opponents.items()},
        system=run.system,
        tools=run.tools,
        exact_tokens=run.exact_tokens,
        sampling=run.sampling,
        wrappers=run.wrappers,
        episodes=run.episodes,
        group=run.group,
        seed=run.seed,
        limits=run.limits,
        retries=run.retries,
        concurrency=run.concurrency,
        workers=run.workers,
        mode=run.mode,
        track=run.track,
        give_up_after=run.give_up_after,
        api_key_env=run.api_key_env,
        rewards=run.rewards,
        judge=run.judge,
        client=run.client,
        prices=run.prices,
    )


def _environment(config: EvaluationConfig, item: EvaluationEnvironment) -> RunEnvironment:
    try:
        spec = find_spec(item.id).with_kwargs(item.kwargs)
        spec.to_dict()  # refuses arguments that a record cannot hold
    except (ArgumentError, ArgumentTypeError) as error:
        raise EvaluationConfigError(str(error)) from error
    wrappers = config.setting(item, "wrappers")
    if wrappers is None:
        wrappers = MODEL_WRAPPERS if _keeps_no_history(config) and spec.turns == "multi" else ()
    return RunEnvironment(
        label=item.label or spec.id,
        id=item.id,
        spec=spec,
        digest=spec.source_digest,
        episodes=config.setting(item, "episodes"),
        group=config.setting(item, "group"),
        seed=config.setting(item, "seed"),
        wrappers=tuple(wrappers),
        kwargs=dict(item.kwargs),
    )


def _versions(environments: Iterable[RunEnvironment], config: EvaluationConfig) -> Iterator[tuple[str, str]]:
    """Yield the versions of gem-core, gem-eval, the environments' distributions, and what these require."""
    from importlib import metadata

    wanted = {"gem-core", "gem-eval"} | {item.spec.distribution for item in environments if item.spec.distribution}
    for name in sorted(wanted):
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        yield name, distribution.version
        for requirement in distribution.requires or [] if name not in ("gem-core", "gem-eval") else []:
            required = _name_of_requirement(requirement)
            if required is not None and required not in wanted:
                try:
                    yield required, metadata.version(required)
                except metadata.PackageNotFoundError:  # of an extra, or of another platform
                    continue


def _name_of_requirement(requirement: str) -> str | None:
    import re

    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return None if match is None or "extra ==" in requirement else match[0]


def _sources(config: EvaluationConfig) -> dict[str, str | None]:
    sources = {"gem": source_digest("gem.core:Env"), "gem_eval": source_digest("gem_eval.runs.resolution:resolve")}
    if config.agent is not None and ":" in config.agent:
        top = config.agent.partition(":")[0].partition(".")[0]
        sources[top] = source_digest(config.agent)
    return sources
