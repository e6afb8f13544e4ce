"""``make_vec``: a vector environment from ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.arguments import boolean, integer, seed_value, string, takes_seed
from gem.core import Env
from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError
from gem.plugins import lookup
from gem.registry import make
from gem.registry import spec as find_spec
from gem.vector.base import VectorEnv
from gem.vector.env_runner import AutoresetMode
from gem.wrappers import WrapperLike

__all__ = ["EnvMaker", "make_vec"]

_MAX_ENVS = 65_536


@dataclass(frozen=True)
class EnvMaker:
    """Makes one environment, any number of times; picklable if its wrappers are."""

    spec: EnvSpec
    wrappers: tuple[WrapperLike, ...] = ()

    def __call__(self) -> Env[Any, Any]:
        return make(self.spec, wrappers=self.wrappers)


def make_vec(
    env_ids: str | EnvSpec | Sequence[str | EnvSpec],
    wrappers: WrapperLike | Iterable[WrapperLike] | None = None,
    *,
    num_envs: int | None = None,
    mode: str = "sync",
    autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
    seed: int | None = None,
    vec_kwargs: Sequence[Mapping[str, Any]] | None = None,
    step_timeout: float | None = None,
    async_mode: bool | None = None,
    mode_kwargs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> VectorEnv:
    """Make a vector environment.

    Args:
        env_ids: an id or spec, or a list of them, one for each environment.
        wrappers: applied to every environment, as in :func:`gem.make`.
        num_envs: number of environments. One id is repeated (default 1); a list is cycled, so that environment i
            is ``env_ids[i % len(env_ids)]``.
        mode: ``"sync"`` (one after the other, in the calling thread), ``"thread"``, ``"process"`` (worker processes),
            ``"auto"``, or the name of a plugin's mode. Auto mode makes one environment of each id beside the others,
            steps it for a moment, and chooses the mode that suits; ``mode_choice`` of the vector environment says
            which one and why. Where steps that seemed to compute begin to wait, threads take over. Episodes are the
            same in every mode.
        autoreset: ``"same_step"``, ``"next_step"`` or ``"disabled"``; see :class:`AutoresetMode`.
        seed: environment i is seeded with ``seed + i`` in its first reset without a seed. A constructor with a
            parameter ``seed`` gets it too.
        vec_kwargs: constructor arguments for each environment, one mapping each. A ``seed`` in it replaces
            ``seed + i``.
        step_timeout: time limit of a step or reset in seconds; exceeding it is a fault. Threads cannot be killed: in
            thread mode the thread runs on, its result is discarded, and the environment gets another. Sync mode
            cannot interrupt anything and ignores it.
        async_mode: the original's word for ``mode``: True is ``"thread"``, False is ``"sync"``.
        mode_kwargs: further arguments of the mode itself.
        **kwargs: constructor arguments for every environment; they take precedence over ``vec_kwargs``.

    Raises:
        ArgumentError, ArgumentTypeError: if the arguments contradict each other.
        MissingPluginError: if no installed package brings the mode.
        GemError: what :func:`gem.make` raises is passed on.
    """
    specs = _repeated(env_ids, num_envs)
    kwargs_of_each = _each(vec_kwargs, len(specs))
    if wrappers is None:
        applied: tuple[WrapperLike, ...] = ()
    elif isinstance(wrappers, str) or callable(wrappers):
        applied = (wrappers,)
    elif isinstance(wrappers, Iterable):
        applied = tuple(wrappers)
    else:
        raise ArgumentTypeError(
            f"wrappers must be names or callables, got {type(wrappers).__name__}; the number is passed as num_envs=…"
        )
    first_seed = None if seed is None else seed_value(seed)
    makers: list[EnvMaker] = []
    seeds: list[int | None] = []
    for index, (spec, own) in enumerate(zip(specs, kwargs_of_each, strict=True)):
        own_seed = own.pop("seed", None if first_seed is None else first_seed + index)
        if own_seed is not None:
            own_seed = seed_value(own_seed)
            if takes_seed(load(spec.entry_point)):
                own["seed"] = own_seed
        makers.append(EnvMaker(spec.with_kwargs({**own, **kwargs}), applied))
        seeds.append(own_seed)
    backend: Callable[..., VectorEnv] = lookup("gem_vector_backends", _mode(mode, async_mode), "vectorization mode")
    return backend(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout, **(mode_kwargs or {}))


def _repeated(env_ids: str | EnvSpec | Sequence[str | EnvSpec], num_envs: int | None) -> list[EnvSpec]:
    wanted = [env_ids] if isinstance(env_ids, (str, EnvSpec)) else env_ids
    if not isinstance(wanted, Sequence) or not all(isinstance(item, (str, EnvSpec)) for item in wanted):
        raise ArgumentTypeError(f"env_ids must be an id, a spec, or a list of them, got {env_ids!r:.80}")
    if not wanted:
        raise ArgumentError("env_ids must name at least one environment")
    count = len(wanted) if num_envs is None else integer("num_envs", num_envs, minimum=1, maximum=_MAX_ENVS)
    if count < len(wanted):
        raise ArgumentError(f"num_envs={count} leaves out some of the {len(wanted)} env_ids")
    found: dict[str, EnvSpec] = {}
    for item in wanted:
        if isinstance(item, str) and item not in found:
            found[item] = find_spec(item)
    specs = [found[item] if isinstance(item, str) else item for item in wanted]
    return [specs[index % len(specs)] for index in range(count)]


def _each(vec_kwargs: Sequence[Mapping[str, Any]] | None, count: int) -> list[dict[str, Any]]:
    """Return a new dict for each environment, so that changing it changes none of the caller's."""
    if vec_kwargs is None:
        return [{} for _ in range(count)]
    if not isinstance(vec_kwargs, Sequence) or not all(isinstance(own, Mapping) for own in vec_kwargs):
        raise ArgumentTypeError("vec_kwargs must be a list of dicts, one for each environment")
    if len(vec_kwargs) != count:
        raise ArgumentError(f"vec_kwargs has {len(vec_kwargs)} entries for {count} environments")
    return [dict(own) for own in vec_kwargs]


def _mode(mode: str, async_mode: bool | None) -> str:
    string("mode", mode)
    if async_mode is None:
        return mode
    named = "thread" if boolean("async_mode", async_mode) else "sync"
    if mode not in ("sync", named):
        raise ArgumentError(f"async_mode={async_mode} means mode={named!r}, but mode is {mode!r}; pass only mode")
    return named
