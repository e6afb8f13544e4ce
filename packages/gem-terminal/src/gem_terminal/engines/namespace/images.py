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

from gem.cpus import usable_cpus
from gem_terminal.engines.archives import flatten, inspect_archive, unpack
from gem_terminal.engines.base import Container, Progress, ProgressStage, report_stage
from gem_terminal.engines.container_defaults import SEARCH_PATH
from gem_terminal.engines.contexts import beginning_of, cache_folder, digest_of, digest_of_sources
from gem_terminal.engines.debian import bootstrap, debian_suite
from gem_terminal.engines.exclusive import building, exclusive, no_building
from gem_terminal.engines.mirrors import mirror_settings
from gem_terminal.engines.namespace.copying import context_files, copy_from_context, copy_from_image
from gem_terminal.engines.namespace.dockerfile import Instruction, parse
from gem_terminal.engines.namespace.network import PROGRAM, has_program
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
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


class _Stage:
    """An image in the making.

    Args:
        layers: its folders, topmost first.
    """

    def __init__(self, layers: Iterable[Path] = ()) -> None:
        self.layers = list(layers)
        self.config: dict[str, Any] = {"environment": {}, "workdir": "/", "user": None}
        self.chain = ""
        """Names all that was done so far."""

    def changed(self, *what: str) -> str:
        """Note an instruction; return the name of its layer."""
        self.chain = hashlib.sha256("\0".join((self.chain, *what)).encode()).hexdigest()
        return self.chain

    def add(self, layer: Path) -> None:
        self.layers.insert(0, layer)

    def copy(self) -> _Stage:
        """Return a stage that continues from here."""
        copied = _Stage(self.layers)
        copied.config, copied.chain = json.loads(json.dumps(self.config)), self.chain
        return copied


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

    def has_layer(self, folder: Path) -> bool:
        """Return whether a folder is a layer or a base of images here."""
        if not folder.is_dir():
            return False
        known = (self.folder / "layers", self.folder / "contents")
        return folder.parent in known or any(base.resolve() == folder for base in (self.folder / "bases").glob("*"))

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
        given = dict(image.arguments)
        arguments: dict[str, str] = {}
        stages: dict[str, _Stage] = {}
        stage = _Stage()
        steps = parse(image.folder / image.dockerfile)
        for number, step in enumerate(steps, 1):
            report_stage(progress, ProgressStage(step.line, number, len(steps)))
            config = stage.config
            if step.name == "RUN":
                said = *map(str, step.documents), json.dumps(config, sort_keys=True), json.dumps(arguments)
                stage.add(self._run(stage.changed(step.line, *said), stage, step, arguments, image))
                continue
            step = step.filled({"PATH": SEARCH_PATH, **arguments, **config["environment"]})
            if step.name == "FROM":
                stage = self._begun(step, stages, progress)
            elif step.name in ("COPY", "ADD", "WORKDIR"):
                if step.name == "WORKDIR":
                    config["workdir"] = str(PurePosixPath(config["workdir"]) / step.text)
                source = self._source(step, stages, progress)
                if step.name == "WORKDIR":
                    origin = ""
                elif source is None:
                    origin = digest_of_sources(image, context_files(step, image))
                else:
                    origin = source.chain
                layer = stage.changed(step.name, step.text, config["workdir"], *map(str, step.documents), origin)
                stage.add(self._copied(layer, stage, step, image, source))
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
        return stage.layers, stage.config

    def _begun(self, step: Instruction, stages: dict[str, _Stage], progress: Progress | None) -> _Stage:
        """Return a stage on a base image, or on an earlier stage; it has its name and its number in ``stages``."""
        name, *words = step.arguments()
        if name.lower() in stages:
            stage = stages[name.lower()].copy()
        else:
            stage, mirrors = self._on_base(name, progress), mirror_settings()
            if mirrors:
                stage.config["has_mirrors"] = True
                layer = stage.changed(mirrors.digest)
                if mirrors.files:
                    stage.add(self._made(layer, self._making(stage, lambda into: into.put(mirrors.archive(), "/"))))
        if [word.upper() for word in words[:1]] == ["AS"]:
            stages[words[1].lower()] = stage
        stages[str(sum(key.isdigit() for key in stages))] = stage
        return stage

    def _on_base(self, name: str, progress: Progress | None) -> _Stage:
        base, settings = self._base(name, progress)
        stage = _Stage([base])
        stage.config |= settings
        stage.changed(base.name)
        return stage

    def _source(self, step: Instruction, stages: Mapping[str, _Stage], progress: Progress | None) -> _Stage | None:
        """Return the stage or image from which files are copied; None for the build context."""
        name = step.options().get("from") if step.name == "COPY" else None
        if name is None:
            return None
        return stages.get(name.lower()) or self._on_base(name, progress)

    def _run(self, layer: str, stage: _Stage, step: Instruction, arguments: Mapping[str, str], image: Image) -> Path:
        """Return the folder of what a command changes."""
        environment = {**mirror_settings().variables, **arguments, **stage.config["environment"]}

        def run(container: Container) -> None:
            done = container.run(step.command(), seconds=image.build_seconds)
            if done.exit_code != 0:
                why = "took too long" if done.exit_code is None else f"failed with exit code {done.exit_code}"
                raise EngineError(f"{step.line!r} {why}: {_end_of(done.output)}")

        return self._made(layer, self._making(stage, run, environment))

    def _copied(self, layer: str, stage: _Stage, step: Instruction, image: Image, source: _Stage | None) -> Path:
        """Return the folder of what COPY, ADD or WORKDIR changes."""
        workdir = stage.config["workdir"]

        def copy(container: Container) -> None:
            if step.name == "WORKDIR":
                container.run(("mkdir", "-p", workdir), seconds=60, user="root", workdir="/")
            elif source is None:
                copy_from_context(container, step, workdir, image)
            else:
                limits = replace(_BUILD, network=False)
                # A container needs a shell, which images of single programs do not have: that of this stage serves.
                below = () if _has_shell(source.layers) else stage.layers
                with self._start([*source.layers, *below], limits, {}, source.config) as other:
                    copy_from_image(container, step, workdir, other, source.layers if below else ())

        return self._made(layer, self._making(stage, copy))

    def _making(
        self, stage: _Stage, change: Callable[[Container], object], environment: Mapping[str, str] | None = None
    ) -> Callable[[Path], None]:
        """Return a function that fills a folder with what a function changes in a container of this stage."""

        def make(folder: Path) -> None:
            own_network = has_program()
            if not own_network:
                warn_once(_SHARED_BUILD)
            limits = replace(_BUILD, host_network=not own_network)
            with self._start(
                stage.layers, limits, environment or stage.config["environment"], stage.config
            ) as container:
                change(container)
                container.save(folder)

        return make

    def reap(self) -> None:
        """Remove unfinished layers of ended processes of this machine."""
        host = ContainerOwner.this_process().host
        for path in self.folder.glob("*/.making-*-*-*-*"):
            _, short, pid, began, _ = path.name.split("-", 4)
            if short == _short(host) and pid.isdigit() and not ContainerOwner(host, int(pid), began).is_alive():
                shutil.rmtree(path, ignore_errors=True)

    def _made(self, folder: Path | str, make: Callable[[Path], Any]) -> Path:
        folder = self.folder / "layers" / folder  # which an absolute path replaces
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


def _has_shell(layers: Iterable[Path]) -> bool:
    return any(os.path.lexists(layer / name) for layer in layers for name in ("bin/sh", "usr/bin/sh"))


def _reference(image: Image) -> str:
    if image.folder is not None:
        return digest_of(image)
    assert image.name is not None
    return hashlib.sha256(image.name.encode()).hexdigest()[:24]


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
