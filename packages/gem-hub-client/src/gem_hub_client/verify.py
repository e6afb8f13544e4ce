"""Checks all files of a hub against each other, for its operator or a cautious client.

Signatures → ``root.json`` → files of the catalogue → ``envs/`` → ``simple/`` pages → wheels → the metadata beside
them; and the record of each release in the log of a signed hub. Each is loaded anew, nothing comes from a cache. The
checks of one package are in :mod:`gem_hub_client.verify_package`.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from gem_hub_client.catalogue_reader import read_lines
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.names import ROOT_PATH
from gem_hub_client.root import ROOT_LIMIT, File, Root, parse_root
from gem_hub_client.sanitize import sanitize
from gem_hub_client.simple import read_list
from gem_hub_client.trust.access import trusted_hub
from gem_hub_client.trust.checkpoints import compare_with_witness
from gem_hub_client.trust.records import RecordLog
from gem_hub_client.verify_package import ServedHub, check_package

__all__ = ["Verification", "verify"]

_LIST_LIMIT = 256_000_000
"""Bytes of ``simple/index.html``."""
_KEPT = ("envs", "simple", "files")
"""The folders in which every file must be listed by a page."""

Progress = Callable[[int, int, str], None]
"""Gets how many packages are done, of how many, and the name of the next."""


@dataclass
class Verification:
    """The extent and the findings of a verification."""

    hub: Hub
    serial: int = -1
    created: str = ""
    packages: int = 0
    files: int = 0
    """The number of files that were read and compared."""
    size: int = 0
    """Their size in bytes."""
    problems: list[str] = field(default_factory=list)
    """One sentence each, beginning with the path."""
    notes: list[str] = field(default_factory=list)
    key: str = ""
    """The fingerprint of the root keys; empty for a hub that is not signed."""


def verify(hub: Hub, progress: Progress = lambda done, total, name: None) -> Verification:
    """Check a whole hub.

    Args:
        hub: which one.
        progress: receives a report on each package.

    Raises:
        HubError: if there is no usable ``root.json``, or it changed while the rest was read.
    """
    served = ServedHub(hub)
    content = served.read(ROOT_PATH, ROOT_LIMIT)
    if content is None:
        raise HubError(served.problems[0])
    root = parse_root(content, served.name(ROOT_PATH))
    key, log, witness = _check_signatures(served, content)
    lines = _check_catalogue(served, root)
    if not hub.embedded:  # the snapshot inside the client is for searching; files come from elsewhere
        _check_lists(served, lines)
    wheels: set[str] = set()
    for number, name in enumerate(sorted(lines)):
        progress(number, len(lines), name)
        wheels |= check_package(served, lines[name], root.serial, log)
    if not hub.remote:
        served.problems += _unpromised(Path(hub.location), lines, wheels, hub.embedded)
    if served.problems and served.read(ROOT_PATH, ROOT_LIMIT) != content:
        raise HubError(f"{hub.name}: changed while it was read, so what was found may mean nothing; verify it again")
    notes = [*served.notes, *([witness] if witness else [])]
    return Verification(
        hub, root.serial, root.created, len(lines), served.files, served.size, served.problems, notes, key
    )


def _check_signatures(served: ServedHub, content: bytes) -> tuple[str, RecordLog | None, str]:
    """Check the signatures of a hub, and its log against what was seen here and is shown at its second address.

    Returns:
        Its key, the log if it has one, and a sentence on the second address if there is one.
    """
    hub = served.hub
    try:
        trusted = trusted_hub(hub, served.source, time.time(), remember=False)
    except HubError as error:
        served.problems.append(sanitize(str(error)))
        return "", None, ""
    if trusted is None:
        return "", None, ""
    served.keys = trusted.root.roles["timestamp"].keys
    if trusted.expired:
        served.problems.append(f"{hub.name}: its signatures were valid until {trusted.expires}; run: gem hub sign")
    if hashlib.sha256(content).hexdigest() != trusted.promised(ROOT_PATH).sha256:
        served.problem(ROOT_PATH, "is not the one that was signed; run: gem hub sign")
    witness = ""
    try:
        witness = sanitize(compare_with_witness(hub, trusted, time.time()))
    except HubError as error:
        served.problems.append(sanitize(f"the second address: {error}"))
    log = RecordLog(hub, served.source, trusted.pin) if trusted.pin.log_size else None
    return trusted.root.fingerprint, log, witness


def _check_catalogue(served: ServedHub, root: Root) -> dict[str, dict[str, Any]]:
    """Return the newest line of each package, after checking all files that ``root.json`` names."""
    contents = {file: _lines_of(served, file) for file in (root.snapshot, *root.segments)}
    newest: dict[str, dict[str, Any]] = {}
    for file in root.files_after(-1):
        newest.update({line["name"]: line for line in contents[file]})
    for file, lines in contents.items():
        for line in lines:
            serial = line.get("serial")
            if type(serial) is not int or not file.after < serial <= file.to:
                served.problem(file.path, f"has a line of {line['name']} with serial {serial}, which is not its own")
            # The segments must lead a client to the same state as the snapshot.
            final = newest.get(line["name"])
            if final is not None and final.get("serial") == serial and final != line:
                served.problem(file.path, f"contradicts another file of the catalogue on {line['name']}")
            elif final is None or (type(serial) is int and final.get("serial", -1) < serial):
                served.problem(file.path, f"has a change of {line['name']} that is lost for who takes the snapshot")
    return newest


def _lines_of(served: ServedHub, file: File) -> list[dict[str, Any]]:
    content = served.read(file.path, file.size)
    if content is None:
        return []
    digest = hashlib.sha256(content).hexdigest()
    if len(content) != file.size or digest != file.sha256:
        served.problem(
            file.path,
            f"is not what {ROOT_PATH} promises: expected {file.size:,} bytes with sha256 {file.sha256}, found "
            f"{len(content):,} bytes with sha256 {digest}",
        )
        return []
    try:
        return list(read_lines(BytesIO(content), file.size, served.name(file.path)))
    except HubError as error:
        served.problems.append(str(error))
        return []


def _check_lists(served: ServedHub, lines: Iterable[str]) -> None:
    """Check the two pages that list all packages."""
    expected = sorted(lines)
    for path in ("simple/index.html", "simple/index.json"):
        content = served.read(path, _LIST_LIMIT)
        if content is None:
            continue
        try:
            names = read_list(content) if path.endswith("html") else _names(content)
        except ValueError as error:
            served.problem(path, f"cannot be read: {error}")
            continue
        if names != expected:
            other = sorted(set(names) ^ set(expected))
            served.problem(path, f"does not list the packages of the catalogue: {', '.join(other[:3]) or 'twice one'}")


def _names(content: bytes) -> list[str]:
    try:
        return sorted(project["name"] for project in json.loads(content)["projects"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(repr(error)) from error


def _unpromised(folder: Path, names: Iterable[str], wheels: set[str], embedded: bool) -> Iterator[str]:
    """Yield the files that nothing promises; installers and people could take them for part of the hub."""
    known = set(names)
    pages = {f"envs/{name}.json" for name in known}
    if not embedded:
        pages |= {f"simple/{name}/index.{end}" for name in known for end in ("html", "json")}
        pages |= {"simple/index.html", "simple/index.json"}
    for top in _KEPT:
        for parent, _, files in os.walk(folder / top):
            for file in sorted(files):
                if not (Path(parent) / file).resolve().is_relative_to(folder.resolve()):
                    yield sanitize(f"{Path(parent) / file}: is a link that leads out of the hub")
                path = (Path(parent) / file).relative_to(folder).as_posix()
                if path not in pages and path not in wheels:
                    yield sanitize(f"{folder / path}: lies in the hub, and no package of the catalogue has it")
