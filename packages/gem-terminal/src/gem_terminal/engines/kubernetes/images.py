"""Images for a cluster: built by a Docker engine on this machine, and pushed to a registry that the cluster reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gem_terminal.engines.base import Progress, ProgressStage, tell
from gem_terminal.engines.contexts import digest_of
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

if TYPE_CHECKING:
    from gem_terminal.engines.docker.engine import DockerEngine

__all__ = ["published"]


def published(builder: DockerEngine, image: Image, registry: str, progress: Progress | None) -> str:
    """Return the name of an image in a registry, to which it is pushed unless it is there.

    Args:
        builder: builds it, and knows how to log in to the registry (``docker login``).
        image: a folder to build.
        registry: a host, with a path where there is one, such as ``"registry.example.org/team"``.
        progress: told of the build and of the push.

    Raises:
        EngineError: if it cannot be built or pushed.
    """
    from docker.errors import APIError, DockerException

    repository = f"{registry.rstrip('/')}/gem-terminal"
    reference = f"{repository}:{digest_of(image)}"
    try:
        builder.client.images.get_registry_data(reference)
    except (APIError, OSError):  # it is not there, or that cannot be told
        local = builder.prepare(image, progress)
    else:
        return reference
    tell(progress, ProgressStage(f"pushing {reference}"))
    try:
        builder.client.api.tag(local, repository, digest_of(image), force=True)
        for event in builder.client.api.push(repository, digest_of(image), stream=True, decode=True):
            if "error" in event:
                raise EngineError(f"the image {reference} cannot be pushed: {event['error']}")
            detail = event.get("progressDetail") or {}
            if detail.get("total"):
                tell(progress, ProgressStage(f"pushing {reference}", detail["current"], detail["total"]))
    except (DockerException, OSError) as error:
        raise EngineError(f"the image {reference} cannot be pushed: {error}") from error
    return reference
