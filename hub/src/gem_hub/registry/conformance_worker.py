"""Runs the conformance kit on what the queue holds, and adds the results to the hub."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gem_hub.errors import HubRefusal
from gem_hub.installation import Sources
from gem_hub.recheck import is_checked, recheck
from gem_hub.registry.queue import LEASE_SECONDS, QueuedCheck
from gem_hub.registry.recovery import published
from gem_hub.registry.services import RegistryServices
from gem_hub.sandbox import Bounds, isolation
from gem_hub_client.errors import HubError

__all__ = ["ConformanceWorker", "no_kit_because"]

_POLL_SECONDS = 2.0


def no_kit_because(services: RegistryServices) -> str:
    """Return why this process runs no strangers' code; empty if it does."""
    if not services.settings.conformance:
        return "queued; another process of this hub runs the kit"
    if isolation() == "none":
        return "not run: this hub has no sandbox for the code of strangers"
    return ""


class ConformanceWorker:
    """Works through the queue in a thread of its own.

    Args:
        services: the registry.
        report: receives a sentence on each step.
    """

    def __init__(self, services: RegistryServices, report: Callable[[str], None] = lambda _: None) -> None:
        self._services = services
        self._report = report
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="conformance", daemon=True)

    def start(self) -> None:
        """Begin; what runs when the process ends goes to the next worker."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current release, without waiting for it."""
        self._stop.set()

    def work_once(self) -> bool:
        """Run the kit on the oldest release of the queue; return whether there was one."""
        check = self._services.queue.take()
        if check is None:
            return False
        with self._kept(check):
            state, message = self._result(check)
        self._services.queue.finish(check, state, message)
        self._report(f"{check.name} {check.version}: {state}{f' ({message})' if message else ''}")
        return True

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                busy = self.work_once()
            except Exception as error:  # a database that is away must not end the worker
                self._report(f"the conformance queue: {type(error).__name__}: {error}")
                busy = False
            if not busy:
                self._stop.wait(_POLL_SECONDS)

    def _result(self, check: QueuedCheck) -> tuple[str, str]:
        services = self._services
        settings = services.settings
        release = published(services, check.name, check.version, check.sha256)
        if release is None:
            return "done", "the release is not there"
        package = services.store.existing(check.name)
        if is_checked(package, check.version) or package.status == "quarantined":
            return "done", ""
        sources = Sources(tuple(settings.find_links), settings.index_url)
        bounds = Bounds(seconds=settings.conformance_seconds)
        label = f"{check.name} {check.version}"
        try:
            event, _ = recheck(
                services.store,
                release,
                next(iter(services.store.operators()), package.owners[0]),
                sources,
                bounds,
                lambda what: self._report(f"{label}: {what} …"),
            )
            services.store.add_event(event)
        except HubRefusal as refusal:
            return "failed", str(refusal)
        except (HubError, OSError) as error:
            again = check.attempts < settings.conformance_attempts
            return ("queued" if again else "failed"), str(error)
        counts = event.counts()
        return "done", f"{counts['holds']} clauses hold, {counts['violated']} violated"

    @contextmanager
    def _kept(self, check: QueuedCheck) -> Iterator[None]:
        """Prolong the lease of a release for the duration of a block."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(LEASE_SECONDS / 4):
                try:
                    self._services.queue.renew(check)
                except Exception as error:  # the next one may succeed, and a lost lease costs only a second run
                    self._report(f"the conformance queue: {type(error).__name__}: {error}")

        thread = threading.Thread(target=renew, name="conformance lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
