"""Which environments share an actor, and what the actor needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from gem.arguments import integer
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError

__all__ = ["ActorPlacement", "place_environments"]

_RESERVED = ("max_concurrency", "max_restarts", "max_task_retries", "lifetime", "name", "namespace", "get_if_exists")
"""Options of a Ray actor that this package decides."""


@dataclass(frozen=True)
class ActorPlacement:
    """The environments of one actor, by index, and its options in Ray."""

    indices: tuple[int, ...]
    options: Mapping[str, Any]


def place_environments(
    specs: Sequence[EnvSpec | None], envs_per_actor: int, resources: Mapping[str, Mapping[str, Any]] | None
) -> list[ActorPlacement]:
    """Spread environments over actors: as few as hold them, all about equally full.

    Args:
        specs: of each environment; None where it is not known, which only the pattern ``"*"`` matches.
        envs_per_actor: the most environments of one actor.
        resources: by pattern of the id, the options of the actors that hold such environments, as ``ray.remote`` takes
            them. The first pattern that matches counts. An actor that none matches needs one CPU.

    Raises:
        ArgumentError, ArgumentTypeError: if ``resources`` is not of this form.
    """
    integer("envs_per_actor", envs_per_actor, minimum=1)
    patterns = _checked(resources or {})
    kinds: dict[str | None, list[int]] = {}
    for index, spec in enumerate(specs):
        name = "" if spec is None else spec.id
        pattern = next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)
        kinds.setdefault(pattern, []).append(index)
    placements = []
    for pattern, indices in kinds.items():
        options = {"num_cpus": 1, "scheduling_strategy": "SPREAD", **(patterns[pattern] if pattern is not None else {})}
        actors = -(-len(indices) // envs_per_actor)
        bounds = [len(indices) * number // actors for number in range(actors + 1)]
        placements += [ActorPlacement(tuple(indices[begin:end]), options) for begin, end in pairwise(bounds)]
    return placements


def _checked(resources: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    if not isinstance(resources, Mapping) or not all(isinstance(options, Mapping) for options in resources.values()):
        raise ArgumentTypeError(
            f"resources must be a dict from a pattern of ids to options of a Ray actor, such as "
            f'{{"terminal:*": {{"num_cpus": 1, "resources": {{"docker": 1}}}}}}; got {resources!r:.200}'
        )
    for pattern, options in resources.items():
        reserved = [name for name in _RESERVED if name in options]
        if reserved:
            raise ArgumentError(
                f"resources[{pattern!r}] has {reserved[0]!r}, which gem-ray decides itself; leave it out"
            )
        misplaced = [name for name in options.get("resources", {}) if re.fullmatch("CPU|GPU|memory", name)]
        if misplaced:
            raise ArgumentError(
                f"resources[{pattern!r}]: {misplaced[0]} is an option of its own, num_cpus=, num_gpus= or memory="
            )
    return dict(resources)
