"""Unpacked images for the namespace engine: base folders by name, and the layers that a Dockerfile adds to them.

The digest of all its inputs identifies a layer, so a repeated build costs nothing. A layer is built under a
temporary name and renamed, so an unfinished layer never appears under its final name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from gem.processes.cpus import usable_cpus
from gem_terminal.archive import archive_of
from gem_terminal.engines.archives import flatten, inspect_archive, unpack
from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.engines.contexts import beginning_of, cache_folder, digest_of
from gem_terminal.engines.debian import bootstrap, debian_suite
from gem_terminal.engines.exclusive import building, exclusive, no_building
from gem_terminal.engines.mirrors import MirrorSettings, mirror_settings
from gem_terminal.engines.namespace.dockerfile import Instruction, parse
from gem_terminal.engines.namespace.network import PROGRAM, has_program
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError, TaskError
from gem_terminal.plain_text import plain_text
from gem_terminal.task import Image, ResourceLimits
from gem_terminal.warnings_once import warn_once

if TYPE_CHECKING:
    from gem_terminal.engines.namespace.container import NamespaceContainer

    _Start = Callable[[Iterable[Path], ResourceLimits, Mapping[str, str], Mapping[str, Any]], NamespaceContainer]

__all__ = ["ImageStore"]

_BUILD = ResourceLimits(cpus=float(usable_cpus()), memory=8 << 30, processes=4096, disk=8 << 30, network=True)

_SHARED_BUILD = (
    f"images are built with the network of this machine, since {PROGRAM} is missing: the commands of a Dockerfile "
    f"reach the services on 127.0.0.1 (Debian: apt install {PROGRAM})"
)


class ImageStore:
    """The images of a folder.

    Args:
        folder: the folder; None for the cache folder of this user.
        start: starts a container on stacked folders, topmost first, for the commands of a Dockerfile.
    """

    def __init__(self, folder: Path | None, start: _Start) -> None:
        self.folder = folder or cache_folder()
        self._start = start

    def prepare(self, image: Image, progress: Progress | None) -> str:
        """Return the reference of an image; build the image if necessary.

        Of an image with a name and a folder, the prebuilt one comes first if its root file system is here. Images that
        begin alike are built one after another, so that they share their first layers.

        Raises:
            EngineError: if a base is missing or a step fails.
        """
        if image.folder is not None and image.name is not None and self.has_base(image.name):
            image = Image(name=image.name)
        reference = _reference(image)
        if not self._is_made(reference):
            with building(self.folder, beginning_of(image), progress):
                if not self._is_made(reference):  # the last holder of the lock may have built it
                    layers, config = self._build(image, progress)
                    self._write(
                        self.folder / "images" / reference,
                        {"layers": [str(layer) for layer in layers], "config": config},
                    )
        return reference

    def layers(self, reference: str) -> tuple[list[Path], Mapping[str, Any]]:
        """Return the folders of a prepared image, topmost first, and its configuration."""
        content = json.loads((self.folder / "images" / reference).read_text(encoding="utf-8"))
        return [Path(layer) for layer in content["layers"]], content["config"]

    def has_base(self, name: str) -> bool:
        """Return whether a root file system of this name exists."""
        return (self.folder / "bases" / _file_name(name)).is_dir()

    def add_base(self, name: str, source: Path, progress: Progress | None) -> None:
        """Unpack a root file system, or the merged layers of a saved image, under a name.

        Raises:
            EngineError: if the archive holds neither of them.
        """
        content = inspect_archive(source, name)
        with exclusive(self.folder / "lock", progress):
            config: dict[str, Any] = {
                "environment": dict(content.environment),
                "workdir": content.workdir or "/",
                "user": content.user,
            }
            config |= {"entrypoint": list(content.entrypoint), "command": list(content.command)}
            self._write(self.folder / "configs" / _file_name(name), config)
            with flatten(source, content, progress) as archive:
                report_stage(progress, ProgressStage(f"unpacking {source.name}"))
                self._share(name, _digest(archive), lambda folder: unpack(archive, folder))

    def discard(self, keep: Iterable[Image]) -> int:
        """Remove the built images, except those in ``keep``, and the layers that no other image uses."""
        kept = {_reference(image) for image in keep}
        with no_building(self.folder, None):
            removed = [path for path in (self.folder / "images").glob("*") if path.name not in kept]
            for path in removed:
                path.unlink()
            used = {layer for path in (self.folder / "images").glob("*") for layer in self.layers(path.name)[0]}
            for layer in set((self.folder / "layers").glob("*")) - used:
                shutil.rmtree(layer)
        return len(removed)

    def _base(self, name: str, progress: Progress | None) -> tuple[Path, dict[str, Any]]:
        folder = self.folder / "bases" / _file_name(name)
        suite = debian_suite(name)
        if not folder.is_dir():
            if suite is None or shutil.which("debootstrap") is None or os.getuid() != 0:
                advice = "install debootstrap and run as root, or add it" if suite else "add it"
                raise EngineError(
                    f"the base image {name} is not here; {advice} with: gem terminal base {name} --from ARCHIVE.tar "
                    "--engine namespace"
                )
            self._share(name, f"debian-{suite}", lambda into: bootstrap(suite, into, progress))
        config = self.folder / "configs" / _file_name(name)
        return folder.resolve(), json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}

    def _share(self, name: str, content: str, make: Callable[[Path], Any]) -> None:
        """Give a base its name; bases with the same content are one folder.

        Args:
            name: of the image.
            content: names what the base holds.
            make: fills a folder with it.
        """
        folder, base = self._made(self.folder / "contents" / content, make), self.folder / "bases" / _file_name(name)
        if base.is_dir():  # running containers may use what has the name
            return
        base.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process was faster
            base.symlink_to(Path("..") / "contents" / folder.name)

    def _build(self, image: Image, progress: Progress | None) -> tuple[list[Path], dict[str, Any]]:
        if image.folder is None:
            assert image.name is not None
            base, settings = self._base(image.name, progress)
            return [base], settings
        layers: list[Path] = []
        config: dict[str, Any] = {"environment": {}, "workdir": "/", "user": None}
        given = dict(image.arguments)
        arguments: dict[str, str] = {}
        chain, mirrors = hashlib.sha256(), mirror_settings()
        steps = parse(image.folder / image.dockerfile)
        for number, step in enumerate(steps, 1):
            report_stage(progress, ProgressStage(step.line, number, len(steps)))
            if step.name == "RUN":
                chain.update(f"{step.line}\0{json.dumps(config, sort_keys=True)}\0{json.dumps(arguments)}".encode())
                layers.insert(
                    0,
                    self._layer(
                        chain, layers, step, {**mirrors.variables, **arguments, **config["environment"]}, config, image
                    ),
                )
                continue
            step = step.filled({**arguments, **config["environment"]})
            if step.name == "FROM":
                name = step.words()[0]
                base, settings = self._base(name, progress)
                chain.update(base.name.encode())
                layers.append(base)
                config |= settings
                if mirrors:
                    config["has_mirrors"] = True
                    chain.update(mirrors.digest.encode())
                    if mirrors.files:
                        layers.insert(0, self._mirror_layer(chain, layers, mirrors, config))
            elif step.name in ("COPY", "ADD", "WORKDIR"):
                if step.name == "WORKDIR":
                    config["workdir"] = str(PurePosixPath(config["workdir"]) / step.text)
                chain.update(f"{step.line}\0{config['workdir']}\0{digest_of(image)}".encode())
                layers.insert(0, self._layer(chain, layers, step, config["environment"], config, image))
            elif step.name == "ENV":
                config["environment"].update(_assignments(step))
            elif step.name == "ARG":
                name, _, default = step.text.partition("=")
                arguments.setdefault(name, given.get(name, default.strip("\"'")))
            elif step.name == "USER":
                config["user"] = step.text.partition(":")[0]
            elif step.name in ("CMD", "ENTRYPOINT"):
                words = step.words() if step.text.startswith("[") else ["/bin/sh", "-c", step.text]
                config[step.name.lower() if step.name == "ENTRYPOINT" else "command"] = words
                if step.name == "ENTRYPOINT":
                    config["command"] = []  # that of the base does not go with it
        return layers, config

    def _layer(
        self,
        chain: Any,
        layers: list[Path],
        step: Instruction,
        environment: Mapping[str, str],
        config: Mapping[str, Any],
        image: Image,
    ) -> Path:
        """Return the folder of what one instruction changes."""

        def make(folder: Path) -> None:
            own_network = has_program()
            if not own_network:
                warn_once(_SHARED_BUILD)
            limits = replace(_BUILD, host_network=not own_network)
            with self._start(layers, limits, environment, config) as container:
                if step.name == "RUN":
                    command = step.words() if step.text.startswith("[") else ["sh", "-c", step.text]
                    done = container.run(command, seconds=image.build_seconds)
                    if done.exit_code != 0:
                        why = "took too long" if done.exit_code is None else f"failed with exit code {done.exit_code}"
                        raise EngineError(f"{step.line!r} {why}: {_end_of(done.output)}")
                elif step.name == "WORKDIR":
                    container.run(("mkdir", "-p", config["workdir"]), seconds=60, user="root", workdir="/")
                else:
                    _copy(container, step, config["workdir"], image)
                container.save(folder)

        return self._made(self.folder / "layers" / chain.hexdigest(), make)

    def _mirror_layer(self, chain: Any, layers: list[Path], mirrors: MirrorSettings, config: Mapping[str, Any]) -> Path:
        """Return a folder with the files of the mirrors."""

        def make(folder: Path) -> None:
            with self._start(layers, replace(_BUILD, network=False), {}, config) as container:
                container.put(mirrors.archive(), "/")
                container.save(folder)

        return self._made(self.folder / "layers" / chain.hexdigest(), make)

    def reap(self) -> None:
        """Remove unfinished layers of ended processes of this machine."""
        host = ContainerOwner.this_process().host
        for path in self.folder.glob("*/.making-*-*-*-*"):
            _, short, pid, began, _ = path.name.split("-", 4)
            if short == _short(host) and pid.isdigit() and not ContainerOwner(host, int(pid), began).is_alive():
                shutil.rmtree(path, ignore_errors=True)

    def _made(self, folder: Path, make: Any) -> Path:
        if folder.is_dir():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        owner = ContainerOwner.this_process()
        prefix = f".making-{_short(owner.host)}-{owner.pid}-{owner.began}-"
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix, ignore_cleanup_errors=True) as scratch:
            made = Path(scratch) / "made"
            made.mkdir(mode=0o755)
            make(made)
            try:
                made.rename(folder)
            except OSError:  # another process was faster
                if not folder.is_dir():
                    raise
        return folder

    def _is_made(self, reference: str) -> bool:
        return (self.folder / "images" / reference).is_file()

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps(content), encoding="utf-8")
        scratch.rename(path)


def _reference(image: Image) -> str:
    if image.folder is not None:
        return digest_of(image)
    assert image.name is not None
    return hashlib.sha256(image.name.encode()).hexdigest()[:24]


def _copy(container: Any, step: Instruction, workdir: str, image: Image) -> None:
    assert image.folder is not None
    words = step.words()
    options = [word for word in words if word.startswith("--")]
    *sources, target = [word for word in words if not word.startswith("--")]
    goal = str(PurePosixPath(workdir) / target)
    root = image.folder.resolve()
    found = [path for source in sources for path in _matching(root, source)]
    if not found or any(root not in (path, *path.parents) for path in found):
        raise TaskError(f"{image.folder / image.dockerfile}: {step.line!r} matches nothing in the build context")
    into_folder = target.endswith("/") or len(found) > 1 or found[0].is_dir() or target in (".", "..")
    if into_folder:
        container.put(archive_of(found, goal.strip("/") or "."), "/")
    else:
        container.put(archive_of(found, str(PurePosixPath(goal).parent).strip("/") or "."), "/")
        if PurePosixPath(goal).name != found[0].name:
            here = str(PurePosixPath(goal).parent / found[0].name)
            container.run(("mv", here, goal), seconds=60, user="root", workdir="/")
    for option in options:
        name, _, value = option.partition("=")
        command = {"--chown": "chown", "--chmod": "chmod"}[name]
        container.run((command, "-R", value, goal), seconds=60, user="root", workdir="/")


def _matching(root: Path, source: str) -> list[Path]:
    """Return the sorted paths that match a source of COPY: a pattern, or ``.`` for the whole context."""
    return sorted(root.glob(source.strip("/"))) if source.strip("./") else [root]


def _assignments(step: Instruction) -> dict[str, str]:
    words = step.words()
    if "=" not in words[0]:
        return {words[0]: step.text.partition(" ")[2].strip()}
    return dict(word.split("=", 1) for word in words)


def _digest(archive: Path) -> str:
    digest = hashlib.sha256()
    with archive.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()[:24]


def _end_of(output: bytes) -> str:
    return plain_text(output.decode(errors="replace")).strip()[-500:]


def _short(host: str) -> str:
    return hashlib.sha256(host.encode()).hexdigest()[:8]


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)
