"""Runs the conformance kit on what the queue holds, and adds the results to the hub."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gem_hub.background import BackgroundWork
from gem_hub.errors import HubRefusal
from gem_hub.installation import Sources
from gem_hub.recheck import is_checked, recheck
from gem_hub.registry.organisations.private_hubs import PrivateServices
from gem_hub.registry.queue import LEASE_SECONDS, ConformanceQueue, QueuedCheck
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


class ConformanceWorker(BackgroundWork):
    """Works through the queues. What runs when its block ends goes to the next worker.

    Args:
        services: the registry.
        report: receives a sentence on each step.
    """

    thread_name = "conformance"
    stop_seconds = 0.0

    def __init__(self, services: RegistryServices, report: Callable[[str], None] = lambda _: None) -> None:
        super().__init__()
        self._services = services
        self._queues = [services.private_queue, services.queue]
        self._report = report

    def work_once(self) -> bool:
        """Run the kit on the next release of the queues; return whether there was one.

        Public and private packages take turns, so that neither hold up the others.
        """
        self._queues.reverse()
        for queue in self._queues:
            if (check := queue.take()) is not None:
                self._work(queue, check)
                return True
        return False

    def _work(self, queue: ConformanceQueue, check: QueuedCheck) -> None:
        private = queue is self._services.private_queue
        services = PrivateServices(self._services, check.account) if private else self._services
        label = f"{f'{check.account}/' if private else ''}{check.name} {check.version}"
        with self._kept(queue, check):
            state, message = self._result(services, check, label)
        queue.finish(check, state, message)
        self._report(f"{label}: {state}{f' ({message})' if message else ''}")

    def work_and_pause(self) -> float:
        try:
            busy = self.work_once()
        except Exception as error:  # a database that is away must not end the worker
            self._report(f"the conformance queue: {type(error).__name__}: {error}")
            busy = False
        return 0.0 if busy else _POLL_SECONDS

    def _result(self, services: RegistryServices, check: QueuedCheck, label: str) -> tuple[str, str]:
        settings = services.settings
        if isinstance(services, PrivateServices) and not services.store.files.exists("root.json"):
            return "failed", "this process does not see the private hub; give it the folder of the others"
        release = published(services, check.name, check.version, check.sha256)
        if release is None:
            return "done", "the release is not there"
        package = services.store.existing(check.name)
        if is_checked(package, check.version) or package.status == "quarantined":
            return "done", ""
        if isinstance(services, PrivateServices) and (needed := services.requirements_of(release)):
            # An index would be asked for the name, which is a secret, and might even know a stranger's package by it.
            return "failed", f"it requires {needed[0]}, another private package, which no index may be asked for"
        sources = Sources(tuple(settings.find_links), settings.index_url)
        bounds = Bounds(seconds=settings.conformance_seconds)
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
    def _kept(self, queue: ConformanceQueue, check: QueuedCheck) -> Iterator[None]:
        """Prolong the lease of a release for the duration of a block."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(LEASE_SECONDS / 4):
                try:
                    queue.renew(check)
                except Exception as error:  # the next one may succeed, and a lost lease costs only a second run
                    self._report(f"the conformance queue: {type(error).__name__}: {error}")

        thread = threading.Thread(target=renew, name="conformance lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
