"""Whether wheels would be laid over files of others: their RECORDs are compared before anything is installed.

An installer writes a wheel's files over whatever lies there, whoever brought it. A package of a hub that is called
``yaml`` would so take the place of another project's module.
"""

from __future__ import annotations

import csv
import site
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Collection, Container, Iterable
from importlib import invalidate_caches
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution, distributions
from importlib.util import find_spec
from io import TextIOWrapper
from os.path import normpath
from pathlib import Path

from packaging.utils import canonicalize_name

from gem_hub_client.errors import HubError
from gem_hub_client.names import normalized_name
from gem_hub_client.releases import IndexedRelease
from gem_hub_client.wheel_files import load_wheel

__all__ = ["check_conflicts"]

_RECORD_LIMIT = 16_000_000
"""Bytes of a RECORD; one of a wheel with 10,000 files has 1 MB."""


def check_conflicts(releases: Iterable[IndexedRelease], others: Collection[str]) -> None:
    """Load the wheels that are about to be installed, and compare their files with each other and with what is there.

    Args:
        releases: the releases to install; each replaces an installed package of its own name.
        others: the names of what the installer takes from its own index besides.

    Raises:
        HubError: if a wheel would overwrite or hide a file of another package or of Python, if two would write the same
            one, or if a wheel cannot be loaded or is not the one that the hub lists.
    """
    planned: dict[str, IndexedRelease] = {}
    invalidate_caches()
    for release in releases:
        own = _own_files(release.name)
        paths, commands_and_data = _paths(release)
        for path in (*paths, *map(str, commands_and_data)):
            if planned.setdefault(path, release) is not release:
                raise HubError(f"{release} and {planned[path]} both bring {path}; nothing was installed")
        for module in sorted({path.partition("/")[0].removesuffix(".py") for path in paths}):
            _check_module(release, module, own, others)
        for place in (*(folder / path for folder in _install_folders() for path in paths), *commands_and_data):
            if place.exists() and place not in own:
                raise _overwriting(release, place)


def _check_module(release: IndexedRelease, module: str, own: Container[Path], others: Iterable[str]) -> None:
    """Refuse a top-level module that is Python's, or another package's now or after the installation."""
    if not module.isidentifier():
        return  # such as the folder of its metadata
    if module in sys.stdlib_module_names:
        raise HubError(f"{release} brings {module}, which is a module of Python; nothing was installed")
    for other in others:
        if canonicalize_name(other) == canonicalize_name(module) != release.name:
            raise HubError(
                f"{release} brings {module}, as {other} from your installer's index seems to; nothing was installed"
            )
    try:
        spec = find_spec(module)
    except ValueError:  # a module that was imported without saying from where
        return
    place = Path(spec.origin) if spec is not None and spec.origin else None
    if place is not None and {"site-packages", "dist-packages"} & {*place.parts} and place not in own:
        raise _overwriting(release, place)


def _overwriting(release: IndexedRelease, place: Path) -> HubError:
    owner = _owner(place)
    whose = f"of {owner}, which is installed" if owner else "that no installed package lists"
    return HubError(f"{release} would take the place of {place}, a file {whose}; nothing was installed")


def _own_files(name: str) -> set[Path]:
    """Return the files of an installed package; none if it is not installed."""
    try:
        return set(_files(distribution(name)))
    except PackageNotFoundError:
        return set()


def _owner(place: Path) -> str:
    """Return the name of the installed package that lists a file; empty if none does."""
    marks = (f"{place.parent.name}/{place.name},", f"\n{place.name},")
    for one in distributions():
        try:
            listed = "\n" + (one.read_text("RECORD") or "")
            # Most lists need not be parsed to see that it is not theirs.
            if any(mark in listed for mark in marks) and place in _files(one):
                return normalized_name(one.metadata["Name"] or "")
        except (OSError, LookupError, ValueError):  # its metadata is gone or damaged
            continue
    return ""


def _files(one: Distribution) -> list[Path]:
    # Commands are listed relative to the folder of modules, with steps upwards.
    return [Path(normpath(str(one.locate_file(file)))) for file in one.files or ()]


def _install_folders() -> set[Path]:
    """Return the folders into which pip or uv may write modules for this Python."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    return {Path(folder) for folder in folders}


def _paths(release: IndexedRelease) -> tuple[list[str], list[Path]]:
    """Return where the files of a wheel are laid: modules, relative to their folder; commands and data, anywhere."""
    with tempfile.TemporaryFile() as file:
        load_wheel(release, file)
        try:
            with zipfile.ZipFile(file) as archive:
                (record,) = (item for item in archive.infolist() if item.filename.endswith(".dist-info/RECORD"))
                if record.file_size > _RECORD_LIMIT:
                    raise ValueError(f"its RECORD has {record.file_size:,} bytes")
                with archive.open(record) as content:
                    listed = [row[0] for row in csv.reader(TextIOWrapper(content, "utf-8")) if row]
                held = [item.filename for item in archive.infolist() if not item.is_dir()]
                commands = _commands(archive, record.filename.removesuffix("RECORD"))
        except (
            zipfile.BadZipFile,
            ValueError,
            TypeError,
            OSError,
            NotImplementedError,
            RuntimeError,
            csv.Error,
        ) as error:
            raise HubError(f"{release}: the RECORD of its wheel cannot be read: {error}") from error
    scripts = sysconfig.get_path("scripts")
    modules, others = set(), {Path(normpath(Path(scripts, command))) for command in commands}
    for path in (*listed, *held):
        head, _, rest = path.partition("/")
        scheme, _, inside = rest.partition("/")
        if not head.endswith(".data"):
            modules.add(path)
        elif scheme in ("purelib", "platlib"):
            modules.add(inside)
        elif inside and scheme in ("scripts", "data"):
            others.add(Path(normpath(Path(sysconfig.get_path(scheme), inside))))
    return sorted(modules - {""}), sorted(others)


def _commands(archive: zipfile.ZipFile, info: str) -> list[str]:
    """Return the names of the commands that an installer makes of the entry points of a wheel."""
    place = zipfile.Path(archive, info)
    if not (place / "entry_points.txt").exists():
        return []
    size = archive.getinfo(f"{info}entry_points.txt").file_size
    if size > _RECORD_LIMIT:
        raise ValueError(f"its entry points have {size:,} bytes")
    groups = ("console_scripts", "gui_scripts")
    suffix = ".exe" if sys.platform == "win32" else ""
    return [f"{one.name}{suffix}" for one in PathDistribution(place).entry_points if one.group in groups]
