"""The images of a Docker engine: found, pulled, built from folders, imported from archives."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.archives import flatten, inspect_archive
from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.engines.contexts import beginning_of, cache_folder, digest_of
from gem_terminal.engines.docker import buildkit
from gem_terminal.engines.docker.container import engine_errors
from gem_terminal.engines.exclusive import building
from gem_terminal.engines.mirrors import mirror_settings, with_lines_after_from
from gem_terminal.errors import EngineError
from gem_terminal.plain_text import plain_text
from gem_terminal.task import Image
from gem_terminal.warnings_once import warn_once

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["IMAGE", "LABEL", "add_base", "discard", "has", "is_built", "prepare", "variables_of"]

LABEL = "gem.terminal"
IMAGE = "image"
"""The label's value on an image that GEM built; on other objects the value names the owner."""
"""The label of all containers and images of this package; on a container it names the owner."""

_REPOSITORY = "gem-terminal"
_ASIDES = ("--->", "Removing intermediate", "Successfully")
"""Other messages of the engine between the steps."""

_STEP = re.compile(r"step (\d+)/(\d+) ?: (.*)", re.IGNORECASE)


def prepare(client: DockerClient, image: Image, progress: Progress | None, url: str | None = None) -> str:
    """Return the reference of an image of the engine; pull or build the image if necessary.

    Of an image with a name and a folder, the prebuilt one comes first. Where it cannot be had, the folder is built,
    with a warning.

    Args:
        client: the connection to the engine.
        image: the image.
        progress: receives the steps.
        url: the address of the engine; None for that of the environment.

    Raises:
        EngineError: if the image cannot be pulled or built.
    """
    reference = _present(client, image)
    if reference is None:
        with building(cache_folder() / "docker", beginning_of(image), progress):
            reference = _present(client, image)  # the last holder of the lock may have built it
            if reference is None:
                reference = _made(client, url, image, progress)
    return reference


def _present(client: DockerClient, image: Image) -> str | None:
    names = ([] if image.name is None else [image.name]) + ([] if image.folder is None else [_tag(image)])
    return next((name for name in names if has(client, name)), None)


def _made(client: DockerClient, url: str | None, image: Image, progress: Progress | None) -> str:
    if image.name is not None:
        try:
            _fetch(client, image.name, progress)
        except EngineError:
            if image.folder is None:
                raise
            warn_once(
                f"the prebuilt image {image.name} cannot be had, so {image.folder / image.dockerfile} is built, "
                "perhaps with other versions of its packages"
            )
        else:
            return image.name
    _build(client, url, image, progress)
    return _tag(image)


def has(client: DockerClient, reference: str) -> bool:
    """Return whether the engine has an image."""
    from docker.errors import ImageNotFound

    with engine_errors(f"the engine cannot look for the image {reference}"):
        try:
            client.images.get(reference)
        except ImageNotFound:
            return False
    return True


def add_base(client: DockerClient, name: str, archive: Path, progress: Progress | None) -> None:
    """Import a root file system, or the merged layers of a saved image, under a name."""
    content = inspect_archive(archive, name)
    repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "latest")
    with engine_errors(f"{archive} cannot be imported as an image"), flatten(archive, content, progress) as flat:
        report_stage(progress, ProgressStage(f"the engine reads {archive.name}"))
        client.api.import_image_from_file(str(flat), repository, tag, changes=content.changes)
    if not has(client, name):
        raise EngineError(f"the engine has read {archive} but knows no image {name}")


def discard(client: DockerClient, keep: Iterable[Image]) -> int:
    """Remove the images that GEM built, except those in ``keep`` and those of existing containers."""
    from docker.errors import APIError

    kept = {_tag(image) for image in keep if image.folder is not None}
    count = 0
    with engine_errors("the engine cannot list its images"):
        # client.images inspects each image by itself, and fails if one has just been removed.
        built = client.api.images(filters={"label": f"{LABEL}={IMAGE}"})
    for image in built:
        for tag in set(image["RepoTags"] or ()) - kept:
            try:
                client.images.remove(tag)
                count += 1
            except (APIError, OSError):  # a container needs the image, or another process removes it at this moment
                continue
    return count


def is_built(reference: str) -> bool:
    """Return whether GEM built an image, which then has the files of the mirrors."""
    return reference.startswith(f"{_REPOSITORY}:")


def variables_of(client: DockerClient, reference: str) -> frozenset[str]:
    """Return the names of the environment variables of an image."""
    with engine_errors(f"the engine does not describe the image {reference}"):
        config = client.images.get(reference).attrs.get("Config") or {}
    return frozenset(str(variable).partition("=")[0] for variable in config.get("Env") or ())


def _tag(image: Image) -> str:
    return f"{_REPOSITORY}:{digest_of(image)}"


def _fetch(client: DockerClient, name: str, progress: Progress | None) -> None:
    missing = (
        f"the image {name} is not here (load it with docker load, build it under that name, or see: gem terminal base "
        "--help), and cannot be pulled"
    )
    report_stage(progress, ProgressStage(f"fetching {name}"))
    came: dict[str, tuple[int, int]] = {}
    with engine_errors(missing):
        for event in client.api.pull(name, stream=True, decode=True):
            _raise_if_refused(event)
            detail = event.get("progressDetail") or {}
            if event.get("status") == "Downloading" and detail.get("total"):
                came[event["id"]] = (detail["current"], detail["total"])
            elif event.get("status") == "Download complete" and event.get("id") in came:
                came[event["id"]] = (came[event["id"]][1],) * 2
            else:
                continue
            done, total = map(sum, zip(*came.values(), strict=True))
            report_stage(progress, ProgressStage(f"fetching {name}", done, total))
    if not has(client, name):
        raise EngineError(missing)


def _build(client: DockerClient, url: str | None, image: Image, progress: Progress | None) -> None:
    """Build an image with BuildKit if it is there, or else with the classic builder."""
    tag, settings = _tag(image), mirror_settings()
    arguments = {**settings.variables, **dict(image.arguments)}
    report_stage(progress, ProgressStage("sending the folder to the engine"))
    with engine_errors(f"the image of {image.folder} cannot be built"), _dockerfile(client, image) as dockerfile:
        if buildkit.has_buildkit(url):
            buildkit.build(url, image, dockerfile, tag, {LABEL: IMAGE}, arguments, progress)
        else:
            _build_classically(client, image, dockerfile, tag, arguments, progress)


def _build_classically(
    client: DockerClient,
    image: Image,
    dockerfile: str,
    tag: str,
    arguments: Mapping[str, str],
    progress: Progress | None,
) -> None:
    deadline = time.monotonic() + image.build_seconds
    said: list[str] = []
    done, total, failure = None, None, None
    with engine_errors(f"the image of {image.folder} cannot be built"):
        events = client.api.build(
            path=str(image.folder),
            dockerfile=dockerfile,
            tag=tag,
            rm=True,
            forcerm=True,
            labels={LABEL: IMAGE},
            buildargs=dict(arguments),
            timeout=max(int(image.build_seconds), 1),
            decode=True,
        )
        for event in events:
            line = plain_text(str(event.get("stream") or event.get("error") or "")).strip()
            if line:
                said = said if line.startswith(_ASIDES) else [*said[-2:], line]
                step = _STEP.match(line)
                if step is not None:
                    done, total, line = int(step[1]), int(step[2]), step[3]
                if not line.startswith(_ASIDES):
                    report_stage(progress, ProgressStage(line, done, total))
            if "error" in event:
                hint = "; see: gem terminal base --help" if ": FROM " in said[0] else ""
                failure = f"the image of {image.folder} cannot be built: {' | '.join(said)}{hint}"
            if time.monotonic() > deadline:
                events.close()  # closing the stream ends the build
                raise EngineError(
                    f"the image of {image.folder} cannot be built in the {image.build_seconds:g} seconds that its task "
                    f"grants; the last output: {' | '.join(said)}"
                )
    if failure is not None:  # raised after the last event, when the connection is free again
        raise EngineError(failure)


@contextmanager
def _dockerfile(client: DockerClient, image: Image) -> Iterator[str]:
    """Provide the Dockerfile of an image; where there are mirrors, a copy in which every stage begins with them.

    The files come from an image of their own, since the build context is the task's. The variables are arguments, which
    no image keeps.
    """
    assert image.folder is not None
    settings = mirror_settings()
    if not settings:
        yield image.dockerfile
        return
    lines = [f"ARG {name}" for name in settings.variables]
    if settings.files:
        files = f"{_REPOSITORY}-mirrors:{settings.digest}"
        if not has(client, files):
            repository, _, tag = files.partition(":")
            changes = [f"LABEL {LABEL}={IMAGE}"]
            client.api.import_image_from_data(settings.archive(numbered=True), repository, tag, changes=changes)
        lines += [f"COPY --from={files} /{number} {path}" for number, path in enumerate(settings.files)]
    text = (image.folder / image.dockerfile).read_text(encoding="utf-8", errors="surrogateescape")
    with tempfile.TemporaryDirectory(prefix="gem-terminal-") as folder:  # the SDK adds a file from outside
        copy = Path(folder) / "Dockerfile"
        copy.write_text(with_lines_after_from(text, lines), encoding="utf-8", errors="surrogateescape")
        yield str(copy)


def _raise_if_refused(event: Any) -> None:
    if "error" in event:
        raise OSError(event["error"])
