"""The public names of the packages, read from the sources without importing them.

A name is public if the ``__all__`` of its module lists it, or the stub ``__init__.pyi`` of a package whose names load
on first use. A module with an underscore in front is private with all that it holds. A name has one home, the module
that defines it; other modules may offer it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import griffe

from gem.migration import RENAMED

__all__ = ["PublicApi", "PublicModule", "load_api", "source_packages"]

LEFT_OUT = ("cli", "tasks", "__main__", "problems")
"""Modules of the command line, which the reference shows as commands, and modules that are data."""


@dataclass
class PublicModule:
    """A module with what it offers."""

    module: griffe.Module
    objects: dict[str, griffe.Object] = field(default_factory=dict)
    """Name → what is defined here."""
    offered: dict[str, str] = field(default_factory=dict)
    """Name → the path of what another module defines."""


@dataclass
class PublicApi:
    """All public modules of the packages."""

    modules: dict[str, PublicModule]
    """Path → module, each package before its modules."""
    _aliases: dict[str, str] = field(default_factory=dict)

    def objects(self) -> Iterator[tuple[str, griffe.Object]]:
        """Yield the path and the object of every public name, in the order of the modules."""
        for path, module in self.modules.items():
            for name, found in module.objects.items():
                yield f"{path}.{name}", found

    def aliases(self) -> dict[str, str]:
        """Return every other path of a public name → its home, those by way of the front doors of ``gem`` included."""
        if self._aliases:
            return self._aliases
        found = {
            f"{path}.{name}": home for path, module in self.modules.items() for name, home in module.offered.items()
        }
        known = {**found, **{path: path for path, _ in self.objects()}}
        for door, (_, package) in RENAMED.items():
            found |= {
                door + path.removeprefix(package): home
                for path, home in known.items()
                if path.startswith(f"{package}.")
            }
        self._aliases = found
        return found

    def find(self, path: str) -> griffe.Object:
        """Return a public object by the path of its home or of a module that offers it.

        Raises:
            LookupError: if no public module has it.
        """
        home = self.aliases().get(path, path)
        module, _, name = home.rpartition(".")
        return self.modules[module].objects[name]


def source_packages(root: Path) -> dict[str, Path]:
    """Return the import name → source folder of every package of the repository."""
    return {
        found.parent.name: found.parent
        for pattern in ("packages/*/src/*/__init__.py", "hub/src/*/__init__.py")
        for found in sorted(root.glob(pattern))
    }


def load_api(packages: Iterable[Path]) -> PublicApi:
    """Read the packages that lie in these folders."""
    folders = list(packages)
    loader = griffe.GriffeLoader(
        extensions=griffe.load_extensions(), search_paths=[folder.parent for folder in folders], allow_inspection=False
    )
    tops = [loader.load(folder.name) for folder in folders]
    modules: dict[str, PublicModule] = {}
    for top in tops:
        assert isinstance(top, griffe.Module)
        for module in _walk(top):
            modules[module.path] = PublicModule(module)
    for public in modules.values():
        _fill(public, modules)
    return PublicApi(modules)


def _walk(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a package and its public modules, each package's own modules before its packages."""
    yield module
    inner = [m for m in module.members.values() if isinstance(m, griffe.Module)]
    for found in sorted(inner, key=lambda m: (m.is_package or m.is_subpackage, m.name)):
        if not found.name.startswith("_") and found.name not in LEFT_OUT:
            yield from _walk(found)


def _fill(public: PublicModule, modules: dict[str, PublicModule]) -> None:
    for name in _names(public.module):
        member = public.module.members.get(name)
        if member is None:  # one of several names that one assignment sets, which griffe does not record
            public.objects[name] = griffe.Attribute(name, parent=public.module)
        elif not isinstance(member, griffe.Alias):
            if not isinstance(member, griffe.Module):
                public.objects[name] = member
        else:
            _follow(public, name, member, modules)


def _follow(public: PublicModule, name: str, alias: griffe.Alias, modules: dict[str, PublicModule]) -> None:
    """File what a module imports and offers: where its home is public it stays there, otherwise this is its home."""
    path = _home(alias.target_path, modules)
    home, _, target = path.rpartition(".")
    if home not in modules:
        return
    if target in _names(modules[home].module):
        public.offered[name] = path
        return
    found = modules[home].module.members.get(target)
    if found is not None and not isinstance(found, griffe.Alias):
        public.objects[name] = found


def _home(path: str, modules: dict[str, PublicModule]) -> str:
    """Return the path of what a chain of imports leads to."""
    module, _, name = path.rpartition(".")
    member = modules[module].module.members.get(name) if module in modules else None
    if isinstance(member, griffe.Alias):
        return _home(member.target_path, modules)
    return path


def _names(module: griffe.Module) -> list[str]:
    """Return the public names of a module: those of ``__all__``, or of the stub of a package."""
    if module.exports is not None:
        return [name if isinstance(name, str) else name.name for name in module.exports]
    stub = module.filepath.with_suffix(".pyi") if isinstance(module.filepath, Path) else None
    if stub is None or not stub.is_file():
        return []
    lines = (line.split() for line in stub.read_text(encoding="utf-8").splitlines())
    return sorted(words[-1] for words in lines if words[:1] == ["from"])
