"""Hook specifications: everything that a package can add to GEM besides environments.

A package names a module in the entry-point group ``gem.plugins``::

    [project.entry-points."gem.plugins"]
    my-plugin = "my_package.gem_plugin"

and that module implements any of the hooks below with ``@gem.plugins.hookimpl``. Every hook returns a dict from
names to ``"module:attribute"`` strings, or to the objects themselves; a string costs no import until its name is used.
gem-core registers its own wrappers and vectorization modes through the same hooks. ``docs/hooks.md`` is the
reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import pluggy

from gem import built_in
from gem.discovery import PLUGIN_GROUP, Announcement, PluginProblem, entry_points
from gem.entry_points import load
from gem.errors import MissingPluginError, PluginWarning

__all__ = ["Named", "built_in_names", "hookimpl", "hookspec", "lookup", "names", "offered_by", "offers", "problems"]

Named = Mapping[str, str | Callable[..., Any]]

hookspec = pluggy.HookspecMarker("gem")
hookimpl = pluggy.HookimplMarker("gem")


class Hooks:
    """The hooks, one method each."""

    @hookspec
    def gem_wrappers(self) -> Named:  # type: ignore[empty-body]
        """Return wrappers by name: callables that take an environment and keyword arguments."""

    @hookspec
    def gem_commands(self) -> Named:  # type: ignore[empty-body]
        """Return command-line groups by name: click commands that appear as ``gem NAME``."""

    @hookspec
    def gem_vector_backends(self) -> Named:  # type: ignore[empty-body]
        """Return vectorization modes by name: subclasses of :class:`gem.vector.VectorEnv`."""

    @hookspec
    def gem_model_clients(self) -> Named:  # type: ignore[empty-body]
        """Return model clients by the scheme of their URL: callables that take a URL, ``model=`` and keywords."""

    @hookspec
    def gem_rewards(self) -> Named:  # type: ignore[empty-body]
        """Return rewards by name: callables that take keyword arguments and return a ``gem.rewards.Reward``."""

    @hookspec
    def gem_graders(self) -> Named:  # type: ignore[empty-body]
        """Return graders by name: callables without required arguments that return a ``gem.rewards.Grader``."""

    @hookspec
    def gem_run_trackers(self) -> Named:  # type: ignore[empty-body]
        """Return run trackers by name: callables from a run folder to a ``gem_eval.trackers.RunTracker``."""

    @hookspec
    def gem_harnesses(self) -> Named:  # type: ignore[empty-body]
        """Return harnesses by name: callables from a model client and a ``Sampling`` to a maker of policies."""

    @hookspec
    def gem_scaffold_sources(self) -> Named:  # type: ignore[empty-body]
        """Return makers of packages for ``gem new --from`` by scheme (``mcp``) or suffix (``.yaml``) of a source."""


_HOOKS = tuple(name for name in vars(Hooks) if name.startswith("gem_"))


class BuiltIn:
    """The wrappers and vectorization modes of gem-core itself."""

    @hookimpl
    def gem_wrappers(self) -> Named:
        return built_in.WRAPPERS

    @hookimpl
    def gem_vector_backends(self) -> Named:
        return built_in.VECTOR_BACKENDS


def names(hook: str) -> dict[str, str | Callable[..., Any]]:
    """Return everything that a hook collects, by name. A broken plugin causes a warning and is left out."""
    plugins, _ = _load_plugins(entry_points(PLUGIN_GROUP))
    collected: dict[str, str | Callable[..., Any]] = {}
    for owner, plugin in [("gem-core", _checked(BuiltIn())), *plugins]:
        for name, target in _call(owner, plugin, hook).items():
            if name in collected:
                warnings.warn(
                    f"plugin {owner}: {hook} offers {name!r}, which is taken; it is left out",
                    PluginWarning,
                    stacklevel=2,
                )
                continue
            collected[name] = target
    return collected


def lookup(hook: str, name: str, kind: str, providers: Mapping[str, str] | None = None) -> Any:
    """Load and return the object behind a name in a hook.

    Args:
        hook: for example ``"gem_wrappers"``.
        name: for example ``"concat"``.
        kind: the word for it in messages, for example ``"wrapper"``.
        providers: name → the distribution that brings it, for the message.

    Raises:
        MissingPluginError: if nothing installed has that name.
    """
    own: Named = getattr(BuiltIn(), hook, dict)()
    if name in own:  # nothing built in can be overridden, so plugins need not be loaded
        return load(own[name])
    from gem.discovery.official import MODES, install_line

    distribution = (providers or (MODES if hook == "gem_vector_backends" else {})).get(name)
    offered = offered_by(distribution, hook, name)
    if offered is not None:
        return load(offered)
    known = names(hook)
    if name in known:
        return load(known[name])
    from gem.arguments import nearest

    if distribution is not None:
        raise MissingPluginError(f"{kind} {name!r} comes with {distribution}; run: {install_line(distribution)}")
    hint = nearest(name, known)
    advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(sorted(known)) or 'none'}"
    raise MissingPluginError(f"no {kind} is called {name!r}; {advice}")


def offered_by(distribution: str | None, hook: str, name: str) -> str | Callable[..., Any] | None:
    """Return what one distribution offers under a name; None if it is not installed, broken, or offers no such thing.

    A name of this project's packages costs no import of any other plugin, and none can take it.
    """
    for announced in entry_points(PLUGIN_GROUP) if distribution is not None else ():
        if announced.distribution == distribution:
            with suppress(Exception, SystemExit):  # of a broken plugin, :func:`names` warns
                offered = _offered_by(_loaded(announced), hook)
                if name in offered:
                    return offered[name]
    return None


def problems() -> tuple[PluginProblem, ...]:
    """Return the plugins that could not be loaded. Imports every plugin."""
    return _load_plugins(entry_points(PLUGIN_GROUP))[1]


def built_in_names() -> dict[tuple[str, str], str]:
    """Return the names that no plugin can take: hook and name → ``"gem-core"``."""
    own = BuiltIn()
    return {(hook, name): "gem-core" for hook in _HOOKS if hasattr(own, hook) for name in getattr(own, hook)()}


def offers(announced: Announcement) -> tuple[list[tuple[str, str, str | Callable[..., Any]]], str | None]:
    """Load one plugin and return what each of its hooks offers: hook, name, target; and what is wrong, or None."""
    try:
        plugin = _loaded(announced)
        return [(hook, name, target) for hook in _HOOKS for name, target in _offered_by(plugin, hook).items()], None
    except (Exception, SystemExit) as error:
        return [], f"cannot be loaded: {type(error).__name__}: {error}"


@cache
def _load_plugins(
    announced: tuple[Announcement, ...],
) -> tuple[tuple[tuple[str, pluggy.PluginManager], ...], tuple[PluginProblem, ...]]:
    loaded: list[tuple[str, pluggy.PluginManager]] = []
    found: list[PluginProblem] = []
    for entry in announced:
        owner = f"{entry.distribution} ({entry.name})"
        try:
            loaded.append((owner, _loaded(entry)))
        except (Exception, SystemExit) as error:  # pluggy's own loader would stop at the first broken plugin
            found.append(PluginProblem(owner, f"cannot be loaded: {type(error).__name__}: {error}"))
            warnings.warn(f"plugin {found[-1]}", PluginWarning, stacklevel=3)
    return tuple(loaded), tuple(found)


@cache  # each environment of a vector environment asks for its wrappers by name
def _loaded(entry: Announcement) -> pluggy.PluginManager:
    return _checked(load(entry.value) if ":" in entry.value else import_module(entry.value))


def _checked(plugin: object) -> pluggy.PluginManager:
    """Return a manager for this plugin alone, so that its faults cannot affect others."""
    manager = pluggy.PluginManager("gem")
    manager.add_hookspecs(Hooks)
    manager.register(plugin)
    manager.check_pending()
    return manager


def _call(owner: str, plugin: pluggy.PluginManager, hook: str) -> Named:
    try:
        return _offered_by(plugin, hook)
    except Exception as error:
        warnings.warn(f"plugin {owner}: {hook} failed: {error!r}", PluginWarning, stacklevel=3)
        return {}


def _offered_by(plugin: pluggy.PluginManager, hook: str) -> Named:
    collected: dict[str, str | Callable[..., Any]] = {}
    for offered in getattr(plugin.hook, hook)():
        for name, target in offered.items():
            if not isinstance(name, str) or not (isinstance(target, str) or callable(target)):
                raise TypeError(f"{name!r}: {target!r} must be a str: 'module:attribute' or callable")
            collected[name] = target
    return collected
