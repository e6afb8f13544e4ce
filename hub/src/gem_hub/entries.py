"""The declarations of a wheel: its entry points, and the environments of its manifests. Nothing is imported."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from gem.discovery import ENVIRONMENT_GROUP, PLUGIN_GROUP
from gem.discovery.manifest import FILE_NAME, ManifestContents, Resolver, parse, read_manifest
from gem.discovery.manifest_schema import validate
from gem.env_spec import EnvSpec
from gem.errors import ManifestError
from gem.ids import NAMESPACE_PATTERN, parse_id
from gem_hub.refusal import GateFindings
from gem_hub.reserved import COMMAND_PACKAGE, COMMANDS, OFFICIAL, import_name_of
from gem_hub.wheel import Wheel
from gem_hub_client.sanitize import sanitize
from gem_testing.vocabulary import problem_of_tag, propose_tags

__all__ = ["check_entry_points", "read_environments", "read_hub_requires"]

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

_SCRIPT_GROUPS = ("console_scripts", "gui_scripts")
_VALUE = re.compile(
    r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?::(?P<attribute>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))?", re.ASCII
)
_MOST_MANIFEST = 2**18
_MOST_DOTS = 2000
"""The largest number of dots in a line of a manifest; the cost of a dotted key is quadratic in its parts."""
_MOST_ENVIRONMENTS = 10_000
_BASED = ("entry_point", "reference_policy")


def check_entry_points(wheel: Wheel, findings: GateFindings) -> None:
    """Add the problems of a wheel's entry points to the findings."""
    where = f"{wheel.info}/entry_points.txt"
    if ENVIRONMENT_GROUP not in wheel.entry_points and wheel.name not in OFFICIAL:
        findings.refuse(
            "entry.no-environments",
            where,
            f'announces no environments; add [project.entry-points."{ENVIRONMENT_GROUP}"] with NAMESPACE = "PACKAGE"',
        )
    for group, entries in wheel.entry_points.items():
        if group not in (ENVIRONMENT_GROUP, PLUGIN_GROUP, *_SCRIPT_GROUPS) and wheel.name not in OFFICIAL:
            findings.refuse(
                "entry.group",
                f"{where}, [{group}]",
                "makes other programs load this package unasked; leave the group out",
            )
        for name, value in entries.items():
            place = f"{where}, [{group}] {name} = {value}"
            if group in _SCRIPT_GROUPS:
                _check_command(wheel, name, place, findings)
            elif group == ENVIRONMENT_GROUP and re.fullmatch(NAMESPACE_PATTERN, name) is None:
                findings.refuse("entry.namespace", place, "has no namespace for a name; write, for example, 'puzzles'")
            match = _VALUE.fullmatch(value)
            if match is None or (group in _SCRIPT_GROUPS and not match["attribute"]):
                findings.refuse("entry.value", place, "must be 'package.module:function', without extras; correct it")
            elif not _has_module(wheel, match["module"]):
                message = (
                    f"points to {match['module']}, which is not in this wheel; point it to a module of the package"
                )
                findings.refuse("entry.outside", place, message)
            elif group == ENVIRONMENT_GROUP and match["attribute"]:
                findings.refuse("entry.value", place, "must be the package's import name alone, without a colon")


def _check_command(wheel: Wheel, name: str, place: str, findings: GateFindings) -> None:
    plain_name = name.casefold().removesuffix(".exe")
    if plain_name in COMMANDS or re.fullmatch(r"(pip|python|pypy|gem|conda)[\d.t-]*w?", plain_name):
        if not (wheel.name == COMMAND_PACKAGE and name == "gem"):
            findings.refuse(
                "entry.command", place, f"would stand before the command {plain_name!r}; name it {wheel.name}"
            )
    elif not re.fullmatch(rf"{wheel.name.replace('-', '[-_]')}([-_][a-z0-9_-]+)?", name):
        message = f"adds a command of a foreign name; name it {wheel.name}, or let it begin with that and a hyphen"
        findings.refuse("entry.command", place, message)


def _has_module(wheel: Wheel, module: str) -> bool:
    path = module.replace(".", "/")
    return any(f"{path}{end}" in wheel.archive.entries for end in (".py", "/__init__.py"))


def read_environments(wheel: Wheel, findings: GateFindings) -> ManifestContents:
    """Return the environments, variants and resolvers of a wheel, and add their problems to the findings."""
    claimed: dict[str, set[str]] = {}
    for namespace, value in wheel.entry_points.get(ENVIRONMENT_GROUP, {}).items():
        claimed.setdefault(value, set()).add(namespace)
    specs: list[EnvSpec] = []
    resolvers: list[Resolver] = []
    for package, namespaces in claimed.items():
        contents = _read_manifest(wheel, package, namespaces, findings)
        specs += contents.specs
        resolvers += contents.resolvers
    if len(specs) > _MOST_ENVIRONMENTS:
        message = f"offers {len(specs)} environments and variants, and {_MOST_ENVIRONMENTS} are the most; use arguments"
        findings.refuse("manifest.count", wheel.filename, message)
    for path in wheel.archive.entries:
        folder, _, file = path.rpartition("/")
        if file == FILE_NAME and folder.replace("/", ".") not in claimed:
            findings.warn("manifest.unused", path, "is named by no entry point, so that nobody finds what it offers")
    return ManifestContents(specs, resolvers)


def read_hub_requires(wheel: Wheel, packages: Collection[str], findings: GateFindings) -> tuple[str, ...]:
    """Return the packages that a wheel needs from its hub, and add wrong declarations to the findings.

    Args:
        wheel: the wheel, whose manifests are valid.
        packages: the names of all packages of the hub.
        findings: collects the problems.
    """
    needed = {canonicalize_name(requirement.name) for requirement in wheel.requirements}
    declared: dict[str, None] = {}
    for package in sorted(set(wheel.entry_points.get(ENVIRONMENT_GROUP, {}).values())):
        path = f"{package.replace('.', '/')}/{FILE_NAME}"
        entry = wheel.archive.entries.get(path)
        content = wheel.archive.read(path) if entry is not None and entry.size <= _MOST_MANIFEST else b"="
        try:
            document = loads("=" if _is_costly(content) else content.decode("utf-8"))
        except (ValueError, RecursionError):  # the manifest is missing, too large or invalid, which was found before
            continue
        names = document.get("hub_requires")
        declared.update({canonicalize_name(str(name)): None for name in names} if isinstance(names, list) else {})
    for name in declared:
        where = f"{FILE_NAME}, hub_requires"
        if name not in needed:
            findings.refuse(
                "manifest.hub-requires", where, f"names {name}, which is not required; add it to dependencies"
            )
        elif name not in packages:
            findings.refuse("manifest.hub-requires", where, f"names {name}, and this hub has no such package")
    return tuple(declared)


def _is_costly(content: bytes) -> bool:
    return any(line.count(b".") > _MOST_DOTS for line in content.splitlines())


def _read_manifest(wheel: Wheel, package: str, namespaces: set[str], findings: GateFindings) -> ManifestContents:
    path = f"{package.replace('.', '/')}/{FILE_NAME}"
    entry = wheel.archive.entries.get(path)
    contents = ManifestContents([], [])
    if entry is None:
        message = "is missing; put it beside the package's __init__.py, and see that the build takes it along"
        findings.refuse("manifest.missing", path, message)
        return contents
    if entry.size > _MOST_MANIFEST:
        findings.refuse("manifest.size", path, f"has {entry.size} bytes, and {_MOST_MANIFEST} are the most; shorten it")
        return contents
    content = wheel.archive.read(path)
    if _is_costly(content):
        message = f"has a line with over {_MOST_DOTS} dots; break the line, or put data into a file of its own"
        findings.refuse("manifest.size", path, message)
        return contents
    with tempfile.TemporaryDirectory(prefix="gem-hub-") as folder:
        copy = Path(folder, FILE_NAME)
        copy.write_bytes(content)
        try:
            validate(parse(copy), copy)
            contents = read_manifest(copy, wheel.name, wheel.version)
        except (ManifestError, ValueError, TypeError, KeyError, RecursionError) as error:
            message = " ".join(str(error).replace(f"{copy}: ", "").split())[:1000] or type(error).__name__
            findings.refuse("manifest.invalid", path, f"{message}; run: gem check")
    for spec in contents.specs:
        for problem in _problems(wheel, spec, namespaces):
            findings.refuse(*problem)
    for resolver in contents.resolvers:
        for problem in _problems_of_resolver(wheel, resolver, namespaces):
            findings.refuse(*problem)
    _check_tags(path, contents.specs, findings)
    return contents


def _check_tags(path: str, specs: Sequence[EnvSpec], findings: GateFindings) -> None:
    """Refuse tags of a controlled namespace that the vocabulary does not have, and propose missing ones."""
    untagged: dict[str, list[str]] = {}
    for spec in specs:
        for tag in spec.tags:
            problem = problem_of_tag(tag)
            if problem:
                findings.refuse("manifest.tag", f"{spec.id}, tags", f"{tag!r} {problem}")
        advice = propose_tags(spec.tags)
        if advice:
            untagged.setdefault(advice, []).append(spec.id)
    for advice, ids in untagged.items():
        others = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        findings.warn("manifest.untagged", path, f"{ids[0]}{others} {advice}")


def _required_imports(wheel: Wheel) -> set[str]:
    """Return the import names of GEM's own packages that a wheel always requires."""
    names = {canonicalize_name(one.name) for one in wheel.requirements if one.marker is None}
    return {import_name_of(name) for name in names & OFFICIAL}


def _outside(namespace: str, offer: str, namespaces: set[str]) -> Iterator[tuple[str, str, str]]:
    if namespace not in namespaces:
        yield (
            "manifest.namespace",
            offer,
            f"is outside the namespaces that the package announces ({', '.join(sorted(namespaces))}); "
            f'add {namespace} = "PACKAGE" to its entry points',
        )


def _problems_of_resolver(wheel: Wheel, resolver: Resolver, namespaces: set[str]) -> Iterator[tuple[str, str, str]]:
    yield from _outside(resolver.prefix.rstrip(":"), resolver.prefix, namespaces)
    if sanitize(resolver.description) != resolver.description:
        yield "manifest.text", resolver.prefix, "has control or invisible characters in its description; remove them"
    if not _has_module(wheel, resolver.entry_point.partition(":")[0]):
        yield (
            "manifest.outside",
            f"{resolver.prefix}, entry_point",
            f"is {resolver.entry_point!r}, and no such module is in this wheel; point it to a module of the package",
        )


def _problems(wheel: Wheel, spec: EnvSpec, namespaces: set[str]) -> Iterator[tuple[str, str, str]]:
    yield from _outside(parse_id(spec.id).namespace, spec.id, namespaces)
    if sanitize(spec.description) != spec.description:
        yield "manifest.text", spec.id, "has control or invisible characters in its description; remove them"
    if any(sanitize(reason) != reason for reason in spec.exempt.values()):
        yield "manifest.text", f"{spec.id}, exempt", "has control or invisible characters in a reason; remove them"
    targets: Mapping[str, object] = spec.to_dict()
    for key in _BASED:
        target = targets.get(key)
        if isinstance(target, str) and not _has_module(wheel, target.partition(":")[0]):
            if target.partition(":")[0].partition(".")[0] in _required_imports(wheel):
                continue  # code of GEM itself, such as the reference policy of gem_questions; the kit tries it
            yield (
                "manifest.outside",
                f"{spec.id}, {key}",
                f"is {target!r}, and no such module is in this wheel or in a package of GEM that it requires; point it "
                "to a module of the package",
            )
