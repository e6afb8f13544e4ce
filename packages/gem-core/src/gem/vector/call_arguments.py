"""What callers of a vector environment pass: which environments, with which actions, seeds and further arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gem.arguments import check_names, seed_value
from gem.errors import ArgumentError, ArgumentTypeError

__all__ = ["all_reset_arguments", "chosen_actions", "chosen_reset_arguments", "env_indices", "seed_list"]


def env_indices(indices: Iterable[Any], num_envs: int) -> list[int]:
    """Return the indices of different environments, in the order that was asked for.

    Raises:
        ArgumentError, ArgumentTypeError: if one names no environment, or is named twice.
    """
    try:
        chosen = [operator.index(index) for index in indices]
    except TypeError as error:
        raise ArgumentTypeError(f"environments are named by their index, an int: {error}") from error
    wrong = [index for index in chosen if not 0 <= index < num_envs]
    if wrong:
        raise ArgumentError(f"there is no environment {wrong[0]}; they are 0 to {num_envs - 1}")
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"an environment is named twice in {chosen}")
    return chosen


def chosen_actions(actions: Sequence[Any] | Mapping[int, Any], num_envs: int) -> tuple[Sequence[int], Sequence[Any]]:
    """Return the environments that play a turn, and the action of each.

    Raises:
        ArgumentError, ArgumentTypeError: if a list has not one action for each environment, or as
            :func:`env_indices` does.
    """
    if isinstance(actions, Mapping):
        return env_indices(actions, num_envs), list(actions.values())
    if isinstance(actions, (str, bytes)) or not hasattr(actions, "__len__"):
        raise ArgumentTypeError(
            f"actions must be a list with one action for each environment, or a dict from index to action, "
            f"got {type(actions).__name__}"
        )
    if len(actions) != num_envs:
        raise ArgumentError(
            f"{len(actions)} actions for {num_envs} environments; pass one for each, or a dict from index "
            "to action for some of them"
        )
    return range(num_envs), actions


def seed_list(name: str, seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Return the seed of each environment: ``seed + i`` or, for a list or an array, ``seed[i]``.

    Raises:
        ArgumentError, ArgumentTypeError: if one is not a seed, or the list has another length.
    """
    if seed is None:
        return [None] * num_envs
    # An array has a shape; that of a single number is empty.
    if getattr(seed, "shape", ()) or (isinstance(seed, Sequence) and not isinstance(seed, (str, bytes))):
        seeds: list[Any] = list(seed)  # type: ignore[arg-type]
        if len(seeds) != num_envs:
            raise ArgumentError(f"{name} has {len(seeds)} entries for {num_envs} environments")
        return [None if value is None else seed_value(value) for value in seeds]
    first = seed_value(seed)
    return [first + index for index in range(num_envs)]


def all_reset_arguments(
    seed: int | Sequence[int | None] | None,
    options: Mapping[str, Any] | None,
    env_kwargs: Mapping[str, Mapping[str, Any]],
    num_envs: int,
) -> list[dict[str, Any]]:
    """Return what ``reset`` passes to each environment, with the entries of ``env3_kwargs={…}`` for environment 3.

    Raises:
        ArgumentError, ArgumentTypeError: for another name or value.
    """
    arguments = [_reset_arguments(value, options) for value in seed_list("seed", seed, num_envs)]
    names = [f"env{index}_kwargs" for index in range(num_envs)] if env_kwargs else []
    check_names("reset", env_kwargs, names)
    for name, extra in env_kwargs.items():
        own = arguments[names.index(name)]
        own.update(_mapping(name, extra))
        if own["seed"] is not None:
            own["seed"] = seed_value(own["seed"])
    return arguments


def chosen_reset_arguments(
    indices: Iterable[int] | Mapping[int, int | None], options: Mapping[str, Any] | None, num_envs: int
) -> tuple[list[int], list[dict[str, Any]]]:
    """Return some environments, and what a reset passes to each; a mapping names the seeds.

    Raises:
        ArgumentError, ArgumentTypeError: if one is not a seed, or as :func:`env_indices` does.
    """
    chosen = env_indices(indices, num_envs)
    seeds = list(indices.values()) if isinstance(indices, Mapping) else [None] * len(chosen)
    return chosen, [_reset_arguments(None if seed is None else seed_value(seed), options) for seed in seeds]


def _reset_arguments(seed: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
    # Each environment gets a dict of its own, and options only where they are given: published environments have
    # reset(self, seed=None).
    return {"seed": seed} if options is None else {"seed": seed, "options": dict(_mapping("options", options))}


def _mapping(name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{name} must be a dict, got {type(value).__name__}")
    return value
