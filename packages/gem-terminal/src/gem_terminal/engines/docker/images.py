"""The images of a Docker engine: found, fetched, built from folders, made from archives."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.archives import flattened, looked_into
from gem_terminal.engines.base import Progress, ProgressStage, tell
from gem_terminal.engines.contexts import cache_folder, digest_of
from gem_terminal.engines.docker.container import failing
from gem_terminal.engines.exclusive import exclusive
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["IMAGE", "LABEL", "add_base", "discard", "has", "prepare"]

LABEL = "gem.terminal"
IMAGE = "image"
"""What the label of an image that was built here says; that of anything else names its owner."""
"""Every container and image of this package carries it; that of a container names its owner."""

_REPOSITORY = "gem-terminal"
_ASIDES = ("--->", "Removing intermediate", "Successfully")
"""What the engine says of itself between the steps."""

_STEP = re.compile(r"step (\d+)/(\d+) ?: (.*)", re.IGNORECASE)


def prepare(client: DockerClient, image: Image, progress: Progress | None) -> str:
    """Return the reference of an image that the engine has; it is fetched or built if need be.

    Images are made one at a time, so that what two of them begin with is made once.

    Raises:
        EngineError: if it cannot be had.
    """
    if image.folder is None:
        assert image.name is not None
        reference = image.name
    else:
        reference = _tag(image)
    if not has(client, reference):
        with exclusive(cache_folder() / "docker.lock", progress):
            if not has(client, reference):  # whoever held the lock may have made it
                if image.folder is None:
                    _fetch(client, reference, progress)
                else:
                    _build(client, image, reference, progress)
    return reference


def has(client: DockerClient, reference: str) -> bool:
    """Tell whether the engine has an image."""
    from docker.errors import ImageNotFound

    with failing(f"the engine cannot look for the image {reference}"):
        try:
            client.images.get(reference)
        except ImageNotFound:
            return False
    return True


def add_base(client: DockerClient, name: str, archive: Path, progress: Progress | None) -> None:
    """Import a root file system, or what the layers of a saved image make together, under a name."""
    content = looked_into(archive, name)
    repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "latest")
    with failing(f"{archive} cannot be made an image"), flattened(archive, content, progress) as flat:
        tell(progress, ProgressStage(f"the engine reads {archive.name}"))
        client.api.import_image_from_file(str(flat), repository, tag, changes=content.changes)
    if not has(client, name):
        raise EngineError(f"the engine has read {archive} and knows no image {name}")


def discard(client: DockerClient, keep: Iterable[Image]) -> int:
    """Remove the images that were built here, but for some, and those that a container is made of."""
    from docker.errors import APIError

    kept = {_tag(image) for image in keep if image.folder is not None}
    count = 0
    with failing("the engine cannot list its images"):
        # Not through client.images, which asks for each by itself and fails where one has gone meanwhile.
        built = client.api.images(filters={"label": f"{LABEL}={IMAGE}"})
    for image in built:
        for tag in set(image["RepoTags"] or ()) - kept:
            try:
                client.images.remove(tag)
                count += 1
            except (APIError, OSError):  # a container needs it, or somebody else removes it at this moment
                continue
    return count


def _tag(image: Image) -> str:
    return f"{_REPOSITORY}:{digest_of(image)}"


def _fetch(client: DockerClient, name: str, progress: Progress | None) -> None:
    missing = (
        f"the image {name} is not here (load it with docker load, build it under that name, or see: gem terminal base "
        "--help), and cannot be fetched"
    )
    tell(progress, ProgressStage(f"fetching {name}"))
    came: dict[str, tuple[int, int]] = {}
    with failing(missing):
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
            tell(progress, ProgressStage(f"fetching {name}", done, total))
    if not has(client, name):
        raise EngineError(missing)


def _build(client: DockerClient, image: Image, tag: str, progress: Progress | None) -> None:
    deadline = time.monotonic() + image.build_seconds
    said: list[str] = []
    done, total = None, None
    tell(progress, ProgressStage("sending the folder to the engine"))
    with failing(f"the image of {image.folder} cannot be built"):
        events = client.api.build(
            path=str(image.folder),
            dockerfile=image.dockerfile,
            tag=tag,
            rm=True,
            forcerm=True,
            labels={LABEL: IMAGE},
            timeout=max(int(image.build_seconds), 1),
            decode=True,
        )
        for event in events:
            line = str(event.get("stream") or event.get("error") or "").strip()
            if line:
                said = [*said[-2:], line]
                step = _STEP.match(line)
                if step is not None:
                    done, total, line = int(step[1]), int(step[2]), step[3]
                if not line.startswith(_ASIDES):
                    tell(progress, ProgressStage(line, done, total))
            if "error" in event:
                hint = "; see: gem terminal base --help" if ": FROM " in said[0] else ""
                raise EngineError(f"the image of {image.folder} cannot be built: {' | '.join(said)}{hint}")
            if time.monotonic() > deadline:
                events.close()  # which ends the build
                raise EngineError(
                    f"the image of {image.folder} cannot be built in the {image.build_seconds:g} seconds that its task "
                    f"grants; the last that was heard: {' | '.join(said)}"
                )


def _raise_if_refused(event: Any) -> None:
    if "error" in event:
        raise OSError(event["error"])
