"""``register``, ``spec``, ``make`` and the listing of environments.

``make`` goes from id to spec (registered in this process, or in the manifest of an installed package that claims
the namespace), from the spec's entry point to the class, and from the instance to its wrappers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gem import discovery, migration
from gem.arguments import nearest, seed_value, takes_seed
from gem.core import Env
from gem.discovery.official import NAMESPACES, install_line, install_lines
from gem.entry_points import load, name_of
from gem.env_spec import EnvSpec, WrapperSpec
from gem.errors import (
    ArgumentTypeError,
    DuplicateRegistrationError,
    EntryPointError,
    EnvironmentConflictError,
    InvalidIdError,
    PluginWarning,
    UnknownArgumentError,
    UnknownEnvironmentError,
)
from gem.ids import EnvId, normalized_distribution, parse_id, process_key

if TYPE_CHECKING:
    from gem.wrappers import WrapperLike

__all__ = ["all_specs", "make", "print_envs", "register", "spec", "unregister"]

_registered: dict[str, EnvSpec] = {}

_FIRST_SEED = "gem.wrappers.first_seed:FirstSeed"


def register(
    env_id: str, entry_point: str | Callable[..., Env[Any, Any]], *, replace: bool = False, **kwargs: Any
) -> None:
    """Register an environment in this process under an id.

    Packages list their environments in a manifest instead (``environments.toml``); this is for notebooks, tests and
    training scripts.

    Args:
        env_id: any name, such as ``"sokoban"``; by convention ``namespace:Name[-vN][-variant]``, which manifests
            must use.
        entry_point: ``"module:Class"``, or a callable that returns an environment.
        replace: replace an environment with the same id, in this process only.
        **kwargs: arguments that every ``make`` of this id passes to the entry point.

    Raises:
        InvalidIdError: if the name is blank, not a str, or not printable.
        ArgumentTypeError: if the entry point is neither a string nor callable.
        DuplicateRegistrationError: if the id is taken and ``replace`` is false.
    """
    key = process_key(env_id)
    if not isinstance(entry_point, str) and not callable(entry_point):
        raise ArgumentTypeError(f"entry_point must be 'module:Class' or a callable, got {entry_point!r}")
    if not replace:
        taken = _registered.get(key) or next(iter(_from_packages(key)), None)
        if taken is not None:
            owner = taken.distribution or name_of(taken.entry_point)
            raise DuplicateRegistrationError(
                f"{key!r} is taken by {owner}; choose another id or pass replace=True to override it in this process"
            )
    _registered[key] = EnvSpec(id=key, entry_point=entry_point, kwargs=kwargs)


def unregister(env_id: str) -> None:
    """Remove a registration of this process; installed packages stay unchanged."""
    _registered.pop(process_key(env_id), None)


def spec(env_id: str) -> EnvSpec:
    """Return the spec behind an id, without importing the environment.

    An id that no package lists goes to the resolver of its prefix, if a package has one: ``"http://host:8000/game:X"``.

    Raises:
        InvalidIdError: if nothing of this name is registered in this process and it does not follow the grammar.
        UnknownEnvironmentError: if nothing provides it; the message has the nearest id, or the install line.
        EnvironmentConflictError: if several distributions provide it and the id names no owner, or if several resolve
            its prefix.
        EntryPointError: if the resolver cannot be imported or fails. Its own GemErrors are passed on.
    """
    if isinstance(env_id, str):
        if env_id in _registered:
            return _registered[env_id]
        namespace, colon, _ = env_id.partition(":")
        claims = discovery.installed(namespace).resolvers if colon else ()
        if claims and not _from_packages(env_id):
            from gem.discovery.resolving import resolve

            return resolve(env_id, claims)
    parsed = _parsed(env_id)
    key = parsed.unowned
    if parsed.owner is None and key in _registered:
        return _registered[key]
    candidates = _from_packages(key)
    if parsed.owner is not None:
        owner = normalized_distribution(parsed.owner)
        candidates = tuple(c for c in candidates if normalized_distribution(c.distribution or "") == owner)
    if not candidates:
        raise _unknown(env_id)
    if len(candidates) > 1:
        owners = [str(c.distribution) for c in candidates]
        raise EnvironmentConflictError(
            f"{key!r} is provided by {' and '.join(owners)}; pick one, for example with "
            f"{owners[0] + '/' + key!r}, or uninstall the other"
        )
    return candidates[0]


def make(
    env_id: str | EnvSpec,
    *,
    wrappers: WrapperLike | Iterable[WrapperLike] = (),
    seed: int | None = None,
    **kwargs: Any,
) -> Env[Any, Any]:
    """Make an environment.

    Args:
        env_id: an id, or a spec (from ``gem.spec``, from another environment, from a recorded trajectory).
        wrappers: names (``"concat_with_action"``, also several joined by commas), wrapper classes or other
            callables, applied from the inside out, after those that the spec lists.
        seed: the seed of the first reset, unless that reset brings one, as in :func:`gem.make_vec`. A constructor
            with a parameter ``seed`` gets it too.
        **kwargs: constructor arguments that override those of the spec.

    Raises:
        EntryPointError: if the class cannot be imported. Errors of :func:`spec` and ArgumentError or
        ArgumentTypeError of the constructor are passed on.
    """
    made_as = (env_id if isinstance(env_id, EnvSpec) else spec(env_id)).with_kwargs(kwargs)
    try:
        entry_point: Any = load(made_as.entry_point)
    except EntryPointError as error:
        raise EntryPointError(f"{error}{discovery.pin_advice(made_as.distribution)}") from error.__cause__
    if seed is not None:
        made_as = _seeded(made_as, seed_value(seed), takes_seed(entry_point))
    if not callable(entry_point):
        raise EntryPointError(f"{made_as.id}: {name_of(made_as.entry_point)} is not callable")
    while True:
        try:
            env = entry_point(**made_as.kwargs)
            break
        except UnknownArgumentError as error:
            if error.argument not in migration.OLD_ARGUMENTS or error.argument not in made_as.kwargs:
                raise
            made_as = replace(
                made_as, kwargs=migration.without_old_argument(made_as.id, made_as.kwargs, error.argument)
            )
    if not isinstance(env, Env):
        raise EntryPointError(
            f"{made_as.id}: {name_of(made_as.entry_point)} returned an object of type {type(env).__name__}, "
            "not a gem.Env"
        )
    env.unwrapped.spec = replace(made_as, wrappers=()) if made_as.wrappers else made_as
    if made_as.wrappers or wrappers:
        from gem.wrappers import apply_wrappers, rebuild

        for applied in made_as.wrappers:
            env = rebuild(env, applied)
        env = apply_wrappers(env, wrappers)
    return env


def _seeded(made_as: EnvSpec, seed: int, constructor_takes_it: bool) -> EnvSpec:
    """Return the spec with the seed of its first reset, which is the innermost wrapper and replaces an earlier one."""
    first = WrapperSpec(_FIRST_SEED, (seed,))
    others = tuple(applied for applied in made_as.wrappers if applied.entry_point != _FIRST_SEED)
    with_seed = made_as.with_kwargs({"seed": seed}) if constructor_takes_it else made_as
    return replace(with_seed, wrappers=(first, *others))


def all_specs(namespace: str | None = None) -> list[EnvSpec]:
    """Return the specs of every environment, sorted by id; with a namespace, those in it.

    Where several distributions provide one id, the list has all of them. A broken package causes a warning
    (:class:`gem.errors.PluginWarning`) and is left out.
    """
    offered = [discovery.installed(name) for name in (discovery.namespaces() if namespace is None else [namespace])]
    for problem in (*discovery.scan_problems(), *(problem for part in offered for problem in part.problems)):
        warnings.warn(f"plugin {problem}", PluginWarning, stacklevel=2)
    every = (spec for part in offered for candidates in part.specs.values() for spec in candidates)
    found = [spec for spec in every if spec.id not in _registered]
    found.extend(s for s in _registered.values() if namespace is None or s.namespace == namespace)
    return sorted(found, key=lambda s: (s.id, s.distribution or ""))


def print_envs() -> None:
    """Print the id of every environment, one per line, grouped by distribution."""
    by_owner: dict[str, list[str]] = {}
    for found in all_specs():
        by_owner.setdefault(found.distribution or "registered in this process", []).append(found.id)
    lines = [
        line for owner, ids in sorted(by_owner.items()) for line in (f"{owner} ({len(ids)})", *(f"  {i}" for i in ids))
    ]
    print("\n".join(lines) or f"No environments are installed. Get some with: {install_line('gem-envs-games')}")  # noqa: T201


def _from_packages(key: str) -> tuple[EnvSpec, ...]:
    namespace, colon, _ = key.partition(":")
    return discovery.installed(namespace).specs.get(key, ()) if colon else ()


def _parsed(env_id: str) -> EnvId:
    """Return the parts of an id; for a name that is none, the error has the nearest name of this process."""
    try:
        return parse_id(env_id)
    except InvalidIdError as error:
        if not isinstance(env_id, str):
            raise
        hint = nearest(env_id, _registered)
        if hint is None:
            if ":" in env_id:
                from gem.discovery.resolving import unknown_prefix

                missing = unknown_prefix(env_id)
                if missing is not None:
                    raise missing from error
            named = _id_of_name(env_id)
            if named is None:
                raise
            raise InvalidIdError(f"{env_id!r} is not an environment id; did you mean {named!r}?") from error
        raise InvalidIdError(
            f"nothing called {env_id!r} is registered in this process; did you mean {hint!r}?"
        ) from error


def _id_of_name(name: str) -> str | None:
    """Return an installed id, without its namespace or version left out."""
    names: dict[str, str] = {}
    for found in all_specs():
        _, _, rest = found.id.partition(":")
        for part in (rest, rest.partition("-")[0]):
            names.setdefault(part.casefold(), found.id)
    hint = nearest(name.strip().rpartition(":")[2].casefold(), names)
    return None if hint is None else names[hint]


def _unknown(env_id: str) -> UnknownEnvironmentError:
    parsed = parse_id(env_id)
    # This warns about broken packages, as one of them may be the reason for the missing id.
    known = [s.id for s in all_specs(parsed.namespace)]
    if not known:
        if problems := discovery.installed(parsed.namespace).problems:
            return UnknownEnvironmentError(f"no environment {env_id!r}: {'; '.join(map(str, problems))}")
        if parsed.namespace in NAMESPACES:
            missing, advice = repr(parsed.namespace), f"run {install_lines(parsed.namespace)}"
        else:
            missing, advice = f"the namespace {parsed.namespace!r}", "'gem list' shows what there is"
        return UnknownEnvironmentError(f"no environment {env_id!r}: nothing installed provides {missing}; {advice}")
    # Without the namespace, which they have in common and which would make any two ids alike.
    names = {found.partition(":")[2]: found for found in known}
    near = nearest(parsed.unowned.partition(":")[2], names)
    hint = None if near is None else names[near]
    if parsed.owner is not None and hint == parsed.unowned:
        owners = sorted({s.distribution or "this process" for s in all_specs(parsed.namespace) if s.id == hint})
        return UnknownEnvironmentError(f"no distribution {parsed.owner!r} provides {hint!r}; {', '.join(owners)} does")
    advice = f"did you mean {hint!r}?" if hint else f"'gem list {parsed.namespace}' shows what there is"
    return UnknownEnvironmentError(f"no environment {env_id!r}; {advice}")


def conflicts() -> dict[str, tuple[str, ...]]:
    """Return the ids that several distributions provide, and the prefixes that several resolve, with their names."""
    prefixes: dict[str, list[str]] = {}
    for resolver in discovery.resolvers():
        prefixes.setdefault(resolver.prefix, []).append(str(resolver.distribution))
    shared = {prefix: tuple(owners) for prefix, owners in prefixes.items() if len(owners) > 1}
    return shared | {
        env_id: tuple(str(candidate.distribution) for candidate in candidates)
        for namespace in discovery.namespaces()
        for env_id, candidates in discovery.installed(namespace).specs.items()
        if len(candidates) > 1
    }
