"""Images for a cluster: a local Docker engine builds them and pushes them to the cluster's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.engines.contexts import digest_of
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

if TYPE_CHECKING:
    from gem_terminal.engines.docker.engine import DockerEngine

__all__ = ["published"]


def published(builder: DockerEngine, image: Image, registry: str, progress: Progress | None) -> str:
    """Return the name of an image in a registry. Pushes the image unless the registry has it.

    Args:
        builder: builds the image and holds the credentials of the registry (``docker login``).
        image: the folder of the image.
        registry: a host, with an optional path, for example ``"registry.example.org/team"``.
        progress: receives the stages of the build and of the push.

    Raises:
        EngineError: if the image cannot be built or pushed.
    """
    from docker.errors import APIError, DockerException

    repository = f"{registry.rstrip('/')}/gem-terminal"
    reference = f"{repository}:{digest_of(image)}"
    try:
        builder.client.images.get_registry_data(reference)
    except (APIError, OSError):  # the image is not there, or the registry cannot be asked
        local = builder.prepare(image, progress)
    else:
        return reference
    report_stage(progress, ProgressStage(f"pushing {reference}"))
    try:
        builder.client.api.tag(local, repository, digest_of(image), force=True)
        for event in builder.client.api.push(repository, digest_of(image), stream=True, decode=True):
            if "error" in event:
                raise EngineError(f"the image {reference} cannot be pushed: {event['error']}")
            detail = event.get("progressDetail") or {}
            if detail.get("total"):
                report_stage(progress, ProgressStage(f"pushing {reference}", detail["current"], detail["total"]))
    except (DockerException, OSError) as error:
        raise EngineError(f"the image {reference} cannot be pushed: {error}") from error
    return reference
