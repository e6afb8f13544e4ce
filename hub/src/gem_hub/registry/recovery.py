"""What a registry does first: it completes what a process began that was killed."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from gem_hub.records import Release
from gem_hub.registry.organisations.private_hubs import private_services
from gem_hub.registry.services import RegistryServices

__all__ = ["published", "recover"]


def recover(services: RegistryServices) -> None:
    """Complete an interrupted change, bring interrupted uploads back into the queue, and remove what they left.

    Several processes may share the registry, so only what belongs to none that lives is touched. With SQLite all of
    them are on this machine, and one that begins is the only one: ``gem hub serve --publish`` is one process.
    """
    only_one = services.database.engine.dialect.name == "sqlite"
    for hub in (services, *private_services(services)):
        hub.store.complete()
        hub.queue.recover(partial(_was_published, hub), everything=only_one)
    for queue in (services.queue, services.private_queue):
        queue.release_own_machine(_is_alive)
    for path in services.uploads.glob("*-*.upload"):
        number = path.name.partition("-")[0]
        if number.isdecimal() and (int(number) == os.getpid() or not _is_alive(int(number))):
            with suppress(OSError):
                path.unlink()


def published(services: RegistryServices, name: str, version: str, sha256: str) -> Release | None:
    """Return the release of exactly this file; None if it was not published."""
    package = services.store.package(name)
    records = package.records if package is not None else ()
    return next((record for record in records if (record.version, record.sha256) == (version, sha256)), None)


def _was_published(services: RegistryServices, name: str, version: str, sha256: str) -> bool:
    release = published(services, name, version, sha256)
    if release is not None:
        # The upload may have ended before its own line in the log.
        services.audit.add("upload.recovered", f"{name} {version}", release.publisher, sha256=sha256)
    return release is not None


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True
